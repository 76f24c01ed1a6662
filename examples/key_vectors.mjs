// Recomputes every key and fingerprint of docs/key-vectors.jsonl without the database.
//
//   npm install canonicalize@5.1.0 && node examples/key_vectors.mjs docs/key-vectors.jsonl

import canonicalize from "canonicalize";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

const digest = (text) => createHash("sha256").update(text).digest("hex").slice(0, 32);

// The object that holds what a path leads to, and its name there.
function place(object, path, create) {
	const names = [...path.matchAll(/"((?:[^"]|"")*)"|([^.]+)/g)].map((m) => m[1]?.replaceAll('""', '"') ?? m[2]);
	const last = names.pop();
	const at = names.reduce((at, name) => (create ? (at[name] ??= {}) : at?.[name]), object);
	return { at: at ?? {}, last };
}
const find = (object, path) => { const { at, last } = place(object, path); return at[last]; };
const put = (object, path, value) => { const { at, last } = place(object, path, true); at[last] = value; };
function without(object, paths) {
	const copy = structuredClone(object);
	for (const path of paths) { const { at, last } = place(copy, path); delete at[last]; }
	return copy;
}

const decimals = { JPY: 0, KWD: 3 }; // of the vectors' currencies that have not 2
function normalise(spec, value, args) {
	const [, name, parameter] = spec.match(/^(\w+)(?:\((.+)\))?/);
	if (value === null || value === undefined) return value;
	if (name === "exact" || name === "optional") return value;
	if (name === "upper") return value.replace(/[a-z]/g, (letter) => letter.toUpperCase());
	if (name === "lower") return value.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
	if (name === "trim") return value.trim();
	if (name === "number") return Number(value);
	if (name !== "minor_units") throw new Error(`normaliser ${name} is not in this example`);
	const places = Number(parameter) >= 0 ? Number(parameter) : decimals[find(args, parameter).toUpperCase()] ?? 2;
	const [digits, exponent = 0] = String(value).split(/e/i);
	return Number(`${digits}e${Number(exponent) + places}`); // in text, where nothing is rounded
}

const vectors = readFileSync(process.argv[2], "utf8").trimEnd().split("\n").map((line) => JSON.parse(line));
const wrong = vectors.filter(({ operation: o, tenant, occurrence, arguments: args, key, fingerprint }) => {
	const fields = Object.entries(o.key_fields ?? {});
	const covered = without(args, [...fields.map(([path]) => path), ...o.unchecked_fields]);
	const bound = o.identity !== "arguments" && Object.keys(covered).length > 0 ? digest(canonicalize(covered)) : null;
	const chosen = {};
	for (const [path, spec] of fields) {
		const value = normalise(spec, find(args, path), args);
		if (value !== undefined) put(chosen, path, value);
	}
	const preimage = o.identity === "occurrence" ? `${o.operation}:occurrence:${canonicalize({ occurrence, tenant })}`
		: `${o.operation}:v${o.version}:${canonicalize({ args: o.identity === "fields" ? chosen : covered, tenant })}`;
	return key !== `${o.key_prefix}_${digest(preimage)}` || fingerprint !== bound;
});
for (const { name } of wrong) console.log(`differs: ${name}`);
console.log(`${vectors.length} vectors, ${wrong.length} differ`);
process.exitCode = vectors.length > 0 && wrong.length === 0 ? 0 : 1;
