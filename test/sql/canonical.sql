\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- The canonical form against vectors that other programs have made (test/vectors/README.md).

-- One row a line, whatever is in it: neither of these characters can stand in JSON text.
CREATE TEMP TABLE line (n serial PRIMARY KEY, line text NOT NULL);
CREATE FUNCTION pg_temp.read_lines(path text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	TRUNCATE line RESTART IDENTITY;
	EXECUTE format('COPY line (line) FROM %L (FORMAT csv, DELIMITER %L, QUOTE %L, ENCODING %L)',
	               path, E'\x02', E'\x01', 'UTF8');
END $$;
\set vectors :abs_srcdir '/vectors'

-- Documents
SELECT FROM pg_temp.read_lines(:'vectors' || '/docs_in.jsonl');
CREATE TEMP TABLE document AS SELECT n, line AS spelt FROM line;
SELECT FROM pg_temp.read_lines(:'vectors' || '/docs_out.jsonl');
ALTER TABLE document ADD canonical text, ADD sha256 text;
UPDATE document d SET canonical = line FROM line l WHERE l.n = d.n;
SELECT FROM pg_temp.read_lines(:'vectors' || '/docs_sha256.txt');
UPDATE document d SET sha256 = line FROM line l WHERE l.n = d.n;

SELECT is(count(*), 3000::bigint, 'all documents are there')
	FROM document WHERE canonical IS NOT NULL AND sha256 IS NOT NULL;
SELECT is(string_agg(n::text, ' '), NULL, 'C037: canonical text is that of RFC 8785, line by line')
	FROM document WHERE idem_canonical(spelt::jsonb) IS DISTINCT FROM canonical;
SELECT is(string_agg(n::text, ' '), NULL,
	'digest is the SHA-256 of the canonical text, line by line')
	FROM document WHERE encode(idem_digest(spelt::jsonb), 'hex') IS DISTINCT FROM sha256;
SELECT is(string_agg(n::text, ' '), NULL, 'canonical text is its own canonical text')
	FROM document WHERE idem_canonical(idem_canonical(spelt::jsonb)::jsonb) <> canonical;
SELECT is(string_agg(n::text, ' '), NULL, 'canonical text is the same document')
	FROM document WHERE idem_canonical(spelt::jsonb)::jsonb <> spelt::jsonb;

-- Compressed and out of line, as a table stores large documents
CREATE TEMP TABLE stored (n int, doc jsonb);
INSERT INTO stored SELECT n, jsonb_build_object('d', spelt::jsonb, 'pad', repeat('ab', 20000))
	FROM document WHERE n <= 50;
ALTER TABLE stored ALTER doc SET STORAGE EXTERNAL;
INSERT INTO stored SELECT n, jsonb_build_object('d', spelt::jsonb, 'pad', repeat('ab', 20000))
	FROM document WHERE n <= 50;
SELECT is(count(*), 100::bigint, 'documents that are compressed, or out of line, read the same')
	FROM stored JOIN document USING (n)
	WHERE idem_canonical(doc) = '{"d":' || canonical || ',"pad":"' || repeat('ab', 20000) || '"}';

-- Numbers
CREATE TEMP TABLE number (spelt text, exact text, rfc8785 text, agree boolean);
\set file :vectors '/numbers_text.tsv'
COPY number FROM :'file';
SELECT is(count(*), 2283::bigint, 'all numbers are there') FROM number;
SELECT is(string_agg(spelt, ' '), NULL,
	'C040: a number in text has its exact digits in ECMAScript layout')
	FROM number WHERE idem_canonical(spelt::jsonb) IS DISTINCT FROM exact;
SELECT is(string_agg(spelt, ' '), NULL, 'C040: so has a numeric')
	FROM number WHERE idem_canonical(to_jsonb(spelt::numeric)) IS DISTINCT FROM exact;
SELECT is(string_agg(spelt, ' '), NULL,
	'it is RFC 8785''s wherever the vectors say so, and only there')
	FROM number WHERE (idem_canonical(spelt::jsonb) = rfc8785) IS DISTINCT FROM agree;
SELECT is(string_agg(spelt, ' '), NULL, 'the canonical text is the same number')
	FROM number WHERE idem_canonical(spelt::jsonb)::numeric <> spelt::numeric;

SELECT FROM pg_temp.read_lines(:'vectors' || '/cyberphone/es6testfile_first10k.csv');
SELECT is(count(*), 10000::bigint, 'all 10,000 lines of the ES6 file come back as they are')
	FROM line WHERE idem_canonical(split_part(line, ',', 2)::jsonb) = split_part(line, ',', 2);

-- The documents of RFC 8785's author
CREATE TEMP TABLE sample AS
	SELECT name, pg_read_file(:'vectors' || '/cyberphone/input/' || name
		|| '.json')::jsonb AS document,
	       pg_read_file(:'vectors' || '/cyberphone/output/' || name || '.json') AS canonical,
	       pg_read_file(:'vectors' || '/cyberphone/outhex/' || name || '.txt') AS hex
	FROM unnest('{arrays, french, structures, unicode, values, weird}'::text[]) name;
SELECT is(idem_canonical(document), canonical, 'cyberphone: ' || name) FROM sample
	WHERE name <> 'values' ORDER BY name;
SELECT is(convert_to(idem_canonical(document), 'UTF8'),
	decode(regexp_replace(hex, '\s', '', 'g'), 'hex'),
          'cyberphone, bytes: ' || name)
	FROM sample WHERE name <> 'values' ORDER BY name;
SELECT is(idem_canonical(document), replace(canonical, '333333333.3333333,', '333333333.33333329,'),
          'cyberphone: values, less the one number that is no shortest spelling of its double')
	FROM sample WHERE name = 'values';

-- Edges: a canonical text, or the SQLSTATE of the cast
CREATE FUNCTION pg_temp.spelt(edge jsonb) RETURNS text LANGUAGE sql AS $$
	SELECT CASE
		WHEN edge ? 'hex' THEN convert_from(decode(edge->>'hex', 'hex'), 'UTF8')
		WHEN edge ? 'repeat' THEN repeat(r->>0, (r->>1)::int) || repeat(r->>2, (r->>1)::int)
		ELSE edge->>'text' END
	FROM (SELECT edge->'repeat' AS r) again
$$;
CREATE FUNCTION pg_temp.attempt(edge jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN idem_canonical(pg_temp.spelt(edge)::jsonb);
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
SET max_stack_depth = '2MB';
SELECT FROM pg_temp.read_lines(:'vectors' || '/edge.jsonl');
CREATE TEMP TABLE edge AS
	SELECT edge->>'id' AS id, pg_temp.attempt(edge) AS got,
	       CASE WHEN edge ? 'sqlstate' THEN edge->>'sqlstate'
	            WHEN edge ? 'repeat' THEN pg_temp.spelt(edge)
	            ELSE edge->>'canon' END AS wanted
	FROM (SELECT line::jsonb AS edge FROM line) e;
SELECT is(count(*), 113::bigint, 'all edges are there') FROM edge;
SELECT is(string_agg(id, ', '), NULL,
	'C055 C057 C059: every edge has its canonical text or its SQLSTATE')
	FROM edge WHERE got IS DISTINCT FROM wanted;

-- One text, one value: on pairs of small documents, so that many are equal
CREATE FUNCTION pg_temp.random_document(depth int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	kind int := floor(random() * CASE WHEN depth > 0 THEN 5 ELSE 3 END);
	spaces text := repeat(' ', floor(random() * 2)::int);
	scalars text[] := string_to_array('null true false 0 -0 0.0 1 1.0 10e-1 0.1e1 100 1e2 1E+2 1.5 15e-1 "" "0" "1" '
		'"a" "\u0061" "é" "\u00e9" "e\u0301" "\ud83d\ude00" "\ufffd" {} []', ' ');
	keys text[] := string_to_array('a b \u0062  é \ud83d\ude00 \uff61', ' ');
	parts text[] := '{}';
BEGIN
	IF kind < 3 THEN
		RETURN spaces || scalars[1 + floor(random() * cardinality(scalars))];
	END IF;
	FOR i IN 0 .. floor(random() * 3) LOOP
		parts := parts || (CASE WHEN kind = 3 THEN '' ELSE
			'"' || keys[1 + floor(random() * cardinality(keys))] || '"' || spaces || ':' END
			|| pg_temp.random_document(depth - 1));
	END LOOP;
	RETURN CASE kind WHEN 3 THEN '[' || array_to_string(parts, ',') || ']'
	                 ELSE '{' || array_to_string(parts, ',') || spaces || '}' END;
END $$;
SELECT FROM setseed(0.25);
CREATE TEMP TABLE small AS
	SELECT n, doc, idem_canonical(doc) AS canonical
	FROM (SELECT n, pg_temp.random_document(2)::jsonb AS doc FROM generate_series(1, 500) n) d;
SELECT is(count(*), 0::bigint, 'two documents have one text exactly if they are equal')
	FROM small a, small b WHERE (a.canonical = b.canonical) <> (a.doc = b.doc);
SELECT cmp_ok(count(*), '>', 2000::bigint, 'and many of the pairs that were compared are equal')
	FROM small a, small b WHERE a.n <> b.n AND a.doc = b.doc;

-- What a declaration promises
SELECT is(idem_canonical(NULL), NULL, 'the canonical text of NULL is NULL');
SELECT is(idem_digest(NULL), NULL, 'and so is its digest');
SELECT throws_ok($$SELECT idem_canonical('{}'::json)$$, '42883', NULL,
	'C057: there is no form of it for json');
SELECT throws_ok($$SELECT idem_canonical('{}'::text)$$, '42883', NULL, 'C057: nor for text');

SELECT * FROM finish();
