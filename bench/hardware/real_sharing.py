#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lets two workloads share a real NVIDIA GPU in every way that there is, by `corun run --machine software --native`, and writes what each
got.

    real_sharing.py --corun build/corun pairs hotspot@large:80 pathfinder@large    # goals of 80 % of its speed alone
    real_sharing.py --corun build/corun server merge-sort@medium:30 lbm@large      # requests at 30 % load

Ways: the policies `smqos`, `static-smqos` and `even` with kernels as workers; `priority` with slices; plain streams; streams of the highest
priority; green contexts (with every share of SMs given); two processes in time slices; two processes under the vendor's multi-process
service, plain and with a limit on threads. A way that is not there says why.

One row of CSV for each way. Exit status: 0; 2 the command line is wrong; 1 no way has worked.
"""
import argparse
import csv
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

COLUMNS = ("experiment", "way", "first", "second", "goal", "load", "first_normalised", "second_normalised", "goal_met", "requests", "runs",
           "median_us", "p99_us", "alone_us", "look_us", "hand_over_us", "hand_overs", "epoch_us", "writes", "own_sms", "failure", "clock_mhz",
           "window_ms", "date")
PREPARED_SECONDS = 15  # a process has measured itself alone by then
SHARES = (25, 50, 75)


class Gpu:
    """How cases are run."""

    def __init__(self, options):
        self.options = options
        self.base = [options.corun, "run", "--machine", "software", "--quiet", "--cycles", str(options.cycles), *options.more]
        if not options.simulated:
            self.base.append("--native")

    def run(self, *arguments, environment=None, seconds=None):
        """(results, what went wrong)"""
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            return self.collect(self.start(file.name, *arguments, environment=environment), file.name, seconds)

    def start(self, file, *arguments, environment=None):
        return subprocess.Popen([*self.base, "--json", file, *arguments], env={**os.environ, **(environment or {})},
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def collect(self, process, file, seconds=None):
        try:
            _, errors = process.communicate(timeout=seconds or self.options.seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            return None, f"not done after {seconds or self.options.seconds} s"
        try:
            with open(file, encoding="utf-8") as stream:
                return json.load(stream), errors.strip().split("\n")[0] if process.returncode else ""
        except (OSError, ValueError):
            return None, errors.strip().split("\n")[0] or f"status {process.returncode}"


class Service:
    """The vendor's multi-process service, of this process alone."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="corun-mps-")
        self.environment = {"CUDA_MPS_PIPE_DIRECTORY": self.folder, "CUDA_MPS_LOG_DIRECTORY": self.folder}

    def __enter__(self):
        subprocess.run(["nvidia-cuda-mps-control", "-d"], env={**os.environ, **self.environment}, check=True, timeout=10,
                       capture_output=True)
        return self

    def __exit__(self, *_):
        subprocess.run(["nvidia-cuda-mps-control"], input="quit\n", text=True, env={**os.environ, **self.environment}, timeout=20,
                       check=False, capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)


def processes(gpu, first, second, environments, *arguments):
    """Each application in a process of its own; both begin at the same moment, when each has measured itself alone."""
    start = time.time() + 2 * gpu.options.prepared
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, name) for name in ("first.json", "second.json")]
        when = ("--start-at", f"{start:.3f}", "--launching", "whole")
        one = gpu.start(files[0], *when, *arguments, first, environment=environments[0])
        time.sleep(gpu.options.prepared)
        two = gpu.start(files[1], *when, second, environment=environments[1])
        (found, trouble), (other, other_trouble) = gpu.collect(one, files[0]), gpu.collect(two, files[1])
    if not found or not other:
        return None, trouble or other_trouble
    found["applications"].append(other["applications"][0])
    return found, trouble or other_trouble


def ways_of(gpu, first, second, goal, load):
    """(name, function that returns results and what went wrong)"""
    requests = ("--load", f"{load}%") if load else ()
    wanted = f"{first}:goal={goal}%" if goal else first
    run = lambda *arguments: gpu.run(*requests, *arguments)
    if load:
        urgent = f"{first}:goal={gpu.options.urgent}%"
        yield "priority, slices", lambda: run("--launching", "slices", "-p", "priority", urgent, second)
        yield "priority, whole", lambda: run("--launching", "whole", "-p", "priority", urgent, second)
        yield "slate, workers", lambda: run("-p", "slate", urgent, second)
    else:
        yield "smqos", lambda: run("-p", "smqos:gate=off", wanted, second)
        yield "static-smqos", lambda: run("-p", "static-smqos", wanted, second)
        yield "even", lambda: run("-p", "even", wanted, second)
    yield "streams", lambda: run("--launching", "whole", wanted, second)
    yield "streams with priority", lambda: run("--launching", "whole", "--streams", "priority", wanted, second)
    for share in gpu.options.shares:
        sms = str(max(round(gpu.options.sms * share / 100), 1))
        yield f"green contexts, {share} %", lambda sms=sms: run("--launching", "whole", "--streams", f"sms={sms}", wanted, second)
    if gpu.options.no_processes:
        return
    yield "time slices", lambda: processes(gpu, wanted, second, (None, None), *requests)
    if not shutil.which("nvidia-cuda-mps-control"):
        return
    yield "multi-process service", lambda: under_service(gpu, wanted, second, None, requests)
    for share in gpu.options.shares:
        yield f"multi-process service, {share} %", lambda share=share: under_service(gpu, wanted, second, share, requests)


