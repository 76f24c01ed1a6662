// What is kept about a key beside its row: other keys, decisions, reports, ids of providers.
#pragma once

#include <span>

#include "core/digest.hpp"

namespace pg_idem {

enum class Companions { All, ButAliases };

// Deletes what is kept of keys whose rows were deleted, as far as it is committed or this transaction's own, and
// nobody else is at it. Costs next to nothing where there is none. Without aliases: for a key that is claimed anew,
// whose intent has the same other keys again.
void delete_companions(std::span<const Digest128> keys, Companions which);

} // namespace pg_idem
