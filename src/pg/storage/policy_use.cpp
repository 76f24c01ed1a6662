#include "pg/storage/policy_use.hpp"

extern "C" {
#include "access/table.h"
#include "access/tableam.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

#include "pg/storage/relations.hpp"
#include "pg/storage/row.hpp"

namespace pg_idem {

bool has_rows_of(int16 policy) {
	Relation table = table_open(require_table(Table::Key), AccessShareLock);
	Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
	TableScanDesc scan = table_beginscan(table, snapshot, 0, nullptr);
	TupleTableSlot *slot = table_slot_create(table, nullptr);
	bool found = false;
	while (!found && table_scan_getnextslot(scan, ForwardScanDirection, slot)) {
		CHECK_FOR_INTERRUPTS();
		bool null;
		found = DatumGetInt16(slot_getattr(slot, col_policy + 1, &null)) == policy;
	}
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
	UnregisterSnapshot(snapshot);
	table_close(table, NoLock);
	return found;
}

} // namespace pg_idem
