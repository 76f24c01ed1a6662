#!/usr/bin/python3
"""Carries events from an outbox to their consumer: at least once, and it does not try for more.

The order service writes an order and its event in one transaction (orders.sql). The relay reads
events that are not marked, delivers each to the shipping service (shipping.sql, a database of its
own), and marks it. Between delivery and mark there is no transaction that spans both databases, so a
relay that dies there delivers again, and two relays may deliver one event at the same moment. That
is meant: locks and leases would make it rarer, and never impossible. The consumer makes it exactly
one effect, by idem_once under the event's id.

To run it by hand, on the server and as the user that libpq's environment names:

    createdb orders && psql -d orders -f examples/outbox/orders.sql
    createdb shipping && psql -d shipping -f examples/outbox/shipping.sql
    order="SELECT orders.place('ada', 'cart-' || n, '{\\"sku\\": \\"A\\"}') FROM generate_series(1, 20) n"
    psql -d orders -c "$order" -c "$order"                  # each cart twice: twenty orders
    examples/outbox/relay.py --at delivered                 # killed after its first delivery
    examples/outbox/relay.py                                # goes on; end it with Ctrl-C
    psql -d orders -c 'UPDATE orders.outbox SET delivered_at = NULL'
    examples/outbox/relay.py                                # everything once more
    psql -d shipping -c 'SELECT count(*), count(DISTINCT order_id) FROM shipping.shipment'  # 20, 20
"""

import argparse
import os
import signal
import threading

import psycopg
from psycopg.rows import namedtuple_row
from psycopg.types.json import Jsonb

SENDER = "orders"
STEPS = ("read", "delivered", "marked")
BATCH = 20


class Relay:
    def __init__(self, orders, shipping, options):
        self.orders = orders
        self.shipping = shipping
        self.options = options
        self.stopping = threading.Event()

    def run(self):
        while not self.stopping.is_set():
            events = self.read()
            delivered = [self.carry(event) for event in events if not self.stopping.is_set()]
            if not any(delivered):
                self.stopping.wait(self.options.poll)

    def reach(self, step):
        """For the test: a relay can be told to die between any two steps."""
        if step == self.options.at:
            os.kill(os.getpid(), signal.SIGKILL)

    def read(self):
        """Events that have not arrived, oldest first. Without a lock: see above."""
        events = self.orders.execute(
            "SELECT event_id, kind, body FROM orders.outbox"
            " WHERE delivered_at IS NULL AND problem IS NULL ORDER BY position LIMIT %s",
            [BATCH],
        ).fetchall()
        if events:
            self.reach("read")
        return events

    def carry(self, event):
        """Delivers an event and marks it; whether it need not be delivered again."""
        answer = self.shipping.execute(
            "SELECT * FROM shipping.consume(%s, %s, %s, %s)",
            [SENDER, event.event_id, event.kind, Jsonb(event.body)],
        ).fetchone()
        print(f"{event.event_id} {answer.outcome}", flush=True)
        self.reach("delivered")
        if answer.consumed:
            self.mark(event, "delivered_at = clock_timestamp()")
        elif not answer.retryable:  # the consumer knows this id with another body
            self.mark(event, "problem = %(message)s", message=answer.message)
        self.reach("marked")
        return answer.consumed or not answer.retryable

    def mark(self, event, how, **values):
        self.orders.execute(
            f"UPDATE orders.outbox SET {how}"
            " WHERE event_id = %(event_id)s AND delivered_at IS NULL",
            {"event_id": event.event_id, **values},
        )


def connect(where):
    # Autocommit: each statement is a transaction of its own. No prepared statements, so that a
    # pooler in transaction mode may stand in between.
    return psycopg.connect(
        where, autocommit=True, prepare_threshold=None, row_factory=namedtuple_row
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--orders", default="dbname=orders", metavar="CONNINFO")
    parser.add_argument("--shipping", default="dbname=shipping", metavar="CONNINFO")
    parser.add_argument("--poll", type=float, default=0.5, help="seconds between two looks")
    parser.add_argument("--at", choices=STEPS, help="kill yourself at this step")
    options = parser.parse_args()
    with connect(options.orders) as orders, connect(options.shipping) as shipping:
        relay = Relay(orders, shipping, options)
        for number in (signal.SIGINT, signal.SIGTERM):  # ends between two events
            signal.signal(number, lambda *_: relay.stopping.set())
        relay.run()


if __name__ == "__main__":
    main()
