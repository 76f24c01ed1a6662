// Finishing a claim: complete, fail, release, unknown.
#pragma once

extern "C" {
#include "postgres.h"
#include "utils/jsonb.h"
}

#include <string_view>

#include "core/digest.hpp"
#include "core/outcome.hpp"

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
	Micros retry_after; // Release, Unknown: how long the next attempt has to wait; 0: not at all
	bool verified;      // Release: known of the attempts before, too
};

// What was done: "completed", "failed", "released", "unknown" (also of a release, when an attempt before may have
// taken effect and the caller has not said that it looked), or "already" when a row with this fence
// had ended just so before.
//
// Raises ID021 when there is no such claim for the tenant, ID022 for a missing or stale fence, ID023
// when the key was finished otherwise, ID024 for an external claim that is not committed yet, ID02A for
// one whose sending was to be recorded and was not, 40001 when the snapshot cannot see the row. Nothing is changed then.
std::string_view finish(const Finish &finish);

// Completes a claim that this very call has made: idem_record and idem_once. The effect is local.
void complete_fresh_claim(const Digest128 &key, std::string_view effect_ref, Jsonb *response);
void fail_fresh_claim(const Digest128 &key, Jsonb *error);

} // namespace pg_idem
