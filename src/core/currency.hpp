// ISO 4217: how many decimals an amount in a currency has.
#pragma once

#include <optional>
#include <string_view>

namespace pg_idem {

// By alphabetic code in upper case, of the currencies and funds that are in use. Nothing for a code
// that is unknown, withdrawn, or without a minor unit, such as gold (XAU) or the code for tests (XTS).
//
// The answer is part of the key formula: a currency whose exponent changed would need a new version
// of the operations that use it.
std::optional<int> currency_exponent(std::string_view code);

} // namespace pg_idem
