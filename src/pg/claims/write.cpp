// Rows of this transaction's claims.
#include "pg/claims/write.hpp"

extern "C" {
#include "utils/memutils.h"
#include "utils/timestamp.h"
}

#include "pg/claims/row_change.hpp"
#include "pg/storage/alias.hpp"
#include "pg/storage/path_names.hpp"
#include "pg/storage/row_codec.hpp"

namespace pg_idem {

namespace {

Row row_of(const Claim &claim) {
	Row row;
	row.key = claim.key;
	row.policy = claim.policy->id;
	row.tenant = claim.tenant;
	row.has_fingerprint = claim.fingerprint.present;
	row.fingerprint = claim.fingerprint.digest;
	row.leaves = claim.kept.leaves;
	if (claim.kept.arguments != nullptr)
		row.arguments = JsonbPGetDatum(claim.kept.arguments);
	row.generation = claim.generation;
	row.state = claim.state();
	row.claimed_at = claim.claimed_at;
	row.has_subject = claim.has_subject;
	row.subject = claim.subject;
	row.leased = claim.policy->external;
	if (row.leased) {
		row.lease_end = claim.lease_end;
		row.has_fence = true;
		row.fence = claim.fence;
		row.attempt = claim.attempt;
		if (claim.open()) {
			row.state = State::Released; // known not to have happened, as any first attempt
			begin_attempt(row, *claim.policy, claim.claimed_at);
		}
	}
	row.finished = is_finished(row.state);
	if (row.finished) {
		// A caller who is told to wait until now must not come too late for being a repeat.
		row.completed_at = claim.policy->repeat_after > 0 ? GetCurrentTimestamp() : claim.last->at;
		row.effect_ref = claim.last->effect_ref;
		row.response = claim.last->response;
		row.response_omitted = claim.last->response_omitted;
	}
	return row;
}

// What the row was before, should the claim be released: an open claim is written early, and once only.
void keep_former(Claim &claim, const Row &former) {
	if (!claim.open() || claim.policy->external || claim.former != nullptr)
		return;
	Datum values[column_count];
	bool nulls[column_count];
	MemoryContext context = MemoryContextSwitchTo(TopTransactionContext);
	claim.former = encode_row(former, values, nulls);
	MemoryContextSwitchTo(context);
}

// A later generation takes the place of the one before it, which nobody can have touched meanwhile but
// raw SQL: the key is locked.
void write_generation(const Ledger &ledger, Claim &claim) {
	const Probe former = probe(ledger, claim.key, true);
	if (former.presence != Presence::Settled || !former.row.finished ||
	    former.row.generation != claim.generation - 1 ||
	    !update_row(ledger, former.tid, row_of(claim), false))
		outside_writer();
	keep_former(claim, former.row);
}

} // namespace

bool needs_row(const Claim &claim) {
	return !claim.stored && claim.state() != State::Released;
}

void write_claim(const Ledger &ledger, Claim &claim) {
	if (claim.generation > 1) {
		write_generation(ledger, claim);
	} else {
		insert_row(ledger, row_of(claim));
		if (!claim.aliases().empty())
			insert_aliases(claim.key, claim.aliases());
	}
	insert_path_names(claim.policy->id, claim.kept.names);
}

void rewrite_claim(const Ledger &ledger, const Claim &claim) {
	const Probe found = probe(ledger, claim.key, true);
	if (found.presence != Presence::Settled || !found.own)
		outside_writer();
	if (claim.state() != State::Released) {
		if (!update_row(ledger, found.tid, row_of(claim), false))
			outside_writer();
		return;
	}
	if (claim.former != nullptr) {
		if (!update_row(ledger, found.tid, decode_row(claim.former), false))
			outside_writer();
		return;
	}
	if (!delete_row(ledger, found.tid))
		outside_writer();
	if (!claim.aliases().empty())
		delete_own_aliases(claim.key, claim.aliases());
}

} // namespace pg_idem
