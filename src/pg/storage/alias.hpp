// The keys that a row's intent has under lower versions of its operation: idem.alias.
//
// Written with the row, by a claim under a version that has lower ones, so that a client which knows a
// lower version only finds the row from the key that it can derive.
#pragma once

extern "C" {
#include "postgres.h"
}

#include <span>

#include "core/digest.hpp"

namespace pg_idem {

struct AliasSearch {
	std::span<const Digest128> keys; // of rows that are committed or this transaction's own
	bool in_flight;                  // another transaction is writing or deleting one
};

// Locks the table for writing until the transaction ends, and raises ID031 unless it is what the
// extension created: COMMIT, which no timeout ends, must neither wait for DDL nor meet a surprise.
void reserve_aliases();

// In the current memory context.
AliasSearch find_aliases(const Digest128 &alias);

// Those that are there already, left by an expired row of the same key, stay. Under the key's lock.
void insert_aliases(const Digest128 &key, std::span<const Digest128> aliases);

// Deletes the aliases of keys whose rows were deleted. Costs nothing while there are none at all.
void delete_aliases(std::span<const Digest128> keys);

} // namespace pg_idem
