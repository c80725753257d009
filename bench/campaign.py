#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How many cases of a campaign run in an hour here, and what a sweep of 900 cases under four policies would take.

    bench/campaign.py [CORUN] [--cycles 200K] [--jobs 2] [--size large] [--gpu gtx980] [--results FILE] [WORKLOAD...]

Every pair of the workloads (default: six) under four policies, and each workload alone: 66 cases. Baselines are computed
anew. Two rates are printed: by the clock, and by the processor time that was used, so that other work on the machine
counts less. The second one is what the estimates are made from. --cycles 2M measures the window of the papers instead.
"""

import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

POLICIES = ("left-over", "cooperative", "even", "even:exclusive=off")
WORKLOADS = ("sgemm", "mri-q", "lbm", "spmv", "stencil", "histogram")
SWEEP_CASES = 900
SWEEP_CYCLES = 2_000_000


def number(text):
    factor = {"K": 1_000, "M": 1_000_000, "G": 1_000_000_000}.get(text[-1:].upper(), 1)
    return int(text[:-1] if factor > 1 else text) * factor


def duration(seconds):
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.1f} min"


def query(corun, results, text):
    lines = subprocess.run([corun, "query", "--csv", "-r", results, text], stdout=subprocess.PIPE, text=True,
                           check=True).stdout.splitlines()
    return [line.split(",") for line in lines[1:]]


def measure(corun, options, folder):
    """(wall seconds, processor seconds) of a campaign from nothing; exits if a case fails."""
    description = {"name": "bench", "gpus": [options.gpu], "policies": list(POLICIES),
                   "workloads": options.workloads or list(WORKLOADS), "size": options.size, "cycles": str(number(options.cycles)),
                   "mixes": [{"size": "2"}]}
    campaign = folder / "campaign.yaml"
    campaign.write_text(json.dumps(description)) # which is YAML, too
    results = options.results or str(folder / "results.db")
    if pathlib.Path(results).exists():
        sys.exit(f"{results} is there already: what is in it would not be run again")
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run([corun, "campaign", "-r", results, "--jobs", str(options.jobs), "--cache", str(folder / "cache"),
                           "--quiet", str(campaign)], check=False)
    wall, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(done.returncode)
    failed = query(corun, results, "SELECT applications, message FROM cases WHERE status <> 'finished'")
    if failed:
        sys.exit(f"{len(failed)} cases failed: {failed[0]}")
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    cases = int(query(corun, results, "SELECT count(*) FROM cases")[0][0])
    return cases, wall, processor


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("corun", nargs="?", default="build/corun")
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD")
    parser.add_argument("--cycles", default="200K")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--size", default="large")
    parser.add_argument("--gpu", default="gtx980")
    parser.add_argument("--results", metavar="FILE", help="keep the results in this file")
    options = parser.parse_intermixed_args()
    with tempfile.TemporaryDirectory(prefix="corun-bench-") as folder:
        cases, wall, processor = measure(options.corun, options, pathlib.Path(folder))
    by_processor = processor / options.jobs
    print(f"{cases} cases of {options.cycles} cycles on {options.gpu}, {options.jobs} workers: {wall:.0f} s by the clock, "
          f"{processor:.0f} s of processor time")
    print(f"cases per hour: {cases * 3600 / wall:.0f} by the clock; {cases * 3600 / by_processor:.0f} with "
          f"{options.jobs} processors free")
    sweep = SWEEP_CASES * len(POLICIES) * by_processor / cases * SWEEP_CYCLES / number(options.cycles)
    how = "as measured" if number(options.cycles) == SWEEP_CYCLES else "if the time grows with the window"
    print(f"{SWEEP_CASES} cases under {len(POLICIES)} policies at 2M cycles: {duration(sweep)} ({how}; "
          f"{SWEEP_CASES * len(POLICIES)} runs)")


if __name__ == "__main__":
    main()
