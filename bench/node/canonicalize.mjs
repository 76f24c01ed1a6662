// Microseconds of processor time a document that npm canonicalize and node:crypto take for the
// SHA-256 of the canonical form, in hex.
//
//   node canonicalize.mjs FILE
//
// FILE has a document a line. They are parsed before, so that only canonicalising and hashing are
// timed. What Node does in other threads meanwhile, mostly collecting garbage, counts too.

import { readFileSync } from "node:fs";
import * as crypto from "node:crypto";
import canonicalize from "canonicalize";

const warm_up_micros = 2e6;
const measured_micros = 1e6;

// The one-shot form is the cheaper one, from Node 20.12 on.
const sha256 = crypto.hash
	? (text) => crypto.hash("sha256", text, "hex")
	: (text) => crypto.createHash("sha256").update(text).digest("hex");

const lines = readFileSync(process.argv[2], "utf8").split("\n").filter(Boolean);
const documents = lines.map((line) => JSON.parse(line));

const micros = () => {
	const { user, system } = process.cpuUsage();
	return user + system;
};

// Whole passes until `least` has been spent.
function passes(least) {
	const begin = micros();
	let count = 0;
	do {
		for (const document of documents) sha256(canonicalize(document));
		count += documents.length;
	} while (micros() - begin < least);
	return (micros() - begin) / count;
}

passes(warm_up_micros);
console.log(passes(measured_micros).toFixed(4));
