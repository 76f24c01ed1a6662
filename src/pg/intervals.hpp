// Intervals as plain spans of time.
#pragma once

extern "C" {
#include "postgres.h"
#include "common/int.h"
#include "utils/timestamp.h"
}

#include "core/outcome.hpp"

namespace pg_idem {

// Microseconds, with a day of 24 hours and a month of 30 days: a retention must not depend on the
// time zone. Saturates.
inline Micros interval_micros(const Interval *interval) {
	int64 days, span;
	if (pg_mul_s64_overflow(interval->month, DAYS_PER_MONTH, &days) ||
	    pg_add_s64_overflow(days, interval->day, &days) ||
	    pg_mul_s64_overflow(days, USECS_PER_DAY, &span) ||
	    pg_add_s64_overflow(span, interval->time, &span))
		return interval->month < 0 || interval->day < 0 || interval->time < 0 ? PG_INT64_MIN
		                                                                      : PG_INT64_MAX;
	return span;
}

// As far as a timestamp goes. `span` is not negative.
inline Micros instant_after(Micros start, Micros span) {
	return span < END_TIMESTAMP - 1 - start ? start + span : END_TIMESTAMP - 1;
}

} // namespace pg_idem
