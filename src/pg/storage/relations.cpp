#include "pg/storage/relations.hpp"

extern "C" {
#include "catalog/namespace.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
}

namespace pg_idem {

namespace {

constexpr const char *table_names[] = {
	"key",         "alias",        "path",      "decision",
	"late_report", "provider_ref", "operation", "retention_change",
	"sweep"};
constexpr int table_count = lengthof(table_names);

struct Known {
	Oid oid; // kept when no longer valid: later messages of the same table must still be counted
	bool valid;
	uint64 generation = 1;
};

Known known[table_count];

// A message for a relation that is none of ours (an index, another table) costs nine comparisons.
void forget(Datum, Oid relid) {
	for (Known &table : known) {
		if (relid == InvalidOid || relid == table.oid) {
			table.valid = false;
			++table.generation;
		}
	}
}

} // namespace

Oid find_table(Table table) {
	Known &entry = known[static_cast<int>(table)];
	if (!entry.valid) {
		const Oid schema = get_namespace_oid("idem", true);
		entry.oid = OidIsValid(schema)
		                ? get_relname_relid(table_names[static_cast<int>(table)], schema)
		                : InvalidOid;
		entry.valid = OidIsValid(entry.oid);
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
