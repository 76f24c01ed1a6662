// The SQLSTATEs of class ID that pg_idem raises. Documented in docs/errors.md; plain faults of a
// parameter use PostgreSQL's own 22004 (NULL) and 22023 (value).
#pragma once

extern "C" {
#include "postgres.h"
#include "utils/elog.h"
}

namespace pg_idem {

constexpr int sqlstate(char a, char b, char c) {
	return MAKE_SQLSTATE('I', 'D', a, b, c);
}

// Operations
constexpr int errcode_undefined_operation = sqlstate('0', '0', '1');
constexpr int errcode_invalid_definition = sqlstate('0', '0', '2');
// ID003 (frozen recipe) and ID004 (operation has keys) are raised in SQL.
constexpr int errcode_retired_version = sqlstate('0', '0', '5');

// Requests
constexpr int errcode_missing_key_field = sqlstate('0', '1', '1');
constexpr int errcode_invalid_key_field = sqlstate('0', '1', '2');
constexpr int errcode_invalid_occurrence = sqlstate('0', '1', '3');

// Claims
constexpr int errcode_unknown_key = sqlstate('0', '2', '1');
constexpr int errcode_stale_fence = sqlstate('0', '2', '2');
constexpr int errcode_already_finished = sqlstate('0', '2', '3');
constexpr int errcode_claim_not_committed = sqlstate('0', '2', '4');
constexpr int errcode_claim_left_open = sqlstate('0', '2', '5');
constexpr int errcode_claim_in_commit = sqlstate('0', '2', '6');
constexpr int errcode_not_resolvable = sqlstate('0', '2', '7');
constexpr int errcode_lease_ended = sqlstate('0', '2', '8');
constexpr int errcode_window_ended = sqlstate('0', '2', '9');
constexpr int errcode_not_marked = sqlstate('0', '2', 'A');
constexpr int errcode_unclaimed_effect = sqlstate('0', '2', 'B');
constexpr int errcode_effect_undone = sqlstate('0', '2', 'C');
constexpr int errcode_effect_stands = sqlstate('0', '2', 'E');

// Ledger
constexpr int errcode_unusable_ledger = sqlstate('0', '3', '1');
constexpr int errcode_referenced_ledger = sqlstate('0', '3', '2');

} // namespace pg_idem
