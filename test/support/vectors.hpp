// Files of test/vectors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pg_idem::test {

// Paths are relative to test/vectors. Both throw if the file cannot be read or is empty.
std::string read_vector(std::string_view path);
std::vector<std::string> vector_lines(std::string_view path);

// Fields of a line between separators.
std::vector<std::string> split(std::string_view line, char separator);

std::string hex(const std::uint8_t *bytes, std::size_t count);
std::string sha256_hex(std::string_view bytes);

} // namespace pg_idem::test
