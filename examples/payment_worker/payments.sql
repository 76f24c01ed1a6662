-- Payments that a worker makes at a provider: the queue, and what pg_idem has to know.
--
-- worker.py tells the whole story and how to run it.

CREATE EXTENSION IF NOT EXISTS pg_idem;

CREATE SCHEMA payments;

-- The queue. An invoice may be asked for more than once, by an impatient user or by an agent that has
-- forgotten that it asked: that is paid once is the ledger's doing, so there is no unique constraint.
CREATE TABLE payments.request (
	id         bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	tenant     text        NOT NULL,
	invoice    text        NOT NULL,
	amount     numeric     NOT NULL,
	currency   text        NOT NULL,
	status     text        NOT NULL DEFAULT 'new'
	           CHECK (status IN ('new', 'charging', 'paid', 'declined', 'refused')),
	not_before timestamptz NOT NULL DEFAULT clock_timestamp(),
	key        text, -- of the charge that it waits for or has got
	charge_id  text, -- the provider's
	note       text
);
CREATE INDEX ON payments.request (not_before) WHERE status = 'new';
CREATE INDEX ON payments.request (key) WHERE status = 'charging';

-- One intent is one invoice; the amount and the currency are bound to it.
--
--   sending          the worker says when a request leaves. An attempt that is lost before that has
--                    certainly not charged anything, and is simply made again.
--   provider_window  the provider knows a repeat by its key for a day. Within that, whoever finds a
--                    lost attempt may send it again under the same key; later, a person decides.
--   max_attempts     after which a person decides, too.
SELECT idem_define('payment.charge',
	key_fields      => '{"invoice": "exact"}',
	key_prefix      => 'pay',
	effect          => 'external',
	sending         => 'recorded',
	provider_window => '24 hours',
	max_attempts    => 8,
	lease           => '30 seconds');

-- All that is left to do, by request. Empty in the end, but for what a person has to look at.
CREATE VIEW payments.unsettled AS
	SELECT r.tenant, r.invoice, r.status, p.state, p.attempt, p.next_outcome, p.why, p.next_step
	FROM payments.request r LEFT JOIN idem_pending p ON p.tenant = r.tenant AND p.key = r.key
	WHERE r.status IN ('new', 'charging');
