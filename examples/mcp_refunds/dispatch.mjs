// Between the model and the money: claims each call in PostgreSQL, and only then pays.
//
// Each statement is a transaction of its own. Whatever kills this process, between any two of them,
// the ledger knows enough for the next attempt to go on with the same key.

import pg from "pg";
import * as provider from "./provider_client.mjs";

export const tenant = process.env.TENANT ?? "acme"; // of this deployment; no argument says it
export const database = new pg.Pool({ max: 4 });
database.on("error", () => {}); // an idle connection was lost: the next query opens another one

const paths = { create_refund: "/refunds", send_credit: "/credits" };
export const pays = (tool) => tool in paths;

// For the tests: where this process is to die, as by a kill -9 from outside.
const reached = (place) => place === process.env.DIE_AT && process.kill(process.pid, "SIGKILL");

async function one(sql, parameters) {
	return (await database.query(sql, parameters)).rows[0];
}

const claimColumns = `outcome, action, key, attempt, fence, effect_ref, response, differing_fields,
	completed_at, extract(epoch FROM retry_after)::float8 AS retry_after, message`;

// The arguments say which effect is meant, for a planned step its occurrence does. Neither is made up
// by the model: it fills the arguments of the tool, and the occurrence comes with the plan.
export async function dispatch(tool, args, occurrence) {
	const { plain } = await one("SELECT mcp_refunds.plain($1)", [args]);
	const claim = await one(`SELECT ${claimColumns} FROM idem_claim($1, $2, $3, $4)`,
		[tenant, tool, plain, occurrence]);
	if (claim.action === "do" || claim.action === "verify") {
		reached("claimed");
		return carryOut({ ...claim, operation: tool, arguments: plain });
	}
	if (claim.outcome === "conflict") {
		await database.query(`INSERT INTO mcp_refunds.review (reference, asked, differing_fields)
			VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, [claim.key, plain, claim.differing_fields]);
	}
	return claim;
}

// Does what a claim owns, and finishes it. Answers as a claim does, with outcomes of its own.
export async function carryOut(claim) {
	let receipt;
	try {
		if (claim.action === "verify") receipt = await provider.find(claim.key);
		receipt ??= await send(claim);
	} catch (error) {
		return giveUp(claim, error);
	}
	return finish(claim, "idem_complete($1, $2, $4, $5, fence => $3)", [receipt.id, receipt],
		{ outcome: claim.action === "do" ? "done" : "settled", effect_ref: receipt.id, response: receipt });
}

async function send(claim) {
	await database.query("SELECT idem_mark_sending($1, $2, $3)", [tenant, claim.key, claim.fence]);
	reached("sending");
	const receipt = await provider.pay(paths[claim.operation], claim.key, claim.arguments);
	reached("sent");
	return receipt;
}

async function giveUp(claim, error) {
	if (error instanceof provider.Declined) {
		const response = { error: error.message };
		return finish(claim, "idem_fail($1, $2, $4, $3)", [response], { outcome: "failed", response });
	}
	// Of a claim that was taken over, an earlier attempt may have done it: that this one did not says
	// nothing. Only a first one can be given back.
	if (error instanceof provider.NotDone && claim.action === "do") {
		return finish(claim, "idem_release($1, $2, $3, make_interval(secs => $4))",
			[error.retryAfter ?? 1], { outcome: "released", retry_after: error.retryAfter ?? 1 });
	}
	if (error instanceof provider.NotDone || error instanceof provider.Unknown) {
		return finish(claim, "idem_unknown($1, $2, $3)", [], { outcome: "unknown", message: error.message });
	}
	throw error; // the database said no, and nothing was sent: the lease ends by itself
}

async function finish(claim, call, parameters, answer) {
	const owner = [tenant, claim.key, claim.fence];
	try {
		await database.query(`SELECT ${call}`, [...owner, ...parameters]);
		return { ...claim, ...answer };
	} catch (error) {
		if (error.code !== "ID022") throw error;
		// This attempt took longer than its lease, and another one has the key. What was done is kept
		// for whoever compares; the answer is the ledger's.
		if (answer.effect_ref) await database.query("SELECT idem_report_late($1, $2, $3, $4)", [...owner, answer.effect_ref]);
		return lookUp(claim.key);
	}
}

export function lookUp(reference) {
	return one(`SELECT ${claimColumns}, arguments FROM idem_lookup($1, $2)`, [tenant, reference]);
}
