// What becomes of a row when an attempt begins or ends.
#pragma once

extern "C" {
#include "postgres.h"
#include "utils/jsonb.h"
}

#include <string_view>

#include "pg/policy/policy.hpp"
#include "pg/storage/row.hpp"

namespace pg_idem {

// A further attempt, or the first one of a row that was just made as released. Whether it may have been
// sent stays what it was: known not to have happened, it counts as sent from its commit on, unless the
// policy has sending recorded.
void begin_attempt(Row &row, const Policy &policy, Micros now);

// The response as far as it is kept. Never cut: a receipt is whole, or it is not there.
struct KeptResponse {
	Jsonb *response;
	bool omitted;
};

// Warns when the response is too large to be kept.
KeptResponse keep_response(Jsonb *response, const Policy &policy);

void end_attempt(Row &row, State state, Micros now, std::string_view effect_ref,
                 const KeptResponse &kept);

} // namespace pg_idem
