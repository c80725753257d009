#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Simulated GPUs beside what is known of real ones.

    simulated.py CORUN hardware [-g GPU] [WORKLOAD...]   cycles beside those published for a Quadro V100 (published/v100-cycles.csv);
                                                   GPU: quadro-v100 with overrides; the workloads of the file: all of them
    simulated.py CORUN peaks GPU...                      single precision throughput and DRAM bandwidth reached (peaks.cu; needs clang)
    simulated.py CORUN suite GPU...                      cycles of every workload of the suite in size small, on each GPU

Prints rows of Markdown tables. The published programs are those of the suite, in their size v100. All of it takes some
fifteen minutes of one processor: 550 million warp instructions are simulated.

2mm at its whole size would take an hour. It is run with the rows of one and of two waves of thread blocks instead (a wave: as many as
the GPU holds at a time). Each further wave does the same with other rows of the left matrix and the same right matrix, so its
cycles are taken to be the difference of the two runs: cycles(rows) = first + (rows / wave rows - 1) * (second - first).
"""
import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

# Of workload: the parameter that counts rows, its value, and the thread blocks of eight rows.
BY_WAVES = {"2mm@v100": ("ni", 2048, 64)}


def compile_peaks(folder):
    ptx = os.path.join(folder, "peaks.ptx")
    subprocess.run(["clang-14", "-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "--cuda-path=/nonexistent",
                    "-S", "-O3", "-std=c++14", "-ffp-contract=on", "-fdeclspec", "--cuda-gpu-arch=sm_52", "-Xclang",
                    "-target-feature", "-Xclang", "+ptx63", "-include", os.path.join(ROOT, "kernels/include/device.h"),
                    "-o", ptx, os.path.join(HERE, "peaks.cu")], check=True)
    return ptx


def command_output(command):
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def launch(corun, gpu, ptx, kernel, grid, block, arguments):
    return command_output([corun, "launch", "--quiet", "--json=-", f"--gpu={gpu}", f"--kernel={kernel}", f"--grid={grid}",
                           f"--block={block}"] + [f"--arg={argument}" for argument in arguments] + [ptx])


def value(gpu, name):
    """A parameter of a configuration file of ours, as a number in the table's unit."""
    with open(os.path.join(ROOT, f"configs/gpu/{gpu}.yaml"), encoding="utf-8") as file:
        for line in file:
            if line.startswith(f"  {name}: "):
                text = line.split("value: ")[1].split(",")[0]
                return {"true": 1, "false": 0}.get(text) or float(text)
    raise SystemExit(f"{gpu}: no {name}")


def run_once(corun, gpu, workload):
    """Of the one application of the report: cycles of one whole run."""
    report = command_output([corun, "run", "--quiet", "--json=-", "--no-baselines", "--runs=1", f"--gpu={gpu}", workload])
    return report["applications"][0]


def by_waves(corun, gpu, workload):
    """Cycles at full size, from one wave and from two, and how that was calculated."""
    parameter, rows, tbs_per_eight_rows = BY_WAVES[workload]
    resident = int(value(gpu.split(":")[0], "sms")) * run_once(corun, gpu, f"{workload},{parameter}=8")["kernels"][0]["tbs_per_sm"]
    if resident % tbs_per_eight_rows:
        raise SystemExit(f"{workload}: {resident} thread blocks on the GPU are no whole number of rows")
    wave = 8 * resident // tbs_per_eight_rows
    first, second = (run_once(corun, gpu, f"{workload},{parameter}={n * wave}")["first_run_cycles"] for n in (1, 2))
    return round(first + (rows / wave - 1) * (second - first)), f"{first} + {rows / wave - 1:.1f} * {second - first}"


def published():
    with open(os.path.join(HERE, "published/v100-cycles.csv"), encoding="utf-8") as file:
        return {row["workload"]: row for row in csv.DictReader(line for line in file if not line.startswith("#"))}


def hardware(corun, gpu, wanted):
    rows, errors = published(), []
    for workload in wanted or rows:
        measured = int(rows[workload]["cycles"])
        if workload in BY_WAVES:
            cycles, how = by_waves(corun, gpu, workload)
        else:
            report = run_once(corun, gpu, workload)
            cycles = report["first_run_cycles"]
            parts = [kernel["cycles"] for kernel in report["kernels"]]
            how = " + ".join(map(str, parts)) if len(parts) > 1 else ""
        errors.append(abs(cycles / measured - 1))
        print(f"| {workload} | {measured} | {cycles} | {cycles / measured:.2f} | {how} |", flush=True)
    print(f"mean absolute error of {len(errors)}: {100 * sum(errors) / len(errors):.1f} %")


def difference(corun, gpu, ptx, kernel, tbs, arguments, steps):
    """Cycles between a run of `steps` and one of twice as many, which leaves start and end out."""
    runs = [launch(corun, gpu, ptx, kernel, tbs, 256, [a.format(steps=s) for a in arguments]) for s in (steps, 2 * steps)]
    return runs[1]["cycles"] - runs[0]["cycles"]


def peaks(corun, ptx, gpu):
    sms, clock = int(value(gpu, "sms")), value(gpu, "core_clock_khz") * 1e6
    tbs = sms * int(min(value(gpu, "tbs_per_sm"), value(gpu, "threads_per_sm") // 256))
    cycles = difference(corun, gpu, ptx, "multiply_adds", tbs, [f"buf={4 * 256 * tbs}", "i32={steps}", "f32=0.5"], 256)
    flops = tbs * 256 * 256 * 16 / cycles * clock
    words = 64
    cycles = difference(corun, gpu, ptx, "stream_read", tbs,
                        [f"buf={4 * 256 * tbs * 2 * words}", f"buf={4 * 256 * tbs}", "i32={steps}"], words)
    print(f"| {gpu} | {flops / 1e9:.0f} | {tbs * 256 * words * 4 / cycles * clock / 1e9:.1f} |", flush=True)


def suite(corun, gpus):
    """A row for each workload: cycles of one run, or why there are none."""
    listed = subprocess.run([corun, "list", "workloads"], check=True, stdout=subprocess.PIPE, text=True).stdout
    print("| | " + " | ".join(gpus) + " |\n|---|" + "--:|" * len(gpus))
    for name in [line.split()[0] for line in listed.splitlines()[2:]]:
        cells = []
        for gpu in gpus:
            run = subprocess.run([corun, "run", "--quiet", "--json=-", "--no-cache", "--no-baselines", "--runs=1", "--gpu", gpu,
                                  f"{name}@small"], check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            cells.append(str(json.loads(run.stdout)["cycles"]) if run.returncode == 0 else
                         {7: "LIMIT"}.get(run.returncode, f"status {run.returncode}"))
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corun")
    parser.add_argument("what", choices=["hardware", "peaks", "suite"])
    parser.add_argument("-g", "--gpu", default="quadro-v100")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_intermixed_args()
    if arguments.what == "hardware":
        unknown = set(arguments.names) - set(published())
        if unknown:
            parser.error(f"not in published/v100-cycles.csv: {', '.join(sorted(unknown))}")
        hardware(arguments.corun, arguments.gpu, arguments.names)
        return
    if arguments.what == "suite":
        suite(arguments.corun, arguments.names)
        return
    with tempfile.TemporaryDirectory() as folder:
        ptx = compile_peaks(folder)
        for gpu in arguments.names:
            peaks(arguments.corun, ptx, gpu)


if __name__ == "__main__":
    sys.exit(main())
