\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- Fields that a model must not fill: found, and taken out of schemas.

CREATE FUNCTION pg_temp.found(schema jsonb) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(array_to_string(path, '/') || ' (' || category || ')', ', ' ORDER BY path COLLATE "C") FROM idem_lint_schema(schema)
$$;

-- Names
SELECT is(pg_temp.found(jsonb_build_object('properties', jsonb_build_object(name, '{}'::jsonb))),
	'properties/' || name || ' (' || category || ')', category || ': ' || name)
	FROM (VALUES
		('idempotency key', '{idempotency_key, idempotencyKey, IdempotencyKey, Idempotency-Key, X-Idempotency-Key, idem_key, idempotency_token, payment_idempotency_key}'::text[]),
		('dedupe token', '{dedupe_token, dedup_key, deduplicationId, MessageDeduplicationId, de_dupe_id, clientToken, ClientRequestToken}'),
		('request id', '{request_id, requestId, X-Request-Id, x_request_id, requestID, PayPal-Request-Id, trace_id, traceparent, tracestate, spanId, correlation_id, X-Correlation-ID, causationId, client_request_id, tool_call_id, tool_use_id, invocation_id, attempt_id, request_uuid}'),
		('nonce', '{nonce, requestNonce, jti}'),
		('attempt counter', '{attempt, attempts, attempt_number, attemptCount, attempt_no, retry, retryCount, retries, tries, try_count, is_retry, delivery_count, redelivered}'),
		('time of sending', '{sent_at, sentAt, request_time, requestTimestamp, requested_at, created_at, client_time, timestamp, ts, now, current_time, submitted_at}')) v (category, names)
	CROSS JOIN LATERAL unnest(names) WITH ORDINALITY u (name, n) ORDER BY category, n;
SELECT is(string_agg(name, ', '), NULL, 'names that mean something to a business are left alone')
	FROM unnest('{id, charge_id, order_id, customer_id, event_id, message_id, session_id, pull_request_id, delivery_number, amount, currency, reason,
		due_at, send_at, scheduled_at, start_time, date, time, timezone, max_attempts, max_retries, retry_policy, retry_after, key, token, api_key,
		client_id, request, requested_by, trace, announcement, entry, country, state, tstamp, timestamp_format, attempted_by, keynote, duplicate}'::text[]) name
	WHERE EXISTS (SELECT FROM idem_lint_schema(jsonb_build_object('properties', jsonb_build_object(name, true))));

-- Definitions of tools
\set parameters '{"type":"object","properties":{"charge_id":{"type":"string"},"request_id":{"type":"string"}},"required":["charge_id","request_id"],"additionalProperties":false}'
\set stripped '{"type":"object","properties":{"charge_id":{"type":"string"}},"required":["charge_id"],"additionalProperties":false}'
CREATE TEMP TABLE tool (n int, kind text, prefix text, tool jsonb, stripped jsonb);
INSERT INTO tool
	SELECT n, kind, prefix, replace(template, '@', :'parameters')::jsonb, replace(template, '@', :'stripped')::jsonb FROM (VALUES
		(1, 'a schema', '', '@'),
		(2, 'OpenAI, chat completions', 'function/parameters/', '{"type":"function","function":{"name":"create_refund","strict":true,"parameters":@}}'),
		(3, 'OpenAI, responses', 'parameters/', '{"type":"function","name":"create_refund","parameters":@}'),
		(4, 'Anthropic', 'input_schema/', '{"name":"create_refund","description":"uses request_id","input_schema":@}'),
		(5, 'MCP', 'inputSchema/', '{"name":"create_refund","inputSchema":@,"outputSchema":{"properties":{"request_id":{}},"required":["request_id"]}}'),
		(6, 'a list of tools', '0/input_schema/', '[{"name":"create_refund","input_schema":@},{"name":"none","input_schema":{}}]'),
		(7, 'a reply of MCP', 'tools/1/inputSchema/', '{"tools":[{"name":"none"},{"name":"create_refund","inputSchema":@}]}'),
		(8, 'Gemini', 'tools/0/functionDeclarations/0/parameters/', '{"tools":[{"functionDeclarations":[{"name":"create_refund","parameters":@}]}]}'))
		v (n, kind, prefix, template);
