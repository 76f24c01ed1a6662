\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- The life of an external effect: claimed, sending, and what becomes of an attempt that is lost.

-- Shifts an attempt into the past, in place of waiting: its claim, its lease, its first sending.
CREATE FUNCTION pg_temp.past(key text, span interval) RETURNS void LANGUAGE sql AS $$
	UPDATE idem.key k SET claimed_at = claimed_at - span, lease_end = lease_end - span, sent_at = sent_at - span,
		retry_at = retry_at - span
		WHERE k.key = substring($1 from '_([0-9a-f]{32})')::uuid
$$;
CREATE TEMP TABLE mine (n integer PRIMARY KEY, key text, attempt integer, fence bigint);
-- Claims as attempt n of the test, and keeps what is owned.
CREATE FUNCTION pg_temp.take(n integer, operation text, arguments jsonb, lease interval DEFAULT NULL) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	c idem.claim := idem_claim('acme', operation, arguments, lease => lease);
BEGIN
	IF c.fence IS NOT NULL THEN
		INSERT INTO mine VALUES (n, c.key, c.attempt, c.fence);
	END IF;
	RETURN c.outcome || '/' || c.action || coalesce(' ' || c.attempt, '');
END $$;
CREATE FUNCTION pg_temp.state(n integer) RETURNS text LANGUAGE sql AS $$
	SELECT v.state || ' ' || v.attempt FROM mine m JOIN idem_keys v ON v.key = m.key WHERE m.n = $1
$$;

-- sending => 'recorded': what was not marked was not sent.
SELECT FROM idem_define('life.rec', identity => 'arguments', effect => 'external', sending => 'recorded', key_prefix => 'lr');
SELECT is(pg_temp.take(1, 'life.rec', '1'), 'claimed/do 1', 'a claim');
SELECT is(pg_temp.state(1), 'claimed 1', 'is claimed, and not sent');
SELECT throws_ok(format('SELECT %s', call), 'ID02A', 'the sending of this attempt was not recorded', 'finishing without the mark: ' || split_part(call, '(', 1))
	FROM mine CROSS JOIN LATERAL unnest(ARRAY[format('idem_complete(%L, %L, fence => %s)', 'acme', key, fence), format('idem_fail(%L, %L, fence => %s)', 'acme', key, fence),
		format('idem_unknown(%L, %L, %s)', 'acme', key, fence)]) call WHERE n = 1;
SELECT is(idem_mark_sending('acme', key, fence), 'sending', 'the mark') FROM mine WHERE n = 1;
SELECT is(pg_temp.state(1), 'sending 1', 'is sending');
SELECT is(idem_mark_sending('acme', key, fence), 'already', 'a second mark changes nothing') FROM mine WHERE n = 1;
SELECT is(idem_complete('acme', key, 'x', fence => fence), 'completed', 'now it can be finished') FROM mine WHERE n = 1;
SELECT throws_ok(format('SELECT idem_mark_sending(%L, %L, %s)', 'acme', key, fence), 'ID023', 'the key is finished', 'and not marked any more') FROM mine WHERE n = 1;
SELECT is(pg_temp.take(2, 'life.rec', '2'), 'claimed/do 1', 'an attempt');
SELECT FROM pg_temp.past((SELECT key FROM mine WHERE n = 2), '1 hour');
SELECT throws_ok(format('SELECT idem_mark_sending(%L, %L, %s)', 'acme', key, fence), 'ID028', 'the lease of this attempt has ended', 'whose lease has ended must not send') FROM mine WHERE n = 2;
SELECT is(pg_temp.take(3, 'life.rec', '2'), 'claimed/do 2', 'lost before it was sent: the next attempt owns it');
SELECT throws_ok(format('SELECT idem_mark_sending(%L, %L, %s)', 'acme', key, fence), 'ID022', NULL, 'the one before is fenced off') FROM mine WHERE n = 2;
SELECT is(idem_release('acme', key, fence), 'released', 'what was not sent can be released') FROM mine WHERE n = 3;
SELECT is(pg_temp.take(4, 'life.rec', '2'), 'claimed/do 3', 'and taken up');
SELECT is(idem_mark_sending('acme', key, fence), 'sending', 'sent') FROM mine WHERE n = 4;
SELECT FROM pg_temp.past((SELECT key FROM mine WHERE n = 4), '1 hour');
SELECT is(pg_temp.take(5, 'life.rec', '2'), 'unresolved/stop', 'lost after it was sent: a person decides');
SELECT is(idem_complete('acme', key, 'late', fence => fence), 'completed', 'or its owner comes after all') FROM mine WHERE n = 4;
BEGIN;
SELECT is(pg_temp.take(6, 'life.rec', '6'), 'claimed/do 1', 'in the transaction of the claim');
SELECT throws_ok(format('SELECT idem_mark_sending(%L, %L, %s)', 'acme', key, fence), 'ID024', 'idem_mark_sending() is for a claim that is committed', 'nothing can be marked') FROM mine WHERE n = 6;
SELECT throws_ok(format('SELECT idem_renew(%L, %L, %s)', 'acme', key, fence), 'ID024', NULL, 'nor renewed') FROM mine WHERE n = 6;
ROLLBACK;

