// Intents of one subject, of which only one may be under way.
#pragma once

#include "pg/claims/answer.hpp"
#include "pg/storage/ledger.hpp"

namespace pg_idem {

// Under the subject's lock: whether another intent of the subject than that of `key` is under way, or may have been
// sent. If so, `answer` says what stands against a claim. A released one is known not to have happened.
bool find_sibling(const Ledger &ledger, const Digest128 &subject, const Digest128 &key,
                  Answer *answer);

} // namespace pg_idem
