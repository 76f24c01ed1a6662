\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- Retention: by the clock, not by what has been deleted; and deletion, of finished keys alone.

SELECT FROM idem_define('expire.brief', identity => 'occurrence', retention => '10 ms',
	failure_retention => '10 ms');
SELECT FROM idem_define('expire.fail', identity => 'arguments', retention => '10 days',
	failure_retention => '1 hour');
SELECT FROM idem_define('expire.change', identity => 'arguments', retention => '1 hour');
SELECT FROM idem_define('expire.call', identity => 'arguments', effect => 'external',
	retention => '1 hour', failure_retention => '1 hour', lease => '1 hour');
SELECT FROM idem_define('expire.many', identity => 'arguments', retention => '1 hour');
SELECT FROM idem_define('expire.ever', identity => 'arguments', retention => '100000000 years');

-- A row past its life is gone, deleted or not.
SELECT is(pg_temp.act('t', 'expire.brief', '{"q":1}', 'r-88'), 'claimed', 'C030: an intent');
SELECT FROM pg_sleep(0.05);
SELECT is(pg_temp.keys('expire.brief'), 1::bigint, 'C030: its row is there after its retention');
SELECT ok(idem_lookup('t', 'expire.brief', '{"q":1}', 'r-88') IS NULL,
	'C030: and nothing is known of it');
SELECT ok(idem_lookup('t', idem_key('t', 'expire.brief', '{"q":1}', 'r-88')) IS NULL,
	'C030: by its key as well');
SELECT throws_ok($$SELECT idem_complete('t', idem_key('t', 'expire.brief', '{}', 'r-88'), 'e')$$,
	'ID021', NULL, 'C023: it cannot be completed');
BEGIN;
SELECT is(pg_temp.said(idem_claim('t', 'expire.brief', '{"q":1}', 'r-88')), 'claimed/do',
	'C030: the next claim owns it');
SELECT is(pg_temp.said(idem_claim('t', 'expire.brief', '{"q":1}', 'r-88')), 'in_progress/stop',
	'C030: one claim alone');
ROLLBACK;
SELECT is(pg_temp.keys('expire.brief'), 1::bigint, 'C030: rolled back, the row is there');
SELECT is(pg_temp.act('t', 'expire.brief', '{"q":1}', 'r-88'), 'claimed',
	'C035: a new effect, after the retention: there are no tombstones');
SELECT is(pg_temp.keys('expire.brief'), 1::bigint, 'C035: in place of the old row');
SELECT FROM pg_sleep(0.05);
SELECT is(pg_temp.act('t', 'expire.brief', '{"q":2}', 'r-88'), 'claimed',
	'C035: another request too: what is gone is no conflict');
SELECT is(pg_temp.effects('expire.brief'), 3::bigint, 'C035: three effects');
SELECT FROM pg_sleep(0.05);
SELECT is(idem_expire(), 1, 'C035: deleted');
SELECT is(pg_temp.act('t', 'expire.brief', '{"q":1}', 'r-88'), 'claimed', 'C035: and claimed anew');
SELECT FROM idem_define('expire.step', identity => 'occurrence', retention => '1 hour');
SELECT is(pg_temp.act('t', 'expire.step', '{"q":0}', 'x'), 'claimed', 'C033: an intent');
SELECT FROM pg_temp.age('expire.step', '2 hours');
SELECT cmp_ok(idem_expire(), '>=', 1, 'C033: expired and deleted');
SELECT is(pg_temp.act('t', 'expire.step', '{"q":1}', 'x'), 'claimed', 'C033: claimed by another');
SELECT is((idem_claim('t', 'expire.step', '{"q":1}', 'x')).outcome, 'replayed',
	'C033: the loser is told that it is done');
SELECT is((idem_claim('t', 'expire.step', '{"q":2}', 'x')).outcome, 'conflict',
	'C033: or that it was something else');

SELECT FROM pg_temp.remove('expire.brief'); -- which would be due at any time from now on

