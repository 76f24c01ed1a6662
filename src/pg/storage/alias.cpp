#include "pg/storage/alias.hpp"

extern "C" {
#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "rewrite/prs2lock.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/resowner.h"
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

[[noreturn]] void refuse(const char *why) {
	ereport(ERROR,
	        (errcode(errcode_unusable_ledger), errmsg("table \"idem.alias\" cannot be used"),
	         errdetail("%s", why),
	         errhint("It is written directly, so nothing may be added to it. Undo the change.")));
	pg_unreachable();
}

bool is_uuid(TupleDesc columns, AttrNumber attribute, const char *name) {
	const FormData_pg_attribute *column = TupleDescAttr(columns, attribute - 1);
	return !column->attisdropped && column->atttypid == UUIDOID && !column->atthasdef &&
	       column->attgenerated == '\0' && strcmp(NameStr(column->attname), name) == 0;
}

// REINDEX CONCURRENTLY has a second one of the same columns for a while.
bool can_refuse_rows(Oid oid) {
	Relation index = index_open(oid, AccessShareLock);
	const Form_pg_index form = index->rd_index;
	const bool ours = form->indnkeyatts == attr_count && form->indkey.values[0] == attr_alias &&
	                  form->indkey.values[1] == attr_key;
	const bool can = form->indisexclusion || (form->indisunique && !ours);
	index_close(index, AccessShareLock);
	return can;
}

// As for the ledger itself (shape.hpp): direct writes pass by what anybody adds to the table.
void require_alias_shape(Relation table) {
	static uint64 checked_generation = 0;
	const uint64 generation = table_generation(Table::Alias);
	if (checked_generation == generation)
		return;
	const FormData_pg_class *form = table->rd_rel;
	if (form->relkind != RELKIND_RELATION || form->relispartition ||
	    form->relam != HEAP_TABLE_AM_OID || form->relpersistence != RELPERSISTENCE_PERMANENT)
		refuse("It is not a plain, permanent table.");
	// The flag stays set after the last rule is gone.
	if (form->relhasrules && table->rd_rules != nullptr && table->rd_rules->numLocks > 0)
		refuse("It has a rule.");
	if (form->relrowsecurity)
		refuse("It has row security.");
	if (table->trigdesc != nullptr)
		refuse("It has a trigger or a foreign key.");
	TupleDesc columns = RelationGetDescr(table);
	bool ours = columns->natts >= attr_count && is_uuid(columns, attr_alias, "alias") &&
	            is_uuid(columns, attr_key, "key");
	for (int i = attr_count; i < columns->natts; ++i)
		ours = ours && TupleDescAttr(columns, i)->attisdropped;
	if (!ours)
		refuse("It has other columns than the extension created.");
	if (columns->constr != nullptr && columns->constr->num_check > 0)
		refuse("It has a check constraint.");
	List *indexes = RelationGetIndexList(table);
	ListCell *cell;
	foreach (cell, indexes)
		if (can_refuse_rows(lfirst_oid(cell)))
			refuse("It has another unique index, or an exclusion constraint.");
	list_free(indexes);
	checked_generation = generation;
}

Relation open_aliases(LOCKMODE mode) {
	Relation table = table_open(require_table(Table::Alias), mode);
	require_alias_shape(table);
	return table;
}

// Of the table's own index, which REINDEX CONCURRENTLY puts another in place of.
Oid alias_index(Relation table) {
	const Oid oid = RelationGetPrimaryKeyIndex(table);
	if (!OidIsValid(oid))
		refuse("It has no primary key that is checked at once.");
	Relation index = index_open(oid, AccessShareLock);
	const Form_pg_index form = index->rd_index;
	const bool ours = form->indnkeyatts == attr_count && form->indkey.values[0] == attr_alias &&
	                  form->indkey.values[1] == attr_key;
	index_close(index, NoLock);
	if (!ours)
		refuse("Its primary key is not (alias, key).");
	return oid;
}

Digest128 uuid_at(HeapTuple tuple, AttrNumber attribute, TupleDesc descriptor) {
	bool null;
	const Datum value = heap_getattr(tuple, attribute, descriptor, &null);
	Digest128 digest;
	memcpy(digest.data(), DatumGetUUIDP(value)->data, digest.size());
	return digest;
}

// What a dirty snapshot says of the row that a scan has just found.
Presence presence_of(const SnapshotData &dirty) {
	return TransactionIdIsValid(dirty.xmin) || TransactionIdIsValid(dirty.xmax) ? Presence::InFlight
	                                                                            : Presence::Settled;
}

Presence find_pair(Relation table, Oid index, const Digest128 &alias, const Digest128 &key) {
	SnapshotData dirty;
	InitDirtySnapshot(dirty);
	ScanKeyData scan_keys[attr_count];
	ScanKeyInit(&scan_keys[0], attr_alias, BTEqualStrategyNumber, F_UUID_EQ,
	            PointerGetDatum(alias.data()));
	ScanKeyInit(&scan_keys[1], attr_key, BTEqualStrategyNumber, F_UUID_EQ,
	            PointerGetDatum(key.data()));
	SysScanDesc scan = systable_beginscan(table, index, true, &dirty, attr_count, scan_keys);
	const Presence presence =
		HeapTupleIsValid(systable_getnext(scan)) ? presence_of(dirty) : Presence::None;
	systable_endscan(scan);
	return presence;
}

void insert_alias(Relation table, const Digest128 &alias, const Digest128 &key) {
	TupleDesc columns = RelationGetDescr(table);
	auto *values = static_cast<Datum *>(palloc0(sizeof(Datum) * columns->natts));
	auto *nulls = static_cast<bool *>(palloc(sizeof(bool) * columns->natts));
	std::fill(nulls, nulls + columns->natts, true); // those that somebody has added and dropped
	values[attr_alias - 1] = PointerGetDatum(alias.data());
	values[attr_key - 1] = PointerGetDatum(key.data());
	nulls[attr_alias - 1] = nulls[attr_key - 1] = false;
	HeapTuple tuple = heap_form_tuple(columns, values, nulls);
	heap_insert(table, tuple, GetCurrentCommandId(true), 0, nullptr);
	insert_into_all_indexes(table, tuple);
	heap_freetuple(tuple);
	pfree(values);
	pfree(nulls);
}

} // namespace

