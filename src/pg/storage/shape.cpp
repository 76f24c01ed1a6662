#include "pg/storage/shape.hpp"

extern "C" {
#include "access/genam.h"
#include "access/relation.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "rewrite/prs2lock.h"
#include "utils/rel.h"
#include "utils/reltrigger.h"
}

#include "pg/errors.hpp"
#include "pg/storage/relations.hpp"
#include "pg/storage/row.hpp"

namespace pg_idem {

namespace {

struct ColumnShape {
	const char *name;
	Oid type;
};

constexpr ColumnShape expected[column_count] = {
	{"key", UUIDOID},
	{"completed_at", TIMESTAMPTZOID},
	{"elapsed", INT4OID},
	{"policy", INT2OID},
	{"state", CHAROID},
	{"tenant", TEXTOID},
	{"effect_ref", TEXTOID},
	{"fingerprint", UUIDOID},
	{"response", JSONBOID},
	{"response_omitted", BOOLOID},
	{"claimed_at", TIMESTAMPTZOID},
	{"lease_end", TIMESTAMPTZOID},
	{"fence", INT8OID},
	{"attempt", INT4OID},
	{"note", TEXTOID},
};

uint64 checked_generation = 0;
TupleDesc descriptor = nullptr;
TupleDesc short_descriptor = nullptr;

[[noreturn]] void refuse(const char *why) {
	ereport(
		ERROR,
		(errcode(errcode_unusable_ledger), errmsg("table \"idem.key\" cannot be used"),
	     errdetail("%s", why),
	     errhint(
			 "The ledger is written directly, so nothing may be added to it. Undo the change.")));
	pg_unreachable();
}

// The triggers of a foreign key that references the table act on updates of the key and on deletes.
// Our updates keep the key, and our deletes ask refuse_if_referenced first.
bool is_reference(const Trigger &trigger) {
	const int kind = RI_FKey_trigger_type(trigger.tgfoid);
	return kind == RI_TRIGGER_PK;
}

void check_columns(TupleDesc columns) {
	if (columns->natts < column_count)
		refuse("It has other columns than the extension created.");
	for (int i = column_count; i < columns->natts; ++i)
		if (!TupleDescAttr(columns, i)->attisdropped)
			refuse("It has other columns than the extension created.");
	for (int i = 0; i < column_count; ++i) {
		const FormData_pg_attribute *column = TupleDescAttr(columns, i);
		if (column->attisdropped || column->atttypid != expected[i].type ||
		    strcmp(NameStr(column->attname), expected[i].name) != 0)
			refuse("It has other columns than the extension created.");
		if (column->attgenerated != '\0' || column->atthasdef || column->attidentity != '\0')
			refuse("One of its columns has a default.");
		const bool mandatory = i == col_key || i == col_policy || i == col_state || i == col_tenant;
		if (column->attnotnull && !mandatory)
			refuse("One of its columns that can be null is declared NOT NULL.");
	}
	if (columns->constr != nullptr && columns->constr->num_check > 0)
		refuse("It has a check constraint.");
}

// An index that refuses a row would make the transaction fail at COMMIT, each time it is tried again.
// REINDEX CONCURRENTLY has another unique one on the key for a while, which refuses what the first does.
void check_indexes(Relation table) {
	List *indexes = RelationGetIndexList(table);
	ListCell *cell;
	foreach (cell, indexes) {
		Relation index = index_open(lfirst_oid(cell), AccessShareLock);
		const Form_pg_index form = index->rd_index;
		const bool on_key = form->indnkeyatts == 1 && form->indkey.values[0] == col_key + 1;
		if (form->indisexclusion || (form->indisunique && !on_key))
			refuse("It has another unique index, or an exclusion constraint.");
		index_close(index, AccessShareLock);
	}
	list_free(indexes);
}

// The first columns of a table, in a descriptor of their own: cutting off one that is there would cut
// off what the server keeps behind its last attribute.
void replace_descriptor(TupleDesc *target, TupleDesc source, int columns) {
	MemoryContext former = MemoryContextSwitchTo(CacheMemoryContext);
	TupleDesc fresh = CreateTemplateTupleDesc(columns);
	for (AttrNumber column = 1; column <= columns; ++column)
		TupleDescCopyEntry(fresh, column, source, column);
	MemoryContextSwitchTo(former);
	if (*target != nullptr)
		FreeTupleDesc(*target);
	*target = fresh;
}

} // namespace

void require_shape(Relation table) {
	const uint64 generation = table_generation(Table::Key);
	if (checked_generation == generation)
		return;
	const FormData_pg_class *form = table->rd_rel;
	if (form->relkind != RELKIND_RELATION || form->relispartition)
		refuse("It is not a plain table.");
	if (form->relam != HEAP_TABLE_AM_OID)
		refuse("Its access method is not heap.");
	if (form->relpersistence != RELPERSISTENCE_PERMANENT)
		refuse("It is not a permanent table: a crash would empty it.");
	// The flags stay set after what they tell of is gone, so they are hints only.
	if (form->relhassubclass && find_inheritance_children(RelationGetRelid(table), NoLock) != NIL)
		refuse("Another table inherits from it.");
	if (form->relhasrules && table->rd_rules != nullptr && table->rd_rules->numLocks > 0)
		refuse("It has a rule.");
	if (form->relrowsecurity)
		refuse("It has row security.");
	if (table->trigdesc != nullptr)
		for (int i = 0; i < table->trigdesc->numtriggers; ++i)
			if (!is_reference(table->trigdesc->triggers[i]))
				refuse("It has a trigger, or a foreign key of its own.");
	check_indexes(table);
	check_columns(RelationGetDescr(table));

	replace_descriptor(&descriptor, RelationGetDescr(table), column_count);
	replace_descriptor(&short_descriptor, RelationGetDescr(table), short_row_columns);
	checked_generation = generation;
}

TupleDesc row_descriptor() {
	return descriptor;
}

TupleDesc short_row_descriptor() {
	return short_descriptor;
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
