\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- Repeats that are meant: with repeat_after an identical intent is a new effect once the one before has
-- been finished for longer than that.

SELECT FROM idem_define('again.mail', key_fields => '{"to":"email","template":"exact"}', unchecked_fields => '{trace}', key_prefix => 'ml', repeat_after => '5 minutes');
SELECT is(repeat_after, '5 minutes', 'the setting') FROM idem_operations WHERE operation = 'again.mail';

SELECT is(pg_temp.act('acme', 'again.mail', '{"to":"a@b.example","template":"hello"}'), 'claimed', 'the first time');
SELECT idem_key('acme', 'again.mail', '{"to":"a@b.example","template":"hello"}') AS key \gset
SELECT is(pg_temp.act('acme', 'again.mail', '{"to":"a@B.example","template":"hello","trace":2}'), 'replayed', 'a retry');
SELECT FROM pg_temp.age('again.mail', '4 minutes 50 seconds');
SELECT is(pg_temp.act('acme', 'again.mail', '{"to":"a@b.example","template":"hello"}'), 'replayed', 'a late retry');
SELECT FROM pg_temp.age('again.mail', '10 seconds');
SELECT is((idem_lookup('acme', :'key')).outcome, 'replayed', 'a look-up tells of what was done, however long ago');
SELECT is((idem_claim('acme', 'again.mail', '{"to":"a@b.example","template":"hello","body":"x"}')).outcome, 'conflict', 'another request of the key is a conflict at any age');
BEGIN;
SELECT outcome, key, attempt, effect_ref IS NULL AS no_ref FROM idem_claim('acme', 'again.mail', '{"to":"a@b.example","template":"hello"}') \gset again_
SELECT is((:'again_outcome', :'again_key', :again_attempt, :'again_no_ref')::text, format('(claimed,%s-2,1,t)', :'key'), 'then it is meant, and a first attempt with a key of its own');
SELECT is((idem_claim('acme', 'again.mail', '{"to":"a@b.example","template":"hello"}')).outcome, 'in_progress', 'which is claimed once');
SELECT throws_ok(format('SELECT idem_complete(%L, %L)', 'acme', :'key'), 'ID021', NULL, 'the former key cannot finish it');
SELECT is((idem_lookup('acme', :'key')).effect_ref, 'e1', 'nor is it replaced before it is done');
ROLLBACK;
SELECT is((idem_lookup('acme', :'key')).effect_ref, 'e1', 'a roll-back leaves what was there');
SELECT is(pg_temp.act('acme', 'again.mail', '{"to":"a@b.example","template":"hello"}'), 'claimed', 'again');
SELECT is(pg_temp.act('acme', 'again.mail', '{"to":"a@b.example","template":"hello"}'), 'replayed', 'its retry');
SELECT is((c.key, c.effect_ref)::text, format('(%s-2,e2)', :'key'), 'has the key and the receipt of the second') FROM idem_claim('acme', 'again.mail', '{"to":"a@b.example","template":"hello"}') c;
SELECT is((idem_lookup('acme', :'key' || '-2')).effect_ref, 'e2', 'which is found by its key');
SELECT is((l.outcome, l.action, l.key, l.effect_ref, l.response)::text, format('(receipt_expired,stop,%s,,)', :'key'), 'of the first it is known that there was one')
	FROM idem_lookup('acme', :'key') l;
SELECT is(idem_lookup('acme', :'key' || '-3'), NULL, 'of a third nothing');
SELECT is(idem_lookup('acme', spelling), NULL, 'a key has one spelling: ' || suffix) FROM (SELECT suffix, :'key' || suffix AS spelling FROM unnest('{-1,-02,-2-2,-,-2x}'::text[]) suffix) s;
SELECT is(pg_temp.keys('again.mail'), 1::bigint, 'one row');
SELECT is(key, :'key' || '-2', 'the view has its key') FROM idem_keys WHERE operation = 'again.mail';
SELECT is(pg_temp.effects('again.mail'), 2::bigint, 'two effects');
SELECT FROM pg_temp.age('again.mail', '6 minutes');
SELECT is(pg_temp.act('acme', 'again.mail', '{"to":"a@b.example","template":"hello"}'), 'claimed', 'and again');
SELECT is((idem_claim('acme', 'again.mail', '{"to":"a@b.example","template":"hello"}')).key, :'key' || '-3', 'the third');
SELECT is((idem_lookup('acme', :'key' || '-2')).outcome, 'receipt_expired', 'after the second');

