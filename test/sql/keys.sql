\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- Keys: the formula, recomputed in plain SQL; what an intent consists of; what is refused.

SELECT FROM idem_define('keys.refund', key_prefix => 'rfnd',
	key_fields => '{"charge_id": "exact", "amount": "minor_units(currency)", "currency": "upper", "metadata.order_ref": "trim optional"}');
SELECT FROM idem_define('keys.args', identity => 'arguments',
	unchecked_fields => '{trace, meta.sent_by}');
SELECT FROM idem_define('keys.step', identity => 'occurrence');

CREATE FUNCTION pg_temp.formula(operation text, version int, prefix text, args jsonb, tenant text)
	RETURNS text LANGUAGE sql AS $$
	SELECT prefix || '_' || left(encode(sha256(convert_to(operation || ':v' || version || ':'
		|| idem_canonical(jsonb_build_object('args', args, 'tenant', tenant)), 'UTF8')), 'hex'), 32)
$$;
CREATE FUNCTION pg_temp.formula(operation text, prefix text, occurrence text, tenant text)
	RETURNS text LANGUAGE sql AS $$
	SELECT prefix || '_' || left(encode(sha256(convert_to(operation || ':occurrence:'
		|| idem_canonical(jsonb_build_object('occurrence', occurrence, 'tenant', tenant)), 'UTF8')),
			'hex'), 32)
$$;

\set refund '{"charge_id":"ch_4471","amount":129.990,"currency":"gbp","reason":"late","metadata":{"order_ref":" o-7 ","x":1}}'
\set intent '{"charge_id":"ch_4471","amount":12999,"currency":"GBP","metadata":{"order_ref":"o-7"}}'
SELECT is(idem_key('acme', 'keys.refund', :'refund'),
	pg_temp.formula('keys.refund', 1, 'rfnd', :'intent', 'acme'),
          'fields: the key is the published formula');
SELECT is(idem_key('acme', 'keys.refund', :'refund'), 'rfnd_9260fc8ecf02298a5e87ae727caad2ab',
          'fields: which gives this key in any language');
SELECT is(idem_intent('acme', 'keys.refund', :'refund'),
	jsonb_build_object('args', :'intent'::jsonb, 'tenant', 'acme'),
          'fields: idem_intent shows what was hashed');
SELECT is(idem_key('acme', 'keys.args', '{"b":1,"a":[2.0],"trace":7,"meta":{"sent_by":"x","y":0}}'),
          pg_temp.formula('keys.args', 1, 'keys.args', '{"a":[2],"b":1,"meta":{"y":0}}', 'acme'),
          'arguments: all of them, less what is unchecked');
SELECT is(idem_intent('acme', 'keys.args', '{"b":1,"trace":7,"meta":{"sent_by":"x"}}'),
          '{"args":{"b":1,"meta":{}},"tenant":"acme"}',
	'arguments: an object that loses all its members stays');
SELECT is(idem_key('acme', 'keys.step', '{"any":1}', 'evt_1'),
	pg_temp.formula('keys.step', 'keys.step', 'evt_1', 'acme'),
          'occurrence: the key is the published formula');
SELECT is(idem_intent('acme', 'keys.step', '{"any":1}', 'evt_1'),
	'{"occurrence":"evt_1","tenant":"acme"}',
          'occurrence: idem_intent shows it');
SELECT is((idem_claim('acme', 'keys.refund', :'refund')).key,
	idem_key('acme', 'keys.refund', :'refund'),
          'a claim returns the key that idem_key computes')
	\; SELECT idem_release('acme', idem_key('acme', 'keys.refund', :'refund'));

