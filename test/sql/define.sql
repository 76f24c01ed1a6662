\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- Defining operations: answers and defaults, frozen recipes, what is refused, and who notices a change.

CREATE FUNCTION pg_temp.settings(name text) RETURNS text LANGUAGE sql AS $$
	SELECT (o.version, o.current, o.identity, o.key_fields, o.unchecked_fields, o.key_prefix,
		o.effect, o.retention,
	        o.failure_retention, o.lease, o.retry_after, o.max_response_bytes)::text
	FROM idem_operations o WHERE o.operation = name ORDER BY version DESC LIMIT 1
$$;

SELECT is(idem_define('define.a', key_fields => '{"id":"exact"}'), 'created',
	'a new operation is created');
SELECT is(pg_temp.settings('define.a'),
	'(1,t,fields,"{""id"": ""exact""}",{},define.a,local,"30 days","1 day",00:05:00,00:00:01,1048576)',
          'with the defaults that the documents state');
SELECT is(idem_define('define.a', key_fields => '{"id":"exact"}'), 'unchanged',
	'the same again changes nothing');
SELECT is(idem_define('define.a', identity => 'fields', key_fields => '{"id":"exact"}',
	unchecked_fields => '{}',
		key_prefix => 'define.a', effect => 'local', version => 1, retention => '30 days'),
			'unchanged',
	'nor does spelling the defaults out');
SELECT is(idem_define('define.a'), 'unchanged', 'nor does saying nothing');
SELECT is(idem_define('define.a', retention => '1 hour', lease => '2 seconds',
	retry_after => '3 seconds', failure_retention => '4 days',
		max_response_bytes => 5), 'changed', 'settings can be changed without stating the recipe');
SELECT is(pg_temp.settings('define.a'),
	'(1,t,fields,"{""id"": ""exact""}",{},define.a,local,01:00:00,"4 days",00:00:02,00:00:03,5)',
	'all of them');
SELECT is(idem_define('define.a', key_fields => '{"id":"upper","x":"trim optional"}',
	unchecked_fields => '{note}', key_prefix => 'dfn',
		effect => 'external'), 'changed', 'the recipe too, while there are no keys');
SELECT is(pg_temp.settings('define.a'),
          '(1,t,fields,"{""x"": ""trim optional"", ""id"": ""upper""}",{note},dfn,external,01:00:00,"4 days",00:00:02,00:00:03,5)',
          'settings that are left out stay');
SELECT is(idem_define('define.a', version => 2, identity => 'arguments'), 'created',
	'a further version is created');
SELECT is(pg_temp.settings('define.a'),
	'(2,t,arguments,,{},define.a,local,"30 days","1 day",00:05:00,00:00:01,1048576)',
          'with defaults of its own, and is the current one');
SELECT is((SELECT count(*) FROM idem_operations WHERE operation = 'define.a' AND NOT current),
	1::bigint, 'the first is there still');
SELECT is(idem_drop_operation('define.a', 1), 1, 'a version can go');
SELECT is(idem_drop_operation('define.a'), 1, 'or all that are left');
SELECT is(pg_temp.settings('define.a'), NULL, 'nothing is left then');

