#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs exported workloads on a real NVIDIA GPU, checks what they compute, and writes how long each launch took.

    corun export sgemm@large sgemm-large        # on any machine
    real_gpu.py sgemm-large ...                 # where the GPU is; needs this file, python3 and the driver, nothing else

The PTX goes through the driver's own compiler, the launches of launch.json run in order with an event on either side of each, and
the outputs are compared with the expected ones. One row of CSV per kind of launch and one for the whole run are written to
results/GPU.csv beside this file. How times, cycles and bandwidths are got is in docs/hardware.md.

Exit status: 0 all is well; 1 a result is wrong or a workload could not run; 2 the command line is wrong; 3 an export is broken;
77 there is no NVIDIA driver or no GPU.
"""
import argparse
import array
import contextlib
import csv
import ctypes
import datetime
import json
import math
import os
import re
import statistics
import sys
import threading
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_ulonglong, c_void_p

OK, WRONG, USAGE, BROKEN, NO_GPU = 0, 1, 2, 3, 77
RUN = "(run)"
# Launches between two waits for the GPU: a stream takes about a thousand entries before a launch blocks, and each launch is three.
BATCH = 256
# Should a launch wait for the stream to be empty, which no launch below is known to do, the gate opens by itself.
GATE_SECONDS = 5
REPORTED_MISMATCHES = 8

# type in launch.json: (of a kernel's argument, code of an array)
TYPES = {"u8": (ctypes.c_uint8, "B"), "s8": (ctypes.c_int8, "b"), "u16": (ctypes.c_uint16, "H"), "s16": (ctypes.c_int16, "h"),
         "u32": (ctypes.c_uint32, "I"), "s32": (ctypes.c_int32, "i"), "u64": (ctypes.c_uint64, "Q"),
         "s64": (ctypes.c_int64, "q"), "f32": (ctypes.c_float, "f"), "f64": (ctypes.c_double, "d")}
FLOATS = ("f32", "f64")

# Waits for a word in the host's memory, so that the launches behind it are all in the stream before the first one begins: the
# events then see the GPU's time and not how long this script took to make the next call.
GATE = b"""
.version 6.3
.target sm_52
.address_size 64
.visible .entry gate(.param .u64 open)
{
    .reg .pred %p<2>;
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [open];
CLOSED:
    ld.volatile.global.u32 %r1, [%rd1];
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra CLOSED;
    ret;
}
"""

# Reads a buffer, so that the L2 has it, or has it in the place of others.
TOUCH = b"""
.version 6.3
.target sm_52
.address_size 64
.visible .entry touch(.param .u64 from, .param .u64 bytes)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [from];
    ld.param.u64 %rd2, [bytes];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %nctaid.x;
    mul.wide.u32 %rd3, %r1, 8192;
    mul.wide.u32 %rd4, %r2, 32;
    add.u64 %rd3, %rd3, %rd4;
    mul.wide.u32 %rd4, %r3, 8192;
    mov.u32 %r4, 0;
SECTOR:
    setp.ge.u64 %p1, %rd3, %rd2;
    @%p1 bra END;
    add.u64 %rd5, %rd1, %rd3;
    ld.volatile.global.u32 %r5, [%rd5];
    add.u64 %rd3, %rd3, %rd4;
    bra SECTOR;
