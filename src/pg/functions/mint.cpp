// idem_mint.

extern "C" {
#include "postgres.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
}

#include "core/mint.hpp"

using namespace pg_idem;

namespace {

// What this session minted last: the next one is greater, whatever the clock does meanwhile.
MintTick previous = 0;

std::int64_t unix_micros() {
	constexpr std::int64_t days = POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE;
	return Max(GetCurrentTimestamp() + days * USECS_PER_DAY, INT64CONST(0));
}

} // namespace

extern "C" {

PG_FUNCTION_INFO_V1(pg_idem_mint);

Datum pg_idem_mint([[maybe_unused]] PG_FUNCTION_ARGS) {
	std::array<std::uint8_t, 8> random;
	if (!pg_strong_random(random.data(), random.size()))
		ereport(ERROR,
		        (errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not generate random values")));
	previous = next_tick(unix_micros(), previous);
	const auto minted = uuid_text(uuid_v7(previous, random));
	PG_RETURN_TEXT_P(cstring_to_text_with_len(minted.data(), static_cast<int>(minted.size())));
}
}
