#include "pg/storage/row_codec.hpp"

extern "C" {
#include "access/htup_details.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"
}

#include "pg/storage/shape.hpp"
#include "pg/text.hpp"

namespace pg_idem {

namespace {

std::string_view text_view(Datum datum) {
	text *value = DatumGetTextPP(datum);
	return {VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value)};
}

Digest128 digest_at(Datum datum) {
	Digest128 digest;
	memcpy(digest.data(), DatumGetUUIDP(datum)->data, digest.size());
	return digest;
}

std::string_view bytes_view(Datum datum) {
	bytea *value = DatumGetByteaPP(datum);
	return {VARDATA_ANY(value), VARSIZE_ANY_EXHDR(value)};
}

// Microseconds to the milliseconds of `elapsed`, which saturates after 24 days.
int32 milliseconds(Micros span) {
	return static_cast<int32>(Min(Max(span, 0) / 1000, static_cast<Micros>(PG_INT32_MAX)));
}

// What the life of a key depends on.
Row life_of(const Datum *values, const bool *nulls) {
	Row row;
	row.key = digest_at(values[col_key]);
	row.policy = DatumGetInt16(values[col_policy]);
	row.state = static_cast<State>(DatumGetChar(values[col_state]));
	row.finished = !nulls[col_completed_at];
	if (row.finished)
		row.completed_at = DatumGetTimestampTz(values[col_completed_at]);
	if (!nulls[col_generation])
		row.generation = DatumGetInt32(values[col_generation]);
	return row;
}

} // namespace

Row decode_row(HeapTuple tuple) {
	Datum values[column_count];
	bool nulls[column_count];
	heap_deform_tuple(tuple, row_descriptor(), values, nulls);
	Row row = life_of(values, nulls);
	row.tenant = text_view(values[col_tenant]);
	if (!nulls[col_effect_ref])
		row.effect_ref = text_view(values[col_effect_ref]);
	row.has_fingerprint = !nulls[col_fingerprint];
	if (row.has_fingerprint)
		row.fingerprint = digest_at(values[col_fingerprint]);
	if (!nulls[col_leaves])
		row.leaves = bytes_view(values[col_leaves]);
	if (!nulls[col_response])
		row.response = DatumGetJsonbP(values[col_response]);
	row.response_omitted =
		!nulls[col_response_omitted] && DatumGetBool(values[col_response_omitted]);
	if (!nulls[col_claimed_at])
		row.claimed_at = DatumGetTimestampTz(values[col_claimed_at]);
	else if (row.finished)
		row.claimed_at =
			row.completed_at -
			(nulls[col_elapsed] ? 0
		                        : static_cast<Micros>(DatumGetInt32(values[col_elapsed])) * 1000);
	row.leased = !nulls[col_lease_end];
	if (row.leased)
		row.lease_end = DatumGetTimestampTz(values[col_lease_end]);
	row.has_fence = !nulls[col_fence];
	if (row.has_fence)
		row.fence = DatumGetInt64(values[col_fence]);
	if (!nulls[col_attempt])
		row.attempt = DatumGetInt32(values[col_attempt]);
	if (!nulls[col_note])
		row.note = text_view(values[col_note]);
	if (!nulls[col_arguments])
		row.arguments = values[col_arguments];
	row.was_sent = !nulls[col_sent_at];
	if (row.was_sent)
		row.sent_at = DatumGetTimestampTz(values[col_sent_at]);
	row.has_retry_at = !nulls[col_retry_at];
	if (row.has_retry_at)
		row.retry_at = DatumGetTimestampTz(values[col_retry_at]);
	row.in_doubt = !nulls[col_in_doubt] && DatumGetBool(values[col_in_doubt]);
	row.has_subject = !nulls[col_subject];
	if (row.has_subject)
		row.subject = digest_at(values[col_subject]);
	if (!nulls[col_attempts_before])
		row.attempts_before = DatumGetInt32(values[col_attempts_before]);
	return row;
}

Row decode_life(HeapTuple tuple) {
	Datum values[column_count];
	bool nulls[column_count];
	heap_deform_tuple(tuple, row_descriptor(), values, nulls);
	return life_of(values, nulls);
}

HeapTuple encode_row(const Row &row, Datum *values, bool *nulls) {
	for (int i = 0; i < column_count; ++i) {
		values[i] = Datum(0);
		nulls[i] = true;
	}
	const auto set = [&](Column column, Datum value) {
		values[column] = value;
		nulls[column] = false;
	};
	set(col_key, PointerGetDatum(row.key.data()));
	if (row.finished) {
		set(col_completed_at, TimestampTzGetDatum(row.completed_at));
		set(col_elapsed, Int32GetDatum(milliseconds(row.completed_at - row.claimed_at)));
	}
	set(col_policy, Int16GetDatum(row.policy));
	set(col_state, CharGetDatum(static_cast<char>(row.state)));
	set(col_tenant, text_datum(row.tenant));
	if (row.effect_ref.data() != nullptr)
		set(col_effect_ref, text_datum(row.effect_ref));
	if (row.has_fingerprint)
		set(col_fingerprint, PointerGetDatum(row.fingerprint.data()));
	if (!row.leaves.empty())
		set(col_leaves, text_datum(row.leaves));
	if (row.response != nullptr)
		set(col_response, JsonbPGetDatum(row.response));
	if (row.response_omitted)
		set(col_response_omitted, BoolGetDatum(true));
	if (row.leased) {
		set(col_claimed_at, TimestampTzGetDatum(row.claimed_at));
		set(col_lease_end, TimestampTzGetDatum(row.lease_end));
		set(col_attempt, Int32GetDatum(row.attempt));
	}
	if (row.has_fence)
		set(col_fence, Int64GetDatum(row.fence));
	if (row.note.data() != nullptr)
		set(col_note, text_datum(row.note));
	if (row.arguments != 0)
		set(col_arguments, row.arguments);
	if (row.generation > 1)
		set(col_generation, Int32GetDatum(row.generation));
	if (row.was_sent)
		set(col_sent_at, TimestampTzGetDatum(row.sent_at));
	if (row.has_retry_at)
		set(col_retry_at, TimestampTzGetDatum(row.retry_at));
	if (row.in_doubt)
		set(col_in_doubt, BoolGetDatum(true));
	if (row.has_subject)
		set(col_subject, PointerGetDatum(row.subject.data()));
	if (row.attempts_before > 0)
		set(col_attempts_before, Int32GetDatum(row.attempts_before));
	int used = column_count;
	while (nulls[used - 1])
		--used;
	return heap_form_tuple(row_descriptor_of(used), values, nulls);
}

} // namespace pg_idem
