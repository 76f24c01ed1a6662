// SHA-256, by OpenSSL.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/sink.hpp"

namespace pg_idem {

using Digest = std::array<std::uint8_t, 32>;

// 128 bits of a digest: what the ledger stores of a key or a fingerprint.
using Digest128 = std::array<std::uint8_t, 16>;

// One running digest a process, started over by each `begin`: the OpenSSL context is fetched once and
// kept, since fetching costs more than hashing a short document. A digest that an error left
// unfinished does no harm, because `begin` starts over. False: OpenSSL refused (out of memory, or a
// provider that forbids SHA-256).
bool digest_begin();
bool digest_end(Digest &digest);

// Feeds the running digest. `state` is unused.
extern const Sink digest_sink;

Digest128 first_half(const Digest &digest);

} // namespace pg_idem
