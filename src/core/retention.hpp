// How long a finished row answers, when its policy's retention was changed meanwhile.
#pragma once

#include <span>

#include "core/outcome.hpp"

namespace pg_idem {

// A change of a retention at `at`, from `before` to what the next change or the policy has.
struct RetentionChange {
	Micros at;
	Micros before;
};

// The last instant at which a row finished at `finished` answers. Lengthening reaches every row that
// was alive at the change, shortening only rows finished later, and a row once past its life stays
// gone. `changes` are in order of time; `current` is the retention now. Saturates, never overflows.
Micros life_end(Micros finished, Micros current, std::span<const RetentionChange> changes);

} // namespace pg_idem
