\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- idem_claim_many: a batch in one call.

SELECT FROM idem_define('many.pay', key_fields => '{"line":"exact","amount":"minor_units(currency)","currency":"upper"}', key_prefix => 'pay');
SELECT FROM idem_define('many.step', identity => 'occurrence');
SELECT FROM idem_define('many.call', key_fields => '{"n":"exact"}', effect => 'external');
CREATE FUNCTION pg_temp.line(n integer) RETURNS jsonb LANGUAGE sql AS $$ SELECT jsonb_build_object('line', n, 'amount', n * 0.25, 'currency', 'eur') $$;
CREATE FUNCTION pg_temp.lines(first integer, last integer) RETURNS jsonb[] LANGUAGE sql AS $$
	SELECT array_agg(pg_temp.line(n) ORDER BY n) FROM generate_series(first, last) n
$$;
CREATE FUNCTION pg_temp.key_locks() RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'userlock'
$$;

-- In order of the input, duplicates included
SELECT is(count(idem_record('acme', 'many.pay', pg_temp.line(n), 'p' || n)), 2::bigint, 'two that were done before') FROM unnest('{2,4}'::integer[]) n;
BEGIN;
CREATE TEMP TABLE claim ON COMMIT DROP AS
	SELECT * FROM idem_claim_many('acme', 'many.pay', ARRAY[pg_temp.line(5), pg_temp.line(4), pg_temp.line(3), pg_temp.line(3), pg_temp.line(2),
		'{"line":1,"amount":"0.250","currency":"EUR"}', pg_temp.line(4) || '{"note":"x"}', pg_temp.line(3) || '{"note":"x"}']);
SELECT is(string_agg(outcome || '/' || action, ' ' ORDER BY line),
	'claimed/do replayed/answer claimed/do in_progress/stop replayed/answer claimed/do conflict/stop conflict/stop', 'a row for each line, in its place') FROM claim;
SELECT is(array_agg(line ORDER BY line), '{1,2,3,4,5,6,7,8}', 'with its number') FROM claim;
SELECT is(count(*), 0::bigint, 'the key is the one of idem_key') FROM claim c
	WHERE key IS DISTINCT FROM idem_key('acme', 'many.pay', pg_temp.line(('{5,4,3,3,2,1,4,3}'::integer[])[c.line]));
SELECT is(string_agg(effect_ref, ' ' ORDER BY line), 'p4 p2 p4', 'receipts of what was done, and never a conflict''s response') FROM claim;
SELECT is(string_agg(differing_fields::text, ' '), '{note} {note}', 'a conflict names its fields') FROM claim;
SELECT is(array_agg(line ORDER BY line), '{1,3,6}', 'attempt and fence for those that are owned') FROM claim WHERE attempt = 1 AND fence IS NOT NULL;
SELECT is(count(*), 8::bigint, 'no SQLSTATE') FROM claim WHERE sqlstate IS NULL;
INSERT INTO effect (operation, key) SELECT 'many.pay', key FROM claim WHERE action = 'do';
SELECT is(string_agg(idem_complete('acme', key, 'p' || line), ' '), 'completed completed completed', 'each is finished by itself') FROM claim WHERE action = 'do';
COMMIT;
SELECT is((pg_temp.keys('many.pay'), pg_temp.effects('many.pay'))::text, '(5,3)', 'one effect for each that was new');

-- Claims are made in order of the keys.
BEGIN;
SELECT FROM idem_claim_many('acme', 'many.pay', pg_temp.lines(100, 150));
SELECT is(array_agg(key ORDER BY claimed_at, key), array_agg(key ORDER BY key), 'in order of the keys') FROM (
	SELECT l.key, l.claimed_at FROM generate_series(100, 150) n CROSS JOIN LATERAL idem_lookup('acme', 'many.pay', pg_temp.line(n)) l) s;
ROLLBACK;

-- Bad lines
CREATE TEMP TABLE input (lines jsonb[]);
INSERT INTO input VALUES (ARRAY[pg_temp.line(10), '{"line":11,"amount":1.234,"currency":"eur"}', NULL, '{"line":12}', '[]', pg_temp.line(13)]);
SELECT throws_ok($$SELECT * FROM input, idem_claim_many('acme', 'many.pay', lines)$$, 'ID012', 'key field "amount" has more decimals than its currency', 'a bad line is an error');
SELECT is((idem_lookup('acme', 'many.pay', pg_temp.line(10))), NULL, 'and nothing is claimed');
BEGIN;
SELECT results_eq($$SELECT line, outcome, action, key IS NULL, retryable, sqlstate, message FROM input, idem_claim_many('acme', 'many.pay', lines, on_error => 'report') WHERE outcome <> 'claimed'$$,
	$$VALUES (2, 'refused', 'stop', true, false, 'ID012', 'key field "amount" has more decimals than its currency'),
		(3, 'refused', 'stop', true, false, '22004', 'arguments are NULL'),
		(4, 'refused', 'stop', true, false, 'ID011', 'key field "amount" is missing'),
		(5, 'refused', 'stop', true, false, '22023', 'arguments are not a JSON object')$$, 'or is refused in its place, when that is asked for');