-- on_lost_lease => 'takeover'
SELECT FROM idem_define('life.take', key_fields => '{"n":"exact"}', effect => 'external', on_lost_lease => 'takeover', key_prefix => 'lt');
SELECT is(pg_temp.take(10, 'life.take', '{"n":1,"amount":5}'), 'claimed/do 1', 'a claim that counts as sent');
SELECT is(pg_temp.state(10), 'sending 1', 'from its commit on');
SELECT is(idem_mark_sending('acme', key, fence), 'already', 'a mark says so') FROM mine WHERE n = 10;
SELECT FROM pg_temp.past((SELECT key FROM mine WHERE n = 10), '1 hour');
SELECT is(pg_temp.take(11, 'life.take', '{"n":1,"amount":6}'), 'conflict/stop', 'C064: another request takes nothing over');
SELECT is(pg_temp.take(11, 'life.take', '{"n":1,"amount":5}'), 'takeover/verify 2', 'C017 C021: the same one does, and has to look');
SELECT is(pg_temp.take(12, 'life.take', '{"n":1,"amount":5}'), 'in_progress/wait', 'one of many');
SELECT throws_ok(format('SELECT idem_complete(%L, %L, fence => %s)', 'acme', key, fence), 'ID022', NULL, 'C022: the one before is fenced off') FROM mine WHERE n = 10;
SELECT lives_ok(format('SELECT idem_report_late(%L, %L, %s, %L)', 'acme', key, fence, 'ch_1'), 'and can say what it has done') FROM mine WHERE n = 10;
SELECT throws_ok(format('SELECT idem_report_late(%L, %L, %s, %L)', 'acme', key, fence, 'ch_2'), 'ID027', 'the fence is the one of the present attempt', 'the present one finishes instead') FROM mine WHERE n = 11;
SELECT throws_ok(format('SELECT idem_report_late(%L, %L, %s, %L)', 'other', key, fence, 'ch_2'), 'ID021', NULL, 'another tenant has no such key') FROM mine WHERE n = 10;
SELECT is((r.effect_ref, r.reported_by = session_user, r.fence = m.fence)::text, '(ch_1,t,t)', 'kept for whoever looks into it')
	FROM idem.late_report r JOIN mine m ON m.n = 10 AND right(m.key, 32)::uuid = r.key;
SELECT is(idem_unknown('acme', key, fence), 'unknown', 'the second says that it does not know') FROM mine WHERE n = 11;
SELECT is(pg_temp.take(13, 'life.take', '{"n":1,"amount":5}'), 'takeover/verify 3', 'which hands it on, too');
SELECT is(idem_complete('acme', key, 'ch_1', fence => fence), 'completed', 'found at the provider') FROM mine WHERE n = 13;
SELECT is((c.outcome, c.effect_ref)::text, '(replayed,ch_1)', 'C022: done once') FROM idem_claim('acme', 'life.take', '{"n":1,"amount":5}') c;

