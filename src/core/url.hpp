// The normaliser `url`.
#pragma once

#include <string_view>

#include "core/problem.hpp"
#include "core/scratch.hpp"

namespace pg_idem {

// Syntax-based normalisation of a URI that has a scheme (RFC 3986, section 6.2.2) and nothing more:
// scheme and host in lower case; percent-encoded unreserved characters decoded, the digits of all others
// in upper case; dot segments removed from a path that begins with a slash. Nothing that depends on the
// scheme: ports, an empty path, a slash at the end, and the order of a query's parameters stay.
Problem normalise_url(std::string_view in, Scratch &scratch, std::string_view &out);

} // namespace pg_idem
