// Deleting finished keys past their life.
//
// Nothing depends on when this runs: a row past its life answers as gone whether it is there or not.
// There is no index on the completion time, which would cost each claim; instead expiry remembers, for
// each range of 128 blocks, when the first row in it can be due (idem.sweep). Rows that come into a
// range after it was read are finished later than that, so the memory needs no upkeep by claims.
#pragma once

extern "C" {
#include "postgres.h"
}

#include "core/outcome.hpp"

namespace pg_idem {

struct Expired {
	int32 rows = 0;
	bool more = false; // stopped by `max_rows` or the deadline, with ranges left to read
};

// Deletes up to `max_rows` keys in the current transaction, one that has an active snapshot, and
// starts no further range after `deadline`. Skips rows that others lock or change. Returns at once
// when another session is at it.
//
// Raises ID032 while a foreign key references the ledger; 25006 read-only and during recovery.
Expired expire_keys(int32 max_rows, Micros deadline);

} // namespace pg_idem
