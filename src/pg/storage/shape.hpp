// Whether idem.key is what the direct writes need.
#pragma once

extern "C" {
#include "postgres.h"
#include "access/tupdesc.h"
#include "utils/relcache.h"
}

namespace pg_idem {

// Raises ID031 unless the table is as table_shape.hpp demands. Looks once a generation of the relation's
// cache entry, which every change of the table and of its indexes counts up.
void require_shape(Relation table);

// The table's columns that are ours. After require_shape.
TupleDesc row_descriptor();

// The fewest columns that a row which uses the first `used` is stored with (row.hpp). After
// require_shape.
TupleDesc row_descriptor_of(int used);

// The indexes of what is not finished, into which a finished row does not go; InvalidOid where somebody has
// dropped one. After require_shape.
struct UnfinishedIndexes {
	Oid by_policy;
	Oid by_subject;
};

const UnfinishedIndexes &unfinished_indexes();

// Raises ID032, naming the constraint, when a foreign key references the ledger: deleting a key could
// cascade to effect rows.
void refuse_if_referenced(Relation table);

} // namespace pg_idem
