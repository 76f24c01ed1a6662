\set i random(1000000, 800000000000000000)
BEGIN;
INSERT INTO bench.refund VALUES ('ch_' || :i, 129.99);
SELECT outcome, action, key FROM idem_record('acme', 'payment', bench.arguments(:i), 'rf_00001');
COMMIT;
