\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- Many claims in one transaction: beyond a number of locks, what is settled is written early. Nobody
-- can tell, save by the locks.

SELECT FROM idem_define('batch.args', identity => 'arguments');
SELECT FROM idem_define('batch.call', identity => 'arguments', effect => 'external',
	lease => '1 hour');

-- Acts on intents from .. upto; the outcomes that were met, and the most key locks that were held.
CREATE FUNCTION pg_temp.act_all(first int, last int, OUT outcomes text, OUT locks bigint)
	LANGUAGE plpgsql AS $$
DECLARE
	met text[] := '{}';
	held bigint;
BEGIN
	locks := 0;
	FOR i IN first .. last LOOP
		met := met || pg_temp.act('t', 'batch.args', jsonb_build_object('n', i));
		SELECT count(*) INTO held FROM pg_locks
			WHERE pid = pg_backend_pid() AND locktype = 'userlock';
		locks := greatest(locks, held);
	END LOOP;
	SELECT string_agg(DISTINCT m, ' ' ORDER BY m) INTO outcomes FROM unnest(met) m;
END $$;
-- One key and one effect for each intent from .. upto, and none beyond.
CREATE FUNCTION pg_temp.recorded(first int, last int) RETURNS boolean LANGUAGE sql AS $$
	SELECT (SELECT array_agg(i ORDER BY i) FROM generate_series(first, last) i)
	       IS NOT DISTINCT FROM
	       (SELECT array_agg(i ORDER BY i) FROM generate_series(1, 2000) i,
		idem_lookup('t', 'batch.args', jsonb_build_object('n', i)) c
	        WHERE c.outcome = 'replayed')
	   AND pg_temp.keys('batch.args') = last - first + 1
	   AND (SELECT count(DISTINCT key) FROM effect) = last - first + 1
	   AND pg_temp.effects('batch.args') = last - first + 1
$$;
CREATE FUNCTION pg_temp.again() RETURNS void LANGUAGE sql AS $$
	DELETE FROM idem.key k USING idem.operation o
		WHERE o.id = k.policy AND o.operation LIKE 'batch.%';
	DELETE FROM effect
$$;
CREATE FUNCTION pg_temp.key_locks() RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'userlock'
$$;

-- 500 in one transaction
BEGIN;
SELECT is(outcomes, 'claimed', '500 claims in a transaction'),
	cmp_ok(locks, '<=', 65::bigint, 'which hold few locks at a time')
	FROM pg_temp.act_all(1, 500);
SELECT is((SELECT outcomes FROM pg_temp.act_all(1, 500)), 'replayed',
	'each is replayed in the same transaction');
SELECT is((idem_lookup('t', 'batch.args', '{"n":1}')).outcome, 'replayed',
	'and found by a look-up, however early it was written');
SELECT is(idem_complete('t', c.key, c.effect_ref, c.response), 'already',
	'the same completion again is no error')
	FROM idem_claim('t', 'batch.args', '{"n":1}') c;
SELECT throws_ok($$SELECT idem_complete('t', idem_key('t', 'batch.args', '{"n":1}'), 'other')$$,
	'ID023', NULL, 'another one is');
COMMIT;
SELECT ok(pg_temp.recorded(1, 500), 'after the commit: one key and one effect each');
SELECT is((SELECT outcomes FROM pg_temp.act_all(1, 500)), 'replayed', 'and a replay each');
SELECT FROM pg_temp.again();

BEGIN;
SELECT is((SELECT outcomes FROM pg_temp.act_all(1, 500)), 'claimed', '500 claims, rolled back');
ROLLBACK;
SELECT ok(pg_temp.recorded(1, 0), 'leave nothing');
SELECT is((SELECT outcomes FROM pg_temp.act_all(1, 500)), 'claimed', 'and can be claimed anew');
SELECT ok(pg_temp.recorded(1, 500), 'as if they had never been');
SELECT FROM pg_temp.again();

-- Under one snapshot, which does not show what was written early
CREATE FUNCTION pg_temp.twice(last int) RETURNS text LANGUAGE sql AS $$
	SELECT (SELECT outcomes FROM pg_temp.act_all(1, last)) || ', '
		|| (SELECT outcomes FROM pg_temp.act_all(1, last))
