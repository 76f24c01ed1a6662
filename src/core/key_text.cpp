#include "core/key_text.hpp"

#include <charconv>
#include <system_error>

namespace pg_idem {

namespace {

constexpr std::size_t hex_size = 32;

// 16 and more: no digit. Upper case is none, so that a key has one spelling.
int digit(char c) {
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return 16;
}

// Takes "-2" or a higher number off the end. False: there is none, or it is spelt otherwise.
bool take_generation(std::string_view &text, std::int32_t &generation) {
	const std::size_t hyphen = text.rfind('-');
	if (hyphen == std::string_view::npos)
		return false;
	const char *const begin = text.data() + hyphen + 1, *const end = text.data() + text.size();
	if (begin == end || *begin < '1' || *begin > '9')
		return false;
	std::int32_t number = 0;
	const auto [rest, error] = std::from_chars(begin, end, number);
	if (error != std::errc{} || rest != end || number < 2)
		return false;
	generation = number;
	text = text.substr(0, hyphen);
	return true;
}

} // namespace

KeySuffix::KeySuffix(const Digest128 &key, std::int32_t generation) {
	constexpr std::string_view digits = "0123456789abcdef";
	char *out = text_.data();
	*out++ = '_';
	for (const std::uint8_t byte : key) {
		*out++ = digits[byte >> 4];
		*out++ = digits[byte & 15];
	}
	if (generation > 1) {
		*out++ = '-';
		out = std::to_chars(out, text_.data() + text_.size(), generation).ptr;
	}
	size_ = static_cast<std::size_t>(out - text_.data());
}

bool parse_key(std::string_view text, KeyName &name) {
	KeyName parsed;
	std::string_view rest = text;
	take_generation(rest, parsed.generation);
	if (rest.size() <= hex_size + 1 || rest[rest.size() - hex_size - 1] != '_')
		return false;
	const std::string_view hex = rest.substr(rest.size() - hex_size);
	for (std::size_t i = 0; i < parsed.key.size(); ++i) {
		const int high = digit(hex[2 * i]), low = digit(hex[2 * i + 1]);
		if (high > 15 || low > 15)
			return false;
		parsed.key[i] = static_cast<std::uint8_t>(high << 4 | low);
	}
	parsed.prefix = rest.substr(0, rest.size() - hex_size - 1);
	name = parsed;
	return true;
}

} // namespace pg_idem
