#include "pg/expiry/launcher.hpp"

extern "C" {
#include "postgres.h"
#include "access/genam.h"
#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "portability/instr_time.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/dsm.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lock.h"
#include "tcop/tcopprot.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"

PGDLLEXPORT void pg_idem_launcher_main(Datum);
}

#include "pg/expiry/visit.hpp"
#include "pg/settings.hpp"

namespace pg_idem {

namespace {

constexpr int restart_seconds = 10;       // until a launcher that failed is started again
constexpr double backlog_pause_ms = 1000; // between rounds while a database has more to delete
constexpr int most_failures = 6;          // counted; the pause then is 63 rounds

struct Database {
	Oid oid;
	NameData name;
};

struct Databases {
	Database *items;
	int count;
};

// What the launcher remembers of a database from round to round.
struct Memory {
	Oid database;
	uint32 round; // the last one that listed the database
	int error;    // see Visit::former_error
	int failures; // visits in a row that did not end as they should
	int skip;     // rounds to leave out because of them
};

// Until something happens, or for so many milliseconds; -1: however long it takes.
void rest(long timeout_ms) {
	const int events = WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | (timeout_ms >= 0 ? WL_TIMEOUT : 0);
	WaitLatch(MyLatch, events, timeout_ms, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	if (ProcDiePending) {
		// Not a matter for the log, which CHECK_FOR_INTERRUPTS makes of it. 1: to be started again,
		// unless the server is stopping.
		ereport(DEBUG1, (errmsg_internal("pg_idem launcher is shutting down")));
		proc_exit(1);
	}
	CHECK_FOR_INTERRUPTS();
	if (ConfigReloadPending) {
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
}

Databases list_databases() {
	MemoryContext context = CurrentMemoryContext;
	Databases databases = {nullptr, 0};
	int capacity = 0;
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	Relation table = table_open(DatabaseRelationId, AccessShareLock);
	TableScanDesc scan = table_beginscan_catalog(table, 0, nullptr);
	for (HeapTuple tuple; (tuple = heap_getnext(scan, ForwardScanDirection)) != nullptr;) {
		const auto *form = reinterpret_cast<Form_pg_database>(GETSTRUCT(tuple));
		// A template is nobody's database; a DROP DATABASE that was interrupted leaves an invalid one.
		if (form->datistemplate || !form->datallowconn ||
		    form->datconnlimit == DATCONNLIMIT_INVALID_DB)
			continue;
		if (databases.count == capacity) {
			const int wider = capacity == 0 ? 16 : capacity * 2;
			auto *items =
				static_cast<Database *>(MemoryContextAlloc(context, sizeof(Database) * wider));
			if (databases.count > 0)
				memcpy(items, databases.items, sizeof(Database) * databases.count);
			databases.items = items;
			capacity = wider;
		}
		databases.items[databases.count++] = {form->oid, form->datname};
	}
	table_endscan(scan);
	table_close(table, AccessShareLock);
	CommitTransactionCommand();
	MemoryContextSwitchTo(context);
	return databases;
}

bool exists(Oid database) {
	Relation table = table_open(DatabaseRelationId, AccessShareLock);
	ScanKeyData key;
	ScanKeyInit(&key, Anum_pg_database_oid, BTEqualStrategyNumber, F_OIDEQ,
	            ObjectIdGetDatum(database));
	// Without a database there may be no index to be had.
	SysScanDesc scan = systable_beginscan(table, DatabaseOidIndexId, false, nullptr, 1, &key);
	const bool found = systable_getnext(scan) != nullptr;
	systable_endscan(scan);
	table_close(table, AccessShareLock);
	return found;
}

// Whether a worker can connect at once. While the database is being dropped or copied it would have to
// wait, and all other databases with it.
bool can_connect(Oid database) {
	MemoryContext context = CurrentMemoryContext;
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	LOCKTAG tag;
	SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, database, 0);
	const bool can = LockAcquire(&tag, RowExclusiveLock, false, true) != LOCKACQUIRE_NOT_AVAIL &&
	                 exists(database);
	CommitTransactionCommand();
	MemoryContextSwitchTo(context);
	return can;
}

class Launcher {
public:
	Launcher() {
		// Outside of a transaction, so it stays as long as the process.
		segment_ = dsm_create(sizeof(Visit), 0);
		visit_ = static_cast<Visit *>(dsm_segment_address(segment_));
		HASHCTL control = {};
		control.keysize = sizeof(Oid);
		control.entrysize = sizeof(Memory);
		memories_ = hash_create("pg_idem databases", 16, &control, HASH_ELEM | HASH_BLOBS);
	}

	// Visits every database. True: one of them has more to delete.
	bool round() {
		const Databases databases = list_databases();
		update_memories(databases);
		bool more = false;
		for (int i = 0; i < databases.count && expire_interval > 0; ++i) {
			const Database &database = databases.items[i];
			Memory &memory = memory_of(database.oid);
			if (memory.skip > 0) {
				--memory.skip;
				continue;
			}
			if (!can_connect(database.oid))
				continue;
			if (!visit(database, memory))
				break; // no slot for a worker: nor for the next
			more |= visit_->more;
		}
		return more;
	}

private:
	// False: no worker could be started.
	bool visit(const Database &database, Memory &memory) {
		*visit_ = {};
		visit_->database = database.name;
		visit_->former_error = memory.error;
		BackgroundWorkerHandle *handle;
		const bool started = start(database, &handle);
		report_slots(started);
		if (!started)
			return false;
		// The postmaster sends a signal for its start and for its end; one that could not be forked
		// counts as stopped.
		pid_t pid;
		while (GetBackgroundWorkerPid(handle, &pid) != BGWH_STOPPED)
			rest(-1);
		if (visit_->ended) {
			memory.error = visit_->error;
			memory.failures = 0;
		} else {
			// The server has logged why. Seldom does it help to try again at once.
			memory.failures = Min(memory.failures + 1, most_failures);
			memory.skip = (1 << memory.failures) - 1;
		}
		return true;
	}

	bool start(const Database &database, BackgroundWorkerHandle **handle) {
		BackgroundWorker worker = {};
		worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
		worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
		worker.bgw_restart_time = BGW_NEVER_RESTART;
		worker.bgw_notify_pid = MyProcPid;
		worker.bgw_main_arg = ObjectIdGetDatum(database.oid);
		const dsm_handle shared = dsm_segment_handle(segment_);
		memcpy(worker.bgw_extra, &shared, sizeof(shared));
		strlcpy(worker.bgw_library_name, "pg_idem", BGW_MAXLEN);
		strlcpy(worker.bgw_function_name, "pg_idem_worker_main", BGW_MAXLEN);
		strlcpy(worker.bgw_type, "pg_idem worker", BGW_MAXLEN);
		snprintf(worker.bgw_name, BGW_MAXLEN, "pg_idem worker for database \"%s\"",
		         NameStr(database.name));
		return RegisterDynamicBackgroundWorker(&worker, handle);
	}

	// Says once that there is no slot, and once that there is one again.
	void report_slots(bool available) {
		if (available == slots_available_)
			return;
		slots_available_ = available;
		if (available)
			ereport(LOG, (errmsg("pg_idem has a background worker slot again")));
		else
			ereport(LOG, (errmsg("pg_idem found no free background worker slot"),
			              errdetail("Keys past their life stay until there is one."),
			              errhint("You might need to increase max_worker_processes.")));
	}

	Memory &memory_of(Oid database) {
		bool found;
		auto *memory = static_cast<Memory *>(hash_search(memories_, &database, HASH_ENTER, &found));
		if (!found)
			*memory = {database, 0, 0, 0, 0};
		return *memory;
	}

	// Forgets the databases that are gone.
	void update_memories(const Databases &databases) {
		++round_;
		for (int i = 0; i < databases.count; ++i)
			memory_of(databases.items[i].oid).round = round_;
		HASH_SEQ_STATUS scan;
		hash_seq_init(&scan, memories_);
		while (auto *memory = static_cast<Memory *>(hash_seq_search(&scan)))
			if (memory->round != round_)
				hash_search(memories_, &memory->database, HASH_REMOVE, nullptr);
	}

	dsm_segment *segment_;
	Visit *visit_;
	HTAB *memories_;
	uint32 round_ = 0;
	bool slots_available_ = true;
};

// Milliseconds that are left of a pause since `start`.
long left_of(double pause_ms, instr_time start) {
	instr_time now;
	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, start);
	return static_cast<long>(Max(pause_ms - INSTR_TIME_GET_MILLISEC(now), 0));
}

[[noreturn]] void run() {
	Launcher launcher;
	MemoryContext context =
		AllocSetContextCreate(TopMemoryContext, "pg_idem round", ALLOCSET_DEFAULT_SIZES);
	bool more = false, first = true;
	instr_time start; // of the pause
	INSTR_TIME_SET_CURRENT(start);
	for (;;) {
		// Counted anew each time, since a signal may have changed the interval.
		const double interval_ms = expire_interval * 1000.0;
		const long left =
			first ? 0 : left_of(more ? Min(interval_ms, backlog_pause_ms) : interval_ms, start);
		if (expire_interval == 0 || left > 0) {
			pgstat_report_activity(STATE_IDLE, expire_interval == 0
			                                       ? "off: pg_idem.expire_interval is 0"
			                                       : "waiting for the next round");
			rest(expire_interval == 0 ? -1 : left);
			continue;
		}
		first = false;
		pgstat_report_activity(STATE_RUNNING, "visiting databases");
		MemoryContextReset(context);
		MemoryContextSwitchTo(context);
		more = launcher.round();
		INSTR_TIME_SET_CURRENT(start);
	}
}

} // namespace

void register_launcher() {
	if (!process_shared_preload_libraries_in_progress || IsBinaryUpgrade)
		return;
	BackgroundWorker worker = {};
	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = restart_seconds;
	strlcpy(worker.bgw_library_name, "pg_idem", BGW_MAXLEN);
	strlcpy(worker.bgw_function_name, "pg_idem_launcher_main", BGW_MAXLEN);
	strlcpy(worker.bgw_name, "pg_idem launcher", BGW_MAXLEN);
	strlcpy(worker.bgw_type, "pg_idem launcher", BGW_MAXLEN);
	RegisterBackgroundWorker(&worker);
}

} // namespace pg_idem

void pg_idem_launcher_main(Datum) {
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnection(nullptr, nullptr, 0);
	pgstat_report_appname("pg_idem launcher");
	pg_idem::run();
}
