#!/usr/bin/python3
"""A stub of a payment provider: charges, and counts what it has charged.

    provider.py [--port PORT] [--window SECONDS]

It stands for somebody else's system, so it runs in a process of its own and shares nothing with
the worker. Like real ones it remembers an Idempotency-Key for a limited time only, the window:
within it a repeat gets the answer of the first time, after it the same key is a new charge.

    POST /charges    charges {"invoice", "amount", "currency"}, with the header Idempotency-Key
    GET  /charges    every charge that was ever made: the truth that the tests count
    POST /stub       tells it how to misbehave: {"invoice": "inv-7", "faults": ["lose", "500"]},
                     one fault for each request that comes for that invoice; or {"window": 5}

Faults: "lose" charges and hangs up without an answer, "late:3" charges and answers after three
seconds, "500:charged" charges and says 500; "500" and "429" charge nothing; "402" declines.
"""

import argparse
import collections
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

RETRY_AFTER = 1  # seconds, for 429

Answer = collections.namedtuple("Answer", "status body")
Memory = collections.namedtuple("Memory", "request answer first_seen")


class Ledger:
    """What the provider knows. Everything happens under one lock, so no request sees half of it."""

    def __init__(self, window):
        self.window = window
        self.charges = []
        self.remembered = {}  # by key
        self.faults = collections.defaultdict(collections.deque)  # by invoice
        self.lock = threading.Lock()

    def charge(self, key, request):
        """The answer, and how to misbehave with it."""
        with self.lock:
            faults = self.faults[request["invoice"]]
            fault = faults.popleft() if faults else ""
            if fault == "429":
                return Answer(429, {"error": "slow down"}), fault
            if fault == "500":
                return Answer(500, {"error": "out of order"}), fault

            known = self.remembered.get(key)
            if known and time.monotonic() < known.first_seen + self.window:
                if known.request != request:
                    return Answer(422, {"error": "another request has this key"}), fault
                answer = known.answer
            else:
                answer = self.decide(key, request, fault)
                self.remembered[key] = Memory(request, answer, time.monotonic())
            if fault == "500:charged":
                return Answer(500, {"error": "out of order"}), fault
            return answer, fault

    def decide(self, key, request, fault):
        if fault == "402":
            return Answer(402, {"error": "card_declined"})
        charge = {"id": f"ch_{len(self.charges) + 1}", "key": key, **request}
        self.charges.append(charge)
        return Answer(200, charge)

    def list_charges(self):
        with self.lock:
            return list(self.charges)

    def instruct(self, order):
        with self.lock:
            if "window" in order:
                self.window = order["window"]
            if "invoice" in order:
                self.faults[order["invoice"]].extend(order["faults"])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.reply(Answer(200, self.server.ledger.list_charges()))

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/stub":
            self.server.ledger.instruct(request)
            self.reply(Answer(200, {}))
            return
        answer, fault = self.server.ledger.charge(self.headers["Idempotency-Key"], request)
        if fault == "lose":
            self.close_connection = True
            return
        if fault.startswith("late:"):
            time.sleep(float(fault.removeprefix("late:")))
        self.reply(answer)

    def reply(self, answer):
        body = json.dumps(answer.body).encode()
        try:
            self.send_response(answer.status)
            if answer.status == 429:
                self.send_header("Retry-After", str(RETRY_AFTER))
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except ConnectionError:  # the caller has died or given up: that is what this is about
            self.close_connection = True

    def log_message(self, *_):
        pass


class Provider(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A caller that is killed resets its connection. That is no news here."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8470, help="0: any that is free")
    parser.add_argument("--window", type=float, default=86400)
    options = parser.parse_args()
    with Provider(("127.0.0.1", options.port), Handler) as provider:
        provider.ledger = Ledger(options.window)
        print(f"listening on 127.0.0.1:{provider.server_port}", flush=True)
        try:
            provider.serve_forever()
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
