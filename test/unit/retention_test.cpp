// How long a finished row answers when its policy was changed meanwhile.

#include "core/retention.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace pg_idem::test {
namespace {

constexpr Micros last = std::numeric_limits<Micros>::max();

TEST(Retention, without_changes) {
	EXPECT_EQ(life_end(100, 30, {}), 130);
	EXPECT_EQ(life_end(100, 0, {}), 100);
}

TEST(Retention, lengthening_reaches_rows_that_are_alive) {
	const std::vector<RetentionChange> to_fifty{{120, 30}};
	EXPECT_EQ(life_end(100, 50, to_fifty), 150);
	EXPECT_EQ(life_end(90, 50, to_fifty), 140) << "alive at its last instant";
	EXPECT_EQ(life_end(89, 50, to_fifty), 119) << "gone, and stays gone";
	EXPECT_EQ(life_end(121, 50, to_fifty), 171) << "finished later";
}

TEST(Retention, shortening_touches_rows_finished_later_only) {
	const std::vector<RetentionChange> to_ten{{120, 30}};
	EXPECT_EQ(life_end(100, 10, to_ten), 130);
	EXPECT_EQ(life_end(120, 10, to_ten), 150) << "finished at the very instant";
	EXPECT_EQ(life_end(121, 10, to_ten), 131);
}

TEST(Retention, shortened_and_lengthened_again) {
	const std::vector<RetentionChange> changes{{120, 30}, {125, 10}}; // 30, 10, then 20
	EXPECT_EQ(life_end(100, 20, changes), 130) << "keeps what it had";
	EXPECT_EQ(life_end(121, 20, changes), 141);
	EXPECT_EQ(life_end(100, 60, changes), 160) << "reached by the lengthening";
}

TEST(Retention, saturates) {
	EXPECT_EQ(life_end(100, last, {}), last);
	EXPECT_EQ(life_end(last - 5, 10, {}), last);
	EXPECT_EQ(life_end(-100, last, {}), last - 100);
	const std::vector<RetentionChange> changes{{5, 10}};
	EXPECT_EQ(life_end(0, last, changes), last);
	EXPECT_EQ(life_end(std::numeric_limits<Micros>::min(), 1, changes),
	          std::numeric_limits<Micros>::min() + 10);
}

// Ticks of a clock, one row: it has the end that the retention at its completion gave it, and every
// tick at which the policy changes while it lives may move that end further out.
Micros simulated(Micros finished, Micros current, const std::vector<RetentionChange> &changes) {
	const auto in_force_after = [&](Micros tick) {
		Micros retention = current;
		for (auto change = changes.rbegin(); change != changes.rend() && change->at > tick;
		     ++change)
			retention = change->before;
		return retention;
	};
	Micros end = finished + in_force_after(finished - 1);
	for (Micros tick = finished; tick <= end && tick < 200; ++tick)
		end = std::max(end, finished + in_force_after(tick));
	return end;
}

TEST(Retention, against_a_simulation) {
	std::mt19937 random(0x72657465);
	for (int round = 0; round < 50000; ++round) {
		std::vector<RetentionChange> changes;
		Micros at = 0;
		for (unsigned n = random() % 5; n > 0; --n) {
			at += 1 + static_cast<Micros>(random() % 30);
			changes.push_back({at, static_cast<Micros>(random() % 40)});
		}
		const auto finished = static_cast<Micros>(random() % 120);
		const auto current = static_cast<Micros>(random() % 40);
		ASSERT_EQ(life_end(finished, current, changes), simulated(finished, current, changes));
	}
}

} // namespace
} // namespace pg_idem::test
