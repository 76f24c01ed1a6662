// Reading a key: one index descent and a look at the heap under a dirty snapshot.
#include "pg/storage/dirty.hpp"
#include "pg/storage/ledger.hpp"

extern "C" {
#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/relscan.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"
}

#include "pg/storage/row_codec.hpp"

namespace pg_idem {

namespace {

enum class Look { Live, Dead };

// Looks at one index entry's HOT chain, and fills in `result` when a version of it lives.
Look look_at(Relation table, Buffer buffer, ItemPointer tid, bool *all_dead, Probe &result) {
	SnapshotData dirty;
	InitDirtySnapshot(dirty);
	HeapTupleData tuple;
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	if (!heap_hot_search_buffer(tid, table, buffer, &dirty, &tuple, all_dead, true)) {
		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
		return Look::Dead;
	}
	if (is_in_flight(dirty)) {
		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
		result.presence = Presence::InFlight;
		if (!TransactionIdIsValid(dirty.xmin))
			result.changer = dirty.xmax;
		result.tid = *tid;
		return Look::Live;
	}
	result.presence = Presence::Settled;
	result.own = TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple.t_data));
	// An own row that this very command wrote is invisible to the command's snapshot, and known.
	result.snapshot_sees = result.own || !IsolationUsesXactSnapshot() ||
	                       HeapTupleSatisfiesVisibility(&tuple, GetActiveSnapshot(), buffer);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
	// The pin keeps the bytes in place; a settled version's columns never change.
	HeapTuple copy = heap_copytuple(&tuple);
	result.tid = *tid;
	result.row = decode_row(copy);
	return Look::Live;
}

// True: an index entry was met, alive or dead.
bool probe_once(const Ledger &ledger, const Digest128 &key, Probe &result) {
	ScanKeyData scan_key;
	ScanKeyInit(&scan_key, 1, BTEqualStrategyNumber, F_UUID_EQ, PointerGetDatum(key.data()));
	IndexScanDesc scan = index_beginscan(ledger.table, ledger.index, SnapshotAny, 1, 0);
	index_rescan(scan, &scan_key, 1, nullptr, 0);
	bool met = false;
	Buffer buffer = InvalidBuffer;
	ItemPointer entry;
	while ((entry = index_getnext_tid(scan, ForwardScanDirection)) != nullptr) {
		met = true;
		ItemPointerData tid = *entry;
		buffer = ReleaseAndReadBuffer(buffer, ledger.table, ItemPointerGetBlockNumber(&tid));
		bool all_dead = false;
		if (look_at(ledger.table, buffer, &tid, &all_dead, result) == Look::Live)
			break;
		// Lets the index drop an entry that nobody can see any more, as every index scan does: a key
		// that is claimed, expired and claimed again must not collect them.
		if (!scan->xactStartedInRecovery)
			scan->kill_prior_tuple = all_dead;
	}
	if (BufferIsValid(buffer))
		ReleaseBuffer(buffer);
	index_endscan(scan);
	return met;
}

} // namespace

Probe probe(const Ledger &ledger, const Digest128 &key, bool exact) {
	constexpr int most = 4;
	Probe result;
	for (int tries = 0; tries < most; ++tries) {
		result.met = probe_once(ledger, key, result);
		if (!result.met || !exact || result.presence != Presence::None)
			break;
	}
	return result;
}

void wait_for_changer(const Ledger &ledger, const Probe &probe) {
	ItemPointerData tid = probe.tid;
	XactLockTableWait(probe.changer, ledger.table, &tid, XLTW_Update);
}

} // namespace pg_idem
