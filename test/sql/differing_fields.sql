\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- A conflict names the fields that changed, appeared or disappeared, whatever identifies the intent.

CREATE FUNCTION pg_temp.differing(operation text, arguments jsonb, occurrence text DEFAULT NULL, version integer DEFAULT NULL)
	RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer idem.claim := idem_claim('acme', operation, arguments, occurrence, version);
BEGIN
	RETURN CASE answer.outcome WHEN 'conflict' THEN coalesce(answer.differing_fields::text, 'unknown') ELSE answer.outcome END;
END $$;

-- Identity fields: what is bound is compared.
SELECT FROM idem_define('diff.refund', key_fields => '{"charge_id":"exact","amount":"minor_units(currency)","currency":"upper"}',
	unchecked_fields => '{trace, metadata.sent_at}');
SELECT is(pg_temp.act('acme', 'diff.refund',
	'{"charge_id":"ch_1","amount":5,"currency":"gbp","reason":"late","trace":1,"metadata":{"order_ref":"o1","sent_at":1,"tags":["a","b"],"n":1.50}}'), 'claimed', 'a refund');
SELECT is(pg_temp.differing('diff.refund', ('{"charge_id":"ch_1","amount":"5.0","currency":"GBP","trace":7}'::jsonb || rest)), fields, description)
	FROM (VALUES
		(1, '{"reason":"late","metadata":{"order_ref":"o1","sent_at":2,"tags":["a","b"],"n":1.5}}'::jsonb, 'replayed', 'unchecked fields and spellings do not count'),
		(2, '{"reason":"damaged","metadata":{"order_ref":"o1","tags":["a","b"],"n":1.5}}', '{reason}', 'C062: a field that changed'),
		(3, '{"reason":"late","metadata":{"order_ref":"o2","tags":["a","b"],"n":1.5}}', '{metadata.order_ref}', 'a nested one'),
		(4, '{"reason":"late","metadata":{"order_ref":"o1","tags":["b","a"],"n":1.5}}', '{metadata.tags[0],metadata.tags[1]}', 'C064: elements of an array'),
		(5, '{"reason":"late","metadata":{"order_ref":"o1","tags":["a","b"],"n":1.5},"note":null}', '{note}', 'C065: a field that appeared'),
		(6, '{"metadata":{"order_ref":"o1","tags":["a","b"],"n":1.5}}', '{reason}', 'a field that disappeared'),
		(7, '{"reason":null,"metadata":{"order_ref":"o1","tags":["a","b"],"n":"1.5"}}', '{metadata.n,reason}', 'null and a string are other values'),
		(8, '{}', '{metadata,reason}', 'objects that disappeared as a whole'),
		(9, '{"reason":"late","metadata":{"sent_at":3}}', '{metadata.n,metadata.order_ref,metadata.tags}', 'an object that has lost all its members is one still'),
		(10, '{"reason":{"code":1},"metadata":{"order_ref":"o1","tags":["a","b"],"n":1.5}}', '{reason}', 'a value that became an object')
	) v (n, rest, fields, description) ORDER BY n;
SELECT is((c.effect_ref, c.response, c.completed_at IS NOT NULL)::text, '(e1,,t)', 'C062: with the effect, and without its response')
	FROM idem_claim('acme', 'diff.refund', '{"charge_id":"ch_1","amount":5,"currency":"gbp"}') c;
SELECT is((idem_lookup('acme', 'diff.refund', '{"charge_id":"ch_1","amount":5,"currency":"gbp"}')).differing_fields,
	'{metadata, reason}', 'a look-up names them too');
SELECT is(octet_length(k.leaves), 8 * 5, 'eight bytes a field') FROM idem.key k JOIN idem.operation o ON o.id = k.policy
	WHERE o.operation = 'diff.refund';

-- Identity occurrence: all arguments are bound.
SELECT FROM idem_define('diff.step', identity => 'occurrence');
SELECT is(pg_temp.act('acme', 'diff.step', '{"amount":40,"a.b":1}', 's1'), 'claimed', 'a step');
SELECT is(pg_temp.differing('diff.step', '{"amount":41,"a.b":1}', 's1'), '{amount}', 'C064: a changed amount under one step');
SELECT is(pg_temp.differing('diff.step', '{"amount":40,"a.b":2}', 's1'), $${"\"a.b\""}$$, 'a name with a dot is quoted');
SELECT is(pg_temp.differing('diff.step', '40', 's1'), $${"","\"a.b\"",amount}$$, 'arguments as a whole');
SELECT is(pg_temp.act('acme', 'diff.step', '{}', 's2'), 'claimed', 'a step that binds nothing');
SELECT is(pg_temp.differing('diff.step', '{"amount":1}', 's2'), '{amount}', 'whatever comes later is new');

