#include "core/retention.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace pg_idem {

namespace {

// `span` is a retention, which is never negative.
Micros after(Micros instant, Micros span) {
	Micros sum = 0;
	if (__builtin_add_overflow(instant, span, &sum))
		return std::numeric_limits<Micros>::max();
	return sum;
}

} // namespace

Micros life_end(Micros finished, Micros current, std::span<const RetentionChange> changes) {
	// A change at the very instant comes later: the row was alive at it, whichever way it went.
	const auto in_force = [&](std::size_t i) {
		return i < changes.size() ? changes[i].before : current;
	};
	std::size_t i = 0;
	while (i < changes.size() && changes[i].at < finished)
		++i;

	Micros end = after(finished, in_force(i));
	for (; i < changes.size() && changes[i].at <= end; ++i)
		end = std::max(end, after(finished, in_force(i + 1)));
	return end;
}

} // namespace pg_idem
