// Reads a stored numeric in place, as the digits that the core works with.
#pragma once

extern "C" {
#include "postgres.h"
#include "utils/numeric.h"
}

#include "core/number.hpp"

namespace pg_idem {

// `numeric` is finite, detoasted, with a four-byte header and aligned to two bytes, as inside jsonb.
// The view is valid as long as the numeric is.
//
// The layout is numeric.c's and private to it, but it is what is on disk, so pg_upgrade keeps it; a
// test compares every vector with numeric's own output.
inline Number view_numeric(const NumericData *numeric) {
	constexpr uint16 short_form = 0x8000, short_negative = 0x2000, short_weight_sign = 0x0040,
					 short_weight = 0x003F, long_sign = 0xC000, long_negative = 0x4000;
	const char *data = VARDATA(numeric);
	const auto *words = reinterpret_cast<const uint16 *>(data);
	const uint16 header = words[0];
	Number number;
	int header_words;
	if (header & short_form) {
		number.negative = (header & short_negative) != 0;
		number.weight = static_cast<int32>(header & short_weight);
		if (header & short_weight_sign)
			number.weight -= short_weight + 1;
		header_words = 1;
	} else {
		number.negative = (header & long_sign) == long_negative;
		number.weight = static_cast<int16>(words[1]);
		header_words = 2;
	}
	number.groups = reinterpret_cast<const int16 *>(words + header_words);
	number.group_count =
		static_cast<int32>((VARSIZE(numeric) - VARHDRSZ) / sizeof(uint16)) - header_words;
	return number;
}

} // namespace pg_idem
