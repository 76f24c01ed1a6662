\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- Indexes that an operator adds to the ledger are kept, whatever is written to it; and what a foreign
-- key on the ledger means.

CREATE EXTENSION amcheck;
SELECT FROM idem_define('index.args', identity => 'arguments');
SELECT FROM idem_define('index.call', identity => 'arguments', effect => 'external');
SELECT FROM (SELECT idem_record('t' || i % 3, 'index.args', jsonb_build_object('n', -i),
	'before' || i) FROM generate_series(1, 50) i OFFSET 0) s;

CREATE INDEX index_ref ON idem.key (effect_ref);
CREATE INDEX index_many ON idem.key (tenant, completed_at DESC) INCLUDE (state);
CREATE INDEX index_expression ON idem.key ((upper(tenant) || coalesce(effect_ref, '-')));
CREATE INDEX index_partial ON idem.key (claimed_at) WHERE state = 'o';
CREATE INDEX index_partial_expression ON idem.key ((response->>'n')) WHERE response IS NOT NULL;
CREATE INDEX index_hash ON idem.key USING hash (tenant);
CREATE INDEX index_gin ON idem.key USING gin (response);
CREATE INDEX index_brin ON idem.key USING brin (completed_at) WITH (pages_per_range = 1);

-- Everything that writes: at the commit, early, in savepoints; open, finished and decided; expired.
SELECT FROM (SELECT idem_record('t' || i % 3, 'index.args', jsonb_build_object('n', i), 'r' || i,
	jsonb_build_object('n', i)) FROM generate_series(1, 20) i OFFSET 0) s;
BEGIN;
SELECT FROM (SELECT idem_record('t', 'index.args', jsonb_build_object('n', i), 'r' || i,
	jsonb_build_object('n', i)) FROM generate_series(101, 300) i OFFSET 0) s;
SAVEPOINT s;
SELECT FROM (SELECT idem_record('t', 'index.args', jsonb_build_object('n', i), 'r' || i,
	jsonb_build_object('n', i)) FROM generate_series(301, 450) i OFFSET 0) s;
ROLLBACK TO s;
SELECT FROM (SELECT idem_record('t', 'index.args', jsonb_build_object('n', i), 'again' || i)
	FROM generate_series(401, 450) i OFFSET 0) s;
COMMIT;
CREATE TEMP TABLE held AS
	SELECT i, c.key, c.fence FROM generate_series(1, 80) i,
		LATERAL idem_claim('t', 'index.call', jsonb_build_object('n', i)) c;
SELECT FROM (SELECT CASE i % 5
		WHEN 0 THEN idem_complete('t', key, 'x' || i, jsonb_build_object('n', 1000 + i), fence)
		WHEN 1 THEN idem_fail('t', key, jsonb_build_object('n', 1000 + i), fence)
		WHEN 2 THEN idem_release('t', key, fence)
		WHEN 3 THEN idem_unknown('t', key, fence) END
	FROM held OFFSET 0) s;
SELECT FROM (SELECT idem_resolve('t', key, 'completed', 'y' || i, jsonb_build_object('n', 2000 + i))
	FROM held WHERE i % 10 = 3 OFFSET 0) s;
SELECT FROM (SELECT idem_claim('t', 'index.call', jsonb_build_object('n', i))
	FROM generate_series(1, 80) i OFFSET 0) s;
SELECT is((SELECT count(*) FROM idem.key), 50::bigint + 20 + 200 + 50 + 80, 'all rows are there');

