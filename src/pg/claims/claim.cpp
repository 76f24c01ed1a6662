#include "pg/claims/claim.hpp"

extern "C" {
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "tcop/utility.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"
}

#include <array>

#include "core/key_text.hpp"
#include "core/retention.hpp"
#include "pg/claims/flush.hpp"
#include "pg/claims/repeat.hpp"
#include "pg/storage/key_lock.hpp"

namespace pg_idem {

namespace {

bool owns(const Decision &decision) {
	return decision.action == Action::Do || decision.action == Action::Verify;
}

bool same(const Fingerprint &a, const Fingerprint &b) {
	return a.present == b.present && (!a.present || a.digest == b.digest);
}

Fingerprint fingerprint_of(const Row &row) {
	return {row.has_fingerprint, row.fingerprint};
}

// The version that the row was written with; the request's own when raw SQL has dropped that one.
const Policy &policy_of(const Row &row, const Request &request) {
	if (row.policy == request.policy->id)
		return *request.policy;
	const Policy *policy = find_policy_by_id(row.policy);
	return policy != nullptr ? *policy : *request.policy;
}

// Compares under `policy`, the version that the stored fingerprint was made with.
bool is_same_request(const Fingerprint &stored, const Policy &policy, const Request &request) {
	if (policy.id == request.policy->id)
		return same(stored, request.fingerprint);
	Fingerprint fingerprint;
	return fingerprint_under(policy, request.call, fingerprint) && same(stored, fingerprint);
}

// What a settled row means for the request.
Answer answer_settled(const Probe &probe, const Request &request, Micros now) {
	const Row &row = probe.row;
	const Policy &policy = policy_of(row, request);
	Record record;
	record.state = row.state;
	record.same_request = is_same_request(fingerprint_of(row), policy, request);
	record.life_end = life_end_of(row, policy);
	record.lease_end = row.lease_end;
	Decision decision = decide(&record, now, policy.retry_after);
	// A row that an early flush of this transaction wrote is its own open claim still.
	if (probe.own && row.state == State::Open && record.same_request)
		decision = decide_own_open();
	return answer_of_row(decision, row, policy);
}

Answer answer_bare(const Decision &decision, const Request &request) {
	Answer answer;
	answer.decision = decision;
	answer.prefix = request.policy->prefix;
	answer.key = request.key;
	return answer;
}

Answer answer_in_flight(const Request &request) {
	Answer answer = answer_bare(decide_in_flight(request.policy->retry_after), request);
	answer.in_flight = true;
	return answer;
}

// A settled row's answer, or "claimed" when there is none; in flight for what is not committed.
Answer answer_probe(const Probe &probe, const Request &request, Micros now) {
	switch (probe.presence) {
	case Presence::None: return answer_bare(decide(nullptr, now, request.policy->retry_after), request);
	case Presence::InFlight: return answer_in_flight(request);
	case Presence::Settled: break;
	}
	return answer_settled(probe, request, now);
}

// A key that this transaction has claimed before, whatever has become of it here.
Answer answer_own(const Claim &own, const Request &request) {
	Record record;
	record.state = own.state();
	record.same_request = is_same_request(own.fingerprint, *own.policy, request);
	record.life_end = PG_INT64_MAX; // nothing of an open transaction is past its life
	if (record.same_request && own.open())
		return answer_of_claim(decide_own_open(), own);
	return answer_of_claim(decide(&record, 0, own.policy->retry_after), own);
}

Answer own_now(const Request &request, const ClaimOptions &options, Micros now, const Row *continued,
               bool locked) {
	NewClaim fresh;
	fresh.request = &request;
	fresh.claimed_at = now;
	fresh.lease_end = now + (options.lease != 0 ? options.lease : request.policy->lease);
	fresh.fence = random_fence();
	fresh.attempt = continued != nullptr ? continued->attempt + 1 : 1;
	fresh.stored = continued != nullptr;
	fresh.locked = locked;
	add_claim(fresh);
	Answer answer = answer_bare(decide(nullptr, now, 0), request);
	answer.owned = true;
	answer.attempt = fresh.attempt;
	answer.fence = fresh.fence;
	answer.has_claimed_at = true;
	answer.claimed_at = now;
	return answer;
}

// Takes up a released row: it becomes an open row of the next attempt at once, since it is there.
void continue_row(const Ledger &ledger, const Probe &found, const Claim &claim) {
	Row row = found.row;
	row.state = State::Open;
	row.claimed_at = claim.claimed_at;
	row.leased = true;
	row.lease_end = claim.lease_end;
	row.has_fence = true;
	row.fence = claim.fence;
	row.attempt = claim.attempt;
	update_row(ledger, found.tid, row);
}

// The claim was released in this transaction, where an outer level still holds its lock.
Answer own_again(const Ledger &ledger, Claim &own) {
	const Micros now = GetCurrentTimestamp();
	if (own.stored)
		continue_row(ledger, probe(ledger, own.key, true), own);
	change_claim(own, State::Open, now, {}, nullptr, false);
	Answer answer = answer_of_claim(decide(nullptr, now, 0), own);
	answer.owned = true;
	answer.attempt = own.attempt;
	answer.fence = own.fence;
	return answer;
}

Answer claim_once(const Ledger &ledger, const Request &request, const ClaimOptions &options) {
	if (Claim *own = find_claim(request.key)) {
		if (const Answer *repeated = repeated_answer(options.site, request.key))
			return *repeated;
		if (own->state() == State::Released && is_same_request(own->fingerprint, *own->policy, request))
			return own_again(ledger, *own);
		return answer_own(*own, request);
	}
	// First without a lock: a finished key answers at once and leaves nothing behind.
	Probe found = probe(ledger, request.key, false);
	Answer answer = answer_probe(found, request, GetCurrentTimestamp());
	if (!owns(answer.decision)) {
		require_visible(found);
		return answer;
	}
	PreventCommandIfReadOnly("idem_claim()");
	PreventCommandDuringRecovery("idem_claim()");

	const KeyLock lock = try_lock_key(request.key);
	found = probe(ledger, request.key, lock != KeyLock::Busy);
	const Micros now = GetCurrentTimestamp();
	answer = answer_probe(found, request, now);
	if (owns(answer.decision)) {
		if (lock == KeyLock::Busy)
			return answer_in_flight(request);
		require_visible(found);
		if (!answer.decision.replaces || delete_row(ledger, found.tid)) {
			const bool continues = answer.decision.continues;
			const Answer owned =
			    own_now(request, options, now, continues ? &found.row : nullptr, lock == KeyLock::Taken);
			if (continues)
				continue_row(ledger, found, *find_claim(request.key));
			return owned;
		}
		answer = answer_in_flight(request); // someone is at the expired row
	}
	// Whoever does not own the key must not stand in the way of those who ask for its receipt.
	if (lock == KeyLock::Taken)
		unlock_key(request.key);
	require_visible(found);
	return answer;
}

void sleep_for(Micros span) {
	const long milliseconds = static_cast<long>(Max(span / 1000, 1));
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, milliseconds, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

} // namespace

Answer claim(const Call &call, const ClaimOptions &options) {
	PreventCommandIfParallelMode("idem_claim()");
	begin_claiming();
	// The table first: its lock is what a change of a recipe waits for, so that the recipe read after
	// it stays in force until this transaction ends.
	const Ledger ledger = open_ledger();
	const Request request = require_request(call);
	const Micros deadline = options.wait > 0 ? GetCurrentTimestamp() + options.wait : 0;
	constexpr Micros longest_pause = 50 * 1000;
	Micros pause = 1000;
	Answer answer;
	for (;;) {
		answer = claim_once(ledger, request, options);
		if (!answer.in_flight || deadline == 0)
			break;
		const Micros left = deadline - GetCurrentTimestamp();
		if (left <= 0)
			break;
		sleep_for(Min(pause, left));
		pause = Min(pause * 2, longest_pause);
	}
	close_ledger(ledger);
	if (answer.owned)
		remember_answer(options.site, answer);
	else
		forget_repeat();
	return answer;
}

Answer look_up(const Call &call) {
	const Ledger ledger = open_ledger();
	const Request request = require_request(call);
	Answer answer;
	Claim *own = find_claim(request.key);
	if (own != nullptr && own->state() != State::Released) {
		answer = answer_own(*own, request);
	} else {
		const Probe found = probe(ledger, request.key, false);
		answer = answer_probe(found, request, GetCurrentTimestamp());
		answer.known = !owns(answer.decision) || answer.decision.continues;
		answer.has_outcome = !answer.decision.continues;
		if (answer.known)
			require_visible(found);
	}
	close_ledger(ledger);
	return answer;
}

Answer look_up_key(std::string_view tenant, std::string_view key) {
	const Refusal refusal = check_tenant(tenant);
	if (refusal.message != nullptr)
		raise_refusal(refusal);
	Answer answer;
	answer.known = false;
	std::string_view prefix;
	Request request{};
	if (!parse_key(key, prefix, request.key))
		return answer;
	const Ledger ledger = open_ledger();
	Claim *own = find_claim(request.key);
	if (own != nullptr && own->state() != State::Released) {
		if (own->tenant == tenant && own->policy->prefix == prefix) {
			request.policy = own->policy;
			request.fingerprint = own->fingerprint;
			answer = answer_own(*own, request);
		}
	} else {
		const Probe found = probe(ledger, request.key, false);
		const Policy *policy = found.presence == Presence::Settled ? find_policy_by_id(found.row.policy) : nullptr;
		// A row that is in flight cannot be read, so whose it is cannot be told either.
		if (policy != nullptr && found.row.tenant == tenant && policy->prefix == prefix) {
			request.policy = policy;
			request.fingerprint = fingerprint_of(found.row);
			answer = answer_settled(found, request, GetCurrentTimestamp());
			answer.known = !answer.decision.replaces;
			answer.has_outcome = !answer.decision.continues;
			if (answer.known)
				require_visible(found);
		}
	}
	close_ledger(ledger);
	return answer;
}

Micros life_end_of(const Row &row, const Policy &policy) {
	if (row.state == State::Failed)
		return life_end(row.completed_at, policy.failure_retention, policy.failure_retention_changes);
	return life_end(row.completed_at, policy.retention, policy.retention_changes);
}

void require_visible(const Probe &probe) {
	if (probe.presence == Presence::Settled && !probe.snapshot_sees)
		ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
		                errmsg("could not serialize access due to a concurrent claim"),
		                errdetail("The key was recorded after the snapshot of this transaction was taken."),
		                errhint("Retry the whole transaction.")));
}

int64 random_fence() {
	// Drawn in batches: one call of the random source costs more than all else that a claim does.
	static std::array<int64, 64> fences;
	static std::size_t left = 0;
	if (left == 0) {
		if (!pg_strong_random(fences.data(), sizeof(fences)))
			ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not generate a random fence")));
		left = fences.size();
	}
	return fences[--left];
}

} // namespace pg_idem
