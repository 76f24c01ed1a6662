-- The order service: an order and the event that tells others of it are committed together, or neither is.
--
-- relay.py tells the whole story and how to run it.

CREATE EXTENSION IF NOT EXISTS pg_idem;

CREATE SCHEMA orders;

-- No unique constraint on the cart on purpose: that it is ordered once is the ledger's doing.
CREATE TABLE orders.customer_order (
	id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	customer text   NOT NULL,
	cart     text   NOT NULL,
	items    jsonb  NOT NULL
);

-- Events on their way out. A row is written with what it tells of, and marked when it has arrived.
CREATE TABLE orders.outbox (
	position     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	event_id     text   NOT NULL,
	kind         text   NOT NULL,
	body         jsonb  NOT NULL,
	delivered_at timestamptz,
	problem      text -- why it is delivered no more; for a person to look at
);
CREATE INDEX ON orders.outbox (position) WHERE delivered_at IS NULL AND problem IS NULL;

-- A cart is ordered once, however often the button is pressed.
SELECT idem_define('order.place', identity => 'occurrence', key_prefix => 'ord', retry_after => '50 milliseconds');

-- The effect: the order with its event. The event's id is minted here, once, and stored: whoever
-- delivers the event again says the same id again.
CREATE FUNCTION orders.file_order(call jsonb) RETURNS jsonb
LANGUAGE sql VOLATILE AS $$
	WITH filed AS (
		INSERT INTO orders.customer_order (customer, cart, items)
		VALUES (call->>'customer', call->>'cart', call->'items')
		RETURNING id, customer, items
	), told AS (
		INSERT INTO orders.outbox (event_id, kind, body)
		SELECT idem_mint(), 'order.placed',
			jsonb_build_object('order_id', 'o-' || id, 'customer', customer, 'items', items)
		FROM filed
	)
	SELECT jsonb_build_object('order_id', 'o-' || id) FROM filed
$$;

-- Places an order and says what to answer: the receipt is the same for every repeat.
CREATE FUNCTION orders.place(customer text, cart text, items jsonb, OUT http_status integer, OUT receipt jsonb)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	answer idem.claim;
BEGIN
	answer := idem_once('shop', 'order.place',
		jsonb_build_object('customer', customer, 'cart', cart, 'items', items),
		'orders.file_order(jsonb)', occurrence => cart, ref_field => 'order_id');
	receipt := answer.response;
	http_status := CASE
		WHEN answer.action = 'answer' THEN 200 -- placed now, or before
		WHEN answer.retryable THEN 503         -- being placed: ask again
		ELSE 409                               -- this cart was ordered before, with other items
	END;
END $$;
