// What has to hold in every state and for every step.
#pragma once

#include "unit/model_steps.hpp"

namespace pg_idem::model {

// The first property that is broken and sought.
Property broken_by(const World &world, const Setting &setting);
Property broken_by(const World &before, const Step &step, const Setting &setting);

} // namespace pg_idem::model
