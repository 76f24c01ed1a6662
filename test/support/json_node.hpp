// A JSON document as a tree, for tests.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/normaliser.hpp"

namespace pg_idem::test {

struct JsonMember;

struct JsonNode {
	Kind kind = Kind::Null;
	bool boolean = false;
	bool negative = false;
	std::int32_t weight = 0;
	std::vector<std::int16_t> groups;
	std::string string;
	std::vector<JsonNode> elements;
	std::vector<JsonMember> members; // in canonical order, no name twice

	Number number() const;
	const JsonNode *member(std::string_view name) const;
};

struct JsonMember {
	std::string name;
	JsonNode value;
};

// A number from its decimal digits: ±digits * 10^exponent. Digits may start or end with zeros.
JsonNode number_node(bool negative, std::string_view digits, std::int64_t exponent);
JsonNode integer_node(std::int64_t value);
JsonNode string_node(std::string_view text);

// Puts members into canonical order; of members with one name the last stays.
void sort_members(JsonNode &object);

// What PostgreSQL's jsonb accepts in a UTF-8 database: strict syntax, no U+0000, no lone surrogate,
// numbers within numeric's range, the last of duplicate members. Nothing: not accepted.
std::optional<JsonNode> parse_json(std::string_view text);

// Equality of values, found without the canonical form.
bool equal(const JsonNode &a, const JsonNode &b);

} // namespace pg_idem::test
