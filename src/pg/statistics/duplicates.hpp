// How often keys were claimed by callers who did not come to own them: for budgets, and to see who hammers.
//
// In shared memory, so only when the library is preloaded; a restart forgets. A fixed number of slots, each of
// one key at a time: a key that another one has pushed out is counted from zero again. Nothing is written, since a
// replay costs nothing.
#pragma once

extern "C" {
#include "postgres.h"
}

#include "core/digest.hpp"

namespace pg_idem {

// At library load.
void watch_duplicates();

// Does nothing unless the library was preloaded.
void count_duplicate(const Digest128 &key);

// -1: not counted, since the library was not preloaded.
int64 duplicates_of(const Digest128 &key);

} // namespace pg_idem
