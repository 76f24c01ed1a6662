// The canonical form of documents, against published vectors and our own.

#include <gtest/gtest.h>

#include <string>

#include "core/canonical.hpp"
#include "support/json_document.hpp"
#include "support/vectors.hpp"

namespace pg_idem::test {
namespace {

TEST(Canonical, C037_C040_three_thousand_documents) {
	const std::vector<std::string> in = vector_lines("docs_in.jsonl");
	const std::vector<std::string> out = vector_lines("docs_out.jsonl");
	const std::vector<std::string> digests = vector_lines("docs_sha256.txt");
	ASSERT_EQ(in.size(), 3000U);
	ASSERT_EQ(out.size(), in.size());
	ASSERT_EQ(digests.size(), in.size());
	for (std::size_t i = 0; i < in.size(); ++i) {
		const std::string text = canonical_text(in[i]);
		ASSERT_EQ(text, out[i]) << "line " << i + 1;
		ASSERT_EQ(sha256_hex(text), digests[i]) << "line " << i + 1;
		ASSERT_EQ(canonical_text(text), text) << "line " << i + 1;
	}
}

TEST(Canonical, rfc8785_samples) {
	for (const std::string name : {"arrays", "french", "structures", "unicode", "weird"}) {
		const std::string text = canonical_text(read_vector("cyberphone/input/" + name + ".json"));
		EXPECT_EQ(text, read_vector("cyberphone/output/" + name + ".json")) << name;

		std::string bytes;
		for (const char c : read_vector("cyberphone/outhex/" + name + ".txt")) {
			if (c != ' ' && c != '\n')
				bytes.push_back(c);
		}
		EXPECT_EQ(hex(reinterpret_cast<const std::uint8_t *>(text.data()), text.size()), bytes);
	}
}

// RFC 8785 passes numbers through a double, which makes 333333333.33333329 another number.
TEST(Canonical, rfc8785_sample_that_differs_by_design) {
	const std::string text = canonical_text(read_vector("cyberphone/input/values.json"));
	EXPECT_EQ(text, R"({"literals":[null,true,false],)"
	                R"("numbers":[333333333.33333329,1e+30,4.5,0.002,1e-27],)"
	                R"("string":"€$\u000f\nA'B\"\\\\\"/"})");
	std::string rounded = text;
	rounded.replace(rounded.find("333333333.33333329"), 18, "333333333.3333333");
	EXPECT_EQ(rounded, read_vector("cyberphone/output/values.json"));
}

TEST(Canonical, C055_C057_C059_edge_documents) {
	int accepted = 0;
	int refused = 0;
	for (const std::string &line : vector_lines("edge.jsonl")) {
		const JsonNode row = document(line).node();
		const std::string &id = row.member("id")->string;
		std::string text;
		if (const JsonNode *repeat = row.member("repeat")) {
			const std::size_t depth = std::stoul(canonical_text(repeat->elements[1]));
			for (std::size_t i = 0; i < depth; ++i)
				text += repeat->elements[0].string;
			for (std::size_t i = 0; i < depth; ++i)
				text += repeat->elements[2].string;
		} else if (const JsonNode *bytes = row.member("hex")) {
			for (std::size_t i = 0; i < bytes->string.size(); i += 2)
				text.push_back(
					static_cast<char>(std::stoi(bytes->string.substr(i, 2), nullptr, 16)));
		} else {
			text = row.member("text")->string;
		}

		if (const JsonNode *canon = row.member("canon")) {
			EXPECT_EQ(canonical_text(text), row.member("repeat") ? text : canon->string) << id;
			++accepted;
		} else {
			// What the server refuses never reaches the core; the tests' parser refuses it as well.
			EXPECT_FALSE(parse_json(text).has_value()) << id;
			++refused;
		}
	}
	EXPECT_EQ(accepted + refused, 113);
	EXPECT_GT(accepted, 60);
}

TEST(Canonical, C037_order_of_members_does_not_count) {
	EXPECT_EQ(canonical_text(R"({"payee":"N-4","amount":{"v":"12.50","c":"EUR"}})"),
	          canonical_text(R"({"amount":{"c":"EUR","v":"12.50"},"payee":"N-4"})"));
	EXPECT_EQ(canonical_text(R"({"b":2,"aaa":1})"), R"({"aaa":1,"b":2})");
}

TEST(Canonical, C038_C041_C043_strings_are_opaque) {
	EXPECT_NE(canonical_text(R"({"body":"{\"a\":1,\"b\":2}"})"),
	          canonical_text(R"({"body":"{\"b\":2,\"a\":1}"})"));
	EXPECT_NE(canonical_text(R"({"at":"2031-02-03T04:05:06.000+02:00"})"),
	          canonical_text(R"({"at":"2031-02-03T04:05:06+02:00"})"));
	EXPECT_NE(canonical_text(R"({"amt":"0.50"})"), canonical_text(R"({"amt":"0.5"})"));
	EXPECT_NE(canonical_text(R"({"ids":[7]})"), canonical_text(R"({"ids":["7"]})")) << "C047";
}

TEST(Canonical, C049_C050_C052_null_absent_and_empty_are_four_things) {
	const std::array texts{
		canonical_text(R"({"f":{"a":[]}})"),
		canonical_text(R"({"f":{"a":{}}})"),
		canonical_text(R"({"f":{"a":null}})"),
		canonical_text(R"({"f":{}})"),
		canonical_text(R"({"f":null})"),
		canonical_text(R"({"f":""})"),
		canonical_text(R"({})"),
		canonical_text(R"([])"),
	};
	for (std::size_t i = 0; i < texts.size(); ++i) {
		for (std::size_t j = i + 1; j < texts.size(); ++j)
			EXPECT_NE(texts[i], texts[j]);
	}
}

TEST(Canonical, C053_code_points_are_exact) {
	EXPECT_NE(canonical_text(R"({"name":"Zo\u00eb"})"), canonical_text(R"({"name":"Zoe\u0308"})"));
	EXPECT_EQ(canonical_text(R"({"name":"Zo\u00eb"})"), "{\"name\":\"Zo\u00eb\"}");
}

TEST(Canonical, escapes) {
	std::string text;
	for (char c = 1; c < 0x20; ++c)
		text.push_back(c);
	text += "\"\\/\x7f";
	EXPECT_EQ(canonical_text(string_node(text)),
	          R"("\u0001\u0002\u0003\u0004\u0005\u0006\u0007\b\t\n\u000b\f\r\u000e\u000f)"
	          R"(\u0010\u0011\u0012\u0013\u0014\u0015\u0016\u0017\u0018\u0019\u001a\u001b\u001c)"
	          R"(\u001d\u001e\u001f\"\\/)"
	          "\x7f\"");
	EXPECT_EQ(canonical_text(string_node(std::string_view("\0", 1))), R"("\u0000")");
}

// A byte that needs an escape is found wherever it stands, and no other byte is touched.
TEST(Canonical, escapes_at_every_offset) {
	for (std::size_t size = 1; size <= 40; ++size) {
		for (std::size_t at = 0; at < size; ++at) {
			for (const char byte :
			     {'"', '\\', '\n', '\x1f', '\x20', '\x21', '\x23', '\x5b', '\x5d', '\x7f'}) {
				std::string text(size, 'x');
				text[at] = byte;
				std::string escaped = byte == '"' || byte == '\\' ? std::string{'\\', byte}
				                      : byte == '\n'              ? "\\n"
				                      : byte == '\x1f'            ? "\\u001f"
				                                                  : std::string{byte};
				const std::string expected =
					"\"" + std::string(at, 'x') + escaped + std::string(size - at - 1, 'x') + "\"";
				ASSERT_EQ(canonical_text(string_node(text)), expected);
			}
		}
	}
	for (int lead = 0x80; lead < 0x100; ++lead) {
		const std::string text(9, static_cast<char>(lead)); // not UTF-8, and still not touched
		ASSERT_EQ(canonical_text(string_node(text)), "\"" + text + "\"");
	}
}

// Whatever the buffer holds when a piece arrives, the bytes come out whole and in order.
TEST(Canonical, pieces_of_every_size_cross_the_buffer) {
	for (std::size_t before = 0; before <= 2100;
	     before += before < 1000 || before > 1060 ? 97 : 1) {
		for (const std::size_t size : {0U, 1U, 2U, 24U, 1021U, 1022U, 1023U, 1024U, 1025U, 3000U}) {
			const std::string padding(before, 'p');
			const std::string text(size, 't');
			const std::string out = written([&](CanonicalWriter &writer) {
				writer.verbatim(padding);
				writer.begin_array();
				writer.string(text);
				writer.number(number_node(true, "1234567890123456", 0).number());
				writer.number(number_node(false, "12999", -2).number());
				writer.string("a\x01" + text + "\n");
				writer.boolean(false);
				writer.null();
				writer.end_array();
			});
			ASSERT_EQ(out, padding + "[\"" + text + "\",-1234567890123456,129.99,\"a\\u0001" +
			                   text + "\\n\",false,null]");
		}
	}
}

TEST(Canonical, the_sink_is_called_only_when_the_buffer_is_full_or_bypassed) {
	struct Calls {
		std::vector<std::size_t> sizes;
	} calls;
	const Sink counting{[](void *state, const char *, std::size_t count) {
							static_cast<Calls *>(state)->sizes.push_back(count);
						},
	                    &calls};
	CanonicalWriter writer(counting);
	writer.begin_array();
	for (int i = 0; i < 100; ++i)
		writer.string("1234567");
	EXPECT_TRUE(calls.sizes.empty());
	writer.string(std::string(100000, 'x'));
	writer.end_array();
	writer.flush();
	writer.flush();
	ASSERT_EQ(calls.sizes.size(), 3U) << "what was there, the long string, the rest";
	EXPECT_EQ(calls.sizes[1], 100000U);
}

TEST(Canonical, C059_depth_costs_the_writer_nothing) {
	const std::string out = written([](CanonicalWriter &writer) {
		for (int i = 0; i < 1000000; ++i)
			writer.begin_array();
		for (int i = 0; i < 1000000; ++i)
			writer.end_array();
	});
	EXPECT_EQ(out, std::string(1000000, '[') + std::string(1000000, ']'));
}

TEST(Canonical, a_document_after_verbatim_bytes_takes_no_separator) {
	const std::string out = written([](CanonicalWriter &writer) {
		writer.verbatim("first:");
		writer.begin_object();
		writer.end_object();
		writer.verbatim("second:");
		writer.begin_array();
		writer.end_array();
	});
	EXPECT_EQ(out, "first:{}second:[]");
}

} // namespace
} // namespace pg_idem::test
