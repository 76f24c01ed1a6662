\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- With just-in-time compilation and inlining the functions of the module run from their bitcode.

SET jit = on;
SET jit_above_cost = 0;
SET jit_inline_above_cost = 0;
SET jit_optimize_above_cost = 0;
SELECT FROM idem_define('jit.v', key_fields => '{"n":"exact"}');
SELECT FROM idem_define('jit.v', version => 2, key_fields => '{"n":"exact","c":"upper optional"}');
SELECT is(count(DISTINCT idem_key('acme', 'jit.v', jsonb_build_object('n', n))), 20::bigint, 'keys') FROM generate_series(1, 20) n;
SELECT is(count(idem_canonical(jsonb_build_object('n', n, 'a', ARRAY[1.50, 2]))), 20::bigint, 'canonical form') FROM generate_series(1, 20) n;
SELECT is(count(idem_digest(jsonb_build_object('n', n))), 20::bigint, 'digests') FROM generate_series(1, 20) n;
SELECT is(count(*), 40::bigint, 'explanations') FROM generate_series(1, 10) n CROSS JOIN LATERAL idem_explain_key('acme', 'jit.v', jsonb_build_object('n', n)) e WHERE e.role IN ('key', 'preimage');
SELECT is(count(*) FILTER (WHERE (c).outcome = 'claimed'), 20::bigint, 'claims and completions')
	FROM (SELECT idem_record('acme', 'jit.v', jsonb_build_object('n', n, 'c', 'x', 'note', n), 'e' || n) c FROM generate_series(1, 20) n OFFSET 0) s;
SELECT is(count(*) FILTER (WHERE (c).outcome = 'replayed'), 20::bigint, 'replays')
	FROM (SELECT idem_claim('acme', 'jit.v', jsonb_build_object('n', n, 'c', 'x', 'note', n)) c FROM generate_series(1, 20) n OFFSET 0) s;
SELECT is(count(*) FILTER (WHERE (c).differing_fields = '{note}'), 20::bigint, 'conflicts')
	FROM (SELECT idem_claim('acme', 'jit.v', jsonb_build_object('n', n, 'c', 'x')) c FROM generate_series(1, 20) n OFFSET 0) s;
SELECT is(count(*) FILTER (WHERE (c).outcome = 'replayed'), 20::bigint, 'from an old version')
	FROM (SELECT idem_lookup('acme', 'jit.v', jsonb_build_object('n', n, 'c', 'x', 'note', n), version => 1) c FROM generate_series(1, 20) n OFFSET 0) s;
SELECT is(count(idem_mint()), 20::bigint, 'ids') FROM generate_series(1, 20);
SELECT FROM pg_temp.age('jit.v', '60 days');
SELECT is(idem_expire(1000 + count(*)::integer) >= 20, true, 'expiry') FROM idem_keys WHERE operation = 'jit.v';

SELECT FROM pg_temp.remove('jit.v');
SELECT * FROM finish();
