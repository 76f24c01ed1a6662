\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- Which versions of an operation share intents: linked ones, unlinked ones, retired ones.

CREATE FUNCTION pg_temp.act_as(version int, arguments jsonb) RETURNS text LANGUAGE sql AS $$
	SELECT outcome FROM idem_record('t', 'link.a', $2, version => $1)
$$;

-- What a new version may leave out
CREATE TEMP TABLE pair (n serial, name text, lower text, higher text, linked boolean);
INSERT INTO pair (name, lower, higher, linked) VALUES
	('a field more', 'key_fields => ''{"a":"exact"}''', 'key_fields => ''{"a":"exact","b":"exact"}''', true),
	('another normaliser', 'key_fields => ''{"a":"exact"}''', 'key_fields => ''{"a":"upper"}''', true),
	('a field less', 'key_fields => ''{"a":"exact","b":"exact"}''', 'key_fields => ''{"a":"exact"}''', false),
	('another field', 'key_fields => ''{"a":"exact"}''', 'key_fields => ''{"b":"exact"}''', false),
	('all arguments', 'key_fields => ''{"a":"exact"}''', 'identity => ''arguments''', true),
	('all arguments but a key field', 'key_fields => ''{"a":"exact"}''',
		'identity => ''arguments'', unchecked_fields => ''{a}''', false),
	('all arguments but what is above a key field', 'key_fields => ''{"a.b":"exact"}''',
		'identity => ''arguments'', unchecked_fields => ''{a}''', false),
	('all arguments but what is below a key field', 'key_fields => ''{"a":"exact"}''',
		'identity => ''arguments'', unchecked_fields => ''{a.b}''', false),
	('all arguments but another one', 'key_fields => ''{"a":"exact"}''',
		'identity => ''arguments'', unchecked_fields => ''{ab}''', true),
	('fields of all arguments', 'identity => ''arguments''', 'key_fields => ''{"a":"exact"}''', false),
	('one argument less', 'identity => ''arguments''', 'identity => ''arguments'', unchecked_fields => ''{a}''', false),
	('one argument more', 'identity => ''arguments'', unchecked_fields => ''{a}''', 'identity => ''arguments''', true),
	('part of an argument more', 'identity => ''arguments'', unchecked_fields => ''{a}''',
		'identity => ''arguments'', unchecked_fields => ''{a.b}''', true),
	('an occurrence in place of fields', 'key_fields => ''{"a":"exact"}''', 'identity => ''occurrence''', false),
	('fields in place of an occurrence', 'identity => ''occurrence''', 'key_fields => ''{"a":"exact"}''', false),
	('an occurrence again', 'identity => ''occurrence''', 'identity => ''occurrence'', unchecked_fields => ''{a}''', true);
