// The significant digits of a number, seen through its groups.
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

} // namespace pg_idem
