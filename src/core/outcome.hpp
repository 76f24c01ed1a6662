// What a claim answers: a pure function of the ledger's row, the request and the clock.
//
// The order of tests is the contract: another intent's request is a conflict whatever the state, and
// only then does the state decide.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

namespace pg_idem {

// Microseconds of this server's clock, and spans of it.
using Micros = std::int64_t;

enum class Outcome : std::uint8_t {
	Claimed,
	Takeover,
	Replayed,
	Failed,
	InProgress,
	Conflict,
	Unresolved,
	ReceiptExpired,
	Exhausted,
};

enum class Action : std::uint8_t { Do, Verify, Answer, Wait, Stop };

// The state of a row as stored; the letter is the one in idem.key.state.
enum class State : char {
	Open = 'o',     // an external claim, committed open, under a lease
	Unknown = 'u',  // its owner said that the outcome is unknown
	Released = 'r', // known not to have happened: the next claim of the same request owns it
	Completed = 'c',
	Failed = 'f',
	Abandoned = 'a', // a person decided that it is not to be done
};

constexpr bool is_finished(State state) {
	return state == State::Completed || state == State::Failed || state == State::Abandoned;
}

struct Record {
	State state = State::Completed;
	bool same_request = true; // the fingerprints agree
	Micros life_end = 0;      // of a finished row: the last instant at which it answers
	// Of a finished row: the last instant at which the same request is a repeat.
	Micros repeat_end = std::numeric_limits<Micros>::max();
	Micros lease_end = 0; // of an open row: the last instant at which its owner is protected
};

struct Decision {
	Outcome outcome = Outcome::Claimed;
	Action action = Action::Do;
	bool retryable = false;
	Micros retry_after = 0; // meaningful when retryable
	bool replaces = false;  // claimed: an expired row stands in the way and goes first
	bool continues = false; // claimed: a released row is taken up with the next attempt
	bool follows = false;   // claimed: a repeat that is meant becomes the row's next generation
};

// No row: claimed. `retry_after` is the policy's setting.
Decision decide(const Record *record, Micros now, Micros retry_after);

// What a repeat of a finished row is answered, at whatever distance.
Decision decide_repeat(State state);

// Another transaction holds the key, or its row is not committed yet: nothing can be compared.
Decision decide_in_flight(Micros retry_after);

// This transaction holds the claim itself, unfinished.
Decision decide_own_open();

std::string_view name(Outcome outcome);
std::string_view name(Action action);

} // namespace pg_idem
