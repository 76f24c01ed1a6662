\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- Definitions that are allowed and look wrong: the warnings are the expected output.

\set VERBOSITY default
SELECT is(idem_define('warn.one', key_fields => '{"id":"exact","created_at":"exact"}'), 'created',
	'C061: a time stamp: with its hint');
SELECT is(idem_define('warn.two', identity => 'arguments', unchecked_fields => '{payment.amount}'),
	'created', 'an unchecked amount: with its hint');

\set VERBOSITY terse
\echo # fields that change by themselves, or that a model rewords
SELECT is(idem_define('warn.fields', key_fields => jsonb_object_agg(field, 'optional')), 'created',
	'they are warned of')
	FROM unnest('{timestamp, sent_ts, createdAt, meta.updatedAt, attempt, retry_count, retries, requestId, request_id, trace_id, message_id, nonce,
		reason, notes, description, payload.comment, "\"quoted part\".memo"}'::text[]) field;
\echo # fields that decide what the effect does
SELECT is(idem_define('warn.unchecked', identity => 'arguments',
	unchecked_fields => '{amount, order.currency, recipient, dryRun, dry_run}'),
          'created', 'C067: they are warned of');
\echo # nothing to say
SELECT is(idem_define('warn.not',
	unchecked_fields => '{reason, created_at, attempt, trace_id, amounts, currency_note}',
	key_fields => '{"amount":"number","currency":"upper","charge_id":"exact","order_id":"exact","format":"exact","flat":"exact","tstamp_zone":"exact",
		"entry":"exact","reasonable":"exact","event_id":"exact","attempted_by":"exact"}'), 'created', 'no warning');
SELECT is(idem_define('warn.one', key_fields => '{"id":"exact","created_at":"exact"}'), 'unchanged',
	'and none for what is the same as before');

SELECT FROM pg_temp.remove('warn.one', 'warn.two', 'warn.fields', 'warn.unchecked', 'warn.not');
SELECT * FROM finish();
