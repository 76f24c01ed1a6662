// parse_json of json_node.hpp.

#include <algorithm>
#include <cstddef>

#include "support/json_node.hpp"

namespace pg_idem::test {

namespace {

// jsonb's limit is the server's stack; this one keeps those who walk the tree off theirs.
constexpr std::size_t deepest = 12000;

// numeric's limits: digits before the point, and decimals.
constexpr std::int64_t most_integer_digits = 131072;
constexpr std::int64_t most_decimals = 16383;

void append_utf8(std::string &out, std::uint32_t code_point) {
	const auto put = [&out](std::uint32_t byte) { out.push_back(static_cast<char>(byte)); };
	if (code_point < 0x80) {
		put(code_point);
	} else if (code_point < 0x800) {
		put(0xC0 | code_point >> 6);
		put(0x80 | (code_point & 0x3F));
	} else if (code_point < 0x10000) {
		put(0xE0 | code_point >> 12);
		put(0x80 | (code_point >> 6 & 0x3F));
		put(0x80 | (code_point & 0x3F));
	} else {
		put(0xF0 | code_point >> 18);
		put(0x80 | (code_point >> 12 & 0x3F));
		put(0x80 | (code_point >> 6 & 0x3F));
		put(0x80 | (code_point & 0x3F));
	}
}

// The size of the valid UTF-8 character at the start of `text`, or 0.
std::size_t utf8_size(std::string_view text) {
	const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
	const unsigned char lead = byte(0);
	const std::size_t size = lead < 0x80   ? 1
	                         : lead < 0xC2 ? 0
	                         : lead < 0xE0 ? 2
	                         : lead < 0xF0 ? 3
	                         : lead < 0xF5 ? 4
	                                       : 0;
	if (size > text.size())
		return 0;
	for (std::size_t i = 1; i < size; ++i) {
		if ((byte(i) & 0xC0) != 0x80)
			return 0;
	}
	if ((lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xED && byte(1) > 0x9F) ||
	    (lead == 0xF0 && byte(1) < 0x90) || (lead == 0xF4 && byte(1) > 0x8F))
		return 0;
	return size;
}

class Parser {
public:
	explicit Parser(std::string_view text) : rest_(text) {}

	bool document(JsonNode &node) {
		if (!value(node))
			return false;
		skip_space();
		return rest_.empty();
	}

private:
	void skip_space() {
		rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\n\r"), rest_.size()));
	}

	bool take(std::string_view expected) {
		if (!rest_.starts_with(expected))
			return false;
		rest_.remove_prefix(expected.size());
		return true;
	}

	// Without recursion, so that deep documents need no stack, sanitizers or not. A container's vector
	// does not grow while one of its members is read, so pointers into it hold that long.
	bool value(JsonNode &root) {
		std::vector<JsonNode *> open;
		for (JsonNode *node = &root; node != nullptr;) {
			skip_space();
			if (rest_.starts_with('[') || rest_.starts_with('{')) {
				node->kind = rest_.front() == '[' ? Kind::Array : Kind::Object;
				rest_.remove_prefix(1);
				if (open.size() > deepest)
					return false;
				open.push_back(node);
				skip_space();
				if (!rest_.starts_with(closing(*node))) {
					if (!next_member(*node, node))
						return false;
					continue;
				}
			} else if (!scalar(*node)) {
				return false;
			}
			if (!after_value(open, node))
				return false;
		}
		return true;
	}

	static char closing(const JsonNode &container) {
		return container.kind == Kind::Array ? ']' : '}';
	}

	// Closes the containers that end here. `next` is the value that follows, if one has to.
	bool after_value(std::vector<JsonNode *> &open, JsonNode *&next) {
		for (next = nullptr; !open.empty(); open.pop_back()) {
			JsonNode &container = *open.back();
			skip_space();
			if (take(","))
				return next_member(container, next);
			if (!rest_.starts_with(closing(container)))
				return false;
			rest_.remove_prefix(1);
			sort_members(container);
		}
		return true;
	}

	bool next_member(JsonNode &container, JsonNode *&next) {
		if (container.kind == Kind::Array) {
			next = &container.elements.emplace_back();
			return true;
		}
		JsonMember &member = container.members.emplace_back();
		next = &member.value;
		skip_space();
		if (!rest_.starts_with('"') || !string(member.name))
			return false;
		skip_space();
		return take(":");
	}

