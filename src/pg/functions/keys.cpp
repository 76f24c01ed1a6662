// idem_key, idem_intent, idem_check.

extern "C" {
#include "postgres.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
}

#include "pg/claims/answer.hpp"
#include "pg/claims/request.hpp"
#include "pg/functions/arguments.hpp"

using namespace pg_idem;

extern "C" {

PG_FUNCTION_INFO_V1(pg_idem_key);
PG_FUNCTION_INFO_V1(pg_idem_intent);
PG_FUNCTION_INFO_V1(pg_idem_check);

Datum pg_idem_key(PG_FUNCTION_ARGS) {
	const Request request = require_request(call_argument(fcinfo, 3, 4));
	PG_RETURN_TEXT_P(key_text(request.policy->prefix, request.key, 1));
}

Datum pg_idem_intent(PG_FUNCTION_ARGS) {
	char *document = text_to_cstring(intent_text(call_argument(fcinfo, 3, 4)));
	return DirectFunctionCall1(jsonb_in, CStringGetDatum(document));
}

Datum pg_idem_check(PG_FUNCTION_ARGS) {
	Request request;
	const Refusal refusal = derive(call_argument(fcinfo, 3, 4), request);
	if (refusal.message == nullptr)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(refusal.message));
}
}
