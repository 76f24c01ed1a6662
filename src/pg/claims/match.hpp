// What the ledger has for a request, read but not decided on.
#pragma once

extern "C" {
#include "postgres.h"
}

#include "pg/claims/answer.hpp"
#include "pg/claims/pending.hpp"
#include "pg/claims/request.hpp"
#include "pg/storage/ledger.hpp"

namespace pg_idem {

// What stands against a request in the ledger, and what it means. When the answer is an ownership,
// `probe` is of the row that goes (it is past its life) or is taken up (it was released), if any.
struct Match {
	Probe probe;
	Answer answer;
	bool empty = false; // no index entry was met, dead or alive, and there was one place to look
};

// Looks under the request's own key, then under its keys of lower versions, and for rows of higher
// versions that carry its key as an alias: one intent is one intent, whichever version a client knows.
Match match(const Ledger &ledger, const Request &request, bool exact);

// The claim of this transaction for the request, under any of its keys.
Claim *find_own_claim(const Request &request);

// A key that this transaction has claimed before, whatever has become of it here.
Answer answer_own(const Claim &own, const Request &request);
bool is_request_of(const Claim &own, const Request &request);

// A key that was asked for by name: there is no request to compare.
// `lease` is what a new attempt would ask for, 0 for the policy's.
Answer answer_named(const Probe &probe, const Policy &policy, Micros lease);
Answer answer_named(const Claim &own);

Answer answer_bare(const Decision &decision, const Request &request);
Answer answer_in_flight(const Request &request);

// Whether the decision makes the caller the owner.
bool owns(const Decision &decision);

// The policy as the decision takes it; `lease` is what a new attempt asks for, 0 for the policy's.
Rules rules_of(const Policy &policy, Micros lease);

// What is kept of the request that a row was written for, in the current memory context.
KeptRequest kept_of(const Row &row);

// The last instant at which a finished row answers.
Micros life_end_of(const Row &row, const Policy &policy);

// Raises 40001 unless the transaction's snapshot sees the probed row.
void require_visible(const Probe &probe);

} // namespace pg_idem
