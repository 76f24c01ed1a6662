// Two JSON documents, a line and the rest: a request, and another one that conflicts with it. And bytes
// that somebody has written into the ledger.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/leaf_differences.hpp"
#include "fuzz/require.hpp"
#include "support/json_document.hpp"
#include "support/test_arena.hpp"

using namespace pg_idem;
using namespace pg_idem::test;

namespace {

constexpr Digest128 key{1, 2, 3};

struct Dictionary {
	std::span<const NamedLeaf> leaves;
	std::vector<std::string_view> found;
};

std::span<const std::string_view> find(void *state, std::uint32_t path) {
	auto &dictionary = *static_cast<Dictionary *>(state);
	dictionary.found.clear();
	for (const NamedLeaf &leaf : dictionary.leaves)
		if (leaf.digest.path == path)
			dictionary.found.push_back(leaf.name);
	return dictionary.found;
}

void compare(const Recipe &recipe, const Document &before, const Document &after, bool same,
             const Arena &arena) {
	const LeafRecord record = record_leaves(recipe, before, false, key, arena);
	StoredLeaves stored;
	if (!decode_leaves(encode_leaves(record, arena), arena, stored)) {
		require(record.leaves.empty());
		return;
	}
	require(stored.form == record.form && stored.leaves.size() == record.leaves.size());
	Dictionary dictionary{record.leaves, {}};
	const auto request = digest_leaves(recipe, after, stored.form, key, arena);
	const auto names = differing_names(stored, request, key, {find, &dictionary}, arena);
	require(names.empty() == same);
	for (std::size_t i = 0; i < names.size(); ++i) {
		require(names[i].data() != nullptr); // all names are in the dictionary
		require(i == 0 || names[i - 1] < names[i]);
	}
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
	const std::string_view text(reinterpret_cast<const char *>(data), size);
	TestArena memory;
	const Arena arena = memory.arena();
	StoredLeaves any;
	decode_leaves(text, arena, any);

	const std::size_t line = text.find('\n');
	if (line == std::string_view::npos)
		return 0;
	const auto first = parse_json(text.substr(0, line)), second = parse_json(text.substr(line + 1));
	if (!first || !second || first->kind != Kind::Object || second->kind != Kind::Object)
		return 0;
	Recipe recipe;
	recipe.identity = Identity::Occurrence;
	const bool same = equal(*first, *second);
	compare(recipe, JsonDocument(*first), JsonDocument(*second), same, arena);
	compare(recipe, JsonDocument(*first), JsonDocument(*first), true, arena);
	return 0;
}
