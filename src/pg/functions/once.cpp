// idem_once: claim, effect and completion in one call.

extern "C" {
#include "postgres.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/numeric.h"
#include "utils/regproc.h"
#include "utils/resowner.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"
}

#include "pg/claims/answer.hpp"
#include "pg/claims/claim.hpp"
#include "pg/claims/finish.hpp"
#include "pg/claims/repeat.hpp"
#include "pg/compat.hpp"
#include "pg/functions/arguments.hpp"
#include "pg/functions/local_only.hpp"

using namespace pg_idem;

namespace {

// Raises unless the function takes one jsonb, returns one jsonb, and the caller may run it.
void require_effect(Oid function) {
	HeapTuple tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		ereport(ERROR,
		        (errcode(ERRCODE_UNDEFINED_FUNCTION), errmsg("effect function does not exist")));
	const auto *form = reinterpret_cast<Form_pg_proc>(GETSTRUCT(tuple));
	const bool fits = form->prokind == PROKIND_FUNCTION && form->pronargs == 1 &&
	                  form->proargtypes.values[0] == JSONBOID && form->prorettype == JSONBOID &&
	                  !form->proretset;
	ReleaseSysCache(tuple);
	if (!fits)
		ereport(
			ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
		     errmsg("%s cannot be an effect", format_procedure(function)),
		     errhint(
				 "An effect is a function that takes the arguments as jsonb and returns its response as jsonb.")));
	require_execute_privilege(function);
	InvokeFunctionExecuteHook(function);
}

Jsonb *run_effect(Oid function, Oid collation, Jsonb *arguments) {
	FmgrInfo info;
	fmgr_info(function, &info);
	LOCAL_FCINFO(call, 1);
	InitFunctionCallInfoData(*call, &info, 1, collation, nullptr, nullptr);
	call->args[0].value = JsonbPGetDatum(arguments);
	call->args[0].isnull = false;
	const Datum result = FunctionCallInvoke(call);
	return call->isnull ? nullptr : DatumGetJsonbP(result);
}

// An error that another attempt may not meet, or that says nothing of the effect, is never stored.
bool is_permanent(int sqlstate) {
	switch (ERRCODE_TO_CATEGORY(sqlstate)) {
	case ERRCODE_CONNECTION_EXCEPTION:
	case ERRCODE_TRANSACTION_ROLLBACK:
	case ERRCODE_INSUFFICIENT_RESOURCES:
	case ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE:
	case ERRCODE_OPERATOR_INTERVENTION:
	case ERRCODE_SYSTEM_ERROR:
	case ERRCODE_INTERNAL_ERROR:
	case MAKE_SQLSTATE('I', 'D', '0', '0', '0'): return false;
	default: return true;
	}
}

Jsonb *describe_error(const ErrorData *error) {
	JsonbParseState *state = nullptr;
	pushJsonbValue(&state, WJB_BEGIN_OBJECT, nullptr);
	const auto add = [&](const char *name, const char *value) {
		if (value == nullptr)
			return;
		JsonbValue item;
		item.type = jbvString;
		item.val.string.val = const_cast<char *>(name);
		item.val.string.len = static_cast<int>(strlen(name));
		pushJsonbValue(&state, WJB_KEY, &item);
		item.val.string.val = const_cast<char *>(value);
		item.val.string.len = static_cast<int>(strlen(value));
		pushJsonbValue(&state, WJB_VALUE, &item);
	};
	add("sqlstate", unpack_sql_state(error->sqlerrcode));
	add("message", error->message);
	add("detail", error->detail);
	add("hint", error->hint);
	return JsonbValueToJsonb(pushJsonbValue(&state, WJB_END_OBJECT, nullptr));
}

// Runs the effect in a sub-transaction. True: it ran. False: it failed for good, its writes are rolled
// back, and `result` is a description of the error.
bool try_effect(Oid function, Oid collation, Jsonb *arguments, Jsonb **result) {
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	volatile bool ran = false;
	BeginInternalSubTransaction(nullptr);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		*result = run_effect(function, collation, arguments);
		ReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
		ran = true;
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		ErrorData *error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
		if (!is_permanent(error->sqlerrcode))
			ReThrowError(error);
		*result = describe_error(error);
		FreeErrorData(error);
	}
	PG_END_TRY();
	return ran;
}

// The effect's id as the response has it: a string as it is, a number in digits.
std::string_view reference_in(Jsonb *response, std::string_view field) {
	if (field.data() == nullptr)
		return {};
	JsonbValue found;
	if (response != nullptr && JB_ROOT_IS_OBJECT(response) &&
	    getKeyJsonValueFromContainer(&response->root, field.data(), static_cast<int>(field.size()),
	                                 &found) != nullptr) {
		if (found.type == jbvString)
			return {found.val.string.val, static_cast<std::size_t>(found.val.string.len)};
		if (found.type == jbvNumeric)
			return DatumGetCString(
				DirectFunctionCall1(numeric_out, NumericGetDatum(found.val.numeric)));
	}
	ereport(
		ERROR,
		(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
	     errmsg("the response of the effect has no string or number in field \"%.*s\"",
	            static_cast<int>(field.size()), field.data()),
	     errhint("ref_field names the member of the response that holds the id of the effect.")));
	pg_unreachable();
}

bool stores_errors(FunctionCallInfo fcinfo, int n) {
	const std::string_view on_error = text_argument(fcinfo, n);
	if (on_error == "raise" || on_error == "fail")
		return on_error == "fail";
	ereport(
		ERROR,
		(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown on_error"),
	     errhint(
			 "on_error is raise (an error leaves nothing claimed) or fail (it is stored as a permanent failure).")));
	pg_unreachable();
}

void run_and_record(const Call &call, const Digest128 &key, Oid effect, Oid collation,
                    bool store_errors, std::string_view ref_field) {
	Jsonb *result;
	if (!store_errors)
		result = run_effect(effect, collation, call.arguments);
	else if (!try_effect(effect, collation, call.arguments, &result)) {
		fail_fresh_claim(key, result);
		return;
	}
	complete_fresh_claim(key, reference_in(result, ref_field), result);
}

} // namespace

extern "C" {

PG_FUNCTION_INFO_V1(pg_idem_once);

Datum pg_idem_once(PG_FUNCTION_ARGS) {
	if (PG_ARGISNULL(3))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("effect is NULL")));
	const Oid effect = PG_GETARG_OID(3);
	const std::string_view ref_field = text_argument(fcinfo, 7);
	const bool store_errors = stores_errors(fcinfo, 8);
	require_effect(effect);
	ClaimOptions options;
	options.wait = wait_argument(fcinfo, 6);
	options.site = fcinfo->flinfo;
	options.copy_allowed = true; // its answer is of a finished claim, on which nobody acts twice
	const Call call = call_argument(fcinfo, 4, 5);
	const Answer answer = claim(call, options);
	if (!answer.owned)
		return answer_datum(answer, fcinfo);
	if (!answer.copied) {
		require_local_effect(answer.key, "idem_once");
		run_and_record(call, answer.key, effect, PG_GET_COLLATION(), store_errors, ref_field);
		// The effect may have claimed keys of its own since.
		remember_call(fcinfo->flinfo, answer.key);
	}
	return answer_datum(answer_finished_claim(answer.key), fcinfo);
}
}
