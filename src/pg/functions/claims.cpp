// idem_claim, idem_record, idem_lookup.

extern "C" {
#include "postgres.h"
#include "fmgr.h"
}

#include "pg/claims/answer.hpp"
#include "pg/claims/claim.hpp"
#include "pg/claims/finish.hpp"
#include "pg/claims/lookup.hpp"
#include "pg/functions/arguments.hpp"
#include "pg/functions/local_only.hpp"

using namespace pg_idem;

extern "C" {

PG_FUNCTION_INFO_V1(pg_idem_claim);
PG_FUNCTION_INFO_V1(pg_idem_record);
PG_FUNCTION_INFO_V1(pg_idem_lookup);
PG_FUNCTION_INFO_V1(pg_idem_lookup_key);

Datum pg_idem_claim(PG_FUNCTION_ARGS) {
	ClaimOptions options;
	options.wait = wait_argument(fcinfo, 5);
	options.lease = lease_argument(fcinfo, 6);
	options.site = fcinfo->flinfo;
	return answer_datum(claim(call_argument(fcinfo, 3, 4), options), fcinfo);
}

Datum pg_idem_record(PG_FUNCTION_ARGS) {
	ClaimOptions options;
	options.wait = wait_argument(fcinfo, 7);
	options.site = fcinfo->flinfo;
	const std::string_view effect_ref = text_argument(fcinfo, 3);
	Jsonb *response = jsonb_argument(fcinfo, 4);
	const Answer answer = claim(call_argument(fcinfo, 5, 6), options);
	if (!answer.owned)
		return answer_datum(answer, fcinfo);
	require_local_effect(answer.key, "idem_record");
	complete_fresh_claim(answer.key, effect_ref, response);
	return answer_datum(answer_recorded_claim(answer), fcinfo);
}

Datum pg_idem_lookup(PG_FUNCTION_ARGS) {
	return answer_datum(look_up(call_argument(fcinfo, 3, 4)), fcinfo);
}

Datum pg_idem_lookup_key(PG_FUNCTION_ARGS) {
	return answer_datum(look_up_key(text_argument(fcinfo, 0), text_argument(fcinfo, 1)), fcinfo);
}
}