-- Normalisers: spellings of one intent, and neighbours that are another one.
CREATE TEMP TABLE spelling (n serial, name text, key_fields jsonb, a jsonb, b jsonb, same boolean);
INSERT INTO spelling (name, key_fields, a, b, same) VALUES
	('exact: numbers by value', '{"f":"exact"}', '{"f":1.50}', '{"f":15e-1}', true),
	('exact: strings by letter', '{"f":"exact"}', '{"f":"A"}', '{"f":"a"}', false),
	('exact: white space counts', '{"f":"exact"}', '{"f":"a"}', '{"f":"a "}', false),
	('exact: false is a value', '{"f":"exact"}', '{"f":false}', '{"f":true}', false),
	('exact: containers', '{"f":"exact"}', '{"f":{"a":1,"b":[1.0]}}', '{"f":{"b":[1],"a":1.0}}',
		true),
	('upper', '{"f":"upper"}', '{"f":"gBp"}', '{"f":"GBP"}', true),
	('upper: ASCII letters only', '{"f":"upper"}', '{"f":"é"}', '{"f":"É"}', false),
	('lower', '{"f":"lower"}', '{"f":"A@B.Example"}', '{"f":"a@b.example"}', true),
	('trim: Unicode white space at both ends', '{"f":"trim"}', '{"f":"\u00a0 x y\t\u3000"}',
		'{"f":"x y"}', true),
	('trim: not inside', '{"f":"trim"}', '{"f":"x  y"}', '{"f":"x y"}', false),
	('number: a decimal string is its number', '{"f":"number"}', '{"f":"0129.990"}', '{"f":129.99}',
		true),
	('number: exponents too', '{"f":"number"}', '{"f":"1.2e3"}', '{"f":1200}', true),
	('number: no rounding', '{"f":"number"}', '{"f":"0.10000000000000001"}', '{"f":0.1}', false),
	('minor_units: JPY has none', '{"f":"minor_units(c)"}', '{"f":500,"c":"JPY"}',
		'{"f":"500.00","c":"jpy"}', true),
	('minor_units: KWD has three', '{"f":"minor_units(c)"}', '{"f":"1.250","c":"KWD"}',
		'{"f":1.25,"c":"KWD"}', true),
	('minor_units: EUR has two', '{"f":"minor_units(c)"}', '{"f":129.99,"c":"EUR"}',
		'{"f":"129.990","c":"EUR"}', true),
	('minor_units: an amount more is another', '{"f":"minor_units(c)"}', '{"f":129.99,"c":"EUR"}',
		'{"f":129.98,"c":"EUR"}', false),
	('minor_units: negative', '{"f":"minor_units(c)"}', '{"f":-5,"c":"EUR"}', '{"f":5,"c":"EUR"}',
		false),
	('minor_units: of digits', '{"f":"minor_units(4)"}', '{"f":"0.0001"}', '{"f":1e-4}', true),
	('optional: absent is a value of its own', '{"f":"exact optional","g":"exact"}', '{"g":1}',
		'{"f":null,"g":1}', false),
	('optional: null is no blank', '{"f":"exact optional","g":"exact"}', '{"f":"","g":1}',
		'{"f":null,"g":1}', false),
	('optional alone is exact', '{"f":"optional","g":"exact"}', '{"f":1.0,"g":1}', '{"f":1,"g":1}',
		true),
	('nested paths', '{"m.a.b":"exact","m.c":"upper"}', '{"m":{"a":{"b":1,"x":2},"c":"q"},"z":3}',
		'{"m":{"c":"Q","a":{"b":1.0}}}', true),
	('nested: what surrounds a path is not in the key', '{"m.a":"exact"}', '{"m":{"a":1,"b":2}}',
		'{"m":{"a":1,"b":3}}', true),
	('quoted paths', '{"\"a.b\".c":"exact"}', '{"a.b":{"c":1}}',
		'{"a.b":{"c":1},"a":{"b":{"c":2}}}', true),
	('quoted paths are not dotted ones', '{"\"a.b\"":"optional","a.b":"optional"}', '{"a.b":1}',
		'{"a":{"b":1}}', false);
CREATE FUNCTION pg_temp.same_key(n int, key_fields jsonb, a jsonb, b jsonb) RETURNS boolean
	LANGUAGE plpgsql AS $$
DECLARE
	operation text := 'keys.spelling.' || n;
BEGIN
	PERFORM idem_define(operation, key_fields => key_fields);
	RETURN idem_key('t', operation, a) = idem_key('t', operation, b);
END $$;
SELECT is(pg_temp.same_key(n, key_fields, a, b), same, name) FROM spelling ORDER BY n;
SELECT is(count(idem_drop_operation(o.operation)), count(*), 'operations without keys can go')
	FROM idem.operation o WHERE o.operation LIKE 'keys.spelling.%';

