\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- Each SQLSTATE of class ID once, with its message; and no message shows what a caller passed as data.

SELECT FROM idem_define('error.fields',
	key_fields => '{"id":"exact","amount":"minor_units(2) optional","name":"trim optional"}');
SELECT FROM idem_define('error.step', identity => 'occurrence');
SELECT FROM idem_define('error.call', identity => 'arguments', effect => 'external');
SELECT FROM idem_define('error.old', key_fields => '{"id":"exact"}');
SELECT FROM idem_define('error.old', version => 2, key_fields => '{"id":"trim"}');
SELECT FROM idem_retire_version('error.old', 1);
SELECT FROM idem_record('SECRET', 'error.fields', '{"id":"SECRET"}', 'SECRET', '"SECRET"');
SELECT key AS key, fence AS fence FROM idem_claim('SECRET', 'error.call', '"SECRET"') \gset

CREATE TEMP TABLE fault (n serial, state text, message text, statement text);
INSERT INTO fault (state, message, statement) VALUES
	('ID001', 'operation "error.none" is not defined',
		$$SELECT idem_claim('SECRET', 'error.none', '"SECRET"', 'SECRET')$$),
	('ID001', 'version 7 of operation "error.step" is not defined',
		$$SELECT idem_claim('SECRET', 'error.step', '"SECRET"', 'SECRET', 7)$$),
	('ID002', 'invalid definition of operation "error.new": key field "id" has an unknown normaliser',
		$$SELECT idem_define('error.new', key_fields => '{"id":"SECRET"}')$$),
	('ID002', 'operation "error.new" does not say what identifies an intent',
		$$SELECT idem_define('error.new')$$),
	('ID003', 'the recipe of operation "error.fields" version 1 is frozen, because it has keys',
		$$SELECT idem_define('error.fields', identity => 'arguments')$$),
	('ID004', 'operation "error.fields" version 1 has keys',
		$$SELECT idem_drop_operation('error.fields')$$),
	('ID002', 'version 2 of operation "error.fields" drops a key field of version 1',
		$$SELECT idem_define('error.fields', version => 2, key_fields => '{"id":"exact"}')$$),
	('ID002', 'version 2 of operation "error.old" is the current one',
		$$SELECT idem_retire_version('error.old', 2)$$),
	('ID005', 'version 1 of operation "error.old" is retired',
		$$SELECT idem_claim('SECRET', 'error.old', '{"id":"SECRET"}', version => 1)$$),
	('ID011', 'key field "id" is missing',
		$$SELECT idem_claim('SECRET', 'error.fields', '{"SECRET":"SECRET"}')$$),
	('ID011', 'key field "id" is null',
		$$SELECT idem_claim('SECRET', 'error.fields', '{"id":null,"x":"SECRET"}')$$),
	('ID012', 'key field "amount" is not a number or a decimal string',
		$$SELECT idem_claim('SECRET', 'error.fields', '{"id":1,"amount":"SECRET"}')$$),
	('ID012', 'key field "name" is not a string',
		$$SELECT idem_claim('SECRET', 'error.fields', '{"id":1,"name":["SECRET"]}')$$),
	('ID013', 'operation needs an occurrence',
		$$SELECT idem_claim('SECRET', 'error.step', '"SECRET"')$$),
	('ID013', 'operation takes no occurrence',
		$$SELECT idem_claim('SECRET', 'error.call', '"SECRET"', 'SECRET')$$),
	('ID021', 'there is no claim of this key',
		$$SELECT idem_complete('SECRET', 'SECRET', 'SECRET', '"SECRET"')$$),
	('ID022', 'a fence is needed outside the transaction that claimed the key',
		format($$SELECT idem_complete('SECRET', %L, 'SECRET', '"SECRET"')$$, :'key')),
	('ID022', 'the fence is not the one of the present attempt',
		format($$SELECT idem_complete('SECRET', %L, 'SECRET', '"SECRET"', %s)$$, :'key',
		:fence::bigint # 1)),
	('ID023', 'the key was finished before, with another result',
		$$SELECT idem_complete('SECRET', idem_key('SECRET', 'error.fields', '{"id":"SECRET"}'), 'SECRET', '"SECRETLY"')$$),
	('ID024', 'idem_record is for local effects',
		$$SELECT idem_record('SECRET', 'error.call', '{"n":"SECRET"}', 'SECRET', '"SECRET"')$$),
	('ID027', 'the key needs no decision',
		format($$SELECT idem_resolve('SECRET', %L, 'completed', 'SECRET', '"SECRET"', 'SECRET')$$,
		:'key')),
	('0A000', 'grants for one operation or tenant are not supported yet',
		$$SELECT idem_grant('pg_database_owner', 'error.step', 'SECRET')$$),
	('22004', 'tenant is NULL', $$SELECT idem_claim(NULL, 'error.step', '"SECRET"', 'SECRET')$$),
	('22004', 'arguments are NULL', $$SELECT idem_claim('SECRET', 'error.step', NULL, 'SECRET')$$),
	('22023', 'tenant is longer than 255 bytes',
		$$SELECT idem_claim(repeat('SECRET', 50), 'error.step', '"SECRET"', 'SECRET')$$),
	('22023', 'occurrence is blank',
		$$SELECT idem_claim('SECRET', 'error.step', '"SECRET"', ' ')$$),
	('22023', 'arguments are not a JSON object',
		$$SELECT idem_claim('SECRET', 'error.fields', '"SECRET"')$$),
	('22023', 'lease is shorter than 1 millisecond',
		$$SELECT idem_claim('SECRET', 'error.call', '"SECRET"', lease => '-1 s')$$),
	('22023', 'unknown decision', format($$SELECT idem_resolve('SECRET', %L, 'SECRET')$$, :'key'));

-- State, message, and whether detail or hint show the secret. The context is PostgreSQL's, and shows statements.
CREATE FUNCTION pg_temp.raised(statement text, OUT state text, OUT message text, OUT shows boolean)
	LANGUAGE plpgsql AS $$
DECLARE
	detail text;
	hint text;
BEGIN
	EXECUTE statement;
	state := '00000';
EXCEPTION WHEN OTHERS THEN
	GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
		detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
	shows := (message || detail || hint) ~ 'SECRET';
END $$;
SELECT is((r.state, r.message, r.shows)::text, (f.state, f.message, false)::text,
	f.state || ': ' || f.message)
	FROM fault f, pg_temp.raised(statement) r ORDER BY f.n;

-- In the claiming transaction
BEGIN;
SELECT key AS own FROM idem_claim('SECRET', 'error.call', '{"n":"SECRET"}') \gset
SELECT is((state, message, shows)::text,
	'(ID024,"the claim of an external effect must be committed before it is finished",f)',
	'ID024: before the commit')
	FROM pg_temp.raised(format($$SELECT idem_complete('SECRET', %L, 'SECRET', '"SECRET"')$$,
		:'own'));
SELECT key AS own FROM idem_claim('SECRET', 'error.step', '"SECRET"', 'SECRET') \gset
SELECT is((state, message, shows)::text, '(0A000,"a local effect has no unknown outcome",f)',
	'0A000: a local effect has no unknown outcome')
	FROM pg_temp.raised(format($$SELECT idem_unknown('SECRET', %L)$$, :'own'));
COMMIT;
SELECT is(:'SQLSTATE'::text, 'ID025', 'ID025: left open');
SELECT is(:'LAST_ERROR_MESSAGE'::text, format('claim of key "%s" was left open', :'own'),
	'ID025: its message');

-- While the transaction is committing: an index expression that claims
CREATE FUNCTION error_claim(tenant text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
	IF current_setting('error.claim', true) = 'on' THEN
		PERFORM public.idem_record('SECRET', 'error.step', '"SECRET"', occurrence => 'another');
	END IF;
	RETURN tenant;
END $$;
CREATE INDEX error_index ON idem.key (error_claim(tenant));
BEGIN;
SET LOCAL error.claim = on;
SELECT FROM idem_record('SECRET', 'error.step', '"SECRET"', occurrence => 'SECRET');
COMMIT;
SELECT is(:'SQLSTATE'::text, 'ID026', 'ID026: a claim while committing');
SELECT is(:'LAST_ERROR_MESSAGE'::text,
	'cannot claim or finish a key while the transaction is committing', 'ID026: its message');
SELECT is(pg_temp.keys('error.step'), 0::bigint, 'ID026: neither claim is there');
DROP INDEX idem.error_index;
SELECT is((idem_record('SECRET', 'error.step', '"SECRET"', occurrence => 'SECRET')).outcome,
	'claimed', 'ID026: and the next transaction claims as ever');

-- The ledger
BEGIN;
ALTER TABLE idem.key ADD CHECK (tenant <> '');
SELECT is((state, message, shows)::text, '(ID031,"table ""idem.key"" cannot be used",f)',
	'ID031: changed')
	FROM pg_temp.raised($$SELECT idem_claim('SECRET', 'error.step', '"SECRET"', 'SECRET')$$);
ROLLBACK;
BEGIN;
CREATE TABLE error_effect (key uuid CONSTRAINT error_effect_fkey REFERENCES idem.key);
SELECT is((state, message, shows)::text,
	'(ID032,"cannot delete keys while foreign key ""error_effect_fkey"" references the ledger",f)',
	'ID032: referenced')
	FROM pg_temp.raised('SELECT idem_expire()');
ROLLBACK;

-- A writer outside of pg_idem
BEGIN;
SELECT FROM idem_record('SECRET', 'error.step', '"SECRET"', occurrence => 'raw');
INSERT INTO idem.key (key, policy, state, tenant, completed_at)
	SELECT right(idem_key('SECRET', 'error.step', '"SECRET"', 'raw'), 32)::uuid, id, 'c', 'SECRET',
		now() FROM idem.operation WHERE operation = 'error.step';
COMMIT;
SELECT is(:'SQLSTATE'::text, '40001', '40001: a row that came by raw SQL meanwhile');
SELECT is(:'LAST_ERROR_MESSAGE'::text, 'could not record a key because of a writer outside pg_idem',
	'40001: its message');

DROP FUNCTION error_claim(text);
SELECT FROM pg_temp.remove('error.fields', 'error.step', 'error.call', 'error.old');
SELECT * FROM finish();
