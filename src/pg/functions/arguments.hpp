// Reading the arguments of a SQL function.
#pragma once

extern "C" {
#include "postgres.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
}

#include <string_view>

#include "pg/claims/request.hpp"
#include "pg/intervals.hpp"

namespace pg_idem {

// A view with a NULL data pointer for NULL.
inline std::string_view text_argument(FunctionCallInfo fcinfo, int n) {
	if (PG_ARGISNULL(n))
		return {};
	text *value = PG_GETARG_TEXT_PP(n);
	return {VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value)};
}

// Detoasted, or NULL.
inline Jsonb *jsonb_argument(FunctionCallInfo fcinfo, int n) {
	return PG_ARGISNULL(n) ? nullptr : PG_GETARG_JSONB_P(n);
}

// tenant, operation, arguments as the first three; where the occurrence and the version are, varies.
inline Call call_argument(FunctionCallInfo fcinfo, int occurrence, int version) {
	Call call;
	call.tenant = text_argument(fcinfo, 0);
	call.operation = text_argument(fcinfo, 1);
	call.arguments = jsonb_argument(fcinfo, 2);
	call.occurrence = text_argument(fcinfo, occurrence);
	call.has_version = !PG_ARGISNULL(version);
	call.version = call.has_version ? PG_GETARG_INT32(version) : 0;
	return call;
}

// 0 for NULL. Raises 22023 for a negative one.
inline Micros span_argument(FunctionCallInfo fcinfo, int n, const char *name) {
	if (PG_ARGISNULL(n))
		return 0;
	const Micros span = interval_micros(PG_GETARG_INTERVAL_P(n));
	if (span < 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("%s is negative", name)));
	return span;
}

inline Micros wait_argument(FunctionCallInfo fcinfo, int n) {
	return span_argument(fcinfo, n, "wait");
}

// 0 for NULL, which means the policy's. Raises 22023 below the least lease.
inline Micros lease_argument(FunctionCallInfo fcinfo, int n) {
	if (PG_ARGISNULL(n))
		return 0;
	const Micros lease = interval_micros(PG_GETARG_INTERVAL_P(n));
	if (lease < 1000)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("lease is shorter than 1 millisecond"),
		                errhint("Leave it NULL for the lease of the operation.")));
	return lease;
}

} // namespace pg_idem