-- Failures have a retention of their own.
SELECT FROM idem_record('t', 'expire.fail', '{"n":1}', 'e1');
BEGIN;
SELECT FROM idem_claim('t', 'expire.fail', '{"n":2}');
SELECT is(idem_fail('t', idem_key('t', 'expire.fail', '{"n":2}'), '"no"'), 'failed', 'a failure');
COMMIT;
SELECT FROM pg_temp.age('expire.fail', '59 minutes');
SELECT is((idem_lookup('t', 'expire.fail', '{"n":2}')).outcome, 'failed',
	'a failure, within its retention');
SELECT FROM pg_temp.age('expire.fail', '2 minutes');
SELECT ok(idem_lookup('t', 'expire.fail', '{"n":2}') IS NULL, 'past it, it is gone');
SELECT is((idem_lookup('t', 'expire.fail', '{"n":1}')).outcome, 'replayed',
	'what was completed is not');
SELECT is(pg_temp.act('t', 'expire.fail', '{"n":2}'), 'claimed', 'and the effect can be had');

-- Changed retentions: for later completions when shorter, for all that live when longer.
CREATE FUNCTION pg_temp.pass(span interval) RETURNS void LANGUAGE sql AS $$
	SELECT pg_temp.age('expire.change', span);
	UPDATE idem.retention_change SET changed_at = changed_at - span
$$;
CREATE FUNCTION pg_temp.alive() RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(string_agg(n, ' ' ORDER BY n), 'none') FROM unnest('{a, b, c, d}'::text[]) n,
		idem_lookup('t', 'expire.change', to_jsonb(n)) c WHERE c.outcome = 'replayed'
$$;
SELECT FROM idem_record('t', 'expire.change', '"a"');
SELECT FROM pg_temp.pass('2 hours');
SELECT FROM idem_record('t', 'expire.change', '"b"');
SELECT FROM pg_temp.pass('30 minutes');
SELECT is(pg_temp.alive(), 'b', 'retention of an hour: a is past it, b is not');
SELECT is(idem_define('expire.change', retention => '10 days'), 'changed', 'ten days from now on');
SELECT is(pg_temp.alive(), 'b', 'what is gone stays gone');
SELECT FROM idem_record('t', 'expire.change', '"c"');
SELECT FROM pg_temp.pass('9 days');
SELECT is(pg_temp.alive(), 'b c', 'what lived then lives on');
SELECT is(idem_define('expire.change', retention => '1 minute'), 'changed', 'a minute from now on');
SELECT is(pg_temp.alive(), 'b c',
	'for what is completed later, and not for what was promised more');
SELECT FROM idem_record('t', 'expire.change', '"d"');
SELECT is(pg_temp.alive(), 'b c d', 'that too lives');
SELECT FROM pg_temp.pass('2 minutes');
SELECT is(pg_temp.alive(), 'b c', 'a minute long');
SELECT is(idem_expire(), 2, 'expiry deletes just what a claim takes for gone');
SELECT is(pg_temp.alive() || ' of ' || pg_temp.keys('expire.change'), 'b c of 2',
	'and nothing else');
SELECT is(idem_define('expire.change', retention => '2 minutes'), 'changed',
	'two minutes from now on');
SELECT is(pg_temp.alive(), 'b c', 'makes no life shorter');
SELECT FROM pg_temp.pass('24 hours');
SELECT is(pg_temp.alive() || ', ' || idem_expire() || ' deleted', 'none, 2 deleted',
	'after ten days they are gone');

-- Expiry: what is not finished stays, whatever its age.
CREATE TEMP TABLE held AS SELECT n, c.key, c.fence FROM generate_series(1, 6) n,
	LATERAL idem_claim('t', 'expire.call', to_jsonb(n)) c;
SELECT is((SELECT string_agg(CASE n
		WHEN 1 THEN idem_complete('t', key, NULL, NULL, fence)
		WHEN 2 THEN idem_fail('t', key, NULL, fence)
		WHEN 3 THEN idem_release('t', key, fence)
		WHEN 4 THEN idem_unknown('t', key, fence)
		WHEN 5 THEN idem_unknown('t', key, fence)
		ELSE 'open' END, ' ' ORDER BY n) FROM held),
			'completed failed released unknown unknown open', 'one key in each state');