-- The b-trees have an entry for each row that they should have, and no other.
CREATE FUNCTION pg_temp.check_indexes(what text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	index regclass;
BEGIN
	FOR index IN SELECT i.indexrelid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
			WHERE i.indrelid = 'idem.key'::regclass
				AND c.relam = (SELECT oid FROM pg_am WHERE amname = 'btree') ORDER BY c.relname LOOP
		RETURN NEXT lives_ok(format('SELECT bt_index_parent_check(%L, true, true)', index),
			what || ': ' || index);
	END LOOP;
END $$;
SELECT pg_temp.check_indexes('entries are complete');
SELECT is_empty($$SELECT * FROM verify_heapam('idem.key')$$, 'and the table is sound');

-- The same rows with each index as without any
CREATE TEMP TABLE question (n serial, index text, condition text);
INSERT INTO question (index, condition) VALUES
	('index_ref', 'effect_ref LIKE ''r1%'' AND effect_ref >= ''r1'' AND effect_ref < ''r2'''),
	('index_ref', 'effect_ref = ''again444'''), ('index_ref', 'effect_ref >= ''x'''),
		('index_ref', 'effect_ref IS NULL'),
	('index_many', 'tenant = ''t1'' AND completed_at > ''-infinity'''),
	('index_expression', '(upper(tenant) || coalesce(effect_ref, ''-'')) = ''T-'''),
	('index_partial', 'state = ''o'' AND claimed_at > ''-infinity'''),
	('index_partial_expression', 'response IS NOT NULL AND (response->>''n'') >= ''2'''),
	('index_hash', 'tenant = ''t'''),
	('index_gin', 'response @> ''{"n": 1075}'''), ('index_gin', 'response @> ''{"n": 2013}'''),
	('index_brin', 'completed_at > ''2020-01-01''');
CREATE FUNCTION pg_temp.found(condition text, index text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan text := '';
	line text;
	keys text;
BEGIN
	PERFORM set_config('enable_seqscan', (index IS NULL)::text, true),
		set_config('enable_indexscan', (index IS NOT NULL)::text, true),
	        set_config('enable_bitmapscan', (index IS NOT NULL)::text, true),
		set_config('enable_indexonlyscan', 'off', true);
	FOR line IN EXECUTE 'EXPLAIN (COSTS off) SELECT key FROM idem.key WHERE ' || condition LOOP
		plan := plan || line;
	END LOOP;
	IF index IS NULL AND plan !~ 'Seq Scan' OR index IS NOT NULL
		AND position(index IN plan) = 0 THEN
		RETURN 'another plan: ' || plan;
	END IF;
	EXECUTE 'SELECT count(*) || '' '' || md5(string_agg(key::text, '' '' ORDER BY key)) FROM idem.key WHERE '
		|| condition INTO keys;
	RETURN coalesce(keys, 'none');
END $$;
-- Only the index that is asked for is there to be used, since which one the planner likes best is not the point.
CREATE FUNCTION pg_temp.found_by_index(condition text, index text) RETURNS text LANGUAGE plpgsql
	AS $$
DECLARE
	other regclass;
	result text;
BEGIN
	BEGIN
		FOR other IN SELECT indexrelid FROM pg_index
			WHERE indrelid = 'idem.key'::regclass AND indexrelid <> index::regclass
			AND NOT indisprimary LOOP
			EXECUTE format('DROP INDEX %s', other);
		END LOOP;
		result := pg_temp.found(condition, index);
		RAISE EXCEPTION 'undo' USING ERRCODE = 'UNDO0';
	EXCEPTION WHEN SQLSTATE 'UNDO0' THEN
		RETURN result;
	END;
END $$;
SET search_path = idem, public;
SELECT is(pg_temp.found_by_index(condition, index), pg_temp.found(condition, NULL),
	'point 17: ' || index || ' finds what the table has: ' || condition)
	FROM question ORDER BY n;
RESET search_path;
SELECT FROM brin_summarize_new_values('idem.index_brin');

-- Expiry and replacing take rows away; indexes follow with the next vacuum, and are complete meanwhile.
SELECT FROM pg_temp.age('index.args', '31 days');
SELECT is(idem_expire(100), 100, 'expiry deletes rows');
SELECT is((idem_record('t', 'index.args', jsonb_build_object('n', i), 'third' || i)).outcome,
	'claimed', 'an expired row is replaced: ' || i) FROM generate_series(440, 445) i;
SELECT pg_temp.check_indexes('entries are complete after expiry');
VACUUM idem.key;
SELECT pg_temp.check_indexes('entries are complete after a vacuum');

-- An index that is made while a claim is pending, and one that is gone
BEGIN;
SELECT FROM idem_record('t', 'index.args', '{"pending":1}', 'pending');
CREATE INDEX index_late ON idem.key (tenant, effect_ref);
COMMIT;
SELECT lives_ok($$SELECT bt_index_parent_check('idem.index_late', true, true)$$,
	'an index that was made before the commit has the row');
BEGIN;
SELECT FROM idem_record('t', 'index.args', '{"pending":2}', 'pending');
DROP INDEX idem.index_ref, idem.index_many, idem.index_expression, idem.index_partial,
	idem.index_partial_expression, idem.index_hash, idem.index_gin,
	idem.index_brin, idem.index_late;
COMMIT;
SELECT is((idem_claim('t', 'index.args', '{"pending":2}')).outcome, 'replayed',
	'a claim that was pending when all were dropped is recorded');
SELECT pg_temp.check_indexes('the primary key is complete');

-- An index that can refuse a row would make COMMIT fail again and again: the claim refuses it first.
CREATE UNIQUE INDEX index_unique ON idem.key (effect_ref) WHERE effect_ref LIKE 'unique%';
SELECT throws_ok($$SELECT idem_record('t', 'index.args', '{"unique":1}', 'unique 1')$$, 'ID031',
	'table "idem.key" cannot be used', 'a second unique index is refused');
DROP INDEX idem.index_unique;
ALTER TABLE idem.key ADD CONSTRAINT index_exclusion EXCLUDE USING btree (effect_ref WITH =) WHERE (effect_ref LIKE 'unique%');
SELECT throws_ok($$SELECT idem_record('t', 'index.args', '{"unique":1}', 'unique 1')$$, 'ID031',
	'table "idem.key" cannot be used', 'an exclusion constraint is refused');
ALTER TABLE idem.key DROP CONSTRAINT index_exclusion;
CREATE UNIQUE INDEX index_unique ON idem.key (key);
SELECT is((idem_record('t', 'index.args', '{"unique":1}', 'unique 1')).outcome, 'claimed',
	'one on the key, as REINDEX CONCURRENTLY has for a while, is not');
SELECT pg_temp.check_indexes('both indexes of the key are complete');
DROP INDEX idem.index_unique;
SELECT is((idem_record('t', 'index.args', '{"unique":2}', 'unique 1')).outcome, 'claimed',
	'without them, all is as before');
SELECT pg_temp.check_indexes('the primary key is complete');

-- A foreign key on the ledger: claims go on, and nothing that deletes keys does.
CREATE TABLE index_effect (key uuid CONSTRAINT index_effect_fkey REFERENCES idem.key ON DELETE CASCADE);
INSERT INTO index_effect SELECT key FROM idem.key WHERE effect_ref = 'pending';
SELECT is((idem_record('t', 'index.args', '{"referenced":1}', 'e')).outcome, 'claimed',
	'with a foreign key on the ledger, claims work');
SELECT is((idem_claim('t', 'index.args', '{"referenced":1}')).outcome, 'replayed', 'and replays');
SELECT FROM pg_temp.age('index.args', '31 days');
SELECT throws_ok('SELECT idem_expire()', 'ID032',
	'cannot delete keys while foreign key "index_effect_fkey" references the ledger',
	'expiry refuses, and names the constraint');
SELECT is((SELECT count(*) FROM index_effect), 2::bigint, 'the effect rows are there');
SELECT throws_ok($$SELECT idem_claim('t', 'index.args', '{"pending":2}')$$, 'ID032', NULL,
	'so does a claim that would replace a key past its life');
SELECT is((idem_record('t', 'index.args', '{"referenced":2}')).outcome, 'claimed',
	'and one that replaces none does not');
SELECT is((SELECT count(*) FROM index_effect WHERE key NOT IN (SELECT key FROM idem.key)),
	0::bigint, 'no effect row refers to a key that is gone');
DROP TABLE index_effect;
SELECT cmp_ok(idem_expire(), '>', 0, 'without the constraint, expiry works');

DROP EXTENSION amcheck;
SELECT FROM pg_temp.remove('index.args', 'index.call');
SELECT * FROM finish();
