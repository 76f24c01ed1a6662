// A normaliser and a JSON document, a line each (the document takes the rest): no value makes a step
// fail in a way that it does not say, and what came out of a step is its own normal form.

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/normaliser.hpp"
#include "core/recipe.hpp"
#include "fuzz/require.hpp"
#include "support/json_document.hpp"
#include "support/test_arena.hpp"

using namespace pg_idem;
using namespace pg_idem::test;

namespace {

struct Result {
	Problem problem;
	std::string text; // canonical
};

Result run(const Normaliser &normaliser, const JsonDocument &document) {
	TestArena memory;
	Scratch scratch;
	scratch.arena = memory.arena();
	Value out;
	Result result;
	Value currency;
	currency.kind = Kind::String;
	currency.string = "KWD";
	result.problem = normalise(normaliser, document.root(), currency, document, scratch, out);
	if (result.problem == Problem::None)
		result.text = written([&](CanonicalWriter &writer) { write_value(out, document, writer); });
	return result;
}

// Every step but minor_units, which counts in another unit, maps what it gave to itself.
void require_idempotent(const Normaliser &chain, const JsonDocument &document) {
	Normaliser one = chain;
	one.count = 1;
	std::string text = canonical_text(document.node());
	for (const NormaliserKind step : chain.chain()) {
		one.steps[0] = step;
		const Result result = run(one, test::document(text));
		if (result.problem != Problem::None)
			return;
		const Result again = run(one, test::document(result.text));
		require(step == NormaliserKind::MinorUnits || again.problem == Problem::NumberTooLong ||
		        (again.problem == Problem::None && again.text == result.text));
		text = result.text;
	}
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
	const std::string_view text(reinterpret_cast<const char *>(data), size);
	const std::size_t end = text.find('\n');
	if (end == std::string_view::npos)
		return 0;
	TestArena memory;
	Arena arena = memory.arena();
	KeyField field;
	if (!parse_normaliser(text.substr(0, end), arena, field))
		return 0;
	const auto node = parse_json(text.substr(end + 1));
	if (!node)
		return 0;
	const JsonDocument document(*node);
	if (document.root().kind == Kind::Null)
		return 0; // the recipe keeps null from a normaliser

	const Result result = run(field.normaliser, document);
	require(result.problem != Problem::IcuFailed);
	// Another spelling of the document is the same value.
	const Result again = run(field.normaliser, test::document(canonical_text(*node)));
	require(result.problem == again.problem && result.text == again.text);
	if (result.problem == Problem::None)
		require(parse_json(result.text).has_value());
	require_idempotent(field.normaliser, document);
	return 0;
}
