// What is wrong with a value, or with a request as a whole. Never carries the value.
#pragma once

#include <cstdint>

namespace pg_idem {

enum class Problem : std::uint8_t {
	None,
	Missing,             // the field is absent
	Null,                // the field is null
	Blank,               // an empty or white-space string
	NotString,           // what works on text wants a string
	NotNumber,           // number, integer, minor_units want a number or a decimal string
	TooManyDecimals,     // more decimals than the currency has
	NumberTooLong,       // more digits than `number_limit`
	UnknownCurrency,     // no ISO 4217 code
	CurrencyMissing,     // the field that minor_units names is absent, null or not a string
	NotInteger,          // a number with a fraction
	NotBoolean,          // neither true nor false
	NotArray,            // set wants an array
	NotUuid,             // no UUID in a spelling that uuid knows
	NotTimestamp,        // no ISO 8601 date and time of day
	NoOffset,            // a timestamp that does not say which instant it is
	YearOutOfRange,      // an instant before year 0 or after year 9999 in UTC
	NotDate,             // no ISO 8601 date
	NotEmail,            // no addr-spec
	NotUrl,              // no URI of RFC 3986 with a scheme
	UnassignedCharacter, // a later Unicode may give the text another form
	TooLong,             // more bytes than `text_limit`
	IcuFailed,           // out of memory, or ICU without its data
	ArgumentsNotObject,  // identity `fields` wants an object
	NoKeyField,          // every key field is optional, and none has a value
};

} // namespace pg_idem
