\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- What ROLLBACK TO SAVEPOINT undoes: claims, completions, failures and releases alike, at every depth.

SELECT FROM idem_define('save.args', identity => 'arguments');
SELECT FROM idem_define('save.call', identity => 'arguments', effect => 'external');

CREATE FUNCTION pg_temp.claimed(n int) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.said(idem_claim('t', 'save.args', jsonb_build_object('n', n)))
$$;
CREATE FUNCTION pg_temp.key(n int) RETURNS text LANGUAGE sql AS $$
	SELECT idem_key('t', 'save.args', jsonb_build_object('n', n))
$$;
-- What is known of a key: its state, and what it was finished with.
CREATE FUNCTION pg_temp.known(n int) RETURNS text LANGUAGE sql AS $$
	SELECT coalesce(outcome || coalesce(' ' || effect_ref, '')
		|| coalesce(' ' || response::text, ''), 'nothing')
	FROM idem_lookup('t', 'save.args', jsonb_build_object('n', n))
$$;
CREATE FUNCTION pg_temp.key_locks() RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'userlock'
$$;

-- A claim
BEGIN;
SAVEPOINT s;
SELECT is(pg_temp.claimed(1), 'claimed/do', 'C015: a claim after the savepoint');
ROLLBACK TO s;
SELECT is(pg_temp.known(1), 'nothing', 'C015: goes with it');
SELECT is(pg_temp.key_locks(), 0::bigint, 'its lock too');
SELECT is(pg_temp.claimed(1), 'claimed/do', 'C015: and the next claim owns it');
SELECT is(idem_complete('t', pg_temp.key(1), 'second'), 'completed', 'and completes it');
COMMIT;
SELECT is(pg_temp.known(1), 'replayed second', 'C015: which is what is recorded');

-- An effect that fails, and is recorded as having failed
BEGIN;
SELECT is(pg_temp.claimed(2), 'claimed/do', 'C015: a claim before the savepoint');
SAVEPOINT s;
INSERT INTO effect (operation) VALUES ('save.args');
SELECT 1/0;
ROLLBACK TO s;
SELECT is(pg_temp.claimed(2), 'in_progress/stop', 'C015: is still there after it');
SELECT is(idem_complete('t', pg_temp.key(2), NULL, '{"error":"declined"}'), 'completed',
	'C015: and can be completed');
COMMIT;
SELECT is(pg_temp.known(2), 'replayed {"error": "declined"}', 'C015: the decline is replayed');
SELECT is(pg_temp.effects('save.args'), 0::bigint, 'C015: there is no effect');

-- Every way to finish
CREATE FUNCTION pg_temp.finish(ending text, n int) RETURNS text LANGUAGE sql AS $$
	SELECT CASE ending
		WHEN 'complete' THEN idem_complete('t', pg_temp.key(n), 'undone', '"undone"')
		WHEN 'fail' THEN idem_fail('t', pg_temp.key(n), '"undone"')
		WHEN 'release' THEN idem_release('t', pg_temp.key(n)) END
$$;
BEGIN;
SELECT is(pg_temp.claimed(10 + i), 'claimed/do', 'claimed: ' || i) FROM generate_series(1, 3) i;
SAVEPOINT s;
SELECT is(pg_temp.finish(ending, 10 + i), done, 'after a savepoint: ' || done)
	FROM (VALUES (1, 'complete', 'completed'), (2, 'fail', 'failed'),
		(3, 'release', 'released')) v (i, ending, done);
SELECT is(pg_temp.known(11), 'replayed undone "undone"', 'completed, within');
SELECT is(pg_temp.known(12), 'failed "undone"', 'failed, within');
SELECT is(pg_temp.known(13), 'nothing', 'released, within');
ROLLBACK TO s;
SELECT is(pg_temp.known(10 + i), 'in_progress', 'open again: ' || i) FROM generate_series(1, 3) i;
SELECT is(idem_complete('t', pg_temp.key(10 + i), 'kept'), 'completed',
	'to be finished once more: ' || i) FROM generate_series(1, 3) i;
COMMIT;
SELECT is(pg_temp.known(10 + i), 'replayed kept', 'as it was: ' || i) FROM generate_series(1, 3) i;

-- Depth: each level undoes its own, and RELEASE hands to the level above.
BEGIN;
SELECT is(pg_temp.claimed(20), 'claimed/do', 'level 0 claims');
SAVEPOINT a;
SELECT is(idem_release('t', pg_temp.key(20)), 'released', 'level 1 releases');
SAVEPOINT b;
SELECT is(pg_temp.claimed(20), 'claimed/do', 'level 2 claims again');
SAVEPOINT c;
SELECT is(idem_complete('t', pg_temp.key(20), 'three'), 'completed', 'level 3 completes');
SELECT is(pg_temp.claimed(21), 'claimed/do', 'and claims another');
RELEASE c;
SELECT is(pg_temp.known(20), 'replayed three', 'RELEASE of level 3 keeps it');
SELECT is(idem_complete('t', pg_temp.key(21), 'two'), 'completed',
	'level 2 completes what level 3 claimed');
