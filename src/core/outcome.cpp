#include "core/outcome.hpp"

#include <algorithm>
#include <limits>

namespace pg_idem {

namespace {

Decision stop(Outcome outcome) {
	return {.outcome = outcome, .action = Action::Stop};
}

Decision answer(Outcome outcome) {
	return {.outcome = outcome, .action = Action::Answer};
}

Decision wait(Micros retry_after) {
	return {.outcome = Outcome::InProgress,
	        .action = Action::Wait,
	        .retryable = true,
	        .retry_after = retry_after};
}

// From `now` to a later instant; the longest span there is if it is longer than that.
Micros until(Micros instant, Micros now) {
	Micros span = 0;
	if (__builtin_sub_overflow(instant, now, &span))
		return std::numeric_limits<Micros>::max();
	return span;
}

// The next attempt, unless the budget is spent.
Decision try_again(const Record &record, const Rules &rules, Outcome outcome, Action action) {
	if (is_spent(record.budget_used, rules.max_attempts))
		return stop(Outcome::Exhausted);
	return {.outcome = outcome, .action = action, .continues = true};
}

// An attempt that may have taken effect is over.
Decision decide_lost(const Record &record, Micros now, const Rules &rules) {
	const bool handed_on =
		rules.provider_window > 0
			? is_inside_window(now, rules.lease, record.sent_at, rules.provider_window)
			: rules.takes_over;
	if (!handed_on)
		return stop(Outcome::Unresolved);
	return try_again(record, rules, Outcome::Takeover, Action::Verify);
}

Decision wait_until(Micros end, Micros now, const Record &record, const Rules &rules) {
	const Micros pause = backoff(rules.retry_after, record.attempt, rules.dice);
	return wait(std::max(std::min(pause, until(end, now)), Micros{1}));
}

} // namespace

Decision decide(const Record *record, Micros now, const Rules &rules) {
	if (record == nullptr)
		return {};
	if (is_finished(record->state) && now > record->life_end)
		return {.replaces = true};
	if (!record->same_request)
		return stop(Outcome::Conflict);

	switch (record->state) {
	case State::Completed:
	case State::Failed:
	case State::Abandoned:
		return now > record->repeat_end ? Decision{.follows = true} : decide_repeat(record->state);
	case State::Released:
		if (now < record->retry_at)
			return wait(until(record->retry_at, now));
		return try_again(*record, rules, Outcome::Claimed, Action::Do);
	case State::Planned:
		if (now <= record->lease_end)
			return wait_until(record->lease_end, now, *record, rules);
		return try_again(*record, rules, Outcome::Claimed, Action::Do);
	case State::Open:
		if (now <= record->lease_end)
			return wait_until(record->lease_end, now, *record, rules);
		return decide_lost(*record, now, rules);
	case State::Unknown:
		if (now < record->retry_at)
			return wait(until(record->retry_at, now));
		return decide_lost(*record, now, rules);
	}
	// A letter that this build does not know: nothing is done on a guess.
	return stop(Outcome::Unresolved);
}

bool is_spent(std::int32_t budget_used, std::int32_t max_attempts) {
	return max_attempts > 0 && budget_used >= max_attempts;
}

Decision decide_repeat(State state) {
	return answer(state == State::Completed ? Outcome::Replayed : Outcome::Failed);
}

Decision decide_in_flight(const Rules &rules) {
	return wait(backoff(rules.retry_after, 1, rules.dice));
}

Decision decide_own_open() {
	return stop(Outcome::InProgress);
}

bool is_inside_window(Micros now, Micros lease, Micros sent_at, Micros window) {
	Micros lease_end = 0, window_end = 0;
	if (window <= 0 || __builtin_add_overflow(now, lease, &lease_end))
		return false;
	return __builtin_add_overflow(sent_at, window, &window_end) || lease_end <= window_end;
}

Micros backoff(Micros base, std::int32_t attempt, std::uint32_t dice) {
	constexpr Micros most = Micros{3600} * 1000 * 1000;
	const Micros limit = std::max(base, most);
	Micros span = std::max(base, Micros{1});
	for (std::int32_t i = 1; i < attempt && span < limit; ++i)
		span = span > limit / 2 ? limit : span * 2;
	// The share (dice + 1) / 2^32 of it; in parts, since the product would overflow.
	const auto whole = static_cast<std::uint64_t>(span - 1);
	const std::uint64_t share = std::uint64_t{dice} + 1;
	const std::uint64_t high = (whole >> 32) * share, low = ((whole & 0xFFFFFFFF) * share) >> 32;
	return static_cast<Micros>(high + low) + 1;
}

std::string_view name(Outcome outcome) {
	switch (outcome) {
	case Outcome::Claimed: return "claimed";
	case Outcome::Takeover: return "takeover";
	case Outcome::Replayed: return "replayed";
	case Outcome::Failed: return "failed";
	case Outcome::InProgress: return "in_progress";
	case Outcome::Conflict: return "conflict";
	case Outcome::Unresolved: return "unresolved";
	case Outcome::ReceiptExpired: return "receipt_expired";
	case Outcome::Exhausted: return "exhausted";
	}
	return {};
}

std::string_view name(Action action) {
	switch (action) {
	case Action::Do: return "do";
	case Action::Verify: return "verify";
	case Action::Answer: return "answer";
	case Action::Wait: return "wait";
	case Action::Stop: return "stop";
	}
	return {};
}

} // namespace pg_idem
