#include "pg/storage/table_shape.hpp"

extern "C" {
#include "access/genam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "commands/trigger.h"
#include "rewrite/prs2lock.h"
#include "utils/rel.h"
}

#include "pg/errors.hpp"

namespace pg_idem {

namespace {

constexpr const char *undo =
	"It is written directly, so nothing may be added to it. Undo the change.";
constexpr const char *restore_key =
	"Restore the primary key that the extension created, not deferrable.";

[[noreturn]] void refuse(const TableShape &shape, const char *why, const char *hint = undo) {
	ereport(ERROR,
	        (errcode(errcode_unusable_ledger), errmsg("table \"%s\" cannot be used", shape.table),
	         errdetail("%s", why), errhint("%s", hint)));
	pg_unreachable();
}

void check_relation(Relation table, const TableShape &shape) {
	const FormData_pg_class *form = table->rd_rel;
	if (form->relkind != RELKIND_RELATION || form->relispartition)
		refuse(shape, "It is not a plain table.");
	if (form->relam != HEAP_TABLE_AM_OID)
		refuse(shape, "Its access method is not heap.");
	if (form->relpersistence != RELPERSISTENCE_PERMANENT)
		refuse(shape, "It is not a permanent table: a crash would empty it.");
	// The flags stay set after what they tell of is gone, so they are hints only.
	if (form->relhassubclass && find_inheritance_children(RelationGetRelid(table), NoLock) != NIL)
		refuse(shape, "Another table inherits from it.");
	if (form->relhasrules && table->rd_rules != nullptr && table->rd_rules->numLocks > 0)
		refuse(shape, "It has a rule.");
	if (form->relrowsecurity)
		refuse(shape, "It has row security.");
	if (table->trigdesc != nullptr)
		for (int i = 0; i < table->trigdesc->numtriggers; ++i)
			if (!shape.may_be_referenced || !is_reference(table->trigdesc->triggers[i]))
				refuse(shape, "It has a trigger, or a foreign key of its own.");
}

void check_columns(TupleDesc columns, const TableShape &shape) {
	const int count = static_cast<int>(shape.columns.size());
	if (columns->natts < count)
		refuse(shape, "It has other columns than the extension created.");
	for (int i = count; i < columns->natts; ++i)
		if (!TupleDescAttr(columns, i)->attisdropped)
			refuse(shape, "It has other columns than the extension created.");
	for (int i = 0; i < count; ++i) {
		const FormData_pg_attribute *column = TupleDescAttr(columns, i);
		const ColumnShape &expected = shape.columns[i];
		if (column->attisdropped || column->atttypid != expected.type ||
		    strcmp(NameStr(column->attname), expected.name) != 0)
			refuse(shape, "It has other columns than the extension created.");
		if (column->attgenerated != '\0' || column->atthasdef || column->attidentity != '\0')
			refuse(shape, "One of its columns has a default.");
		if (column->attnotnull && !expected.mandatory)
			refuse(shape, "One of its columns that can be null is declared NOT NULL.");
	}
	if (columns->constr != nullptr && columns->constr->num_check > 0)
		refuse(shape, "It has a check constraint.");
}

bool is_on(const FormData_pg_index *index, std::span<const AttrNumber> key) {
	if (index->indnkeyatts != static_cast<int>(key.size()))
		return false;
	for (std::size_t i = 0; i < key.size(); ++i)
		if (index->indkey.values[i] != key[i])
			return false;
	return true;
}

// An index that refuses a row would make the transaction fail at COMMIT, each time it is tried again.
// REINDEX CONCURRENTLY has another unique one on the key for a while, which refuses what the first does.
void check_indexes(Relation table, const TableShape &shape) {
	const Oid primary = RelationGetPrimaryKeyIndex(table);
	if (!shape.key.empty() && !OidIsValid(primary))
		refuse(shape, "It has no primary key that is checked at once.", restore_key);
	List *indexes = RelationGetIndexList(table);
	ListCell *cell;
	foreach (cell, indexes) {
		Relation index = index_open(lfirst_oid(cell), AccessShareLock);
		const FormData_pg_index *form = index->rd_index;
		const bool on_key = is_on(form, shape.key);
		if (form->indexrelid == primary && !on_key)
			refuse(shape, "Its primary key is not the one that the extension created.",
			       restore_key);
		if (form->indisexclusion || (form->indisunique && !on_key))
			refuse(shape, "It has another unique index, or an exclusion constraint.");
		index_close(index, AccessShareLock);
	}
	list_free(indexes);
}

} // namespace

void require_table_shape(Relation table, const TableShape &shape) {
	check_relation(table, shape);
	check_columns(RelationGetDescr(table), shape);
	check_indexes(table, shape);
}

bool is_reference(const Trigger &trigger) {
	return RI_FKey_trigger_type(trigger.tgfoid) == RI_TRIGGER_PK;
}

} // namespace pg_idem
