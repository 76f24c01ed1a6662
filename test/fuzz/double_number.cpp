// Any groups as a number that goes through a double.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "core/double_number.hpp"
#include "fuzz/require.hpp"
#include "support/json_document.hpp"

using namespace pg_idem;
using namespace pg_idem::test;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
	JsonNode node;
	node.kind = Kind::Number;
	std::int32_t weight = 0;
	if (size < 1 + sizeof weight)
		return 0;
	node.negative = (data[0] & 1) != 0;
	std::memcpy(&weight, data + 1, sizeof weight);
	// Mostly of a size that doubles have.
	node.weight = (data[0] & 2) != 0 ? weight : weight % 90;
	for (std::size_t i = 1 + sizeof weight; i + 1 < size; i += 2)
		node.groups.push_back(static_cast<std::int16_t>((data[i] << 8 | data[i + 1]) % 10000));

	const Number number = node.number();
	const std::string exact = number_text(number);
	DoubleGroups groups;
	Number nearest;
	if (!through_double(number, groups, nearest)) {
		require(!is_shortest_double(number));
		require(exact.find("e+") != std::string::npos);
		return 0;
	}
	const std::string written = number_text(nearest);
	require(is_shortest_double(number) == (written == exact));
	// What a double has written, it reads and writes again.
	require(is_shortest_double(nearest));
	DoubleGroups groups_again;
	Number again;
	require(through_double(nearest, groups_again, again));
	require(number_text(again) == written);
	return 0;
}
