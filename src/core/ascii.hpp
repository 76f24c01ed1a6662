// Letters and digits of ASCII, whatever the locale.
#pragma once

namespace pg_idem {

constexpr bool is_digit(char byte) {
	return byte >= '0' && byte <= '9';
}

constexpr char to_upper(char byte) {
	return byte >= 'a' && byte <= 'z' ? static_cast<char>(byte - 'a' + 'A') : byte;
}

constexpr char to_lower(char byte) {
	return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte;
}

constexpr bool is_letter(char byte) {
	return to_lower(byte) >= 'a' && to_lower(byte) <= 'z';
}

constexpr bool is_hex_digit(char byte) {
	return is_digit(byte) || (to_lower(byte) >= 'a' && to_lower(byte) <= 'f');
}

} // namespace pg_idem
