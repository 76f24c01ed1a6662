-- Refunds by an agent that repeats itself. In a database of its own, with psql:
--
--   createdb refunds && psql -d refunds -f examples/refund_tour.sql
--
-- The agent restarts, rewords its reason and spells the same amount in other ways. One refund is
-- issued for each charge and support ticket, whatever it sends.

\set ON_ERROR_STOP on
\pset footer off

CREATE EXTENSION IF NOT EXISTS pg_idem;

-- No unique constraint on purpose: that a refund is here once is the ledger's doing.
CREATE TABLE refund (
	id        bigint  GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	charge_id text    NOT NULL,
	amount    numeric NOT NULL,
	currency  text    NOT NULL,
	reason    text
);

-- The effect: issues a refund, and returns the receipt that every repeat will get.
CREATE FUNCTION issue_refund(call jsonb) RETURNS jsonb
LANGUAGE sql AS $$
	INSERT INTO refund (charge_id, amount, currency, reason)
	VALUES (call->>'charge_id', (call->>'amount')::numeric, upper(call->>'currency'), call->>'reason')
	RETURNING jsonb_build_object('refund_id', 'rf_' || id, 'amount', amount)
$$;

-- What makes two calls one intent: the ticket, the charge and the currency. The reason is prose and
-- may change freely. Everything else, here the amount, is bound: a repeat must not change it.
SELECT idem_define('create_refund',
	key_fields       => '{"ticket": "exact", "charge_id": "exact", "currency": "upper"}',
	unchecked_fields => '{reason}',
	key_prefix       => 'rfnd');

\echo '-- 1. The first call issues the refund.'
SELECT outcome, action, response
FROM idem_once('acme', 'create_refund',
	'{"ticket": "T-1001", "charge_id": "ch_4471", "amount": 129.990, "currency": "gbp", "reason": "parcel arrived late"}',
	'issue_refund(jsonb)');

\echo '-- 2. The agent has lost its context and asks again: a reworded reason, 129.99, GBP.'
SELECT outcome, action, response
FROM idem_once('acme', 'create_refund',
	'{"reason": "late delivery, customer upset", "currency": "GBP", "amount": 129.99, "charge_id": "ch_4471", "ticket": "T-1001"}',
	'issue_refund(jsonb)');

\echo '-- 3. The same refund with another amount is a mistake: nothing is done, the receipt is not told, the difference is.'
SELECT outcome, action, differing_fields, message
FROM idem_once('acme', 'create_refund',
	'{"ticket": "T-1001", "charge_id": "ch_4471", "amount": 192.99, "currency": "GBP", "reason": "late"}',
	'issue_refund(jsonb)');

\echo '-- 4. Two sessions at once: this one has issued a refund and has not committed yet ...'
\setenv PGHOST :HOST
\setenv PGPORT :PORT
\setenv PGUSER :USER
\setenv PGDATABASE :DBNAME
\set call '{"ticket": "T-1002", "charge_id": "ch_4472", "amount": 20, "currency": "EUR"}'
\setenv CALL :call
BEGIN;
SELECT outcome, action, response
FROM idem_once('acme', 'create_refund', :'call', 'issue_refund(jsonb)');

\echo '-- ... a second session asks for the same, and is told at once to come again:'
\! psql -X -P footer=off -c "SELECT outcome, action, retry_after FROM idem_once('acme', 'create_refund', '$CALL', 'issue_refund(jsonb)')"

COMMIT;

\echo '-- After the commit it gets the receipt:'
\! psql -X -P footer=off -c "SELECT outcome, action, response FROM idem_once('acme', 'create_refund', '$CALL', 'issue_refund(jsonb)')"

\echo '-- Six calls, two refunds:'
SELECT id, charge_id, amount, currency, reason FROM refund ORDER BY id;
