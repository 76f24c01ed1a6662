// Keys as text.

#include "core/key_text.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace pg_idem::test {
namespace {

constexpr Digest128 key{0x9a, 0x3c, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0xff};
constexpr const char *hex = "9a3c000102030405060708090a0b0cff";

std::string text(std::int32_t generation) {
	return "rfnd" + std::string(KeySuffix(key, generation).view());
}

TEST(KeyText, generations_from_the_second_on_are_told) {
	EXPECT_EQ(text(1), std::string("rfnd_") + hex);
	EXPECT_EQ(text(2), std::string("rfnd_") + hex + "-2");
	EXPECT_EQ(text(std::numeric_limits<std::int32_t>::max()),
	          std::string("rfnd_") + hex + "-2147483647");
}

TEST(KeyText, what_is_written_is_read) {
	for (const std::int32_t generation : {1, 2, 10, 2147483647}) {
		KeyName name;
		const std::string written = text(generation);
		ASSERT_TRUE(parse_key(written, name));
		EXPECT_EQ(name.prefix, "rfnd");
		EXPECT_EQ(name.key, key);
		EXPECT_EQ(name.generation, generation);
	}
}

TEST(KeyText, a_prefix_may_hold_anything) {
	for (const std::string prefix : {"a_b", "a-2", "a-2_b-3", "x-5y"}) {
		KeyName name;
		const std::string written = prefix + "_" + hex;
		ASSERT_TRUE(parse_key(written, name)) << prefix;
		EXPECT_EQ(name.prefix, prefix);
		EXPECT_EQ(name.generation, 1);
	}
}

TEST(KeyText, a_key_has_one_spelling) {
	const std::string good = std::string("rfnd_") + hex;
	for (const std::string &bad :
	     {std::string(), std::string("_") + hex, std::string(hex), good + "-", good + "-1",
	      good + "-0", good + "-02", good + "-2147483648", good + "-2-2", good + "-2x", good + "x",
	      good + "-+2", std::string("rfnd-") + hex, good.substr(0, good.size() - 1),
	      std::string("rfnd_9A3C000102030405060708090a0b0cff")}) {
		KeyName name;
		name.generation = 7;
		EXPECT_FALSE(parse_key(bad, name)) << bad;
		EXPECT_EQ(name.generation, 7) << "left alone";
	}
}

} // namespace
} // namespace pg_idem::test