END:
    ret;
}
"""
SWEEP_BYTES = 256 << 20  # more than any L2 holds

ADDRESS = c_ulonglong  # CUdeviceptr
# The CUDA driver API, from its documentation: pointers to results first, sizes in bytes. All return a CUresult.
DRIVER = {
    "cuInit": [c_uint],
    "cuDriverGetVersion": [POINTER(c_int)],
    "cuDeviceGetCount": [POINTER(c_int)],
    "cuDeviceGet": [POINTER(c_int), c_int],
    "cuDeviceGetName": [c_char_p, c_int, c_int],
    "cuDeviceGetAttribute": [POINTER(c_int), c_int, c_int],
    "cuDeviceGetPCIBusId": [c_char_p, c_int, c_int],
    "cuDevicePrimaryCtxRetain": [POINTER(c_void_p), c_int],
    "cuDevicePrimaryCtxRelease_v2": [c_int],
    "cuCtxSetCurrent": [c_void_p],
    "cuCtxSynchronize": [],
    "cuLinkCreate_v2": [c_uint, POINTER(c_int), POINTER(c_void_p), POINTER(c_void_p)],
    "cuLinkAddData_v2": [c_void_p, c_int, c_char_p, c_size_t, c_char_p, c_uint, POINTER(c_int), POINTER(c_void_p)],
    "cuLinkComplete": [c_void_p, POINTER(c_void_p), POINTER(c_size_t)],
    "cuLinkDestroy": [c_void_p],
    "cuModuleLoadData": [POINTER(c_void_p), c_char_p],
    "cuModuleUnload": [c_void_p],
    "cuModuleGetFunction": [POINTER(c_void_p), c_void_p, c_char_p],
    "cuModuleGetGlobal_v2": [POINTER(ADDRESS), POINTER(c_size_t), c_void_p, c_char_p],
    "cuFuncGetAttribute": [POINTER(c_int), c_int, c_void_p],
    "cuFuncSetAttribute": [c_void_p, c_int, c_int],
    "cuOccupancyMaxActiveBlocksPerMultiprocessor": [POINTER(c_int), c_void_p, c_int, c_size_t],
    "cuMemAlloc_v2": [POINTER(ADDRESS), c_size_t],
    "cuMemFree_v2": [ADDRESS],
    "cuMemHostAlloc": [POINTER(c_void_p), c_size_t, c_uint],
    "cuMemHostGetDevicePointer_v2": [POINTER(ADDRESS), c_void_p, c_uint],
    "cuMemFreeHost": [c_void_p],
    "cuMemcpyHtoD_v2": [ADDRESS, c_char_p, c_size_t],
    "cuMemcpyDtoH_v2": [c_void_p, ADDRESS, c_size_t],
    "cuMemcpyDtoDAsync_v2": [ADDRESS, ADDRESS, c_size_t, c_void_p],
    "cuMemsetD8_v2": [ADDRESS, ctypes.c_ubyte, c_size_t],
    "cuLaunchKernel": [c_void_p, *[c_uint] * 7, c_void_p, POINTER(c_void_p), POINTER(c_void_p)],
    "cuEventCreate": [POINTER(c_void_p), c_uint],
    "cuEventRecord": [c_void_p, c_void_p],
    "cuEventElapsedTime": [POINTER(c_float), c_void_p, c_void_p],
    "cuEventDestroy_v2": [c_void_p],
    "cuGetErrorName": [c_int, POINTER(c_char_p)],
    "cuGetErrorString": [c_int, POINTER(c_char_p)],
}
CUDA_ERROR_OUT_OF_MEMORY = 2
ATTRIBUTE_CLOCK_RATE, ATTRIBUTE_SMS, ATTRIBUTE_MAJOR, ATTRIBUTE_MINOR = 13, 16, 75, 76
FUNCTION_LOCAL_BYTES, FUNCTION_REGISTERS, FUNCTION_MAX_DYNAMIC_SHARED = 3, 4, 8
HOST_ALLOC_MAPPED = 2
JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES, JIT_INPUT_PTX = 5, 6, 1
STATIC_SHARED_LIMIT = 48 << 10  # more has to be asked for

# NVML, likewise; these return an nvmlReturn_t.
NVML = {
    "nvmlInit_v2": [],
    "nvmlShutdown": [],
    "nvmlSystemGetDriverVersion": [c_char_p, c_uint],
    "nvmlDeviceGetHandleByPciBusId_v2": [c_char_p, POINTER(c_void_p)],
    "nvmlDeviceGetClockInfo": [c_void_p, c_int, POINTER(c_uint)],
    "nvmlDeviceGetApplicationsClock": [c_void_p, c_int, POINTER(c_uint)],
}
CLOCK_SM, CLOCK_MEMORY = 1, 2

COLUMNS = ("workload", "size", "seed", "kernel", "grid", "block", "shared_bytes", "launches", "repetitions", "time_us",
           "time_us_lowest", "time_us_highest", "run_us", "sm_mhz", "sm_mhz_from", "sm_cycles", "bytes", "bytes_from",
           "gb_per_s", "registers", "local_bytes", "tbs_per_sm", "verified", "worst_error", "gpu", "sms",
           "compute_capability", "driver", "application_sm_mhz", "application_memory_mhz", "date")


class NoGpu(Exception):
    """There is nothing to run on."""


class Broken(Exception):
    """An export that is not as docs/hardware.md says."""


class DriverError(Exception):
    """A call of the driver did not succeed."""

    def __init__(self, text, code):
        super().__init__(text)
        self.code = code


def open_library(name, functions):
    """The library, with the types of these functions declared; OSError or AttributeError if it has not got them."""
    library = ctypes.CDLL(name)
    for function, arguments in functions.items():
        getattr(library, function).argtypes = arguments
        getattr(library, function).restype = c_int
    return library


class Driver:
    """libcuda: calls raise DriverError."""

    def __init__(self, name):
        try:
            self.library = open_library(name, DRIVER)
        except OSError as error:
            raise NoGpu(f"no NVIDIA driver: {name} cannot be loaded ({error})") from error
        except AttributeError as error:
            raise NoGpu(f"no usable NVIDIA driver: {error}") from error
        for call in ("cuInit", "cuDeviceGetCount"):
            count = c_int(0)
            try:
                self(call, *((0,) if call == "cuInit" else (byref(count),)))
            except DriverError as error:
                raise NoGpu(f"the NVIDIA driver finds no GPU: {error}") from error
        if count.value == 0:
            raise NoGpu("the NVIDIA driver finds no GPU")
        self.count = count.value

    def __call__(self, function, *arguments):
        code = getattr(self.library, function)(*arguments)
        if code:
            texts = []
            for describe in ("cuGetErrorName", "cuGetErrorString"):
                text = c_char_p()
                if getattr(self.library, describe)(code, byref(text)) == 0 and text.value:
                    texts.append(text.value.decode())
            raise DriverError(f"{function}: {': '.join(texts) or f'error {code}'}", code)

    def number(self, function, *arguments):
        """The int that a function writes to its first argument."""
        value = c_int()
        self(function, byref(value), *arguments)
        return value.value

    def text(self, function, device):
        buffer = ctypes.create_string_buffer(256)
        self(function, buffer, len(buffer), device)
        return buffer.value.decode()


class Clocks:
    """NVML's view of the GPU's clocks; without it, the highest clock that the driver states."""

    def __init__(self, name, driver, device):
        self.highest = driver.number("cuDeviceGetAttribute", ATTRIBUTE_CLOCK_RATE, device) / 1000
        self.library = None
        self.handle = c_void_p()
        with contextlib.suppress(OSError, AttributeError):
            library = open_library(name, NVML)
            bus = driver.text("cuDeviceGetPCIBusId", device).encode()
            if library.nvmlInit_v2() == 0 and library.nvmlDeviceGetHandleByPciBusId_v2(bus, byref(self.handle)) == 0:
                self.library = library

    def driver_version(self):
        buffer = ctypes.create_string_buffer(96)
        if self.library is None or self.library.nvmlSystemGetDriverVersion(buffer, len(buffer)):
            return ""
        return buffer.value.decode()

    def read(self, function, clock):
        """In MHz; None if it cannot be read."""
        value = c_uint()
        if self.library is None or getattr(self.library, function)(self.handle, clock, byref(value)):
            return None
        return value.value

    def sample(self):
        return self.read("nvmlDeviceGetClockInfo", CLOCK_SM)

    def close(self):
        if self.library is not None:
            self.library.nvmlShutdown()


class Export:
    """A directory that `corun export` wrote."""

    def __init__(self, directory):
        self.directory = directory
        path = os.path.join(directory, "launch.json")
        try:
            with open(path, encoding="utf-8") as file:
                facts = json.load(file)
        except (OSError, ValueError) as error:
            raise Broken(f"{path}: {error}") from error
        if not isinstance(facts, dict) or facts.get("format") != "corun export":
            raise Broken(f"{path}: not written by corun export")
        if facts.get("version") != 1:
            raise Broken(f"{path}: version {facts.get('version')}, but this script knows version 1")
        try:
            self.workload, self.size, self.seed = facts["workload"], facts["size"], facts["seed"]
            self.buffers = {buffer["name"]: buffer for buffer in facts["buffers"]}
            self.operations, self.sequence, self.work = facts["operations"], facts["sequence"], facts["work"]
            self.ptx = self.read(facts["ptx"])
            self.initial = {name: self.contents(buffer) for name, buffer in self.buffers.items()}
            self.outputs = [buffer for buffer in self.buffers.values() if "output" in buffer]
            self.check()
        except (KeyError, IndexError, TypeError) as error:
            raise Broken(f"{path}: {type(error).__name__} {error}") from error

    def read(self, name, expected_bytes=None):
        path = os.path.join(self.directory, name)
        try:
            with open(path, "rb") as file:
                data = file.read()
        except OSError as error:
            raise Broken(str(error)) from error
        if expected_bytes is not None and len(data) != expected_bytes:
            raise Broken(f"{path}: {len(data)} bytes, but the buffer has {expected_bytes}")
        return data

    def contents(self, buffer):
        """Bytes, or None for zeroes or what the module has."""
        if buffer["initial"] in ("zero", "module"):
            return None
        return self.read(buffer["initial"], buffer["bytes"])

    def check(self):
        for index in self.sequence:
            if not 0 <= index < len(self.operations):
                raise IndexError("sequence")
        for operation in self.operations:
            for argument in operation.get("arguments", ()):
                _ = self.buffers[argument["buffer"]] if "buffer" in argument else TYPES[argument["type"]]
            if "copy" in operation:
                _ = self.buffers[operation["copy"]["from"]], self.buffers[operation["copy"]["to"]]
        for buffer in self.outputs:
            _ = TYPES[buffer["type"]], self.buffers[buffer["output"]["memory"]]


class Program:
    """An export on the GPU: its compiled kernels, memory, and functions once loaded."""

    def __init__(self, driver, export, together=0):
        self.driver, self.export = driver, export
        self.memory, self.functions, self.arguments = {}, {}, {}
        self.module = c_void_p()
        self.image = self.compile(export.ptx)
        self.allocations = []
        if together:
            self.allocate_together(together)
            return
        for name, buffer in export.buffers.items():
            if "symbol" not in buffer:
                self.memory[name] = self.allocate(buffer["bytes"])

    def allocate(self, size):
        address = ADDRESS()
        self.driver("cuMemAlloc_v2", byref(address), size)
        self.allocations.append(address.value)
        return address.value

    def allocate_together(self, least):
        """All buffers in one allocation of at least that size, each at a multiple of 512 bytes, as separate allocations begin."""
        ends, sizes = 0, {}
        for name, buffer in self.export.buffers.items():
            if "symbol" not in buffer:
                sizes[name] = ends
                ends += -(-buffer["bytes"] // 512) * 512
        base = self.allocate(max(ends, least))
        self.memory.update({name: base + offset for name, offset in sizes.items()})

    def compile(self, ptx):
        """Machine code of this GPU, compiled once: each repetition loads it anew, so that module variables start over."""
        log = ctypes.create_string_buffer(16384)
        options = (c_int * 2)(JIT_ERROR_LOG, JIT_ERROR_LOG_BYTES)
        values = (c_void_p * 2)(ctypes.addressof(log), len(log))
        state, image, size = c_void_p(), c_void_p(), c_size_t()
        self.driver("cuLinkCreate_v2", 2, options, values, byref(state))
        try:
            text = ptx + b"\0"
            self.driver("cuLinkAddData_v2", state, JIT_INPUT_PTX, text, len(text), self.export.workload.encode(), 0, None, None)
            self.driver("cuLinkComplete", state, byref(image), byref(size))
            return ctypes.string_at(image, size.value)
        except DriverError as error:
            raise DriverError(f"{error}\n{log.value.decode(errors='replace').strip()}".strip(), error.code) from error
        finally:
            self.driver("cuLinkDestroy", state)

    def restore(self):
        """As before a run: module variables as the PTX has them, buffers with their initial contents."""
        self.unload()
        self.driver("cuModuleLoadData", byref(self.module), self.image)
        for name, buffer in self.export.buffers.items():
            if "symbol" in buffer:
                address, size = ADDRESS(), c_size_t()
                self.driver("cuModuleGetGlobal_v2", byref(address), byref(size), self.module, buffer["symbol"].encode())
                if size.value < buffer["bytes"]:
                    raise Broken(f"{self.export.directory}: variable {buffer['symbol']} is smaller than its buffer")
                self.memory[name] = address.value
            if buffer["initial"] == "zero":
                self.driver("cuMemsetD8_v2", self.memory[name], 0, buffer["bytes"])
            elif buffer["initial"] != "module":
                self.driver("cuMemcpyHtoD_v2", self.memory[name], self.export.initial[name], buffer["bytes"])
        for index, operation in enumerate(self.export.operations):
            if "kernel" in operation:
                self.prepare(index, operation)
        self.driver("cuCtxSynchronize")

    def prepare(self, index, operation):
        name = operation["kernel"]
        if name not in self.functions:
            function = c_void_p()
            self.driver("cuModuleGetFunction", byref(function), self.module, name.encode())
            self.functions[name] = function
        if operation["shared_bytes"] > STATIC_SHARED_LIMIT:
            self.driver("cuFuncSetAttribute", self.functions[name], FUNCTION_MAX_DYNAMIC_SHARED, operation["shared_bytes"])
        values = []
        for argument in operation["arguments"]:
            if "buffer" in argument:
                values.append(ADDRESS(self.memory[argument["buffer"]] + argument["offset_bytes"]))
            else:
                kind = TYPES[argument["type"]][0]
                values.append(kind(float(argument["value"]) if argument["type"] in FLOATS else argument["value"]))
        pointers = (c_void_p * max(len(values), 1))(*[ctypes.addressof(value) for value in values])
        self.arguments[index] = values, pointers  # the values live as long as what points to them

    def launch(self, index):
        operation = self.export.operations[index]
        if "copy" in operation:
            copy = operation["copy"]
            if copy["bytes"]:
                self.driver("cuMemcpyDtoDAsync_v2", self.memory[copy["to"]] + copy["to_offset_bytes"],
                            self.memory[copy["from"]] + copy["from_offset_bytes"], copy["bytes"], None)
            return
        self.driver("cuLaunchKernel", self.functions[operation["kernel"]], *operation["grid"], *operation["block"],
                    operation["shared_bytes"], None, self.arguments[index][1], None)

    def read(self, buffer):
        data = ctypes.create_string_buffer(buffer["bytes"])
        self.driver("cuMemcpyDtoH_v2", data, self.memory[buffer["output"]["memory"]], buffer["bytes"])
        return data.raw

    def unload(self):
        if self.module:
            self.driver("cuModuleUnload", self.module)
        self.module = c_void_p()
        self.functions = {}

    def close(self):
        self.unload()
        for address in self.allocations:
            self.driver("cuMemFree_v2", address)
        self.allocations, self.memory = [], {}


class Caches:
    """Brings the L2 into a known state before a timed run: `cold` with other data in it, `warm` with the program's buffers."""

    def __init__(self, driver, state):
        self.driver, self.state, self.sweep = driver, state, ADDRESS()
        if state == "restored":
            return
        module, self.function = c_void_p(), c_void_p()
        driver("cuModuleLoadData", byref(module), TOUCH + b"\0")
        driver("cuModuleGetFunction", byref(self.function), module, b"touch")
        if state == "cold":
            driver("cuMemAlloc_v2", byref(self.sweep), SWEEP_BYTES)

    def touch(self, address, size):
        values = [ADDRESS(address), ADDRESS(size)]
        pointers = (c_void_p * 2)(*[ctypes.addressof(value) for value in values])
        self.driver("cuLaunchKernel", self.function, 264, 1, 1, 256, 1, 1, 0, None, pointers, None)

    def prepare(self, program):
        if self.state == "cold":
            self.touch(self.sweep.value, SWEEP_BYTES)
        elif self.state == "warm":
            for name, buffer in program.export.buffers.items():
                self.touch(program.memory[name], buffer["bytes"])
        self.driver("cuCtxSynchronize")

    def close(self):
        if self.sweep:
            self.driver("cuMemFree_v2", self.sweep)


