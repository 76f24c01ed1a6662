#include "pg/claims/finish.hpp"

extern "C" {
#include "access/xact.h"
#include "miscadmin.h"
#include "tcop/utility.h"
#include "utils/jsonb.h"
#include "utils/timestamp.h"
}

#include "core/key_text.hpp"
#include "pg/claims/flush.hpp"
#include "pg/claims/match.hpp"
#include "pg/claims/pending.hpp"
#include "pg/claims/repeat.hpp"
#include "pg/claims/write.hpp"
#include "pg/errors.hpp"
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

[[noreturn]] void unknown_key() {
	ereport(
		ERROR,
		(errcode(errcode_unknown_key), errmsg("there is no claim of this key"),
	     errdetail(
			 "The tenant has no such key, or its claim was rolled back, or it is past its life, or a later generation has taken its place."),
	     errhint("Pass the key that idem_claim returned, to the tenant that claimed it.")));
	pg_unreachable();
}

[[noreturn]] void stale_fence(bool given) {
	ereport(
		ERROR,
		(errcode(errcode_stale_fence),
	     given ? errmsg("the fence is not the one of the present attempt")
	           : errmsg("a fence is needed outside the transaction that claimed the key"),
	     errdetail("Another attempt owns the key by now, or none does."),
	     errhint(
			 "Only the owner of a claim finishes it, with the fence that idem_claim returned.")));
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

KeyName require_key(std::string_view tenant, std::string_view key) {
	const Refusal refusal = check_tenant(tenant);
	if (refusal.message != nullptr)
		raise_refusal(refusal);
	if (key.data() == nullptr)
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("key is NULL")));
	KeyName name;
	if (!parse_key(key, name))
		unknown_key();
	return name;
}

bool same_text(std::string_view a, std::string_view b) {
	return (a.data() == nullptr) == (b.data() == nullptr) && a == b;
}

bool same_response(Jsonb *a, Jsonb *b) {
	if (a == nullptr || b == nullptr)
		return a == b;
	return compareJsonbContainers(&a->root, &b->root) == 0;
}

// The response as far as it is kept. Never cut: a receipt is whole, or it is not there.
struct Kept {
	Jsonb *response;
	bool omitted;
};

Kept keep(Jsonb *response, const Policy &policy) {
	if (response == nullptr)
		return {nullptr, false};
	const Size size = VARSIZE(response) - VARHDRSZ;
	if (size <= static_cast<Size>(policy.max_response_bytes))
		return {response, false};
	ereport(WARNING,
	        (errmsg("response is not stored, because it is larger than max_response_bytes"),
	         errdetail("It has %zu bytes as jsonb, the limit of operation \"%.*s\" is %d.", size,
	                   static_cast<int>(policy.recipe.operation.size()),
	                   policy.recipe.operation.data(), policy.max_response_bytes),
	         errhint("Repeats answer with response_omitted and the effect_ref.")));
	return {nullptr, true};
}

bool same_result(const Finish &finish, const Kept &kept, std::string_view effect_ref,
                 Jsonb *response, bool omitted) {
	return same_text(finish.effect_ref, effect_ref) && kept.omitted == omitted &&
	       same_response(kept.response, response);
}

