#!/usr/bin/python3
"""Pays invoices at a provider, each once: whatever is lost, and wherever the worker is killed.

A payment is a call to somebody else's system, and no transaction spans two systems. So there are
three steps, each of them committed before the next one begins:

    1. claim   the key of the payment is ours, and the queue says that it is being charged
    2. mark    from now on the request may have been sent
    3. settle  the provider's answer, in the ledger and in the queue at once

and the call goes out between 2 and 3. A worker that dies in between leaves its key with a lease.
When that has ended, any worker gets it from idem_take and sends the request once more, with the
same key, by which the provider knows it.

To run it by hand, on the server and as the user that libpq's environment names:

    createdb payments && export PGDATABASE=payments
    psql -f examples/payment_worker/payments.sql
    examples/payment_worker/provider.py &
    psql -c "INSERT INTO payments.request (tenant, invoice, amount, currency)
             SELECT 'acme', 'inv-' || n % 7, 10 + n % 7, 'EUR' FROM generate_series(1, 20) n"
    examples/payment_worker/worker.py --lease 5 --at answered     # killed when inv-1 is charged
    examples/payment_worker/worker.py --lease 5                   # goes on; end it with Ctrl-C
    psql -c 'TABLE payments.request' -c 'TABLE payments.unsettled' -c 'TABLE idem_dead_letters'
    curl http://127.0.0.1:8470/charges                            # seven, one an invoice

A role of its own needs idem_grant(role, read_arguments => true), USAGE on the schema payments, and
SELECT and UPDATE on payments.request.
"""

import argparse
import collections
import contextlib
import datetime
import http.client
import json
import os
import signal
import threading

import psycopg
from psycopg.rows import namedtuple_row
from psycopg.types.json import Jsonb

OPERATION = "payment.charge"
STEPS = ("claiming", "claimed", "marking", "marked", "sent", "answered", "settling", "settled")
OURS = ("do", "verify")  # the actions of whoever owns the key now
LONGEST_PAUSE = 30  # seconds

# What the ledger says to an attempt that must not go on, and to one that was fenced off meanwhile.
LEASE_ENDED, WINDOW_ENDED = "ID028", "ID029"
LOST = ("ID022", "ID023")

Work = collections.namedtuple("Work", "tenant key action attempt fence arguments")
Reply = collections.namedtuple("Reply", "sent status body retry_after", defaults=[None] * 3)

# What each verdict is in the ledger, and in the queue when it is final.
SETTLE = "UPDATE payments.request SET status = {}" + (
    " WHERE tenant = %(tenant)s AND key = %(key)s AND status = 'charging'"
)
ENDINGS = {
    "complete": [
        "SELECT idem_complete(%(tenant)s, %(key)s, %(charge_id)s, %(body)s, %(fence)s)",
        SETTLE.format("'paid', charge_id = %(charge_id)s"),
    ],
    "fail": [
        "SELECT idem_fail(%(tenant)s, %(key)s, %(body)s, %(fence)s)",
        SETTLE.format("'declined', note = %(body)s->>'error'"),
    ],
    "release": ["SELECT idem_release(%(tenant)s, %(key)s, %(fence)s, %(retry_after)s)"],
    "unknown": ["SELECT idem_unknown(%(tenant)s, %(key)s, %(fence)s)"],
}


