\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- Claims of local effects in one session: one row always, the order of tests, own claims, open claims
-- at COMMIT, and what a repeat costs.

SELECT FROM idem_define('claim.pay', key_fields => '{"id":"exact"}', unchecked_fields => '{note}',
	key_prefix => 'pay');
SELECT FROM idem_define('claim.args', identity => 'arguments');
SELECT FROM idem_define('claim.step', identity => 'occurrence');
CREATE TABLE claim_effect (id text);

-- Each outcome, in every column
BEGIN;
SELECT key AS c_key, fence AS c_fence, pg_temp.shown(c) AS c_shown,
	(message IS NOT NULL) AS c_message
	FROM idem_claim('t', 'claim.pay', '{"id":1,"amount":5,"note":"a"}') c \gset
SELECT is(:'c_shown'::text, '(claimed,do,1,t,,,f,f,,t,f)', 'claimed: every column');
SELECT is(:'c_key'::text, idem_key('t', 'claim.pay', '{"id":1}'), 'claimed: the key');
SELECT ok(:'c_message', 'claimed: words for a reader');
SELECT is(pg_temp.shown(idem_claim('t', 'claim.pay', '{"id":1,"amount":5,"note":"b"}')),
	'(in_progress,stop,,f,,,f,f,,t,f)',
          'C005: own open claim: every column');
SELECT is((idem_claim('t', 'claim.pay', '{"id":1,"amount":5}')).key, :'c_key',
	'C005: and the same key');
SELECT is(pg_temp.shown(idem_claim('t', 'claim.pay', '{"id":1,"amount":6}')),
	'(conflict,stop,,f,,,f,f,,t,f)',
          'C064: own open claim of another request: every column');
INSERT INTO claim_effect VALUES ('pay 1');
SELECT is(idem_complete('t', :'c_key', 'ref_1', '{"ok":true}'), 'completed', 'completed');
SELECT is(idem_complete('t', :'c_key', 'ref_1', '{"ok":true}'), 'already',
	'the same completion again');
SELECT is(idem_complete('t', :'c_key', 'ref_1', '{"ok":true}', :c_fence), 'already',
	'and with its fence');
