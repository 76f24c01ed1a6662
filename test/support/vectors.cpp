#include "support/vectors.hpp"

#include <fstream>
#include <iterator>
#include <stdexcept>

#include "core/digest.hpp"

namespace pg_idem::test {

std::string read_vector(std::string_view path) {
	const std::string full = std::string(PG_IDEM_VECTORS "/").append(path);
	std::ifstream file(full, std::ios::binary);
	std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
	if (!file || bytes.empty())
		throw std::runtime_error("cannot read " + full);
	return bytes;
}

std::vector<std::string> vector_lines(std::string_view path) {
	std::string bytes = read_vector(path);
	if (bytes.back() == '\n')
		bytes.pop_back();
	return split(bytes, '\n');
}

std::vector<std::string> split(std::string_view line, char separator) {
	std::vector<std::string> fields;
	for (;;) {
		const std::size_t end = line.find(separator);
		fields.emplace_back(line.substr(0, end));
		if (end == std::string_view::npos)
			return fields;
		line.remove_prefix(end + 1);
	}
}

std::string hex(const std::uint8_t *bytes, std::size_t count) {
	std::string text;
	for (std::size_t i = 0; i < count; ++i) {
		text.push_back("0123456789abcdef"[bytes[i] >> 4]);
		text.push_back("0123456789abcdef"[bytes[i] & 15]);
	}
	return text;
}

std::string sha256_hex(std::string_view bytes) {
	Digest digest{};
	if (!digest_begin())
		throw std::runtime_error("SHA-256 is not available");
	digest_sink.write(digest_sink.state, bytes.data(), bytes.size());
	if (!digest_end(digest))
		throw std::runtime_error("SHA-256 failed");
	return hex(digest.data(), digest.size());
}

} // namespace pg_idem::test
