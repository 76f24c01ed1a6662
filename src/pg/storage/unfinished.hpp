// The keys that are not finished: few, in an index of their own.
#pragma once

#include <span>

#include "core/outcome.hpp"
#include "pg/storage/ledger.hpp"

namespace pg_idem {

// Committed rows of a policy that are not finished, as they are now, in no order, in the current memory
// context. They can have changed by the time they are looked at again.
std::span<const Row> find_unfinished(const Ledger &ledger, int16 policy);

} // namespace pg_idem
