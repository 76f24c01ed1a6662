\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- Ids of providers: bound to a key, found by a webhook.

SELECT FROM idem_define('ref.pay', key_fields => '{"n":"exact"}', effect => 'external', on_lost_lease => 'takeover', key_prefix => 'rp');
CREATE TEMP TABLE mine AS SELECT n, c.key, c.fence FROM generate_series(1, 4) n CROSS JOIN LATERAL idem_claim('acme', 'ref.pay', jsonb_build_object('n', n)) c;
SELECT is(idem_find('acme', 'stripe', 'pi_1'), NULL, 'nothing is bound yet');
SELECT is(idem_bind('acme', key, 'stripe', 'pi_1', fence), 'bound', 'bound') FROM mine WHERE n = 1;
SELECT is(idem_bind('acme', key, 'stripe', 'pi_1', fence), 'already', 'twice is once') FROM mine WHERE n = 1;
SELECT is(idem_bind('acme', key, 'stripe', 'ch_1', fence), 'bound', 'a key can have several') FROM mine WHERE n = 1;
SELECT is(idem_find('acme', 'stripe', 'pi_1'), key, 'a webhook finds its key') FROM mine WHERE n = 1;
SELECT is(idem_find('other', 'stripe', 'pi_1'), NULL, 'not of another tenant');
SELECT is(idem_find('acme', 'adyen', 'pi_1'), NULL, 'nor of another provider');
SELECT throws_ok(format('SELECT idem_bind(%L, %L, %L, %L, %s)', 'acme', b.key, 'stripe', 'pi_1', b.fence), 'ID02D', format('the reference of provider "stripe" is bound to key "%s"', a.key), 'a second intent cannot have it')
	FROM mine a, mine b WHERE a.n = 1 AND b.n = 2;
SELECT is(idem_bind('acme', key, 'adyen', 'pi_1', fence), 'bound', 'another provider''s can be equal') FROM mine WHERE n = 2;
SELECT throws_ok(format('SELECT idem_bind(%s)', arguments), state, NULL, description) FROM mine, LATERAL (VALUES
	(format('%L, %L, %L, %L, %s', 'acme', key, 'stripe', 'x', fence + 1), 'ID022', 'a wrong fence'),
	(format('%L, %L, %L, %L, NULL', 'acme', key, 'stripe', 'x'), 'ID022', 'no fence'),
	(format('%L, %L, %L, %L, %s', 'other', key, 'stripe', 'x', fence), 'ID021', 'another tenant'),
	(format('%L, %L, NULL, %L, %s', 'acme', key, 'x', fence), '22004', 'no provider'),
	(format('%L, %L, %L, NULL, %s', 'acme', key, 'stripe', fence), '22004', 'no reference'),
	(format('%L, %L, %L, %L, %s', 'acme', key, '', 'x', fence), '22023', 'an empty provider'),
	(format('%L, %L, %L, %L, %s', 'acme', key, 'stripe', '', fence), '22023', 'an empty reference')) v (arguments, state, description) WHERE n = 3;
SELECT is(idem_find('acme', 'stripe', 'x'), NULL, 'and nothing was bound');
BEGIN;
SELECT key, fence FROM idem_claim('acme', 'ref.pay', '{"n":9}') \gset
SELECT throws_ok(format('SELECT idem_bind(%L, %L, %L, %L, %s)', 'acme', :'key', 'stripe', 'y', :fence), 'ID024', NULL, 'the claim has to be committed before');
ROLLBACK;

