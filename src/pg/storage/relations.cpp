#include "pg/storage/relations.hpp"

extern "C" {
#include "catalog/namespace.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
}

namespace pg_idem {

namespace {

constexpr int table_count = 4;
constexpr const char *table_names[table_count] = {"key", "operation", "retention_change", "sweep"};

struct Known {
	Oid oid;
	uint64 generation;
};

Known known[table_count] = {{InvalidOid, 1}, {InvalidOid, 1}, {InvalidOid, 1}, {InvalidOid, 1}};

// A message for a relation that is none of ours (an index, another table) costs four comparisons.
void forget(Datum, Oid relid) {
	for (Known &table : known) {
		if (relid == InvalidOid || relid == table.oid) {
			table.oid = InvalidOid;
			++table.generation;
		}
	}
}

} // namespace

Oid find_table(Table table) {
	Known &entry = known[static_cast<int>(table)];
	if (!OidIsValid(entry.oid)) {
		const Oid schema = get_namespace_oid("idem", true);
		if (OidIsValid(schema))
			entry.oid = get_relname_relid(table_names[static_cast<int>(table)], schema);
	}
	return entry.oid;
}

Oid require_table(Table table) {
	const Oid oid = find_table(table);
	if (!OidIsValid(oid))
		ereport(ERROR,
		        (errcode(ERRCODE_UNDEFINED_OBJECT),
		         errmsg("table \"idem.%s\" does not exist", table_names[static_cast<int>(table)]),
		         errhint("Run CREATE EXTENSION pg_idem in this database.")));
	return oid;
}

uint64 table_generation(Table table) {
	return known[static_cast<int>(table)].generation;
}

void watch_relations() {
	CacheRegisterRelcacheCallback(forget, Datum(0));
}

} // namespace pg_idem
