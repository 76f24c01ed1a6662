#include "core/decimal.hpp"

#include <algorithm>
#include <string_view>

#include "core/ascii.hpp"
#include "core/number_digits.hpp"

namespace pg_idem {

namespace {

bool is_too_long(std::int64_t count, std::int64_t point) {
	return count > number_limit || point > number_limit || count - point > number_limit;
}

std::string_view take_digits(std::string_view &text) {
	const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
	const std::string_view digits(text.data(), static_cast<std::size_t>(end - text.begin()));
	text.remove_prefix(digits.size());
	return digits;
}

// Takes a sign off the front. True: minus.
bool take_sign(std::string_view &text) {
	const bool negative = text.starts_with('-');
	if (negative || text.starts_with('+'))
		text.remove_prefix(1);
	return negative;
}

// Any larger exponent is as much too long.
constexpr std::int64_t largest_exponent = 1'000'000'000'000'000;

// The parts of [+-]digits[.digits][(e|E)[+-]digits].
struct Spelling {
	bool negative = false;
	std::string_view integer;
	std::string_view fraction;
	std::int64_t exponent = 0;

	std::size_t size() const { return integer.size() + fraction.size(); }
	char digit(std::size_t i) const {
		return i < integer.size() ? integer[i] : fraction[i - integer.size()];
	}
};

bool read_spelling(std::string_view text, Spelling &spelling) {
	spelling.negative = take_sign(text);
	spelling.integer = take_digits(text);
	if (spelling.integer.empty())
		return false;
	if (text.starts_with('.')) {
		text.remove_prefix(1);
		spelling.fraction = take_digits(text);
		if (spelling.fraction.empty())
			return false;
	}
	if (text.starts_with('e') || text.starts_with('E')) {
		text.remove_prefix(1);
		const bool negative = take_sign(text);
		const std::string_view digits = take_digits(text);
		if (digits.empty())
			return false;
		for (const char digit : digits)
			spelling.exponent = std::min(spelling.exponent * 10 + (digit - '0'), largest_exponent);
		if (negative)
			spelling.exponent = -spelling.exponent;
	}
	return text.empty();
}

Problem read_text(std::string_view text, Decimal &decimal) {
	Spelling spelling;
	if (!read_spelling(text, spelling))
		return Problem::NotNumber;

	std::size_t first = 0;
	std::size_t end = spelling.size();
	while (first < end && spelling.digit(first) == '0')
		++first;
	while (end > first && spelling.digit(end - 1) == '0')
		--end;
	if (first == end)
		return Problem::None;

	const std::size_t count = end - first;
	const std::int64_t point = static_cast<std::int64_t>(spelling.integer.size()) -
	                           static_cast<std::int64_t>(first) + spelling.exponent;
	if (is_too_long(static_cast<std::int64_t>(count), point))
		return Problem::NumberTooLong;
	decimal.negative = spelling.negative;
	decimal.count = count;
	decimal.point = point;
	for (std::size_t i = 0; i < count; ++i)
		decimal.digits[i] = spelling.digit(first + i);
	return Problem::None;
}

Problem read_number(const Number &number, Decimal &decimal) {
	const Digits digits = digits_of(number);
	if (digits.count == 0)
		return Problem::None;
	if (is_too_long(digits.count, digits.point))
		return Problem::NumberTooLong;

	// Up to number_limit digits, which need not start or end where a group does.
	std::array<char, number_limit + 2 * digits_per_group> text;
	for (std::int32_t i = 0; i < digits.group_count; ++i)
		put_group(text.data() + i * digits_per_group, digits.groups[i]);
	decimal.negative = number.negative;
	decimal.count = static_cast<std::size_t>(digits.count);
	decimal.point = digits.point;
	std::copy_n(text.data() + digits.leading, decimal.count, decimal.digits.begin());
	return Problem::None;
}

} // namespace

Problem read_decimal(const Value &in, Decimal &decimal) {
	switch (in.kind) {
	case Kind::Number: return read_number(in.number, decimal);
	case Kind::String: return read_text(in.string, decimal);
	default: return Problem::NotNumber;
	}
}

Value number_value(const Decimal &decimal, Scratch &scratch) {
	Value value;
	value.kind = Kind::Number;
	if (decimal.count == 0)
		return value;

	// Places count from the decimal point, 0 being that of the units. Adding a multiple of a group's
	// digits keeps the division from meeting a negative number.
	constexpr std::int64_t bias = std::int64_t{number_limit} * digits_per_group;
	const std::int64_t place = decimal.point - 1 + bias;
	const auto leading = static_cast<std::size_t>(digits_per_group - 1 - place % digits_per_group);
	constexpr std::array<std::int16_t, digits_per_group> unit{1000, 100, 10, 1};

	const std::size_t slots = leading + decimal.count;
	const std::size_t group_count = (slots + digits_per_group - 1) / digits_per_group;
	std::fill_n(scratch.groups.begin(), group_count, std::int16_t{0});
	for (std::size_t i = 0; i < decimal.count; ++i) {
		const std::size_t slot = leading + i;
		const int digit = decimal.digits[i] - '0';
		std::int16_t &group = scratch.groups[slot / digits_per_group];
		group = static_cast<std::int16_t>(group + digit * unit[slot % digits_per_group]);
	}
	value.number.negative = decimal.negative;
	value.number.weight = static_cast<std::int32_t>(place / digits_per_group - number_limit);
	value.number.groups = scratch.groups.data();
	value.number.group_count = static_cast<std::int32_t>(group_count);
	return value;
}

} // namespace pg_idem
