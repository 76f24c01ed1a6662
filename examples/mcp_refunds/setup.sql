-- What the tool server of this folder needs in its database.

--   psql -v lease='2 seconds' -f setup.sql     where nobody wants to wait for a lease
\if :{?lease}
\else
	\set lease '30 seconds'
\endif

CREATE EXTENSION IF NOT EXISTS pg_idem;

CREATE SCHEMA mcp_refunds;

-- One refund a ticket, charge and currency. The amount is bound: a repeat with another one is a
-- conflict. The reason is the model's prose and may change with each repeat.
--
-- The call leaves the database, so the effect is external. The moment of sending is recorded, since
-- an attempt that was lost before it can simply be done again. After it, the next attempt has to look
-- at the provider first; the provider remembers our keys for a day, and beyond that a person decides.
SELECT idem_define('create_refund',
	key_fields       => '{"ticket": "trim", "charge_id": "trim", "currency": "upper"}',
	unchecked_fields => '{reason}',
	key_prefix       => 'rfnd',
	effect           => 'external',
	sending          => 'recorded',
	provider_window  => '24 hours',
	lease            => :'lease');

-- Two credits of one amount to one customer can both be meant, so no argument tells a repeat from a
-- second one. The step of the plan does: its occurrence is minted when the step is planned.
SELECT idem_define('send_credit',
	identity         => 'occurrence',
	unchecked_fields => '{reason}',
	key_prefix       => 'crdt',
	effect           => 'external',
	sending          => 'recorded',
	provider_window  => '24 hours',
	lease            => :'lease');

-- Normalisers are for key fields, and the amount is none. This operation is never claimed: it lends
-- us its normalisers, which make 12.5, "12.50" and 1.25e1 pounds 1250 pence, and refuse 12.505.
SELECT idem_define('mcp_refunds.money',
	key_fields => '{"amount": "minor_units(currency)", "currency": "trim|upper"}');

CREATE FUNCTION mcp_refunds.plain(arguments jsonb) RETURNS jsonb
LANGUAGE sql STABLE AS $$
	SELECT arguments || (idem_intent('-', 'mcp_refunds.money', arguments)->'args')
$$;

-- The plan: each step is one effect, whoever carries it out and however often.
CREATE TABLE mcp_refunds.step (
	occurrence text        PRIMARY KEY DEFAULT idem_mint(),
	tool       text        NOT NULL,
	arguments  jsonb       NOT NULL,
	answer     jsonb,
	planned_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- Two steps for the story, equal in all but their occurrence.
INSERT INTO mcp_refunds.step (tool, arguments)
SELECT 'send_credit', '{"customer": "C-7", "amount": "20.00", "currency": "eur"}' FROM generate_series(1, 2);

-- Calls that contradict an earlier one. A person reads them; asking again adds nothing.
CREATE TABLE mcp_refunds.review (
	reference        text        NOT NULL,
	asked            jsonb       NOT NULL,
	differing_fields text[],
	asked_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
	UNIQUE (reference, asked)
);

-- The server can claim, finish and take up lost work. It cannot define, resolve or list.
CREATE ROLE mcp_refunds LOGIN;
SELECT idem_grant('mcp_refunds', read_arguments => true);
GRANT USAGE ON SCHEMA mcp_refunds TO mcp_refunds;
GRANT SELECT, UPDATE (answer) ON mcp_refunds.step TO mcp_refunds;
GRANT INSERT, SELECT ON mcp_refunds.review TO mcp_refunds;