-- Past its life a key begins anew.
SELECT FROM pg_temp.age('again.mail', '31 days');
SELECT is(pg_temp.act('acme', 'again.mail', '{"to":"a@b.example","template":"hello"}'), 'claimed', 'past the retention');
SELECT is((idem_claim('acme', 'again.mail', '{"to":"a@b.example","template":"hello"}')).key, :'key', 'it is a first generation');

-- Released in its transaction, and in a savepoint
SELECT FROM pg_temp.age('again.mail', '6 minutes');
BEGIN;
SELECT key FROM idem_claim('acme', 'again.mail', '{"to":"a@b.example","template":"hello"}') \gset again_
SELECT is(idem_release('acme', :'again_key'), 'released', 'given back');
SELECT is((idem_claim('acme', 'again.mail', '{"to":"a@b.example","template":"hello"}')).key, :'key' || '-2', 'and claimed once more');
SAVEPOINT s;
SELECT is(idem_complete('acme', :'again_key', 'undone'), 'completed', 'completed in a savepoint');
ROLLBACK TO s;
SELECT is(idem_release('acme', :'again_key'), 'released', 'which is undone');
COMMIT;
SELECT is((l.outcome, l.key, l.effect_ref)::text, format('(replayed,%s,e4)', :'key'), 'the receipt of the former is there still') FROM idem_lookup('acme', :'key') l;

-- Within one transaction a repeat is never meant.
BEGIN;
SELECT is((idem_record('acme', 'again.mail', '{"to":"c@d.example","template":"hello"}', 'f1')).outcome, 'claimed', 'recorded');
SELECT count(idem_record('acme', 'again.mail', jsonb_build_object('to', 'u' || i || '@d.example', 'template', 'many'))) FROM generate_series(1, 100) i \gset
UPDATE idem.key SET completed_at = completed_at - interval '1 hour' WHERE xmin = pg_current_xact_id()::xid;
SELECT is(string_agg(DISTINCT c.outcome, ','), 'replayed', 'written early or not') FROM generate_series(1, 60) i
	CROSS JOIN LATERAL idem_claim('acme', 'again.mail', jsonb_build_object('to', 'u' || i || '@d.example', 'template', 'many')) c;
ROLLBACK;

-- No buckets: whatever the moment of the first, every retry within the span is a repeat, and none beyond it. A bucket of
-- 300 seconds lets a retry after 60 seconds slip through for one in five of all moments.
SELECT FROM idem_define('again.pay', key_fields => '{"n":"exact"}', repeat_after => '300 seconds');
SELECT is(count(idem_record('acme', 'again.pay', jsonb_build_object('n', n))), 600::bigint, 'payments') FROM generate_series(0, 599) n;
UPDATE idem.key k SET completed_at = completed_at - make_interval(secs => v.n) FROM generate_series(0, 599) v (n)
	WHERE k.key = right(idem_key('acme', 'again.pay', jsonb_build_object('n', v.n)), 32)::uuid;
CREATE TEMP TABLE retry AS SELECT n, (idem_lookup('acme', idem_key('acme', 'again.pay', jsonb_build_object('n', n)))).outcome AS before,
	pg_temp.act('acme', 'again.pay', jsonb_build_object('n', n)) AS outcome FROM generate_series(0, 599) n;
