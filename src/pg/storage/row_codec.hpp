// Between a Row and a heap tuple.
#pragma once

extern "C" {
#include "postgres.h"
#include "access/htup.h"
}

#include "pg/storage/row.hpp"

namespace pg_idem {

// `tuple` must stay; the row's views point into it, or into the current memory context where a value
// had to be detoasted.
Row decode_row(HeapTuple tuple);

// Only what the life of a key depends on: key, policy, state, finished, completed_at,
// generation. Needs no memory, so
// it may run while the tuple's buffer is locked.
Row decode_life(HeapTuple tuple);

// In the current memory context. A row without a tail is formed short (row.hpp). `values` and `nulls` have room
// for column_count entries and are left filled, for the indexes.
HeapTuple encode_row(const Row &row, Datum *values, bool *nulls);

} // namespace pg_idem
