\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- C159: whatever the form of the call, a fresh intent is claimed once, and no row contradicts itself: a
-- form in which it would is refused.

SELECT FROM idem_define('form.args', identity => 'arguments');
SELECT FROM idem_define('form.once', identity => 'arguments');
CREATE TABLE form_effect (n int);
CREATE FUNCTION form_effect(arguments jsonb) RETURNS jsonb LANGUAGE sql AS $$
	INSERT INTO form_effect VALUES ((arguments->>'n')::int)
		RETURNING jsonb_build_object('row', arguments->'n')
$$;

-- One row in FROM, and three
BEGIN;
SELECT is(pg_temp.shown(c), '(claimed,do,1,t,,,f,f,,t,f)', 'C159: SELECT * FROM f()')
	FROM idem_claim('t', 'form.args', '{"n":1}') c;
SELECT is(pg_temp.shown(c), '(in_progress,stop,,f,,,f,f,,t,f)',
	'C159: and the next statement is another call')
	FROM idem_claim('t', 'form.args', '{"n":1}') c;
ROLLBACK;
BEGIN;
SELECT is(string_agg(pg_temp.shown(c), ' ' ORDER BY n),
	'(claimed,do,1,t,,,f,f,,t,f) (claimed,do,1,t,,,f,f,,t,f) (claimed,do,1,t,,,f,f,,t,f)',
	'C159: LATERAL over three rows: three claims')
	FROM generate_series(1, 3) n, LATERAL idem_claim('t', 'form.args', jsonb_build_object('n', n)) c;
SELECT is(count(DISTINCT (key, fence)), 3::bigint, 'C159: of three keys')
	FROM generate_series(11, 13) n,
	     LATERAL idem_claim('t', 'form.args', jsonb_build_object('n', n)) c;
SELECT is(string_agg(pg_temp.said(c), ' ' ORDER BY n), 'claimed/do in_progress/stop in_progress/stop',
	'C159: LATERAL, the same intent thrice: one claim')
	FROM generate_series(1, 3) n,
	     LATERAL idem_claim('t', 'form.args', jsonb_build_object('n', 9 + 0 * n)) c;
ROLLBACK;

-- (f()).* is a call for each column, so a claim in it would own its key in one column only.
CREATE FUNCTION pg_temp.claim_action(arguments jsonb) RETURNS text LANGUAGE sql AS $$
	SELECT (idem_claim('t', 'form.args', arguments)).action
$$;
CREATE FUNCTION pg_temp.record_action(arguments jsonb, ref text) RETURNS text LANGUAGE sql AS $$
	SELECT (idem_record('t', 'form.args', arguments, ref)).action
$$;
SELECT throws_ok(statement, '0A000', NULL, 'C159: refused: ' || statement)
	FROM (VALUES
		(1, $$SELECT (idem_claim('t', 'form.args', '{"n":1}')).*$$),
		(2, $$SELECT n, (idem_claim('t', 'form.args', jsonb_build_object('n', n))).* FROM generate_series(1, 3) n$$),
		(3, $$SELECT (idem_record('t', 'form.args', '{"n":1}', 'r')).*$$),
		(4, $$SELECT pg_temp.claim_action('{"n":1}'), pg_temp.claim_action('{"n":1}')$$),
		(5, $$SELECT pg_temp.record_action('{"n":1}', 'a'), pg_temp.record_action('{"n":1}', 'b')$$)) v (n, statement)
	ORDER BY n;
SELECT is(pg_temp.keys('form.args'), 0::bigint, 'C159: nothing is claimed by them');
SELECT is((idem_record('t', 'form.args', '{"n":6}', 'ref', '"r"')).outcome, 'claimed', 'a key');
CREATE TEMP TABLE answer AS SELECT (idem_claim('t', 'form.args', '{"n":6}')).*;
SELECT is(pg_temp.shown(ROW(a.*)::idem.claim), '(replayed,answer,,f,ref,"""r""",f,f,,t,t)',
	'C159: (f()).* of what is finished says the same in each column')
	FROM answer a;
DROP TABLE answer;

-- A view has no place in the text; its calls are calls, and one of them owns the intent.
CREATE TEMP VIEW claim_action AS SELECT (idem_claim('t', 'form.args', '{"n":"view"}')).action;
BEGIN;
SELECT is(a.action || ' ' || b.action, 'do stop', 'C159: a view, twice: one claim')
	FROM claim_action a, claim_action b;
ROLLBACK;
BEGIN;
SELECT is(string_agg(action, ' ' ORDER BY action), 'do stop', 'C159: a view in both arms of a UNION')
	FROM (SELECT action FROM claim_action UNION ALL SELECT action FROM claim_action) u;
ROLLBACK;

-- Two calls in one statement are two calls.
BEGIN;
SELECT is(pg_temp.said(idem_claim('t', 'form.args', '{"n":1}')) || ' '
	|| pg_temp.said(idem_claim('t', 'form.args', '{"n":1}')), 'claimed/do in_progress/stop',
	'C159: two calls in one expression: one claim');
