// What the model is told. It reads words, so the words must not sound alike: only the call that has
// paid is told "DONE NOW", and whatever is not known to be done is marked as an error.

const again = "Call again with the same arguments; do not change them, and do not try another way.";

const answers = {
	done: (c) => ["done_now", `DONE NOW by this call: ${c.effect_ref}.`],
	settled: (c) => ["settled",
		`IT IS DONE, ONCE: ${c.effect_ref}. An earlier attempt was lost on the way, and this call has found out. `
		+ "Do not report it as a second one."],
	replayed: (c) => ["already_done",
		`NOTHING WAS DONE NOW. This was already done by an earlier call, at ${c.completed_at.toISOString()}: ${c.effect_ref}. `
		+ "Do not report it as a new one."],
	failed: (c) => ["declined",
		`NOT DONE, and it will not be: ${c.response?.error ?? c.message}. Calling again gives this answer again.`],
	in_progress: (c) => ["under_way",
		`NOT DONE YET. Another attempt is under way. Ask again in ${seconds(c)} seconds. ${again}`],
	released: (c) => ["not_done",
		`NOT DONE. The provider could not take it now. Ask again in ${seconds(c)} seconds. ${again}`],
	unknown: (c) => ["unknown",
		`NOT KNOWN whether it was done: ${c.message}. ${again} The answer will say what happened.`],
	conflict: (c) => ["conflict",
		`NOT DONE. An earlier call said otherwise about ${fields(c)}, and only one of the two can be meant. `
		+ `A person decides. Read the earlier one with read_effect {"reference": "${c.key}"}; do not call again.`],
};
// unresolved, exhausted and whatever comes later
const stop = (c) => ["unresolved", `NOT DONE NOW, and a person has to look into it: ${c.message}. Do not call again.`];

const seconds = (c) => Math.max(1, Math.ceil(c.retry_after));
const fields = (c) => c.differing_fields?.map((f) => f ?? "a field that is missing now").join(", ") ?? "something";

function drop(object) {
	return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined && value !== null));
}

export function answer(claim) {
	const { outcome } = claim;
	const [status, words] = (answers[outcome] ?? stop)(claim);
	const facts = drop({
		status,
		done_by_this_call: outcome === "done",
		reference: claim.key,
		effect: claim.effect_ref,
		receipt: claim.response,
		done_at: claim.completed_at?.toISOString(),
		ask_again_after_seconds: claim.retry_after && seconds(claim),
		differing_fields: claim.differing_fields,
		read_existing_effect: outcome === "conflict"
			? { tool: "read_effect", arguments: { reference: claim.key } } : null,
	});
	return said(words, facts, !["done", "settled", "replayed"].includes(outcome));
}

// The same for a call that only reads.
export function describe(claim) {
	if (!claim?.key) return refuse("There is no such reference.");
	const { key, outcome, effect_ref, response, completed_at, message, arguments: asked } = claim;
	const words = `As of now: ${outcome === "replayed" ? "done" : message}. Nothing was done by reading it.`;
	return said(words, drop({ reference: key, outcome, effect: effect_ref, receipt: response, asked,
		done_at: completed_at?.toISOString() }), false);
}

// Something failed between here and the ledger. The next call finds out.
export function confess() {
	return said(`NOT KNOWN whether it was done: something failed on the way. ${again}`,
		{ status: "unknown", done_by_this_call: false }, true);
}

export function refuse(why) {
	return { content: [{ type: "text", text: `NOT DONE. ${why}` }], isError: true };
}

function said(words, facts, isError) {
	const content = [words, JSON.stringify(facts)].map((text) => ({ type: "text", text }));
	return { content, structuredContent: facts, isError };
}
