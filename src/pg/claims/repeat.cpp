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
	Answer answer;
};

Remembered remembered;

} // namespace

void remember_answer(FmgrInfo *site, const Answer &answer) {
	forget_repeat();
	if (site->fn_expr == nullptr || !ActiveSnapshotSet())
		return;
	remembered = {site, site->fn_mcxt, exprLocation(site->fn_expr),
	              RegisterSnapshotOnOwner(GetActiveSnapshot(), TopTransactionResourceOwner),
	              answer};
}

const Answer *repeated_answer(FmgrInfo *site, const Digest128 &key) {
	if (remembered.snapshot == nullptr)
		return nullptr;
	const bool same_statement = ActiveSnapshotSet() && remembered.snapshot == GetActiveSnapshot() &&
	                            remembered.context == site->fn_mcxt && site->fn_expr != nullptr &&
	                            remembered.location == exprLocation(site->fn_expr);
	if (same_statement && site != remembered.site && remembered.answer.key == key)
		return &remembered.answer;
	return nullptr;
}

void forget_repeat() {
	if (remembered.snapshot != nullptr)
		UnregisterSnapshotFromOwner(remembered.snapshot, TopTransactionResourceOwner);
	remembered = {};
}

void abandon_repeat() {
	remembered = {};
}

} // namespace pg_idem
