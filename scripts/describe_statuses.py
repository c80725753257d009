#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the exit statuses of include/corun/status.h into docs/corun.1, or with --check says whether they are current.

    describe_statuses.py ROOT [--check]
"""
import os
import re
import sys

BEGIN, END = '.\\" exit statuses: made from CORUN_STATUSES by scripts/describe_statuses.py\n', '.\\" end of exit statuses\n'


def main(arguments):
    if not arguments or arguments[1:] not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    with open(os.path.join(arguments[0], "include/corun/status.h"), encoding="utf-8") as file:
        rows = re.findall(r'\bS\(\w+, (\d+), "([^"]*)"\)', file.read())
    path = os.path.join(arguments[0], "docs/corun.1")
    with open(path, encoding="utf-8") as file:
        page = file.read()
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    made = before + BEGIN + "".join(f".It {status}\n{meaning}\n" for status, meaning in rows) + END + after
    if not rows or arguments[1:] == ["--check"] and made != page:
        print(f"{path}: not current; run scripts/describe_statuses.py {arguments[0]}")
        return 1
    with open(path, "w", encoding="utf-8") as file:
        file.write(made)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