-- A takeover that gives back does not know of the attempts before, unless it has looked.
SELECT is(pg_temp.take(15, 'life.take', '{"n":2}'), 'claimed/do 1', 'a claim');
SELECT FROM pg_temp.past((SELECT key FROM mine WHERE n = 15), '1 hour');
SELECT is(pg_temp.take(16, 'life.take', '{"n":2}'), 'takeover/verify 2', 'lost, and taken over');
SELECT is(idem_release('acme', key, fence, retry_after => '10 minutes'), 'unknown', 'given back after a refusal: the first may have taken effect') FROM mine WHERE n = 16;
SELECT ok(c.outcome = 'in_progress' AND c.retry_after > '9 minutes', 'to be tried later') FROM idem_claim('acme', 'life.take', '{"n":2}') c;
SELECT FROM pg_temp.past((SELECT key FROM mine WHERE n = 15), '10 minutes');
SELECT is(pg_temp.take(17, 'life.take', '{"n":2}'), 'takeover/verify 3', 'and looked up again');
SELECT is(idem_release('acme', key, fence, verified => true), 'released', 'looked up: nothing is there') FROM mine WHERE n = 17;
SELECT is(pg_temp.take(18, 'life.take', '{"n":2}'), 'claimed/do 4', 'then it is to be done');
SELECT is(idem_release('acme', key, fence), 'released', 'and an attempt without a past knows') FROM mine WHERE n = 18;
SELECT is(pg_temp.take(19, 'life.take', '{"n":2}'), 'claimed/do 5', 'what it has not done');
SELECT is(idem_unknown('acme', key, fence, '10 minutes'), 'unknown', 'unknown, to be looked up later') FROM mine WHERE n = 19;
SELECT ok(c.outcome = 'in_progress' AND c.retry_after > '9 minutes', 'not before') FROM idem_claim('acme', 'life.take', '{"n":2}') c;
SELECT is((v.late_effect_ref, v.effect_ref, v.completed_at IS NOT NULL)::text, '(ch_1,ch_1,t)', 'the late report of before is seen beside what its key was finished with') FROM idem_late_reports v JOIN mine m ON m.n = 10 AND m.key = v.key;

-- provider_window: from the first sending of any attempt, the whole new lease inside of it
SELECT FROM idem_define('life.win', identity => 'arguments', effect => 'external', lease => '5 minutes', provider_window => '1 hour', key_prefix => 'lw');
SELECT is(pg_temp.take(20, 'life.win', '1'), 'claimed/do 1', 'a claim');
SELECT FROM pg_temp.past((SELECT key FROM mine WHERE n = 20), '54 minutes');
SELECT is(pg_temp.take(21, 'life.win', '1', '7 minutes'), 'unresolved/stop', 'a lease that would end after the window');
SELECT is(pg_temp.take(21, 'life.win', '1'), 'takeover/verify 2', 'one that ends inside');
SELECT is(idem_mark_sending('acme', key, fence), 'already', 'may be sent again') FROM mine WHERE n = 21;
SELECT ok(idem_renew('acme', key, fence, '10 minutes') > clock_timestamp() + interval '9 minutes', 'a heartbeat') FROM mine WHERE n = 21;
SELECT throws_ok(format('SELECT idem_mark_sending(%L, %L, %s)', 'acme', key, fence), 'ID029', 'the provider''s window ends before the lease', 'after which it must not be sent') FROM mine WHERE n = 21;
SELECT FROM pg_temp.past((SELECT key FROM mine WHERE n = 21), '11 minutes');
SELECT is(pg_temp.take(22, 'life.win', '1', '1 second'), 'unresolved/stop', 'beyond the window a person decides');
SELECT throws_ok($$SELECT idem_define('life.win', on_lost_lease => 'takeover', lease => '2 hours')$$, 'ID002', NULL, 'a window is as long as a lease at least');
SELECT is(idem_define('life.win', on_lost_lease => 'takeover'), 'changed', 'the policy changed');
SELECT is(pg_temp.take(22, 'life.win', '1', '1 second'), 'unresolved/stop', 'whatever the policy');
SELECT is(idem_resolve('acme', key, 'retry', rekey => true), 'released', 'retry, under a key that the provider has not seen') FROM mine WHERE n = 20;
SELECT is(pg_temp.take(22, 'life.win', '1'), 'claimed/do 3', 'the next attempt');
SELECT is(a.key, b.key || '-2', 'has the key of the next generation') FROM mine a, mine b WHERE a.n = 22 AND b.n = 20;
SELECT is((d.decision, d.decided_by = session_user, d.state_before)::text, '(retry,t,o)', 'the decision is kept, with who and when') FROM idem.decision d JOIN mine m ON right(m.key, 32)::uuid = d.key AND m.n = 20;

