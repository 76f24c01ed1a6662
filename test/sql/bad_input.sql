\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- Requests that are refused: idem_check says why, a claim raises just that, and nothing is recorded.

SELECT FROM idem_define('bad.fields',
	key_fields => '{"id": "exact", "amount": "minor_units(currency) optional", "name": "trim optional", "count": "number optional", "meta.ref": "upper optional"}');
SELECT FROM idem_define('bad.optional', key_fields => '{"a": "optional", "m.b": "trim optional"}');
SELECT FROM idem_define('bad.args', identity => 'arguments');
SELECT FROM idem_define('bad.step', identity => 'occurrence');

CREATE TEMP TABLE refusal (n serial, name text, tenant text, operation text, arguments jsonb,
	occurrence text, version int,
                           state text, why text);
INSERT INTO refusal (name, tenant, operation, arguments, occurrence, version, state, why) VALUES
	('C076 C077: tenant NULL', NULL, 'bad.args', '{}', NULL, NULL, '22004', 'tenant is NULL'),
	('tenant empty', '', 'bad.args', '{}', NULL, NULL, '22023', 'tenant is blank'),
	('tenant of white space', E' \t\u00a0', 'bad.args', '{}', NULL, NULL, '22023',
		'tenant is blank'),
	('C072: tenant of 3,000', repeat('t', 3000), 'bad.args', '{}', NULL, NULL, '22023',
		'tenant is longer than 255 bytes'),
	('C071: operation NULL', 't', NULL, '{}', NULL, NULL, '22004', 'operation is NULL'),
	('C071: arguments NULL', 't', 'bad.args', NULL, NULL, NULL, '22004', 'arguments are NULL'),
	('C071: arguments NULL under a step', 't', 'bad.step', NULL, 'e', NULL, '22004',
		'arguments are NULL'),
	('version 0', 't', 'bad.args', '{}', NULL, 0, '22023', 'version is not positive'),
	('version not defined', 't', 'bad.args', '{}', NULL, 9, 'ID001',
		'version 9 of operation "bad.args" is not defined'),
	('operation not defined', 't', 'bad.none', '{}', NULL, NULL, 'ID001',
		'operation "bad.none" is not defined'),
	('operation empty', 't', '', '{}', NULL, NULL, 'ID001', 'operation "" is not defined'),
	('C071: no occurrence', 't', 'bad.step', '{"n":1}', NULL, NULL, 'ID013',
		'operation needs an occurrence'),
	('C073: occurrence empty', 't', 'bad.step', '{}', '', NULL, '22023', 'occurrence is blank'),
	('C073: occurrence of spaces', 't', 'bad.step', '{}', '   ', NULL, '22023',
		'occurrence is blank'),
	('C073: occurrence of a tab', 't', 'bad.step', '{}', E'\t', NULL, '22023',
		'occurrence is blank'),
	('C073: occurrence of a no-break space', 't', 'bad.step', '{}', E'\u00a0', NULL, '22023',
		'occurrence is blank'),
	('C073: occurrence of U+3000', 't', 'bad.step', '{}', E'\u3000', NULL, '22023',
		'occurrence is blank'),
	('occurrence that is superfluous', 't', 'bad.args', '{}', 'e', NULL, 'ID013',
		'operation takes no occurrence'),
	('C073: even a blank one', 't', 'bad.args', '{}', '', NULL, 'ID013',
		'operation takes no occurrence'),
	('C071: key field absent', 't', 'bad.fields', '{"ID":1}', NULL, NULL, 'ID011',
		'key field "id" is missing'),
	('key field null', 't', 'bad.fields', '{"id":null}', NULL, NULL, 'ID011',
		'key field "id" is null'),
	('key field blank', 't', 'bad.fields', '{"id":" "}', NULL, NULL, 'ID012',
		'key field "id" is blank'),
	('no key field at all', 't', 'bad.optional', '{"x":1}', NULL, NULL, 'ID011',
		'no key field has a value'),
	('none but null ones', 't', 'bad.optional', '{"a":null,"m":{"b":null}}', NULL, NULL, 'ID011',
		'no key field has a value'),
	('arguments no object', 't', 'bad.fields', '["id"]', NULL, NULL, '22023',
		'arguments are not a JSON object'),
	('arguments a scalar', 't', 'bad.fields', '"id"', NULL, NULL, '22023',
		'arguments are not a JSON object'),
	('trim of a number', 't', 'bad.fields', '{"id":1,"name":7}', NULL, NULL, 'ID012',
		'key field "name" is not a string'),
	('upper of a boolean', 't', 'bad.fields', '{"id":1,"meta":{"ref":true}}', NULL, NULL, 'ID012',
		'key field "meta.ref" is not a string'),
	('number of words', 't', 'bad.fields', '{"id":1,"count":"ten"}', NULL, NULL, 'ID012',
		'key field "count" is not a number or a decimal string'),
	('number of a list', 't', 'bad.fields', '{"id":1,"count":[1]}', NULL, NULL, 'ID012',
		'key field "count" is not a number or a decimal string'),
	('number with commas', 't', 'bad.fields', '{"id":1,"count":"1,000"}', NULL, NULL, 'ID012',
		'key field "count" is not a number or a decimal string'),
	('number that is none', 't', 'bad.fields', '{"id":1,"count":"NaN"}', NULL, NULL, 'ID012',
		'key field "count" is not a number or a decimal string'),
	('number of 101 digits', 't', 'bad.fields',
		jsonb_build_object('id', 1, 'count', repeat('7', 101)), NULL, NULL, 'ID012',
		'key field "count" has too many digits'),
	('number of a huge exponent', 't', 'bad.fields', '{"id":1,"count":"1e999999999"}', NULL, NULL,
		'ID012', 'key field "count" has too many digits'),
	('EUR with three decimals', 't', 'bad.fields', '{"id":1,"amount":1.999,"currency":"EUR"}', NULL,
		NULL, 'ID012', 'key field "amount" has more decimals than its currency'),
	('JPY with one', 't', 'bad.fields', '{"id":1,"amount":"500.5","currency":"jpy"}', NULL, NULL,
		'ID012', 'key field "amount" has more decimals than its currency'),
	('KWD with four', 't', 'bad.fields', '{"id":1,"amount":0.0001,"currency":"KWD"}', NULL, NULL,
		'ID012', 'key field "amount" has more decimals than its currency'),
	('amount without currency', 't', 'bad.fields', '{"id":1,"amount":5}', NULL, NULL, 'ID012',
		'key field "amount" has no currency'),
	('amount in a number', 't', 'bad.fields', '{"id":1,"amount":5,"currency":978}', NULL, NULL,
		'ID012', 'key field "amount" has no currency'),
	('amount in no currency', 't', 'bad.fields', '{"id":1,"amount":5,"currency":"EURO"}', NULL,
		NULL, 'ID012', 'key field "amount" has an unknown currency');

