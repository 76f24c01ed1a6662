// Whether idem.key is what the direct writes need.
#pragma once

extern "C" {
#include "postgres.h"
#include "access/tupdesc.h"
#include "utils/relcache.h"
}

namespace pg_idem {

// Raises ID031 unless the table is a plain, permanent heap with exactly our columns, no trigger that
// a write should fire, no rule, row security, check, default or inheritance: all of them would be
// passed by. Columns that somebody has added and dropped again do no harm. Looks once a generation of
// the relation's cache entry.
void require_shape(Relation table);

// The table's columns that are ours, and those of a short row (row.hpp). After require_shape.
TupleDesc row_descriptor();
TupleDesc short_row_descriptor();

// Raises ID032, naming the constraint, when a foreign key references the ledger: deleting a key could
// cascade to effect rows.
void refuse_if_referenced(Relation table);

} // namespace pg_idem
