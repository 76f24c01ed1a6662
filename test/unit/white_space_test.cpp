#include "core/white_space.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "core/recipe.hpp"

namespace pg_idem::test {
namespace {

// Unicode's PropList.txt, White_Space.
constexpr std::array<char32_t, 25> white{0x09,   0x0A,   0x0B,   0x0C,   0x0D,   0x20,   0x85,
                                         0xA0,   0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004,
                                         0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200A, 0x2028,
                                         0x2029, 0x202F, 0x205F, 0x3000};

std::string utf8(char32_t c) {
	if (c < 0x80)
		return {static_cast<char>(c)};
	if (c < 0x800)
		return {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))};
	return {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 0x3F)),
	        static_cast<char>(0x80 | (c & 0x3F))};
}

TEST(WhiteSpace, every_character_of_the_basic_plane) {
	for (char32_t c = 1; c < 0x10000; ++c) {
		if (c == 0xD800)
			c = 0xE000;
		const std::string character = utf8(c);
		const bool expected = std::find(white.begin(), white.end(), c) != white.end();
		ASSERT_EQ(white_space_size(character + "x"), expected ? character.size() : 0) << int(c);
		ASSERT_EQ(trimmed(character + "x" + character) == "x", expected) << int(c);
		ASSERT_EQ(is_blank(character), expected) << int(c);
	}
	EXPECT_EQ(white_space_size("\U0001F600"), 0U);
}

TEST(WhiteSpace, trimmed_at_the_ends_only) {
	EXPECT_EQ(trimmed(" \t a  b \u3000\n"), "a  b");
	EXPECT_EQ(trimmed("\u2003"), "");
	EXPECT_EQ(trimmed(""), "");
	EXPECT_EQ(trimmed("\u20ac"), "\u20ac") << "ends like U+2002, U+202C and others do";
	EXPECT_EQ(trimmed("\u4080\u3085"), "\u4080\u3085") << "continuation bytes are no characters";
}

TEST(WhiteSpace, C073_blank_identity_arguments) {
	for (const char *text : {"", "   ", "\t", "\u00a0", " \u2003\n\u3000 "})
		EXPECT_TRUE(is_blank(text)) << text;
	for (const char *text : {"x", " x ", "\u200b", "\ufeff"})
		EXPECT_FALSE(is_blank(text)) << text;
}

} // namespace
} // namespace pg_idem::test
