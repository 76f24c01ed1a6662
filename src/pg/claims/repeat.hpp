// One call that a statement evaluates several times.
//
// `SELECT (idem_claim(...)).*` is expanded to a call for each column. The first would own the key and
// the others would meet that claim, so the columns of one row would contradict each other. A call is
// taken for another column of the same row when it has the same place in the same statement, under the
// same snapshot, and the call that claimed has not been evaluated again since. That can be said of
// copies which a planner made for other rows, too, so a copy never owns the key: idem_claim and
// idem_record raise an error.
#pragma once

extern "C" {
#include "postgres.h"
#include "fmgr.h"
}

#include "core/digest.hpp"

namespace pg_idem {

// Remembers that this call came to own `key`, and holds on to the statement's snapshot, whose address
// tells statements apart, until the next call, the finish of the claim, or the commit.
void remember_call(FmgrInfo *site, const Digest128 &key);

// Whether this call is a copy of the one that came to own `key`.
bool is_copy_of_call(FmgrInfo *site, const Digest128 &key);

// Whether a copy of the call that owns `key` may still come.
bool is_remembered(const Digest128 &key);

void forget_call();

// The same at the end of a transaction, when PostgreSQL has let go of the snapshot itself.
void abandon_call();

} // namespace pg_idem
