// Which fields of two requests differ, told from digests of their leaves.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/leaf_differences.hpp"
#include "core/leaf_digests.hpp"
#include "core/path.hpp"
#include "support/json_document.hpp"
#include "support/random_json.hpp"
#include "support/test_recipe.hpp"

namespace pg_idem::test {
namespace {

constexpr Digest128 row_key{1, 2, 3, 4, 5, 6, 7, 8, 9};
constexpr Digest128 other_key{9, 8, 7, 6, 5, 4, 3, 2, 1};

class Ledger {
public:
	explicit Ledger(RecipeTexts texts) : recipe_(std::move(texts)) {}

	// What is stored of a request.
	std::string stored(const Document &arguments, bool with_key = false) {
		const Arena arena = recipe_.arena();
		const LeafRecord record = record_leaves(recipe_.get(), arguments, with_key, row_key, arena);
		for (const NamedLeaf &leaf : record.leaves)
			names_[leaf.digest.path] = {text(leaf.name)};
		return std::string(encode_leaves(record, arena));
	}

	// The fields of `request` that differ from what is stored.
	std::vector<std::string> differing(const std::string &bytes, const Document &request) {
		const Arena arena = recipe_.arena();
		StoredLeaves leaves;
		if (!decode_leaves(bytes, arena, leaves))
			return {"unknown"};
		std::vector<std::string> fields;
		for (const std::string_view name : differing_names(
				 leaves, digest_leaves(recipe_.get(), request, leaves.form, row_key, arena),
				 row_key, {find_names, this}, arena))
			fields.push_back(name.data() == nullptr ? "?" : std::string(name));
		return fields;
	}

	void forget(std::string_view name) {
		std::erase_if(names_, [&](const auto &entry) { return entry.second[0] == name; });
	}

	std::vector<std::string> differing(const char *before, const char *after,
	                                   bool with_key = false) {
		return differing(stored(document(before), with_key), document(after));
	}

private:
	static std::span<const std::string_view> find_names(void *state, std::uint32_t path) {
		const auto &names = static_cast<Ledger *>(state)->names_;
		const auto found = names.find(path);
		if (found == names.end())
			return {};
		return found->second;
	}

	std::string_view text(std::string_view name) { return *texts_.emplace(name).first; }

