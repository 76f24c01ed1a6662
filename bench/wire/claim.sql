\set i random(1000000, 800000000000000000)
BEGIN;
SELECT outcome, action, key FROM idem_claim('acme', 'payment', bench.arguments(:i)) \gset
INSERT INTO bench.refund VALUES ('ch_' || :i, 129.99);
SELECT idem_complete('acme', :key, 'rf_00001');
COMMIT;
