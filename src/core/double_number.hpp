// What a number becomes in a program that keeps its numbers as doubles, as RFC 8785 wants it.
//
// Such a program reads the nearest double and writes the shortest digits that read back as the same
// double. Needed for the modes of the canonical form only: the exact one never comes here.
#pragma once

#include <array>
#include <cstdint>

#include "core/number.hpp"

namespace pg_idem {

// Whether a double keeps the number: its exact text is then the text that RFC 8785 gives. So are all
// integers up to 2^53, and all numbers of up to 15 digits and usual size. Not so are numbers beyond
// the doubles, in either direction.
bool is_shortest_double(const Number &number);

// 17 digits fill at most five groups of four, wherever the decimal point lies.
using DoubleGroups = std::array<std::int16_t, 5>;

// The number whose exact text RFC 8785 gives to this one: the shortest digits of the nearest double.
// Zero when that is zero. `out` points into `groups`. False: no finite double is near, and RFC 8785
// has no text for the number.
bool through_double(const Number &number, DoubleGroups &groups, Number &out);

} // namespace pg_idem
