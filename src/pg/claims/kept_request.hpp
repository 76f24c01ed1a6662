// What is kept of a request besides its key and fingerprint: so that a conflict can name the fields that
// differ, and that whoever takes an attempt over knows what was asked for.
//
// Either digests of the leaves (core/leaf_digests.hpp), or the arguments as they came: the policy says.
#pragma once

extern "C" {
#include "postgres.h"
#include "utils/jsonb.h"
}

#include <span>
#include <string_view>

#include "core/digest.hpp"
#include "pg/claims/request.hpp"
#include "pg/policy/policy.hpp"
#include "pg/storage/path_names.hpp"

namespace pg_idem {

struct KeptRequest {
	std::string_view leaves;
	std::span<const PathName> names; // of leaves, where idem.path has none yet
	Jsonb *arguments = nullptr;
};

// For a row of `policy`, which is the request's own or that of another version, and of `key`. In the
// current memory context. Reserves idem.path when names are to be added.
KeptRequest keep_request(const Policy &policy, const Digest128 &key, const Request &request);

// A row, or a claim of this transaction, with which a request conflicts.
struct StoredRequest {
	const Policy *policy;
	Digest128 key;
	bool has_fingerprint;
	KeptRequest kept;
};

// In order of their names; one with a NULL data pointer comes last and stands for fields that the request
// lacks and whose names were not kept. NULL data: it is not known which fields differ.
std::span<const std::string_view> differing_fields(const StoredRequest &stored, const Call &call);

} // namespace pg_idem
