\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- C137, at random: policies in up to three versions, clients that name any of them in any order, repeats,
-- commits and savepoints in between. Each intent has one effect, counted at the effect. Two requests under
-- versions m <= n are one intent when their keys under m agree, unless an unlinked version lies between.
--
-- The model has its keys from a second operation with the same recipes, all of them from the start.

CREATE TEMP TABLE done (n serial, version int, arguments jsonb, keys text[]);
CREATE TEMP TABLE outcome (name text, times int);
CREATE TEMP TABLE fault (policy int, step int, what text, version int, arguments jsonb);

CREATE FUNCTION pg_temp.pick(VARIADIC choices text[]) RETURNS text LANGUAGE sql AS $$
	SELECT choices[1 + floor(random() * cardinality(choices))]
$$;

-- Fields are added from version to version, and their normalisers change. An unlinked version may drop one.
CREATE FUNCTION pg_temp.recipe(below jsonb, unlinked boolean) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	fields text[] := ARRAY(SELECT jsonb_object_keys(below));
	recipe jsonb := '{}';
	field text;
BEGIN
	IF unlinked AND cardinality(fields) > 1 THEN
		fields := fields[2:];
	END IF;
	IF random() < 0.7 OR cardinality(fields) = 0 THEN
		fields := fields || pg_temp.pick('a', 'b', 'c');
	END IF;
	FOREACH field IN ARRAY fields LOOP
		recipe := recipe || jsonb_build_object(field, pg_temp.pick('exact', 'trim', 'upper', 'exact optional', 'trim optional'));
	END LOOP;
	RETURN recipe;
END $$;

