// Handing out work that was left behind: keys of external effects that a claim would own.
#pragma once

#include <string_view>

#include "pg/claims/pending.hpp"
#include "pg/storage/row.hpp"

namespace pg_idem {

struct TakeOptions {
	std::string_view operation;
	std::string_view tenant; // NULL data: of every tenant
	int32 max_keys = 1;
	Micros lease = 0; // 0: the policy's
};

// Takes what was taken over, in a memory context that is reset afterwards. `row` is as it was before.
struct TakeReceiver {
	void (*taken)(void *state, const Decision &decision, const Claim &claim, const Row &row);
	void *state;
};

// Takes up to `max_keys` keys up with the next attempt, those whose lease ended first before others. A key that
// somebody else is at is passed by, and never waited for, so that each goes to one worker only.
//
// Raises 22004 and 22023 for bad options, ID001 for an operation that is not defined, 25006 in a read-only
// transaction or during recovery.
void take(const TakeOptions &options, const TakeReceiver &receiver);

} // namespace pg_idem
