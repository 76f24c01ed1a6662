// The ledger's table, read and written without SQL.
//
// Direct access costs a fraction of a statement and reads the newest truth whatever the isolation
// level, but passes by everything that the executor checks. What must still hold is checked here:
// the table's shape (shape.hpp), its indexes, replica identity, and that a snapshot is active.
#pragma once

extern "C" {
#include "postgres.h"
#include "access/htup.h"
#include "access/transam.h"
#include "utils/relcache.h"
}

#include <span>

#include "pg/storage/row.hpp"

namespace pg_idem {

// The open table and its primary key. Trivial: after an error PostgreSQL closes them.
struct Ledger {
	Relation table;
	Relation index;
};

// Locks both relations in row-exclusive mode until the end of the transaction, so that no DDL can
// come between a claim and its row. Raises ID031 when the table is not what this code writes to.
Ledger open_ledger();

// Locks a relation of ours for writing until the end of the transaction, or of the sub-transaction should
// that abort, whatever portal the call runs in.
void keep_locked(Oid relation);
void close_ledger(const Ledger &ledger);

// Events of (sub-)transactions, for the locks that open_ledger remembers.
void ledger_subxact_committed(SubTransactionId subxact, SubTransactionId parent);
void ledger_subxact_aborted(SubTransactionId subxact);
void ledger_xact_ended();

// What an index probe met under a dirty snapshot.
enum class Presence : uint8 {
	None,     // no row of this key, committed or not
	InFlight, // another transaction has inserted, is changing or is deleting the row
	Settled,  // committed and left alone, or this transaction's own
};

struct Probe {
	Presence presence = Presence::None;
	TransactionId changer =
		InvalidTransactionId; // in flight: who updates or deletes a committed row
	bool met = false;         // an index entry, whether or not a row lives there
	bool own = false;         // written by this transaction
	bool snapshot_sees =
		true; // false: committed after the snapshot of a repeatable-read transaction
	ItemPointerData tid{};
	Row row; // when settled; in the current memory context
};

// One descent, no lock on the row. With `exact`, a probe that met dead entries only is repeated: a
// writer outside pg_idem may have moved the row between the look at the index and the look at the table.
Probe probe(const Ledger &ledger, const Digest128 &key, bool exact);

// Waits for the transaction that is changing the probed row, as an UPDATE of it would.
void wait_for_changer(const Ledger &ledger, const Probe &probe);

// Raises 40001 when another writer's row, one that took no key lock, is in the way. Never waits.
void insert_row(const Ledger &ledger, const Row &row);

// Replaces the row at `tid`, under the key's lock. False: it is no longer there or, unless `wait`,
// another transaction locks it or is changing it.
bool update_row(const Ledger &ledger, const ItemPointerData &tid, const Row &row, bool wait);

// False: another transaction is changing it, or it is gone.
bool delete_row(const Ledger &ledger, const ItemPointerData &tid);

// Inserts a row into a table of ours other than the ledger: the values of its first columns. `nulls` may be
// NULL itself, when none of them is.
void insert_whole_row(Relation table, std::span<const Datum> values, const bool *nulls = nullptr);

// Makes the entries of a tuple that was just written in every index of its table. Raises 40001, at once,
// when a unique one has another row of its key.
void insert_into_all_indexes(Relation table, HeapTuple tuple);

// Raises 40001 for a row that changed although its key's lock was held.
[[noreturn]] void outside_writer();

} // namespace pg_idem
