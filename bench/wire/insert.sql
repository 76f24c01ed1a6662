\set i random(1000000, 800000000000000000)
BEGIN;
INSERT INTO bench.plain (key, completed_at, elapsed, policy, state, tenant, effect_ref)
	VALUES (bench.uuid_of(idem_digest(bench.arguments(:i))),
		clock_timestamp(), 0, 1, 'c', 'acme', 'rf_00001');
INSERT INTO bench.refund VALUES ('ch_' || :i, 129.99);
COMMIT;
