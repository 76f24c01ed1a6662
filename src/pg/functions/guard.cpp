// idem_guard: a trigger for tables of effects.

extern "C" {
#include "postgres.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/rel.h"
}

#include "core/key_text.hpp"
#include "pg/claims/match.hpp"
#include "pg/claims/pending.hpp"
#include "pg/errors.hpp"
#include "pg/storage/ledger.hpp"

using namespace pg_idem;

namespace {

struct Guard {
	const char *operation;
	const char *key_column;
	const char *tenant_column; // NULL: any tenant
};

[[noreturn]] void misplaced(const char *why) {
	ereport(ERROR,
	        (errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED), errmsg("idem_guard() %s", why),
	         errhint("CREATE TRIGGER ... BEFORE INSERT ON ... FOR EACH ROW EXECUTE FUNCTION "
	                 "idem_guard('<operation>', '<column with the key>').")));
	pg_unreachable();
}

Guard guard_of(const TriggerData &data) {
	if (!TRIGGER_FIRED_FOR_ROW(data.tg_event) || TRIGGER_FIRED_BY_DELETE(data.tg_event))
		misplaced("must be fired for each row that is inserted or updated");
	const Trigger &trigger = *data.tg_trigger;
	if (trigger.tgnargs < 2 || trigger.tgnargs > 3)
		misplaced("takes an operation, the column of the key, and perhaps that of the tenant");
	return {trigger.tgargs[0], trigger.tgargs[1],
	        trigger.tgnargs == 3 ? trigger.tgargs[2] : nullptr};
}

// NULL data for NULL.
std::string_view value_of(HeapTuple row, TupleDesc descriptor, const char *column) {
	const int number = SPI_fnumber(descriptor, column);
	if (number <= 0)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
		                errmsg("column \"%s\" of idem_guard() does not exist", column)));
	const char *value = SPI_getvalue(row, descriptor, number);
	return value == nullptr ? std::string_view() : std::string_view(value);
}

bool is_of(const Policy &policy, std::string_view tenant, std::string_view claimed_by,
           const KeyName &name, int32 generation, const Guard &guard) {
	return policy.recipe.operation == guard.operation && policy.prefix == name.prefix &&
	       generation == name.generation &&
	       (guard.tenant_column == nullptr || tenant == claimed_by);
}

// Whether this transaction has the key: claimed, or claimed and completed.
bool holds(const KeyName &name, std::string_view tenant, const Guard &guard) {
	if (Claim *claim = find_claim(name.key)) {
		if (!(claim->open() || claim->state() == State::Completed) ||
		    !is_of(*claim->policy, tenant, claim->tenant, name, claim->generation, guard))
			return false;
		mark_effect(*claim);
		return true;
	}
	// A batch writes its completed claims early, and forgets them; an external effect was claimed before.
	const Ledger ledger = open_ledger();
	const Probe found = probe(ledger, name.key, true);
	const Policy *policy = found.presence == Presence::Settled && found.own
	                           ? find_policy_by_id(found.row.policy)
	                           : nullptr;
	const bool held = policy != nullptr && found.row.state == State::Completed &&
	                  is_of(*policy, tenant, found.row.tenant, name, found.row.generation, guard);
	close_ledger(ledger);
	return held;
}

} // namespace

extern "C" {

PG_FUNCTION_INFO_V1(pg_idem_guard);

Datum pg_idem_guard(PG_FUNCTION_ARGS) {
	if (!CALLED_AS_TRIGGER(fcinfo))
		misplaced("must be called as a trigger");
	const auto *data = reinterpret_cast<TriggerData *>(fcinfo->context);
	const Guard guard = guard_of(*data);
	HeapTuple row =
		TRIGGER_FIRED_BY_UPDATE(data->tg_event) ? data->tg_newtuple : data->tg_trigtuple;
	TupleDesc descriptor = RelationGetDescr(data->tg_relation);
	const std::string_view key = value_of(row, descriptor, guard.key_column);
	const std::string_view tenant = guard.tenant_column != nullptr
	                                    ? value_of(row, descriptor, guard.tenant_column)
	                                    : std::string_view();
	KeyName name;
	if (key.data() == nullptr || !parse_key(key, name) || !holds(name, tenant, guard))
		ereport(
			ERROR,
			(errcode(errcode_unclaimed_effect),
		     errmsg("this transaction holds no claim of operation \"%s\" for a row of table \"%s\"",
		            guard.operation, RelationGetRelationName(data->tg_relation)),
		     errdetail("Column \"%s\" has to hold the key of such a claim.", guard.key_column),
		     errhint("Do the effect only when idem_claim answers with the action do, in its "
		             "transaction, and store the key that it returned.")));
	return PointerGetDatum(row);
}
}
