\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- Looking up: what a claim would meet, by request or by key, and nothing is changed by it.

SELECT FROM idem_define('look.args', key_fields => '{"id":"exact"}', key_prefix => 'look');
SELECT FROM idem_define('look.step', identity => 'occurrence');
SELECT FROM idem_define('look.call', identity => 'arguments', effect => 'external',
	lease => '1 hour', retry_after => '2 s');

CREATE FUNCTION pg_temp.by_request(id int, x int DEFAULT 0) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.shown(idem_lookup('t', 'look.args', jsonb_build_object('id', id, 'x', x)))
$$;
CREATE FUNCTION pg_temp.key(id int) RETURNS text LANGUAGE sql AS $$
	SELECT idem_key('t', 'look.args', jsonb_build_object('id', id))
$$;
CREATE FUNCTION pg_temp.by_key(tenant text, key text) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.shown(idem_lookup(tenant, key))
$$;
CREATE FUNCTION pg_temp.claimed(id int) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.said(idem_claim('t', 'look.args', jsonb_build_object('id', id, 'x', 0)))
$$;

SELECT ok(idem_lookup('t', 'look.args', '{"id":1}') IS NULL, 'nothing is known: NULL, whole');
SELECT is(pg_temp.by_key('t', pg_temp.key(1)), 'nothing', 'by key too');
BEGIN;
SELECT FROM pg_temp.by_request(1), pg_temp.by_key('t', pg_temp.key(1));
SELECT is(count(*), 0::bigint, 'a look-up takes no key lock')
	FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'userlock';
SELECT is(pg_temp.claimed(1), 'claimed/do', 'and claims nothing');

-- A claim of this transaction
SELECT is(pg_temp.by_request(1), '(in_progress,stop,,f,,,f,f,,t,f)',
	'open, in its own transaction');
SELECT is(pg_temp.by_key('t', pg_temp.key(1)), '(in_progress,stop,,f,,,f,f,,t,f)', 'by key');
SELECT is(pg_temp.by_request(1, 9), '(conflict,stop,,f,,,f,f,,t,f)', 'another request');
SELECT is(idem_complete('t', pg_temp.key(1), 'r-1', '{"a":1}'), 'completed', 'completed');
SELECT is(pg_temp.by_request(1), '(replayed,answer,,f,r-1,"{""a"": 1}",f,f,,t,t)',
	'completed, in its own transaction');
SELECT is(pg_temp.by_key('t', pg_temp.key(1)), '(replayed,answer,,f,r-1,"{""a"": 1}",f,f,,t,t)',
	'by key');
SELECT is(pg_temp.claimed(2), 'claimed/do', 'another claim');
SELECT is(idem_release('t', pg_temp.key(2)), 'released', 'released');
SELECT is(pg_temp.by_request(2) || ', ' || pg_temp.by_key('t', pg_temp.key(2)), 'nothing, nothing',
	'nothing is known of it');
SELECT is(pg_temp.claimed(3), 'claimed/do', 'a third');
SELECT is(idem_fail('t', pg_temp.key(3), '"no"'), 'failed', 'failed');
SELECT is(pg_temp.by_request(3), '(failed,answer,,f,,"""no""",f,f,,t,t)', 'in its own transaction');
COMMIT;

-- A row
SELECT is(pg_temp.by_request(1), '(replayed,answer,,f,r-1,"{""a"": 1}",f,f,,t,t)', 'completed');
SELECT is(pg_temp.by_key('t', pg_temp.key(1)), '(replayed,answer,,f,r-1,"{""a"": 1}",f,f,,t,t)',
	'by key, which compares no request');
SELECT is(pg_temp.by_request(1, 9), '(conflict,stop,,f,r-1,,f,f,,t,t)', 'another request');
SELECT is(pg_temp.by_request(3), '(failed,answer,,f,,"""no""",f,f,,t,t)', 'failed');
SELECT is(pg_temp.by_key(tenant, key), 'nothing', 'nothing is known: ' || what)
	FROM (VALUES
		(1, 'u', pg_temp.key(1), 'C078: of another tenant''s key'),
		(2, 't', replace(pg_temp.key(1), 'look_', 'look.args_'), 'of another prefix'),
		(3, 't', upper(pg_temp.key(1)), 'in upper case'),
		(4, 't', right(pg_temp.key(1), 32), 'without a prefix'),
		(5, 't', pg_temp.key(1) || '0', 'with a digit more'),
		(6, 't', '', 'of an empty key'),
		(7, 't', 'look_', 'of a prefix'),
		(8, 't', NULL, 'of NULL')) v (n, tenant, key, what)
	ORDER BY n;
SELECT is((idem_lookup('t', 'look.step', '{}', 'e1')) IS NULL, true, 'by occurrence: nothing');
SELECT FROM idem_record('t', 'look.step', '{}', 'r-9', occurrence => 'e1');
SELECT is((idem_lookup('t', 'look.step', '{}', 'e1')).effect_ref, 'r-9',
	'by occurrence: its record');

-- External claims, state by state
SELECT key AS key, fence AS fence FROM idem_claim('t', 'look.call', '1') \gset
SELECT is(pg_temp.by_key('t', :'key'), '(in_progress,wait,,f,,,f,t,t,t,f)',
	'under its lease');
SELECT is(idem_unknown('t', :'key', :fence), 'unknown', 'given up');
SELECT is(pg_temp.by_key('t', :'key'), '(unresolved,stop,,f,,,f,f,,t,f)', 'unresolved');
SELECT is(idem_release('t', :'key', :fence), 'released', 'released');
SELECT is(pg_temp.by_key('t', :'key'), '(,,,f,,,f,,,t,f)', 'known, without an outcome');
SELECT is((idem_lookup('t', 'look.call', '1')).key, :'key', 'by request too');
SELECT is(pg_temp.keys('look.call', 'r'), 1::bigint, 'and still released');

SELECT is(count(*), 3::bigint, 'a look-up in FROM is one row, always')
	FROM generate_series(1, 3) i, LATERAL idem_lookup('t', 'look.args',
		jsonb_build_object('id', 10 + i)) c;

-- The view
SELECT is(string_agg(concat_ws(' ', tenant, operation, version, state, attempt, effect_ref,
	response,
		response_omitted, claimed_at IS NOT NULL, completed_at >= claimed_at, lease_end IS NULL),
			'; '
		ORDER BY operation, state, key),
	't look.args 1 completed 1 r-1 {"a": 1} f t t t; t look.args 1 failed 1 "no" f t t t; '
	't look.call 1 released 1 f t f; t look.step 1 completed 1 r-9 f t t t',
		'idem_keys shows all of it')
	FROM idem_keys WHERE operation LIKE 'look.%';
SELECT is(count(*), 4::bigint, 'with keys that a look-up knows')
	FROM idem_keys WHERE operation LIKE 'look.%' AND pg_temp.by_key(tenant, key) <> 'nothing';

SELECT FROM pg_temp.remove('look.args', 'look.step', 'look.call');
SELECT * FROM finish();
