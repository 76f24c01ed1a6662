// All interleavings of three attempts, a provider, a person and the clock: what holds for the rules as they
// are, which assumptions that needs, and that the checker notices what is broken. See docs/model.md.

#include "unit/model_search.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace pg_idem::model {
namespace {

constexpr Setting hold{.name = "hold"};
constexpr Setting takeover{.name = "takeover", .takes_over = true};
// The smallest in which a lease can end, be taken over, and the new one end inside the window.
constexpr Setting window{.name = "window", .window = 3, .lease = 1};
constexpr Setting long_window{.name = "longer window", .window = 5, .lease = 2};

Setting recorded(Setting setting) {
	setting.records_sending = true;
	return setting;
}

// The policy ends after two attempts, and a release asks for a pause.
Setting limited(Setting setting) {
	setting.max_attempts = 2;
	setting.wait = 1;
	return setting;
}

Finding report(const Setting &setting) {
	const Finding found = explore(setting);
	std::printf("%s%s%s: %zu states, %zu steps%s%s\n", setting.name,
	            setting.records_sending ? ", sending recorded" : "",
	            setting.max_attempts > 0 ? ", two attempts" : "", found.states, found.steps,
	            found.broken == Property::None ? "" : ", broken: ",
	            found.broken == Property::None ? "" : name(found.broken));
	return found;
}

void expect_holds(const Setting &setting) {
	const Finding found = report(setting);
	EXPECT_EQ(found.broken, Property::None) << name(found.broken) << "\n" << found.trace;
	EXPECT_GT(found.states, 1000U);
	std::string label(setting.name);
	label.append(setting.records_sending ? "_recorded" : "_assumed");
	label.append(setting.max_attempts > 0 ? "_limited" : "");
	testing::Test::RecordProperty(label, std::to_string(found.states));
}

// Without the assumption, or with the fault, the property is broken, and the checker finds how.
void expect_breaks(Setting setting, Property property) {
	setting.sought = property;
	const Finding found = report(setting);
	EXPECT_EQ(found.broken, property) << name(property) << " was expected to be broken";
	EXPECT_FALSE(found.trace.empty());
}

TEST(Model, hold_without_a_window) {
	for (const Setting &by : {hold, limited(hold)}) {
		expect_holds(by);
		expect_holds(recorded(by));
	}
}

// Whoever is told to verify looks at the provider before it sends.
TEST(Model, takeover_without_a_window) {
	for (const Setting &by : {takeover, limited(takeover)}) {
		expect_holds(by);
		expect_holds(recorded(by));
	}
}

// Whoever takes over sends again, and does not look.
TEST(Model, a_window) {
	expect_holds(recorded(window));
	expect_holds(limited(window));
}

TEST(Model, a_longer_window) {
	expect_holds(long_window);
}

TEST(Model, longer_leases_and_requests) {
	Setting by = takeover;
	by.lease = 5;
	by.delay = 3;
	expect_holds(by);
	expect_holds(recorded(by));
}

// The assumptions, one by one.

TEST(Model, a_request_must_not_outlive_the_lease) {
	for (Setting by : {hold, takeover, window, recorded(hold), recorded(takeover)}) {
		by.sends = Sends::UnderLease;
		expect_breaks(by, Property::OneEffect);
		by.sends = Sends::AtAnyTime;
		expect_breaks(by, Property::OneEffect);
	}
}

// Then requests may outlive their lease by the rest; what `do` means then is another matter.
TEST(Model, or_the_window_is_declared_shorter_than_it_is) {
	Setting by = limited(window);
	by.sends = Sends::UnderLease;
	by.sought = Property::OneEffect;
	by.margin = by.delay;
	expect_holds(by);
}

TEST(Model, whoever_is_told_to_verify_has_to_look) {
	Setting by = takeover;
	by.looks_when_told_verify = false;
	expect_breaks(by, Property::OneEffect);
}

TEST(Model, unknown_is_said_when_nothing_is_under_way) {
	for (Setting by : {hold, takeover}) {
		by.unknown_when_over = false;
		expect_breaks(by, Property::OneEffect);
	}
	Setting by = window;
	by.unknown_when_over = false;
	expect_breaks(by, Property::DoIsSafe);
}

TEST(Model, a_person_tells_the_truth_and_looks_last) {
	for (const Setting &policy : {hold, takeover}) {
		Setting by = policy;
		by.person_is_right = false;
		expect_breaks(by, Property::OneEffect);
		by = policy;
		by.person_looks_last = false;
		expect_breaks(by, Property::OneEffect);
	}
}

// idem_renew does not look at the window, idem_mark_sending does.
TEST(Model, in_a_window_each_sending_after_a_renewal_is_marked) {
	for (Setting by : {window, recorded(window)}) {
		by.marks_each_sending = false;
		expect_breaks(by, Property::OneEffect);
	}
	for (Setting by : {hold, takeover}) {
		by.marks_each_sending = false;
		expect_holds(by);
	}
}

// Also without a renewal, if a provider counts from a request that it has refused: the key is released, and
// its next attempt is told `do` shortly before the window ends.
TEST(Model, a_released_key_is_sent_again_across_the_end_of_the_window) {
	Setting by = limited(window);
	by.marks_each_sending = false;
	by.renews = false;
	expect_breaks(by, Property::OneEffect);
	by.refusals_count = false;
	expect_holds(by);
}

// The first sending is remembered when it is known not to have happened, and does not keep the next attempt
// from being marked.
TEST(Model, past_the_window_a_retry_can_be_marked) {
	Setting by = recorded(window);
	by.sought = Property::CanSend;
	expect_holds(by);
	// Forgetting it would be wrong for providers that count from what they have refused.
	by.max_attempts = 2;
	by.amendment = Amendment::RetryForgetsSending;
	expect_breaks(by, Property::OneEffect);
	by.refusals_count = false;
	expect_holds(by);
	by.sought = Property::CanSend;
	expect_holds(by);
}

// A model that cannot fail proves nothing.
TEST(Model, the_checker_finds_what_is_broken) {
	struct Broken {
		Setting policy;
		Fault fault;
		Property property;
		const char *what;
	};
	const Broken table[]{
		{takeover, Fault::CompleteIgnoresFence, Property::Fenced, "any fence completes"},
		{takeover, Fault::RenewIgnoresFence, Property::Fenced, "any fence renews"},
		{takeover, Fault::RenewIgnoresFence, Property::OneEffect, "a lost lease is revived"},
		{recorded(takeover), Fault::MarkIgnoresFence, Property::Fenced, "any fence marks"},
		{window, Fault::WindowIsOneLonger, Property::OneEffect, "taken over a tick too late"},
		{window, Fault::WindowCountsFromLastAttempt, Property::OneEffect, "not the first sending"},
		{window, Fault::MarkIgnoresWindow, Property::OneEffect, "marked past the window"},
		{takeover, Fault::LeaseIsOneShorter, Property::OneEffect, "taken over a tick too early"},
		{recorded(hold), Fault::MarkLeavesPlanned, Property::OneEffect, "sent, said not to be"},
		{recorded(hold), Fault::MarkLeavesPlanned, Property::DoIsSafe, "sent, said not to be"},
		{recorded(takeover), Fault::TakeoverIsPlanned, Property::True, "the first is forgotten"},
		{hold, Fault::UnknownIsReleased, Property::OneEffect, "unknown is not released"},
		{takeover, Fault::ReleaseIgnoresDoubt, Property::True, "of others it knew nothing"},
		{window, Fault::ReleaseIgnoresDoubt, Property::DoIsSafe, "of others it knew nothing"},
		{hold, Fault::FailureCanBeReleased, Property::Final, "a failed key is released"},
		{hold, Fault::CompletedCanBeAbandoned, Property::Final, "a completed key is abandoned"},
		{limited(hold), Fault::WaitNeverEnds, Property::NotStuck, "it waits for ever"},
		{limited(hold), Fault::NobodyResolvesExhausted, Property::NotStuck, "nobody can decide"},
	};
	for (const Broken &broken : table) {
		SCOPED_TRACE(broken.what);
		Setting setting = broken.policy;
		setting.fault = broken.fault;
		setting.name = broken.what;
		expect_breaks(setting, broken.property);
	}
}

} // namespace
} // namespace pg_idem::model
