\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- External effects, transaction after transaction: the claim is committed before the call goes out, and
-- only its fence finishes it.

SELECT FROM idem_define('ext.call', key_fields => '{"id":"exact"}', unchecked_fields => '{note}',
	key_prefix => 'call', effect => 'external',
	lease => '1 hour', retry_after => '7 seconds');

-- Claims an intent and keeps its key and fence.
CREATE TEMP TABLE held (id text PRIMARY KEY, key text, fence bigint, attempt int);
CREATE FUNCTION pg_temp.take(id text, lease interval DEFAULT NULL) RETURNS text LANGUAGE plpgsql
	AS $$
DECLARE
	answer idem.claim := idem_claim('t', 'ext.call', jsonb_build_object('id', id, 'x', 1),
		lease => lease);
BEGIN
	IF answer.action = 'do' THEN
		INSERT INTO held VALUES (id, answer.key, answer.fence, answer.attempt)
			ON CONFLICT ON CONSTRAINT held_pkey DO UPDATE SET fence = excluded.fence,
				attempt = excluded.attempt;
	END IF;
	RETURN answer.outcome || '/' || answer.action || coalesce(' attempt ' || answer.attempt, '');
END $$;
CREATE FUNCTION pg_temp.key(id text) RETURNS text LANGUAGE sql
	AS $$ SELECT key FROM held h WHERE h.id = $1 $$;
CREATE FUNCTION pg_temp.fence(id text) RETURNS bigint LANGUAGE sql
	AS $$ SELECT fence FROM held h WHERE h.id = $1 $$;
CREATE FUNCTION pg_temp.asked(id text) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.shown(idem_claim('t', 'ext.call', jsonb_build_object('id', id, 'x', 1)))
$$;
CREATE FUNCTION pg_temp.asked_otherwise(id text) RETURNS text LANGUAGE sql AS $$
	SELECT outcome || '/' || action || coalesce(' ' || response::text, '')
		|| coalesce(' attempt ' || attempt, '')
	FROM idem_claim('t', 'ext.call', jsonb_build_object('id', id, 'x', 2))
$$;
-- Ends a lease in place of waiting for it.
CREATE FUNCTION pg_temp.lapse(id text) RETURNS void LANGUAGE sql AS $$
	UPDATE idem.key SET lease_end = clock_timestamp() - interval '1 microsecond'
		WHERE key = right(pg_temp.key(id), 32)::uuid
$$;

-- Claimed, committed, under way, completed
BEGIN;
SELECT is(pg_temp.take('a'), 'claimed/do attempt 1', 'claimed');
SELECT is(pg_temp.asked('a'), '(in_progress,stop,,f,,,f,f,,t,f)',
	'in progress, in its own transaction');
SELECT throws_ok($$SELECT idem_complete('t', pg_temp.key('a'), 'p-1', NULL, pg_temp.fence('a'))$$,
	'ID024', NULL, 'not to be completed before it is committed');
SELECT throws_ok($$SELECT idem_unknown('t', pg_temp.key('a'), pg_temp.fence('a'))$$, 'ID024', NULL,
	'nor to be unknown');
COMMIT;
SELECT is(pg_temp.keys('ext.call', 'o'), 1::bigint, 'an open claim is a row');
SELECT is(pg_temp.asked('a'), '(in_progress,wait,,f,,,f,t,t,t,f)',
	'in progress under its lease: retryable, with retry_after');
SELECT is(pg_temp.asked_otherwise('a'), 'conflict/stop',
	'C064: another request is a conflict, in flight');
SELECT throws_ok($$SELECT idem_complete('t', pg_temp.key('a'), 'p-1')$$, 'ID022', NULL,
	'completing needs the fence');
