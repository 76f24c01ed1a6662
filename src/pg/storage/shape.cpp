#include "pg/storage/shape.hpp"

extern "C" {
#include "access/genam.h"
#include "catalog/pg_type.h"
#include "nodes/primnodes.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
}

#include "pg/errors.hpp"
#include "pg/storage/find_index.hpp"
#include "pg/storage/relations.hpp"
#include "pg/storage/row.hpp"
#include "pg/storage/table_shape.hpp"

namespace pg_idem {

namespace {

constexpr ColumnShape columns[column_count] = {
	{"key", UUIDOID, true},
	{"completed_at", TIMESTAMPTZOID, false},
	{"elapsed", INT4OID, false},
	{"policy", INT2OID, true},
	{"state", CHAROID, true},
	{"tenant", TEXTOID, true},
	{"effect_ref", TEXTOID, false},
	{"fingerprint", UUIDOID, false},
	{"leaves", BYTEAOID, false},
	{"response", JSONBOID, false},
	{"response_omitted", BOOLOID, false},
	{"claimed_at", TIMESTAMPTZOID, false},
	{"lease_end", TIMESTAMPTZOID, false},
	{"fence", INT8OID, false},
	{"attempt", INT4OID, false},
	{"note", TEXTOID, false},
	{"arguments", JSONBOID, false},
	{"generation", INT4OID, false},
	{"sent_at", TIMESTAMPTZOID, false},
	{"retry_at", TIMESTAMPTZOID, false},
	{"attempts_before", INT4OID, false},
	{"subject", UUIDOID, false},
	{"in_doubt", BOOLOID, false},
};

constexpr AttrNumber primary_key[] = {col_key + 1};

constexpr TableShape ledger_shape = {"idem.key", columns, primary_key, true};

uint64 checked_generation = 0;
UnfinishedIndexes unfinished{};
TupleDesc descriptor = nullptr;
TupleDesc bound_descriptor = nullptr;
TupleDesc short_descriptor = nullptr;

// The first columns of a table, in a descriptor of their own: cutting off one that is there would cut
// off what the server keeps behind its last attribute.
void replace_descriptor(TupleDesc *target, TupleDesc source, int count) {
	MemoryContext former = MemoryContextSwitchTo(CacheMemoryContext);
	TupleDesc fresh = CreateTemplateTupleDesc(count);
	for (AttrNumber column = 1; column <= count; ++column)
		TupleDescCopyEntry(fresh, column, source, column);
	MemoryContextSwitchTo(former);
	if (*target != nullptr)
		FreeTupleDesc(*target);
	*target = fresh;
}

// Whether the predicate is, or begins with, `completed_at IS NULL`.
bool is_of_unfinished(List *predicate) {
	if (predicate == NIL || !IsA(linitial(predicate), NullTest))
		return false;
	const auto *test = static_cast<NullTest *>(linitial(predicate));
	return test->nulltesttype == IS_NULL && IsA(test->arg, Var) &&
	       reinterpret_cast<const Var *>(test->arg)->varattno == col_completed_at + 1;
}

Oid find_unfinished_index(Relation table, AttrNumber column) {
	return find_index(table, {&column, 1}, is_of_unfinished);
}

} // namespace

void require_shape(Relation table) {
	const uint64 generation = table_generation(Table::Key);
	if (checked_generation == generation)
		return;
	require_table_shape(table, ledger_shape);
	replace_descriptor(&descriptor, RelationGetDescr(table), column_count);
	replace_descriptor(&bound_descriptor, RelationGetDescr(table), bound_row_columns);
	replace_descriptor(&short_descriptor, RelationGetDescr(table), short_row_columns);
	unfinished = {find_unfinished_index(table, col_policy + 1),
	              find_unfinished_index(table, col_subject + 1)};
	checked_generation = generation;
}

const UnfinishedIndexes &unfinished_indexes() {
	return unfinished;
}

TupleDesc row_descriptor() {
	return descriptor;
}

TupleDesc row_descriptor_of(int used) {
	if (used > bound_row_columns)
		return descriptor;
	return used > short_row_columns ? bound_descriptor : short_descriptor;
}

void refuse_if_referenced(Relation table) {
	if (table->trigdesc == nullptr)
		return;
	for (int i = 0; i < table->trigdesc->numtriggers; ++i) {
		const Trigger &trigger = table->trigdesc->triggers[i];
		if (!is_reference(trigger))
			continue;
		char *constraint = get_constraint_name(trigger.tgconstraint);
		char *referrer = get_rel_name(trigger.tgconstrrelid);
		ereport(
			ERROR,
			(errcode(errcode_referenced_ledger),
		     errmsg("cannot delete keys while foreign key \"%s\" references the ledger",
		            constraint != nullptr ? constraint : "?"),
		     errdetail(
				 "Table \"%s\" references table \"idem.key\", and a cascade could carry the deletion over to effect rows.",
				 referrer != nullptr ? referrer : "?"),
		     errhint("Drop the constraint: an effect row keeps its key as a plain value.")));
	}
}

} // namespace pg_idem
