\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- Which requests are one request, through claims: the second of a pair under one occurrence, and
-- documents that are each an identity of their own.

SELECT is(idem_define('same.step', identity => 'occurrence'), 'created',
	'an operation identified by its occurrence');
SELECT is(idem_define('same.args', identity => 'arguments'), 'created',
	'one identified by all its arguments');

CREATE TEMP TABLE pair (n serial, name text, first jsonb, second jsonb, outcome text);
INSERT INTO pair (name, first, second, outcome) VALUES
	('C037: members in another order, at any depth',
		'{"payee":"N-4","amount":{"v":"12.50","c":"EUR"}}',
		'{"amount":{"c":"EUR","v":"12.50"},"payee":"N-4"}', 'replayed'),
	('C037: the order of an array means something', '{"a":[1,2]}', '{"a":[2,1]}', 'conflict'),
	('C038: JSON inside a string is opaque', '{"body":"{\"a\":1,\"b\":2}"}',
		'{"body":"{\"b\":2,\"a\":1}"}', 'conflict'),
	('C040: 5.0 is 5', '{"n":5.0}', '{"n":5}', 'replayed'),
	('C040: -0.0 is 0', '{"n":-0.0}', '{"n":0}', 'replayed'),
	('C040: 4e-9 is 0.000000004', '{"n":4e-9}', '{"n":0.000000004}', 'replayed'),
	('C040: 7e22 is 70000000000000000000000', '{"n":7e22}', '{"n":70000000000000000000000}',
		'replayed'),
	('C041: 87.50 is 87.5', '{"speed":87.50}', '{"speed":87.5}', 'replayed'),
	('C041: strings of a time are exact', '{"at":"2031-02-03T04:05:06.000+02:00"}',
		'{"at":"2031-02-03T04:05:06+02:00"}', 'conflict'),
	('C043: so are strings of a number', '{"amt":"0.50"}', '{"amt":"0.5"}', 'conflict'),
	('C043: other members are another request', '{"net":"alpha"}', '{"chain":17}', 'conflict'),
	('C044: integers past 2^53 differ', '{"id":6917529027641081857}', '{"id":6917529027641081856}',
		'conflict'),
	('C047: 7 is not "7"', '{"ids":[7]}', '{"ids":["7"]}', 'conflict'),
	('C049: null is not absent', '{"sku":"k1","note":null}', '{"sku":"k1"}', 'conflict'),
	('C053: composed and decomposed letters are different code points', '{"name":"Zo\u00eb"}',
		'{"name":"Zoe\u0308"}', 'conflict'),
	('C053: an escape is the character that it names', '{"name":"Zo\u00eb"}', '{"name":"Zoë"}',
		'replayed'),
	('C057: of duplicate members, jsonb keeps the last', '{"amt":5,"amt":500}', '{"amt":500}',
		'replayed'),
	('an empty object is no missing one', '{}', '[]', 'conflict'),
	('a scalar is a request', '1', '1.0', 'replayed'),
	('false is not null', 'false', 'null', 'conflict');

SELECT is((idem_record('t1', 'same.step', first, 'e' || n, first, occurrence => name)).outcome,
	'claimed', name || ' (first)')
	FROM pair ORDER BY n;
SELECT is((idem_claim('t1', 'same.step', second, occurrence => name)).outcome, outcome, name)
	FROM pair ORDER BY n;
SELECT is(pg_temp.keys('same.step'), count(*), 'and each has one key') FROM pair;
SELECT is((idem_claim('t1', 'same.step', first, occurrence => name)).response::text,
	'{"id": 6917529027641081857}',
          'C044: the response comes back with all digits')
	FROM pair WHERE name LIKE 'C044%';

-- Identity is all arguments: each of these is an intent of its own.
CREATE TEMP TABLE single (n serial, name text, arguments jsonb);
INSERT INTO single (name, arguments) VALUES
	('C044', '{"id":6917529027641081857}'), ('C044', '{"id":6917529027641081856}'),
	('C044', '{"id":6917529027641081856.5}'),
	('C047', '{"ids":[7]}'), ('C047', '{"ids":["7"]}'), ('C047', '{"ids":7}'),
	('C050', '{"tags":[]}'), ('C050', '{"tags":null}'), ('C050', '{}'),
	('C052', '{"f":{"a":[]}}'), ('C052', '{"f":{"a":{}}}'), ('C052', '{"f":{}}'),
		('C052', '{"f":null}'),
	('C049', '{"sku":"k1","note":null}'), ('C049', '{"sku":"k1"}'),
	('C053', '{"name":"Zo\u00eb"}'), ('C053', '{"name":"Zoe\u0308"}'),
	('brackets', '[[1],2]'), ('brackets', '[[1,2]]'), ('brackets', '[]'),
	('scalars', 'null'), ('scalars', 'true'), ('scalars', '""'), ('scalars', '"null"'),
		('scalars', '0');
SELECT is(count(DISTINCT idem_key('t1', 'same.args', arguments)), count(*),
	'C044 C047 C049 C050 C052 C053: all keys differ')
	FROM single;
