// Dotted paths to a member of a JSON object: `metadata.order_ref`, `"a.b".c`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/arena.hpp"

namespace pg_idem {

constexpr std::size_t max_path_depth = 16;

// Segments are views into memory that the arena owns. A path goes through objects only: an array's
// elements have no path.
struct Path {
	std::array<std::string_view, max_path_depth> segments;
	std::uint8_t depth = 0;
};

// A segment that holds a dot, a double quote, a parenthesis, a bracket, a pipe, white space, or nothing
// is double-quoted; a double quote inside it is doubled. False: not a path.
bool parse_path(std::string_view text, Arena &arena, Path &path);

// The spelling that parse_path reads back, with quotes only where they are needed. In memory of the
// arena.
std::string_view spell_path(const Path &path, const Arena &arena);

// One segment of such a spelling, with quotes if it needs them: its size, and into `out`, whose new end
// is returned.
std::size_t spelt_size(std::string_view segment);
char *spell_segment(std::string_view segment, char *out);

// Whether `outer` is `inner` or an ancestor of it.
bool covers(const Path &outer, const Path &inner);

// Canonical order of the members that the paths name (key_order.hpp, segment by segment).
bool path_before(const Path &a, const Path &b);

} // namespace pg_idem
