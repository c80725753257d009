#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the same cases with two builds of the command and compares what they print, byte for byte apart from wall time.

    compare_runs.py BUILD OTHER_BUILD

Ends with 77 (skipped) if the other build is not there.
"""
import os
import re
import subprocess
import sys
import tempfile

# Small, and between them: every workload, both policies, several threads, another GPU.
CASES = [
    ["run", "--gpu", "gtx980:sms=4", "--policy", "even", "--cycles", "20K", "sgemm@small", "lbm@small"],
    ["run", "--gpu", "gtx980:sms=4", "--policy", "even", "--cycles", "20K", "spmv@small:goal=90%", "mri-q@small"],
    ["run", "--gpu", "tesla-c2050:sms=4", "--policy", "cooperative", "--cycles", "20K", "stencil@small",
     "histogram@small"],
    ["run", "--gpu", "quadro-fx5800:sms=4", "--policy", "even", "--cycles", "20K", "lbm@small", "stencil@small"],
]
TIMES = re.compile(r'("(?:wall_seconds|warp_instructions_per_second)": *)[-+0-9.eE]+')


def run(build, case, home):
    """JSON text of one run, times blanked. Each build has its own cache: a baseline must be computed, not handed on."""
    cache = os.path.join(home, re.sub(r"\W", "_", os.path.abspath(build)))
    environment = {**os.environ, "XDG_CACHE_HOME": cache, "HOME": cache}
    result = subprocess.run([os.path.join(build, "corun"), *case, "--json", "-", "--quiet"], capture_output=True, text=True,
                            env=environment, check=False)
    if result.returncode != 0:
        raise SystemExit(f"{build}/corun {' '.join(case)} ended with {result.returncode}:\n{result.stderr}")
    if not TIMES.search(result.stdout):
        raise SystemExit(f"{build}/corun {' '.join(case)}: no wall_seconds in its JSON:\n{result.stdout[:1000]}")
    return TIMES.sub(r"\1?", result.stdout)


def main(arguments):
    if len(arguments) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    first, second = arguments
    if not os.path.exists(os.path.join(second, "corun")):
        print(f"skipped: there is no {second}/corun (make check builds it)")
        return 77
    different = 0
    with tempfile.TemporaryDirectory() as home:
        for case in CASES:
            left, right = run(first, case, home), run(second, case, home)
            print("same  " if left == right else "DIFFER", " ".join(case))
            if left != right:
                different += 1
                pairs = zip(left.splitlines(), right.splitlines())
                for number, (a, b) in enumerate(pairs, 1):
                    if a != b:
                        print(f"  line {number}:\n    {a[:300]}\n    {b[:300]}")
                        break
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
