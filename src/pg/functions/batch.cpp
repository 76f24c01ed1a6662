// idem_claim_many.

extern "C" {
#include "postgres.h"
#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"
}

#include "pg/claims/batch.hpp"
#include "pg/functions/arguments.hpp"

using namespace pg_idem;

namespace {

// The line's number, what idem_claim answers, and in the place of stored arguments, which a claim does not
// answer with, the SQLSTATE of a line that was refused.
constexpr int column_count = 1 + answer_columns;
constexpr int col_outcome = 1, col_action = 2, col_response_omitted = 8, col_retryable = 9,
			  col_message = 14, col_sqlstate = column_count - 1;

// Rows come in order of the keys and leave in order of the input.
struct Rows {
	TupleDesc descriptor;
	MemoryContext context;
	MinimalTuple *tuples;

	void put(std::size_t position, Datum *values, bool *nulls) {
		values[0] = Int32GetDatum(static_cast<int32>(position + 1));
		nulls[0] = false;
		MemoryContext former = MemoryContextSwitchTo(context);
		tuples[position] = heap_form_minimal_tuple(descriptor, values, nulls);
		MemoryContextSwitchTo(former);
	}
};

void put_answer(void *state, std::size_t position, const Answer &answer) {
	Datum values[column_count] = {};
	bool nulls[column_count];
	answer_values(answer, values + 1, nulls + 1);
	Assert(nulls[col_sqlstate]);
	static_cast<Rows *>(state)->put(position, values, nulls);
}

// A caller that tests the action, or the outcome, meets no NULL.
void put_refusal(void *state, std::size_t position, const Refusal &refusal) {
	Datum values[column_count] = {};
	bool nulls[column_count];
	for (bool &null : nulls)
		null = true;
	const auto set = [&](int column, Datum value) {
		values[column] = value;
		nulls[column] = false;
	};
	set(col_outcome, CStringGetTextDatum("refused"));
	set(col_action, CStringGetTextDatum("stop"));
	set(col_response_omitted, BoolGetDatum(false));
	set(col_retryable, BoolGetDatum(false));
	set(col_message, CStringGetTextDatum(refusal.message));
	set(col_sqlstate, CStringGetTextDatum(unpack_sql_state(refusal.sqlstate)));
	static_cast<Rows *>(state)->put(position, values, nulls);
}

// The elements, as many as there are; NULL for one that is NULL.
struct Elements {
	Datum *values = nullptr;
	bool *nulls = nullptr;
	int count = 0;
};

Elements array_argument(FunctionCallInfo fcinfo, int n, const char *name, Oid type) {
	ArrayType *array = PG_GETARG_ARRAYTYPE_P(n);
	if (ARR_NDIM(array) > 1)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("%s has more than one dimension", name)));
	Elements elements;
	deconstruct_array(array, type, -1, false, TYPALIGN_INT, &elements.values, &elements.nulls,
	                  &elements.count);
	return elements;
}

std::span<const Call> read_calls(FunctionCallInfo fcinfo) {
	if (PG_ARGISNULL(2))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("arguments are NULL")));
	const Elements arguments = array_argument(fcinfo, 2, "arguments", JSONBOID);
	Elements occurrences;
	if (!PG_ARGISNULL(3)) {
		occurrences = array_argument(fcinfo, 3, "occurrences", TEXTOID);
		if (occurrences.count != arguments.count)
			ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			                errmsg("arguments and occurrences are not equally many"),
			                errdetail("There are %d and %d.", arguments.count, occurrences.count)));
	}
	auto *calls = static_cast<Call *>(MemoryContextAllocHuge(
		CurrentMemoryContext, sizeof(Call) * Max(static_cast<Size>(arguments.count), Size{1})));
	for (int i = 0; i < arguments.count; ++i) {
		Call &call = *new (&calls[i]) Call{};
		call.tenant = text_argument(fcinfo, 0);
		call.operation = text_argument(fcinfo, 1);
		call.arguments = arguments.nulls[i] ? nullptr : DatumGetJsonbP(arguments.values[i]);
		if (i < occurrences.count && !occurrences.nulls[i]) {
			text *occurrence = DatumGetTextPP(occurrences.values[i]);
			call.occurrence = {VARDATA_ANY(occurrence), VARSIZE_ANY_EXHDR(occurrence)};
		}
		call.has_version = !PG_ARGISNULL(4);
		call.version = call.has_version ? PG_GETARG_INT32(4) : 0;
	}
	return {calls, static_cast<std::size_t>(arguments.count)};
}

bool reports_errors(FunctionCallInfo fcinfo) {
	const std::string_view on_error = text_argument(fcinfo, 7);
	if (on_error == "raise" || on_error == "report")
		return on_error == "report";
	ereport(
		ERROR,
		(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown on_error"),
	     errhint(
			 "on_error is raise (a bad line is an error, and nothing is claimed) or report (its row says what is wrong, and the others are claimed).")));
	pg_unreachable();
}

// In a select list a composite set is evaluated once for each column, and each evaluation would claim.
void require_from(FunctionCallInfo fcinfo) {
	const auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
	if (result == nullptr || !IsA(result, ReturnSetInfo) ||
	    (result->allowedModes & SFRM_Materialize_Preferred) == 0)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		                errmsg("idem_claim_many must be called in FROM"),
		                errhint("Write SELECT ... FROM idem_claim_many(...).")));
}

} // namespace

extern "C" {

PG_FUNCTION_INFO_V1(pg_idem_claim_many);

Datum pg_idem_claim_many(PG_FUNCTION_ARGS) {
	require_from(fcinfo);
	BatchOptions options;
	options.wait = wait_argument(fcinfo, 5);
	options.lease = lease_argument(fcinfo, 6);
	options.report = reports_errors(fcinfo);
	const std::span<const Call> calls = read_calls(fcinfo);
	InitMaterializedSRF(fcinfo, 0);
	const auto *result = reinterpret_cast<ReturnSetInfo *>(fcinfo->resultinfo);
	Rows rows{result->setDesc, CurrentMemoryContext,
	          static_cast<MinimalTuple *>(MemoryContextAllocHuge(
				  CurrentMemoryContext, sizeof(MinimalTuple) * Max(calls.size(), Size{1})))};
	claim_batch(calls, options, {put_answer, put_refusal, &rows});
	TupleTableSlot *slot = MakeSingleTupleTableSlot(result->setDesc, &TTSOpsMinimalTuple);
	for (std::size_t i = 0; i < calls.size(); ++i) {
		ExecStoreMinimalTuple(rows.tuples[i], slot, false);
		tuplestore_puttupleslot(result->setResult, slot);
		pfree(rows.tuples[i]);
		ExecClearTuple(slot);
	}
	ExecDropSingleTupleTableSlot(slot);
	return Datum{0};
}
}
