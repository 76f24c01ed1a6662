\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- Two versions of one operation: an intent that was claimed under the lower one is the same intent under
-- the higher one, and has one effect.

SELECT FROM idem_define('version.pay', key_fields => '{"id":"exact"}', unchecked_fields => '{note}',
	key_prefix => 'v1');
SELECT is(pg_temp.act('t', 'version.pay', '{"id":1,"kind":"x"}'), 'claimed',
	'an intent of version 1');
SELECT is(pg_temp.act('t', 'version.pay', '{"id":2}'), 'claimed', 'and another');
SELECT is(idem_define('version.pay', version => 2,
	key_fields => '{"id":"exact","kind":"upper optional"}', key_prefix => 'v2'), 'created',
	'version 2');
SELECT is(idem_key('t', 'version.pay', '{"id":1,"kind":"x"}', version => 1),
	idem_key('t', 'version.pay', '{"id":1}', version => 1),
          'version 1 has its keys');
SELECT ok(idem_key('t', 'version.pay', '{"id":1,"kind":"x"}') LIKE 'v2_%',
	'version 2 is the current one');

SELECT is((outcome, key, effect_ref)::text, format('(replayed,%s,e1)',
	idem_key('t', 'version.pay', '{"id":1}', version => 1)),
          'C137: a retry under version 2 is replayed, with the key that was first issued')
	FROM idem_claim('t', 'version.pay', '{"id":1,"kind":"x"}');
SELECT is((idem_claim('t', 'version.pay', '{"id":1,"kind":"x"}', version => 1)).outcome, 'replayed',
	'C137: and under version 1');
SELECT is((idem_claim('t', 'version.pay', '{"id":1,"kind":"y"}')).outcome, 'conflict',
	'C136: compared under the version that it was written with');
SELECT is((idem_claim('t', 'version.pay', '{"id":1,"kind":"x","note":"n"}')).outcome, 'replayed',
	'C136: whose unchecked fields are unchecked');
SELECT is((idem_lookup('t', 'version.pay', '{"id":2}')).outcome, 'replayed',
	'C137: a look-up finds it too');

SELECT is(pg_temp.act('t', 'version.pay', '{"id":3,"kind":"x"}'), 'claimed',
	'a new intent of version 2');
SELECT is(pg_temp.act('t', 'version.pay', '{"id":3,"kind":"y"}'), 'claimed', 'which are two');
SELECT is(pg_temp.act('t', 'version.pay', '{"id":3,"kind":"X"}'), 'replayed', 'and recognised');
SELECT throws_ok($$SELECT idem_claim('t', 'version.pay', '{"id":3}', version => 1)$$, 'ID005', NULL,
                 'C137: nothing new is claimed under version 1, which could not find it');
SELECT throws_ok($$SELECT idem_claim('t', 'version.pay', '{"id":4}', version => 1)$$, 'ID005', NULL,
	'C137: whatever it is');
SELECT is(pg_temp.effects('version.pay'), 4::bigint, 'C137: four effects');
SELECT is(pg_temp.keys('version.pay'), 4::bigint, 'of four keys');

-- A claim guards all keys under which its intent may be asked for.
BEGIN;
SELECT is(pg_temp.said(idem_claim('t', 'version.pay', '{"id":5,"kind":"x"}')), 'claimed/do',
	'claimed under version 2');
SELECT is(count(*), 2::bigint, 'point A: with the lock of both keys') FROM pg_locks
	WHERE pid = pg_backend_pid() AND locktype = 'userlock';
SELECT is(idem_release('t', idem_key('t', 'version.pay', '{"id":5,"kind":"x"}')), 'released',
	'released');
SELECT is(count(*), 0::bigint, 'with both') FROM pg_locks
	WHERE pid = pg_backend_pid() AND locktype = 'userlock';
COMMIT;
BEGIN;
SELECT FROM (SELECT pg_temp.act('t', 'version.pay', jsonb_build_object('id', i, 'kind', 'many'))
	FROM generate_series(101, 300) i OFFSET 0) s;
SELECT cmp_ok(count(*), '<=', 66::bigint, 'and a batch of them keeps few') FROM pg_locks
	WHERE pid = pg_backend_pid() AND locktype = 'userlock';
COMMIT;
SELECT is(pg_temp.effects('version.pay'), 204::bigint, 'one effect each');
SELECT is(pg_temp.keys('version.pay'), 204::bigint, 'one key each');

-- Dropped versions
SELECT throws_ok($$SELECT idem_drop_operation('version.pay', 1)$$, 'ID004', NULL,
	'a version with keys stays');
SELECT FROM pg_temp.age('version.pay', '31 days');
SELECT is(pg_temp.act('t', 'version.pay', '{"id":1,"kind":"x"}'), 'claimed',
	'past its life, an intent of version 1 is a new one of version 2');
SELECT is(idem_expire(), 204, 'expiry deletes the keys of both');
SELECT is(idem_drop_operation('version.pay', 1), 1, 'and then version 1 can go');
SELECT is(pg_temp.act('t', 'version.pay', '{"id":1,"kind":"x"}'), 'replayed',
	'the new key answers');

SELECT FROM pg_temp.remove('version.pay');
SELECT * FROM finish();
