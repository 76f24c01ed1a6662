#include "pg/storage/find_index.hpp"

extern "C" {
#include "access/genam.h"
#include "catalog/pg_am.h"
#include "utils/rel.h"
}

#include <algorithm>

namespace pg_idem {

namespace {

bool begins_with(const FormData_pg_index *form, std::span<const AttrNumber> columns) {
	return static_cast<std::size_t>(form->indnkeyatts) >= columns.size() &&
	       std::equal(columns.begin(), columns.end(), form->indkey.values);
}

} // namespace

Oid find_index(Relation table, std::span<const AttrNumber> columns, Predicate *fits) {
	Oid found = InvalidOid;
	List *indexes = RelationGetIndexList(table);
	ListCell *cell;
	foreach (cell, indexes) {
		Relation index = index_open(lfirst_oid(cell), AccessShareLock);
		const FormData_pg_index *form = index->rd_index;
		if (form->indisvalid && form->indisready && form->indislive &&
		    index->rd_rel->relam == BTREE_AM_OID && begins_with(form, columns) &&
		    fits(RelationGetIndexPredicate(index)))
			found = form->indexrelid;
		index_close(index, AccessShareLock);
	}
	list_free(indexes);
	return found;
}

} // namespace pg_idem
