#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Error and speed of sampled simulation: each workload once in full and three times sampled.

    bench/sampling.py build/corun                       the rows of ROWS
    bench/sampling.py --long build/corun                those of LONG; --larger: of LARGER
    bench/sampling.py build/corun 2dconv@large lbm@large    these
    bench/sampling.py build/corun "build/tests/cuda/programs/heat"    a CUDA program with its arguments, by corun exec
    bench/sampling.py --options error=1%,every=32 ...   sampled so
    bench/sampling.py --markdown ...                    as a table of a page

Speed is CPU time of the whole command, with reading the workload and making its data; of the sampled runs, which are short, the middle one. A row says what it reached: at most 3 % error on
total cycles, at least 10 times the speed.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile

ERROR, SPEED = 0.03, 10

# Long runs of the suite with launches that are short and many, or one that is long; then runs that are too short to gain.
ROWS = ["jacobi@small,steps=600", "pathfinder@medium,columns=8000,rows=6000", "spmv@small,repeats=400", "lbm@small,steps=400",
        "stencil@small,steps=400", "hotspot@medium,columns=192,rows=192,steps=600", "cg@small,steps=120", "vector-add@large", "2dconv@large",
        "3dconv@medium", "black-scholes@medium", "sgemm@medium"]

# Long as docs/sampling.md has the word, in the settings that take seconds.
LONG = ["black-scholes@small,repeats=120", "histogram@small,images=120", "stencil@small,nx=96,ny=96,steps=150",
        "ray-tracing@small,frames=120", "dvc@small,frames=120", "cp@small,atoms=3840",
        "pathfinder@small,rows=3600", "3dconv@small,ni=200", "sha1@small,blocks=120",
        "hotspot@small,steps=300", "lbm@small,ny=16,nz=8,steps=120", "cg@small,n=400,steps=100",
        "tea@medium,bytes=20000000", "fractal-flame@small,batches=120"]

# More launches of those whose runs of a second are held up by the launches that are timed at least.
LARGER = ["3dconv@small,ni=800", "cp@small,atoms=30720", "sha1@small,blocks=480", "ray-tracing@small,frames=480", "dvc@small,frames=480",
          "fractal-flame@small,batches=480", "pathfinder@small,rows=28800", "cg@small,n=400,steps=400", "tea@medium,bytes=80000000",
          "lbm@small,ny=16,nz=8,steps=480", "lbm@small,ny=16,nz=8,steps=960"]


def run(corun, workload, options, folder):
    """The result of one run, and its CPU seconds."""
    path = os.path.join(folder, "result.json")
    program = "/" in workload.split()[0]
    words = [corun, "run", workload, "--no-cache", "--runs", "1", "--quiet", "--console", "none", "--json", path] + options
    if program:
        words = [corun, "exec", "--quiet", "--json", path] + options + ["--"] + workload.split()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, stdout=subprocess.DEVNULL, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: status {done.returncode}")
    with open(path, encoding="utf-8") as file:
        result = json.load(file)
    if program:
        result["cycles"] = sum(launch["cycles"] for launch in result["launches"])
    return result, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def verdict(error, speed):
    reached = abs(error) <= ERROR, speed >= SPEED
    return {(True, True): "both", (True, False): "error", (False, True): "speed", (False, False): "neither"}[reached]


def row_of(workload, full, full_seconds, sampled, sampled_seconds):
    sampling = sampled["sampling"]
    error = sampled["cycles"] / full["cycles"] - 1
    speed = full_seconds / sampled_seconds
    margin = sampling["cycles_margin"] / sampling["cycles"] if sampling["cycles"] else 0
    share = sampling["warp_instructions_timed"] / max(sampling["warp_instructions"], 1)
    return [workload, str(sampling["launches"]), f"{full['cycles']}", f"{sampled['cycles']}", f"{error * 100:+.2f} %",
            f"± {margin * 100:.2f} %", f"{share * 100:.1f} %", f"{full_seconds:.2f} s", f"{speed:.1f}", verdict(error, speed)]


TITLES = ["workload", "launches", "full cycles", "estimated", "error", "95 %", "instr. timed", "full", "speed-up", "reached"]


def line(cells, widths, markdown):
    if markdown:
        return "| " + " | ".join(cells) + " |"
    return "  ".join(cell.ljust(width) if i == 0 else cell.rjust(width) for i, (cell, width) in enumerate(zip(cells, widths)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corun")
    parser.add_argument("workloads", nargs="*")
    parser.add_argument("--gpu", default="gtx980")
    parser.add_argument("--options", default="")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--larger", action="store_true")
    arguments = parser.parse_args()
    workloads = arguments.workloads or (LONG if arguments.long else LARGER if arguments.larger else ROWS)
    names = [os.path.basename(workload.split()[0]) if "/" in workload else workload for workload in workloads]
    widths = [max(max(len(name) for name in names), 8)] + [max(len(title), 9) for title in TITLES[1:]]
    print(line(TITLES, widths, arguments.markdown))
    if arguments.markdown:
        print("|---|" + "--:|" * (len(TITLES) - 2) + "---|")
    sample = "--sample" + (f"={arguments.options}" if arguments.options else "")
    with tempfile.TemporaryDirectory() as folder:
        for name, workload in zip(names, workloads):
            gpu = ["--gpu", arguments.gpu]
            full, full_seconds = run(arguments.corun, workload, gpu, folder)
            runs = [run(arguments.corun, workload, gpu + [sample], folder) for _ in range(3)]
            sampled, sampled_seconds = sorted(runs, key=lambda done: done[1])[1]
            print(line(row_of(name, full, full_seconds, sampled, sampled_seconds), widths, arguments.markdown))
            sys.stdout.flush()


if __name__ == "__main__":
    main()
