// A path, a normaliser and a JSON document, a line each (the document takes the rest): a policy that
// somebody defines, and a request that somebody sends.

#include <cstddef>
#include <cstdint>
#include <string>

#include "fuzz/require.hpp"
#include "support/json_document.hpp"
#include "support/test_arena.hpp"

using namespace pg_idem;
using namespace pg_idem::test;

namespace {

std::string_view take_line(std::string_view &text) {
	const std::size_t end = text.find('\n');
	const std::string_view line = text.substr(0, end);
	text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
	return line;
}

// Every path has a spelling with all segments quoted.
void require_quoted_spelling(const Path &path, Arena &arena) {
	std::string spelling;
	for (std::size_t i = 0; i < path.depth; ++i) {
		spelling += i > 0 ? ".\"" : "\"";
		for (const char c : path.segments[i])
			spelling += c == '"' ? std::string("\"\"") : std::string{c};
		spelling += "\"";
	}
	Path again;
	require(parse_path(spelling, arena, again));
	require(covers(path, again) && covers(again, path));
	require(!path_before(path, again) && !path_before(again, path));
	require(parse_path(spell_path(path, arena), arena, again));
	require(covers(path, again) && covers(again, path));
}

struct Derived {
	Fault fault;
	std::string preimage;
	std::string bound;
};

Derived derive(const Recipe &recipe, const JsonDocument &arguments, Arena &arena) {
	Derived derived;
	derived.preimage = written([&](CanonicalWriter &writer) {
		derived.fault = write_preimage(recipe, "t", "o", arguments, arena, writer);
	});
	derived.bound =
		written([&](CanonicalWriter &writer) { write_bound(recipe, arguments, writer); });
	return derived;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
	std::string_view rest(reinterpret_cast<const char *>(data), size);
	TestArena memory;
	Arena arena = memory.arena();
	KeyField field;
	field.name = take_line(rest);
	const bool is_path = parse_path(field.name, arena, field.path);
	if (is_path)
		require_quoted_spelling(field.path, arena);
	if (!parse_normaliser(take_line(rest), arena, field) || !is_path)
		return 0;
	const auto node = parse_json(rest);
	if (!node)
		return 0;

	const JsonDocument arguments(*node);
	const JsonDocument canonical = document(canonical_text(*node));
	Recipe recipe;
	recipe.operation = "o";
	recipe.fields = {&field, 1};
	recipe.unchecked = {};
	recipe.unbound = {&field.path, 1};
	for (const Identity identity : {Identity::Fields, Identity::Arguments, Identity::Occurrence}) {
		recipe.identity = identity;
		const Derived derived = derive(recipe, arguments, arena);
		const Derived again = derive(recipe, canonical, arena);
		require(derived.fault.problem == again.fault.problem);
		require(derived.preimage == again.preimage);
		require(derived.bound == again.bound);
		if (derived.fault.problem == Problem::None)
			require(
				parse_json(std::string_view(derived.preimage).substr(derived.preimage.find('{')))
					.has_value());
		require(derived.bound.empty() || parse_json(derived.bound).has_value());
	}
	return 0;
}
