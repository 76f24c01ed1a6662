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
	Planned = 'p',  // an external claim, committed open under a lease, and known not to be sent
	Open = 'o',     // the same, but it may have been sent
	Unknown = 'u',  // its owner said that the outcome is unknown
	Released = 'r', // known not to have happened: the next claim of the same request owns it
	Completed = 'c',
	Failed = 'f',
	Abandoned = 'a', // a person decided that it is not to be done
};

constexpr bool is_finished(State state) {
	return state == State::Completed || state == State::Failed || state == State::Abandoned;
}

// Whether an attempt owns the row, under a lease.
constexpr bool is_open(State state) {
	return state == State::Planned || state == State::Open;
}

// Forever, as an instant and as a span.
constexpr Micros forever = std::numeric_limits<Micros>::max();

struct Record {
	State state = State::Completed;
	bool same_request = true; // the fingerprints agree
	Micros life_end = 0;      // of a finished row: the last instant at which it answers
	// Of a finished row: the last instant at which the same request is a repeat.
	Micros repeat_end = forever;
	Micros lease_end = 0; // of an open row: the last instant at which its owner is protected
	Micros retry_at = std::numeric_limits<
		Micros>::min();           // of one that no attempt has: when it may be tried again
	Micros sent_at = 0;           // of one that may have been sent: first, by any attempt
	std::int32_t attempt = 1;     // the number of the last one
	std::int32_t budget_used = 1; // attempts that count against the budget
};

// What the operation says, and the request.
struct Rules {
	Micros retry_after = 1;        // the longest wait that a first attempt is answered with
	Micros lease = 0;              // that a new attempt would get
	std::int32_t max_attempts = 0; // 0: no limit
	bool takes_over = false;       // a lost attempt is handed on without a provider's window
	Micros provider_window = 0; // how long the provider knows a repeat by its key; 0: not declared
	std::uint32_t dice = std::numeric_limits<std::uint32_t>::max(); // any number, for the jitter
};

struct Decision {
	Outcome outcome = Outcome::Claimed;
	Action action = Action::Do;
	bool retryable = false;
	Micros retry_after = 0; // meaningful when retryable
	bool replaces = false;  // claimed: an expired row stands in the way and goes first
	bool continues = false; // claimed or takeover: the row is taken up with the next attempt
	bool follows = false;   // claimed: a repeat that is meant becomes the row's next generation
};

// No row: claimed.
Decision decide(const Record *record, Micros now, const Rules &rules);

// Whether the attempts are used up. No limit, which is 0: never.
bool is_spent(std::int32_t budget_used, std::int32_t max_attempts);

// What a repeat of a finished row is answered, at whatever distance.
Decision decide_repeat(State state);

// Another transaction holds the key, or its row is not committed yet: nothing can be compared.
Decision decide_in_flight(const Rules &rules);

// This transaction holds the claim itself, unfinished.
Decision decide_own_open();

// Whether a new attempt that begins now and has the whole lease ends while the provider still knows a
// repeat of what was first sent at `sent_at`. No window: no.
bool is_inside_window(Micros now, Micros lease, Micros sent_at, Micros window);

// How long to wait before asking again: up to `base` doubled for each attempt before this one, at most
// an hour or `base`, and a random part of that (full jitter), so that many who wait do not come back at
// once. At least a microsecond.
Micros backoff(Micros base, std::int32_t attempt, std::uint32_t dice);

std::string_view name(Outcome outcome);
std::string_view name(Action action);

} // namespace pg_idem
