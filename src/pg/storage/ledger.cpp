#include "pg/storage/ledger.hpp"

extern "C" {
#include "access/genam.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "storage/lmgr.h"
#include "utils/inval.h"
#include "utils/rel.h"
#include "utils/resowner.h"
}

#include "pg/storage/relations.hpp"
#include "pg/storage/shape.hpp"

namespace pg_idem {

namespace {

// What this transaction has locked, and in which sub-transaction: a lock goes when that one aborts.
struct Held {
	SubTransactionId subxact;
	Oid table;
	SubTransactionId
		index_subxact; // another one when REINDEX CONCURRENTLY has put a new index there
	Oid index;
};

Held held;

} // namespace

void keep_locked(Oid relation) {
	ResourceOwner former = CurrentResourceOwner;
	CurrentResourceOwner = CurTransactionResourceOwner;
	LockRelationOid(relation, RowExclusiveLock);
	CurrentResourceOwner = former;
}

Ledger open_ledger() {
	// Locking reads all pending messages, which can tell that the table is another one now.
	for (;;) {
		const Oid oid = require_table(Table::Key);
		if (held.subxact != InvalidSubTransactionId && held.table == oid) {
			// Without a lock to take, the messages are read here: a policy that was changed since is in
			// force in this transaction too.
			AcceptInvalidationMessages();
			if (find_table(Table::Key) == oid)
				break;
			continue;
		}
		keep_locked(oid);
		if (find_table(Table::Key) == oid) {
			held = {GetCurrentSubTransactionId(), oid, InvalidSubTransactionId, InvalidOid};
			break;
		}
	}
	Ledger ledger;
	ledger.table = relation_open(held.table, NoLock);
	require_shape(ledger.table);
	// Asked each time, since REINDEX CONCURRENTLY puts another index in its place.
	const Oid index = RelationGetPrimaryKeyIndex(ledger.table);
	if (held.index != index) {
		keep_locked(index);
		held.index_subxact = GetCurrentSubTransactionId();
		held.index = index;
	}
	ledger.index = index_open(index, NoLock);
	return ledger;
}

void close_ledger(const Ledger &ledger) {
	index_close(ledger.index, NoLock);
	relation_close(ledger.table, NoLock);
}

void ledger_subxact_committed(SubTransactionId subxact, SubTransactionId parent) {
	if (held.subxact == subxact)
		held.subxact = parent;
	if (held.index_subxact == subxact)
		held.index_subxact = parent;
}

void ledger_subxact_aborted(SubTransactionId subxact) {
	if (held.subxact == subxact)
		held = {};
	else if (held.index_subxact == subxact)
		held.index = InvalidOid;
}

void ledger_xact_ended() {
	held = {};
}

} // namespace pg_idem
