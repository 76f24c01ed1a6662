#include "pg/expiry/sweep_memory.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
}

namespace pg_idem {

namespace {

void require_spi(int result, int expected) {
	if (result != expected)
		elog(ERROR, "unexpected result of SPI: %s", SPI_result_code_string(result));
}

} // namespace

SweepMemory::SweepMemory(BlockNumber blocks)
	: blocks_(blocks), range_count_((blocks + blocks_per_range - 1) / blocks_per_range) {
	due_ = static_cast<Micros *>(
		MemoryContextAllocHuge(CurrentMemoryContext, sizeof(Micros) * (range_count_ + 1)));
	for (uint32 i = 0; i < range_count_; ++i)
		due_[i] = DT_NOBEGIN;
	require_spi(SPI_connect(), SPI_OK_CONNECT);
	require_spi(SPI_execute("SELECT block_range, due FROM idem.sweep", false, 0), SPI_OK_SELECT);
	for (uint64 i = 0; i < SPI_processed; ++i) {
		bool null;
		HeapTuple tuple = SPI_tuptable->vals[i];
		TupleDesc descriptor = SPI_tuptable->tupdesc;
		const uint32 range = DatumGetInt32(SPI_getbinval(tuple, descriptor, 1, &null));
		if (range < range_count_)
			due_[range] = DatumGetTimestampTz(SPI_getbinval(tuple, descriptor, 2, &null));
	}
	require_spi(SPI_finish(), SPI_OK_FINISH);
}

void SweepMemory::remember(uint32 range, Micros due) {
	due_[range] = due;
	Oid types[] = {INT4OID, TIMESTAMPTZOID};
	Datum values[] = {Int32GetDatum(static_cast<int32>(range)),
	                  TimestampTzGetDatum(Min(due, DT_NOEND))};
	require_spi(SPI_connect(), SPI_OK_CONNECT);
	require_spi(
		SPI_execute_with_args("INSERT INTO idem.sweep AS s (block_range, due) VALUES ($1, $2) "
	                          "ON CONFLICT (block_range) DO UPDATE SET due = excluded.due",
	                          2, types, values, nullptr, false, 0),
		SPI_OK_INSERT);
	require_spi(SPI_finish(), SPI_OK_FINISH);
}

} // namespace pg_idem
