\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- Answers for clients, as problem documents.

SELECT FROM idem_define('problem.pay', key_fields => '{"id":"exact"}', conflict_hint => 'GET /payments?key= shows the payment. Another payment needs another id.');
SELECT FROM idem_define('problem.call', key_fields => '{"id":"exact"}', effect => 'external', max_attempts => 1);
SELECT is(idem_problem(c, 'problem.pay'), NULL, 'none for whoever has the effect to do') FROM idem_record('acme', 'problem.pay', '{"id":1,"amount":5}', 'p1', '{"payment":"p1"}') c;
SELECT is(idem_problem(c, 'problem.pay') - 'completed_at', jsonb_build_object('type', 'urn:pg_idem:problem:idempotency_replayed', 'title', 'Done before: nothing was done now', 'status', 200,
	'detail', 'This is the stored receipt of an earlier call. No new effect took place.', 'code', 'idempotency_replayed', 'outcome', 'replayed', 'key', c.key, 'retryable', false,
	'effect_ref', 'p1', 'replayed', true, 'response', '{"payment":"p1"}'::jsonb), 'a replay says that nothing was done now')
	FROM idem_claim('acme', 'problem.pay', '{"id":1,"amount":5}') c;
SELECT is(idem_problem(c, 'problem.pay') - 'completed_at' - 'detail', jsonb_build_object('type', 'urn:pg_idem:problem:idempotency_key_reused', 'title', 'This key was used with a different request', 'status', 422,
	'code', 'idempotency_key_reused', 'outcome', 'conflict', 'key', c.key, 'retryable', false, 'differing_fields', '["amount"]'::jsonb, 'effect_ref', 'p1',
	'conflict_hint', 'GET /payments?key= shows the payment. Another payment needs another id.'), 'a conflict names its fields, the effect that is there, and what to do')
	FROM idem_claim('acme', 'problem.pay', '{"id":1,"amount":6}') c;
SELECT is((p->>'conflict_hint', p ? 'response')::text, '(,f)', 'without the operation there is no hint, and never the other''s response')
	FROM idem_claim('acme', 'problem.pay', '{"id":1,"amount":6}') c CROSS JOIN LATERAL idem_problem(c) p;
SELECT key, fence FROM idem_claim('acme', 'problem.call', '{"id":1}') \gset
SELECT is((p->>'status', p->>'code', p->>'retryable', (p->>'retry_after')::int)::text, '(409,idempotency_in_progress,true,1)', 'in progress, with seconds to wait')
	FROM idem_claim('acme', 'problem.call', '{"id":1}') c CROSS JOIN LATERAL idem_problem(c, 'problem.call', 'https://example.org/problems/') p;
SELECT is(idem_unknown('acme', :'key', :fence), 'unknown', 'unknown');
SELECT is((p->>'status', p->>'code', p->>'type')::text, '(409,idempotency_unresolved,https://example.org/problems/idempotency_unresolved)', 'unresolved')
	FROM idem_claim('acme', 'problem.call', '{"id":1}') c CROSS JOIN LATERAL idem_problem(c, base => 'https://example.org/problems/') p;
SELECT key, fence FROM idem_claim('acme', 'problem.call', '{"id":2}') \gset
SELECT is(idem_release('acme', :'key', :fence), 'released', 'released');
SELECT is(idem_problem(c)->>'code', 'idempotency_exhausted', 'exhausted') FROM idem_claim('acme', 'problem.call', '{"id":2}') c;
SELECT key, fence FROM idem_claim('acme', 'problem.call', '{"id":3}') \gset
SELECT is(idem_fail('acme', :'key', '{"code":"card_declined"}', :fence), 'failed', 'failed');
SELECT is((p->>'status', p->>'code', p->'response'->>'code', p->>'replayed')::text, '(422,idempotency_failed,card_declined,true)', 'a failure of before')
	FROM idem_claim('acme', 'problem.call', '{"id":3}') c CROSS JOIN LATERAL idem_problem(c) p;
SELECT is(idem_problem(NULL::idem.claim), NULL, 'nothing known, no problem');
-- Words that nobody can take for a fresh success
SELECT is(count(*), 0::bigint, 'every other answer says that nothing was done now') FROM unnest('{replayed,failed,in_progress,conflict,unresolved,exhausted,receipt_expired,something_new}'::text[]) outcome
	CROSS JOIN LATERAL idem_problem((outcome, 'stop', 'k', NULL, NULL, NULL, NULL, false, false, NULL, NULL, NULL, NULL, 'm', NULL)::idem.claim) p
	WHERE p->>'title' || ' ' || (p->>'detail') !~* 'nothing was done now|no new effect|not tried again';
SELECT is((idem_problem(s)->>'status') || ' ' || (idem_problem(s)->>'code') || ' ' || (idem_problem(s)->>'retryable'), expected, 'an error: ' || s) FROM (VALUES
	('ID011', '400 idempotency_key_missing false'), ('ID012', '400 idempotency_key_invalid false'), ('ID013', '400 idempotency_key_invalid false'), ('22004', '400 idempotency_request_invalid false'),
	('ID001', '400 idempotency_request_invalid false'), ('40001', '409 idempotency_in_progress true'), ('ID022', '409 idempotency_misuse false'), ('53300', '500 idempotency_unavailable true')) v (s, expected);
SELECT is(idem_problem('ID011', 'key field "id" is missing')->>'detail', 'key field "id" is missing', 'with its message');
SELECT FROM pg_temp.remove('problem.pay', 'problem.call');
SELECT * FROM finish();
