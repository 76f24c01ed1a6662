// So that a failed comparison says which problem it was.
#pragma once

#include <array>
#include <cstddef>
#include <ostream>

#include "core/problem.hpp"

namespace pg_idem {

inline void PrintTo(Problem problem, std::ostream *out) {
	constexpr std::array names{"None",
	                           "Missing",
	                           "Null",
	                           "Blank",
	                           "NotString",
	                           "NotNumber",
	                           "TooManyDecimals",
	                           "NumberTooLong",
	                           "UnknownCurrency",
	                           "CurrencyMissing",
	                           "NotInteger",
	                           "NotBoolean",
	                           "NotArray",
	                           "NotUuid",
	                           "NotTimestamp",
	                           "NoOffset",
	                           "YearOutOfRange",
	                           "NotDate",
	                           "NotEmail",
	                           "NotUrl",
	                           "UnassignedCharacter",
	                           "TooLong",
	                           "IcuFailed",
	                           "ArgumentsNotObject",
	                           "NoKeyField"};
	*out << names[static_cast<std::size_t>(problem)];
}

} // namespace pg_idem