SELECT is(idem_resolve('t', key, 'abandoned'), 'abandoned', 'and one abandoned') FROM held
	WHERE n = 5;
UPDATE idem.key k SET claimed_at = claimed_at - interval '10 years',
	lease_end = lease_end - interval '10 years' FROM held h WHERE k.key = right(h.key, 32)::uuid;
SELECT FROM pg_temp.age('expire.call', '10 years');
SELECT is(idem_expire(), 3, 'C023: completed, failed and abandoned keys are deleted');
SELECT is((SELECT string_agg(state, ' ' ORDER BY state) FROM idem_keys
	WHERE operation = 'expire.call'), 'released sending unknown', 'C023: and no others');
SELECT throws_ok(format($$SELECT idem_complete('t', %L, NULL, NULL, %s)$$, key, fence), 'ID021',
	NULL, 'C023: a late completion of a deleted key fails') FROM held WHERE n = 1;
SELECT is(pg_temp.keys('expire.call'), 3::bigint, 'C023: and makes no row');
SELECT is(idem_complete('t', key, 'late', NULL, fence), 'completed',
	'C023: that of an open key is accepted, whatever its age') FROM held WHERE n = 6;

-- In portions, over a table of several ranges of blocks
SELECT FROM (SELECT idem_record('t', 'expire.many', to_jsonb(n), repeat('x', 100))
	FROM generate_series(1, 9000) n OFFSET 0) s;
SELECT cmp_ok(pg_relation_size('idem.key') / current_setting('block_size')::int, '>', 128::bigint,
	'there are several ranges of blocks');
SELECT is(idem_expire(), 0, 'nothing is due');
SELECT cmp_ok((SELECT count(*) FROM idem.sweep WHERE due > clock_timestamp()), '>=', 2::bigint,
	'which expiry remembers');
SELECT FROM pg_temp.age('expire.many', '2 hours') ;
SELECT FROM (SELECT idem_record('t', 'expire.many', to_jsonb(n))
	FROM generate_series(9001, 9100) n OFFSET 0) s;
SELECT is((SELECT array_agg(idem_expire(max)) FROM unnest('{1, 999, 5000}'::int[]) max),
	'{1,999,5000}', 'no more rows at a time than were asked for');
BEGIN;
SELECT is(idem_expire(100), 100, 'within a transaction');
ROLLBACK;
SELECT is(idem_expire(100000), 3000, 'which is undone with it; the rest');
SELECT is(pg_temp.keys('expire.many'), 100::bigint, 'what came later is there');
SELECT is(idem_expire(), 0, 'and nothing more is due');

-- What expiry remembers does not outlive a change.
SELECT FROM idem_define('expire.brief', identity => 'occurrence', retention => '10 ms');
SELECT FROM idem_define('expire.many', retention => '20 ms');
SELECT FROM idem_record('t', 'expire.many', '"brief"');
SELECT is(pg_temp.act('t', 'expire.brief', '{}', 'after'), 'claimed',
	'a key of a brief retention, after expiry has looked');
SELECT FROM pg_sleep(0.1);
SELECT cmp_ok(idem_expire(), '>=', 2, 'is found when it is due');
SELECT ok(NOT EXISTS (SELECT FROM idem_keys WHERE operation = 'expire.brief'), 'of one operation');
SELECT is(pg_temp.keys('expire.many'), 100::bigint, 'and of the one with a shorter retention now');

-- Retentions beyond the calendar
SELECT FROM idem_record('t', 'expire.ever', '{}');
SELECT is((idem_claim('t', 'expire.ever', '{}')).outcome, 'replayed',
	'a retention beyond all times is no overflow');
SELECT lives_ok('DELETE FROM idem.sweep; SELECT idem_expire()', 'nor to expiry');
SELECT is(pg_temp.keys('expire.ever'), 1::bigint, 'which leaves it');

SELECT FROM pg_temp.remove('expire.brief', 'expire.step', 'expire.fail', 'expire.change',
	'expire.call', 'expire.many', 'expire.ever');
SELECT * FROM finish();
