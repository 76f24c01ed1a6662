// What is for local effects only.
#pragma once

extern "C" {
#include "postgres.h"
}

#include "pg/claims/pending.hpp"
#include "pg/errors.hpp"

namespace pg_idem {

// Raises ID024 when the claim just made is of an external effect, which must be committed before the
// call and cannot be finished in the same transaction.
inline void require_local_effect(const Digest128 &key, const char *function) {
	if (find_claim(key)->policy->external)
		ereport(
			ERROR,
			(errcode(errcode_claim_not_committed), errmsg("%s is for local effects", function),
		     errdetail(
				 "An external effect is claimed in one transaction and finished in a second one, after the call."),
		     errhint("Use idem_claim, COMMIT, make the call, then idem_complete with the fence.")));
}

} // namespace pg_idem
