-- Procedures that fill a table with finished keys in random order, to measure what they occupy.

CREATE FUNCTION bench.reference(n integer) RETURNS text LANGUAGE sql IMMUTABLE AS $$
	SELECT 'rf_' || lpad((n % 100000)::text, 5, '0')
$$;

CREATE PROCEDURE bench.load_ledger(operation text, keys integer) LANGUAGE plpgsql AS $$
DECLARE
	claim idem.claim;
BEGIN
	FOR n IN 1..keys LOOP
		claim := idem_record('acme', operation, bench.arguments(n), bench.reference(n));
		IF n % 50 = 0 THEN
			COMMIT;
		END IF;
	END LOOP;
END $$;

CREATE PROCEDURE bench.load_plain(keys integer) LANGUAGE sql AS $$
	INSERT INTO bench.plain
		SELECT md5(n::text)::uuid, clock_timestamp(), 0, 1, 'c', 'acme', bench.reference(n)
		FROM generate_series(1, keys) n
$$;

-- A transaction a key: the space of the open version can be used again only when it has committed.
CREATE PROCEDURE bench.load_pair(keys integer) LANGUAGE plpgsql AS $$
DECLARE
	id uuid;
BEGIN
	FOR n IN 1..keys LOOP
		id := md5(n::text)::uuid;
		INSERT INTO bench.pair (key, tenant, state, claimed_at)
			VALUES (id, 'acme', 'o', clock_timestamp()) ON CONFLICT DO NOTHING;
		UPDATE bench.pair
			SET state = 'c', completed_at = clock_timestamp(), effect_ref = bench.reference(n)
			WHERE key = id;
		COMMIT;
	END LOOP;
END $$;
