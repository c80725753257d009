#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A simulated GPU beside what real_gpu.py measured on the real one: the tables of docs/fidelity.md, "Programs on an H100".

    beside_hardware.py CORUN h100 results/h100.csv [--sizes small,medium] [--overrides l2_latency=200] [--save runs.csv] [WORKLOAD...]
    beside_hardware.py CORUN h100 results/h100.csv --registers

Times are microseconds of one run, all its launches together; events of the driver enclose each launch, so a launch costs both sides
something: the simulated time is that of the kernels and of `profiled_launch_cycles` for each launch, or of what an empty kernel was
measured to take between two events (--launch-us). The workloads are in two halves by
the rule of fidelity.py: their names in the order of their SHA-256, every other one decides.
"""
import argparse
import csv
import json
import os
import subprocess
import sys

import fidelity
import simulated

RUN = "(run)"


def hardware_rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def simulate(corun, gpu, workload, cache, runs=1):
    """The application's report of so many runs; kept in `cache`-`runs` if there is one. None where the simulation does not end well."""
    cache = f"{cache}-{runs}" if cache else None
    path = os.path.join(cache, f"{workload}.json") if cache else None
    if path and os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            return json.load(file)["applications"][0]
    run = subprocess.run([corun, "run", "--quiet", "--json=-", "--no-cache", "--no-baselines", f"--runs={runs}", f"--gpu={gpu}", workload],
                         check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if run.returncode:
        print(f"{workload}: {run.stderr.strip()}", file=sys.stderr)
        return None
    if path:
        os.makedirs(cache, exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(run.stdout)
    return json.loads(run.stdout)["applications"][0]


def one_run(options, gpu, workload):
    """{kernel: its counters in the first run, or in the second one}: the L2 is empty before the first, and warm before the second."""
    reports = [simulate(options.corun, gpu, workload, options.cache, runs) for runs in ((1, 2) if options.warm else (1,))]
    if None in reports:
        return None
    kernels = {}
    for factor, report in zip((-1, 1) if options.warm else (1,), reports):
        for kernel in report["kernels"]:
            sums = kernels.setdefault(kernel["name"], {"cycles": 0, "profiled_cycles": 0, "launches": 0})
            for key in sums:
                sums[key] += factor * kernel[key]
    return kernels


def times(kernels, mhz, launch_us):
    """Of each kernel: microseconds of all its launches, with what launches cost, and without."""
    def with_launches(kernel):
        return kernel["profiled_cycles"] / mhz if launch_us is None else kernel["cycles"] / mhz + launch_us * kernel["launches"]
    return {name: (with_launches(kernel), kernel["cycles"] / mhz) for name, kernel in kernels.items()}


def by_kernel(rows):
    """Microseconds of a run in each kernel, whatever the shapes of its launches."""
    sums = {}
    for row in rows:
        if row["kernel"] != RUN:
            sums[row["kernel"]] = sums.get(row["kernel"], 0) + float(row["run_us"])
    return sums


def collect(options, rows):
    """One record for each run and each kernel that both sides have."""
    mhz = simulated.value(options.gpu, "core_clock_khz")
    gpu = options.gpu + (":" + options.overrides if options.overrides else "")
    first = fidelity.deciding({row["workload"] for row in rows})
    for workload, size in dict.fromkeys((row["workload"], row["size"]) for row in rows):
        if size not in options.sizes.split(",") or (options.names and workload not in options.names):
            continue
        kernels = one_run(options, gpu, f"{workload}@{size}")
        if kernels is None:
            continue
        ours = times(kernels, mhz, options.launch_us)
        mine = [row for row in rows if (row["workload"], row["size"]) == (workload, size)]
        total = next(row for row in mine if row["kernel"] == RUN)
        common = {"workload": workload, "size": size, "half": "decides" if workload in first else "reported"}
        yield dict(common, kernel=RUN, launches=int(total["launches"]), hardware_us=float(total["run_us"]),
                   simulated_us=sum(t for t, _ in ours.values()), without_launches_us=sum(t for _, t in ours.values()))
        for kernel, taken in by_kernel(mine).items():
            if kernel in ours:
                yield dict(common, kernel=kernel, launches=sum(int(r["launches"]) for r in mine if r["kernel"] == kernel),
                           hardware_us=taken, simulated_us=ours[kernel][0], without_launches_us=ours[kernel][1])


def summaries(records, what):
    for sizes in sorted({r["size"] for r in records}), ["all"]:
        for size in sizes:
            for half in ("decides", "reported"):
                pairs = [(r["hardware_us"], r["simulated_us"]) for r in records if r["half"] == half and size in (r["size"], "all")]
                fidelity.summary(f"{what}, {size}, half that {half}", pairs)


def registers(options, rows):
    """What the driver's compiler gives a thread, beside our count of the machine code and of PTX as it is written."""
    print("| kernel | driver | machine code | PTX as it is | thread blocks per SM: driver | machine code |\n|---|--:|--:|--:|--:|--:|")
    ratios = []
    for workload in dict.fromkeys(row["workload"] for row in rows):
        mine = [row for row in rows if row["workload"] == workload and row["kernel"] != RUN]
        reports = [simulate(options.corun, gpu, f"{workload}@{mine[0]['size']}", None) for gpu in (options.gpu, f"{options.gpu}:machine_code=0")]
        if None in reports:
            continue
        for kernel in dict.fromkeys(row["kernel"] for row in mine):
            row = next(r for r in mine if r["kernel"] == kernel)
            ours = [next((k for k in report["kernels"] if k["name"] == kernel), None) for report in reports]
            if None in ours:
                continue
            ratios.append(ours[0]["registers_per_thread"] / int(row["registers"]))
            print(f"| {workload}: {kernel} | {row['registers']} | {ours[0]['registers_per_thread']} | {ours[1]['registers_per_thread']} | "
                  f"{row['tbs_per_sm']} | {ours[0]['tbs_per_sm']} |", flush=True)
    if ratios:
        print(f"\n* {len(ratios)} kernels: ours over the driver's {sum(ratios) / len(ratios):.2f} in the mean, {min(ratios):.2f} to {max(ratios):.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corun")
    parser.add_argument("gpu")
    parser.add_argument("results")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--sizes", default="small,medium")
    parser.add_argument("--overrides", default="")
    parser.add_argument("--warm", action="store_true", help="the simulated run is one after another of the same: for rows of `real_gpu.py --before warm`")
    parser.add_argument("--launch-us", type=float, help="what the driver's events say of an empty kernel; in place of profiled_launch_cycles")
    parser.add_argument("--cache", help="directory that keeps the reports of simulations")
    parser.add_argument("--save", help="write the records to this file of CSV")
    parser.add_argument("--registers", action="store_true")
    options = parser.parse_intermixed_args()
    rows = hardware_rows(options.results)
    if options.registers:
        return registers(options, [row for row in rows if row["size"] == options.sizes.split(",", maxsplit=1)[0]])
    records = []
    print("| program | half | launches | hardware, us | simulated, us | simulated / hardware | without launches |\n|---|---|--:|--:|--:|--:|--:|")
    for r in collect(options, rows):
        records.append(r)
        if r["kernel"] == RUN:
            print(f"| {r['workload']}@{r['size']} | {r['half']} | {r['launches']} | {r['hardware_us']:.1f} | {r['simulated_us']:.1f} | "
                  f"{r['simulated_us'] / r['hardware_us']:.2f} | {r['without_launches_us'] / r['hardware_us']:.2f} |", flush=True)
    print()
    summaries([r for r in records if r["kernel"] == RUN], "runs")
    summaries([r for r in records if r["kernel"] != RUN], "kernels")
    if options.save and records:
        with open(options.save, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, records[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(records)
    return 0


if __name__ == "__main__":
    sys.exit(main())
