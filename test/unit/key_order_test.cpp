// Keys sort by UTF-16 code unit, though they are compared as UTF-8.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "core/key_order.hpp"

namespace pg_idem::test {
namespace {

std::string utf8(char32_t c) {
	std::string out;
	const auto put = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
	if (c < 0x80) {
		put(c);
	} else if (c < 0x800) {
		put(0xC0 | c >> 6);
		put(0x80 | (c & 0x3F));
	} else if (c < 0x10000) {
		put(0xE0 | c >> 12);
		put(0x80 | (c >> 6 & 0x3F));
		put(0x80 | (c & 0x3F));
	} else {
		put(0xF0 | c >> 18);
		put(0x80 | (c >> 12 & 0x3F));
		put(0x80 | (c >> 6 & 0x3F));
		put(0x80 | (c & 0x3F));
	}
	return out;
}

std::u16string utf16(char32_t c) {
	if (c < 0x10000)
		return {static_cast<char16_t>(c)};
	return {static_cast<char16_t>(0xD800 + ((c - 0x10000) >> 10)),
	        static_cast<char16_t>(0xDC00 + ((c - 0x10000) & 0x3FF))};
}

struct Key {
	std::string as_utf8;
	std::u16string as_utf16;
};

Key key(const std::u32string &characters) {
	Key made;
	for (const char32_t c : characters) {
		made.as_utf8 += utf8(c);
		made.as_utf16 += utf16(c);
	}
	return made;
}

// On both sides of every boundary of either encoding.
constexpr std::u32string_view corners =
	U"\x01\x1f\x20\x22\x2f\x30\x39\x41\x5a\x61\x7a\x7f\x80\xff\u0100\u07ff\u0800\u0fff\u1000\u20ac"
	U"\ucfff\ud000\ud7ff\ue000\uefff\uf000\uf8ff\uff20\ufffd\uffff\U00010000\U0001f600\U0003ffff"
	U"\U00040000\U000fffff\U00100000\U0010ffff";

TEST(KeyOrder, C037_every_pair_of_corner_characters) {
	for (const char32_t x : corners) {
		for (const char32_t y : corners) {
			const Key a = key({x});
			const Key b = key({y});
			EXPECT_EQ(key_before(a.as_utf8, b.as_utf8), a.as_utf16 < b.as_utf16)
				<< std::hex << static_cast<std::uint32_t>(x) << " "
				<< static_cast<std::uint32_t>(y);
		}
	}
}

TEST(KeyOrder, C037_random_keys_against_utf16) {
	std::mt19937 random(0x6b657973);
	std::vector<Key> keys;
	for (int i = 0; i < 600; ++i) {
		// A shared start of any length makes the difference fall anywhere.
		std::u32string characters(random() % 12, U'k');
		for (std::size_t n = random() % 4; n > 0; --n)
			characters.push_back(corners[random() % corners.size()]);
		keys.push_back(key(characters));
	}
	for (const Key &a : keys) {
		for (const Key &b : keys)
			ASSERT_EQ(key_before(a.as_utf8, b.as_utf8), a.as_utf16 < b.as_utf16);
	}
}

TEST(KeyOrder, shorter_first_on_a_tie) {
	EXPECT_TRUE(key_before("", "a"));
	EXPECT_TRUE(key_before("a", "aa"));
	EXPECT_FALSE(key_before("aa", "a"));
	EXPECT_FALSE(key_before("a", "a"));
	EXPECT_TRUE(key_before("aa", "b")) << "jsonb itself stores b first";
}

} // namespace
} // namespace pg_idem::test
