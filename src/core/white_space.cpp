#include "core/white_space.hpp"

#include <array>

namespace pg_idem {

namespace {

using std::literals::operator""sv;

// What lies beyond ASCII: U+0085, U+00A0, U+1680, U+2000..200A, U+2028, U+2029, U+202F, U+205F, U+3000.
constexpr std::array wide_characters{
	"\u0085"sv, "\u00A0"sv, "\u1680"sv, "\u2000"sv, "\u2001"sv, "\u2002"sv, "\u2003"sv,
	"\u2004"sv, "\u2005"sv, "\u2006"sv, "\u2007"sv, "\u2008"sv, "\u2009"sv, "\u200A"sv,
	"\u2028"sv, "\u2029"sv, "\u202F"sv, "\u205F"sv, "\u3000"sv,
};

constexpr std::size_t widest = 3;

constexpr bool is_ascii_space(char byte) {
	return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

} // namespace

std::size_t white_space_size(std::string_view text) {
	if (text.empty())
		return 0;
	if (static_cast<unsigned char>(text.front()) < 0x80)
		return is_ascii_space(text.front()) ? 1 : 0;
	for (const std::string_view character : wide_characters) {
		if (text.starts_with(character))
			return character.size();
	}
	return 0;
}

std::string_view trimmed(std::string_view text) {
	while (const std::size_t size = white_space_size(text))
		text.remove_prefix(size);

	// In valid UTF-8 a suffix that reads as a character is one.
	const auto trailing = [&text]() -> std::size_t {
		for (std::size_t size = 1; size <= widest && size <= text.size(); ++size) {
			if (white_space_size(text.substr(text.size() - size)) == size)
				return size;
		}
		return 0;
	};
	while (const std::size_t size = trailing())
		text.remove_suffix(size);
	return text;
}

std::string_view single_spaced(std::string_view text, char *out) {
	char *end = out;
	for (std::string_view rest = trimmed(text); !rest.empty();) {
		if (std::size_t size = white_space_size(rest)) {
			for (; size > 0; size = white_space_size(rest))
				rest.remove_prefix(size);
			*end++ = ' ';
		} else {
			*end++ = rest.front();
			rest.remove_prefix(1);
		}
	}
	return {out, static_cast<std::size_t>(end - out)};
}

} // namespace pg_idem
