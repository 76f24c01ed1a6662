#include "pg/claims/row_change.hpp"

namespace pg_idem {

void begin_attempt(Row &row, const Policy &policy, Micros now) {
	const bool may_have_been_sent = row.state == State::Open || row.state == State::Unknown;
	row.state = may_have_been_sent || !policy.records_sending ? State::Open : State::Planned;
	row.in_doubt = may_have_been_sent;
	if (row.state == State::Open && !row.was_sent) {
		row.was_sent = true;
		row.sent_at = now;
	}
	row.has_retry_at = false;
}

KeptResponse keep_response(Jsonb *response, const Policy &policy) {
	if (response == nullptr)
		return {nullptr, false};
	const Size size = VARSIZE(response) - VARHDRSZ;
	if (size <= static_cast<Size>(policy.max_response_bytes))
		return {response, false};
	ereport(WARNING,
	        (errmsg("response is not stored, because it is larger than max_response_bytes"),
	         errdetail("It has %zu bytes as jsonb, the limit of operation \"%.*s\" is %d.", size,
	                   static_cast<int>(policy.recipe.operation.size()),
	                   policy.recipe.operation.data(), policy.max_response_bytes),
	         errhint("Repeats answer with response_omitted and the effect_ref.")));
	return {nullptr, true};
}

void end_attempt(Row &row, State state, Micros now, std::string_view effect_ref,
                 const KeptResponse &kept) {
	row.state = state;
	row.finished = is_finished(state);
	row.in_doubt = row.in_doubt && !row.finished && state != State::Released;
	if (row.finished) {
		row.completed_at = now;
		row.effect_ref = effect_ref;
		row.response = kept.response;
		row.response_omitted = kept.omitted;
	}
}

} // namespace pg_idem