-- C061, C062: what changes by itself in each sending.
SELECT FROM idem_define('keys.pay', identity => 'arguments');
SELECT FROM idem_define('keys.pay.ignoring', identity => 'arguments',
	unchecked_fields => '{sdk.createdAt}');
\set at1 '{"paymentId":"P-3","amount":700,"sdk":{"createdAt":"2031-01-01T00:00:01Z"}}'
\set at9 '{"paymentId":"P-3","amount":700,"sdk":{"createdAt":"2031-01-01T00:00:09Z"}}'
SELECT isnt(idem_key('t', 'keys.pay', :'at1'), idem_key('t', 'keys.pay', :'at9'),
	'C061: a time stamp in the payload makes two keys');
SELECT is(idem_key('t', 'keys.pay.ignoring', :'at1'), idem_key('t', 'keys.pay.ignoring', :'at9'),
	'C061: unless it is unchecked');
SELECT FROM idem_record('t', 'keys.pay.ignoring', :'at1', 'p_1');
SELECT is((idem_claim('t', 'keys.pay.ignoring', :'at9')).outcome, 'replayed',
	'C061: and then the retry is a replay');
SELECT FROM idem_record('t', 'keys.step', :'at1', 'p_1', occurrence => 'pay-1');
SELECT is((idem_claim('t', 'keys.step', :'at9', 'pay-1')).outcome, 'conflict',
	'C061: under one step it is a conflict');
SELECT FROM idem_record('t', 'keys.step', '{"jsonrpc":"2.0","id":4,"params":{"cart":"c1"}}',
	occurrence => 'rpc-1');
SELECT is((idem_claim('t', 'keys.step', '{"jsonrpc":"2.0","id":5,"params":{"cart":"c1"}}',
	'rpc-1')).outcome, 'conflict',
          'C062: an envelope''s id changes with each sending');
SELECT FROM idem_record('t', 'keys.step', '{"cart":"c1"}', occurrence => 'rpc-2');
SELECT is((idem_claim('t', 'keys.step', '{"cart":"c1"}', 'rpc-2')).outcome, 'replayed',
	'C062: its params do not');

-- C068, C069: no two sets of parts have one key.
SELECT FROM idem_define('keys.c', identity => 'occurrence');
SELECT FROM idem_define('keys.bc', identity => 'occurrence');
SELECT isnt(idem_key('ab', 'keys.c', '{}', 's'),
	replace(idem_key('a', 'keys.bc', '{}', 's'), 'keys.bc_', 'keys.c_'),
            'C068: a letter that moves from the tenant to the operation');
SELECT isnt(idem_key('t', 'keys.args', '{"p":"q","rs":"t"}'),
	idem_key('t', 'keys.args', '{"pq":"r","s":"t"}'),
            'C068: a letter that moves from a value to a name');
SELECT is(count(DISTINCT idem_key('a' || s, 'keys.step', '{}', 'b')) + count(DISTINCT idem_key('a',
	'keys.step', '{}', s || 'b')),
          2 * count(*), 'C069: a separator at the end of the tenant, or at the start of the occurrence')
	FROM unnest(ARRAY['|', ':', '/', E'\x1f', E'\n', '"', '\', '","tenant":"', ':v1:',
		':occurrence:']) s;
SELECT ok(bool_and(idem_key('a' || s, 'keys.step', '{}', 'b') <> idem_key('a', 'keys.step', '{}',
	s || 'b')),
          'C069: and the two are not the same')
	FROM unnest(ARRAY['|', ':', '/', E'\x1f', E'\n', '"', '\', '","tenant":"', ':v1:',
		':occurrence:']) s;
SELECT throws_ok(format('SELECT idem_define(%L, identity => ''arguments'')', 'a' || s || 'b'),
	'ID002', NULL,
                 'C069: an operation''s name holds no separator: ' || to_json(s))
	FROM unnest(ARRAY['|', ':', '/', E'\x1f', E'\n', ' ', '"', 'é', '']) WITH ORDINALITY u (s, n)
		WHERE s <> '' ORDER BY n;

SELECT FROM pg_temp.remove('keys.refund', 'keys.args', 'keys.step', 'keys.pay', 'keys.pay.ignoring',
	'keys.c', 'keys.bc');
SELECT * FROM finish();
