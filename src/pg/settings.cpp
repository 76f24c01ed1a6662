#include "pg/settings.hpp"

extern "C" {
#include "postgres.h"
#include "utils/guc.h"
}

namespace pg_idem {

namespace {

constexpr int default_interval = 60;
constexpr int max_interval = PG_INT32_MAX / 1000; // waits are counted in milliseconds

constexpr int default_batch = 1000;
constexpr int max_batch = 100000; // a batch is one transaction, which others may have to wait for

} // namespace

int expire_interval = default_interval;
int expire_batch = default_batch;

void define_settings() {
	DefineCustomIntVariable(
		"pg_idem.expire_batch",
		"Sets how many keys one transaction of the expiry worker deletes at most.", nullptr,
		&expire_batch, default_batch, 1, max_batch, PGC_SIGHUP, 0, nullptr, nullptr, nullptr);
	DefineCustomIntVariable(
		"pg_idem.expire_interval",
		"Sets how often the expiry worker looks for keys past their life.",
		"0 turns the worker off. It runs only when pg_idem is in shared_preload_libraries.",
		&expire_interval, default_interval, 0, max_interval, PGC_SIGHUP, GUC_UNIT_S, nullptr,
		nullptr, nullptr);
	MarkGUCPrefixReserved("pg_idem");
}

} // namespace pg_idem
