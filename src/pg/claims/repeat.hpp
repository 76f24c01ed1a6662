// One call that a statement evaluates several times.
//
// `SELECT (idem_claim(...)).*` is expanded to a call for each column. Without help the first would own
// the key and the others would meet that claim, so the columns of one row would contradict each other.
// A call is another column of the same row when it has the same place in the same statement, under the
// same snapshot, and the call that claimed has not been evaluated again since.
#pragma once

extern "C" {
#include "postgres.h"
#include "fmgr.h"
}

#include "pg/claims/answer.hpp"

namespace pg_idem {

// Keeps the answer of a call that came to own a key, and holds on to the statement's snapshot, whose
// address tells statements apart, until the next call, the finish of the claim, or the commit.
void remember_answer(FmgrInfo *site, const Answer &answer);

// The answer for another column of the row whose call owns `key`, or NULL.
const Answer *repeated_answer(FmgrInfo *site, const Digest128 &key);

void forget_repeat();

// The same at the end of a transaction, when PostgreSQL has let go of the snapshot itself.
void abandon_repeat();

} // namespace pg_idem
