#include "pg/storage/companions.hpp"

extern "C" {
#include "postgres.h"
#include "access/genam.h"
#include "access/heapam.h"
#include "access/table.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

#include "pg/storage/find_index.hpp"
#include "pg/storage/relations.hpp"

namespace pg_idem {

namespace {

constexpr Table tables[] = {Table::Alias, Table::Decision, Table::LateReport, Table::ProviderRef};

void delete_of(Relation table, Oid index, AttrNumber column, const Digest128 &key) {
	ScanKeyData scan_key;
	ScanKeyInit(&scan_key, column, BTEqualStrategyNumber, F_UUID_EQ, PointerGetDatum(key.data()));
	Snapshot snapshot = RegisterSnapshot(GetLatestSnapshot());
	SysScanDesc scan = systable_beginscan(table, index, OidIsValid(index), snapshot, 1, &scan_key);
	HeapTuple tuple;
	while (HeapTupleIsValid(tuple = systable_getnext(scan))) {
		TM_FailureData failure;
		(void)heap_delete(table, &tuple->t_self, GetCurrentCommandId(true), InvalidSnapshot, false,
		                  &failure, false);
	}
	systable_endscan(scan);
	UnregisterSnapshot(snapshot);
}

} // namespace

void delete_companions(std::span<const Digest128> keys, Companions which) {
	if (keys.empty())
		return;
	for (const Table name : tables) {
		if (name == Table::Alias && which == Companions::ButAliases)
			continue;
		Relation table = table_open(require_table(name), RowExclusiveLock);
		if (RelationGetNumberOfBlocks(table) > 0) {
			const AttrNumber column = get_attnum(RelationGetRelid(table), "key");
			// None: the table is read as a whole.
			const Oid index = find_index(table, {&column, 1});
			for (const Digest128 &key : keys) {
				CHECK_FOR_INTERRUPTS();
				delete_of(table, index, column, key);
			}
		}
		table_close(table, NoLock);
	}
}

} // namespace pg_idem