$$;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT is(pg_temp.twice(200), 'claimed, replayed', 'point 5: REPEATABLE READ, in one statement');
SELECT is((SELECT outcomes FROM pg_temp.act_all(1, 200)), 'replayed', 'and in the next');
COMMIT;
SELECT ok(pg_temp.recorded(1, 200), 'after the commit: one key and one effect each');
SELECT FROM pg_temp.again();
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT is(pg_temp.twice(200), 'claimed, replayed', 'point 5: SERIALIZABLE, in one statement');
SELECT is((SELECT outcomes FROM pg_temp.act_all(1, 200)), 'replayed', 'and in the next');
COMMIT;
SELECT ok(pg_temp.recorded(1, 200), 'after the commit: one key and one effect each');
SELECT FROM pg_temp.again();

-- A savepoint in the middle: what its level had no part in outlives it.
BEGIN;
SELECT is((SELECT outcomes FROM pg_temp.act_all(1, 60)), 'claimed', '60 claims before a savepoint');
SAVEPOINT s;
SELECT is((SELECT outcomes FROM pg_temp.act_all(61, 300)), 'claimed', '240 after it');
SELECT is((SELECT outcomes FROM pg_temp.act_all(1, 300)), 'replayed', 'all of them are known');
ROLLBACK TO s;
SELECT is((SELECT outcomes FROM pg_temp.act_all(1, 60)), 'replayed',
	'the first 60 are known after ROLLBACK TO');
SELECT is(pg_temp.key_locks(), 60::bigint, 'and guarded');
SELECT is((idem_lookup('t', 'batch.args', jsonb_build_object('n', 61))) IS NULL, true,
	'the others are not known');
SELECT is((SELECT outcomes FROM pg_temp.act_all(61, 300)), 'claimed', 'and can be claimed again');
COMMIT;
SELECT ok(pg_temp.recorded(1, 300), 'after the commit: one key and one effect each');
SELECT FROM pg_temp.again();

-- Claimed outside, completed inside: neither level can write them early.
BEGIN;
SELECT FROM (SELECT idem_claim('t', 'batch.args', jsonb_build_object('n', i))
	FROM generate_series(1, 150) i OFFSET 0) s;
SAVEPOINT s;
SELECT FROM (SELECT idem_complete('t', idem_key('t', 'batch.args', jsonb_build_object('n', i)),
	'undone') FROM generate_series(1, 150) i OFFSET 0) s;
SELECT is((SELECT outcomes FROM pg_temp.act_all(151, 300)), 'claimed',
	'claims within a level that completed others');
ROLLBACK TO s;
SELECT is(count(*), 150::bigint, 'the outer claims are open again')
	FROM generate_series(1, 150) i, idem_lookup('t', 'batch.args', jsonb_build_object('n', i)) c
		WHERE c.outcome = 'in_progress';
SELECT FROM (SELECT idem_complete('t', idem_key('t', 'batch.args', jsonb_build_object('n', i)),
	'kept') FROM generate_series(1, 150) i OFFSET 0) s;
COMMIT;
SELECT is((count(*), count(*) FILTER (WHERE effect_ref = 'kept'))::text, '(150,150)',
	'and were completed once')
	FROM idem_keys WHERE operation = 'batch.args';
SELECT FROM pg_temp.again();

-- RELEASE: a loop of EXCEPTION blocks keeps few locks as well.
CREATE FUNCTION pg_temp.act_in_blocks(last int) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	locks bigint := 0;
BEGIN
	FOR i IN 1 .. last LOOP
		BEGIN
			PERFORM pg_temp.act('t', 'batch.args', jsonb_build_object('n', i));
			IF i % 5 = 0 THEN
				RAISE EXCEPTION 'no';
			END IF;
		EXCEPTION WHEN raise_exception THEN
			NULL;
		END;
		locks := greatest(locks, pg_temp.key_locks());
	END LOOP;
	RETURN locks;
END $$;
BEGIN;
SELECT cmp_ok(pg_temp.act_in_blocks(500), '<=', 65::bigint,
	'500 EXCEPTION blocks hold few locks at a time');
