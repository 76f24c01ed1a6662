\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- What is open, and who goes on with it: idem_take, the views of what is pending and decided.

CREATE FUNCTION pg_temp.past(operation text, span interval) RETURNS void LANGUAGE sql AS $$
	UPDATE idem.key k SET claimed_at = claimed_at - span, lease_end = lease_end - span, sent_at = sent_at - span,
		retry_at = retry_at - span FROM idem.operation o
		WHERE o.id = k.policy AND o.operation = $1 AND k.completed_at IS NULL
$$;
-- key number of a request
CREATE FUNCTION pg_temp.n(key text) RETURNS text LANGUAGE sql AS $$
	SELECT v.n::text FROM generate_series(1, 20) v (n) WHERE $1 LIKE idem_key('acme', 'take.call', jsonb_build_object('n', v.n)) || '%'
		OR $1 LIKE idem_key('acme', 'take.held', jsonb_build_object('n', v.n)) || '%'
$$;
SELECT FROM idem_define('take.call', key_fields => '{"n":"exact"}', effect => 'external', on_lost_lease => 'takeover', sending => 'recorded', max_attempts => 3);
SELECT FROM idem_define('take.held', key_fields => '{"n":"exact"}', effect => 'external');

-- 1 lost before it was sent, 2 after, 3 unknown, 4 released, 5 released for later, 6 under its lease, 7 finished
CREATE TEMP TABLE mine AS SELECT n, c.key, c.fence FROM generate_series(1, 7) n
	CROSS JOIN LATERAL idem_claim('acme', 'take.call', jsonb_build_object('n', n, 'amount', n * 10)) c;
SELECT is(idem_mark_sending('acme', key, fence), 'sending', 'sent: ' || n) FROM mine WHERE n IN (2, 3, 6, 7) ORDER BY n;
SELECT is(idem_unknown('acme', key, fence), 'unknown', '3') FROM mine WHERE n = 3;
SELECT is(idem_release('acme', key, fence), 'released', '4') FROM mine WHERE n = 4;
SELECT is(idem_release('acme', key, fence, retry_after => '1 day'), 'released', '5') FROM mine WHERE n = 5;
SELECT is(idem_complete('acme', key, fence => fence), 'completed', '7') FROM mine WHERE n = 7;
SELECT FROM pg_temp.past('take.call', '1 hour');
SELECT ok(idem_renew('acme', key, fence) IS NOT NULL, '6') FROM mine WHERE n = 6;
SELECT is(count(c.fence), 1::bigint, 'one whose policy holds it') FROM idem_claim('acme', 'take.held', '{"n":8}') c;
SELECT FROM pg_temp.past('take.held', '1 hour');

SELECT results_eq($$SELECT pg_temp.n(key), state, next_outcome, why, next_step FROM idem_pending WHERE operation LIKE 'take.%' AND state <> 'released' OR operation = 'take.call' AND retry_at IS NULL AND state = 'released' ORDER BY 1$$,
	$$VALUES ('1', 'claimed', 'claimed', 'lost before it was sent', 'the next claim or idem_take does it'),
		('2', 'sending', 'takeover', 'lost after it may have been sent', 'the next claim or idem_take looks it up at the provider, or sends it again'),
		('3', 'unknown', 'takeover', 'lost after it may have been sent', 'the next claim or idem_take looks it up at the provider, or sends it again'),
		('4', 'released', 'claimed', 'released: known not to have happened', 'the next claim or idem_take does it'),
		('6', 'sending', 'in_progress', 'an attempt is under way, and may have sent', 'nothing before ' || (SELECT lease_end FROM idem_pending WHERE key = (SELECT key FROM mine WHERE n = 6))),
		('8', 'sending', 'unresolved', 'lost after it may have been sent, and the policy is not to guess', 'a person decides: idem_resolve')$$,
	'what is open, why, and what happens next');
SELECT is((next_outcome, why)::text, '(in_progress,"released, to be tried again later")', 'one that has to wait') FROM idem_pending WHERE key = (SELECT key FROM mine WHERE n = 5);
SELECT is(count(*), 7::bigint, 'what is finished is not pending') FROM idem_pending WHERE operation LIKE 'take.%';
SELECT is(string_agg(pg_temp.n(key), ','), '8', 'the dead letters are for a person') FROM idem_dead_letters WHERE operation LIKE 'take.%';
SELECT is(count(*), 0::bigint, 'it says what a claim is answered') FROM idem_pending p
	CROSS JOIN LATERAL idem_lookup(p.tenant, p.key) l WHERE p.operation LIKE 'take.%'
	AND p.next_outcome IS DISTINCT FROM coalesce(l.outcome, CASE WHEN l.message LIKE 'released%' THEN p.next_outcome END, p.next_outcome);

-- Taking
SELECT throws_ok(format('SELECT * FROM idem_take(%s)', arguments), state, message, arguments) FROM (VALUES
	('NULL', '22004', 'operation is NULL'), ($$'take.none'$$, 'ID001', 'operation "take.none" is not defined'), ($$'take.call', 0$$, '22023', 'max_keys is not positive'),
	($$'take.call', NULL$$, '22004', 'max_keys is NULL'), ($$'take.call', 1, '0 s'$$, '22023', 'lease is shorter than 1 millisecond')) v (arguments, state, message);
