// A row of idem.key as the claims see it, and its columns.
#pragma once

extern "C" {
#include "postgres.h"
#include "storage/itemptr.h"
#include "utils/jsonb.h"
}

#include <string_view>

#include "core/digest.hpp"
#include "core/outcome.hpp"

namespace pg_idem {

// In the table's order. A row that ends with its fingerprint or with its leaves is stored with the
// columns up to there only: of eight columns the null bitmap fits the header's padding, and a row of nine
// that has them all needs none.
enum Column {
	col_key,
	col_completed_at,
	col_elapsed,
	col_policy,
	col_state,
	col_tenant,
	col_effect_ref,
	col_fingerprint,
	col_leaves,
	col_response,
	col_response_omitted,
	col_claimed_at,
	col_lease_end,
	col_fence,
	col_attempt,
	col_note,
	col_arguments,
	col_generation,
	col_sent_at,
	col_retry_at,
	col_attempts_before,
	col_subject,
	col_in_doubt,
	column_count,
};

constexpr int short_row_columns = col_leaves;
constexpr int bound_row_columns = col_response;

// Views point into memory of whoever made the row. An absent text has a NULL data pointer, so it
// differs from an empty one.
struct Row {
	Digest128 key{};
	int16 policy = 0;
	State state = State::Completed;
	std::string_view tenant;
	std::string_view effect_ref;
	bool has_fingerprint = false;
	Digest128 fingerprint{};
	std::string_view leaves;   // core/leaf_digests.hpp
	Jsonb *response = nullptr; // detoasted
	bool response_omitted = false;
	bool finished = false; // completed_at is set
	Micros completed_at = 0;
	Micros claimed_at = 0; // of the present attempt; a finished local row has it by its `elapsed`
	bool leased = false;   // an external effect's: lease_end, fence and attempt are stored
	Micros lease_end = 0;
	bool has_fence = false;
	int64 fence = 0;
	int32 attempt = 1;
	std::string_view note;
	Datum arguments = 0; // of the request as it came: a jsonb, perhaps toasted; 0: not kept
	int32 generation = 1;
	bool was_sent = false; // sent_at is set: an attempt may have been sent, or was before a release
	Micros sent_at = 0;    // first, by any attempt of this generation
	bool has_retry_at = false;
	Micros retry_at = 0;   // of a released row: not to be tried again before
	bool in_doubt = false; // an attempt before the present one may have taken effect
	bool has_subject = false;
	Digest128 subject{}; // what the intent shares with others that must not be under way with it
	int32 attempts_before = 0; // attempts before a person said retry: they are not in the budget

	int32 budget_used() const { return attempt - attempts_before; }
};

} // namespace pg_idem
