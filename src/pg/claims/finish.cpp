#include "pg/claims/finish.hpp"

extern "C" {
#include "access/xact.h"
#include "miscadmin.h"
#include "tcop/utility.h"
#include "utils/jsonb.h"
#include "utils/timestamp.h"
}

#include "pg/claims/flush.hpp"
#include "pg/claims/found_row.hpp"
#include "pg/claims/match.hpp"
#include "pg/claims/pending.hpp"
#include "pg/claims/repeat.hpp"
#include "pg/claims/row_change.hpp"
#include "pg/claims/write.hpp"
#include "pg/errors.hpp"
#include "pg/intervals.hpp"
#include "pg/storage/key_lock.hpp"
#include "pg/storage/ledger.hpp"

namespace pg_idem {

namespace {

struct Name {
	State state;
	std::string_view word;
	const char *function;
};

Name name_of(Ending ending) {
	switch (ending) {
	case Ending::Complete: return {State::Completed, "completed", "idem_complete()"};
	case Ending::Fail: return {State::Failed, "failed", "idem_fail()"};
	case Ending::Release: return {State::Released, "released", "idem_release()"};
	case Ending::Unknown: return {State::Unknown, "unknown", "idem_unknown()"};
	}
	pg_unreachable();
}

[[noreturn]] void already_finished() {
	ereport(ERROR, (errcode(errcode_already_finished),
	                errmsg("the key was finished before, with another result"),
	                errdetail("A finished key is never changed."),
	                errhint("Claim the key again to read its stored result.")));
	pg_unreachable();
}

[[noreturn]] void not_committed_yet() {
	ereport(
		ERROR,
		(errcode(errcode_claim_not_committed),
	     errmsg("the claim of an external effect must be committed before it is finished"),
	     errdetail(
			 "Were the call made now and this transaction rolled back, nothing would remember it."),
	     errhint("Commit, make the call, then finish with the fence in a second transaction.")));
	pg_unreachable();
}

[[noreturn]] void not_marked() {
	ereport(
		ERROR,
		(errcode(errcode_not_marked), errmsg("the sending of this attempt was not recorded"),
	     errdetail(
			 "The attempt began with sending => 'recorded', so that it is known not to have been sent."),
	     errhint(
			 "Call idem_mark_sending and commit before the call goes out. What was not sent is released.")));
	pg_unreachable();
}

[[noreturn]] void no_retry_after() {
	ereport(ERROR,
	        (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
	         errmsg("retry_after is for claims of external effects that are committed"),
	         errdetail("A claim that is released where it was made leaves nothing behind.")));
	pg_unreachable();
}

// What is said not to have happened is there, and would be a second time after the next claim.
[[noreturn]] void effect_stands(const char *function) {
	ereport(ERROR,
	        (errcode(errcode_effect_stands),
	         errmsg("%s is for a claim without an effect", function),
	         errdetail("A row of it that idem_guard has seen is still part of this transaction."),
	         errhint("Roll back to a savepoint before the effect first, or complete the claim.")));
	pg_unreachable();
}

bool same_text(std::string_view a, std::string_view b) {
	return (a.data() == nullptr) == (b.data() == nullptr) && a == b;
}

bool same_response(Jsonb *a, Jsonb *b) {
	if (a == nullptr || b == nullptr)
		return a == b;
	return compareJsonbContainers(&a->root, &b->root) == 0;
}

bool same_result(const Finish &finish, const KeptResponse &kept, std::string_view effect_ref,
                 Jsonb *response, bool omitted) {
	return same_text(finish.effect_ref, effect_ref) && kept.omitted == omitted &&
	       same_response(kept.response, response);
}

// A claim that this transaction made. The fence may be left out, but must not be a wrong one.
std::string_view finish_claim(Claim &claim, const Finish &finish, const Name &ending) {
	if (finish.has_fence && finish.fence != claim.fence)
		stale_fence(true);
	const KeptResponse kept = keep_response(finish.response, *claim.policy);
	if (!claim.open()) {
		if (claim.state() == ending.state &&
		    same_result(finish, kept, claim.last->effect_ref, claim.last->response,
		                claim.last->response_omitted))
			return "already";
		if (claim.state() == State::Released)
			unknown_key();
		already_finished();
	}
	if (claim.policy->external &&
	    (finish.ending == Ending::Complete || finish.ending == Ending::Unknown))
		not_committed_yet();
	if (finish.ending == Ending::Unknown && !claim.policy->external)
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		     errmsg("a local effect has no unknown outcome"),
		     errhint(
				 "It commits or rolls back with its claim. Roll back, or call idem_release or idem_fail.")));
	if (finish.ending != Ending::Complete && !claim.policy->external && claim.effect != nullptr)
		effect_stands(ending.function);
	if (finish.retry_after > 0)
		no_retry_after();
	if (finish.ending == Ending::Release && !claim.stored && is_of_current_subxact(claim)) {
		// Nothing outside this level knows of it: as if it had never been claimed.
		unlock_claim(claim);
		remove_claim(claim);
		return ending.word;
	}
	change_claim(claim, ending.state, GetCurrentTimestamp(), finish.effect_ref, kept.response,
	             kept.omitted);
	return ending.word;
}

