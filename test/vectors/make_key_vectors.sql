-- Makes docs/key-vectors.jsonl, in an empty database with the extension:
--
--   psql -XqAt -f test/vectors/make_key_vectors.sql DATABASE > docs/key-vectors.jsonl
--
-- One request a line, with all that is computed from it: the documents and the preimage for whoever
-- looks for a fault, the key and the fingerprint for whoever checks a program of his own. Arguments
-- are written as they are here, since how a number is spelt is part of the test. They hold no number
-- that a double changes, so that every JSON library can read them.

\set ON_ERROR_STOP on

CREATE TEMP TABLE request (
	n          integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	name       text NOT NULL,
	operation  text NOT NULL,
	version    integer NOT NULL DEFAULT 1,
	tenant     text NOT NULL DEFAULT 'acme',
	occurrence text,
	arguments  text NOT NULL
);

SELECT FROM idem_define('create_refund', key_prefix => 'rfnd',
	key_fields => '{"charge_id": "exact", "amount": "minor_units(currency)", "currency": "upper"}', unchecked_fields => '{reason}');
INSERT INTO request (name, operation, arguments) VALUES
	('the worked example', 'create_refund', '{"charge_id":"ch_4471","amount":129.990,"currency":"gbp","reason":"late"}'),
	('the same intent, spelt otherwise', 'create_refund', '{"reason":"came late","currency":"GBP","amount":"129.99","charge_id":"\u0063h_4471"}'),
	('no decimals', 'create_refund', '{"charge_id":"ch_1","amount":5e3,"currency":"jpy"}'),
	('three decimals', 'create_refund', '{"charge_id":"ch_1","amount":12.345,"currency":"KWD"}'),
	('zero', 'create_refund', '{"charge_id":"ch_1","amount":-0.0,"currency":"EUR"}'),
	('something is bound', 'create_refund', '{"charge_id":"ch_2","amount":1,"currency":"EUR","dry_run":false,"metadata":{"order_ref":"o-7","lines":[1,2.50]}}');

SELECT FROM idem_define('issue_credit', version => 12, key_fields => '{"charge_id": "exact", "ticket": "trim"}');
INSERT INTO request (name, operation, version, arguments) VALUES
	('version 12, and no prefix but the name', 'issue_credit', 12, '{"charge_id":"ch_4471","ticket":" T-1001\t","amount":129.99}');

SELECT FROM idem_define('payout', key_fields => '{"to.iban": "upper", "to.name": "lower", "cents": "minor_units(2)", "run": "optional", "\"part.no\"": "number optional"}');
INSERT INTO request (name, operation, tenant, arguments) VALUES
	('nested fields, and optional ones that are absent', 'payout', 'acme', '{"to":{"iban":"de02 1203","name":"ZO\u00cb","note":"x"},"cents":"1250.5"}'),
	('an optional field that is null', 'payout', 'acme', '{"to":{"iban":"DE02 1203","name":"zo\u00cb"},"cents":1250.50,"run":null}'),
	('all fields', 'payout', 'acme', '{"to":{"iban":"DE02","name":"a"},"cents":1e0,"run":[1,{"b":1.0,"a":10e-1}],"part.no":"+1.2999e2"}'),
	('an object that lost all its members stays, when something else is bound', 'payout', 'acme', '{"to":{"iban":"DE02","name":"b"},"cents":1,"x":{}}'),
	('another tenant', 'payout', U&'Zo\00EB GmbH & "Co"', '{"to":{"iban":"DE02","name":"a"},"cents":1}'),
	('an id longer than a double, as a string', 'payout', 'acme', '{"to":{"iban":"9007199254740993","name":"a"},"cents":1}');

