// Writing the pending claims: once, in their final state, just before commit.
#pragma once

extern "C" {
#include "postgres.h"
}

namespace pg_idem {

// To be called before a claim or a finish. Raises ID026 once this transaction's claims were written:
// what came later would be lost. Puts our callback first in the line, so that no
// other module commits something remote before our row could be inserted, and writes finished claims
// early when the transaction holds too many locks.
void begin_claiming();

// Has this transaction commit synchronously, standbys included: what it says of an external effect must
// outlive a crash and a failover.
void commit_synchronously();

// At library load: hooks into the ends of transactions and sub-transactions.
void watch_transactions();

} // namespace pg_idem
