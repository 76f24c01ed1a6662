#include "pg/storage/path_names.hpp"

extern "C" {
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

#include "pg/storage/dirty.hpp"
#include "pg/storage/find_index.hpp"
#include "pg/storage/ledger.hpp"
#include "pg/storage/relations.hpp"
#include "pg/storage/table_shape.hpp"
#include "pg/text.hpp"

namespace pg_idem {

namespace {

constexpr AttrNumber attr_policy = 1, attr_digest = 2, attr_path = 3, attr_count = 3;
constexpr AttrNumber indexed[] = {attr_policy, attr_digest};

constexpr ColumnShape columns[attr_count] = {
	{"policy", INT2OID, true}, {"digest", INT4OID, true}, {"path", TEXTOID, true}};
constexpr TableShape path_shape = {"idem.path", columns, {}, false};

// The extension's index, found again after each change of the table. InvalidOid: somebody has dropped
// it, and the table, which is small, is read as a whole.
Oid index_oid = InvalidOid;

Relation open_paths(LOCKMODE mode) {
	static uint64 checked_generation = 0;
	Relation table = table_open(require_table(Table::Path), mode);
	const uint64 generation = table_generation(Table::Path);
	if (checked_generation != generation) {
		require_table_shape(table, path_shape);
		index_oid = find_index(table, indexed);
		checked_generation = generation;
	}
	return table;
}

// What is known to be there, so that a claim whose names are known does not look. A number, since a hash
// key is compared byte by byte, and the padding of a structure is anything.
using Known = uint64;

struct Entry {
	Known known;
	uint64 epoch; // 0: committed; else valid in this epoch only
};

HTAB *cache = nullptr;
uint64 cache_path_generation = 0, cache_policy_generation = 0; // of the tables it agrees with
uint64 epoch = 1; // counted up when names of this transaction may be gone

// Says that the policy has too many names. A path of this very digest is not kept.
constexpr std::uint32_t full_mark = 0xFFFFFFFF;

Known make_known(int16 policy, std::uint32_t digest) {
	return static_cast<Known>(static_cast<uint16>(policy)) << 32 | digest;
}

void refresh_cache() {
	// A policy that was dropped gives its number, and not its names, to another one.
	if (cache != nullptr && cache_path_generation == table_generation(Table::Path) &&
	    cache_policy_generation == table_generation(Table::Operation))
		return;
	if (cache != nullptr)
		hash_destroy(cache);
	HASHCTL control;
	memset(&control, 0, sizeof control);
	control.keysize = sizeof(Known);
	control.entrysize = sizeof(Entry);
	cache = hash_create("pg_idem path names", 64, &control, HASH_ELEM | HASH_BLOBS);
	cache_path_generation = table_generation(Table::Path);
	cache_policy_generation = table_generation(Table::Operation);
}

bool is_cached(Known known) {
	const auto *entry = static_cast<Entry *>(hash_search(cache, &known, HASH_FIND, nullptr));
	return entry != nullptr && (entry->epoch == 0 || entry->epoch == epoch);
}

void remember(Known known, bool own) {
	auto *entry = static_cast<Entry *>(hash_search(cache, &known, HASH_ENTER, nullptr));
	entry->epoch = own ? epoch : 0;
}

// Calls `visit(tuple, dirty)` for the names of a policy, or of one digest of it, until it says false.
template <typename Visit>
void for_each_name(Relation table, int16 policy, const std::uint32_t *digest, Visit visit) {
	SnapshotData dirty;
	InitDirtySnapshot(dirty);
	ScanKeyData keys[lengthof(indexed)];
	ScanKeyInit(&keys[0], attr_policy, BTEqualStrategyNumber, F_INT2EQ, Int16GetDatum(policy));
	if (digest != nullptr)
		ScanKeyInit(&keys[1], attr_digest, BTEqualStrategyNumber, F_INT4EQ,
		            Int32GetDatum(static_cast<int32>(*digest)));
	SysScanDesc scan = systable_beginscan(table, index_oid, OidIsValid(index_oid), &dirty,
	                                      digest != nullptr ? 2 : 1, keys);
	HeapTuple tuple;
	while (HeapTupleIsValid(tuple = systable_getnext(scan)) && visit(tuple, dirty)) {
	}
	systable_endscan(scan);
}

bool is_own(HeapTuple tuple) {
	return TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data));
}

bool is_there(Relation table, int16 policy, std::uint32_t digest) {
	bool found = false;
	for_each_name(table, policy, &digest, [&](HeapTuple tuple, const SnapshotData &dirty) {
		found = true;
		if (!is_in_flight(dirty))
			remember(make_known(policy, digest), is_own(tuple));
		return false;
	});
	return found;
}

// How many names can be added.
std::size_t find_room(Relation table, int16 policy) {
	std::size_t count = 0, committed = 0;
	for_each_name(table, policy, nullptr, [&](HeapTuple tuple, const SnapshotData &dirty) {
		++count;
		committed += !is_in_flight(dirty) && !is_own(tuple) ? 1 : 0;
		return true;
	});
	if (count < most_path_names)
		return most_path_names - count;
	remember(make_known(policy, full_mark), committed < most_path_names);
	return 0;
}

} // namespace

bool has_path_name(int16 policy, std::uint32_t digest) {
	refresh_cache();
	if (digest == full_mark || is_cached(make_known(policy, digest)) ||
	    is_cached(make_known(policy, full_mark)))
		return true;
	Relation table = open_paths(AccessShareLock);
	refresh_cache(); // opening the table has read what others have changed
	const bool found = is_there(table, policy, digest);
	table_close(table, NoLock);
	return found;
}

void reserve_path_names() {
	keep_locked(require_table(Table::Path));
	table_close(open_paths(NoLock), NoLock);
}

void insert_path_names(int16 policy, std::span<const PathName> names) {
	if (names.empty())
		return;
	Relation table = open_paths(RowExclusiveLock);
	refresh_cache();
	std::size_t room = find_room(table, policy);
	for (const PathName &name : names) {
		if (room == 0)
			break;
		// A claim before this one may have added it.
		if (is_there(table, policy, name.digest))
			continue;
		const Datum values[attr_count] = {Int16GetDatum(policy),
		                                  Int32GetDatum(static_cast<int32>(name.digest)),
		                                  text_datum(name.path)};
		insert_whole_row(table, values);
		--room;
	}
	table_close(table, NoLock);
}

std::span<const std::string_view> find_path_names(int16 policy, std::uint32_t digest) {
	auto *names =
		static_cast<std::string_view *>(palloc(sizeof(std::string_view) * most_path_names));
	std::size_t count = 0;
	Relation table = open_paths(AccessShareLock);
	for_each_name(table, policy, &digest, [&](HeapTuple tuple, const SnapshotData &dirty) {
		if (TransactionIdIsValid(dirty.xmin))
			return true; // of a transaction that has not committed
		bool null;
		text *path =
			DatumGetTextPCopy(heap_getattr(tuple, attr_path, RelationGetDescr(table), &null));
		const std::string_view name(VARDATA(path), VARSIZE(path) - VARHDRSZ);
		for (std::size_t i = 0; i < count; ++i)
			if (names[i] == name)
				return true;
		new (&names[count++]) std::string_view(name);
		return count < most_path_names;
	});
	table_close(table, NoLock);
	return {names, count};
}

void forget_own_path_names() {
	++epoch;
}

} // namespace pg_idem
