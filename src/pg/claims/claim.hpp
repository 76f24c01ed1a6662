// Claiming a key.
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
	Micros wait = 0;           // how long to wait for an open transaction of someone else
	Micros lease = 0;          // external effects; 0: the policy's
	FmgrInfo *site = nullptr;  // the call in the statement (repeat.hpp); NULL: it has no copies
	bool copy_allowed = false; // a copy of the call gets the answer of a claim that is finished
};

// Claims the key of `call`, or says what stands against it. Never blocks in the lock manager, and
// writes nothing unless it takes the place of an earlier row.
//
// Raises what require_request raises; 0A000 for a copy of a call in one row (repeat.hpp); ID005 when it
// would own the key under a retired version; 25006 when it would own the key in a read-only transaction
// or during recovery; 40001 when a repeatable-read snapshot cannot see the row that decides; ID031 when
// idem.key or idem.alias is not what direct writes need; ID032 when the row of an expired key would have
// to go while a foreign key references the ledger.
Answer claim(const Call &call, const ClaimOptions &options);

// The same for a request that was derived after the ledger was opened, and after begin_claiming().
Answer claim_request(const Ledger &ledger, const Request &request, const ClaimOptions &options);

} // namespace pg_idem
