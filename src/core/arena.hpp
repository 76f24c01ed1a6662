// Memory that the caller owns, for what is built once per policy.
#pragma once

#include <cstddef>

namespace pg_idem {

// `allocate` returns memory aligned for any object, or does not return. Nothing is freed singly: the
// owner drops it all at once.
struct Arena {
	void *(*allocate)(void *state, std::size_t size);
	void *state;
};

} // namespace pg_idem
