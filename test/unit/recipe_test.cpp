// Key, intent and fingerprint of a request.

#include "core/recipe.hpp"

#include <gtest/gtest.h>

#include <string>
#include <type_traits>
#include <vector>

#include "support/json_document.hpp"
#include "support/test_recipe.hpp"
#include "support/vectors.hpp"

namespace pg_idem::test {
namespace {

// An error of the server leaves functions without running destructors.
static_assert(std::is_trivially_destructible_v<CanonicalWriter>);
static_assert(std::is_trivially_destructible_v<Recipe>);
static_assert(std::is_trivially_destructible_v<KeyField>);
static_assert(std::is_trivially_destructible_v<Value>);
static_assert(std::is_trivially_destructible_v<Scratch>);
static_assert(std::is_trivially_destructible_v<Fault>);

RecipeTexts refund() {
	return {.fields = {{"currency", "upper"},
	                   {"charge_id", "exact"},
	                   {"amount", "minor_units(currency)"}}};
}

TEST(Recipe, the_key_of_a_refund_recomputed_by_hand) {
	TestRecipe recipe(refund());
	const std::string preimage = recipe.preimage(
		document(R"({"charge_id":"ch_4471","amount":129.990,"currency":"gbp","reason":"late"})"));
	EXPECT_EQ(preimage, R"(create_refund:v1:{"args":{"amount":12999,"charge_id":"ch_4471",)"
	                    R"("currency":"GBP"},"tenant":"acme"})");
	EXPECT_EQ(sha256_hex(preimage),
	          "e5b99e5a1d89c00cb6d8f4879dcf8b50b1e853837ac2cd8d4d26d014bf42dfe7");
	const std::string bound = recipe.bound(
		document(R"({"charge_id":"ch_4471","amount":129.990,"currency":"gbp","reason":"late"})"));
	EXPECT_EQ(bound, R"({"reason":"late"})");
	EXPECT_EQ(sha256_hex(bound),
	          "b8b156cb67b6bc92be8f56c7151e6dd140d8d512caa5a594f3b8737d8c53de07");
}

TEST(Recipe, the_key_of_an_occurrence_recomputed_by_hand) {
	TestRecipe recipe({.identity = Identity::Occurrence, .operation = "webhook.delivery"});
	const JsonDocument arguments = document(R"({"n":1.0})");
	const std::string preimage = recipe.preimage(arguments, "acme", "evt_1");
	EXPECT_EQ(preimage, R"(webhook.delivery:occurrence:{"occurrence":"evt_1","tenant":"acme"})");
	EXPECT_EQ(sha256_hex(preimage),
	          "b39871c39fa50b1f94b15fee2395641848ce1980e91c9c3b7738963b4f54a804");
	EXPECT_EQ(recipe.bound(arguments), R"({"n":1})");
}

TEST(Recipe, the_key_of_all_arguments_recomputed_by_hand) {
	TestRecipe recipe({.identity = Identity::Arguments,
	                   .operation = "post_note",
	                   .version = 2,
	                   .unchecked = {"at.ms", "trace"}});
	const std::string preimage =
		recipe.preimage(document(R"({"trace":"x","text":"hi","at":{"ms":17,"line":[1,2.0]}})"));
	EXPECT_EQ(preimage,
	          R"(post_note:v2:{"args":{"at":{"line":[1,2]},"text":"hi"},"tenant":"acme"})");
	EXPECT_EQ(sha256_hex(preimage),
	          "64ddf5b9b6891c27cef357041c42d0fa84b399cf25d9479c245fd98a236ead7f");
}

TEST(Recipe, versions_are_written_in_full) {
	TestRecipe recipe({.identity = Identity::Arguments, .operation = "o", .version = 2147483647});
	EXPECT_EQ(recipe.preimage(document("1"), "t"), R"(o:v2147483647:{"args":1,"tenant":"t"})");
}

// Spellings of one refund: an agent's retry.
TEST(Recipe, C037_C040_spellings_of_one_intent) {
	TestRecipe recipe(refund());
	const std::string first =
		recipe.preimage(document(R"({"charge_id":"ch_4471","amount":129.99,"currency":"GBP"})"));
	for (const char *json :
	     {R"({"amount":129.990,"currency":"gbp","charge_id":"ch_4471"})",
	      R"({"currency":"Gbp","amount":"129.99","charge_id":"ch_4471","reason":"damaged"})",
	      R"({"charge_id":"ch_4471","amount":12999e-2,"currency":"GBP","note":null})"})
		EXPECT_EQ(recipe.preimage(document(json)), first) << json;
	for (const char *json : {R"({"charge_id":"ch_4472","amount":129.99,"currency":"GBP"})",
	                         R"({"charge_id":"ch_4471","amount":130,"currency":"GBP"})",
	                         R"({"charge_id":"ch_4471","amount":129.99,"currency":"EUR"})"})
		EXPECT_NE(recipe.preimage(document(json)), first) << json;
	EXPECT_NE(recipe.preimage(document(R"({"charge_id":"ch_4471","amount":1,"currency":"GBP"})")),
	          recipe.preimage(document(R"({"charge_id":"ch_4471","amount":1,"currency":"JPY"})")));
}

TEST(Recipe, C068_C069_parts_cannot_run_into_each_other) {
	TestRecipe recipe({.identity = Identity::Occurrence, .operation = "a"});
	TestRecipe other({.identity = Identity::Occurrence, .operation = "a.b"});
	const JsonDocument none = document("{}");
	EXPECT_NE(recipe.preimage(none, "bc", "d"), recipe.preimage(none, "b", "cd"));
	for (const std::string separator : {"|", ":", "/", "\x1f", "\n", "\"", "\\", ","}) {
		EXPECT_NE(recipe.preimage(none, "t", "b" + separator + "c"),
		          other.preimage(none, "t", "c"));
		EXPECT_NE(recipe.preimage(none, "t" + separator + "x", "c"),
		          recipe.preimage(none, "t", "x" + separator + "c"));
	}
	TestRecipe all({.identity = Identity::Arguments, .operation = "a"});
	EXPECT_NE(all.preimage(document(R"({"p":"q","rs":"t"})")),
	          all.preimage(document(R"({"pq":"r","s":"t"})")));
}

TEST(Recipe, C044_C050_C071_identity_arguments_takes_any_value) {
	TestRecipe recipe({.identity = Identity::Arguments, .unchecked = {"trace"}});
	for (const char *json : {"null", "1", "\"x\"", "[]", "{}", R"({"tags":[]})", R"({"tags":null})",
	                         R"({"id":6917529027641081857})"}) {
		const JsonDocument arguments = document(json);
		EXPECT_EQ(recipe.intent(arguments), json);
		EXPECT_EQ(recipe.bound(arguments), "unbound") << "the key covers everything";
	}
	EXPECT_EQ(recipe.intent(document(R"([{"trace":1}])")), R"([{"trace":1}])")
		<< "a path does not go through an array";
	EXPECT_EQ(recipe.intent(document(R"({"trace":{"deep":1}})")), "{}");
}

TEST(Recipe, nested_key_fields_keep_their_place) {
	TestRecipe recipe({.fields = {{"metadata.order_ref", "exact"},
	                              {"metadata.line.no", "number"},
	                              {"metadata.line.part", "lower optional"},
	                              {"metadata.\"a.b\"", "exact optional"},
	                              {"zone", "exact"},
	                              {"a.b.c.d", "exact optional"},
	                              {"a.b.e", "exact optional"}}});
	EXPECT_EQ(
		recipe.intent(document(R"({"zone":1,"metadata":{"order_ref":"x","line":{"no":"2"}}})")),
		R"({"metadata":{"line":{"no":2},"order_ref":"x"},"zone":1})");
	EXPECT_EQ(recipe.intent(document(
				  R"({"zone":[],"a":{"b":{"c":{"d":1,"x":0},"e":2}},"metadata":{"a.b":{"k":1},)"
				  R"("order_ref":"x","line":{"no":3,"part":"P","junk":true}}})")),
	          R"({"a":{"b":{"c":{"d":1},"e":2}},"metadata":{"a.b":{"k":1},)"
	          R"("line":{"no":3,"part":"p"},"order_ref":"x"},"zone":[]})");
	EXPECT_EQ(recipe.intent(document(
				  R"({"zone":0,"a":{"b":{"e":2}},"metadata":{"order_ref":"x","line":{"no":1}}})")),
	          R"({"a":{"b":{"e":2}},"metadata":{"line":{"no":1},"order_ref":"x"},"zone":0})");
}

TEST(Recipe, C049_C052_absent_null_and_blank_optional_fields_differ) {
	TestRecipe recipe({.fields = {{"id", "exact"}, {"sku", "trim optional"}}});
	EXPECT_EQ(recipe.intent(document(R"({"id":1})")), R"({"id":1})");
	EXPECT_EQ(recipe.intent(document(R"({"id":1,"sku":null})")), R"({"id":1,"sku":null})");
	EXPECT_EQ(recipe.intent(document(R"({"id":1,"sku":""})")), R"({"id":1,"sku":""})");
	EXPECT_EQ(recipe.intent(document(R"({"id":1,"sku":" \t"})")), R"({"id":1,"sku":""})");
	EXPECT_EQ(recipe.intent(document(R"({"id":1,"sku":" k"})")), R"({"id":1,"sku":"k"})");
}

TEST(Recipe, C071_requests_without_any_key_field_do_not_share_a_key) {
	TestRecipe recipe({.fields = {{"id", "exact optional"}, {"sku", "trim optional"}}});
	EXPECT_EQ(recipe.fault(document("{}")).problem, Problem::NoKeyField);
	EXPECT_EQ(recipe.fault(document(R"({"n":1})")).problem, Problem::NoKeyField);
	EXPECT_EQ(recipe.fault(document(R"({"id":null,"sku":null})")).problem, Problem::NoKeyField);
	EXPECT_EQ(recipe.fault(document(R"({"id":1})")).problem, Problem::None);
	EXPECT_EQ(recipe.fault(document(R"({"sku":""})")).problem, Problem::None);
}

TEST(Recipe, C073_faults_name_the_field_as_the_policy_spells_it) {
	TestRecipe recipe({.fields = {{"\"charge\"", "trim"},
	                              {"amount", "minor_units(money.currency)"},
	                              {"meta.ref", "exact"},
	                              {"count", "number optional"}}});
	const auto expect = [&recipe](std::string_view json, Problem problem, std::string_view field) {
		const Fault fault = recipe.fault(document(json));
		EXPECT_EQ(fault.problem, problem) << json;
		EXPECT_EQ(fault.field, field) << json;
	};
	const std::string good =
		R"("amount":1.5,"charge":"c","meta":{"ref":"r"},"money":{"currency":"eur"})";
	expect("{" + good + "}", Problem::None, "");
	expect("{" + good + R"(,"count":null})", Problem::None, "");
	expect("{" + good + R"(,"count":"two"})", Problem::NotNumber, "count");
	expect("{" + good + R"(,"count":""})", Problem::NotNumber, "count");
	expect("{" + good + R"(,"count":1e101})", Problem::NumberTooLong, "count");
	expect("{" + good + R"(,"charge":" \u00a0"})", Problem::Blank, "\"charge\"");
	expect("{" + good + R"(,"charge":""})", Problem::Blank, "\"charge\"");
	expect("{" + good + R"(,"charge":null})", Problem::Null, "\"charge\"");
	expect("{" + good + R"(,"charge":7})", Problem::NotString, "\"charge\"");
	expect("{" + good + R"(,"amount":"  "})", Problem::Blank, "amount");
	expect("{" + good + R"(,"amount":1.505})", Problem::TooManyDecimals, "amount");
	expect("{" + good + R"(,"amount":{}})", Problem::NotNumber, "amount");
	expect("{" + good + R"(,"money":{"currency":"XAU"}})", Problem::UnknownCurrency, "amount");
	expect("{" + good + R"(,"money":{"currency":null}})", Problem::CurrencyMissing, "amount");
	expect("{" + good + R"(,"money":[]})", Problem::CurrencyMissing, "amount");
	expect("{" + good + R"(,"money":{}})", Problem::CurrencyMissing, "amount");
	expect("{" + good + R"(,"meta":{}})", Problem::Missing, "meta.ref");
	expect("{" + good + R"(,"meta":"ref"})", Problem::Missing, "meta.ref");
	expect("{" + good + R"(,"meta":[{"ref":1}]})", Problem::Missing, "meta.ref");
	expect("{" + good + R"(,"meta":{"ref":null}})", Problem::Null, "meta.ref");
	for (const char *json : {"[]", "null", "1", "\"x\"", R"([{"charge":"c"}])"})
		expect(json, Problem::ArgumentsNotObject, "");
}

TEST(Recipe, C043_what_the_fingerprint_covers) {
	TestRecipe recipe({.fields = {{"id", "exact"}, {"meta.ref", "exact optional"}},
	                   .unchecked = {"trace", "sdk.createdAt"}});
	const auto bound = [&recipe](std::string_view json) { return recipe.bound(document(json)); };
	EXPECT_EQ(bound(R"({"id":1,"b":2.0,"a":[1]})"), R"({"a":[1],"b":2})");
	EXPECT_EQ(bound(R"({"id":1})"), "unbound");
	EXPECT_EQ(bound(R"({"id":1,"trace":"x"})"), "unbound");
	EXPECT_EQ(bound(R"({"id":1,"note":null})"), R"({"note":null})") << "C049";
	EXPECT_EQ(bound(R"({"id":1,"sdk":{"createdAt":"01Z","v":3}})"), R"({"sdk":{"v":3}})") << "C061";
	EXPECT_EQ(bound(R"({"id":1,"sdk":{"createdAt":"01Z"}})"), R"({"sdk":{}})")
		<< "an emptied parent stays";
	EXPECT_EQ(bound(R"({"id":1,"meta":{"ref":"r"}})"), R"({"meta":{}})");
	EXPECT_EQ(bound(R"({"id":1,"meta":{"ref":"r","id":2}})"), R"({"meta":{"id":2}})");
	EXPECT_EQ(bound(R"({"id":1,"sdk":[{"createdAt":1}]})"), R"({"sdk":[{"createdAt":1}]})");
}

TEST(Recipe, C062_an_occurrence_binds_every_argument_that_is_checked) {
	TestRecipe recipe({.identity = Identity::Occurrence, .unchecked = {"id"}});
	EXPECT_EQ(recipe.bound(document(R"({"jsonrpc":"2.0","id":4})")), R"({"jsonrpc":"2.0"})");
	EXPECT_EQ(recipe.bound(document(R"({"id":4})")), "unbound");
	EXPECT_EQ(recipe.bound(document("{}")), "unbound");
	EXPECT_EQ(recipe.bound(document("[]")), "[]");
	EXPECT_EQ(recipe.bound(document("null")), "null");
	EXPECT_EQ(recipe.intent(document(R"({"id":4,"n":1})")), R"({"n":1})");
	TestRecipe with_fields({.identity = Identity::Occurrence, .fields = {{"id", "exact"}}});
	EXPECT_EQ(with_fields.bound(document(R"({"id":4})")), R"({"id":4})")
		<< "no field is in the key";
}

class ParseNormaliserTest : public ::testing::Test {
protected:
	bool parse(std::string_view text) {
		field = {};
		return parse_normaliser(text, arena, field);
	}

