#include "core/path.hpp"

#include <algorithm>

#include "core/key_order.hpp"
#include "core/white_space.hpp"

namespace pg_idem {

namespace {

constexpr char quote = '"';
constexpr char dot = '.';

// Of a segment without a dot.
bool can_be_bare(std::string_view segment) {
	if (segment.empty() || segment.find_first_of("\"()[]|") != std::string_view::npos)
		return false;
	for (std::size_t i = 0; i < segment.size(); ++i) {
		if (white_space_size(segment.substr(i)) > 0)
			return false;
	}
	return true;
}

bool needs_no_quotes(std::string_view segment) {
	return can_be_bare(segment) && segment.find(dot) == std::string_view::npos;
}

// Both take one segment off the front of `rest` and append it to `out`. False: malformed.

bool read_quoted(std::string_view &rest, char *&out) {
	rest.remove_prefix(1);
	for (;;) {
		const std::size_t end = rest.find(quote);
		if (end == std::string_view::npos)
			return false;
		out = std::copy_n(rest.data(), end, out);
		rest.remove_prefix(end + 1);
		if (!rest.starts_with(quote))
			return true;
		*out++ = quote;
		rest.remove_prefix(1);
	}
}

bool read_bare(std::string_view &rest, char *&out) {
	const std::string_view segment = rest.substr(0, rest.find(dot));
	if (!can_be_bare(segment))
		return false;
	out = std::copy_n(segment.data(), segment.size(), out);
	rest.remove_prefix(segment.size());
	return true;
}

} // namespace

bool parse_path(std::string_view text, Arena &arena, Path &path) {
	if (text.empty())
		return false;

	// No segment is longer than its spelling, so one allocation holds them all.
	auto *out = static_cast<char *>(arena.allocate(arena.state, text.size()));
	Path parsed;
	for (std::string_view rest = text;;) {
		if (parsed.depth == max_path_depth)
			return false;
		const char *const begin = out;
		if (!(rest.starts_with(quote) ? read_quoted(rest, out) : read_bare(rest, out)))
			return false;
		parsed.segments[parsed.depth++] =
			std::string_view(begin, static_cast<std::size_t>(out - begin));
		if (rest.empty())
			break;
		if (!rest.starts_with(dot))
			return false;
		rest.remove_prefix(1);
	}
	path = parsed;
	return true;
}

std::size_t spelt_size(std::string_view segment) {
	if (needs_no_quotes(segment))
		return segment.size();
	return segment.size() + 2 +
	       static_cast<std::size_t>(std::count(segment.begin(), segment.end(), quote));
}

char *spell_segment(std::string_view segment, char *out) {
	if (needs_no_quotes(segment))
		return std::copy(segment.begin(), segment.end(), out);
	*out++ = quote;
	for (const char byte : segment) {
		if (byte == quote)
			*out++ = quote;
		*out++ = byte;
	}
	*out++ = quote;
	return out;
}

std::string_view spell_path(const Path &path, const Arena &arena) {
	std::size_t size = path.depth; // dots, and one too many
	for (std::size_t i = 0; i < path.depth; ++i)
		size += spelt_size(path.segments[i]);
	auto *const text = static_cast<char *>(arena.allocate(arena.state, size));
	char *out = text;
	for (std::size_t i = 0; i < path.depth; ++i) {
		if (i > 0)
			*out++ = dot;
		out = spell_segment(path.segments[i], out);
	}
	return {text, static_cast<std::size_t>(out - text)};
}

bool covers(const Path &outer, const Path &inner) {
	return outer.depth <= inner.depth &&
	       std::equal(outer.segments.begin(), outer.segments.begin() + outer.depth,
	                  inner.segments.begin());
}

bool path_before(const Path &a, const Path &b) {
	const std::size_t common = std::min(a.depth, b.depth);
	for (std::size_t i = 0; i < common; ++i) {
		if (a.segments[i] != b.segments[i])
			return key_before(a.segments[i], b.segments[i]);
	}
	return a.depth < b.depth;
}

} // namespace pg_idem