SELECT is(a.outcome || ' ' || b.outcome, 'claimed in_progress', 'C159: two calls in FROM: one claim')
	FROM idem_claim('t', 'form.args', '{"n":2}') a, idem_claim('t', 'form.args', '{"n":2}') b;
SELECT is(outcome || ' ' || (SELECT outcome FROM idem_claim('t', 'form.args', '{"n":3}') OFFSET 0),
	'claimed in_progress', 'C159: a sub-select: one claim')
	FROM idem_claim('t', 'form.args', '{"n":3}');
SELECT is(count(*), 1::bigint, 'C159: a claim in WHERE: one of three equal rows passes')
	FROM generate_series(1, 3) n
	WHERE (idem_claim('t', 'form.args', jsonb_build_object('where', n * 0))).action = 'do';
ROLLBACK;

-- Loops, prepared statements and functions evaluate one place again: each time is a call.
BEGIN;
DO $$
DECLARE
	answer idem.claim;
	said text[] := '{}';
BEGIN
	FOR i IN 1 .. 3 LOOP
		answer := idem_claim('t', 'form.args', '{"n":2}');
		said := said || pg_temp.said(answer);
		SELECT * INTO answer FROM idem_claim('t', 'form.args', '{"n":3}');
		said := said || pg_temp.said(answer);
	END LOOP;
	PERFORM set_config('form.said', array_to_string(said, ' '), true);
END $$;
SELECT is(current_setting('form.said'), 'claimed/do claimed/do in_progress/stop in_progress/stop '
	'in_progress/stop in_progress/stop', 'C159: a loop in PL/pgSQL, in two forms');
PREPARE claim AS SELECT pg_temp.said(c) FROM idem_claim('t', 'form.args', '{"n":4}') c;
\echo # a prepared statement, twice
EXECUTE claim;
EXECUTE claim;
DEALLOCATE claim;
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT is(pg_temp.claim_action('{"n":5}'), 'do', 'C159: a statement in REPEATABLE READ');
SELECT is(pg_temp.claim_action('{"n":5}'), 'stop', 'C159: and another one under the same snapshot');
ROLLBACK;

-- idem_once has nothing left to do, so its columns can come from several calls: one effect, one answer.
SELECT (idem_once('t', 'form.once', '{"n":7}', 'form_effect(jsonb)', ref_field => 'row')).* \gset once_
SELECT is((:'once_outcome', :'once_action', :'once_effect_ref', :'once_response')::text,
	'(claimed,answer,7,"{""row"": 7}")', 'C159: (idem_once()).*: one row');
SELECT is((SELECT count(*) FROM form_effect), 1::bigint, 'C159: one effect');
SELECT is(string_agg(DISTINCT outcome || '/' || action || ' ' || effect_ref, ', '),
	'claimed/answer 8, claimed/answer 9', 'C159: over two rows: one row each')
	FROM (SELECT (idem_once('t', 'form.once', jsonb_build_object('n', n), 'form_effect(jsonb)',
		ref_field => 'row')).* FROM generate_series(8, 9) n OFFSET 0) s;
SELECT is((SELECT string_agg(n::text, ' ' ORDER BY n) FROM form_effect), '7 8 9',
	'C159: one effect each');
SELECT is(string_agg(outcome, ' ' ORDER BY n), 'claimed replayed replayed',
	'C159: the same intent thrice, in one statement')
	FROM (SELECT n, (idem_once('t', 'form.once', '{"n":10}', 'form_effect(jsonb)')).*
	      FROM generate_series(1, 3) n OFFSET 0) s;
SELECT is((SELECT count(*) FROM form_effect WHERE n = 10), 1::bigint, 'C159: one effect');

-- The same where a claim is written early to give locks back: a copy of its call still finds it.
BEGIN;
SELECT is(count(*), 63::bigint, 'sixty-three keys recorded in one transaction')
	FROM (SELECT idem_record('t', 'form.args', jsonb_build_object('early', n)) FROM generate_series(1, 63) n) s;
SAVEPOINT s;
SELECT throws_ok($$SELECT (idem_record('t', 'form.args', '{"early":64}')).*$$, '0A000', NULL,
	'C159: (f()).* with the sixty-fourth lock is refused as well');
ROLLBACK;
SELECT is(count(*) FILTER (WHERE outcome = 'claimed' AND action = 'answer' AND message LIKE 'the effect was done now%'),
	200::bigint, 'C159: no row contradicts itself over two hundred claims in one statement')
	FROM (SELECT n, (idem_once('t', 'form.once', jsonb_build_object('n', 1000 + n), 'form_effect(jsonb)')).*
	      FROM generate_series(1, 200) n OFFSET 0) s;
SELECT is((SELECT count(*) FROM form_effect WHERE n > 1000), 200::bigint, 'C159: two hundred effects');

DROP TABLE form_effect;
DROP FUNCTION form_effect(jsonb);
SELECT FROM pg_temp.remove('form.args', 'form.once');
SELECT * FROM finish();
