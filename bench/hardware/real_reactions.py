#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures on a real NVIDIA GPU how soon workers obey a limit that changes, by the device's own clock.

    corun rewrite workers bench/hardware/reactions.ptx -o workers.ptx
    real_reactions.py workers.ptx               # where the GPU is; beside real_gpu.py and real_workers.py

Thread blocks of a given length write when they begin and end, and on which SM; a thread that polls one limit of the table says when a new one has
become visible. Three things are measured, each for half of the SMs:

    leave      the limit falls to nothing: from then to the end of the last thread block on an SM
    join       the limit rises, and a crew is launched behind the copy: to the begin of the first thread block
    hand-over  one copy takes the limit of one application and gives it to another one, after the first: to its first thread block, and
               between the last end of one and the first begin of the other

One row of CSV for each, length and repetition. Exit status: as real_gpu.py has it.
"""
import argparse
import csv
import ctypes
import os
import statistics
import struct
import sys
import time
from ctypes import byref, c_void_p

import real_gpu
import real_workers
from real_gpu import ADDRESS, BROKEN, NO_GPU, OK, WRONG, Device, Driver, DriverError, NoGpu
from real_workers import DIRECT, MORE, UNLIMITED, Arguments, Copy2D, Place, Queue, reciprocal

COLUMNS = ("what", "thread_block_us", "took_us", "workers_per_sm", "sms", "least_us", "median_us", "most_us", "gap_median_us", "thread_blocks_after",
           "clock_step_ns", "gpu", "driver", "date")
THREADS = 256
BEFORE_US, BEHIND_US = 1500, 600  # a change comes so long after the workers, and is watched for so long
AFTER_THE_FIRST = (-1 & 15) << 12  # worker_limit: the second application comes after the one before


WHOLE = Arguments(grid_x=1, row_reciprocal=reciprocal(1), rows=1, flags=DIRECT, grid_y=1, grid_z=1, layer_reciprocal=reciprocal(1))


class Stamp(ctypes.Structure):
    _fields_ = [("begin", ctypes.c_uint64), ("end", ctypes.c_uint64), ("sm", ctypes.c_uint32), ("none", ctypes.c_uint32)]


class Seen(ctypes.Structure):
    _fields_ = [("time", ctypes.c_uint64), ("began", ctypes.c_uint64)]


class Bench:
    """Two applications with a table, on one GPU."""

    def __init__(self, device, ptx, thread_blocks):
        self.driver, self.sms, self.count = device.driver, device.facts["sms"], thread_blocks
        self.module, self.kernels = c_void_p(), {}
        self.driver("cuModuleLoadData", byref(self.module), ptx)
        for name in ("spin", "watch"):
            self.kernels[name] = c_void_p()
            self.driver("cuModuleGetFunction", byref(self.kernels[name]), self.module, name.encode())
        self.occupancy = self.driver.number("cuOccupancyMaxActiveBlocksPerMultiprocessor", self.kernels["spin"], THREADS, 0)
        self.places = self.allocate(2 * self.sms * ctypes.sizeof(Place))
        self.queues = self.allocate(2 * ctypes.sizeof(Queue))
        self.stamps = [self.allocate(thread_blocks * ctypes.sizeof(Stamp)) for _ in range(2)]
        self.seen, self.scratch = self.allocate(ctypes.sizeof(Seen)), self.allocate(ctypes.sizeof(Stamp))
        self.streams = [self.stream() for _ in range(2)]
        self.writes, self.watching = self.stream(), self.stream()
        self.event = c_void_p()
        self.driver("cuEventCreate", byref(self.event), 0)
        self.limits = [0] * (2 * self.sms)
        self.kept, self.lengths = [], []

    def took(self):
        """A thread block, nanoseconds, the median."""
        return statistics.median(self.lengths)

    def allocate(self, size):
        address = ADDRESS()
        self.driver("cuMemAlloc_v2", byref(address), size)
        return address.value

    def stream(self):
        stream = c_void_p()
        self.driver("cuStreamCreate", byref(stream), 1)
        return stream

    def put(self, address, data):
        self.driver("cuMemcpyHtoD_v2", address, ctypes.cast(byref(data), ctypes.c_char_p), ctypes.sizeof(data))

    def get(self, address, data):
        self.driver("cuMemcpyDtoH_v2", ctypes.cast(byref(data), ctypes.c_char_p), address, ctypes.sizeof(data))
        return data

    def begin(self, limits):
        """Everything as new."""
        self.limits, self.kept = list(limits), []
        self.put(self.places, (Place * (2 * self.sms))(*[Place(limit, 0, 0, 0) for limit in limits]))
        self.put(self.queues, (Queue * 2)(Queue(0, 0, self.count, 0), Queue(0, 0, self.count, 0)))
        for stamps in self.stamps:
            self.driver("cuMemsetD8_v2", stamps, 0, self.count * ctypes.sizeof(Stamp))
        self.driver("cuMemsetD8_v2", self.seen, 0, ctypes.sizeof(Seen))
        self.driver("cuCtxSynchronize")

    def launch(self, kernel, grid, threads, stream, values):
        pointers = (c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
        self.kept.append((values, pointers))
        self.driver("cuLaunchKernel", self.kernels[kernel], grid, 1, 1, threads, 1, 1, 0, stream, pointers, None)

    def crew(self, application, nanoseconds, workers):
        size = ctypes.sizeof(Place) * self.sms
        last = Arguments(self.queues + application * ctypes.sizeof(Queue), self.places + application * size, 0, application + 1, self.count,
                         reciprocal(self.count), 1, 0, 1, 1, reciprocal(1), size)
        self.launch("spin", workers, THREADS, self.streams[application],
                    [ADDRESS(self.stamps[application]), ctypes.c_uint64(nanoseconds), last])

    def watch(self, place):
        self.launch("watch", 1, 1, self.watching, [ADDRESS(self.places + place * ctypes.sizeof(Place)), ctypes.c_uint32(self.limits[place]),
                                                   ADDRESS(self.seen), ctypes.c_uint64(1_000_000_000), WHOLE])

    def write(self, limits):
        """One copy of all limits, as the software machine makes it."""
        self.limits = list(limits)
        rows = (ctypes.c_uint16 * len(limits))(*limits)
        self.kept.append(rows)
        copy = Copy2D(0, 0, 1, ctypes.addressof(rows), 0, None, 2, 0, 0, 2, None, self.places, None, ctypes.sizeof(Place), 2, len(limits))
        self.driver("cuMemcpy2DAsync_v2", byref(copy), self.writes)
        self.driver("cuEventRecord", self.event, self.writes)

    def sleep(self, microseconds):
        """The GPU goes on for so long; corun's own, which is simulated, only when it is told to."""
        simulated = getattr(self.driver.library, "corun_host_sleep", None)
        if simulated:
            simulated(ctypes.c_ulonglong(microseconds * 1000))
        else:
            time.sleep(microseconds / 1e6)

    def start(self, limits, nanoseconds):
        """A crew of the first application. A thread goes on in the stream of writes until it is time, so that all that the host asks for behind it waits
        on the device."""
        self.begin(limits)
        self.launch("spin", 1, 1, self.writes, [ADDRESS(self.scratch), ctypes.c_uint64(BEFORE_US * 1000), WHOLE])
        self.watch(0)
        self.crew(0, nanoseconds, self.occupancy * self.sms)

    def crew_behind_the_write(self, application, nanoseconds):
        self.driver("cuStreamWaitEvent", self.streams[application], self.event, 0)
        self.crew(application, nanoseconds, self.occupancy * self.sms)

    def results(self):
        """(when the new limit was seen, stamps of each application by SM)"""
        self.sleep(BEFORE_US + BEHIND_US)
        self.write([0] * (2 * self.sms))
        self.driver("cuCtxSynchronize")
        seen, queues = self.get(self.seen, Seen()), self.get(self.queues, (Queue * 2)())
        found, self.lengths = [], []
        for stamps, queue in zip(self.stamps, queues):
            by_sm = {}
            for begin, end, sm, _ in struct.iter_unpack("QQII", self.get(stamps, (Stamp * min(queue.next, self.count))())):
                if end:
                    by_sm.setdefault(sm, []).append((begin, end))
                    self.lengths.append(end - begin)
            found.append(by_sm)
        if not seen.time:
            raise real_gpu.Broken("the watching thread has not seen the new limit")
        return seen.time, found


