// Operations as this session knows them: idem.operation, compiled and cached.
#pragma once

extern "C" {
#include "postgres.h"
#include "utils/array.h"
#include "utils/jsonb.h"
#include "utils/timestamp.h"
}

#include "core/outcome.hpp"
#include "core/recipe.hpp"
#include "core/retention.hpp"
#include "pg/policy/definition.hpp"

namespace pg_idem {

struct Policy {
	int16 id; // idem.operation.id
	Recipe recipe;
	DefinitionFault fault; // a row that raw SQL made unreadable: refused when it is used
	std::string_view prefix;
	bool unlinked; // its intents are others than those of the lower versions
	bool retired;  // no new claims, and no look-ups under it
	bool external;
	bool stores_arguments; // with the key, as they came
	Micros retention;
	Micros failure_retention;
	Micros lease;
	Micros retry_after;
	bool records_sending;   // sending => 'recorded': a claim counts as sent when it is marked
	bool takes_over;        // on_lost_lease => 'takeover'
	Micros provider_window; // 0: not declared
	int32 max_attempts;     // 0: no limit
	Micros repeat_after;    // 0: a repeat is never a new effect
	int32 max_response_bytes;
	std::span<const RetentionChange> retention_changes;
	std::span<const RetentionChange> failure_retention_changes;
};

// What was asked for, or the policy's for 0.
inline Micros lease_of(const Policy &policy, Micros asked) {
	return asked != 0 ? asked : policy.lease;
}

struct FoundPolicy {
	const Policy *policy = nullptr; // NULL: not defined
	std::span<const Policy> older; // the lower versions that it is linked to, retired ones included
	std::span<const Policy> newer; // the higher versions that are linked to it, likewise
};

// The given version of an operation, or its highest that is not retired when `version` is 0.
//
// A policy lives until the end of the transaction, even when it is redefined meanwhile. Which
// definitions a call sees: those committed by now and those of this transaction, whatever its
// isolation level.
FoundPolicy find_policy(std::string_view operation, int32 version);

// The policy that a row was written under; NULL when it was dropped by raw SQL.
const Policy *find_policy_by_id(int16 id);

// All of them, in order of operation and version.
std::span<const Policy> all_policies();

} // namespace pg_idem
