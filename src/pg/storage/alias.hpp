// The keys that a row's intent has under lower versions of its operation: idem.alias.
//
// Written with the row, by a claim under a version that has lower ones, so that a client which knows a
// lower version only finds the row from the key that it can derive.
#pragma once

extern "C" {
#include "postgres.h"
#include "access/genam.h"
#include "utils/relcache.h"
#include "utils/snapmgr.h"
}

#include <span>

#include "core/digest.hpp"
#include "pg/storage/ledger.hpp"

namespace pg_idem {

// Locks the table for writing until the transaction ends, and raises ID031 unless it is what the
// extension created: COMMIT, which no timeout ends, must neither wait for DDL nor meet a surprise.
void reserve_aliases();

// Whether the row of `key` carries `alias`. In flight: another transaction is writing or deleting that.
Presence find_alias(const Digest128 &alias, const Digest128 &key);

// The rows that carry an alias, committed ones and this transaction's own, and those in flight.
class AliasScan {
public:
	explicit AliasScan(const Digest128 &alias);
	AliasScan(const AliasScan &) = delete; // PostgreSQL's scan points to the snapshot in it
	AliasScan &operator=(const AliasScan &) = delete;
	// None: there is no further one.
	Presence next(Digest128 *key);
	void close();

private:
	Relation table_;
	SnapshotData dirty_;
	SysScanDesc scan_;
};

// Those that are there already, left by an expired row of the same key, stay. Under the key's lock.
void insert_aliases(const Digest128 &key, std::span<const Digest128> aliases);

// Deletes those of a row that this transaction has inserted.
void delete_own_aliases(const Digest128 &key, std::span<const Digest128> aliases);

} // namespace pg_idem
