// What the SQL side of idem_define and of the guards on idem.operation calls.

extern "C" {
#include "postgres.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "utils/inval.h"
#include "utils/rel.h"
}

#include "pg/claims/pending.hpp"
#include "pg/functions/arguments.hpp"
#include "pg/policy/definition.hpp"
#include "pg/storage/policy_use.hpp"

using namespace pg_idem;

extern "C" {

PG_FUNCTION_INFO_V1(pg_idem_check_policy);
PG_FUNCTION_INFO_V1(pg_idem_has_rows);
PG_FUNCTION_INFO_V1(pg_idem_policy_changed);

Datum pg_idem_check_policy(PG_FUNCTION_ARGS) {
	const std::string_view operation = text_argument(fcinfo, 0);
	Recipe recipe;
	const DefinitionFault fault = compile_recipe(
		operation, PG_ARGISNULL(1) ? 1 : PG_GETARG_INT32(1), text_argument(fcinfo, 2),
		jsonb_argument(fcinfo, 3), PG_ARGISNULL(4) ? nullptr : PG_GETARG_ARRAYTYPE_P(4),
		text_argument(fcinfo, 5), PG_ARGISNULL(6) ? nullptr : PG_GETARG_ARRAYTYPE_P(6),
		arena_in(CurrentMemoryContext), recipe);
	if (fault.what != nullptr)
		raise_definition_fault(operation, fault);
	PG_RETURN_VOID();
}

Datum pg_idem_has_rows(PG_FUNCTION_ARGS) {
	const int16 policy = PG_GETARG_INT16(0);
	for (const Claim *claim = first_claim(); claim != nullptr; claim = claim->next)
		if (claim->policy->id == policy)
			PG_RETURN_BOOL(true);
	PG_RETURN_BOOL(has_rows_of(policy));
}

Datum pg_idem_policy_changed(PG_FUNCTION_ARGS) {
	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR, (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
		                errmsg("function must be called as a trigger")));
	const auto *trigger = reinterpret_cast<TriggerData *>(fcinfo->context);
	CacheInvalidateRelcache(trigger->tg_relation);
	return PointerGetDatum(nullptr);
}
}
