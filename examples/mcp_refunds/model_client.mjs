// A model's side of the conversation, scripted. Starts the server as a host does it.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { fileURLToPath } from "node:url";

const server = fileURLToPath(new URL("server.mjs", import.meta.url));
const patience = 30_000; // milliseconds

export const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

export class Model {
	static async start(environment = {}) {
		const model = new Model();
		model.client = new Client({ name: "scripted model", version: "1.0.0" });
		model.transport = new StdioClientTransport({
			command: process.execPath, args: [server], env: { ...process.env, ...environment } });
		await model.client.connect(model.transport);
		return model;
	}

	// The answer; { status: "died" } when the server has died over it.
	async call(name, args, occurrence) {
		const _meta = occurrence ? { "mcp_refunds/occurrence": occurrence } : undefined;
		try {
			const { content, structuredContent, isError } = await this.client.callTool({ name, arguments: args, _meta });
			return { status: isError ? "refused" : "read", ...structuredContent, isError, words: content[0].text };
		} catch (error) {
			if (error.code === -32000) return { status: "died" }; // the connection is closed
			throw error;
		}
	}

	// Does as it is told: while the answer is "call again", calls again, in words of its own. All answers.
	async insist(name, args, occurrence) {
		const answers = [];
		const deadline = Date.now() + patience;
		for (let turn = 0; Date.now() < deadline; turn += 1) {
			const answer = await this.call(name, reworded(args, turn), occurrence);
			answers.push(answer);
			if (!["under_way", "not_done", "unknown"].includes(answer.status)) return answers;
			await pause(answer.ask_again_after_seconds ?? 0.2);
		}
		throw new Error(`no end in sight: ${answers.map(({ status }) => status)}`);
	}

	kill() {
		process.kill(this.transport.pid, "SIGKILL");
	}

	stop() {
		return this.client.close();
	}
}

const reasons = ["parcel arrived late", "The customer says it was late.", "late delivery!", "Lieferung zu spät"];

// The same request as a model may say it the next time: other prose, other order, other spelling.
export function reworded({ amount, currency, ...rest }, turn) {
	const members = Object.entries({
		reason: reasons[turn % reasons.length],
		...rest,
		currency: turn % 3 ? currency.toUpperCase() : currency.toLowerCase(),
		amount: turn % 2 ? Number(amount) : Number(amount).toFixed(2),
	});
	return Object.fromEntries(turn % 2 ? members.reverse() : members);
}
