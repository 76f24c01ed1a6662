// The normalisers `casefold` and `nfc`, by ICU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/problem.hpp"
#include "core/scratch.hpp"

namespace pg_idem {

enum class UnicodeForm : std::uint8_t {
	Casefold, // full case folding (CaseFolding.txt, C and F)
	Nfc,      // Normalization Form C
};

// Bytes of a text that can be brought into a form.
constexpr std::size_t text_limit = 1'048'576;

// Valid UTF-8 in, valid UTF-8 out.
//
// A text is refused when it holds a code point that is unassigned in the Unicode version of the ICU
// at hand, since a later version may give that one another form, and the text another key. The NFC of
// all other texts is fixed for good by Unicode's Normalization Stability, their case folding by its
// Case Folding Stability as far as they hold no compatibility characters (docs/key-format.md).
Problem unicode_form(UnicodeForm form, std::string_view in, Scratch &scratch,
                     std::string_view &out);

} // namespace pg_idem
