// Normalisers: what makes two spellings of one key field one value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/document.hpp"
#include "core/path.hpp"
#include "core/problem.hpp"
#include "core/scratch.hpp"

namespace pg_idem {

// One step. What each maps together and what it refuses is part of the key formula:
// docs/key-format.md.
enum class NormaliserKind : std::uint8_t {
	Exact,
	Upper,
	Lower,
	Trim,
	Text,
	Casefold,
	Nfc,
	Uuid,
	Timestamp,
	Date,
	Email,
	Url,
	Number,
	Integer,
	MinorUnits,
	Boolean,
	Set,
};

constexpr std::size_t most_steps = 4;

// A chain of steps, each taking what the one before gave. `minor_units(<field>)` reads the currency's
// ISO 4217 code at `unit`; `minor_units(<digits>)` has depth 0 there and the number of decimals in
// `digits`. A chain has one of them at most.
struct Normaliser {
	std::array<NormaliserKind, most_steps> steps{NormaliserKind::Exact};
	std::uint8_t count = 1;
	std::uint8_t digits = 0;
	Path unit;

	std::span<const NormaliserKind> chain() const { return {steps.data(), count}; }
};

// `document` is the one that `in` is of. `currency` is used by minor_units(<field>) only. `out` may
// point into `in` and into `scratch`, and lives until `scratch` is used again. Null never gets here: the
// recipe handles it.
Problem normalise(const Normaliser &normaliser, const Value &in, const Value &currency,
                  const Document &document, Scratch &scratch, Value &out);

} // namespace pg_idem