SELECT throws_ok(format('SELECT idem_complete(''t'', %L, ''ref_1'', ''{"ok":true}'', %s)', :'c_key',
	:c_fence::bigint # 1), 'ID022', NULL,
                 'not with another fence');
SELECT throws_ok(format('SELECT idem_complete(''t'', %L, ''ref_2'', ''{"ok":true}'')', :'c_key'),
	'ID023', NULL, 'not with another effect_ref');
SELECT throws_ok(format('SELECT idem_fail(''t'', %L, ''{"ok":true}'')', :'c_key'), 'ID023', NULL,
	'it cannot fail any more');
SELECT is(pg_temp.shown(idem_claim('t', 'claim.pay', '{"id":1,"amount":5}')),
	'(replayed,answer,,f,ref_1,"{""ok"": true}",f,f,,t,t)',
          'C005: replayed in its own transaction: every column');
SELECT is(pg_temp.shown(idem_claim('t', 'claim.pay', '{"id":1,"amount":6}')),
	'(conflict,stop,,f,ref_1,,f,f,,t,t)',
          'C064: a conflict in its own transaction shows no response');
COMMIT;
SELECT is(pg_temp.shown(idem_claim('t', 'claim.pay', '{"note":"c","amount":5.0,"id":1}')),
          '(replayed,answer,,f,ref_1,"{""ok"": true}",f,f,,t,t)',
	'C005: replayed in a later transaction: every column');
SELECT is(pg_temp.shown(idem_claim('t', 'claim.pay', '{"id":1,"amount":6}')),
	'(conflict,stop,,f,ref_1,,f,f,,t,t)',
          'C064: a conflict in a later transaction shows no response');
SELECT is((idem_claim('t', 'claim.pay', '{"id":1,"amount":6}')).key, :'c_key',
	'and names the key that it collided with');
SELECT is((SELECT count(*) FROM claim_effect), 1::bigint, 'one effect');

-- A finished row is never changed.
SELECT k::text || ctid || xmin AS stored FROM idem.key k WHERE key = right(:'c_key', 32)::uuid \gset
SELECT throws_ok(format('SELECT idem_complete(''t'', %L, ''ref_9'', ''{"status":"failed"}'')',
	:'c_key'), 'ID023', NULL, 'C007: who was not granted the claim cannot complete it');
SELECT throws_ok(format('SELECT idem_complete(''t'', %L, ''ref_9'', NULL, 7)', :'c_key'), 'ID023',
	NULL, 'C007: nor with a fence');
SELECT throws_ok(format('SELECT idem_fail(''t'', %L)', :'c_key'), 'ID023', NULL,
	'C007: nor fail it');
SELECT throws_ok(format('SELECT idem_release(''t'', %L)', :'c_key'), 'ID023', NULL,
	'C007: nor release it');
SELECT is((SELECT k::text || ctid || xmin FROM idem.key k WHERE key = right(:'c_key', 32)::uuid),
	:'stored', 'C007: the row is the same, byte for byte');
SELECT throws_ok($$SELECT idem_complete('t', 'abc123', 'x')$$, 'ID021', NULL,
	'C019: what is no key is no claim');
SELECT throws_ok($$SELECT idem_complete('t', 'pay_0123456789abcdef0123456789abcdef', 'x')$$,
	'ID021', NULL, 'C019: nor is a random key');
SELECT throws_ok(format('SELECT idem_complete(''other'', %L, ''ref_1'', ''{"ok":true}'')',
	:'c_key'), 'ID021', NULL, 'C019: nor another tenant''s');
SELECT throws_ok(format('SELECT idem_complete(''t'', %L, ''x'')',
	replace(:'c_key', 'pay_', 'rfnd_')), 'ID021', NULL, 'C019: nor with another prefix');
SELECT throws_ok(format('SELECT idem_complete(''t'', %L, ''x'')', upper(:'c_key')), 'ID021', NULL,
	'C019: nor in upper case');

-- A repeat does not poison the transaction, and the claim decides, not COMMIT.
BEGIN;
INSERT INTO claim_effect VALUES ('order 9');
SELECT is((idem_claim('t', 'claim.pay', '{"id":1,"amount":5}')).outcome, 'replayed',
	'C009: a repeat within a transaction');
SELECT is((SELECT count(*) FROM claim_effect), 2::bigint, 'C009: later statements work');
COMMIT;
SELECT is((SELECT count(*) FROM claim_effect), 2::bigint, 'C009: and what was done commits');
BEGIN;
SAVEPOINT before_effect;
INSERT INTO claim_effect VALUES ('pay 1 again');
SELECT is((idem_claim('t', 'claim.pay', '{"id":1,"amount":5}')).action, 'answer',
	'C002: an effect that came first is told at the claim');
ROLLBACK TO before_effect;
COMMIT;
SELECT is((SELECT count(*) FROM claim_effect), 2::bigint,
	'C002: and is its caller''s to roll back');

-- An open claim does not reach its commit.
BEGIN;
INSERT INTO claim_effect VALUES ('pay 2');
SELECT key AS key FROM idem_claim('t', 'claim.pay', '{"id":2}') \gset
COMMIT;
SELECT is(:'SQLSTATE'::text, 'ID025', 'COMMIT with an open claim fails');
SELECT is(:'LAST_ERROR_MESSAGE'::text, format('claim of key "%s" was left open', :'key'),
	'and names the key');
BEGIN;
INSERT INTO claim_effect VALUES ('pay 2');
SELECT FROM idem_claim('t', 'claim.pay', '{"id":2}');
PREPARE TRANSACTION 'claim_left_open';
SELECT is(:'SQLSTATE'::text, 'ID025', 'so does PREPARE TRANSACTION');
SELECT FROM idem_claim('t', 'claim.pay', '{"id":2}');
SELECT is(:'SQLSTATE'::text, 'ID025', 'and a claim without a transaction block');
SELECT is((SELECT count(*) FROM claim_effect), 2::bigint, 'there is no effect');
SELECT is(pg_temp.act('t', 'claim.pay', '{"id":2}'), 'claimed', 'nor a trace of the claim');

-- One step, another request
SELECT is(pg_temp.act('t', 'claim.step', '{"ref":"R-1","acc":[{"id":"111"}]}', 's1'), 'claimed',
	'C064: the first account');
SELECT is((outcome, response IS NULL)::text, '(conflict,t)',
	'C064: another account gets no answer of the first''s')
	FROM idem_claim('t', 'claim.step', '{"ref":"R-1","acc":[{"id":"222"}]}', 's1');
SELECT is(pg_temp.act('t', 'claim.step', '{"amt":1300}', 'pay-12'), 'claimed', 'C065: a payment');
SELECT is(pg_temp.act('t', 'claim.step', '{"amt":1300,"meta":{"try":2}}', 'pay-12'), 'conflict',
	'C065: with metadata added is another request');
SELECT is(pg_temp.act('t', 'claim.step', '{"text":"x","dry":true}', 'e1'), 'claimed',
	'C067: a dry run');
SELECT is(pg_temp.act('t', 'claim.step', '{"text":"x"}', 'e1'), 'conflict',
	'C067: the live call is not replayed from it');
SELECT is(pg_temp.act('t', 'claim.step', '{"text":"x","dry":false}', 'e1'), 'conflict',
	'C067: nor is one that says so');
SELECT is(pg_temp.effects('claim.step'), 3::bigint, 'C064 C065 C067: three effects');

-- Webhooks and tool calls
SELECT is(pg_temp.act('hook', 'claim.step', '{"type":"updated","created":1700000002,"st":"active"}',
	'e2'), 'claimed', 'C142: an event');
SELECT is(pg_temp.act('hook', 'claim.step',
	'{"type":"created","created":1700000001,"st":"incomplete"}', 'e1'), 'claimed',
	'C142: an older one after it');
SELECT is(pg_temp.act('hook', 'claim.step', '{"n":77}', 'evt_77'), outcome, 'C143: delivery ' || n)
	FROM (VALUES (1, 'claimed'), (2, 'replayed'), (3, 'replayed')) v (n, outcome) ORDER BY n;
SELECT is(pg_temp.act('hook', 'claim.args', '{"body":"b","timestamp":1700000003}'), outcome,
	'C148: without a step, delivery ' || n)
	FROM (VALUES (1, 'claimed'), (2, 'replayed'), (3, 'replayed')) v (n, outcome) ORDER BY n;
SELECT is(pg_temp.act('agent', 'claim.step', '{"order":"o-7","amt":40}', step), 'claimed',
	'C149: a call id is new each time: ' || step)
	FROM unnest('{c1, c2}'::text[]) step;
SELECT is(pg_temp.act('agent', 'claim.args', '{"order":"o-7","amt":40}'), outcome,
	'C149: arguments are not: ' || outcome)
	FROM unnest('{claimed, replayed}'::text[]) outcome;
SELECT is(pg_temp.act('agent', 'claim.step', '{"dir":"/p"}', step), 'claimed',
	'C154: a repeat that is meant: ' || step)
	FROM unnest('{turn-3, turn-5}'::text[]) step;
SELECT is((pg_temp.effects('claim.step'), pg_temp.effects('claim.args'))::text, '(10,2)',
	'C142 C143 C148 C149 C154: an effect for each intent');
SELECT is(pg_temp.keys('claim.step') + pg_temp.keys('claim.args'), 12::bigint, 'and a key');

-- The receipt is of then, and times are those of the clock.
INSERT INTO claim_effect VALUES ('pending');
SELECT FROM idem_record('t', 'claim.args', '{"create":9}', '9', '{"id":9,"status":"pending"}');
UPDATE claim_effect SET id = 'canceled' WHERE id = 'pending';
SELECT is((idem_claim('t', 'claim.args', '{"create":9}')).response, '{"id":9,"status":"pending"}',
	'C088: a replay is the response of that time');
BEGIN;
SELECT key AS key, claimed_at >= now() AS after_begin
	FROM idem_claim('t', 'claim.args', '{"slow":1}') \gset
SELECT FROM pg_sleep(0.05);
SELECT FROM idem_complete('t', :'key');
COMMIT;
SELECT ok(:'after_begin' AND completed_at - claimed_at >= '50 ms',
	'C028: claimed_at and completed_at are not the transaction''s time')
	FROM idem_claim('t', 'claim.args', '{"slow":1}');

DROP TABLE claim_effect;
SELECT FROM pg_temp.remove('claim.pay', 'claim.args', 'claim.step');
SELECT * FROM finish();
