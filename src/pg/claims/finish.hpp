// Finishing a claim: complete, fail, release, unknown; and a person's decision on an unresolved key.
#pragma once

extern "C" {
#include "postgres.h"
#include "utils/jsonb.h"
}

#include <string_view>

#include "core/digest.hpp"

namespace pg_idem {

enum class Ending { Complete, Fail, Release, Unknown };

struct Finish {
	Ending ending;
	std::string_view tenant;     // NULL data: NULL
	std::string_view key;        // likewise
	std::string_view effect_ref; // NULL data: none
	Jsonb *response;             // detoasted, or NULL: the receipt, or the error of Fail
	bool has_fence;
	int64 fence;
};

// What was done: "completed", "failed", "released", "unknown", or "already" when a row with this fence
// had ended just so before.
//
// Raises ID021 when there is no such claim for the tenant, ID022 for a missing or stale fence, ID023
// when the key was finished otherwise, ID024 for an external claim that is not committed yet, 40001
// when the snapshot cannot see the row. Nothing is changed then.
std::string_view finish(const Finish &finish);

// Completes a claim that this very call has made: idem_record and idem_once. The effect is local.
void complete_fresh_claim(const Digest128 &key, std::string_view effect_ref, Jsonb *response);
void fail_fresh_claim(const Digest128 &key, Jsonb *error);

struct Resolution {
	std::string_view tenant;
	std::string_view key;
	std::string_view decision; // completed, retry or abandoned
	std::string_view effect_ref;
	Jsonb *response;
	std::string_view note;
};

// Raises ID021 as above, ID027 when the key needs no decision: its attempt is under way, or it is
// finished.
std::string_view resolve(const Resolution &resolution);

} // namespace pg_idem
