// A payment provider in a process of its own, with its own count of what it has done: the truth that
// the tests compare with.
//
//   node provider.mjs          prints "listening on http://127.0.0.1:PORT"
//
//   POST /refunds, /credits    with an Idempotency-Key: one effect a key, as real providers do it
//   GET  /by-key/KEY           200 the effect, 404 none, 409 a request with this key is under way
//   GET  /count                requests and effects by key
//   POST /next MOOD            what becomes of the next request:
//       lose           it is done, and the connection breaks before the answer
//       hold           it arrives, and waits before anything is done
//       hold_answer    it is done, and the answer waits
//       busy, decline  it is not done: 429, or 402 for good
//   POST /go                   lets go of what waits
//
// Moods stand in a queue: each request takes one.

import { createServer } from "node:http";

const effects = new Map(); // key => what was done
const requests = new Map(); // key => how often it was asked for
const underWay = new Set();
const moods = [];
const waiting = [];

const pause = () => new Promise((go) => waiting.push(go));

async function readBody(request) {
	let body = "";
	for await (const piece of request) body += piece;
	return body;
}

async function pay(kind, key, body) {
	const mood = moods.shift();
	requests.set(key, (requests.get(key) ?? 0) + 1);
	if (mood === "busy") return [429, { error: "busy", retry_after: 1 }];
	if (mood === "decline") return [402, { error: "charge_disputed" }];
	if (underWay.has(key)) return [409, { error: "key_in_use" }];
	if (!effects.has(key)) {
		underWay.add(key);
		if (mood === "hold") await pause();
		const id = `${kind.slice(0, 2)}_${effects.size + 1}`;
		effects.set(key, { id, kind, ...JSON.parse(body) });
		underWay.delete(key);
	}
	if (mood === "hold_answer") await pause();
	return mood === "lose" ? [] : [200, effects.get(key)];
}

function find(key) {
	if (underWay.has(key)) return [409, { error: "key_in_use" }];
	return effects.has(key) ? [200, effects.get(key)] : [404, { error: "no_such_key" }];
}

function count() {
	return [200, { requests: Object.fromEntries(requests), effects: Object.fromEntries(effects) }];
}

async function answer(request) {
	const [, place, rest] = request.url.split("/");
	const body = await readBody(request);
	switch (`${request.method} ${place}`) {
		case "POST refunds":
		case "POST credits":
			return pay(place, request.headers["idempotency-key"], body);
		case "GET by-key":
			return find(rest);
		case "GET count":
			return count();
		case "POST next":
			return [200, { moods: moods.push(body) }];
		case "POST go":
			for (const go of waiting.splice(0)) go();
			return [200, {}];
		default:
			return [404, { error: "no_such_place" }];
	}
}

const server = createServer(async (request, response) => {
	const [status, body] = await answer(request);
	if (status === undefined) {
		request.socket.destroy();
		return;
	}
	response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
});
server.keepAliveTimeout = 0; // no idle connection is closed under a client that is about to use it
server.listen(0, "127.0.0.1", () => {
	console.log(`listening on http://127.0.0.1:${server.address().port}`);
});
process.stdin.resume().on("end", () => process.exit()); // gone with whoever started it
