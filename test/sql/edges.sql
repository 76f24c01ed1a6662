\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- Values at the edge of their types, and rows that raw SQL has left behind.

SELECT FROM idem_define('edge.args', identity => 'arguments');
SELECT FROM idem_define('edge.call', identity => 'occurrence', effect => 'external');

-- A lease is longer than a timestamp can say
SELECT is((idem_claim('t', 'edge.call', '{}', 'far', lease => '100000000 years')).outcome, 'claimed',
	'a lease of a hundred million years');
SELECT is((idem_claim('t', 'edge.call', '{}', 'far')).outcome, 'in_progress', 'it protects its attempt');
SELECT is((SELECT count(*) FROM idem_keys WHERE operation = 'edge.call' AND lease_end > '294276-01-01'), 1::bigint,
	'its end can be shown');

-- A path of nothing
SELECT throws_ok($$SELECT idem_define('edge.path', key_fields => '{"":"exact"}')$$, 'ID002',
	'invalid definition of operation "edge.path": key field "" is not a path', 'a key field without a name');
SELECT throws_ok($$SELECT idem_define('edge.path', identity => 'arguments', unchecked_fields => '{""}')$$, 'ID002',
	'invalid definition of operation "edge.path": unchecked field "" is not a path', 'nor an unchecked one');

-- The row of a claim that was released in this transaction is deleted by hand
SELECT fence FROM idem_claim('t', 'edge.call', '{}', 'gone2') \gset
SELECT is(idem_release('t', idem_key('t', 'edge.call', '{}', 'gone2'), :fence), 'released', 'a released key');
BEGIN;
SELECT is((idem_claim('t', 'edge.call', '{}', 'gone2')).attempt, 2, 'is taken up');
SELECT is(idem_release('t', idem_key('t', 'edge.call', '{}', 'gone2')), 'released', 'and released again');
DELETE FROM idem.key k USING idem_keys v
	WHERE v.key = idem_key('t', 'edge.call', '{}', 'gone2') AND v.key LIKE '%' || replace(k.key::text, '-', '');
SELECT is((idem_claim('t', 'edge.call', '{}', 'gone2')).outcome, 'in_progress', 'with its row deleted by hand: nobody owns it here');
ROLLBACK;

-- A finished row without the time of its finish answers; it is not taken for one past its life
SELECT is((idem_record('t', 'edge.args', '{"n":1}')).outcome, 'claimed', 'a key');
UPDATE idem.key k SET completed_at = NULL FROM idem.operation o WHERE o.id = k.policy AND o.operation = 'edge.args';
SELECT is((idem_record('t', 'edge.args', '{"n":1}')).outcome, 'replayed', 'without its time it answers still');

SELECT FROM pg_temp.remove('edge.args', 'edge.call');
SELECT * FROM finish();
