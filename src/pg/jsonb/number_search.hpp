// Looks for a number in a document, and says where it is.
#pragma once

extern "C" {
#include "postgres.h"
#include "utils/jsonb.h"
}

#include "core/number.hpp"

namespace pg_idem {

// The path of the first number that `wanted` says yes to, in the order in which jsonb stores the
// document, such as "items[0].price", in quotes; "the top level" for a document that is a number.
// NULL when there is none. Palloc'd. Segments are spelt as core/path.hpp wants them; a path of more
// than 200 bytes is cut in the middle.
const char *find_number(Jsonb *jsonb, bool (*wanted)(const Number &number));

} // namespace pg_idem
