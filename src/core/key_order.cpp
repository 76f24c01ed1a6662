#include "core/key_order.hpp"

#include <algorithm>
#include <cstddef>

namespace pg_idem {

namespace {

// UTF-8 sorts by code point. UTF-16 does too, except that U+E000..U+FFFF (lead bytes EE, EF) come
// after everything beyond U+FFFF (F0..F4), since that is spelt with surrogates. Continuation bytes
// are below both, so moving the lead bytes is all it takes.
int rank(char byte) {
	const auto value = static_cast<unsigned char>(byte);
	if (value < 0xEE)
		return value;
	return value >= 0xF0 ? value - 2 : value + 5;
}

} // namespace

bool key_before(std::string_view a, std::string_view b) {
	const std::size_t common = std::min(a.size(), b.size());
	for (std::size_t i = 0; i < common; ++i) {
		if (a[i] != b[i])
			return rank(a[i]) < rank(b[i]);
	}
	return a.size() < b.size();
}

} // namespace pg_idem
