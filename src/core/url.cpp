#include "core/url.hpp"

#include <algorithm>
#include <cstddef>

#include "core/ascii.hpp"

namespace pg_idem {

namespace {

// What a component may hold besides unreserved characters, sub-delims and percent-encoded bytes.
constexpr std::string_view in_user_info = ":";
constexpr std::string_view in_name = "";
constexpr std::string_view in_address = ":";
constexpr std::string_view in_path = ":@/";
constexpr std::string_view in_query = ":@/?";

constexpr std::string_view sub_delims = "!$&'()*+,;=";

bool is_unreserved(char byte) {
	return is_letter(byte) || is_digit(byte) || byte == '-' || byte == '.' || byte == '_' ||
	       byte == '~';
}

int hex_value(char digit) {
	return is_digit(digit) ? digit - '0' : to_lower(digit) - 'a' + 10;
}

char keep(char byte) {
	return byte;
}

// Takes what stands before the first of `delimiters` off the front.
std::string_view take_until(std::string_view &rest, std::string_view delimiters) {
	const std::string_view taken = rest.substr(0, rest.find_first_of(delimiters));
	rest.remove_prefix(taken.size());
	return taken;
}

// Builds the result, which is never longer than the URL.
class Writer {
public:
	explicit Writer(char *out) : end_(out) {}

	char *end() const { return end_; }
	void move_end(char *end) { end_ = end; }
	void put(char byte) { *end_++ = byte; }

	// False: a byte that the component may not hold.
	bool component(std::string_view text, std::string_view extra, char (*map)(char) = keep) {
		for (std::size_t i = 0; i < text.size(); ++i) {
			const char byte = text[i];
			if (byte == '%') {
				if (text.size() - i < 3 || !is_hex_digit(text[i + 1]) || !is_hex_digit(text[i + 2]))
					return false;
				encoded(text[i + 1], text[i + 2], map);
				i += 2;
			} else if (is_unreserved(byte) || sub_delims.find(byte) != std::string_view::npos ||
			           extra.find(byte) != std::string_view::npos) {
				put(map(byte));
			} else {
				return false;
			}
		}
		return true;
	}

private:
	void encoded(char high, char low, char (*map)(char)) {
		const auto byte = static_cast<char>(hex_value(high) * 16 + hex_value(low));
		if (is_unreserved(byte)) {
			put(map(byte));
			return;
		}
		put('%');
		put(to_upper(high));
		put(to_upper(low));
	}

	char *end_;
};

bool put_scheme(std::string_view &rest, Writer &writer) {
	const std::string_view scheme = take_until(rest, ":/?#");
	const auto is_allowed = [](char byte) {
		return is_letter(byte) || is_digit(byte) || byte == '+' || byte == '-' || byte == '.';
	};
	if (!rest.starts_with(':') || scheme.empty() || !is_letter(scheme.front()) ||
	    !std::all_of(scheme.begin(), scheme.end(), is_allowed))
		return false;
	for (const char byte : scheme)
		writer.put(to_lower(byte));
	writer.put(':');
	rest.remove_prefix(1);
	return true;
}

bool put_host(std::string_view &rest, Writer &writer) {
	if (!rest.starts_with('['))
		return writer.component(take_until(rest, ":"), in_name, to_lower);
	rest.remove_prefix(1);
	const std::string_view address = take_until(rest, "]");
	if (rest.empty() || address.empty() || address.find('%') != std::string_view::npos)
		return false;
	rest.remove_prefix(1);
	writer.put('[');
	if (!writer.component(address, in_address, to_lower))
		return false;
	writer.put(']');
	return true;
}

bool put_authority(std::string_view authority, Writer &writer) {
	writer.put('/');
	writer.put('/');
	if (const std::size_t at = authority.find('@'); at != std::string_view::npos) {
		if (!writer.component(authority.substr(0, at), in_user_info))
			return false;
		writer.put('@');
		authority.remove_prefix(at + 1);
	}
	if (!put_host(authority, writer))
		return false;
	if (authority.empty())
		return true;
	if (!authority.starts_with(':') ||
	    !std::all_of(authority.begin() + 1, authority.end(), is_digit))
		return false;
	for (const char byte : authority)
		writer.put(byte);
	return true;
}

// RFC 3986, section 5.2.4, in place, on a path that begins with a slash.
char *remove_dot_segments(char *const begin, char *const end) {
	char *out = begin;
	for (char *in = begin; in < end;) {
		char *const next = std::find(in + 1, end, '/');
		const std::string_view segment(in + 1, static_cast<std::size_t>(next - in - 1));
		if (segment == "..") {
			while (out > begin && *--out != '/') {
			}
		} else if (segment != ".") {
			out = std::copy(in, next, out);
			in = next;
			continue;
		}
		if (next == end)
			*out++ = '/';
		in = next;
	}
	return out;
}

bool put_path(std::string_view path, bool has_authority, Writer &writer) {
	char *const begin = writer.end();
	if (!writer.component(path, in_path))
		return false;
	if (!path.starts_with('/'))
		return true;
	char *end = remove_dot_segments(begin, writer.end());
	// Without an authority, two slashes at the start would be read as one. There is room for a dot
	// segment, since only the removal of one can have brought the slashes together.
	if (!has_authority && std::string_view(begin, end).starts_with("//")) {
		std::copy_backward(begin, end, end + 2);
		begin[1] = '.';
		end += 2;
	}
	writer.move_end(end);
	return true;
}

} // namespace

Problem normalise_url(std::string_view in, Scratch &scratch, std::string_view &out) {
	char *const begin = scratch.text(in.size());
	Writer writer(begin);
	std::string_view rest = in;
	if (!put_scheme(rest, writer))
		return Problem::NotUrl;

	const bool has_authority = rest.starts_with("//");
	if (has_authority) {
		rest.remove_prefix(2);
		if (!put_authority(take_until(rest, "/?#"), writer))
			return Problem::NotUrl;
	}
	if (!put_path(take_until(rest, "?#"), has_authority, writer))
		return Problem::NotUrl;
	if (rest.starts_with('?')) {
		writer.put('?');
		rest.remove_prefix(1);
		if (!writer.component(take_until(rest, "#"), in_query))
			return Problem::NotUrl;
	}
	if (rest.starts_with('#')) {
		writer.put('#');
		if (!writer.component(rest.substr(1), in_query))
			return Problem::NotUrl;
	}
	out = {begin, static_cast<std::size_t>(writer.end() - begin)};
	return Problem::None;
}

} // namespace pg_idem
