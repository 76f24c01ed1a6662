// Compiles what idem.operation says of a recipe, and says what is wrong with it.
#pragma once

extern "C" {
#include "postgres.h"
#include "utils/array.h"
#include "utils/jsonb.h"
}

#include <string_view>

#include "core/arena.hpp"
#include "core/recipe.hpp"

namespace pg_idem {

// Why a recipe cannot be used. `what` is a message with a place for `field` (a path as spelt), NULL
// when there is no fault.
struct DefinitionFault {
	const char *what = nullptr;
	const char *hint = nullptr;
	std::string_view field;
};

// An arena in a memory context that lives as long as what is built in it.
Arena arena_in(MemoryContext context);

// `operation` must live as long as the recipe. `key_fields` is NULL unless the identity is fields.
DefinitionFault compile_recipe(std::string_view operation, int32 version, std::string_view identity,
                               Jsonb *key_fields, ArrayType *unchecked_fields,
                               std::string_view bind, ArrayType *exclusive, Arena arena,
                               Recipe &recipe);

// Raises ID002 for a fault.
[[noreturn]] void raise_definition_fault(std::string_view operation, const DefinitionFault &fault);

} // namespace pg_idem
