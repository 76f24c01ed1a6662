-- What every contender starts from: tables, operations, functions, and the intents to record.
CREATE EXTENSION pg_idem;
CREATE SCHEMA bench;

-- All arguments in the key; and three of four, which leaves one to the fingerprint.
SELECT idem_define('payment', identity => 'arguments', key_prefix => 'paym');
SELECT idem_define('refund', key_prefix => 'rfnd',
	key_fields => '{"charge_id": "exact", "amount": "minor_units(currency)", "currency": "upper"}');
-- Finished before the measurement begins, to be replayed.
SELECT idem_define('stored', identity => 'arguments', key_prefix => 'stor');

-- The floor: the columns of a finished key of the ledger, in its order.
CREATE TABLE bench.plain (
	key          uuid        NOT NULL PRIMARY KEY,
	completed_at timestamptz,
	elapsed      integer,
	policy       smallint    NOT NULL,
	state        "char"      NOT NULL,
	tenant       text        NOT NULL,
	effect_ref   text,
	fingerprint  uuid
);

-- What people write by hand: a row that is open first and completed later.
CREATE TABLE bench.pair (
	key          uuid        NOT NULL PRIMARY KEY,
	tenant       text        NOT NULL,
	state        "char"      NOT NULL,
	claimed_at   timestamptz NOT NULL,
	completed_at timestamptz,
	fingerprint  uuid,
	effect_ref   text,
	response     jsonb
);

CREATE TABLE bench.refund (charge_id text NOT NULL, amount numeric NOT NULL);

CREATE FUNCTION bench.arguments(n bigint) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
	SELECT ('{"charge_id":"ch_' || 100000000000 + n
		|| '","amount":129.990,"currency":"gbp","reason":"late"}')::jsonb
$$;

CREATE FUNCTION bench.uuid_of(digest bytea) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
	SELECT left(encode(digest, 'hex'), 32)::uuid
$$;

CREATE TABLE bench.input (
	n         integer NOT NULL PRIMARY KEY,
	arguments jsonb   NOT NULL,
	fresh     uuid    NOT NULL, -- a key that no table has yet
	stored    uuid    NOT NULL  -- the digest of the arguments, as a key that bench.plain has
);

CREATE FUNCTION bench.claim_by_hand(tenant text, key uuid) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO bench.pair (key, tenant, state, claimed_at)
		VALUES (claim_by_hand.key, claim_by_hand.tenant, 'o', clock_timestamp())
		ON CONFLICT DO NOTHING;
	RETURN FOUND;
END $$;

CREATE FUNCTION bench.complete_by_hand(key uuid, effect_ref text) RETURNS boolean
	LANGUAGE plpgsql AS $$
BEGIN
	UPDATE bench.pair p
		SET state = 'c', completed_at = clock_timestamp(), effect_ref = complete_by_hand.effect_ref
		WHERE p.key = complete_by_hand.key;
	RETURN FOUND;
END $$;

-- An effect for idem_once, and the same in one hand-written call.
CREATE FUNCTION bench.issue_refund(arguments jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO bench.refund VALUES (arguments ->> 'charge_id', 129.99);
	RETURN '{"refund_id": "rf_00001"}';
END $$;

CREATE FUNCTION bench.refund_by_hand(tenant text, arguments jsonb) RETURNS text
	LANGUAGE plpgsql AS $$
DECLARE
	key uuid := left(encode(idem_digest(arguments), 'hex'), 32)::uuid;
	ref text;
BEGIN
	IF bench.claim_by_hand(tenant, key) THEN
		ref := bench.issue_refund(arguments) ->> 'refund_id';
		PERFORM bench.complete_by_hand(key, ref);
	ELSE
		SELECT p.effect_ref INTO ref FROM bench.pair p WHERE p.key = refund_by_hand.key;
	END IF;
	RETURN ref;
END $$;

-- No effect at all, for the loops that measure the ledger alone.
CREATE FUNCTION bench.no_effect(arguments jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
	RETURN NULL;
END $$;
