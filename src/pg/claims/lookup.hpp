// Looking a key up without claiming it.
#pragma once

#include <string_view>

#include "pg/claims/answer.hpp"
#include "pg/claims/request.hpp"

namespace pg_idem {

// What a claim would meet: nothing known when it would own the key. Changes nothing, takes no key
// lock, sees this transaction's own claims, and works read-only and during recovery.
//
// Raises what require_request raises, and 40001 for a row that a repeatable-read snapshot cannot see.
Answer look_up(const Call &call);

// The same for a key by name; nothing known when it is not the tenant's, or not committed.
Answer look_up_key(std::string_view tenant, std::string_view key);

} // namespace pg_idem
