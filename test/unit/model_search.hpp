// Every state that can be reached, breadth first, so that what is found is told by a shortest trace.
#pragma once

#include <cstddef>
#include <string>

#include "unit/model_world.hpp"

namespace pg_idem::model {

struct Finding {
	std::size_t states = 0; // until the first violation, or all there are
	std::size_t steps = 0;
	Property broken = Property::None;
	std::string trace; // a line for each step
};

Finding explore(const Setting &setting);

const char *name(Property property);

} // namespace pg_idem::model
