#include "pg/claims/flush.hpp"

extern "C" {
#include "access/xact.h"
#include "miscadmin.h"
#include "replication/syncrep.h"
#include "storage/lock.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"
}

#include "pg/claims/answer.hpp"
#include "pg/claims/pending.hpp"
#include "pg/claims/repeat.hpp"
#include "pg/claims/write.hpp"
#include "pg/errors.hpp"
#include "pg/storage/key_lock.hpp"
#include "pg/storage/ledger.hpp"
#include "pg/storage/path_names.hpp"

namespace pg_idem {

namespace {

bool committing = false;       // the claims were written: no more of them in this transaction
bool external_written = false; // what was written has to outlive a failover

// How many key locks are too many, in this sub-transaction.
struct Threshold {
	SubTransactionId subxact;
	std::size_t locks;
};

Threshold flush_threshold;

// More locks than this, and a few hundred such transactions would fill the shared lock table.
std::size_t lock_cap() {
	return static_cast<std::size_t>(Min(64, max_locks_per_xact));
}

// As a message names it.
const char *key_of(const Claim &claim) {
	return text_to_cstring(key_text(claim.policy->prefix, claim.key, claim.generation));
}

void refuse_open_claim(const Claim &claim) {
	ereport(
		ERROR,
		(errcode(errcode_claim_left_open),
	     errmsg("claim of key \"%s\" was left open", key_of(claim)),
	     errdetail(
			 "Operation \"%.*s\" has a local effect, which is recorded in the transaction that claims it.",
			 static_cast<int>(claim.policy->recipe.operation.size()),
			 claim.policy->recipe.operation.data()),
	     errhint("Call idem_complete, idem_fail or idem_release before the transaction ends.")));
}

// The claim and its completion stand, and what they stand for was rolled back.
void refuse_undone_effect(const Claim &claim) {
	ereport(
		ERROR,
		(errcode(errcode_effect_undone),
	     errmsg("the effect of key \"%s\" was rolled back, and its completion was not",
	            key_of(claim)),
	     errdetail(
			 "A row that idem_guard has seen was undone by a savepoint or by a block with EXCEPTION."),
	     errhint("Claim, do the effect and complete on one level of the transaction.")));
}

// An external claim must outlive a crash and a failover before the call goes out, whatever the session
// has set. ForceSyncCommit alone waits for the local disk only.
void force_synchronous_commit() {
	ForceSyncCommit();
	if (synchronous_commit < SYNCHRONOUS_COMMIT_REMOTE_FLUSH)
		(void)set_config_option("synchronous_commit", "on", PGC_USERSET, PGC_S_SESSION,
		                        GUC_ACTION_LOCAL, true, 0, false);
}

void write_all_claims() {
	bool any = false, external = external_written;
	for (Claim *claim = first_claim(); claim != nullptr; claim = claim->next) {
		if (claim->open() && !claim->policy->external)
			refuse_open_claim(*claim);
		if (claim->state() == State::Completed && claim->effect_undone && claim->effect == nullptr)
			refuse_undone_effect(*claim);
		external = external || (claim->policy->external && claim->open());
		any = any || needs_row(*claim);
	}
	if (external)
		force_synchronous_commit();
	if (!any)
		return;
	PushActiveSnapshot(GetTransactionSnapshot());
	const Ledger ledger = open_ledger();
	for (Claim *claim = first_claim(); claim != nullptr; claim = claim->next)
		if (needs_row(*claim))
			write_claim(ledger, *claim);
	close_ledger(ledger);
	PopActiveSnapshot();
}

// Whether a claim of the current sub-transaction can be written now: what an outer level has a part in
// must stay, since its locks do.
bool can_write(const Claim &claim) {
	return claim.locked && needs_row(claim) && is_of_current_subxact(claim) &&
	       !is_remembered(claim.key); // a copy of its call has to find it here
}

// What is in its final state is done with.
void write_final(const Ledger &ledger, Claim &claim) {
	write_claim(ledger, claim);
	external_written = external_written || claim.policy->external;
	unlock_claim(claim); // the uncommitted row guards the key as well
	remove_claim(claim);
}

// An open one is written a second time when it is finished.
void write_open(const Ledger &ledger, Claim &claim) {
	write_claim(ledger, claim);
	unlock_claim(claim); // the uncommitted row guards the key as well
	mark_written(claim);
}

// Writes claims of the current sub-transaction early, those that are in their final state before others,
// and gives their locks back. They are the last ones.
void write_some_claims(bool last_chance) {
	const SubTransactionId current = GetCurrentSubTransactionId();
	if (flush_threshold.subxact != current)
		flush_threshold = {current, lock_cap()};
	if (claim_lock_count() < (last_chance ? lock_cap() : flush_threshold.locks))
		return;
	PushActiveSnapshot(GetTransactionSnapshot());
	const Ledger ledger = open_ledger();
	const std::size_t before = claim_lock_count();
	for (const bool open : {false, true}) {
		if (open && claim_lock_count() < lock_cap())
			break;
		for (Claim *claim = last_claim();
		     claim != nullptr && claim->subxact == current && claim->locked;) {
			Claim *previous = claim->previous;
			const bool final = is_finished(claim->state()) || claim->policy->external;
			if (can_write(*claim) && final == !open)
				final ? write_final(ledger, *claim) : write_open(ledger, *claim);
			claim = previous;
		}
	}
	close_ledger(ledger);
	PopActiveSnapshot();
	const std::size_t left = claim_lock_count();
	if (left < before)
		CommandCounterIncrement(); // this transaction has to see the rows from now on
	// Those that had to stay are looked at again only when as many have come.
	flush_threshold.locks = Max(2 * left, lock_cap());
}

void end_of_transaction() {
	forget_claims();
	forget_own_path_names();
	ledger_xact_ended();
	committing = false;
	external_written = false;
	flush_threshold = {};
}

void on_transaction_event(XactEvent event, void *) {
	switch (event) {
	case XACT_EVENT_PRE_COMMIT:
	case XACT_EVENT_PRE_PREPARE:
		// Both registrations come by; the first one writes.
		if (committing)
			break;
		committing = true;
		forget_call();
		if (claim_count() > 0 || external_written)
			write_all_claims();
		break;
	case XACT_EVENT_COMMIT:
	case XACT_EVENT_PREPARE:
	case XACT_EVENT_ABORT:
	case XACT_EVENT_PARALLEL_COMMIT:
	case XACT_EVENT_PARALLEL_ABORT:
		abandon_call();
		end_of_transaction();
		break;
	case XACT_EVENT_PARALLEL_PRE_COMMIT: break;
	}
}

void on_subtransaction_event(SubXactEvent event, SubTransactionId subxact, SubTransactionId parent,
                             void *) {
	switch (event) {
	case SUBXACT_EVENT_COMMIT_SUB:
		claims_subxact_committed(subxact, parent);
		ledger_subxact_committed(subxact, parent);
		break;
	case SUBXACT_EVENT_ABORT_SUB:
		forget_call();
		claims_subxact_aborted(subxact);
		forget_own_path_names();
		ledger_subxact_aborted(subxact);
		break;
	case SUBXACT_EVENT_PRE_COMMIT_SUB:
		// The last moment for these claims to be written early: they are the outer level's from now on,
		// and a loop of blocks with EXCEPTION would collect locks without end. No copy of the last call
		// can come any more, since those are evaluated on the level of the call.
		forget_call();
		if (claim_count() > 0)
			write_some_claims(true);
		break;
	case SUBXACT_EVENT_START_SUB: break;
	}
}

} // namespace

void begin_claiming() {
	if (committing)
		ereport(ERROR, (errcode(errcode_claim_in_commit),
		                errmsg("cannot claim or finish a key while the transaction is committing"),
		                errdetail("The claims of this transaction were recorded already.")));
	// Callbacks run last-registered first, and another module can have registered its own meanwhile, as
	// postgres_fdw does at the first foreign table of a session. The registration made at load stays
	// where it is: should this be called from another module's callback, the list is being walked, and a
	// single registration that moved to its front would be passed by.
	UnregisterXactCallback(on_transaction_event, &committing);
	RegisterXactCallback(on_transaction_event, &committing);
	write_some_claims(false);
}

void commit_synchronously() {
	external_written = true;
}

void watch_transactions() {
	RegisterXactCallback(on_transaction_event, nullptr);
	RegisterSubXactCallback(on_subtransaction_event, nullptr);
}

} // namespace pg_idem
