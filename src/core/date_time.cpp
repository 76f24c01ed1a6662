#include "core/date_time.hpp"

#include <algorithm>
#include <chrono>

#include "core/ascii.hpp"

namespace pg_idem {

namespace {

constexpr int last_year = 9999;
constexpr int minutes_per_hour = 60;
constexpr std::size_t date_size = 10;
constexpr std::size_t seconds_size = 19;

// Reads from the front. What does not match leaves the rest as it is.
struct Reader {
	std::string_view rest;

	bool take(char byte) {
		if (!rest.starts_with(byte))
			return false;
		rest.remove_prefix(1);
		return true;
	}

	// Exactly `count` digits, worth at most `most`.
	bool number(std::size_t count, int most, int &value) {
		if (rest.size() < count || !std::all_of(rest.begin(), rest.begin() + count, is_digit))
			return false;
		value = 0;
		for (const char digit : rest.substr(0, count))
			value = value * 10 + (digit - '0');
		rest.remove_prefix(count);
		return value <= most;
	}

	std::string_view digits() {
		const auto end = std::find_if_not(rest.begin(), rest.end(), is_digit);
		const std::string_view taken = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
		rest.remove_prefix(taken.size());
		return taken;
	}
};

// `extended` tells which of ISO 8601's two formats it is: that with separators, or that without.
bool read_date(Reader &reader, std::chrono::year_month_day &date, bool &extended) {
	int year, month, day;
	if (!reader.number(4, last_year, year))
		return false;
	extended = reader.take('-');
	if (!reader.number(2, 12, month) || (extended && !reader.take('-')) ||
	    !reader.number(2, 31, day))
		return false;
	date = {std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
	        std::chrono::day(static_cast<unsigned>(day))};
	return date.ok();
}

struct TimeOfDay {
	int hour = 0;
	int minute = 0;
	int second = 0;
	std::string_view fraction;
};

// No second 60: it would be one with the first second of the next minute.
bool read_time(Reader &reader, bool extended, TimeOfDay &time) {
	if (!reader.number(2, 23, time.hour) || (extended && !reader.take(':')) ||
	    !reader.number(2, 59, time.minute))
		return false;
	const bool has_second =
		extended ? reader.take(':') : !reader.rest.empty() && is_digit(reader.rest.front());
	if (!has_second)
		return true;
	if (!reader.number(2, 59, time.second))
		return false;
	if (!reader.take('.') && !reader.take(','))
		return true;
	time.fraction = reader.digits();
	if (time.fraction.empty())
		return false;
	time.fraction = time.fraction.substr(0, time.fraction.find_last_not_of('0') + 1);
	return true;
}

Problem read_offset(Reader &reader, int &minutes) {
	minutes = 0;
	if (reader.rest.empty())
		return Problem::NoOffset;
	if (reader.take('Z') || reader.take('z'))
		return reader.rest.empty() ? Problem::None : Problem::NotTimestamp;
	const bool west = reader.take('-');
	if (!west && !reader.take('+'))
		return Problem::NotTimestamp;
	int hour, minute = 0;
	if (!reader.number(2, 23, hour))
		return Problem::NotTimestamp;
	if (!reader.rest.empty()) {
		reader.take(':');
		if (!reader.number(2, 59, minute) || !reader.rest.empty())
			return Problem::NotTimestamp;
	}
	minutes = hour * minutes_per_hour + minute;
	if (west)
		minutes = -minutes;
	return Problem::None;
}

char *put_number(char *out, std::size_t count, int value) {
	for (std::size_t i = count; i > 0; --i, value /= 10)
		out[i - 1] = static_cast<char>('0' + value % 10);
	return out + count;
}

char *put_date(char *out, const std::chrono::year_month_day &date) {
	out = put_number(out, 4, static_cast<int>(date.year()));
	*out++ = '-';
	out = put_number(out, 2, static_cast<int>(static_cast<unsigned>(date.month())));
	*out++ = '-';
	return put_number(out, 2, static_cast<int>(static_cast<unsigned>(date.day())));
}

} // namespace

Problem normalise_timestamp(std::string_view in, Scratch &scratch, std::string_view &out) {
	Reader reader{in};
	std::chrono::year_month_day date;
	TimeOfDay time;
	bool extended = false;
	if (!read_date(reader, date, extended) ||
	    !(reader.take('T') || reader.take('t') || reader.take(' ')) ||
	    !read_time(reader, extended, time))
		return Problem::NotTimestamp;
	int offset = 0;
	if (const Problem problem = read_offset(reader, offset); problem != Problem::None)
		return problem;
	if (time.fraction.size() > fraction_limit)
		return Problem::NumberTooLong;

	using namespace std::chrono;
	const auto minute = sys_days(date) + hours(time.hour) + minutes(time.minute - offset);
	const auto day = floor<days>(minute);
	const year_month_day utc(day);
	if (utc.year() < year(0) || utc.year() > year(last_year))
		return Problem::YearOutOfRange;
	const int of_day = static_cast<int>((minute - day).count());

	char *const begin = scratch.text(seconds_size + 1 + time.fraction.size() + 1);
	char *end = put_date(begin, utc);
	*end++ = 'T';
	end = put_number(end, 2, of_day / minutes_per_hour);
	*end++ = ':';
	end = put_number(end, 2, of_day % minutes_per_hour);
	*end++ = ':';
	end = put_number(end, 2, time.second);
	if (!time.fraction.empty()) {
		*end++ = '.';
		end = std::copy(time.fraction.begin(), time.fraction.end(), end);
	}
	*end++ = 'Z';
	out = {begin, static_cast<std::size_t>(end - begin)};
	return Problem::None;
}

Problem normalise_date(std::string_view in, Scratch &scratch, std::string_view &out) {
	Reader reader{in};
	std::chrono::year_month_day date;
	bool extended = false;
	if (!read_date(reader, date, extended) || !reader.rest.empty())
		return Problem::NotDate;
	char *const begin = scratch.text(date_size);
	put_date(begin, date);
	out = {begin, date_size};
	return Problem::None;
}

} // namespace pg_idem
