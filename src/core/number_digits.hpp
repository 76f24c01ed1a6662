// How a number's groups become digits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/number.hpp"

namespace pg_idem {

constexpr int digits_per_group = 4;

// Of a non-zero number: ±0.d1…dk * 10^point, where d1 and dk are not zero. The groups cover exactly
// these digits, with `leading` zeros before d1 in the first group and some after dk in the last.
struct Digits {
	const std::int16_t *groups;
	std::int32_t group_count;
	std::int32_t leading;
	std::int64_t count; // k; 0 for zero, and then nothing else has a meaning
	std::int64_t point;
};

Digits digits_of(const Number &number);

// Writes all four digits of a group.
void put_group(char *out, std::int16_t group);

// The usual number has up to four groups on either side of the point, and its first is not zero: it
// is written at once, without a sink. A first group right after the point is worth at least 0.0001,
// and four groups before it have at most 16 digits, so that such a number is never laid out with an
// exponent.
constexpr std::int32_t most_plain_groups = 4;
constexpr std::size_t most_plain_size = 2 + 2 * most_plain_groups * digits_per_group; // sign, point

inline bool is_plain(const Number &number) {
	return number.group_count > 0 && number.groups[0] != 0 && number.weight >= -1 &&
	       number.weight < most_plain_groups &&
	       number.group_count - 1 - number.weight <= most_plain_groups;
}

// Writes up to most_plain_size bytes and returns their end.
char *put_plain(char *out, const Number &number);

} // namespace pg_idem
