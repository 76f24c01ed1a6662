// What the functions of src/pg do to the row of a key. The rules that decide are those of src/core
// themselves; what src/pg adds is stated here once more, each with the file that it comes from.
#pragma once

#include "unit/model_world.hpp"

namespace pg_idem::model {

// What a claim answers, or idem_pending says, now.
Decision answer(const Key &key, const Setting &setting);

// Owns the key, as `decision` of answer() says.
void claim(Key &key, const Decision &decision, const Setting &setting);

// Each false, and the key is as before, when the call is refused.
bool mark(Key &key, Small fence, const Setting &setting);
bool renew(Key &key, Small fence, const Setting &setting);
bool finish(Key &key, Small fence, State ending, bool verified, const Setting &setting);
bool resolve(Key &key, State after, const Setting &setting);

// A tick of the clock.
void age(Key &key, const Setting &setting);

} // namespace pg_idem::model
