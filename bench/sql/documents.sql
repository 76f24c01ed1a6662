-- Documents of mixed shape, the same in every run: no clock, no random number.
-- Variable: documents, how many.

-- Hex digits and whole numbers that look random and follow from n.
CREATE FUNCTION bench.hex(n integer, salt text, digits integer) RETURNS text
	LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT left(md5(salt || n), digits) $$;
CREATE FUNCTION bench.below(n integer, salt text, top integer) RETURNS integer
	LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT (hashtextextended(salt || n, 0) & 2147483647)::integer % top
$$;
CREATE FUNCTION bench.cents(n integer, salt text) RETURNS numeric
	LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
	SELECT round(bench.below(n, salt, 100000) / 100.0, 2)
$$;

CREATE FUNCTION bench.webhook(n integer) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
	SELECT jsonb_build_object('id', 'evt_' || bench.hex(n, 'evt', 24), 'object', 'event',
		'api_version', '2024-06-20', 'created', 1764489600 + n, 'type', 'charge.refunded',
		'livemode', n % 2 = 0, 'pending_webhooks', bench.below(n, 'hooks', 4),
		'request', jsonb_build_object('id', NULL, 'idempotency_key', md5(n::text)::uuid),
		'data', jsonb_build_object('object', jsonb_build_object(
			'id', 'ch_' || bench.hex(n, 'ch', 24), 'object', 'charge',
			'amount', bench.below(n, 'amount', 500000), 'amount_refunded', 0, 'currency', 'gbp',
			'customer', 'cus_' || bench.hex(n, 'cus', 14), 'captured', true, 'refunded', false,
			'metadata', jsonb_build_object('order', n, 'channel', 'web'), 'description', NULL)))
$$;

CREATE FUNCTION bench.payment(n integer) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
	SELECT jsonb_build_object('charge_id', 'ch_' || bench.hex(n, 'ch', 12),
		'amount', bench.cents(n, 'amount'), 'currency', 'GBP',
		'reason', 'requested by customer',
		'customer', jsonb_build_object('id', 'cus_' || bench.below(n, 'cus', 99999),
			'name', 'Zoë Ådahl', 'email', 'user' || n || '@example.org',
			'address', jsonb_build_object('line1', bench.below(n, 'line', 200) || ' Long Lane',
				'city', 'York', 'postcode', 'YO1 7HH', 'country', 'GB')),
		'fees', '{"fixed": 0.30, "rate": 0.029, "total": 4.07}'::jsonb)
$$;

CREATE FUNCTION bench.tool_call(n integer) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
	SELECT jsonb_build_object('id', 'call_' || bench.hex(n, 'call', 24), 'type', 'function',
		'name', (ARRAY['send_email', 'create_ticket', 'search_orders'])[1 + n % 3],
		'arguments', jsonb_build_object('to', 'user' || n || '@example.org',
			'subject', 'Your order ' || n, 'priority', bench.below(n, 'priority', 5),
			'body', E'Hello,\n\nyour order "' || n || E'" has been sent.\n\nRegards\n',
			'dry_run', false, 'attachments', '[]'::jsonb, 'reply_to', NULL))
$$;

CREATE FUNCTION bench.nested(n integer) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
	SELECT jsonb_build_object('root', jsonb_build_object('id', n, 'child', jsonb_build_object(
		'id', n + 1, 'kind', 'folder', 'child', jsonb_build_object('id', n + 2, 'kind', 'folder',
		'flags', jsonb_build_object('read', true, 'write', false), 'child', jsonb_build_object(
		'id', n + 3, 'kind', 'file', 'size', bench.below(n, 'size', 1000000), 'child',
		jsonb_build_object('id', n + 4, 'kind', 'leaf', 'hash', bench.hex(n, 'hash', 32)))))))
$$;

CREATE FUNCTION bench.lines(n integer) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
	SELECT jsonb_build_object('order', n, 'tags', '["new", "gift", "priority", "eu"]'::jsonb,
		'lines', (SELECT jsonb_agg(jsonb_build_object('sku', bench.hex(n + i, 'sku', 8),
			'quantity', i, 'price', bench.cents(n + i, 'price'))
			ORDER BY i) FROM generate_series(1, 4 + n % 9) i))
$$;

CREATE FUNCTION bench.languages(n integer) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
	SELECT jsonb_build_object('id', n, 'größe', bench.below(n, 'size', 60), '名前', '山田太郎',
		'город', 'Санкт-Петербург', 'émoji', '😀👍🏽', 'text',
		repeat('Ein Straßenfest – «праздник» – お祭り 🎉. ', 1 + n % 5), '✓', true)
$$;

CREATE FUNCTION bench.long_text(n integer) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
	SELECT jsonb_build_object('id', n, 'title', 'Minutes ' || n, 'body', (
		SELECT string_agg(bench.hex(n + i, 'w', 6) || ' said: "' || bench.hex(n + i, 'v', 32)
			|| ' ' || bench.hex(n + i, 'u', 24) || '".', E'\n' ORDER BY i)
		FROM generate_series(1, 8 + n % 24) i))
$$;

CREATE FUNCTION bench.numbers(n integer) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
	SELECT jsonb_build_object('model', 'text-3', 'count', 48, 'vector', (
		SELECT jsonb_agg(CASE i % 4
			WHEN 0 THEN round(bench.below(n + i, 'a', 2000000) / 1000000.0 - 1, 6)
			WHEN 1 THEN bench.below(n + i, 'b', 1000)
			WHEN 2 THEN bench.cents(n + i, 'c')
			ELSE (n::bigint * 100003 + i) * 1000 END ORDER BY i)
		FROM generate_series(1, 48) i))
$$;

CREATE FUNCTION bench.tiny(n integer) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
	SELECT (ARRAY[jsonb_build_object('id', n), to_jsonb('ord_' || n), to_jsonb(n), '[]', 'true',
		jsonb_build_object('a', n, 'b', NULL)])[1 + bench.below(n, 'tiny', 6)]
$$;

CREATE TABLE bench.mixed (n integer NOT NULL, j jsonb NOT NULL);
INSERT INTO bench.mixed
	SELECT n, CASE n % 9
		WHEN 0 THEN bench.webhook(n)
		WHEN 1 THEN bench.payment(n)
		WHEN 2 THEN bench.tool_call(n)
		WHEN 3 THEN bench.nested(n)
		WHEN 4 THEN bench.lines(n)
		WHEN 5 THEN bench.languages(n)
		WHEN 6 THEN bench.long_text(n)
		WHEN 7 THEN bench.numbers(n)
		ELSE bench.tiny(n) END
	FROM generate_series(1, :documents) n;
