// A key as callers see it: prefix, underscore, 32 lower-case hex digits; and from the second generation
// on a hyphen and its number.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/digest.hpp"

namespace pg_idem {

struct KeyName {
	std::string_view prefix;
	Digest128 key{};
	std::int32_t generation = 1;
};

// What comes after the prefix.
class KeySuffix {
public:
	KeySuffix(const Digest128 &key, std::int32_t generation);

	std::string_view view() const { return {text_.data(), size_}; }

private:
	std::array<char, 33 + 11> text_; // "_", digits of the key, "-2147483647"
	std::size_t size_;
};

// False: no key of any prefix. A key has one spelling.
bool parse_key(std::string_view text, KeyName &name);

} // namespace pg_idem
