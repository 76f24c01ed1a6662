"""Figures and tables in Markdown, as all reports print them."""


def number(value, digits=0):
    return "–" if value is None else f"{value:,.{digits}f}"


def ratio(values, contender, reference):
    if reference is None or contender not in values or not values.get(reference):
        return None
    return values[contender] / values[reference]


def print_table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|---|" + "---:|" * (len(head) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def print_targets(targets):
    """Each: what, the value, the limit, whether the limit itself is allowed."""
    rows = []
    for what, value, limit, inclusive in targets:
        met = value <= limit if inclusive else value < limit
        verdict = "met" if met else f"missed by {value - limit:.3g}"
        bound = f"{'at most' if inclusive else 'below'} {limit:g}"
        rows.append((what, bound, f"{value:.4g}", verdict))
    print_table(("target", "limit", "measured", ""), rows)