def leave(bench, nanoseconds, half):
    everything = [UNLIMITED] * bench.sms + [0] * bench.sms
    bench.start(everything, nanoseconds)
    bench.write([0] * half + everything[half:])
    seen, (first, _) = bench.results()
    times = [max(end for _, end in first[sm]) - seen for sm in range(half) if sm in first]
    after = [sum(begin > seen for begin, _ in first[sm]) for sm in range(half) if sm in first]
    return times, [], sum(after) / max(len(after), 1)


def join(bench, nanoseconds, half):
    bench.start([0] * half + [UNLIMITED] * (bench.sms - half) + [0] * bench.sms, nanoseconds)
    bench.write([UNLIMITED] * bench.sms + [0] * bench.sms)
    bench.streams.reverse()  # a further crew of the same application goes into another stream
    bench.crew_behind_the_write(0, nanoseconds)
    bench.streams.reverse()
    seen, (first, _) = bench.results()
    return [min(begin for begin, _ in first[sm]) - seen for sm in range(half) if sm in first], [], ""


def hand_over(bench, nanoseconds, half):
    bench.start([UNLIMITED] * bench.sms + [0] * bench.sms, nanoseconds)
    bench.write([0] * half + [UNLIMITED] * (bench.sms - half) + [UNLIMITED | AFTER_THE_FIRST] * half + [0] * (bench.sms - half))
    bench.crew_behind_the_write(1, nanoseconds)
    seen, (first, second) = bench.results()
    both = [sm for sm in range(half) if sm in first and sm in second]
    gaps = [min(begin for begin, _ in second[sm]) - max(end for _, end in first[sm]) for sm in both]
    return [min(begin for begin, _ in second[sm]) - seen for sm in both], gaps, ""


