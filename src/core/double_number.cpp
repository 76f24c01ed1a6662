#include "core/double_number.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <system_error>

#include "core/number_digits.hpp"

namespace pg_idem {

namespace {

// More digits than any double's shortest text has.
constexpr std::int64_t most_shortest_digits = 17;

// Up to so many digits, of a size at which doubles are dense, the nearest double is told apart from
// its neighbours by the number itself: DBL_DIG, and the powers of ten between the subnormal and the
// largest doubles.
constexpr std::int64_t always_kept_digits = 15;
constexpr std::int64_t always_kept_power = 307;

// So many digits decide which double is the nearest, if it is known whether more follow: the middle
// between two doubles has at most 767.
constexpr std::int64_t deciding_digits = 768;

// A number's digits as text: what std::from_chars reads, and std::to_chars writes.
struct Decimal {
	std::array<char, deciding_digits + 1> digits; // of a value 0.d1…dk * 10^point
	std::int64_t count;
	std::int64_t point;
};

// Digits past those that decide become one 1, which stands for any.
Decimal decimal_of(const Digits &digits) {
	Decimal decimal;
	decimal.point = digits.point;
	decimal.count = std::min(digits.count, deciding_digits);
	std::int64_t at = -digits.leading;
	for (std::int32_t i = 0; i < digits.group_count && at < decimal.count; ++i) {
		std::array<char, digits_per_group> group;
		put_group(group.data(), digits.groups[i]);
		for (const char digit : group) {
			if (at >= 0 && at < decimal.count)
				decimal.digits[static_cast<std::size_t>(at)] = digit;
			++at;
		}
	}
	if (digits.count > deciding_digits)
		decimal.digits[static_cast<std::size_t>(decimal.count++)] = '1';
	return decimal;
}

enum class Size { Zero, Finite, Infinite };

// Reads the nearest double, without its sign.
Size nearest_double(const Decimal &decimal, double &nearest) {
	// Past any double, and an exponent that from_chars need not hold.
	if (decimal.point > 310)
		return Size::Infinite;
	if (decimal.point < -330)
		return Size::Zero;

	// 0.d1…dk as "d1.d2…dk", with the exponent of d1.
	constexpr std::size_t room_for_exponent = 8;
	std::array<char, deciding_digits + 2 + room_for_exponent> text;
	char *out = text.data();
	*out++ = decimal.digits[0];
	*out++ = '.';
	out = std::copy_n(decimal.digits.data() + 1, decimal.count - 1, out);
	*out++ = 'e';
	out = std::to_chars(out, text.data() + text.size(), decimal.point - 1).ptr;
	const auto read = std::from_chars(text.data(), out, nearest, std::chars_format::scientific);
	if (read.ec == std::errc::result_out_of_range)
		return decimal.point > 0 ? Size::Infinite : Size::Zero;
	return nearest == 0 ? Size::Zero : Size::Finite;
}

// The shortest digits of a double above zero.
Decimal shortest(double value) {
	std::array<char, 32> text;
	const auto written =
		std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::scientific);
	Decimal decimal;
	decimal.count = 0;
	const char *in = text.data();
	for (; *in != 'e'; ++in)
		if (*in != '.')
			decimal.digits[static_cast<std::size_t>(decimal.count++)] = *in;
	if (*++in == '+') // from_chars takes no plus
		++in;
	std::int64_t exponent = 0;
	std::from_chars(in, written.ptr, exponent);
	decimal.point = exponent + 1;
	return decimal;
}

std::string_view text_of(const Decimal &decimal) {
	return {decimal.digits.data(), static_cast<std::size_t>(decimal.count)};
}

// Of up to 17 digits, as groups of four around the decimal point.
Number number_of(const Decimal &decimal, bool negative, DoubleGroups &groups) {
	// The power of ten of the last digit of the first group, a multiple of four.
	const std::int64_t power = decimal.point - 1;
	const std::int64_t weight = power >= 0 ? power / digits_per_group
	                                       : -((-power + digits_per_group - 1) / digits_per_group);
	std::int64_t at = digits_per_group - 1 - (power - weight * digits_per_group);
	groups.fill(0);
	constexpr std::array<int, digits_per_group> worth = {1000, 100, 10, 1};
	for (const char digit : text_of(decimal)) {
		groups[static_cast<std::size_t>(at / digits_per_group)] += static_cast<std::int16_t>(
			(digit - '0') * worth[static_cast<std::size_t>(at % digits_per_group)]);
		++at;
	}
	return {negative, static_cast<std::int32_t>(weight), groups.data(),
	        static_cast<std::int32_t>((at + digits_per_group - 1) / digits_per_group)};
}

} // namespace

bool is_shortest_double(const Number &number) {
	const Digits digits = digits_of(number);
	const std::int64_t power = digits.point - 1;
	if (digits.count == 0)
		return true;
	if (digits.count <= always_kept_digits && power >= -always_kept_power &&
	    power <= always_kept_power)
		return true;
	if (digits.count > most_shortest_digits)
		return false;
	const Decimal exact = decimal_of(digits);
	double nearest;
	if (nearest_double(exact, nearest) != Size::Finite)
		return false;
	const Decimal written = shortest(nearest);
	return written.point == exact.point && text_of(written) == text_of(exact);
}

bool through_double(const Number &number, DoubleGroups &groups, Number &out) {
	const Digits digits = digits_of(number);
	out = {false, 0, groups.data(), 0};
	if (digits.count == 0)
		return true;
	double nearest;
	switch (nearest_double(decimal_of(digits), nearest)) {
	case Size::Infinite: return false;
	case Size::Zero: return true;
	case Size::Finite: break;
	}
	out = number_of(shortest(nearest), number.negative, groups);
	return true;
}

} // namespace pg_idem
