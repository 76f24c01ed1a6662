\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- Receipts: whole or not at all, told apart from none, and independent of where they came from.

SELECT FROM idem_define('receipt.small', identity => 'arguments', max_response_bytes => 100);
SELECT FROM idem_define('receipt.none', identity => 'arguments', max_response_bytes => 0);
SELECT FROM idem_define('receipt.large', identity => 'arguments', max_response_bytes => 100000000);
SELECT FROM idem_define('receipt.call', identity => 'arguments', effect => 'external',
	max_response_bytes => 100);
CREATE TABLE receipt_effect (n int);
CREATE FUNCTION pg_temp.text_of(bytes int) RETURNS jsonb LANGUAGE sql AS $$
	SELECT to_jsonb(left(string_agg(md5(i::text), ''), bytes))
		FROM generate_series(1, bytes / 32 + 1) i
$$;

-- None, null, and values that look like nothing
CREATE TEMP TABLE given (n serial, response jsonb);
INSERT INTO given (response) VALUES (NULL), ('null'), ('false'), ('0'), ('""'), ('[]'), ('{}');
SELECT is((idem_record('t', 'receipt.small', jsonb_build_object('n', n), 'r', response)).outcome,
	'claimed', 'C083: response ' || coalesce(response::text, 'NULL'))
	FROM given ORDER BY n;
SELECT is((outcome, c.response, response_omitted)::text,
	('replayed'::text, g.response, false)::text,
          'C083: it comes back as it was: ' || coalesce(g.response::text, 'NULL'))
	FROM given g, idem_claim('t', 'receipt.small', jsonb_build_object('n', n)) c ORDER BY n;
BEGIN;
SELECT is((outcome, action, response)::text, '(claimed,do,)',
	'C083: an open claim without a response')
	FROM idem_claim('t', 'receipt.small', '{"null":1}');
SELECT is((outcome, action, response)::text, '(in_progress,stop,)',
	'C083: is in progress, and not replayed')
	FROM idem_claim('t', 'receipt.small', '{"null":1}');
SELECT is(idem_complete('t', idem_key('t', 'receipt.small', '{"null":1}'), NULL, 'null'),
	'completed', 'C083: completed with null');
SELECT throws_ok($$SELECT idem_complete('t', idem_key('t', 'receipt.small', '{"null":1}'), NULL, NULL)$$,
	'ID023', NULL,
                 'C083: which is not what it is without a response');
COMMIT;

-- Over the limit: one warning, a receipt that says what is missing, and the effect stays.
\set VERBOSITY terse
BEGIN;
INSERT INTO receipt_effect VALUES (1);
SELECT key AS key FROM idem_claim('t', 'receipt.small', '{"big":1}') \gset
SELECT is(idem_complete('t', :'key', 'r-1', pg_temp.text_of(120)), 'completed',
	'C086: a response over the limit, completed');
SELECT is(idem_complete('t', :'key', 'r-1', pg_temp.text_of(120)), 'already',
	'C086: and the same again');
SELECT throws_ok(format('SELECT idem_complete(''t'', %L, ''r-1'')', :'key'), 'ID023', NULL,
	'C086: which is not none at all');
COMMIT;
SELECT is(pg_temp.shown(idem_claim('t', 'receipt.small', '{"big":1}')),
	'(replayed,answer,,f,r-1,,t,f,,t,t)', 'C086: a replay says that the response was omitted');
SELECT is((SELECT count(*) FROM receipt_effect), 1::bigint, 'C086: the effect has been committed');
SELECT is((idem_record('t', 'receipt.small', '{"big":2}', 'r-2', pg_temp.text_of(120))).outcome,
	'claimed', 'C086: idem_record likewise');
SELECT is(pg_temp.shown(idem_claim('t', 'receipt.small', '{"big":2}')),
	'(replayed,answer,,f,r-2,,t,f,,t,t)', 'C086: with its effect_ref');
BEGIN;
SELECT key AS key FROM idem_claim('t', 'receipt.small', '{"big":3}') \gset
SELECT is(idem_fail('t', :'key', pg_temp.text_of(120)), 'failed', 'C086: an error over the limit');
COMMIT;
SELECT is(pg_temp.shown(idem_claim('t', 'receipt.small', '{"big":3}')),
	'(failed,answer,,f,,,t,f,,t,t)', 'C086: is omitted as well');
SELECT is((idem_record('t', 'receipt.none', '{}', 'r-3', 'true')).outcome, 'claimed',
	'a limit of 0 stores none');
SELECT is(pg_temp.shown(idem_claim('t', 'receipt.none', '{}')),
	'(replayed,answer,,f,r-3,,t,f,,t,t)', 'and says so');
