// What expiry remembers of the ledger's block ranges: idem.sweep.
#pragma once

extern "C" {
#include "postgres.h"
#include "storage/block.h"
#include "utils/relcache.h"
}

#include "core/outcome.hpp"

namespace pg_idem {

class SweepMemory {
public:
	// Reads the table, for the ledger as it is now. `lives` is a digest of all retentions: what was
	// remembered under others does not count.
	SweepMemory(Relation ledger, int64 lives);

	uint32 range_count() const { return range_count_; }
	BlockNumber first_block(uint32 range) const { return range * blocks_per_range; }
	BlockNumber end_block(uint32 range) const {
		return Min(first_block(range) + blocks_per_range, blocks_);
	}

	// When the first row of the range can be past its life; a range of which nothing is known is due at
	// once.
	Micros due(uint32 range) const { return due_[range]; }

	void remember(uint32 range, Micros due);

private:
	static constexpr BlockNumber blocks_per_range = 128;

	Oid file_;
	int64 lives_;
	BlockNumber blocks_;
	uint32 range_count_;
	Micros *due_;
};

} // namespace pg_idem
