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
#include "core/document.hpp"
#include "core/normaliser.hpp"
#include "core/path.hpp"
#include "core/problem.hpp"
#include "core/scratch.hpp"

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
	bool binds = true;             // false: nothing but the key is checked
	std::span<const KeyField>
		exclusive; // what two intents share that must not be under way at once
};

// Reads a chain (normaliser_chain.hpp) and ` optional` after it into the normaliser and the flag of
// `field`: `"trim|upper"`, `"minor_units(currency) optional"`; `"optional"` alone is `"exact optional"`.
// False: unknown or malformed, and `field` is as it was.
bool parse_normaliser(std::string_view text, Arena &arena, KeyField &field);

// Where a problem lies: `field` is a path as the policy spells it, or empty for the request as a whole.
struct Fault {
	Problem problem = Problem::None;
	std::string_view field;
};

// A key field of a request: what the arguments have there, and what the key takes of it.
struct FieldValue {
	bool present = false; // false: the arguments have no such field
	Value found;
	Value normal; // null when `found` is
};

// Checks and normalises. `value.normal` lives until `scratch` is used again.
Problem read_field(const KeyField &field, const Document &arguments, Scratch &scratch,
                   FieldValue &value);

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

// The preimage of the subject: operation ':subject:' canonical({"args": exclusive fields, "tenant": …}).
Fault write_subject(const Recipe &recipe, std::string_view tenant, const Document &arguments,
                    Arena &arena, CanonicalWriter &writer);

// What is bound but not in the key. False: nothing is, since the key covers every argument that is
// checked or the recipe binds nothing, and the request has no fingerprint.
bool has_bound(const Recipe &recipe, const Document &arguments);

// Which paths the fingerprint leaves out.
std::span<const Path> not_bound(const Recipe &recipe);

// Writes what is bound, if there is any. Returns has_bound.
bool write_bound(const Recipe &recipe, const Document &arguments, CanonicalWriter &writer);

// Empty or nothing but Unicode white space: no identity argument may be that.
bool is_blank(std::string_view text);

} // namespace pg_idem
