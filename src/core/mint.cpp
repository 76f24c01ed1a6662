#include "core/mint.hpp"

#include <algorithm>
#include <cstring>

namespace pg_idem {

namespace {

constexpr int fraction_bits = 12;
constexpr std::int64_t micros_per_milli = 1000;

} // namespace

MintTick next_tick(std::int64_t unix_micros, MintTick previous) {
	const auto millis = static_cast<MintTick>(unix_micros / micros_per_milli);
	const auto rest = static_cast<MintTick>(unix_micros % micros_per_milli);
	const MintTick now = millis << fraction_bits | (rest << fraction_bits) / micros_per_milli;
	return std::max(now, previous + 1);
}

Uuid uuid_v7(MintTick tick, const std::array<std::uint8_t, 8> &random) {
	constexpr std::uint8_t version = 0x70;
	constexpr std::uint8_t variant = 0x80;
	constexpr std::size_t time_bytes = 6;
	Uuid uuid;
	const MintTick millis = tick >> fraction_bits;
	for (std::size_t i = 0; i < time_bytes; ++i)
		uuid[i] = static_cast<std::uint8_t>(millis >> (8 * (time_bytes - 1 - i)));
	uuid[6] = static_cast<std::uint8_t>(version | (tick >> 8 & 0x0F));
	uuid[7] = static_cast<std::uint8_t>(tick);
	std::memcpy(uuid.data() + 8, random.data(), random.size());
	uuid[8] = static_cast<std::uint8_t>(variant | (uuid[8] & 0x3F));
	return uuid;
}

std::array<char, uuid_text_size> uuid_text(const Uuid &uuid) {
	std::array<char, uuid_text_size> text;
	char *out = text.data();
	for (std::size_t i = 0; i < uuid.size(); ++i) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			*out++ = '-';
		*out++ = "0123456789abcdef"[uuid[i] >> 4];
		*out++ = "0123456789abcdef"[uuid[i] & 0x0F];
	}
	return text;
}

} // namespace pg_idem
