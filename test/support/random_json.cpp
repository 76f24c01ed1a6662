#include "support/random_json.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace pg_idem::test {

namespace {

// Characters of every length in UTF-8, those that are escaped, and those that sort differently in
// UTF-8 and UTF-16.
constexpr std::array characters{"a",  "b",    "Z",    "1", " ",      "\"",     "\\",         "/",
                                "\n", "\x1f", "\x7f", "é", "\u20ac", "\uff20", "\U0001F600", "."};

// The code point at `at`, which moves on.
std::uint32_t take_code_point(const std::string &text, std::size_t &at) {
	const auto byte = [&] { return static_cast<unsigned char>(text[at++]); };
	const std::uint32_t lead = byte();
	const int more = lead < 0xC0 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
	std::uint32_t code_point = more == 0 ? lead : lead & (0x3FU >> more);
	for (int i = 0; i < more; ++i)
		code_point = code_point << 6 | (byte() & 0x3F);
	return code_point;
}

std::string escaped_unit(std::uint32_t unit) {
	std::array<char, 8> text{};
	std::snprintf(text.data(), text.size(), "\\u%04x", unit);
	return text.data();
}

} // namespace

JsonNode RandomJson::string() {
	std::string text;
	for (std::size_t n = chance(95) ? below(4) : below(40); n > 0; --n)
		text += characters[below(characters.size())];
	return string_node(text);
}

std::string RandomJson::name() {
	return chance(70) ? std::string{"abc"[below(3)]} : string().string;
}

JsonNode RandomJson::number() {
	std::string digits;
	for (std::size_t n = chance(90) ? 1 + below(2) : 1 + below(30); n > 0; --n)
		digits.push_back(static_cast<char>('0' + below(chance(80) ? 3 : 10)));
	const std::int64_t exponent = chance(60) ? 0 : static_cast<std::int64_t>(below(50)) - 25;
	return number_node(chance(20), digits, exponent);
}

JsonNode RandomJson::scalar() {
	JsonNode node;
	switch (below(5)) {
	case 0: return node;
	case 1:
		node.kind = Kind::Boolean;
		node.boolean = chance(50);
		return node;
	case 2: return string();
	default: return number();
	}
}

JsonNode RandomJson::object(int depth) {
	JsonNode node;
	node.kind = Kind::Object;
	for (std::size_t n = chance(97) ? below(4) : below(40); n > 0; --n)
		node.members.push_back({name(), value(depth - 1)});
	sort_members(node);
	return node;
}

JsonNode RandomJson::value(int depth) {
	if (depth <= 0 || chance(40))
		return scalar();
	if (chance(60))
		return object(depth);
	JsonNode node;
	node.kind = Kind::Array;
	for (std::size_t n = below(4); n > 0; --n)
		node.elements.push_back(value(depth - 1));
	return node;
}

void RandomJson::change_a_leaf(JsonNode &node) {
	if (!node.members.empty()) {
		change_a_leaf(node.members[below(node.members.size())].value);
	} else if (!node.elements.empty()) {
		change_a_leaf(node.elements[below(node.elements.size())]);
	} else {
		const JsonNode before = node;
		do {
			node = value(1);
		} while (equal(node, before));
	}
}

std::string RandomJson::space() {
	std::string text;
	while (chance(15))
		text.push_back(" \t\n\r"[below(4)]);
	return text;
}

std::string RandomJson::spelt_string(const std::string &text) {
	std::string out = "\"";
	for (std::size_t at = 0; at < text.size();) {
		const std::size_t begin = at;
		const std::uint32_t code_point = take_code_point(text, at);
		const bool must = code_point < 0x20 || code_point == '"' || code_point == '\\';
		if (!must && !chance(20)) {
			out += text.substr(begin, at - begin);
		} else if (code_point == '"' || code_point == '\\' || code_point == '/') {
			out += chance(50) ? std::string{'\\', static_cast<char>(code_point)}
			                  : escaped_unit(code_point);
		} else if (code_point >= 0x10000) {
			out += escaped_unit(0xD800 + ((code_point - 0x10000) >> 10)) +
			       escaped_unit(0xDC00 + ((code_point - 0x10000) & 0x3FF));
		} else {
			out += escaped_unit(code_point);
		}
	}
	return out + "\"";
}

std::string RandomJson::spelt_number(const JsonNode &node) {
	std::string digits;
	for (const std::int16_t group : node.groups) {
		std::array<char, 8> text{};
		std::snprintf(text.data(), text.size(), "%04d", group);
		digits += text.data();
	}
	std::int64_t exponent = 4 * (node.weight + 1 - static_cast<std::int64_t>(node.groups.size()));
	digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));

	// Zeros appended, a point somewhere, and the exponent that makes up for both.
	for (std::size_t zeros = digits == "0" ? 0 : below(3); zeros > 0; --zeros, --exponent)
		digits.push_back('0');
	if (digits.size() > 1 && chance(50)) {
		const std::size_t decimals = 1 + below(digits.size() - 1);
		digits.insert(digits.size() - decimals, ".");
		exponent += static_cast<std::int64_t>(decimals);
	}
	std::string out = (node.negative ? "-" : "") + digits;
	if (exponent != 0 || chance(10)) {
		out += chance(50) ? "e" : "E";
		out += exponent < 0 ? "-" : chance(50) ? "+" : "";
		out += std::string(below(2), '0') + std::to_string(std::abs(exponent));
	}
	return out;
}

std::string RandomJson::spelt_object(const JsonNode &node) {
	std::vector<std::string> members;
	for (const JsonMember &member : node.members) {
		// A duplicate that a later member overrides.
		std::string text;
		if (chance(10))
			text = spelt_string(member.name) + ":" + spelling(scalar()) + "," + space();
		text += spelt_string(member.name) + space() + ":" + space() + spelling(member.value);
		members.push_back(text);
	}
	std::shuffle(members.begin(), members.end(), random_);
	std::string out = "{" + space();
	for (std::size_t i = 0; i < members.size(); ++i)
		out += (i > 0 ? "," + space() : "") + members[i] + space();
	return out + "}";
}

std::string RandomJson::spelling(const JsonNode &node) {
	switch (node.kind) {
	case Kind::Null: return "null";
	case Kind::Boolean: return node.boolean ? "true" : "false";
	case Kind::String: return spelt_string(node.string);
	case Kind::Number: return spelt_number(node);
	case Kind::Object: return spelt_object(node);
	case Kind::Array: break;
	}
	std::string out = "[" + space();
	for (std::size_t i = 0; i < node.elements.size(); ++i)
		out += (i > 0 ? "," + space() : "") + spelling(node.elements[i]) + space();
	return out + "]";
}

} // namespace pg_idem::test