-- NULL: the version refuses the request.
CREATE FUNCTION pg_temp.key_or_null(operation text, arguments jsonb, version int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN idem_key('t', operation, arguments, version => version);
EXCEPTION WHEN SQLSTATE 'ID011' OR SQLSTATE 'ID012' THEN
	RETURN NULL;
END $$;

CREATE FUNCTION pg_temp.request() RETURNS jsonb LANGUAGE sql AS $$
	SELECT coalesce(jsonb_object_agg(field, value), '{}') FROM (
		SELECT field, pg_temp.pick('x', 'X', ' x', 'y') AS value FROM unnest('{a,b,c,d}'::text[]) field OFFSET 0) f
		WHERE field <> 'd' AND random() < 0.9 OR field = 'd' AND random() < 0.2
$$;

-- One call of a client. Outcome, and the number of the effect that it had or was told of.
CREATE FUNCTION pg_temp.call(operation text, arguments jsonb, version int, keys text[], OUT outcome text, OUT effect int)
	LANGUAGE plpgsql AS $$
DECLARE
	answer idem.claim := idem_claim('t', operation, arguments, version => version);
BEGIN
	outcome := answer.outcome;
	effect := answer.effect_ref;
	IF answer.action = 'do' THEN
		INSERT INTO done (version, arguments, keys) VALUES (version, arguments, keys) RETURNING n INTO effect;
		PERFORM idem_complete('t', answer.key, effect::text);
	END IF;
END $$;

CREATE FUNCTION pg_temp.undone_call(operation text, arguments jsonb, version int, keys text[]) RETURNS void
	LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_temp.call(operation, arguments, version, keys);
	RAISE EXCEPTION SQLSTATE 'U0001';
EXCEPTION WHEN SQLSTATE 'U0001' THEN
	NULL;
END $$;

-- The effects that are the intent of a request.
CREATE FUNCTION pg_temp.same_intent(version int, keys text[], unlinked boolean[]) RETURNS int[] LANGUAGE sql AS $$
	SELECT coalesce(array_agg(d.n), '{}') FROM done d
		WHERE d.keys[least(d.version, $1)] = $2[least(d.version, $1)]
		  AND NOT EXISTS (SELECT FROM generate_series(least(d.version, $1) + 1, greatest(d.version, $1)) v WHERE $3[v])
$$;

DO $$
DECLARE
	operation text;
	recipes jsonb[];
	unlinked boolean[];
	unchecked text[];
	request jsonb;
	keys text[];
	top int;
	asked int;
	counts jsonb := '{}';
	before int[];
	said record;
BEGIN
	PERFORM setseed(0.137);
	FOR policy IN 1..80 LOOP
		operation := 'property.' || policy;
		unlinked := ARRAY[false, random() < 0.15, random() < 0.15];
		recipes[1] := pg_temp.recipe('{}', false);
		recipes[2] := pg_temp.recipe(recipes[1], unlinked[2]);
		recipes[3] := pg_temp.recipe(recipes[2], unlinked[3]);
		unchecked := CASE WHEN random() < 0.5 THEN '{d}'::text[] ELSE '{}' END;
		FOR v IN 1..3 LOOP
			PERFORM idem_define('model.' || policy, version => v, key_fields => recipes[v], unlinked => unlinked[v]);
		END LOOP;
		top := 0;
		DELETE FROM done;
		FOR step IN 1..60 LOOP
			IF step IN (1, 12, 30) THEN
				top := top + 1;
				PERFORM idem_define(operation, version => top, key_fields => recipes[top],
					unchecked_fields => unchecked, unlinked => unlinked[top]);
			END IF;
			asked := 1 + floor(random() * top);
			request := pg_temp.request();
			IF random() < 0.2 THEN -- a repeat, under whatever version
				SELECT d.arguments INTO request FROM done d ORDER BY random() LIMIT 1;
				CONTINUE WHEN NOT FOUND;
			END IF;
			keys := ARRAY(SELECT pg_temp.key_or_null('model.' || policy, request, v) FROM generate_series(1, 3) v ORDER BY v);
			CONTINUE WHEN keys[asked] IS NULL;
			IF random() < 0.2 THEN
				PERFORM pg_temp.undone_call(operation, request, asked, keys);
			END IF;
			before := pg_temp.same_intent(asked, keys, unlinked);
			said := pg_temp.call(operation, request, asked, keys);
			INSERT INTO fault SELECT policy, step, what, asked, request FROM (VALUES
				('a second effect of one intent', said.outcome = 'claimed' AND before <> '{}'),
				('no effect of a new intent', said.outcome <> 'claimed' AND before = '{}'),
				('the effect of another intent', said.outcome = 'replayed' AND said.effect <> ALL (before)),
				('neither done nor answered', said.outcome NOT IN ('claimed', 'replayed', 'conflict'))) v (what, so) WHERE so;
			IF said.outcome = 'conflict' AND EXISTS (SELECT FROM done d WHERE d.version = asked AND d.arguments = request) THEN
				INSERT INTO fault VALUES (policy, step, 'a repeat that is not replayed', asked, request);
			END IF;
			counts := counts || jsonb_build_object(said.outcome, coalesce((counts ->> said.outcome)::int, 0) + 1);
			IF random() < 0.3 THEN
				COMMIT;
			END IF;
		END LOOP;
		COMMIT;
		INSERT INTO fault (policy, what) SELECT policy, 'as many keys as effects'
			WHERE pg_temp.keys(operation) <> (SELECT count(*) FROM done);
	END LOOP;
	INSERT INTO outcome SELECT key, value::int FROM jsonb_each_text(counts);
END $$;
SELECT is_empty('SELECT * FROM fault', 'C137: one effect an intent, whatever the versions and their order');
SELECT cmp_ok(times, '>', 300, 'enough calls were ' || name) FROM outcome ORDER BY name;
SELECT set_eq('SELECT name FROM outcome', '{claimed,replayed,conflict}'::text[], 'and no other outcome was met');

SELECT FROM generate_series(1, 80) i, LATERAL pg_temp.remove('property.' || i, 'model.' || i);
SELECT * FROM finish();
