select idem_canonical('{"b": [1e1, 10.0, -0, 1e-7, 123456789012345678901234567890.5], "a\u00e9\ud83d\ude00": {"\"\\\n": null, "t": true}, "": ""}')
select encode(idem_digest('{"n": 9007199254740993, "s": "x"}'), 'hex')
select length(idem_canonical(jsonb_build_object('long', repeat('\"é', 5000), 'list', (select jsonb_agg(i * 1.5) from generate_series(1, 3000) i))))
select idem_canonical('{"a": [1.10, 333333333.33333329, {"b c": 5e-324}], "long": "x"}', 'rfc8785'), idem_canonical('{"a": [1.10, {"b": 9007199254740992}]}', 'strict')
select idem_canonical(jsonb_build_object('n', ('0.' || repeat('1', 1500))::numeric, 'z', 1e-400, 'm', -12345678901234567890), 'rfc8785')
-- error
select idem_canonical('{"a": [1, {"b \"c\"": [[1e-400]]}]}', 'strict')
select idem_mint() < idem_mint(), length(idem_mint())
select idem_define('refund', key_fields => '{"charge_id": "exact", "amount": "minor_units(currency)", "currency": "upper", "meta.ref": "trim optional"}', unchecked_fields => '{trace}', key_prefix => 'rfnd')
select idem_define('note', identity => 'arguments')
select idem_define('webhook', identity => 'occurrence', max_response_bytes => 20)
select idem_define('call', key_fields => '{"id": "exact"}', effect => 'external', lease => '1 minute')
select idem_key('acme', 'refund', '{"charge_id": "ch_1", "amount": "129.990", "currency": "gbp", "meta": {"ref": " x "}}'), idem_intent('acme', 'refund', '{"charge_id": "ch_1", "amount": 129.99, "currency": "GBP"}')
select idem_check('acme', 'refund', '{"charge_id": " "}'), idem_check('acme', 'refund', '{"charge_id": "a", "amount": 1.999, "currency": "jpy"}'), idem_check('', 'refund', '{}')
create table effect (id text)
create function file(a jsonb) returns jsonb language sql as 'insert into effect values (a->>''charge_id'') returning jsonb_build_object(''filed'', a)'
create function refuse(a jsonb) returns jsonb language plpgsql as 'begin insert into effect values (a::text); raise exception ''refused''; end'
begin
select (c).outcome, (c).action, (c).key from (select idem_claim('acme', 'refund', '{"charge_id": "ch_1", "amount": 129.99, "currency": "gbp", "reason": "late"}') c) s
select * from idem_claim('acme', 'refund', '{"charge_id": "ch_1", "amount": 129.99, "currency": "gbp", "reason": "late"}')
select idem_complete('acme', idem_key('acme', 'refund', '{"charge_id": "ch_1", "amount": 129.99, "currency": "gbp"}'), 'rf_1', '{"refund_id": "rf_1"}')
commit
select * from idem_claim('acme', 'refund', '{"amount": "129.990", "currency": "GBP", "charge_id": "ch_1", "reason": "late", "trace": 7}')
select * from idem_claim('acme', 'refund', '{"amount": "129.990", "currency": "GBP", "charge_id": "ch_1", "reason": "too late"}')
select * from idem_lookup('acme', 'refund', '{"amount": "129.990", "currency": "GBP", "charge_id": "ch_1", "reason": "late"}')
select * from idem_once('acme', 'refund', '{"amount": 5, "currency": "JPY", "charge_id": "ch_2"}', 'file(jsonb)')
select * from idem_once('acme', 'refund', '{"amount": 5, "currency": "JPY", "charge_id": "ch_2"}', 'file(jsonb)')
select * from idem_once('acme', 'refund', '{"amount": 6, "currency": "JPY", "charge_id": "ch_2"}', 'refuse(jsonb)', on_error => 'fail')
-- error
select * from idem_once('acme', 'refund', '{"amount": 7, "currency": "JPY", "charge_id": "ch_2"}', 'refuse(jsonb)')
select * from idem_record('acme', 'webhook', '{"a": [1, 2, {"b": 3}]}', 'ev_1', '{"text": "more than twenty bytes of it"}', occurrence => 'evt_1')
select * from idem_record('acme', 'webhook', '{"a": [1, 2, {"b": 3.0}]}', 'ev_1', '{}', occurrence => 'evt_1')
select * from idem_record('acme', 'webhook', '{"a": [1, 2, {"b": 4}]}', 'ev_1', '{}', occurrence => 'evt_1')
select count(*), sum(length((idem_record('t' || i % 7, 'note', jsonb_build_object('n', i, 's', repeat('x', i)), 'e' || i)).outcome)) from generate_series(1, 300) i
begin
savepoint s
select (idem_claim('acme', 'note', '[1]')).outcome
rollback to s
select (idem_claim('acme', 'note', '[1]')).outcome
select idem_fail('acme', idem_key('acme', 'note', '[1]'), '{"code": 7}')
savepoint s
select (idem_claim('acme', 'note', '[2]')).outcome
select idem_release('acme', idem_key('acme', 'note', '[2]'))
release s
commit
select * from idem_claim('acme', 'note', '[1]')
begin
select (idem_claim('acme', 'note', '"scalar"')).outcome
-- error
commit
select * from idem_claim('acme', 'call', '{"id": 1}')
select * from idem_claim('acme', 'call', '{"id": 1}')
select idem_complete('acme', key, 'p_1', '{"ok": true}', fence) from (select idem_keys.key, k.fence from idem_keys join idem.key k on k.key = right(idem_keys.key, 32)::uuid where operation = 'call') s
select * from idem_claim('acme', 'call', '{"id": 1, "extra": 2}')
select (idem_claim('acme', 'call', '{"id": 2}')).outcome
select idem_unknown('acme', idem_keys.key, k.fence) from idem_keys join idem.key k on k.key = right(idem_keys.key, 32)::uuid where operation = 'call' and idem_keys.state = 'open'
select * from idem_claim('acme', 'call', '{"id": 2}')
select idem_resolve('acme', key, 'completed', 'p_2', '{"ok": true}', 'seen at the provider') from idem_keys where state = 'unknown'
select (idem_lookup('acme', key)).outcome from idem_keys where operation = 'call'
-- error
select idem_complete('acme', 'rfnd_00000000000000000000000000000000', 'x')
-- error
select idem_complete('acme', 'no key at all', 'x')
-- error
select * from idem_claim('acme', 'nothing', '{}')
-- error
select * from idem_claim(null, 'refund', '{}')
-- error
select * from idem_claim('acme', 'refund', '{"charge_id": null, "amount": 1, "currency": "EUR"}')
-- error
select * from idem_claim('acme', 'webhook', '{}')
-- error
select idem_define('broken', key_fields => '{"a..b": "exact"}')
-- error
select idem_define('broken', key_fields => '{"a": "shout"}')
select idem_define('note', identity => 'arguments', retention => '1 millisecond')
update idem.key set completed_at = completed_at - interval '60 days'
select idem_expire(100), idem_expire(1000)
select count(*) from idem_keys
