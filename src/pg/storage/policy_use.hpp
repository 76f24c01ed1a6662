// Whether a policy has keys: what freezes its recipe.
#pragma once

extern "C" {
#include "postgres.h"
}

namespace pg_idem {

// Reads idem.key as it is now, whatever snapshot the transaction has: a repeatable-read one would miss
// keys that were written since. Claims that are in flight are in the memory of their transactions only.
bool has_rows_of(int16 policy);

} // namespace pg_idem
