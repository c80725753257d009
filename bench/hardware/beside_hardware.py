#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A simulated GPU beside what real_gpu.py measured on the real one: the tables of docs/fidelity.md, "Programs on an H100".

    beside_hardware.py CORUN h100 results/h100.csv [--sizes small,medium] [--overrides l2_latency=200] [--save runs.csv] [WORKLOAD...]
    beside_hardware.py CORUN h100 results/h100.csv --registers

Times are microseconds of one run, all its launches together; events of the driver enclose each launch, so a launch costs both sides
something: the simulated time is that of the kernels and of `profiled_launch_cycles` for each launch, or of what an empty kernel was
measured to take between two events (--launch-us; the first of a stream that was closed is not in the shadow of one before and has its own,
--first-launch-us). With --warm the simulated GPU runs `real_gpu.py --before warm` itself, so that its L2 is as the real one's. The workloads are in two halves by
the rule of fidelity.py: their names in the order of their SHA-256, every other one decides.
"""
import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile

import fidelity
import real_gpu
import simulated

RUN = "(run)"


def hardware_rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def simulate(corun, gpu, workload, cache):
    """The application's report of one run; kept in `cache` if there is one. None where the simulation does not end well."""
    path = os.path.join(cache, f"{workload}.json") if cache else None
    if path and os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            return json.load(file)["applications"][0]
    run = subprocess.run([corun, "run", "--quiet", "--json=-", "--no-cache", "--no-baselines", "--runs=1", f"--gpu={gpu}", workload],
                         check=False, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if run.returncode:
        print(f"{workload}: {run.stderr.strip()}", file=sys.stderr)
        return None
    if path:
        os.makedirs(cache, exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(run.stdout)
    return json.loads(run.stdout)["applications"][0]


def cold_run(options, gpu, workload):
    report = simulate(options.corun, gpu, workload, options.cache)
    return report and {kernel["name"]: {key: kernel[key] for key in ("cycles", "profiled_cycles", "launches")} for kernel in report["kernels"]}


def value(options, name):
    """Of the configuration, or of the overrides."""
    given = dict(pair.split("=") for pair in options.overrides.split(",") if pair)
    return int(given[name]) if name in given else simulated.value(options.gpu, name)


def warm_run(options, gpu, workload):
    """As the real one ran: its buffers are written, read once by all SMs, and the launches wait behind a gate until all are there."""
    mhz, each = simulated.value(options.gpu, "core_clock_khz"), value(options, "profiled_launch_cycles")
    with tempfile.TemporaryDirectory() as folder:
        export, path = os.path.join(folder, "export"), os.path.join(folder, "rows.csv")
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "real_gpu.py")
        for command in ([options.corun, "export", workload, export],
                        [options.corun, "exec", "--quiet", f"--gpu={gpu}", "--", sys.executable, script, "--before", "warm", "--fresh",
                         "--repetitions=1", "--together=1", f"--results={path}", export]):
            run = subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            if run.returncode:
                print(f"{workload}: {run.stderr.strip()}", file=sys.stderr)
                return None
        rows = hardware_rows(path)
    kernels = {}
    for row in rows:
        if row["kernel"] != RUN:
            sums = kernels.setdefault(row["kernel"], {"cycles": 0, "profiled_cycles": 0, "launches": 0})
            cycles, launches = float(row["run_us"]) * mhz, int(row["launches"])
            for key, more in (("cycles", cycles), ("profiled_cycles", cycles + each * launches), ("launches", launches)):
                sums[key] += more
    return kernels


def times(kernels, mhz, launch_us, first_us):
    """Of each kernel, the first that is launched first: microseconds of all its launches, with what launches cost, and without."""
    result, batches = {}, -(-sum(kernel["launches"] for kernel in kernels.values()) // real_gpu.BATCH)
    for name, kernel in kernels.items():
        without = kernel["cycles"] / mhz
        cost = kernel["profiled_cycles"] / mhz - without if launch_us is None else launch_us * kernel["launches"]
        if first_us is not None and not result:
            cost += (first_us - launch_us) * batches
        result[name] = (without + cost, without)
    return result


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
        kernels = (warm_run if options.warm else cold_run)(options, gpu, f"{workload}@{size}")
        if kernels is None:
            continue
        ours = times(kernels, mhz, options.launch_us, options.first_launch_us)
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
    parser.add_argument("--warm", action="store_true", help="for rows of `real_gpu.py --before warm`")
    parser.add_argument("--launch-us", type=float, help="what the driver's events say of an empty kernel; in place of profiled_launch_cycles")
    parser.add_argument("--first-launch-us", type=float, help="the same, of one alone behind a gate, as the first of a run is [--launch-us]")
    parser.add_argument("--cache", help="directory that keeps the reports of simulations with a cold L2")
    parser.add_argument("--save", help="write the records to this file of CSV")
    parser.add_argument("--registers", action="store_true")
    options = parser.parse_intermixed_args()
    if options.first_launch_us is not None and options.launch_us is None:
        parser.error("--first-launch-us goes with --launch-us")
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