SELECT is((idem_record('t1', 'same.args', arguments)).outcome, 'claimed',
	name || ': an intent of its own: ' || arguments)
	FROM single ORDER BY n;
SELECT is((idem_record('t1', 'same.args', arguments)).outcome, 'replayed',
	name || ': and recorded: ' || arguments)
	FROM single ORDER BY n;
SELECT is(pg_temp.keys('same.args'), count(*), 'one key each') FROM single;
SELECT FROM pg_temp.remove('same.args');
SELECT FROM idem_define('same.args', identity => 'arguments');

-- Hostile JSON
SELECT throws_ok($$SELECT idem_claim('t1', 'same.args', '{"a":"x\u0000y"}')$$, '22P05', NULL,
                 'C055: U+0000 cannot be in an argument');
SELECT is(pg_temp.keys('same.args'), 0::bigint, 'C055: and nothing is recorded of it');
BEGIN;
SELECT key AS key FROM idem_claim('t1', 'same.args', '{"a":"xy"}') \gset
SELECT throws_ok(format($$SELECT idem_complete('t1', %L, 'e1', '"x\u0000y"')$$, :'key'), '22P05',
	NULL,
                 'C055: nor in a response');
SELECT is(pg_temp.said(idem_claim('t1', 'same.args', '{"a":"xy"}')), 'in_progress/stop',
	'C055: the claim is still open');
SELECT is(idem_complete('t1', :'key', 'e1', '"xy"'), 'completed',
	'C055: and a clean response completes it');
COMMIT;
SELECT is((idem_claim('t1', 'same.args', '{"a":"xy"}')).response, '"xy"',
	'C055: which is replayed');

SELECT '{"n":[' || repeat('1e100000,', 999) || '1e100000]}' AS huge \gset
SELECT cmp_ok(length(idem_canonical(:'huge')), '<=', length(:'huge') + 1001,
	'C056: the text of huge numbers stays short');
SELECT is(length(idem_key('t1', 'same.args', :'huge')), length('same.args') + 33,
	'C056: and has a key');
SELECT is((idem_record('t1', 'same.args', :'huge')).outcome, 'claimed', 'C056: it can be claimed');
SELECT is((idem_record('t1', 'same.args', replace(:'huge', 'e100000', 'e+100000')::jsonb)).outcome,
	'replayed',
          'C056: and is recognised');

SELECT throws_ok(format($$SELECT idem_claim('t1', 'same.args', %L)$$, arguments), state, NULL,
	'C059: ' || left(arguments, 20))
	FROM (VALUES ('{"n":1e131072}', '22003'), ('{"n":1e-16384}', '22003'),
	             (repeat('[', 100001) || repeat(']', 100001), '54001')) v (arguments, state);
SELECT is((idem_record('t1', 'same.args', arguments::jsonb)).outcome, 'claimed',
	'C059: ' || left(arguments, 20))
	FROM (VALUES ('{"n":1e131071}'), ('{"n":1e-16383}'),
		(repeat('[', 5001) || repeat(']', 5001))) v (arguments);
SELECT is((idem_record('t1', 'same.args', arguments::jsonb)).outcome, 'replayed',
	'C059: known again, ' || left(arguments, 20))
	FROM (VALUES ('{"n":1e131071}'), ('{"n":1e-16383}'),
		(repeat('[', 5001) || repeat(']', 5001))) v (arguments);
SELECT is(pg_temp.keys('same.args'), 5::bigint, 'C059: what was refused has left no key');

-- A value that was stored under a high max_stack_depth is read under a low one: no recursion.
SET max_stack_depth = '7MB';
CREATE TEMP TABLE deep AS
	SELECT (repeat('[', 12000) || repeat(']', 12000))::jsonb AS arrays,
	       (repeat('{"a":', 12000) || '1' || repeat('}', 12000))::jsonb AS objects;
SET max_stack_depth = '100kB';
SELECT throws_ok($$SELECT repeat('[', 12000)::jsonb$$, '54001', NULL,
	'the limit is too low for reading such a text');
SELECT ok(idem_canonical(arrays) = repeat('[', 12000) || repeat(']', 12000),
	'C059: canonical text of 12,000 arrays') FROM deep;
SELECT ok(idem_canonical(objects) = repeat('{"a":', 12000) || '1' || repeat('}', 12000),
	'C059: of 12,000 objects') FROM deep;
SELECT ok(idem_digest(objects) = sha256(convert_to(repeat('{"a":', 12000) || '1'
	|| repeat('}', 12000), 'UTF8')), 'C059: their digest')
	FROM deep;
SELECT is((idem_record('t1', 'same.args', objects, response => objects)).outcome, 'claimed',
	'C059: a claim and a response of them')
	FROM deep;
SELECT ok((c).outcome = 'replayed' AND (c).response = objects, 'C059: and their replay')
	FROM (SELECT idem_claim('t1', 'same.args', objects) AS c, objects FROM deep OFFSET 0) s;
RESET max_stack_depth;

SELECT FROM pg_temp.remove('same.step');
SELECT FROM pg_temp.remove('same.args');
SELECT * FROM finish();
