// What the model of one key consists of: the ledger's row, three attempts, the provider and a person.
//
// All times are relative to now and stop counting where nothing depends on them any more. So the clock of
// the model runs for ever, and there are finitely many states all the same.
#pragma once

#include <array>
#include <cstdint>

#include "core/outcome.hpp"

namespace pg_idem::model {

using Small = std::int8_t;

constexpr Small over = -1; // of a lease: its last instant is past
constexpr std::size_t attempts = 3;

// What the ledger keeps of a key (src/pg/storage/ledger.hpp), as far as a decision depends on it.
struct Key {
	State state = State::Released;
	bool exists = false;
	Small attempt = 0; // the number of the last one
	Small attempts_before = 0;
	Small fence = 0; // of which attempt; 0: none
	Small lease_left = over;
	bool was_sent = false;
	Small sent_age = 0;
	Small wait_left = 0;   // of a released one
	bool in_doubt = false; // an attempt before the last one may have taken effect

	bool operator==(const Key &) const = default;
};

// What an attempt knows about the effect.
enum class Knows : Small {
	Nothing,
	NotDone, // there was none when it asked, or was told `do`, and nothing it sent since can have made one
	Done,
};

// The n-th attempt is the n-th worker, which nobody else can be mistaken for: its fence is its number.
//
// There is no step for a crash. At any instant any worker may never move again, which is a crash, or move
// again much later, which is one that was thought to be dead and still has its fence.
struct Worker {
	Knows knows = Knows::Nothing;
	Small lease_left = over; // as far as it knows: from its claim, or its last renewal
	bool may_send = false;   // it has marked the sending
	bool all_refused = true; // whatever it has sent, as far as it was told
	Small under_way = 0;     // requests that have neither arrived nor been lost
	Small delay_left = 0;    // until the last of them has

	bool operator==(const Worker &) const = default;
};

struct Provider {
	Small effects = 0;
	bool remembers = false; // the key, within its window
	bool remembers_effect = false;
	Small age = 0; // of that memory

	bool operator==(const Provider &) const = default;
};

struct World {
	Key key;
	std::array<Worker, attempts> workers;
	Small started = 0; // so many of them
	Provider provider;
	bool person_saw_nothing = false; // at some time, which may be long ago

	bool operator==(const World &) const = default;
};

// When an attempt sends.
enum class Sends : std::uint8_t {
	SoThatItArrives, // so early that the request has arrived, or never will, when the lease ends
	UnderLease,      // while the lease lasts: the request may arrive after it
	AtAnyTime,       // whenever it gets round to it
};

// A rule that is broken on purpose, to see that the checker notices.
enum class Fault : std::uint8_t {
	None,
	CompleteIgnoresFence,
	RenewIgnoresFence,
	MarkIgnoresFence,
	WindowIsOneLonger,
	WindowCountsFromLastAttempt,
	LeaseIsOneShorter,
	MarkIgnoresWindow,
	MarkLeavesPlanned,
	TakeoverIsPlanned,
	UnknownIsReleased,
	ReleaseIgnoresDoubt,
	FailureCanBeReleased,
	CompletedCanBeAbandoned,
	WaitNeverEnds,
	NobodyResolvesExhausted,
};

// A change of the rules that is proposed: see docs/model.md.
enum class Amendment : std::uint8_t {
	None,
	RetryForgetsSending, // what is known not to have happened does not count as the first sending
};

enum class Property : std::uint8_t {
	None,
	OneEffect,
	NotStuck,
	Final,
	Fenced,
	DoIsSafe,
	True,
	CanSend
};

struct Setting {
	const char *name = "";
	// The policy.
	bool records_sending = false;
	bool takes_over = false;
	Small window = 0;
	Small lease = 2;
	Small max_attempts = 0;
	Small wait = 0; // that a release asks for
	// The world. What is true here is what the guarantee assumes.
	Small delay = 1; // the longest time that a request is under way
	Sends sends = Sends::SoThatItArrives;
	bool renews = true;
	bool marks_each_sending = true;     // and once more after a renewal, before it sends
	bool looks_when_told_verify = true; // before it sends; where no window is declared
	bool unknown_when_over = true;      // says unknown only when nothing it sent is under way
	bool person_is_right = true; // says retry only when there is no effect, completed when there is
	bool person_looks_last = true; // and looks at the same time, not before
	Small margin = 0;              // by which the provider's window is longer than declared
	bool refusals_count = true; // the provider's window begins with a request that it refuses, too

	Fault fault = Fault::None;
	Amendment amendment = Amendment::None;
	// The only one to look for; None: all but CanSend.
	Property sought = Property::None;
};

} // namespace pg_idem::model