ROLLBACK TO b;
SELECT is(pg_temp.known(20), 'nothing', 'ROLLBACK TO level 2: released');
SELECT is(pg_temp.known(21), 'nothing', 'and the other never claimed');
ROLLBACK TO a;
SELECT is(pg_temp.known(20), 'in_progress', 'ROLLBACK TO level 1: open');
RELEASE a;
SELECT is(pg_temp.key_locks(), 1::bigint, 'one lock, of the claim that is left');
SELECT is(idem_complete('t', pg_temp.key(20), 'zero'), 'completed', 'level 0 completes');
COMMIT;
SELECT is(pg_temp.known(20) || ', ' || pg_temp.known(21), 'replayed zero, nothing',
	'that is what is recorded');

-- Released and claimed again, in the same level and in another
BEGIN;
SELECT is(pg_temp.claimed(30), 'claimed/do', 'claimed');
SELECT is(idem_release('t', pg_temp.key(30)), 'released', 'released');
SELECT throws_ok($$SELECT idem_complete('t', pg_temp.key(30))$$, 'ID021', NULL,
	'a released claim cannot be completed');
SELECT is(pg_temp.claimed(30), 'claimed/do', 'claimed again');
SAVEPOINT s;
SELECT is(idem_release('t', pg_temp.key(30)), 'released', 'released in a savepoint');
SELECT throws_ok($$SELECT idem_complete('t', pg_temp.key(30))$$, 'ID021', NULL,
	'it cannot be completed either');
RELEASE s;
SELECT is(pg_temp.claimed(30), 'claimed/do', 'claimed again outside of it');
SELECT is(idem_release('t', pg_temp.key(30)), 'released', 'and released');
COMMIT;
SELECT is(pg_temp.known(30), 'nothing', 'nothing is recorded of a released claim');
SELECT is(pg_temp.act('t', 'save.args', '{"n":30}'), 'claimed', 'the next one owns it');

-- EXCEPTION blocks are sub-transactions.
CREATE FUNCTION pg_temp.try(n int, fail boolean) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_temp.act('t', 'save.args', jsonb_build_object('n', n));
	IF fail THEN
		RAISE EXCEPTION 'no';
	END IF;
	RETURN 'done';
EXCEPTION WHEN raise_exception THEN
	RETURN 'caught';
END $$;
DELETE FROM effect;
SELECT is(string_agg(pg_temp.try(40 + i, i % 3 = 0), ' ' ORDER BY i),
	'done done caught done done caught', 'a loop of EXCEPTION blocks')
	FROM generate_series(1, 6) i;
SELECT is((pg_temp.effects('save.args'),
	count(*) FILTER (WHERE pg_temp.known(40 + i) LIKE 'replayed%'))::text, '(4,4)',
          'four effects, four keys')
	FROM generate_series(1, 6) i;

-- A cursor that was opened outside lends its claims to the savepoint in which it is read.
BEGIN;
DECLARE claims CURSOR FOR SELECT pg_temp.claimed(50 + i) FROM generate_series(1, 4) i;
SELECT 'claims are fetched as they are read:';
FETCH 1 FROM claims;
SAVEPOINT s;
FETCH 2 FROM claims;
SELECT is(pg_temp.key_locks(), 3::bigint, 'three claims, three locks');
ROLLBACK TO s;
SELECT is(pg_temp.key_locks(), 1::bigint,
	'one, after the savepoint in which two of them were fetched');
SELECT is(pg_temp.known(51) || ', ' || pg_temp.known(52) || ', ' || pg_temp.known(53),
	'in_progress, nothing, nothing', 'and one claim');
CLOSE claims;
SELECT is(pg_temp.key_locks(), 1::bigint, 'which outlives the cursor');
ROLLBACK;

-- External claims that were taken up again are rows: undone by PostgreSQL itself.
SELECT key AS key, fence AS fence FROM idem_claim('t', 'save.call', '{}') \gset
SELECT is(idem_release('t', :'key', :'fence'), 'released', 'an external claim, released');
BEGIN;
SAVEPOINT s;
SELECT is((attempt, fence <> :fence)::text, '(2,t)', 'taken up as attempt 2')
	FROM idem_claim('t', 'save.call', '{}');
ROLLBACK TO s;
SELECT is((c.attempt, pg_temp.keys('save.call', 'o'))::text, '(2,1)',
	'undone, and taken up as attempt 2 again')
	FROM idem_claim('t', 'save.call', '{}') c;
SAVEPOINT s;
SELECT is(idem_release('t', :'key'), 'released', 'released in a savepoint');
ROLLBACK TO s;
SELECT is((idem_claim('t', 'save.call', '{}')).outcome, 'in_progress', 'which is undone');
SELECT is(idem_fail('t', :'key', '"kept"'), 'failed', 'and failed for good');
COMMIT;
SELECT is(pg_temp.shown(idem_claim('t', 'save.call', '{}')),
	'(failed,answer,,f,,"""kept""",f,f,,t,t)', 'which is recorded');

SELECT FROM pg_temp.remove('save.args', 'save.call');
SELECT * FROM finish();
