\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- Arguments that are kept with the key: for external effects, and for others when the policy says so.

DROP ROLE IF EXISTS regress_idem_worker;
CREATE ROLE regress_idem_worker;
SELECT idem_grant('regress_idem_worker') \g /dev/null

SELECT FROM idem_define('args.call', key_fields => '{"id":"exact"}', unchecked_fields => '{trace}', effect => 'external');
SELECT FROM idem_define('args.local', key_fields => '{"id":"exact"}');
SELECT FROM idem_define('args.kept', key_fields => '{"id":"exact"}', arguments => 'stored');
SELECT is(string_agg(operation || ' ' || arguments, ', ' ORDER BY operation), 'args.call stored, args.kept stored, args.local digests',
	'external effects keep arguments unless the policy says otherwise') FROM idem_operations WHERE operation LIKE 'args.%';

-- An external attempt is lost: whoever takes it over finds what was approved.
SELECT key, fence FROM idem_claim('acme', 'args.call', '{"id":1,"amount":12.50,"trace":"t1","to":{"iban":"DE02"}}') \gset
SELECT is((idem_lookup('acme', :'key')).arguments, '{"id":1,"amount":12.50,"trace":"t1","to":{"iban":"DE02"}}', 'arguments of an open claim, as they came');
SELECT is((idem_lookup('acme', 'args.call', '{"id":1,"amount":12.5,"to":{"iban":"DE02"}}')).arguments->>'trace', 't1', 'unchecked ones are the first caller''s');
SELECT is((idem_lookup('other', :'key')).arguments, NULL, 'C076: not for another tenant');
SELECT ok((l).outcome = 'conflict' AND (l).arguments IS NULL, 'nor for a request that conflicts')
	FROM (SELECT idem_lookup('acme', 'args.call', '{"id":1,"amount":13}') l OFFSET 0) s;
SELECT is(c.differing_fields, '{amount,to}', 'which learns what differs') FROM idem_claim('acme', 'args.call', '{"id":1,"amount":13}') c;
SELECT ok(c.outcome = 'in_progress' AND c.arguments IS NULL, 'a claim has its arguments itself') FROM idem_claim('acme', 'args.call', '{"id":1,"amount":12.5,"to":{"iban":"DE02"}}') c;
SELECT is(leaves, NULL, 'no digests beside the arguments') FROM idem.key WHERE key = right(:'key', 32)::uuid;
SELECT is(idem_unknown('acme', :'key', :fence), 'unknown', 'lost');
SELECT is((idem_lookup('acme', :'key')).arguments->>'amount', '12.50', 'the arguments stay');
SELECT is(idem_resolve('acme', :'key', 'retry'), 'released', 'to be tried again');
SELECT is((idem_lookup('acme', :'key')).arguments->>'amount', '12.50', 'they stay');
SELECT attempt, fence FROM idem_claim('acme', 'args.call', '{"id":1,"amount":12.5,"trace":"t2","to":{"iban":"DE02"}}') \gset
SELECT is(:attempt, 2, 'the next attempt');
SELECT is((idem_lookup('acme', :'key')).arguments->>'trace', 't1', 'is of the arguments that were approved');
SELECT is(idem_complete('acme', :'key', 'x1', '"ok"', :fence), 'completed', 'done');
SELECT is((idem_lookup('acme', :'key')).arguments->>'trace', 't1', 'and stay with the receipt');

-- Who may see them
SET ROLE regress_idem_worker;
SELECT is((l.outcome, l.arguments)::text, '(replayed,)', 'C078: a look-up gives them to those alone that may SELECT them') FROM idem_lookup('acme', :'key') l;
RESET ROLE;
SELECT idem_grant('regress_idem_worker', read_arguments => true) \g /dev/null
SET ROLE regress_idem_worker;
SELECT is((idem_lookup('acme', :'key')).arguments->>'trace', 't1', 'which idem_grant gives when it is told to');
SELECT throws_ok('SELECT response FROM idem.key', '42501', NULL, 'and no more than that');
RESET ROLE;

