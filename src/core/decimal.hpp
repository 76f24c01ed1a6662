// Numbers, and decimal strings, as digits that a normaliser can work with.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/document.hpp"
#include "core/problem.hpp"
#include "core/scratch.hpp"

namespace pg_idem {

// Significant digits, and decimal places either way, that a decimal can have.
constexpr int number_limit = 100;

// ±0.d1…dk * 10^point, where d1 and dk are not zero; k is 0 for zero.
struct Decimal {
	bool negative = false;
	std::size_t count = 0;
	std::int64_t point = 0;
	std::array<char, number_limit> digits;
};

// From a number or a string [+-]digits[.digits][e[+-]digits].
Problem read_decimal(const Value &in, Decimal &decimal);

// Points into `scratch`.
Value number_value(const Decimal &decimal, Scratch &scratch);

} // namespace pg_idem
