// The tool server, for a model's host to start: MCP over standard input and output.
//
//   PGHOST=... PROVIDER_URL=... node server.mjs

import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { AjvJsonSchemaValidator } from "@modelcontextprotocol/sdk/validation/ajv";
import { answer, confess, describe, refuse } from "./answers.mjs";
import { database, dispatch, lookUp, pays } from "./dispatch.mjs";
import { answerSchema, apiTools } from "./tools.mjs";

const validator = new AjvJsonSchemaValidator();
const tools = await Promise.all(apiTools.map(async (tool) => {
	// What is not published is not accepted either: a model that makes up a key is told so.
	const { rows } = await database.query("SELECT idem_strip_schema($1) AS tool", [tool]);
	const published = rows[0].tool;
	if (pays(tool.name)) published.outputSchema = answerSchema;
	return { published, check: validator.getValidator(published.inputSchema) };
}));

// A step of the plan is named by the orchestrator, beside the arguments, where no model writes.
async function stepOf(request) {
	const occurrence = request._meta?.["mcp_refunds/occurrence"];
	if (occurrence === undefined) return undefined;
	const { rowCount } = await database.query(
		"SELECT FROM mcp_refunds.step WHERE occurrence = $1 AND tool = $2", [occurrence, request.name]);
	return rowCount === 1 ? occurrence : null;
}

async function callTool(request) {
	const tool = tools.find(({ published }) => published.name === request.name);
	if (!tool) return refuse("There is no such tool.");
	const args = request.arguments ?? {};
	const { valid, errorMessage } = tool.check(args);
	if (!valid) return refuse(`The arguments are wrong: ${errorMessage}.`);
	if (!pays(request.name)) return describe(await lookUp(args.reference));

	const occurrence = await stepOf(request);
	if (occurrence === null) return refuse("This is no step of the plan.");
	return answer(await dispatch(request.name, args, occurrence));
}

async function callSafely({ params }) {
	try {
		return await callTool(params);
	} catch (error) {
		if (/^ID01/.test(error.code)) return refuse(`The request is wrong: ${error.message}.`);
		console.error(error);
		return confess();
	}
}

const underWay = new Set();
const server = new Server({ name: "refunds", version: "1.0.0" }, { capabilities: { tools: {} } });
server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: tools.map(({ published }) => published) }));
server.setRequestHandler(CallToolRequestSchema, (request) => {
	const work = callSafely(request);
	underWay.add(work);
	return work.finally(() => underWay.delete(work));
});
await server.connect(new StdioServerTransport());

// When the host is gone, what is under way is finished: the answer waits in the ledger.
process.stdout.on("error", () => {});
process.stdin.on("end", async () => {
	await Promise.allSettled(underWay);
	process.exit();
});
