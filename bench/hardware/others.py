#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times kernels that are in no suite (others.cu) through a CUDA driver, whosever it is: rows for docs/fidelity.md.

    nvcc -std=c++17 -arch=compute_90 -ptx -o others.ptx others.cu
    others.py others.ptx --csv h100-others.csv                    # NVIDIA's libcuda.so.1
    corun exec --gpu h100 -- python3 others.py others.ptx --quick --csv simulated.csv
    others.py --compare h100-others.csv simulated.csv

Each kernel runs once for each repetition: its buffers are filled anew, other data are brought into the L2, and an event of the driver
is on either side of the launch. The row "(nothing)" is an empty kernel. What --compare prints has the simulated empty kernel's time
replaced with the real one's. The buffers are in one allocation. `crc` is of all that the kernel wrote.
"""
import argparse
import csv
import ctypes
import math
import os
import statistics
import sys
import zlib

import real_gpu
from microbenchmarks import STAMP, Gpu

COLUMNS = ("kernel", "grid", "block", "us", "lowest", "highest", "registers", "tbs_per_sm", "crc")
NOTHING = "(nothing)"
M = 1 << 20
INDICES, FLOATS, ZEROES, ONES = "indices", "floats", "zeroes", "ones"


def plain(count, *more):
    return ([(FLOATS, 4 * count), (ZEROES, 4 * count)], [0, 1, *more])


def level(nodes):
    """One node in sixteen is of level 0, the others of none."""
    return [(INDICES, 16 * 4 * nodes), (ONES, 4 * nodes), (ZEROES, 4 * nodes), (ZEROES, 4)]


# name: (grid, block, buffers (what is in them, bytes), arguments: numbers of buffers, or ("value", number)); the last buffers are read back
def launches():
    n = lambda value: ("value", value)
    return {
        "transpose_tiled": ((32, 32), (32, 8), *plain(M, n(1024))),
        "transpose_plain": ((32, 128), (32, 8), *plain(M, n(1024))),
        "sum_shuffled": ((264,), (256,), [(FLOATS, 16 * M), (ZEROES, 4096)], [0, 1, n(M)]),
        "scan_blocks": ((2048,), (512,), [(INDICES, 4 * M), (ZEROES, 4 * M)], [0, 1]),
        "softmax_rows": ((256,), (256,), *plain(2 * M, n(1024))),
        "layer_norm": ((1024,), (256,), [(FLOATS, 4 * M), (ZEROES, 4 * M), (FLOATS, 4096)], [0, 1, 2, n(1024)]),
        "bins_shared": ((264,), (256,), [(INDICES, 8 * M), (ZEROES, 4096)], [0, 1, n(2 * M)]),
        "bins_global": ((2048,), (256,), [(INDICES, 2 * M), (ZEROES, 262144)], [0, 1, n(M // 2)]),
        "sort_bitonic": ((256,), (512,), [(INDICES, M), (ZEROES, M)], [0, 1]),
        "filter_row": ((4096,), (256,), *plain(M, n(M))),
        "mandelbrot": ((32, 32), (16, 16), [(ZEROES, M)], [0, n(512), n(256)]),
        "shortest_step": ((32, 128), (32, 8), [(INDICES, 4 * M)], [0, n(1024), n(77)]),
        "neighbours_once": ((512,), (256,), level(M // 8), [0, n(16), n(M // 8), 1, 2, 3]),
        "life": ((64, 256), (32, 8), [(INDICES, 4 * M), (ZEROES, 4 * M)], [0, 1, n(2048)]),
        "random_walks": ((264,), (256,), [(ZEROES, 264 * 1024)], [0, n(128)]),
        "primes": ((264,), (128,), [(ZEROES, 264 * 512)], [0, n(1000001)]),
        "gather": ((2048,), (256,), [(FLOATS, 32 * M), (INDICES, 2 * M), (ZEROES, 2 * M)], [0, 1, 2, n(M // 2)]),
        "spread": ((2048,), (256,), [(FLOATS, 2 * M), (INDICES, 2 * M), (ZEROES, 32 * M)], [0, 1, 2, n(M // 2)]),
        "fourier_shared": ((264,), (256,), [(FLOATS, 8192 * 264), (ZEROES, 8192 * 264)], [0, 1]),
        "sparse_ell": ((512,), (128,), [(FLOATS, 8 * M), (INDICES, 8 * M), (FLOATS, 32 * M), (ZEROES, 4 * 65536)], [0, 1, 2, 3, n(65536), n(32)]),
        "product_double": ((16, 16), (16, 16), [(FLOATS, M // 2), (FLOATS, M // 2), (ZEROES, M // 2)], [0, 1, 2, n(256)]),
        "product_registers": ((8, 8), (256,), [(FLOATS, M), (FLOATS, M), (ZEROES, M)], [0, 1, 2, n(512)]),
        "forces": ((128,), (256,), [(FLOATS, 128 * M), (INDICES, 4 * M), (ZEROES, M // 2)], [0, 1, 2, n(32768), n(32)]),
        "checksums": ((132,), (256,), [(INDICES, 132 * 256 * 128), (INDICES, 1024), (ZEROES, 132 * 1024)], [0, 1, 2, n(128)]),
        "inverses": ((512,), (128,), [(FLOATS, 4 * M), (ZEROES, 4 * M)], [0, 1, n(65536)]),
        "waves": ((32, 128), (32, 8), [(FLOATS, 4 * M), (FLOATS, 4 * M), (ZEROES, 4 * M)], [0, 1, 2, n(1024)]),
        "queens": ((132,), (64,), [(ZEROES, 132 * 256)], [0, n(10)]),
        "hermite": ((528,), (256,), [(FLOATS, 8 * 528 * 256), (ZEROES, 8 * 528 * 256)], [0, 1, n(528 * 256)]),
    }


class Others:
    """The kernels of one module on a GPU, and the one allocation that their buffers are in."""

    def __init__(self, gpu, text, room, swept, only_fresh, once=False):
        self.gpu, self.text, self.only_fresh, self.once = gpu, text, only_fresh or once, once
        self.base, self.room = gpu.allocate(room, False), room
        self.swept, self.sweep = swept, gpu.allocate(swept, False)
        self.gate = real_gpu.Gate(gpu.driver)
        module, self.touch = ctypes.c_void_p(), ctypes.c_void_p()
        gpu.driver("cuModuleLoadData", ctypes.byref(module), real_gpu.TOUCH + b"\0")
        gpu.driver("cuModuleGetFunction", ctypes.byref(self.touch), module, b"touch")

    def launch(self, function, grid, block, values):
        numbers = [ctypes.c_ulonglong(v) for v in values]
        pointers = (ctypes.c_void_p * max(len(numbers), 1))(*[ctypes.addressof(v) for v in numbers])
        sizes = [*grid, 1, 1][:3] + [*block, 1, 1][:3]
        self.gpu.driver("cuLaunchKernel", function, *sizes, 0, None, pointers, None)

    def prepare(self, buffers):
        """Fills them, and brings other data into the L2. Returns their addresses."""
        at, addresses = self.base, []
        fill = self.gpu.kernel(self.text, "fill")
        for number, (what, size) in enumerate(buffers):
            addresses.append(at)
            if what in (FLOATS, INDICES):
                words = size // 4
                self.launch(fill, (math.ceil(words / 256),), (256,), [at, words, 1000003 * number, 0 if what == FLOATS else 65536 * 4])
            elif what == ONES:
                self.gpu.driver("cuMemsetD8_v2", at, 255, size)
                for place in range(0, size, size // 16):
                    self.gpu.driver("cuMemsetD8_v2", at + place, 0, size // 256)
            else:
                self.gpu.driver("cuMemsetD8_v2", at, 0, size)
            at += -(-size // 512) * 512
        if at > self.base + self.room:
            raise real_gpu.Broken("buffers do not fit their allocation")
        self.launch(self.touch, (2 * self.gpu.sms,), (256,), [self.sweep, self.swept])
        self.gpu.driver("cuCtxSynchronize")
        return addresses

    def timed(self, function, grid, block, values):
        if self.once:
            self.launch(function, grid, block, values)
            self.gpu.driver("cuCtxSynchronize")
            return 0.0
        with self.gate.closed():
            self.gpu.driver("cuEventRecord", self.gate.events[0], None)
            self.launch(function, grid, block, values)
            self.gpu.driver("cuEventRecord", self.gate.events[1], None)
        self.gpu.driver("cuCtxSynchronize")
        return self.gate.elapsed_us(0)

    def written(self, buffers, addresses):
        """Of all buffers, as they are after the kernel."""
        crc = 0
        for (_, size), address in zip(buffers, addresses):
            data = ctypes.create_string_buffer(size)
            self.gpu.driver("cuMemcpyDtoH_v2", data, address, size)
            crc = zlib.crc32(data.raw, crc)
        return f"{crc:08x}"

    def measure(self, name, launch, repetitions):
        grid, block, buffers, arguments = launch
        function = self.gpu.kernel(self.text, name)
        times = []
        for k in range(repetitions + (0 if self.only_fresh else 1)):
            addresses = self.prepare(buffers)
            values = [v[1] if isinstance(v, tuple) else addresses[v] for v in arguments]
            taken = self.timed(function, grid, block, values)
            if k or self.only_fresh:
                times.append(taken)
        number = self.gpu.driver.number
        return row(name, grid, block, times, number("cuFuncGetAttribute", real_gpu.FUNCTION_REGISTERS, function),
                   number("cuOccupancyMaxActiveBlocksPerMultiprocessor", function, math.prod(block), 0), self.written(buffers, addresses))

    def nothing(self, repetitions):
        function = self.gpu.kernel(STAMP, "nothing")
        times = [self.timed(function, (1,), (32,), []) for _ in range(4 * repetitions + 1)][1:]
        return row(NOTHING, (1,), (32,), times, 0, 0, "")


def row(name, grid, block, times, registers, tbs_per_sm, crc):
    return {"kernel": name, "grid": "x".join(map(str, grid)), "block": "x".join(map(str, block)), "us": f"{statistics.median(times):.3f}",
            "lowest": f"{min(times):.3f}", "highest": f"{max(times):.3f}", "registers": registers, "tbs_per_sm": tbs_per_sm, "crc": crc}


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return {r["kernel"]: r for r in csv.DictReader(line for line in file if not line.startswith("#"))}


def compare(first, second):
    real, simulated = read(first), read(second)
    launch = float(real[NOTHING]["us"]) - float(simulated[NOTHING]["us"])
    print("| kernel | hardware, us | simulated, us | simulated / hardware | registers: driver | simulated | same bytes |\n|---|--:|--:|--:|--:|--:|---|")
    errors = []
    for name, measured in real.items():
        if name == NOTHING or name not in simulated:
            continue
        ours = simulated[name]
        pair = float(measured["us"]), float(ours["us"]) + launch
        errors.append(abs(pair[1] / pair[0] - 1))
        print(f"| {name} | {pair[0]:.1f} | {pair[1]:.1f} | {pair[1] / pair[0]:.2f} | {measured['registers']} | {ours['registers']} | "
              f"{'yes' if measured['crc'] == ours['crc'] else 'no'} |")
    print(f"\n* mean absolute error {100 * statistics.mean(errors):.1f} %, {len(errors)} kernels")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ptx", nargs="?")
    parser.add_argument("names", nargs="*", help="which kernels [all]")
    parser.add_argument("--csv", help="write the rows to this file")
    parser.add_argument("--compare", nargs=2, metavar="FILE.csv", help="print two files side by side")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one run each, and no more memory than that takes: for a simulated GPU")
    parser.add_argument("--once", action="store_true", help="run each once and time nothing: for profilers, which run one kernel after the other")
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--driver", default="libcuda.so.1")
    parser.add_argument("--nvml", default="libnvidia-ml.so.1")
    options = parser.parse_args()
    if options.compare:
        return compare(*options.compare)
    if not options.ptx:
        parser.error("the PTX of others.cu is expected")
    unknown = [name for name in options.names if name not in launches()]
    if unknown:
        parser.error(f"no kernel named {', '.join(unknown)}")
    os.environ["CUDA_MODULE_LOADING"] = "EAGER"
    try:
        gpu = Gpu(options)
    except real_gpu.NoGpu as error:
        print(f"others.py: {error}", file=sys.stderr)
        return real_gpu.NO_GPU
    with open(options.ptx, encoding="utf-8") as file:
        text = file.read()
    repetitions = 1 if options.quick or options.once else options.repetitions
    others = Others(gpu, text, (256 * M) if options.quick else 4096 * M, (64 if options.quick else 256) * M, options.quick, options.once)
    rows = [others.nothing(repetitions)]
    for name, launch in launches().items():
        if not options.names or name in options.names:
            rows.append(others.measure(name, launch, repetitions))
            print(" ".join(f"{v}" for v in rows[-1].values()), flush=True)
            if options.csv:
                write(options.csv, gpu, rows)
    return 0


def write(path, gpu, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        facts = gpu.device.facts
        file.write(f"# {facts['gpu']}, driver {facts['driver']}, SM clock {gpu.device.clocks.sample()} MHz, {facts['date']}\n")
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    sys.exit(main())
