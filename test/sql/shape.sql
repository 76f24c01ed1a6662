\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- The ledger is written directly, so what would be bypassed is refused: nothing is claimed on a table
-- that has been changed. Indexes are not bypassed: all of them are kept.

SELECT FROM idem_define('shape.args', identity => 'arguments');
SELECT FROM idem_define('shape.call', identity => 'arguments', effect => 'external');
CREATE FUNCTION shape_trigger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;

-- What a claim says on a changed ledger, and what the rest of the functions say.
CREATE FUNCTION pg_temp.states() RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(DISTINCT pg_temp.sqlstate_of(statement), ' ') FROM unnest(ARRAY[
		$c$SELECT idem_claim('t', 'shape.args', '{"n":1}')$c$,
		$c$SELECT idem_claim('t', 'shape.call', '{"n":1}')$c$,
		$c$SELECT idem_record('t', 'shape.args', '{"n":1}')$c$,
		$c$SELECT idem_claim('t', 'shape.args', '{"n":0}')$c$,
		$c$SELECT idem_lookup('t', 'shape.args', '{"n":0}')$c$,
		$c$SELECT idem_complete('t', idem_key('t', 'shape.args', '{"n":0}'))$c$,
		$c$SELECT idem_resolve('t', idem_key('t', 'shape.args', '{"n":0}'), 'retry')$c$,
		$c$SELECT idem_expire()$c$]) statement
