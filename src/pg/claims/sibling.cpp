#include "pg/claims/sibling.hpp"

#include "pg/claims/match.hpp"
#include "pg/claims/pending.hpp"
#include "pg/storage/unfinished.hpp"

namespace pg_idem {

namespace {

constexpr Decision refused{.outcome = Outcome::Conflict, .action = Action::Stop};

bool find_pending_sibling(const Digest128 &subject, const Digest128 &key, Answer *answer) {
	for (const Claim *claim = first_claim(); claim != nullptr; claim = claim->next) {
		if (!claim->has_subject || claim->subject != subject || claim->key == key || !claim->open())
			continue;
		*answer = answer_of_claim(refused, *claim);
		answer->sibling = true;
		return true;
	}
	return false;
}

} // namespace

bool find_sibling(const Ledger &ledger, const Digest128 &subject, const Digest128 &key,
                  Answer *answer) {
	if (find_pending_sibling(subject, key, answer))
		return true;
	bool found = false;
	SiblingScan scan(ledger, subject);
	Row row;
	for (Presence presence; !found && (presence = scan.next(&row)) != Presence::None;) {
		const Policy *policy = find_policy_by_id(row.policy);
		if (row.key == key || policy == nullptr)
			continue;
		if (presence == Presence::InFlight) {
			answer->decision = decide_in_flight(rules_of(*policy, 0));
			answer->in_flight = found = true;
		} else if (row.state != State::Released) {
			*answer = answer_of_row(refused, row, *policy);
			answer->sibling = found = true;
		}
	}
	scan.close();
	return found;
}

} // namespace pg_idem
