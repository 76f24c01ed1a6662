\set ECHO none
\pset format unaligned
\pset tuples_only
SET client_min_messages = warning;

-- Normalisers: which spellings of a key field are one key, which are refused and with what words, on
-- jsonb as PostgreSQL stores it. Every value of every step is in the unit tests.

SELECT FROM no_plan();

CREATE FUNCTION pg_temp.define(name text, normaliser text) RETURNS void LANGUAGE sql AS $$
	SELECT FROM idem_define('norm.' || name, key_fields => jsonb_build_object('f', normaliser))
$$;
CREATE FUNCTION pg_temp.normal(name text, value jsonb) RETURNS jsonb LANGUAGE sql AS $$
	SELECT idem_intent('t', 'norm.' || name, jsonb_build_object('f', value)) -> 'args' -> 'f'
$$;
CREATE FUNCTION pg_temp.refusal(name text, value jsonb) RETURNS text LANGUAGE sql AS $$
	SELECT replace(idem_check('t', 'norm.' || name, jsonb_build_object('f', value)), 'key field "f" ', '')
$$;

SELECT FROM unnest('{text, casefold, nfc, uuid, timestamp, date, integer, boolean, set, email, url}'::text[]) n,
	pg_temp.define(n, n);
SELECT FROM pg_temp.define('name', ' text | nfc|casefold |nfc');
SELECT FROM pg_temp.define('code', 'trim|upper optional');
SELECT FROM pg_temp.define('cents', 'trim|minor_units(2)');

-- What is one value.
SELECT is(pg_temp.normal(step, value), normal, step || ': ' || value || ' is ' || normal)
FROM (VALUES
	('text', '"  late \t delivery\u00a0"'::jsonb, '"late delivery"'::jsonb),
	('casefold', '"STRAẞE"', '"strasse"'),
	('uuid', '"{0189D2A07C1E7ABC8DEF0123456789AB}"', '"0189d2a0-7c1e-7abc-8def-0123456789ab"'),
	('timestamp', '"2026-11-30T10:45:00.500+05:30"', '"2026-11-30T05:15:00.5Z"'),
	('timestamp', '"20261130T0515Z"', '"2026-11-30T05:15:00Z"'),
	('date', '"20261130"', '"2026-11-30"'),
	('integer', '"007"', '7'),
	('integer', '7.0', '7'),
	('integer', '123456789012345678901234567890', '123456789012345678901234567890'),
	('boolean', '"TRUE"', 'true'),
	('boolean', 'false', 'false'),
	('set', '["b", 1.0, "a", 10e-1, ["y", "x"], {"q": 1, "p": [true, null]}]',
		'["a", "b", 1, ["y", "x"], {"p": [true, null], "q": 1}]'),
	('set', '[]', '[]'),
	('email', '" Zoe.A+tag@Example.ORG\n"', '"Zoe.A+tag@example.org"'),
	('url', '"HTTP://Example.ORG:80/a/../%7Eb/%2f"', '"http://example.org:80/~b/%2F"'),
	('name', '"  ZOE\u0308   Åhl"', '"zoë åhl"'),
	('code', '" gbp "', '"GBP"'),
	('cents', '" 12.50 "', '1250')) t (step, value, normal);
SELECT is(pg_temp.normal('nfc', '"Zoe\u0308"'), '"Zoë"', 'C053: nfc: both spellings of an umlaut are one');
SELECT is(idem_key('t', 'norm.timestamp', '{"f": "2031-02-03T04:05:06.000+02:00"}'),
          idem_key('t', 'norm.timestamp', '{"f": "2031-02-03T04:05:06+02:00"}'),
          'C041: timestamp: zeros of a fraction are no other key');
SELECT is(idem_key('t', 'norm.set', '{"f": ["x", "y"]}'), idem_key('t', 'norm.set', '{"f": ["y", "x", "y"]}'),
          'set: order and repeats are no other key');
