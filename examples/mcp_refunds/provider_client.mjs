// Calls the provider, and says of each failure what is known: that is all the ledger wants to hear.

const url = process.env.PROVIDER_URL;
const timeout = Number(process.env.PROVIDER_TIMEOUT_MS ?? 10_000); // shorter than the lease

export class Declined extends Error {} // for good: the same request is never done
export class NotDone extends Error {} // known not to have happened, this time
export class Unknown extends Error {} // done or not, nobody knows

async function call(path, options) {
	try {
		const answer = await fetch(url + path, { ...options, signal: AbortSignal.timeout(timeout) });
		return { status: answer.status, body: await answer.json() };
	} catch (error) {
		if (error.cause?.code === "ECONNREFUSED") throw new NotDone("the provider cannot be reached");
		throw new Unknown(`no answer from the provider: ${error.cause?.code ?? error.name}`);
	}
}

export async function pay(path, key, request) {
	const { status, body } = await call(path, {
		method: "POST",
		headers: { "Content-Type": "application/json", "Idempotency-Key": key },
		body: JSON.stringify(request),
	});
	if (status === 200) return body;
	if (status === 402) throw new Declined(body.error);
	if (status === 429) throw Object.assign(new NotDone("the provider is busy"), { retryAfter: body.retry_after });
	throw new Unknown(`the provider answered ${status}`); // 409 and 5xx among them
}

// What was done under a key, or nothing. Throws while the provider does not know it itself.
export async function find(key) {
	const { status, body } = await call(`/by-key/${key}`);
	if (status === 200) return body;
	if (status === 404) return undefined;
	throw new Unknown(`the provider answered ${status}`);
}
