#include "pg/claims/match.hpp"

extern "C" {
#include "common/pg_prng.h"
#include "utils/timestamp.h"
}

#include <algorithm>

#include "core/retention.hpp"
#include "pg/storage/alias.hpp"

namespace pg_idem {

namespace {

// The version that the row was written with; the request's own when raw SQL has dropped that one.
const Policy &policy_of(const Row &row, const Request &request) {
	if (row.policy == request.policy->id)
		return *request.policy;
	const Policy *policy = find_policy_by_id(row.policy);
	return policy != nullptr ? *policy : *request.policy;
}

bool is_same_request(const Digest128 &key, const Fingerprint &fingerprint, const Policy &policy,
                     const Request &request) {
	if (policy.id == request.policy->id)
		return same(fingerprint, request.fingerprint);
	return is_same_under(policy, request.call, key, fingerprint);
}

Micros failure_end_of(const Row &row, const Policy &policy) {
	return life_end(row.completed_at, policy.failure_retention, policy.failure_retention_changes);
}

// A failure that is there for the sake of the next generation's number alone (life_end_of) binds nobody. Within
// its own transaction nothing is forgotten.
bool is_forgotten(const Probe &probe, const Policy &policy) {
	const Row &row = probe.row;
	return row.state == State::Failed && row.finished && row.generation > 1 && !probe.own &&
	       GetCurrentTimestamp() > failure_end_of(row, policy);
}

// The last instant at which the request of a finished row is a repeat. Who asked before that and was told to wait
// has asked in time.
Micros repeat_end_of(const Probe &probe, const Policy &policy, Micros asked_at) {
	const Row &row = probe.row;
	if (!row.finished || probe.own) // it is not known to have happened yet
		return forever;
	Micros end = forever;
	if (policy.repeat_after > 0)
		end = life_end(row.completed_at, policy.repeat_after, {});
	if (asked_at != 0 && asked_at <= end)
		end = forever;
	if (row.state == State::Failed && row.generation > 1)
		end = std::min(end, failure_end_of(row, policy));
	return end;
}

// The fingerprint first, then the state: for every row, whoever asks.
Answer answer_settled(const Probe &probe, const Policy &policy, bool same_request, Micros lease,
                      Micros asked_at) {
	const Row &row = probe.row;
	Record record;
	record.state = row.state;
	record.same_request = same_request;
	record.life_end = row.finished && !probe.own ? life_end_of(row, policy) : forever;
	record.repeat_end = repeat_end_of(probe, policy, asked_at);
	record.lease_end = row.lease_end;
	if (row.has_retry_at)
		record.retry_at = row.retry_at;
	record.sent_at = row.was_sent ? row.sent_at : row.claimed_at;
	record.attempt = row.attempt;
	record.budget_used = row.budget_used();
	Decision decision = decide(&record, GetCurrentTimestamp(), rules_of(policy, lease));
	// A row that an early flush of this transaction wrote is its own open claim still.
	if (probe.own && is_open(row.state) && same_request)
		decision = decide_own_open();
	Answer answer = answer_of_row(decision, row, policy);
	answer.forgotten = is_forgotten(probe, policy);
	return answer;
}

// "claimed" when there is no row; in flight for what is not committed.
Answer answer_probe(const Probe &probe, const Request &request) {
	switch (probe.presence) {
	case Presence::None: return answer_bare(decide(nullptr, 0, {}), request);
	case Presence::InFlight: return answer_in_flight(request);
	case Presence::Settled: break;
	}
	const Policy &policy = policy_of(probe.row, request);
	const Row &row = probe.row;
	const Fingerprint stored{row.has_fingerprint, row.fingerprint};
	Digest128 key;
	const bool same_request =
		is_same_request(row.key, stored, policy, request) ||
		(is_forgotten(probe, policy) && derive_under(policy, request.call, key) && key == row.key);
	Answer answer = answer_settled(probe, policy, same_request, request.lease, request.asked_at);
	if (answer.decision.outcome == Outcome::Conflict)
		answer.differing_fields =
			differing_fields({&policy, row.key, row.has_fingerprint, kept_of(row)}, request.call);
	return answer;
}

Answer answer_claim(const Claim &own, bool same_request) {
	if (same_request && own.open())
		return answer_of_claim(decide_own_open(), own);
	Record record;
	record.state = own.state();
	record.same_request = same_request;
	record.life_end = PG_INT64_MAX; // nothing of an open transaction is past its life
	return answer_of_claim(decide(&record, 0, rules_of(*own.policy, 0)), own);
}

Match match_key(const Ledger &ledger, const Request &request, const Digest128 &key, bool exact) {
	Match match;
	match.probe = probe(ledger, key, exact);
	match.answer = answer_probe(match.probe, request);
	return match;
}

// Whether there is a row that counts: one that answers, or that a claim has to take up.
bool decides(const Match &match) {
	const Decision &decision = match.answer.decision;
	return !owns(decision) || decision.continues || decision.follows;
}

// The request's own row of a higher version that carries its key, if there is one.
bool match_newer(const Ledger &ledger, const Request &request, bool exact, Match *found) {
	for (const Policy &version : request.newer) {
		Digest128 key;
		if (!derive_under(version, request.call, key))
			continue;
		switch (find_alias(request.key, key)) {
		case Presence::None: continue;
		case Presence::InFlight: found->answer = answer_in_flight(request); return true;
		case Presence::Settled: break;
		}
		const Match match = match_key(ledger, request, key, exact);
		if (decides(match)) {
			*found = match;
			return true;
		}
	}
	return false;
}

// Rows of a higher version that carry the request's key. There can be many, which differ in a field that
// the higher version has added: the one that is the request comes before all others, which conflict.
Match match_alias(const Ledger &ledger, const Request &request, bool exact, const Match &none) {
	Match found = none;
	if (match_newer(ledger, request, exact, &found))
		return found;
	bool in_flight = false;
	AliasScan scan(request.key);
	Digest128 key;
	for (Presence presence; (presence = scan.next(&key)) != Presence::None;) {
		if (presence == Presence::InFlight) {
			in_flight = true;
			continue;
		}
		const Match match = match_key(ledger, request, key, exact);
		if (decides(match)) {
			found = match;
			break;
		}
	}
	scan.close();
	if (in_flight && !decides(found))
		found.answer = answer_in_flight(request);
	return found;
}

// Whether the claim's row will carry the key as an alias.
bool has_lower_key(const Claim &claim, const Digest128 &key) {
	const std::span<const Digest128> lower = claim.aliases();
	return std::find(lower.begin(), lower.end(), key) != lower.end();
}

} // namespace

Match match(const Ledger &ledger, const Request &request, bool exact) {
	Match own = match_key(ledger, request, request.key, exact);
	if (decides(own))
		return own;
	own.empty = !own.probe.met && request.older.empty() && request.newer.empty();
	// Rows past their life have other keys, so they are not in the way.
	for (const OlderKey &older : request.older) {
		const Match match = match_key(ledger, request, older.key, exact);
		if (decides(match))
			return match;
	}
	return request.newer.empty() ? own : match_alias(ledger, request, exact, own);
}

Claim *find_own_claim(const Request &request) {
	Claim *own = find_claim(request.key);
	for (const OlderKey &older : request.older) {
		if (own != nullptr && own->state() != State::Released)
			break;
		Claim *claim = find_claim(older.key);
		if (claim != nullptr && (own == nullptr || claim->state() != State::Released))
			own = claim;
	}
	// As in match_alias.
	for (std::size_t i = 0; own == nullptr && i < request.newer.size(); ++i) {
		Digest128 key;
		Claim *claim =
			derive_under(request.newer[i], request.call, key) ? find_claim(key) : nullptr;
		if (claim != nullptr && has_lower_key(*claim, request.key))
			own = claim;
	}
	for (Claim *claim = first_claim(); own == nullptr && !request.newer.empty() && claim != nullptr;
	     claim = claim->next)
		if (claim->state() != State::Released && has_lower_key(*claim, request.key))
			own = claim;
	return own;
}

Answer answer_own(const Claim &own, const Request &request) {
	Answer answer = answer_claim(own, is_request_of(own, request));
	if (answer.decision.outcome == Outcome::Conflict)
		answer.differing_fields = differing_fields(
			{own.policy, own.key, own.fingerprint.present, own.kept}, request.call);
	return answer;
}

Answer answer_named(const Claim &own) {
	return answer_claim(own, true);
}

bool is_request_of(const Claim &own, const Request &request) {
	return is_same_request(own.key, own.fingerprint, *own.policy, request);
}

Answer answer_named(const Probe &probe, const Policy &policy, Micros lease) {
	return answer_settled(probe, policy, true, lease, 0);
}

Answer answer_bare(const Decision &decision, const Request &request) {
	Answer answer;
	answer.decision = decision;
	answer.prefix = request.policy->prefix;
	answer.key = request.key;
	return answer;
}

Answer answer_in_flight(const Request &request) {
	Answer answer =
		answer_bare(decide_in_flight(rules_of(*request.policy, request.lease)), request);
	answer.in_flight = true;
	return answer;
}

bool owns(const Decision &decision) {
	return decision.action == Action::Do || decision.action == Action::Verify;
}

Rules rules_of(const Policy &policy, Micros lease) {
	Rules rules;
	rules.retry_after = policy.retry_after;
	rules.lease = lease_of(policy, lease);
	rules.max_attempts = policy.max_attempts;
	rules.takes_over = policy.takes_over;
	rules.provider_window = policy.provider_window;
	rules.dice = pg_prng_uint32(&pg_global_prng_state);
	return rules;
}

KeptRequest kept_of(const Row &row) {
	KeptRequest kept;
	kept.leaves = row.leaves;
	if (row.arguments != 0)
		kept.arguments = DatumGetJsonbP(row.arguments);
	return kept;
}

Micros life_end_of(const Row &row, const Policy &policy) {
	const Micros end = life_end(row.completed_at, policy.retention, policy.retention_changes);
	if (row.state != State::Failed)
		return end;
	const Micros failure_end = failure_end_of(row, policy);
	// A later generation has to be there for as long as one before it can be remembered, by the ledger or by a
	// provider: else a failure that is forgotten would begin again with the key of the first.
	return row.generation > 1 ? std::max(end, failure_end) : failure_end;
}

void require_visible(const Probe &probe) {
	if (probe.presence == Presence::Settled && !probe.snapshot_sees)
		ereport(
			ERROR,
			(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
		     errmsg("could not serialize access due to a concurrent claim"),
		     errdetail("The key was recorded after the snapshot of this transaction was taken."),
		     errhint("Retry the whole transaction.")));
}

} // namespace pg_idem
