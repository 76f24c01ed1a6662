// What a model, its host and a provider do to each other on a bad day. After each scene, what was
// answered, and what the provider has counted: of each intent one effect, under one key.
//
//   PGHOST=... PROVIDER_URL=... node story.mjs

import { execFile, spawn } from "node:child_process";
import { promisify } from "node:util";
import { Model, pause, reworded } from "./model_client.mjs";

const url = process.env.PROVIDER_URL;
const here = (file) => new URL(file, import.meta.url).pathname;
const control = (place, body) => fetch(`${url}/${place}`, { method: "POST", body });
const next = (...moods) => moods.reduce((before, mood) => before.then(() => control("next", mood)), Promise.resolve());
const go = () => control("go");
const count = async () => (await fetch(`${url}/count`)).json();

async function until(what, isTrue) {
	const deadline = Date.now() + 30_000;
	while (!await isTrue()) {
		if (Date.now() > deadline) throw new Error(`in vain: ${what}`);
		await pause(0.02);
	}
}

const requestsSoFar = async () => Object.values((await count()).requests).reduce((sum, n) => sum + n, 0);

// Begins something, and waits until the provider has one request more than before.
async function asked(begin) {
	const before = await requestsSoFar();
	const under = begin();
	await until("a request at the provider", async () => await requestsSoFar() > before);
	return { answer: under };
}

const tool = "create_refund";
const refund = (number, changes) =>
	({ ticket: `T-${number}`, charge_id: `ch_${number}`, amount: "12.50", currency: "gbp", ...changes });
const credit = { customer: "C-7", amount: "20.00", currency: "eur" };

async function tell(scene, answers) {
	const keys = [...new Set(answers.map(({ reference }) => reference).filter(Boolean))];
	const { requests, effects } = await count();
	const sent = keys.reduce((sum, key) => sum + (requests[key] ?? 0), 0);
	const done = keys.filter((key) => effects[key]).length;
	// A wait has no fixed number of turns, so turns that say the same are told once.
	const said = answers.map(({ status }) => status).filter((status, n, all) => status !== all[n - 1]);
	const fresh = answers.filter(({ words }) => words?.startsWith("DONE NOW")).length;
	console.log(`${scene}: ${said.join(", ")} | `
		+ `keys ${keys.length}, requests ${sent}, effects ${done}, told as new ${fresh}`);
}

const scenes = {
	async "rewords and repeats"(model) {
		const answers = [];
		for (let turn = 0; turn < 6; turn += 1) answers.push(await model.call(tool, reworded(refund(1), turn)));
		return answers;
	},

	async "changes the amount"(model) {
		const conflict = await model.call(tool, refund(1, { amount: 125 }));
		console.log(`  ${conflict.words}`);
		const { tool: reader, arguments: args } = conflict.read_existing_effect;
		const existing = await model.call(reader, args);
		console.log(`  the earlier one asked for ${existing.asked.amount}: ${existing.outcome}`);
		return [conflict, existing];
	},

	async "makes up a key"(model) {
		return [await model.call(tool, refund(2, { idempotency_key: "retry-2" }))];
	},

	async "asks for half a penny"(model) {
		return [await model.call(tool, refund(2, { amount: "12.505" }))];
	},

	async "strays from the plan"(model) {
		return [await model.call("send_credit", credit), await model.call("send_credit", credit, "step-9")];
	},

	async "asks twice at once"(model) {
		await next("hold");
		const { answer } = await asked(() => model.call(tool, refund(3)));
		const second = await model.call(tool, reworded(refund(3), 1));
		await go();
		return [second, await answer];
	},

	async "the answer is lost"(model) {
		await next("lose");
		return model.insist(tool, refund(4));
	},

	async "the provider is slow"() {
		const model = await Model.start({ PROVIDER_TIMEOUT_MS: "300" });
		await next("hold");
		const answers = [await model.call(tool, refund(5)), await model.call(tool, refund(5))];
		await go();
		answers.push(...await model.insist(tool, refund(5)));
		await model.stop();
		return answers;
	},

	async "the provider is busy"(model) {
		await next("busy");
		return model.insist(tool, refund(6));
	},

	async "the provider declines"(model) {
		await next("decline");
		return [await model.call(tool, refund(7)), await model.call(tool, reworded(refund(7), 1))];
	},

	async "killed while the provider works"(model) {
		const victim = await Model.start();
		await next("hold");
		const { answer } = await asked(() => victim.call(tool, refund(11)));
		victim.kill();
		const answers = [await answer];
		const insisting = model.insist(tool, refund(11));
		await until("a takeover that finds the request under way", async () => {
			answers.push(await model.call(tool, refund(11)));
			return answers.at(-1).status === "unknown";
		});
		await go();
		return [...answers, ...await insisting];
	},

	// The first server lives, and is too slow for its lease: it must not overwrite what the second says.
	async "outlives its lease"(model) {
		const slow = await Model.start();
		await next("hold_answer");
		const { answer } = await asked(() => slow.call(tool, refund(12)));
		const answers = await model.insist(tool, refund(12));
		await go();
		answers.push(await answer);
		await slow.stop();
		return answers;
	},

	async "nobody comes back"(model) {
		const victim = await Model.start({ DIE_AT: "sending" });
		const answers = [await victim.call(tool, refund(13))];
		await until("the lost refund is found", async () => {
			const { stdout } = await promisify(execFile)(process.execPath, [here("recover.mjs")]);
			return /^create_refund rfnd_\w+: settled re_\d+$/m.test(stdout);
		});
		return [...answers, await model.call(tool, refund(13))];
	},

	// Two equal steps are two effects. The orchestrator dies in the first.
	async "the orchestrator is killed"() {
		const orchestrator = () =>
			spawn(process.execPath, [here("orchestrator.mjs")], { stdio: ["ignore", "pipe", "inherit"] });
		await next("hold");
		const { answer: first } = await asked(orchestrator);
		first.kill("SIGKILL");
		await go();
		const second = orchestrator();
		let lines = "";
		for await (const piece of second.stdout) lines += piece;
		return [...lines.matchAll(/(\w+) (crdt_\w+): (.*)/g)]
			.map(([, status, reference, words]) => ({ status, reference, words }));
	},
};

// A server dies at each of these places, and another one is started.
const deaths = {
	"killed when claimed": ["claimed", 8],
	"killed when about to send": ["sending", 9],
	"killed when sent": ["sent", 10],
};
const lastWords = await Promise.all(Object.values(deaths).map(async ([place, number]) => {
	const victim = await Model.start({ DIE_AT: place });
	return victim.call(tool, refund(number));
}));
const model = await Model.start();
for (const [n, [scene, [, number]]] of Object.entries(deaths).entries()) {
	await tell(scene, [lastWords[n], ...await model.insist(tool, refund(number))]);
}

const { tools } = await model.client.listTools();
const { inputSchema } = tools.find(({ name }) => name === tool);
console.log(`a model may fill: ${Object.keys(inputSchema.properties).sort().join(", ")}`);
for (const [scene, play] of Object.entries(scenes)) await tell(scene, await play(model));
await model.stop();