// The row of a local claim, if it was written before the claim was finished, follows it.
void finish_written(Claim &claim) {
	const Ledger ledger = open_ledger();
	rewrite_claim(ledger, claim);
	close_ledger(ledger);
}

// `claim` is this transaction's, when it has taken the row up; its memory has to agree with the row.
std::string_view finish_row(const Ledger &ledger, const KeyName &name, const Finish &finish,
                            const Name &asked, Claim *claim) {
	const Policy *policy;
	Probe found = require_row(ledger, name, finish.tenant, &policy);
	Row &row = found.row;
	// What this attempt has not done, one before it may have.
	const bool doubtful = finish.ending == Ending::Release && row.in_doubt && !finish.verified;
	const Name ending = doubtful ? name_of(Ending::Unknown) : asked;
	const bool fence_fits = row.has_fence && finish.has_fence && row.fence == finish.fence;
	const bool own_open = found.own && is_open(row.state);
	// A local effect, or a key that a person resolved: nobody holds its fence.
	const bool ownerless = row.finished && !row.has_fence;
	if (ownerless && !found.own)
		already_finished();
	if (!ownerless && !fence_fits && !(own_open && !finish.has_fence))
		stale_fence(finish.has_fence);
	const KeptResponse kept = keep_response(finish.response, *policy);
	if (row.state == ending.state &&
	    (!row.finished ||
	     same_result(finish, kept, row.effect_ref, row.response, row.response_omitted)))
		return "already";
	if (row.finished)
		already_finished();
	if (own_open && (finish.ending == Ending::Complete || finish.ending == Ending::Unknown))
		not_committed_yet();
	if (row.state == State::Planned && finish.ending != Ending::Release)
		not_marked();
	const Micros now = GetCurrentTimestamp();
	end_attempt(row, ending.state, now, finish.effect_ref, kept);
	if (ending.state == State::Released)
		row.has_fence = false; // whoever comes late with it has lost the key
	if (ending.state == State::Unknown)
		row.lease_end = Min(row.lease_end, now);
	if (!row.finished) {
		row.has_retry_at = finish.retry_after > 0;
		row.retry_at = instant_after(now, finish.retry_after);
	}
	require_update(ledger, found.tid, row);
	if (claim != nullptr)
		change_claim(*claim, ending.state, now, finish.effect_ref, kept.response, kept.omitted);
	return ending.word;
}

void finish_fresh_claim(const Digest128 &key, State state, std::string_view effect_ref,
                        Jsonb *response) {
	Claim *claim = find_claim(key);
	if (claim == nullptr || !claim->open())
		already_finished(); // by the effect itself
	const KeptResponse kept = keep_response(response, *claim->policy);
	change_claim(*claim, state, GetCurrentTimestamp(), effect_ref, kept.response, kept.omitted);
	if (claim->stored)
		finish_written(*claim);
}

} // namespace

std::string_view finish(const Finish &request) {
	const Name ending = name_of(request.ending);
	PreventCommandIfParallelMode(ending.function);
	begin_claiming();
	forget_call();
	const KeyName name = require_key(request.tenant, request.key);
	Claim *claim = find_claim(name.key);
	if (claim != nullptr &&
	    (claim->tenant != request.tenant || claim->policy->prefix != name.prefix ||
	     claim->generation != name.generation))
		unknown_key();
	if (claim != nullptr && !(claim->stored && claim->policy->external)) {
		const bool written = claim->stored;
		const std::string_view done = finish_claim(*claim, request, ending);
		if (written && done != "already") {
			finish_written(*claim);
			if (is_of_current_subxact(*claim))
				remove_claim(*claim); // its row says it all, or that there is none
		}
		return done;
	}

	PreventCommandIfReadOnly(ending.function);
	PreventCommandDuringRecovery(ending.function);
	const Ledger ledger = open_ledger();
	// A row of this transaction guards itself, and somebody can be waiting for it under the key's lock.
	const bool locks = !probe(ledger, name.key, true).own;
	if (locks)
		lock_key(name.key);
	const std::string_view done = finish_row(ledger, name, request, ending, claim);
	close_ledger(ledger);
	if (locks && done == "already")
		unlock_key(name.key);
	return done;
}

void complete_fresh_claim(const Digest128 &key, std::string_view effect_ref, Jsonb *response) {
	finish_fresh_claim(key, State::Completed, effect_ref, response);
}

void fail_fresh_claim(const Digest128 &key, Jsonb *error) {
	finish_fresh_claim(key, State::Failed, {}, error);
}

} // namespace pg_idem
