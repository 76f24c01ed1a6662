// The normaliser `email`.
#pragma once

#include <string_view>

#include "core/problem.hpp"
#include "core/scratch.hpp"

namespace pg_idem {

// White space around an addr-spec is taken off and the ASCII letters of its domain become lower case.
// Nothing else is folded, above all nothing of the local part: case, dots and `+tag` mean something to
// some servers. An address within a display name is no addr-spec.
Problem normalise_email(std::string_view in, Scratch &scratch, std::string_view &out);

} // namespace pg_idem