-- It stays: finished, taken over.
SELECT is(idem_complete('acme', key, 'pi_1', fence => fence), 'completed', 'completed') FROM mine WHERE n = 1;
SELECT is(idem_find('acme', 'stripe', 'pi_1'), key, 'a late webhook finds it as well') FROM mine WHERE n = 1;
SELECT is(idem_bind('acme', key, 'stripe', 're_1', fence), 'bound', 'its owner can bind still') FROM mine WHERE n = 1;
SELECT is(idem_bind('acme', key, 'stripe', 'pi_4', fence), 'bound', 'another one') FROM mine WHERE n = 4;
UPDATE idem.key SET lease_end = lease_end - interval '1 hour' FROM mine WHERE n = 4 AND idem.key.key = right(mine.key, 32)::uuid;
SELECT is(provider_refs, '{"stripe pi_4"}', 'whoever looks at what is pending sees it') FROM idem_pending WHERE key = (SELECT key FROM mine WHERE n = 4);
CREATE TEMP TABLE taken AS SELECT * FROM idem_take('ref.pay', 10) WHERE outcome = 'takeover';
SELECT is(idem_find('acme', 'stripe', 'pi_4'), m.key, 'taken over, it is there') FROM mine m WHERE n = 4;
SELECT throws_ok(format('SELECT idem_bind(%L, %L, %L, %L, %s)', 'acme', key, 'stripe', 'pi_5', fence), 'ID022', NULL, 'the former owner binds no more') FROM mine WHERE n = 4;
SELECT is(idem_bind('acme', t.key, 'stripe', 'pi_4', t.fence), 'already', 'the next one does') FROM taken t JOIN mine m ON m.n = 4 AND m.key = t.key;

-- A webhook before the binding is committed: it waits as long as it is told to.
SELECT is(idem_find('acme', 'stripe', 'pi_none', wait => '50 ms'), NULL, 'nobody binds it');
SELECT is(idem_find('acme', 'stripe', 'pi_none', wait => NULL), NULL, 'wait of NULL is none');

-- A repeat that is meant is another effect, with another id.
SELECT FROM idem_define('ref.again', key_fields => '{"n":"exact"}', effect => 'external', key_prefix => 'ra', repeat_after => '5 minutes');
SELECT key AS key1, fence AS fence1 FROM idem_claim('acme', 'ref.again', '{"n":1}') \gset
SELECT is(idem_bind('acme', :'key1', 'stripe', 'ra_1', :fence1), 'bound', 'an id of the first generation');
SELECT is(idem_complete('acme', :'key1', 'ra_1', fence => :fence1), 'completed', 'which is finished');
SELECT FROM pg_temp.age('ref.again', '6 minutes');
SELECT key AS key2, fence AS fence2 FROM idem_claim('acme', 'ref.again', '{"n":1}') \gset
SELECT is(:'key2', :'key1' || '-2', 'the second one');
SELECT is(idem_find('acme', 'stripe', 'ra_1'), :'key1', 'the id is still that of the first');
SELECT throws_ok(format('SELECT idem_bind(%L, %L, %L, %L, %s)', 'acme', :'key2', 'stripe', 'ra_1', :fence2), 'ID02D', format('the reference of provider "stripe" is bound to key "%s"', :'key1'), 'a provider that took two wishes for one');
SELECT is(idem_bind('acme', :'key2', 'stripe', 'ra_2', :fence2), 'bound', 'an id of its own');
SELECT is(idem_find('acme', 'stripe', 'ra_2'), :'key2', 'is found as that of the second');

-- With the key they go.
SELECT FROM pg_temp.age('ref.pay', '60 days');
SELECT is(idem_expire() > 0, true, 'expired');
SELECT is(idem_find('acme', 'stripe', 'pi_1'), NULL, 'what was bound has gone with its key');
SELECT is(count(*), 0::bigint, 'all of it') FROM idem.provider_ref r LEFT JOIN idem.key k ON k.key = r.key WHERE k.key IS NULL;

DELETE FROM idem.provider_ref r USING idem.key k JOIN idem.operation o ON o.id = k.policy WHERE k.key = r.key AND o.operation IN ('ref.pay', 'ref.again');
SELECT FROM pg_temp.remove('ref.pay');
SELECT FROM pg_temp.remove('ref.again');
SELECT * FROM finish();
