\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- What a plain role may do: nothing, until it is granted; then claim, finish and look up.

-- Roles outlive the database of a run that was broken off.
DROP ROLE IF EXISTS regress_idem_app, regress_idem_other, "regress idem ""odd"" role";
CREATE ROLE regress_idem_app;
CREATE ROLE regress_idem_other;
CREATE SCHEMA privilege;
GRANT USAGE ON SCHEMA privilege TO PUBLIC;
CREATE TABLE privilege.effect (id int, by name DEFAULT current_user);
CREATE FUNCTION privilege.do_it(arguments jsonb) RETURNS jsonb LANGUAGE sql AS $$
	INSERT INTO privilege.effect VALUES ((arguments->>'id')::int) RETURNING to_jsonb(by)
$$;
REVOKE EXECUTE ON FUNCTION privilege.do_it(jsonb) FROM PUBLIC;
SELECT FROM idem_define('priv.args', identity => 'arguments');
SELECT FROM idem_define('priv.call', identity => 'arguments', effect => 'external');
SELECT FROM idem_record('u1', 'priv.args', '{"id":0}', 'e0', '"secret of u1"');

-- Before any grant
SET SESSION AUTHORIZATION regress_idem_app;
SELECT throws_ok(statement, '42501', NULL, 'C078: not for PUBLIC: ' || statement)
	FROM (VALUES
		(1, $$SELECT idem_claim('t', 'priv.args', '{}')$$),
		(2, $$SELECT idem_record('t', 'priv.args', '{}')$$),
		(3, $$SELECT idem_once('t', 'priv.args', '{}', 'privilege.do_it(jsonb)')$$),
		(4, $$SELECT idem_complete('t', 'k')$$),
		(5, $$SELECT idem_fail('t', 'k')$$),
		(6, $$SELECT idem_release('t', 'k')$$),
		(7, $$SELECT idem_unknown('t', 'k')$$),
		(8, $$SELECT idem_resolve('t', 'k', 'retry')$$),
		(9, $$SELECT idem_lookup('t', 'k')$$),
		(10, $$SELECT idem_lookup('t', 'priv.args', '{}')$$),
		(11, $$SELECT idem_define('priv.mine', identity => 'arguments')$$),
		(12, $$SELECT idem_drop_operation('priv.args')$$),
		(13, $$SELECT idem_expire()$$),
		(14, $$SELECT idem_grant('regress_idem_app')$$),
		(15, $$SELECT FROM idem_keys$$),
		(16, $$SELECT FROM idem_operations$$),
		(17, $$SELECT FROM idem.key$$),
		(18, $$SELECT FROM idem.operation$$),
		(19, $$SELECT idem.has_keys(1::smallint)$$),
		(20, $$SELECT idem_retire_version('priv.args', 1)$$),
		(21, $$SELECT FROM idem.alias$$),
		(22, $$SELECT FROM idem.path$$),
		(23, $$SELECT FROM idem_claim_many('t', 'priv.args', '{}')$$)) v (n, statement) ORDER BY n;
SELECT is(idem_canonical('{"b":1.0,"a":2}'), '{"a":2,"b":1}',
	'the canonical form is for everybody');
SELECT is(length(idem_key('t', 'priv.args', '{}')), 42,
	'so are keys: they tell nothing of the ledger');
RESET SESSION AUTHORIZATION;

-- The grant gives its list and nothing else.
CREATE FUNCTION pg_temp.granted(role name) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT p.oid::regprocedure::text FROM pg_proc p, aclexplode(p.proacl) a
		WHERE a.grantee = role::regrole AND a.privilege_type = 'EXECUTE'
$$;
SELECT is_empty($$SELECT FROM pg_temp.granted('regress_idem_app')$$, 'nothing is granted yet');
SELECT lives_ok($$SELECT idem_grant('regress_idem_app')$$, 'a grant');
SELECT set_eq($$SELECT pg_temp.granted('regress_idem_app')$$, ARRAY[
	'idem_claim(text,text,jsonb,text,integer,interval,interval)',
	'idem_record(text,text,jsonb,text,jsonb,text,integer,interval)',
	'idem_once(text,text,jsonb,regprocedure,text,integer,interval,text,text)',
	'idem_claim_many(text,text,jsonb[],text[],integer,interval,interval,text)',
	'idem_complete(text,text,text,jsonb,bigint)',
	'idem_fail(text,text,jsonb,bigint)',
	'idem_release(text,text,bigint,interval,boolean)', 'idem_mark_sending(text,text,bigint)', 'idem_renew(text,text,bigint,interval)', 'idem_report_late(text,text,bigint,text)', 'idem_bind(text,text,text,text,bigint)', 'idem_find(text,text,text,interval)', 'idem_duplicates(text,text)',
	'idem_unknown(text,text,bigint,interval)',
	'idem_lookup(text,text)',
	'idem_lookup(text,text,jsonb,text,integer)'],
		'gives claim, batches, record, once, complete, fail, release, unknown and look-up');
