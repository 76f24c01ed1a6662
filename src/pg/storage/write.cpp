// Writing a key: the heap tuple, and its entry in every index that the table has.
#include "pg/storage/ledger.hpp"

extern "C" {
#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
}

#include "pg/compat.hpp"
#include "pg/storage/row_codec.hpp"
#include "pg/storage/shape.hpp"

namespace pg_idem {

namespace {

// Whether the row goes into the primary key alone: there is none beside it, but those of what is not
// finished.
bool has_one_index(List *indexes, bool finished) {
	const UnfinishedIndexes &unfinished = unfinished_indexes();
	int count = list_length(indexes);
	if (finished && count > 1) {
		count -= list_member_oid(indexes, unfinished.by_policy) ? 1 : 0;
		count -= list_member_oid(indexes, unfinished.by_subject) ? 1 : 0;
	}
	return count == 1;
}

void insert_into_indexes(const Ledger &ledger, HeapTuple tuple, Datum *values, bool *nulls) {
	List *indexes = RelationGetIndexList(ledger.table);
	// Someone may have added indexes, with expressions or predicates: the executor knows how.
	if (!has_one_index(indexes, !nulls[col_completed_at])) {
		insert_into_all_indexes(ledger.table, tuple);
		list_free(indexes);
		return;
	}
	list_free(indexes);
	IndexInfo *info = BuildIndexInfo(ledger.index);
	// Partial: a conflict comes back as false at once, where the usual check would wait for the other
	// transaction, and COMMIT has no statement_timeout.
	if (!index_insert(ledger.index, values, nulls, &tuple->t_self, ledger.table,
	                  UNIQUE_CHECK_PARTIAL, false, info))
		outside_writer();
	pfree(info);
}

} // namespace

void outside_writer() {
	ereport(
		ERROR,
		(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
	     errmsg("could not record a key because of a writer outside pg_idem"),
	     errdetail(
			 "A row of the same key was written without the key's lock: by a restore, a logical subscription or SQL on idem.key."),
	     errhint("Retry the whole transaction.")));
	pg_unreachable();
}

void insert_whole_row(Relation table, std::span<const Datum> values, const bool *nulls) {
	TupleDesc descriptor = RelationGetDescr(table);
	auto *all = static_cast<Datum *>(palloc0(sizeof(Datum) * descriptor->natts));
	auto *all_nulls = static_cast<bool *>(palloc(sizeof(bool) * descriptor->natts));
	for (int i = 0; i < descriptor->natts; ++i) {
		const bool given = i < static_cast<int>(values.size()); // not one that somebody has dropped
		all_nulls[i] = !given || (nulls != nullptr && nulls[i]);
		if (!all_nulls[i])
			all[i] = values[i];
	}
	HeapTuple tuple = heap_form_tuple(descriptor, all, all_nulls);
	heap_insert(table, tuple, GetCurrentCommandId(true), 0, nullptr);
	insert_into_all_indexes(table, tuple);
	heap_freetuple(tuple);
	pfree(all);
	pfree(all_nulls);
}

void insert_into_all_indexes(Relation table, HeapTuple tuple) {
	EState *estate = CreateExecutorState();
	ResultRelInfo *info = makeNode(ResultRelInfo);
	InitResultRelInfo(info, table, 0, nullptr, 0);
	ExecOpenIndices(info, false);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(table), &TTSOpsHeapTuple);
	ExecStoreHeapTuple(tuple, slot, false);
	slot->tts_tid = tuple->t_self;
	slot->tts_tableOid = RelationGetRelid(table);
	// Every unique index is checked like our own: a conflict is reported instead of waited for.
	bool conflict = false;
	if (insert_index_tuples(info, slot, estate, &conflict) != NIL || conflict)
		outside_writer();
	ExecDropSingleTupleTableSlot(slot);
	ExecCloseIndices(info);
	FreeExecutorState(estate);
}

void insert_row(const Ledger &ledger, const Row &row) {
	Datum values[column_count];
	bool nulls[column_count];
	HeapTuple tuple = encode_row(row, values, nulls);
	heap_insert(ledger.table, tuple, GetCurrentCommandId(true), 0, nullptr);
	insert_into_indexes(ledger, tuple, values, nulls);
	heap_freetuple(tuple);
}

bool update_row(const Ledger &ledger, const ItemPointerData &tid, const Row &row, bool wait) {
	CheckCmdReplicaIdentity(ledger.table, CMD_UPDATE);
	Datum values[column_count];
	bool nulls[column_count];
	HeapTuple tuple = encode_row(row, values, nulls);
	ItemPointerData target = tid;
	bool needs_index_entries;
	if (update_heap_tuple(ledger.table, &target, tuple, wait, &needs_index_entries) != TM_Ok)
		return false;
	if (needs_index_entries)
		insert_into_indexes(ledger, tuple, values, nulls);
	heap_freetuple(tuple);
	// A later call of the same statement must see this version.
	CommandCounterIncrement();
	return true;
}

bool delete_row(const Ledger &ledger, const ItemPointerData &tid) {
	CheckCmdReplicaIdentity(ledger.table, CMD_DELETE);
	ItemPointerData target = tid;
	if (delete_heap_tuple(ledger.table, &target) != TM_Ok)
		return false;
	CommandCounterIncrement();
	return true;
}

} // namespace pg_idem
