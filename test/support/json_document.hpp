// A tree as the document that a request's arguments come in.
#pragma once

#include <string>
#include <string_view>

#include "core/recipe.hpp"
#include "support/json_node.hpp"

namespace pg_idem::test {

class JsonDocument final : public Document {
public:
	explicit JsonDocument(JsonNode root) : root_(std::move(root)) {}

	Value root() const override;
	bool find(const Path &path, Value &value) const override;
	void visit_children(const Value &parent, const ChildVisitor &visitor) const override;
	void write(const Value &value, std::span<const Path> excluded,
	           CanonicalWriter &writer) const override;
	bool is_empty_without(const Value &value, std::span<const Path> excluded) const override;

	const JsonNode &node() const { return root_; }

private:
	JsonNode root_;
};

// Appends to a std::string.
Sink string_sink(std::string &out);

// What `write` gives the writer, as text.
template <typename Write>
std::string written(Write &&write) {
	std::string out;
	CanonicalWriter writer(string_sink(out));
	write(writer);
	writer.flush();
	return out;
}

std::string canonical_text(const JsonNode &node);

// The canonical form of a JSON text, which has to be valid.
std::string canonical_text(std::string_view json);

// A document from a JSON text, which has to be valid.
JsonDocument document(std::string_view json);

// The text of one number.
std::string number_text(const Number &number);

} // namespace pg_idem::test
