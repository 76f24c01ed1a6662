// idem_expire.

extern "C" {
#include "postgres.h"
#include "fmgr.h"
}

#include "pg/expiry/expire.hpp"

using namespace pg_idem;

extern "C" {

PG_FUNCTION_INFO_V1(pg_idem_expire);

Datum pg_idem_expire(PG_FUNCTION_ARGS) {
	const int32 max_rows = PG_GETARG_INT32(0);
	if (max_rows < 1)
		ereport(ERROR,
		        (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("max_rows is not positive")));
	PG_RETURN_INT32(expire_keys(max_rows, PG_INT64_MAX).rows);
}
}
