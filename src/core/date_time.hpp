// The normalisers `timestamp` and `date`: the calendar part of ISO 8601, years 0000 to 9999.
#pragma once

#include <string_view>

#include "core/problem.hpp"
#include "core/scratch.hpp"

namespace pg_idem {

// `YYYY-MM-DDThh:mm[:ss[.f…]]` or `YYYYMMDDThhmm[ss[.f…]]` and an offset `Z`, `±hh`, `±hhmm` or
// `±hh:mm` become that instant in UTC as `YYYY-MM-DDThh:mm:ss[.f…]Z`. The fraction keeps its digits,
// up to `fraction_limit` of them, less zeros at the end.
Problem normalise_timestamp(std::string_view in, Scratch &scratch, std::string_view &out);

constexpr std::size_t fraction_limit = 100;

// `YYYY-MM-DD` or `YYYYMMDD` becomes `YYYY-MM-DD`. A timestamp is no date: which day it is on depends
// on a time zone.
Problem normalise_date(std::string_view in, Scratch &scratch, std::string_view &out);

} // namespace pg_idem
