// Normalisers of text: white space, Unicode's forms, sets, booleans, UUIDs.

#include <string>

#include "core/unicode_form.hpp"
#include "core/value_set.hpp"
#include "unit/normaliser_fixture.hpp"

namespace pg_idem::test {
namespace {

using TextNormaliserTest = NormaliserTest;

TEST_F(TextNormaliserTest, text_has_single_spaces_inside_and_none_around) {
	for (const char *json : {R"("Late  delivery")", R"(" Late delivery\n")",
	                         R"("Late\u00a0\t\u2003delivery")", R"("\u3000Late\r\ndelivery ")"})
		EXPECT_EQ(normal("text", json), R"("Late delivery")") << json;
	EXPECT_EQ(normal("text", R"("Late\u200bdelivery")"), "\"Late\u200bdelivery\"");
	EXPECT_EQ(normal("text", R"("  ")"), R"("")");
	EXPECT_EQ(normal("text", R"("é  ü")"), R"("é ü")");
	EXPECT_EQ(problem("text", "5"), Problem::NotString);
	const std::string words(4000, 'w');
	EXPECT_EQ(normal("text", "\"" + words + "   " + words + "\""),
	          "\"" + words + " " + words + "\"");
}

TEST_F(TextNormaliserTest, casefold_folds_whatever_has_case) {
	for (const char *json : {R"("STRASSE")", R"("straße")", R"("STRAẞE")", R"("Strasse")"})
		EXPECT_EQ(normal("casefold", json), R"("strasse")") << json;
	EXPECT_EQ(normal("casefold", R"("ΟΔΟΣ")"), normal("casefold", R"("οδος")"));
	EXPECT_EQ(normal("casefold", R"("GBP @[`{z09")"), R"("gbp @[`{z09")");
	EXPECT_EQ(normal("casefold", R"("İ")"), R"("i̇")") << "not the Turkish folding";
	EXPECT_EQ(normal("casefold", R"("𐐀")"), R"("𐐨")") << "beyond the BMP";
	EXPECT_EQ(problem("casefold", "true"), Problem::NotString);
}

TEST_F(TextNormaliserTest, C053_nfc_makes_canonically_equivalent_spellings_one) {
	EXPECT_EQ(normal("nfc", R"("Zoe\u0308")"), R"("Zoë")");
	EXPECT_EQ(normal("nfc", R"("Zoë")"), R"("Zoë")");
	EXPECT_EQ(normal("nfc", R"("\u212b")"), R"("Å")") << "the angstrom sign is a letter";
	EXPECT_EQ(normal("nfc", R"("q\u0307\u0323")"), normal("nfc", R"("q\u0323\u0307")"));
	EXPECT_EQ(normal("nfc", R"("\u1100\u1161\u11a8")"), R"("각")");
	EXPECT_EQ(normal("nfc", R"("ﬁ ²")"), R"("ﬁ ²")") << "compatibility characters stay";
	EXPECT_EQ(normal("nfc", R"("Zoe")"), R"("Zoe")");
	EXPECT_EQ(problem("nfc", "[]"), Problem::NotString);
}

TEST_F(TextNormaliserTest, what_a_later_unicode_may_change_is_refused) {
	for (const char *step : {"nfc", "casefold"}) {
		EXPECT_EQ(problem(step, R"("a\u0378")"), Problem::UnassignedCharacter);
		EXPECT_EQ(problem(step, R"("\uffff")"), Problem::UnassignedCharacter);
		EXPECT_EQ(problem(step, R"("\udbff\udffe")"), Problem::UnassignedCharacter);
		EXPECT_EQ(problem(step, R"("\ue000")"), Problem::None)
			<< "private use keeps its properties";
	}
}

TEST_F(TextNormaliserTest, texts_of_any_size_up_to_the_limit) {
	for (const std::size_t count : {42U, 43U, 64U, 65U, 85U, 86U, 128U, 129U, 50000U}) {
		std::string decomposed, composed, folded;
		for (std::size_t i = 0; i < count; ++i) {
			decomposed += "E\u0308";
			composed += "Ë";
			folded += "ë";
		}
		EXPECT_EQ(normal("nfc", "\"" + decomposed + "\""), "\"" + composed + "\"");
		EXPECT_EQ(normal("nfc|casefold", "\"" + decomposed + "\""), "\"" + folded + "\"");
		// Each of them becomes three characters.
		std::string ligatures, letters;
		for (std::size_t i = 0; i < count; ++i) {
			ligatures += "ﬃ";
			letters += "ffi";
		}
		EXPECT_EQ(normal("casefold", "\"" + ligatures + "\""), "\"" + letters + "\"");
	}
	const std::string long_text = "\"é" + std::string(text_limit, 'e') + "\"";
	EXPECT_EQ(problem("nfc", long_text), Problem::TooLong);
	EXPECT_EQ(problem("casefold", long_text), Problem::TooLong);
}

TEST_F(TextNormaliserTest, a_chain_hands_on_what_each_step_gives) {
	EXPECT_EQ(normal("trim|upper", R"(" gbp\t")"), R"("GBP")");
	EXPECT_EQ(normal("text|nfc|casefold|nfc", R"("  ZOE\u0308   A\u030aHL ")"), R"("zoë åhl")");
	EXPECT_EQ(normal("upper|lower|upper|lower", R"("aBc")"), R"("abc")");
	EXPECT_EQ(normal("uuid|upper", R"("{0189d2a0-7c1e-7abc-8def-0123456789ab}")"),
	          R"("0189D2A0-7C1E-7ABC-8DEF-0123456789AB")");
	EXPECT_EQ(normal("trim|integer", R"(" 007 ")"), "7");
	EXPECT_EQ(normal("trim|number", "5.50"), "[NotString]") << "trim wants text";
	EXPECT_EQ(normal("minor_units(2)|integer", R"("1.20")"), "120");
	EXPECT_EQ(normal("number|minor_units(2)|number|integer", R"("1.20")"), "120");
	EXPECT_EQ(normal("trim|minor_units(currency)", R"(" 129.990 ")", R"("GBP")"), "12999");
	EXPECT_EQ(normal("trim|minor_units(currency)", R"(" 129.999 ")", R"("GBP")"),
	          "[TooManyDecimals]");
	const std::string letters(1000, 'x');
	EXPECT_EQ(normal("upper|text|lower|upper", "\" " + letters + "  " + letters + " \""),
	          "\"" + std::string(1000, 'X') + " " + std::string(1000, 'X') + "\"");
}

TEST_F(TextNormaliserTest, boolean) {
	for (const char *json : {"true", R"("true")", R"("TRUE")", R"("True")"})
		EXPECT_EQ(normal("boolean", json), "true") << json;
	for (const char *json : {"false", R"("false")", R"("FALSE")"})
		EXPECT_EQ(normal("boolean", json), "false") << json;
	for (const char *json : {"1", "0", R"("1")", R"("yes")", R"("t")", R"("on")", R"(" true")",
	                         R"("truetrue")", R"("")", "[]", "{}"})
		EXPECT_EQ(problem("boolean", json), Problem::NotBoolean) << json;
	EXPECT_EQ(normal("trim|boolean", R"(" true ")"), "true");
}

TEST_F(TextNormaliserTest, set) {
	EXPECT_EQ(normal("set", R"(["b","a","b"])"), R"(["a","b"])");
	EXPECT_EQ(normal("set", "[]"), "[]");
	EXPECT_EQ(normal("set", "[1.0,10,9,1,10e-1]"), "[1,10,9]") << "in the order of their texts";
	EXPECT_EQ(normal("set", R"([{"b":1,"a":2},null,"null",{"a":2.0,"b":1},true,[2,1]])"),
	          R"(["null",[2,1],null,true,{"a":2,"b":1}])")
		<< "an array inside keeps its order";
	EXPECT_EQ(normal("set", R"(["\uff61","\ud83d\ude00"])"), R"(["😀","｡"])")
		<< "by UTF-16 code units, as members are";
	EXPECT_EQ(normal("set", R"([["a","b"],["b","a"]])"), R"([["a","b"],["b","a"]])");
	EXPECT_EQ(normal("set|set", R"(["b","a"])"), R"(["a","b"])");
	for (const char *json : {"1", R"("a")", "true", "{}"})
		EXPECT_EQ(problem("set", json), Problem::NotArray) << json;
}

TEST_F(TextNormaliserTest, sets_have_a_limit) {
	const std::string element(1000, 'x');
	std::string json = "[";
	for (int i = 0; i < 1000; ++i)
		json += "\"" + element + std::to_string(1000 + i) + "\",";
	EXPECT_TRUE(normal("set", json + "0]") == json + "0]");
	EXPECT_TRUE(normal("set", "[0," + json.substr(1) + "0]") == json + "0]");
	EXPECT_EQ(problem("set", "[\"" + std::string(set_limit - 4, 'x') + "\"]"), Problem::None);
	EXPECT_EQ(problem("set", "[\"" + std::string(set_limit - 3, 'x') + "\"]"), Problem::TooLong);
}

TEST_F(TextNormaliserTest, uuid) {
	for (const char *json :
	     {R"("0189d2a0-7c1e-7abc-8def-0123456789ab")", R"("0189D2A0-7C1E-7ABC-8DEF-0123456789AB")",
	      R"("0189d2a07c1e7abc8def0123456789ab")", R"("{0189d2a0-7c1e-7abc-8def-0123456789AB}")",
	      R"("URN:UUID:0189d2a0-7c1e-7abc-8def-0123456789ab")",
	      R"("{0189D2A07C1E7ABC8DEF0123456789AB}")"})
		EXPECT_EQ(normal("uuid", json), R"("0189d2a0-7c1e-7abc-8def-0123456789ab")") << json;
	for (const char *json :
	     {R"("")", R"(" 0189d2a0-7c1e-7abc-8def-0123456789ab")",
	      R"("0189d2a0-7c1e-7abc-8def-0123456789a")", R"("0189d2a0-7c1e-7abc-8def-0123456789abc")",
	      R"("0189d2a0-7c1e-7abc-8def-0123456789ag")", R"("0189d2a0-7c1e-7abc-8def+0123456789ab")",
	      R"("0189d2a07-c1e-7abc-8def-0123456789ab")", R"("0189d2a0-7c1e7abc-8def-0123456789ab-")",
	      R"("{0189d2a0-7c1e-7abc-8def-0123456789ab")", R"("{}")", R"("urn:uuid:")"})
		EXPECT_EQ(problem("uuid", json), Problem::NotUuid) << json;
	EXPECT_EQ(problem("uuid", "1"), Problem::NotString);
}

} // namespace
} // namespace pg_idem::test
