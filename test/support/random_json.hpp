// Random documents, and random spellings of a document.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>

#include "support/json_node.hpp"

namespace pg_idem::test {

class RandomJson {
public:
	explicit RandomJson(std::uint64_t seed) : random_(seed) {}

	// Any value, with containers down to `depth` levels; small sets of names, strings and digits, so
	// that equal values occur often.
	JsonNode value(int depth);
	JsonNode object(int depth);
	JsonNode number();
	JsonNode string();

	// JSON text of the value: white space, escapes, order of members, duplicates and the spelling of
	// numbers are random.
	std::string spelling(const JsonNode &node);

	// Changes one scalar or empty container somewhere in the value to another value.
	void change_a_leaf(JsonNode &node);

	// At random: an index below `n`, a chance in hundred.
	std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
	bool chance(unsigned percent) { return below(100) < percent; }

private:
	JsonNode scalar();
	std::string name();
	std::string space();
	std::string spelt_string(const std::string &text);
	std::string spelt_number(const JsonNode &node);
	std::string spelt_object(const JsonNode &node);

	std::mt19937_64 random_;
};

} // namespace pg_idem::test