class Gate:
    """Keeps a stream closed while launches are put into it."""

    def __init__(self, driver):
        self.driver = driver
        module, self.function, self.word, address = c_void_p(), c_void_p(), c_void_p(), ADDRESS()
        driver("cuModuleLoadData", byref(module), GATE + b"\0")
        driver("cuModuleGetFunction", byref(self.function), module, b"gate")
        driver("cuMemHostAlloc", byref(self.word), 4, HOST_ALLOC_MAPPED)
        driver("cuMemHostGetDevicePointer_v2", byref(address), self.word, 0)
        self.address = address
        self.pointers = (c_void_p * 1)(ctypes.addressof(self.address))
        self.open = ctypes.cast(self.word, POINTER(ctypes.c_uint32))
        self.late = False
        self.events = []
        for _ in range(2 * BATCH):
            event = c_void_p()
            driver("cuEventCreate", byref(event), 0)
            self.events.append(event)

    @contextlib.contextmanager
    def closed(self):
        def opens_by_itself():
            self.late = True
            self.open[0] = 1
        self.open[0] = 0
        timer = threading.Timer(GATE_SECONDS, opens_by_itself)
        timer.start()
        try:
            self.driver("cuLaunchKernel", self.function, 1, 1, 1, 1, 1, 1, 0, None, self.pointers, None)
            yield
        finally:
            self.open[0] = 1
            timer.cancel()

    def elapsed_us(self, number):
        """Between the two events of launch `number` of the batch."""
        milliseconds = c_float()
        self.driver("cuEventElapsedTime", byref(milliseconds), self.events[2 * number], self.events[2 * number + 1])
        return milliseconds.value * 1000

    def close(self):
        for event in self.events:
            self.driver("cuEventDestroy_v2", event)
        self.driver("cuMemFreeHost", self.word)