SELECT isnt(idem_key('t', 'norm.set', '{"f": [7]}'), idem_key('t', 'norm.set', '{"f": ["7"]}'),
            'C047: set: a number and a string are two keys');
SELECT is(idem_key('t', 'norm.set', '{"f": ["b", 10, 9, "a"]}'),
          'norm.set_' || left(encode(sha256('norm.set:v1:{"args":{"f":["a","b",10,9]},"tenant":"t"}'), 'hex'), 32),
          'set: the key is that of the array in the order of its texts');

-- What is refused.
SELECT is(pg_temp.refusal(step, value), refusal, step || ': ' || value || ' ' || refusal)
FROM (VALUES
	('text', '5'::jsonb, 'is not a string'),
	('nfc', '"a\u0378"', 'has a character that this server''s Unicode lacks'),
	('casefold', '"\uffff"', 'has a character that this server''s Unicode lacks'),
	('uuid', '"0189d2a0"', 'is not a UUID'),
	('timestamp', '"2026-11-30T10:45:00"', 'is a timestamp without a UTC offset'),
	('timestamp', '"2026-11-30"', 'is not an ISO 8601 timestamp'),
	('timestamp', '"2026-02-29T00:00Z"', 'is not an ISO 8601 timestamp'),
	('timestamp', '"9999-12-31T23:00:00-05:00"', 'is before the year 0 or after the year 9999 in UTC'),
	('timestamp', '1764492300', 'is not a string'),
	('date', '"30.11.2026"', 'is not an ISO 8601 date'),
	('integer', '7.5', 'is not a whole number'),
	('integer', '"seven"', 'is not a number or a decimal string'),
	('boolean', '1', 'is neither true nor false'),
	('set', '"a"', 'is not an array'),
	('email', '"Zoe <zoe@example.org>"', 'is not an e-mail address'),
	('url', '"/a/b"', 'is not a URL with a scheme'),
	('url', '"http://ü/"', 'is not a URL with a scheme'),
	('cents', '12.5', 'is not a string'),
	('cents', '" 12.505"', 'has more decimals than its currency'),
	('text', '" "', 'is blank')) t (step, value, refusal);
SELECT is(pg_temp.refusal('nfc', to_jsonb(repeat('é', 524289))), 'is too long to be normalised',
          'nfc: a text has a limit');
SELECT is(pg_temp.refusal('set', jsonb_build_array(repeat('x', 1048576))), 'is too long to be normalised',
          'set: so has a set');
SELECT is(pg_temp.normal('set', (SELECT jsonb_agg(i % 5000) FROM generate_series(1, 50000) i)),
          (SELECT jsonb_agg(i ORDER BY i::text COLLATE "C") FROM generate_series(0, 4999) i),
          'set: thousands of elements');
SELECT throws_ok($$SELECT idem_key('t', 'norm.integer', '{"f": 7.5}')$$, 'ID012',
                 'key field "f" is not a whole number', 'a refusal has the SQLSTATE of a bad key field');

-- Chains.
SELECT throws_like(format($$SELECT idem_define('norm.bad', key_fields => '{"f": "%s"}')$$, chain),
                   '%key field "f" has an unknown normaliser', 'no normaliser: ' || chain)
FROM unnest('{trim|, |trim, trim||upper, exact|trim, trim|text|nfc|casefold|nfc, set|upper,
	number|text, minor_units(2)|minor_units(2), trim optional|upper, Trim, url(2)}'::text[]) chain;

-- The recipe is frozen by its text, as before.
SELECT is(idem_define('norm.code', key_fields => '{"f": "trim|upper optional"}'), 'unchanged',
          'defining a chain again is no change');

SELECT FROM (SELECT DISTINCT operation FROM idem_operations WHERE operation LIKE 'norm.%') o,
	idem_drop_operation(o.operation);
SELECT * FROM finish();
