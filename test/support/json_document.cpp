#include "support/json_document.hpp"

#include <algorithm>
#include <stdexcept>

namespace pg_idem::test {

namespace {

Value value_of(const JsonNode &node) {
	Value value;
	value.kind = node.kind;
	value.boolean = node.boolean;
	value.string = node.string;
	value.number = node.number();
	value.container = &node;
	return value;
}

const JsonNode &node_of(const Value &value) {
	return *static_cast<const JsonNode *>(value.container);
}

// Of the excluded paths, those that go through or end at the member `name` at this depth.
std::vector<Path> through(std::span<const Path> excluded, std::size_t depth,
                          std::string_view name) {
	std::vector<Path> paths;
	std::copy_if(excluded.begin(), excluded.end(), std::back_inserter(paths),
	             [&](const Path &path) { return path.segments[depth] == name; });
	return paths;
}

bool ends_at(std::span<const Path> paths, std::size_t depth) {
	return std::any_of(paths.begin(), paths.end(),
	                   [depth](const Path &path) { return path.depth == depth + 1; });
}

void write_node(const JsonNode &node, CanonicalWriter &writer);
void write_node_without(const JsonNode &node, std::span<const Path> excluded, std::size_t depth,
                        CanonicalWriter &writer);

void write_object(const JsonNode &node, CanonicalWriter &writer) {
	writer.begin_object();
	for (const JsonMember &member : node.members) {
		writer.key(member.name);
		write_node(member.value, writer);
	}
	writer.end_object();
}

void write_node(const JsonNode &node, CanonicalWriter &writer) {
	switch (node.kind) {
	case Kind::Null: writer.null(); break;
	case Kind::Boolean: writer.boolean(node.boolean); break;
	case Kind::Number: writer.number(node.number()); break;
	case Kind::String: writer.string(node.string); break;
	case Kind::Array:
		writer.begin_array();
		for (const JsonNode &element : node.elements)
			write_node(element, writer);
		writer.end_array();
		break;
	case Kind::Object: write_object(node, writer); break;
	}
}

void write_node_without(const JsonNode &node, std::span<const Path> excluded, std::size_t depth,
                        CanonicalWriter &writer) {
	if (node.kind != Kind::Object || excluded.empty()) {
		write_node(node, writer);
		return;
	}
	writer.begin_object();
	for (const JsonMember &member : node.members) {
		const std::vector<Path> deeper = through(excluded, depth, member.name);
		if (ends_at(deeper, depth))
			continue;
		writer.key(member.name);
		write_node_without(member.value, deeper, depth + 1, writer);
	}
	writer.end_object();
}

} // namespace

Value JsonDocument::root() const {
	return value_of(root_);
}

bool JsonDocument::find(const Path &path, Value &value) const {
	const JsonNode *node = &root_;
	for (std::size_t i = 0; i < path.depth; ++i) {
		node = node->kind == Kind::Object ? node->member(path.segments[i]) : nullptr;
		if (node == nullptr)
			return false;
	}
	value = value_of(*node);
	return true;
}

void JsonDocument::visit_children(const Value &parent, const ChildVisitor &visitor) const {
	const JsonNode &node = node_of(parent);
	for (const JsonNode &element : node.elements) {
		if (!visitor.visit(visitor.state, {}, value_of(element)))
			return;
	}
	for (const JsonMember &member : node.members) {
		if (!visitor.visit(visitor.state, member.name, value_of(member.value)))
			return;
	}
}

void JsonDocument::write(const Value &value, std::span<const Path> excluded,
                         CanonicalWriter &writer) const {
	write_node_without(node_of(value), excluded, 0, writer);
}

bool JsonDocument::is_empty_without(const Value &value, std::span<const Path> excluded) const {
	const auto &members = node_of(value).members;
	return std::all_of(members.begin(), members.end(), [excluded](const JsonMember &member) {
		return ends_at(through(excluded, 0, member.name), 0);
	});
}

Sink string_sink(std::string &out) {
	return {[](void *state, const char *bytes, std::size_t count) {
				static_cast<std::string *>(state)->append(bytes, count);
			},
	        &out};
}

std::string canonical_text(const JsonNode &node) {
	return written([&node](CanonicalWriter &writer) { write_node(node, writer); });
}

std::string canonical_text(std::string_view json) {
	return canonical_text(document(json).node());
}

JsonDocument document(std::string_view json) {
	std::optional<JsonNode> node = parse_json(json);
	if (!node)
		throw std::invalid_argument("not JSON: " + std::string(json.substr(0, 200)));
	return JsonDocument(std::move(*node));
}

std::string number_text(const Number &number) {
	std::string out;
	write_number(number, string_sink(out));
	return out;
}

} // namespace pg_idem::test
