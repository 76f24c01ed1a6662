// Unicode's White_Space property, on UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace pg_idem {

// The size of the white-space character that `text` starts with; 0 if it starts with none. A
// zero-width space or a byte order mark is no white space to Unicode.
std::size_t white_space_size(std::string_view text);

// `text` less white space at both ends. Valid UTF-8 in, valid UTF-8 out.
std::string_view trimmed(std::string_view text);

// The same, with every run of white space inside as one U+0020. Written to `out`, which has room for
// all of `text`.
std::string_view single_spaced(std::string_view text, char *out);

} // namespace pg_idem
