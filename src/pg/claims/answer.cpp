#include "pg/claims/answer.hpp"

extern "C" {
#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"
}

#include "core/key_text.hpp"
#include "pg/text.hpp"

namespace pg_idem {

namespace {

// In the order of the type idem.claim.
enum Field {
	f_outcome,
	f_action,
	f_key,
	f_attempt,
	f_fence,
	f_effect_ref,
	f_response,
	f_response_omitted,
	f_retryable,
	f_retry_after,
	f_differing_fields,
	f_claimed_at,
	f_completed_at,
	f_message,
	f_arguments,
	field_count,
};

static_assert(field_count == answer_columns);

// Words for a person or a model who reads nothing else of the row.
std::string_view message_of(const Answer &answer) {
	if (!answer.has_outcome)
		return "released: known not to have happened, and the next claim of the same request owns it";
	switch (answer.decision.outcome) {
	case Outcome::Claimed:
		if (answer.recorded)
			return "recorded by this call: keep the effect, in this transaction";
		return answer.decision.action == Action::Do
		           ? "you own this key: do the effect, then complete it"
		           : "the effect was done now, by this call";
	case Outcome::Takeover:
		return "you own this key after an attempt whose outcome is unknown: look the effect up before you do it";
	case Outcome::Replayed:
		return "done before: this is the stored response of that time, and nothing was done now";
	case Outcome::Failed:
		return "failed before, for good: this is the stored error of that time, and nothing was done now";
	case Outcome::InProgress:
		return answer.decision.retryable
		           ? "another attempt is under way, or its time to wait is not over: ask again later"
		           : "this transaction has claimed the key already and not finished it";
	case Outcome::Conflict:
		if (answer.sibling)
			return "another intent of the same subject is not finished: nothing was done now. It has this key";
		return answer.has_completed_at
		           ? "this key was finished with a different request: nothing was done now"
		           : "this key is claimed by a different request: nothing was done now";
	case Outcome::Unresolved:
		return "an earlier attempt was sent and its outcome is unknown: a person has to resolve it";
	case Outcome::ReceiptExpired:
		return "this was before the present generation of the key: how it ended is no longer known";
	case Outcome::Exhausted: return "the attempts of this operation are used up";
	}
	return {};
}

Datum names_datum(std::span<const std::string_view> names) {
	int count = static_cast<int>(names.size()), lower_bound = 1;
	auto *elements = static_cast<Datum *>(palloc(sizeof(Datum) * names.size()));
	auto *nulls = static_cast<bool *>(palloc(sizeof(bool) * names.size()));
	for (int i = 0; i < count; ++i) {
		nulls[i] = names[i].data() == nullptr;
		elements[i] = nulls[i] ? Datum(0) : text_datum(names[i]);
	}
	return PointerGetDatum(construct_md_array(elements, nulls, 1, &count, &lower_bound, TEXTOID, -1,
	                                          false, TYPALIGN_INT));
}

Datum interval_datum(Micros span) {
	auto *interval = static_cast<Interval *>(palloc0(sizeof(Interval)));
	interval->time = span;
	return IntervalPGetDatum(interval);
}

} // namespace

text *key_text(std::string_view prefix, const Digest128 &key, int32 generation) {
	const KeySuffix key_suffix(key, generation);
	const std::string_view suffix = key_suffix.view();
	auto *result = static_cast<text *>(palloc(VARHDRSZ + prefix.size() + suffix.size()));
	SET_VARSIZE(result, VARHDRSZ + prefix.size() + suffix.size());
	memcpy(VARDATA(result), prefix.data(), prefix.size());
	memcpy(VARDATA(result) + prefix.size(), suffix.data(), suffix.size());
	return result;
}

Answer answer_of_row(const Decision &decision, const Row &row, const Policy &policy) {
	Answer answer;
	answer.decision = decision;
	answer.prefix = policy.prefix;
	answer.key = row.key;
	answer.generation = row.generation;
	answer.attempt = row.attempt;
	answer.effect_ref = row.effect_ref;
	if (decision.outcome != Outcome::Conflict) {
		answer.response = row.response;
		answer.response_omitted = row.response_omitted;
	}
	answer.has_claimed_at = true;
	answer.claimed_at = row.claimed_at;
	answer.has_completed_at = row.finished;
	answer.completed_at = row.completed_at;
	return answer;
}

Answer answer_of_claim(const Decision &decision, const Claim &claim) {
	Answer answer;
	answer.decision = decision;
	answer.prefix = claim.policy->prefix;
	answer.key = claim.key;
	answer.generation = claim.generation;
	answer.has_claimed_at = true;
	answer.claimed_at = claim.claimed_at;
	if (!claim.open()) {
		answer.effect_ref = claim.last->effect_ref;
		if (decision.outcome != Outcome::Conflict) {
			answer.response = claim.last->response;
			answer.response_omitted = claim.last->response_omitted;
		}
		answer.has_completed_at = is_finished(claim.state());
		answer.completed_at = claim.last->at;
	}
	return answer;
}

Answer answer_recorded_claim(const Answer &owned) {
	Answer answer = answer_of_claim(owned.decision, *find_claim(owned.key));
	answer.owned = true;
	answer.recorded = true;
	answer.attempt = owned.attempt;
	answer.fence = owned.fence;
	return answer;
}

Answer answer_finished_claim(const Digest128 &key) {
	const Claim &claim = *find_claim(key);
	Decision decision;
	decision.outcome = claim.state() == State::Completed ? Outcome::Claimed : Outcome::Failed;
	decision.action = Action::Answer;
	return answer_of_claim(decision, claim);
}

Datum answer_datum(const Answer &answer, FunctionCallInfo fcinfo) {
	if (!answer.known) {
		fcinfo->isnull = true;
		return Datum(0);
	}
	Oid type = get_fn_expr_rettype(fcinfo->flinfo);
	if (!OidIsValid(type))
		type = get_func_rettype(fcinfo->flinfo->fn_oid);
	// Not pinned: nothing between here and the end reads invalidations.
	TupleDesc descriptor = lookup_type_cache(type, TYPECACHE_TUPDESC)->tupDesc;
	if (descriptor == nullptr || descriptor->natts != field_count)
		ereport(
			ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH), errmsg("type \"idem.claim\" was changed"),
		     errhint("The library and the extension's SQL objects are of different versions.")));

	Datum values[field_count];
	bool nulls[field_count];
	answer_values(answer, values, nulls);
	HeapTuple tuple = heap_form_tuple(descriptor, values, nulls);
	return HeapTupleGetDatum(tuple);
}