SELECT is(string_agg(line::text, ' ' ORDER BY line), '1 6', 'and the others are claimed') FROM input, idem_claim_many('acme', 'many.pay', lines, on_error => 'report')
	WHERE outcome = 'in_progress';
ROLLBACK;

-- Occurrences
BEGIN;
SELECT is(string_agg(outcome, ' ' ORDER BY line), 'claimed refused claimed in_progress', 'occurrences')
	FROM idem_claim_many('acme', 'many.step', ARRAY['{}', '{}', '{"a":1}', '{}']::jsonb[], ARRAY['s1', NULL, 's2', 's1'], on_error => 'report');
ROLLBACK;
SELECT throws_ok(format('SELECT * FROM idem_claim_many(%s)', arguments), state, message, arguments) FROM (VALUES
	($$'acme', 'many.step', '{}', ARRAY['s1']$$, '22023', 'arguments and occurrences are not equally many'),
	($$'acme', 'many.pay', NULL$$, '22004', 'arguments are NULL'),
	($$'acme', 'many.pay', ARRAY[ARRAY['{}'::jsonb]]$$, '22023', 'arguments has more than one dimension'),
	($$'acme', 'many.pay', ARRAY['{}'::jsonb], on_error => 'skip'$$, '22023', 'unknown on_error'),
	($$NULL, 'many.pay', ARRAY['{}'::jsonb], on_error => 'report'$$, '22004', 'tenant is NULL'),
	($$'acme', 'many.none', ARRAY['{}'::jsonb], on_error => 'report'$$, 'ID001', 'operation "many.none" is not defined'),
	($$'acme', 'many.pay', ARRAY['{}'::jsonb], version => 2, on_error => 'report'$$, 'ID001', 'version 2 of operation "many.pay" is not defined'),
	($$'acme', 'many.pay', ARRAY['{}'::jsonb], wait => '-1 s'$$, '22023', 'wait is negative')) v (arguments, state, message);
SELECT is(count(*), 0::bigint, 'no lines, no rows') FROM idem_claim_many('acme', 'many.pay', '{}');
SELECT throws_ok($$SELECT idem_claim_many('acme', 'many.pay', pg_temp.lines(1, 2))$$, '0A000', 'idem_claim_many must be called in FROM', 'not in a select list');
SELECT throws_ok($$SELECT (idem_claim_many('acme', 'many.pay', pg_temp.lines(1, 2))).*$$, '0A000', NULL, 'nor expanded there');

-- An import of 50,000 payouts in one transaction, with a bad line
CREATE TABLE many_payout (line integer, key text);
BEGIN;
CREATE TEMP TABLE import ON COMMIT DROP AS SELECT n AS line, CASE n WHEN 4711 THEN '{"line":4711,"amount":"1,50","currency":"eur"}' ELSE pg_temp.line(n) END AS arguments
	FROM generate_series(1001, 51000) n;
CREATE TEMP TABLE answer ON COMMIT DROP AS SELECT c.*
	FROM (SELECT array_agg(arguments ORDER BY line) AS lines FROM import) i, idem_claim_many('acme', 'many.pay', i.lines, on_error => 'report') c;
SELECT is(string_agg(DISTINCT outcome, ' '), 'claimed refused', 'a batch of 50,000') FROM answer;
SELECT is((count(*), min(line) + 1000, min(message))::text, '(1,4711,"key field ""amount"" is not a number or a decimal string")', 'with one bad line') FROM answer WHERE action <> 'do';
SELECT cmp_ok(pg_temp.key_locks(), '<=', 130::bigint, 'holds few locks');
SELECT is((idem_claim('acme', 'many.pay', pg_temp.line(2000))).action, 'stop', 'all are claimed');
WITH done AS (INSERT INTO many_payout SELECT a.line, a.key FROM answer a WHERE a.action = 'do' RETURNING line, key)
SELECT is(count(*) FILTER (WHERE idem_complete('acme', key, 'po' || line) = 'completed'), 49999::bigint, 'and finished') FROM done;
SELECT cmp_ok(pg_temp.key_locks(), '<=', 130::bigint, 'with few locks as well');
COMMIT;
SELECT is((count(*), count(DISTINCT p.key), (SELECT count(*) FROM many_payout))::text, '(49999,49999,49999)', 'one key and one effect for each')
	FROM idem_keys k JOIN many_payout p ON p.key = k.key AND k.effect_ref = 'po' || p.line AND k.state = 'completed';
SELECT is(string_agg(DISTINCT outcome, ' '), 'replayed', 'the same file again is replayed') FROM idem_claim_many('acme', 'many.pay', pg_temp.lines(5001, 51000));

