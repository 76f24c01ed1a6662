// What must hold for every document, tried on random ones.

#include <gtest/gtest.h>

#include <string>

#include "support/json_document.hpp"
#include "support/random_json.hpp"
#include "support/test_recipe.hpp"

namespace pg_idem::test {
namespace {

TEST(Property, C037_C040_C057_every_spelling_has_one_canonical_text) {
	RandomJson random(1);
	for (int round = 0; round < 20000; ++round) {
		const JsonNode node = random.value(4);
		const std::string text = canonical_text(node);
		const std::string spelling = random.spelling(node);
		ASSERT_EQ(canonical_text(spelling), text) << spelling;
		ASSERT_EQ(canonical_text(text), text);
		ASSERT_TRUE(equal(document(text).node(), node)) << text;
	}
}

TEST(Property, same_text_if_and_only_if_equal_values) {
	RandomJson random(2);
	int same = 0;
	for (int round = 0; round < 100000; ++round) {
		const JsonNode a = random.value(2);
		const JsonNode b = random.value(2);
		const bool is_same = canonical_text(a) == canonical_text(b);
		ASSERT_EQ(is_same, equal(a, b)) << canonical_text(a) << " " << canonical_text(b);
		same += is_same ? 1 : 0;
	}
	EXPECT_GT(same, 2000) << "pairs that are equal have to occur";
	EXPECT_LT(same, 98000);
}

TEST(Property, C061_C064_a_changed_leaf_changes_the_key_or_the_fingerprint) {
	TestRecipe all({.identity = Identity::Arguments});
	TestRecipe step({.identity = Identity::Occurrence});
	TestRecipe fields(
		{.fields = {{"a", "exact optional"}, {"b.a", "exact optional"}, {"subject", "exact"}}});
	RandomJson random(3);
	int in_key = 0;
	int bound = 0;
	for (int round = 0; round < 40000; ++round) {
		JsonNode node = random.object(4);
		const JsonDocument before(node);
		const JsonNode unchanged = node;
		if (node.members.empty())
			continue;
		random.change_a_leaf(node);
		const JsonDocument after(node);
		const auto about_subject = [](JsonNode document) {
			document.members.push_back({"subject", integer_node(1)});
			sort_members(document);
			return JsonDocument(document);
		};

		ASSERT_NE(all.preimage(before), all.preimage(after));
		ASSERT_EQ(all.bound(after), "unbound");
		ASSERT_EQ(step.preimage(before, "t", "s"), step.preimage(after, "t", "s"));
		ASSERT_NE(step.bound(before), step.bound(after));

		const JsonDocument first = about_subject(unchanged);
		const JsonDocument second = about_subject(node);
		const bool key_differs = fields.preimage(first) != fields.preimage(second);
		const bool bound_differs = fields.bound(first) != fields.bound(second);
		ASSERT_TRUE(key_differs || bound_differs) << canonical_text(node);
		in_key += key_differs ? 1 : 0;
		bound += bound_differs ? 1 : 0;
	}
	EXPECT_GT(in_key, 2000);
	EXPECT_GT(bound, 2000);
}

// An unchecked field may change at will, below it too, and nothing else may.
TEST(Property, C061_unchecked_fields_are_in_neither) {
	TestRecipe step({.identity = Identity::Occurrence, .unchecked = {"a", "b.c"}});
	RandomJson random(4);
	for (int round = 0; round < 10000; ++round) {
		JsonNode node = random.object(3);
		const auto put = [&random](JsonNode &object, const char *name) {
			object.members.push_back({name, random.value(2)});
			sort_members(object);
		};
		JsonNode other = node;
		put(node, "a");
		put(other, "a");
		const std::string before = step.bound(JsonDocument(node));
		ASSERT_EQ(step.bound(JsonDocument(other)), before);

		put(node, "a");
		ASSERT_EQ(step.bound(JsonDocument(node)), before);
		for (JsonMember &member : node.members) {
			if (member.name == "b" && member.value.kind == Kind::Object) {
				put(member.value, "c");
				ASSERT_EQ(step.bound(JsonDocument(node)), before);
			}
		}
	}
}

} // namespace
} // namespace pg_idem::test
