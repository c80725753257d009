#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What several runners of one campaign on one results file save: how many cases each has run, and how long all took.

    bench/runners.py [CORUN] [--runners 1,2] [--cycles 200K] [--gpu gtx980] [--size small] [WORKLOAD...]

Every pair of the workloads (default: three), also of one with itself, under four policies, and each workload alone: 27
cases. Each runner has one worker. Baselines are computed anew. Processor time is that of all runners with their workers:
what was run twice would show there, whatever else the machine does.
"""

import argparse
import json
import pathlib
import re
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time

POLICIES = ("left-over", "cooperative", "even", "smk")
WORKLOADS = ("sgemm", "lbm", "spmv")


def measure(options, count):
    """(cases run by each, wall seconds, processor seconds) of so many runners that begin together."""
    with tempfile.TemporaryDirectory(prefix="corun-bench-") as folder:
        folder = pathlib.Path(folder)
        description = {"name": "bench", "gpus": [options.gpu], "policies": list(POLICIES),
                       "workloads": options.workloads or list(WORKLOADS), "size": options.size, "cycles": options.cycles,
                       "mixes": [{"size": "2", "repeated": "true"}]}
        (folder / "bench.yaml").write_text(json.dumps(description)) # which is YAML, too
        before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        runners = [subprocess.Popen([options.corun, "campaign", "--jobs", "1", "-r", str(folder / "results.db"), "--cache",
                                     str(folder / "cache"), str(folder / "bench.yaml")], stdout=subprocess.PIPE, text=True)
                   for _ in range(count)]
        said = [runner.communicate()[0] for runner in runners]
        wall, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
        if any(runner.returncode for runner in runners):
            sys.exit("a runner failed")
        database = sqlite3.connect(folder / "results.db")
        finished = database.execute("SELECT count(*) FROM cases WHERE status = 'finished'").fetchone()[0]
        database.close()
    run = [int(re.search(r"(\d+) run", text)[1]) for text in said]
    return finished, run, wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("corun", nargs="?", default="build/corun")
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD")
    parser.add_argument("--runners", default="1,2", help="numbers of runners")
    parser.add_argument("--cycles", default="200K")
    parser.add_argument("--gpu", default="gtx980")
    parser.add_argument("--size", default="small")
    options = parser.parse_intermixed_args()
    print("runners  cases  run by each           twice  by the clock  processor time")
    for count in map(int, options.runners.split(",")):
        finished, run, wall, processor = measure(options, count)
        print(f"{count:7}  {finished:5}  {' + '.join(map(str, run)):20}  {sum(run) - finished:5}  {wall:10.1f} s  {processor:12.1f} s",
              flush=True)


if __name__ == "__main__":
    main()