SELECT is_empty($$SELECT FROM pg_class c, aclexplode(c.relacl) a WHERE a.grantee = 'regress_idem_app'::regrole$$,
	'and no table');
SELECT lives_ok($$SELECT idem_grant('regress_idem_app')$$, 'it can be given twice');
SELECT throws_ok($$SELECT idem_grant('regress_idem_app', 'priv.args')$$, '0A000', NULL,
	'a grant for one operation is refused, not widened');
SELECT throws_ok($$SELECT idem_grant('regress_idem_app', tenant => 'u1')$$, '0A000', NULL,
	'so is one for a tenant');
SELECT throws_ok($$SELECT idem_grant('regress_idem_nobody')$$, '42704', NULL,
	'and one for no role');
CREATE ROLE "regress idem ""odd"" role";
SELECT lives_ok($$SELECT idem_grant('"regress idem ""odd"" role"')$$,
	'whatever the role is called');
DROP OWNED BY "regress idem ""odd"" role";
DROP ROLE "regress idem ""odd"" role";

-- The whole of an application's work, as a plain role
SET SESSION AUTHORIZATION regress_idem_app;
BEGIN;
SELECT is((idem_claim(tenant, 'priv.args', '{"n":1}')).outcome, 'claimed',
	'C076: one intent of tenant ' || tenant)
	FROM unnest('{u1, u2}'::text[]) tenant;
SELECT is(idem_complete(tenant, idem_key(tenant, 'priv.args', '{"n":1}'), NULL,
	to_jsonb('secret of ' || tenant)), 'completed', 'C076: its secret')
	FROM unnest('{u1, u2}'::text[]) tenant;
COMMIT;
SELECT is((idem_claim(tenant, 'priv.args', '{"n":1}')).response #>> '{}', 'secret of ' || tenant,
	'C076: replayed to tenant ' || tenant)
	FROM unnest('{u1, u2}'::text[]) tenant;
SELECT throws_ok($$SELECT idem_claim(NULL, 'priv.args', '{"n":1}')$$, '22004', NULL,
	'C076 C077: no tenant is no tenant');
SELECT ok(idem_lookup('u2', idem_key('u1', 'priv.args', '{"id":0}')) IS NULL,
	'C078: another tenant''s key is unknown to a look-up');
SELECT ok(idem_lookup('u2', 'priv.args', '{"id":0}') IS NULL, 'C078: its request is another key');
SELECT throws_ok(format($$SELECT idem_complete('u2', %L)$$,
	idem_key('u1', 'priv.args', '{"id":0}')), 'ID021', NULL, 'C078: unknown to a completion');
SELECT throws_ok(format($$SELECT idem_fail('u2', %L)$$, idem_key('u1', 'priv.args', '{"id":0}')),
	'ID021', NULL, 'C078: and to a failure');
SELECT throws_ok(statement, '42501', NULL, 'C078: not for an application: ' || statement)
	FROM (VALUES
		(1, $$SELECT idem_resolve('t', 'k', 'retry')$$),
			(2, $$SELECT idem_define('priv.mine', identity => 'arguments')$$),
		(3, $$SELECT idem_drop_operation('priv.args')$$), (4, $$SELECT idem_expire()$$),
			(5, $$SELECT idem_grant('regress_idem_other')$$),
		(6, $$SELECT FROM idem_keys$$), (7, $$SELECT FROM idem_operations$$),
			(8, $$SELECT FROM idem.key$$),
		(9, $$INSERT INTO idem.key DEFAULT VALUES$$), (10, $$UPDATE idem.key SET state = 'c'$$),
			(11, $$DELETE FROM idem.key$$),
		(12, $$TRUNCATE idem.key$$), (13, $$SELECT FROM idem.operation$$),
			(14, $$UPDATE idem.operation SET retention = '1 s'$$),
		(15, $$SELECT FROM idem.sweep$$), (16, $$SELECT FROM idem.retention_change$$),
			(17, $$CREATE TABLE idem.mine ()$$),
		(18, $$SELECT idem.has_keys(1::smallint)$$)) v (n, statement) ORDER BY n;

-- The effect of idem_once runs as the caller, who must be allowed to run it.
SELECT throws_ok($$SELECT idem_once('t', 'priv.args', '{"id":1}', 'privilege.do_it(jsonb)')$$,
	'42501', NULL, 'an effect that the caller may not run');
SELECT ok(idem_lookup('t', 'priv.args', '{"id":1}') IS NULL, 'claims nothing');
RESET SESSION AUTHORIZATION;
GRANT EXECUTE ON FUNCTION privilege.do_it(jsonb) TO regress_idem_app;
SET SESSION AUTHORIZATION regress_idem_app;
SELECT throws_ok($$SELECT idem_once('t', 'priv.args', '{"id":1}', 'privilege.do_it(jsonb)')$$,
	'42501', NULL, 'an effect that may not do what it does');
