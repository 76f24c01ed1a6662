#include "support/json_node.hpp"

#include <algorithm>

#include "core/key_order.hpp"

namespace pg_idem::test {

namespace {

constexpr int group_size = 4;

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
	return a / b - (a % b < 0 ? 1 : 0);
}

// The groups less zero groups at both ends.
Number stripped(const JsonNode &node) {
	Number number = node.number();
	while (number.group_count > 0 && *number.groups == 0) {
		++number.groups;
		--number.group_count;
		--number.weight;
	}
	while (number.group_count > 0 && number.groups[number.group_count - 1] == 0)
		--number.group_count;
	if (number.group_count == 0)
		return {false, 0, nullptr, 0};
	return number;
}

} // namespace

Number JsonNode::number() const {
	return {negative, weight, groups.data(), static_cast<std::int32_t>(groups.size())};
}

const JsonNode *JsonNode::member(std::string_view name) const {
	const auto found = std::find_if(members.begin(), members.end(),
	                                [name](const JsonMember &m) { return m.name == name; });
	return found == members.end() ? nullptr : &found->value;
}

JsonNode number_node(bool negative, std::string_view digits, std::int64_t exponent) {
	JsonNode node;
	node.kind = Kind::Number;
	node.negative = negative;

	// Zeros on both sides until the groups meet the decimal point.
	std::string padded(digits);
	const std::int64_t low = floor_div(exponent, group_size);
	padded.append(static_cast<std::size_t>(exponent - low * group_size), '0');
	padded.insert(0, (group_size - padded.size() % group_size) % group_size, '0');
	for (std::size_t i = 0; i < padded.size(); i += group_size)
		node.groups.push_back(static_cast<std::int16_t>(std::stoi(padded.substr(i, group_size))));
	node.weight =
		static_cast<std::int32_t>(low + static_cast<std::int64_t>(node.groups.size()) - 1);
	return node;
}

JsonNode integer_node(std::int64_t value) {
	const std::string text = std::to_string(value);
	return value < 0 ? number_node(true, std::string_view(text).substr(1), 0)
	                 : number_node(false, text, 0);
}

JsonNode string_node(std::string_view text) {
	JsonNode node;
	node.kind = Kind::String;
	node.string = text;
	return node;
}

void sort_members(JsonNode &object) {
	auto &members = object.members;
	std::stable_sort(members.begin(), members.end(), [](const JsonMember &a, const JsonMember &b) {
		return key_before(a.name, b.name);
	});
	// Backwards, the first of equals is the last that was written.
	const auto same = [](const JsonMember &a, const JsonMember &b) { return a.name == b.name; };
	const auto end = std::unique(members.rbegin(), members.rend(), same);
	members.erase(members.begin(), end.base());
}

bool equal(const JsonNode &a, const JsonNode &b) {
	if (a.kind != b.kind)
		return false;
	switch (a.kind) {
	case Kind::Null: return true;
	case Kind::Boolean: return a.boolean == b.boolean;
	case Kind::String: return a.string == b.string;
	case Kind::Number: {
		const Number x = stripped(a);
		const Number y = stripped(b);
		return x.negative == y.negative && x.weight == y.weight && x.group_count == y.group_count &&
		       std::equal(x.groups, x.groups + x.group_count, y.groups);
	}
	case Kind::Array:
		return std::equal(a.elements.begin(), a.elements.end(), b.elements.begin(),
		                  b.elements.end(), equal);
	case Kind::Object:
		return a.members.size() == b.members.size() &&
		       std::all_of(a.members.begin(), a.members.end(), [&b](const JsonMember &m) {
				   const JsonNode *other = b.member(m.name);
				   return other != nullptr && equal(m.value, *other);
			   });
	}
	return false;
}

} // namespace pg_idem::test
