// Claiming many keys of one operation in one call.
#pragma once

extern "C" {
#include "postgres.h"
}

#include <cstddef>
#include <span>

#include "pg/claims/claim.hpp"

namespace pg_idem {

struct BatchOptions {
	Micros wait = 0;     // for the batch as a whole
	Micros lease = 0;    // external effects; 0: the policy's
	bool report = false; // what is wrong with a line is told in its place; else it is an error
};

// Takes what became of the call at `position`, one position after the other in order of the keys, in a
// memory context that is reset afterwards.
struct BatchReceiver {
	void (*answered)(void *state, std::size_t position, const Answer &answer);
	void (*refused)(void *state, std::size_t position, const Refusal &refusal);
	void *state;
};

// All requests are read before the first key is claimed, so that an error has changed nothing. Claims in
// order of the keys: two batches that wait for each other's keys would else wait until their time is up.
// The calls are of one tenant, operation and version; a NULL `arguments` is a bad line.
//
// Raises what claim() raises; for a bad line its SQLSTATE, unless `report`.
void claim_batch(std::span<const Call> calls, const BatchOptions &options,
                 const BatchReceiver &receiver);

} // namespace pg_idem