SELECT is(count(*) FILTER (WHERE n < 300 AND outcome <> 'replayed'), 0::bigint, 'every retry within 300 s is a repeat, at each of 300 distances') FROM retry
	WHERE n < 295; -- the seconds that this test itself may take
SELECT is(count(*) FILTER (WHERE outcome <> 'claimed'), 0::bigint, 'every one beyond is a new effect, at each of 300') FROM retry WHERE n >= 300;
SELECT is(pg_temp.effects('again.pay'), count(*) FILTER (WHERE outcome = 'claimed'), 'an effect for each of them, and no other') FROM retry;
SELECT is(count(*) FILTER (WHERE floor(first / 300.0) <> floor((first + 60) / 300.0)) / 300.0, 0.2, 'while a bucket lets slip gap/length of them')
	FROM generate_series(0, 299) first;

-- What was not finished blocks at any age; what failed counts as finished.
SELECT FROM idem_define('again.call', key_fields => '{"n":"exact"}', effect => 'external', repeat_after => '5 minutes', lease => '1 millisecond');
SELECT key, fence FROM idem_claim('acme', 'again.call', '{"n":1}') \gset
UPDATE idem.key SET claimed_at = claimed_at - interval '10 days', lease_end = lease_end - interval '10 days' WHERE key = right(:'key', 32)::uuid;
SELECT is((idem_claim('acme', 'again.call', '{"n":1}')).outcome, 'unresolved', 'an attempt of ten days ago blocks');
SELECT is(idem_resolve('acme', :'key', 'completed', 'x1'), 'completed', 'until somebody finishes it');
SELECT is((idem_claim('acme', 'again.call', '{"n":1}')).outcome, 'replayed', 'from when on the span counts');
SELECT FROM pg_temp.age('again.call', '301 seconds');
SELECT outcome, key, fence, attempt FROM idem_claim('acme', 'again.call', '{"n":1}', lease => '1 minute') \gset again_
SELECT is((:'again_outcome', :'again_key', :again_attempt)::text, format('(claimed,%s-2,1)', :'key'), 'the second call');
SELECT is((idem_claim('acme', 'again.call', '{"n":1}')).outcome, 'in_progress', 'is under way');
SELECT throws_ok(format('SELECT idem_complete(%L, %L, fence => %s)', 'acme', :'key', :fence), 'ID021', NULL, 'the first one''s key and fence finish nothing');
SELECT is(idem_fail('acme', :'again_key', '"refused"', :again_fence), 'failed', 'fails');
SELECT is(idem_fail('acme', :'again_key', '"refused"', :again_fence), 'already', 'said twice');
SELECT is((idem_claim('acme', 'again.call', '{"n":1}')).outcome, 'failed', 'which is answered');
SELECT FROM pg_temp.age('again.call', '301 seconds');
SELECT is((idem_claim('acme', 'again.call', '{"n":1}')).key, :'key' || '-3', 'for as long');

-- A failure is forgotten after its retention. Its row stays for as long as others do, so that the next one does
-- not get a key that a provider has seen.
SELECT is(idem_fail('acme', :'key' || '-3', '"refused"', fence), 'failed', 'the third fails too') FROM idem.key WHERE key = right(:'key', 32)::uuid;
SELECT is(idem_define('again.call', repeat_after => '20 days'), 'changed', 'a span longer than failures are kept');
SELECT FROM pg_temp.age('again.call', '23 hours');
SELECT is((idem_claim('acme', 'again.call', '{"n":1}')).outcome, 'failed', 'within the retention of failures');
SELECT is((idem_claim('acme', 'again.call', '{"n":1,"x":1}')).outcome, 'conflict', 'and another request conflicts with it');
SELECT FROM pg_temp.age('again.call', '2 hours');
SELECT is(idem_expire(), 0, 'it is not deleted');
BEGIN;
SELECT is((c.outcome, c.key)::text, format('(claimed,%s-4)', :'key'), 'another request takes its place, too') FROM idem_claim('acme', 'again.call', '{"n":1,"x":1}') c;
ROLLBACK;
SELECT is((c.outcome, c.key)::text, format('(claimed,%s-4)', :'key'), 'the next has its own number') FROM idem_claim('acme', 'again.call', '{"n":1}') c;
SELECT is(idem_complete('acme', :'key' || '-4', 'x4', fence => k.fence), 'completed', 'is done') FROM idem.key k WHERE key = right(:'key', 32)::uuid;
SELECT FROM pg_temp.age('again.call', '31 days');
SELECT is(idem_expire() > 0, true, 'and goes with its retention');

