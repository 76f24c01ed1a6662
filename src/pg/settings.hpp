// What a server's configuration says to pg_idem. Documented in docs/worker.md.
#pragma once

namespace pg_idem {

extern int
	expire_interval; // pg_idem.expire_interval: seconds between two rounds of expiry; 0: none
extern int
	expire_batch; // pg_idem.expire_batch: most keys that one transaction of the worker deletes

// Once, at library load.
void define_settings();

} // namespace pg_idem
