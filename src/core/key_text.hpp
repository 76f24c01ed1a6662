// A key as callers see it: prefix, underscore, 32 lower-case hex digits.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "core/digest.hpp"

namespace pg_idem {

// The underscore and the digits: what comes after the prefix.
constexpr std::size_t key_suffix_size = 33;

std::array<char, key_suffix_size> key_suffix(const Digest128 &key);

// False: no key of any prefix.
bool parse_key(std::string_view text, std::string_view &prefix, Digest128 &key);

} // namespace pg_idem