-- A later generation is of its own arguments: whoever takes it over does not find those of another call.
SELECT FROM idem_define('again.sms', key_fields => '{"n":"exact"}', unchecked_fields => '{trace}', effect => 'external', repeat_after => '5 minutes');
SELECT key, fence FROM idem_claim('acme', 'again.sms', '{"n":1,"trace":"t1"}') \gset
SELECT is(idem_complete('acme', :'key', 's1', fence => :fence), 'completed', 'a first call');
SELECT FROM pg_temp.age('again.sms', '6 minutes');
SELECT is((idem_claim('acme', 'again.sms', '{"n":1,"trace":"t2"}')).outcome, 'claimed', 'a second one');
SELECT is((idem_lookup('acme', :'key' || '-2')).arguments->>'trace', 't2', 'has the arguments that it was claimed with');

-- Versions: the next generation stays the row of its intent, whichever version a client knows.
SELECT FROM idem_define('again.v', key_fields => '{"n":"exact"}', key_prefix => 'av', repeat_after => '5 minutes');
SELECT FROM idem_define('again.v', version => 2, key_fields => '{"n":"exact","currency":"upper optional"}', key_prefix => 'av', repeat_after => '5 minutes');
SELECT is((idem_record('acme', 'again.v', '{"n":1}', 'v1')).outcome, 'claimed', 'by version 2');
SELECT idem_key('acme', 'again.v', '{"n":1}') AS key \gset
SELECT FROM pg_temp.age('again.v', '6 minutes');
BEGIN;
SELECT is((idem_record('acme', 'again.v', '{"n":1}', 'v2', version => 1)).key, :'key' || '-2', 'again, by version 1');
SELECT is((idem_record('acme', 'again.v', '{"n":1}', 'v3', version => version)).effect_ref, 'v2', 'in this transaction, version ' || version) FROM unnest('{1,2}'::integer[]) version;
COMMIT;
SELECT is((idem_claim('acme', 'again.v', '{"n":1}', version => version)).effect_ref, 'v2', 'replayed, version ' || version) FROM unnest('{1,2}'::integer[]) version;
SELECT is(pg_temp.keys('again.v'), 1::bigint, 'one row');
SELECT is((idem_record('acme', 'again.v', '{"n":2}', 'w1', version => 1)).outcome, 'claimed', 'by version 1');
SELECT FROM pg_temp.age('again.v', '6 minutes');
SELECT is((idem_record('acme', 'again.v', '{"n":2}', 'w2')).key, idem_key('acme', 'again.v', '{"n":2}', version => 1) || '-2', 'again, by version 2');
SELECT is((idem_claim('acme', 'again.v', '{"n":2}', version => version)).effect_ref, 'w2', 'replayed, version ' || version) FROM unnest('{1,2}'::integer[]) version;

