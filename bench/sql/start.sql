-- The starting data, the same for every contender: as many keys in each table, all settled.
-- Variable: intents, how many.
INSERT INTO bench.input
	SELECT n, bench.arguments(n), md5('fresh ' || n)::uuid,
		bench.uuid_of(idem_digest(bench.arguments(n)))
	FROM generate_series(1, :intents) n;
SELECT count(idem_record('acme', 'stored', arguments, 'rf_00001')) FROM bench.input;
INSERT INTO bench.plain SELECT stored, now(), 0, 1, 'c', 'acme', 'rf_00001' FROM bench.input;
INSERT INTO bench.pair SELECT stored, 'acme', 'c', now(), now(), NULL, 'rf_00001' FROM bench.input;
VACUUM FREEZE ANALYZE;
CHECKPOINT;
