// Everything that can happen next.
#pragma once

#include <vector>

#include "unit/model_world.hpp"

namespace pg_idem::model {

enum class Act : std::uint8_t {
	Claims,
	Marks,
	Renews,
	Sends,
	Looks,
	Completes,
	Fails,
	Releases,
	ReleasesItsOwn, // what it has sent was refused; of the attempts before it knows nothing
	SaysUnknown,
	// The worker's request:
	IsDone,
	IsDoneUnheard, // the answer is lost
	IsRefused,
	IsRefusedUnheard,
	IsLost,
	// A person:
	PersonLooks,
	PersonCompletes,
	PersonRetries,
	PersonAbandons,
	Tick,
};

struct Step {
	Act act;
	Small worker; // from 0; meaningless for a person and for the clock
	World after;
	Decision decision; // of a claim
};

// The steps that change something. A claim that is not told to own the key changes nothing.
void steps_from(const World &world, const Setting &setting, std::vector<Step> &steps);

} // namespace pg_idem::model
