#include "pg/claims/take.hpp"

extern "C" {
#include "access/xact.h"
#include "miscadmin.h"
#include "tcop/utility.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
}

#include <algorithm>

#include "pg/claims/flush.hpp"
#include "pg/claims/match.hpp"
#include "pg/claims/repeat.hpp"
#include "pg/claims/sibling.hpp"
#include "pg/claims/take_up.hpp"
#include "pg/errors.hpp"
#include "pg/storage/key_lock.hpp"
#include "pg/storage/unfinished.hpp"

namespace pg_idem {

namespace {

struct Candidate {
	Digest128 key;
	Micros since; // when its lease ended, or when it may be tried again
};

struct Candidates {
	Candidate *items = nullptr;
	std::size_t count = 0;
};

bool fits(const Row &row, const TakeOptions &options) {
	return options.tenant.data() == nullptr || row.tenant == options.tenant;
}

Decision decide_named(const Probe &found, const Policy &policy, Micros lease) {
	return answer_named(found, policy, lease).decision;
}

// Those that a claim would own by now, the longest waiting first.
Candidates find_candidates(const Ledger &ledger, std::span<const Policy> policies,
                           const TakeOptions &options) {
	Candidates found;
	for (const Policy &policy : policies) {
		if (policy.recipe.operation != options.operation)
			continue;
		const std::span<const Row> rows = find_unfinished(ledger, policy.id);
		const Size size = sizeof(Candidate) * (found.count + rows.size() + 1);
		found.items = static_cast<Candidate *>(
			found.items == nullptr ? MemoryContextAllocHuge(CurrentMemoryContext, size)
								   : repalloc_huge(found.items, size));
		for (const Row &row : rows) {
			Probe probe;
			probe.presence = Presence::Settled;
			probe.row = row;
			if (fits(row, options) && decide_named(probe, policy, options.lease).continues)
				new (&found.items[found.count++])
					Candidate{row.key, row.has_retry_at ? row.retry_at : row.lease_end};
		}
	}
	std::sort(found.items, found.items + found.count, [](const Candidate &a, const Candidate &b) {
		return a.since != b.since ? a.since < b.since : a.key < b.key;
	});
	return found;
}

// Under the key's lock, as the row is now. NULL: not to be had any more.
const Claim *take_key(const Ledger &ledger, const Digest128 &key, const TakeOptions &options,
                      const TakeReceiver &receiver) {
	const Probe found = probe(ledger, key, true);
	if (found.presence != Presence::Settled || found.own || !found.snapshot_sees)
		return nullptr;
	const Policy *policy = find_policy_by_id(found.row.policy);
	if (policy == nullptr || policy->recipe.operation != options.operation)
		return nullptr;
	const Decision decision = decide_named(found, *policy, options.lease);
	if (!decision.continues || !fits(found.row, options))
		return nullptr;
	const Row &row = found.row;
	const Digest128 *subject = row.has_subject ? &row.subject : nullptr;
	if (subject != nullptr && !try_lock_key(*subject))
		return nullptr;
	Answer sibling;
	const Claim *claim = nullptr;
	if (subject == nullptr || !find_sibling(ledger, *subject, key, &sibling))
		claim = take_up_row(ledger, found, *policy, {&key, 1}, options.lease, subject);
	if (claim != nullptr)
		receiver.taken(receiver.state, decision, *claim, row);
	else if (subject != nullptr)
		unlock_key(*subject);
	return claim;
}

void check(const TakeOptions &options) {
	if (options.operation.data() == nullptr)
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("operation is NULL")));
	if (options.max_keys < 1)
		ereport(ERROR,
		        (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("max_keys is not positive")));
	if (find_policy(options.operation, 0).policy == nullptr)
		ereport(ERROR,
		        (errcode(errcode_undefined_operation),
		         errmsg("operation \"%.*s\" is not defined",
		                static_cast<int>(options.operation.size()), options.operation.data()),
		         errhint("The view idem_operations lists what is defined.")));
}

} // namespace

void take(const TakeOptions &options, const TakeReceiver &receiver) {
	PreventCommandIfParallelMode("idem_take()");
	PreventCommandIfReadOnly("idem_take()");
	PreventCommandDuringRecovery("idem_take()");
	begin_claiming();
	forget_call();
	const Ledger ledger = open_ledger();
	check(options);
	const Candidates candidates = find_candidates(ledger, all_policies(), options);
	MemoryContext scratch =
		AllocSetContextCreate(CurrentMemoryContext, "pg_idem take", ALLOCSET_DEFAULT_SIZES);
	MemoryContext former = MemoryContextSwitchTo(scratch);
	int32 taken = 0;
	for (std::size_t i = 0; i < candidates.count && taken < options.max_keys; ++i) {
		CHECK_FOR_INTERRUPTS();
		const Digest128 &key = candidates.items[i].key;
		begin_claiming(); // which writes some of the claims before this one
		if (find_claim(key) != nullptr || !try_lock_key(key))
			continue;
		if (take_key(ledger, key, options, receiver) != nullptr)
			++taken;
		else
			unlock_key(key);
		MemoryContextReset(scratch);
	}
	MemoryContextSwitchTo(former);
	MemoryContextDelete(scratch);
	close_ledger(ledger);
}

} // namespace pg_idem
