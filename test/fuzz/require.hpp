// A fuzzer's assertion: a crash that the fuzzer reports with its input.
#pragma once

#include <cstdlib>

namespace pg_idem::test {

inline void require(bool condition) {
	if (!condition)
		std::abort();
}

} // namespace pg_idem::test
