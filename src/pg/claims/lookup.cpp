#include "pg/claims/lookup.hpp"

extern "C" {
#include "access/parallel.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/rel.h"
}

#include "core/key_text.hpp"
#include "pg/claims/match.hpp"
#include "pg/claims/pending.hpp"
#include "pg/storage/ledger.hpp"

namespace pg_idem {

namespace {

// A row that only a claim can take up is known, but has no outcome yet. One that a repeat on purpose
// would follow is told as it is.
void hide_ownership(Answer &answer, const Row &row) {
	if (answer.decision.follows && !answer.forgotten)
		answer.decision = decide_repeat(row.state);
	if (!owns(answer.decision))
		return;
	answer.known = answer.decision.continues;
	answer.has_outcome = false;
}

// Whether the caller may see the arguments that a key was claimed with: SELECT on the column.
bool may_see_arguments(const Ledger &ledger) {
	const Oid table = RelationGetRelid(ledger.table), user = GetUserId();
	return pg_class_aclcheck(table, user, ACL_SELECT) == ACLCHECK_OK ||
	       pg_attribute_aclcheck(table, col_arguments + 1, user, ACL_SELECT) == ACLCHECK_OK;
}

// Those of a request that conflicts are somebody else's.
void add_arguments(Answer &answer, const Ledger &ledger, const KeptRequest &kept) {
	if (answer.known && kept.arguments != nullptr && answer.decision.outcome != Outcome::Conflict &&
	    may_see_arguments(ledger))
		answer.arguments = kept.arguments;
}

// A generation before the present one has ended: how, is no longer known.
Answer answer_former(const Row &row, const Policy &policy, int32 generation) {
	Answer answer;
	answer.decision = {.outcome = Outcome::ReceiptExpired, .action = Action::Stop};
	answer.prefix = policy.prefix;
	answer.key = row.key;
	answer.generation = generation;
	return answer;
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
		add_arguments(answer, ledger, own->kept);
	} else {
		const Match found = match(ledger, request, false);
		answer = found.answer;
		hide_ownership(answer, found.probe.row);
		if (answer.known)
			require_visible(found.probe);
		add_arguments(answer, ledger, kept_of(found.probe.row));
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
	KeyName name;
	if (!parse_key(key, name))
		return answer;
	const Ledger ledger = open_ledger();
	const Claim *own = find_claim(name.key);
	if (own != nullptr && own->state() != State::Released && own->generation == name.generation) {
		if (own->tenant == tenant && own->policy->prefix == name.prefix) {
			answer = answer_named(*own);
			add_arguments(answer, ledger, own->kept);
		}
	} else {
		const Probe found = probe(ledger, name.key, false);
		// A row that is in flight cannot be read, so whose it is cannot be told either.
		const Policy *policy =
			found.presence == Presence::Settled ? find_policy_by_id(found.row.policy) : nullptr;
		const Row &row = found.row;
		if (policy != nullptr && row.tenant == tenant && policy->prefix == name.prefix &&
		    row.generation >= name.generation) {
			answer = answer_named(found, *policy, 0);
			hide_ownership(answer, row);
			if (answer.known)
				require_visible(found);
			if (answer.known && row.generation > name.generation)
				answer = answer_former(row, *policy, name.generation);
			else
				add_arguments(answer, ledger, kept_of(row));
		}
	}
	close_ledger(ledger);
	return answer;
}

} // namespace pg_idem
