// The tools as their API describes them. Some of these fields are not for a model to fill: the
// server takes them out (idem_strip_schema) before it publishes a schema.

const money = {
	amount: {
		type: ["string", "number"],
		pattern: "^[0-9]{1,9}(\\.[0-9]{1,3})?$",
		exclusiveMinimum: 0,
		description: "in the currency's main unit, such as 12.50",
	},
	currency: { type: "string", pattern: "^[A-Za-z]{3}$" },
	reason: { type: "string", maxLength: 500, description: "for a person to read" },
};
const notForModels = {
	idempotency_key: { type: "string" },
	request_id: { type: "string" },
	sent_at: { type: "string", format: "date-time" },
};
const name = { type: "string", minLength: 1, maxLength: 100 };

function schema(properties, required) {
	return { type: "object", properties, required, additionalProperties: false };
}

export const apiTools = [
	{
		name: "create_refund",
		description: "Refunds a charge, once a ticket. Calling it again with the same facts is safe.",
		inputSchema: schema({ ticket: name, charge_id: name, ...money, ...notForModels },
			["ticket", "charge_id", "amount", "currency", "idempotency_key"]),
	},
	{
		name: "send_credit",
		description: "Sends a customer a credit, as a step of the plan.",
		inputSchema: schema({ customer: name, ...money, ...notForModels },
			["customer", "amount", "currency", "idempotency_key"]),
	},
	{
		name: "read_effect",
		description: "Reads what is known of an earlier call, by the reference from an answer. Changes nothing.",
		inputSchema: schema({ reference: name }, ["reference"]),
	},
];

// What every call that pays is answered with, beside the words.
export const answerSchema = {
	type: "object",
	properties: {
		status: {
			enum: ["done_now", "settled", "already_done", "declined", "under_way", "not_done", "conflict",
				"unresolved", "unknown"],
		},
		done_by_this_call: { type: "boolean" },
		reference: { type: "string" },
		effect: { type: "string" },
		receipt: {},
		done_at: { type: "string" },
		ask_again_after_seconds: { type: "number" },
		differing_fields: { type: "array", items: { type: ["string", "null"] } },
		read_existing_effect: { type: "object" },
	},
	required: ["status", "done_by_this_call"],
};
