// A model's side of the conversation, scripted: a client that starts the server, as a host does it.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { fileURLToPath } from "node:url";

export class ModelClient {
	static async start(environment = {}) {
		const model = new ModelClient();
		model.client = new Client({ name: "scripted model", version: "1.0.0" });
		model.transport = new StdioClientTransport({
			command: process.execPath,
			args: [fileURLToPath(new URL("server.mjs", import.meta.url))],
			env: { ...process.env, ...environment },
		});
		await model.client.connect(model.transport);
		return model;
	}

	// The answer, or undefined when the server has died over it.
	async call(name, args, occurrence) {
		const _meta = occurrence ? { "mcp_refunds/occurrence": occurrence } : undefined;
		const died = new Promise((resolve) => { this.client.onclose = resolve; });
		return Promise.race([died, this.client.callTool({ name, arguments: args, _meta }).catch((error) => {
			if (error.code !== -32000) throw error; // not that the connection was closed
		})]);
	}

	// Does as it is told: while the answer is "ask again", asks again, in words of its own.
	async insist(name, args, occurrence) {
		const deadline = Date.now() + 30_000;
		for (let turn = 1; ; turn += 1) {
			const answer = await this.call(name, { ...reworded(args, turn) }, occurrence);
			const { status, ask_again_after_seconds: wait = 0.2 } = answer?.structuredContent ?? {};
			if (!["under_way", "not_done", "unknown"].includes(status)) return answer;
			if (Date.now() > deadline) throw new Error(`still ${status} after 30 seconds`);
			await new Promise((resolve) => setTimeout(resolve, wait * 1000));
		}
	}

	kill() {
		process.kill(this.transport.pid, "SIGKILL");
	}

	async stop() {
		await this.client.close();
	}
}

const reasons = ["parcel arrived late", "The customer says it was late.", "late delivery!", "Lieferung zu spät"];

// The same request as a model might say it the next time: other order, other spelling, other prose.
export function reworded(args, turn) {
	const { amount, currency, ...rest } = args;
	const spelt = turn % 2 ? Number(amount) : Number(amount).toFixed(2);
	const code = turn % 3 ? currency.toLowerCase() : currency.toUpperCase();
	const members = Object.entries({ reason: reasons[turn % reasons.length], ...rest, currency: code, amount: spelt });
	return Object.fromEntries(turn % 2 ? members.reverse() : members);
}
