\set ECHO none
\getenv abs_srcdir PG_ABS_SRCDIR
\set setup :abs_srcdir '/sql/include/setup.psql'
\i :setup

-- C139: fixed inputs and the keys that a separate program derived from the published formula (Python,
-- with hashlib, json and decimal). A key that changes here would make every repeat a new intent.

SELECT FROM idem_define('recorded.args', identity => 'arguments');
SELECT FROM idem_define('recorded.step', identity => 'occurrence');

CREATE TEMP TABLE recorded (n serial, key text, tenant text, arguments jsonb);
INSERT INTO recorded (key, tenant, arguments) VALUES
	('0d0eef0c74ca7a81cd88ff07a3e7e96e', 't1', '{}'),
	('a6b5cfbd3b5b1eeb1cd2cb04f0c9220e', 'acme', '[]'),
	('243e28a6be62a54e8d26e3b6a9ecc72f', 'Ünïcode 租户', 'null'),
	('deb80e331dd1e8e3001180b5de4824eb', 't1', 'true'),
	('7f98e22ea085cb5b6e5b969ab47d76d4', 'acme', 'false'),
	('f1758f1501b5be453ba648cabcdeba8b', 'Ünïcode 租户', '0'),
	('e7c8eb9b29dab9824175cf4edbf5e08f', 't1', '-0.0'),
	('7239b87d94f44a3e42839fa5f39809e5', 'acme', '1'),
	('09712bf0639b9bd01be12c6b124c8cc3', 'Ünïcode 租户', '1.0'),
	('cb3a7487c60b92a0bebfe776c247c784', 't1', '"1"'),
	('3eb7d71cb0a5243360422b20f08e3633', 'acme', '""'),
	('ea11b6dfce86971ad1d820753994341e', 'Ünïcode 租户', '"a"'),
	('69801f1cdbdb98c0d10d1f936628057d', 't1', '{"a":1}'),
	('785308556f74977d8d070445c605a85d', 'acme', '{"a":1.50}'),
	('619ee0d9b8f77b020c8dc3ce316e8846', 'Ünïcode 租户', '{"b":2,"a":1}'),
	('2ae32fd106779ec734f6aed08ce2f4fd', 't1', '{"aaa":1,"b":2}'),
	('c7a16ea3193eab92001367ed11e6d09d', 'acme', '{"a":{"c":null,"b":[1,2,{"z":0,"y":[]}]}}'),
	('264788fb2823e4740375f511bd654ecd', 'Ünïcode 租户', '{"a":[]}'),
	('de92daa72219dcabbb1e578ea5ade59a', 't1', '{"a":{}}'),
	('e298850678b73d88c8398663b97556f7', 'acme', '{"a":null}'),
	('6b91440b5e82862d9e5eb81876c84257', 'Ünïcode 租户', '[[1],2]'),
	('38e89586e9ad56eba858ce15245f0654', 't1', '[[1,2]]'),
	('06f39a66f02ea56aea263352fbfd993e', 'acme', '9007199254740993'),
	('10a2560eb40761ea5449b111e5dd4b04', 'Ünïcode 租户', '9007199254740992'),
	('676c1ee906eb4f852a2a5a95de128eaa', 't1', '1e21'),
	('8546f6fb9ad92a550801d8062ef82fdd', 'acme', '1e20'),
	('86f57dec3a5cd18c62c8e1de0f31e97e', 'Ünïcode 租户', '123456789012345678901'),
	('f93618dd20a22096f9e4da381949db7e', 't1', '0.000001'),
	('408990b5aeb7b946d0ecaa245e5897a9', 'acme', '1e-7'),
	('44a83bafbb4b39f157e33252ff772fb0', 'Ünïcode 租户', '5e-324'),
	('790d3ce94de593e275c873254ab29530', 't1', '1e400'),
	('3aab8873f34ae47db60f0012a73482e4', 'acme', '-1.5e-300'),
	('c4e4150a314ae92ac7ab0403b8b0eb08', 'Ünïcode 租户', '3.141592653589793238462643383279'),
	('d136ab65f32b1892bfa281a49fea160a', 't1',
		'{"\u20ac":1,"\r":2,"1":3,"\ud83d\ude00":4,"\u0080":5,"\ufb33":6,"\u00f6":7}'),
	('9f81caa9275f8b4b7422baca9a66bc63', 'acme', '"\u00e9"'),
	('fee401f81d54e9e1934956d170d47fd2', 'Ünïcode 租户', '"e\u0301"'),
	('07daa156239de8ccf04653f1353028e8', 't1', '"\ud83d\ude00\uff61"'),
	('dc4eb949b13e991a54d5598404737c2e', 'acme', '"\b\t\n\f\r\"\\\/\u0001\u007f"'),
	('6640968176249e8771ea5d4eb6d92f34', 'Ünïcode 租户',
		'{"amount":129.990,"charge_id":"ch_4471","currency":"gbp","reason":"late"}'),
	('2244f98fc87084458ff6fb617d2e0cf9', 't1', '{"q":"SELECT 1; -- ''quoted''"}');
SELECT is(idem_key(tenant, 'recorded.args', arguments), 'recorded.args_' || key,
	'C139: ' || n || ': ' || left(arguments::text, 60))
	FROM recorded ORDER BY n;

CREATE TEMP TABLE recorded_step (n serial, key text, tenant text, occurrence text);
INSERT INTO recorded_step (key, tenant, occurrence) VALUES
	('dfa6e1a02e52b22330008d17776e573c', 't1', 'evt_77'),
	('3d1616d0ef53bec62c57d540e812310d', 't1', ' padded '),
	('03c0d62ef996c6cedf2e7a263c7fb567', 'acme', 'c|d'),
	('f7c821fc6d0aeb17dc2418871d287553', 'acme', 'b|c|d'),
	('f71eaf5288d221a549342e59cf0a2e84', 'acme', 'é😀'),
	('798c12cfbd2fc44bd1b2ba4d430093ed', 'a:b', 'c'),
	('7f04a0c53d41dae24b331c78484ac65d', 'a', 'b:c'),
	('06c77ca7776d672a1f51546b6b721cae', 'ab', 'c"d\e'),
	('578450b1236b8983e25fdabbfdec5715', 'ab', repeat('x', 300)),
	('80d30d30203cedb72b4f5d57b6a0773a', 'Ünïcode 租户', '1');
SELECT is(idem_key(tenant, 'recorded.step', '{"any": "thing"}', occurrence),
	'recorded.step_' || key,
          'C139: occurrence ' || left(occurrence, 60))
	FROM recorded_step ORDER BY n;
SELECT is(idem_key(tenant, 'recorded.step', '[]', occurrence), 'recorded.step_' || key,
          'C139: whatever the arguments, occurrence ' || left(occurrence, 60))
	FROM recorded_step ORDER BY n;

-- The settings of a session do not reach into a key.
SET extra_float_digits = -15;
SET datestyle = 'German';
SET timezone = 'Asia/Kolkata';
SET bytea_output = 'escape';
SET lc_numeric = 'C.UTF-8';
SET standard_conforming_strings = off;
SELECT is(count(*), 40::bigint, 'C139: nor do a session''s settings change one')
	FROM recorded WHERE idem_key(tenant, 'recorded.args', arguments) = 'recorded.args_' || key;
RESET ALL;

SELECT FROM pg_temp.remove('recorded.args');
SELECT FROM pg_temp.remove('recorded.step');
SELECT * FROM finish();
