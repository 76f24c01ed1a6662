// A document that a request's arguments come in, and the values in it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/canonical.hpp"
#include "core/number.hpp"
#include "core/path.hpp"

namespace pg_idem {

enum class Kind : std::uint8_t { Null, Boolean, Number, String, Array, Object };

// A container is an opaque handle that only its document can read. An array that a normaliser made has
// none: its canonical text is in `string`.
struct Value {
	Kind kind = Kind::Null;
	bool boolean = false;
	std::string_view string;
	Number number{};
	const void *container = nullptr;
};

// Called for one child after the other; false ends the visit.
struct ChildVisitor {
	bool (*visit)(void *state, std::string_view name, const Value &child);
	void *state;
};

// PostgreSQL's is jsonb, a test's is text.
class Document {
public:
	virtual Value root() const = 0;
	// The member at `path`; false when any segment is absent or its parent is no object.
	virtual bool find(const Path &path, Value &value) const = 0;
	// The elements of an array, in their order and with an empty name; or the members of an object, in
	// any order.
	virtual void visit_children(const Value &parent, const ChildVisitor &visitor) const = 0;
	// Writes `value` less the members at `excluded`, which are in canonical order and relative to it.
	virtual void write(const Value &value, std::span<const Path> excluded,
	                   CanonicalWriter &writer) const = 0;
	// Whether the object `value` has no member left then. A member that has lost all its own members is
	// still one.
	virtual bool is_empty_without(const Value &value, std::span<const Path> excluded) const = 0;

protected:
	~Document() = default;
};

// Writes a value of the document, or one that a normaliser made of it.
void write_value(const Value &value, const Document &document, CanonicalWriter &writer);

} // namespace pg_idem