-- Local effects
SELECT is((idem_record('acme', 'args.local', '{"id":1,"note":"x"}')).outcome, 'claimed', 'a local effect');
SELECT is((idem_lookup('acme', 'args.local', '{"id":1,"note":"x"}')).arguments, NULL, 'keeps no arguments');
SELECT is((idem_record('acme', 'args.kept', '{"id":1,"note":"x"}')).outcome, 'claimed', 'one whose policy says so');
SELECT is((idem_lookup('acme', 'args.kept', '{"id":1,"note":"x"}')).arguments, '{"id":1,"note":"x"}', 'keeps them');
BEGIN;
SELECT key FROM idem_claim('acme', 'args.kept', '{"id":2,"note":"y"}') \gset
SELECT is((idem_lookup('acme', :'key')).arguments, '{"id":2,"note":"y"}', 'before they are written, too');
SELECT is((idem_claim('acme', 'args.kept', '{"id":2}')).differing_fields, '{note}', 'to compare with');
ROLLBACK;
SELECT is((idem_record('acme', 'args.kept', jsonb_build_object('id', 3, 'text', (SELECT string_agg(md5(i::text), '') FROM generate_series(1, 20000) i)))).outcome,
	'claimed', 'arguments of 640 kB');
SELECT is(length((idem_lookup('acme', idem_key('acme', 'args.kept', '{"id":3}'))).arguments->>'text'), 640000, 'are kept whole');
SELECT is((idem_claim('acme', 'args.kept', '{"id":3,"text":"short"}')).differing_fields, '{text}', 'and compared');

-- The setting can change: a row has what was in force when it was claimed.
SELECT is(idem_define('args.kept', arguments => 'digests'), 'changed', 'no more arguments');
SELECT is((idem_record('acme', 'args.kept', '{"id":4,"note":"x"}')).outcome, 'claimed', 'from now on');
SELECT is((idem_claim('acme', 'args.kept', '{"id":1,"note":"y"}')).differing_fields, '{note}', 'a row from before');
SELECT is((idem_claim('acme', 'args.kept', '{"id":4}')).differing_fields, '{note}', 'and one from after name what differs');
SELECT is((idem_lookup('acme', 'args.kept', '{"id":4,"note":"x"}')).arguments, NULL, 'the latter without its arguments');
SELECT FROM idem_define('args.turned', identity => 'arguments');
SELECT FROM idem_define('args.turned', identity => 'arguments', effect => 'external');
SELECT is(arguments, 'stored', 'an effect that becomes external keeps its arguments from then on') FROM idem_operations WHERE operation = 'args.turned';
SELECT is((idem_record('acme', 'args.local', jsonb_build_object('id', 9, 'list', (SELECT jsonb_agg(i) FROM generate_series(1, 20000) i)))).outcome, 'claimed', 'a list of 20,000');
SELECT is((idem_claim('acme', 'args.local', '{"id":9,"list":[1,2]}')).differing_fields, '{list}', 'is compared as a whole');
SELECT is((idem_claim('acme', 'args.kept', jsonb_build_object('id', 1, 'note', (SELECT jsonb_agg(i) FROM generate_series(1, 20000) i)))).differing_fields, '{note}', 'what only the request has is named by its outermost path');
SELECT throws_ok($$SELECT idem_define('args.bad', identity => 'arguments', arguments => 'all')$$, 'ID002', 'invalid arguments of operation "args.bad"', 'stored or digests');

SELECT FROM pg_temp.remove('args.call', 'args.local', 'args.kept', 'args.turned');
REVOKE ALL ON SCHEMA idem FROM regress_idem_worker;
DROP OWNED BY regress_idem_worker;
DROP ROLE regress_idem_worker;
SELECT * FROM finish();
