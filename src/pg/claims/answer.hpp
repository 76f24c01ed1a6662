// What a call answers, before it becomes a row of idem.claim.
#pragma once

extern "C" {
#include "postgres.h"
#include "fmgr.h"
#include "utils/jsonb.h"
}

#include <string_view>

#include "core/digest.hpp"
#include "core/outcome.hpp"
#include "pg/claims/pending.hpp"
#include "pg/storage/row.hpp"

namespace pg_idem {

struct Answer {
	bool known = true;       // false: idem_lookup met nothing, and answers NULL
	bool in_flight = false;  // an open transaction of someone else decides: waiting may help
	bool has_outcome = true; // false: a released key, which only a claim can take up
	Decision decision;
	std::string_view prefix; // of the key's own policy: a row's key is the one first issued
	Digest128 key{};
	int32 generation = 1;
	bool owned = false;  // the caller holds the claim: attempt and fence are told
	bool copied = false; // owned by an earlier evaluation of this call, for another column
	bool forgotten =
		false; // a failure whose retention is over: only the number of its generation counts
	bool sibling = false;  // conflict: with another intent of the same subject
	bool recorded = false; // owned and completed, by idem_record
	int32 attempt = 1;
	int64 fence = 0;
	std::string_view effect_ref; // NULL data: none
	Jsonb *response = nullptr;
	bool response_omitted = false;
	std::span<const std::string_view> differing_fields; // as kept_request.hpp gives them
	Jsonb *arguments = nullptr; // as they were claimed, for who may see them
	bool has_claimed_at = false;
	Micros claimed_at = 0;
	bool has_completed_at = false;
	Micros completed_at = 0;
};

// A conflict tells which effect it collided with, and never that one's response.
Answer answer_of_row(const Decision &decision, const Row &row, const Policy &policy);
Answer answer_of_claim(const Decision &decision, const Claim &claim);

// What idem_record answers when it came to own the key: the effect of this transaction counts.
Answer answer_recorded_claim(const Answer &owned);

// What idem_once answers when it has run the effect: there is nothing left to do for the caller.
Answer answer_finished_claim(const Digest128 &key);

// A key's text, in the current memory context.
text *key_text(std::string_view prefix, const Digest128 &key, int32 generation);

// Its columns in the order of the type idem.claim, in the current memory context.
constexpr int answer_columns = 15;
void answer_values(const Answer &answer, Datum *values, bool *nulls);

// The row for SQL, in the current memory context; the NULL datum when nothing is known.
Datum answer_datum(const Answer &answer, FunctionCallInfo fcinfo);

} // namespace pg_idem
