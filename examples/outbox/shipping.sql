-- The shipping service, in a database of its own: one shipment an order, however often it is told of it.
--
-- relay.py tells the whole story and how to run it.

CREATE EXTENSION IF NOT EXISTS pg_idem;

CREATE SCHEMA shipping;

-- No unique constraint on the order on purpose: that it is shipped once is the ledger's doing.
CREATE TABLE shipping.shipment (
	id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	order_id text   NOT NULL,
	customer text   NOT NULL,
	items    jsonb  NOT NULL
);

-- Keep it longer than any event can be delivered again: a restored outbox repeats what is weeks old.
SELECT idem_define('event.consume', identity => 'occurrence', key_prefix => 'evt', retention => '90 days');

-- The effect. An event of a kind that is not ours is consumed as well, by doing nothing.
CREATE FUNCTION shipping.handle(event jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	shipment_id bigint;
BEGIN
	IF event->>'kind' <> 'order.placed' THEN
		RETURN '{"ignored": true}';
	END IF;
	INSERT INTO shipping.shipment (order_id, customer, items)
	VALUES (event#>>'{body,order_id}', event#>>'{body,customer}', event#>'{body,items}')
	RETURNING id INTO shipment_id;
	RETURN jsonb_build_object('shipment_id', shipment_id);
END $$;

-- Consumes one delivery. The sender is the tenant and the event's id the occurrence: what comes again is
-- answered with the receipt of the first time.
CREATE FUNCTION shipping.consume(sender text, event_id text, kind text, body jsonb,
	OUT consumed boolean, OUT retryable boolean, OUT outcome text, OUT message text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	answer idem.claim;
BEGIN
	answer := idem_once(sender, 'event.consume', jsonb_build_object('kind', kind, 'body', body),
		'shipping.handle(jsonb)', occurrence => event_id);
	consumed := answer.action = 'answer';
	retryable := answer.retryable;
	outcome := answer.outcome;
	message := answer.message;
END $$;