	TestArena memory;
	Arena arena = memory.arena();
	KeyField field;
};

TEST_F(ParseNormaliserTest, names) {
	const auto expect = [this](std::string_view text, NormaliserKind kind, bool optional) {
		EXPECT_TRUE(parse(text)) << text;
		EXPECT_EQ(field.normaliser.steps[0], kind) << text;
		EXPECT_EQ(field.optional, optional) << text;
	};
	expect("exact", NormaliserKind::Exact, false);
	expect("upper", NormaliserKind::Upper, false);
	expect("lower", NormaliserKind::Lower, false);
	expect("trim", NormaliserKind::Trim, false);
	expect("number", NormaliserKind::Number, false);
	expect("  upper\t", NormaliserKind::Upper, false);
	expect("trim optional", NormaliserKind::Trim, true);
	expect(" number \n optional ", NormaliserKind::Number, true);
	expect("optional", NormaliserKind::Exact, true);
	expect(" optional ", NormaliserKind::Exact, true);
	expect("minor_units(2) optional", NormaliserKind::MinorUnits, true);
}

TEST_F(ParseNormaliserTest, minor_units) {
	ASSERT_TRUE(parse("minor_units(currency)"));
	EXPECT_EQ(field.normaliser.unit.depth, 1);
	EXPECT_EQ(field.normaliser.unit.segments[0], "currency");
	ASSERT_TRUE(parse("minor_units( money.currency ) optional"));
	EXPECT_EQ(field.normaliser.unit.depth, 2);
	EXPECT_TRUE(field.optional);
	ASSERT_TRUE(parse(R"_(minor_units("price (net)".cur))_"));
	EXPECT_EQ(field.normaliser.unit.segments[0], "price (net)");
	ASSERT_TRUE(parse(R"_(minor_units(") optional"))_"));
	EXPECT_EQ(field.normaliser.unit.segments[0], ") optional");
	EXPECT_FALSE(field.optional);
	ASSERT_TRUE(parse(R"_(minor_units("2"))_")) << "a member named 2";
	EXPECT_EQ(field.normaliser.unit.segments[0], "2");
	for (const int digits : {0, 2, 9, 10, 18}) {
		ASSERT_TRUE(parse("minor_units(" + std::to_string(digits) + ")"));
		EXPECT_EQ(field.normaliser.digits, digits);
		EXPECT_EQ(field.normaliser.unit.depth, 0);
	}
}

TEST_F(ParseNormaliserTest, chains) {
	const auto expect = [this](std::string_view text, std::vector<NormaliserKind> steps,
	                           bool optional) {
		EXPECT_TRUE(parse(text)) << text;
		const auto chain = field.normaliser.chain();
		EXPECT_EQ(std::vector<NormaliserKind>(chain.begin(), chain.end()), steps) << text;
		EXPECT_EQ(field.optional, optional) << text;
	};
	using enum NormaliserKind;
	expect("trim|upper", {Trim, Upper}, false);
	expect(" trim | upper optional", {Trim, Upper}, true);
	expect("text|nfc|casefold|nfc", {Text, Nfc, Casefold, Nfc}, false);
	expect("trim|minor_units(currency)", {Trim, MinorUnits}, false);
	EXPECT_EQ(field.normaliser.unit.segments[0], "currency");
	expect(R"_(trim|minor_units("a|b") optional)_", {Trim, MinorUnits}, true);
	EXPECT_EQ(field.normaliser.unit.segments[0], "a|b");
	expect("trim|minor_units(2)|integer", {Trim, MinorUnits, Integer}, false);
	expect("trim|integer", {Trim, Integer}, false);
	expect("lower|boolean", {Lower, Boolean}, false);
	expect("set", {Set}, false);
	expect("uuid|upper", {Uuid, Upper}, false);
}

TEST_F(ParseNormaliserTest, refused) {
	for (const char *text : {"",
	                         " ",
	                         "Exact",
	                         "exact()",
	                         "exact(a)",
	                         "upper lower",
	                         "exactoptional",
	                         "optional optional",
	                         "optional exact",
	                         "trim optionally",
	                         "minor_units",
	                         "minor_units()",
	                         "minor_units( )",
	                         "minor_units(19)",
	                         "minor_units(02)",
	                         "minor_units(100)",
	                         "minor_units(-1)",
	                         "minor_units(+2)",
	                         "minor_units(2.0)",
	                         "minor_units(256)",
	                         "minor_units(a b)",
	                         "minor_units(a",
	                         "minor_units a)",
	                         "minor_units(a))",
	                         "minor_units((a)",
	                         "minor_units(a)(b)",
	                         "minor_units (a)",
	                         "minor_units(a.)",
	                         "minor_units(\"a)",
	                         "minor_units(a)optional",
	                         "round(2)",
	                         "exact optional x",
	                         "(a)",
	                         "upper|",
	                         "|upper",
	                         "upper||trim",
	                         "upper|exact",
	                         "exact|upper",
	                         "trim|optional",
	                         "trim| optional",
	                         "upper optional|trim",
	                         "upper|round",
	                         "trim|text|nfc|casefold|nfc",
	                         "number|upper",
	                         "boolean|number",
	                         "number|boolean",
	                         "upper|set",
	                         "set|upper",
	                         "minor_units(2)|minor_units(2)",
	                         "minor_units(2|3)",
	                         "trim|minor_units(a|b)"})
		EXPECT_FALSE(parse(text)) << text;
}

TEST_F(ParseNormaliserTest, a_refusal_changes_nothing) {
	ASSERT_TRUE(parse("upper optional"));
	EXPECT_FALSE(parse_normaliser("minor_units(19)", arena, field));
	EXPECT_EQ(field.normaliser.steps[0], NormaliserKind::Upper);
	EXPECT_TRUE(field.optional);
}

} // namespace
} // namespace pg_idem::test