	TestRecipe recipe_;
	std::set<std::string> texts_;
	std::map<std::uint32_t, std::vector<std::string_view>> names_;
};

using Fields = std::vector<std::string>;

Ledger of_occurrence(std::vector<std::string> unchecked = {}) {
	return Ledger({.identity = Identity::Occurrence, .unchecked = std::move(unchecked)});
}

TEST(Leaves, C062_changed_new_and_gone_fields_are_named) {
	Ledger ledger = of_occurrence();
	EXPECT_EQ(ledger.differing(R"({"a":1,"b":2})", R"({"a":1,"b":3})"), Fields{"b"});
	EXPECT_EQ(ledger.differing(R"({"a":1})", R"({"a":1,"b":3})"), Fields{"b"});
	EXPECT_EQ(ledger.differing(R"({"a":1,"b":2})", R"({"a":1})"), Fields{"b"});
	EXPECT_EQ(ledger.differing(R"({"a":1,"b":2})", R"({"b":2,"a":1.0})"), Fields{});
	EXPECT_EQ(ledger.differing(R"({"a":1,"c":{"d":[1,2],"e":null}})",
	                           R"({"a":2,"c":{"d":[2,1],"f":null}})"),
	          (Fields{"a", "c.d[0]", "c.d[1]", "c.e", "c.f"}));
}

TEST(Leaves, null_absent_and_empty_differ) {
	Ledger ledger = of_occurrence();
	EXPECT_EQ(ledger.differing(R"({"a":null})", R"({"b":1})"), (Fields{"a", "b"}));
	EXPECT_EQ(ledger.differing(R"({"a":{}})", R"({"a":null})"), Fields{"a"});
	EXPECT_EQ(ledger.differing(R"({"a":[]})", R"({"a":{}})"), Fields{"a"});
	EXPECT_EQ(ledger.differing(R"({"a":{}})", R"({"a":{"b":1}})"), Fields{"a.b"});
	EXPECT_EQ(ledger.differing(R"({"a":{"b":1}})", R"({"a":{}})"), Fields{"a.b"});
	EXPECT_EQ(ledger.differing(R"({"a":[]})", R"({"a":[1]})"), Fields{"a[0]"});
}

TEST(Leaves, arguments_that_are_no_object) {
	Ledger ledger = of_occurrence();
	EXPECT_EQ(ledger.differing("1", "2"), Fields{""});
	EXPECT_EQ(ledger.differing("[1]", "[2]"), Fields{"[0]"});
	EXPECT_EQ(ledger.differing("1", R"({"a":1})"), (Fields{"", "a"}));
}

TEST(Leaves, unchecked_fields_are_none) {
	Ledger ledger = of_occurrence({"trace", "meta.sent_at"});
	EXPECT_EQ(ledger.differing(R"({"a":1,"trace":1,"meta":{"sent_at":1,"x":1}})",
	                           R"({"a":1,"trace":2,"meta":{"sent_at":2,"x":2}})"),
	          Fields{"meta.x"});
	// An object that has lost all its members is still one.
	EXPECT_EQ(ledger.differing(R"({"a":1,"meta":{"sent_at":1}})", R"({"a":1})"), Fields{"meta"});
	EXPECT_EQ(ledger.differing(R"({"a":1,"meta":{"sent_at":1}})", R"({"a":1,"meta":{}})"),
	          Fields{});
}

TEST(Leaves, names_are_quoted_as_a_path_is) {
	Ledger ledger = of_occurrence();
	EXPECT_EQ(ledger.differing(R"({"a.b":1,"a":{"b":1}})", R"({"a.b":2,"a":{"b":1}})"),
	          Fields{R"("a.b")"});
}

TEST(Leaves, key_fields_are_compared_as_they_are_normalised) {
	Ledger ledger({.fields = {{"id", "exact"}, {"currency", "upper"}, {"to", "email optional"}}});
	EXPECT_EQ(ledger.differing(R"({"id":1,"currency":"gbp","x":1})",
	                           R"({"id":2,"currency":"GBP","x":1})", true),
	          Fields{"id"});
	EXPECT_EQ(ledger.differing(R"({"id":1,"currency":"gbp","x":1})",
	                           R"({"id":1,"currency":"GBP","to":"a@b.example","x":2})", true),
	          (Fields{"to", "x"}));
	// One that is refused differs from all that were accepted.
	EXPECT_EQ(ledger.differing(R"({"id":1,"currency":"gbp","x":1})", R"({"id":1,"x":1})", true),
	          Fields{"currency"});
	// They are left out unless they are asked for.
	EXPECT_EQ(ledger.differing(R"({"id":1,"currency":"gbp","x":1})",
	                           R"({"id":2,"currency":"eur","x":1})"),
	          Fields{});
}

TEST(Leaves, identity_arguments_has_them_all_in_the_key) {
	Ledger ledger({.identity = Identity::Arguments, .unchecked = {"trace"}});
	EXPECT_EQ(ledger.stored(document(R"({"a":1})")), "");
	EXPECT_EQ(ledger.differing(R"({"a":1,"trace":1})", R"({"a":2,"trace":2})", true), Fields{"a"});
}

std::string wide(int members, int inner) {
	std::string text = "{";
	for (int i = 0; i < members; ++i) {
		text += (i > 0 ? ",\"m" : "\"m") + std::to_string(i) + "\":{";
		for (int j = 0; j < inner; ++j)
			text += (j > 0 ? ",\"n" : "\"n") + std::to_string(j) + "\":" + std::to_string(i + j);
		text += "}";
	}
	return text + "}";
}

TEST(Leaves, beyond_the_bound_members_are_compared_as_wholes_and_then_nothing) {
	Ledger ledger = of_occurrence({"m3.n9"});
	const std::string at_bound = wide(1, 64);
	EXPECT_EQ(ledger.stored(document(at_bound)).size(), 64u * 8);
	const std::string beyond = wide(10, 10);
	const std::string bytes = ledger.stored(document(beyond));
	EXPECT_EQ(bytes.size(), 10u * 8 + 1);
	const auto changed = [&](const char *from, const char *to) {
		std::string text = beyond;
		text.replace(text.find(from), std::string_view(from).size(), to);
		return ledger.differing(bytes, document(text));
	};
	EXPECT_EQ(changed(R"("m2":{"n0":2)", R"("m2":{"n0":7)"), Fields{"m2"});
	EXPECT_EQ(changed(R"("m3":{"n0":3)", R"("m3":{"n0":7)"), Fields{"m3"});
	EXPECT_EQ(changed(R"("n9":12})", R"("n9":13})"), Fields{}) << "unchecked, inside of a whole";
	EXPECT_EQ(changed(R"("m9":{)", R"("m":{)"), (Fields{"m", "m9"}));
	EXPECT_EQ(ledger.stored(document(wide(65, 1))), "");
	EXPECT_EQ(ledger.differing("", document(beyond)), Fields{"unknown"});
}

TEST(Leaves, equal_values_have_other_digests_in_other_rows) {
	TestRecipe recipe({.identity = Identity::Occurrence});
	const JsonDocument arguments = document(R"({"reason":"late"})");
	const Arena arena = recipe.arena();
	const auto here = digest_leaves(recipe.get(), arguments, {}, row_key, arena);
	const auto there = digest_leaves(recipe.get(), arguments, {}, other_key, arena);
	EXPECT_EQ(here[0].digest.path, there[0].digest.path);
	EXPECT_NE(here[0].digest.value, there[0].digest.value);
}

// Stored digests outlive this program and move between machines.
TEST(Leaves, digests_stay_what_they_are) {
	Ledger ledger = of_occurrence();
	const std::string bytes = ledger.stored(document(R"({"reason":"late","metadata":{"n":1.50}})"));
	std::string hex;
	for (const char byte : bytes) {
		constexpr std::string_view digits = "0123456789abcdef";
		hex += digits[static_cast<std::uint8_t>(byte) >> 4];
		hex += digits[static_cast<std::uint8_t>(byte) & 15];
	}
	EXPECT_EQ(hex, "85ab04dd20b5f10a8f0da96790f31350");
}

TEST(Leaves, bytes_that_nothing_has_written_are_unknown) {
	TestArena memory;
	StoredLeaves stored;
	for (const std::string &bytes :
	     {std::string(), std::string(7, 'x'), std::string(10, 'x'), std::string(8, 'x') + '\0',
	      std::string(8, 'x') + '\4', std::string(8, 'y') + std::string(8, 'x')})
		EXPECT_FALSE(decode_leaves(bytes, memory.arena(), stored)) << bytes.size();
}

TEST(Leaves, C064_elements_of_arrays_are_named) {
	Ledger ledger = of_occurrence();
	EXPECT_EQ(ledger.differing(R"({"ref":"R-1","acc":[{"id":"111"}]})",
	                           R"({"ref":"R-1","acc":[{"id":"222"}]})"),
	          Fields{"acc[0].id"});
	EXPECT_EQ(ledger.differing(R"({"a":[[1,2],[3]]})", R"({"a":[[1,2],[3,4],5]})"),
	          (Fields{"a[1][1]", "a[2]"}));
	// A member whose name looks like that is quoted.
	EXPECT_EQ(ledger.differing(R"({"a[0]":1})", R"({"a[0]":2})"), Fields{R"("a[0]")"});
}

TEST(Leaves, C065_what_only_one_has_is_named_by_its_outermost_path) {
	Ledger ledger = of_occurrence();
	EXPECT_EQ(ledger.differing(R"({"amt":1300})", R"({"amt":1300,"meta":{"try":2,"n":{"x":1}}})"),
	          Fields{"meta"});
	EXPECT_EQ(ledger.differing(R"({"amt":1300,"meta":{"try":2,"n":[1,2]}})", R"({"amt":1300})"),
	          Fields{"meta"});
	EXPECT_EQ(ledger.differing(R"({"m":{"a":1}})", R"({"m":{"a":1,"b":{"c":1,"d":2}}})"),
	          Fields{"m.b"});
}

TEST(Leaves, what_has_another_kind_is_named_itself) {
	Ledger ledger = of_occurrence();
	EXPECT_EQ(ledger.differing(R"({"a":{"b":1,"c":2}})", R"({"a":[1]})"), Fields{"a"});
	EXPECT_EQ(ledger.differing(R"({"a":{"b":1,"c":2}})", R"({"a":1})"), Fields{"a"});
	EXPECT_EQ(ledger.differing(R"({"a":"x"})", R"({"a":{"b":1,"c":2}})"), Fields{"a"});
	EXPECT_EQ(ledger.differing(R"({"a":[]})", R"({"a":{"b":1}})"), Fields{"a"});
}

TEST(Leaves, a_name_that_is_not_kept_leaves_a_mark_and_nothing_is_guessed) {
	Ledger ledger = of_occurrence();
	const std::string bytes = ledger.stored(document(R"({"a":1,"m":{"b":1}})"));
	ledger.forget("m.b");
	EXPECT_EQ(ledger.differing(bytes, document(R"({"a":1})")), Fields{"?"});
	// Whether there was an m is unknown.
	EXPECT_EQ(ledger.differing(bytes, document(R"({"a":1,"m":{"c":1}})")), (Fields{"m.c", "?"}));
	EXPECT_EQ(ledger.differing(bytes, document(R"({"a":2,"m":{"b":1}})")), Fields{"a"});
}

TEST(Leaves, two_paths_of_one_digest_are_told_apart_by_their_values) {
	TestArena memory;
	const NamedLeaf request[] = {{{1, 10}, "a"}, {{1, 30}, "b"}};
	static const std::string_view names[] = {"a", "b", "c"};
	const PathNames dictionary{
		[](void *, std::uint32_t) { return std::span<const std::string_view>(names); }, nullptr};
	const auto compare = [&](std::vector<LeafDigest> stored) {
		Fields fields;
		for (const std::string_view name :
		     differing_names({{}, stored}, request, row_key, dictionary, memory.arena()))
			fields.emplace_back(name);
		return fields;
	};
	EXPECT_EQ(compare({{1, 10}, {1, 30}}), Fields{});
	EXPECT_EQ(compare({{1, 10}, {1, 20}}), Fields{"b"});
	EXPECT_EQ(compare({{1, 10}, {1, 20}, {1, 30}}), Fields{"c"});
}

// The same, found without digests: where two documents part.
void plainly(const JsonNode &before, const JsonNode &after, const std::string &path,
             std::set<std::string> &fields) {
	const auto inner = [&](const std::string &name) {
		std::string spelling(spelt_size(name), ' ');
		spell_segment(name, spelling.data());
		return path.empty() ? spelling : path + "." + spelling;
	};
	if (before.kind != after.kind) {
		fields.insert(path);
	} else if (before.kind == Kind::Object) {
		for (const JsonMember &member : before.members) {
			if (const JsonNode *other = after.member(member.name))
				plainly(member.value, *other, inner(member.name), fields);
			else
				fields.insert(inner(member.name));
		}
		for (const JsonMember &member : after.members)
			if (before.member(member.name) == nullptr)
				fields.insert(inner(member.name));
	} else if (before.kind == Kind::Array) {
		for (std::size_t i = 0; i < std::max(before.elements.size(), after.elements.size()); ++i) {
			const std::string element = path + "[" + std::to_string(i) + "]";
			if (i < before.elements.size() && i < after.elements.size())
				plainly(before.elements[i], after.elements[i], element, fields);
			else
				fields.insert(element);
		}
	} else if (!equal(before, after)) {
		fields.insert(path);
	}
}

Fields plainly_differing(const JsonNode &before, const JsonNode &after) {
	std::set<std::string> fields;
	plainly(before, after, "", fields);
	return {fields.begin(), fields.end()};
}

TEST(Property, C062_a_changed_leaf_is_named_in_any_document) {
	Ledger step = of_occurrence();
	RandomJson random(7);
	int several = 0;
	for (int round = 0; round < 20000; ++round) {
		JsonNode node = random.object(4);
		if (node.members.empty())
			continue;
		const JsonNode before = node;
		random.change_a_leaf(node);
		const Fields expected = plainly_differing(before, node);
		several += expected.size() > 1 ? 1 : 0;
		const std::string bytes = step.stored(JsonDocument(before));
		ASSERT_FALSE(bytes.empty());
		ASSERT_EQ(step.differing(bytes, JsonDocument(node)), expected)
			<< canonical_text(before) << " " << canonical_text(node);
	}
	EXPECT_GT(several, 300);
}

TEST(Property, the_fields_of_any_two_documents) {
	Ledger step = of_occurrence();
	RandomJson random(8);
	for (int round = 0; round < 5000; ++round) {
		const JsonNode before = random.object(3), after = random.object(3);
		const std::string bytes = step.stored(JsonDocument(before));
		if (bytes.empty())
			continue;
		ASSERT_EQ(step.differing(bytes, JsonDocument(after)), plainly_differing(before, after));
	}
}

} // namespace
} // namespace pg_idem::test
