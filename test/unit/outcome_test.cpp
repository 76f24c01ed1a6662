// State × request × clock → outcome.

#include "core/outcome.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace pg_idem::test {
namespace {

constexpr Micros now = 1'000'000;
constexpr Rules rules{.retry_after = 500, .lease = 100};
constexpr Micros first = std::numeric_limits<Micros>::min();
constexpr Micros last = std::numeric_limits<Micros>::max();

// As one line: outcome/action, then what else it says.
std::string text(const Decision &decision) {
	std::string line(name(decision.outcome));
	line.append("/").append(name(decision.action));
	if (decision.retryable)
		line += " retry " + std::to_string(decision.retry_after);
	if (decision.replaces)
		line += " replaces";
	if (decision.continues)
		line += " continues";
	if (decision.follows)
		line += " follows";
	return line;
}

struct Row {
	State state;
	bool same_request;
	Micros end; // of the life of a finished row, of the lease of an open one
	const char *expected;
};

std::string answer(const Row &row) {
	Record record{.state = row.state, .same_request = row.same_request};
	(is_finished(row.state) ? record.life_end : record.lease_end) = row.end;
	return text(decide(&record, now, rules));
}

TEST(Outcome, repeats_that_are_meant) {
	const auto at = [](Micros repeat_end, State state, bool same_request = true,
	                   Micros life_end = last) {
		Record record{.state = state, .same_request = same_request};
		record.life_end = life_end;
		record.lease_end = first;
		record.repeat_end = repeat_end;
		return text(decide(&record, now, rules));
	};
	// The last instant of the span is still in it.
	EXPECT_EQ(at(now, State::Completed), "replayed/answer");
	EXPECT_EQ(at(now - 1, State::Completed), "claimed/do follows");
	EXPECT_EQ(at(now - 1, State::Failed), "claimed/do follows");
	EXPECT_EQ(at(now - 1, State::Abandoned), "claimed/do follows");
	// Another request is a conflict at any distance, and what is past its life begins anew.
	EXPECT_EQ(at(now - 1, State::Completed, false), "conflict/stop");
	EXPECT_EQ(at(first, State::Completed, true, now - 1), "claimed/do replaces");
	// What is not finished blocks.
	EXPECT_EQ(at(first, State::Open), "unresolved/stop");
	EXPECT_EQ(at(first, State::Unknown), "unresolved/stop");
	EXPECT_EQ(at(first, State::Released), "claimed/do continues");
	EXPECT_EQ(text(decide_repeat(State::Completed)), "replayed/answer");
	EXPECT_EQ(text(decide_repeat(State::Abandoned)), "failed/answer");
}

TEST(Outcome, no_row) {
	EXPECT_EQ(text(decide(nullptr, now, rules)), "claimed/do");
}

TEST(Outcome, state_by_request_by_clock) {
	const Row table[]{
		// Finished and alive; the last instant counts.
		{State::Completed, true, last, "replayed/answer"},
		{State::Completed, true, now + 1, "replayed/answer"},
		{State::Completed, true, now, "replayed/answer"},
		{State::Failed, true, now, "failed/answer"},
		{State::Abandoned, true, now, "failed/answer"},
		// Finished and past its life: gone, whatever the request.
		{State::Completed, true, now - 1, "claimed/do replaces"},
		{State::Failed, true, now - 1, "claimed/do replaces"},
		{State::Abandoned, true, now - 1, "claimed/do replaces"},
		{State::Completed, false, now - 1, "claimed/do replaces"},
		{State::Failed, false, first, "claimed/do replaces"},
		{State::Abandoned, false, now - 1, "claimed/do replaces"},
		// Under a lease; the last instant still protects.
		{State::Open, true, now + 10'000, "in_progress/wait retry 500"},
		{State::Open, true, now + 499, "in_progress/wait retry 499"},
		{State::Open, true, now + 1, "in_progress/wait retry 1"},
		{State::Open, true, now, "in_progress/wait retry 1"},
		{State::Open, true, last, "in_progress/wait retry 500"},
		// Lost, or said to be unknown: nobody guesses.
		{State::Open, true, now - 1, "unresolved/stop"},
		{State::Open, true, first, "unresolved/stop"},
		{State::Unknown, true, 0, "unresolved/stop"},
		{State::Unknown, true, last, "unresolved/stop"},
		// Known not to have happened.
		{State::Released, true, 0, "claimed/do continues"},
		{State::Released, true, last, "claimed/do continues"},
		// Another request under this key: before any state.
		{State::Completed, false, now, "conflict/stop"},
		{State::Failed, false, now, "conflict/stop"},
		{State::Abandoned, false, now, "conflict/stop"},
		{State::Open, false, now + 10'000, "conflict/stop"},
		{State::Open, false, now - 1, "conflict/stop"},
		{State::Unknown, false, 0, "conflict/stop"},
		{State::Released, false, 0, "conflict/stop"},
	};
	for (const Row &row : table) {
		EXPECT_EQ(answer(row), row.expected) << static_cast<char>(row.state) << " same request "
											 << row.same_request << " end " << row.end;
	}
}

struct Lost {
	State state = State::Open;
	Micros sent_at = now - 300;
	std::int32_t attempt = 1;
	std::int32_t budget_used = 1;
	Micros lease_end = now - 1;
	Micros retry_at = first;
	bool same_request = true;
};

std::string answer(const Lost &lost, const Rules &by) {
	Record record{.state = lost.state, .same_request = lost.same_request};
	record.lease_end = lost.lease_end;
	record.retry_at = lost.retry_at;
	record.sent_at = lost.sent_at;
	record.attempt = lost.attempt;
	record.budget_used = lost.budget_used;
	return text(decide(&record, now, by));
}

TEST(Outcome, a_lost_attempt_is_held_or_handed_on) {
	const Rules hold{.lease = 100}, takeover{.lease = 100, .takes_over = true};
	for (const State state : {State::Open, State::Unknown}) {
		EXPECT_EQ(answer({.state = state}, hold), "unresolved/stop");
		EXPECT_EQ(answer({.state = state}, takeover), "takeover/verify continues");
		EXPECT_EQ(answer({.state = state, .same_request = false}, takeover), "conflict/stop")
			<< "the request comes first";
	}
	EXPECT_EQ(answer({.lease_end = now}, takeover), "in_progress/wait retry 1");
	// Known not to be sent: there is nothing to look for.
	EXPECT_EQ(answer({.state = State::Planned}, hold), "claimed/do continues");
	EXPECT_EQ(answer({.state = State::Planned, .lease_end = now}, hold),
	          "in_progress/wait retry 1");
	EXPECT_EQ(answer({.state = State::Planned, .same_request = false}, hold), "conflict/stop");
}

// From the first sending: the whole of the new lease has to be inside.
TEST(Outcome, the_provider_s_window_decides_whatever_the_policy) {
	for (const bool takes_over : {false, true}) {
		const Rules by{.lease = 100, .takes_over = takes_over, .provider_window = 400};
		EXPECT_EQ(answer({.sent_at = now - 300}, by), "takeover/verify continues");
		EXPECT_EQ(answer({.sent_at = now - 301}, by), "unresolved/stop");
		EXPECT_EQ(answer({.state = State::Unknown, .sent_at = now - 300}, by),
		          "takeover/verify continues");
		EXPECT_EQ(answer({.state = State::Unknown, .sent_at = first}, by), "unresolved/stop");
	}
	EXPECT_TRUE(is_inside_window(now, 100, now, last)) << "a window without end";
	EXPECT_FALSE(is_inside_window(last, 100, now, 1000)) << "a lease without end";
	EXPECT_FALSE(is_inside_window(now, 0, now, 0)) << "none is declared";
}

TEST(Outcome, the_budget_ends_attempts_that_would_begin) {
	const Rules by{.lease = 100, .max_attempts = 3, .takes_over = true};
	for (const State state : {State::Open, State::Unknown, State::Planned, State::Released}) {
		const std::string next = state == State::Open || state == State::Unknown
		                             ? "takeover/verify continues"
		                             : "claimed/do continues";
		EXPECT_EQ(answer({.state = state, .attempt = 2, .budget_used = 2}, by), next);
		EXPECT_EQ(answer({.state = state, .attempt = 3, .budget_used = 3}, by), "exhausted/stop");
		// A person has said retry since.
		EXPECT_EQ(answer({.state = state, .attempt = 5, .budget_used = 2}, by), next);
	}
	EXPECT_EQ(answer({.attempt = 3, .budget_used = 3, .lease_end = now + 9}, by),
	          "in_progress/wait retry 4")
		<< "the last one is under way";
	const Rules hold{.lease = 100, .max_attempts = 3};
	EXPECT_EQ(answer({.attempt = 3, .budget_used = 3}, hold), "unresolved/stop")
		<< "it may have taken effect: that comes first";
}

TEST(Outcome, a_released_key_waits_as_long_as_the_provider_said) {
	EXPECT_EQ(answer({.state = State::Released, .retry_at = now + 7}, rules),
	          "in_progress/wait retry 7");
	EXPECT_EQ(answer({.state = State::Released, .retry_at = now}, rules), "claimed/do continues");
}

TEST(Outcome, waits_double_with_each_attempt_and_are_jittered) {
	constexpr std::uint32_t all = std::numeric_limits<std::uint32_t>::max();
	constexpr Micros hour = Micros{3600} * 1000 * 1000;
	EXPECT_EQ(backoff(500, 1, all), 500);
	EXPECT_EQ(backoff(500, 2, all), 1000);
	EXPECT_EQ(backoff(500, 4, all), 4000);
	EXPECT_EQ(backoff(500, 100, all), hour);
	EXPECT_EQ(backoff(2 * hour, 5, all), 2 * hour) << "a longer setting is the longest wait";
	EXPECT_EQ(backoff(last, 5, all), last);
	EXPECT_EQ(backoff(0, 1, all), 1);
	EXPECT_EQ(backoff(500, 1, 0), 1);
	EXPECT_EQ(backoff(1000, 1, all / 2), 500);
	for (const std::uint32_t dice : {0u, 1u, all / 3, all - 1, all})
		for (const Micros base : {Micros{1}, Micros{7}, hour, last}) {
			EXPECT_GE(backoff(base, 1, dice), 1);
			EXPECT_LE(backoff(base, 1, dice), base);
		}
}

TEST(Outcome, retry_after_is_at_least_a_microsecond_and_never_overflows) {
	Record record{.state = State::Open, .lease_end = last};
	EXPECT_EQ(text(decide(&record, first, Rules{.retry_after = last})),
	          "in_progress/wait retry " + std::to_string(last));
	EXPECT_EQ(text(decide(&record, now, Rules{.retry_after = 0})), "in_progress/wait retry 1");
	EXPECT_EQ(text(decide(&record, last, rules)), "in_progress/wait retry 1");
}

TEST(Outcome, claims_that_cannot_be_compared) {
	EXPECT_EQ(text(decide_in_flight(rules)), "in_progress/wait retry 500");
	EXPECT_EQ(text(decide_own_open()), "in_progress/stop");
}

// A caller that tests for `do` is safe against every outcome.
TEST(Outcome, only_a_claim_is_told_to_do) {
	for (const State state : {State::Planned, State::Open, State::Unknown, State::Released,
	                          State::Completed, State::Failed, State::Abandoned}) {
		for (const bool same : {false, true}) {
			for (const Micros end : {first, now - 1, now, now + 1, last}) {
				Record record{.state = state, .same_request = same, .life_end = end};
				record.lease_end = end;
				const Decision decision = decide(&record, now, rules);
				EXPECT_EQ(decision.action == Action::Do, decision.outcome == Outcome::Claimed);
				EXPECT_EQ(decision.retryable, decision.action == Action::Wait);
				EXPECT_FALSE(decision.replaces && decision.continues);
				EXPECT_TRUE(decision.outcome == Outcome::Claimed ||
				            !(decision.replaces || decision.continues));
			}
		}
	}
}

TEST(Outcome, a_state_that_this_build_does_not_know_stops) {
	const Record record{.state = static_cast<State>('?')};
	EXPECT_EQ(text(decide(&record, now, rules)), "unresolved/stop");
}

TEST(Outcome, names) {
	EXPECT_EQ(name(Outcome::Takeover), "takeover");
	EXPECT_EQ(name(Outcome::ReceiptExpired), "receipt_expired");
	EXPECT_EQ(name(Outcome::Exhausted), "exhausted");
	EXPECT_EQ(name(Action::Verify), "verify");
}

} // namespace
} // namespace pg_idem::test
