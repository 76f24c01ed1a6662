// Normalisers of formats: timestamps, dates, whole numbers, addresses, URLs.

#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "unit/normaliser_fixture.hpp"

namespace pg_idem::test {
namespace {

using FormatNormaliserTest = NormaliserTest;

TEST_F(FormatNormaliserTest, C041_one_instant_in_any_offset) {
	for (const char *json :
	     {R"("2026-11-30T08:45:00Z")", R"("2026-11-30t08:45:00z")",
	      R"("2026-11-30 08:45:00+00:00")", R"("2026-11-30T08:45:00-00:00")",
	      R"("2026-11-30T09:45:00+01:00")", R"("2026-11-30T09:45:00+01")",
	      R"("2026-11-30T09:45+0100")", R"("20261130T084500Z")", R"("20261130T0845Z")",
	      R"("20261130T141500+05:30")", R"("2026-11-29T23:45:00.000-09:00")",
	      R"("2026-12-01T08:44:00,0+23:59")", R"("2026-11-29T08:46:00-23:59")"})
		EXPECT_EQ(normal("timestamp", json), R"("2026-11-30T08:45:00Z")") << json;
}

TEST_F(FormatNormaliserTest, a_fraction_of_a_second_is_exact) {
	EXPECT_EQ(normal("timestamp", R"("2026-11-30T08:45:00.100Z")"), R"("2026-11-30T08:45:00.1Z")");
	EXPECT_EQ(normal("timestamp", R"("2026-11-30T08:45:00.123456789012Z")"),
	          R"("2026-11-30T08:45:00.123456789012Z")");
	EXPECT_NE(normal("timestamp", R"("2026-11-30T08:45:00.1234567Z")"),
	          normal("timestamp", R"("2026-11-30T08:45:00.1234568Z")"));
	const std::string digits(100, '7'), zeros(400, '0');
	EXPECT_EQ(normal("timestamp", "\"2026-11-30T08:45:00." + digits + zeros + "Z\""),
	          "\"2026-11-30T08:45:00." + digits + "Z\"");
	EXPECT_EQ(problem("timestamp", "\"2026-11-30T08:45:00." + digits + "1Z\""),
	          Problem::NumberTooLong);
}

TEST_F(FormatNormaliserTest, timestamps_over_the_ends_of_months_and_years) {
	EXPECT_EQ(normal("timestamp", R"("2024-03-01T00:30:00+01:00")"), R"("2024-02-29T23:30:00Z")");
	EXPECT_EQ(normal("timestamp", R"("2023-03-01T00:30:00+01:00")"), R"("2023-02-28T23:30:00Z")");
	EXPECT_EQ(normal("timestamp", R"("2026-12-31T23:59:59.9-00:01")"),
	          R"("2027-01-01T00:00:59.9Z")");
	EXPECT_EQ(normal("timestamp", R"("0000-01-01T00:00:00Z")"), R"("0000-01-01T00:00:00Z")");
	EXPECT_EQ(normal("timestamp", R"("9999-12-31T23:59:59Z")"), R"("9999-12-31T23:59:59Z")");
	EXPECT_EQ(problem("timestamp", R"("0000-01-01T00:00:00+00:01")"), Problem::YearOutOfRange);
	EXPECT_EQ(problem("timestamp", R"("9999-12-31T23:59:00-00:01")"), Problem::YearOutOfRange);
}

TEST_F(FormatNormaliserTest, what_is_no_timestamp) {
	for (const char *json :
	     {R"("2026-11-30T08:45:00")", R"("2026-11-30 08:45")", R"("20261130T084500.5")"})
		EXPECT_EQ(problem("timestamp", json), Problem::NoOffset) << json;
	for (const char *json : {R"("")",
	                         R"("2026-11-30")",
	                         R"("2026-11-30Z")",
	                         R"(" 2026-11-30T08:45:00Z")",
	                         R"("2026-11-30T08:45:00Z ")",
	                         R"("2026-11-30T08:45:60Z")",
	                         R"("2026-11-30T24:00:00Z")",
	                         R"("2026-11-30T08:60:00Z")",
	                         R"("2026-02-29T00:00:00Z")",
	                         R"("2026-13-01T00:00:00Z")",
	                         R"("2026-00-01T00:00:00Z")",
	                         R"("2026-01-00T00:00:00Z")",
	                         R"("2026-01-32T00:00:00Z")",
	                         R"("2026-11-30T0845Z")",
	                         R"("20261130T08:45Z")",
	                         R"("2026-1130T08:45Z")",
	                         R"("2026-11-30T08Z")",
	                         R"("2026-11-30T08:45:00.Z")",
	                         R"("2026-11-30T08:45:00+1")",
	                         R"("2026-11-30T08:45:00+24:00")",
	                         R"("2026-11-30T08:45:00+01:60")",
	                         R"("2026-11-30T08:45:00+01:")",
	                         R"("2026-11-30T08:45:00+01:00:00")",
	                         R"("2026-11-30T08:45:00 UTC")",
	                         R"("2026-11-30T08:45:00ZZ")",
	                         R"("2026-W49-1T08:45Z")",
	                         R"("2026-334T08:45Z")",
	                         R"("+2026-11-30T08:45Z")",
	                         R"("30 Nov 2026 08:45 +0000")",
	                         R"("1764492300")"})
		EXPECT_EQ(problem("timestamp", json), Problem::NotTimestamp) << json;
	EXPECT_EQ(problem("timestamp", "1764492300"), Problem::NotString);
}

// Against counting: minutes since the start of a year, spelled in two offsets.
TEST_F(FormatNormaliserTest, any_instant_in_two_offsets) {
	std::mt19937_64 random(0x74696d65);
	const auto below = [&random](int n) {
		return static_cast<int>(random() % static_cast<std::uint64_t>(n));
	};
	const auto days_in = [](int year, int month) {
		const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
		constexpr std::array days{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
		return month == 2 && leap ? 29 : days[static_cast<std::size_t>(month - 1)];
	};
	for (int round = 0; round < 5000; ++round) {
		int year = 1 + below(9998), month = 1 + below(12);
		int day = 1 + below(days_in(year, month));
		const int minute = below(24 * 60), second = below(60), offset = below(2 * 1440 - 1) - 1439;
		std::array<char, 80> utc, local;
		std::snprintf(utc.data(), utc.size(), "\"%04d-%02d-%02dT%02d:%02d:%02dZ\"", year, month,
		              day, minute / 60, minute % 60, second);
		int shown = minute + offset;
		if (shown < 0) {
			shown += 1440;
			if (--day < 1) {
				if (--month < 1) {
					month = 12;
					--year;
				}
				day = days_in(year, month);
			}
		} else if (shown >= 1440) {
			shown -= 1440;
			if (++day > days_in(year, month)) {
				day = 1;
				if (++month > 12) {
					month = 1;
					++year;
				}
			}
		}
		std::snprintf(local.data(), local.size(), "\"%04d-%02d-%02dT%02d:%02d:%02d%c%02d:%02d\"",
		              year, month, day, shown / 60, shown % 60, second, offset < 0 ? '-' : '+',
		              std::abs(offset) / 60, std::abs(offset) % 60);
		ASSERT_EQ(normal("timestamp", local.data()), utc.data());
		ASSERT_EQ(normal("timestamp", utc.data()), utc.data());
	}
}

TEST_F(FormatNormaliserTest, date) {
	EXPECT_EQ(normal("date", R"("2026-11-30")"), R"("2026-11-30")");
	EXPECT_EQ(normal("date", R"("20261130")"), R"("2026-11-30")");
	EXPECT_EQ(normal("date", R"("2024-02-29")"), R"("2024-02-29")");
	for (const char *json :
	     {R"("")", R"("2026-02-29")", R"("1900-02-29")", R"("2026-11-31")", R"("2026-1-1")",
	      R"("2026-1130")", R"("202611-30")", R"("26-11-30")", R"("30.11.2026")", R"("11/30/2026")",
	      R"("2026-11")", R"("2026-11-30T00:00:00Z")", R"("2026-11-30 ")", R"("٢٠٢٦-11-30")"})
		EXPECT_EQ(problem("date", json), Problem::NotDate) << json;
	EXPECT_EQ(problem("date", "20261130"), Problem::NotString);
}

TEST_F(FormatNormaliserTest, integer) {
	for (const char *json :
	     {"7", "7.0", "70e-1", R"("7")", R"("007")", R"("+7")", R"("7.00")", R"("0.7e1")"})
		EXPECT_EQ(normal("integer", json), "7") << json;
	EXPECT_EQ(normal("integer", R"("-0")"), "0");
	EXPECT_EQ(normal("integer", R"("-00012")"), "-12");
	EXPECT_EQ(normal("integer", R"("9007199254740993")"), "9007199254740993") << "C044";
	EXPECT_EQ(normal("integer", "1e99"), "1e+99");
	for (const char *json : {"7.5", R"("7.5")", "1e-1", R"("-0.01")"})
		EXPECT_EQ(problem("integer", json), Problem::NotInteger) << json;
	for (const char *json : {R"("")", R"("7 ")", R"("0x7")", R"("7,000")", "true", "[7]"})
		EXPECT_EQ(problem("integer", json), Problem::NotNumber) << json;
	EXPECT_EQ(problem("integer", "1e100"), Problem::NumberTooLong);
}

TEST_F(FormatNormaliserTest, email_folds_the_domain_alone) {
	for (const char *json : {R"("Zoe.A+tag@Example.ORG")", R"(" Zoe.A+tag@example.org\n")"})
		EXPECT_EQ(normal("email", json), R"("Zoe.A+tag@example.org")") << json;
	EXPECT_NE(normal("email", R"("zoe.a+tag@example.org")"),
	          normal("email", R"("Zoe.A+tag@example.org")"));
	EXPECT_NE(normal("email", R"("zoea@example.org")"), normal("email", R"("zoe.a@example.org")"));
	EXPECT_EQ(normal("email", R"("\"a@b c\"@Example.org")"), R"("\"a@b c\"@example.org")");
	EXPECT_EQ(normal("email", R"("\"a\\\"\"@example.org")"), R"("\"a\\\"\"@example.org")");
	EXPECT_EQ(normal("email", R"("x@[IPv6:2001:DB8::1]")"), R"("x@[ipv6:2001:db8::1]")");
	EXPECT_EQ(normal("email", R"("zoë@BÜCHER.example")"), R"("zoë@bÜcher.example")")
		<< "letters beyond ASCII stay";
	const std::string local(500, 'l');
	EXPECT_EQ(normal("email", "\"" + local + "@A.B\""), "\"" + local + "@a.b\"");
}

TEST_F(FormatNormaliserTest, what_is_no_email) {
	for (const char *json : {R"("")",
	                         R"("zoe")",
	                         R"("@")",
	                         R"("@example.org")",
	                         R"("zoe@")",
	                         R"("zoe@@example.org")",
	                         R"("a@b@example.org")",
	                         R"("zoe @example.org")",
	                         R"("zoe@exam ple.org")",
	                         R"("Zoe <zoe@example.org>")",
	                         R"("<zoe@example.org>")",
	                         R"("zoe@example.org>")",
	                         R"("zoe@example.org, x@y")",
	                         R"("mailto:zoe@example.org")",
	                         R"(".zoe@example.org")",
	                         R"("zoe.@example.org")",
	                         R"("z..e@example.org")",
	                         R"("zoe@.org")",
	                         R"("zoe@example.org.")",
	                         R"("zoe@exa..org")",
	                         R"("zo\u0001e@example.org")",
	                         R"("zo\u00a0e@example.org")",
	                         R"("\"a\"b\"@example.org")",
	                         R"("\"a\\\"@example.org")",
	                         R"("x@[]")",
	                         R"("x@[1.2.3.4")",
	                         R"("x@[a b]")"})
		EXPECT_EQ(problem("email", json), Problem::NotEmail) << json;
	EXPECT_EQ(problem("email", "{}"), Problem::NotString);
}

TEST_F(FormatNormaliserTest, url_in_the_normal_form_of_RFC_3986) {
	const auto expect = [this](const std::string &url, const std::string &form) {
		EXPECT_EQ(normal("url", "\"" + url + "\""), "\"" + form + "\"") << url;
		EXPECT_EQ(normal("url", "\"" + form + "\""), "\"" + form + "\"") << form;
	};
	expect("eXAMPLE://a/./b/../b/%63/%7bfoo%7d", "example://a/b/c/%7Bfoo%7D");
	expect("HTTP://www.EXAMPLE.com/", "http://www.example.com/");
	expect("http://Us%65r:PW@Host:0080/A%2fb", "http://User:PW@host:0080/A%2Fb");
	expect("http://a%C3%a9.%45xample/", "http://a%C3%A9.example/");
	expect("http://%41/%41?%41=%3d#%41%7e", "http://a/A?A=%3D#A~");
	expect("http://[2001:DB8::1]:443/x", "http://[2001:db8::1]:443/x");
	expect("http://a", "http://a");
	expect("http://a?x=/../y", "http://a?x=/../y");
	expect("http://a#b/../c", "http://a#b/../c");
	expect("http://a/b/c/./../../g", "http://a/g");
	expect("http://a/../../g", "http://a/g");
	expect("http://a/b/..", "http://a/");
	expect("http://a/b/.", "http://a/b/");
	expect("http://a/b/%2e%2E/c", "http://a/c");
	expect("http://a/b//c/..//d", "http://a/b///d");
	expect("http://a/...", "http://a/...");
	expect("http://a/.b/..c", "http://a/.b/..c");
	expect("FILE:///etc/./hosts", "file:///etc/hosts");
	expect("urn:ISBN:0-395-%36", "urn:ISBN:0-395-6");
	expect("mailto:A/../b", "mailto:A/../b");
	expect("x:/a/..//b", "x:/.//b");
	expect("x:/.//b", "x:/.//b");
	expect("x:/a/b/../../c", "x:/c");
	expect("x:", "x:");
	const std::string path(700, 'p');
	expect("HTTPS://A/" + path + "/../" + path, "https://a/" + path);
}

TEST_F(FormatNormaliserTest, url_changes_nothing_that_depends_on_the_scheme) {
	const auto differ = [this](const char *a, const char *b) {
		EXPECT_NE(normal("url", a), normal("url", b)) << a << " and " << b;
	};
	differ(R"("http://a:80/")", R"("http://a/")");
	differ(R"("http://a")", R"("http://a/")");
	differ(R"("http://a:/")", R"("http://a/")");
	differ(R"("http://a/b")", R"("http://a/b/")");
	differ(R"("http://a/?x=1&y=2")", R"("http://a/?y=2&x=1")");
	differ(R"("http://a/B")", R"("http://a/b")");
	differ(R"("http://a/b%20c")", R"("http://a/b+c")");
	differ(R"("http://a/?")", R"("http://a/")");
	differ(R"("http://a/#x")", R"("http://a/")");
}

TEST_F(FormatNormaliserTest, what_is_no_url) {
	for (const char *json : {R"("")",
	                         R"("example.org/a")",
	                         R"("//example.org/a")",
	                         R"("/a")",
	                         R"("1http://a")",
	                         R"("ht tp://a")",
	                         R"("://a")",
	                         R"("http://a b")",
	                         R"(" http://a")",
	                         R"("http://a/ü")",
	                         R"("http://ü/")",
	                         R"("http://a/%")",
	                         R"("http://a/%4")",
	                         R"("http://a/%4g")",
	                         R"("http://a/<x>")",
	                         R"("http://a/{x}")",
	                         R"("http://a/b|c")",
	                         R"("http://a/b\\c")",
	                         R"("http://a/[x]")",
	                         R"("http://u@v@a/")",
	                         R"("http://a:b/")",
	                         R"("http://a:80:80/")",
	                         R"("http://[::1")",
	                         R"("http://[]/")",
	                         R"("http://[::1]x/")",
	                         R"("http://[::%31]/")",
	                         R"("http://a/#b#c")",
	                         R"("http://a/?x=[1]")",
	                         R"("http://a/\n")",
	                         R"("http://a/\"")"})
		EXPECT_EQ(problem("url", json), Problem::NotUrl) << json;
	EXPECT_EQ(problem("url", "1"), Problem::NotString);
}

} // namespace
} // namespace pg_idem::test
