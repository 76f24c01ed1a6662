-- One procedure a contender: a transaction for each key, the same loop around all of them.
--
--   CALL bench.NAME(low, high)  records the intents low to high, answers microseconds and WAL bytes
--
-- The time is the backend's on a processor, so that what else the machine does is not in it.
-- Wherever a function can be called by assignment, it is: that is the cheap form on both sides.

CREATE PROCEDURE bench.contender(name text, body text) LANGUAGE plpgsql AS $contender$
BEGIN
	EXECUTE format($format$
CREATE PROCEDURE bench.%I(low integer, high integer, INOUT micros numeric DEFAULT NULL,
                          INOUT wal numeric DEFAULT NULL) LANGUAGE plpgsql AS $body$
DECLARE
	begin_at  numeric := bench.processor_micros();
	begin_lsn pg_lsn := pg_current_wal_insert_lsn();
	intent    record;
	digest    bytea;
	claim     idem.claim;
	plain     bench.plain;
	word      text;
	found_it  boolean;
BEGIN
	FOR intent IN SELECT * FROM bench.input i WHERE i.n BETWEEN low AND high ORDER BY i.n LOOP
		%s
		COMMIT;
	END LOOP;
	micros := bench.processor_micros() - begin_at;
	wal := pg_current_wal_insert_lsn() - begin_lsn;
END $body$
$format$, name, body);
END $contender$;

CALL bench.contender('empty', '');

-- Key derivation apart.
CALL bench.contender('digest', $$
		digest := idem_digest(intent.arguments); $$);
CALL bench.contender('key_arguments', $$
		word := idem_key('acme', 'payment', intent.arguments); $$);
CALL bench.contender('key_fields', $$
		word := idem_key('acme', 'refund', intent.arguments); $$);

-- The floor. It hashes the arguments too, but gets a ready-made key: what it would cost to make a
-- uuid of the digest in SQL is left out, in its favour.
CALL bench.contender('insert', $$
		digest := idem_digest(intent.arguments);
		INSERT INTO bench.plain (key, completed_at, elapsed, policy, state, tenant, effect_ref)
			VALUES (intent.fresh, clock_timestamp(), 0, 1, 'c', 'acme', 'rf_00001'); $$);
-- A key of some fields and a fingerprint of the rest are two digests.
CALL bench.contender('insert_bound', $$
		digest := idem_digest(intent.arguments);
		digest := idem_digest(intent.arguments -> 'reason');
		INSERT INTO bench.plain
			(key, completed_at, elapsed, policy, state, tenant, effect_ref, fingerprint)
			VALUES (intent.fresh, clock_timestamp(), 0, 1, 'c', 'acme', 'rf_00001',
				intent.stored); $$);

-- pg_idem.
CALL bench.contender('claim', $$
		claim := idem_claim('acme', 'payment', intent.arguments);
		word := idem_complete('acme', claim.key, 'rf_00001'); $$);
CALL bench.contender('record', $$
		claim := idem_record('acme', 'payment', intent.arguments, 'rf_00001'); $$);
CALL bench.contender('once', $$
		claim := idem_once('acme', 'payment', intent.arguments, 'bench.no_effect(jsonb)'); $$);
CALL bench.contender('claim_bound', $$
		claim := idem_claim('acme', 'refund', intent.arguments);
		word := idem_complete('acme', claim.key, 'rf_00001'); $$);
CALL bench.contender('record_bound', $$
		claim := idem_record('acme', 'refund', intent.arguments, 'rf_00001'); $$);
-- The dear form of the same call, for the documentation.
CALL bench.contender('claim_select', $$
		SELECT * INTO claim FROM idem_claim('acme', 'payment', intent.arguments);
		SELECT * INTO word FROM idem_complete('acme', claim.key, 'rf_00001'); $$);

-- By hand.
CALL bench.contender('pair', $$
		digest := idem_digest(intent.arguments);
		INSERT INTO bench.pair (key, tenant, state, claimed_at)
			VALUES (intent.fresh, 'acme', 'o', clock_timestamp()) ON CONFLICT DO NOTHING;
		UPDATE bench.pair SET state = 'c', completed_at = clock_timestamp(), effect_ref = 'rf_00001'
			WHERE key = intent.fresh; $$);
CALL bench.contender('pair_functions', $$
		digest := idem_digest(intent.arguments);
		found_it := bench.claim_by_hand('acme', intent.fresh);
		found_it := bench.complete_by_hand(intent.fresh, 'rf_00001'); $$);

-- Repeats.
CALL bench.contender('replay', $$
		claim := idem_claim('acme', 'stored', intent.arguments); $$);
CALL bench.contender('select', $$
		SELECT * INTO plain FROM bench.plain WHERE key = intent.stored; $$);
CALL bench.contender('select_digest', $$
		digest := idem_digest(intent.arguments);
		SELECT * INTO plain FROM bench.plain WHERE key = intent.stored; $$);
