#include "core/uuid_text.hpp"

#include <algorithm>

#include "core/ascii.hpp"

namespace pg_idem {

namespace {

constexpr std::size_t digit_count = 32;
constexpr std::size_t hyphenated_size = 36;
constexpr std::string_view urn = "urn:uuid:";

// Whether a hyphen stands before the digit with this number.
constexpr bool is_after_hyphen(std::size_t digit) {
	return digit == 8 || digit == 12 || digit == 16 || digit == 20;
}

// Takes off what may stand around the digits.
std::string_view bare(std::string_view text) {
	if (text.size() >= 2 && text.front() == '{' && text.back() == '}')
		return text.substr(1, text.size() - 2);
	if (text.size() > urn.size() && std::equal(urn.begin(), urn.end(), text.begin(),
	                                           [](char a, char b) { return a == to_lower(b); }))
		return text.substr(urn.size());
	return text;
}

} // namespace

Problem normalise_uuid(std::string_view in, Scratch &scratch, std::string_view &out) {
	const std::string_view text = bare(in);
	const bool hyphenated = text.size() == hyphenated_size;
	if (!hyphenated && text.size() != digit_count)
		return Problem::NotUuid;

	char *const begin = scratch.text(hyphenated_size);
	char *end = begin;
	std::size_t at = 0;
	for (std::size_t digit = 0; digit < digit_count; ++digit) {
		if (is_after_hyphen(digit)) {
			if (hyphenated && text[at++] != '-')
				return Problem::NotUuid;
			*end++ = '-';
		}
		if (!is_hex_digit(text[at]))
			return Problem::NotUuid;
		*end++ = to_lower(text[at++]);
	}
	out = {begin, hyphenated_size};
	return Problem::None;
}

} // namespace pg_idem