SELECT is((idem_once('t', 'priv.args', '{"id":1}', 'privilege.do_it(jsonb)',
	on_error => 'fail')).response->>'sqlstate', '42501', 'or is stored as having failed');
RESET SESSION AUTHORIZATION;
GRANT INSERT, SELECT ON privilege.effect TO regress_idem_app;
SET SESSION AUTHORIZATION regress_idem_app;
SELECT is((idem_once('t', 'priv.args', '{"id":2}', 'privilege.do_it(jsonb)')).response,
	'"regress_idem_app"', 'an effect runs as the caller');
SELECT is((SELECT string_agg(id || ' by ' || by, ', ') FROM privilege.effect),
	'2 by regress_idem_app', 'once');

-- What a grant of idem_grant leaves out can be granted by itself.
RESET SESSION AUTHORIZATION;
SELECT key AS key, fence AS fence FROM idem_claim('t', 'priv.call', '{}') \gset
SELECT is(idem_unknown('t', :'key', :fence), 'unknown', 'a key that waits for a decision');
GRANT EXECUTE ON FUNCTION idem_define, idem_drop_operation, idem_expire,
	idem_resolve TO regress_idem_other;
GRANT SELECT ON idem_keys, idem_operations TO regress_idem_other;
SET SESSION AUTHORIZATION regress_idem_other;
SELECT is(idem_define('priv.theirs', key_fields => '{"id":"exact"}'), 'created',
	'a granted role defines');
SELECT is(idem_define('priv.theirs', retention => '1 hour'), 'changed', 'changes');
SELECT is(idem_drop_operation('priv.theirs'), 1, 'drops');
SELECT is(idem_resolve('t', :'key', 'abandoned'), 'abandoned', 'decides');
SELECT is(idem_expire(), 0, 'expires');
SELECT is((SELECT state FROM idem_keys WHERE key = :'key'), 'abandoned', 'reads the view of keys');
SELECT is((SELECT count(*) FROM idem_operations WHERE operation LIKE 'priv.%'), 2::bigint,
	'and of operations');
SELECT throws_ok($$SELECT idem_claim('t', 'priv.args', '{}')$$, '42501', NULL,
	'and does not claim');
RESET SESSION AUTHORIZATION;
SET SESSION AUTHORIZATION regress_idem_app;

-- C081: objects of the caller's own that are named like ours
CREATE TEMP TABLE key (key uuid, completed_at timestamptz, elapsed int, policy smallint,
	state "char", tenant text);
CREATE TEMP TABLE operation (id int);
CREATE TEMP TABLE sweep (block_range int, due timestamptz);
CREATE TEMP TABLE retention_change (policy int);
CREATE FUNCTION pg_temp.sha256(bytea) RETURNS bytea LANGUAGE sql AS $$SELECT '\x00'::bytea$$;
CREATE FUNCTION pg_temp.clock_timestamp() RETURNS timestamptz LANGUAGE sql
	AS $$SELECT 'epoch'::timestamptz$$;
SET search_path = pg_temp, public, pg_catalog;
SELECT is((idem_claim('t', 'priv.args', '{"id":2}')).outcome, 'replayed',
	'C081: a claim finds the ledger');
SELECT is((idem_record('t', 'priv.args', '{"id":3}')).outcome, 'claimed', 'C081: and writes to it');
SELECT is((idem_claim('t', 'priv.args', '{"id":3}')).outcome, 'replayed',
	'C081: and finds it again');
SELECT is((SELECT count(*) FROM pg_temp.key) + (SELECT count(*) FROM pg_temp.sweep), 0::bigint,
	'C081: nothing is in the caller''s tables');
RESET search_path;
RESET SESSION AUTHORIZATION;
SET search_path = pg_temp, public, pg_catalog;
SELECT is(public.idem_define('priv.mine', identity => 'arguments'), 'created',
	'C081: a definition finds its table');
SELECT is(public.idem_define('priv.mine', retention => '1 hour'), 'changed',
	'C081: and so does a change');
SELECT lives_ok('SELECT public.idem_expire()', 'C081: and expiry');
SELECT is(public.idem_drop_operation('priv.mine'), 1, 'C081: and dropping');
RESET search_path;
SELECT is((SELECT count(*) FROM pg_temp.key) + (SELECT count(*)
	FROM pg_temp.operation) + (SELECT count(*) FROM pg_temp.retention_change), 0::bigint,
          'C081: nothing is in those of the session');

SELECT FROM pg_temp.remove('priv.args', 'priv.call');
DROP SCHEMA privilege CASCADE;
DROP OWNED BY regress_idem_app, regress_idem_other;
DROP ROLE regress_idem_app, regress_idem_other;
SELECT * FROM finish();
