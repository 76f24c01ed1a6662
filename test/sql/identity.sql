\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- Occurrences that are minted, and what to do after a failure.

-- idem_mint
SELECT matches(idem_mint(), '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$', 'a UUID of version 7');
SELECT is(count(DISTINCT id), 10000::bigint, 'no two are equal')
	FROM (SELECT idem_mint() AS id FROM generate_series(1, 10000)) minted;
SELECT is(array_agg(id ORDER BY n), array_agg(id ORDER BY id COLLATE "C"), 'they rise in the order of minting')
	FROM (SELECT n, idem_mint() AS id FROM generate_series(1, 1000) n) minted;
SELECT is(count(*), 0::bigint, 'C026: the time in them is the server''s, and now')
	FROM (SELECT to_timestamp(('x' || left(replace(idem_mint(), '-', ''), 12))::bit(48)::bigint / 1000.0) AS at) minted
	WHERE at NOT BETWEEN clock_timestamp() - interval '10 seconds' AND clock_timestamp() + interval '10 seconds';
SELECT isnt(right(idem_mint(), 12), right(idem_mint(), 12), 'the rest is random');

-- An occurrence that was planned is kept by every retry; another one is another effect.
SELECT FROM idem_define('ident.pay', identity => 'occurrence');
SELECT idem_mint() AS first, idem_mint() AS second \gset
SELECT is(pg_temp.act('acme', 'ident.pay', '{"amount": 40}', :'first'), 'claimed', 'C149: a planned occurrence');
SELECT is(pg_temp.act('acme', 'ident.pay', '{"amount": 40}', :'first'), 'replayed', 'C149: its retry');
SELECT is(pg_temp.act('acme', 'ident.pay', '{"amount": 41}', :'first'), 'conflict', 'C064: another amount under it is a conflict');
SELECT is(pg_temp.act('acme', 'ident.pay', '{"amount": 40}', :'second'), 'claimed', 'C154: a second occurrence is a second effect');
SELECT is(pg_temp.effects('ident.pay'), 2::bigint, 'C154: two effects');

-- idem_classify: the table of docs/identity.md
SELECT is((idem_classify(trigger, 'local')).decision || ' ' || (idem_classify(trigger, 'external')).decision, decisions, trigger)
	FROM (VALUES
		(1, 'timeout', 'same_key look_up_first'),
		(2, 'connection_lost', 'same_key look_up_first'),
		(3, 'connection_refused', 'same_key same_key'),
		(4, '5xx', 'same_key look_up_first'),
		(5, '429', 'same_key same_key'),
		(6, 'process_restart', 'same_key look_up_first'),
		(7, 'model_reemits_call', 'same_key same_key'),
		(8, 'model_changes_argument', 'conflict conflict'),
		(9, 'approval_resumed', 'same_key same_key'),
		(10, 'user_asks_again', 'look_up_first look_up_first'),
		(11, 'second_purchase_approved', 'new_occurrence new_occurrence')) v (n, trigger, decisions) ORDER BY n;
SELECT is(idem_classify(spelling), idem_classify(trigger), spelling || ' is ' || trigger)
	FROM (VALUES
		(1, '503', '5xx'), (3, '504', 'timeout'), (4, '408', 'timeout'), (5, 'Connection lost', 'connection_lost'),
		(6, 'process-restart', 'process_restart'), (7, 'model re-emits the call', 'model_reemits_call'),
		(8, 'model changes an argument', 'model_changes_argument'), (9, 'approval resumed', 'approval_resumed'),
		(10, 'user asks again', 'user_asks_again'), (11, 'separately approved second purchase', 'second_purchase_approved'))
	v (n, spelling, trigger) ORDER BY n;
SELECT is(idem_classify('timeout'), idem_classify('timeout', 'external'), 'an effect is external unless it is said to be local');
SELECT is(count(*), 0::bigint, 'every answer says what to do and why')
	FROM unnest('{timeout, connection_lost, connection_refused, 5xx, 429, process_restart, model_reemits_call, model_changes_argument, approval_resumed, user_asks_again, second_purchase_approved}'::text[]) t
		CROSS JOIN unnest('{local, external}'::text[]) e CROSS JOIN LATERAL idem_classify(t, e) c
	WHERE c.next_step !~ '^[A-Z0-9i].*\.$' OR c.reason !~ '^[A-Z].*\.$';
SELECT throws_ok($$SELECT idem_classify('404')$$, '22023', 'unknown trigger', 'another trigger is an error: nothing is guessed');
SELECT throws_ok($$SELECT idem_classify('')$$, '22023', 'unknown trigger', 'so is none');
SELECT throws_ok($$SELECT idem_classify(NULL)$$, '22004', 'trigger is NULL', 'and NULL');
SELECT throws_ok($$SELECT idem_classify('429', NULL)$$, '22004', 'effect is NULL', 'an effect of NULL');
SELECT throws_ok($$SELECT idem_classify('429', 'remote')$$, '22023', 'unknown effect', 'an effect that is none');

SELECT FROM pg_temp.remove('ident.pay');
SELECT * FROM finish();
