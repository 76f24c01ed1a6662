// Whether a policy has keys: what freezes its recipe.
#pragma once

extern "C" {
#include "postgres.h"
}

namespace pg_idem {

// Reads idem.key as it is now, whatever snapshot the transaction has: a repeatable-read one would miss
// keys that were written since. When it finds none, waits for the claims that are in flight, which are
// in the memory of their transactions only, and looks again; no others can start until this
// transaction ends.
bool has_rows_of(int16 policy);

} // namespace pg_idem