SELECT FROM idem_define('notify', identity => 'arguments', key_prefix => 'ntf', unchecked_fields => '{trace, meta.sent_at}');
INSERT INTO request (name, operation, arguments) VALUES
	('no arguments', 'notify', '{}'),
	('unchecked fields only', 'notify', '{"trace":"t-1"}'),
	('an unchecked field inside', 'notify', '{"to":"a@example.org","meta":{"sent_at":"2026-11-30T08:00:00Z","list":[]},"trace":7}'),
	('null, absent and empty differ: null', 'notify', '{"tags":null}'),
	('null, absent and empty differ: an array', 'notify', '{"tags":[]}'),
	('null, absent and empty differ: an object', 'notify', '{"tags":{}}'),
	('layout of numbers', 'notify', '{"n":[0.000001,0.0000001,123456789012345680000,1e21,1.5e300,5e-324,-0.0,100e-2,4.50,1E+2,9007199254740992]}'),
	('escapes', 'notify', '{"s":"\u0001b\"\\\/\b\f\n\r\t\u001f\u007f\u2028"}'),
	('names sort as UTF-16 does', 'notify', '{"\uff61":1,"\ud83d\ude00":2,"b":3,"B":4,"":5,"\u00e9":6,"10":7,"9":8}'),
	('composed and decomposed differ: composed', 'notify', '{"name":"Zo\u00eb"}'),
	('composed and decomposed differ: decomposed', 'notify', '{"name":"Zoe\u0308"}'),
	('a number and a string differ: a number', 'notify', '{"id":7}'),
	('a number and a string differ: a string', 'notify', '{"id":"7"}');

SELECT FROM idem_define('webhook.delivery', identity => 'occurrence', key_prefix => 'wh', unchecked_fields => '{attempt}');
INSERT INTO request (name, operation, occurrence, arguments) VALUES
	('an occurrence', 'webhook.delivery', 'evt_77', '{"type":"paid","amount":10.0,"attempt":2}'),
	('an occurrence as it comes: nothing is trimmed', 'webhook.delivery', ' evt_77', '{"attempt":1}'),
	('an occurrence with no arguments', 'webhook.delivery', 'step "3" of \ run', '{}');

-- The ledger has the fingerprints once they are recorded.
SELECT FROM request r CROSS JOIN LATERAL idem_record(r.tenant, r.operation, r.arguments::jsonb, occurrence => r.occurrence);

-- The segments of a path.
CREATE FUNCTION pg_temp.segments(path text) RETURNS text[] LANGUAGE sql AS $$
	SELECT array_agg(coalesce(replace(m[1], '""', '"'), m[2]) ORDER BY n)
		FROM regexp_matches(path, '"((?:[^"]|"")*)"|([^.]+)', 'g') WITH ORDINALITY r (m, n)
$$;

-- What is bound: the arguments less the key fields and the unchecked fields.
CREATE FUNCTION pg_temp.bound(request, idem_operations) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	rest jsonb := $1.arguments::jsonb;
	path text;
BEGIN
	FOR path IN SELECT jsonb_object_keys($2.key_fields) UNION ALL SELECT unnest($2.unchecked_fields) LOOP
		rest := rest #- pg_temp.segments(path);
	END LOOP;
	RETURN CASE WHEN $2.identity <> 'arguments' THEN nullif(rest, '{}') END;
END $$;

SELECT format('{"name":%s,"operation":%s,"tenant":%s,"occurrence":%s,"arguments":%s,"intent":%s,"preimage":%s,"key":%s,"bound":%s,"fingerprint":%s}',
		to_json(r.name),
		idem_canonical(jsonb_strip_nulls(jsonb_build_object('operation', o.operation, 'version', o.version, 'identity', o.identity,
			'key_fields', o.key_fields, 'unchecked_fields', o.unchecked_fields, 'key_prefix', o.key_prefix))),
		to_json(r.tenant), coalesce(to_json(r.occurrence)::text, 'null'), r.arguments, intent,
		to_json(o.operation || CASE o.identity WHEN 'occurrence' THEN ':occurrence:' ELSE ':v' || o.version || ':' END || intent),
		to_json(computed.key), coalesce(idem_canonical(pg_temp.bound(r, o)), 'null'),
		coalesce(to_json(replace(k.fingerprint::text, '-', ''))::text, 'null'))
	FROM request r JOIN idem_operations o USING (operation)
		CROSS JOIN LATERAL (SELECT idem_canonical(idem_intent(r.tenant, r.operation, r.arguments::jsonb, r.occurrence)) AS intent,
		                           idem_key(r.tenant, r.operation, r.arguments::jsonb, r.occurrence) AS key) computed
		JOIN idem.key k ON k.key = right(computed.key, 32)::uuid
	ORDER BY r.n;
