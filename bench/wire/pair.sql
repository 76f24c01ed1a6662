\set i random(1000000, 800000000000000000)
BEGIN;
INSERT INTO bench.pair (key, tenant, state, claimed_at)
	VALUES (bench.uuid_of(idem_digest(bench.arguments(:i))), 'acme', 'o', clock_timestamp())
	ON CONFLICT DO NOTHING RETURNING key \gset
INSERT INTO bench.refund VALUES ('ch_' || :i, 129.99);
UPDATE bench.pair SET state = 'c', completed_at = clock_timestamp(), effect_ref = 'rf_00001'
	WHERE key = :key;
COMMIT;
