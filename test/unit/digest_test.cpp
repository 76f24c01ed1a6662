#include "core/digest.hpp"

#include <gtest/gtest.h>

#include <string>

#include "support/vectors.hpp"

namespace pg_idem::test {
namespace {

// FIPS 180-4's examples.
TEST(Digest, known_answers) {
	EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	EXPECT_EQ(sha256_hex("abc"),
	          "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	EXPECT_EQ(sha256_hex(std::string(1000000, 'a')),
	          "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Digest, pieces_do_not_show) {
	Digest digest{};
	ASSERT_TRUE(digest_begin());
	for (const char *byte = "abc"; *byte != '\0'; ++byte)
		digest_sink.write(digest_sink.state, byte, 1);
	ASSERT_TRUE(digest_end(digest));
	EXPECT_EQ(hex(digest.data(), digest.size()), sha256_hex("abc"));
}

// An error may leave a digest half done: the next one knows nothing of it.
TEST(Digest, an_unfinished_digest_leaves_no_trace) {
	const std::string expected = sha256_hex("abc");
	ASSERT_TRUE(digest_begin());
	digest_sink.write(digest_sink.state, "left over", 9);
	EXPECT_EQ(sha256_hex("abc"), expected);
}

TEST(Digest, a_digest_that_was_not_begun_is_none) {
	Digest digest{};
	ASSERT_TRUE(digest_begin());
	ASSERT_TRUE(digest_end(digest));
	digest_sink.write(digest_sink.state, "abc", 3);
	EXPECT_FALSE(digest_end(digest));
}

TEST(Digest, first_half) {
	Digest digest{};
	for (std::size_t i = 0; i < digest.size(); ++i)
		digest[i] = static_cast<std::uint8_t>(i);
	const Digest128 half = first_half(digest);
	EXPECT_EQ(hex(half.data(), half.size()), "000102030405060708090a0b0c0d0e0f");
}

} // namespace
} // namespace pg_idem::test
