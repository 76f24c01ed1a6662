// idem_canonical and idem_digest.

extern "C" {
#include "postgres.h"
#include "fmgr.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
}

#include "core/canonical.hpp"
#include "core/digest.hpp"
#include "pg/jsonb/jsonb_document.hpp"
#include "pg/jsonb/text_sink.hpp"
#include "pg/sha256.hpp"

using namespace pg_idem;

extern "C" {

PG_FUNCTION_INFO_V1(pg_idem_canonical);
PG_FUNCTION_INFO_V1(pg_idem_digest);

Datum pg_idem_canonical(PG_FUNCTION_ARGS) {
	require_utf8();
	Jsonb *jsonb = PG_GETARG_JSONB_P(0);
	const JsonbDocument document(jsonb);
	TextSink sink;
	CanonicalWriter writer(sink.sink());
	document.write(document.root(), {}, writer);
	writer.flush();
	PG_RETURN_TEXT_P(sink.finish());
}

Datum pg_idem_digest(PG_FUNCTION_ARGS) {
	require_utf8();
	Jsonb *jsonb = PG_GETARG_JSONB_P(0);
	const JsonbDocument document(jsonb);
	begin_sha256();
	CanonicalWriter writer(digest_sink);
	document.write(document.root(), {}, writer);
	writer.flush();
	const Digest digest = end_sha256();
	auto *result = static_cast<bytea *>(palloc(VARHDRSZ + digest.size()));
	SET_VARSIZE(result, VARHDRSZ + digest.size());
	memcpy(VARDATA(result), digest.data(), digest.size());
	PG_RETURN_BYTEA_P(result);
}
}
