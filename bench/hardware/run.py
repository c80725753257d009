#!/usr/bin/env python3
"""Runs the programs of programs.cu on simulated GPUs.

    run.py CORUN hardware [GPU]     cycles beside those published for a Quadro V100 (GPU: quadro-v100 with overrides)
    run.py CORUN peaks GPU...       single precision throughput and DRAM bandwidth reached, beside the configuration's peaks

Needs clang; nothing of NVIDIA. Prints rows of a Markdown table.
"""
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
M = 1 << 20
N = 4096
MATRIX, VECTOR, SMALL = f"buf={4 * N * N}:random:1", f"buf={4 * N}:random:2", "buf=1M:random:3"

# program: (published cycles of the program's kernels together, [(kernel, grid, block, arguments)])
PROGRAMS = {
    "2DConvolution 4096": (269299, [("convolution_2d", "128,512", "32,8", [MATRIX, f"buf={4 * N * N}", f"i32={N}"])]),
    "atax 4096": (3322009, [("rows_times_vector", "16", "256", [MATRIX, VECTOR, VECTOR, f"i32={N}"]),
                            ("columns_times_vector", "16", "256", [MATRIX, VECTOR, VECTOR, f"i32={N}"])]),
    "gemm 512": (587160, [("gemm", "16,64", "32,8", [SMALL, SMALL, SMALL, "i32=512", "f32=1.5", "f32=0.5"])]),
    "vectorAdd 4000000": (96379, [("vector_add", "15625", "256", 3 * ["buf=16000000:random:1"] + ["i32=4000000"])]),
    "vectorAdd 6000000": (140162, [("vector_add", "23438", "256", 3 * ["buf=24000000:random:1"] + ["i32=6000000"])]),
}


def compile_programs(folder):
    ptx = os.path.join(folder, "programs.ptx")
    subprocess.run(["clang-14", "-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib", "--cuda-path=/nonexistent",
                    "-S", "-O3", "-std=c++14", "-ffp-contract=on", "-fdeclspec", "--cuda-gpu-arch=sm_52", "-Xclang",
                    "-target-feature", "-Xclang", "+ptx63", "-include", os.path.join(ROOT, "kernels/include/device.h"),
                    "-o", ptx, os.path.join(ROOT, "bench/hardware/programs.cu")], check=True)
    return ptx


def launch(corun, gpu, ptx, kernel, grid, block, arguments):
    command = [corun, "launch", "--quiet", "--json=-", f"--gpu={gpu}", f"--kernel={kernel}", f"--grid={grid}",
               f"--block={block}"] + [f"--arg={argument}" for argument in arguments] + [ptx]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def value(gpu, name):
    """A parameter of a configuration file of ours, as a number in the table's unit."""
    with open(os.path.join(ROOT, f"configs/gpu/{gpu}.yaml"), encoding="utf-8") as file:
        for line in file:
            if line.startswith(f"  {name}: "):
                text = line.split("value: ")[1].split(",")[0]
                return {"true": 1, "false": 0}.get(text) or float(text)
    raise SystemExit(f"{gpu}: no {name}")


def hardware(corun, ptx, gpu):
    for program, (published, kernels) in PROGRAMS.items():
        cycles = [launch(corun, gpu, ptx, *kernel)["cycles"] for kernel in kernels]
        print(f"| {program} | {published} | {' + '.join(map(str, cycles))} | {sum(cycles) / published:.2f} |", flush=True)


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


def main(arguments):
    if len(arguments) < 2 or arguments[1] not in ("hardware", "peaks"):
        print(__doc__, file=sys.stderr)
        return 2
    corun, what, gpus = arguments[0], arguments[1], arguments[2:]
    with tempfile.TemporaryDirectory() as folder:
        ptx = compile_programs(folder)
        if what == "hardware":
            hardware(corun, ptx, gpus[0] if gpus else "quadro-v100")
        else:
            for gpu in gpus:
                peaks(corun, ptx, gpu)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
