-- A webhook inbox: whatever a sender repeats, each event is filed once.
--
-- Senders deliver at least once: they repeat a delivery that was not answered in time, and some
-- repeat it while the first is still being handled. The event's own id is the occurrence, the sender
-- is the tenant: two senders may use one id.

CREATE EXTENSION IF NOT EXISTS pg_idem;

CREATE SCHEMA webhook_inbox;

-- No unique constraint on purpose: that an event is here once is the ledger's doing.
CREATE TABLE webhook_inbox.event (
	id          bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	sender      text        NOT NULL,
	event_id    text        NOT NULL,
	kind        text        NOT NULL,
	body        jsonb       NOT NULL,
	received_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

SELECT idem_define('webhook.delivery',
	identity    => 'occurrence',
	key_prefix  => 'whd',
	retention   => '7 days',
	retry_after => '20 milliseconds');

-- The effect. Runs at most once an event; what it returns is the receipt of every repeat.
CREATE FUNCTION webhook_inbox.file_event(delivery jsonb) RETURNS jsonb
LANGUAGE sql VOLATILE AS $$
	INSERT INTO webhook_inbox.event (sender, event_id, kind, body)
	VALUES (delivery->>'sender', delivery->>'event_id', delivery->>'kind', delivery->'body')
	RETURNING jsonb_build_object('filed_as', id)
$$;

-- Handles one delivery and says what to answer the sender. With `wait`, a repeat that meets the first
-- delivery still in its transaction waits for it, instead of asking the sender to come again.
CREATE FUNCTION webhook_inbox.receive(
	sender text, event_id text, kind text, body jsonb, wait interval DEFAULT '0',
	OUT http_status integer, OUT retry_after interval, OUT receipt jsonb, OUT outcome text
)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	answer idem.claim;
BEGIN
	answer := idem_once(sender, 'webhook.delivery',
		jsonb_build_object('sender', sender, 'event_id', event_id, 'kind', kind, 'body', body),
		'webhook_inbox.file_event(jsonb)', occurrence => event_id, wait => wait);
	outcome := answer.outcome;
	retry_after := answer.retry_after;
	receipt := answer.response;
	http_status := CASE
		WHEN answer.action IN ('do', 'answer') THEN 200 -- filed now, or before
		WHEN answer.retryable THEN 503                  -- under way: deliver it again
		ELSE 409                                        -- this id came before with another body
	END;
END $$;
