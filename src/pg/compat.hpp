// Calls of the server whose signature or meaning differs between its versions, in one place. Written for
// 15; a build on another version needs them looked at first (module.cpp refuses it).
#pragma once

extern "C" {
#include "postgres.h"
#include "access/heapam.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_proc.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
}

namespace pg_idem {

// With `wait`, waits for who locks the row, such as SELECT FOR UPDATE; without, such a row is left alone.
// From 16 on there is a third answer, "summarising indexes only" (19d8e2308b).
inline TM_Result update_heap_tuple(Relation table, ItemPointer tid, HeapTuple tuple, bool wait,
                                   bool *needs_index_entries) {
	TM_FailureData failure;
	LockTupleMode mode;
	*needs_index_entries = false;
	if (!wait) { // heap_update cannot do without waiting, so the lock comes first
		HeapTupleData locked;
		locked.t_self = *tid;
		Buffer buffer;
		const TM_Result result =
			heap_lock_tuple(table, &locked, GetCurrentCommandId(true), LockTupleNoKeyExclusive,
		                    LockWaitSkip, false, &buffer, &failure);
		ReleaseBuffer(buffer);
		if (result != TM_Ok)
			return result;
	}
	const TM_Result result = heap_update(table, tid, tuple, GetCurrentCommandId(true),
	                                     InvalidSnapshot, true, &failure, &mode);
	*needs_index_entries = result == TM_Ok && !HeapTupleIsHeapOnly(tuple);
	return result;
}

// Never waits: a tuple that another transaction locks or is changing is left alone. The lock comes first, since
// heap_delete takes a lock of this very transaction for somebody else's when it may not wait.
inline TM_Result delete_heap_tuple(Relation table, ItemPointer tid) {
	TM_FailureData failure;
	HeapTupleData locked;
	locked.t_self = *tid;
	Buffer buffer;
	const TM_Result result =
		heap_lock_tuple(table, &locked, GetCurrentCommandId(true), LockTupleExclusive, LockWaitSkip,
	                    false, &buffer, &failure);
	ReleaseBuffer(buffer);
	if (result != TM_Ok)
		return result;
	return heap_delete(table, tid, GetCurrentCommandId(true), InvalidSnapshot, true, &failure,
	                   false);
}

// 16 adds a flag for summarising indexes (19d8e2308b).
inline List *insert_index_tuples(ResultRelInfo *info, TupleTableSlot *slot, EState *estate,
                                 bool *conflict) {
	return ExecInsertIndexTuples(info, slot, estate, false, true, conflict, NIL);
}

// 16 has one check for all kinds of objects (c727f511bd).
inline void require_execute_privilege(Oid function) {
	const AclResult result = pg_proc_aclcheck(function, GetUserId(), ACL_EXECUTE);
	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_FUNCTION, get_func_name(function));
}

} // namespace pg_idem