-- Reports of others: one field changed, and the caller could not see which.
CREATE TEMP TABLE report (n integer, step text, first jsonb, second jsonb, fields text, description text);
INSERT INTO report VALUES
	(1, 'P-3', '{"paymentId":"P-3","amount":700,"sdk":{"createdAt":"01Z"}}', '{"paymentId":"P-3","amount":700,"sdk":{"createdAt":"09Z"}}', '{sdk.createdAt}', 'C061: a time stamp of the SDK'),
	(2, 'r1', '{"jsonrpc":"2.0","id":4,"params":{"cart":"c1"}}', '{"jsonrpc":"2.0","id":5,"params":{"cart":"c1"}}', '{id}', 'C062: the id of the envelope'),
	(3, 'a1', '{"ref":"R-1","acc":[{"id":"111"}]}', '{"ref":"R-1","acc":[{"id":"222"}]}', '{acc[0].id}', 'C064: another account'),
	(4, 'pay-12', '{"amt":1300}', '{"amt":1300,"meta":{"try":2}}', '{meta}', 'C065: metadata on the second try'),
	(5, 'e1', '{"text":"x","dry":true}', '{"text":"x"}', '{dry}', 'C067: a dry run without its flag'),
	(6, 'e2', '{"text":"x","dry":true}', '{"text":"x","dry":false}', '{dry}', 'C067: a dry run and a live one'),
	(7, 'b1', '{"body":"{\"a\":1,\"b\":2}"}', '{"body":"{\"b\":2,\"a\":1}"}', '{body}', 'C038: a string of JSON'),
	(8, 't1', '{"at":"2031-02-03T04:05:06.000+02:00"}', '{"at":"2031-02-03T04:05:06+02:00"}', '{at}', 'C041: a time stamp as text'),
	(9, 'm1', '{"amt":"0.50"}', '{"amt":"0.5"}', '{amt}', 'C043: an amount as text'),
	(10, 'm2', '{"net":"alpha"}', '{"chain":17}', '{chain,net}', 'C043: a field for another'),
	(11, 'i1', '{"ids":[7]}', '{"ids":["7"]}', '{ids[0]}', 'C047: a number and a string'),
	(12, 'n1', '{"sku":"k1","note":null}', '{"sku":"k1"}', '{note}', 'C049: null and absent'),
	(13, 'u1', '{"name":"Zo\u00eb"}', '{"name":"Zoe\u0308"}', '{name}', 'C053: composed and decomposed');
SELECT is(pg_temp.act('acme', 'diff.step', first, step), 'claimed', description) FROM report ORDER BY n;
SELECT is(pg_temp.differing('diff.step', second, step), fields, description) FROM report ORDER BY n;
SELECT is(count(*), 13::bigint, 'C061 C062 C064 C065 C067: an effect each') FROM effect e JOIN report r ON e.key = idem_key('acme', 'diff.step', '{}', r.step);

-- In the transaction that claimed
BEGIN;
SELECT is((idem_claim('acme', 'diff.step', '{"amount":1,"x":1}', 's3')).outcome, 'claimed', 'an open claim');
SELECT is(pg_temp.differing('diff.step', '{"amount":2}', 's3'), '{amount,x}', 'names fields as well, though nothing is written');
ROLLBACK;
SELECT is(count(*), 0::bigint, 'names are written with the row') FROM idem.path WHERE path = 'x';

-- Versions: what a higher version has in its key is what an old client can differ in.
SELECT FROM idem_define('diff.v', key_fields => '{"id":"exact"}', key_prefix => 'dv');
SELECT FROM idem_define('diff.v', version => 2, key_fields => '{"id":"exact","currency":"upper","to.mail":"email optional"}', key_prefix => 'dv');
SELECT is((idem_record('acme', 'diff.v', '{"id":1,"currency":"gbp","note":"x"}')).outcome, 'claimed', 'a row of version 2');
SELECT is(pg_temp.differing('diff.v', '{"id":1,"currency":"GBP","note":"x"}', version => 1), 'replayed', 'is found by version 1');
SELECT is(pg_temp.differing('diff.v', '{"id":1,"currency":"eur","note":"x"}', version => 1), '{currency}', 'which differs in what version 2 has in its key');
SELECT is(pg_temp.differing('diff.v', '{"id":1,"note":"y"}', version => 1), '{currency,note}', 'or lacks it');
SELECT is(pg_temp.differing('diff.v', '{"id":1,"currency":"GBP","note":"x","to":{"mail":"a@b.example"}}', version => 1), '{to}', 'or adds it');
SELECT is((idem_record('acme', 'diff.v', '{"id":2,"note":"x"}', version => 1)).outcome, 'claimed', 'a row of version 1');
SELECT is(pg_temp.differing('diff.v', '{"id":2,"currency":"eur","note":"x"}'), '{currency}', 'is compared under version 1');

