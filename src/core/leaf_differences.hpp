// Which fields differ between a stored request, of which only digests are there, and another one.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/arena.hpp"
#include "core/digest.hpp"
#include "core/leaf_digests.hpp"

namespace pg_idem {

// Gives the names of the paths of a digest: none when they were not kept, several when paths share it.
struct PathNames {
	std::span<const std::string_view> (*find)(void *state, std::uint32_t path);
	void *state;
};

// The outermost paths that changed, appeared or disappeared: a path is named instead of what is inside of
// it when only one of the requests has it, or when it is of different kinds in the two. In order of
// their bytes; a NULL data pointer comes last and stands for fields that only the stored request has and
// that have no name. Empty: the digests tell no difference.
//
// `key` is the stored request's, and `request` the leaves of the other one in the same form, in order of
// their digests.
std::span<const std::string_view> differing_names(const StoredLeaves &stored,
                                                  std::span<const NamedLeaf> request,
                                                  const Digest128 &key, const PathNames &names,
                                                  const Arena &arena);

} // namespace pg_idem
