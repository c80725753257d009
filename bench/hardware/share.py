#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Two programs on a GPU of hardware: how long a server's requests take beside a batch program, and what that has left, without corund and with its policies, with
and without the multi-process service.

    share.py CORUN PROGRAM -o ROWS.csv [--repeats 3] [--seconds 1.6] [--service]
    share.py --page ROWS.csv [TORCH.csv] > docs/results/share-h100.md

PROGRAM is bench/hardware/share.cu: `nvcc -O2 -arch=sm_90 -o share bench/hardware/share.cu`. --service starts nvidia-cuda-mps-control for a second
half, with a folder of its own, and quits it.
"""
import argparse
import csv
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

# The server: requests each millisecond, of four kernels of 132 thread blocks. ROUNDS are of a thread of the batch program: one wave of an H100 is 1056 of
# its thread blocks.
SERVER = ["1000", "4", "2000"]
BATCHES = {"short": ["1056", "20000"], "long": ["5280", "20000"]}
WAYS = [("none", ""), ("priority", ""), ("priority", "slices"), ("priority:bound=100", "slices"), ("even", "")]
COLUMNS = "service policy slices batch repeat requests min_us p50_us p90_us p99_us max_us batch_per_second".split()


def numbers(text):
    words = text.split()
    return {key: float(value) for key, value in zip(words[1::2], words[2::2])}


class Bench:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.environment = dict(os.environ, CORUN_DAEMON_SOCKET=os.path.join(folder, "corund.sock"))

    def start(self, words, share=None):
        command = [self.options.program, *words]
        if share is not None:
            command = [self.options.corun, "share", *share, "--", *command]
        return subprocess.Popen(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def end(self, process, what):
        out, err = process.communicate(timeout=60)
        if process.returncode != 0 or not out.startswith(what):
            sys.exit(f"{what}: status {process.returncode}: {out}{err}")
        return numbers(out)

    def pair(self, policy, slices, batch):
        seconds, daemon = self.options.seconds, None
        if policy != "none":
            daemon = subprocess.Popen([self.options.corun, "daemon", "--policy", policy], env=self.environment, stdout=subprocess.PIPE, text=True)
            if "policy" not in daemon.stdout.readline():
                sys.exit("corund does not start")
        shares = (None, None) if not daemon else (["--name", "batch"] + (["--slices"] if slices else []), ["--name", "server", "--goal", "90%"])
        first = self.start(["batch", str(seconds + 1.0), *BATCHES[batch]], shares[0])
        time.sleep(0.5)
        server = self.end(self.start(["serve", str(seconds), *SERVER], shares[1]), "serve")
        work = self.end(first, "batch")
        if daemon:
            daemon.terminate()
            daemon.wait(10)
        return server, work

    def half(self, service, writer, stream):
        for repeat in range(self.options.repeats):
            server = self.end(self.start(["serve", str(self.options.seconds), *SERVER]), "serve")
            self.write(writer, stream, service, "alone", "", "", repeat, server, {})
            for batch, words in BATCHES.items():
                work = self.end(self.start(["batch", str(self.options.seconds), *words]), "batch")
                self.write(writer, stream, service, "alone", "", batch, repeat, {}, work)
                for policy, slices in WAYS:
                    if batch == "short" and slices:
                        continue
                    self.write(writer, stream, service, policy, slices, batch, repeat, *self.pair(policy, slices, batch))

    def write(self, writer, stream, service, policy, slices, batch, repeat, server, work):  # pylint: disable=too-many-arguments
        row = {"service": service, "policy": policy, "slices": slices, "batch": batch, "repeat": repeat, "batch_per_second": work.get("per_second", "")}
        row.update({key: server.get(key, "") for key in ("requests", "min_us", "p50_us", "p90_us", "p99_us", "max_us")})
        writer.writerow(row)
        stream.flush()
        print(*row.values())


def run(options):
    machine = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version,clocks.max.sm", "--format=csv,noheader"], capture_output=True, text=True,
                             check=False).stdout.strip() or "no nvidia-smi"
    with tempfile.TemporaryDirectory() as folder, open(options.output, "w", encoding="utf-8", newline="") as stream:
        stream.write(f"# {machine}; {time.strftime('%Y-%m-%d')}; bench/hardware/share.py, {options.seconds} s a run\n")
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        bench = Bench(options, folder)
        bench.end(bench.start(["batch", "1", *BATCHES["short"]]), "batch")  # the clocks rise
        bench.half("no", writer, stream)
        if options.service:
            pipe = os.path.join(folder, "mps")
            os.mkdir(pipe)
            bench.environment.update(CUDA_MPS_PIPE_DIRECTORY=pipe, CUDA_MPS_LOG_DIRECTORY=pipe)
            subprocess.run(["nvidia-cuda-mps-control", "-d"], env=bench.environment, check=True)
            try:
                bench.half("yes", writer, stream)
            finally:
                subprocess.run(["nvidia-cuda-mps-control"], input="quit\n", env=bench.environment, text=True, check=False)


def read(path):
    with open(path, encoding="utf-8", newline="") as stream:
        return stream.readline().strip("# \n"), list(csv.DictReader(stream))


def middle(rows, key):
    values = [float(row[key]) for row in rows if row[key]]
    return statistics.median(values) if values else None


def span(rows, key):
    values = sorted(float(row[key]) for row in rows if row[key])
    return f"{values[0]:.0f} to {values[-1]:.0f}" if values else "-"


def page_of_torch(path):
    head, rows = read(path)
    print("## PyTorch, with the multi-process service\n")
    print(f"* {head.split('; ')[-1]}: a network of six convolutions is asked every 5 ms, and six layers of 4096 x 4096 are trained beside it; one run of each\n")
    print("| policy | P50 | P99 | P99 over alone | steps of training a second |\n|---|--:|--:|--:|--:|")
    base = float(rows[0]["p99_us"])
    for row in rows:
        name = {"alone": "inference alone", "none": "without corund"}.get(row["policy"], f"`{row['policy']}`")
        print(f"| {name} | {row['p50_us']} us | {row['p99_us']} us | {float(row['p99_us']) / base:.2f} | {row['steps_per_second'] or '-'} |")


def page(path, torch):
    head, rows = read(path)
    groups = {}
    for row in rows:
        groups.setdefault((row["service"], row["batch"], row["policy"], row["slices"]), []).append(row)
    print("# share-h100: two programs on an H100, with corund and without\n")
    print("* made by: `bench/hardware/share.py`, from rows in `bench/hardware/results`")
    print(f"* machine: {re.sub(r'; bench/hardware.*', '', head)}")
    repeats = max(int(row["repeat"]) for row in rows) + 1
    print(f"* a server (each millisecond a request of four kernels of 132 thread blocks, and a wait), and a batch program that keeps eight launches under way: "
          "*short* ones of 1056 thread blocks, a wave, *long* ones of five waves")
    print(f"* {repeats} repeat{'s' if repeats > 1 else ''} of {re.search(r'([0-9.]+) s a run', head)[1]} s; medians, and lowest to highest. *Batch* is its launches a second "
          "over those alone")
    if repeats == 1:
        print("* one run of each: how far another one would differ is not known")
    print("* latency is counted from when a request was due. Where requests take longer than the interval between them, they queue up, and latency is that of a "
          "queue that grows: it says that the server cannot keep up, and depends on how long the run is\n")
    for service, title in (("no", "Without the multi-process service"), ("yes", "With the multi-process service")):
        if not any(key[0] == service for key in groups):
            continue
        alone = groups.get((service, "", "alone", ""), [])
        base = middle(alone, "p99_us")
        print(f"## {title}\n\nThe server alone: P50 {middle(alone, 'p50_us'):.0f} us, P99 {base:.0f} us ({span(alone, 'p99_us')}).\n")
        print("| batch | policy | P50 | P99 | its range | P99 over alone | batch |\n|---|---|--:|--:|--:|--:|--:|")
        for batch in BATCHES:
            rate = middle(groups.get((service, batch, "alone", ""), []), "batch_per_second")
            for (its_service, its_batch, policy, slices), some in groups.items():
                if (its_service, its_batch) != (service, batch) or policy == "alone":
                    continue
                name = "without corund" if policy == "none" else f"`{policy}`{', --slices' if slices else ''}"
                print(f"| {batch} | {name} | {middle(some, 'p50_us'):.0f} us | {middle(some, 'p99_us'):.0f} us | {span(some, 'p99_us')} | "
                      f"{middle(some, 'p99_us') / base:.2f} | {middle(some, 'batch_per_second') / rate:.2f} |")
        print()
    if torch:
        page_of_torch(torch)


def main():
    if sys.argv[1:2] == ["--page"]:
        page(*(sys.argv[2:4] + [None])[:2])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corun")
    parser.add_argument("program")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.6)
    parser.add_argument("--service", action="store_true")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # the service is quit all the same
    run(parser.parse_args())


main()