	bool scalar(JsonNode &node) {
		if (rest_.empty())
			return false;
		switch (rest_.front()) {
		case '"': node.kind = Kind::String; return string(node.string);
		case 't': return literal(node, "true", Kind::Boolean, true);
		case 'f': return literal(node, "false", Kind::Boolean, false);
		case 'n': return literal(node, "null", Kind::Null, false);
		default: return number(node);
		}
	}

	bool literal(JsonNode &node, std::string_view word, Kind kind, bool boolean) {
		node.kind = kind;
		node.boolean = boolean;
		return take(word);
	}

	bool string(std::string &out) {
		take("\"");
		while (!rest_.empty()) {
			if (take("\""))
				return true;
			if (take("\\")) {
				if (!escape(out))
					return false;
				continue;
			}
			const std::size_t size = utf8_size(rest_);
			if (size == 0 || static_cast<unsigned char>(rest_.front()) < 0x20)
				return false;
			out.append(rest_.substr(0, size));
			rest_.remove_prefix(size);
		}
		return false;
	}

	bool escape(std::string &out) {
		constexpr std::string_view letters = "\"\\/bfnrt";
		constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
		if (rest_.empty())
			return false;
		if (const std::size_t i = letters.find(rest_.front()); i != std::string_view::npos) {
			out.push_back(meanings[i]);
			rest_.remove_prefix(1);
			return true;
		}
		std::uint32_t unit = 0;
		if (!code_unit(unit) || unit == 0 || (unit >= 0xDC00 && unit < 0xE000))
			return false;
		if (unit >= 0xD800 && unit < 0xDC00) {
			std::uint32_t low = 0;
			if (!take("\\") || !code_unit(low) || low < 0xDC00 || low >= 0xE000)
				return false;
			unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
		}
		append_utf8(out, unit);
		return true;
	}

	bool code_unit(std::uint32_t &unit) {
		constexpr std::size_t hex_digits = 4;
		if (!take("u") || rest_.size() < hex_digits)
			return false;
		for (const char c : rest_.substr(0, hex_digits)) {
			const std::size_t digit =
				std::string_view("0123456789abcdef").find(c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);
			if (digit == std::string_view::npos)
				return false;
			unit = unit * 16 + static_cast<std::uint32_t>(digit);
		}
		rest_.remove_prefix(hex_digits);
		return true;
	}

	std::string_view digits() {
		const std::size_t size = std::min(rest_.find_first_not_of("0123456789"), rest_.size());
		const std::string_view taken = rest_.substr(0, size);
		rest_.remove_prefix(size);
		return taken;
	}

	bool number(JsonNode &node) {
		const bool negative = take("-");
		const std::string_view integer = digits();
		if (integer.empty() || (integer.size() > 1 && integer.front() == '0'))
			return false;
		std::string_view fraction;
		if (take(".")) {
			fraction = digits();
			if (fraction.empty())
				return false;
		}
		std::int64_t exponent = 0;
		if (take("e") || take("E")) {
			const bool minus = take("-");
			if (!minus)
				take("+");
			const std::string_view spelt = digits();
			if (spelt.empty())
				return false;
			for (const char digit : spelt)
				exponent = std::min<std::int64_t>(exponent * 10 + (digit - '0'), 1'000'000'000);
			exponent = minus ? -exponent : exponent;
		}
		exponent -= static_cast<std::int64_t>(fraction.size());
		if (-exponent > most_decimals)
			return false;

		std::string all = std::string(integer) + std::string(fraction);
		all.erase(0, std::min(all.find_first_not_of('0'), all.size()));
		if (all.empty()) {
			node = number_node(negative, "0", 0);
			return true;
		}
		if (static_cast<std::int64_t>(all.size()) + exponent > most_integer_digits)
			return false;
		node = number_node(negative, all, exponent);
		return true;
	}

	std::string_view rest_;
};

} // namespace

std::optional<JsonNode> parse_json(std::string_view text) {
	JsonNode node;
	if (!Parser(text).document(node))
		return std::nullopt;
	return node;
}

} // namespace pg_idem::test
