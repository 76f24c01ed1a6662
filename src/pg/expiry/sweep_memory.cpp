#include "pg/expiry/sweep_memory.hpp"

extern "C" {
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
}

namespace pg_idem {

namespace {

void require_spi(int result, int expected) {
	if (result != expected)
		elog(ERROR, "unexpected result of SPI: %s", SPI_result_code_string(result));
}

} // namespace

SweepMemory::SweepMemory(Relation ledger, int64 lives)
	: file_(ledger->rd_rel->relfilenode), lives_(lives), blocks_(RelationGetNumberOfBlocks(ledger)),
	  range_count_((blocks_ + blocks_per_range - 1) / blocks_per_range) {
	due_ = static_cast<Micros *>(
		MemoryContextAllocHuge(CurrentMemoryContext, sizeof(Micros) * (range_count_ + 1)));
	for (uint32 i = 0; i < range_count_; ++i)
		due_[i] = DT_NOBEGIN;
	require_spi(SPI_connect(), SPI_OK_CONNECT);
	require_spi(SPI_execute("SELECT block_range, due, file, lives FROM idem.sweep", false, 0),
	            SPI_OK_SELECT);
	for (uint64 i = 0; i < SPI_processed; ++i) {
		bool null;
		HeapTuple tuple = SPI_tuptable->vals[i];
		TupleDesc descriptor = SPI_tuptable->tupdesc;
		const uint32 range = DatumGetInt32(SPI_getbinval(tuple, descriptor, 1, &null));
		const Oid file = DatumGetObjectId(SPI_getbinval(tuple, descriptor, 3, &null));
		const int64 lives_then = DatumGetInt64(SPI_getbinval(tuple, descriptor, 4, &null));
		if (range < range_count_ && file == file_ && lives_then == lives_)
			due_[range] = DatumGetTimestampTz(SPI_getbinval(tuple, descriptor, 2, &null));
	}
	require_spi(SPI_finish(), SPI_OK_FINISH);
}

void SweepMemory::remember(uint32 range, Micros due) {
	due_[range] = due;
	Oid types[] = {INT4OID, TIMESTAMPTZOID, OIDOID, INT8OID};
	Datum values[] = {Int32GetDatum(static_cast<int32>(range)),
	                  TimestampTzGetDatum(Min(due, DT_NOEND)), ObjectIdGetDatum(file_),
	                  Int64GetDatum(lives_)};
	require_spi(SPI_connect(), SPI_OK_CONNECT);
	require_spi(
		SPI_execute_with_args(
			"INSERT INTO idem.sweep AS s (block_range, due, file, lives) VALUES ($1, $2, $3, $4) "
			"ON CONFLICT (block_range) DO UPDATE SET due = excluded.due, file = excluded.file, "
			"lives = excluded.lives",
			4, types, values, nullptr, false, 0),
		SPI_OK_INSERT);
	require_spi(SPI_finish(), SPI_OK_FINISH);
}

} // namespace pg_idem
