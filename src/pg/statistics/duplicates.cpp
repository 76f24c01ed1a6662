#include "pg/statistics/duplicates.hpp"

extern "C" {
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "storage/spin.h"
}

namespace pg_idem {

namespace {

constexpr std::size_t slot_count = 16384; // a power of two; 700 kB

struct Slot {
	slock_t lock;
	Oid database;
	Digest128 key;
	int64 count;
};

Slot *slots = nullptr; // NULL: not preloaded

shmem_request_hook_type former_request_hook = nullptr;
shmem_startup_hook_type former_startup_hook = nullptr;

void request() {
	if (former_request_hook != nullptr)
		former_request_hook();
	RequestAddinShmemSpace(sizeof(Slot) * slot_count);
}

void start() {
	if (former_startup_hook != nullptr)
		former_startup_hook();
	bool found;
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	slots = static_cast<Slot *>(
		ShmemInitStruct("pg_idem duplicates", sizeof(Slot) * slot_count, &found));
	if (!found) {
		memset(static_cast<void *>(slots), 0, sizeof(Slot) * slot_count);
		for (std::size_t i = 0; i < slot_count; ++i)
			SpinLockInit(&slots[i].lock);
	}
	LWLockRelease(AddinShmemInitLock);
}

// A key is a digest, so any bytes of it are a hash.
Slot &slot_of(const Digest128 &key) {
	uint32 hash;
	memcpy(&hash, key.data(), sizeof hash);
	return slots[(hash ^ MyDatabaseId) & (slot_count - 1)];
}

} // namespace

void watch_duplicates() {
	if (!process_shared_preload_libraries_in_progress)
		return;
	former_request_hook = shmem_request_hook;
	shmem_request_hook = request;
	former_startup_hook = shmem_startup_hook;
	shmem_startup_hook = start;
}

void count_duplicate(const Digest128 &key) {
	if (slots == nullptr)
		return;
	Slot &slot = slot_of(key);
	SpinLockAcquire(&slot.lock);
	if (slot.database != MyDatabaseId || slot.key != key) {
		slot.database = MyDatabaseId;
		slot.key = key;
		slot.count = 0;
	}
	++slot.count;
	SpinLockRelease(&slot.lock);
}

int64 duplicates_of(const Digest128 &key) {
	if (slots == nullptr)
		return -1;
	Slot &slot = slot_of(key);
	SpinLockAcquire(&slot.lock);
	const bool same = slot.database == MyDatabaseId && slot.key == key;
	const int64 count = same ? slot.count : 0;
	SpinLockRelease(&slot.lock);
	return count;
}

} // namespace pg_idem