-- Renewal
SELECT is(pg_temp.take(30, 'life.rec', '30', '1 minute'), 'claimed/do 1', 'a short lease');
SELECT ok(lease_end BETWEEN clock_timestamp() + interval '4 minutes 50 seconds' AND clock_timestamp() + interval '5 minutes', 'is the policy''s again')
	FROM (SELECT idem_renew('acme', key, fence) AS lease_end FROM mine WHERE n = 30 OFFSET 0) r;
SELECT FROM pg_temp.past((SELECT key FROM mine WHERE n = 30), '1 hour');
SELECT ok(idem_renew('acme', key, fence, '1 minute') > clock_timestamp(), 'also when it has ended and nobody came') FROM mine WHERE n = 30;
SELECT is(idem_mark_sending('acme', key, fence), 'sending', 'and may go on') FROM mine WHERE n = 30;
SELECT throws_ok(format('SELECT idem_renew(%L, %L, %s, %L)', 'acme', key, fence + 1, '1 minute'), 'ID022', NULL, 'not with another fence') FROM mine WHERE n = 30;
SELECT throws_ok(format('SELECT idem_renew(%L, %L, NULL)', 'acme', key), 'ID022', NULL, 'nor without one') FROM mine WHERE n = 30;
SELECT throws_ok(format('SELECT idem_renew(%L, %L, %s, %L)', 'acme', key, fence, '0'), '22023', NULL, 'nor for no time') FROM mine WHERE n = 30;
SELECT is(idem_unknown('acme', key, fence), 'unknown', 'ended') FROM mine WHERE n = 30;
SELECT throws_ok(format('SELECT idem_renew(%L, %L, %s)', 'acme', key, fence), 'ID023', 'no attempt of this key is under way', 'what was given up is not renewed') FROM mine WHERE n = 30;

-- Attempts
SELECT FROM idem_define('life.max', identity => 'arguments', effect => 'external', max_attempts => 2, retry_after => '1 second', key_prefix => 'lm');
SELECT is(pg_temp.take(40, 'life.max', '1'), 'claimed/do 1', 'a first attempt');
SELECT is(idem_release('acme', key, fence, retry_after => '10 minutes'), 'released', 'refused by the provider, with a Retry-After') FROM mine WHERE n = 40;
SELECT ok(c.outcome = 'in_progress' AND c.action = 'wait' AND c.retryable AND c.retry_after BETWEEN '9 minutes 50 seconds' AND '10 minutes', 'which is honoured')
	FROM idem_claim('acme', 'life.max', '1') c;
SELECT FROM pg_temp.past((SELECT key FROM mine WHERE n = 40), '10 minutes');
SELECT is(pg_temp.take(41, 'life.max', '1'), 'claimed/do 2', 'then the second attempt');
SELECT ok(bool_and(c.retry_after > '0' AND c.retry_after <= '2 seconds') AND max(c.retry_after) > '1 second' AND count(DISTINCT c.retry_after) > 10, 'others wait up to twice as long, each its own time')
	FROM generate_series(1, 100) i CROSS JOIN LATERAL idem_claim('acme', 'life.max', to_jsonb(i / i)) c;
