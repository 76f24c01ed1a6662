-- The starting data, the same for every contender: as many keys in each table, all settled.
-- Variable: intents, how many.
INSERT INTO bench.input
	SELECT n, bench.arguments(n), md5('fresh ' || n)::uuid,
		bench.uuid_of(idem_digest(bench.arguments(n)))
	FROM generate_series(1, :intents) n;
SELECT count(idem_record('acme', 'stored', arguments, 'rf_00001')) FROM bench.input;
INSERT INTO bench.plain SELECT stored, now(), 0, 1, 'c', 'acme', 'rf_00001' FROM bench.input;
INSERT INTO bench.pair SELECT stored, 'acme', 'c', now(), now(), NULL, 'rf_00001' FROM bench.input;

-- Half-empty leaves, since a page split costs as much as several keys, and which contender meets one
-- is chance.
ALTER INDEX idem.key_pkey SET (fillfactor = 50);
ALTER INDEX bench.plain_pkey SET (fillfactor = 50);
ALTER INDEX bench.pair_pkey SET (fillfactor = 50);
REINDEX TABLE idem.key;
REINDEX TABLE bench.plain;
REINDEX TABLE bench.pair;

VACUUM FREEZE ANALYZE;
CHECKPOINT;
