"""Reads what callgrind writes: instructions by function, and by caller and callee."""

import re
from collections import defaultdict


class Profile:
    """total: all instructions; own[function]; calls[caller][callee] = (instructions, times)."""

    def __init__(self):
        self.total = 0
        self.own = defaultdict(float)
        self.calls = defaultdict(lambda: defaultdict(lambda: (0.0, 0.0)))

    def add_call(self, caller, callee, cost, times):
        known = self.calls[caller][callee]
        self.calls[caller][callee] = (known[0] + cost, known[1] + times)

    def cost_of(self, function):
        """Inclusive cost, and how often it was called."""
        edges = [callees[function] for callees in self.calls.values() if function in callees]
        return sum(cost for cost, _ in edges), sum(times for _, times in edges)


def short_name(mangled):
    """Without namespaces, arguments and callgrind's mark of a recursion."""
    name = re.sub(r"'\d+$", "", mangled).replace("(anonymous namespace)::", "")
    return re.sub(r"\(.*$", "", name.replace("pg_idem::", ""))


def read(path):
    profile = Profile()
    names = {}  # callgrind writes a name once, and its number from then on
    objects = {}
    current_object = callee_object = None
    function = callee = None
    times = None

    def resolve(table, text):
        number, name = re.match(r"\((\d+)\)(?: (.*))?$", text).groups()
        if name is not None:
            table[number] = name
        return table[number]

    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            line = line.rstrip("\n")
            kind, _, rest = line.partition("=")
            if kind == "ob":
                current_object = resolve(objects, rest)
            elif kind == "cob":
                callee_object = resolve(objects, rest)
            elif kind == "fn":
                function = (current_object, short_name(resolve(names, rest)))
            elif kind == "cfn":
                callee = (callee_object or current_object, short_name(resolve(names, rest)))
                callee_object = None
            elif kind == "calls":
                times = int(rest.split()[0])
            elif re.match(r"[-+*\d]", line):
                fields = line.split()
                if len(fields) < 2:
                    continue
                cost = int(fields[1])
                if times is not None:
                    profile.add_call(function, callee, cost, times)
                    times = None
                else:
                    profile.own[function] += cost
                    profile.total += cost
    return profile


def slope(few, many, keys):
    """What a key costs, from a run with few keys and one with `keys` more."""
    result = Profile()
    result.total = (many.total - few.total) / keys
    for function, cost in many.own.items():
        result.own[function] = (cost - few.own.get(function, 0)) / keys
    for caller, callees in many.calls.items():
        for callee, (cost, times) in callees.items():
            before = few.calls[caller][callee] if caller in few.calls else (0, 0)
            result.add_call(caller, callee, (cost - before[0]) / keys, (times - before[1]) / keys)
    return result


def tree(profile, root, least, depth):
    """Yields (level, name, cost, own cost) of what is called from `root`, dearest first.

    A function that several call is split by its callers' shares. The server is stripped, so its
    static functions have no names: what they call stands in their place.
    """

    def callees_of(function, seen):
        for callee, (cost, _) in list(profile.calls[function].items()):
            if callee in seen:
                continue
            if callee[1].startswith("0x") and "/postgres" in (callee[0] or ""):
                whole = profile.cost_of(callee)[0]
                for inner, inner_cost in callees_of(callee, seen | {callee}):
                    yield inner, inner_cost * (cost / whole if whole else 0)
            else:
                yield callee, cost

    def visit(function, cost, level, seen):
        whole = profile.cost_of(function)[0]
        share = cost / whole if whole else 0
        yield level, function[1], cost, profile.own.get(function, 0) * share
        if level == depth:
            return
        inner = defaultdict(float)
        for callee, callee_cost in callees_of(function, seen | {function}):
            inner[callee] += callee_cost * share
        for callee, callee_cost in sorted(inner.items(), key=lambda item: -item[1]):
            if callee_cost >= least:
                yield from visit(callee, callee_cost, level + 1, seen | {function})

    for function in {callee for callees in profile.calls.values() for callee in callees}:
        if function[1] == root:
            yield from visit(function, profile.cost_of(function)[0], 0, frozenset())
