#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The command starts without the libraries that only learning needs (src/model/library.h): check_start.py OBJDUMP COMMAND."""
import re
import subprocess
import sys

LEARNING = ("lapacke", "lapack", "blas", "doublefann", "svm", "gfortran", "stdc++")


def main():
    objdump, command = sys.argv[1:]
    headers = subprocess.run([objdump, "-p", command], capture_output=True, text=True, check=True).stdout
    needed = re.findall(r"NEEDED\s+lib(\S+?)\.so", headers)
    if "c" not in needed:
        sys.exit(f"{command}: no library is named: {needed}")
    bound = [name for name in needed if name in LEARNING]
    if bound:
        sys.exit(f"{command} binds at its start what only learning needs: {', '.join(bound)}")


if __name__ == "__main__":
    main()
