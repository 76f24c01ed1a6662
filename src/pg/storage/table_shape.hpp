// Whether a table is what direct writes need: nothing on it that they would pass by.
#pragma once

extern "C" {
#include "postgres.h"
#include "utils/relcache.h"
#include "utils/reltrigger.h"
}

#include <span>

namespace pg_idem {

struct ColumnShape {
	const char *name;
	Oid type;
	bool mandatory; // declared NOT NULL by the extension
};

struct TableShape {
	const char *table; // as messages name it
	std::span<const ColumnShape> columns;
	std::span<const AttrNumber> key; // the columns of its primary key; empty: it has none
	bool may_be_referenced;          // by foreign keys, as far as nothing is deleted
};

// Raises ID031 unless the table is a plain, permanent heap with exactly these columns and this primary
// key, and has no trigger that a write should fire, no rule, row security, check, default, inheritance,
// nor an index that can refuse a row. Columns that somebody has added and dropped again do no harm.
void require_table_shape(Relation table, const TableShape &shape);

// Whether the trigger belongs to a foreign key that references the table. It acts on updates of the key,
// which we never make, and on deletes.
bool is_reference(const Trigger &trigger);

} // namespace pg_idem
