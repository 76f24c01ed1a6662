-- What bench/run --keys measures, and on what. To be loaded after processor.sql, documents.sql and
-- by_hand.sql, with the lines of the vectors in bench.line.
-- Variables: slices, into which tables are cut, and copies of the vectors; sample, documents of
-- mixed shape for what is slow; requests.

-- The vectors are few, so each is there many times: about once in each slice.
CREATE TABLE bench.vectors (n integer NOT NULL, j jsonb NOT NULL);
INSERT INTO bench.vectors
	SELECT n, document::jsonb FROM generate_series(1, :slices) copy, bench.line ORDER BY copy, n;

CREATE TABLE bench.vectors_sample (LIKE bench.vectors);
INSERT INTO bench.vectors_sample SELECT n, document::jsonb FROM bench.line ORDER BY n;
CREATE TABLE bench.mixed_sample (LIKE bench.mixed);
INSERT INTO bench.mixed_sample SELECT * FROM bench.mixed ORDER BY md5(n::text) LIMIT :sample;

-- Requests with four key fields and one that the key does not cover. So idem_key makes two digests
-- of each, the key's and a fingerprint of the rest. Under the other policy all arguments make the key.
SELECT idem_define('refund', key_prefix => 'rfnd', key_fields => '{"charge_id": "exact",
	"amount": "minor_units(currency)", "currency": "upper", "customer.id": "exact"}');
SELECT idem_define('payment', identity => 'arguments', key_prefix => 'paym');
CREATE TABLE bench.request (j jsonb NOT NULL);
INSERT INTO bench.request
	SELECT jsonb_build_object('charge_id', 'ch_' || bench.hex(n, 'ch', 16),
		'amount', bench.cents(n, 'amount'), 'currency', 'gbp', 'reason', 'requested by customer',
		'customer', jsonb_build_object('id', 'cus_' || bench.hex(n, 'cus', 14)))
	FROM generate_series(1, :requests) n;

CREATE TABLE bench.measured (
	metric     text NOT NULL,
	contender  text NOT NULL,
	expression text NOT NULL,
	relation   regclass NOT NULL,
	slices     integer NOT NULL
);

INSERT INTO bench.measured
	SELECT m.metric, c.contender, c.expression, ('bench.' || m.metric || c.suffix)::regclass,
		CASE c.suffix WHEN '' THEN :slices ELSE 1 END
	FROM (VALUES ('vectors'), ('mixed')) m(metric), (VALUES
		('scan', 'j', ''),
		('hash_of_text', $$encode(sha256(convert_to(j::text, 'UTF8')), 'hex')$$, ''),
		('digest', 'idem_digest(j)', ''),
		('bare_hash_of_text', $$sha256(convert_to(j::text, 'UTF8'))$$, ''),
		('digest_hex', $$encode(idem_digest(j), 'hex')$$, ''),
		('text', 'j::text', ''),
		('canonical', 'idem_canonical(j)', ''),
		('by_hand', $$encode(sha256(convert_to(bench.canonical_by_hand(j), 'UTF8')), 'hex')$$,
			'_sample')
	) c(contender, expression, suffix);
INSERT INTO bench.measured VALUES
	('request', 'scan', 'j', 'bench.request', :slices),
	('request', 'digest', 'idem_digest(j)', 'bench.request', :slices),
	('request', 'key_arguments', $$idem_key('acme', 'payment', j)$$, 'bench.request', :slices),
	('request', 'key_fields', $$idem_key('acme', 'refund', j)$$, 'bench.request', :slices);

-- Microseconds a document of everything, by slices: so the contenders run within about 0.2 s of each
-- other, and when the machine is slow, it is slow for all. The same scan and the same aggregate are
-- around each. Each slice begins with another contender.
CREATE FUNCTION bench.round(round integer)
	RETURNS TABLE (metric text, contender text, micros numeric) LANGUAGE plpgsql AS $$
DECLARE
	measured  record;
	blocks    bigint;
	begin_at  numeric;
	documents bigint;
BEGIN
	-- A server process meets each page of the shared memory for the first time once, and that must
	-- not be one contender's.
	FOR measured IN SELECT DISTINCT m.relation FROM bench.measured m LOOP
		EXECUTE format('SELECT count(idem_digest(j)) FROM %s', measured.relation);
	END LOOP;

	FOR part IN 0..(SELECT max(m.slices) - 1 FROM bench.measured m) LOOP
		FOR measured IN
			SELECT * FROM bench.measured m WHERE part < m.slices
			ORDER BY m.metric, (row_number() OVER () + round + part) % count(*) OVER ()
		LOOP
			blocks := pg_relation_size(measured.relation) / current_setting('block_size')::integer;
			begin_at := bench.processor_micros();
			EXECUTE format('SELECT count(%s) FROM %s WHERE ctid >= %L AND ctid < %L',
				measured.expression, measured.relation,
				format('(%s,0)', blocks * part / measured.slices),
				format('(%s,0)', blocks * (part + 1) / measured.slices)) INTO documents;
			micros := (bench.processor_micros() - begin_at) / documents;
			metric := measured.metric;
			contender := measured.contender;
			RETURN NEXT;
		END LOOP;
	END LOOP;
END $$;

VACUUM FREEZE ANALYZE;
CHECKPOINT;
