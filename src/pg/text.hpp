// Texts for PostgreSQL.
#pragma once

extern "C" {
#include "postgres.h"
#include "utils/builtins.h"
}

#include <string_view>

namespace pg_idem {

// In the current memory context. A bytea is stored alike.
inline Datum text_datum(std::string_view view) {
	return PointerGetDatum(cstring_to_text_with_len(view.data(), static_cast<int>(view.size())));
}

} // namespace pg_idem