def under_service(gpu, first, second, share, requests):
    with Service() as service:
        limits = [{**service.environment, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": str(part)} if share else service.environment
                  for part in (share, 100 - (share or 0))]
        return processes(gpu, first, second, limits, *requests)


def row_of(experiment, way, first, second, goal, load, found, trouble, window_ms):
    row = dict.fromkeys(COLUMNS, "")
    row.update(experiment=experiment, way=way, first=first, second=second, goal=goal or "", load=load or "", failure=trouble,
               date=datetime.date.today().isoformat(), window_ms=f"{window_ms:g}")
    if not found:
        return row
    one, two = found["applications"][:2]
    mhz = found.get("clock_mhz") or 0
    us = lambda cycles: f"{cycles / mhz:.2f}" if cycles and mhz else ""
    row.update(first_normalised=one["normalised_ipc"], second_normalised=two["normalised_ipc"], runs=one["runs"],
               median_us=us(one["run_cycles"]["median"]), p99_us=us(one["run_cycles"]["p99"]), own_sms=found["own_sms"] or "",
               clock_mhz=mhz or "")
    if goal:
        row["goal_met"] = int((one["normalised_ipc"] or 0) >= goal / 100)
    if load:
        row["requests"] = one.get("requests", "")
    if "control" in found:
        control = found["control"]
        row.update(look_us=control["look_microseconds"], hand_over_us=control["hand_over_microseconds"], hand_overs=control["hand_overs"],
                   writes=control["writes"], epoch_us=us(control["epoch_cycles"]))
    return row


def shares_of(text):
    return () if text == "none" else tuple(int(share) for share in text.split(","))


def main():
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    parser.add_argument("experiment", choices=("pairs", "server"))
    parser.add_argument("first", help="WORKLOAD@SIZE:PERCENT, its goal or the load of its requests")
    parser.add_argument("second", nargs="+", help="WORKLOAD@SIZE: beside each of these")
    parser.add_argument("--corun", default="corun")
    parser.add_argument("--cycles", default="200M", help="window of each run, in cycles of the GPU [200M]")
    parser.add_argument("--mhz", type=float, default=1980, help="its clock as the driver has it, for the window in the rows [1980]")
    parser.add_argument("--sms", type=int, default=132, help="SMs of the GPU [132]")
    parser.add_argument("--urgent", type=int, default=80,
                        help="percent: goal of the server under policies, which serve applications with goals first [80]")
    parser.add_argument("--shares", type=shares_of, default=SHARES, help="percent of SMs, or of threads, for the first one [25,50,75]; none")
    parser.add_argument("--prepared", type=float, default=PREPARED_SECONDS, help="seconds in which a process measures itself alone [15]")
    parser.add_argument("--seconds", type=float, default=60, help="a run may take so long [60]")
    parser.add_argument("--ways", help="only those whose name begins with one of these, with commas between")
    parser.add_argument("--no-processes", action="store_true", help="one process alone: no time slices, no multi-process service")
    parser.add_argument("--simulated", action="store_true", help="on the simulated GPU")
    parser.add_argument("--results", default="sharing.csv", help="rows are appended there [sharing.csv]")
    parser.add_argument("--more", nargs=argparse.REMAINDER, default=[], help="further arguments of `corun run`")
    options = parser.parse_args()
    first, _, percent = options.first.partition(":")
    if not percent.isdigit() or not 0 < int(percent) <= 100:
        parser.error("expected WORKLOAD@SIZE:PERCENT")
    gpu, worked = Gpu(options), False
    goal, load = (int(percent), 0) if options.experiment == "pairs" else (0, int(percent))
    scale = {"K": 1e3, "M": 1e6, "G": 1e9}.get(options.cycles[-1], 1)
    window_ms = float(options.cycles.rstrip("KMG")) * scale / options.mhz / 1000
    new = not os.path.exists(options.results)
    for second in options.second:
        for way, run in ways_of(gpu, first, second, goal, load):
            if options.ways and not any(way == name or way.startswith(name + ",") for name in options.ways.split(",")):
                continue
            try:
                found, trouble = run()
            except (OSError, subprocess.SubprocessError) as error:
                found, trouble = None, str(error)
            worked |= found is not None
            row = row_of(options.experiment, way, first, second, goal, load, found, trouble, window_ms)
            with open(options.results, "a", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
                if new:
                    writer.writeheader()
                new = False
                writer.writerow(row)
            print(f"{first} {percent} {second} {way}: {row['first_normalised'] or '-'} {row['second_normalised'] or '-'} p99 {row['p99_us']} "
                  f"us {trouble}"[:220], flush=True)
    return 0 if worked else 1


if __name__ == "__main__":
    sys.exit(main())
