\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- Two versions of one operation: an intent that was claimed under one of them is the same intent under
-- the other, and has one effect.

CREATE FUNCTION pg_temp.aliases(operation text) RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM idem.alias a JOIN idem.key k USING (key) JOIN idem.operation o ON o.id = k.policy
		WHERE o.operation = $1
$$;

CREATE FUNCTION pg_temp.act_as(version int, operation text, arguments jsonb) RETURNS text
	LANGUAGE plpgsql AS $$
DECLARE
	answer idem.claim := idem_claim('t', operation, arguments, version => version);
BEGIN
	IF answer.action = 'do' THEN
		INSERT INTO effect (operation, key) VALUES (operation, answer.key);
		PERFORM idem_complete('t', answer.key, 'e' || currval('effect_n_seq'));
	END IF;
	RETURN answer.outcome;
END $$;

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
SELECT is((SELECT (outcome, effect_ref)::text FROM idem_claim('t', 'version.pay', '{"id":3,"kind":"x"}', version => 1)),
	'(replayed,e3)', 'C137: a client of version 1 finds the one that it means');
SELECT is((SELECT (outcome, effect_ref)::text FROM idem_claim('t', 'version.pay', '{"id":3,"kind":"y"}', version => 1)),
	'(replayed,e4)', 'C137: of several');
SELECT is((SELECT (outcome, effect_ref)::text FROM idem_lookup('t', 'version.pay', '{"id":3,"kind":"y"}', version => 1)),
	'(replayed,e4)', 'C137: a look-up too');
SELECT is((idem_claim('t', 'version.pay', '{"id":3}', version => 1)).outcome, 'conflict',
	'C137: its key is used, whatever else it says');
SELECT is((idem_claim('t', 'version.pay', '{"id":3,"kind":["x"]}', version => 1)).outcome, 'conflict',
	'C136: also when it cannot be read under the version of the row');
SELECT is(pg_temp.act_as(1, 'version.pay', '{"id":4}'), 'claimed', 'a new intent of version 1');
SELECT is((idem_claim('t', 'version.pay', '{"id":4}')).outcome, 'replayed',
	'C137: which version 2 recognises');
SELECT is(pg_temp.effects('version.pay'), 5::bigint, 'C137: five effects');
SELECT is(pg_temp.keys('version.pay'), 5::bigint, 'of five keys');
SELECT is(pg_temp.aliases('version.pay'), 2::bigint, 'those of version 2 carry a key of version 1');

-- Within one transaction: claims that are not written yet, and rows that an early flush wrote.
BEGIN;
SELECT is(pg_temp.act('t', 'version.pay', '{"id":6,"kind":"x"}'), 'claimed', 'version 2');
SELECT is(pg_temp.act('t', 'version.pay', '{"id":6,"kind":"y"}'), 'claimed', 'version 2, another');
SELECT is(pg_temp.act_as(1, 'version.pay', '{"id":6,"kind":"y"}'), 'replayed', 'C137: version 1, the same');
SELECT is(pg_temp.act_as(1, 'version.pay', '{"id":6}'), 'conflict', 'C137: version 1, neither');
SELECT is(pg_temp.act_as(1, 'version.pay', '{"id":7,"kind":"x"}'), 'claimed', 'version 1');
SELECT is(pg_temp.act('t', 'version.pay', '{"id":7,"kind":"x"}'), 'replayed', 'C137: version 2, the same');
SELECT is(pg_temp.said(idem_claim('t', 'version.pay', '{"id":8,"kind":"x"}')), 'claimed/do', 'open');
SELECT is(pg_temp.said(idem_claim('t', 'version.pay', '{"id":8,"kind":"x"}', version => 1)), 'in_progress/stop',
	'C137: is open under version 1 too');
ROLLBACK;
BEGIN;
SAVEPOINT s;
SELECT FROM (SELECT pg_temp.act('t', 'version.pay', jsonb_build_object('id', i, 'kind', 'lost'))
	FROM generate_series(1001, 1100) i OFFSET 0) s;
SELECT is(pg_temp.act_as(1, 'version.pay', '{"id":1001,"kind":"lost"}'), 'replayed',
	'C137: a row that was written early is found by its alias');
