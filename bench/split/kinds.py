#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How well `meet` divides kinds of tasks that examples/split has not: the programs of bench/split, on a simulated GPU beside a CPU whose speed is given.

    bench/split/kinds.py BUILD

Writes a table; times are simulated, of all rounds. "CPU:GPU" is the CPU's time over the GPU's. The GPU alone has everything in one part (static,cpu_share=0), so meet
may be faster by more than the CPU does: its parts overlap. Efficiency is the time in which both sides would have done everything, each at its rate alone and at no
cost, over meet's. Runs do not disturb each other, so as many are made at a time as there are processors.
"""
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile

M2090, V100 = "tesla-m2090", "quadro-v100"

# Program with its options, GPUs, seconds that an iteration takes the CPU.
ROWS = [("pricing --size=1000000", (M2090, V100), 3.9e-8),
        ("pricing --size=1000000", (M2090, V100), 3.9e-7),
        ("pricing --size=1000000 --tell=0", (M2090, V100), 3.9e-7),
        ("convolution --size=2048", (M2090, V100), 1.95e-5),
        ("kmeans --size=131072", (M2090, V100), 8.4e-8),
        ("buffers --size=500000 --tell=0 --buffers=1", (V100,), 1.521e-7),
        ("buffers --size=500000 --tell=0 --buffers=4", (V100,), 1.521e-7),
        ("buffers --size=500000 --tell=0 --buffers=8", (V100,), 1.521e-7),
        ("rotation --size=300000 --turns=32 --rounds=10", (V100,), 8.5e-8),
        ("rotation --size=300000 --turns=32 --rounds=10 --kept=1", (V100,), 8.5e-8),
        *((f"uneven --size=131072 --least=40 --shape={shape}", (M2090,), each) for shape in range(1, 6) for each in (1e-7, 1e-8))]


def run(build, program, gpu, settings):
    """Simulated seconds of all rounds, and their iterations. The program checks its result."""
    name, *options = program.split()
    with tempfile.TemporaryDirectory() as folder:
        record = os.path.join(folder, "record")
        command = [os.path.join(build, "corun"), "exec", "--quiet", "--gpu", gpu, "--", os.path.join(build, "bench/split", name), *options]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              env=dict(os.environ, CORUN_SPLIT=f"threads=1,{settings}", CORUN_SPLIT_RECORD=record))
        if done.returncode:
            sys.exit(f"{program} on {gpu} with CORUN_SPLIT={settings}: {done.stdout}")
        with open(record, encoding="utf-8") as file:
            rounds = [json.loads(line) for line in file]
    return sum(one["seconds"] for one in rounds), sum(one["iterations"] for one in rounds)


def measure(build, program, gpu, each):
    """A row of the table."""
    alone, iterations = run(build, program, gpu, f"cpu_seconds={each:g},strategy=static,cpu_share=0")
    together, _ = run(build, program, gpu, f"cpu_seconds={each:g},strategy=meet")
    cpu = each * iterations
    return (f"| `{program}` | {gpu} | {cpu / alone:.2f} | {1e6 * alone:.1f} | {1e6 * cpu:.1f} | {1e6 * together:.1f} | {together / min(alone, cpu):.3f} "
            f"| {1 / (1 / alone + 1 / cpu) / together:.3f} |")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print("| program | GPU | CPU:GPU | GPU alone, us | CPU alone, us | meet, us | meet over the faster side | efficiency |\n|---|---|--:|--:|--:|--:|--:|--:|", flush=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        rows = [(program, gpu, each) for program, gpus, each in ROWS for gpu in gpus]
        for line in pool.map(lambda row: measure(sys.argv[1], *row), rows):
            print(line, flush=True)


if __name__ == "__main__":
    main()
