#include "pg/storage/unfinished.hpp"

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

#include "pg/storage/dirty.hpp"
#include "pg/storage/row_codec.hpp"
#include "pg/storage/shape.hpp"

namespace pg_idem {

std::span<const Row> find_unfinished(const Ledger &ledger, int16 policy) {
	Row *rows = nullptr;
	std::size_t count = 0, capacity = 0;
	const Oid index = unfinished_indexes().by_policy;
	ScanKeyData keys[2];
	ScanKeyInit(&keys[0], col_policy + 1, BTEqualStrategyNumber, F_INT2EQ, Int16GetDatum(policy));
	// Without the index all rows of the policy are read.
	ScanKeyEntryInitialize(&keys[1], SK_ISNULL | SK_SEARCHNULL, col_completed_at + 1,
	                       InvalidStrategy, InvalidOid, InvalidOid, InvalidOid, Datum(0));
	Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
	SysScanDesc scan = systable_beginscan(ledger.table, index, OidIsValid(index), snapshot,
	                                      OidIsValid(index) ? 1 : 2, keys);
	HeapTuple tuple;
	while (HeapTupleIsValid(tuple = systable_getnext(scan))) {
		CHECK_FOR_INTERRUPTS();
		if (count == capacity) {
			capacity = Max(capacity * 2, 64);
			const Size size = sizeof(Row) * capacity;
			rows = static_cast<Row *>(rows == nullptr
			                              ? MemoryContextAllocHuge(CurrentMemoryContext, size)
			                              : repalloc_huge(rows, size));
		}
		new (&rows[count]) Row(decode_row(heap_copytuple(tuple)));
		count += rows[count].finished ? 0 : 1;
	}
	systable_endscan(scan);
	UnregisterSnapshot(snapshot);
	return {rows, count};
}

SiblingScan::SiblingScan(const Ledger &ledger, const Digest128 &subject) {
	InitDirtySnapshot(dirty_);
	const Oid index = unfinished_indexes().by_subject;
	ScanKeyData key;
	ScanKeyInit(&key, col_subject + 1, BTEqualStrategyNumber, F_UUID_EQ,
	            PointerGetDatum(subject.data()));
	scan_ = systable_beginscan(ledger.table, index, OidIsValid(index), &dirty_, 1, &key);
}

Presence SiblingScan::next(Row *row) {
	HeapTuple tuple;
	while (HeapTupleIsValid(tuple = systable_getnext(scan_))) {
		*row = decode_row(heap_copytuple(tuple));
		if (is_in_flight(dirty_))
			return Presence::InFlight;
		if (!row->finished)
			return Presence::Settled;
	}
	return Presence::None;
}

void SiblingScan::close() {
	systable_endscan(scan_);
}

} // namespace pg_idem
