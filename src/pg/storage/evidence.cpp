#include "pg/storage/evidence.hpp"

extern "C" {
#include "access/table.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
}

#include "pg/storage/ledger.hpp"
#include "pg/storage/relations.hpp"
#include "pg/storage/table_shape.hpp"
#include "pg/text.hpp"

namespace pg_idem {

namespace {

constexpr ColumnShape decision_columns[] = {{"key", UUIDOID, true},
                                            {"generation", INT4OID, true},
                                            {"decided_at", TIMESTAMPTZOID, true},
                                            {"decided_by", TEXTOID, true},
                                            {"state_before", CHAROID, true},
                                            {"decision", TEXTOID, true},
                                            {"effect_ref", TEXTOID, false},
                                            {"note", TEXTOID, false}};
constexpr TableShape decision_shape = {"idem.decision", decision_columns, {}, false};

constexpr ColumnShape report_columns[] = {{"key", UUIDOID, true},
                                          {"generation", INT4OID, true},
                                          {"reported_at", TIMESTAMPTZOID, true},
                                          {"reported_by", TEXTOID, true},
                                          {"fence", INT8OID, true},
                                          {"effect_ref", TEXTOID, true}};
constexpr TableShape report_shape = {"idem.late_report", report_columns, {}, false};

// Rare, so that the shape is looked at each time.
void insert(Table table, const TableShape &shape, std::span<const Datum> values,
            const bool *nulls) {
	Relation relation = table_open(require_table(table), RowExclusiveLock);
	require_table_shape(relation, shape);
	insert_whole_row(relation, values, nulls);
	table_close(relation, NoLock);
}

Datum user_datum() {
	return CStringGetTextDatum(GetUserNameFromId(GetSessionUserId(), false));
}

} // namespace

void insert_decision(const Decided &decided) {
	const bool nulls[lengthof(decision_columns)] = {false,
	                                                false,
	                                                false,
	                                                false,
	                                                false,
	                                                false,
	                                                decided.effect_ref.data() == nullptr,
	                                                decided.note.data() == nullptr};
	const Datum values[lengthof(decision_columns)] = {
		PointerGetDatum(decided.key.data()),
		Int32GetDatum(decided.generation),
		TimestampTzGetDatum(decided.at),
		user_datum(),
		CharGetDatum(static_cast<char>(decided.before)),
		text_datum(decided.decision),
		nulls[6] ? Datum(0) : text_datum(decided.effect_ref),
		nulls[7] ? Datum(0) : text_datum(decided.note)};
	insert(Table::Decision, decision_shape, values, nulls);
}

void insert_late_report(const LateReport &report) {
	const Datum values[lengthof(report_columns)] = {
		PointerGetDatum(report.key.data()), Int32GetDatum(report.generation),
		TimestampTzGetDatum(report.at),     user_datum(),
		Int64GetDatum(report.fence),        text_datum(report.effect_ref)};
	insert(Table::LateReport, report_shape, values, nullptr);
}

} // namespace pg_idem
