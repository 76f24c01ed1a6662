#include "pg/claims/resolve.hpp"

extern "C" {
#include "access/xact.h"
#include "miscadmin.h"
#include "tcop/utility.h"
#include "utils/timestamp.h"
}

#include "pg/claims/flush.hpp"
#include "pg/claims/found_row.hpp"
#include "pg/claims/match.hpp"
#include "pg/claims/row_change.hpp"
#include "pg/errors.hpp"
#include "pg/storage/evidence.hpp"
#include "pg/storage/key_lock.hpp"
#include "pg/storage/ledger.hpp"

namespace pg_idem {

namespace {

State state_after(const Resolution &resolution) {
	if (resolution.decision == "completed")
		return State::Completed;
	if (resolution.decision == "retry")
		return State::Released;
	if (resolution.decision == "abandoned")
		return State::Abandoned;
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown decision"),
	                errhint("A decision is completed, retry or abandoned.")));
	pg_unreachable();
}

bool needs_decision(const Row &row, const Policy &policy, State after, Micros now) {
	switch (row.state) {
	case State::Unknown: return true;
	case State::Open:
	case State::Planned: return row.leased && now > row.lease_end;
	case State::Released: return is_spent(row.budget_used(), policy.max_attempts);
	case State::Failed: return after == State::Released && row.leased; // an external effect's
	case State::Completed:
	case State::Abandoned: break;
	}
	return false;
}

void require_decision(const Row &row, const Policy &policy, State after, Micros now) {
	if (needs_decision(row, policy, after, now))
		return;
	ereport(ERROR,
	        (errcode(errcode_not_resolvable), errmsg("the key needs no decision"),
	         is_open(row.state) ? errdetail("An attempt is under way, and its lease has not ended.")
	                            : errdetail("It is finished, or the next claim owns it."),
	         errhint("Decide on keys that a claim answers with unresolved or exhausted.")));
}

// The attempts so far are a person's business, not the budget's.
void release_anew(Row &row, bool rekey) {
	row.attempts_before = row.attempt;
	row.has_retry_at = false;
	row.effect_ref = {};
	row.response = nullptr;
	row.response_omitted = false;
	if (rekey) {
		++row.generation;
		row.was_sent = false; // the provider has not seen this key
	}
}

} // namespace

std::string_view resolve(const Resolution &resolution) {
	PreventCommandIfParallelMode("idem_resolve()");
	PreventCommandIfReadOnly("idem_resolve()");
	PreventCommandDuringRecovery("idem_resolve()");
	begin_claiming();
	const KeyName name = require_key(resolution.tenant, resolution.key);
	const State after = state_after(resolution);
	if (resolution.rekey && after != State::Released)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("rekey goes with the decision retry")));

	const Ledger ledger = open_ledger();
	lock_key(name.key);
	const Policy *policy;
	Probe found = require_row(ledger, name, resolution.tenant, &policy);
	Row &row = found.row;
	const Micros now = GetCurrentTimestamp();
	require_decision(row, *policy, after, now);
	insert_decision({name.key, name.generation, now, row.state, resolution.decision,
	                 resolution.effect_ref, resolution.note});
	end_attempt(row, after, now, resolution.effect_ref,
	            keep_response(resolution.response, *policy));
	if (after == State::Released)
		release_anew(row, resolution.rekey);
	row.has_fence = false; // the attempt that was lost must not finish it any more
	if (resolution.note.data() != nullptr)
		row.note = resolution.note;
	require_update(ledger, found.tid, row);
	close_ledger(ledger);
	return after == State::Released ? std::string_view("released") : resolution.decision;
}

} // namespace pg_idem
