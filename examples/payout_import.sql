-- A file of 50,000 payouts, imported in one transaction; then the same file again, because nobody knows
-- whether the first import came through.
--
--   createdb payouts && psql -d payouts -f examples/payout_import.sql

CREATE EXTENSION IF NOT EXISTS pg_idem;

CREATE TABLE payout (
	id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	key      text NOT NULL,
	iban     text NOT NULL,
	amount   numeric NOT NULL,
	currency text NOT NULL
);

-- One payout is one line of one file: the same amount to the same account twice in a file is meant.
SELECT idem_define('pay_out', key_prefix => 'po', key_fields =>
	'{"file":"exact","line":"integer","iban":"trim|upper","amount":"minor_units(currency)","currency":"upper"}');

-- What COPY would bring: line 4711 has an amount that is none.
CREATE TABLE file AS SELECT n AS line, jsonb_build_object('file', '2026-11-30.csv', 'line', n,
		'iban', 'DE' || lpad((n % 9000)::text, 20, '0'),
		'amount', CASE n WHEN 4711 THEN '12,50' ELSE (n / 100.0)::numeric(12, 2)::text END, 'currency', 'eur') AS payout
	FROM generate_series(1, 50000) n;

-- Claims all lines, pays out those that are to be paid out, and completes them. What was paid out before is
-- left alone, and so is a line that cannot be read.
CREATE FUNCTION import_file() RETURNS TABLE (outcome text, lines bigint, message text) LANGUAGE plpgsql AS $$
BEGIN
	CREATE TEMP TABLE claim ON COMMIT DROP AS
		SELECT c.*, file.payout
		FROM idem_claim_many('acme', 'pay_out', (SELECT array_agg(f.payout ORDER BY f.line) FROM file f),
				on_error => 'report') c
			JOIN file ON file.line = c.line; -- the line of the answer counts from 1, as the file does
	WITH paid AS (
		INSERT INTO payout (key, iban, amount, currency)
			SELECT c.key, c.payout->>'iban', (c.payout->>'amount')::numeric, upper(c.payout->>'currency')
				FROM claim c WHERE c.action = 'do' ORDER BY c.line
			RETURNING id, key)
	SELECT count(idem_complete('acme', paid.key, paid.id::text)) INTO lines FROM paid;
	RETURN QUERY SELECT c.outcome, count(*), max(c.message) FILTER (WHERE c.outcome = 'refused')
		FROM claim c GROUP BY c.outcome ORDER BY c.outcome;
END $$;

-- One transaction: all payouts and their keys are committed together, or none.
SELECT * FROM import_file();
SELECT count(*), sum(amount) FROM payout;

-- The same file again
SELECT * FROM import_file();
SELECT count(*), sum(amount) FROM payout;

-- Line 4711 is mended; everything else is left alone.
UPDATE file SET payout = payout || '{"amount":"12.50"}' WHERE line = 4711;
SELECT * FROM import_file();
SELECT count(*), sum(amount) FROM payout;
