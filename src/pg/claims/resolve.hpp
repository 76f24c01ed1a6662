// A person's decision on a key that no attempt can bring to an end.
#pragma once

extern "C" {
#include "postgres.h"
#include "utils/jsonb.h"
}

#include <string_view>

namespace pg_idem {

struct Resolution {
	std::string_view tenant;
	std::string_view key;
	std::string_view decision; // completed, retry or abandoned
	std::string_view effect_ref;
	Jsonb *response;
	std::string_view note;
	bool rekey; // retry under the key of the next generation
};

// "completed", "abandoned", or "released" for the decision retry. The decision is kept, with who and when.
//
// Raises ID021 when the tenant has no such key, ID027 when the key needs no decision: its attempt is under
// way, or the next claim owns it, or it is finished; a failed one can be retried. 40001 when the snapshot
// cannot see the row.
std::string_view resolve(const Resolution &resolution);

} // namespace pg_idem
