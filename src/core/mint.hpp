// Identifiers of occurrences: UUIDs of version 7 (RFC 9562).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace pg_idem {

// Time as a UUIDv7 holds it: milliseconds since 1970, and below them 12 bits of their fraction.
using MintTick = std::uint64_t;

// The tick of a moment, in microseconds since 1970, not before that; or the one after `previous`, if
// the clock has not gone on since. Ticks that follow each other in this way only ever rise.
MintTick next_tick(std::int64_t unix_micros, MintTick previous);

using Uuid = std::array<std::uint8_t, 16>;

// 62 of the 64 random bits are used.
Uuid uuid_v7(MintTick tick, const std::array<std::uint8_t, 8> &random);

// Lower-case hex digits in groups of 8, 4, 4, 4 and 12.
constexpr std::size_t uuid_text_size = 36;
std::array<char, uuid_text_size> uuid_text(const Uuid &uuid);

} // namespace pg_idem
