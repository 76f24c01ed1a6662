\set ECHO none
\pset format unaligned
\pset tuples_only
SET client_min_messages = warning;

-- idem_explain_key: what a reviewer reads before approving a policy.

SELECT FROM no_plan();

CREATE FUNCTION pg_temp.explained(operation text, arguments jsonb, occurrence text DEFAULT NULL)
	RETURNS SETOF text LANGUAGE sql AS $$
	SELECT concat_ws(' ', coalesce(path, '-'), role, coalesce(type, '-'), coalesce(normalised, '-'), note)
	FROM idem_explain_key('acme', operation, arguments, occurrence)
$$;

SELECT FROM idem_define('explain.pay', key_prefix => 'pay', unchecked_fields => '{trace.id, nonce}',
	key_fields => '{"order.ref": "text", "amount": "minor_units(currency)", "currency": "trim|upper",
	                "batch": "integer optional", "\"a.b\"": "set optional"}');
SELECT FROM idem_define('explain.step', identity => 'occurrence', unchecked_fields => '{attempt}');
SELECT FROM idem_define('explain.all', identity => 'arguments', unchecked_fields => '{sent.at}');

\set pay '{"order": {"ref": " A  1 "}, "amount": "12.5", "currency": " gbp", "a.b": [2, 1, 1.0], "reason": "late", "trace": {"id": 5}, "meta": {"x y": {"z": [1.0, null]}, "e": {}, "on": true}, "note": null}'
SELECT results_eq($$SELECT * FROM pg_temp.explained('explain.pay', $$ || quote_literal(:'pay') || ')', ARRAY[
	'"a.b" key array [1,2]',
	'amount key string 1250',
	'batch key - - is absent, as an optional field may be',
	'currency key string "GBP"',
	'order.ref key string "A 1"',
	'meta.e bound object {}',
	'meta.on bound boolean true',
	'meta."x y".z bound array [1,null]',
	'note bound null null',
	'order bound object {} has members in the key or unchecked only, but must stay an object',
	'reason bound string "late"',
	'trace bound object {} has members in the key or unchecked only, but must stay an object',
	'nonce unchecked - - is absent',
	'trace.id unchecked number -',
	'- preimage - explain.pay:v1:{"args":{"a.b":[1,2],"amount":1250,"currency":"GBP","order":{"ref":"A 1"}},"tenant":"acme"}',
	'- key - ' || idem_key('acme', 'explain.pay', :'pay')], 'fields: every field has one row and its role');
SELECT is(left(encode(sha256(convert_to(normalised, 'UTF8')), 'hex'), 32),
          right(idem_key('acme', 'explain.pay', :'pay'), 32), 'the key is the digest of the preimage')
FROM idem_explain_key('acme', 'explain.pay', :'pay') WHERE role = 'preimage';

SELECT results_eq($$SELECT path, note FROM idem_explain_key('acme', 'explain.pay',
	'{"order": {"ref": null}, "amount": "12.505", "currency": "GBP", "batch": 7.5, "a.b": 1}') WHERE note IS NOT NULL$$,
	$$VALUES ('"a.b"', 'is not an array'), ('amount', 'has more decimals than its currency'),
	         ('batch', 'is not a whole number'), ('order.ref', 'is null'),
	         ('order', 'has members in the key or unchecked only, but must stay an object'),
	         ('nonce', 'is absent'), ('trace.id', 'is absent'),
	         (NULL, 'key field ""a.b"" is not an array'), (NULL, 'key field ""a.b"" is not an array')$$,
	'every bad field is noted in its row, and nothing is raised');

SELECT results_eq($$SELECT * FROM pg_temp.explained('explain.pay', '[1]')$$, ARRAY[
	'"a.b" key - - is absent, as an optional field may be', 'amount key - - is missing',
	'batch key - - is absent, as an optional field may be', 'currency key - - is missing',
	'order.ref key - - is missing', ' bound array [1]', 'nonce unchecked - - is absent',
	'trace.id unchecked - - is absent', '- preimage - - arguments are not a JSON object',
	'- key - - arguments are not a JSON object'], 'arguments that are no object have an empty path');

SELECT results_eq($$SELECT * FROM pg_temp.explained('explain.step', '{"n": 1.50, "attempt": 2}', 'step 1')$$, ARRAY[
	'n bound number 1.5', 'attempt unchecked number -',
	'- preimage - explain.step:occurrence:{"occurrence":"step 1","tenant":"acme"}',
	'- key - ' || idem_key('acme', 'explain.step', '{}', 'step 1')], 'occurrence: all arguments are bound');
SELECT results_eq($$SELECT * FROM pg_temp.explained('explain.step', '{}')$$, ARRAY[
	'attempt unchecked - - is absent', '- preimage - - operation needs an occurrence',
	'- key - - operation needs an occurrence'], 'C071: a missing occurrence is noted');

SELECT results_eq($$SELECT * FROM pg_temp.explained('explain.all', '{"b": [], "a": {"c": 1e2}, "sent": {"at": 1}}')$$,
	ARRAY['a.c key number 100', 'b key array []',
	      'sent key object {} has members in the key or unchecked only, but must stay an object',
	      'sent.at unchecked number -',
	      '- preimage - explain.all:v1:{"args":{"a":{"c":100},"b":[],"sent":{}},"tenant":"acme"}',
	      '- key - ' || idem_key('acme', 'explain.all', '{"b": [], "a": {"c": 100}, "sent": {}}')],
	'arguments: all of them are the key');

SELECT results_eq($$SELECT path, normalised FROM idem_explain_key('acme', 'explain.all', (
		SELECT jsonb_object_agg('a', repeat('{"b":', 20) || '1' || repeat('}', 20)) #>> '{a}')::jsonb) LIMIT 1$$,
	$$VALUES ('b.b.b.b.b.b.b.b.b.b.b.b.b.b.b.b', '{"b":{"b":{"b":{"b":1}}}}')$$,
	'what lies deeper than a path reaches is one row');

SELECT throws_ok($$SELECT * FROM idem_explain_key(NULL, 'explain.all', '{}')$$, '22004', 'tenant is NULL',
                 'C071: tenant NULL');
SELECT throws_ok($$SELECT * FROM idem_explain_key('acme', 'explain.none', '{}')$$, 'ID001',
                 'operation "explain.none" is not defined', 'an operation that is not defined');
SELECT throws_ok($$SELECT * FROM idem_explain_key('acme', 'explain.all', '{}', version => 2)$$, 'ID001',
                 'version 2 of operation "explain.all" is not defined', 'a version that is not defined');
SELECT is((SELECT count(*) FROM idem.key k JOIN idem.operation o ON o.id = k.policy WHERE o.operation LIKE 'explain.%'),
          0::bigint, 'nothing was claimed');

SELECT FROM (SELECT DISTINCT operation FROM idem_operations WHERE operation LIKE 'explain.%') o,
	idem_drop_operation(o.operation);
SELECT * FROM finish();
