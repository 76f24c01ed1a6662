// What makes two spellings of one key field one value.

#include "core/normaliser.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "unit/normaliser_fixture.hpp"

namespace pg_idem::test {
namespace {

TEST_F(NormaliserTest, exact_takes_any_value_as_it_is) {
	EXPECT_EQ(normal("exact", R"({"b":[1,{"a":"X "}],"a":null})"),
	          R"({"a":null,"b":[1,{"a":"X "}]})");
	EXPECT_EQ(normal("exact", "true"), "true");
	EXPECT_EQ(normal("exact", "1.50"), "1.5");
	EXPECT_EQ(normal("exact", R"(" Gbp ")"), R"(" Gbp ")");
}

TEST_F(NormaliserTest, upper_and_lower_change_ascii_letters_only) {
	EXPECT_EQ(normal("upper", R"("gbp @[`{z09é")"), R"("GBP @[`{Z09é")");
	EXPECT_EQ(normal("lower", R"("GBP @[`{Z09É")"), R"("gbp @[`{z09É")");
	EXPECT_EQ(normal("upper", R"("")"), R"("")");
	for (const char *json : {"1", "true", "[]", "{}"}) {
		EXPECT_EQ(problem("upper", json), Problem::NotString);
		EXPECT_EQ(problem("lower", json), Problem::NotString);
		EXPECT_EQ(problem("trim", json), Problem::NotString);
	}
}

TEST_F(NormaliserTest, strings_longer_than_the_scratch_go_to_the_arena) {
	for (const std::size_t size : {255U, 256U, 257U, 100000U}) {
		const std::string json = "\"" + std::string(size, 'q') + "\"";
		const std::size_t before = memory_.allocations();
		EXPECT_EQ(normal("upper", json), "\"" + std::string(size, 'Q') + "\"");
		EXPECT_EQ(memory_.allocations() > before, size > Scratch::text_size);
	}
}

TEST_F(NormaliserTest, trim_takes_unicode_white_space_off_both_ends) {
	EXPECT_EQ(normal("trim", R"("\u00a0\t ch 1 \u3000\n")"), R"("ch 1")");
	EXPECT_EQ(normal("trim", R"("   ")"), R"("")");
	EXPECT_EQ(normal("trim", R"("\u200bx")"), "\"\u200bx\"");
}

TEST_F(NormaliserTest, number_reads_numbers_and_decimal_strings) {
	for (const char *json : {"129.99", "129.990", "12999e-2", "1.2999E+2", R"("129.99")",
	                         R"("+129.990")", R"("0129.99")", R"("12999e-2")", R"("0.0012999E5")"})
		EXPECT_EQ(normal("number", json), "129.99") << json;
	for (const char *json : {"0", "-0", "0.00", R"("0")", R"("-0.0")", R"("+00")",
	                         R"("0e999999999")", R"("-0e-999999999999999999999999")"})
		EXPECT_EQ(normal("number", json), "0") << json;
	EXPECT_EQ(normal("number", R"("-00000000000000000005.50")"), "-5.5");
	EXPECT_EQ(normal("number", R"("9007199254740993")"), "9007199254740993") << "C044";
	EXPECT_EQ(normal("number", R"("1e00000000000000000000000000000002")"), "100");
}

TEST_F(NormaliserTest, C073_what_is_no_number) {
	for (const char *json : {R"("")",     R"(" ")",     R"(" 1")",       R"("1 ")",
	                         R"("5.")",   R"(".5")",    R"("+")",        R"("-")",
	                         R"("--1")",  R"("+-1")",   R"("1e")",       R"("1e+")",
	                         R"("e5")",   R"("1.5.2")", R"("1,5")",      R"("1_000")",
	                         R"("0x10")", R"("NaN")",   R"("Infinity")", R"("1e5x")",
	                         R"("£5")",   R"("１")",    "true",          "[]",
	                         "{}",        R"("1\n")"}) {
		EXPECT_EQ(problem("number", json), Problem::NotNumber) << json;
		EXPECT_EQ(problem("minor_units(2)", json), Problem::NotNumber) << json;
	}
}

TEST_F(NormaliserTest, C056_numbers_have_a_limit) {
	const auto both = [this](const std::string &number) {
		const Problem as_string = problem("number", "\"" + number + "\"");
		EXPECT_EQ(problem("number", number), as_string) << number;
		EXPECT_EQ(problem("minor_units(0)", "\"" + number + "\"") == Problem::NumberTooLong,
		          as_string == Problem::NumberTooLong)
			<< number;
		return as_string;
	};
	EXPECT_EQ(both(std::string(100, '7')), Problem::None);
	EXPECT_EQ(both(std::string(101, '7')), Problem::NumberTooLong);
	EXPECT_EQ(both("0." + std::string(100, '7')), Problem::None);
	EXPECT_EQ(both("0." + std::string(101, '7')), Problem::NumberTooLong);
	EXPECT_EQ(both("7." + std::string(100, '7')), Problem::NumberTooLong);
	EXPECT_EQ(both("1e99"), Problem::None);
	EXPECT_EQ(both("1e100"), Problem::NumberTooLong);
	EXPECT_EQ(both("-1e-100"), Problem::None);
	EXPECT_EQ(both("-1e-101"), Problem::NumberTooLong);
	EXPECT_EQ(both("1e100000"), Problem::NumberTooLong);
	EXPECT_EQ(problem("number", "\"1e" + std::string(30, '9') + "\""), Problem::NumberTooLong);
	EXPECT_EQ(problem("number", "\"1e-" + std::string(30, '9') + "\""), Problem::NumberTooLong);

	// Zeros at the ends are no digits, however many there are.
	const std::string zeros(5000, '0');
	EXPECT_EQ(normal("number", "\"" + zeros + "1.5" + zeros + "\""), "1.5");
	EXPECT_EQ(normal("number", "\"1" + zeros + "e-5000\""), "1");
	EXPECT_EQ(normal("number", "\"0." + zeros + "1e5001\""), "1");
}

TEST_F(NormaliserTest, minor_units_of_a_currency) {
	EXPECT_EQ(normal("minor_units(currency)", "129.99", R"("GBP")"), "12999");
	EXPECT_EQ(normal("minor_units(currency)", "129.990", R"(" gbp\u00a0")"), "12999");
	EXPECT_EQ(normal("minor_units(currency)", R"("129.99")", R"("Gbp")"), "12999");
	EXPECT_EQ(normal("minor_units(currency)", "129", R"("JPY")"), "129");
	EXPECT_EQ(normal("minor_units(currency)", "1.234", R"("KWD")"), "1234");
	EXPECT_EQ(normal("minor_units(currency)", "1.2345", R"("CLF")"), "12345");
	EXPECT_EQ(normal("minor_units(currency)", "-0.00", R"("GBP")"), "0");
	EXPECT_EQ(normal("minor_units(currency)", "-0.01", R"("GBP")"), "-1");
}

TEST_F(NormaliserTest, minor_units_never_round) {
	EXPECT_EQ(problem("minor_units(currency)", "0.5", R"("JPY")"), Problem::TooManyDecimals);
	EXPECT_EQ(problem("minor_units(currency)", "129.999", R"("GBP")"), Problem::TooManyDecimals);
	EXPECT_EQ(problem("minor_units(currency)", R"("1.2345")", R"("KWD")"),
	          Problem::TooManyDecimals);
	EXPECT_EQ(problem("minor_units(currency)", "1e-100", R"("GBP")"), Problem::TooManyDecimals);
	EXPECT_EQ(problem("minor_units(2)", "0.001"), Problem::TooManyDecimals);
	EXPECT_EQ(problem("minor_units(0)", "0.1"), Problem::TooManyDecimals);
}

TEST_F(NormaliserTest, minor_units_without_a_currency) {
	for (const char *currency : {"null", "5", "true", "[]", "{}"})
		EXPECT_EQ(problem("minor_units(currency)", "1", currency), Problem::CurrencyMissing);
	for (const char *currency : {R"("")", R"("GB")", R"("GBPX")", R"("ZZZ")", R"("XAU")",
	                             R"("XTS")", R"("G BP")", R"("ＧＢＰ")"})
		EXPECT_EQ(problem("minor_units(currency)", "1", currency), Problem::UnknownCurrency);
	EXPECT_EQ(problem("minor_units(currency)", "0", R"("ZZZ")"), Problem::UnknownCurrency);
}

TEST_F(NormaliserTest, minor_units_of_a_stated_number_of_decimals) {
	EXPECT_EQ(normal("minor_units(0)", "12"), "12");
	EXPECT_EQ(normal("minor_units(2)", "12"), "1200");
	EXPECT_EQ(normal("minor_units(18)", R"("1.000000000000000001")"), "1000000000000000001");
	EXPECT_EQ(normal("minor_units(18)", "1e99"), "1e+117");
}

// Against plain text: digits, a point moved, zeros taken off.
TEST_F(NormaliserTest, any_number_in_any_spelling) {
	std::mt19937_64 random(0x6e6f726d);
	const auto below = [&random](std::uint64_t n) { return random() % n; };
	for (int round = 0; round < 20000; ++round) {
		std::string digits;
		for (std::size_t n = 1 + below(60); n > 0; --n)
			digits.push_back(static_cast<char>('0' + below(10)));
		const std::size_t decimals = below(digits.size());
		const int shift = static_cast<int>(below(19));
		const bool negative = below(2) == 1;

		std::string fraction = digits.substr(digits.size() - decimals);
		std::string spelt = digits.substr(0, digits.size() - decimals);
		spelt += decimals > 0 ? "." + fraction : "";
		const std::string text = (negative ? "-" : "") + spelt;
		const std::string expected =
			canonical_text(number_node(negative, digits, -static_cast<std::int64_t>(decimals)));
		ASSERT_EQ(normal("number", "\"" + text + "\""), expected);

		fraction.erase(fraction.find_last_not_of('0') + 1);
		const std::string units =
			normal("minor_units(" + std::to_string(shift) + ")", "\"" + text + "\"");
		if (fraction.size() > static_cast<std::size_t>(shift))
			ASSERT_EQ(units, "[TooManyDecimals]") << text;
		else
			ASSERT_EQ(units, canonical_text(number_node(
								 negative, digits, shift - static_cast<std::int64_t>(decimals))))
				<< text;
	}
}

} // namespace
} // namespace pg_idem::test
