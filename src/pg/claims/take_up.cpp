#include "pg/claims/take_up.hpp"

extern "C" {
#include "utils/timestamp.h"
}

#include <array>

#include "pg/claims/row_change.hpp"
#include "pg/intervals.hpp"

namespace pg_idem {

int64 random_fence() {
	// Drawn in batches: one call of the random source costs more than all else that a claim does.
	static std::array<int64, 64> fences;
	static std::size_t left = 0;
	if (left == 0) {
		if (!pg_strong_random(fences.data(), sizeof(fences)))
			ereport(ERROR,
			        (errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not generate a random fence")));
		left = fences.size();
	}
	return fences[--left];
}

bool take_up_again(const Ledger &ledger, const Probe &found, const Claim &claim) {
	Row row = found.row;
	begin_attempt(row, *claim.policy, claim.claimed_at);
	row.claimed_at = claim.claimed_at;
	row.leased = true;
	row.lease_end = claim.lease_end;
	row.has_fence = true;
	row.fence = claim.fence;
	row.attempt = claim.attempt;
	return update_row(ledger, found.tid, row, false);
}

Claim *take_up_row(const Ledger &ledger, const Probe &found, const Policy &policy,
                   std::span<const Digest128> keys, Micros lease, const Digest128 *subject) {
	const Row &row = found.row;
	NewClaim fresh;
	fresh.tenant = row.tenant;
	fresh.keys = keys;
	fresh.policy = &policy;
	fresh.fingerprint = {row.has_fingerprint, row.fingerprint};
	fresh.kept = kept_of(row);
	fresh.claimed_at = GetCurrentTimestamp();
	fresh.lease_end = instant_after(fresh.claimed_at, lease_of(policy, lease));
	fresh.fence = random_fence();
	fresh.attempt = row.attempt + 1;
	fresh.generation = row.generation;
	fresh.stored = true;
	fresh.has_subject = subject != nullptr;
	if (subject != nullptr)
		fresh.subject = *subject;
	Claim &claim = add_claim(fresh);
	if (take_up_again(ledger, found, claim))
		return &claim;
	remove_claim(claim);
	return nullptr;
}

} // namespace pg_idem
