// The names of the paths that leaves have, by their digests: idem.path.
//
// A row keeps the digests of its leaves only. The request that conflicts with it has the names of what it
// changes or adds; the name of what it lacks is looked up here.
#pragma once

extern "C" {
#include "postgres.h"
#include "access/xact.h"
}

#include <cstdint>
#include <span>
#include <string_view>

namespace pg_idem {

struct PathName {
	std::uint32_t digest;
	std::string_view path;
};

// No more names than this are kept of a policy. Arguments that have names from outside (ids as member
// names) would go on for ever.
constexpr std::size_t most_path_names = 256;

// Whether insert_path_names would add nothing for this path: its name is there, or another transaction is
// adding it, or there are too many.
bool has_path_name(int16 policy, std::uint32_t digest);

// Locks the table for writing until the transaction ends, and raises ID031 unless it is what the
// extension created: as for aliases, COMMIT must neither wait for DDL nor meet a surprise.
void reserve_path_names();

// Adds those that are not there, up to the bound. Never waits: should another transaction add the same
// name at the same moment, it is there twice, which does no harm.
void insert_path_names(int16 policy, std::span<const PathName> names);

// The names of this digest, in the current memory context: usually one; several when paths share it.
std::span<const std::string_view> find_path_names(int16 policy, std::uint32_t digest);

// What this session has learnt of a transaction's own names is void.
void forget_own_path_names();

} // namespace pg_idem
