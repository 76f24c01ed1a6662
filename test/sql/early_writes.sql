\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- A claim that was written early, because its transaction has many: nobody can tell.

DROP ROLE IF EXISTS regress_idem_early;
CREATE ROLE regress_idem_early;
SELECT idem_grant('regress_idem_early') \g /dev/null
SELECT FROM idem_define('early.pad', key_fields => '{"n":"exact"}');
SELECT FROM idem_define('early.one', key_fields => '{"k":"exact"}');
SELECT FROM idem_define('early.link', key_fields => '{"k":"exact"}');
SELECT FROM idem_define('early.link', version => 2, key_fields => '{"k":"exact","b":"exact optional"}');
SELECT FROM idem_define('early.again', key_fields => '{"k":"exact"}', repeat_after => '1 minute', failure_retention => '1 hour');
-- Enough claims for all before them to be written.
CREATE FUNCTION pg_temp.pad(first integer) RETURNS void LANGUAGE sql AS $$
	SELECT count(*) FROM idem_claim_many('t', 'early.pad', (SELECT array_agg(jsonb_build_object('n', n)) FROM generate_series($1, $1 + 69) n));
	SELECT count(*) FROM idem_claim_many('t', 'early.pad', (SELECT array_agg(jsonb_build_object('n', n)) FROM generate_series($1 + 70, $1 + 139) n));
$$;
CREATE FUNCTION pg_temp.complete_pads(first integer) RETURNS void LANGUAGE sql AS $$
	SELECT count(idem_complete('t', idem_key('t', 'early.pad', jsonb_build_object('n', n)))) FROM generate_series($1, $1 + 139) n
$$;
CREATE FUNCTION pg_temp.is_written(key text) RETURNS boolean LANGUAGE sql AS $$
	SELECT EXISTS (SELECT FROM idem.key k WHERE k.key = substring($1 from '_([0-9a-f]{32})')::uuid AND xmin = pg_current_xact_id()::xid)
$$;

-- As a plain role, with linked versions
GRANT EXECUTE ON FUNCTION idem_claim_many(text, text, jsonb[], text[], integer, interval, interval, text) TO regress_idem_early;
BEGIN;
SET LOCAL ROLE regress_idem_early;
SELECT key FROM idem_claim('t', 'early.link', '{"k":1,"b":1}') \gset
SELECT count(*) FROM idem_claim_many('t', 'early.pad', (SELECT array_agg(jsonb_build_object('n', n)) FROM generate_series(1, 70) n)) \g /dev/null
SELECT count(*) FROM idem_claim_many('t', 'early.pad', (SELECT array_agg(jsonb_build_object('n', n)) FROM generate_series(71, 140) n)) \g /dev/null
RESET ROLE;
SELECT is(pg_temp.is_written(:'key'), true, 'it is written');
SELECT is(count(*), 1::bigint, 'with its other key') FROM idem.alias a WHERE a.key = right(:'key', 32)::uuid;
SET LOCAL ROLE regress_idem_early;
SELECT is(idem_release('t', :'key'), 'released', 'an ordinary role can release it');
RESET ROLE;
SELECT is(count(*), 0::bigint, 'and the other key goes, too') FROM idem.alias a WHERE a.key = right(:'key', 32)::uuid;
ROLLBACK;

-- Released and claimed again
BEGIN;
SELECT key FROM idem_claim('t', 'early.one', '{"k":2}') \gset
SELECT FROM pg_temp.pad(1);
SELECT is(idem_release('t', :'key'), 'released', 'released');
SELECT is((r).outcome, 'claimed', 'and recorded in one statement') FROM (SELECT idem_record('t', 'early.one', '{"k":2}', 'x') r OFFSET 0) s;
SELECT is((idem_claim('t', 'early.one', '{"k":2}')).effect_ref, 'x', 'is recorded');
SELECT is(idem_complete('t', key), 'completed', 'claimed and completed in one statement, after a release') FROM (
	SELECT idem_release('t', (idem_claim('t', 'early.one', '{"k":3}')).key)) s CROSS JOIN LATERAL idem_claim_many('t', 'early.one', '{"{\"k\":3}"}');
