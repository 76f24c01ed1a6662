\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- What claims cost: replays write nothing at all, claims open no sub-transaction, and a transaction
-- with many claims keeps few locks.

SELECT FROM idem_define('costs.args', identity => 'arguments');
SELECT FROM idem_define('costs.once', identity => 'arguments');
CREATE TABLE costs_effect (n int);
CREATE FUNCTION costs_effect(arguments jsonb) RETURNS jsonb LANGUAGE sql AS $$
	INSERT INTO costs_effect VALUES ((arguments->>'n')::int) RETURNING arguments
$$;

-- The WAL records of a statement, of this session alone.
CREATE FUNCTION pg_temp.wal_records(statement text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, WAL, FORMAT json) ' || statement INTO plan;
	RETURN plan->0->'Plan'->>'WAL Records';
END $$;

SELECT is((idem_record('t', 'costs.args', '{"n":0}', 'e0', '{"ok":true}')).outcome, 'claimed',
	'a key, to be replayed');
SELECT is((idem_claim('t', 'costs.args', '{"n":0}')).outcome, 'replayed',
	'which has been read once');
SELECT FROM pg_stat_force_next_flush();
SELECT n_tup_ins AS inserted, n_tup_upd AS updated,
	n_tup_del AS deleted FROM pg_stat_user_tables WHERE relid = 'idem.key'::regclass \gset
BEGIN;
SELECT count(*) FILTER (WHERE (c).outcome = 'replayed') AS replayed
	FROM (SELECT idem_claim('t', 'costs.args', '{"n":0}') c
		FROM generate_series(1, 10000) OFFSET 0) s \gset
SELECT pg_current_xact_id_if_assigned() IS NULL AS no_xid \gset
SELECT is(:replayed, 10000, 'C105: 10,000 replays');
SELECT ok(:'no_xid', 'C105: take no transaction id');
SELECT is((SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'userlock'),
	0::bigint, 'C105: and keep no lock');
COMMIT;
SELECT FROM pg_stat_force_next_flush();
SELECT is((n_tup_ins, n_tup_upd, n_tup_del)::text,
	format('(%s,%s,%s)', :'inserted', :'updated', :'deleted'), 'C105: no row version')
	FROM pg_stat_user_tables WHERE relid = 'idem.key'::regclass;
SELECT is(pg_temp.wal_records(statement), 0::bigint,
	'C105: no WAL: ' || split_part(statement, '(', 1))
	FROM (VALUES ($$SELECT idem_claim('t', 'costs.args', '{"n":0}') FROM generate_series(1, 1000)$$),
	             ($$SELECT idem_record('t', 'costs.args', '{"n":0}', 'e0') FROM generate_series(1, 1000)$$),
	             ($$SELECT idem_once('t', 'costs.args', '{"n":0}', 'costs_effect(jsonb)') FROM generate_series(1, 1000)$$),
	             ($$SELECT idem_lookup('t', 'costs.args', '{"n":0}') FROM generate_series(1, 1000)$$),
	             ($$SELECT idem_claim('t', 'costs.args', '{"n":0,"x":1}'), idem_release('t', idem_key('t', 'costs.args', '{"n":0,"x":1}'))$$)) v (statement);
SELECT cmp_ok(pg_temp.wal_records($$INSERT INTO costs_effect VALUES (1)$$), '>', 0::bigint,
	'which is a measure that finds what writes');
SELECT is(count(*), 1::bigint, 'and no effect has run') FROM costs_effect;
TRUNCATE costs_effect;

-- Sub-transactions
BEGIN;
DO $$
DECLARE
	answer idem.claim;
BEGIN
	FOR i IN 1 .. 40 LOOP
		answer := idem_claim('t', 'costs.args', jsonb_build_object('n', i));
		PERFORM idem_complete('t', answer.key, 'e' || i, to_jsonb(i));
	END LOOP;
END $$;
SELECT pg_current_xact_id_if_assigned() IS NULL AS no_xid \gset
SELECT ok(:'no_xid', 'C101: nothing is written before the commit');
DO $$
DECLARE
	answer idem.claim;
BEGIN
	FOR i IN 41 .. 200 LOOP
		answer := idem_claim('t', 'costs.args', jsonb_build_object('n', i));
		PERFORM idem_complete('t', answer.key, 'e' || i, to_jsonb(i));
	END LOOP;
END $$;
SELECT FROM (SELECT idem_once('t', 'costs.once', jsonb_build_object('n', i), 'costs_effect(jsonb)')
	FROM generate_series(1, 200) i OFFSET 0) s;
SELECT pg_current_xact_id()::xid AS xid \gset
COMMIT;
SELECT is(count(*), 400::bigint,
	'C101: 400 claims of one transaction are of its own id, not of a sub-transaction''s')
	FROM idem.key k JOIN idem.operation o ON o.id = k.policy
	WHERE o.operation LIKE 'costs.%' AND k.xmin = :'xid';
SELECT is(count(*), 200::bigint, 'C101: so are the effects of idem_once') FROM costs_effect
	WHERE xmin = :'xid';

-- Locks
CREATE FUNCTION pg_temp.key_locks() RETURNS bigint LANGUAGE sql AS $$
	SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'userlock'
$$;
BEGIN;
SELECT FROM idem_claim('t', 'costs.args', '{"one":1}');
SELECT is(pg_temp.key_locks(), 1::bigint, 'a claim takes the lock of its key');
SELECT is((SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory'),
	0::bigint, 'C090: which is no advisory lock');
SELECT FROM pg_advisory_unlock_all();
SELECT is(pg_temp.key_locks(), 1::bigint, 'C090: and which nobody can let go by accident');
SELECT FROM idem_release('t', idem_key('t', 'costs.args', '{"one":1}'));
SELECT is(pg_temp.key_locks(), 0::bigint, 'releasing the claim releases it');
COMMIT;
SELECT is(pg_temp.key_locks(), 0::bigint, 'C090: nothing is held after the transaction');
SELECT is((SELECT count(*) FROM pg_class WHERE relpersistence = 't' AND relname ~ 'idem'),
	0::bigint, 'C090: and no temporary table was made');

DROP FUNCTION costs_effect(jsonb);
DROP TABLE costs_effect;
-- Names of fields are looked up once a session, not once a claim.
SELECT FROM idem_define('costs.bound', key_fields => '{"n":"exact"}');
SELECT FROM idem_record('t', 'costs.bound', '{"n":0,"note":"x"}');
SELECT FROM idem_record('t', 'costs.bound', '{"n":1,"note":"x"}');
SELECT FROM pg_stat_force_next_flush();
SELECT idx_scan AS scans FROM pg_stat_user_indexes WHERE indexrelid = 'idem.path_policy_digest_idx'::regclass \gset
DO $$
BEGIN
	FOR i IN 2..51 LOOP
		PERFORM idem_record('t', 'costs.bound', jsonb_build_object('n', i, 'note', i));
		COMMIT;
	END LOOP;
END $$;
SELECT FROM pg_stat_force_next_flush();
SELECT is(idx_scan, :scans::bigint, '50 claims look no name up') FROM pg_stat_user_indexes WHERE indexrelid = 'idem.path_policy_digest_idx'::regclass;
SELECT is(pg_temp.keys('costs.bound'), 52::bigint, 'and record their keys');

SELECT FROM pg_temp.remove('costs.args', 'costs.once', 'costs.bound');
SELECT * FROM finish();
