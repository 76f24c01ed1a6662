// Finishes what was lost, also when no model comes back for it. To be run every minute or so.
//
//   PGHOST=... PROVIDER_URL=... node recover.mjs

import { carryOut, database, tenant } from "./dispatch.mjs";

for (const operation of ["create_refund", "send_credit"]) {
	for (;;) {
		const { rows } = await database.query(`SELECT key, action, fence, arguments
			FROM idem_take($1, max_keys => 1, tenant => $2)`, [operation, tenant]);
		if (rows.length === 0) break;
		const done = await carryOut({ operation, ...rows[0] });
		console.log(`${operation} ${done.key}: ${done.outcome} ${done.effect_ref ?? ""}`);
		if (!done.effect_ref) break; // not a loop on a provider that is down
	}
}
await database.end();