void reserve_aliases() {
	// Kept until the end of the sub-transaction, whatever portal the call runs in.
	ResourceOwner former = CurrentResourceOwner;
	CurrentResourceOwner = CurTransactionResourceOwner;
	LockRelationOid(require_table(Table::Alias), RowExclusiveLock);
	CurrentResourceOwner = former;
	Relation table = open_aliases(NoLock);
	(void)alias_index(table);
	table_close(table, NoLock);
}

Presence find_alias(const Digest128 &alias, const Digest128 &key) {
	Relation table = open_aliases(AccessShareLock);
	const Presence presence = find_pair(table, alias_index(table), alias, key);
	table_close(table, NoLock);
	return presence;
}

AliasScan::AliasScan(const Digest128 &alias) : table_(open_aliases(AccessShareLock)) {
	InitDirtySnapshot(dirty_);
	ScanKeyData scan_key;
	ScanKeyInit(&scan_key, attr_alias, BTEqualStrategyNumber, F_UUID_EQ,
	            PointerGetDatum(alias.data()));
	scan_ = systable_beginscan(table_, alias_index(table_), true, &dirty_, 1, &scan_key);
}

Presence AliasScan::next(Digest128 *key) {
	HeapTuple tuple = systable_getnext(scan_);
	if (!HeapTupleIsValid(tuple))
		return Presence::None;
	*key = uuid_at(tuple, attr_key, RelationGetDescr(table_));
	return presence_of(dirty_);
}

void AliasScan::close() {
	systable_endscan(scan_);
	table_close(table_, NoLock);
}

void insert_aliases(const Digest128 &key, std::span<const Digest128> aliases) {
	Relation table = open_aliases(RowExclusiveLock);
	const Oid index = alias_index(table);
	for (const Digest128 &alias : aliases)
		if (find_pair(table, index, alias, key) != Presence::Settled)
			insert_alias(table, alias, key);
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