CREATE FUNCTION pg_temp.try_pair(lower text, higher text, unlinked text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	state text;
BEGIN
	EXECUTE format('SELECT idem_define(''link.p'', %s)', lower);
	state := pg_temp.sqlstate_of(format('SELECT idem_define(''link.p'', version => 2, %s%s)', higher, unlinked));
	PERFORM idem_drop_operation('link.p');
	RETURN state;
END $$;
SELECT is(pg_temp.try_pair(lower, higher, ''), CASE WHEN linked THEN '00000' ELSE 'ID002' END, 'a new version with ' || name)
	FROM pair ORDER BY n;
SELECT is(pg_temp.try_pair(lower, higher, ', unlinked => true'), '00000', 'unlinked: ' || name) FROM pair ORDER BY n;

-- An unlinked version begins anew, and later ones are linked to it.
SELECT FROM idem_define('link.a', key_fields => '{"a":"exact","b":"exact"}');
SELECT is(pg_temp.act_as(1, '{"a":1,"b":1}'), 'claimed', 'version 1');
SELECT is(idem_define('link.a', version => 2, key_fields => '{"a":"exact"}', unlinked => true), 'created',
	'version 2 drops a field');
SELECT is(idem_define('link.a', key_fields => '{"a":"exact"}', unlinked => true), 'unchanged',
	'unlinked is part of the recipe');
SELECT is((SELECT array_agg(unlinked ORDER BY version) FROM idem_operations WHERE operation = 'link.a'),
	'{f,t}', 'and shown');
SELECT is(pg_temp.act_as(2, '{"a":1,"b":1}'), 'claimed', 'an intent of version 1 is another one of version 2');
SELECT is(pg_temp.act_as(2, '{"a":2,"b":1}'), 'claimed', 'a new one of version 2');
SELECT is(pg_temp.act_as(1, '{"a":2,"b":1}'), 'claimed', 'is another one of version 1');
SELECT is((SELECT count(*) FROM idem.alias), 0::bigint, 'there is no alias');
SELECT throws_ok($$SELECT idem_define('link.a', key_fields => '{"a":"exact"}')$$, 'ID003', NULL,
	'a version with keys is not linked later');
SELECT is(idem_define('link.a', version => 3, key_fields => '{"a":"exact","c":"optional"}'), 'created',
	'version 3 is linked to version 2, and need not have the fields of version 1');
SELECT is(pg_temp.act_as(3, '{"a":2,"b":1}'), 'replayed', 'C137: an intent of version 2');
SELECT is(pg_temp.act_as(3, '{"a":3,"b":1}'), 'claimed', 'a new one of version 3');
SELECT is(pg_temp.act_as(2, '{"a":3,"b":1}'), 'replayed', 'C137: which version 2 finds');
SELECT is(pg_temp.act_as(1, '{"a":3,"b":1}'), 'claimed', 'and version 1 does not');
SELECT is((SELECT count(*) FROM idem.alias), 1::bigint, 'one alias');
SELECT throws_ok($$SELECT idem_drop_operation('link.a', 2)$$, 'ID002', NULL,
	'what keeps version 3 apart from version 1 is not dropped before version 1');

-- Definitions that would let keys be missed
-- A claim of this transaction that shares the lower key says nothing of the row of another request.
SELECT FROM idem_define('linked.beside', key_fields => '{"k":"exact"}');
SELECT FROM idem_define('linked.beside', version => 2, key_fields => '{"k":"exact","b":"exact optional"}');
SELECT is((idem_record('acme', 'linked.beside', '{"k":1,"b":2}', 'paid-2')).outcome, 'claimed', 'a row of version 2');
BEGIN;
SELECT is((idem_claim('acme', 'linked.beside', '{"k":1,"b":1}')).outcome, 'claimed', 'a claim beside it');
SELECT is((idem_claim('acme', 'linked.beside', '{"k":1,"b":2}', version => 1)).effect_ref, 'paid-2', 'is not in the way of its old client');
ROLLBACK;
SELECT FROM pg_temp.remove('linked.beside');

SELECT FROM pg_temp.remove('link.a');
SELECT FROM idem_define('link.a', key_fields => '{"a":"exact"}');
SELECT FROM idem_define('link.a', version => 3, key_fields => '{"a":"exact","b":"optional"}');
SELECT throws_ok($$SELECT idem_define('link.a', version => 2, key_fields => '{"a":"exact"}')$$, 'ID002', NULL,
	'a version below the highest one is not added');
SELECT is(idem_define('link.a', version => 1, key_fields => '{"a":"trim"}'), 'changed',
	'a lower version is changed while no version has keys');
SELECT throws_ok($$SELECT idem_define('link.a', version => 1, key_fields => '{"a":"exact","c":"exact"}')$$, 'ID002', NULL,
	'but not to fields that the higher one lacks');
SELECT is(pg_temp.act_as(3, '{"a":"x"}'), 'claimed', 'a key of version 3');
SELECT throws_ok($$SELECT idem_define('link.a', version => 1, key_fields => '{"a":"upper"}')$$, 'ID003', NULL,
	'which relies on the recipe of version 1');

-- Retiring
SELECT is((SELECT array_agg(pg_temp.sqlstate_of(format('SELECT idem_retire_version(%s)', arguments)) ORDER BY n) FROM (VALUES
	(1, '''link.a'', 2'), (2, '''link.none'', 1'), (3, 'NULL, 1'), (4, '''link.a'', NULL'), (5, '''link.a'', 3')) v (n, arguments)),
	'{ID001,ID001,ID001,ID001,ID002}', 'not what is not there, nor the current version');
BEGIN;
SELECT is(pg_temp.act_as(1, '{"a":"y"}'), 'claimed', 'a claim in flight');
SELECT throws_ok($$SELECT idem_retire_version('link.a', 1)$$, 'ID004', NULL, 'keeps its version');
ROLLBACK;
SELECT lives_ok($$SELECT idem_retire_version('link.a', 1)$$, 'a version without keys is retired');
SELECT lives_ok($$SELECT idem_retire_version('link.a', 1)$$, 'and again');
SELECT is((SELECT array_agg((version, current, retired)::text ORDER BY version) FROM idem_operations WHERE operation = 'link.a'),
	'{"(1,f,t)","(3,t,f)"}', 'and shown');
SELECT throws_ok($$SELECT idem_claim('t', 'link.a', '{"a":"y"}', version => 1)$$, 'ID005', NULL,
	'nothing new is claimed under it');
SELECT is(pg_temp.act_as(1, '{"a":"x"}'), 'replayed', 'C137: keys that carry its alias go on answering');
SELECT is(pg_temp.act_as(3, '{"a":"y"}'), 'claimed', 'a new key of version 3');
SELECT is((SELECT count(*) FROM idem.alias), 1::bigint, 'has no alias under it any more');
BEGIN;
SELECT FROM idem_claim('t', 'link.a', '{"a":"z"}');
SELECT is(count(*), 1::bigint, 'and takes one lock') FROM pg_locks
	WHERE pid = pg_backend_pid() AND locktype = 'userlock';
ROLLBACK;
SELECT throws_ok($$UPDATE idem.operation SET retired = false WHERE operation = 'link.a'$$, 'ID003', NULL,
	'it cannot come back');
SELECT throws_ok($$UPDATE idem.operation SET retired = true WHERE operation = 'link.a' AND version = 3$$, 'ID004', NULL,
	'and raw SQL retires no version with keys');
SELECT is(idem_drop_operation('link.a', 1), 1, 'a retired version can be dropped');

-- An occurrence keeps its key, whatever is said of its versions.
SELECT FROM idem_define('link.o', identity => 'occurrence');
SELECT FROM idem_record('t', 'link.o', '{"a":1}', occurrence => 'o-1');
SELECT FROM idem_define('link.o', version => 2, identity => 'occurrence', unlinked => true);
SELECT is((SELECT outcome FROM idem_record('t', 'link.o', '{"a":1}', occurrence => 'o-1')), 'replayed', 'one occurrence is one effect');
SELECT is((SELECT outcome FROM idem_record('t', 'link.o', '{"a":2}', occurrence => 'o-1')), 'conflict', 'C136: also under version 2');

-- The table of aliases is written directly, so it has to be what it was.
CREATE FUNCTION pg_temp.with_change(VARIADIC changes text[]) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	change text;
BEGIN
	FOREACH change IN ARRAY changes LOOP
		EXECUTE change;
	END LOOP;
	RETURN pg_temp.sqlstate_of($c$SELECT idem_record('t', 'link.s', '{"a":"s"}')$c$);
END $$;
SELECT FROM idem_define('link.s', key_fields => '{"a":"exact"}');
SELECT FROM idem_define('link.s', version => 2, key_fields => '{"a":"trim"}');
CREATE TEMP TABLE shape (n serial, state text, changes text[]);
INSERT INTO shape (state, changes) VALUES
	('ID031', '{ALTER TABLE idem.alias ADD extra int}'),
	('00000', '{ALTER TABLE idem.alias ADD extra int,ALTER TABLE idem.alias DROP extra}'),
	('ID031', '{ALTER TABLE idem.alias ENABLE ROW LEVEL SECURITY}'),
	('ID031', '{ALTER TABLE idem.alias SET UNLOGGED}'),
	('ID031', '{ALTER TABLE idem.alias ADD CHECK (key <> alias)}'),
	('ID031', '{ALTER TABLE idem.alias DROP CONSTRAINT alias_pkey}'),
	('ID031', '{"ALTER TABLE idem.alias DROP CONSTRAINT alias_pkey, ADD PRIMARY KEY (key, alias)"}'),
	('ID031', '{ALTER TABLE idem.alias ADD FOREIGN KEY (key) REFERENCES idem.key (key)}'),
	('ID031', '{CREATE RULE r AS ON INSERT TO idem.alias DO INSTEAD NOTHING}'),
	('00000', '{CREATE RULE r AS ON INSERT TO idem.alias DO INSTEAD NOTHING,DROP RULE r ON idem.alias}'),
	('ID031', '{CREATE UNIQUE INDEX ON idem.alias (alias)}'),
	('00000', '{CREATE INDEX ON idem.alias (md5(key::text))}'),
	('ID031', '{"ALTER TABLE idem.alias DROP CONSTRAINT alias_pkey, ADD PRIMARY KEY (alias, key) DEFERRABLE"}'),
	('ID031', '{ALTER TABLE idem.alias ALTER key SET DEFAULT gen_random_uuid()}'),
	('ID031', '{CREATE TABLE alias_child () INHERITS (idem.alias)}'),
	('00000', '{CREATE TABLE alias_child () INHERITS (idem.alias),DROP TABLE alias_child}');
\set shape 'BEGIN; SELECT is(pg_temp.with_change(VARIADIC changes), state, changes[1]) FROM shape WHERE n ='
:shape 1; ROLLBACK;
:shape 2; ROLLBACK;
:shape 3; ROLLBACK;
:shape 4; ROLLBACK;
:shape 5; ROLLBACK;
:shape 6; ROLLBACK;
:shape 7; ROLLBACK;
:shape 8; ROLLBACK;
:shape 9; ROLLBACK;
:shape 10; ROLLBACK;
:shape 11; ROLLBACK;
:shape 12; ROLLBACK;
:shape 13; ROLLBACK;
:shape 14; ROLLBACK;
:shape 15; ROLLBACK;
:shape 16; ROLLBACK;
SELECT is((SELECT outcome FROM idem_record('t', 'link.s', '{"a":"s"}')), 'claimed', 'undone, it works');

SELECT FROM pg_temp.remove('link.a', 'link.o', 'link.s');
SELECT * FROM finish();