def measure(bench, device, microseconds, writer):
    for name, experiment in (("leave", leave), ("join", join), ("hand-over", hand_over)):
        times, gaps, after = experiment(bench, round(microseconds * 1000), bench.sms // 2)
        if not times:
            raise real_gpu.Broken(f"{name}: no SM has changed")
        us = lambda ns: f"{ns / 1000:.2f}"
        differences = sorted({abs(a - b) for a, b in zip(times, times[1:])} - {0})
        row = {"what": name, "thread_block_us": f"{microseconds:g}", "took_us": us(bench.took()), "workers_per_sm": bench.occupancy, "sms": len(times),
               "least_us": us(min(times)), "median_us": us(statistics.median(times)), "most_us": us(max(times)),
               "gap_median_us": us(statistics.median(gaps)) if gaps else "",
               "thread_blocks_after": f"{after:.2f}" if after != "" else "", "clock_step_ns": differences[0] if differences else "", "gpu": device.facts["gpu"], "driver": device.facts["driver"],
               "date": device.facts["date"]}
        writer.writerow(row)
        print(*(row[column] for column in COLUMNS[:11]), flush=True)


def run(options, driver):
    device = Device(driver, options.nvml, options.device)
    for function, types in {**MORE, "cuStreamWaitEvent": [c_void_p, c_void_p, ctypes.c_uint]}.items():
        getattr(driver.library, function).argtypes = types
        getattr(driver.library, function).restype = ctypes.c_int
    with open(options.ptx, "rb") as file:
        ptx = file.read() + b"\0"
    if real_workers.entries_with_workers(ptx) < {"spin"}:
        print(f"real_reactions.py: {options.ptx}: kernel spin is no worker", file=sys.stderr)
        return BROKEN
    new = not os.path.exists(options.results)
    with open(options.results, "a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if new:
            writer.writeheader()
        for microseconds in options.lengths:
            bench = Bench(device, ptx, options.thread_blocks)
            for _ in range(options.repetitions):
                measure(bench, device, microseconds, writer)
    device.close()
    return OK


def main():
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    parser.add_argument("ptx", help="reactions.ptx, rewritten by `corun rewrite workers`")
    parser.add_argument("--lengths", type=lambda text: [float(part) for part in text.split(",")], default=[5, 20, 100],
                        help="microseconds of a thread block, with commas between [5,20,100]")
    parser.add_argument("--thread-blocks", type=int, default=1 << 20, help="of the grids [1048576]")
    parser.add_argument("--repetitions", type=int, default=5, help="of everything [5]")
    parser.add_argument("--device", type=int, default=0, help="number of the GPU [0]")
    parser.add_argument("--results", metavar="FILE.csv", default="reactions.csv", help="rows are appended there [reactions.csv]")
    parser.add_argument("--driver", default="libcuda.so.1", help="the driver's library [libcuda.so.1]")
    parser.add_argument("--nvml", default="libnvidia-ml.so.1", help="the library that tells clocks [libnvidia-ml.so.1]")
    options = parser.parse_args()
    os.environ["CUDA_MODULE_LOADING"] = "EAGER"
    os.environ.setdefault("CUDA_DEVICE_MAX_CONNECTIONS", "32")
    try:
        return run(options, Driver(options.driver))
    except NoGpu as error:
        print(f"real_reactions.py: {error}", file=sys.stderr)
        return NO_GPU
    except (DriverError, real_gpu.Broken) as error:
        print(f"real_reactions.py: {error}", file=sys.stderr)
        return WRONG


if __name__ == "__main__":
    sys.exit(main())
