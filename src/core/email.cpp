#include "core/email.hpp"

#include <algorithm>

#include "core/ascii.hpp"
#include "core/white_space.hpp"

namespace pg_idem {

namespace {

bool is_control(char byte) {
	return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7F;
}

// What stands in a local part or domain without quotes: no white space, control or special character
// of RFC 5322.
bool is_dot_atom(std::string_view text) {
	if (text.empty() || text.front() == '.' || text.back() == '.' ||
	    text.find("..") != std::string_view::npos ||
	    text.find_first_of("()<>[]:;@\\,\"") != std::string_view::npos ||
	    std::any_of(text.begin(), text.end(), is_control))
		return false;
	for (std::size_t i = 0; i < text.size(); ++i) {
		if (white_space_size(text.substr(i)) > 0)
			return false;
	}
	return true;
}

// `"…"`, in which a backslash quotes the next byte.
bool is_quoted_string(std::string_view text) {
	if (text.size() < 2 || text.front() != '"' || text.back() != '"')
		return false;
	const std::string_view inside = text.substr(1, text.size() - 2);
	for (std::size_t i = 0; i < inside.size(); ++i) {
		if (is_control(inside[i]) || inside[i] == '"')
			return false;
		if (inside[i] == '\\' && (++i == inside.size() || is_control(inside[i])))
			return false;
	}
	return true;
}

// `[192.0.2.1]`, `[IPv6:2001:db8::1]`.
bool is_address_literal(std::string_view text) {
	if (text.size() < 3 || text.front() != '[' || text.back() != ']')
		return false;
	const std::string_view inside = text.substr(1, text.size() - 2);
	return std::all_of(inside.begin(), inside.end(), [](char byte) {
		return is_letter(byte) || is_digit(byte) || byte == ':' || byte == '.' || byte == '-';
	});
}

} // namespace

Problem normalise_email(std::string_view in, Scratch &scratch, std::string_view &out) {
	const std::string_view text = trimmed(in);
	const std::size_t at = text.rfind('@');
	if (at == std::string_view::npos)
		return Problem::NotEmail;
	const std::string_view local = text.substr(0, at);
	const std::string_view domain = text.substr(at + 1);
	if (!is_dot_atom(local) && !is_quoted_string(local))
		return Problem::NotEmail;
	if (!is_dot_atom(domain) && !is_address_literal(domain))
		return Problem::NotEmail;

	char *const copy = scratch.text(text.size());
	std::copy_n(text.data(), at + 1, copy);
	std::transform(domain.begin(), domain.end(), copy + at + 1, to_lower);
	out = {copy, text.size()};
	return Problem::None;
}

} // namespace pg_idem
