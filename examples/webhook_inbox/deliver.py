#!/usr/bin/python3
"""Delivers webhooks as real senders do, and counts what the inbox made of them.

    deliver.py FOLDER [--seed N]

FOLDER is the unpacked npm package @octokit/webhooks-examples: one folder a sender, with an
index.json of payloads. Each payload is an event that is delivered three times, in shuffled order, by
four concurrent connections (libpq's environment says where to). One event in eight comes as a burst:
its three deliveries follow each other at once. Half of the deliveries are serialised anew, with
other key order, other spellings of the same numbers, other escapes. A delivery that is answered
"in progress" is delivered again until it is answered.

Exits with 1 unless there is exactly one effect row for each event.
"""

import argparse
import collections
import json
import pathlib
import queue
import random
import sys
import threading
import time
from decimal import Decimal

import psycopg

REPEATS = 3
CONNECTIONS = 4
GIVE_UP_AFTER = 60  # seconds of "in progress" for one delivery

Event = collections.namedtuple("Event", "sender event_id kind body")


def read_events(folder):
    """Every payload of the package. Event ids are unique for one sender only."""
    for index in sorted(folder.glob("*/index.json")):
        text = index.read_text(encoding="utf-8")
        for group in json.loads(text, parse_float=Decimal):
            for number, body in enumerate(group["examples"], start=1):
                yield Event(index.parent.name, f"{group['name']}-{number}", group["name"], body)


def respell_number(number, rng):
    """Another spelling of the same decimal: no digit is lost, whatever its size."""
    if number == 0:
        return rng.choice(("0", "-0", "0.0", "0e7"))
    sign, digits, exponent = Decimal(number).as_tuple()
    text = "".join(map(str, digits))
    minus = "-" if sign else ""
    way = rng.randrange(4)
    if way == 0:  # 10 as 1e1, 10.5 as 105e-1
        bare = text.rstrip("0") or "0"
        return f"{minus}{bare}e{exponent + len(text) - len(bare)}"
    if way == 1:  # 10 as 1.0E+1
        return f"{minus}{text[0]}.{text[1:] or '0'}E{exponent + len(text) - 1:+d}"
    if way == 2 and exponent == 0:  # 10 as 10.0
        return f"{minus}{text}.0"
    return f"{minus}{text}00e{exponent - 2}"  # 10 as 1000e-2


def respell(value, rng):
    """The same document, as another serialiser might write it."""
    if isinstance(value, dict):
        members = list(value.items())
        rng.shuffle(members)
        return "{" + " , ".join(f"{respell(k, rng)}: {respell(v, rng)}" for k, v in members) + "}"
    if isinstance(value, list):
        return "[ " + ",".join(respell(v, rng) for v in value) + " ]"
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        return respell_number(value, rng)
    if isinstance(value, str):
        text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
        return text.replace("/", "\\/") if rng.random() < 0.5 else text
    return json.dumps(value)


