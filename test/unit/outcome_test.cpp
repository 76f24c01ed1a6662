// State × request × clock → outcome.

#include "core/outcome.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace pg_idem::test {
namespace {

constexpr Micros now = 1'000'000;
constexpr Micros setting = 500;
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
	return text(decide(&record, now, setting));
}

TEST(Outcome, repeats_that_are_meant) {
	const auto at = [](Micros repeat_end, State state, bool same_request = true,
	                   Micros life_end = last) {
		Record record{.state = state, .same_request = same_request};
		record.life_end = life_end;
		record.lease_end = first;
		record.repeat_end = repeat_end;
		return text(decide(&record, now, setting));
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
	EXPECT_EQ(text(decide(nullptr, now, setting)), "claimed/do");
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

TEST(Outcome, retry_after_is_at_least_a_microsecond_and_never_overflows) {
	Record record{.state = State::Open, .lease_end = last};
	EXPECT_EQ(text(decide(&record, first, last)), "in_progress/wait retry " + std::to_string(last));
	EXPECT_EQ(text(decide(&record, now, 0)), "in_progress/wait retry 1");
	EXPECT_EQ(text(decide(&record, last, setting)), "in_progress/wait retry 1");
}

TEST(Outcome, claims_that_cannot_be_compared) {
	EXPECT_EQ(text(decide_in_flight(setting)), "in_progress/wait retry 500");
	EXPECT_EQ(text(decide_own_open()), "in_progress/stop");
}

// A caller that tests for `do` is safe against every outcome.
TEST(Outcome, only_a_claim_is_told_to_do) {
	for (const State state : {State::Open, State::Unknown, State::Released, State::Completed,
	                          State::Failed, State::Abandoned}) {
		for (const bool same : {false, true}) {
			for (const Micros end : {first, now - 1, now, now + 1, last}) {
				const Record record{state, same, end, end};
				const Decision decision = decide(&record, now, setting);
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
	EXPECT_EQ(text(decide(&record, now, setting)), "unresolved/stop");
}

TEST(Outcome, names) {
	EXPECT_EQ(name(Outcome::Takeover), "takeover");
	EXPECT_EQ(name(Outcome::ReceiptExpired), "receipt_expired");
	EXPECT_EQ(name(Outcome::Exhausted), "exhausted");
	EXPECT_EQ(name(Action::Verify), "verify");
}

} // namespace
} // namespace pg_idem::test
