// UUIDs of version 7, byte by byte.

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "core/mint.hpp"

namespace pg_idem::test {
namespace {

std::string text(const Uuid &uuid) {
	const auto characters = uuid_text(uuid);
	return std::string(characters.data(), characters.size());
}

// RFC 9562, appendix A.6: 2022-02-22 19:22:22 UTC, rand_a CC3, rand_b 18C4DC0C0C07398F.
TEST(Mint, the_sample_of_the_rfc) {
	const MintTick tick = MintTick{0x017F22E279B0} << 12 | 0xCC3;
	EXPECT_EQ(text(uuid_v7(tick, {0x18, 0xC4, 0xDC, 0x0C, 0x0C, 0x07, 0x39, 0x8F})),
	          "017f22e2-79b0-7cc3-98c4-dc0c0c07398f");
}

TEST(Mint, random_bits_leave_version_and_variant_alone) {
	EXPECT_EQ(text(uuid_v7(0, {})), "00000000-0000-7000-8000-000000000000");
	EXPECT_EQ(text(uuid_v7(~MintTick{0}, {255, 255, 255, 255, 255, 255, 255, 255})),
	          "ffffffff-ffff-7fff-bfff-ffffffffffff");
}

TEST(Mint, ticks_hold_the_time) {
	EXPECT_EQ(next_tick(0, 0), 1U);
	EXPECT_EQ(next_tick(1645557742000000, 0), MintTick{1645557742000} << 12);
	EXPECT_EQ(next_tick(1645557742000999, 0), (MintTick{1645557742000} << 12) + 4091);
	EXPECT_EQ(next_tick(1645557742000500, 0), (MintTick{1645557742000} << 12) + 2048);
}

TEST(Mint, ticks_rise_when_the_clock_does_not) {
	MintTick tick = 0;
	for (const std::int64_t micros : {5000000, 5000000, 5000000, 5000001, 4000000, 0, 5000001}) {
		const MintTick next = next_tick(micros, tick);
		EXPECT_GT(next, tick);
		tick = next;
	}
	// A burst spills into the next milliseconds, and the clock overtakes it.
	for (int i = 0; i < 10000; ++i)
		tick = next_tick(5000001, tick);
	EXPECT_EQ(tick >> 12, 5002U);
	EXPECT_EQ(next_tick(6000000, tick) >> 12, 6000U);
}

// Text in order of minting, which is what makes them good keys of an index.
TEST(Mint, text_sorts_as_ticks_do) {
	std::string last;
	MintTick tick = 0;
	for (std::int64_t micros = 1764489600000000; micros < 1764489600200000; micros += 7) {
		tick = next_tick(micros, tick);
		const std::string minted = text(uuid_v7(tick, {0xFF, 1, 2, 3, 4, 5, 6, 7}));
		EXPECT_LT(last, minted);
		last = minted;
	}
}

} // namespace
} // namespace pg_idem::test
