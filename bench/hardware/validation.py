#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kernels of a Volta beside published cycles and traffic of memory (published/v100-kernels.csv): the table of docs/fidelity.md.

    nvcc -std=c++17 -arch=compute_75 -o validation validation.cu
    validation.py CORUN validation [--overrides l2_dirty_ways=0] [KERNEL...]

Each kernel is a process of its own under `corun exec`, so the L2 is cold as it was there. nvcc 13 writes no PTX for compute capability 7.0: the
simulated V100 says that it is a 7.5, which changes nothing else. Clocks are those of the measurement. The halves are by the rule of fidelity.py.
"""
import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile

from fidelity import deciding, summary

PUBLISHED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "published", "v100-kernels.csv")
CLOCKS = "".join(f",{name}_clock_khz=1417000" for name in ("core", "icnt", "l2"))


def rows():
    with open(PUBLISHED, encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def simulate(corun, program, kernel, overrides):
    """The launch's row of the JSON."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        gpu = "quadro-v100:compute_capability=75" + CLOCKS + (overrides and "," + overrides)
        done = subprocess.run([corun, "exec", "--gpu", gpu, "--json", report.name, "--", program, kernel], capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{kernel}: {done.stderr.strip()}")
        return json.load(open(report.name, encoding="utf-8"))["launches"][-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corun")
    parser.add_argument("program")
    parser.add_argument("kernels", nargs="*")
    parser.add_argument("--overrides", default="")
    arguments = parser.parse_args()
    published = rows()
    half = deciding([row["kernel"] for row in published])
    pairs = {"decides": [], "reported": []}
    print("| kernel | half | cycles: published | ours | over | sectors of the L2, over | DRAM reads, over | DRAM writes, over |\n|---|---|--:|--:|--:|--:|--:|--:|")
    for row in published:
        if arguments.kernels and row["kernel"] not in arguments.kernels:
            continue
        launch = simulate(arguments.corun, os.path.abspath(arguments.program), row["kernel"], arguments.overrides)
        counters, which = launch["counters"], "decides" if row["kernel"] in half else "reported"
        cycles, hardware = launch["cycles"], float(row["cycles"])
        pairs[which].append((hardware, cycles))
        traffic = ((counters["l2_accesses"], float(row["l2_reads"]) + float(row["l2_writes"])),
                   (counters["dram_read_bytes"] / 32, float(row["dram_reads"])), (counters["dram_write_bytes"] / 32, float(row["dram_writes"])))
        ratios = " | ".join(f"{ours / theirs:.2f}" if theirs > 5000 else "–" for ours, theirs in traffic)
        print(f"| {row['kernel']} | {which} | {hardware:.0f} | {cycles} | {cycles / hardware:.2f} | {ratios} |", flush=True)
    print()
    for name in pairs:
        summary(f"half that {name}", pairs[name])
    summary("all", pairs["decides"] + pairs["reported"])


if __name__ == "__main__":
    main()
