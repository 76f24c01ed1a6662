\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- The mistakes of a naive caller, each of which is an error: with idem_guard on the table of effects, or without.

SELECT FROM idem_define('guard.refund', key_fields => '{"id":"exact"}', key_prefix => 'gr');
SELECT FROM idem_define('guard.other', key_fields => '{"id":"exact"}', key_prefix => 'gr');
SELECT FROM idem_define('guard.call', key_fields => '{"id":"exact"}', effect => 'external', key_prefix => 'gc');
CREATE TABLE guard_refund (id integer, tenant text, idem_key text);
CREATE TRIGGER guard BEFORE INSERT ON guard_refund FOR EACH ROW EXECUTE FUNCTION idem_guard('guard.refund', 'idem_key', 'tenant');
CREATE FUNCTION pg_temp.refunds() RETURNS bigint LANGUAGE sql AS 'SELECT count(*) FROM guard_refund';
CREATE FUNCTION pg_temp.refund(id integer, key text, tenant text DEFAULT 'acme') RETURNS void LANGUAGE sql AS $$
	INSERT INTO guard_refund VALUES ($1, $3, $2)
$$;
SELECT idem_key('acme', 'guard.refund', '{"id":1}') AS key1 \gset

-- As it is meant
BEGIN;
SELECT is((idem_claim('acme', 'guard.refund', '{"id":1}')).action, 'do', 'a claim');
SELECT lives_ok(format('SELECT pg_temp.refund(1, %L)', :'key1'), 'its effect');
SELECT is(idem_complete('acme', :'key1', 'r1'), 'completed', 'its completion');
COMMIT;
SELECT is((pg_temp.refunds(), pg_temp.keys('guard.refund'))::text, '(1,1)', 'one effect, one key');
BEGIN;
SELECT is((r).action, 'do', 'recorded in one call') FROM (SELECT idem_record('acme', 'guard.refund', '{"id":2}', 'r2') r OFFSET 0) s;
SELECT lives_ok(format('SELECT pg_temp.refund(2, %L)', idem_key('acme', 'guard.refund', '{"id":2}')), 'and its effect after it');
COMMIT;
CREATE FUNCTION guard_once(arguments jsonb) RETURNS jsonb LANGUAGE sql AS $$
	INSERT INTO guard_refund VALUES ((arguments->>'id')::int, 'acme', idem_key('acme', 'guard.refund', arguments)) RETURNING to_jsonb(id)
$$;
SELECT is((idem_once('acme', 'guard.refund', '{"id":3}', 'guard_once(jsonb)')).response, '3', 'by idem_once');
BEGIN;
SELECT is(count(*) FILTER (WHERE c.action = 'do'), 300::bigint, 'a batch') FROM idem_claim_many('acme', 'guard.refund', (SELECT array_agg(jsonb_build_object('id', n)) FROM generate_series(1001, 1300) n)) c;
SELECT count(idem_complete('acme', idem_key('acme', 'guard.refund', jsonb_build_object('id', n)))) FROM generate_series(1001, 1150) n \gset
SELECT is(count(*), 300::bigint, 'its effects, before and after its completions')
	FROM (SELECT pg_temp.refund(n, idem_key('acme', 'guard.refund', jsonb_build_object('id', n))) FROM generate_series(1001, 1300) n OFFSET 0) s;
SELECT is(count(idem_complete('acme', idem_key('acme', 'guard.refund', jsonb_build_object('id', n)))), 150::bigint, 'the other completions') FROM generate_series(1151, 1300) n;
COMMIT;
SELECT is((pg_temp.refunds(), pg_temp.keys('guard.refund'))::text, '(303,303)', 'an effect for each key');

-- The outcome ignored
SELECT is((idem_claim('acme', 'guard.refund', '{"id":1}')).outcome, 'replayed', 'a repeat');
SELECT throws_ok(format('SELECT pg_temp.refund(%s)', arguments), 'ID02B', 'this transaction holds no claim of operation "guard.refund" for a row of table "guard_refund"', description)
	FROM (VALUES (1, format('1, %L', :'key1'), 'whose caller does not look at the outcome'), (2, '1, NULL', 'an effect without a key'), (3, $$1, 'x'$$, 'with something else'),
		(4, format('9, %L', idem_key('acme', 'guard.refund', '{"id":9}')), 'with a key that was not claimed')) v (n, arguments, description) ORDER BY n;