def warm_up(program):
    """One run that is not timed: clocks come up, and the driver makes what room local memory needs, which has to wait for all else."""
    program.restore()
    for index in program.export.sequence:
        program.launch(index)
    program.driver("cuCtxSynchronize")


def time_run(program, gate, clocks, caches):
    """One run from the initial contents: [(operation, microseconds)] of its launches in order, and samples of the SM clock."""
    program.restore()
    caches.prepare(program)
    times, samples = [], [clocks.sample()]
    sequence = program.export.sequence
    for first in range(0, len(sequence), BATCH):
        batch = sequence[first:first + BATCH]
        with gate.closed():
            for number, index in enumerate(batch):
                program.driver("cuEventRecord", gate.events[2 * number], None)
                program.launch(index)
                program.driver("cuEventRecord", gate.events[2 * number + 1], None)
        samples.append(clocks.sample())
        program.driver("cuCtxSynchronize")
        times += [(index, gate.elapsed_us(number)) for number, index in enumerate(batch)
                  if "kernel" in program.export.operations[index]]
    samples.append(clocks.sample())
    return times, [sample for sample in samples if sample is not None]


def error_of(got, expected, output):
    """In units of what the tolerance allows, as corun has it."""
    if got == expected or (got != got and expected != expected):  # pylint: disable=comparison-with-itself
        return 0.0
    allowed = output["absolute"] + output["relative"] * abs(expected)
    difference = abs(got - expected)
    if not math.isfinite(difference) or allowed <= 0:
        return math.inf
    return difference / allowed


