#include "unit/model_properties.hpp"

#include <algorithm>

#include "unit/model_ledger.hpp"

namespace pg_idem::model {

namespace {

bool is_sought(Property property, const Setting &setting) {
	return setting.sought == Property::None ? property != Property::CanSend
	                                        : property == setting.sought;
}

bool nothing_under_way(const World &world) {
	return std::all_of(world.workers.begin(), world.workers.end(),
	                   [](const Worker &worker) { return worker.under_way == 0; });
}

// Nobody moves any more: as soon as its lease, or its wait, is over, a claim owns the key or it waits for
// a person, who can decide.
bool says_what_is_next(const World &world, const Setting &setting) {
	Key key = world.key;
	if (!key.exists || is_finished(key.state))
		return true;
	for (int left = std::max({key.lease_left + 1, int{key.wait_left}, 0}); left > 0; --left) {
		if (answer(key, setting).outcome != Outcome::InProgress && is_open(key.state))
			return false; // its owner is protected until then
		age(key, setting);
	}
	switch (answer(key, setting).outcome) {
	case Outcome::Claimed:
	case Outcome::Takeover: return true;
	case Outcome::Unresolved:
	case Outcome::Exhausted: return resolve(key, State::Abandoned, setting);
	default: return false;
	}
}

// What the state of the row says about the effect.
bool is_true(const World &world) {
	const bool happened = world.provider.effects > 0;
	const bool can_happen = happened || !nothing_under_way(world);
	switch (world.key.state) {
	case State::Completed: return happened;
	case State::Planned:
	case State::Released:
	case State::Failed: return !can_happen;
	case State::Open:
	case State::Unknown:
	case State::Abandoned: break;
	}
	return true;
}

bool is_by_worker(const Step &step) {
	return step.act > Act::Claims && step.act < Act::PersonLooks;
}

bool keeps_finished(const World &before, const Step &step) {
	if (!before.key.exists || !is_finished(before.key.state) || step.act == Act::Tick)
		return true;
	const bool retried = step.act == Act::PersonRetries && before.key.state == State::Failed;
	return retried || step.after.key == before.key;
}

bool can_send(const Step &step, const Setting &setting) {
	Key key = step.after.key;
	return step.act != Act::Claims || step.decision.action != Action::Do ||
	       mark(key, key.fence, setting);
}

} // namespace

Property broken_by(const World &world, const Setting &setting) {
	if (is_sought(Property::OneEffect, setting) && world.provider.effects > 1)
		return Property::OneEffect;
	if (is_sought(Property::NotStuck, setting) && !says_what_is_next(world, setting))
		return Property::NotStuck;
	if (is_sought(Property::True, setting) && world.key.exists && !is_true(world))
		return Property::True;
	return Property::None;
}

Property broken_by(const World &before, const Step &step, const Setting &setting) {
	if (is_sought(Property::Final, setting) && !keeps_finished(before, step))
		return Property::Final;
	if (is_sought(Property::Fenced, setting) && is_by_worker(step) &&
	    before.key.fence != step.worker + 1 && step.after.key != before.key)
		return Property::Fenced;
	if (is_sought(Property::DoIsSafe, setting) && step.act == Act::Claims &&
	    step.decision.action == Action::Do &&
	    (before.provider.effects > 0 || !nothing_under_way(before)))
		return Property::DoIsSafe;
	if (is_sought(Property::CanSend, setting) && !can_send(step, setting))
		return Property::CanSend;
	return Property::None;
}

} // namespace pg_idem::model
