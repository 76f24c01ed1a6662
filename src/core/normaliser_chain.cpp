#include "core/normaliser_chain.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

#include "core/white_space.hpp"

namespace pg_idem {

namespace {

constexpr int most_digits = 18;

// Kinds of values that a step takes and gives, one bit each.
constexpr unsigned text = 1;
constexpr unsigned number = 2;
constexpr unsigned boolean = 4;
constexpr unsigned array = 8;

struct Step {
	std::string_view name;
	NormaliserKind kind;
	unsigned takes;
	unsigned gives;
};

constexpr std::array steps{
	Step{"upper", NormaliserKind::Upper, text, text},
	Step{"lower", NormaliserKind::Lower, text, text},
	Step{"trim", NormaliserKind::Trim, text, text},
	Step{"text", NormaliserKind::Text, text, text},
	Step{"casefold", NormaliserKind::Casefold, text, text},
	Step{"nfc", NormaliserKind::Nfc, text, text},
	Step{"uuid", NormaliserKind::Uuid, text, text},
	Step{"timestamp", NormaliserKind::Timestamp, text, text},
	Step{"date", NormaliserKind::Date, text, text},
	Step{"email", NormaliserKind::Email, text, text},
	Step{"url", NormaliserKind::Url, text, text},
	Step{"number", NormaliserKind::Number, text | number, number},
	Step{"integer", NormaliserKind::Integer, text | number, number},
	Step{"boolean", NormaliserKind::Boolean, text | boolean, boolean},
	Step{"set", NormaliserKind::Set, array, array},
};

constexpr std::string_view minor_units = "minor_units";
constexpr Step minor_units_step{minor_units, NormaliserKind::MinorUnits, text | number, number};

// The argument of minor_units: a number of decimals, or the path of the currency's field. What looks
// like a number is never taken for a path: a field of that name is to be quoted.
bool parse_unit(std::string_view argument, Arena &arena, Normaliser &normaliser) {
	if (argument.find_first_not_of("0123456789+-.") != std::string_view::npos)
		return parse_path(argument, arena, normaliser.unit);

	// One spelling for each count, since a frozen recipe is compared by its text.
	if (argument.size() > 1 && argument.front() == '0')
		return false;
	const char *const last = argument.data() + argument.size();
	const auto [end, error] = std::from_chars(argument.data(), last, normaliser.digits);
	return error == std::errc() && end == last && normaliser.digits <= most_digits;
}

// Up to the next pipe that is not within double quotes.
std::string_view take_step(std::string_view &rest) {
	bool quoted = false;
	std::size_t end = 0;
	for (; end < rest.size() && (quoted || rest[end] != '|'); ++end) {
		if (rest[end] == '"')
			quoted = !quoted;
	}
	const std::string_view taken = rest.substr(0, end);
	rest.remove_prefix(end);
	return trimmed(taken);
}

// Nothing: no step.
const Step *read_step(std::string_view spelling, Arena &arena, Normaliser &normaliser) {
	if (const std::size_t open = spelling.find('('); open != std::string_view::npos) {
		if (spelling.substr(0, open) != minor_units || !spelling.ends_with(')'))
			return nullptr;
		const std::string_view argument = spelling.substr(open + 1, spelling.size() - open - 2);
		return parse_unit(trimmed(argument), arena, normaliser) ? &minor_units_step : nullptr;
	}
	const auto *const step =
		std::find_if(steps.begin(), steps.end(),
	                 [spelling](const Step &known) { return known.name == spelling; });
	return step == steps.end() ? nullptr : step;
}

bool has_minor_units(const Normaliser &normaliser) {
	const auto chain = normaliser.chain();
	return std::find(chain.begin(), chain.end(), NormaliserKind::MinorUnits) != chain.end();
}

} // namespace

bool parse_chain(std::string_view spelling, Arena &arena, Normaliser &normaliser) {
	Normaliser parsed;
	if (trimmed(spelling) == "exact") {
		normaliser = parsed;
		return true;
	}
	parsed.count = 0;
	unsigned given = text | number | boolean | array;
	for (std::string_view rest = spelling;;) {
		if (parsed.count == most_steps)
			return false;
		const bool had_minor_units = has_minor_units(parsed);
		const Step *const step = read_step(take_step(rest), arena, parsed);
		if (step == nullptr || (step->takes & given) == 0 ||
		    (had_minor_units && step->kind == NormaliserKind::MinorUnits))
			return false;
		parsed.steps[parsed.count++] = step->kind;
		given = step->gives;
		if (rest.empty())
			break;
		rest.remove_prefix(1);
	}
	normaliser = parsed;
	return true;
}

} // namespace pg_idem
