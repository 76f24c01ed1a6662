\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- Exclusive fields: while an intent of a subject is not finished, another intent of it is a conflict.

SELECT FROM idem_define('excl.refund', key_fields => '{"charge":"exact","amount":"minor_units(currency)","currency":"upper"}', effect => 'external',
	exclusive => '{charge}', key_prefix => 'xr', on_lost_lease => 'takeover');
SELECT is(exclusive, '{charge}', 'the setting') FROM idem_operations WHERE operation = 'excl.refund';
CREATE FUNCTION pg_temp.call(charge text, amount numeric, tenant text DEFAULT 'acme') RETURNS idem.claim LANGUAGE sql AS $$
	SELECT idem_claim(tenant, 'excl.refund', jsonb_build_object('charge', charge, 'amount', amount, 'currency', 'gbp'))
$$;
CREATE FUNCTION pg_temp.lapse() RETURNS void LANGUAGE sql AS $$
	UPDATE idem.key k SET lease_end = lease_end - interval '1 hour' FROM idem.operation o WHERE o.id = k.policy AND o.operation = 'excl.refund' AND completed_at IS NULL
$$;
SELECT key AS key1, fence AS fence1 FROM pg_temp.call('ch_1', 129.99) \gset
SELECT is((c.outcome, c.action, c.key, c.message)::text, format('(conflict,stop,%s,"another intent of the same subject is not finished: nothing was done now. It has this key")', :'key1'),
	'a changed amount while a refund is under way is a conflict, and names it') FROM pg_temp.call('ch_1', 99) c;
SELECT is((pg_temp.call('ch_1', 129.990)).outcome, 'in_progress', 'the same refund is what it was');
SELECT is((c.outcome, c.fence IS NOT NULL)::text, '(claimed,t)', 'another charge is another subject') FROM pg_temp.call('ch_2', 99) c;
SELECT is((c.outcome, c.fence IS NOT NULL)::text, '(claimed,t)', 'so is that of another tenant') FROM pg_temp.call('ch_1', 99, 'other') c;
SELECT FROM pg_temp.lapse();
SELECT is((pg_temp.call('ch_1', 99)).outcome, 'conflict', 'after its lease as well: it may have been sent');
SELECT is(idem_unknown('acme', :'key1', :fence1), 'unknown', 'and when its outcome is unknown');
SELECT is((pg_temp.call('ch_1', 99)).outcome, 'conflict', 'still');
SELECT outcome AS outcome1, fence AS fence1 FROM pg_temp.call('ch_1', 129.99) \gset
SELECT is(:'outcome1'::text, 'takeover', 'the intent itself is taken over');
SELECT is(idem_release('acme', :'key1', :fence1, verified => true), 'released', 'known not to have happened');
SELECT key AS key2, fence AS fence2 FROM pg_temp.call('ch_1', 99) \gset
SELECT isnt(:'key1'::text, :'key2'::text, 'then another amount is another intent');
SELECT is((c.outcome, c.key)::text, format('(conflict,%s)', :'key2'), 'which the first has to wait for') FROM pg_temp.call('ch_1', 129.99) c;
SELECT is(count(*), 1::bigint, 'nor is the first handed out to a worker') FROM idem_take('excl.refund', 10) t WHERE t.key_tenant = 'acme';
SELECT is(idem_complete('acme', :'key2', 'r1', fence => :fence2), 'completed', 'done');
SELECT is((pg_temp.call('ch_1', 99)).outcome, 'replayed', 'is replayed');
SELECT is((pg_temp.call('ch_1', 129.99)).outcome, 'claimed', 'what is finished is in nobody''s way');