-- A failure that is gone stays gone, whatever is set later.
SELECT FROM idem_define('again.gone', key_fields => '{"k":"exact"}', failure_retention => '1 hour');
BEGIN;
SELECT is(idem_fail('acme', (idem_claim('acme', 'again.gone', '{"k":1}')).key), 'failed', 'a failure');
COMMIT;
SELECT FROM idem_define('again.gone', version => 2, key_fields => '{"k":"exact","b":"exact optional"}');
SELECT FROM pg_temp.age('again.gone', '2 hours');
SELECT is((idem_record('acme', 'again.gone', '{"k":1}', 'paid-1')).outcome, 'claimed', 'gone: done under version 2');
SELECT is((idem_record('acme', 'again.gone', '{"k":1}', 'x', version => 1)).effect_ref, 'paid-1', 'and replayed under version 1');
SELECT is(idem_define('again.gone', version => 1, repeat_after => '1 hour'), 'changed', 'repeat_after is switched on');
SELECT is((idem_record('acme', 'again.gone', '{"k":1}', 'x', version => 1)).effect_ref, 'paid-1', 'which revives nothing');

-- A failure of a later generation that is forgotten is nobody's, but for the number of the next.
SELECT FROM idem_define('again.forget', key_fields => '{"k":"exact"}', failure_retention => '1 hour', repeat_after => '1 minute', key_prefix => 'af');
SELECT FROM idem_record('acme', 'again.forget', '{"k":1,"x":1}');
SELECT FROM pg_temp.age('again.forget', '2 minutes');
BEGIN;
SELECT is(idem_fail('acme', (idem_claim('acme', 'again.forget', '{"k":1,"x":1}')).key, '"secret of x 1"'), 'failed', 'a second generation that fails');
COMMIT;
SELECT FROM idem_define('again.forget', version => 2, key_fields => '{"k":"exact","b":"exact optional"}', failure_retention => '1 hour', repeat_after => '1 minute', key_prefix => 'af');
SELECT FROM pg_temp.age('again.forget', '2 hours');
SELECT is(idem_lookup('acme', 'again.forget', '{"k":1,"x":9}', version => version), NULL, 'is not told to another request, version ' || version) FROM unnest('{1,2}'::integer[]) version;
SELECT is(idem_lookup('acme', idem_key('acme', 'again.forget', '{"k":1}', version => 1) || '-2'), NULL, 'nor by its key');
BEGIN;
SELECT is((c.outcome, right(c.key, 2))::text, '(claimed,-3)', 'and gives way to it, version ' || version) FROM unnest('{2}'::integer[]) version
	CROSS JOIN LATERAL idem_claim('acme', 'again.forget', '{"k":1,"x":9}', version => version) c;
ROLLBACK;
SELECT is((r.outcome, right(r.key, 2))::text, '(claimed,-3)', 'version 1') FROM idem_record('acme', 'again.forget', '{"k":1,"y":9}', version => 1) r;
SELECT is((idem_claim('acme', 'again.forget', '{"k":1}', version => 1)).differing_fields, '{y}', 'its fields have names of their own');

-- Definitions
SELECT is(idem_define('again.mail', repeat_after => '0'), 'changed', 'zero turns it off');
SELECT is(repeat_after, NULL, 'as if it had never been there') FROM idem_operations WHERE operation = 'again.mail';
SELECT is(pg_temp.act('acme', 'again.mail', '{"to":"a@b.example","template":"hello"}'), 'replayed', 'from then on a repeat is a repeat');
SELECT throws_ok(format('SELECT idem_define(%L, %s)', 'again.bad', arguments), 'ID002', message, arguments) FROM (VALUES
	($$identity => 'arguments', repeat_after => '-1 second'$$, 'invalid repeat_after of operation "again.bad"'),
	($$identity => 'arguments', repeat_after => '30 days'$$, 'invalid repeat_after of operation "again.bad"'),
	($$identity => 'occurrence', repeat_after => '1 second'$$, 'operation "again.bad" is identified by an occurrence and takes no repeat_after')) v (arguments, message);
SELECT throws_ok($$SELECT idem_define('again.pay', retention => '300 seconds')$$, 'ID002', 'invalid repeat_after of operation "again.pay"', 'nor may the retention become as short as that');

SELECT FROM pg_temp.remove('again.mail', 'again.pay', 'again.call', 'again.sms', 'again.v', 'again.gone', 'again.forget');
SELECT * FROM finish();