SELECT is(idem_check(tenant, operation, arguments, occurrence, version), why, name) FROM refusal
	ORDER BY n;
CREATE FUNCTION pg_temp.raised(call text, request refusal, OUT state text, OUT message text)
	LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('SELECT %s', call)
		USING request.tenant, request.operation, request.arguments, request.occurrence,
			request.version;
	state := '00000';
EXCEPTION WHEN OTHERS THEN
	state := SQLSTATE;
	message := SQLERRM;
END $$;
CREATE FUNCTION pg_temp.effect(arguments jsonb) RETURNS jsonb LANGUAGE sql AS $$
	INSERT INTO effect (key) VALUES (arguments) RETURNING arguments
$$;
CREATE TEMP TABLE call (n serial, call text);
INSERT INTO call (call) VALUES
	('idem_claim($1, $2, $3, $4, $5)'),
	('idem_record($1, $2, $3, ''ref'', $3, $4, $5)'),
	('idem_once($1, $2, $3, ''pg_temp.effect(jsonb)'', $4, $5)'),
	('idem_lookup($1, $2, $3, $4, $5)'),
	('idem_key($1, $2, $3, $4, $5)'),
	('idem_intent($1, $2, $3, $4, $5)');
SELECT is(string_agg(name, ', '), NULL, split_part(call, '(', 1) || ' raises just that')
	FROM call LEFT JOIN LATERAL (
		SELECT name FROM refusal r, pg_temp.raised(call, r) raised
			WHERE (raised.state, raised.message) IS DISTINCT FROM (r.state, r.why)) wrong ON true
	GROUP BY call.n, call ORDER BY call.n;
SELECT is(pg_temp.keys('bad.fields') + pg_temp.keys('bad.optional') + pg_temp.keys('bad.args') + pg_temp.keys('bad.step'),
	0::bigint, 'and no key is recorded');
