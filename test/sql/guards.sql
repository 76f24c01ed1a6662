\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- Where nothing may be written: read-only transactions and parallel workers. Reading works in them.

SELECT FROM idem_define('guard.args', identity => 'arguments');
SELECT FROM idem_define('guard.call', identity => 'arguments', effect => 'external');
SELECT FROM idem_record('t', 'guard.args', '{"n":0}', 'e0', '"done"');
SELECT key AS key, fence AS fence FROM idem_claim('t', 'guard.call', '{"n":0}') \gset
SELECT key AS released, fence AS released_fence FROM idem_claim('t', 'guard.call', '{"n":1}') \gset
SELECT is(idem_release('t', :'released', :released_fence), 'released', 'there is a released key');
CREATE FUNCTION pg_temp.effect(arguments jsonb) RETURNS jsonb LANGUAGE sql AS $$
	INSERT INTO effect (operation) VALUES ('guard.args') RETURNING arguments
$$;

SET default_transaction_read_only = on;
SELECT throws_ok(statement, '25006', NULL, 'C123: refused: ' || split_part(statement, ' ', 2) || ' '
	|| what)
	FROM (VALUES
		(1, 'of a new intent', $$SELECT idem_claim('t', 'guard.args', '{"n":1}')$$),
		(2, 'of a new intent', $$SELECT idem_record('t', 'guard.args', '{"n":1}')$$),
		(3, 'of a new intent', $$SELECT idem_once('t', 'guard.args', '{"n":1}', 'pg_temp.effect(jsonb)')$$),
		(4, 'of an external one', $$SELECT idem_claim('t', 'guard.call', '{"n":2}')$$),
		(5, 'of a released one', $$SELECT idem_claim('t', 'guard.call', '{"n":1}')$$),
		(6, '', format('SELECT idem_complete(''t'', %L, NULL, NULL, %s)', :'key', :'fence')),
		(7, '', format('SELECT idem_fail(''t'', %L, NULL, %s)', :'key', :'fence')),
		(8, '', format('SELECT idem_release(''t'', %L, %s)', :'key', :'fence')),
		(9, '', format('SELECT idem_unknown(''t'', %L, %s)', :'key', :'fence')),
		(10, '', format('SELECT idem_resolve(''t'', %L, ''retry'')', :'key')),
		(11, '', 'SELECT idem_expire()'),
		(12, '', $$SELECT idem_define('guard.more', identity => 'arguments')$$),
		(13, '', $$SELECT idem_drop_operation('guard.args')$$)) v (n, what, statement) ORDER BY n;
SELECT is((idem_claim('t', 'guard.args', '{"n":0}')).response, '"done"', 'C123: a replay works');
SELECT is((idem_record('t', 'guard.args', '{"n":0}')).outcome, 'replayed', 'C123: of idem_record');
SELECT is((idem_once('t', 'guard.args', '{"n":0}', 'pg_temp.effect(jsonb)')).outcome, 'replayed',
	'C123: of idem_once');
SELECT is((idem_claim('t', 'guard.call', '{"n":0}')).outcome, 'in_progress',
	'C123: a claim under way is told');
SELECT is((idem_lookup('t', 'guard.args', '{"n":0}')).outcome, 'replayed', 'C123: a look-up works');
SELECT is((idem_lookup('t', :'key')).outcome, 'in_progress', 'C123: by key');
SELECT ok(idem_lookup('t', 'guard.args', '{"n":1}') IS NULL, 'C123: of an unknown key too');
SELECT is(idem_canonical('{"b":1.0,"a":2}'), '{"a":2,"b":1}', 'C123: so do the canonical form');
SELECT is(encode(idem_digest('1'), 'hex'), encode(sha256('1'), 'hex'), 'C123: the digest');
SELECT is(length(idem_key('t', 'guard.args', '{}')), 43, 'C123: the key');
SELECT is(idem_intent('t', 'guard.args', '{}'), '{"args":{},"tenant":"t"}', 'C123: the intent');
SELECT is(idem_check('', 'guard.args', '{}'), 'tenant is blank', 'C123: the check');
SELECT is(count(*), 1::bigint, 'C123: the views') FROM idem_operations o JOIN idem_keys k
	USING (operation) WHERE operation = 'guard.args';
