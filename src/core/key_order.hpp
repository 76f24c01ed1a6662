// The order of object keys in the canonical form: by UTF-16 code unit, shorter first on a tie.
#pragma once

#include <string_view>

namespace pg_idem {

// Both valid UTF-8. On ASCII this is a byte comparison.
bool key_before(std::string_view a, std::string_view b);

} // namespace pg_idem
