#include "core/currency.hpp"

#include <cstddef>

namespace pg_idem {

namespace {

// ISO 4217 list one, up to amendment 180 (in force from 2026-01-01). Each code takes four bytes, and
// the codes of a list are sorted.

constexpr std::string_view no_decimals =
	"BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF ";

constexpr std::string_view two_decimals =
	"AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP "
	"BYN BZD CAD CDF CHE CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB "
	"EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES "
	"KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR "
	"MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD "
	"RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP "
	"TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG ";

constexpr std::string_view three_decimals = "BHD IQD JOD KWD LYD OMR TND ";

constexpr std::string_view four_decimals = "CLF UYW ";

constexpr std::size_t code_size = 3;
constexpr std::size_t entry_size = 4;

constexpr bool contains(std::string_view list, std::string_view code) {
	std::size_t first = 0;
	std::size_t last = list.size() / entry_size;
	while (first < last) {
		const std::size_t middle = (first + last) / 2;
		const int order = list.substr(middle * entry_size, code_size).compare(code);
		if (order == 0)
			return true;
		if (order < 0)
			first = middle + 1;
		else
			last = middle;
	}
	return false;
}

} // namespace

std::optional<int> currency_exponent(std::string_view code) {
	if (contains(two_decimals, code))
		return 2;
	if (contains(no_decimals, code))
		return 0;
	if (contains(three_decimals, code))
		return 3;
	if (contains(four_decimals, code))
		return 4;
	return std::nullopt;
}

} // namespace pg_idem