-- Beyond the number of locks open claims are written early; nobody can tell.
BEGIN;
SELECT is(count(*) FILTER (WHERE outcome = 'claimed'), 300::bigint, '300 open claims') FROM idem_claim_many('acme', 'many.pay', pg_temp.lines(60001, 60300));
SELECT key, fence FROM (SELECT (idem_lookup('acme', 'many.pay', pg_temp.line(60001))).key, 1 AS fence) s \gset
SELECT throws_ok(format('SELECT idem_complete(%L, %L, fence => 7)', 'acme', :'key'), 'ID022', NULL, 'a wrong fence');
SELECT throws_ok(format('SELECT idem_unknown(%L, %L)', 'acme', :'key'), '0A000', 'a local effect has no unknown outcome', 'no unknown outcome');
SELECT is(idem_fail('acme', :'key', '"no"'), 'failed', 'one fails');
SELECT is(idem_fail('acme', :'key', '"no"'), 'already', 'twice');
SELECT is((idem_claim('acme', 'many.pay', pg_temp.line(60001))).outcome, 'failed', 'and is answered');
SAVEPOINT s;
SELECT is(count(*) FILTER (WHERE idem_complete('acme', idem_key('acme', 'many.pay', pg_temp.line(n)), 'undone') = 'completed'), 100::bigint, '100 completed in a savepoint')
	FROM generate_series(60002, 60101) n;
SELECT is(idem_release('acme', idem_key('acme', 'many.pay', pg_temp.line(60102))), 'released', 'one released');
SELECT is((idem_claim('acme', 'many.pay', pg_temp.line(60102))).outcome, 'claimed', 'and claimed again');
SELECT is(idem_release('acme', idem_key('acme', 'many.pay', pg_temp.line(60103))), 'released', 'one more released');
ROLLBACK TO s;
SELECT is(string_agg(DISTINCT c.outcome || '/' || c.action, ' '), 'in_progress/stop', 'which is undone') FROM generate_series(60002, 60103) n
	CROSS JOIN LATERAL idem_claim('acme', 'many.pay', pg_temp.line(n)) c;
SELECT is(string_agg(DISTINCT idem_release('acme', idem_key('acme', 'many.pay', pg_temp.line(n))), ' '), 'released', 'ten are given back') FROM generate_series(60002, 60011) n;
SELECT is(string_agg(DISTINCT c.outcome, ' '), 'claimed', 'five of them are claimed again') FROM generate_series(60002, 60006) n
	CROSS JOIN LATERAL idem_claim('acme', 'many.pay', pg_temp.line(n)) c;
SELECT is(string_agg(DISTINCT idem_complete('acme', idem_key('acme', 'many.pay', pg_temp.line(n)), 'ok'), ' '), 'completed', 'all that are open are completed')
	FROM generate_series(60002, 60300) n WHERE n NOT BETWEEN 60007 AND 60011;
COMMIT;
SELECT is((count(*), count(*) FILTER (WHERE k.state = 'completed' AND k.effect_ref = 'ok'), count(*) FILTER (WHERE k.state = 'failed'))::text, '(295,294,1)', 'what was given back has no row')
	FROM generate_series(60001, 60300) n JOIN idem_keys k ON k.key = idem_key('acme', 'many.pay', pg_temp.line(n));
SELECT is(count(*), 0::bigint, 'and no time is lost of those that were written twice') FROM idem_keys
	WHERE operation = 'many.pay' AND claimed_at NOT BETWEEN completed_at - interval '1 minute' AND completed_at;
BEGIN;
SELECT is(count(*), 200::bigint, '200 open claims') FROM idem_claim_many('acme', 'many.pay', pg_temp.lines(70001, 70200));
COMMIT;
SELECT is(count(*), 0::bigint, 'are refused at COMMIT, and nothing of them is left') FROM generate_series(70001, 70200) n CROSS JOIN LATERAL idem_lookup('acme', 'many.pay', pg_temp.line(n)) l
	WHERE l IS NOT NULL;

-- External effects: committed open, then called
SELECT is(count(*) FILTER (WHERE outcome = 'claimed'), 150::bigint, '150 calls to come') FROM idem_claim_many('acme', 'many.call', (SELECT array_agg(jsonb_build_object('n', n)) FROM generate_series(1, 150) n), lease => '1 hour');
SELECT is((count(*), count(k.fence), count(k.arguments))::text, '(150,150,150)', 'are in the ledger with their fences and arguments') FROM idem.key k JOIN idem.operation o ON o.id = k.policy
	WHERE o.operation = 'many.call' AND k.state = 'o' AND k.lease_end > clock_timestamp() + interval '50 minutes';

DROP TABLE many_payout;
SELECT FROM pg_temp.remove('many.pay', 'many.step', 'many.call');
SELECT * FROM finish();
