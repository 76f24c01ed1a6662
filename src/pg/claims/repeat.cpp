#include "pg/claims/repeat.hpp"

extern "C" {
#include "nodes/nodeFuncs.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
}

namespace pg_idem {

namespace {

struct Remembered {
	FmgrInfo *site;        // of the call that claimed
	MemoryContext context; // in which the statement's expressions live
	int location;
	Snapshot snapshot;
	Digest128 key;
};

Remembered remembered;

// Where the call stands in the text; -1 when that is not known, as in stored trees.
int location_of(const FmgrInfo *site) {
	return site->fn_expr == nullptr ? -1 : exprLocation(site->fn_expr);
}

} // namespace

void remember_call(FmgrInfo *site, const Digest128 &key) {
	forget_call();
	const int location = location_of(site);
	if (location < 0 || !ActiveSnapshotSet())
		return;
	remembered = {site, site->fn_mcxt, location,
	              RegisterSnapshotOnOwner(GetActiveSnapshot(), TopTransactionResourceOwner), key};
}

bool is_copy_of_call(FmgrInfo *site, const Digest128 &key) {
	return remembered.snapshot != nullptr && ActiveSnapshotSet() &&
	       remembered.snapshot == GetActiveSnapshot() && remembered.context == site->fn_mcxt &&
	       remembered.location == location_of(site) && remembered.site != site &&
	       remembered.key == key;
}

bool is_remembered(const Digest128 &key) {
	return remembered.snapshot != nullptr && remembered.key == key;
}

void forget_call() {
	if (remembered.snapshot != nullptr)
		UnregisterSnapshotFromOwner(remembered.snapshot, TopTransactionResourceOwner);
	remembered = {};
}

void abandon_call() {
	remembered = {};
}

} // namespace pg_idem