SELECT throws_ok($$SELECT idem_complete('t', pg_temp.key('a'), 'p-1', NULL, pg_temp.fence('a') # 1)$$,
	'ID022', NULL, 'that very one');
SELECT throws_ok($$SELECT idem_fail('t', pg_temp.key('a'), NULL, pg_temp.fence('a') # 1)$$, 'ID022',
	NULL, 'failing too');
SELECT throws_ok($$SELECT idem_release('t', pg_temp.key('a'), pg_temp.fence('a') # 1)$$, 'ID022',
	NULL, 'releasing too');
SELECT throws_ok($$SELECT idem_unknown('t', pg_temp.key('a'))$$, 'ID022', NULL, 'giving up too');
SELECT throws_ok($$SELECT idem_complete('u', pg_temp.key('a'), 'p-1', NULL, pg_temp.fence('a'))$$,
	'ID021', NULL, 'another tenant has no such claim');
SELECT throws_ok($$SELECT idem_resolve('t', pg_temp.key('a'), 'retry')$$, 'ID027', NULL,
	'a claim under its lease needs no decision');
SELECT is(pg_temp.asked('a'), '(in_progress,wait,,f,,,f,t,t,t,f)',
	'none of which has changed anything');
SELECT is(idem_complete('t', pg_temp.key('a'), 'p-1', '{"ok":1}', pg_temp.fence('a')), 'completed',
	'completed with its fence');
SELECT is(idem_complete('t', pg_temp.key('a'), 'p-1', '{"ok":1.0}', pg_temp.fence('a')), 'already',
	'the same again is no error');
SELECT throws_ok($$SELECT idem_complete('t', pg_temp.key('a'), 'p-2', '{"ok":1}', pg_temp.fence('a'))$$,
	'ID023', NULL, 'another result is');
SELECT throws_ok($$SELECT idem_complete('t', pg_temp.key('a'), 'p-1', '{"ok":1}', 7)$$, 'ID022',
	NULL, 'and another fence');
SELECT throws_ok($$SELECT idem_fail('t', pg_temp.key('a'), '{"ok":1}', pg_temp.fence('a'))$$,
	'ID023', NULL, 'it cannot fail any more');
SELECT throws_ok($$SELECT idem_release('t', pg_temp.key('a'), pg_temp.fence('a'))$$, 'ID023', NULL,
	'nor be released');
SELECT throws_ok($$SELECT idem_unknown('t', pg_temp.key('a'), pg_temp.fence('a'))$$, 'ID023', NULL,
	'nor be unknown');
SELECT throws_ok($$SELECT idem_resolve('t', pg_temp.key('a'), 'retry')$$, 'ID027', NULL,
	'nor be decided on');
SELECT is(pg_temp.asked('a'), '(replayed,answer,,f,p-1,"{""ok"": 1}",f,f,,t,t)', 'replayed');
SELECT is(pg_temp.asked_otherwise('a'), 'conflict/stop',
	'C064: another request is a conflict, completed');

-- Failed for good
SELECT is(pg_temp.take('f'), 'claimed/do attempt 1', 'claimed');
SELECT is(idem_fail('t', pg_temp.key('f'), '{"no":1}', pg_temp.fence('f')), 'failed',
	'C082: a permanent decline');
SELECT is(idem_fail('t', pg_temp.key('f'), '{"no":1}', pg_temp.fence('f')), 'already',
	'the same again is no error');
SELECT throws_ok($$SELECT idem_complete('t', pg_temp.key('f'), NULL, '{"no":1}', pg_temp.fence('f'))$$,
	'ID023', NULL, 'it cannot be completed any more');
SELECT is(pg_temp.asked('f'), '(failed,answer,,f,,"{""no"": 1}",f,f,,t,t)',
	'C082: is replayed as failed');
SELECT is(pg_temp.asked_otherwise('f'), 'conflict/stop', 'another request is a conflict, failed');

-- Known not to have happened
SELECT is(pg_temp.take('r'), 'claimed/do attempt 1', 'claimed');
SELECT is(idem_release('t', pg_temp.key('r'), pg_temp.fence('r')), 'released',
	'C082: a failure that may pass');
SELECT throws_ok($$SELECT idem_complete('t', pg_temp.key('r'), 'p', NULL, pg_temp.fence('r'))$$,
	'ID022', NULL, 'whose fence is void then');
SELECT is((outcome, key IS NOT NULL)::text, '(,t)', 'a look-up knows the key, and no outcome')
	FROM idem_lookup('t', pg_temp.key('r'));
SELECT is(pg_temp.asked_otherwise('r'), 'conflict/stop', 'another request is a conflict, released');
SELECT fence AS fence FROM held WHERE id = 'r' \gset
SELECT is(pg_temp.take('r'), 'claimed/do attempt 2', 'C082: the next claim is attempt 2');
SELECT isnt(pg_temp.fence('r'), :fence, 'C022: with a fence of its own');
SELECT throws_ok(format($$SELECT idem_complete('t', pg_temp.key('r'), 'p', NULL, %s)$$, :fence),
	'ID022', NULL, 'C022: the first attempt''s is refused');
SELECT is(idem_complete('t', pg_temp.key('r'), 'p-3', NULL, pg_temp.fence('r')), 'completed',
	'C022: the second''s is not');
SELECT is(pg_temp.asked('r'), '(replayed,answer,,f,p-3,,f,f,,t,t)',
	'C022: and its result is replayed');

-- A further attempt that ends in the transaction that took it up
SELECT is(pg_temp.take('g'), 'claimed/do attempt 1', 'claimed');
SELECT is(idem_release('t', pg_temp.key('g'), pg_temp.fence('g')), 'released', 'released');
BEGIN;
SELECT is(pg_temp.take('g'), 'claimed/do attempt 2', 'taken up');
SELECT is(idem_fail('t', pg_temp.key('g'), '{"no":2}', pg_temp.fence('g')), 'failed',
	'and failed at once');
SELECT is(pg_temp.asked('g'), '(failed,answer,,f,,"{""no"": 2}",f,f,,t,t)',
	'the stored error is told in the same transaction');
SELECT is((idem_lookup('t', pg_temp.key('g'))).response, '{"no":2}', 'to a look-up too');
COMMIT;
SELECT is(pg_temp.asked('g'), '(failed,answer,,f,,"{""no"": 2}",f,f,,t,t)', 'and in a later one');

-- Nobody knows: said by the owner, or by the clock
SELECT is(pg_temp.take('u'), 'claimed/do attempt 1', 'claimed');
SELECT is(idem_unknown('t', pg_temp.key('u'), pg_temp.fence('u')), 'unknown', 'unknown');
SELECT is(idem_unknown('t', pg_temp.key('u'), pg_temp.fence('u')), 'already',
	'the same again is no error');
SELECT is(pg_temp.asked('u'), '(unresolved,stop,,f,,,f,f,,t,f)',
	'is unresolved, whatever is left of the lease');
SELECT is(pg_temp.asked_otherwise('u'), 'conflict/stop', 'another request is a conflict, unknown');
SELECT is(pg_temp.take('l'), 'claimed/do attempt 1', 'claimed');
SELECT FROM pg_temp.lapse('l');
SELECT is(pg_temp.asked('l'), '(unresolved,stop,,f,,,f,f,,t,f)',
	'C021: is unresolved: never claimed by a second');
SELECT is(pg_temp.asked_otherwise('l'), 'conflict/stop', 'another request is a conflict, lapsed');
SELECT is((outcome, action)::text, '(unresolved,stop)', 'C021: waiting does not change it')
	FROM idem_claim('t', 'ext.call', '{"id":"l","x":1}', wait => '10 s');
SELECT is(idem_complete('t', pg_temp.key('u'), 'late', NULL, pg_temp.fence('u')), 'completed',
	'a completion that comes late is accepted: unknown');
SELECT is(idem_complete('t', pg_temp.key('l'), 'late', NULL, pg_temp.fence('l')), 'completed',
	'a completion that comes late is accepted: lapsed');
SELECT is(pg_temp.asked(id), '(replayed,answer,,f,late,,f,f,,t,t)', 'and replayed: ' || id)
	FROM unnest('{l, u}'::text[]) id;

-- A person decides on attempts that were lost.
SELECT is(pg_temp.take(id), 'claimed/do attempt 1', 'claimed: ' || id)
	FROM unnest('{d1, d2, d3}'::text[]) id;
SELECT FROM pg_temp.lapse('d1') a, pg_temp.lapse('d2') b, pg_temp.lapse('d3') c;
SELECT is(idem_resolve('t', pg_temp.key('d1'), 'completed', 'found', '{"at":"provider"}',
	'asked them'), 'completed', 'decided: it was done');
SELECT is(idem_resolve('t', pg_temp.key('d2'), 'retry', note => 'they have none'), 'released',
	'decided: it was not');
SELECT is(idem_resolve('t', pg_temp.key('d3'), 'abandoned', NULL, '{"why":"closed"}',
	'account closed'), 'abandoned', 'decided: it is not to be');
SELECT is(pg_temp.asked('d1'), '(replayed,answer,,f,found,"{""at"": ""provider""}",f,f,,t,t)',
	'done is replayed');
SELECT is(pg_temp.asked('d3'), '(failed,answer,,f,,"{""why"": ""closed""}",f,f,,t,t)',
	'abandoned is replayed as failed');
SELECT is(pg_temp.asked_otherwise(id), 'conflict/stop',
	'another request is a conflict, decided: ' || id) FROM unnest('{d1, d2, d3}'::text[]) id;
SELECT throws_ok($$SELECT idem_complete('t', pg_temp.key('d1'), 'found', '{"at":"provider"}', pg_temp.fence('d1'))$$,
	'ID023', NULL, 'the lost attempt cannot complete what was decided: done');
SELECT throws_ok($$SELECT idem_complete('t', pg_temp.key('d2'), 'late', NULL, pg_temp.fence('d2'))$$,
	'ID022', NULL, 'the lost attempt cannot complete what was decided: retry');
SELECT throws_ok($$SELECT idem_complete('t', pg_temp.key('d3'), 'late', NULL, pg_temp.fence('d3'))$$,
	'ID023', NULL, 'the lost attempt cannot complete what was decided: abandoned');
SELECT is(pg_temp.take('d2'), 'claimed/do attempt 2', 'retry is the next attempt');
SELECT throws_ok(format($$SELECT idem_resolve('t', pg_temp.key('%s'), 'retry')$$, id), 'ID027',
	NULL, 'there is nothing more to decide: ' || id)
	FROM unnest('{d1, d2, d3}'::text[]) id;
SELECT is((SELECT string_agg(state || ': ' || note, ', ' ORDER BY note) FROM idem_keys
	WHERE operation = 'ext.call' AND note IS NOT NULL),
          'abandoned: account closed, completed: asked them, sending: they have none',
	'the notes are kept');

-- Leases: of the operation, or of the claim; by the clock, not by the transaction's time
SELECT throws_ok(format($$SELECT pg_temp.take('z', %L)$$, lease), '22023', NULL,
	'C018: no lease of ' || lease)
	FROM unnest('{0, -1 s, 1 microsecond, 999 microseconds}'::interval[]) lease;
SELECT is(pg_temp.take('z', NULL), 'claimed/do attempt 1', 'C018: NULL is the operation''s lease');
SELECT is(pg_temp.take('y', '1 ms'), 'claimed/do attempt 1', 'C018: 1 ms is a lease');
SELECT FROM pg_sleep(0.01);
SELECT is(pg_temp.asked('y'), '(unresolved,stop,,f,,,f,f,,t,f)', 'C018: and ends');
BEGIN;
SELECT FROM pg_sleep(0.05);
SELECT is(pg_temp.take('w', '2 days'), 'claimed/do attempt 1',
	'C028: a claim late in its transaction');
SELECT now() AS began \gset
COMMIT;
SELECT is((lease_end - claimed_at, claimed_at >= :'began'::timestamptz + interval '50 ms')::text,
	'("2 days",t)', 'C028: has its whole lease, from the clock')
	FROM idem_keys WHERE key = pg_temp.key('w');
SELECT is((SELECT count(*) FROM idem_keys WHERE operation = 'ext.call' AND lease_end IS NULL),
	0::bigint, 'C018: no external claim is without one');
SELECT is(pg_temp.take('v', '100 ms'), 'claimed/do attempt 1', 'a lease shorter than retry_after');
SELECT ok(outcome = 'in_progress' AND retry_after > '0' AND retry_after <= '100 ms'
	OR outcome = 'unresolved', 'C004: bounds retry_after')
	FROM idem_claim('t', 'ext.call', '{"id":"v","x":1}');

SELECT FROM pg_temp.remove('ext.call');
SELECT * FROM finish();