SELECT is(idem_release('acme', key, fence), 'released', 'refused again') FROM mine WHERE n = 41;
SELECT is(pg_temp.take(42, 'life.max', '1'), 'exhausted/stop', 'the attempts are used up');
SELECT is(idem_resolve('acme', key, 'retry', note => 'provider is up'), 'released', 'a person gives it another chance') FROM mine WHERE n = 41;
SELECT is(pg_temp.take(43, 'life.max', '1'), 'claimed/do 3', 'the attempts go on');
SELECT is(idem_fail('acme', key, '{"code":"card_declined"}', fence), 'failed', 'and end') FROM mine WHERE n = 43;
SELECT is(pg_temp.take(44, 'life.max', '1'), 'failed/answer', 'for good');
SELECT is(idem_resolve('acme', key, 'retry', rekey => true), 'released', 'unless a person reopens it') FROM mine WHERE n = 43;
SELECT is(pg_temp.take(45, 'life.max', '1'), 'claimed/do 4', 'with another key');
SELECT is(a.key, b.key || '-2', 'of the next generation') FROM mine a, mine b WHERE a.n = 45 AND b.n = 43;
SELECT throws_ok(format('SELECT idem_resolve(%L, %L, %L, rekey => true)', 'acme', key, 'completed'), '22023', 'rekey goes with the decision retry', 'a key is not changed otherwise') FROM mine WHERE n = 45;
SELECT throws_ok(format('SELECT idem_resolve(%L, %L, %L)', 'acme', key, 'retry'), 'ID027', NULL, 'what is under way needs no decision') FROM mine WHERE n = 45;
SELECT is(idem_complete('acme', key, 'x', fence => fence), 'completed', 'done') FROM mine WHERE n = 45;
SELECT throws_ok(format('SELECT idem_resolve(%L, %L, %L)', 'acme', key, 'retry'), 'ID027', NULL, 'what is done is not reopened') FROM mine WHERE n = 45;
SELECT is(string_agg(decision || ' ' || state_before::text, ', ' ORDER BY decided_at), 'retry r, retry f', 'two decisions') FROM idem.decision d JOIN mine m ON m.n = 43 AND right(m.key, 32)::uuid = d.key;

-- A local effect has none of it.
SELECT FROM idem_define('life.local', identity => 'arguments');
SELECT throws_ok(format('SELECT idem_define(%L, %s)', 'life.local', setting), 'ID002', 'operation "life.local" has a local effect, which is not sent', setting)
	FROM unnest(ARRAY[$$sending => 'recorded'$$, $$on_lost_lease => 'takeover'$$, $$provider_window => '1 day'$$, 'max_attempts => 3']) setting;
BEGIN;
SELECT key FROM idem_claim('acme', 'life.local', '1') \gset
SELECT throws_ok(format('SELECT idem_release(%L, %L, retry_after => %L)', 'acme', :'key', '1 s'), '0A000', NULL, 'nor a time to wait');
SELECT throws_ok(format('SELECT idem_renew(%L, %L, 1)', 'acme', :'key'), 'ID024', NULL, 'nor a lease');
ROLLBACK;

-- idem_retryable
SELECT is(string_agg(status::text || ' ' || idem_retryable(status)::text, ', ' ORDER BY n), '200 false, 400 false, 404 false, 408 true, 409 true, 422 false, 425 true, 429 true, 500 true, 503 true, 599 true', 'statuses after which to try again')
	FROM unnest('{200,400,404,408,409,422,425,429,500,503,599}'::integer[]) WITH ORDINALITY s (status, n);
SELECT is(idem_retryable(NULL), NULL, 'no answer is no refusal: the outcome is unknown');
SELECT is(idem_define('life.max', retryable_statuses => '{429}'), 'changed', 'an operation can say otherwise');
SELECT is((idem_retryable(429, 'life.max'), idem_retryable(503, 'life.max'), idem_retryable(503, 'life.win'))::text, '(t,f,t)', 'for itself');
SELECT throws_ok('SELECT idem_retryable(42)', '22023', 'status is no HTTP status', 'a number that is none');
SELECT throws_ok($$SELECT idem_retryable(500, 'life.none')$$, 'ID001', NULL, 'an operation that is none');

SELECT FROM pg_temp.remove('life.rec', 'life.take', 'life.win', 'life.max', 'life.local');
SELECT * FROM finish();
