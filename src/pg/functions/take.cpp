// idem_take, and what the view idem_pending asks of each key.

extern "C" {
#include "postgres.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"
}

#include "pg/claims/answer.hpp"
#include "pg/claims/lookup.hpp"
#include "pg/claims/match.hpp"
#include "pg/claims/take.hpp"
#include "pg/functions/arguments.hpp"
#include "pg/statistics/duplicates.hpp"
#include "pg/text.hpp"

using namespace pg_idem;

namespace {

std::string_view state_name(State state) {
	switch (state) {
	case State::Planned: return "claimed";
	case State::Open: return "sending";
	case State::Unknown: return "unknown";
	case State::Released: return "released";
	default: return "";
	}
}

// In the caller's memory: the tuple store copies.
void put(void *state, const Decision &decision, const Claim &claim, const Row &row) {
	const auto *result = static_cast<ReturnSetInfo *>(state);
	Datum values[] = {text_datum(claim.tenant),
	                  PointerGetDatum(key_text(claim.policy->prefix, claim.key, claim.generation)),
	                  text_datum(name(decision.outcome)),
	                  text_datum(name(decision.action)),
	                  Int32GetDatum(claim.attempt),
	                  Int64GetDatum(claim.fence),
	                  text_datum(state_name(row.state)),
	                  row.arguments,
	                  row.was_sent ? TimestampTzGetDatum(row.sent_at) : Datum(0),
	                  TimestampTzGetDatum(claim.lease_end)};
	bool nulls[lengthof(values)] = {};
	nulls[7] = row.arguments == 0;
	nulls[8] = !row.was_sent;
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

// As for idem_claim_many: a select list would take for each column.
void require_from(FunctionCallInfo fcinfo) {
	const auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
	if (result == nullptr || !IsA(result, ReturnSetInfo) ||
	    (result->allowedModes & SFRM_Materialize_Preferred) == 0)
		ereport(ERROR,
		        (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("idem_take must be called in FROM"),
		         errhint("Write SELECT ... FROM idem_take(...).")));
}

} // namespace

extern "C" {

PG_FUNCTION_INFO_V1(pg_idem_take);
PG_FUNCTION_INFO_V1(pg_idem_next_outcome);
PG_FUNCTION_INFO_V1(pg_idem_duplicates);

Datum pg_idem_take(PG_FUNCTION_ARGS) {
	require_from(fcinfo);
	TakeOptions options;
	options.operation = text_argument(fcinfo, 0);
	if (PG_ARGISNULL(1))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("max_keys is NULL")));
	options.max_keys = PG_GETARG_INT32(1);
	options.lease = lease_argument(fcinfo, 2);
	options.tenant = text_argument(fcinfo, 3);
	InitMaterializedSRF(fcinfo, 0);
	take(options, {put, fcinfo->resultinfo});
	return Datum{0};
}

// NULL when they are not counted, or when nothing is known of the key.
Datum pg_idem_duplicates(PG_FUNCTION_ARGS) {
	const Answer answer = look_up_key(text_argument(fcinfo, 0), text_argument(fcinfo, 1));
	const int64 count = answer.known ? duplicates_of(answer.key) : -1;
	if (count < 0)
		PG_RETURN_NULL();
	PG_RETURN_INT64(count);
}

// policy, state, attempt, attempts_before, claimed_at, lease_end, sent_at, retry_at.
Datum pg_idem_next_outcome(PG_FUNCTION_ARGS) {
	const Policy *policy = PG_ARGISNULL(0) ? nullptr : find_policy_by_id(PG_GETARG_INT16(0));
	if (policy == nullptr || PG_ARGISNULL(1))
		PG_RETURN_NULL();
	const auto instant = [&](int n, Micros otherwise) {
		return PG_ARGISNULL(n) ? otherwise : PG_GETARG_TIMESTAMPTZ(n);
	};
	Record record;
	record.state = static_cast<State>(PG_GETARG_CHAR(1));
	record.attempt = PG_ARGISNULL(2) ? 1 : PG_GETARG_INT32(2);
	record.budget_used = record.attempt - (PG_ARGISNULL(3) ? 0 : PG_GETARG_INT32(3));
	record.lease_end = instant(5, 0);
	record.sent_at = instant(6, instant(4, 0));
	record.retry_at = instant(7, PG_INT64_MIN);
	record.life_end = forever;
	const Decision decision = decide(&record, GetCurrentTimestamp(), rules_of(*policy, 0));
	PG_RETURN_DATUM(text_datum(name(decision.outcome)));
}
}
