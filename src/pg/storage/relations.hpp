// Where the extension's tables are: OIDs, found by name and forgotten when PostgreSQL says so.
#pragma once

extern "C" {
#include "postgres.h"
}

namespace pg_idem {

enum class Table {
	Key,
	Alias,
	Path,
	Decision,
	LateReport,
	ProviderRef,
	Operation,
	RetentionChange,
	Sweep
};

// The table's OID, or InvalidOid when the extension is not in this database (or no longer).
Oid find_table(Table table);

// The same, but raises 42704 instead.
Oid require_table(Table table);

// Counts up whenever any cached fact about `table` may have changed: its shape, or, for the two
// policy tables, their rows. Starts at 1, so 0 is a safe "never looked".
uint64 table_generation(Table table);

// Hooks into PostgreSQL's invalidation messages; once, at library load.
void watch_relations();

} // namespace pg_idem
