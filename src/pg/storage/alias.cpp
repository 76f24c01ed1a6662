#include "pg/storage/alias.hpp"

extern "C" {
#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_type.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/uuid.h"
}

#include "pg/storage/dirty.hpp"
#include "pg/storage/ledger.hpp"
#include "pg/storage/relations.hpp"
#include "pg/storage/table_shape.hpp"

namespace pg_idem {

namespace {

constexpr AttrNumber attr_alias = 1, attr_key = 2, attr_count = 2;

constexpr ColumnShape columns[attr_count] = {{"alias", UUIDOID, true}, {"key", UUIDOID, true}};
constexpr AttrNumber primary_key[] = {attr_alias, attr_key};
constexpr TableShape alias_shape = {"idem.alias", columns, primary_key, false};

// As for the ledger itself: direct writes pass by what anybody adds to the table.
void require_alias_shape(Relation table) {
	static uint64 checked_generation = 0;
	const uint64 generation = table_generation(Table::Alias);
	if (checked_generation == generation)
		return;
	require_table_shape(table, alias_shape);
	checked_generation = generation;
}

Relation open_aliases(LOCKMODE mode) {
	Relation table = table_open(require_table(Table::Alias), mode);
	require_alias_shape(table);
	return table;
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
	return is_in_flight(dirty) ? Presence::InFlight : Presence::Settled;
}

SysScanDesc begin_pair_scan(Relation table, const Digest128 &alias, const Digest128 &key,
                            SnapshotData &dirty, ScanKeyData *scan_keys) {
	InitDirtySnapshot(dirty);
	ScanKeyInit(&scan_keys[0], attr_alias, BTEqualStrategyNumber, F_UUID_EQ,
	            PointerGetDatum(alias.data()));
	ScanKeyInit(&scan_keys[1], attr_key, BTEqualStrategyNumber, F_UUID_EQ,
	            PointerGetDatum(key.data()));
	return systable_beginscan(table, RelationGetPrimaryKeyIndex(table), true, &dirty, attr_count,
	                          scan_keys);
}

Presence find_pair(Relation table, const Digest128 &alias, const Digest128 &key) {
	SnapshotData dirty;
	ScanKeyData scan_keys[attr_count];
	SysScanDesc scan = begin_pair_scan(table, alias, key, dirty, scan_keys);
	const Presence presence =
		HeapTupleIsValid(systable_getnext(scan)) ? presence_of(dirty) : Presence::None;
	systable_endscan(scan);
	return presence;
}

void insert_alias(Relation table, const Digest128 &alias, const Digest128 &key) {
	const Datum values[attr_count] = {PointerGetDatum(alias.data()), PointerGetDatum(key.data())};
	insert_whole_row(table, values);
}

} // namespace

void reserve_aliases() {
	keep_locked(require_table(Table::Alias));
	table_close(open_aliases(NoLock), NoLock);
}

Presence find_alias(const Digest128 &alias, const Digest128 &key) {
	Relation table = open_aliases(AccessShareLock);
	const Presence presence = find_pair(table, alias, key);
	table_close(table, NoLock);
	return presence;
}

AliasScan::AliasScan(const Digest128 &alias) : table_(open_aliases(AccessShareLock)) {
	InitDirtySnapshot(dirty_);
	ScanKeyData scan_key;
	ScanKeyInit(&scan_key, attr_alias, BTEqualStrategyNumber, F_UUID_EQ,
	            PointerGetDatum(alias.data()));
	scan_ =
		systable_beginscan(table_, RelationGetPrimaryKeyIndex(table_), true, &dirty_, 1, &scan_key);
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
	for (const Digest128 &alias : aliases)
		if (find_pair(table, alias, key) != Presence::Settled)
			insert_alias(table, alias, key);
	table_close(table, NoLock);
}

void delete_own_aliases(const Digest128 &key, std::span<const Digest128> aliases) {
	Relation table = open_aliases(RowExclusiveLock);
	for (const Digest128 &alias : aliases) {
		SnapshotData dirty;
		ScanKeyData scan_keys[attr_count];
		SysScanDesc scan = begin_pair_scan(table, alias, key, dirty, scan_keys);
		HeapTuple tuple = systable_getnext(scan);
		if (HeapTupleIsValid(tuple) &&
		    TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data)))
			simple_heap_delete(table, &tuple->t_self);
		systable_endscan(scan);
	}
	table_close(table, NoLock);
}

} // namespace pg_idem
