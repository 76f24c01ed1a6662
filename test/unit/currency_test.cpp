#include "core/currency.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace pg_idem::test {
namespace {

TEST(Currency, exponents) {
	for (const char *code : {"AED", "BHD", "CLF", "EUR", "GBP", "USD", "ZAR", "ZMW", "ZWG"})
		EXPECT_TRUE(currency_exponent(code).has_value()) << code;
	EXPECT_EQ(currency_exponent("GBP"), 2);
	EXPECT_EQ(currency_exponent("JPY"), 0);
	EXPECT_EQ(currency_exponent("KWD"), 3);
	EXPECT_EQ(currency_exponent("CLF"), 4);
	// Where customary use and ISO 4217 differ, the standard holds.
	EXPECT_EQ(currency_exponent("ISK"), 0);
	EXPECT_EQ(currency_exponent("HUF"), 2);
	EXPECT_EQ(currency_exponent("MGA"), 2);
	EXPECT_EQ(currency_exponent("MRU"), 2);
	EXPECT_EQ(currency_exponent("UGX"), 0);
}

TEST(Currency, every_code_there_can_be) {
	std::map<int, int> count;
	for (char a = 'A'; a <= 'Z'; ++a) {
		for (char b = 'A'; b <= 'Z'; ++b) {
			for (char c = 'A'; c <= 'Z'; ++c) {
				if (const auto exponent = currency_exponent(std::string{a, b, c}))
					++count[*exponent];
			}
		}
	}
	// ISO 4217 has 178 codes in use (amendment 180), 13 of them without a minor unit.
	EXPECT_EQ(count, (std::map<int, int>{{0, 17}, {2, 139}, {3, 7}, {4, 2}}));
}

TEST(Currency, no_currency) {
	for (const char *code : {"XAG", "XAU", "XBA", "XBB", "XBC", "XBD", "XDR", "XPD", "XPT", "XSU",
	                         "XTS", "XUA", "XXX"})
		EXPECT_FALSE(currency_exponent(code).has_value()) << code << " has no minor unit";
	for (const char *code : {"ANG", "BGN", "CUC", "HRK", "SLL", "ZWL"})
		EXPECT_FALSE(currency_exponent(code).has_value()) << code << " is withdrawn";
	for (const char *code : {"", "G", "GB", "GBPP", "gbp", "BTC", " GB", "D A", "EUR USD"})
		EXPECT_FALSE(currency_exponent(code).has_value()) << code;
}

} // namespace
} // namespace pg_idem::test
