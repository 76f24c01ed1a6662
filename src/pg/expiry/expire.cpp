#include "pg/expiry/expire.hpp"

extern "C" {
#include "access/heapam.h"
#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "tcop/utility.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
}

#include "pg/claims/match.hpp"
#include "pg/expiry/sweep_memory.hpp"
#include "pg/policy/policy.hpp"
#include "pg/storage/companions.hpp"
#include "pg/storage/dirty.hpp"
#include "pg/storage/key_lock.hpp"
#include "pg/storage/ledger.hpp"
#include "pg/storage/row_codec.hpp"
#include "pg/storage/shape.hpp"

namespace pg_idem {

namespace {

// What to delete of a page, gathered while its buffer is locked.
struct Candidate {
	ItemPointerData tid;
	Digest128 key;
};

class Sweep {
public:
	Sweep(const Ledger &ledger, int32 max_rows)
		: ledger_(ledger), left_(max_rows), strategy_(GetAccessStrategy(BAS_BULKREAD)) {
		shortest_life_ = PG_INT64_MAX;
		for (const Policy &policy : all_policies())
			shortest_life_ = Min(shortest_life_, Min(policy.retention, policy.failure_retention));
	}

	// False: `max_rows` was reached before the end of the range. Otherwise `due` is when the range is
	// worth reading again.
	bool range(BlockNumber first, BlockNumber end, Micros *due) {
		now_ = GetCurrentTimestamp();
		due_ = add(now_, shortest_life_); // of rows that are finished from now on
		for (BlockNumber block = first; block < end; ++block) {
			CHECK_FOR_INTERRUPTS();
			if (!page(block))
				return false;
		}
		*due = due_;
		return true;
	}

	int32 deleted() const { return deleted_; }

private:
	static Micros add(Micros a, Micros b) { return a > PG_INT64_MAX - b ? PG_INT64_MAX : a + b; }

	bool page(BlockNumber block) {
		Candidate candidates[MaxHeapTuplesPerPage];
		int count = 0;
		gone_count_ = 0;
		policies_ = all_policies(); // now, since nothing may be loaded while the buffer is locked
		// The pin lasts until the rows are deleted: without it their places could be given to others.
		Buffer buffer =
			ReadBufferExtended(ledger_.table, MAIN_FORKNUM, block, RBM_NORMAL, strategy_);
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		Page page = BufferGetPage(buffer);
		const OffsetNumber last = PageIsNew(page) ? 0 : PageGetMaxOffsetNumber(page);
		for (OffsetNumber offset = FirstOffsetNumber; offset <= last; ++offset) {
			ItemId item = PageGetItemId(page, offset);
			if (!ItemIdIsNormal(item))
				continue;
			HeapTupleData tuple;
			tuple.t_data = reinterpret_cast<HeapTupleHeader>(PageGetItem(page, item));
			tuple.t_len = ItemIdGetLength(item);
			tuple.t_tableOid = RelationGetRelid(ledger_.table);
			ItemPointerSet(&tuple.t_self, block, offset);
			if (is_expired(&tuple, buffer, &candidates[count].key))
				candidates[count++].tid = tuple.t_self;
		}
		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
		bool room = true;
		for (int i = 0; i < count && room; ++i) {
			room = left_ > 0;
			if (room)
				remove(candidates[i]);
		}
		ReleaseBuffer(buffer);
		delete_companions({gone_, gone_count_}, Companions::All);
		return room;
	}

	bool is_expired(HeapTuple tuple, Buffer buffer, Digest128 *key) {
		SnapshotData dirty;
		InitDirtySnapshot(dirty);
		if (!HeapTupleSatisfiesVisibility(tuple, &dirty, buffer))
			return false;
		if (is_in_flight(dirty)) {
			due_ = now_; // look again when its transaction has ended
			return false;
		}
		const Row row = decode_life(tuple);
		if (!row.finished)
			return false;
		const Policy *policy = policy_of(row);
		if (policy == nullptr)
			return false; // raw SQL has dropped it, so nobody knows how long the key lives
		const Micros end = life_end_of(row, *policy);
		if (now_ <= end) {
			due_ = Min(due_, end);
			return false;
		}
		*key = row.key;
		return true;
	}

	const Policy *policy_of(const Row &row) const {
		for (const Policy &policy : policies_)
			if (policy.id == row.policy)
				return &policy;
		return nullptr;
	}

	void remove(const Candidate &candidate) {
		if (!try_lock_key(candidate.key)) {
			due_ = now_;
			return;
		}
		if (delete_row(ledger_, candidate.tid)) {
			gone_[gone_count_++] = candidate.key;
			++deleted_;
			--left_;
		} else {
			due_ = now_;
		}
		// A deleted row that is not committed guards the key by itself.
		unlock_key(candidate.key);
	}

	const Ledger &ledger_;
	int32 left_;
	int32 deleted_ = 0;
	Digest128 gone_[MaxHeapTuplesPerPage]; // of the page at hand
	std::size_t gone_count_ = 0;
	BufferAccessStrategy strategy_;
	std::span<const Policy> policies_;
	Micros shortest_life_;
	Micros now_ = 0;
	Micros due_ = 0;
};

// Any change of it, such as a new operation with a short retention, makes every range due.
int64 digest_of_lives() {
	uint64 digest = 0;
	for (const Policy &policy : all_policies()) {
		digest = hash_combine64(digest, static_cast<uint64>(policy.id));
		digest = hash_combine64(digest, static_cast<uint64>(policy.retention));
		digest = hash_combine64(digest, static_cast<uint64>(policy.failure_retention));
		digest = hash_combine64(digest, static_cast<uint64>(policy.repeat_after));
		for (const RetentionChange &change : policy.retention_changes)
			digest = hash_combine64(digest, static_cast<uint64>(change.at));
	}
	return static_cast<int64>(digest);
}

} // namespace

Expired expire_keys(int32 max_rows, Micros deadline) {
	PreventCommandIfParallelMode("idem_expire()");
	PreventCommandIfReadOnly("idem_expire()");
	PreventCommandDuringRecovery("idem_expire()");
	Expired result;
	if (max_rows <= 0)
		return result;
	const Ledger ledger = open_ledger();
	refuse_if_referenced(ledger.table);
	if (try_lock_expiry()) {
		SweepMemory memory(ledger.table, digest_of_lives());
		Sweep sweep(ledger, max_rows);
		for (uint32 range = 0; range < memory.range_count() && !result.more; ++range) {
			const Micros now = GetCurrentTimestamp();
			if (memory.due(range) > now)
				continue;
			Micros due;
			if (now > deadline ||
			    !sweep.range(memory.first_block(range), memory.end_block(range), &due))
				result.more = true;
			else
				memory.remember(range, due);
		}
		result.rows = sweep.deleted();
	}
	close_ledger(ledger);
	return result;
}

} // namespace pg_idem
