// Rows of this transaction's claims: each written once, in its final state, wherever that can be.
#pragma once

#include "pg/claims/pending.hpp"
#include "pg/storage/ledger.hpp"

namespace pg_idem {

// Whether the claim's present state is a row that is not there yet.
bool needs_row(const Claim &claim);

// Writes the row, the keys that the intent has under lower versions, and names of fields. Raises 40001 when
// a writer outside pg_idem stands in the way. Under the key's lock.
void write_claim(const Ledger &ledger, Claim &claim);

// Brings the row of a local claim, which this transaction has written early, to the claim's state: one that
// was released has none, or the one of its former generation. The row is not committed, so nobody else can be at it.
void rewrite_claim(const Ledger &ledger, const Claim &claim);

} // namespace pg_idem
