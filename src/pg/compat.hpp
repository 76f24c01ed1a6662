// What differs between the server versions that we build on. Each shim names the change.
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
// 16 tells which indexes need an entry, and takes the answer as an enum (19d8e2308b).
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
#if PG_VERSION_NUM >= 160000
	TU_UpdateIndexes update_indexes;
	const TM_Result result = heap_update(table, tid, tuple, GetCurrentCommandId(true),
	                                     InvalidSnapshot, true, &failure, &mode, &update_indexes);
	*needs_index_entries = result == TM_Ok && update_indexes != TU_None;
#else
	const TM_Result result = heap_update(table, tid, tuple, GetCurrentCommandId(true),
	                                     InvalidSnapshot, true, &failure, &mode);
	*needs_index_entries = result == TM_Ok && !HeapTupleIsHeapOnly(tuple);
#endif
	return result;
}

// 16 added a flag for summarising indexes (19d8e2308b).
inline List *insert_index_tuples(ResultRelInfo *info, TupleTableSlot *slot, EState *estate,
                                 bool *conflict) {
#if PG_VERSION_NUM >= 160000
	return ExecInsertIndexTuples(info, slot, estate, false, true, conflict, NIL, false);
#else
	return ExecInsertIndexTuples(info, slot, estate, false, true, conflict, NIL);
#endif
}

// 16 has one check for all kinds of objects (c727f511bd).
inline void require_execute_privilege(Oid function) {
#if PG_VERSION_NUM >= 160000
	const AclResult result =
		object_aclcheck(ProcedureRelationId, function, GetUserId(), ACL_EXECUTE);
#else
	const AclResult result = pg_proc_aclcheck(function, GetUserId(), ACL_EXECUTE);
#endif
	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_FUNCTION, get_func_name(function));
}

} // namespace pg_idem
