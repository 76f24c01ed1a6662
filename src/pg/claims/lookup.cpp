#include "pg/claims/lookup.hpp"

extern "C" {
#include "access/parallel.h"
}

#include "core/key_text.hpp"
#include "pg/claims/match.hpp"
#include "pg/claims/pending.hpp"
#include "pg/storage/ledger.hpp"

namespace pg_idem {

namespace {

// A row that only a claim can take up is known, but has no outcome yet.
void hide_ownership(Answer &answer) {
	if (!owns(answer.decision))
		return;
	answer.known = answer.decision.continues;
	answer.has_outcome = false;
}

// A parallel worker does not have the claims of its leader.
void refuse_in_worker() {
	if (IsParallelWorker())
		ereport(
			ERROR,
			(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
		     errmsg("cannot look up a key in a parallel worker"),
		     errhint("idem_lookup is PARALLEL RESTRICTED, and so is a function that calls it.")));
}

} // namespace

Answer look_up(const Call &call) {
	refuse_in_worker();
	const Ledger ledger = open_ledger();
	const Request request = require_request(call);
	Answer answer;
	const Claim *own = find_own_claim(request);
	if (own != nullptr && own->state() != State::Released) {
		answer = answer_own(*own, request);
	} else {
		const Match found = match(ledger, request, false);
		answer = found.answer;
		hide_ownership(answer);
		if (answer.known)
			require_visible(found.probe);
	}
	close_ledger(ledger);
	return answer;
}

Answer look_up_key(std::string_view tenant, std::string_view key) {
	refuse_in_worker();
	const Refusal refusal = check_tenant(tenant);
	if (refusal.message != nullptr)
		raise_refusal(refusal);
	Answer answer;
	answer.known = false;
	std::string_view prefix;
	Digest128 digest;
	if (!parse_key(key, prefix, digest))
		return answer;
	const Ledger ledger = open_ledger();
	const Claim *own = find_claim(digest);
	if (own != nullptr && own->state() != State::Released) {
		if (own->tenant == tenant && own->policy->prefix == prefix)
			answer = answer_named(*own);
	} else {
		const Probe found = probe(ledger, digest, false);
		// A row that is in flight cannot be read, so whose it is cannot be told either.
		const Policy *policy =
			found.presence == Presence::Settled ? find_policy_by_id(found.row.policy) : nullptr;
		if (policy != nullptr && found.row.tenant == tenant && policy->prefix == prefix) {
			answer = answer_named(found, *policy);
			hide_ownership(answer);
			if (answer.known)
				require_visible(found);
		}
	}
	close_ledger(ledger);
	return answer;
}

} // namespace pg_idem
