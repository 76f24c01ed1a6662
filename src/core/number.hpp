// Exact decimal numbers, and the layout that ECMAScript gives to their digits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/sink.hpp"

namespace pg_idem {

// The value is the sum of groups[i] * 10000^(weight - i), each group in 0..9999: the layout that
// PostgreSQL's numeric stores, so that a stored number is read without a copy. Zero has no groups
// or only zero groups, in any sign.
struct Number {
	bool negative;
	std::int32_t weight;
	const std::int16_t *groups;
	std::int32_t group_count;
};

// Writes every significant digit and no other: plain from 1e-6 up to 21 integer digits, else
// d.ddde±x. Two numbers give the same text if and only if they are equal. Never passes a double.
void write_number(const Number &number, const Sink &sink);

} // namespace pg_idem
