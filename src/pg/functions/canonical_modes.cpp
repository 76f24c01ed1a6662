// idem_canonical with a mode.

extern "C" {
#include "postgres.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
}

#include <string_view>

#include "core/canonical.hpp"
#include "core/double_number.hpp"
#include "pg/functions/arguments.hpp"
#include "pg/jsonb/jsonb_document.hpp"
#include "pg/jsonb/numeric_view.hpp"
#include "pg/jsonb/number_search.hpp"
#include "pg/jsonb/text_sink.hpp"

using namespace pg_idem;

namespace {

enum class Mode { Exact, Strict, Rfc8785 };

Mode mode_argument(std::string_view mode) {
	if (mode == "exact")
		return Mode::Exact;
	if (mode == "strict")
		return Mode::Strict;
	if (mode == "rfc8785")
		return Mode::Rfc8785;
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("unknown mode"),
	                errhint("A mode is exact, strict or rfc8785.")));
}

bool is_rewritten(const Number &number) {
	return !is_shortest_double(number);
}

bool is_beyond_doubles(const Number &number) {
	DoubleGroups groups;
	Number nearest;
	return !through_double(number, groups, nearest);
}

void require_kept_by_doubles(Jsonb *jsonb) {
	if (const char *path = find_number(jsonb, is_rewritten))
		ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
		                errmsg("the number at %s is written otherwise by RFC 8785", path),
		                errdetail("It is not the shortest spelling of a double, so a program that "
		                          "reads it as a double gives other bytes."),
		                errhint("Send it as a string.")));
}

void require_within_doubles(Jsonb *jsonb) {
	if (const char *path = find_number(jsonb, is_beyond_doubles))
		ereport(ERROR,
		        (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
		         errmsg("the number at %s is too large for a double", path),
		         errdetail("RFC 8785 has no text for it."), errhint("Send it as a string.")));
}

} // namespace

extern "C" {

PG_FUNCTION_INFO_V1(pg_idem_canonical_mode);

Datum pg_idem_canonical_mode(PG_FUNCTION_ARGS) {
	require_utf8();
	Jsonb *jsonb = PG_GETARG_JSONB_P(0);
	const Mode mode = mode_argument(text_argument(fcinfo, 1));
	if (mode == Mode::Strict)
		require_kept_by_doubles(jsonb);
	if (mode == Mode::Rfc8785)
		require_within_doubles(jsonb);

	const JsonbDocument document(jsonb);
	TextSink sink;
	CanonicalWriter writer(sink.sink(),
	                       mode == Mode::Rfc8785 ? NumberForm::Doubles : NumberForm::Exact);
	document.write(document.root(), {}, writer);
	writer.flush();
	PG_RETURN_TEXT_P(sink.finish());
}
}
