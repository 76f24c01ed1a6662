// Any text as an amount, and any groups as a number.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "core/normaliser.hpp"
#include "fuzz/require.hpp"
#include "support/json_document.hpp"
#include "support/test_arena.hpp"

using namespace pg_idem;
using namespace pg_idem::test;

namespace {

// The canonical text of the number that `text` becomes, or nothing.
std::string normal(NormaliserKind kind, std::uint8_t digits, const JsonDocument &in) {
	TestArena memory;
	Scratch scratch;
	scratch.arena = memory.arena();
	Normaliser normaliser;
	normaliser.steps[0] = kind;
	normaliser.digits = digits;
	Value out;
	if (normalise(normaliser, in.root(), Value(), in, scratch, out) != Problem::None)
		return {};
	require(out.kind == Kind::Number);
	require(out.number.group_count <= static_cast<std::int32_t>(scratch.groups.size()));
	return number_text(out.number);
}

void try_text(std::string_view text) {
	const JsonDocument as_string(string_node(text));
	const std::string normalised = normal(NormaliserKind::Number, 0, as_string);
	for (std::uint8_t digits = 0; digits <= 18; digits += 6) {
		const std::string units = normal(NormaliserKind::MinorUnits, digits, as_string);
		if (units.empty())
			continue;
		// Exact and undone by its inverse: so many units are the amount again.
		require(!normalised.empty());
		const std::string amount =
			units + (units.find('e') == std::string::npos ? "e-" + std::to_string(digits) : "");
		if (amount != units)
			require(canonical_text(amount) == normalised);
	}

	// A whole number is the number itself.
	const std::string whole = normal(NormaliserKind::Integer, 0, as_string);
	require(whole.empty() || whole == normalised);
	require(whole == normal(NormaliserKind::MinorUnits, 0, as_string));

	// What is a JSON number as well reads the same as one.
	const auto node = parse_json(text);
	if (!node || node->kind != Kind::Number || text.find_first_of(" \t\r\n") != text.npos)
		return;
	require(normal(NormaliserKind::Number, 0, JsonDocument(*node)) == normalised);
	require(normalised.empty() || canonical_text(*node) == normalised);
}

void try_groups(const std::uint8_t *data, std::size_t size) {
	JsonNode node;
	node.kind = Kind::Number;
	std::int16_t weight = 0;
	if (size < 1 + sizeof weight)
		return;
	node.negative = (data[0] & 1) != 0;
	std::memcpy(&weight, data + 1, sizeof weight);
	node.weight = weight;
	for (std::size_t i = 1 + sizeof weight; i + 1 < size; i += 2)
		node.groups.push_back(static_cast<std::int16_t>((data[i] << 8 | data[i + 1]) % 10000));

	const std::string text = number_text(node.number());
	require(canonical_text(node) == text);
	if (const auto again = parse_json(text)) // numeric holds less than groups can say
		require(equal(node, *again) && canonical_text(*again) == text);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
	try_text(std::string_view(reinterpret_cast<const char *>(data), size));
	try_groups(data, size);
	return 0;
}