$$;
SELECT FROM idem_record('t', 'shape.args', '{"n":0}', 'e0');
CREATE TEMP TABLE change (n serial, name text, statement text);
INSERT INTO change (name, statement) VALUES
	('a further column', 'ALTER TABLE idem.key ADD COLUMN mine int'),
	('a column dropped', 'ALTER TABLE idem.key DROP COLUMN fingerprint'),
	('a column renamed', 'ALTER TABLE idem.key RENAME fence TO secret'),
	('a column of another type', 'ALTER TABLE idem.key ALTER fence TYPE numeric'),
	('a column NOT NULL', 'UPDATE idem.key SET note = ''''; ALTER TABLE idem.key ALTER note SET NOT NULL'),
	('a default', 'ALTER TABLE idem.key ALTER note SET DEFAULT ''x'''),
	('a generated column', 'ALTER TABLE idem.key ADD COLUMN mine text GENERATED ALWAYS AS (tenant) STORED'),
	('a check', 'ALTER TABLE idem.key ADD CHECK (tenant <> '''')'),
	('a check that is not valid yet', 'ALTER TABLE idem.key ADD CHECK (tenant = '''') NOT VALID'),
	('a trigger before rows', 'CREATE TRIGGER mine BEFORE INSERT ON idem.key FOR EACH ROW EXECUTE FUNCTION shape_trigger()'),
	('a trigger after statements',
		'CREATE TRIGGER mine AFTER DELETE ON idem.key FOR EACH STATEMENT EXECUTE FUNCTION shape_trigger()'),
	('a deferred constraint trigger',
		'CREATE CONSTRAINT TRIGGER mine AFTER INSERT ON idem.key DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION shape_trigger()'),
	('a foreign key of its own',
		'ALTER TABLE idem.key ADD FOREIGN KEY (policy) REFERENCES idem.operation (id)'),
	('a rule', 'CREATE RULE mine AS ON INSERT TO idem.key DO NOTHING'),
	('row security', 'ALTER TABLE idem.key ENABLE ROW LEVEL SECURITY'),
	('no persistence', 'ALTER TABLE idem.key SET UNLOGGED'),
	('a child', 'CREATE TABLE shape_child () INHERITS (idem.key)'),
	('no primary key', 'ALTER TABLE idem.key DROP CONSTRAINT key_pkey'),
	('a deferrable primary key',
		'ALTER TABLE idem.key DROP CONSTRAINT key_pkey, ADD PRIMARY KEY (key) DEFERRABLE'),
	('another primary key', 'ALTER TABLE idem.key DROP CONSTRAINT key_pkey, ADD PRIMARY KEY (tenant)'),
	('a wider primary key', 'ALTER TABLE idem.key DROP CONSTRAINT key_pkey, ADD PRIMARY KEY (key, tenant)'),
	('a view in its place', 'ALTER TABLE idem.key RENAME TO former; CREATE VIEW idem.key AS SELECT * FROM idem.former'),
	('a partitioned table in its place',
		'ALTER TABLE idem.key RENAME TO former; CREATE TABLE idem.key (LIKE idem.former, PRIMARY KEY (key)) PARTITION BY HASH (key);
		CREATE TABLE idem.key0 PARTITION OF idem.key FOR VALUES WITH (MODULUS 1, REMAINDER 0)'),
	('a partition in its place',
		'ALTER TABLE idem.key RENAME TO former; CREATE TABLE idem.whole (LIKE idem.former, PRIMARY KEY (key)) PARTITION BY HASH (key);
		CREATE TABLE idem.key PARTITION OF idem.whole FOR VALUES WITH (MODULUS 1, REMAINDER 0)');

-- Each change is tried in a transaction of its own, in a loop that rolls it back.
CREATE FUNCTION pg_temp.states_after(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	BEGIN
		EXECUTE statement;
		result := pg_temp.states();
		RAISE EXCEPTION 'undo' USING ERRCODE = 'UNDO0';
	EXCEPTION WHEN SQLSTATE 'UNDO0' THEN
		RETURN result;
	END;
END $$;
SELECT is(pg_temp.states_after(statement), 'ID031', 'refused by all functions: ' || name)
	FROM change ORDER BY n;
SELECT is((pg_temp.keys('shape.args'), pg_temp.keys('shape.call'))::text, '(1,0)',
	'and nothing was written');
SELECT is((idem_claim('t', 'shape.args', '{"n":0}')).outcome, 'replayed',
	'the ledger is as it was');
DO $$
BEGIN
	ALTER TABLE idem.key ADD CHECK (tenant <> '');
	PERFORM idem_claim('t', 'shape.args', '{}');
EXCEPTION WHEN SQLSTATE 'ID031' THEN
	PERFORM set_config('shape.message', SQLERRM, false);
END $$;
SELECT is(current_setting('shape.message'), 'table "idem.key" cannot be used',
	'the message names the table');

-- A change that comes after the claim of its own transaction
BEGIN;
SELECT key AS key FROM idem_claim('t', 'shape.args', '{"n":2}') \gset
SELECT FROM idem_complete('t', :'key');
ALTER TABLE idem.key ADD CHECK (tenant <> 'x');
COMMIT;
SELECT is(:'SQLSTATE'::text, 'ID031', 'a change after the claim: the commit fails');
BEGIN;
SELECT key AS key FROM idem_claim('t', 'shape.args', '{"n":2}') \gset
SELECT FROM idem_complete('t', :'key');
ALTER TABLE idem.key RENAME TO former;
COMMIT;
SELECT is(:'SQLSTATE'::text, '42704', 'no table after the claim: the commit fails');
SELECT is((pg_temp.keys('shape.args'), count(*))::text, '(1,1)',
	'nothing was written, and all is as it was')
	FROM pg_class WHERE oid = 'idem_keys'::regclass;
BEGIN;
SELECT key AS key FROM idem_claim('t', 'shape.args', '{"n":3}') \gset
SELECT FROM idem_complete('t', :'key');
TRUNCATE idem.key;
COMMIT;
SELECT is((idem_claim('t', 'shape.args', '{"n":3}')).outcome, 'replayed',
	'own TRUNCATE after the claim: the row is in the new file');
SELECT is(pg_temp.keys('shape.args'), 1::bigint, 'and it alone');

-- What has been undone is no hindrance.
CREATE TABLE shape_child () INHERITS (idem.key);
DROP TABLE shape_child;
SELECT is(pg_temp.sqlstate_of($$SELECT idem_claim('t', 'shape.args', '{"n":3}')$$), '00000',
	'a child that was dropped');
ANALYZE idem.key;
ALTER TABLE idem.key ALTER note SET DEFAULT 'x';
ALTER TABLE idem.key ALTER note DROP DEFAULT;
SELECT is((idem_claim('t', 'shape.args', '{"n":3}')).outcome, 'replayed',
	'a default that was dropped');
BEGIN;
ALTER TABLE idem.key ADD COLUMN mine int;
ALTER TABLE idem.key DROP COLUMN mine;
SELECT is(count(*) FILTER (WHERE (c).outcome = 'claimed'), 100::bigint,
	'a column that was dropped: keys are written')
	FROM (SELECT idem_record('t', 'shape.args', jsonb_build_object('n', i), 'e' || i, to_jsonb(i)) AS c
	      FROM generate_series(101, 200) i OFFSET 0) s;
SELECT is((effect_ref, response)::text, '(e101,101)', 'and read')
	FROM idem_claim('t', 'shape.args', '{"n":101}');
SELECT is((idem_claim('t', 'shape.args', '{"n":3}')).outcome, 'replayed', 'and so are those before');
ROLLBACK;
CREATE TRIGGER mine BEFORE INSERT ON idem.key FOR EACH ROW EXECUTE FUNCTION shape_trigger();
DROP TRIGGER mine ON idem.key;
SELECT is((idem_claim('t', 'shape.args', '{"n":3}')).outcome, 'replayed',
	'a trigger that was dropped');
CREATE RULE mine AS ON INSERT TO idem.key DO NOTHING;
DROP RULE mine ON idem.key;
SELECT is(pg_temp.sqlstate_of($$SELECT idem_claim('t', 'shape.args', '{"n":3}')$$), '00000',
	'a rule that was dropped');
VACUUM idem.key;
ALTER TABLE idem.key REPLICA IDENTITY FULL;
SELECT is((idem_claim('t', 'shape.args', '{"n":3}')).outcome, 'replayed',
	'another replica identity is allowed');
ALTER TABLE idem.key REPLICA IDENTITY DEFAULT;
REINDEX TABLE CONCURRENTLY idem.key;
SELECT is((idem_claim('t', 'shape.args', '{"n":3}')).outcome, 'replayed',
	'another primary index is found');
VACUUM FULL idem.key;
SELECT is((idem_claim('t', 'shape.args', '{"n":3}')).outcome, 'replayed', 'and another file');

DROP FUNCTION shape_trigger();
SELECT FROM pg_temp.remove('shape.args', 'shape.call');
SELECT * FROM finish();
