// Small digests of a request's leaves, by which a conflict names the fields that differ
// (leaf_differences.hpp).
//
// Whether two requests differ is not decided here: that is what the key and the fingerprint are for
// (recipe.hpp), which are SHA-256. These digests of 32 bits say where, so they have to be small and
// cheap, and two values that share one lead to a field that is not named.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/arena.hpp"
#include "core/digest.hpp"
#include "core/document.hpp"
#include "core/recipe.hpp"

namespace pg_idem {

struct LeafDigest {
	std::uint32_t path;  // of its name, the same in every row
	std::uint32_t value; // of path and canonical value, salted with the row's key

	auto operator<=>(const LeafDigest &) const = default;
};

struct NamedLeaf {
	LeafDigest digest;
	std::string_view name; // leaves.hpp
	Kind kind = Kind::Null;
};

// Which leaves there are.
struct LeafForm {
	bool with_key = false; // those that the key covers too, key fields as they are normalised
	bool shallow = false;  // the members of the arguments as wholes

	bool operator==(const LeafForm &) const = default;
};

// More than this are not kept of a request: first its members as wholes are tried, then nothing is kept.
constexpr std::size_t most_leaves = 64;

// What is bound under a recipe, and what the key has. In order of the digests, in memory of the arena. A
// key field is one leaf, whatever it is; one that the recipe refuses has a digest that no request under
// it has.
std::span<const NamedLeaf> digest_leaves(const Recipe &recipe, const Document &arguments,
                                         const LeafForm &form, const Digest128 &key,
                                         const Arena &arena);

struct LeafRecord {
	LeafForm form;
	std::span<const NamedLeaf> leaves; // empty: none are kept
};

// What is kept of a request.
LeafRecord record_leaves(const Recipe &recipe, const Document &arguments, bool with_key,
                         const Digest128 &key, const Arena &arena);

// As stored: eight bytes a leaf, high byte first, and a byte of flags if the form is not the usual one.
// Empty when there are no leaves.
std::string_view encode_leaves(const LeafRecord &record, const Arena &arena);

struct StoredLeaves {
	LeafForm form;
	std::span<const LeafDigest> leaves;
};

// False: nothing that encode_leaves has written.
bool decode_leaves(std::string_view bytes, const Arena &arena, StoredLeaves &stored);

// The digest of a value that is given in canonical form.
std::uint32_t value_digest(const Digest128 &key, std::uint32_t path, std::string_view json);

} // namespace pg_idem
