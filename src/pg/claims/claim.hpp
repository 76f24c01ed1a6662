// Claiming a key, and looking one up.
#pragma once

extern "C" {
#include "postgres.h"
#include "fmgr.h"
}

#include "pg/claims/answer.hpp"
#include "pg/claims/request.hpp"
#include "pg/storage/ledger.hpp"

namespace pg_idem {

struct ClaimOptions {
	Micros wait = 0;      // how long to wait for an open transaction of someone else
	Micros lease = 0;     // external effects; 0: the policy's
	FmgrInfo *site = nullptr; // the call in the statement (repeat.hpp)
};

// Claims the key of `call`, or says what stands against it. Never blocks in the lock manager, and
// writes nothing unless it takes the place of an earlier row.
//
// Raises what require_request raises; 25006 when it would own the key in a read-only transaction or
// during recovery; 40001 when a repeatable-read snapshot cannot see the row that decides.
Answer claim(const Call &call, const ClaimOptions &options);

// What a claim would meet. Changes nothing and takes no key lock.
Answer look_up(const Call &call);
Answer look_up_key(std::string_view tenant, std::string_view key);

// The last instant at which a finished row answers.
Micros life_end_of(const Row &row, const Policy &policy);

// Raises 40001 unless the transaction's snapshot sees the probed row.
void require_visible(const Probe &probe);

// A new fence: 64 random bits.
int64 random_fence();

} // namespace pg_idem