def compare(buffer, got, expected):
    """(worst error in units of the tolerance, 0 for integers; what differs, as text for the first few; how many)"""
    worst, texts, count = 0.0, [], 0
    if got == expected:
        return worst, texts, count
    code = TYPES[buffer["type"]][1]
    chunk = 4096 * array.array(code).itemsize
    for start in range(0, len(got), chunk):
        if got[start:start + chunk] == expected[start:start + chunk]:
            continue
        pairs = zip(array.array(code, got[start:start + chunk]), array.array(code, expected[start:start + chunk]))
        for number, (value, right) in enumerate(pairs, start // array.array(code).itemsize):
            if value == right:
                continue
            if buffer["type"] in FLOATS:
                error = error_of(value, right, buffer["output"])
                worst = max(worst, error)
                if error <= 1:
                    continue
            count += 1
            if len(texts) < REPORTED_MISMATCHES:
                texts.append(f"buffer '{buffer['name']}' element {number} is {value:.9g}, expected {right:.9g}")
    return worst, texts, count


def verify(program, say):
    """(is right, worst error) of the outputs in memory now; (None, 0) if nothing is known of them."""
    export, right, worst = program.export, None, 0.0
    for buffer in export.outputs:
        if buffer["output"]["expected"] is None:
            continue
        expected = export.read(buffer["output"]["expected"], buffer["bytes"])
        error, texts, count = compare(buffer, program.read(buffer), expected)
        for text in texts:
            say(f"{export.directory}: {text}")
        if count:
            say(f"{export.directory}: {count} of {buffer['count']} elements of buffer '{buffer['name']}' are wrong")
        right = (right is None or right) and count == 0
        worst = max(worst, error)
    return right, worst


class Device:
    """One GPU, with what every row says of it."""

    def __init__(self, driver, nvml, number):
        self.driver = driver
        if number >= driver.count:
            raise NoGpu(f"there is no GPU {number}: the driver finds {driver.count}")
        self.device = driver.number("cuDeviceGet", number)
        context = c_void_p()
        driver("cuDevicePrimaryCtxRetain", byref(context), self.device)
        driver("cuCtxSetCurrent", context)
        self.clocks = Clocks(nvml, driver, self.device)
        attribute = lambda which: driver.number("cuDeviceGetAttribute", which, self.device)
        api = driver.number("cuDriverGetVersion")
        text = lambda value: "" if value is None else value
        self.facts = {
            "gpu": driver.text("cuDeviceGetName", self.device),
            "sms": attribute(ATTRIBUTE_SMS),
            "compute_capability": f"{attribute(ATTRIBUTE_MAJOR)}.{attribute(ATTRIBUTE_MINOR)}",
            "driver": f"{self.clocks.driver_version()} CUDA {api // 1000}.{api % 1000 // 10}".strip(),
            "application_sm_mhz": text(self.clocks.read("nvmlDeviceGetApplicationsClock", CLOCK_SM)),
            "application_memory_mhz": text(self.clocks.read("nvmlDeviceGetApplicationsClock", CLOCK_MEMORY)),
            "date": datetime.date.today().isoformat(),
        }

    def close(self):
        self.clocks.close()
        self.driver("cuCtxSetCurrent", None)
        self.driver("cuDevicePrimaryCtxRelease_v2", self.device)


def shape(operation):
    """What launches of one row have in common."""
    return operation["kernel"], tuple(operation["grid"]), tuple(operation["block"]), operation["shared_bytes"]


def buffer_bytes(export, operations):
    """Of all buffers that these launches are given, each once: what they would move if they touched everything once."""
    names = {argument["buffer"] for operation in operations for argument in operation["arguments"] if "buffer" in argument}
    return sum(export.buffers[name]["bytes"] for name in names)


class Measurement:
    """The repetitions of one workload, made into rows."""

    def __init__(self, device, program, repetitions, verified):
        self.device, self.program, self.export = device, program, program.export
        self.runs = [times for times, _ in repetitions]
        samples = [sample for _, samples in repetitions for sample in samples]
        self.sm_mhz = statistics.median(samples) if samples else device.clocks.highest
        self.sm_mhz_from = "NVML" if samples else "highest"
        self.verified = verified

    def row(self, times, totals, moved, moved_from, fixed):
        """`times` of single launches, `totals` of what they take of each run, in microseconds; `moved` bytes in `times`."""
        right, worst = self.verified
        middle = statistics.median(times)
        return {
            "workload": self.export.workload, "size": self.export.size, "seed": self.export.seed,
            "repetitions": len(self.runs), "time_us": f"{middle:.3f}", "time_us_lowest": f"{min(times):.3f}",
            "time_us_highest": f"{max(times):.3f}", "run_us": f"{statistics.median(totals):.3f}",
            "sm_mhz": f"{self.sm_mhz:g}", "sm_mhz_from": self.sm_mhz_from, "sm_cycles": round(middle * self.sm_mhz),
            "bytes": moved, "bytes_from": moved_from, "gb_per_s": f"{moved / middle / 1000:.2f}" if middle else "",
            "verified": {True: "yes", None: "no reference"}[right], "worst_error": f"{worst:.3f}",
            **fixed, **self.device.facts,
        }

    def rows(self):
        groups = {}
        for index, operation in enumerate(self.export.operations):
            if "kernel" in operation:
                groups.setdefault(shape(operation), []).append(index)
        for (kernel, grid, block, shared), indices in groups.items():
            times = [[time for index, time in run if index in set(indices)] for run in self.runs]
            function = self.program.functions[kernel]
            number = self.device.driver.number
            moved = buffer_bytes(self.export, [self.export.operations[index] for index in indices[:1]])
            yield self.row([time for run in times for time in run], [sum(run) for run in times], moved, "buffers", {
                "kernel": kernel, "grid": "x".join(map(str, grid)), "block": "x".join(map(str, block)),
                "shared_bytes": shared, "launches": len(times[0]),
                "registers": number("cuFuncGetAttribute", FUNCTION_REGISTERS, function),
                "local_bytes": number("cuFuncGetAttribute", FUNCTION_LOCAL_BYTES, function),
                "tbs_per_sm": number("cuOccupancyMaxActiveBlocksPerMultiprocessor", function, math.prod(block), shared)})
        totals = [sum(time for _, time in run) for run in self.runs]
        work = self.export.work
        kernels = [operation for operation in self.export.operations if "kernel" in operation]
        moved = work["global_bytes"] if work else buffer_bytes(self.export, kernels)
        yield self.row(totals, totals, moved, "work" if work else "buffers",
                       {"kernel": RUN, "launches": len(self.runs[0])})


def measure(device, gate, caches, export, options, say):
    """Rows of one workload; None if its result is wrong, none if there is no gate to time behind."""
    program = Program(device.driver, export, options.together << 20)
    try:
        if not options.fresh:
            warm_up(program)
            if verify(program, say)[0] is False:
                return None
        if gate is None:
            return []
        runs = [time_run(program, gate, device.clocks, caches) for _ in range(options.repetitions)]
        if gate.late:
            say(f"{export.directory}: launches waited for each other; the times have the host's in them")
            gate.late = False
        verified = verify(program, say)  # a buffer that was not restored shows now
        if verified[0] is False:
            return None
        return list(Measurement(device, program, runs, verified).rows())
    finally:
        program.close()


def read_rows(path):
    if not os.path.exists(path):
        return []
    with open(path, newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if tuple(reader.fieldnames or ()) != COLUMNS:
            raise Broken(f"{path}: other columns than this script writes")
        return list(reader)


def write_rows(path, rows):
    """Rows of the same workloads in the same sizes are replaced, others stay."""
    fresh = {(row["workload"], row["size"]) for row in rows}
    kept = [row for row in read_rows(path) if (row["workload"], row["size"]) not in fresh]
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path + ".new", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        # the order of the run stays within a workload: sorting is stable
        writer.writerows(sorted(kept + rows, key=lambda row: (row["workload"], row["size"])))
    os.replace(path + ".new", path)


def say_error(text):
    print(f"real_gpu.py: {text}", file=sys.stderr, flush=True)


def run_all(options, driver):
    device = Device(driver, options.nvml, options.device)
    facts = device.facts
    print(f"{facts['gpu']}, {facts['sms']} SMs, compute capability {facts['compute_capability']}, driver {facts['driver']}")
    name = re.sub(r"[^A-Za-z0-9]+", "-", facts["gpu"]).strip("-")
    path = options.results or os.path.join(os.path.dirname(os.path.abspath(__file__)), "results", f"{name}.csv")
    status, gate, caches = OK, None, Caches(driver, options.before)
    for directory in options.export:
        try:
            read_rows(path)
            gate = None if options.once else gate or Gate(driver)
            rows = measure(device, gate, caches, Export(directory), options, say_error)
        except Broken as error:
            say_error(error)
            status = status or BROKEN
            continue
        except DriverError as error:
            say_error(f"{directory}: {error}")
            status = status or WRONG
            if error.code != CUDA_ERROR_OUT_OF_MEMORY:
                return status  # after a fault, the driver refuses everything else in this process
            continue
        if rows is None:
            status = status or WRONG
            continue
        if not rows:
            print(f"{directory}: ran once", flush=True)
            continue
        write_rows(path, rows)
        for row in rows:
            print(f"{row['workload']}@{row['size']:8} {row['kernel']:28} {row['launches']:5} x {row['time_us']:>12} us "
                  f"{row['sm_cycles']:>12} cycles {row['gb_per_s']:>9} GB/s", flush=True)
    if gate:
        gate.close()
    caches.close()
    device.close()
    print(f"results: {path}")
    return status


def main():
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    parser.add_argument("export", nargs="*", help="a directory that `corun export` wrote")
    parser.add_argument("--probe", action="store_true", help="only tell which GPU there is")
    parser.add_argument("--repetitions", type=int, default=7, help="timed runs of each workload, after one that is not [7]")
    parser.add_argument("--once", action="store_true", help="run once, check, and measure nothing: for profilers, which run one kernel after the other")
    parser.add_argument("--before", choices=["restored", "cold", "warm"], default="restored",
                        help="the L2 before a timed run: as restoring the data left it, with other data, or with the program's buffers [restored]")
    parser.add_argument("--together", type=int, default=0, metavar="MIB",
                        help="all buffers in one allocation of at least so many MiB, for large pages [each by itself]")
    parser.add_argument("--fresh", action="store_true", help="no run before those that are timed: for a simulated GPU, which learns nothing from one")
    parser.add_argument("--device", type=int, default=0, help="number of the GPU [0]")
    parser.add_argument("--results", metavar="FILE.csv", help="instead of results/GPU.csv beside this script")
    parser.add_argument("--driver", default="libcuda.so.1", help="the driver's library [libcuda.so.1]")
    parser.add_argument("--nvml", default="libnvidia-ml.so.1", help="the library that tells clocks [libnvidia-ml.so.1]")
    options = parser.parse_intermixed_args()
    if not options.export and not options.probe:
        parser.error("nothing to run: a directory that `corun export` wrote is expected")
    if options.repetitions < 1 or options.device < 0:
        parser.error("--repetitions must be 1 or more, --device 0 or more")
    if sys.byteorder != "little":
        parser.error("exports are little-endian, and this machine is not")
    os.environ["CUDA_MODULE_LOADING"] = "EAGER"  # a kernel loaded at its first launch would wait for the stream to be empty
    try:
        driver = Driver(options.driver)
        if options.probe:
            device = Device(driver, options.nvml, options.device)
            print(device.facts["gpu"])
            device.close()
            return OK
        return run_all(options, driver)
    except NoGpu as error:
        say_error(error)
        say_error("nothing was run: this needs an NVIDIA GPU with its driver")
        return NO_GPU
    except DriverError as error:
        say_error(error)
        return WRONG


if __name__ == "__main__":
    sys.exit(main())
