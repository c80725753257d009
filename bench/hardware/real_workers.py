#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs exported workloads as workers on a real NVIDIA GPU, compares what they leave with what their own launches leave there, byte
for byte, and writes what workers cost alone.

    corun export sgemm@medium sgemm-medium
    corun rewrite workers sgemm-medium/sgemm.ptx -o sgemm-medium/workers.ptx
    real_workers.py sgemm-medium ...            # where the GPU is; beside real_gpu.py

Every way of launching (docs/rewrite.md) is tried: the grid as it is by the kernels that were rewritten (direct), workers that begin with a
thread block of their own (seated), those that draw up to four thread blocks at a time (ranged), workers that draw every thread block (drawn), and drawn ones while limits of SMs change at random (changed), launched again until the grid is complete. With `--compile`, PTX is only compiled, into files that later runs load.

Exit status: as real_gpu.py has it.
"""
import argparse
import csv
import ctypes
import os
import random
import re
import statistics
import sys
import time
from ctypes import byref, c_int, c_void_p

import real_gpu
from real_gpu import ADDRESS, BATCH, NO_GPU, OK, WRONG, Broken, Device, Driver, DriverError, Export, Gate, NoGpu, Program

UNLIMITED = 4095
SEATED, DIRECT, HAS_LAYERS = 1, 8, 16
WAYS = ("direct", "seated", "ranged", "drawn", "changed")
RANGE, GROUP = 4, 64  # thread blocks of a draw, and draws whose thread blocks are interleaved: worker_arguments_range
FLAGS = {"direct": DIRECT, "seated": SEATED, "ranged": SEATED, "drawn": 0, "changed": 0}
SUITABLE_SECONDS = 5  # a grid that is not complete by then is taken to stand still

COLUMNS = ("workload", "size", "launches", "thread_blocks", "way", "same_bytes", "reproducible", "thread_blocks_once", "crews", "us",
           "plain_us", "cost", "highest_cost", "registers", "registers_workers", "gpu", "driver", "sm_mhz", "date")

MORE = {
    "cuStreamCreate": [ctypes.POINTER(c_void_p), ctypes.c_uint],
    "cuStreamSynchronize": [c_void_p],
    "cuEventQuery": [c_void_p],
    "cuMemcpyHtoDAsync_v2": [ADDRESS, c_void_p, ctypes.c_size_t, c_void_p],
}


class Queue(ctypes.Structure):
    _fields_ = [("next", ctypes.c_uint32), ("alive", ctypes.c_uint32), ("total", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


class Place(ctypes.Structure):
    _fields_ = [("limit", ctypes.c_uint16), ("resident", ctypes.c_uint16), ("done", ctypes.c_uint32), ("busy", ctypes.c_uint64)]


class Arguments(ctypes.Structure):
    _fields_ = [("queue", ctypes.c_uint64), ("places", ctypes.c_uint64), ("previous", ctypes.c_uint64), ("grid_id", ctypes.c_uint64),
                ("grid_x", ctypes.c_uint32), ("row_reciprocal", ctypes.c_uint32), ("rows", ctypes.c_uint32),
                ("flags", ctypes.c_uint32), ("grid_y", ctypes.c_uint32), ("grid_z", ctypes.c_uint32),
                ("layer_reciprocal", ctypes.c_uint32), ("stride", ctypes.c_uint32), ("ranges", ctypes.c_uint32),
                ("range_more", ctypes.c_uint32), ("reserved", ctypes.c_uint64)]


def reciprocal(count):
    return (1 << 32) // count - (count == 1)


def entries_with_workers(ptx):
    """Names of the kernels that were rewritten."""
    found = set()
    for entry in re.finditer(rb"\.entry\s+([\w$]+)\s*\(([^)]*)\)", ptx):
        if b"corun_workers" in entry.group(2):
            found.add(entry.group(1).decode())
    return found


def entries_with_ranges(ptx):
    """Names of those that keep what is left of a range: they may draw several thread blocks at a time."""
    parts = re.split(rb"\.entry\s+([\w$]+)", ptx)
    return {name.decode() for name, body in zip(parts[1::2], parts[2::2]) if re.search(rb"\[corun_worker\w*\+32\]", body)}


class Stored(Program):
    """A program whose machine code may lie in a file already."""

    def __init__(self, driver, export, name):
        self.file = os.path.join(export.directory, name)
        super().__init__(driver, export)

    def compile(self, ptx):
        if os.path.exists(self.file):
            with open(self.file, "rb") as file:
                return file.read()
        image = super().compile(ptx)
        with open(self.file + ".new", "wb") as file:
            file.write(image)
        os.replace(self.file + ".new", self.file)
        return image

    def registers(self):
        return {name: self.driver.number("cuFuncGetAttribute", real_gpu.FUNCTION_REGISTERS, function)
                for name, function in self.functions.items()}


class Workers(Stored):
    """The same launches as workers."""

    def __init__(self, driver, export, plain, sms):
        self.rewritten, self.ranged = entries_with_workers(export.ptx), entries_with_ranges(export.ptx)
        super().__init__(driver, export, "workers.cubin")
        self.plain_memory, self.sms, self.way = plain, sms, "direct"
        self.places, self.queues = ADDRESS(), ADDRESS()
        driver("cuMemAlloc_v2", byref(self.places), ctypes.sizeof(Place) * sms)
        driver("cuMemAlloc_v2", byref(self.queues), ctypes.sizeof(Queue) * max(len(export.sequence), 1))
        self.writes = c_void_p()
        driver("cuStreamCreate", byref(self.writes), 1)
        self.random = random.Random(17)
        self.crews = 0
        self.occupancy = {}

    def tbs(self, index):
        grid = self.export.operations[index]["grid"]
        return grid[0] * grid[1] * grid[2]

    def begin(self, way):
        """Everything as before a run in that way."""
        self.way, self.crews = way, 0
        self.restore()
        for index, operation in enumerate(self.export.operations):
            if "kernel" in operation and index not in self.occupancy:
                block = operation["block"]
                self.occupancy[index] = self.driver.number("cuOccupancyMaxActiveBlocksPerMultiprocessor",
                                                           self.functions[operation["kernel"]], block[0] * block[1] * block[2],
                                                           operation["shared_bytes"])
        places = (Place * self.sms)(*[Place(UNLIMITED, 0, 0, 0)] * self.sms)
        self.driver("cuMemcpyHtoD_v2", self.places.value, ctypes.cast(places, ctypes.c_char_p), ctypes.sizeof(places))
        queues = (Queue * max(len(self.export.sequence), 1))()
        for n, index in enumerate(self.export.sequence):
            if "kernel" in self.export.operations[index]:
                seated = self.count(index) if FLAGS[way] & SEATED else 0
                queues[n] = Queue(seated, 0, self.tbs(index) - self.ranges(index) * (RANGE - 1), 0)
        self.driver("cuMemcpyHtoD_v2", self.queues.value, ctypes.cast(queues, ctypes.c_char_p), ctypes.sizeof(queues))
        self.driver("cuCtxSynchronize")

    def count(self, index):
        return min(self.tbs(index), max(self.occupancy[index], 1) * self.sms)

    def ranges(self, index):
        """Draws of several thread blocks: as many thread blocks as there are workers are drawn one by one, at the end."""
        if self.way != "ranged" or self.export.operations[index]["kernel"] not in self.ranged:
            return 0
        return (self.tbs(index) - self.count(index)) // (RANGE * GROUP) * GROUP

    def arguments_of(self, index, number):
        grid = self.export.operations[index]["grid"]
        return Arguments(self.queues.value + number * ctypes.sizeof(Queue), self.places.value, 0, number + 1, grid[0],
                         reciprocal(grid[0]), grid[1] * grid[2], FLAGS[self.way] | (HAS_LAYERS if grid[2] > 1 else 0), grid[1],
                         grid[2], reciprocal(grid[1]), ctypes.sizeof(Place) * self.sms, self.ranges(index), RANGE - 1 if self.ranges(index) else 0)

    def launch_number(self, number):
        """Launch `number` of the run, in the way that was begun."""
        index = self.export.sequence[number]
        operation = self.export.operations[index]
        if "copy" in operation or operation["kernel"] not in self.rewritten:
            return self.launch(index)
        values, _ = self.arguments[index]
        last = self.arguments_of(index, number)
        pointers = (c_void_p * (len(values) + 1))(*[ctypes.addressof(value) for value in values], ctypes.addressof(last))
        whole = self.way == "direct"
        grid = operation["grid"] if whole else [self.count(index), 1, 1]
        self.crews += 1
        self.driver("cuLaunchKernel", self.functions[operation["kernel"]], *grid, *operation["block"], operation["shared_bytes"], None,
                    pointers, None)
        return None

    def write_limits(self, limits):
        """While kernels run: 2 bytes of each place, in a stream of its own."""
        rows = (ctypes.c_uint16 * self.sms)(*limits)
        copy = Copy2D(0, 0, 1, ctypes.addressof(rows), 0, None, 2, 0, 0, 2, None, self.places.value, None,
                      ctypes.sizeof(Place), 2, self.sms)
        self.driver("cuMemcpy2DAsync_v2", byref(copy), self.writes)
        self.driver("cuStreamSynchronize", self.writes)

    def limits(self):
        share = self.random.random()
        limits = [self.random.choice((1, 2, 3, UNLIMITED)) if self.random.random() < share else 0 for _ in range(self.sms)]
        limits[self.random.randrange(self.sms)] = 1
        return limits

    def run_changed(self, event):
        """Every launch until it is complete, under limits that change."""
        for number, index in enumerate(self.export.sequence):
            operation = self.export.operations[index]
            if "copy" in operation or operation["kernel"] not in self.rewritten:
                self.launch(index)
                continue
            began, queue = time.monotonic(), Queue()
            while True:
                self.write_limits(self.limits())
                self.launch_number(number)
                self.driver("cuEventRecord", event, None)
                while self.driver.library.cuEventQuery(event) == 600:
                    self.write_limits(self.limits())
                self.driver("cuCtxSynchronize")
                self.driver("cuMemcpyDtoH_v2", byref(queue), self.queues.value + number * ctypes.sizeof(Queue), ctypes.sizeof(queue))
                if queue.next >= queue.total:
                    break
                if time.monotonic() > began + SUITABLE_SECONDS:
                    raise Broken(f"{self.export.directory}: launch {number} stands still at {queue.next} of {queue.total}")

    def counted(self):
        """(thread blocks that places have counted, workers that are still counted there)"""
        places = (Place * self.sms)()
        self.driver("cuMemcpyDtoH_v2", byref(places), self.places.value, ctypes.sizeof(places))
        return sum(place.done for place in places), sum(place.resident for place in places)

    def close(self):
        super().close()
        self.driver("cuMemFree_v2", self.places)
        self.driver("cuMemFree_v2", self.queues)


class Copy2D(ctypes.Structure):
    """CUDA_MEMCPY2D"""
    _fields_ = [("from_x", ctypes.c_size_t), ("from_y", ctypes.c_size_t), ("from_kind", c_int), ("from_host", c_void_p),
                ("from_device", ctypes.c_ulonglong), ("from_array", c_void_p), ("from_pitch", ctypes.c_size_t),
                ("to_x", ctypes.c_size_t), ("to_y", ctypes.c_size_t), ("to_kind", c_int), ("to_host", c_void_p),
                ("to_device", ctypes.c_ulonglong), ("to_array", c_void_p), ("to_pitch", ctypes.c_size_t),
                ("bytes", ctypes.c_size_t), ("rows", ctypes.c_size_t)]


MORE["cuMemcpy2DAsync_v2"] = [ctypes.POINTER(Copy2D), c_void_p]


def read_all(program):
    """Everything that a run may have changed."""
    result = {}
    for name, buffer in program.export.buffers.items():
        data = ctypes.create_string_buffer(buffer["bytes"])
        program.driver("cuMemcpyDtoH_v2", data, program.memory[name], buffer["bytes"])
        result[name] = data.raw
    return result


def time_all(program, gate, launch):
    """Microseconds of all launches of a run, each on its own."""
    sequence, total = program.export.sequence, 0.0
    for first in range(0, len(sequence), BATCH):
        batch = range(first, min(first + BATCH, len(sequence)))
        with gate.closed():
            for place, number in enumerate(batch):
                program.driver("cuEventRecord", gate.events[2 * place], None)
                launch(number)
                program.driver("cuEventRecord", gate.events[2 * place + 1], None)
        program.driver("cuCtxSynchronize")
        total += sum(gate.elapsed_us(place) for place, number in enumerate(batch)
                     if "kernel" in program.export.operations[sequence[number]])
    return total


def run_plain(plain, gate):
    plain.restore()
    us = time_all(plain, gate, lambda number: plain.launch(plain.export.sequence[number]))
    return us, read_all(plain)


def run_way(workers, gate, way, event):
    """(microseconds, what it left)"""
    workers.begin(way)
    if way == "changed":
        workers.run_changed(event)
        us = 0.0
    else:
        us = time_all(workers, gate, workers.launch_number)
    return us, read_all(workers)


def exports_of(directory):
    plain, workers = Export(directory), Export(directory)
    workers.ptx = workers.read("workers.ptx")
    return plain, workers


def measure(device, gate, directory, repetitions):
    """Rows of a workload."""
    driver = device.driver
    first, second = exports_of(directory)
    plain, workers = Stored(driver, first, "plain.cubin"), Workers(driver, second, None, device.facts["sms"])
    event = c_void_p()
    driver("cuEventCreate", byref(event), 0)
    _, expected = run_plain(plain, gate)
    times, same, counted = {"plain": []}, {way: True for way in WAYS}, {way: True for way in WAYS}
    reproducible = True
    due = sum(workers.tbs(index) for index in first.sequence
              if "kernel" in first.operations[index] and first.operations[index]["kernel"] in workers.rewritten)
    for way in WAYS:
        times[way] = []
    for repetition in range(repetitions + 1):  # the first one is not timed
        us, left = run_plain(plain, gate)
        reproducible &= left == expected
        if repetition:
            times["plain"].append(us)
        for way in WAYS:
            if way == "changed" and repetition > 1:
                continue
            us, left = run_way(workers, gate, way, event)
            same[way] &= left == expected
            done, resident = workers.counted()
            counted[way] &= resident == 0 and (way == "direct" or done == due)
            if repetition:
                times[way].append(us)
            crews = workers.crews
            times.setdefault(way + " crews", crews)
    mhz = device.clocks.sample()
    registers = ["/".join(str(program.registers().get(name, "")) for name in sorted(plain.functions)) for program in (plain, workers)]
    base = statistics.median(times["plain"])
    rows = []
    for way in WAYS:
        us = statistics.median(times[way])
        rows.append({"workload": first.workload, "size": first.size, "launches": len(first.sequence), "thread_blocks": due, "way": way,
                     "same_bytes": int(same[way]), "reproducible": int(reproducible), "thread_blocks_once": int(counted[way]),
                     "crews": times[way + " crews"], "us": f"{us:.3f}", "plain_us": f"{base:.3f}",
                     "cost": f"{us / base - 1:.5f}" if us else "", "highest_cost": f"{max(times[way]) / base - 1:.5f}" if us else "",
                     "registers": registers[0], "registers_workers": registers[1], "gpu": device.facts["gpu"],
                     "driver": device.facts["driver"], "sm_mhz": mhz, "date": device.facts["date"]})
    plain.close()
    workers.close()
    return rows


def run_all(options, driver):
    device = Device(driver, options.nvml, options.device)
    for function, types in MORE.items():
        getattr(driver.library, function).argtypes = types
        getattr(driver.library, function).restype = c_int
    gate, status = Gate(driver), OK
    new = not os.path.exists(options.results)
    for directory in options.export:
        try:
            if options.compile:
                for export, name in zip(exports_of(directory), ("plain.cubin", "workers.cubin")):
                    Stored(driver, export, name).close()
                continue
            rows = measure(device, gate, directory, options.repetitions)
        except (Broken, DriverError) as error:
            print(f"real_workers.py: {directory}: {error}", file=sys.stderr, flush=True)
            status = WRONG
            if isinstance(error, DriverError) and error.code not in (2, 218, 301):
                return status
            continue
        with open(options.results, "a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            if new:
                writer.writeheader()
            new = False
            writer.writerows(rows)
        if not all(row["thread_blocks_once"] and (row["same_bytes"] or not row["reproducible"]) for row in rows):
            status = WRONG
        print(f"{rows[0]['workload']}@{rows[0]['size']}", *(f"{row['way']} {'=' if row['same_bytes'] else 'DIFFERS'}"
              f"{'' if row['thread_blocks_once'] else ' MISCOUNTED'} {row['cost']}" for row in rows),
              "" if rows[0]["reproducible"] else "(own launches differ, too)", flush=True)
    device.close()
    return status


def main():
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    parser.add_argument("export", nargs="+", help="a directory that `corun export` wrote, with workers.ptx in it")
    parser.add_argument("--compile", action="store_true", help="only compile")
    parser.add_argument("--repetitions", type=int, default=7, help="timed runs of each way, after one that is not [7]")
    parser.add_argument("--device", type=int, default=0, help="number of the GPU [0]")
    parser.add_argument("--results", metavar="FILE.csv", default="workers.csv", help="rows are appended there [workers.csv]")
    parser.add_argument("--driver", default="libcuda.so.1", help="the driver's library [libcuda.so.1]")
    parser.add_argument("--nvml", default="libnvidia-ml.so.1", help="the library that tells clocks [libnvidia-ml.so.1]")
    options = parser.parse_args()
    if options.repetitions < 1 or options.device < 0:
        parser.error("--repetitions must be 1 or more, --device 0 or more")
    os.environ["CUDA_MODULE_LOADING"] = "EAGER"
    try:
        return run_all(options, Driver(options.driver))
    except NoGpu as error:
        print(f"real_workers.py: {error}", file=sys.stderr)
        return NO_GPU
    except DriverError as error:
        print(f"real_workers.py: {error}", file=sys.stderr)
        return WRONG


if __name__ == "__main__":
    sys.exit(main())
