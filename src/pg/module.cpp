// The module: what happens when a process loads the library.

extern "C" {
#include "postgres.h"
#include "fmgr.h"

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 160000
#error "pg_idem writes its table directly, and is built and tested for PostgreSQL 15 only"
#endif

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);
}

#include "pg/claims/flush.hpp"
#include "pg/expiry/launcher.hpp"
#include "pg/settings.hpp"
#include "pg/statistics/duplicates.hpp"
#include "pg/storage/relations.hpp"

void _PG_init(void) {
	pg_idem::define_settings();
	pg_idem::register_launcher();
	pg_idem::watch_duplicates();
	pg_idem::watch_relations();
	pg_idem::watch_transactions();
}
