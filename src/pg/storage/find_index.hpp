// An index of ours, by what it is on: whoever may change the table may have dropped it, or built it anew.
#pragma once

extern "C" {
#include "postgres.h"
#include "nodes/pg_list.h"
#include "utils/relcache.h"
}

#include <span>

namespace pg_idem {

using Predicate = bool(List *); // of an index, as RelationGetIndexPredicate returns it

inline bool is_of_all_rows(List *predicate) {
	return predicate == NIL;
}

// A B-tree that can be read, begins with the columns and has such a predicate; InvalidOid: there is none.
Oid find_index(Relation table, std::span<const AttrNumber> columns,
               Predicate *fits = is_of_all_rows);

} // namespace pg_idem
