\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- What the extension is made of, as the catalogs have it.

CREATE FUNCTION pg_temp.members(class regclass) RETURNS SETOF oid LANGUAGE sql AS $$
	SELECT objid FROM pg_depend
		WHERE refclassid = 'pg_extension'::regclass
			AND refobjid = (SELECT oid FROM pg_extension WHERE extname = 'pg_idem')
		  AND deptype = 'e' AND classid = class
$$;
CREATE TEMP VIEW member_function AS
	SELECT p.oid::regprocedure::text AS name, p.*, l.lanname
	FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
		WHERE p.oid IN (SELECT pg_temp.members('pg_proc'));

-- Who may call what
SELECT set_eq($$SELECT name FROM member_function WHERE has_function_privilege('public', oid, 'EXECUTE')$$,
	ARRAY[
	'idem_canonical(jsonb)', 'idem_digest(jsonb)', 'idem_key(text,text,jsonb,text,integer)',
		'idem_intent(text,text,jsonb,text,integer)',
	'idem_check(text,text,jsonb,text,integer)', 'idem_explain_key(text,text,jsonb,text,integer)', 'idem_canonical(jsonb,text)',
	'idem_mint()', 'idem_classify(text,text)', 'idem_lint_schema(jsonb)', 'idem_strip_schema(jsonb)', 'idem_retryable(integer,text)', 'idem_guard()', 'idem_problem(idem.claim,text,text)', 'idem_problem(text,text,text)', 'idem.next_outcome(smallint,"char",integer,integer,timestamp with time zone,timestamp with time zone,timestamp with time zone,timestamp with time zone)'],
		'PUBLIC may call what neither reads nor changes the ledger');
SELECT is_empty($$SELECT c.relname FROM pg_class c, unnest('{SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER}'::text[]) p
	WHERE c.oid IN (SELECT pg_temp.members('pg_class')) AND has_table_privilege('public', c.oid, p)$$, 'PUBLIC has no right on any table or view');
SELECT ok(NOT has_schema_privilege('public', 'idem', 'USAGE')
	AND NOT has_schema_privilege('public', 'idem', 'CREATE'), 'nor on the schema');

-- C081: nothing that runs SQL follows the caller's search_path, and a pinned one ends with pg_temp.
SELECT is_empty($$SELECT name FROM member_function WHERE lanname <> 'c' AND
	NOT coalesce('search_path=pg_catalog, pg_temp' = ANY (proconfig), false)$$, 'C081: a function in SQL has its search_path pinned');
SELECT set_eq($$SELECT name FROM member_function WHERE prosecdef$$, ARRAY[
	'idem_define(text,integer,text,jsonb,text[],text,text,interval,interval,interval,interval,integer,boolean,text,text,interval,text,text,interval,integer,integer[],text,text[])',
		'idem_retire_version(text,integer)', 'idem_drop_operation(text,integer)', 'idem_expire(integer)',
	'idem_lint_schema(jsonb)', 'idem_strip_schema(jsonb)', 'idem_retryable(integer,text)', 'idem_bind(text,text,text,text,bigint)', 'idem_find(text,text,text,interval)', 'idem_problem(idem.claim,text,text)'],
	'C081: these run as their owner, and no other');
SELECT is_empty($$SELECT name FROM member_function WHERE prosecdef AND NOT coalesce('search_path=pg_catalog, pg_temp' = ANY (proconfig), false)$$,
	'C081: with their search_path pinned');

-- What the planner may do with them
SELECT set_eq($$SELECT proname || ' ' || provolatile::text || ' ' || proparallel::text || CASE WHEN proisstrict THEN ' strict' ELSE '' END
		FROM member_function WHERE pronamespace <> 'idem'::regnamespace$$, ARRAY[
	'idem_canonical i s strict', 'idem_mint v r', 'idem_classify i s', 'idem_lint_schema s s strict', 'idem_strip_schema s s strict', 'idem_explain_key s r', 'idem_digest i s strict', 'idem_key s r', 'idem_intent s r',
		'idem_check s r', 'idem_lookup v r',
	'idem_define v u', 'idem_retire_version v u', 'idem_drop_operation v u', 'idem_claim v u', 'idem_claim_many v u', 'idem_record v u',
		'idem_once v u', 'idem_complete v u', 'idem_fail v u',
	'idem_release v u', 'idem_unknown v u', 'idem_mark_sending v u', 'idem_renew v u', 'idem_report_late v u', 'idem_retryable s s', 'idem_bind v u', 'idem_find v r', 'idem_duplicates v r', 'idem_guard v u', 'idem_problem i s', 'idem_problem s s', 'idem_take v u', 'idem_resolve v u', 'idem_expire v u strict',
		'idem_grant v u'],
	'volatility, parallel safety, strictness: what changes the ledger is volatile and unsafe');
SELECT results_eq($$SELECT name FROM member_function WHERE proretset AND provolatile = 'v'$$,
	ARRAY['idem_claim_many(text,text,jsonb[],text[],integer,interval,interval,text)', 'idem_take(text,integer,interval,text)'], 'no function that changes anything returns a set, but those that are called in FROM only');
SELECT is_empty($$SELECT name FROM member_function WHERE pronamespace <> 'idem'::regnamespace AND proname !~ '^idem_'$$,
	'every public name starts with idem_');
SELECT set_eq($$SELECT relname::text FROM pg_class WHERE oid IN (SELECT pg_temp.members('pg_class')) AND relnamespace <> 'idem'::regnamespace$$,
	'{idem_keys, idem_operations, idem_pending, idem_dead_letters, idem_decisions, idem_late_reports}'::text[],
		'views too, and there is nothing else outside of the schema idem');
