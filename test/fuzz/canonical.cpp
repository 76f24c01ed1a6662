// Any JSON text: its canonical form is a fixed point and stands for the same value.

#include <cstddef>
#include <cstdint>

#include "fuzz/require.hpp"
#include "support/json_document.hpp"

using namespace pg_idem::test;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
	const std::string_view json(reinterpret_cast<const char *>(data), size);
	const auto node = parse_json(json);
	if (!node)
		return 0;
	const std::string text = canonical_text(*node);
	const auto again = parse_json(text);
	require(again.has_value());
	require(equal(*node, *again));
	require(canonical_text(*again) == text);
	return 0;
}