SELECT throws_ok($$SELECT idem_take('take.call')$$, '0A000', 'idem_take must be called in FROM', 'not in a select list');
SELECT is(count(*), 0::bigint, 'nothing of another tenant') FROM idem_take('take.call', 10, tenant => 'other');
SELECT is(count(*), 0::bigint, 'nothing that the policy holds') FROM idem_take('take.held', 10);
BEGIN;
SELECT is(string_agg(pg_temp.n(key), ','), '3', 'one at a time, the longest waiting first') FROM idem_take('take.call');
ROLLBACK;
CREATE TEMP TABLE taken AS SELECT * FROM idem_take('take.call', 10, '2 minutes');
SELECT results_eq($$SELECT pg_temp.n(key), key_tenant, outcome, action, attempt, fence IS NOT NULL, state, arguments->>'amount', sent_at IS NOT NULL,
		lease_end BETWEEN clock_timestamp() AND clock_timestamp() + interval '2 minutes' FROM taken ORDER BY 1$$,
	$$VALUES ('1', 'acme', 'claimed', 'do', 2, true, 'claimed', '10', false, true), ('2', 'acme', 'takeover', 'verify', 2, true, 'sending', '20', true, true),
		('3', 'acme', 'takeover', 'verify', 2, true, 'unknown', '30', true, true), ('4', 'acme', 'claimed', 'do', 2, true, 'released', '40', false, true)$$,
	'all that a claim would own, with key, fence, attempt, state and arguments');
SELECT is(count(*), 0::bigint, 'each once') FROM idem_take('take.call', 10);
SELECT throws_ok(format('SELECT idem_complete(%L, %L, fence => %s)', 'acme', key, fence), 'ID022', NULL, 'the former attempt is fenced off') FROM mine WHERE n = 2;
SELECT throws_ok(format('SELECT idem_complete(%L, %L, fence => %s)', 'acme', key, fence), 'ID02A', NULL, 'what was not sent has to be marked') FROM taken WHERE pg_temp.n(key) = '1';
SELECT is(idem_mark_sending('acme', key, fence), 'sending', 'marked') FROM taken WHERE pg_temp.n(key) = '1';
SELECT is(idem_complete('acme', key, 'x' || pg_temp.n(key), fence => fence), 'completed', 'done: ' || pg_temp.n(key)) FROM taken WHERE pg_temp.n(key) IN ('1', '2', '3') ORDER BY pg_temp.n(key);
SELECT is((c.outcome, c.effect_ref)::text, '(replayed,x1)', 'its caller comes back') FROM idem_claim('acme', 'take.call', '{"n":1,"amount":10}') c;

-- Used up
SELECT is(idem_release('acme', key, fence), 'released', 'a second attempt fails') FROM taken WHERE pg_temp.n(key) = '4';
SELECT is(idem_release('acme', key, fence), 'released', 'and a third') FROM idem_take('take.call');
SELECT is(count(*), 0::bigint, 'there is no fourth') FROM idem_take('take.call');
SELECT is(string_agg(pg_temp.n(key) || ' ' || next_outcome, ',' ORDER BY pg_temp.n(key)), '4 exhausted,8 unresolved', 'a person has to decide') FROM idem_dead_letters WHERE operation LIKE 'take.%';
SELECT is(idem_resolve('acme', key, 'retry', note => 'the bank is up again'), 'released', 'on retry') FROM mine WHERE n = 4;
SELECT is((d.state_before, d.decision, d.note, d.decided_by = session_user)::text, '(released,retry,"the bank is up again",t)', 'which is kept') FROM idem_decisions d JOIN mine m ON m.n = 4 AND m.key = d.key;
SELECT is(string_agg(pg_temp.n(key) || ' ' || attempt, ','), '4 4', 'and it goes on') FROM idem_take('take.call');

-- Late reports are shown.
SELECT FROM pg_temp.past('take.call', '1 hour');
SELECT lives_ok(format('SELECT idem_report_late(%L, %L, %s, %L)', 'acme', key, fence, 'late-4'), 'an attempt comes late') FROM mine WHERE n = 4;
SELECT is(late_effect_refs, '{late-4}', 'and is seen') FROM idem_pending WHERE key = (SELECT key FROM mine WHERE n = 4);

-- Claims of this transaction are not taken from it.
BEGIN;
SELECT is((idem_claim('acme', 'take.call', '{"n":9}')).outcome, 'claimed', 'a claim');
SELECT is(string_agg(pg_temp.n(key), ','), '6,4', 'is not handed out in its own transaction') FROM idem_take('take.call', 10);
SELECT is(count(*), 0::bigint, 'nor what was taken') FROM idem_take('take.call', 10);
ROLLBACK;
SELECT is((SELECT count(*) FROM idem_take('take.call', 10)), 2::bigint, 'a roll-back gives it back');

SELECT FROM pg_temp.remove('take.call', 'take.held');
SELECT * FROM finish();
