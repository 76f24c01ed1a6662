#!/usr/bin/python3
"""Prints the results of bench/run as Markdown.

    report.py time_and_space|callgrind|keys RESULTS FOLDER

RESULTS has a line "metric, contender, value" for each measurement; FOLDER has callgrind's files.
"""

import statistics
import sys
from collections import defaultdict

import callgrind_profile
import report_keys
from tables import number, print_table, print_targets, ratio

# Contender, what it is, and the one that it is compared with.
ROWS = [
    ("insert", "bare INSERT", "insert"),
    ("claim", "`idem_claim` + `idem_complete`", "insert"),
    ("record", "`idem_record`", "insert"),
    ("once", "`idem_once`", "insert"),
    ("pair", "`INSERT … ON CONFLICT` + `UPDATE`", "insert"),
    ("pair_functions", "the same in PL/pgSQL functions", "insert"),
    ("claim_select", "`SELECT * FROM idem_claim()`, the same of `idem_complete()`", "insert"),
    ("insert_bound", "bare INSERT, with a fingerprint: two digests", "insert_bound"),
    ("claim_bound", "`idem_claim` + `idem_complete`, with a bound field", "insert_bound"),
    ("record_bound", "`idem_record`, with a bound field", "insert_bound"),
    ("select", "SELECT by primary key", "select"),
    ("select_digest", "the same, hashing the arguments", "select"),
    ("replay", "replay by `idem_claim`", "select"),
    ("digest", "`idem_digest` alone", None),
    ("key_arguments", "`idem_key` alone, all arguments", None),
    ("key_fields", "`idem_key` alone, three key fields, one bound", None),
]


def read_results(path):
    """metric → contender → all values, in their order."""
    values = defaultdict(lambda: defaultdict(list))
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            metric, contender, value = line.split("\t")
            values[metric][contender].append(float(value))
    return values


def medians(results):
    return {
        metric: {contender: statistics.median(rounds) for contender, rounds in contenders.items()}
        for metric, contenders in results.items()
    }


def net_of_loop(values):
    return {contender: value - values["empty"] for contender, value in values.items()}


def report_time_and_space(results):
    micros, wal = net_of_loop(results["micros"]), results["wal"]
    heap, indexes = results["heap"], results["indexes"]
    rows = []
    for contender, label, reference in ROWS:
        stored = "–"
        if contender in heap:
            whole = heap[contender] + indexes[contender]
            stored = f"{heap[contender]:.1f} + {indexes[contender]:.1f} = {whole:.1f}"
        rows.append((
            label,
            number(micros[contender], 1), number(ratio(micros, contender, reference), 2),
            number(wal[contender]), number(ratio(wal, contender, reference), 2),
            number(results["tps_1"].get(contender)), number(results["tps_4"].get(contender)),
            stored,
        ))
    print_table(("a key", "CPU µs", "×", "WAL bytes", "×", "tps, 1 client", "tps, 4 clients",
                 "bytes stored: heap + indexes"), rows)
    print_targets([
        ("WAL of claim + complete to that of the INSERT", ratio(wal, "claim", "insert"), 1.1, True),
        ("WAL of `idem_record` to that of the INSERT", ratio(wal, "record", "insert"), 1.0, False),
        ("WAL of claim + complete to that of the pair", ratio(wal, "claim", "pair"), 0.5, True),
        ("WAL bytes of a replay", wal["replay"], 0, True),
        ("time of a replay to that of the SELECT", ratio(micros, "replay", "select"), 1.2, True),
        ("bytes stored a key", heap["claim"] + indexes["claim"], 120, True),
    ])


def report_callgrind(results, folder):
    profiles = {}
    for contender, few in results["few"].items():
        many = results["many"][contender]
        few_keys, many_keys = (
            callgrind_profile.read(f"{folder}/callgrind.{contender}.{int(keys)}")
            for keys in (few, many)
        )
        profiles[contender] = callgrind_profile.slope(few_keys, many_keys, many - few)
    cost = net_of_loop({contender: profile.total for contender, profile in profiles.items()})
    print_table(("a key", "instructions", "×"),
                [(label, number(cost[contender]), number(ratio(cost, contender, reference), 2))
                 for contender, label, reference in ROWS])
    print_targets([
        ("claim + complete to the INSERT", ratio(cost, "claim", "insert"), 1.1, True),
        ("`idem_record` to the INSERT", ratio(cost, "record", "insert"), 1.0, False),
        ("claim + complete to the pair", ratio(cost, "claim", "pair"), 0.5, True),
        ("replay to the SELECT", ratio(cost, "replay", "select"), 1.2, True),
    ])
    print("Where claim + complete goes: instructions with what is called, and those of its own.\n")
    profile, least = profiles["claim"], cost["claim"] / 100
    for root in ("pg_idem_claim", "pg_idem_complete", "on_transaction_event", "ProcReleaseLocks"):
        for level, name, whole, own in callgrind_profile.tree(profile, root, least, 4):
            print(f"{'  ' * level}- `{name}` {number(whole)} ({number(own)})")


def main():
    mode, results, folder = sys.argv[1:]
    if mode == "callgrind":
        report_callgrind(medians(read_results(results)), folder)
    elif mode == "keys":
        report_keys.report(read_results(results))
    else:
        report_time_and_space(medians(read_results(results)))


if __name__ == "__main__":
    main()
