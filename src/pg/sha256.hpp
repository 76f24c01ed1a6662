// The core's digest with OpenSSL's refusals as PostgreSQL errors.
#pragma once

extern "C" {
#include "postgres.h"
}

#include "core/digest.hpp"

namespace pg_idem {

[[noreturn]] inline void sha256_failed() {
	ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not compute a SHA-256 digest"),
	                errdetail("OpenSSL refused the operation.")));
	pg_unreachable();
}

inline void begin_sha256() {
	if (!digest_begin())
		sha256_failed();
}

inline Digest end_sha256() {
	Digest digest;
	if (!digest_end(digest))
		sha256_failed();
	return digest;
}

} // namespace pg_idem
