// A key that is named by its tenant, and its row.
#pragma once

#include <string_view>

#include "core/key_text.hpp"
#include "pg/policy/policy.hpp"
#include "pg/storage/ledger.hpp"

namespace pg_idem {

// Raises 22004 and 22023 for a bad tenant, and ID021 for what is no key.
KeyName require_key(std::string_view tenant, std::string_view key);

// The committed row of another transaction's claim, or the one that this transaction wrote early. Under the
// key's lock. Raises ID021 when the tenant has no such row, or it is past its life or of another
// generation, and 40001 when the snapshot cannot see it.
Probe require_row(const Ledger &ledger, const KeyName &name, std::string_view tenant,
                  const Policy **policy);

// Writes the row. Raises 40001 when a writer outside pg_idem was faster.
void require_update(const Ledger &ledger, const ItemPointerData &tid, const Row &row);

[[noreturn]] void unknown_key();
[[noreturn]] void stale_fence(bool given);

} // namespace pg_idem
