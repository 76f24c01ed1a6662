// The worker of expiry: visits one database, deletes what is past its life, and leaves.

extern "C" {
#include "postgres.h"
#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_extension.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "storage/dsm.h"
#include "storage/lmgr.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

PGDLLEXPORT void pg_idem_worker_main(Datum);
}

#include "pg/expiry/expire.hpp"
#include "pg/expiry/visit.hpp"
#include "pg/settings.hpp"
#include "pg/storage/relations.hpp"

namespace pg_idem {

namespace {

// DROP DATABASE, and CREATE DATABASE from a template, wait five seconds for others to leave.
constexpr Micros visit_budget = 2 * USECS_PER_SEC;

void override_settings() {
	const auto set = [](const char *name, const char *value) {
		SetConfigOption(name, value, PGC_SUSET, PGC_S_OVERRIDE);
	};
	set("search_path", "pg_catalog, pg_temp");
	set("default_transaction_isolation", "read committed");
	set("lock_timeout", "1000");
	// A batch that a crash takes back is deleted again.
	set("synchronous_commit", "off");
}

// Whether the extension is in this database; if so, it stays until the end of the transaction. DROP
// EXTENSION locks the extension before its tables, so whoever waits holds nothing that the other
// needs.
bool hold_extension() {
	const Oid extension = get_extension_oid("pg_idem", true);
	if (!OidIsValid(extension))
		return false;
	LockDatabaseObject(ExtensionRelationId, extension, 0, AccessShareLock);
	return get_extension_oid("pg_idem", true) == extension;
}

Oid owner_of(Oid table) {
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", table);
	const Oid owner = reinterpret_cast<Form_pg_class>(GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	return owner;
}

// Expiry runs SQL on idem.sweep only. As its owner: what somebody may have hung on that table gets no
// superuser's rights.
Expired expire_as_owner(Micros deadline) {
	Oid user;
	int security;
	GetUserIdAndSecContext(&user, &security);
	SetUserIdAndSecContext(owner_of(require_table(Table::Sweep)),
	                       security | SECURITY_RESTRICTED_OPERATION);
	const Expired expired = expire_keys(expire_batch, deadline);
	SetUserIdAndSecContext(user, security);
	return expired;
}

struct Progress {
	bool here; // the extension is in the database
	int64 rows;
	bool more;
};

// One transaction.
void delete_batch(Micros deadline, Progress *progress) {
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	Expired expired;
	progress->here = hold_extension();
	// default_transaction_read_only keeps this worker from writing like everybody else.
	if (progress->here && !XactReadOnly)
		expired = expire_as_owner(deadline);
	PopActiveSnapshot();
	CommitTransactionCommand();
	pgstat_report_stat(true); // or autovacuum would not learn of it
	progress->rows += expired.rows;
	progress->more = expired.more;
}

void delete_all(Progress *progress) {
	const Micros deadline = GetCurrentTimestamp() + visit_budget;
	do {
		CHECK_FOR_INTERRUPTS();
		delete_batch(deadline, progress);
	} while (progress->more && GetCurrentTimestamp() < deadline);
}

// Another session was in the way, for a moment. The next visit may do better.
bool is_passing(int error) {
	return error == ERRCODE_LOCK_NOT_AVAILABLE || error == ERRCODE_T_R_DEADLOCK_DETECTED ||
	       error == ERRCODE_T_R_SERIALIZATION_FAILURE;
}

// Logs the error, unless it is the one of the last visit. Returns what to compare the next with.
int report_error(int former_error) {
	const int error = geterrcode();
	if (is_passing(error)) {
		ereport(DEBUG1, (errmsg_internal("expiry was interrupted with SQLSTATE %s",
		                                 unpack_sql_state(error))));
		return former_error;
	}
	if (error != former_error)
		EmitErrorReport();
	return error;
}

// `progress` lives in another frame, so that an error leaves it as it is.
void visit_database(Visit *visit, Progress *progress) {
	PG_TRY();
	{
		delete_all(progress);
		visit->error = 0;
	}
	PG_CATCH();
	{
		visit->error = report_error(visit->former_error);
		AbortCurrentTransaction();
		FlushErrorState();
	}
	PG_END_TRY();
	visit->more = progress->more && visit->error == 0;
}

void log_visit(const Visit &visit, const Progress &progress) {
	const char *database = NameStr(visit.database);
	if (!progress.here)
		return;
	if (visit.error == 0 && visit.former_error != 0)
		ereport(LOG, (errmsg("pg_idem can delete keys in database \"%s\" again", database)));
	ereport(progress.rows > 0 ? LOG : DEBUG1,
	        (errmsg("pg_idem deleted %lld keys past their life in database \"%s\"",
	                static_cast<long long>(progress.rows), database)));
}

void add_context(void *visit) {
	errcontext("deleting keys past their life in database \"%s\"",
	           NameStr(static_cast<const Visit *>(visit)->database));
}

} // namespace

} // namespace pg_idem

void pg_idem_worker_main(Datum database) {
	using namespace pg_idem;
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	dsm_handle shared;
	memcpy(&shared, MyBgworkerEntry->bgw_extra, sizeof(shared));
	dsm_segment *segment = dsm_attach(shared);
	if (segment == nullptr)
		return; // the launcher has gone
	auto *visit = static_cast<Visit *>(dsm_segment_address(segment));
	BackgroundWorkerInitializeConnectionByOid(DatumGetObjectId(database), InvalidOid, 0);
	override_settings();
	pgstat_report_appname("pg_idem worker");
	pgstat_report_activity(STATE_RUNNING, "deleting keys past their life");

	ErrorContextCallback context = {error_context_stack, add_context, visit};
	error_context_stack = &context;
	Progress progress = {};
	visit_database(visit, &progress);
	error_context_stack = context.previous;
	log_visit(*visit, progress);
	visit->ended = true;
}
