// Where canonical bytes go: a digest, a text buffer, a test's string.
#pragma once

#include <cstddef>

namespace pg_idem {

// `write` may leave by longjmp (PostgreSQL's error handling), so whoever calls it holds only
// trivially destructible objects.
struct Sink {
	void (*write)(void *state, const char *bytes, std::size_t count);
	void *state;
};

} // namespace pg_idem