void answer_values(const Answer &answer, Datum *values, bool *nulls) {
	for (int i = 0; i < field_count; ++i) {
		values[i] = Datum(0);
		nulls[i] = true;
	}
	const auto set = [&](Field field, Datum value) {
		values[field] = value;
		nulls[field] = false;
	};
	const Decision &decision = answer.decision;
	if (answer.has_outcome) {
		set(f_outcome, text_datum(name(decision.outcome)));
		set(f_action, text_datum(name(decision.action)));
		set(f_retryable, BoolGetDatum(decision.retryable));
		if (decision.retryable)
			set(f_retry_after, interval_datum(decision.retry_after));
	}
	set(f_key, PointerGetDatum(key_text(answer.prefix, answer.key, answer.generation)));
	if (answer.owned) {
		set(f_attempt, Int32GetDatum(answer.attempt));
		set(f_fence, Int64GetDatum(answer.fence));
	}
	if (answer.effect_ref.data() != nullptr)
		set(f_effect_ref, text_datum(answer.effect_ref));
	if (answer.response != nullptr)
		set(f_response, JsonbPGetDatum(answer.response));
	set(f_response_omitted, BoolGetDatum(answer.response_omitted));
	if (!answer.differing_fields.empty())
		set(f_differing_fields, names_datum(answer.differing_fields));
	if (answer.has_claimed_at)
		set(f_claimed_at, TimestampTzGetDatum(answer.claimed_at));
	if (answer.has_completed_at)
		set(f_completed_at, TimestampTzGetDatum(answer.completed_at));
	set(f_message, text_datum(message_of(answer)));
	if (answer.arguments != nullptr)
		set(f_arguments, JsonbPGetDatum(answer.arguments));
}

} // namespace pg_idem
