// The keys that are not finished: few, in an index of their own.
#pragma once

extern "C" {
#include "postgres.h"
#include "access/genam.h"
#include "utils/snapmgr.h"
}

#include <span>

#include "core/outcome.hpp"
#include "pg/storage/ledger.hpp"

namespace pg_idem {

// Committed rows of a policy that are not finished, as they are now, in no order, in the current memory
// context. They can have changed by the time they are looked at again.
std::span<const Row> find_unfinished(const Ledger &ledger, int16 policy);

// The rows of a subject that are not finished: committed ones and this transaction's own, and those in
// flight, of which no more than the key is to be believed.
class SiblingScan {
public:
	SiblingScan(const Ledger &ledger, const Digest128 &subject);
	SiblingScan(const SiblingScan &) = delete; // PostgreSQL's scan points to the snapshot in it
	SiblingScan &operator=(const SiblingScan &) = delete;
	// None: there is no further one.
	Presence next(Row *row);
	void close();

private:
	SnapshotData dirty_;
	SysScanDesc scan_;
};

} // namespace pg_idem