-- Identity arguments has everything in the key, so two requests differ under a lower version only.
SELECT FROM idem_define('diff.all', key_fields => '{"id":"exact"}');
SELECT FROM idem_define('diff.all', version => 2, identity => 'arguments');
SELECT is((idem_record('acme', 'diff.all', '{"id":1,"a":{"b":1,"c":2}}')).outcome, 'claimed', 'identity arguments');
SELECT is(pg_temp.differing('diff.all', '{"id":1,"a":{"b":2}}', version => 1), '{a.b,a.c}', 'the fields that a lower version does not have in its key');

-- bind => 'none'
SELECT FROM idem_define('diff.hook', identity => 'occurrence', bind => 'none');
SELECT is(pg_temp.act('acme', 'diff.hook', '{"delivery":1}', 'evt_1'), 'claimed', 'C143: a delivery');
SELECT is(pg_temp.act('acme', 'diff.hook', '{"delivery":2}', 'evt_1'), 'replayed', 'C143: its envelope may change');
SELECT is(pg_temp.act('acme', 'diff.hook', '{"delivery":2}', 'evt_2'), 'claimed', 'C143: the event may not');
SELECT is(pg_temp.effects('diff.hook'), 2::bigint, 'C143: an effect for each event');
SELECT ok(k.fingerprint IS NULL AND k.leaves IS NULL, 'nothing is kept of it') FROM idem.key k JOIN idem.operation o ON o.id = k.policy
	WHERE o.operation = 'diff.hook' LIMIT 1;
SELECT FROM idem_define('diff.hook2', key_fields => '{"id":"exact"}', bind => 'none');
SELECT results_eq($$SELECT path, role, normalised FROM idem_explain_key('acme', 'diff.hook2', '{"id":1,"b":{"c":1}}') LIMIT 2$$,
	$$VALUES ('id', 'key', '1'), ('b.c', 'unchecked', NULL)$$, 'a reviewer sees what is not checked');
SELECT throws_ok($$SELECT idem_define('diff.hook3', identity => 'occurrence', bind => 'none', unchecked_fields => '{a}')$$, 'ID002',
	'invalid definition of operation "diff.hook3": unchecked fields go with bind => ''all''', 'one or the other');
SELECT throws_ok($$SELECT idem_define('diff.hook3', identity => 'occurrence', bind => 'some')$$, 'ID002',
	'invalid definition of operation "diff.hook3": what it binds is unknown', 'bind is all or none');
SELECT throws_ok($$SELECT idem_define('diff.hook', identity => 'occurrence')$$, 'ID003',
	'the recipe of operation "diff.hook" version 1 is frozen, because it has keys', 'what is bound is part of the recipe');

-- Beyond 64 fields members are compared as wholes, and beyond 64 members nothing is named.
CREATE FUNCTION pg_temp.wide(members integer, inner_members integer) RETURNS jsonb LANGUAGE sql AS $$
	SELECT jsonb_object_agg('m' || i, (SELECT jsonb_object_agg('n' || j, i * j) FROM generate_series(1, inner_members) j))
		FROM generate_series(1, members) i
$$;
SELECT is(pg_temp.act('acme', 'diff.step', pg_temp.wide(8, 8), 'w1'), 'claimed', '64 fields');
SELECT is(pg_temp.differing('diff.step', jsonb_set(pg_temp.wide(8, 8), '{m3,n4}', '0'), 'w1'), '{m3.n4}', 'are named each');
SELECT is(pg_temp.act('acme', 'diff.step', pg_temp.wide(13, 5), 'w2'), 'claimed', '65 fields');
SELECT is(pg_temp.differing('diff.step', jsonb_set(pg_temp.wide(13, 5), '{m3,n4}', '0'), 'w2'), '{m3}', 'are named by their members');
SELECT is(pg_temp.act('acme', 'diff.step', pg_temp.wide(65, 1), 'w3'), 'claimed', '65 members');
SELECT is(pg_temp.differing('diff.step', jsonb_set(pg_temp.wide(65, 1), '{m3,n1}', '0'), 'w3'), 'unknown', 'it is unknown which of them');
SELECT is((idem_claim('acme', 'diff.step', jsonb_set(pg_temp.wide(65, 1), '{m3,n1}', '0'), 'w3')).outcome, 'conflict', 'that one differs is seen all the same');