SELECT is(pg_temp.act('t', 'batch.args', '{"n":5}'), 'claimed',
	'one that was undone can be claimed');
ROLLBACK;
BEGIN;
SELECT FROM pg_temp.act_in_blocks(500);
COMMIT;
SELECT is((pg_temp.keys('batch.args'), pg_temp.effects('batch.args'))::text, '(400,400)',
	'the 400 that were not undone are there');
SELECT FROM pg_temp.again();

-- All claimed before the first is completed: open claims are written early as well, none is lost.
BEGIN;
SELECT FROM (SELECT idem_claim('t', 'batch.args', jsonb_build_object('n', i))
	FROM generate_series(1, 300) i OFFSET 0) s;
SELECT cmp_ok(pg_temp.key_locks(), '<=', 130::bigint, 'open claims hold few locks, too');
SELECT FROM (SELECT idem_complete('t', idem_key('t', 'batch.args', jsonb_build_object('n', i)))
	FROM generate_series(1, 300) i OFFSET 0) s;
SELECT FROM idem_record('t', 'batch.args', '{"n":301}');
COMMIT;
SELECT is(pg_temp.keys('batch.args'), 301::bigint, 'and all are recorded');
SELECT FROM pg_temp.again();

-- Claim and completion in one statement, with the early writing between them
BEGIN;
SELECT is(count(*) FILTER (WHERE done = 'completed'), 200::bigint,
	'claims and completions of one statement')
	FROM (SELECT idem_complete('t', (idem_claim('t', 'batch.args', jsonb_build_object('n', i))).key,
		'r' || i) AS done
	      FROM generate_series(1, 200) i OFFSET 0) s;
COMMIT;
SELECT is(pg_temp.keys('batch.args', 'c'), 200::bigint, 'are recorded');

-- One call that claims and completes, in EXCEPTION blocks
DO $$
DECLARE
	answer idem.claim;
BEGIN
	FOR i IN 1..500 LOOP
		BEGIN
			answer := idem_record('t', 'batch.args', jsonb_build_object('block', i));
		EXCEPTION WHEN raise_exception THEN
			NULL;
		END;
		PERFORM set_config('test.locks', greatest(current_setting('test.locks', true)::bigint,
			pg_temp.key_locks())::text, false);
	END LOOP;
END $$;
SELECT cmp_ok(current_setting('test.locks')::bigint, '<=', 64::bigint,
	'500 EXCEPTION blocks with idem_record hold few locks at a time');
SELECT is(pg_temp.keys('batch.args', 'c'), 700::bigint, 'and all are recorded');

-- External claims are rows already when they are written early, and are found again by their key.
BEGIN;
SELECT FROM (SELECT idem_claim('t', 'batch.call', jsonb_build_object('n', i))
	FROM generate_series(1, 200) i OFFSET 0) s;
SELECT cmp_ok(pg_temp.key_locks(), '<=', 64::bigint, '200 external claims hold few locks');
SELECT is((idem_claim('t', 'batch.call', '{"n":1}')).outcome, 'in_progress',
	'a claim that was written early is its own still');
SELECT throws_ok($$SELECT idem_complete('t', idem_key('t', 'batch.call', '{"n":1}'))$$, 'ID024',
	NULL, 'and not committed');
SAVEPOINT s;
SELECT is(idem_fail('t', idem_key('t', 'batch.call', '{"n":1}'), '"undone"'), 'failed',
	'it can fail');
ROLLBACK TO s;
SELECT is(idem_fail('t', idem_key('t', 'batch.call', '{"n":1}'), '"kept"'), 'failed',
	'again, after a rolled-back time');
SELECT is(idem_release('t', idem_key('t', 'batch.call', '{"n":2}')), 'released',
	'another can be released');
SELECT is((idem_claim('t', 'batch.call', '{"n":2}')).attempt, 2,
	'and taken up as the next attempt');
COMMIT;
SELECT is((pg_temp.keys('batch.call', 'o'), pg_temp.keys('batch.call', 'f'))::text, '(199,1)',
	'all are recorded');

SELECT FROM pg_temp.remove('batch.args', 'batch.call');
SELECT * FROM finish();