ROLLBACK TO s;
SELECT is(pg_temp.act_as(1, 'version.pay', '{"id":1001,"kind":"lost"}'), 'claimed',
	'and is gone with its sub-transaction');
ROLLBACK;
SELECT is(pg_temp.aliases('version.pay'), 2::bigint, 'nothing of that was written');

-- An older snapshot
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT is(pg_temp.act_as(1, 'version.pay', '{"id":3,"kind":"x"}'), 'replayed', 'C137: also in repeatable read');
COMMIT;

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
SELECT is(pg_temp.effects('version.pay'), 205::bigint, 'one effect each');
SELECT is(pg_temp.keys('version.pay'), 205::bigint, 'one key each');

-- Dropped versions
SELECT throws_ok($$SELECT idem_drop_operation('version.pay', 1)$$, 'ID004', NULL,
	'a version with keys stays');
SELECT FROM pg_temp.age('version.pay', '31 days');
SELECT is(pg_temp.act('t', 'version.pay', '{"id":1,"kind":"x"}'), 'claimed',
	'past its life, an intent of version 1 is a new one of version 2');
SELECT is(pg_temp.act_as(1, 'version.pay', '{"id":3,"kind":"x"}'), 'claimed',
	'past its life, an intent of version 2 is a new one of version 1');
SELECT is(pg_temp.act('t', 'version.pay', '{"id":3,"kind":"x"}'), 'replayed', 'C137: which version 2 finds');
SELECT is(idem_expire(), 205, 'expiry deletes the keys of both');
SELECT is((SELECT count(*) FROM idem.alias), 1::bigint, 'and their aliases');
SELECT throws_ok($$SELECT idem_retire_version('version.pay', 1)$$, 'ID004', NULL,
	'a version with keys is not retired');
SELECT FROM pg_temp.age('version.pay', '31 days');
SELECT is(pg_temp.act('t', 'version.pay', '{"id":1,"kind":"x"}'), 'claimed', 'again');
SELECT is((SELECT count(*) FROM idem.alias), 1::bigint, 'its alias is there already');
SELECT is(idem_expire(), 1, 'the last key of version 1');
SELECT is(idem_drop_operation('version.pay', 1), 1, 'and then version 1 can go');
SELECT is(pg_temp.act('t', 'version.pay', '{"id":1,"kind":"x"}'), 'replayed',
	'the new key answers');

SELECT is((SELECT count(*) FROM idem.alias), 1::bigint, 'the alias stays with its row');

-- External effects: a released row of the higher version is taken up from the lower one.
SELECT FROM idem_define('version.call', key_fields => '{"id":"exact"}', effect => 'external');
SELECT FROM idem_define('version.call', version => 2, key_fields => '{"id":"exact","kind":"exact"}',
	effect => 'external');
SELECT key AS key, fence AS fence FROM idem_claim('t', 'version.call', '{"id":1,"kind":"x"}') \gset
SELECT is(pg_temp.said(idem_claim('t', 'version.call', '{"id":1,"kind":"x"}', version => 1)), 'in_progress/wait',
	'C137: under way under version 2');
SELECT FROM idem_release('t', :'key', :fence);
BEGIN;
SELECT is((SELECT (outcome, action, attempt, key)::text FROM idem_claim('t', 'version.call', '{"id":1,"kind":"x"}', version => 1)),
	format('(claimed,do,2,%s)', :'key'), 'C137: taken up under version 1, with its key');
SELECT is(count(*), 2::bigint, 'under the lock of that key too') FROM pg_locks
	WHERE pid = pg_backend_pid() AND locktype = 'userlock';
SELECT is(pg_temp.said(idem_claim('t', 'version.call', '{"id":1,"kind":"x"}', version => 1)), 'in_progress/stop',
	'C136: the claim is compared under the version of its row');
SELECT is(pg_temp.said(idem_claim('t', 'version.call', '{"id":1,"kind":"x"}')), 'in_progress/stop',
	'C136: under either version');
COMMIT;
SELECT is(pg_temp.keys('version.call'), 1::bigint, 'it is one row');

SELECT FROM pg_temp.remove('version.pay', 'version.call');
SELECT is((SELECT count(*) FROM idem.alias), 0::bigint, 'no alias is left');
SELECT * FROM finish();
