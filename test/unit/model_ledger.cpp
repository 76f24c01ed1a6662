#include "unit/model_ledger.hpp"

#include <algorithm>

namespace pg_idem::model {

namespace {

constexpr Micros now = 1000; // any instant

Micros window_of(const Setting &setting) {
	const bool longer = setting.fault == Fault::WindowIsOneLonger && setting.window > 0;
	return setting.window + (longer ? 1 : 0);
}

// src/pg/claims/match.cpp, rules_of
Rules rules_of(const Setting &setting) {
	return {.lease = setting.lease,
	        .max_attempts = setting.max_attempts,
	        .takes_over = setting.takes_over,
	        .provider_window = window_of(setting)};
}

// src/pg/claims/match.cpp, answer_settled; src/pg/functions/take.cpp, pg_idem_next_outcome.
// Nothing outlives its retention here, and every request is the same one.
Record record_of(const Key &key, const Setting &setting) {
	const int shorter = setting.fault == Fault::LeaseIsOneShorter ? 1 : 0;
	Record record;
	record.state = key.state;
	record.life_end = forever;
	record.lease_end = now + key.lease_left - shorter;
	record.retry_at = now + key.wait_left;
	record.sent_at = now - key.sent_age;
	record.attempt = key.attempt;
	record.budget_used = key.attempt - key.attempts_before;
	return record;
}

// src/pg/claims/row_change.cpp, begin_attempt
void begin_attempt(Key &key, const Setting &setting) {
	const bool may_have_been_sent = (key.state == State::Open || key.state == State::Unknown) &&
	                                setting.fault != Fault::TakeoverIsPlanned;
	key.state = may_have_been_sent || !setting.records_sending ? State::Open : State::Planned;
	key.in_doubt = may_have_been_sent;
	const bool anew = setting.fault == Fault::WindowCountsFromLastAttempt;
	if (key.state == State::Open && (!key.was_sent || anew)) {
		key.was_sent = true;
		key.sent_age = 0;
	}
	key.wait_left = 0;
}

// src/pg/claims/attempt.cpp, require_attempt
bool is_attempt(const Key &key, Small fence, bool checks_fence) {
	return key.exists && (key.fence == fence || !checks_fence) && is_open(key.state);
}

bool is_exhausted(const Key &key, const Setting &setting) {
	return is_spent(key.attempt - key.attempts_before, setting.max_attempts);
}

// src/pg/claims/resolve.cpp, needs_decision
bool needs_decision(const Key &key, State after, const Setting &setting) {
	switch (key.state) {
	case State::Unknown: return true;
	case State::Open:
	case State::Planned: return key.lease_left == over;
	case State::Released:
		return is_exhausted(key, setting) && setting.fault != Fault::NobodyResolvesExhausted;
	case State::Failed: return after == State::Released;
	case State::Completed: return setting.fault == Fault::CompletedCanBeAbandoned;
	case State::Abandoned: break;
	}
	return false;
}

// Nothing depends on the times of a finished row.
void forget_times(Key &key) {
	key.lease_left = over;
	key.wait_left = 0;
}

} // namespace

Decision answer(const Key &key, const Setting &setting) {
	const Record record = record_of(key, setting);
	return decide(key.exists ? &record : nullptr, now, rules_of(setting));
}

// src/pg/claims/take_up.cpp, take_up_again; src/pg/claims/write.cpp, row_of
void claim(Key &key, const Decision &decision, const Setting &setting) {
	if (!decision.continues)
		key = {.state = State::Released, .exists = true};
	begin_attempt(key, setting);
	++key.attempt;
	key.fence = key.attempt;
	key.lease_left = setting.lease;
}

// src/pg/claims/attempt.cpp, mark_sending with require_lease and require_window
bool mark(Key &key, Small fence, const Setting &setting) {
	if (!is_attempt(key, fence, setting.fault != Fault::MarkIgnoresFence) || key.lease_left == over)
		return false;
	const Micros window = window_of(setting);
	if (window > 0 && key.state == State::Open && setting.fault != Fault::MarkIgnoresWindow &&
	    !is_inside_window(now + key.lease_left, 0, now - key.sent_age, window))
		return false;
	if (key.state == State::Open)
		return true;
	if (setting.fault != Fault::MarkLeavesPlanned)
		key.state = State::Open;
	if (!key.was_sent) {
		key.was_sent = true;
		key.sent_age = 0;
	}
	return true;
}

// src/pg/claims/attempt.cpp, renew
bool renew(Key &key, Small fence, const Setting &setting) {
	const bool checks_fence = setting.fault != Fault::RenewIgnoresFence;
	if (!is_attempt(key, fence, checks_fence))
		return false;
	key.fence = fence;
	key.lease_left = setting.lease;
	return true;
}

// src/pg/claims/finish.cpp, finish_row; "already" counts as refused, since nothing changes
bool finish(Key &key, Small fence, State ending, bool verified, const Setting &setting) {
	const bool checks_fence =
		setting.fault != Fault::CompleteIgnoresFence || ending != State::Completed;
	if (!key.exists || (key.fence != fence && checks_fence))
		return false;
	if (ending == State::Released && key.in_doubt && !verified &&
	    setting.fault != Fault::ReleaseIgnoresDoubt)
		ending = State::Unknown;
	const bool may_change = setting.fault == Fault::FailureCanBeReleased &&
	                        key.state == State::Failed && ending == State::Released;
	if (key.state == ending || (is_finished(key.state) && !may_change))
		return false;
	if (key.state == State::Planned && ending != State::Released &&
	    setting.fault != Fault::MarkLeavesPlanned)
		return false;
	key.state = ending;
	key.in_doubt = key.in_doubt && ending == State::Unknown;
	if (ending == State::Released) {
		key.fence = 0;
		key.wait_left = setting.wait;
	}
	if (ending == State::Unknown) {
		key.lease_left = std::min(key.lease_left, Small{0});
		if (setting.fault == Fault::UnknownIsReleased)
			key.state = State::Released;
	}
	const bool forgets = setting.amendment == Amendment::RetryForgetsSending;
	if (ending == State::Released && forgets) {
		key.was_sent = false;
		key.sent_age = 0;
	}
	if (is_finished(ending))
		forget_times(key);
	return true;
}

// src/pg/claims/resolve.cpp, resolve with release_anew; without rekey, which is another key for the
// provider
bool resolve(Key &key, State after, const Setting &setting) {
	if (!key.exists || !needs_decision(key, after, setting))
		return false;
	key.state = after;
	key.in_doubt = false;
	if (after == State::Released) {
		key.attempts_before = key.attempt;
		key.wait_left = 0;
		if (setting.amendment == Amendment::RetryForgetsSending) {
			key.was_sent = false;
			key.sent_age = 0;
		}
	}
	key.fence = 0;
	forget_times(key);
	return true;
}

void age(Key &key, const Setting &setting) {
	key.lease_left = std::max<Small>(static_cast<Small>(key.lease_left - 1), over);
	if (key.wait_left > 0 && setting.fault != Fault::WaitNeverEnds)
		--key.wait_left;
	// Two ticks past the window nothing becomes any later.
	const int oldest = setting.window > 0 ? setting.window + 2 : 0;
	if (key.was_sent)
		key.sent_age = static_cast<Small>(std::min(key.sent_age + 1, oldest));
}

} // namespace pg_idem::model