SET default_transaction_read_only = off;
SELECT is((pg_temp.keys('guard.args'), pg_temp.keys('guard.call', 'o'),
	pg_temp.keys('guard.call', 'r'))::text, '(1,1,1)', 'C123: nothing was written');
SELECT is_empty('SELECT FROM effect', 'C123: and no effect ran');

-- At the claim, not at the commit
BEGIN READ ONLY;
SELECT throws_ok($$SELECT idem_claim('t', 'guard.args', '{"n":1}')$$, '25006', NULL,
	'C123: BEGIN READ ONLY: refused at the claim');
SELECT is((idem_claim('t', 'guard.args', '{"n":0}')).outcome, 'replayed',
	'C123: and replayed after it');
COMMIT;
SELECT is((SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'userlock'),
	0::bigint, 'C123: no lock is left');
BEGIN;
SELECT FROM idem_claim('t', 'guard.args', '{"n":1}');
SELECT FROM idem_claim('t', 'guard.call', '{"n":1}');
SAVEPOINT s;
SELECT is(idem_release('t', idem_key('t', operation, '{"n":1}')), 'released',
	'C123: released, then read-only') FROM unnest('{guard.args, guard.call}'::text[]) operation;
SET TRANSACTION READ ONLY;
SELECT throws_ok($$SELECT idem_claim('t', 'guard.args', '{"n":1}')$$, '25006', NULL,
	'C123: a claim released here cannot be taken up again');
SELECT throws_ok($$SELECT idem_claim('t', 'guard.call', '{"n":1}')$$, '25006', NULL,
	'C123: nor can a row');
ROLLBACK;

-- Parallel workers share their leader's locks, and know nothing of its claims.
CREATE FUNCTION guard_wrapper(statement text) RETURNS text LANGUAGE plpgsql PARALLEL SAFE AS $$
DECLARE
	answer text;
BEGIN
	EXECUTE statement INTO answer;
	RETURN answer;
END $$;
CREATE TABLE guard_statement (n int, statement text);
INSERT INTO guard_statement VALUES
	(1, $$SELECT (idem_claim('t', 'guard.args', '{"n":1}')).outcome$$),
	(2, $$SELECT (idem_claim('t', 'guard.args', '{"n":0}')).outcome$$),
	(3, $$SELECT (idem_record('t', 'guard.args', '{"n":1}')).outcome$$),
	(4, $$SELECT (idem_once('t', 'guard.args', '{"n":1}', 'jsonb_strip_nulls(jsonb)')).outcome$$),
	(5, format('SELECT idem_complete(''t'', %L, NULL, NULL, %s)', :'key', :'fence')),
	(6, format('SELECT idem_resolve(''t'', %L, ''retry'')', :'key')),
	(7, 'SELECT idem_expire()');
ANALYZE guard_statement;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET force_parallel_mode = on;
SELECT throws_ok(format('SELECT guard_wrapper(statement) FROM guard_statement WHERE n = %s', n),
	'25000', NULL, 'refused in a parallel worker: ' || what)
	FROM (VALUES (1, 'a claim'), (2, 'even of a finished key'), (3, 'a record'), (4, 'idem_once'),
		(5, 'a completion'), (6, 'a decision'), (7, 'expiry')) v (n, what);
SELECT is(guard_wrapper($$SELECT encode(idem_digest('1'), 'hex')$$), encode(sha256('1'), 'hex'),
	'a digest works in a worker');
RESET force_parallel_mode;
SELECT is((pg_temp.keys('guard.args'), pg_temp.keys('guard.call', 'o'))::text, '(1,1)',
	'nothing was written');

DROP TABLE guard_statement;
DROP FUNCTION guard_wrapper(text);
SELECT FROM pg_temp.remove('guard.args', 'guard.call');
SELECT * FROM finish();
