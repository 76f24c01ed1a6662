// Normalisers: what makes two spellings of one key field one value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/arena.hpp"
#include "core/number.hpp"
#include "core/path.hpp"

namespace pg_idem {

enum class Kind : std::uint8_t { Null, Boolean, Number, String, Array, Object };

// A value of a document. A container is an opaque handle that only its document can read.
struct Value {
	Kind kind = Kind::Null;
	bool boolean = false;
	std::string_view string;
	Number number{};
	const void *container = nullptr;
};

enum class NormaliserKind : std::uint8_t { Exact, Upper, Lower, Trim, Number, MinorUnits };

// `minor_units(<field>)` reads the currency's ISO 4217 code at `unit`; `minor_units(<digits>)` has
// depth 0 there and the number of decimals in `digits`.
struct Normaliser {
	NormaliserKind kind = NormaliserKind::Exact;
	std::uint8_t digits = 0;
	Path unit;
};

// What is wrong with a value, or with a request as a whole (recipe.hpp). Never carries the value.
enum class Problem : std::uint8_t {
	None,
	Missing,            // the field is absent
	Null,               // the field is null
	Blank,              // an empty or white-space string
	NotString,          // upper, lower, trim want a string
	NotNumber,          // number, minor_units want a number or a decimal string
	TooManyDecimals,    // more decimals than the currency has
	NumberTooLong,      // more digits than `number_limit`
	UnknownCurrency,    // no ISO 4217 code
	CurrencyMissing,    // the field that minor_units names is absent, null or not a string
	ArgumentsNotObject, // identity `fields` wants an object
	NoKeyField,         // every key field is optional, and none has a value
};

// Significant digits, and decimal places either way, that `number` and `minor_units` accept.
constexpr int number_limit = 100;

// Room for a normalised value. Strings of up to `limit` bytes are changed in it; longer ones go to
// memory of the arena.
struct Scratch {
	Arena arena;
	std::array<char, 256> text;
	std::array<std::int16_t, 64> groups;
};

// `currency` is used by minor_units(<field>) only. `out` may point into `in` and into `scratch`, and
// lives as long as both. Null never gets here: the recipe handles it.
Problem normalise(const Normaliser &normaliser, const Value &in, const Value &currency,
                  Scratch &scratch, Value &out);

} // namespace pg_idem
