#!/usr/bin/python3
"""Prints the errors of a valgrind XML report that have a frame of one shared object in their stacks.

    valgrind_report.py REPORT OBJECT

Exits with 1 if there is one, or if the report was cut off. The server's own errors (it is not built
for valgrind) are counted only.
"""

import sys
import xml.etree.ElementTree as ElementTree


def main():
    report, shared_object = sys.argv[1:]
    try:
        errors = ElementTree.parse(report).getroot().findall("error")
    except ElementTree.ParseError as fault:
        sys.exit(f"the report of valgrind is not whole: {fault}")
    ours = [
        error
        for error in errors
        if any((f.findtext("obj") or "").endswith("/" + shared_object) for f in error.iter("frame"))
    ]
    for error in ours:
        print(error.findtext("what") or error.findtext("xwhat/text"))
        for frame in error.iter("frame"):
            place = frame.findtext("file") or frame.findtext("obj")
            print(f"    {frame.findtext('fn')} ({place}:{frame.findtext('line') or '?'})")
    print(f"{len(ours)} errors of {shared_object}, {len(errors) - len(ours)} of others")
    sys.exit(1 if ours else 0)


if __name__ == "__main__":
    main()