SELECT is_empty('SELECT FROM effect', 'and no effect has run');

-- What is not refused
CREATE TEMP TABLE acceptable (n serial, name text, tenant text, operation text, arguments jsonb,
	occurrence text);
INSERT INTO acceptable (name, tenant, operation, arguments, occurrence) VALUES
	('C071: a null argument document', 't', 'bad.args', 'null', NULL),
	('C071: one request without a step', 't', 'bad.args', '{"n":1}', NULL),
	('C071: another request without a step', 't', 'bad.args', '{"n":2}', NULL),
	('C072: an occurrence of 12,800 digits', 't', 'bad.step', '{}',
		repeat('0123456789abcdef', 800)),
	('a tenant of 255 bytes', repeat('é', 127) || 'x', 'bad.args', '{}', NULL),
	('an occurrence with white space around it', 't', 'bad.step', '{}', ' e '),
	('only the field that must be there', 't', 'bad.fields', '{"id":0}', NULL),
	('one of several optional fields', 't', 'bad.optional', '{"m":{"b":"x"}}', NULL),
	('false for a key field', 't', 'bad.fields', '{"id":false}', NULL),
	('optional fields null', 't', 'bad.fields',
		'{"id":0,"amount":null,"name":null,"count":null,"meta":{"ref":null}}', NULL),
	('an optional field blank', 't', 'bad.fields', '{"id":0,"name":"  "}', NULL),
	('an optional path that leads through a scalar', 't', 'bad.fields', '{"id":1,"meta":7}', NULL),
	('a number of 100 digits', 't', 'bad.fields',
		jsonb_build_object('id', 0, 'count', repeat('7', 100)), NULL);
SELECT is(idem_check(tenant, operation, arguments, occurrence), NULL, 'accepted: ' || name)
	FROM acceptable ORDER BY n;
SELECT is((idem_record(tenant, operation, arguments, occurrence => occurrence)).outcome, 'claimed',
	'claimed: ' || name)
	FROM acceptable ORDER BY n;
SELECT is((idem_claim(tenant, operation, arguments, occurrence)).outcome, 'replayed',
	'replayed: ' || name)
	FROM acceptable ORDER BY n;
SELECT is((idem_claim('t', 'bad.step', '{}', repeat('0123456789abcdef', 799)
	|| '0123456789abcdee')).outcome, 'claimed',
          'C072: a long occurrence is hashed to its last letter')
	\; SELECT FROM idem_release('t', idem_key('t', 'bad.step', '{}',
		repeat('0123456789abcdef', 799) || '0123456789abcdee'));

-- Parameters of one function only
SELECT throws_ok(statement, state, message, message)
	FROM (VALUES
		($$SELECT idem_claim('t', 'bad.args', '{}', wait => '-1 ms')$$, '22023',
			'wait is negative'),
		($$SELECT idem_claim('t', 'bad.args', '{}', lease => '0')$$, '22023',
			'lease is shorter than 1 millisecond'),
		($$SELECT idem_once('t', 'bad.args', '{}', NULL)$$, '22004', 'effect is NULL'),
		($$SELECT idem_once('t', 'bad.args', '{}', 'pg_temp.effect(jsonb)', on_error => 'ignore')$$,
			'22023', 'unknown on_error'),
		($$SELECT idem_complete('t', NULL)$$, '22004', 'key is NULL'),
		($$SELECT idem_complete(NULL, 'k')$$, '22004', 'tenant is NULL'),
		($$SELECT idem_fail('', 'k')$$, '22023', 'tenant is blank'),
		($$SELECT idem_resolve('t', 'k_00000000000000000000000000000000', 'undo')$$, '22023',
			'unknown decision'),
		($$SELECT idem_resolve('t', 'k_00000000000000000000000000000000', NULL)$$, '22023',
			'unknown decision'),
		($$SELECT idem_expire(0)$$, '22023', 'max_rows is not positive'),
		($$SELECT idem_expire(-1)$$, '22023', 'max_rows is not positive')) v (statement, state,
			message);
SELECT is(idem_expire(NULL), NULL, 'idem_expire of NULL does nothing');
SELECT ok(idem_lookup('t', NULL) IS NULL, 'nothing is known of no key');

SELECT FROM pg_temp.remove('bad.fields', 'bad.optional', 'bad.args', 'bad.step');
SELECT * FROM finish();
