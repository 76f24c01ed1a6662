#include "core/key_text.hpp"

#include <cstdint>

namespace pg_idem {

namespace {

// 16 and more: no digit. Upper case is none, so that a key has one spelling.
int digit(char c) {
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return 16;
}

} // namespace

std::array<char, key_suffix_size> key_suffix(const Digest128 &key) {
	constexpr std::string_view digits = "0123456789abcdef";
	std::array<char, key_suffix_size> suffix;
	suffix[0] = '_';
	for (std::size_t i = 0; i < key.size(); ++i) {
		suffix[1 + 2 * i] = digits[key[i] >> 4];
		suffix[2 + 2 * i] = digits[key[i] & 15];
	}
	return suffix;
}

bool parse_key(std::string_view text, std::string_view &prefix, Digest128 &key) {
	if (text.size() <= key_suffix_size)
		return false;
	prefix = text.substr(0, text.size() - key_suffix_size);
	const std::string_view suffix = text.substr(prefix.size());
	if (suffix[0] != '_')
		return false;
	for (std::size_t i = 0; i < key.size(); ++i) {
		const int high = digit(suffix[1 + 2 * i]), low = digit(suffix[2 + 2 * i]);
		if (high > 15 || low > 15)
			return false;
		key[i] = static_cast<std::uint8_t>(high << 4 | low);
	}
	return true;
}

} // namespace pg_idem
