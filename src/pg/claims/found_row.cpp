#include "pg/claims/found_row.hpp"

extern "C" {
#include "utils/timestamp.h"
}

#include "pg/claims/match.hpp"
#include "pg/claims/request.hpp"
#include "pg/errors.hpp"

namespace pg_idem {

void unknown_key() {
	ereport(
		ERROR,
		(errcode(errcode_unknown_key), errmsg("there is no claim of this key"),
	     errdetail(
			 "The tenant has no such key, or its claim was rolled back, or it is past its life, or a later generation has taken its place."),
	     errhint("Pass the key that idem_claim returned, to the tenant that claimed it.")));
	pg_unreachable();
}

void stale_fence(bool given) {
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

void require_update(const Ledger &ledger, const ItemPointerData &tid, const Row &row) {
	if (!update_row(ledger, tid, row, true))
		outside_writer();
}

} // namespace pg_idem
