\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- One-call forms: idem_once runs the effect, idem_record is for an effect done beside it.

SELECT FROM idem_define('once.pay', key_fields => '{"id":"exact"}', unchecked_fields => '{note}',
	key_prefix => 'pay');
SELECT FROM idem_define('once.inner', identity => 'arguments');
SELECT FROM idem_define('once.step', identity => 'occurrence');
SELECT FROM idem_define('once.call', identity => 'arguments', effect => 'external');
CREATE TABLE once_effect (id int, by name DEFAULT current_user);
CREATE SEQUENCE once_runs;
CREATE FUNCTION once_pay(arguments jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	fault text := arguments->>'raise';
BEGIN
	PERFORM nextval('once_runs');
	INSERT INTO once_effect VALUES ((arguments->>'id')::int);
	IF fault <> '' THEN
		RAISE EXCEPTION 'no money' USING ERRCODE = fault, DETAIL = 'Balance is 3.',
			HINT = 'Pay later.';
	END IF;
	RETURN arguments->'answer';
END $$;
-- How often the effect ran, and how many rows of it are there.
CREATE FUNCTION pg_temp.effects() RETURNS text LANGUAGE sql AS $$
	SELECT (SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM once_runs) || ' runs, '
	       || (SELECT count(*) FROM once_effect) || ' rows'
$$;

-- Success and replay
SELECT is(pg_temp.shown(idem_once('t', 'once.pay', '{"id":1,"answer":{"ref":"r-1","n":1.50}}',
	'once_pay(jsonb)', ref_field => 'ref')),
          '(claimed,answer,,f,r-1,"{""n"": 1.50, ""ref"": ""r-1""}",f,f,,t,t)',
	'the first call runs the effect and returns its response');
SELECT is(pg_temp.shown(idem_once('t', 'once.pay',
	'{"answer":{"ref":"r-1","n":1.5},"note":"x","id":1}', 'once_pay(jsonb)', ref_field => 'ref')),
          '(replayed,answer,,f,r-1,"{""n"": 1.50, ""ref"": ""r-1""}",f,f,,t,t)',
	'the second returns the same and runs nothing');
SELECT is((idem_claim('t', 'once.pay', '{"id":1,"answer":{"ref":"r-1","n":1.5}}')).outcome,
	'replayed', 'idem_claim meets it as well');
SELECT is((idem_once('t', 'once.pay', '{"id":1,"answer":{"ref":"r-2"}}',
	'once_pay(jsonb)')).outcome, 'conflict', 'another request is a conflict');
SELECT is(pg_temp.effects(), '1 runs, 1 rows', 'the effect ran once');
SELECT is((idem_once('t', 'once.step', '{"id":2}', 'once_pay(jsonb)', 'evt_1')).outcome, outcome,
	'by occurrence: ' || outcome)
	FROM unnest('{claimed, replayed}'::text[]) outcome;
SELECT is(pg_temp.effects(), '2 runs, 2 rows', 'likewise once');

-- The id of the effect in its response
SELECT is((idem_once('t', 'once.pay', arguments::jsonb, 'once_pay(jsonb)',
	ref_field => 'ref')).effect_ref, ref, 'effect_ref: ' || ref)
	FROM (VALUES ('{"id":10,"answer":{"ref":12345678901234567890}}', '12345678901234567890'),
		('{"id":11,"answer":{"ref":1.50}}', '1.50'),
	             ('{"id":12,"answer":{"ref":"Zo\u00eb"}}', 'Zoë')) v (arguments, ref);
SELECT throws_ok(format($$SELECT idem_once('t', 'once.pay', %L, 'once_pay(jsonb)', ref_field => 'ref')$$,
	arguments), '22023', NULL,
                 'a response without it is an error: ' || arguments)
	FROM (VALUES ('{"id":13}'), ('{"id":13,"answer":null}'), ('{"id":13,"answer":"ref"}'),
		('{"id":13,"answer":["ref"]}'),
	             ('{"id":13,"answer":{"Ref":"r"}}'), ('{"id":13,"answer":{"ref":null}}'),
		('{"id":13,"answer":{"ref":{"id":1}}}')) v (arguments);
SELECT is((SELECT count(*) FROM once_effect WHERE id = 13), 0::bigint,
	'and then there is no effect');
SELECT is((idem_once('t', 'once.pay', '{"id":13}', 'once_pay(jsonb)')).outcome, 'claimed',
	'nor a key');
SELECT is(pg_temp.shown(idem_claim('t', 'once.pay', '{"id":13}')),
	'(replayed,answer,,f,,,f,f,,t,t)', 'an effect may return NULL');

-- An error of the effect
TRUNCATE once_effect;
ALTER SEQUENCE once_runs RESTART;
SELECT throws_ok($$SELECT idem_once('t', 'once.pay', '{"id":20,"raise":"P0001"}', 'once_pay(jsonb)')$$,
	'P0001', 'no money', 'raise: the error is the caller''s');
SELECT is(pg_temp.effects(), '1 runs, 0 rows', 'the effect is rolled back');
SELECT ok(idem_lookup('t', 'once.pay', '{"id":20,"raise":"P0001"}') IS NULL,
	'and nothing is claimed');
SELECT is(pg_temp.shown(idem_once('t', 'once.pay', '{"id":20,"raise":"P0001"}', 'once_pay(jsonb)',
	on_error => 'fail')),
          '(failed,answer,,f,,"{""hint"": ""Pay later."", ""detail"": ""Balance is 3."", ""message"": ""no money"", ""sqlstate"": ""P0001""}",f,f,,t,t)',
          'fail: the error is the answer');
SELECT is(pg_temp.effects(), '2 runs, 0 rows', 'the effect is rolled back too');
SELECT is((response->>'sqlstate', outcome)::text, '(P0001,failed)', 'and the failure is replayed')
	FROM idem_claim('t', 'once.pay', '{"id":20,"raise":"P0001"}');
SELECT is((idem_once('t', 'once.pay', '{"id":20,"raise":"P0001"}', 'once_pay(jsonb)')).outcome,
	'failed', 'to idem_once as well');
SELECT is(pg_temp.effects(), '2 runs, 0 rows', 'which ran nothing');
BEGIN;
INSERT INTO once_effect VALUES (0);
SELECT is((idem_once('t', 'once.pay', '{"id":21,"raise":"23514"}', 'once_pay(jsonb)',
	on_error => 'fail')).outcome, 'failed', 'fail, within a transaction');
INSERT INTO once_effect VALUES (1);
COMMIT;
SELECT is(pg_temp.effects(), '3 runs, 2 rows', 'leaves the rest of the transaction alone');
SELECT is((idem_lookup('t', 'once.pay', '{"id":21,"raise":"23514"}')).response->>'sqlstate',
	'23514', 'and is recorded with it');

-- Errors that say nothing of the effect are raised, whatever on_error says.
SELECT throws_ok(format($$SELECT idem_once('t', 'once.pay', '{"id":22,"raise":"%s"}', 'once_pay(jsonb)', on_error => 'fail')$$,
	state), state, NULL,
                 'C082: never stored: ' || why)
	FROM (VALUES ('40001', 'serialization failure'), ('40P01', 'deadlock'),
		('55P03', 'lock not available'),
	             ('53100', 'disk full'), ('08006', 'connection lost'), ('58030', 'system error'),
		('XX000', 'internal error'),
	             ('ID021', 'an error of a ledger')) v (state, why);
SELECT FROM idem_once('t', 'once.pay', '{"id":22,"raise":"57014"}', 'once_pay(jsonb)',
	on_error => 'fail');
SELECT is(:'SQLSTATE'::text, '57014', 'C082: never stored: cancelled');
SELECT is(count(*), 0::bigint, 'C082: nothing is recorded of them')
	FROM unnest('{40001, 40P01, 55P03, 57014, 53100, 08006, 58030, XX000, ID021}'::text[]) state,
	     idem_lookup('t', 'once.pay', jsonb_build_object('id', 22, 'raise', state)) c
		WHERE c.outcome IS NOT NULL;
SELECT is((idem_once('t', 'once.pay', '{"id":22}', 'once_pay(jsonb)', on_error => 'fail')).outcome,
	'claimed', 'C082: and the next attempt has its effect');
SELECT is((SELECT count(*) FROM once_effect WHERE id = 22), 1::bigint, 'C082: once');

-- What may be an effect
CREATE FUNCTION once_json(arguments json) RETURNS jsonb LANGUAGE sql AS 'SELECT $1::jsonb';
CREATE FUNCTION once_void(arguments jsonb) RETURNS void LANGUAGE sql AS '';
CREATE FUNCTION once_set(arguments jsonb) RETURNS SETOF jsonb LANGUAGE sql AS 'SELECT $1';
CREATE FUNCTION once_two(arguments jsonb, more jsonb DEFAULT NULL) RETURNS jsonb
	LANGUAGE sql AS 'SELECT $1';
CREATE PROCEDURE once_procedure(INOUT arguments jsonb) LANGUAGE sql AS 'SELECT $1';
CREATE AGGREGATE once_aggregate(jsonb) (SFUNC = jsonb_concat, STYPE = jsonb);
SELECT throws_ok(format($$SELECT idem_once('t', 'once.pay', '{"id":30}', %L)$$, effect), '42809',
	NULL, 'no effect: ' || effect)
	FROM unnest('{once_json(json), once_void(jsonb), once_set(jsonb), "once_two(jsonb,jsonb)", once_procedure(jsonb), once_aggregate(jsonb)}'::text[]) effect;
SELECT throws_ok($$SELECT idem_once('t', 'once.pay', '{"id":30}', 'once_none(jsonb)')$$, '42883',
	NULL, 'no effect: one that does not exist');
SELECT throws_ok($$SELECT idem_once('t', 'once.pay', '{"id":30}', 4294967295::oid::regprocedure)$$,
	'42883', NULL, 'no effect: a number that is none');
SELECT throws_ok($$SELECT idem_once('t', 'once.call', '{"id":30}', 'once_pay(jsonb)')$$, 'ID024',
	NULL, 'an external effect has no one-call form');
SELECT throws_ok($$SELECT idem_record('t', 'once.call', '{"id":30}')$$, 'ID024', NULL,
	'in neither of the two');
SELECT ok(idem_lookup('t', 'once.pay', '{"id":30}') IS NULL
	AND idem_lookup('t', 'once.call', '{"id":30}') IS NULL, 'and nothing is claimed');
SELECT is((SELECT count(*) FROM once_effect WHERE id = 30), 0::bigint, 'no effect ran');

-- Nested: an effect with an effect within; and one that asks for its own key.
CREATE FUNCTION once_outer(arguments jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	nested idem.claim := idem_once('t', 'once.inner', arguments->'inner', 'once_pay(jsonb)',
		on_error => coalesce(arguments->>'on_error', 'raise'));
	own idem.claim := idem_once('t', 'once.pay', arguments, 'once_outer(jsonb)');
BEGIN
	IF arguments ? 'raise' THEN
		RAISE EXCEPTION 'outer';
	END IF;
	RETURN jsonb_build_object('inner', nested.outcome, 'own', own.outcome || '/' || own.action);
END $$;
TRUNCATE once_effect;
SELECT is((idem_once('t', 'once.pay', '{"id":40,"inner":{"id":41}}', 'once_outer(jsonb)')).response,
	'{"inner":"claimed","own":"in_progress/stop"}',
          'nested: the inner effect runs, the own key is in progress');
SELECT is((idem_once('t', 'once.pay', '{"id":42,"inner":{"id":41}}', 'once_outer(jsonb)')).response,
	'{"inner":"replayed","own":"in_progress/stop"}',
          'nested: a second outer effect meets the inner one');
SELECT is((idem_once('t', 'once.pay',
	'{"id":43,"inner":{"id":44,"raise":"P0001"},"on_error":"fail"}',
	'once_outer(jsonb)')).response->>'inner', 'failed',
          'nested: an inner effect that fails for good');
SELECT is((idem_once('t', 'once.pay', '{"id":45,"inner":{"id":46},"raise":1}', 'once_outer(jsonb)',
	on_error => 'fail')).outcome, 'failed', 'nested: an outer one that fails');
SELECT is((SELECT string_agg(id::text, ' ') FROM once_effect), '41', 'nested: one effect is left');
SELECT is((idem_once('t', 'once.inner', '{"id":46}', 'once_pay(jsonb)')).outcome, 'claimed',
	'nested: what the failed one had claimed is free');

-- An effect that finishes its own key takes the matter out of our hands: an error, and nothing is left.
CREATE FUNCTION once_meddler(arguments jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO once_effect VALUES ((arguments->>'id')::int);
	IF arguments->>'way' = 'complete' THEN
		PERFORM idem_complete('t', idem_key('t', 'once.pay', arguments), 'mine');
	ELSE
		PERFORM idem_release('t', idem_key('t', 'once.pay', arguments));
	END IF;
	RETURN '{}';
END $$;
SELECT throws_ok(format($$SELECT idem_once('t', 'once.pay', '{"id":47,"way":"%s"}', 'once_meddler(jsonb)')$$,
	way), 'ID023', NULL, 'an effect that finishes its own key: ' || way)
	FROM unnest('{complete, release}'::text[]) way;
SELECT is((SELECT count(*) FROM once_effect WHERE id = 47), 0::bigint, 'leaves no effect');
SELECT ok(idem_lookup('t', 'once.pay', '{"id":47,"way":"complete"}') IS NULL, 'and no key');

-- idem_record
BEGIN;
INSERT INTO once_effect VALUES (50);
SELECT is(pg_temp.shown(idem_record('t', 'once.pay', '{"id":50,"x":1}', 'r-50', '{"ok":1}')),
	'(claimed,do,1,t,r-50,"{""ok"": 1}",f,f,,t,t)', 'record: keep the effect');
COMMIT;
BEGIN;
INSERT INTO once_effect VALUES (50);
SELECT is(pg_temp.shown(idem_record('t', 'once.pay', '{"id":50,"x":1}', 'r-51', '{"ok":2}')),
	'(replayed,answer,,f,r-50,"{""ok"": 1}",f,f,,t,t)', 'record: roll it back');
ROLLBACK;
SELECT is((idem_record('t', 'once.pay', '{"id":50,"x":2}', 'r-52')).outcome, 'conflict',
	'record: another request');
SELECT is((idem_record('t', 'once.step', '{}', 'r-53', NULL, 'evt_2')).outcome, outcome,
	'record by occurrence: ' || outcome)
	FROM unnest('{claimed, replayed}'::text[]) outcome;
SELECT is((SELECT count(*) FROM once_effect WHERE id = 50), 1::bigint, 'record: one effect');

DROP TABLE once_effect;
DROP SEQUENCE once_runs;
DROP FUNCTION once_pay(jsonb), once_outer(jsonb), once_meddler(jsonb), once_json(json),
	once_void(jsonb),
	once_set(jsonb), once_two(jsonb, jsonb);
DROP PROCEDURE once_procedure(jsonb);
DROP AGGREGATE once_aggregate(jsonb);
SELECT FROM pg_temp.remove('once.pay', 'once.inner', 'once.step', 'once.call');
SELECT * FROM finish();
