\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- C159: whatever the form of the call, all columns of a row say the same, and a fresh intent is claimed
-- once.

SELECT FROM idem_define('form.args', identity => 'arguments');
SELECT FROM idem_define('form.once', identity => 'arguments');
CREATE TABLE form_effect (n int);
CREATE FUNCTION form_effect(arguments jsonb) RETURNS jsonb LANGUAGE sql AS $$
	INSERT INTO form_effect VALUES ((arguments->>'n')::int) RETURNING jsonb_build_object('row',
		arguments->'n')
$$;

-- Rows as text: outcome, action, whether key, fence and time are there.
CREATE FUNCTION pg_temp.row_text(outcome text, action text, key text, attempt int, fence bigint,
	claimed_at timestamptz)
	RETURNS text LANGUAGE sql AS $$
	SELECT outcome || '/' || action || CASE WHEN attempt = 1
		AND fence IS NOT NULL THEN ' owned' ELSE '' END
	       || CASE WHEN key IS NOT NULL AND claimed_at IS NOT NULL THEN '' ELSE ' incomplete' END
$$;

BEGIN;
CREATE TEMP TABLE answer ON COMMIT DROP AS SELECT (idem_claim('t', 'form.args', '{"n":1}')).*;
SELECT is(pg_temp.row_text(outcome, action, key, attempt, fence, claimed_at), 'claimed/do owned',
	'C159: SELECT (f()).*: one row, from one claim')
	FROM answer;
SELECT is(a.fence, c.fence, 'C159: and with the fence of that claim')
	FROM answer a, (SELECT idem_release('t', key, fence) AS released, fence FROM answer) c
		WHERE released = 'released';
ROLLBACK;

BEGIN;
SELECT is(pg_temp.row_text(outcome, action, key, attempt, fence, claimed_at), 'claimed/do owned',
	'C159: SELECT * FROM f()')
	FROM idem_claim('t', 'form.args', '{"n":1}');
SELECT is(pg_temp.row_text(outcome, action, key, attempt, fence, claimed_at), 'in_progress/stop',
	'C159: and the next statement is another call')
	FROM idem_claim('t', 'form.args', '{"n":1}');
ROLLBACK;

-- Three rows
BEGIN;
SELECT is(string_agg(pg_temp.row_text(outcome, action, key, attempt, fence, claimed_at),
	', ' ORDER BY n),
          'claimed/do owned, claimed/do owned, claimed/do owned',
	'C159: LATERAL over three rows: three claims')
	FROM generate_series(1, 3) n, LATERAL idem_claim('t', 'form.args', jsonb_build_object('n', n));
SELECT is(string_agg(pg_temp.row_text(outcome, action, key, attempt, fence, claimed_at),
	', ' ORDER BY n),
          'claimed/do owned, in_progress/stop, in_progress/stop',
	'C159: LATERAL, the same intent thrice: one claim')
	FROM generate_series(1, 3) n, LATERAL idem_claim('t', 'form.args',
		jsonb_build_object('n', 9 + 0 * n));
ROLLBACK;
BEGIN;
SELECT is(string_agg(pg_temp.row_text(outcome, action, key, attempt, fence, claimed_at),
	', ' ORDER BY n),
          'claimed/do owned, claimed/do owned, claimed/do owned',
	'C159: (f()).* over three rows: three claims')
	FROM (SELECT n, (idem_claim('t', 'form.args', jsonb_build_object('n', n))).*
		FROM generate_series(1, 3) n OFFSET 0) s;
SELECT is(string_agg(pg_temp.row_text(outcome, action, key, attempt, fence, claimed_at),
	', ' ORDER BY n),
          'claimed/do owned, in_progress/stop, in_progress/stop',
	'C159: (f()).*, the same intent thrice: one claim')
	FROM (SELECT n, (idem_claim('t', 'form.args', '{"n":9}')).*
		FROM generate_series(1, 3) n OFFSET 0) s;
SELECT is(string_agg(pg_temp.row_text(outcome, action, key, attempt, fence, claimed_at),
	', ' ORDER BY n),
          'claimed/do owned, claimed/do owned, in_progress/stop, in_progress/stop',
	'C159: (f()).*, two intents in turn')
	FROM (SELECT n, (idem_claim('t', 'form.args', jsonb_build_object('n', 20 + n % 2))).*
		FROM generate_series(1, 4) n OFFSET 0) s;
ROLLBACK;

-- Two calls in one statement are two calls.
BEGIN;
SELECT is(pg_temp.said(idem_claim('t', 'form.args', '{"n":1}')) || ' '
	|| pg_temp.said(idem_claim('t', 'form.args', '{"n":1}')),
          'claimed/do in_progress/stop', 'two calls in one expression: one claim');
SELECT is(a.outcome || ' ' || b.outcome, 'claimed in_progress', 'two calls in FROM: one claim')
	FROM idem_claim('t', 'form.args', '{"n":2}') a, idem_claim('t', 'form.args', '{"n":2}') b;