SELECT is_empty($$SELECT name FROM member_function, unnest(proargtypes::oid[]) type WHERE type IN ('json'::regtype, 'text[]'::regtype) AND proname NOT IN ('idem_define', 'idem_claim_many')
	AND pronamespace <> 'idem'::regnamespace$$, 'C057: documents are jsonb, never json');
SELECT is_empty($$SELECT name FROM member_function, unnest(proargtypes::oid[]) type
	WHERE type IN ('timestamptz'::regtype, 'timestamp'::regtype, 'date'::regtype) AND pronamespace <> 'idem'::regnamespace$$, 'C026: no argument is a client''s time');

-- The answer of a claim
SELECT is((SELECT string_agg(attname || ' ' || format_type(atttypid, atttypmod),
	', ' ORDER BY attnum) FROM pg_attribute
		WHERE attrelid = (SELECT typrelid FROM pg_type WHERE oid = 'idem.claim'::regtype)
			AND attnum > 0 AND NOT attisdropped),
	'outcome text, action text, key text, attempt integer, fence bigint, effect_ref text, response jsonb, response_omitted boolean, retryable boolean, '
	'retry_after interval, differing_fields text[], claimed_at timestamp with time zone, completed_at timestamp with time zone, message text, arguments jsonb',
	'the columns of a claim''s answer');

-- Comments, for \dx+, \df+ and every tool that shows them
SELECT is_empty($$SELECT name FROM member_function WHERE obj_description(oid, 'pg_proc') IS NULL$$,
	'every function has a comment');
SELECT is_empty($$SELECT oid::regclass FROM pg_class WHERE oid IN (SELECT pg_temp.members('pg_class')) AND relkind <> 'c'
	AND obj_description(oid, 'pg_class') IS NULL$$, 'every table and view');
SELECT is_empty($$SELECT oid::regtype FROM pg_type WHERE oid IN (SELECT pg_temp.members('pg_type')) AND typrelid <> 0
	AND (SELECT relkind FROM pg_class WHERE oid = typrelid) = 'c' AND obj_description(oid, 'pg_type') IS NULL$$, 'every type');
SELECT is_empty($$SELECT attname FROM pg_attribute WHERE attrelid = 'idem.key'::regclass AND attnum > 0 AND NOT attisdropped
	AND col_description(attrelid, attnum) IS NULL
	AND attname NOT IN ('tenant', 'response')$$, 'every column of the ledger whose name does not say it');
SELECT ok(obj_description('idem'::regnamespace, 'pg_namespace') IS NOT NULL, 'the schema');
SELECT ok(obj_description((SELECT oid FROM pg_extension WHERE extname = 'pg_idem'),
	'pg_extension') IS NOT NULL, 'and the extension');

-- Tables
SELECT set_eq($$SELECT relname::text FROM pg_class WHERE relnamespace = 'idem'::regnamespace AND relkind = 'r'$$,
	'{key, alias, path, decision, late_report, provider_ref, operation, retention_change, sweep, field_pattern}'::text[], 'the tables');
SELECT is_empty($$SELECT relname FROM pg_class WHERE relnamespace = 'idem'::regnamespace AND relkind IN ('r', 'i', 't') AND relpersistence <> 'p' AND relname !~ '^sweep'$$,
	'C118: none is unlogged, but the one that may be lost at any time');
SELECT set_eq($$SELECT unnest(extconfig)::regclass::text FROM pg_extension WHERE extname = 'pg_idem'$$,
	'{idem.operation, idem.retention_change, idem.key, idem.alias, idem.path, idem.decision, idem.late_report, idem.provider_ref, idem.field_pattern}'::text[], 'C113: what pg_dump takes along');
SELECT is_empty($$SELECT unnest(extcondition) FROM pg_extension WHERE extname = 'pg_idem' EXCEPT SELECT ''$$,
	'C113: whole');
SELECT is_empty($$SELECT relname, relkind FROM pg_class WHERE relnamespace = 'idem'::regnamespace AND relkind = 'S'$$,
	'C113: no sequence has to follow');
SELECT is((SELECT string_agg(pg_get_indexdef(indexrelid), '; ' ORDER BY indisprimary DESC, indexrelid::regclass::text) FROM pg_index
	WHERE indrelid = 'idem.key'::regclass),
	'CREATE UNIQUE INDEX key_pkey ON idem.key USING btree (key); CREATE INDEX key_subject_idx ON idem.key USING btree (subject) WHERE ((completed_at IS NULL) AND (subject IS NOT NULL)); CREATE INDEX key_unfinished_idx ON idem.key USING btree (policy) WHERE (completed_at IS NULL)',
		'C109: a key is unique by itself, in one index');
SELECT is((SELECT string_agg(pg_get_indexdef(indexrelid), '; ' ORDER BY indisprimary DESC) FROM pg_index
	WHERE indrelid = 'idem.alias'::regclass),
	'CREATE UNIQUE INDEX alias_pkey ON idem.alias USING btree (alias, key); '
	'CREATE INDEX alias_key_idx ON idem.alias USING btree (key)', 'aliases are found from either side');
SELECT is((SELECT relkind::text || relreplident::text FROM pg_class
	WHERE oid = 'idem.key'::regclass), 'rd',
	'C109: the ledger is one table, identified by its primary key');
SELECT ok(NOT (SELECT extrelocatable FROM pg_extension WHERE extname = 'pg_idem'),
	'the extension cannot be moved to another schema');
SELECT is((SELECT array_agg(DISTINCT proowner::regrole::text) FROM member_function),
	ARRAY[(SELECT extowner::regrole::text FROM pg_extension WHERE extname = 'pg_idem')],
	'all is the extension''s owner''s');

SELECT * FROM finish();
