\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- docs/key-vectors.jsonl, recomputed: keys and fingerprints of other releases and other programs.

CREATE TEMP TABLE vector (n serial, line jsonb);
\set file :abs_srcdir '/../docs/key-vectors.jsonl'
COPY vector (line) FROM :'file' (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01', ENCODING 'UTF8');
SELECT is(count(*), 29::bigint, 'all vectors are there') FROM vector;
SELECT is(count(*), count(DISTINCT line->>'name'), 'each has a name') FROM vector;

CREATE TEMP TABLE expected AS
	SELECT n, v.*, o.* FROM vector,
		jsonb_to_record(line) v (name text, tenant text, occurrence text, arguments jsonb, intent jsonb, preimage text, key text, bound jsonb, fingerprint uuid),
		jsonb_to_record(line->'operation') o (operation text, version int, identity text, key_fields jsonb, unchecked_fields text[], key_prefix text);
SELECT is(idem_define(operation, version, identity, key_fields, unchecked_fields, key_prefix), 'created', 'operation ' || operation)
	FROM (SELECT DISTINCT operation, version, identity, key_fields, unchecked_fields, key_prefix FROM expected) o ORDER BY operation;

SELECT is(string_agg(name, ', '), NULL, 'C139: every intent is the recorded one')
	FROM expected WHERE idem_canonical(idem_intent(tenant, operation, arguments, occurrence)) IS DISTINCT FROM idem_canonical(intent);
SELECT is(string_agg(name, ', '), NULL, 'C139: every preimage ends with it')
	FROM expected WHERE right(preimage, length(idem_canonical(intent))) IS DISTINCT FROM idem_canonical(intent);
SELECT is(string_agg(name, ', '), NULL, 'C139: every key is the recorded one')
	FROM expected WHERE idem_key(tenant, operation, arguments, occurrence) IS DISTINCT FROM key;
SELECT is(string_agg(name, ', '), NULL, 'C139: which is the digest of the preimage')
	FROM expected WHERE key_prefix || '_' || left(encode(sha256(convert_to(preimage, 'UTF8')), 'hex'), 32) IS DISTINCT FROM key;
SELECT is(string_agg(name, ', '), NULL, 'every claim is admitted')
	FROM expected, idem_record(tenant, operation, arguments, occurrence => occurrence) r WHERE r.outcome NOT IN ('claimed', 'replayed');
SELECT is(string_agg(name, ', '), NULL, 'C139: every fingerprint is the recorded one')
	FROM expected JOIN idem.key k ON k.key = right(expected.key, 32)::uuid WHERE k.fingerprint IS DISTINCT FROM expected.fingerprint;
SELECT is(string_agg(name, ', '), NULL, 'which is the digest of what is bound')
	FROM expected WHERE left(encode(idem_digest(bound), 'hex'), 32)::uuid IS DISTINCT FROM fingerprint;
SELECT is(string_agg(name, ', '), NULL, 'no program that reads numbers as doubles gets another')
	FROM expected WHERE idem_canonical(arguments, 'strict') IS NULL OR idem_canonical(intent, 'strict') <> idem_canonical(intent);
SELECT is((SELECT count(DISTINCT key) FROM expected), 27::bigint, 'two are spelt in two ways, and all others differ');

SELECT FROM pg_temp.remove(VARIADIC (SELECT array_agg(DISTINCT operation) FROM expected));
SELECT * FROM finish();
