#include "unit/model_steps.hpp"

#include <algorithm>

#include "unit/model_ledger.hpp"

namespace pg_idem::model {

namespace {

struct Taker {
	const World &world;
	const Setting &setting;
	std::vector<Step> &steps;

	void take(Act act, std::size_t worker, const World &after, const Decision &decision = {}) {
		if (after != world)
			steps.push_back({act, static_cast<Small>(worker), after, decision});
	}
};

Small fence_of(std::size_t worker) {
	return static_cast<Small>(worker + 1);
}

void end_of_attempt(Worker &worker) {
	worker.lease_left = over;
	worker.may_send = false;
}

// A claim by somebody who has not claimed yet. Who asks again is somebody else.
void claims(Taker &to) {
	const auto next = static_cast<std::size_t>(to.world.started);
	if (next == attempts)
		return;
	const Decision decision = answer(to.world.key, to.setting);
	if (decision.action != Action::Do && decision.action != Action::Verify)
		return;
	World after = to.world;
	claim(after.key, decision, to.setting);
	++after.started;
	Worker &worker = after.workers[next];
	const bool may_be_done = decision.action == Action::Verify && to.setting.looks_when_told_verify;
	worker.knows = may_be_done ? Knows::Nothing : Knows::NotDone;
	worker.lease_left = to.setting.lease;
	to.take(Act::Claims, next, after, decision);
}

void marks(Taker &to, std::size_t n) {
	World after = to.world;
	if (!mark(after.key, fence_of(n), to.setting))
		return;
	after.workers[n].may_send = true;
	to.take(Act::Marks, n, after);
}

void renews(Taker &to, std::size_t n) {
	World after = to.world;
	if (!renew(after.key, fence_of(n), to.setting))
		return;
	after.workers[n].lease_left = to.setting.lease;
	if (to.setting.marks_each_sending)
		after.workers[n].may_send = false;
	to.take(Act::Renews, n, after);
}

bool may_send(const Worker &worker, const Setting &setting) {
	const Small needed = setting.sends == Sends::SoThatItArrives ? setting.delay : Small{0};
	if (setting.sends != Sends::AtAnyTime && worker.lease_left < needed)
		return false;
	if ((setting.records_sending || setting.marks_each_sending) && !worker.may_send)
		return false;
	if (setting.window > 0)
		return worker.knows != Knows::Done && worker.under_way < 2;
	return worker.knows == Knows::NotDone && worker.under_way == 0;
}

void sends(Taker &to, std::size_t n) {
	if (!may_send(to.world.workers[n], to.setting))
		return;
	World after = to.world;
	Worker &worker = after.workers[n];
	++worker.under_way;
	worker.delay_left = to.setting.delay;
	if (to.setting.marks_each_sending)
		worker.may_send = false;
	to.take(Act::Sends, n, after);
}

// Whether there is an effect is always to be found out; what is still under way is not.
void looks(Taker &to, std::size_t n) {
	World after = to.world;
	Worker &worker = after.workers[n];
	if (worker.knows != Knows::Nothing)
		return;
	if (after.provider.effects > 0)
		worker.knows = Knows::Done;
	else if (worker.under_way == 0)
		worker.knows = Knows::NotDone;
	to.take(Act::Looks, n, after);
}

// Also what was done before, as one does who has not heard the answer.
void finishes(Taker &to, std::size_t n, Act act, State ending, bool verified = true) {
	World after = to.world;
	if (!finish(after.key, fence_of(n), ending, verified, to.setting))
		return;
	end_of_attempt(after.workers[n]);
	to.take(act, n, after);
}

void works(Taker &to, std::size_t n) {
	const Worker &worker = to.world.workers[n];
	marks(to, n);
	if (to.setting.renews)
		renews(to, n);
	sends(to, n);
	looks(to, n);
	if (worker.knows == Knows::Done) {
		finishes(to, n, Act::Completes, State::Completed);
		return;
	}
	if (worker.under_way == 0 || !to.setting.unknown_when_over)
		finishes(to, n, Act::SaysUnknown, State::Unknown);
	if (worker.knows == Knows::NotDone && worker.under_way == 0) {
		finishes(to, n, Act::Fails, State::Failed);
		finishes(to, n, Act::Releases, State::Released);
	}
	if (worker.all_refused && worker.under_way == 0)
		finishes(to, n, Act::ReleasesItsOwn, State::Released, false);
}

bool is_repeat(const Provider &provider) {
	return provider.remembers && provider.remembers_effect;
}

// The request is carried out, or answered as the repeat that it is.
void do_effect(Provider &provider, const Setting &setting) {
	if (is_repeat(provider))
		return;
	++provider.effects;
	if (setting.window == 0)
		return;
	provider.remembers_effect = true;
	if (!provider.remembers)
		provider.age = 0;
	provider.remembers = true;
}

void refuse(Provider &provider, const Setting &setting) {
	if (setting.window > 0 && setting.refusals_count && !provider.remembers) {
		provider.remembers = true;
		provider.age = 0;
	}
}

void requests(Taker &to, std::size_t n) {
	if (to.world.workers[n].under_way == 0)
		return;
	World gone = to.world;
	Worker &worker = gone.workers[n];
	if (--worker.under_way == 0)
		worker.delay_left = 0;

	World unheard = gone;
	if (worker.knows != Knows::Done)
		unheard.workers[n].knows = Knows::Nothing;
	unheard.workers[n].all_refused = false;
	to.take(Act::IsLost, n, unheard);
	World done = unheard;
	do_effect(done.provider, to.setting);
	to.take(Act::IsDoneUnheard, n, done);
	done.workers[n].knows = Knows::Done;
	to.take(Act::IsDone, n, done);
	// Without looking, also when it is done: this says nothing of the requests before.
	World refused = gone;
	refuse(refused.provider, to.setting);
	to.take(Act::IsRefused, n, refused);
	refused.workers[n] = unheard.workers[n];
	to.take(Act::IsRefusedUnheard, n, refused);
}

void decides(Taker &to, Act act, State state) {
	World after = to.world;
	if (resolve(after.key, state, to.setting))
		to.take(act, 0, after);
}

void person_decides(Taker &to) {
	const bool nothing_there = to.world.provider.effects == 0;
	const Setting &setting = to.setting;
	if (!setting.person_looks_last && nothing_there && to.world.key.exists) {
		World after = to.world;
		after.person_saw_nothing = true;
		to.take(Act::PersonLooks, 0, after);
	}
	const bool saw_nothing =
		setting.person_looks_last ? nothing_there : to.world.person_saw_nothing;
	if (saw_nothing || !setting.person_is_right)
		decides(to, Act::PersonRetries, State::Released);
	if (!nothing_there)
		decides(to, Act::PersonCompletes, State::Completed);
	decides(to, Act::PersonAbandons, State::Abandoned);
}

// Not before what cannot be under way any longer has arrived or been lost.
void ticks(Taker &to) {
	World after = to.world;
	for (Worker &worker : after.workers) {
		if (worker.under_way > 0 && worker.delay_left-- == 0)
			return;
		worker.lease_left = std::max<Small>(static_cast<Small>(worker.lease_left - 1), over);
	}
	age(after.key, to.setting);
	Provider &provider = after.provider;
	if (provider.remembers && ++provider.age > to.setting.window + to.setting.margin)
		provider = {.effects = provider.effects};
	to.take(Act::Tick, 0, after);
}

} // namespace

void steps_from(const World &world, const Setting &setting, std::vector<Step> &steps) {
	steps.clear();
	Taker to{world, setting, steps};
	claims(to);
	for (std::size_t n = 0; n < static_cast<std::size_t>(world.started); ++n) {
		works(to, n);
		requests(to, n);
	}
	person_decides(to);
	ticks(to);
}

} // namespace pg_idem::model
