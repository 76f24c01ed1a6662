// A request: which intent it is, and what it binds.
#pragma once

extern "C" {
#include "postgres.h"
#include "utils/jsonb.h"
}

#include <string_view>

#include "core/digest.hpp"
#include "pg/policy/policy.hpp"

namespace pg_idem {

// What a caller passed. A NULL text has a NULL data pointer; `version` is 0 when none was given.
struct Call {
	std::string_view tenant;
	std::string_view operation;
	Jsonb *arguments;
	std::string_view occurrence;
	int32 version;
	bool has_version;
};

struct Fingerprint {
	bool present = false; // false: the key covers all that is bound
	Digest128 digest{};
};

// The request's key under a lower version of its operation.
struct OlderKey {
	const Policy *policy;
	Digest128 key;
};

struct Request {
	const Policy *policy = nullptr;
	Call call;
	Digest128 key;
	Fingerprint fingerprint;         // under `policy`
	std::span<const OlderKey> older; // those that differ from `key`
	std::span<const Policy> newer;   // whose rows can carry `key` as an alias
	Micros asked_at = 0;             // when the call came in; 0: not told
	Micros lease = 0;                // asked for; 0: the policy's
	bool has_subject = false;        // the operation has exclusive fields
	Digest128 subject{};
};

// Why a request is refused: an SQLSTATE and palloc'd texts, `message` NULL when it is not.
struct Refusal {
	int sqlstate = 0;
	const char *message = nullptr;
	const char *hint = nullptr;
};

// What is wrong with a key field, as the end of a sentence that starts with its name.
const char *describe(Problem problem);

// Derives the key and the fingerprint. Bad input leaves `request` unfinished and says why, save for
// what only an error can say (a broken policy, a failing digest). `request.policy` is NULL when the
// refusal came before a policy was found.
Refusal derive(const Call &call, Request &request);

// The same, but raises the refusal.
Request require_request(const Call &call);

// The document that the key is a digest of, in canonical form. Raises like require_request.
text *intent_text(const Call &call);

// The request's key under another version. False: that one would refuse the request.
bool derive_under(const Policy &policy, const Call &call, Digest128 &key);

// Whether a row of this key and fingerprint, written under another version of the operation, is of the
// request: a row is compared under the version that it was written with, and a request that cannot be
// read under that one is another request.
bool is_same_under(const Policy &policy, const Call &call, const Digest128 &key,
                   const Fingerprint &fingerprint);

// The request's fingerprint under the policy of another version, or its own.
Fingerprint fingerprint_under(const Policy &policy, const Request &request);

bool same(const Fingerprint &a, const Fingerprint &b);

[[noreturn]] void raise_refusal(const Refusal &refusal);

// Refuses a tenant that is NULL, blank or too long.
Refusal check_tenant(std::string_view tenant);

} // namespace pg_idem