SELECT is(pg_temp.found(tool), prefix || 'properties/request_id (request id)', 'found: ' || kind) FROM tool ORDER BY n;
SELECT is(idem_strip_schema(tool), stripped, 'taken out, and nothing else: ' || kind) FROM tool ORDER BY n;

-- Where a schema can hold another one
CREATE TEMP TABLE nesting (n int, template text);
INSERT INTO nesting VALUES
	(1, '{"properties":{"meta":@}}'), (2, '{"properties":{"lines":{"type":"array","items":@}}}'), (3, '{"items":[{},@]}'), (4, '{"prefixItems":[true,@]}'),
	(5, '{"$defs":{"line":@}}'), (6, '{"definitions":{"request_id":@}}'), (7, '{"anyOf":[{"type":"null"},@]}'), (8, '{"oneOf":[@]}'), (9, '{"allOf":[@]}'),
	(10, '{"additionalProperties":@}'), (11, '{"patternProperties":{"^x":@}}'), (12, '{"if":{},"then":@}'), (13, '{"else":@}'), (14, '{"contains":@}'),
	(15, '{"dependentSchemas":{"charge_id":@}}'), (16, '{"dependencies":{"charge_id":@}}'), (17, '{"unevaluatedProperties":@}'),
	(18, '{"properties":{"a":{"anyOf":[{"items":{"$defs":{"b":@}}}]}}}'), (19, '{"properties":{"properties":@}}'), (20, '{"properties":{"required":@}}'), (21, '{"if":@}');
SELECT is(count(*), 1::bigint, 'found: ' || template) FROM nesting, idem_lint_schema(replace(template, '@', :'parameters')::jsonb) GROUP BY n, template ORDER BY n;
SELECT is(idem_strip_schema(replace(template, '@', :'parameters')::jsonb), replace(template, '@', :'stripped')::jsonb, 'taken out: ' || template)
	FROM nesting ORDER BY n;
SELECT is(string_agg(template, ' '), NULL, 'what is stripped has nothing left to find')
	FROM nesting WHERE pg_temp.found(idem_strip_schema(replace(template, '@', :'parameters')::jsonb)) IS NOT NULL;

-- Where it cannot
SELECT is(idem_strip_schema(schema), schema, 'left alone: ' || schema::text)
	FROM (VALUES
		(1, '{}'::jsonb), (2, 'true'), (3, 'null'), (4, '"request_id"'), (5, '[]'),
		(6, '{"required":true,"properties":["request_id"]}'),
		(7, '{"required":[1,null,{"request_id":1},"a"]}'),
		(8, '{"default":{"properties":{"request_id":1},"required":["request_id"]}}'),
		(9, '{"enum":["request_id"],"const":"request_id","examples":[{"request_id":"x"}]}'),
		(10, '{"not":{"required":["request_id"]}}'),
		(11, '{"description":"request_id","title":"nonce","$ref":"#/$defs/request_id"}'),
		(12, '{"name":"request_id","outputSchema":{"properties":{"request_id":{}}}}')) v (n, schema) ORDER BY n;

-- Every mention of a field goes, and each field is told once.
\set schema '{"properties":{"a":{},"nonce":{},"b":{}},"required":["nonce","a","nonce","b","trace_id"],"dependentRequired":{"a":["nonce","b"],"nonce":["a"]},"dependencies":{"b":["trace_id"]},"anyOf":[{"required":["a"]},{"required":["nonce"]}]}'
SELECT is(idem_strip_schema(:'schema'),
	'{"properties":{"a":{},"b":{}},"required":["a","b"],"dependentRequired":{"a":["b"]},"dependencies":{"b":[]},"anyOf":[{"required":["a"]},{"required":[]}]}',
	'a field that is required twice, or on a condition');
