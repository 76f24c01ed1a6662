#include "core/path.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/test_arena.hpp"

namespace pg_idem::test {
namespace {

class PathTest : public ::testing::Test {
protected:
	Path parse(std::string_view text) {
		Path path;
		EXPECT_TRUE(parse_path(text, arena, path)) << text;
		return path;
	}

	std::vector<std::string> segments(std::string_view text) {
		const Path path = parse(text);
		return {path.segments.begin(), path.segments.begin() + path.depth};
	}

	bool is_refused(std::string_view text) {
		Path path;
		path.depth = 7;
		const bool refused = !parse_path(text, arena, path);
		EXPECT_TRUE(!refused || path.depth == 7) << "a refusal changes nothing";
		return refused;
	}

	TestArena memory;
	Arena arena = memory.arena();
};

using Segments = std::vector<std::string>;

TEST_F(PathTest, dotted) {
	EXPECT_EQ(segments("amount"), Segments({"amount"}));
	EXPECT_EQ(segments("metadata.order_ref"), Segments({"metadata", "order_ref"}));
	EXPECT_EQ(segments("a.b.c"), Segments({"a", "b", "c"}));
	EXPECT_EQ(segments("größe.10.$x-y/z"), Segments({"größe", "10", "$x-y/z"}));
}

TEST_F(PathTest, quoted) {
	EXPECT_EQ(segments(R"("a.b".c)"), Segments({"a.b", "c"}));
	EXPECT_EQ(segments(R"(c."a.b")"), Segments({"c", "a.b"}));
	EXPECT_EQ(segments(R"("say ""hi""")"), Segments({R"(say "hi")"}));
	EXPECT_EQ(segments(R"("")"), Segments({""}));
	EXPECT_EQ(segments(R"("".a."")"), Segments({"", "a", ""}));
	EXPECT_EQ(segments(R"("f(x)|g")"), Segments({"f(x)|g"}));
	EXPECT_EQ(segments(R"("""")"), Segments({"\""}));
	EXPECT_EQ(segments("\"two words\".\"\u00a0\""), Segments({"two words", "\u00a0"}));
}

TEST_F(PathTest, refused) {
	for (const char *text :
	     {"",       ".",        "a.",      ".a",     "a..b",  "a b",     " a",    "a ",
	      "a\tb",   "a\u00a0b", "a\u3000", "a(b",    "a)b",   "a|b",     "a\"b",  "\"a",
	      "\"a\"b", "\"a\" .b", "\"",      "\"\"\"", "a.\"b", "\"a\"\"", "\"a\"."})
		EXPECT_TRUE(is_refused(text)) << text;
}

TEST_F(PathTest, depth) {
	std::string text = "s";
	for (std::size_t i = 1; i < max_path_depth; ++i)
		text += ".s";
	EXPECT_EQ(segments(text).size(), max_path_depth);
	EXPECT_TRUE(is_refused(text + ".s"));
}

TEST_F(PathTest, outlives_its_text) {
	std::string text = "metadata.order_ref";
	const Path path = parse(text);
	text.assign(text.size(), 'x');
	EXPECT_EQ(path.segments[0], "metadata");
	EXPECT_EQ(path.segments[1], "order_ref");
}

TEST_F(PathTest, covers_itself_and_what_is_below) {
	EXPECT_TRUE(covers(parse("a"), parse("a")));
	EXPECT_TRUE(covers(parse("a"), parse("a.b")));
	EXPECT_TRUE(covers(parse("a.b"), parse("a.b.c")));
	EXPECT_FALSE(covers(parse("a.b"), parse("a")));
	EXPECT_FALSE(covers(parse("a"), parse("ab")));
	EXPECT_FALSE(covers(parse("a.b"), parse("a.c")));
	EXPECT_FALSE(covers(parse(R"("a.b")"), parse("a.b")));
	EXPECT_TRUE(covers(Path(), parse("a"))) << "the root is above everything";
}

TEST_F(PathTest, order_is_that_of_the_members) {
	const std::vector<Path> ordered{parse("a"),   parse("a.b"),        parse("a.b.c"),
	                                parse("a.z"), parse(R"("a b")"),   parse(R"("a.b")"),
	                                parse("aa"),  parse("\U0001F600"), parse("\uff20")};
	for (std::size_t i = 0; i < ordered.size(); ++i) {
		for (std::size_t j = 0; j < ordered.size(); ++j)
			EXPECT_EQ(path_before(ordered[i], ordered[j]), i < j) << i << " " << j;
	}
}

TEST_F(PathTest, spelled_with_quotes_only_where_they_are_needed) {
	for (const char *text : {"amount", "a.b.c", R"("a.b".c)", R"("say ""hi""".x)", R"("")",
	                         R"("f(x)|g".größe)", R"("a b")", "\"\u00a0\".x"})
		EXPECT_EQ(spell_path(parse(text), arena), text);
	EXPECT_EQ(spell_path(parse(R"("a"."b")"), arena), "a.b");
	EXPECT_EQ(spell_path(Path{}, arena), "");
}

} // namespace
} // namespace pg_idem::test