-- What is refused
CREATE TEMP TABLE refusal (n serial, name text, arguments text);
INSERT INTO refusal (name, arguments) VALUES
	('no name', 'NULL, identity => ''arguments'''),
	('a name that starts with a digit', '''1a'', identity => ''arguments'''),
	('a name in upper case', '''Define'', identity => ''arguments'''),
	('a name of 64 letters', 'repeat(''a'', 64), identity => ''arguments'''),
	('a name with a line break after it', 'E''define.r\n'', identity => ''arguments'''),
	('version 0', '''define.r'', version => 0, identity => ''arguments'''),
	('no identity', '''define.r'''),
	('an unknown identity', '''define.r'', identity => ''request'''),
	('key fields and another identity',
		'''define.r'', identity => ''occurrence'', key_fields => ''{"id":"exact"}'''),
	('identity fields without key fields', '''define.r'', identity => ''fields'''),
	('no key field', '''define.r'', key_fields => ''{}'''),
	('a list of key fields', '''define.r'', key_fields => ''["id"]'''),
	('a normaliser that is no string', '''define.r'', key_fields => ''{"id":1}'''),
	('an unknown normaliser', '''define.r'', key_fields => ''{"id":"soundex"}'''),
	('minor_units of nothing', '''define.r'', key_fields => ''{"id":"minor_units()"}'''),
	('minor_units of 19 digits', '''define.r'', key_fields => ''{"id":"minor_units(19)"}'''),
	('an empty path', '''define.r'', key_fields => ''{"":"exact"}'''),
	('a path with an empty segment', '''define.r'', key_fields => ''{"a..b":"exact"}'''),
	('an open quote in a path', '''define.r'', key_fields => ''{"\"a.b":"exact"}'''),
	('an unchecked field that is no path',
		'''define.r'', identity => ''arguments'', unchecked_fields => ''{a.}'''),
	('an unchecked field NULL',
		'''define.r'', identity => ''arguments'', unchecked_fields => ''{NULL}'''),
	('a key field that is unchecked',
		'''define.r'', key_fields => ''{"a.b":"exact"}'', unchecked_fields => ''{a.b}'''),
	('a key field below an unchecked one',
		'''define.r'', key_fields => ''{"a.b":"exact"}'', unchecked_fields => ''{a}'''),
	('a key field above an unchecked one',
		'''define.r'', key_fields => ''{"a":"exact"}'', unchecked_fields => ''{a.b}'''),
	('a key field that is unchecked in quotes',
		'''define.r'', key_fields => ''{"a":"exact"}'', unchecked_fields => ''{"\"a\""}'''),
	('key fields within each other', '''define.r'', key_fields => ''{"a":"exact","a.b":"exact"}'''),
	('one key field in two spellings',
		'''define.r'', key_fields => ''{"a":"exact","\"a\"":"upper"}'''),
	('unchecked fields within each other',
		'''define.r'', identity => ''arguments'', unchecked_fields => ''{a,a.b}'''),
	('an unchecked currency', '''define.r'', key_fields => ''{"a":"minor_units(c)"}'', unchecked_fields => ''{c}'''),
	('65 key fields', '''define.r'', key_fields => (SELECT jsonb_object_agg(''k'' || i, ''exact'') FROM generate_series(1, 65) i)'),
	('an unknown effect', '''define.r'', identity => ''arguments'', effect => ''remote'''),
	('a prefix in upper case', '''define.r'', identity => ''arguments'', key_prefix => ''RFND'''),
	('an empty prefix', '''define.r'', identity => ''arguments'', key_prefix => '''''),
	('a retention of nothing', '''define.r'', identity => ''arguments'', retention => ''0'''),
	('a negative failure retention',
		'''define.r'', identity => ''arguments'', failure_retention => ''-1 day'''),
	('C018: a lease of nothing', '''define.r'', identity => ''arguments'', lease => ''0'''),
	('C018: a lease of a microsecond',
		'''define.r'', identity => ''arguments'', lease => ''1 microsecond'''),
	('a negative retry_after', '''define.r'', identity => ''arguments'', retry_after => ''-1 s'''),
	('a negative limit', '''define.r'', identity => ''arguments'', max_response_bytes => -1');
SELECT throws_ok(format('SELECT idem_define(%s)', arguments), 'ID002', NULL, 'refused: ' || name)
	FROM refusal ORDER BY n;
SELECT is(pg_temp.settings('define.r'), NULL, 'and nothing is defined');
SELECT throws_ok($$INSERT INTO idem.operation (id, operation, version, identity, key_fields, key_prefix, effect, retention,
		failure_retention, lease, retry_after, max_response_bytes)
	VALUES (9999, 'define.r', 1, 'fields', '{"a":"exact","a.b":"exact"}', 'r', 'local', '1 day', '1 day', '1 day', '1 s', 1)$$,
	'ID002', NULL, 'raw SQL is held to the same');

-- A recipe with keys is frozen, whoever comes to change it.
SELECT FROM idem_define('define.f', key_fields => '{"id":"exact"}', unchecked_fields => '{note}');
SELECT FROM idem_record('t', 'define.f', '{"id":1,"note":"a","x":1}', 'e1');
SELECT is(idem_define('define.f', key_fields => '{"id":"exact"}', unchecked_fields => '{note}'),
	'unchanged',
          'equal values are no change of a frozen recipe');
SELECT throws_ok(format('SELECT idem_define(''define.f'', %s)', arguments), 'ID003', NULL,
	'frozen: ' || arguments)
	FROM (VALUES ('key_fields => ''{"id":"upper"}'', unchecked_fields => ''{note}'''),
	             ('key_fields => ''{"id":"exact"}'''),
	             ('identity => ''arguments'''),
	             ('key_fields => ''{"id":"exact"}'', unchecked_fields => ''{note}'', key_prefix => ''x'''),
	             ('key_fields => ''{"id":"exact"}'', unchecked_fields => ''{note}'', effect => ''external''')) v (arguments);
SELECT throws_ok('UPDATE idem.operation SET ' || change || ' WHERE operation = ''define.f''',
	'ID003', NULL, 'frozen for raw SQL: ' || change)
	FROM (VALUES ('id = 9999'), ('operation = ''define.g'''), ('version = 7'),
		('key_fields = ''{"id":"upper"}'''),
	             ('unchecked_fields = ''{}'''), ('key_prefix = ''x'''), ('effect = ''external'''),
	             ('identity = ''arguments'', key_fields = NULL')) v (change);
SELECT throws_ok($$SELECT idem_drop_operation('define.f')$$, 'ID004', NULL,
	'an operation with keys stays');
SELECT throws_ok($$DELETE FROM idem.operation WHERE operation = 'define.f'$$, 'ID004', NULL,
	'for raw SQL too');
SELECT throws_ok('TRUNCATE idem.operation', 'ID004', NULL, 'and nothing is truncated');
SELECT throws_ok('TRUNCATE idem.operation CASCADE', 'ID004', NULL, 'not with CASCADE either');
SELECT is(idem_define('define.f', retention => '2 days'), 'changed', 'its settings can be changed');
SELECT lives_ok($$UPDATE idem.operation SET lease = '3 s' WHERE operation = 'define.f'$$,
	'by raw SQL too');
SELECT is((idem_claim('t', 'define.f', '{"id":1,"note":"b","x":1}')).outcome, 'replayed',
	'and its key answers as before');
BEGIN;
SELECT FROM idem_define('define.p', identity => 'arguments');
SELECT FROM idem_claim('t', 'define.p', '{}');
SELECT throws_ok($$SELECT idem_define('define.p', identity => 'occurrence')$$, 'ID003', NULL,
                 'a claim that is not written yet freezes the recipe already');
SELECT throws_ok($$SELECT idem_drop_operation('define.p')$$, 'ID004', NULL,
	'and keeps the operation');
ROLLBACK;

-- Unknown operations
SELECT throws_ok($$SELECT idem_drop_operation('define.none')$$, 'ID001',
	'operation "define.none" is not defined', 'nothing to drop');
SELECT throws_ok($$SELECT idem_drop_operation('define.f', 2)$$, 'ID001', NULL,
	'nor a version that is not there');
DO $$
DECLARE
	hint text;
BEGIN
	PERFORM idem_claim('t', 'define.none', '{}');
EXCEPTION WHEN SQLSTATE 'ID001' THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	PERFORM set_config('define.hint', hint, false);
END $$;
SELECT is(current_setting('define.hint'),
          $$Define it once: SELECT idem_define('define.none', key_fields => '{"<field>": "exact"}');$$,
          'the hint of an undefined operation is the call that defines it');

-- Who notices a change: this session, at once, and back when it is rolled back.
SELECT FROM idem_define('define.c', identity => 'arguments', key_prefix => 'first');
SELECT is(split_part(idem_key('t', 'define.c', '{}'), '_', 1), 'first', 'a policy is read');
UPDATE idem.operation SET key_prefix = 'second' WHERE operation = 'define.c';
SELECT is(split_part(idem_key('t', 'define.c', '{}'), '_', 1), 'second',
	'raw UPDATE: it is read again');
BEGIN;
SELECT FROM idem_define('define.c', identity => 'arguments', key_prefix => 'third');
SELECT is(split_part(idem_key('t', 'define.c', '{}'), '_', 1), 'third',
	'a redefinition is in force within its transaction');
SAVEPOINT s;
UPDATE idem.operation SET key_prefix = 'fourth' WHERE operation = 'define.c';
SELECT is(split_part(idem_key('t', 'define.c', '{}'), '_', 1), 'fourth',
	'and within its savepoint');
ROLLBACK TO s;
SELECT is(split_part(idem_key('t', 'define.c', '{}'), '_', 1), 'third',
	'ROLLBACK TO SAVEPOINT takes it back');
SELECT FROM idem_define('define.d', identity => 'arguments');
SELECT is(split_part(idem_key('t', 'define.d', '{}'), '_', 1), 'define.d',
	'a new operation is there at once');
ROLLBACK;
SELECT is(split_part(idem_key('t', 'define.c', '{}'), '_', 1), 'second',
	'ROLLBACK takes all of it back');
SELECT throws_ok($$SELECT idem_key('t', 'define.d', '{}')$$, 'ID001', NULL,
	'the new operation too');
DELETE FROM idem.operation WHERE operation = 'define.c';
SELECT throws_ok($$SELECT idem_key('t', 'define.c', '{}')$$, 'ID001', NULL,
	'raw DELETE: it is gone');

SELECT FROM pg_temp.remove('define.f');
SELECT * FROM finish();
