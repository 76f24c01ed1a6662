// The claims of this transaction, kept in memory until it commits.
//
// Nothing is written when a key is claimed. Each entry holds the claim and what has become of it
// since, as a stack of changes that sub-transactions can take back; the row is written once, in its
// final state, just before commit (flush.hpp).
#pragma once

extern "C" {
#include "postgres.h"
#include "access/htup.h"
#include "utils/jsonb.h"
}

#include <string_view>

#include "core/digest.hpp"
#include "core/outcome.hpp"
#include "pg/claims/kept_request.hpp"
#include "pg/claims/request.hpp"
#include "pg/policy/policy.hpp"

namespace pg_idem {

// What became of a claim, and in which sub-transaction.
struct Change {
	State state;
	Micros at;
	std::string_view effect_ref; // NULL data: none
	Jsonb *response;             // detoasted copy, or NULL
	bool response_omitted;
	SubTransactionId subxact;
	Change *former;
};

// A row of its effect that the guard has seen, and in which sub-transaction.
struct EffectMark {
	SubTransactionId subxact;
	EffectMark *former;
};

// A claim that this transaction owns. Texts and policy live until the end of the transaction.
struct Claim {
	Digest128 key;
	const Policy *policy;
	std::string_view tenant;
	Fingerprint fingerprint;
	KeptRequest kept;
	Micros claimed_at;
	Micros lease_end; // external effects only
	int64 fence;
	int32 attempt;
	int32 generation;
	bool stored;      // the row is there already, in the claim's present state
	HeapTuple former; // of a later generation that was written open: the row before it; else NULL
	// Its own key first, then those that its intent has under other versions; all of them locked, in
	// `subxact`, if `locked`.
	std::span<const Digest128> keys;
	bool locked;
	bool has_subject; // locked with the keys
	Digest128 subject;
	SubTransactionId subxact;
	Change *last;       // NULL: open
	EffectMark *effect; // the last one that stands
	bool effect_undone; // and there was one that was rolled back
	Claim *next;        // in order of claiming, but that those without locks come before
	Claim *previous;

	std::span<const Digest128> aliases() const { return keys.subspan(1); }
	bool open() const { return last == nullptr || last->state == State::Open; }
	State state() const { return last == nullptr ? State::Open : last->state; }
};

struct NewClaim {
	std::string_view tenant;
	std::span<const Digest128> keys; // locked; the first is the row's
	const Policy *policy;    // of the row, which can be another version's than the request's
	Fingerprint fingerprint; // under `policy`
	KeptRequest kept;
	Micros claimed_at;
	Micros lease_end;
	int64 fence;
	int32 attempt;
	int32 generation;
	bool stored;
	bool has_subject = false; // locked, too
	Digest128 subject{};
};

// The entry of a key, released ones included; NULL when this transaction has not claimed it.
Claim *find_claim(const Digest128 &key);
Claim *first_claim();
Claim *last_claim();
std::size_t claim_count();

// Gives the locks of a claim back.
void unlock_claim(const Claim &claim);

// How many key locks they hold.
std::size_t claim_lock_count();

// Copies what it needs. The claim belongs to the current sub-transaction.
Claim &add_claim(const NewClaim &claim);

// Records a change in the current sub-transaction, with copies of texts and response.
void change_claim(Claim &claim, State state, Micros at, std::string_view effect_ref,
                  Jsonb *response, bool response_omitted);

// Says that the claim's row was written, in the current sub-transaction, which is the claim's, and that
// it stands for the locks from now on, which are the caller's to release.
void mark_written(Claim &claim);

// Remembers that a row of the claim's effect was written in the current sub-transaction.
void mark_effect(Claim &claim);

// Forgets an entry. Its locks are the caller's to release.
void remove_claim(Claim &claim);

// Whether claim and every change of it were made in the current sub-transaction, so that undoing it
// undoes them all.
bool is_of_current_subxact(const Claim &claim);

void claims_subxact_committed(SubTransactionId subxact, SubTransactionId parent);
void claims_subxact_aborted(SubTransactionId subxact);

// Forgets everything, without freeing it: the transaction's memory goes with the transaction.
void forget_claims();

} // namespace pg_idem
