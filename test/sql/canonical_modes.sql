\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- The modes of the canonical form, against vectors that other programs have made.

CREATE FUNCTION pg_temp.attempt(document jsonb, mode text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN idem_canonical(document, mode);
EXCEPTION WHEN numeric_value_out_of_range THEN
	RETURN 'error';
END $$;
CREATE FUNCTION pg_temp.message(document jsonb, mode text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN idem_canonical(document, mode);
EXCEPTION WHEN OTHERS THEN
	RETURN SQLERRM;
END $$;

-- Numbers
CREATE TEMP TABLE number (spelt text, exact text, rfc8785 text, agree boolean);
\set file :abs_srcdir '/vectors/numbers_text.tsv'
COPY number FROM :'file';
SELECT is(count(*), 2283::bigint, 'all numbers are there') FROM number;
SELECT is(string_agg(spelt, ' '), NULL, 'exact is the canonical form of one argument')
	FROM number WHERE idem_canonical(spelt::jsonb, 'exact') IS DISTINCT FROM idem_canonical(spelt::jsonb);
SELECT is(string_agg(spelt, ' '), NULL, 'C040: rfc8785 writes what goes through a double, and refuses what overflows it')
	FROM number WHERE pg_temp.attempt(spelt::jsonb, 'rfc8785') IS DISTINCT FROM rfc8785;
SELECT is(string_agg(spelt, ' '), NULL, 'C044: strict writes the exact digits where the two agree, and refuses the rest')
	FROM number WHERE pg_temp.attempt(spelt::jsonb, 'strict') IS DISTINCT FROM CASE WHEN agree THEN exact ELSE 'error' END;
SELECT is(string_agg(spelt, ' '), NULL, 'a number reads the same as part of a document')
	FROM number WHERE pg_temp.attempt(jsonb_build_object('a', jsonb_build_array(spelt::jsonb, true)), 'rfc8785')
		IS DISTINCT FROM CASE WHEN rfc8785 = 'error' THEN 'error' ELSE '{"a":[' || rfc8785 || ',true]}' END;

-- Documents, on whose numbers all modes agree. Neither of these characters can stand in JSON text.
CREATE TEMP TABLE document (n serial, spelt text);
CREATE TEMP TABLE wanted (n serial, canonical text);
\set file :abs_srcdir '/vectors/docs_in.jsonl'
COPY document (spelt) FROM :'file' (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01', ENCODING 'UTF8');
\set file :abs_srcdir '/vectors/docs_out.jsonl'
COPY wanted (canonical) FROM :'file' (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01', ENCODING 'UTF8');
SELECT is(count(*), 3000::bigint, 'C037: ' || mode || ' writes what npm canonicalize does, on every document')
	FROM document JOIN wanted USING (n) CROSS JOIN unnest('{exact, strict, rfc8785}'::text[]) mode
	WHERE idem_canonical(spelt::jsonb, mode) = canonical GROUP BY mode ORDER BY mode;

-- The sample of RFC 8785 itself, with its number of 17 digits
\set file :abs_srcdir '/vectors/cyberphone/input/values.json'
SELECT pg_read_file(:'file') AS sample \gset
\set file :abs_srcdir '/vectors/cyberphone/output/values.json'
SELECT is(idem_canonical(:'sample', 'rfc8785'), pg_read_file(:'file'), 'rfc8785 gives the RFC''s own sample');
SELECT is(pg_temp.message(:'sample', 'strict'), 'the number at "numbers[0]" is written otherwise by RFC 8785', 'strict says where it differs');

-- Where the number is
SELECT is(pg_temp.message(document, 'strict'), 'the number at ' || place || ' is written otherwise by RFC 8785', 'a path: ' || place)
	FROM (VALUES
		(1, '9007199254740993'::jsonb, 'the top level'),
		(2, '[9007199254740993]', '"[0]"'),
		(3, '[1,[],{},[2,[3,9007199254740993]]]', '"[3][1][1]"'),
		(4, '{"a":{"b":9007199254740993}}', '"a.b"'),
		(5, '{"a":[{"c":1},{"c":[1.0,1e400]}]}', '"a[1].c[1]"'),
		(6, '{"Zo\u00eb":0.1000000000000000055511151231257827}', '"Zoë"'))
	v (n, document, place) ORDER BY n;
SELECT is(pg_temp.message('{"b.c":{"":{"d \"e\"":1e-400}}}', 'strict'),
	'the number at ""b.c".""."d ""e"""" is written otherwise by RFC 8785', 'a path is spelt as a policy spells it');
SELECT is(pg_temp.message('{"z":[],"a":{"x":[{}]},"n":[[1e309]]}', 'rfc8785'), 'the number at "n[0][0]" is too large for a double',
	'C059: rfc8785 says where a double overflows');
SELECT is(length(pg_temp.message((repeat('[', 5000) || '1e400' || repeat(']', 5000))::jsonb, 'strict')), 252,
	'C056: a long path is cut');
SELECT is(pg_temp.message(jsonb_build_object(repeat('é', 500), 1e400), 'strict'),
	'the number at "' || repeat('é', 50) || '...' || repeat('é', 50) || '" is written otherwise by RFC 8785', 'between characters');

-- Deep documents
SELECT is(idem_canonical(d::jsonb, mode), d, 'C059: nesting has no limit of its own: ' || mode)
	FROM (SELECT repeat('[', 5000) || '1' || repeat(']', 5000) AS d) deep CROSS JOIN unnest('{exact, strict, rfc8785}'::text[]) mode;

-- Parameters
SELECT throws_ok($$SELECT idem_canonical('1', 'jcs')$$, '22023', 'unknown mode', 'another word is no mode');
SELECT throws_ok($$SELECT idem_canonical('1', '')$$, '22023', 'unknown mode', 'nor is none');
SELECT is(idem_canonical('1', NULL), NULL, 'a mode of NULL gives NULL');
SELECT is(idem_canonical(NULL, 'strict'), NULL, 'and so does a document of NULL');

-- The formulas of docs/key-format.md that are not pg_idem's own
SELECT is(encode(idem_digest('{"tenant": "acme", "op": "create_refund", "step": "step-7", "args": {"charge_id": "ch_4471", "amount": 12999}}'), 'hex'),
	encode(sha256('{"args":{"amount":12999,"charge_id":"ch_4471"},"op":"create_refund","step":"step-7","tenant":"acme"}'), 'hex'),
	'a digest of tenant, op, step and args');
SELECT is('rfnd_' || left(encode(sha256(convert_to('create_refund:v1:' || idem_canonical('{"charge_id": "ch_4471", "amount": 12999, "currency": "GBP"}'), 'UTF8')), 'hex'), 32),
	'rfnd_' || left(encode(sha256('create_refund:v1:{"amount":12999,"charge_id":"ch_4471","currency":"GBP"}'), 'hex'), 32),
	'a prefix, a version and the canonical intent');

SELECT * FROM finish();
