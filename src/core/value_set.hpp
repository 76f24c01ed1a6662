// The normaliser `set`.
#pragma once

#include "core/document.hpp"
#include "core/problem.hpp"
#include "core/scratch.hpp"

namespace pg_idem {

// Bytes of the canonical text that a set can have.
constexpr std::size_t set_limit = 1'048'576;

// An array becomes an array of its elements in canonical form, in the order of their texts
// (key_order.hpp), equal ones once. An array inside it keeps its order.
Problem normalise_set(const Value &in, const Document &document, Scratch &scratch, Value &out);

} // namespace pg_idem
