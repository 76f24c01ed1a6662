#include "pg/storage/key_lock.hpp"

extern "C" {
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/resowner.h"
}

namespace pg_idem {

namespace {

uint32 word(const Digest128 &key, int at) {
	return static_cast<uint32>(key[at]) << 24 | static_cast<uint32>(key[at + 1]) << 16 |
	       static_cast<uint32>(key[at + 2]) << 8 | static_cast<uint32>(key[at + 3]);
}

constexpr uint16 key_lock = 0, expiry_lock = 1;

// LOCKTAG_USERLOCK is kept for a module that left PostgreSQL in 8.2, so nothing else uses it:
// neither advisory locks nor pg_advisory_unlock_all can meet ours.
LOCKTAG tag_of(uint32 high, uint32 low, uint16 what) {
	LOCKTAG tag;
	tag.locktag_field1 = MyDatabaseId;
	tag.locktag_field2 = high;
	tag.locktag_field3 = low;
	tag.locktag_field4 = what;
	tag.locktag_type = LOCKTAG_USERLOCK;
	tag.locktag_lockmethodid = DEFAULT_LOCKMETHOD;
	return tag;
}

LOCKTAG tag_of(const Digest128 &key) {
	return tag_of(word(key, 0), word(key, 4), key_lock);
}

// The lock must belong to the sub-transaction, whatever portal or cursor the call runs in: it has to
// go with ROLLBACK TO and to outlive the statement.
class TransactionOwner {
public:
	TransactionOwner() : former_(CurrentResourceOwner) {
		CurrentResourceOwner = CurTransactionResourceOwner;
	}
	void restore() const { CurrentResourceOwner = former_; }

private:
	ResourceOwner former_;
};

bool acquire(const LOCKTAG &tag, bool no_wait) {
	const TransactionOwner owner;
	const LockAcquireResult result = LockAcquire(&tag, ExclusiveLock, false, no_wait);
	owner.restore();
	return result != LOCKACQUIRE_NOT_AVAIL;
}

} // namespace

bool try_lock_key(const Digest128 &key) {
	return acquire(tag_of(key), true);
}

void lock_key(const Digest128 &key) {
	acquire(tag_of(key), false);
}

void unlock_key(const Digest128 &key) {
	const LOCKTAG tag = tag_of(key);
	const TransactionOwner owner;
	LockRelease(&tag, ExclusiveLock, false);
	owner.restore();
}

bool try_lock_expiry() {
	return acquire(tag_of(0, 0, expiry_lock), true);
}

} // namespace pg_idem