-- Names from outside fill the dictionary of the policy, and no more.
SELECT FROM idem_define('diff.map', identity => 'occurrence');
SELECT is(count(idem_record('acme', 'diff.map', jsonb_build_object('to', i, 'm', jsonb_build_object('user' || i, i)), occurrence => 'o' || i)),
	300::bigint, '300 requests with a member name of their own each') FROM generate_series(1, 300) i;
SELECT is(count(*), 256::bigint, 'at most 256 names are kept') FROM idem.path p JOIN idem.operation o ON o.id = p.policy WHERE o.operation = 'diff.map';
SELECT is(pg_temp.differing('diff.map', '{"to":7}', 'o7'), '{m}', 'a field that is lacking is named while its name is kept');
SELECT is(pg_temp.differing('diff.map', '{"to":300}', 'o300'), '{NULL}', 'later it is known to be lacking, without a name');
SELECT is(pg_temp.differing('diff.map', '{"to":1,"m":{"user300":300}}', 'o300'), '{to}', 'fields of the request have their names anyway');
SELECT is(count(*), 0::bigint, 'a dropped operation leaves no names') FROM idem.path p LEFT JOIN idem.operation o ON o.id = p.policy WHERE o.id IS NULL;

-- Any leaf of any document of the key vectors: changed, left out, added.
\set vectors :abs_srcdir '/../docs/key-vectors.jsonl'
CREATE TEMP TABLE line (line text);
SELECT pg_catalog.set_config('test.vectors', :'vectors', false) \g /dev/null
INSERT INTO line SELECT l FROM regexp_split_to_table(rtrim(pg_read_file(current_setting('test.vectors')), E'\n'), E'\n') l;
CREATE TEMP TABLE document AS SELECT row_number() OVER () AS n, arguments FROM (
	SELECT DISTINCT line::jsonb->'arguments' AS arguments FROM line
	UNION SELECT pg_temp.wide(7, 9)
	UNION SELECT '{"a":{"b":{"c":{"d":{"e":[1,{"f":2}],"g":{}}}},"":0},"\"":1," ":2,"ä":{"😀":null}}') d
	WHERE jsonb_typeof(arguments) = 'object';
CREATE FUNCTION pg_temp.leaves(document jsonb) RETURNS TABLE (path text[], value jsonb) LANGUAGE sql AS $$
	WITH RECURSIVE node (path, value) AS (
		SELECT '{}'::text[], document
		UNION ALL
		SELECT n.path || m.key, m.value FROM node n CROSS JOIN LATERAL
			jsonb_each(CASE jsonb_typeof(n.value) WHEN 'object' THEN n.value ELSE '{}' END) m)
	SELECT n.path, n.value FROM node n WHERE n.path <> '{}' AND (jsonb_typeof(n.value) <> 'object' OR n.value = '{}')
$$;
CREATE FUNCTION pg_temp.spelt(path text[]) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(CASE WHEN s ~ '[."()|\s]' OR s = '' THEN '"' || replace(s, '"', '""') || '"' ELSE s END, '.' ORDER BY n)
		FROM unnest(path) WITH ORDINALITY p (s, n)
$$;
SELECT cmp_ok(count(idem_record('acme', 'diff.step', arguments, occurrence => 'd' || n)), '>', 15::bigint, 'documents') FROM document;
SELECT is(count(*) FILTER (WHERE pg_temp.differing('diff.step', changed, 'd' || n) IS DISTINCT FROM ARRAY[pg_temp.spelt(path)]::text), 0::bigint, 'C062: a leaf that changed is named, in each of them')
	FROM (SELECT n, path, jsonb_set(arguments, path, CASE WHEN value = '"other"' THEN '0' ELSE '"other"' END::jsonb) AS changed
		FROM document CROSS JOIN LATERAL pg_temp.leaves(arguments)) c;
SELECT cmp_ok(count(*), '>', 100::bigint, 'of so many') FROM document CROSS JOIN LATERAL pg_temp.leaves(arguments);
SELECT is(count(*) FILTER (WHERE pg_temp.differing('diff.step', arguments || '{"one more":1}', 'd' || n) IS DISTINCT FROM $${"\"one more\""}$$), 0::bigint, 'one that was added')
	FROM document;
SELECT is(count(*) FILTER (WHERE NOT pg_temp.spelt(path) = ANY (pg_temp.differing('diff.step', arguments #- path, 'd' || n)::text[])), 0::bigint, 'one that was left out')
	FROM document CROSS JOIN LATERAL pg_temp.leaves(arguments);

SELECT FROM pg_temp.remove('diff.refund', 'diff.step', 'diff.v', 'diff.all', 'diff.hook', 'diff.hook2', 'diff.map');
SELECT * FROM finish();
