// Random JSON documents, each in some spelling, with what npm canonicalize makes of it: one a line, as
// {"text": ..., "rfc8785": ...}, where null stands for a number that overflows a double.
//
//   node random_documents.mjs COUNT SEED

import canonicalize from "canonicalize";

const [count, seed] = process.argv.slice(2).map(Number);

// mulberry32
let state = seed >>> 0;
function random() {
	state = (state + 0x6d2b79f5) >>> 0;
	let t = Math.imul(state ^ (state >>> 15), state | 1);
	t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
	return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
}
const below = (n) => Math.floor(random() * n);
const pick = (list) => list[below(list.length)];
const times = (n, make) => Array.from({ length: n }, make);

const digits = (n) => times(n, () => below(10)).join("").replace(/^0+(?=.)/, "");
const anyDouble = () => {
	const view = new DataView(new ArrayBuffer(8));
	view.setUint32(0, below(2 ** 32));
	view.setUint32(4, below(2 ** 32));
	const value = view.getFloat64(0);
	return Number.isFinite(value) ? value : 0.1;
};
// Most numbers are those that a double keeps, or half of the documents could not be compared in strict mode.
const kept = [
	() => String(below(1000)), () => `-${below(1000)}.${below(100)}`, () => `${digits(15)}`, () => String(anyDouble()),
	() => `${below(100)}.${below(10)}00`, () => `${1 + below(9)}e${below(25)}`, () => `${1 + below(9)}.50E-${below(12)}`,
	() => pick(["0", "-0", "0.0", "-0e5", "1e21", "1e-7", "9007199254740992", "5e-324", "1.7976931348623157e308"]),
];
const changed = [
	() => `9007199254740993${digits(below(4))}`, () => `${1 + below(9)}${digits(18)}`, () => `0.${digits(18)}1`, () => `${digits(17)}.${digits(17)}1`,
	() => anyDouble().toExponential(20), () => anyDouble().toPrecision(17), () => `${1 + below(9)}e-${320 + below(20)}`, () => `-1e-${400 + below(9000)}`,
];
const overflowing = [() => `${1 + below(9)}e${309 + below(9000)}`, () => "-1.7976931348623159e308"];
const number = () => pick(random() < 0.96 ? kept : random() < 0.9 ? changed : overflowing)();

const letters = ["a", "b", "B", "0", "10", "é", "é", "\u007f", "\u2028", "｡", "😀", "\"", "\\", "/", "\n", "\u001f", " ", ""];
const escaped = (text) => JSON.stringify(text).replace(/[^"\\/ ]/gu, (c) =>
	random() < 0.1 && c > " " && !/[bfnrtu0-9a-f]/.test(c) ? c.split("").map((u) => `\\u${u.charCodeAt(0).toString(16).padStart(4, "0")}`).join("") : c);
const string = () => escaped(times(below(4), () => pick(letters)).join(""));
const space = () => pick(["", "", "", " ", "\n", "\t "]);

function value(depth) {
	const kind = below(depth > 0 ? 10 : 6);
	if (kind < 3) return number();
	if (kind < 5) return string();
	if (kind < 6) return pick(["true", "false", "null", "{}", "[]"]);
	const member = kind < 8 ? () => `${space()}${string()}${space()}:${value(depth - 1)}` : () => value(depth - 1);
	const list = times(below(6), member).join(`${space()},`);
	return space() + (kind < 8 ? `{${list}${space()}}` : `[${list}${space()}]`) + space();
}

for (let i = 0; i < count; i++) {
	const text = value(5);
	let rfc8785 = null;
	try {
		rfc8785 = canonicalize(JSON.parse(text));
	} catch (error) {
		if (!/Infinity/.test(error.message)) throw error;
	}
	process.stdout.write(`${JSON.stringify({ text, rfc8785 })}\n`);
}
