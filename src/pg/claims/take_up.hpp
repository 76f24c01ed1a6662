// Taking a row up with the next attempt.
#pragma once

#include <span>

#include "pg/claims/match.hpp"
#include "pg/claims/pending.hpp"

namespace pg_idem {

// Draws from the system's random source.
int64 random_fence();

// Makes the found row one of a new attempt of this transaction, under its key's lock, and adds the claim.
// `keys` are those that are locked, the row's first, and `subject` too unless it is NULL; `lease` is 0 for the
// policy's. NULL: someone is at the row, and nothing has changed.
Claim *take_up_row(const Ledger &ledger, const Probe &found, const Policy &policy,
                   std::span<const Digest128> keys, Micros lease, const Digest128 *subject);

// The same for a claim of this transaction that was released in it.
bool take_up_again(const Ledger &ledger, const Probe &found, const Claim &claim);

} // namespace pg_idem