BEGIN;
SELECT is((idem_claim('acme', 'guard.refund', '{"id":4}')).action, 'do', 'a claim');
SELECT throws_ok(format('SELECT pg_temp.refund(%s)', arguments), 'ID02B', NULL, description)
	FROM (VALUES (1, format('4, %L, %L', idem_key('acme', 'guard.refund', '{"id":4}'), 'other'), 'for another tenant'),
		(2, format('4, %L', idem_key('acme', 'guard.refund', '{"id":4}') || '-2'), 'for another generation'),
		(3, format('4, %L', 'xx' || substr(idem_key('acme', 'guard.refund', '{"id":4}'), 3)), 'for another prefix')) v (n, arguments, description) ORDER BY n;
SELECT is(idem_release('acme', idem_key('acme', 'guard.refund', '{"id":4}')), 'released', 'given back');
SELECT throws_ok(format('SELECT pg_temp.refund(4, %L)', idem_key('acme', 'guard.refund', '{"id":4}')), 'ID02B', NULL, 'is not held any more');
SELECT is((idem_claim('acme', 'guard.other', '{"id":5}')).action, 'do', 'a claim of another operation');
SELECT throws_ok(format('SELECT pg_temp.refund(5, %L)', idem_key('acme', 'guard.other', '{"id":5}')), 'ID02B', NULL, 'is not one of this');
ROLLBACK;
BEGIN;
SELECT is((idem_claim('acme', 'guard.refund', '{"id":4}')).action, 'do', 'a claim');
SELECT is(idem_fail('acme', idem_key('acme', 'guard.refund', '{"id":4}'), '"no"'), 'failed', 'that has failed');
SELECT throws_ok(format('SELECT pg_temp.refund(4, %L)', idem_key('acme', 'guard.refund', '{"id":4}')), 'ID02B', NULL, 'has no effect');
ROLLBACK;

-- The effect done, and said not to be
BEGIN;
SELECT is((idem_claim('acme', 'guard.refund', '{"id":8}')).action, 'do', 'a claim');
SAVEPOINT s;
SELECT FROM pg_temp.refund(8, idem_key('acme', 'guard.refund', '{"id":8}'));
SELECT throws_ok(format('SELECT %s(%L, %L)', function, 'acme', idem_key('acme', 'guard.refund', '{"id":8}')), 'ID02E', function || '() is for a claim without an effect', function || ' is refused while its effect stands')
	FROM (VALUES ('idem_fail'), ('idem_release')) v (function);
ROLLBACK TO s;
SELECT is(idem_release('acme', idem_key('acme', 'guard.refund', '{"id":8}')), 'released', 'and not when it is rolled back');
COMMIT;
SELECT is((SELECT count(*) FROM guard_refund WHERE id = 8), 0::bigint, 'nothing has happened');

-- The effect undone by an inner savepoint, and its completion not
BEGIN;
SELECT is((idem_claim('acme', 'guard.refund', '{"id":6}')).action, 'do', 'a claim');
SAVEPOINT s;
SELECT FROM pg_temp.refund(6, idem_key('acme', 'guard.refund', '{"id":6}'));
ROLLBACK TO s;
SELECT is(idem_complete('acme', idem_key('acme', 'guard.refund', '{"id":6}')), 'completed', 'completed, but its effect is gone');
COMMIT;
SELECT is(idem_lookup('acme', idem_key('acme', 'guard.refund', '{"id":6}')), NULL, 'is refused at COMMIT');
BEGIN;
SELECT is((idem_claim('acme', 'guard.refund', '{"id":6}')).action, 'do', 'a claim');
SAVEPOINT s;
SELECT FROM pg_temp.refund(6, idem_key('acme', 'guard.refund', '{"id":6}'));
ROLLBACK TO s;
SELECT FROM pg_temp.refund(6, idem_key('acme', 'guard.refund', '{"id":6}'));
SELECT is(idem_complete('acme', idem_key('acme', 'guard.refund', '{"id":6}')), 'completed', 'done a second time');
COMMIT;
SELECT is((idem_lookup('acme', idem_key('acme', 'guard.refund', '{"id":6}'))).outcome, 'replayed', 'is what is committed');
-- An error that is swallowed takes claim, effect and completion with it.
DO $$
BEGIN
	PERFORM idem_claim('acme', 'guard.refund', '{"id":7}'), pg_temp.refund(7, idem_key('acme', 'guard.refund', '{"id":7}')), idem_complete('acme', idem_key('acme', 'guard.refund', '{"id":7}'));
	PERFORM 1 / 0;
