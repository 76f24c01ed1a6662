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

} // namespace

Decision decide(const Record *record, Micros now, Micros retry_after) {
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
	case State::Released: return {.continues = true};
	case State::Open:
		if (now <= record->lease_end)
			return wait(std::max(std::min(retry_after, until(record->lease_end, now)), Micros{1}));
		return stop(Outcome::Unresolved);
	case State::Unknown: break;
	}
	// Also for a letter that this build does not know: nothing is done on a guess.
	return stop(Outcome::Unresolved);
}

Decision decide_repeat(State state) {
	return answer(state == State::Completed ? Outcome::Replayed : Outcome::Failed);
}

Decision decide_in_flight(Micros retry_after) {
	return wait(retry_after);
}

Decision decide_own_open() {
	return stop(Outcome::InProgress);
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
