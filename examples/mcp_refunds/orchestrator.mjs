// Carries out the plan, step by step. It may be killed at any time and started again: which step a
// call belongs to is in the database, and not in anybody's memory.
//
//   PGHOST=... PROVIDER_URL=... node orchestrator.mjs

import { database } from "./dispatch.mjs";
import { Model } from "./model_client.mjs";

const { rows: steps } = await database.query(`SELECT occurrence, tool, arguments FROM mcp_refunds.step
	WHERE answer IS NULL ORDER BY planned_at, occurrence`);
const model = await Model.start();
for (const { occurrence, tool, arguments: args } of steps) {
	const { words, ...answer } = (await model.insist(tool, args, occurrence)).at(-1);
	await database.query("UPDATE mcp_refunds.step SET answer = $2 WHERE occurrence = $1", [occurrence, answer]);
	console.log(`${answer.status} ${answer.reference}: ${words}`);
}
await model.stop();
await database.end();
