// The lock on a key: who holds it may decide what becomes of the key.
//
// A heavyweight lock of a class of our own (locktype "userlock" in pg_locks: database, and the key's
// first 64 bits as classid and objid), held to the end of the transaction or sub-transaction, and
// taken over by PREPARE. Two keys that agree in 64 bits share a lock; that can make a claim answer
// in_progress for a moment, and nothing worse, since every decision is made on the row.
#pragma once

extern "C" {
#include "postgres.h"
}

#include "core/digest.hpp"

namespace pg_idem {

// False: another transaction has it, or is waiting for it. Never waits.
//
// Locks are counted: each one taken, by either function, is given back by its own unlock_key, in the
// same sub-transaction, or stays until the (sub-)transaction ends.
bool try_lock_key(const Digest128 &key);

// Waits like any lock: deadlock detection, lock_timeout and cancel apply.
void lock_key(const Digest128 &key);

void unlock_key(const Digest128 &key);

// The lock of whoever runs expiry in this database, to the end of the transaction. False: another
// session has it.
bool try_lock_expiry();

} // namespace pg_idem
