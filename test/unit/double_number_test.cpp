// What a program that reads numbers as doubles would write for them.

#include <gtest/gtest.h>

#include <charconv>
#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "core/double_number.hpp"
#include "support/json_document.hpp"
#include "support/vectors.hpp"

namespace pg_idem::test {
namespace {

// "error" when no double is near.
std::string jcs(const Number &number) {
	DoubleGroups groups;
	Number nearest;
	return through_double(number, groups, nearest) ? number_text(nearest) : "error";
}

std::string jcs(std::string_view json) {
	return jcs(document(json).node().number());
}

bool is_kept(std::string_view json) {
	return is_shortest_double(document(json).node().number());
}

TEST(DoubleNumber, C040_vectors) {
	int rows = 0;
	int agree = 0;
	for (const std::string &line : vector_lines("numbers_text.tsv")) {
		const std::vector<std::string> fields = split(line, '\t');
		ASSERT_EQ(fields.size(), 4U) << line;
		EXPECT_EQ(jcs(fields[0]), fields[2]) << fields[0];
		EXPECT_EQ(is_kept(fields[0]), fields[1] == fields[2]) << fields[0];
		++rows;
		agree += is_kept(fields[0]) ? 1 : 0;
	}
	EXPECT_EQ(rows, 2283);
	EXPECT_EQ(agree, 1578);
}

// Every line is the text of the double beside it.
TEST(DoubleNumber, C040_es6_samples) {
	int rows = 0;
	for (const std::string &line : vector_lines("cyberphone/es6testfile_first10k.csv")) {
		const std::vector<std::string> fields = split(line, ',');
		ASSERT_EQ(fields.size(), 2U) << line;
		EXPECT_EQ(jcs(fields[1]), fields[1]);
		EXPECT_TRUE(is_kept(fields[1])) << fields[1];
		++rows;
	}
	EXPECT_EQ(rows, 10000);
}

TEST(DoubleNumber, C044_big_integers) {
	EXPECT_EQ(jcs("9007199254740993"), "9007199254740992");
	EXPECT_EQ(jcs("6917529027641081857"), "6917529027641082000");
	EXPECT_EQ(jcs("295147905179352825856"), "295147905179352830000") << "RFC 8785, appendix B";
	EXPECT_EQ(jcs("333333333.33333329"), "333333333.3333333");
	EXPECT_TRUE(is_kept("9007199254740992"));
	EXPECT_FALSE(is_kept("9007199254740993"));
	EXPECT_FALSE(is_kept("333333333.33333329"));
}

TEST(DoubleNumber, the_ends_of_the_doubles) {
	EXPECT_EQ(jcs("1.7976931348623157e308"), "1.7976931348623157e+308");
	EXPECT_EQ(jcs("1.7976931348623158e308"), "1.7976931348623157e+308");
	EXPECT_EQ(jcs("1.7976931348623159e308"), "error");
	EXPECT_EQ(jcs("-1e309"), "error");
	EXPECT_EQ(jcs("1e131071"), "error");
	EXPECT_EQ(jcs("5e-324"), "5e-324");
	EXPECT_EQ(jcs("4.9e-324"), "5e-324");
	EXPECT_EQ(jcs("2.4e-324"), "0");
	EXPECT_EQ(jcs("-1e-16383"), "0");
	EXPECT_FALSE(is_kept("1e309"));
	EXPECT_FALSE(is_kept("1e-400"));
	EXPECT_FALSE(is_kept("4.9e-324"));
	EXPECT_TRUE(is_kept("5e-324"));
	EXPECT_TRUE(is_kept("1e308"));
	for (const char *zero : {"0", "-0", "0.000", "0e400"}) {
		EXPECT_EQ(jcs(zero), "0");
		EXPECT_TRUE(is_kept(zero));
	}
	const std::int16_t one = 1;
	EXPECT_EQ(jcs({false, 2147483647, &one, 1}), "error");
	EXPECT_EQ(jcs({false, -2147483647 - 1, &one, 1}), "0");
}

// The middle between 2^53 and the next double, exactly and with one digit more, however far behind.
TEST(DoubleNumber, the_last_digit_decides) {
	EXPECT_EQ(jcs("9007199254740993.0"), "9007199254740992");
	for (const std::size_t zeros : {0U, 10U, 700U, 750U, 751U, 752U, 753U, 2000U, 10000U}) {
		const std::string more = "9007199254740993." + std::string(zeros, '0') + "1";
		EXPECT_EQ(jcs(more), "9007199254740994") << zeros;
		EXPECT_FALSE(is_kept(more));
	}
}

// The middle between the smallest doubles has all the digits that any middle can have.
TEST(DoubleNumber, a_middle_of_767_digits) {
	// 2^-1075 * 3, the middle between 2^-1074 and 2 * 2^-1074: 5^1075 * 3 * 10^-1075.
	std::string digits = "3";
	for (int i = 0; i < 1075; ++i) {
		int carry = 0;
		for (std::size_t at = digits.size(); at-- > 0;) {
			const int value = (digits[at] - '0') * 5 + carry;
			digits[at] = static_cast<char>('0' + value % 10);
			carry = value / 10;
		}
		if (carry > 0)
			digits.insert(digits.begin(), static_cast<char>('0' + carry));
	}
	EXPECT_EQ(jcs(digits + "e-1075"), "1e-323") << "to even";
	EXPECT_EQ(jcs(digits + "0000000000001e-1088"), "1e-323");
	digits.back() = static_cast<char>(digits.back() - 1);
	EXPECT_EQ(jcs(digits + "e-1075"), "5e-324");
}

// Any double, spelt in full and in short, against the library's own reading of the same text.
TEST(DoubleNumber, random_doubles) {
	std::mt19937_64 random(0x646f7562);
	int kept = 0;
	for (int round = 0; round < 40000; ++round) {
		const std::uint64_t bits = random();
		double value;
		std::memcpy(&value, &bits, sizeof value);
		if (!std::isfinite(value))
			continue;
		char text[64];
		const int digits = static_cast<int>(random() % 20);
		const auto end =
			std::to_chars(text, text + sizeof text, value, std::chars_format::scientific, digits);
		const std::string spelt(text, end.ptr);
		double read = 0;
		const auto result = std::from_chars(text, end.ptr, read);
		if (result.ec != std::errc())
			continue;
		char shortest[64];
		const auto shortest_end = std::to_chars(shortest, shortest + sizeof shortest, read,
		                                        std::chars_format::scientific);
		const std::string wanted = canonical_text(std::string(shortest, shortest_end.ptr));
		ASSERT_EQ(jcs(spelt), wanted) << spelt;
		ASSERT_EQ(is_kept(spelt), canonical_text(spelt) == wanted) << spelt;
		kept += is_kept(spelt) ? 1 : 0;
	}
	EXPECT_GT(kept, 20000);
	EXPECT_LT(kept, 39000);
}

TEST(DoubleNumber, a_writer_that_goes_through_doubles) {
	std::string out;
	CanonicalWriter writer(string_sink(out), NumberForm::Doubles);
	const JsonDocument parsed =
		document(R"({"b":[9007199254740993,1.10],"a":333333333.33333329,"z":-1e-400})");
	parsed.write(parsed.root(), {}, writer);
	writer.flush();
	EXPECT_EQ(out, R"({"a":333333333.3333333,"b":[9007199254740992,1.1],"z":0})");
}

} // namespace
} // namespace pg_idem::test
