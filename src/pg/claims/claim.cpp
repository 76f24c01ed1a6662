// Probe, lock, probe: first without a lock, since most repeats meet a finished row; then, when the
// answer would be an ownership, under the locks of every key that the request can have.
#include "pg/claims/claim.hpp"

extern "C" {
#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "tcop/utility.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"
}

#include <algorithm>

#include "pg/claims/flush.hpp"
#include "pg/claims/match.hpp"
#include "pg/claims/pending.hpp"
#include "pg/claims/repeat.hpp"
#include "pg/claims/sibling.hpp"
#include "pg/claims/take_up.hpp"
#include "pg/claims/write.hpp"
#include "pg/errors.hpp"
#include "pg/intervals.hpp"
#include "pg/storage/alias.hpp"
#include "pg/storage/companions.hpp"
#include "pg/storage/key_lock.hpp"
#include "pg/storage/ledger.hpp"
#include "pg/storage/shape.hpp"
#include "pg/statistics/duplicates.hpp"

namespace pg_idem {

namespace {

// All of the request's keys or none: a claim under a new version and one under an old version meet at
// the key that both have.
bool try_lock_keys(const Request &request) {
	if (!try_lock_key(request.key))
		return false;
	std::size_t locked = 0;
	while (locked < request.older.size() && try_lock_key(request.older[locked].key))
		++locked;
	if (locked == request.older.size() && (!request.has_subject || try_lock_key(request.subject)))
		return true;
	while (locked > 0)
		unlock_key(request.older[--locked].key);
	unlock_key(request.key);
	return false;
}

void unlock_keys(const Request &request) {
	unlock_key(request.key);
	for (const OlderKey &older : request.older)
		unlock_key(older.key);
	if (request.has_subject)
		unlock_key(request.subject);
}

bool is_locked_by(const Request &request, const Digest128 &key) {
	return key == request.key ||
	       std::any_of(request.older.begin(), request.older.end(),
	                   [&key](const OlderKey &older) { return older.key == key; });
}

Answer answer_owned(const Claim &claim, const Decision &decision) {
	Answer answer = answer_of_claim(decision, claim);
	answer.owned = true;
	answer.attempt = claim.attempt;
	answer.fence = claim.fence;
	return answer;
}

Answer answer_owned(const Claim &claim) {
	return answer_owned(claim, decide(nullptr, 0, {}));
}

// Where nothing can be written, nothing can be owned.
void require_writable() {
	PreventCommandIfReadOnly("idem_claim()");
	PreventCommandDuringRecovery("idem_claim()");
}

// The claim was released in this transaction, where an outer level still holds its locks, or a row that
// was written and deleted guards the key.
Answer own_again(const Ledger &ledger, Claim &own, const Request &request) {
	const bool external = own.policy->external;
	Answer sibling;
	if (own.has_subject && find_sibling(ledger, own.subject, own.key, &sibling))
		return sibling.in_flight ? answer_in_flight(request) : sibling;
	if (own.stored && external) {
		const Probe found = probe(ledger, own.key, true);
		if (found.presence != Presence::Settled || !take_up_again(ledger, found, own))
			return answer_in_flight(request); // raw SQL is at the row, or has deleted it
	}
	change_claim(own, State::Open, GetCurrentTimestamp(), {}, nullptr, false);
	if (own.stored && !external) {
		write_claim(ledger, own);
		CommandCounterIncrement(); // a later call of the same statement has to see the row
	}
	return answer_owned(own);
}

// Those that are locked for a claim of `first`: it, and the request's.
std::span<const Digest128> locked_keys(const Digest128 &first, const Request &request) {
	auto *keys = static_cast<Digest128 *>(palloc(sizeof(Digest128) * (2 + request.older.size())));
	std::size_t count = 0;
	keys[count++] = first;
	if (request.key != first)
		keys[count++] = request.key;
	for (const OlderKey &older : request.older)
		if (older.key != first)
			keys[count++] = older.key;
	return {keys, count};
}

// A first attempt: of a key that is free, or of the next generation of a row.
Answer own_first(const Request &request, const ClaimOptions &options, const Row *former,
                 const Policy &policy) {
	NewClaim fresh;
	const Digest128 &key = former != nullptr ? former->key : request.key;
	fresh.tenant = request.call.tenant;
	fresh.keys = locked_keys(key, request);
	fresh.policy = &policy;
	fresh.fingerprint = fingerprint_under(policy, request);
	fresh.kept = keep_request(policy, key, request);
	fresh.claimed_at = GetCurrentTimestamp();
	fresh.lease_end = instant_after(fresh.claimed_at, lease_of(policy, options.lease));
	fresh.fence = random_fence();
	fresh.attempt = 1;
	fresh.generation = former != nullptr ? former->generation + 1 : 1;
	fresh.stored = false;
	fresh.has_subject = request.has_subject;
	fresh.subject = request.subject;
	return answer_owned(add_claim(fresh));
}

// Whatever version the row is of, it stays the row of its intent.
Answer own_row(const Ledger &ledger, const Request &request, const ClaimOptions &options,
               const Match &found) {
	const Decision &decision = found.answer.decision;
	const Row &row = found.probe.row;
	const bool lock_row = !is_locked_by(request, row.key);
	if (lock_row && !try_lock_key(row.key))
		return answer_in_flight(request);
	const Policy *of_row = find_policy_by_id(row.policy);
	const Policy &policy = of_row != nullptr ? *of_row : *request.policy;
	if (decision.follows)
		return own_first(request, options, &row, policy);
	const Claim *claim =
		take_up_row(ledger, found.probe, policy, locked_keys(row.key, request), options.lease,
	                request.has_subject ? &request.subject : nullptr);
	if (claim != nullptr)
		return answer_owned(*claim, decision);
	if (lock_row)
		unlock_key(row.key);
	return answer_in_flight(request);
}

// Under the request's locks, with nothing against it. In flight when someone is at the row that has to
// go first.
Answer own(const Ledger &ledger, const Request &request, const ClaimOptions &options,
           const Match &found) {
	const Decision &decision = found.answer.decision;
	if (request.has_subject) {
		const bool takes_row = decision.continues || decision.follows;
		Answer sibling = found.answer;
		if (find_sibling(ledger, request.subject, takes_row ? found.probe.row.key : request.key,
		                 &sibling))
			return sibling;
	}
	if (!request.older.empty())
		reserve_aliases();
	if (decision.continues || decision.follows)
		return own_row(ledger, request, options, found);
	if (decision.replaces) {
		refuse_if_referenced(ledger.table);
		if (!delete_row(ledger, found.probe.tid))
			return answer_in_flight(request);
		delete_companions({&found.probe.row.key, 1}, Companions::ButAliases);
	}
	return own_first(request, options, nullptr, *request.policy);
}

void refuse_retired(const Request &request) {
	if (!request.policy->retired)
		return;
	const Recipe &recipe = request.policy->recipe;
	ereport(ERROR, (errcode(errcode_retired_version),
	                errmsg("version %d of operation \"%.*s\" is retired", recipe.version,
	                       static_cast<int>(recipe.operation.size()), recipe.operation.data()),
	                errhint("Leave version out to claim under the current one.")));
}

void refuse_copy() {
	ereport(
		ERROR,
		(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
	     errmsg("the claim of a key is evaluated more than once for one row"),
	     errdetail("A composite result in a select list is expanded to one call for each column."),
	     errhint("Call it in FROM: SELECT ... FROM idem_claim(...).")));
}

// A claim of this transaction that shares a lower version's key with the request, and is another request, says
// nothing of the request's own row.
Answer answer_beside(const Ledger &ledger, const Claim &mine, const Request &request) {
	if (mine.key != request.key && !is_request_of(mine, request)) {
		const Match found = match(ledger, request, false);
		const Decision &decision = found.answer.decision;
		if (!owns(decision) && decision.outcome != Outcome::Conflict) {
			require_visible(found.probe);
			return found.answer;
		}
	}
	return answer_own(mine, request);
}

Answer claim_once(const Ledger &ledger, const Request &request, const ClaimOptions &options) {
	if (Claim *mine = find_own_claim(request)) {
		const bool copied = options.site != nullptr && is_copy_of_call(options.site, mine->key);
		if (copied && !options.copy_allowed)
			refuse_copy();
		if (copied && !mine->open()) {
			Answer copy = answer_owned(*mine);
			copy.copied = true;
			return copy;
		}
		if (mine->state() == State::Released && is_request_of(*mine, request)) {
			require_writable();
			return own_again(ledger, *mine, request);
		}
		return answer_beside(ledger, *mine, request);
	}
	const XLogRecPtr before = GetXLogInsertRecPtr();
	Match found = match(ledger, request, false);
	if (!owns(found.answer.decision)) {
		require_visible(found.probe);
		return found.answer;
	}
	require_writable();
	refuse_retired(request);

	const bool locked = try_lock_keys(request);
	// A rival's row is in the log before its lock is free. Where there was no index entry at all, and the
	// log has not grown since before that look, there is none now.
	if (!locked || !found.empty || GetXLogInsertRecPtr() != before)
		found = match(ledger, request, locked);
	if (!locked && owns(found.answer.decision))
		return answer_in_flight(request);
	require_visible(found.probe);
	if (owns(found.answer.decision))
		found.answer = own(ledger, request, options, found);
	// Whoever does not own the key must not stand in the way of those who ask for its receipt.
	if (locked && !found.answer.owned)
		unlock_keys(request);
	return found.answer;
}

void sleep_for(Micros span) {
	const long milliseconds = static_cast<long>(Max(span / 1000, 1));
	(void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, milliseconds,
	                PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

} // namespace

// Polls: waiting in the lock manager could end in a deadlock or a lock_timeout, which poison the
// transaction.
Answer claim_request(const Ledger &ledger, const Request &request, const ClaimOptions &options) {
	Answer answer = claim_once(ledger, request, options);
	if (!answer.in_flight || options.wait == 0)
		return answer;
	constexpr Micros longest_pause = 50 * 1000;
	const Micros start = GetCurrentTimestamp();
	for (Micros pause = 1000; answer.in_flight; pause = Min(pause * 2, longest_pause)) {
		const Micros left = options.wait - (GetCurrentTimestamp() - start);
		if (left <= 0)
			break;
		sleep_for(Min(pause, left));
		answer = claim_once(ledger, request, options);
	}
	return answer;
}

Answer claim(const Call &call, const ClaimOptions &options) {
	PreventCommandIfParallelMode("idem_claim()");
	begin_claiming();
	// The table first: its lock is what a change of a recipe waits for, so that the recipe read after
	// it stays in force until this transaction ends.
	const Ledger ledger = open_ledger();
	Request request = require_request(call);
	request.lease = options.lease;
	request.asked_at = GetCurrentTimestamp();
	const Answer answer = claim_request(ledger, request, options);
	close_ledger(ledger);
	if (!answer.owned) {
		count_duplicate(answer.key);
		forget_call();
	} else if (!answer.copied) {
		remember_call(options.site, answer.key);
	}
	return answer;
}

} // namespace pg_idem