SELECT is(pg_temp.found(:'schema'), 'anyOf/1/required/0 (nonce), dependencies/b/0 (request id), properties/nonce (nonce)',
	'a field that is required without being declared is found too');
SELECT is(count(*), 0::bigint, 'a path is what #> takes')
	FROM idem_lint_schema(:'schema') WHERE :'schema'::jsonb #> path IS NULL;
SELECT is(pg_temp.found('{"properties":{"trace_id":{"properties":{"nonce":{}}}}}'), 'properties/trace_id (request id)', 'what goes as a whole is not looked into');
SELECT is(idem_strip_schema(('{"properties":{"a":' || repeat('{"items":', 200) || '{"required":["nonce"]}' || repeat('}', 200) || '}}')::jsonb),
	('{"properties":{"a":' || repeat('{"items":', 200) || '{"required":[]}' || repeat('}', 200) || '}}')::jsonb, 'C059: at any depth');
SELECT is(idem_strip_schema(NULL), NULL, 'NULL gives NULL');
SELECT is_empty($$SELECT * FROM idem_lint_schema(NULL)$$, 'or no row');

-- Lists that a user extends
INSERT INTO idem.field_pattern (place, pattern, category, finding, reason) VALUES
	('schema', '^operator_?id$', 'house rule', 'looks like our operator', 'Our gateway sets it.'),
	('schema', '^created_at$', 'allowed', '', ''),
	('key', '^batch_no$', 'house rule', 'looks like a batch', 'Batches differ between attempts.'),
	('unchecked', '^iban$', 'house rule', 'decides who is paid', 'Bind it.');
SELECT is(pg_temp.found('{"properties":{"operatorId":{},"created_at":{},"sent_at":{}}}'), 'properties/operatorId (house rule), properties/sent_at (time of sending)',
	'rows of the user''s count, and make exceptions');
SELECT is((SELECT reason FROM idem_lint_schema('{"properties":{"operatorId":{}}}')), 'Our gateway sets it.', 'with their reason');
\echo # fields of the user, and one that is excepted elsewhere
\set VERBOSITY default
SELECT is(idem_define('lint.warn', key_fields => '{"id":"exact","batchNo":"exact","created_at":"exact"}', unchecked_fields => '{to.iban}'), 'created',
	'C061: what idem_define warns of is read from the same lists');
\set VERBOSITY sqlstate
DELETE FROM idem.field_pattern;
SELECT is(pg_temp.found('{"properties":{"operatorId":{},"created_at":{}}}'), 'properties/created_at (time of sending)', 'and no longer, once they are gone');
SELECT throws_ok($$INSERT INTO idem.field_pattern VALUES ('(', 'schema', 'x', 'x', 'x')$$, '2201B', NULL, 'a pattern that is none is refused');
SELECT throws_ok($$INSERT INTO idem.field_pattern VALUES ('x', 'here', 'x', 'x', 'x')$$, '23514', NULL, 'so is a place that is none');

-- Who may
CREATE ROLE regress_idem_lint;
SET SESSION AUTHORIZATION regress_idem_lint;
SELECT is(idem_strip_schema('{"required":["nonce"]}'), '{"required":[]}', 'C081: the two functions are for everybody');
SELECT throws_ok($$SELECT FROM idem.known_field_pattern$$, '42501', NULL, 'the lists are not');
RESET SESSION AUTHORIZATION;
DROP ROLE regress_idem_lint;

SELECT FROM pg_temp.remove('lint.warn');
-- Every array of schemas is looked into once: twice would double the work with each level.
SET statement_timeout = '1min';
SELECT is((SELECT count(*) FROM idem_lint_schema((repeat('{"items":[', 30) || '{"properties":{"nonce":{}}}' || repeat(']}', 30))::jsonb)),
	1::bigint, 'thirty levels of item lists');
RESET statement_timeout;
SELECT * FROM finish();
