"""Prints what digests and keys cost: the results of bench/run --keys."""

import statistics

from tables import number, print_table, print_targets

# Contender, what it is, and the one that it is compared with.
DIGESTS = [
    ("hash_of_text", "`encode(sha256(convert_to(j::text, 'UTF8')), 'hex')`", "hash_of_text"),
    ("digest", "`idem_digest(j)`", "hash_of_text"),
    ("digest_hex", "`encode(idem_digest(j), 'hex')`", "hash_of_text"),
    ("bare_hash_of_text", "`sha256(convert_to(j::text, 'UTF8'))`", "hash_of_text"),
    ("by_hand", "PL/pgSQL canonicaliser, SHA-256 in hex", "hash_of_text"),
    ("npm", "npm `canonicalize`, SHA-256 in hex, in Node", "hash_of_text"),
    ("text", "`j::text`", "text"),
    ("canonical", "`idem_canonical(j)`", "text"),
]
KEYS = [
    ("digest", "`idem_digest`"),
    ("key_arguments", "`idem_key`, all arguments in the key"),
    ("key_fields", "`idem_key`, four key fields, one bound"),
]
LIMIT_OF_DIGEST, LIMIT_OF_KEY = 0.6, 2.0


class Data:
    """The figures of one set of documents, net of the scan around every expression."""

    def __init__(self, values):
        scan = values["scan"]
        self.scan = statistics.median(scan)
        # What runs on a sample, once a round, is slow enough for the scan not to matter.
        self.slices = {contender: [value - base for value, base in zip(own, scan)]
                       for contender, own in values.items() if len(own) == len(scan)}
        self.micros = {contender: statistics.median(self.slices.get(contender, own))
                       for contender, own in values.items()}

    def ratio(self, contender, reference):
        """Slice by slice, so that a slow spell of the machine is on both sides."""
        if contender not in self.slices:
            return self.micros[contender] / self.micros[reference]
        return statistics.median(
            own / other for own, other in zip(self.slices[contender], self.slices[reference]))


def print_digests(results, data):
    for name, values in data.items():
        print(f"- {name}: {results['documents'][name][0]:,.0f} documents, on average "
              f"{results['bytes'][name][0]:.0f} bytes as text; the scan takes "
              f"{values.scan:.2f} µs a document")
    print()
    rows = []
    for contender, label, reference in DIGESTS:
        row = [label]
        for values in data.values():
            digits = 0 if values.micros[contender] > 20 else 2
            row += [number(values.micros[contender], digits),
                    number(values.ratio(contender, reference), 2)]
        rows.append(row)
    head = [title for name in data for title in (f"{name}: CPU µs", "×")]
    print_table(("a document", *head), rows)


def report(results):
    data = {name: Data(results[name]) for name in ("vectors", "mixed")}
    request = Data(results["request"])
    print_digests(results, data)
    print_table(("a request", "CPU µs added to the scan"),
                [(label, number(request.micros[contender], 2)) for contender, label in KEYS])
    print_targets([
        *((f"`idem_digest` to the hash of the text, {name}",
           values.ratio("digest", "hash_of_text"), LIMIT_OF_DIGEST, True)
          for name, values in data.items()),
        ("µs that `idem_key` adds, four key fields", request.micros["key_fields"], LIMIT_OF_KEY,
         True),
    ])
