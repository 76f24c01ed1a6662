// Numbers: exact digits, laid out as ECMAScript lays them out.

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <string>

#include "core/number.hpp"
#include "support/json_document.hpp"
#include "support/vectors.hpp"

namespace pg_idem::test {
namespace {

std::string spelt(std::string_view json) {
	return canonical_text(json);
}

// ±0.DIGITS * 10^point by the rule's own words, on plain text.
std::string expected_text(bool negative, const std::string &digits, std::int64_t point) {
	const auto count = static_cast<std::int64_t>(digits.size());
	std::string text = negative ? "-" : "";
	if (count <= point && point <= 21)
		return text + digits + std::string(static_cast<std::size_t>(point - count), '0');
	if (0 < point && point <= 21)
		return text + digits.substr(0, static_cast<std::size_t>(point)) + "." +
		       digits.substr(static_cast<std::size_t>(point));
	if (-6 < point && point <= 0)
		return text + "0." + std::string(static_cast<std::size_t>(-point), '0') + digits;
	text += digits.substr(0, 1);
	if (count > 1)
		text += "." + digits.substr(1);
	return text + "e" + (point - 1 < 0 ? "-" : "+") + std::to_string(std::abs(point - 1));
}

TEST(Number, C040_vectors) {
	int rows = 0;
	for (const std::string &line : vector_lines("numbers_text.tsv")) {
		const std::vector<std::string> fields = split(line, '\t');
		ASSERT_EQ(fields.size(), 4U) << line;
		EXPECT_EQ(spelt(fields[0]), fields[1]);
		++rows;
	}
	EXPECT_EQ(rows, 2283);
}

// Every text that a double-based serializer writes stays as it is.
TEST(Number, C040_es6_samples_are_fixed_points) {
	int rows = 0;
	for (const std::string &line : vector_lines("cyberphone/es6testfile_first10k.csv")) {
		const std::vector<std::string> fields = split(line, ',');
		ASSERT_EQ(fields.size(), 2U) << line;
		EXPECT_EQ(spelt(fields[1]), fields[1]);
		++rows;
	}
	EXPECT_EQ(rows, 10000);
}

TEST(Number, C040_language_native_spellings) {
	EXPECT_EQ(spelt("5.0"), spelt("5"));
	EXPECT_EQ(spelt("-0.0"), "0");
	EXPECT_EQ(spelt("4e-9"), spelt("0.000000004"));
	EXPECT_EQ(spelt("7e22"), spelt("70000000000000000000000"));
	EXPECT_EQ(spelt("87.50"), "87.5") << "C041";
}

TEST(Number, C044_big_integers_keep_their_digits) {
	EXPECT_EQ(spelt("6917529027641081857"), "6917529027641081857");
	EXPECT_EQ(spelt("6917529027641081856"), "6917529027641081856");
	EXPECT_EQ(spelt("-9007199254740993"), "-9007199254740993");
	EXPECT_EQ(spelt("333333333.33333329"), "333333333.33333329");
}

TEST(Number, thresholds_of_the_layout) {
	EXPECT_EQ(spelt("100000000000000000000"), "100000000000000000000");
	EXPECT_EQ(spelt("999999999999999999999"), "999999999999999999999");
	EXPECT_EQ(spelt("1000000000000000000000"), "1e+21");
	EXPECT_EQ(spelt("123456789012345678901.5"), "123456789012345678901.5");
	EXPECT_EQ(spelt("1234567890123456789012.5"), "1.2345678901234567890125e+21");
	EXPECT_EQ(spelt("0.000001"), "0.000001");
	EXPECT_EQ(spelt("0.0000012"), "0.0000012");
	EXPECT_EQ(spelt("0.0000001"), "1e-7");
	EXPECT_EQ(spelt("-0.00000012"), "-1.2e-7");
}

TEST(Number, zero_in_every_form) {
	const std::array<std::int16_t, 3> zeros{};
	for (const bool negative : {false, true}) {
		for (const std::int32_t weight : {-32768, -1, 0, 1, 5, 32767}) {
			for (const std::int32_t count : {0, 1, 3})
				EXPECT_EQ(number_text({negative, weight, zeros.data(), count}), "0");
		}
	}
}

// Groups may start and end with zero groups: the text is that of the stripped number.
TEST(Number, zero_groups_do_not_show) {
	const std::array<std::int16_t, 7> groups{0, 0, 12, 0, 3400, 0, 0};
	const Number whole{false, 2, groups.data(), 7};
	const Number stripped{false, 0, groups.data() + 2, 3};
	EXPECT_EQ(number_text(whole), "12.000034");
	EXPECT_EQ(number_text(stripped), "12.000034");
	std::string out;
	CanonicalWriter writer(string_sink(out));
	writer.begin_array();
	writer.number(whole);
	writer.number({true, 2, groups.data(), 3});
	writer.number({false, 3, groups.data() + 2, 1});
	writer.end_array();
	writer.flush();
	EXPECT_EQ(out, "[12.000034,-12,12000000000000]");
}

TEST(Number, C056_a_huge_exponent_costs_no_space) {
	std::string document = "[";
	std::string expected = "[";
	for (int i = 0; i < 1000; ++i) {
		document += i == 0 ? "1e100000" : ",1e100000";
		expected += i == 0 ? "1e+100000" : ",1e+100000";
	}
	EXPECT_EQ(spelt(document + "]"), expected + "]");
}

TEST(Number, C059_the_limits_of_numeric) {
	EXPECT_EQ(spelt("1e131071"), "1e+131071");
	EXPECT_EQ(spelt("1e-16383"), "1e-16383");
	// Beyond what numeric stores, the arithmetic still holds.
	const std::int16_t one = 1;
	EXPECT_EQ(number_text({false, 2147483647, &one, 1}), "1e+8589934588");
	EXPECT_EQ(number_text({true, -2147483647 - 1, &one, 1}), "-1e-8589934592");
}

TEST(Number, random_digits_against_the_rule) {
	std::mt19937_64 random(0x6e756d62);
	const auto below = [&random](std::uint64_t n) { return random() % n; };
	for (int round = 0; round < 40000; ++round) {
		// Mostly short, sometimes of several chunks of groups.
		const std::size_t count = below(100) < 97 ? 1 + below(40) : 200 + below(1400);
		std::string digits;
		for (std::size_t i = 0; i < count; ++i)
			digits.push_back(static_cast<char>('0' + below(10)));
		digits.front() = static_cast<char>('1' + below(9));
		digits.back() = static_cast<char>('1' + below(9));
		const bool negative = below(2) == 1;
		const std::int64_t point = below(10) < 8
		                               ? static_cast<std::int64_t>(below(60)) - 30
		                               : static_cast<std::int64_t>(below(260000)) - 130000;
		const JsonNode node =
			number_node(negative, digits, point - static_cast<std::int64_t>(count));
		const std::string expected = expected_text(negative, digits, point);
		ASSERT_EQ(number_text(node.number()), expected);
		ASSERT_EQ(canonical_text(node), expected);
	}
}

// A point inside a long number, at and around the edges of what is written at once.
TEST(Number, long_numbers_pass_in_pieces) {
	for (const std::size_t count : {255U, 256U, 257U, 511U, 512U, 513U, 5000U}) {
		for (std::int64_t point = -8; point <= 24; ++point) {
			const std::string digits(count, '7');
			const JsonNode node =
				number_node(true, digits, point - static_cast<std::int64_t>(count));
			EXPECT_EQ(number_text(node.number()), expected_text(true, digits, point));
		}
	}
}

TEST(Number, usual_numbers_reach_the_sink_in_one_call) {
	int calls = 0;
	const Sink counting{
		[](void *state, const char *, std::size_t) { ++*static_cast<int *>(state); }, &calls};
	write_number(number_node(true, "12999", -2).number(), counting);
	EXPECT_EQ(calls, 1);
}

} // namespace
} // namespace pg_idem::test
