#include "core/normaliser.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "core/ascii.hpp"
#include "core/currency.hpp"
#include "core/date_time.hpp"
#include "core/decimal.hpp"
#include "core/email.hpp"
#include "core/unicode_form.hpp"
#include "core/url.hpp"
#include "core/uuid_text.hpp"
#include "core/value_set.hpp"
#include "core/white_space.hpp"

namespace pg_idem {

namespace {

std::string_view mapped(std::string_view text, char (*map)(char), Scratch &scratch) {
	char *const out = scratch.text(text.size());
	std::transform(text.begin(), text.end(), out, map);
	return std::string_view(out, text.size());
}

Problem normalise_text(NormaliserKind step, std::string_view in, Scratch &scratch,
                       std::string_view &out) {
	switch (step) {
	case NormaliserKind::Upper: out = mapped(in, to_upper, scratch); return Problem::None;
	case NormaliserKind::Lower: out = mapped(in, to_lower, scratch); return Problem::None;
	case NormaliserKind::Trim: out = trimmed(in); return Problem::None;
	case NormaliserKind::Text:
		out = single_spaced(in, scratch.text(in.size()));
		return Problem::None;
	case NormaliserKind::Casefold: return unicode_form(UnicodeForm::Casefold, in, scratch, out);
	case NormaliserKind::Nfc: return unicode_form(UnicodeForm::Nfc, in, scratch, out);
	case NormaliserKind::Uuid: return normalise_uuid(in, scratch, out);
	case NormaliserKind::Timestamp: return normalise_timestamp(in, scratch, out);
	case NormaliserKind::Date: return normalise_date(in, scratch, out);
	case NormaliserKind::Email: return normalise_email(in, scratch, out);
	case NormaliserKind::Url: return normalise_url(in, scratch, out);
	default: return Problem::NotString;
	}
}

std::optional<int> exponent_of(std::string_view text) {
	const std::string_view code = trimmed(text);
	std::array<char, 3> upper_case;
	if (code.size() != upper_case.size())
		return std::nullopt;
	std::transform(code.begin(), code.end(), upper_case.begin(), to_upper);
	return currency_exponent(std::string_view(upper_case.data(), upper_case.size()));
}

Problem to_minor_units(const Normaliser &normaliser, const Value &currency, Decimal &decimal) {
	int decimals = normaliser.digits;
	if (normaliser.unit.depth > 0) {
		if (currency.kind != Kind::String)
			return Problem::CurrencyMissing;
		const std::optional<int> exponent = exponent_of(currency.string);
		if (!exponent)
			return Problem::UnknownCurrency;
		decimals = *exponent;
	}
	decimal.point += decimals;
	return static_cast<std::int64_t>(decimal.count) > decimal.point ? Problem::TooManyDecimals
	                                                                : Problem::None;
}

Problem normalise_number(NormaliserKind step, const Normaliser &normaliser, const Value &in,
                         const Value &currency, Scratch &scratch, Value &out) {
	Decimal decimal;
	Problem problem = read_decimal(in, decimal);
	if (problem != Problem::None)
		return problem;
	if (step == NormaliserKind::MinorUnits)
		problem = to_minor_units(normaliser, currency, decimal);
	else if (step == NormaliserKind::Integer &&
	         static_cast<std::int64_t>(decimal.count) > decimal.point)
		problem = Problem::NotInteger;
	if (problem == Problem::None)
		out = number_value(decimal, scratch);
	return problem;
}

Problem normalise_boolean(const Value &in, Value &out) {
	const auto spells = [&in](std::string_view word) {
		return in.kind == Kind::String &&
		       std::equal(in.string.begin(), in.string.end(), word.begin(), word.end(),
		                  [](char a, char b) { return to_lower(a) == b; });
	};
	if (in.kind != Kind::Boolean && !spells("true") && !spells("false"))
		return Problem::NotBoolean;
	const bool value = in.kind == Kind::Boolean ? in.boolean : spells("true");
	out = Value{};
	out.kind = Kind::Boolean;
	out.boolean = value;
	return Problem::None;
}

Problem apply(NormaliserKind step, const Normaliser &normaliser, const Value &in,
              const Value &currency, const Document &document, Scratch &scratch, Value &out) {
	switch (step) {
	case NormaliserKind::Exact: out = in; return Problem::None;
	case NormaliserKind::Number:
	case NormaliserKind::Integer:
	case NormaliserKind::MinorUnits:
		return normalise_number(step, normaliser, in, currency, scratch, out);
	case NormaliserKind::Boolean: return normalise_boolean(in, out);
	case NormaliserKind::Set: return normalise_set(in, document, scratch, out);
	default:
		if (in.kind != Kind::String)
			return Problem::NotString;
		out = in;
		return normalise_text(step, in.string, scratch, out.string);
	}
}

} // namespace

Problem normalise(const Normaliser &normaliser, const Value &in, const Value &currency,
                  const Document &document, Scratch &scratch, Value &out) {
	Value before;
	const Value *from = &in;
	for (std::size_t i = 0;;) {
		const Problem problem =
			apply(normaliser.steps[i], normaliser, *from, currency, document, scratch, out);
		if (++i == normaliser.count || problem != Problem::None)
			return problem;
		before = out;
		from = &before;
	}
}

} // namespace pg_idem
