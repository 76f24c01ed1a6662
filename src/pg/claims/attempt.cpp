#include "pg/claims/attempt.hpp"

extern "C" {
#include "postgres.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "tcop/utility.h"
#include "utils/timestamp.h"
}

#include "pg/claims/flush.hpp"
#include "pg/claims/found_row.hpp"
#include "pg/claims/pending.hpp"
#include "pg/claims/repeat.hpp"
#include "pg/errors.hpp"
#include "pg/intervals.hpp"
#include "pg/storage/evidence.hpp"
#include "pg/storage/key_lock.hpp"
#include "pg/storage/ledger.hpp"

namespace pg_idem {

namespace {

[[noreturn]] void not_committed(const char *function) {
	ereport(ERROR,
	        (errcode(errcode_claim_not_committed),
	         errmsg("%s is for a claim that is committed", function),
	         errdetail("Were this transaction rolled back, nothing would remember the claim."),
	         errhint("Commit the claim first.")));
	pg_unreachable();
}

[[noreturn]] void not_under_way(const Row &row) {
	ereport(ERROR, (errcode(errcode_already_finished),
	                row.finished ? errmsg("the key is finished")
	                             : errmsg("no attempt of this key is under way"),
	                errhint("Claim the key again to read what became of it.")));
	pg_unreachable();
}

// Where nothing can be written, nothing can be said.
void require_writable(const char *function) {
	PreventCommandIfParallelMode(function);
	PreventCommandIfReadOnly(function);
	PreventCommandDuringRecovery(function);
	begin_claiming();
	forget_call();
}

struct Found {
	Ledger ledger;
	Probe probe;
	const Policy *policy;
};

// The row whose last attempt has the fence, under the key's lock.
Found require_owned(const Attempt &attempt, const char *function) {
	require_writable(function);
	const KeyName name = require_key(attempt.tenant, attempt.key);
	if (const Claim *own = find_claim(name.key); own != nullptr && own->tenant == attempt.tenant &&
	                                             own->policy->prefix == name.prefix &&
	                                             own->generation == name.generation)
		not_committed(function);
	Found found;
	found.ledger = open_ledger();
	lock_key(name.key);
	found.probe = require_row(found.ledger, name, attempt.tenant, &found.policy);
	const Row &row = found.probe.row;
	if (row.finished && !row.has_fence)
		not_under_way(row);
	if (!attempt.has_fence || !row.has_fence || row.fence != attempt.fence)
		stale_fence(attempt.has_fence);
	return found;
}

// The same for an attempt that is under way.
Found require_attempt(const Attempt &attempt, const char *function) {
	const Found found = require_owned(attempt, function);
	if (found.probe.own)
		not_committed(function);
	if (!is_open(found.probe.row.state))
		not_under_way(found.probe.row);
	return found;
}

void require_lease(const Row &row, Micros now) {
	if (now > row.lease_end)
		ereport(ERROR,
		        (errcode(errcode_lease_ended), errmsg("the lease of this attempt has ended"),
		         errdetail("Another attempt can take the key over at any moment."),
		         errhint("Call idem_renew first; if that succeeds, nobody has taken it over.")));
}

// What is sent now must be known to the provider as a repeat until the lease ends: by then either it is finished, or
// the next attempt looks whether it still may.
void require_window(const Row &row, const Policy &policy) {
	if (policy.provider_window > 0 && row.was_sent &&
	    !is_inside_window(row.lease_end, 0, row.sent_at, policy.provider_window))
		ereport(
			ERROR,
			(errcode(errcode_window_ended), errmsg("the provider's window ends before the lease"),
		     errdetail(
				 "An earlier attempt was sent, and the provider may forget its key before this one is over."),
		     errhint(
				 "Look the effect up at the provider, then finish the key or call idem_unknown.")));
}

} // namespace

std::string_view mark_sending(const Attempt &attempt) {
	Found found = require_attempt(attempt, "idem_mark_sending()");
	Row &row = found.probe.row;
	const Micros now = GetCurrentTimestamp();
	require_lease(row, now);
	const bool already = row.state == State::Open;
	// What is known not to have happened may be sent whatever the provider remembers of attempts before it.
	if (already)
		require_window(row, *found.policy);
	if (!already) {
		row.state = State::Open;
		if (!row.was_sent) {
			row.was_sent = true;
			row.sent_at = now;
		}
		require_update(found.ledger, found.probe.tid, row);
		commit_synchronously();
	}
	close_ledger(found.ledger);
	return already ? "already" : "sending";
}

Micros renew(const Attempt &attempt, Micros lease) {
	Found found = require_attempt(attempt, "idem_renew()");
	Row &row = found.probe.row;
	row.lease_end = instant_after(GetCurrentTimestamp(), lease_of(*found.policy, lease));
	require_update(found.ledger, found.probe.tid, row);
	close_ledger(found.ledger);
	return row.lease_end;
}

void require_fence(const Attempt &attempt) {
	close_ledger(require_owned(attempt, "idem_bind()").ledger);
}

void report_late(const Attempt &attempt, std::string_view effect_ref) {
	require_writable("idem_report_late()");
	const KeyName name = require_key(attempt.tenant, attempt.key);
	if (effect_ref.data() == nullptr)
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("effect_ref is NULL")));
	const Ledger ledger = open_ledger();
	lock_key(name.key); // so that the key is not deleted before its report is there
	KeyName present = name;
	const Probe row = probe(ledger, name.key, true);
	if (row.presence == Presence::Settled && row.row.generation > name.generation)
		present.generation = row.row.generation; // a later one has taken the place of its own
	const Policy *policy;
	const Probe found = require_row(ledger, present, attempt.tenant, &policy);
	if (!attempt.has_fence)
		stale_fence(false);
	if (found.row.has_fence && found.row.fence == attempt.fence &&
	    present.generation == name.generation)
		ereport(ERROR, (errcode(errcode_not_resolvable),
		                errmsg("the fence is the one of the present attempt"),
		                errhint("Finish the key: idem_complete, idem_fail or idem_unknown.")));
	insert_late_report(
		{name.key, name.generation, GetCurrentTimestamp(), attempt.fence, effect_ref});
	close_ledger(ledger);
}

} // namespace pg_idem