-- In one transaction
BEGIN;
SELECT is((pg_temp.call('ch_3', 1)).outcome, 'claimed', 'a claim');
SELECT is((pg_temp.call('ch_3', 2)).outcome, 'conflict', 'another of its subject, in the same transaction');
SELECT is((pg_temp.call('ch_3', 1)).outcome, 'in_progress', 'itself');
SAVEPOINT s;
SELECT is(idem_release('acme', (pg_temp.call('ch_3', 1)).key), 'released', 'given back in a savepoint');
SELECT is((pg_temp.call('ch_3', 2)).outcome, 'claimed', 'gives way to the other');
SELECT is((pg_temp.call('ch_3', 1)).outcome, 'conflict', 'which is then in its way');
ROLLBACK TO s;
SELECT is((pg_temp.call('ch_3', 2)).outcome, 'conflict', 'undone');
ROLLBACK;
BEGIN;
SELECT is(count(*) FILTER (WHERE outcome = 'claimed'), 100::bigint, 'a batch of a hundred charges, more than it may have locks for')
	FROM idem_claim_many('acme', 'excl.refund', (SELECT array_agg(jsonb_build_object('charge', n, 'amount', 1, 'currency', 'EUR')) FROM generate_series(1, 100) n));
SELECT cmp_ok(count(*), '<=', 140::bigint, 'holds few') FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'userlock';
SELECT is(string_agg(DISTINCT outcome || ' ' || action, ','), 'conflict stop', 'and guards each of its subjects')
	FROM idem_claim_many('acme', 'excl.refund', (SELECT array_agg(jsonb_build_object('charge', n, 'amount', 2, 'currency', 'EUR')) FROM generate_series(1, 100) n));
ROLLBACK;
SELECT is((idem_lookup('acme', 'excl.refund', '{"charge":"ch_2","amount":98,"currency":"gbp"}')) IS NULL, true, 'a look-up is of the intent alone');

-- Other identities, and definitions
SELECT FROM idem_define('excl.step', identity => 'occurrence', effect => 'external', exclusive => '{order.id}');
SELECT is((idem_claim('acme', 'excl.step', '{"order":{"id":7},"n":1}', 's1')).outcome, 'claimed', 'identity occurrence');
SELECT is((idem_claim('acme', 'excl.step', '{"order":{"id":7.0},"n":2}', 's2')).outcome, 'conflict', 'another step of the same order');
SELECT is((idem_claim('acme', 'excl.step', '{"order":{"id":8},"n":2}', 's2')).outcome, 'claimed', 'or of another one');
SELECT throws_ok($$SELECT idem_claim('acme', 'excl.step', '{"n":2}', 's3')$$, 'ID011', 'key field "order.id" is missing', 'a request without its subject');
SELECT throws_ok(format('SELECT idem_define(%L, %s)', 'excl.bad', arguments), 'ID002', message, arguments) FROM (VALUES
	($$identity => 'arguments', exclusive => '{a}'$$, 'operation "excl.bad" has a local effect, which is not sent'),
	($$key_fields => '{"a":"exact"}', effect => 'external', exclusive => '{b}'$$, 'invalid definition of operation "excl.bad": exclusive field "b" is no key field that is always there'),
	($$key_fields => '{"a":"exact","b":"optional"}', effect => 'external', exclusive => '{b}'$$, 'invalid definition of operation "excl.bad": exclusive field "b" is no key field that is always there'),
	($$identity => 'arguments', effect => 'external', exclusive => '{a, a.b}'$$, 'invalid definition of operation "excl.bad": exclusive fields overlap'),
	($$identity => 'arguments', effect => 'external', exclusive => '{"a b"}'$$, 'invalid definition of operation "excl.bad": exclusive field "a b" is not a path'),
	($$identity => 'arguments', effect => 'external', exclusive => '{NULL}'$$, 'invalid definition of operation "excl.bad": an exclusive field is NULL')) v (arguments, message);
SELECT throws_ok($$SELECT idem_define('excl.step', identity => 'occurrence', effect => 'external')$$, 'ID003', NULL, 'the subject is part of the recipe');

SELECT FROM pg_temp.remove('excl.refund', 'excl.step');
SELECT * FROM finish();
