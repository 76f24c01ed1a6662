// The leaves of a document: what a person is told of when two requests differ.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string_view>

#include "core/arena.hpp"
#include "core/canonical.hpp"
#include "core/document.hpp"
#include "core/path.hpp"

namespace pg_idem {

// A value that no member of it is named instead of: a scalar, an object or array without members, and
// one at the depth where the walk ends. Arguments that are a scalar are one leaf, whose name is empty.
struct Leaf {
	std::string_view name; // as a path is spelt; elements of arrays as in items[0].sku
	Path path;             // without what is inside of an array
	Value value;
	bool emptied = false;      // an object that has members, and all of them are left out
	bool inside_array = false; // where nothing is left out
};

struct LeafWalk {
	std::size_t depth = max_path_depth; // 1: the members of the arguments as wholes
	bool into_arrays = false;           // false: an array is a leaf
	std::size_t most =
		std::numeric_limits<std::size_t>::max(); // the walk ends with one more than this
};

// In no order, in memory of the arena, less what `left_out` covers. The arguments {} have none.
std::span<Leaf> leaves_of(const Document &document, std::span<const Path> left_out,
                          const LeafWalk &walk, const Arena &arena);

// Writes the leaf's value less what `left_out`, which is in canonical order, covers of it.
void write_leaf(const Leaf &leaf, const Document &document, std::span<const Path> left_out,
                const Arena &arena, CanonicalWriter &writer);

} // namespace pg_idem
