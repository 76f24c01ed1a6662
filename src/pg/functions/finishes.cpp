// idem_complete, idem_fail, idem_release, idem_unknown, idem_resolve; idem_mark_sending, idem_renew,
// idem_report_late.

extern "C" {
#include "postgres.h"
#include "fmgr.h"
#include "utils/timestamp.h"
}

#include "pg/claims/attempt.hpp"
#include "pg/claims/finish.hpp"
#include "pg/claims/resolve.hpp"
#include "pg/functions/arguments.hpp"
#include "pg/text.hpp"

using namespace pg_idem;

namespace {

struct Shape {
	Ending ending;
	int effect_ref; // positions of the arguments; -1: none
	int response;
	int fence;
	int retry_after;
	int verified;
};

Datum finish_datum(FunctionCallInfo fcinfo, const Shape &shape) {
	Finish request{};
	request.ending = shape.ending;
	request.tenant = text_argument(fcinfo, 0);
	request.key = text_argument(fcinfo, 1);
	if (shape.effect_ref >= 0)
		request.effect_ref = text_argument(fcinfo, shape.effect_ref);
	if (shape.response >= 0)
		request.response = jsonb_argument(fcinfo, shape.response);
	request.has_fence = !PG_ARGISNULL(shape.fence);
	if (request.has_fence)
		request.fence = PG_GETARG_INT64(shape.fence);
	if (shape.retry_after >= 0)
		request.retry_after = span_argument(fcinfo, shape.retry_after, "retry_after");
	request.verified =
		shape.verified >= 0 && !PG_ARGISNULL(shape.verified) && PG_GETARG_BOOL(shape.verified);
	const std::string_view done = finish(request);
	PG_RETURN_DATUM(text_datum(done));
}

Attempt attempt_argument(FunctionCallInfo fcinfo) {
	Attempt attempt{};
	attempt.tenant = text_argument(fcinfo, 0);
	attempt.key = text_argument(fcinfo, 1);
	attempt.has_fence = !PG_ARGISNULL(2);
	if (attempt.has_fence)
		attempt.fence = PG_GETARG_INT64(2);
	return attempt;
}

} // namespace

extern "C" {

PG_FUNCTION_INFO_V1(pg_idem_complete);
PG_FUNCTION_INFO_V1(pg_idem_fail);
PG_FUNCTION_INFO_V1(pg_idem_release);
PG_FUNCTION_INFO_V1(pg_idem_unknown);
PG_FUNCTION_INFO_V1(pg_idem_resolve);
PG_FUNCTION_INFO_V1(pg_idem_mark_sending);
PG_FUNCTION_INFO_V1(pg_idem_renew);
PG_FUNCTION_INFO_V1(pg_idem_report_late);
PG_FUNCTION_INFO_V1(pg_idem_require_fence);

Datum pg_idem_complete(PG_FUNCTION_ARGS) {
	return finish_datum(fcinfo, {Ending::Complete, 2, 3, 4, -1, -1});
}

Datum pg_idem_fail(PG_FUNCTION_ARGS) {
	return finish_datum(fcinfo, {Ending::Fail, -1, 2, 3, -1, -1});
}

Datum pg_idem_release(PG_FUNCTION_ARGS) {
	return finish_datum(fcinfo, {Ending::Release, -1, -1, 2, 3, 4});
}

Datum pg_idem_unknown(PG_FUNCTION_ARGS) {
	return finish_datum(fcinfo, {Ending::Unknown, -1, -1, 2, 3, -1});
}

Datum pg_idem_resolve(PG_FUNCTION_ARGS) {
	Resolution resolution{};
	resolution.tenant = text_argument(fcinfo, 0);
	resolution.key = text_argument(fcinfo, 1);
	resolution.decision = text_argument(fcinfo, 2);
	resolution.effect_ref = text_argument(fcinfo, 3);
	resolution.response = jsonb_argument(fcinfo, 4);
	resolution.note = text_argument(fcinfo, 5);
	resolution.rekey = !PG_ARGISNULL(6) && PG_GETARG_BOOL(6);
	const std::string_view done = resolve(resolution);
	PG_RETURN_DATUM(text_datum(done));
}

Datum pg_idem_mark_sending(PG_FUNCTION_ARGS) {
	const std::string_view done = mark_sending(attempt_argument(fcinfo));
	PG_RETURN_DATUM(text_datum(done));
}

Datum pg_idem_renew(PG_FUNCTION_ARGS) {
	PG_RETURN_TIMESTAMPTZ(renew(attempt_argument(fcinfo), lease_argument(fcinfo, 3)));
}

Datum pg_idem_require_fence(PG_FUNCTION_ARGS) {
	require_fence(attempt_argument(fcinfo));
	PG_RETURN_VOID();
}

Datum pg_idem_report_late(PG_FUNCTION_ARGS) {
	report_late(attempt_argument(fcinfo), text_argument(fcinfo, 3));
	PG_RETURN_VOID();
}
}