EXCEPTION WHEN division_by_zero THEN
END $$;
SELECT is((idem_lookup('acme', idem_key('acme', 'guard.refund', '{"id":7}')) IS NULL, (SELECT count(*) FROM guard_refund WHERE id = 7))::text, '(t,0)', 'an error that is swallowed leaves neither');

-- Mistakes that need no guard
SELECT is((idem_claim('acme', 'guard.refund', '{"id":8}')).outcome, 'claimed', 'autocommit between claim and completion'); -- ID025
SELECT throws_ok(format('SELECT idem_complete(%L, %L)', 'acme', idem_key('acme', 'guard.refund', '{"id":8}')), 'ID021', NULL, 'there is nothing to complete');
BEGIN;
SELECT is((idem_claim('acme', 'guard.refund', '{"id":8}')).action, 'do', 'a completion that is forgotten');
SELECT FROM pg_temp.refund(8, idem_key('acme', 'guard.refund', '{"id":8}'));
COMMIT;
SELECT is((SELECT count(*) FROM guard_refund WHERE id = 8), 0::bigint, 'takes the effect with it');
BEGIN;
SELECT key, fence FROM idem_claim('acme', 'guard.call', '{"id":1}') \gset
SELECT throws_ok(format('SELECT idem_complete(%L, %L, fence => %s)', 'acme', :'key', :fence), 'ID024', NULL, 'completed before the call is sent');
COMMIT;
SELECT throws_ok(format('SELECT idem_complete(%L, %L)', 'acme', :'key'), 'ID022', NULL, 'a missing fence');
SELECT throws_ok(format('SELECT idem_complete(%L, %L, fence => %s)', 'acme', :'key', :fence + 1), 'ID022', NULL, 'a wrong one');
SELECT throws_ok($$SELECT (idem_claim('acme', 'guard.refund', '{"id":10}')).*$$, '0A000', NULL, 'a claim in a select list');

-- The trigger itself
CREATE TABLE guard_misuse (k text);
SELECT throws_ok($$SELECT idem_guard()$$, '39P01', 'idem_guard() must be called as a trigger', 'a trigger is not called');
CREATE FUNCTION pg_temp.misuse(trigger text, statement text DEFAULT $$INSERT INTO guard_misuse VALUES ('x')$$) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE 'CREATE TRIGGER misuse ' || trigger;
	EXECUTE statement;
END $$;
SELECT throws_ok(format('SELECT pg_temp.misuse(%L)', trigger), state, message, trigger) FROM (VALUES
	($$BEFORE INSERT ON guard_misuse FOR EACH STATEMENT EXECUTE FUNCTION idem_guard('guard.refund', 'k')$$, '39P01', 'idem_guard() must be fired for each row that is inserted or updated'),
	($$BEFORE INSERT ON guard_misuse FOR EACH ROW EXECUTE FUNCTION idem_guard('guard.refund')$$, '39P01', 'idem_guard() takes an operation, the column of the key, and perhaps that of the tenant'),
	($$BEFORE INSERT ON guard_misuse FOR EACH ROW EXECUTE FUNCTION idem_guard('guard.refund', 'key')$$, '42703', 'column "key" of idem_guard() does not exist')) v (trigger, state, message);

DROP TABLE guard_refund, guard_misuse;
DROP FUNCTION guard_once(jsonb);
SELECT FROM pg_temp.remove('guard.refund', 'guard.other', 'guard.call');
SELECT * FROM finish();