ROLLBACK;
BEGIN;
SELECT key FROM idem_claim('t', 'early.one', '{"k":4,"x":1}') \gset
SELECT FROM pg_temp.pad(1);
SELECT is(idem_release('t', :'key'), 'released', 'released');
SELECT is((idem_claim('t', 'early.one', '{"k":4,"x":2}')).outcome, 'claimed', 'with other arguments, as if it had not been written');
ROLLBACK;
BEGIN;
SELECT key FROM idem_claim('t', 'early.one', '{"k":5}') \gset
SELECT FROM pg_temp.pad(1);
SELECT count(*) FROM (SELECT FROM idem.key WHERE key = right(:'key', 32)::uuid FOR UPDATE) s \g /dev/null
SELECT is(idem_release('t', :'key'), 'released', 'although this transaction has locked the row');
ROLLBACK;
BEGIN;
SELECT key FROM idem_claim('t', 'early.one', '{"k":6}') \gset
SELECT FROM pg_temp.pad(1);
SELECT throws_ok(format('SELECT idem_resolve(%L, %L, %L)', 't', :'key', 'retry'), 'ID027', NULL, 'a claim of one''s own is not decided on');
ROLLBACK;

-- What is judged by the clock is not, within the transaction.
BEGIN;
SELECT is(idem_fail('t', (idem_claim('t', 'early.again', '{"k":1,"x":1}')).key, '"no"'), 'failed', 'failed');
SELECT FROM pg_temp.pad(1);
UPDATE idem.key k SET completed_at = completed_at - interval '2 hours' FROM idem.operation o WHERE o.id = k.policy AND o.operation = 'early.again';
SELECT is((idem_claim('t', 'early.again', '{"k":1,"x":1}')).outcome, 'failed', 'two hours ago, in this transaction');
SELECT is((idem_claim('t', 'early.again', '{"k":1,"x":2}')).outcome, 'conflict', 'and another request conflicts with it');
ROLLBACK;

-- Later generations are written early, too, and leave the receipt before them when they are released.
SELECT is(count(idem_record('t', 'early.again', jsonb_build_object('k', k), 'first' || k)), 300::bigint, '300 keys') FROM generate_series(1, 300) k;
SELECT FROM pg_temp.age('early.again', '2 minutes');
BEGIN;
SELECT is((count(*) FILTER (WHERE outcome = 'claimed'), count(*) FILTER (WHERE key LIKE '%-2'))::text, '(300,300)', 'repeated on purpose, in a batch')
	FROM idem_claim_many('t', 'early.again', (SELECT array_agg(jsonb_build_object('k', k)) FROM generate_series(1, 300) k));
SELECT cmp_ok(count(*), '<=', 130::bigint, 'hold few locks') FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'userlock';
SELECT is(count(*) FILTER (WHERE idem_release('t', idem_key('t', 'early.again', jsonb_build_object('k', k)) || '-2') = 'released'), 100::bigint, '100 are given back') FROM generate_series(1, 100) k;
SELECT is(count(*) FILTER (WHERE idem_complete('t', idem_key('t', 'early.again', jsonb_build_object('k', k)) || '-2', 'second' || k) = 'completed'), 200::bigint, '200 done') FROM generate_series(101, 300) k;
COMMIT;
SELECT is(string_agg(DISTINCT c.outcome || ' ' || left(c.effect_ref, 5) || right(c.key, 2), ', '), 'replayed secon-2', 'the receipts of the second') FROM generate_series(101, 300) k
	CROSS JOIN LATERAL idem_claim('t', 'early.again', jsonb_build_object('k', k)) c;
SELECT is(count(*), 100::bigint, 'and of the first, where the second was given back') FROM generate_series(1, 100) k
	CROSS JOIN LATERAL idem_lookup('t', idem_key('t', 'early.again', jsonb_build_object('k', k))) c WHERE c.effect_ref = 'first' || k;

SELECT FROM pg_temp.remove('early.pad', 'early.one', 'early.link', 'early.again');
REVOKE ALL ON SCHEMA idem FROM regress_idem_early;
DROP OWNED BY regress_idem_early;
DROP ROLE regress_idem_early;
SELECT * FROM finish();
