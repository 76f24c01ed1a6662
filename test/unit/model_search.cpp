#include "unit/model_search.hpp"

#include <cstring>
#include <sstream>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "unit/model_properties.hpp"
#include "unit/model_steps.hpp"

namespace pg_idem::model {

namespace {

// The bytes of a state are the state.
static_assert(std::has_unique_object_representations_v<World>);

struct Hash {
	std::size_t operator()(const World &world) const {
		std::uint64_t words[(sizeof(World) + 7) / 8] = {};
		std::memcpy(words, &world, sizeof(World));
		std::uint64_t hash = 0;
		for (const std::uint64_t word : words) {
			hash = (hash ^ word) * 0x9E3779B97F4A7C15;
			hash ^= hash >> 29;
		}
		return hash;
	}
};

struct Arrival {
	const World *world;
	std::size_t from; // the arrival before
	Act act;
	Small worker;
};

const char *text(Act act) {
	switch (act) {
	case Act::Claims: return "claims";
	case Act::Marks: return "marks the sending";
	case Act::Renews: return "renews";
	case Act::Sends: return "sends";
	case Act::Looks: return "looks at the provider";
	case Act::Completes: return "completes";
	case Act::Fails: return "fails";
	case Act::Releases: return "releases";
	case Act::ReleasesItsOwn: return "releases, unverified";
	case Act::SaysUnknown: return "says unknown";
	case Act::IsDone: return "'s request is done";
	case Act::IsDoneUnheard: return "'s request is done, the answer is lost";
	case Act::IsRefused: return "'s request is refused";
	case Act::IsRefusedUnheard: return "'s request is refused, the answer is lost";
	case Act::IsLost: return "'s request is lost";
	case Act::PersonLooks: return "a person looks at the provider: nothing there";
	case Act::PersonCompletes: return "a person says completed";
	case Act::PersonRetries: return "a person says retry";
	case Act::PersonAbandons: return "a person says abandoned";
	case Act::Tick: return "time passes";
	}
	return "";
}

void tell(std::ostream &out, Act act, Small worker, const World &world) {
	if (act < Act::PersonLooks)
		out << "attempt " << worker + 1 << (text(act)[0] == '\'' ? "" : " ");
	const Key &key = world.key;
	out << text(act) << " -> ";
	if (key.exists)
		out << static_cast<char>(key.state) << " attempt " << int{key.attempt} << " fence "
			<< int{key.fence} << " lease " << int{key.lease_left};
	if (key.was_sent)
		out << " sent " << int{key.sent_age} << " ago";
	out << ", effects " << int{world.provider.effects} << "\n";
}

std::string trace(const std::vector<Arrival> &arrivals, std::size_t last, const Step *step) {
	std::vector<std::size_t> way;
	for (std::size_t i = last; i != 0; i = arrivals[i].from)
		way.push_back(i);
	std::ostringstream out;
	for (auto i = way.rbegin(); i != way.rend(); ++i)
		tell(out, arrivals[*i].act, arrivals[*i].worker, *arrivals[*i].world);
	if (step != nullptr)
		tell(out, step->act, step->worker, step->after);
	return out.str();
}

} // namespace

Finding explore(const Setting &setting) {
	Finding finding;
	std::unordered_map<World, std::size_t, Hash> met; // its addresses stay
	std::vector<Arrival> arrivals;
	const World start;
	arrivals.push_back({&met.emplace(start, 0).first->first, 0, Act::Tick, 0});
	std::vector<Step> steps;
	for (std::size_t i = 0; i < arrivals.size(); ++i) {
		const World &world = *arrivals[i].world;
		finding.broken = broken_by(world, setting);
		if (finding.broken != Property::None) {
			finding.trace = trace(arrivals, i, nullptr);
			break;
		}
		steps_from(world, setting, steps);
		finding.steps += steps.size();
		for (const Step &step : steps) {
			finding.broken = broken_by(world, step, setting);
			if (finding.broken != Property::None) {
				finding.trace = trace(arrivals, i, &step);
				finding.states = arrivals.size();
				return finding;
			}
			const auto [place, is_new] = met.emplace(step.after, arrivals.size());
			if (is_new)
				arrivals.push_back({&place->first, i, step.act, step.worker});
		}
	}
	finding.states = arrivals.size();
	return finding;
}

const char *name(Property property) {
	switch (property) {
	case Property::None: return "none";
	case Property::OneEffect: return "at most one effect";
	case Property::NotStuck: return "an unfinished key says what happens next";
	case Property::Final: return "a finished key is not changed";
	case Property::Fenced: return "a stale fence changes nothing";
	case Property::DoIsSafe: return "do is answered only when nothing can have happened";
	case Property::True: return "what the key says is so";
	case Property::CanSend: return "who is told do can mark the sending";
	}
	return "";
}

} // namespace pg_idem::model
