// What a dirty snapshot says of the row that has just been looked at.
#pragma once

extern "C" {
#include "postgres.h"
#include "access/transam.h"
#include "utils/snapshot.h"
}

namespace pg_idem {

// Another transaction, which is open, has written the row or is changing it.
inline bool is_in_flight(const SnapshotData &dirty) {
	return TransactionIdIsValid(dirty.xmin) || TransactionIdIsValid(dirty.xmax);
}

} // namespace pg_idem
