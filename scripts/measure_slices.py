#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/results/kernelet-slices.md: what slicing costs, for the eight kernels of Kernelet on simulated GPUs.

    measure_slices.py BUILD [--rows FILE] [--only-page]

Runs BUILD/bench_slices for every kernel and GPU, with the costs of launches, keeps its rows in FILE (BUILD/slices.csv), where kernels that
are there already are not run again, and writes the page from these rows.
"""
import argparse
import csv
import os
import subprocess
import sys

GPUS = ("tesla-c2050", "gtx680", "gtx980", "quadro-v100")
KERNELS = (("BS", "black-scholes@medium,blocks=1920", "black_scholes"), ("MM", "matmul@medium,m=640,n=640,k=64", "matmul_tiled"),
           ("TEA", "tea@medium", "tea_encrypt"), ("MRIQ", "mri-q@medium,points=131072,samples=64", "compute_q"),
           ("PC", "pointer-chasing@medium,threads=200000,hops=8", "pointer_chase"), ("SPMV", "spmv@medium,rows=73728,repeats=1", "spmv_jds"),
           ("ST", "stencil@medium,nx=512,ny=512,nz=8,steps=1", "stencil_step"), ("SAD", "sad@medium", "mb_sad_calc"))
PER_SM = (1, 2, 4, 8, 16, 32)
LIMIT = 0.02

HEAD = """# kernelet-slices: What slices cost, by their size

* made by: `scripts/measure_slices.py build` (a kernel and GPU at a time: `bench_slices`)
* paper: Zhong and He, Kernelet, TPDS 2014, section 4.1: slices are as small as their cost allows, and that is p = 2 % of the kernel's time. The
  figure with the costs is in the paper's supplement, which is not at hand: the paper's own numbers cannot stand beside ours
* simulated, alone on the GPU, no other kernel beside; launches have their cost (`launch_interval_ns`, `launch_gap_ns` of [gpus.md](../gpus.md))

Cost: time of all slices over the time of the kernel as the program has it, less one. The time begins when the host begins to launch, so that one
launch is in both. Sizes are thread blocks for each SM of the GPU: a slice of 2 on a GPU with 14 SMs has 28 thread blocks. *One stream*: a
slice begins when the one before it has ended. *Two streams*: slices go round two streams, so that the next one begins while the last one ends. *Least*: the smallest slice from which on no larger one costs more than 2 %; *all*: none of those here is large enough.
"""


def run(build, gpu, workload, kernel, stream):
    environment = dict(os.environ, CORUN_CUDA_GPU=gpu, CORUN_CUDA_LAUNCH_COSTS="1", CORUN_DATA=os.path.join(build, "data"))
    command = [os.path.join(build, "bench_slices"), os.path.join(build, "cuda", "libcuda.so.1"), workload, kernel, str(len(PER_SM))]
    # A workload is a word with commas, which the rows have in quotes.
    for line in subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.splitlines():
        stream.write(line + "\n")
    stream.flush()


def read(path):
    """rows[gpu, kernel] = (thread blocks, SMs, that fit an SM, {(streams, size): ns})"""
    rows = {}
    if os.path.exists(path):
        with open(path, newline="", encoding="utf-8") as stream:
            for gpu, _, kernel, blocks, sms, fit, streams, size, time in csv.reader(stream):
                row = rows.setdefault((gpu, kernel), (int(blocks), int(sms), int(fit), {}))
                row[3][int(streams), int(size)] = int(time)
    return rows


def cost(row, streams, per_sm):
    time = row[3].get((streams, per_sm * row[1]))
    return None if time is None else time / row[3][1, 0] - 1


def least(row, streams):
    best = None
    for per_sm in reversed(PER_SM):
        share = cost(row, streams, per_sm)
        if share is not None and share > LIMIT:
            break
        best = per_sm if share is not None else best
    return "all" if best is None else str(best)


def percent(share):
    return "" if share is None else f"{round(100 * share, 1) + 0.0:.1f}"


def table(rows, gpu):
    lines = ["| | streams | thread blocks | fit an SM | whole, µs | " + " | ".join(map(str, PER_SM)) + " | least |",
             "|---|--:|--:|--:|--:|" + "--:|" * (len(PER_SM) + 1)]
    for name, _, kernel in KERNELS:
        row = rows[gpu, kernel]
        for streams in (1, 2):
            shares = " | ".join(percent(cost(row, streams, per_sm)) for per_sm in PER_SM)
            first = f"{name} | 1 | {row[0]} | {row[2]} | {row[3][1, 0] / 1000:.1f}" if streams == 1 else " | 2 | | | "
            lines.append(f"| {first} | {shares} | {least(row, streams)} |")
    return "\n".join(lines) + "\n"


def page(rows):
    text = HEAD
    for gpu in GPUS:
        if not all((gpu, kernel) in rows for _, _, kernel in KERNELS):  # with --only-page, while the others run
            continue
        sms = next(row[1] for key, row in rows.items() if key[0] == gpu)
        text += f"\n## {gpu}\n\nCost in percent, by thread blocks for each of {sms} SMs.\n\n{table(rows, gpu)}"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--rows")
    parser.add_argument("--only-page", action="store_true")
    options = parser.parse_args()
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    build = os.path.abspath(options.build)
    path = options.rows or os.path.join(build, "slices.csv")
    for gpu in () if options.only_page else GPUS:
        for _, workload, kernel in KERNELS:
            if (gpu, kernel) not in read(path):
                with open(path, "a", encoding="utf-8") as stream:
                    run(build, gpu, workload, kernel, stream)
    with open(os.path.join(root, "docs", "results", "kernelet-slices.md"), "w", encoding="utf-8") as stream:
        stream.write(page(read(path)))
    return 0


sys.exit(main())
