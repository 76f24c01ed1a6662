#include "pg/storage/alias.hpp"

extern "C" {
#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "storage/bufmgr.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/uuid.h"
}

#include <algorithm>

#include "pg/errors.hpp"
#include "pg/storage/ledger.hpp"
#include "pg/storage/relations.hpp"

namespace pg_idem {

namespace {

constexpr AttrNumber attr_alias = 1, attr_key = 2, attr_count = 2;

// As for the ledger itself (shape.hpp): direct writes pass by what anybody adds to the table.
Relation open_aliases(LOCKMODE mode) {
	Relation table = table_open(require_table(Table::Alias), mode);
	const FormData_pg_class *form = table->rd_rel;
	TupleDesc columns = RelationGetDescr(table);
	if (form->relkind != RELKIND_RELATION || form->relpersistence != RELPERSISTENCE_PERMANENT ||
	    form->relhasrules || form->relrowsecurity || table->trigdesc != nullptr ||
	    columns->natts != attr_count || TupleDescAttr(columns, 0)->atttypid != UUIDOID ||
	    TupleDescAttr(columns, 1)->atttypid != UUIDOID ||
	    !OidIsValid(RelationGetPrimaryKeyIndex(table)))
		ereport(
			ERROR,
			(errcode(errcode_unusable_ledger), errmsg("table \"idem.alias\" cannot be used"),
		     errdetail("It is not what the extension created."),
		     errhint("It is written directly, so nothing may be added to it. Undo the change.")));
	return table;
}

Digest128 uuid_at(HeapTuple tuple, AttrNumber attribute, TupleDesc descriptor) {
	bool null;
	const Datum value = heap_getattr(tuple, attribute, descriptor, &null);
	Digest128 digest;
	memcpy(digest.data(), DatumGetUUIDP(value)->data, digest.size());
	return digest;
}

} // namespace

AliasSearch find_aliases(const Digest128 &alias) {
	Relation table = open_aliases(AccessShareLock);
	SnapshotData dirty;
	InitDirtySnapshot(dirty);
	ScanKeyData scan_key;
	ScanKeyInit(&scan_key, attr_alias, BTEqualStrategyNumber, F_UUID_EQ,
	            PointerGetDatum(alias.data()));
	SysScanDesc scan =
		systable_beginscan(table, RelationGetPrimaryKeyIndex(table), true, &dirty, 1, &scan_key);
	Digest128 *keys = nullptr;
	std::size_t count = 0, capacity = 0;
	bool in_flight = false;
	HeapTuple tuple;
	while (HeapTupleIsValid(tuple = systable_getnext(scan))) {
		if (TransactionIdIsValid(dirty.xmin) || TransactionIdIsValid(dirty.xmax)) {
			in_flight = true;
			continue;
		}
		if (count == capacity) {
			capacity = capacity == 0 ? 4 : capacity * 2;
			keys = static_cast<Digest128 *>(keys == nullptr
			                                    ? palloc(capacity * sizeof(Digest128))
			                                    : repalloc(keys, capacity * sizeof(Digest128)));
		}
		keys[count++] = uuid_at(tuple, attr_key, RelationGetDescr(table));
	}
	systable_endscan(scan);
	table_close(table, NoLock);
	return {{keys, count}, in_flight};
}

void insert_aliases(const Digest128 &key, std::span<const Digest128> aliases) {
	Relation table = open_aliases(RowExclusiveLock);
	for (const Digest128 &alias : aliases) {
		const AliasSearch there = find_aliases(alias);
		if (std::find(there.keys.begin(), there.keys.end(), key) != there.keys.end())
			continue;
		Datum values[attr_count] = {PointerGetDatum(alias.data()), PointerGetDatum(key.data())};
		bool nulls[attr_count] = {};
		HeapTuple tuple = heap_form_tuple(RelationGetDescr(table), values, nulls);
		heap_insert(table, tuple, GetCurrentCommandId(true), 0, nullptr);
		insert_into_all_indexes(table, tuple);
		heap_freetuple(tuple);
	}
	table_close(table, NoLock);
}

void delete_aliases(std::span<const Digest128> keys) {
	if (keys.empty())
		return;
	Relation table = open_aliases(RowExclusiveLock);
	const BlockNumber blocks = RelationGetNumberOfBlocks(table);
	table_close(table, NoLock);
	if (blocks == 0)
		return;
	auto *elements = static_cast<Datum *>(palloc(sizeof(Datum) * keys.size()));
	for (std::size_t i = 0; i < keys.size(); ++i)
		elements[i] = PointerGetDatum(keys[i].data());
	ArrayType *array = construct_array(elements, static_cast<int>(keys.size()), UUIDOID, UUID_LEN,
	                                   false, TYPALIGN_CHAR);
	Oid types[] = {UUIDARRAYOID};
	Datum values[] = {PointerGetDatum(array)};
	if (SPI_connect() != SPI_OK_CONNECT ||
	    SPI_execute_with_args(
			"DELETE FROM idem.alias a WHERE a.key OPERATOR(pg_catalog.=) ANY ($1)", 1, types,
			values, nullptr, false, 0) != SPI_OK_DELETE ||
	    SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "could not delete the aliases of expired keys");
}

} // namespace pg_idem
