// The normaliser `uuid`.
#pragma once

#include <string_view>

#include "core/problem.hpp"
#include "core/scratch.hpp"

namespace pg_idem {

// 32 hex digits in any case, plain or with the four hyphens of RFC 9562, in braces or not, after
// `urn:uuid:` or not, become the 36 lower-case characters of RFC 9562.
Problem normalise_uuid(std::string_view in, Scratch &scratch, std::string_view &out);

} // namespace pg_idem