def spell(value):
    """The document as its sender wrote it: its own key order, its own digits."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(k)}:{spell(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(spell, value)) + "]"
    return str(value) if isinstance(value, Decimal) else json.dumps(value)


def plan_deliveries(events, rng):
    """Three deliveries an event, shuffled; the bursts stay together. (event, respelled) pairs."""
    groups = []
    for event in events:
        is_burst = rng.random() < 1 / 8
        groups.extend([[event] * REPEATS] if is_burst else [[event]] * REPEATS)
    rng.shuffle(groups)
    deliveries = [event for group in groups for event in group]
    respelled = set(rng.sample(range(len(deliveries)), len(deliveries) // 2))
    return [(event, place in respelled) for place, event in enumerate(deliveries)]


def deliver_until_answered(connection, event, text, answers):
    deadline = time.monotonic() + GIVE_UP_AFTER
    while True:
        status, retry_after, outcome = connection.execute(
            "SELECT http_status, retry_after, outcome"
            " FROM webhook_inbox.receive(%s, %s, %s, %s::jsonb)",
            (event.sender, event.event_id, event.kind, text),
        ).fetchone()
        answers.append((event, outcome))
        if status != 503 or time.monotonic() > deadline:
            return
        time.sleep(retry_after.total_seconds())


def run_sender(todo, answers, failures, start):
    try:
        with psycopg.connect(autocommit=True) as connection:
            start.wait()
            while not failures:
                try:
                    event, text = todo.get_nowait()
                except queue.Empty:
                    return
                deliver_until_answered(connection, event, text, answers)
    except Exception as error:  # a thread's error would otherwise not reach the exit status
        failures.append(error)
        start.abort()


def deliver_all(deliveries):
    """Every answer, as (event, outcome) pairs."""
    todo = queue.SimpleQueue()
    for delivery in deliveries:
        todo.put(delivery)
    answers, failures = [], []
    start = threading.Barrier(CONNECTIONS)
    senders = [
        threading.Thread(target=run_sender, args=(todo, answers, failures, start))
        for _ in range(CONNECTIONS)
    ]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    if failures:
        sys.exit(f"delivery stopped: {failures[0]}")
    return answers


def count_effects():
    with psycopg.connect(autocommit=True) as connection:
        return {
            (sender, event_id): count
            for sender, event_id, count in connection.execute(
                "SELECT sender, event_id, count(*) FROM webhook_inbox.event GROUP BY 1, 2"
            )
        }


def print_table(events, answers, effects):
    columns = ("claimed", "replayed", "in_progress")
    seen = {outcome for _, outcome in answers}
    columns += tuple(sorted(seen.difference(columns)))  # none other is expected
    row = "{:<16}{:>8}" + "".join(f"{{:>{len(name) + 3}}}" for name in columns) + "{:>14}"
    print(row.format("sender", "events", *columns, "effect rows"))
    totals = [0] * (len(columns) + 2)
    for sender in sorted({event.sender for event in events}):
        outcomes = collections.Counter(o for event, o in answers if event.sender == sender)
        numbers = [
            sum(event.sender == sender for event in events),
            *(outcomes[name] for name in columns),
            sum(count for key, count in effects.items() if key[0] == sender),
        ]
        totals = [total + number for total, number in zip(totals, numbers)]
        print(row.format(sender, *numbers))
    print(row.format("total", *totals))


def find_faults(events, answers, effects):
    """What is wrong, in words; nothing when each event was claimed once and filed once."""
    outcomes = collections.defaultdict(collections.Counter)
    for event, outcome in answers:
        outcomes[event.sender, event.event_id][outcome] += 1
    expected = {(event.sender, event.event_id) for event in events}
    for key in sorted(expected | set(effects)):
        filed = effects.get(key, 0)
        if filed != 1 or key not in expected:
            yield f"{key}: {filed} effect rows"
        answered = {name: n for name, n in outcomes[key].items() if name != "in_progress"}
        if answered != {"claimed": 1, "replayed": REPEATS - 1}:
            yield f"{key}: answered {answered}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=4471)
    options = parser.parse_args()
    rng = random.Random(options.seed)

    events = list(read_events(options.folder))
    if not events:
        sys.exit(f"no payload in {options.folder}")
    plan = plan_deliveries(events, rng)
    deliveries = [
        (event, respell(event.body, rng) if other else spell(event.body)) for event, other in plan
    ]
    print(
        f"{len(events)} events, {len(deliveries)} deliveries over {CONNECTIONS} connections,"
        f" {sum(other for _, other in plan)} of them serialised anew; seed {options.seed}"
    )
    begin = time.monotonic()
    answers = deliver_all(deliveries)
    print(f"{len(answers)} answers in {time.monotonic() - begin:.1f} s\n")

    effects = count_effects()
    print_table(events, answers, effects)
    faults = list(find_faults(events, answers, effects))
    for fault in faults[:20]:
        print(f"wrong: {fault}")
    if faults:
        sys.exit(f"\n{len(faults)} faults")
    print(f"\n{len(effects)} events, {sum(effects.values())} effect rows: each event once")


if __name__ == "__main__":
    main()