class Worker:
    def __init__(self, connection, options):
        self.connection = connection
        self.options = options
        self.lease = datetime.timedelta(seconds=options.lease)
        self.stopping = threading.Event()
        self.bad_replies = 0  # in a row

    def run(self):
        while not self.stopping.is_set():
            work = self.take_lost() or self.claim_next()
            if work:
                self.reach("claimed")
                self.charge(work)
            else:
                self.stopping.wait(self.options.poll)

    def reach(self, step):
        """For the test: a worker can be told to die between any two steps, or to fall asleep."""
        if step == self.options.at:
            os.kill(os.getpid(), signal.Signals["SIG" + self.options.signal])

    # 1. Claim

    def take_lost(self):
        """What another worker has left behind, or released for later.

        Where it may have been sent (verify), it is sent again rather than looked up: the provider
        knows a repeat by its key, and the ledger hands nothing out that it may have forgotten.
        """
        row = self.connection.execute(
            "SELECT key_tenant, key, action, attempt, fence, arguments"
            " FROM idem_take(%s, 1, %s, %s)",
            [OPERATION, self.lease, self.options.tenant],
        ).fetchone()
        return row and Work(*row)

    def claim_next(self):
        """The next payment of the queue that is ours to charge; None when nothing is due."""
        while True:
            with self.connection.transaction():
                request = self.next_request()
                if request is None:
                    return None
                arguments = {
                    "invoice": request.invoice,
                    "amount": str(request.amount),  # a string: no float on its way
                    "currency": request.currency,
                }
                claim = self.connection.execute(
                    "SELECT * FROM idem_claim(%s, %s, %s, lease => %s)",
                    [request.tenant, OPERATION, Jsonb(arguments), self.lease],
                ).fetchone()
                self.file_request(request, claim)
                self.reach("claiming")
            if claim.action in OURS:
                return Work(
                    request.tenant, claim.key, claim.action, claim.attempt, claim.fence, arguments
                )

    def next_request(self):
        return self.connection.execute(
            "SELECT * FROM payments.request"
            " WHERE status = 'new' AND not_before <= clock_timestamp()"
            " AND tenant = coalesce(%s, tenant)"
            " ORDER BY not_before LIMIT 1 FOR UPDATE SKIP LOCKED",
            [self.options.tenant],
        ).fetchone()

    def file_request(self, request, claim):
        """What a claim means for the request, in the transaction of the claim."""
        note, retry_after = None, None
        if claim.action in OURS:
            status = "charging"
        elif claim.action == "answer":  # this invoice was dealt with before
            status = "declined" if claim.outcome == "failed" else "paid"
        elif claim.outcome == "conflict":
            status, note = "refused", claim.message
        else:  # under way, or for a person to decide: come again
            status, note = "new", claim.message
            retry_after = claim.retry_after or datetime.timedelta(minutes=1)
        self.connection.execute(
            "UPDATE payments.request SET status = %s, key = %s, charge_id = %s, note = %s,"
            " not_before = clock_timestamp() + coalesce(%s, interval '0') WHERE id = %s",
            [status, claim.key, claim.effect_ref, note, retry_after, request.id],
        )

    # 2. Mark, then send

    def charge(self, work):
        try:
            with self.connection.transaction():
                self.connection.execute(
                    "SELECT idem_mark_sending(%s, %s, %s)", [work.tenant, work.key, work.fence]
                )
                self.reach("marking")
        except psycopg.Error as error:
            if error.sqlstate not in (LEASE_ENDED, WINDOW_ENDED, *LOST):
                raise
            print(f"{work.key}: not sent: {error}", flush=True)
            return  # not sending is always safe; whoever gets the key next knows where it stands
        self.reach("marked")
        with self.heartbeat(work):
            reply = self.send(work)
        self.reach("answered")
        verdict = self.verdict(work, reply)
        self.settle(work, verdict, reply)
        self.reach("settled")
        self.rest(verdict, reply)

    def send(self, work):
        provider = http.client.HTTPConnection(self.options.provider, timeout=self.options.timeout)
        with contextlib.closing(provider):
            try:
                provider.connect()
            except OSError:
                return Reply(sent=False)
            try:
                provider.request(
                    "POST", "/charges", json.dumps(work.arguments), {"Idempotency-Key": work.key}
                )
                self.reach("sent")
                response = provider.getresponse()
                body = json.loads(response.read())
                return Reply(True, response.status, body, response.getheader("Retry-After"))
            except (OSError, http.client.HTTPException, ValueError):
                return Reply(sent=True)  # and nobody knows what became of it

    @contextlib.contextmanager
    def heartbeat(self, work):
        """Renews the lease while a call takes its time, so that nobody else takes the key.

        On the worker's own connection, which is idle as long as the call lasts.
        """
        done = threading.Event()

        def beat():
            while not done.wait(self.options.lease / 3):
                try:
                    self.connection.execute(
                        "SELECT idem_renew(%s, %s, %s, %s)",
                        [work.tenant, work.key, work.fence, self.lease],
                    )
                except psycopg.Error as error:  # lost: settle() will be told the same
                    print(f"{work.key}: not renewed: {error}", flush=True)
                    return

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    # 3. Settle

    def verdict(self, work, reply):
        """What an answer says about the charge, this attempt's and those before it."""
        if reply.status == 200:
            return "complete"
        if not reply.sent or reply.status == 429:
            # This attempt has not begun. If an earlier one may have charged, that is still so.
            return "release" if work.action == "do" else "unknown"
        # To be tried again, as after 500, does not mean that nothing has happened: a server can
        # fail after it has charged. And no answer at all is NULL.
        (retryable,) = self.connection.execute(
            "SELECT idem_retryable(%s, %s)", [reply.status, OPERATION]
        ).fetchone()
        return "fail" if retryable is False else "unknown"

    def settle(self, work, verdict, reply):
        """Records the answer in the ledger and in the queue: both are there, or neither is."""
        invoice = work.arguments["invoice"]
        print(f"{invoice}: attempt {work.attempt}: {reply.status} {verdict}", flush=True)
        try:
            with self.connection.transaction():
                self.record(work, verdict, reply)
                self.reach("settling")
        except psycopg.Error as error:
            if error.sqlstate not in LOST:
                raise
            # This worker slept for longer than its lease, and another one has got the key. What
            # this one has to say is kept for whoever looks into it.
            print(f"{work.key}: too late: {error}", flush=True)
            if verdict == "complete":
                self.connection.execute(
                    "SELECT idem_report_late(%s, %s, %s, %s)",
                    [work.tenant, work.key, work.fence, reply.body["id"]],
                )

    def record(self, work, verdict, reply):
        values = {
            "tenant": work.tenant,
            "key": work.key,
            "fence": work.fence,
            "body": Jsonb(reply.body),
            "charge_id": reply.body["id"] if verdict == "complete" else None,
            # It can be a date as well; this provider sends seconds.
            "retry_after": datetime.timedelta(seconds=int(reply.retry_after or 1)),
        }
        for statement in ENDINGS[verdict]:
            self.connection.execute(statement, values)

    def rest(self, verdict, reply):
        """Waits while the provider is in trouble, each time longer.

        A key whose outcome is unknown is handed out again at once, and max_attempts counts.
        """
        if verdict != "unknown":
            self.bad_replies = 0
            return
        self.bad_replies += 1
        pause = max(self.options.poll * 2**self.bad_replies, int(reply.retry_after or 0))
        self.stopping.wait(min(pause, LONGEST_PAUSE))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--provider", default="127.0.0.1:8470", metavar="HOST:PORT")
    parser.add_argument("--tenant", help="whose payments; default: everybody's")
    parser.add_argument("--lease", type=float, default=30, help="seconds; renewed during a call")
    parser.add_argument("--timeout", type=float, default=10, help="seconds for the provider")
    parser.add_argument("--poll", type=float, default=0.5, help="seconds between two looks")
    parser.add_argument("--at", choices=STEPS, help="signal yourself at this step")
    parser.add_argument("--signal", default="KILL", choices=("KILL", "STOP"))
    options = parser.parse_args()
    # No prepared statements and no other session state: a pooler in transaction mode may stand in
    # between. Autocommit: a statement outside of a transaction() is one of its own.
    with psycopg.connect(
        autocommit=True, prepare_threshold=None, row_factory=namedtuple_row
    ) as connection:
        worker = Worker(connection, options)
        for number in (signal.SIGINT, signal.SIGTERM):  # ends between two payments
            signal.signal(number, lambda *_: worker.stopping.set())
        worker.run()


if __name__ == "__main__":
    main()