SELECT key AS key, fence AS fence FROM idem_claim('t', 'receipt.call', '{}') \gset
SELECT is(idem_complete('t', :'key', 'r-4', pg_temp.text_of(120), :fence), 'completed',
	'C086: of an external effect');
SELECT is(idem_complete('t', :'key', 'r-4', pg_temp.text_of(120), :fence), 'already',
	'C086: the same again');
SELECT is(pg_temp.shown(idem_claim('t', 'receipt.call', '{}')),
	'(replayed,answer,,f,r-4,,t,f,,t,t)', 'C086: likewise');
\set VERBOSITY sqlstate

-- At the limit to the byte: a jsonb string of n bytes takes n and the two words of its container.
SELECT is((idem_record('t', 'receipt.small', '{"just":1}', 'r', pg_temp.text_of(92))).outcome,
	'claimed', 'a response of just the limit');
SELECT is(octet_length((idem_claim('t', 'receipt.small', '{"just":1}')).response #>> '{}'), 92,
	'is stored whole');
SET client_min_messages = error;
SELECT FROM idem_record('t', 'receipt.small', '{"just":0}', 'r', pg_temp.text_of(93));
RESET client_min_messages;
SELECT is((idem_claim('t', 'receipt.small', '{"just":0}')).response_omitted, true,
	'one of a byte more is not');

-- Large ones: in the claiming transaction, from storage, from a look-up
CREATE TEMP TABLE large (name text, bytes int, response jsonb);
ALTER TABLE large ALTER response SET STORAGE EXTERNAL;
INSERT INTO large
	SELECT name, bytes, jsonb_build_object('text', pg_temp.text_of(bytes)) AS response
	FROM (VALUES ('1.5 MiB', 1572864), ('20 MiB', 20971520)) v (name, bytes);
SELECT is(octet_length(response->>'text'), bytes, 'C086: there are ' || name || ' of text')
	FROM large ORDER BY bytes;
BEGIN;
SELECT is((idem_record('t', 'receipt.large', jsonb_build_object('bytes', bytes), name,
	response)).outcome, 'claimed', 'C086: ' || name)
	FROM large ORDER BY bytes;
SELECT is(md5((idem_claim('t', 'receipt.large',
	jsonb_build_object('bytes', bytes))).response::text), md5(response::text),
	'C086: replayed by its transaction: ' || name)
	FROM large ORDER BY bytes;
COMMIT;
SELECT is(md5((idem_claim('t', 'receipt.large',
	jsonb_build_object('bytes', bytes))).response::text), md5(response::text),
	'C086: replayed from storage: ' || name)
	FROM large ORDER BY bytes;
SELECT is(md5((idem_lookup('t', 'receipt.large',
	jsonb_build_object('bytes', bytes))).response::text), md5(response::text),
	'C086: looked up: ' || name)
	FROM large ORDER BY bytes;
SELECT is((SELECT response_omitted FROM idem_claim('t', 'receipt.large',
	jsonb_build_object('bytes', bytes))), false, 'C086: nothing is omitted: ' || name)
	FROM large ORDER BY bytes;
SELECT is((idem_record('t', 'receipt.large', response)).outcome, 'claimed',
	'C161: as arguments: ' || name) FROM large ORDER BY bytes;
SELECT is((idem_claim('t', 'receipt.large', response)).outcome, 'replayed',
	'C161: known again: ' || name) FROM large ORDER BY bytes;

-- The receipt is a copy: its source may be gone before it is written, and after.
CREATE TABLE receipt_source (doc jsonb);
ALTER TABLE receipt_source ALTER doc SET STORAGE EXTERNAL;
INSERT INTO receipt_source VALUES (pg_temp.text_of(640000));
SELECT md5(doc::text) AS md5 FROM receipt_source \gset
BEGIN;
SELECT key AS key FROM idem_claim('t', 'receipt.large', '{"source":1}') \gset
SELECT is(idem_complete('t', :'key', 'r', doc), 'completed',
	'a response out of a table, stored out of line') FROM receipt_source;
TRUNCATE receipt_source;
COMMIT;
SELECT is(md5((idem_claim('t', 'receipt.large', '{"source":1}')).response::text), :'md5',
	'is whole when its source was truncated before the commit');
INSERT INTO receipt_source VALUES (pg_temp.text_of(640000));
SELECT is((idem_record('t', 'receipt.large', '{"source":2}', 'r', doc)).outcome, 'claimed',
	'another') FROM receipt_source;
DROP TABLE receipt_source;
SELECT is(md5((idem_claim('t', 'receipt.large', '{"source":2}')).response::text), :'md5',
	'is whole when its source was dropped later');

DROP TABLE receipt_effect;
SELECT FROM pg_temp.remove('receipt.small', 'receipt.none', 'receipt.large', 'receipt.call');
SELECT * FROM finish();