// A claim that this transaction made. The fence may be left out, but must not be a wrong one.
std::string_view finish_claim(Claim &claim, const Finish &finish, const Name &ending) {
	if (finish.has_fence && finish.fence != claim.fence)
		stale_fence(true);
	const Kept kept = keep(finish.response, *claim.policy);
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
	if (finish.ending == Ending::Release && !claim.stored && is_of_current_subxact(claim)) {
		// Nothing outside this level knows of it: as if it had never been claimed.
		for (const Digest128 &key : claim.keys)
			unlock_key(key);
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

// The committed row of another transaction's claim, or the one that this transaction wrote early.
// Returns it under the key's lock.
Probe require_row(const Ledger &ledger, const KeyName &name, std::string_view tenant,
                  const Policy **policy) {
	Probe found = probe(ledger, name.key, true);
	// Raw SQL is at the row, since it took no lock.
	while (found.presence == Presence::InFlight && TransactionIdIsValid(found.changer)) {
		wait_for_changer(ledger, found);
		found = probe(ledger, name.key, true);
	}
	// In flight still: written early by a transaction that is open, so nobody else's to finish.
	if (found.presence != Presence::Settled)
		unknown_key();
	*policy = find_policy_by_id(found.row.policy);
	if (*policy == nullptr || found.row.tenant != tenant || (*policy)->prefix != name.prefix ||
	    found.row.generation != name.generation)
		unknown_key();
	require_visible(found);
	if (found.row.finished && GetCurrentTimestamp() > life_end_of(found.row, **policy))
		unknown_key();
	return found;
}

void end_row(Row &row, State state, Micros now, std::string_view effect_ref, const Kept &kept) {
	row.state = state;
	row.finished = is_finished(state);
	if (row.finished) {
		row.completed_at = now;
		row.effect_ref = effect_ref;
		row.response = kept.response;
		row.response_omitted = kept.omitted;
	}
}

void require_update(const Ledger &ledger, const ItemPointerData &tid, const Row &row) {
	if (!update_row(ledger, tid, row, true))
		outside_writer();
}

// `claim` is this transaction's, when it has taken the row up; its memory has to agree with the row.
std::string_view finish_row(const Ledger &ledger, const KeyName &name, const Finish &finish,
                            const Name &ending, Claim *claim) {
	const Policy *policy;
	Probe found = require_row(ledger, name, finish.tenant, &policy);
	Row &row = found.row;
	const bool fence_fits = row.has_fence && finish.has_fence && row.fence == finish.fence;
	const bool own_open = found.own && row.state == State::Open;
	// A local effect, or a key that a person resolved: nobody holds its fence.
	const bool ownerless = row.finished && !row.has_fence;
	if (ownerless && !found.own)
		already_finished();
	if (!ownerless && !fence_fits && !(own_open && !finish.has_fence))
		stale_fence(finish.has_fence);
	const Kept kept = keep(finish.response, *policy);
	if (row.state == ending.state &&
	    (!row.finished ||
	     same_result(finish, kept, row.effect_ref, row.response, row.response_omitted)))
		return "already";
	if (row.finished)
		already_finished();
	if (own_open && (finish.ending == Ending::Complete || finish.ending == Ending::Unknown))
		not_committed_yet();
	const Micros now = GetCurrentTimestamp();
	end_row(row, ending.state, now, finish.effect_ref, kept);
	if (finish.ending == Ending::Release)
		row.has_fence = false; // whoever comes late with it has lost the key
	if (finish.ending == Ending::Unknown)
		row.lease_end = Min(row.lease_end, now);
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
	const Kept kept = keep(response, *claim->policy);
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
			if (is_finished(claim->state()) && is_of_current_subxact(*claim))
				remove_claim(*claim); // its row says it all
		}
		return done;
	}

	PreventCommandIfReadOnly(ending.function);
	PreventCommandDuringRecovery(ending.function);
	const Ledger ledger = open_ledger();
	lock_key(name.key);
	const std::string_view done = finish_row(ledger, name, request, ending, claim);
	close_ledger(ledger);
	if (done == "already")
		unlock_key(name.key);
	return done;
}

void complete_fresh_claim(const Digest128 &key, std::string_view effect_ref, Jsonb *response) {
	finish_fresh_claim(key, State::Completed, effect_ref, response);
}

void fail_fresh_claim(const Digest128 &key, Jsonb *error) {
	finish_fresh_claim(key, State::Failed, {}, error);
}

std::string_view resolve(const Resolution &resolution) {
	PreventCommandIfParallelMode("idem_resolve()");
	PreventCommandIfReadOnly("idem_resolve()");
	PreventCommandDuringRecovery("idem_resolve()");
	begin_claiming();
	const KeyName name = require_key(resolution.tenant, resolution.key);
	State state;
	if (resolution.decision == "completed")
		state = State::Completed;
	else if (resolution.decision == "retry")
		state = State::Released;
	else if (resolution.decision == "abandoned")
		state = State::Abandoned;
	else
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown decision"),
		                errhint("A decision is completed, retry or abandoned.")));

	const Ledger ledger = open_ledger();
	lock_key(name.key);
	const Policy *policy;
	Probe found = require_row(ledger, name, resolution.tenant, &policy);
	Row &row = found.row;
	const Micros now = GetCurrentTimestamp();
	const bool unresolved =
		row.state == State::Unknown || (row.state == State::Open && now > row.lease_end);
	if (!unresolved)
		ereport(ERROR, (errcode(errcode_not_resolvable), errmsg("the key needs no decision"),
		                row.state == State::Open
		                    ? errdetail("An attempt is under way, and its lease has not ended.")
		                    : errdetail("It is finished, or released."),
		                errhint("Decide on keys that a claim answers with unresolved.")));
	end_row(row, state, now, resolution.effect_ref, keep(resolution.response, *policy));
	row.has_fence = false; // the attempt that was lost must not finish it any more
	if (resolution.note.data() != nullptr)
		row.note = resolution.note;
	require_update(ledger, found.tid, row);
	close_ledger(ledger);
	return resolution.decision == "retry" ? std::string_view("released") : resolution.decision;
}

} // namespace pg_idem