SELECT is(outcome || ' ' || (SELECT outcome FROM idem_claim('t', 'form.args', '{"n":3}') OFFSET 0),
	'claimed in_progress', 'a sub-select: one claim')
	FROM idem_claim('t', 'form.args', '{"n":3}');
ROLLBACK;

-- So are two uses of a function that the planner inlines, or of a view: a plan that has the call at
-- the same place twice still has two calls, and one of them owns the intent.
CREATE FUNCTION pg_temp.claim_action(arguments jsonb) RETURNS text LANGUAGE sql AS $$
	SELECT (idem_claim('t', 'form.args', arguments)).action
$$;
CREATE FUNCTION pg_temp.record_action(arguments jsonb, ref text) RETURNS text LANGUAGE sql AS $$
	SELECT (idem_record('t', 'form.args', arguments, ref)).action
$$;
CREATE TEMP VIEW claim_action AS SELECT (idem_claim('t', 'form.args', '{"n":"view"}')).action;
BEGIN;
SELECT is(pg_temp.claim_action('{"n":1}') || ' ' || pg_temp.claim_action('{"n":1}'), 'do stop',
	'C159: an inlined function, twice: one claim');
SELECT is(pg_temp.record_action('{"n":2}', 'a') || ' ' || pg_temp.record_action('{"n":2}', 'b'),
	'do answer', 'C159: with idem_record: one record');
SELECT is(a.action || ' ' || b.action, 'do stop', 'C159: a view, twice: one claim')
	FROM claim_action a, claim_action b;
ROLLBACK;
BEGIN;
SELECT is(string_agg(action, ' ' ORDER BY action), 'do stop',
	'C159: a view in both arms of a UNION')
	FROM (SELECT action FROM claim_action UNION ALL SELECT action FROM claim_action) u;
ROLLBACK;

-- Loops, prepared statements and functions evaluate one place again: each time is a call.
BEGIN;
DO $$
DECLARE
	answer idem.claim;
	said text[] := '{}';
BEGIN
	FOR i IN 1 .. 3 LOOP
		SELECT (idem_claim('t', 'form.args', '{"n":1}')).* INTO answer;
		said := said || pg_temp.said(answer);
		answer := idem_claim('t', 'form.args', '{"n":2}');
		said := said || pg_temp.said(answer);
		SELECT * INTO answer FROM idem_claim('t', 'form.args', '{"n":3}');
		said := said || pg_temp.said(answer);
	END LOOP;
	PERFORM set_config('form.said', said::text, true);
END $$;
SELECT is(current_setting('form.said'),
	'{claimed/do,claimed/do,claimed/do,in_progress/stop,in_progress/stop,in_progress/stop,in_progress/stop,in_progress/stop,in_progress/stop}',
          'a loop in PL/pgSQL, in three forms');
PREPARE claim AS SELECT pg_temp.said(ROW((idem_claim('t', 'form.args', '{"n":4}')).*)::idem.claim);
EXECUTE claim;
EXECUTE claim;
DEALLOCATE claim;
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
CREATE TEMP TABLE answer (n serial, said text) ON COMMIT DROP;
INSERT INTO answer (said) SELECT outcome || '/' || action
	FROM (SELECT (idem_claim('t', 'form.args', '{"n":5}')).* OFFSET 0) s;
INSERT INTO answer (said) SELECT outcome || '/' || action
	FROM (SELECT (idem_claim('t', 'form.args', '{"n":5}')).* OFFSET 0) s;
SELECT is(string_agg(said, ' ' ORDER BY n), 'claimed/do in_progress/stop',
	'two statements under one snapshot are two calls') FROM answer;
ROLLBACK;

-- The forms that claim and finish in one call
BEGIN;
CREATE TEMP TABLE answer ON COMMIT DROP AS SELECT (idem_record('t', 'form.args', '{"n":6}', 'ref',
	'"r"')).*;
SELECT is(pg_temp.row_text(outcome, action, key, attempt, fence, claimed_at), 'claimed/do owned',
	'C159: (idem_record()).*: one row, from one claim') FROM answer;
COMMIT;
SELECT is((effect_ref, response)::text, '(ref,"""r""")', 'C159: and one record')
	FROM idem_claim('t', 'form.args', '{"n":6}');
SELECT (idem_once('t', 'form.once', '{"n":7}', 'form_effect(jsonb)', ref_field => 'row')).*,
	'x' AS x \gset once_
SELECT is((:'once_outcome', :'once_action', :'once_effect_ref', :'once_response')::text,
	'(claimed,answer,7,"{""row"": 7}")',
          'C159: (idem_once()).*: one row');
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

-- A condition may be evaluated for any row.
BEGIN;
SELECT is(count(*), 1::bigint, 'a claim in WHERE: one of three equal rows passes')
	FROM generate_series(1, 3) n WHERE (idem_claim('t', 'form.args',
		jsonb_build_object('where', n * 0))).action = 'do';
ROLLBACK;

DROP TABLE form_effect;
DROP FUNCTION form_effect(jsonb);
SELECT FROM pg_temp.remove('form.args', 'form.once');
SELECT * FROM finish();
