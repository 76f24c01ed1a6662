// A recipe says which part of a request is its identity, and derives the key and the fingerprint.
//
// Formula (public, docs/key-format.md): the key is the first 128 bits of the SHA-256 of
//   operation ':v' version ':' canonical({"args": …, "tenant": …})              identity fields, arguments
//   operation ':occurrence:' canonical({"occurrence": …, "tenant": …})          identity occurrence
// and the fingerprint is the first 128 bits of the SHA-256 of the canonical form of what the key does
// not cover: the arguments less key fields and unchecked fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/arena.hpp"
#include "core/canonical.hpp"
#include "core/digest.hpp"
#include "core/normaliser.hpp"
#include "core/path.hpp"

namespace pg_idem {

enum class Identity : std::uint8_t { Fields, Arguments, Occurrence };

struct KeyField {
	std::string_view name; // the path as the policy spells it
	Path path;
	Normaliser normaliser;
	bool optional = false;
};

// Key fields and excluded paths are in canonical order (path_before), whatever order they came in.
struct Recipe {
	Identity identity = Identity::Fields;
	std::string_view operation;
	std::int32_t version = 1;
	std::span<const KeyField> fields;
	std::span<const Path> unchecked;
	std::span<const Path> unbound; // key fields and unchecked fields: not in the fingerprint
};

// Reads `"exact"`, `"trim optional"`, `"minor_units(currency)"`, `"minor_units(2)"`, into the normaliser
// and the flag `optional` of `field`; `"optional"` alone is `"exact optional"`. White space around it,
// and around the argument, is tolerated. False: unknown or malformed, and `field` is as it was.
bool parse_normaliser(std::string_view text, Arena &arena, KeyField &field);

// A document that a request's arguments came in. PostgreSQL's is jsonb, a test's is text.
class Document {
public:
	virtual Value root() const = 0;
	// The member at `path`; false when any segment is absent or its parent is no object.
	virtual bool find(const Path &path, Value &value) const = 0;
	// Writes `value` less the members at `excluded`, which are in canonical order and relative to it.
	virtual void write(const Value &value, std::span<const Path> excluded,
	                   CanonicalWriter &writer) const = 0;
	// Whether the object `value` has no member left then. A member that has lost all its own members is
	// still one.
	virtual bool is_empty_without(const Value &value, std::span<const Path> excluded) const = 0;

protected:
	~Document() = default;
};

// Where a problem lies: `field` is a path as the policy spells it, or empty for the request as a whole.
struct Fault {
	Problem problem = Problem::None;
	std::string_view field;
};

// The normalised subset that the key is made of, as the value of "args". Checks it on the way, so a
// fault can leave a partial document behind in the writer.
Fault write_intent(const Recipe &recipe, const Document &arguments, Arena &arena,
                   CanonicalWriter &writer);

// The document in the preimage: {"args": …, "tenant": …} or {"occurrence": …, "tenant": …}.
Fault write_key_document(const Recipe &recipe, std::string_view tenant, std::string_view occurrence,
                         const Document &arguments, Arena &arena, CanonicalWriter &writer);

// The whole preimage of the key. `occurrence` is used by identity `occurrence` only.
Fault write_preimage(const Recipe &recipe, std::string_view tenant, std::string_view occurrence,
                     const Document &arguments, Arena &arena, CanonicalWriter &writer);

// What is bound but not in the key. False: nothing is, since the key covers every argument that is
// checked, and the request has no fingerprint.
bool has_bound(const Recipe &recipe, const Document &arguments);

// Writes it, if there is any. Returns has_bound.
bool write_bound(const Recipe &recipe, const Document &arguments, CanonicalWriter &writer);

// Empty or nothing but Unicode white space: no identity argument may be that.
bool is_blank(std::string_view text);

} // namespace pg_idem
