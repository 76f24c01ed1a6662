// The spelling of a normaliser: steps joined by `|`.
#pragma once

#include <string_view>

#include "core/arena.hpp"
#include "core/normaliser.hpp"

namespace pg_idem {

// `trim|upper`, `minor_units(currency)`. White space around a step, and around an argument, is
// tolerated. False: an unknown step, more than `most_steps`, a step that cannot take what the one before
// gives, `minor_units` twice, or `exact` beside other steps.
bool parse_chain(std::string_view text, Arena &arena, Normaliser &normaliser);

} // namespace pg_idem
