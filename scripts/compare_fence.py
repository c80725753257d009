#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a fence costs: workloads alone on the software machine, as their programs have them, with --fence and without.

    compare_fence.py CORUN [--gpu GPU] [--runs N] WORKLOAD...

Writes a table in Markdown: the median run in cycles without a fence and with one, registers, and the instructions that are added to the text of the kernels.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corun")
    parser.add_argument("--gpu", default="quadro-v100:sms=10,memory_controllers=4,l2=768K")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--kernels", default="build/data/kernels", help="where the PTX of the suite lies")
    parser.add_argument("workloads", nargs="+")
    return parser.parse_args(arguments)


def tell(arguments):
    done = subprocess.run([*arguments, "--json", "-"], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}: {done.stderr}")
    return json.loads(done.stdout)


def median_run(options, workload, more):
    command = [options.corun, "run", "-m", "software", "--launching", "whole", "--runs", str(options.runs), "-g", options.gpu, "--no-cache", "--check"]
    row = tell([*command, *more, workload])["applications"][0]
    if row["status"] != "OK" or row["wrong_runs"]:
        sys.exit(f"{workload}: {row['failure'] or 'its results are wrong'}")
    return row["run_cycles"]["median"]


def texts(options, workload):
    folder = os.path.join(options.kernels, workload.split("@")[0])
    files = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".ptx")]
    return [kernel for file in tell([options.corun, "rewrite", "fence", *files])["files"] for kernel in file["kernels"]]


def main(arguments):
    options, costs = parse(arguments), []
    print("| workload | cycles | with a fence | | registers | then | instructions more in the text |\n|---|--:|--:|--:|--:|--:|--:|")
    for workload in options.workloads:
        kernels = texts(options, workload)
        plain, fenced = (median_run(options, workload, more) for more in ((), ("--fence",)))
        costs.append(fenced / plain - 1)
        before, after = (max(kernel[name] for kernel in kernels) for name in ("registers", "registers_rewritten"))
        print(f"| {workload} | {plain} | {fenced} | {100 * costs[-1]:+.1f} % | {before} | {after} | {sum(kernel['instructions_added'] for kernel in kernels)} |",
              flush=True)
    print(f"\nMedian {100 * statistics.median(costs):+.1f} %, worst {100 * max(costs):+.1f} %.")


if __name__ == "__main__":
    main(sys.argv[1:])
