#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures a GPU through a CUDA driver: latencies, rates, bandwidths, caches, atomics, launches. The same PTX for a real and a simulated one.

    microbenchmarks.py --csv h100.csv                  # NVIDIA's libcuda.so.1
    microbenchmarks.py --driver .../libcuda.so.1 ...   # any other, corun's for example
    microbenchmarks.py --compare real.csv simulated.csv
    microbenchmarks.py --slow-downs real.csv simulated.csv        # of the rows of `interference`

Cycles are those of the SMs, as the kernels themselves count them with %clock64; times are the driver's events. docs/hardware.md
says what each row is.
"""
import argparse
import array
import csv
import ctypes
import itertools
import os
import random
import statistics
import sys
import time
from ctypes import POINTER, byref, c_int, c_size_t, c_uint, c_ulonglong, c_void_p

import asynchronous
import real_gpu

ADDRESS = real_gpu.ADDRESS
MORE = {
    "cuMemcpyHtoDAsync_v2": [ADDRESS, c_void_p, c_size_t, c_void_p],
    "cuMemcpyDtoHAsync_v2": [c_void_p, ADDRESS, c_size_t, c_void_p],
    "cuStreamSynchronize": [c_void_p],
}
ATTRIBUTES = {"threads_per_tb": 1, "shared_bytes_per_tb": 8, "constant_bytes": 9, "registers_per_tb": 12, "clock_khz": 13, "sms": 16,
              "memory_clock_khz": 36, "bus_bits": 37, "l2_bytes": 38, "threads_per_sm": 39, "copy_engines": 40, "shared_bytes_per_sm": 81,
              "registers_per_sm": 82, "shared_bytes_opt_in": 97, "tbs_per_sm": 106, "reserved_shared_per_tb": 111}
COLUMNS = ("quantity", "parameter", "unit", "value", "lowest", "highest")
HEAD = ".version 7.0\n.target sm_80\n.address_size 64\n"


class Gpu:
    """A device and its open context."""

    def __init__(self, options):
        self.driver = real_gpu.Driver(options.driver)
        self.device = real_gpu.Device(self.driver, options.nvml, options.device)
        self.repetitions = options.repetitions
        self.quick = options.quick
        for name, types in MORE.items():
            getattr(self.driver.library, name).argtypes = types
        self.sms = self.device.facts["sms"]
        self.sweep = self.swept = 0
        self.out = self.allocate(16 << 20)
        self.events = [c_void_p(), c_void_p()]
        for event in self.events:
            self.driver("cuEventCreate", byref(event), 0)
        self.modules = {}

    def allocate(self, size, clear=True):
        address = ADDRESS()
        self.driver("cuMemAlloc_v2", byref(address), size)
        if clear:
            self.driver("cuMemsetD8_v2", address.value, 0, size)
        return address.value

    def free(self, address):
        self.driver("cuMemFree_v2", address)

    def write(self, address, data):
        self.driver("cuMemcpyHtoD_v2", address, bytes(data), len(data))

    def read(self, address, count):
        data = ctypes.create_string_buffer(8 * count)
        self.driver("cuMemcpyDtoH_v2", data, address, 8 * count)
        return array.array("Q", data.raw)

    def module(self, text):
        if text not in self.modules:
            module = c_void_p()
            self.driver("cuModuleLoadData", byref(module), text.encode() + b"\0")
            self.modules[text] = module
        return self.modules[text]

    def kernel(self, text, name):
        function = c_void_p()
        self.driver("cuModuleGetFunction", byref(function), self.module(text), name.encode())
        return function

    def launch(self, function, tbs, threads, arguments, shared=0):
        values = [c_ulonglong(a) for a in arguments]
        pointers = (c_void_p * max(len(values), 1))(*[ctypes.addressof(v) for v in values])
        self.driver("cuLaunchKernel", function, tbs, 1, 1, threads, 1, 1, shared, None, pointers, None)

    def run(self, function, tbs, threads, arguments, shared=0):
        """Microseconds between events on either side."""
        self.driver("cuEventRecord", self.events[0], None)
        self.launch(function, tbs, threads, arguments, shared)
        self.driver("cuEventRecord", self.events[1], None)
        self.driver("cuCtxSynchronize")
        elapsed = ctypes.c_float()
        self.driver("cuEventElapsedTime", byref(elapsed), *self.events)
        return elapsed.value * 1000


ROWS = []


def row(quantity, unit, values, parameter=""):
    values = values if isinstance(values, list) else [values]
    if not values:
        print(f"{quantity} {parameter}: nothing to measure", file=sys.stderr)
        return
    ROWS.append({"quantity": quantity, "parameter": parameter, "unit": unit, "value": f"{statistics.median(values):.6g}",
                 "lowest": f"{min(values):.6g}", "highest": f"{max(values):.6g}"})
    print(f"{quantity:34} {str(parameter):>12} {statistics.median(values):12.5g} {unit}", flush=True)


# ---- chains of dependent operations, and rates ----

# name: one operation; # is the number of the chain. %a, %b, %x, %y, %v and %w were loaded, so that no compiler knows what they are.
OPERATIONS = {
    "integer add and xor": ("add.u32 %r#, %r#, %a; xor.b32 %r#, %r#, %b;", 2),
    "integer shift and xor": ("shl.b32 %r#, %r#, %a; xor.b32 %r#, %r#, %b;", 2),
    "integer maximum and xor": ("max.u32 %r#, %r#, %a; xor.b32 %r#, %r#, %b;", 2),
    "integer add": ("sub.u32 %r#, %a, %r#;", 1),
    "integer multiply": ("mul.lo.u32 %r#, %r#, %a;", 1),
    "integer multiply-add": ("mad.lo.u32 %r#, %r#, %a, %b;", 1),
    "integer multiply-high": ("mul.hi.u32 %r#, %r#, %a;", 1),
    "integer divide": ("div.u32 %r#, %r#, %a;", 1),
    "integer divide by 3": ("div.u32 %r#, %r#, 3;", 1),
    "population count and add": ("popc.b32 %r#, %r#; add.u32 %r#, %r#, %a;", 2),
    "fp32 add": ("add.f32 %f#, %f#, %x;", 1),
    "fp32 multiply": ("mul.f32 %f#, %f#, %x;", 1),
    "fp32 multiply-add": ("fma.rn.f32 %f#, %f#, %x, %y;", 1),
    "fp32 maximum and add": ("max.f32 %f#, %f#, %x; add.f32 %f#, %f#, %y;", 2),
    "fp32 divide": ("div.rn.f32 %f#, %f#, %x;", 1),
    "fp32 square root": ("sqrt.rn.f32 %f#, %f#;", 1),
    "fp32 reciprocal": ("rcp.rn.f32 %f#, %f#;", 1),
    "fp64 add": ("add.f64 %d#, %d#, %v;", 1),
    "fp64 multiply": ("mul.f64 %d#, %d#, %v;", 1),
    "fp64 multiply-add": ("fma.rn.f64 %d#, %d#, %v, %w;", 1),
    "fp64 divide": ("div.rn.f64 %d#, %d#, %v;", 1),
    "fp64 square root": ("sqrt.rn.f64 %d#, %d#;", 1),
    "special function ex2": ("ex2.approx.ftz.f32 %f#, %f#;", 1),
    "special function rsqrt": ("rsqrt.approx.ftz.f32 %f#, %f#;", 1),
    "special function sin": ("sin.approx.ftz.f32 %f#, %f#;", 1),
    "convert to fp32, add, and back": ("cvt.rn.f32.u32 %f#, %r#; add.f32 %f#, %f#, %x; cvt.rzi.u32.f32 %r#, %f#;", 3),
    "shuffle and add": ("shfl.sync.bfly.b32 %r#, %r#, %r#, 31, -1; add.u32 %r#, %r#, %lane;", 2),
    "vote and add": ("setp.ne.u32 %q, %r#, %b; vote.sync.ballot.b32 %r#, %q, -1; add.u32 %r#, %r#, %a;", 3),
    "matrices f16 m16n8k16": ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f#, %f1#, %f2#, %f3#}, {%a, %a, %b, %b}, {%a, %b}, "
                              "{%f#, %f1#, %f2#, %f3#};", 1),
    "matrices tf32 m16n8k8": ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f#, %f1#, %f2#, %f3#}, {%a, %a, %b, %b}, {%a, %b}, "
                              "{%f#, %f1#, %f2#, %f3#};", 1),
    "matrices s8 m16n8k32": ("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%r#, %r1#, %r2#, %r3#}, {%a, %a, %b, %b}, {%a, %b}, "
                             "{%r#, %r1#, %r2#, %r3#};", 1),
    "matrices f64 m8n8k4": ("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d#, %d1#}, {%v}, {%w}, {%d#, %d1#};", 1),
}
ROUGH = ("divide", "remainder", "square root", "reciprocal")  # tens of instructions: fewer of them

BODY = HEAD + """.visible .entry body(.param .u64 out, .param .u64 in, .param .u64 turns)
{{
    .reg .u64 %o, %i, %n, %t<3>, %e;
    .reg .u32 %r<50>, %s, %u;
    .reg .b32 %a, %b, %lane;
    .reg .f32 %f<50>, %x, %y;
    .reg .f64 %d<50>, %v, %w;
    .reg .u64 %l<50>, %c;
    .reg .u32 %z<50>;
    .reg .pred %q;
    ld.param.u64 %o, [out];
    ld.param.u64 %i, [in];
    ld.param.u64 %n, [turns];
    ld.global.u32 %a, [%i];
    cvt.u64.u32 %c, %a;
    ld.global.u32 %b, [%i+4];
    ld.global.f32 %x, [%i+8];
    ld.global.f32 %y, [%i+12];
    ld.global.f64 %v, [%i+16];
    ld.global.f64 %w, [%i+24];
    mov.u32 %lane, %laneid;
{begin}    mov.u64 %e, 0;
    bar.sync 0;
    mov.u64 %t0, %clock64;
again:
    add.u64 %e, %e, 1;
{steps}    setp.lt.u64 %q, %e, %n;
    @%q bra again;
{use}    st.global.u32 [%o+8], %s;
    mov.u64 %t1, %clock64;
    mov.u32 %u, %tid.x;
    shr.u32 %u, %u, 5;
    mul.wide.u32 %t2, %u, 16;
    add.u64 %o, %o, %t2;
    st.global.u64 [%o+64], %t0;
    st.global.u64 [%o+72], %t1;
    exit;
}}
"""


def body(operation, count, chains):
    """`count` operations on each of `chains` chains per turn."""
    begin = use = ""
    for k in range(chains):
        for more in ("", "1", "2", "3"):
            begin += f"    add.u32 %r{more}{k}, %a, {7 * k + 3};\n    add.f32 %f{more}{k}, %x, 0f3F800000;\n    add.f64 %d{more}{k}, %v, 0d3FF0000000000000;\n"
        begin += f"    add.u64 %l{k}, %c, {0x123456789 * (k + 1)};\n"
    steps = "".join(f"    {operation.replace('#', str(k))}\n" for _ in range(count) for k in range(chains))
    use = "    mov.u32 %s, 0;\n"
    for k in range(chains):
        use += f"    cvt.u32.u64 %u, %l{k};\n    xor.b32 %s, %s, %u;\n    shr.u64 %l{k}, %l{k}, 32;\n    cvt.u32.u64 %u, %l{k};\n    xor.b32 %s, %s, %u;\n"
        use += f"    xor.b32 %s, %s, %r{k};\n    mov.b32 %u, %f{k};\n    xor.b32 %s, %s, %u;\n    cvt.rn.f32.f64 %f{k}, %d{k};\n" \
               f"    mov.b32 %u, %f{k};\n    xor.b32 %s, %s, %u;\n"
    return BODY.format(begin=begin, steps=steps, use=use)


def spans(gpu, function, inputs, threads, turns):
    """Cycles from the first warp's beginning to the last one's end."""
    gpu.run(function, 1, threads, [gpu.out, inputs, turns])
    warps = (threads + 31) // 32
    stamps = gpu.read(gpu.out + 64, 2 * warps)
    return max(stamps[1::2]) - min(stamps[0::2])


# Two kinds of operations take turns: which of them have a pipeline of their own. # is the number of the chain.
MIXES = {
    "integer multiply-add and xor": ("mad.lo.u32 %r#, %r#, %a, %b; xor.b32 %r#, %r#, %b;", 2),
    "fp32 multiply-add and xor": ("fma.rn.f32 %f#, %f#, %x, %y; xor.b32 %r#, %r#, %a; shf.l.wrap.b32 %r#, %r#, %r#, %b; fma.rn.f32 %f#, %f#, %y, %x;", 4),
    "fp32 multiply-add and integer multiply-add": ("fma.rn.f32 %f#, %f#, %x, %y; mad.lo.u32 %r#, %r#, %a, %b;", 2),
    "two fp32 multiply-adds, add and xor": ("fma.rn.f32 %f#, %f#, %x, %y; add.u32 %r#, %r#, %a; fma.rn.f32 %f#, %f#, %y, %x; xor.b32 %r#, %r#, %b;", 4),
    "three adds of which two are one": ("add.u32 %r#, %r#, %a; add.u32 %r#, %r#, %b; xor.b32 %r#, %r#, %a;", 3),
    "shift, add and xor": ("shl.b32 %z#, %r#, 3; add.u32 %r#, %z#, %a; xor.b32 %r#, %r#, %b;", 3),
    "rotate and add": ("shf.l.wrap.b32 %r#, %r#, %r#, 7; add.u32 %r#, %r#, %a;", 2),
    "two xors and add": ("xor.b32 %r#, %r#, %a; and.b32 %r#, %r#, %b; add.u32 %r#, %r#, %a;", 3),
    "integer compare, select and add": ("setp.lt.u32 %q, %r#, %b; selp.b32 %r#, %a, %r#, %q; add.u32 %r#, %r#, %b;", 3),
    "fp32 compare, select and add": ("setp.lt.f32 %q, %f#, %y; selp.f32 %f#, %x, %f#, %q; add.f32 %f#, %f#, %y;", 3),
    "permute and xor": ("prmt.b32 %r#, %r#, %a, %b; xor.b32 %r#, %r#, %a;", 2),
    "bit field extract and add": ("bfe.u32 %z#, %r#, 5, 9; add.u32 %r#, %z#, %a;", 2),
    "64-bit add and xor": ("add.u64 %l#, %l#, %c; xor.b64 %l#, %l#, %n;", 2),
    "64-bit shift and xor": ("shl.b64 %l#, %l#, %a; xor.b64 %l#, %l#, %c;", 2),
    "64-bit multiply": ("mul.lo.u64 %l#, %l#, %c;", 1),
    "wide multiply-add": ("cvt.u32.u64 %z#, %l#; mad.wide.u32 %l#, %z#, %a, %l#;", 1),
    "half multiply-add, two": ("fma.rn.f16x2 %r#, %r#, %a, %b;", 1),
    "convert to fp32 and back": ("cvt.rn.f32.s32 %f#, %r#; cvt.rzi.s32.f32 %r#, %f#;", 2),
    "convert to fp64 and back": ("cvt.f64.f32 %d#, %f#; cvt.rn.f32.f64 %f#, %d#;", 2),
}

# What the assembler makes several instructions of.
EXPANSIONS = {
    "ex2 with subnormals": ("ex2.approx.f32 %f#, %f#;", 1),
    "lg2 with subnormals": ("lg2.approx.f32 %f#, %f#;", 1),
    "rsqrt with subnormals": ("rsqrt.approx.f32 %f#, %f#;", 1),
    "approximate square root with subnormals": ("sqrt.approx.f32 %f#, %f#;", 1),
    "approximate reciprocal with subnormals": ("rcp.approx.f32 %f#, %f#;", 1),
    "approximate reciprocal and add": ("rcp.approx.ftz.f32 %f#, %f#; add.f32 %f#, %f#, %x;", 2),
    "full divide with subnormals, by what changes": ("div.full.f32 %f#, %x, %f#;", 1),
    "full divide, by what changes": ("div.full.ftz.f32 %f#, %x, %f#;", 1),
    "approximate divide with subnormals, by what changes": ("div.approx.f32 %f#, %x, %f#;", 1),
    "approximate divide, by what changes": ("div.approx.ftz.f32 %f#, %x, %f#;", 1),
    "fp32 divide, by what changes": ("div.rn.f32 %f#, %x, %f#;", 1),
    "integer divide, by what changes, and or": ("div.u32 %r#, %b, %r#; or.b32 %r#, %r#, %a;", 1),
    "integer divide, signed, by what changes, and or": ("div.s32 %r#, %b, %r#; or.b32 %r#, %r#, %a;", 1),
    "integer remainder, by what changes, and or": ("rem.u32 %r#, %b, %r#; or.b32 %r#, %r#, %a;", 1),
    "integer remainder, signed, by what changes, and or": ("rem.s32 %r#, %b, %r#; or.b32 %r#, %r#, %a;", 1),
    "integer divide, signed": ("div.s32 %r#, %r#, %a;", 1),
    "integer remainder": ("rem.u32 %r#, %r#, %a;", 1),
    "integer remainder, signed": ("rem.s32 %r#, %r#, %a;", 1),
    "integer remainder by 7": ("rem.u32 %r#, %r#, 7;", 1),
    "64-bit divide": ("div.u64 %l#, %l#, %c;", 1),
    "64-bit remainder": ("rem.u64 %l#, %l#, %c;", 1),
    "fp64 reciprocal": ("rcp.rn.f64 %d#, %d#;", 1),
}


def mixes(gpu):
    measure_operations(gpu, MIXES)


def expansions(gpu):
    measure_operations(gpu, EXPANSIONS)


def operations(gpu):
    measure_operations(gpu, OPERATIONS)


def measure_operations(gpu, table):
    inputs = gpu.allocate(64)
    data = array.array("I", [5, 3]).tobytes() + array.array("f", [0.75, 1.25]).tobytes() + array.array("d", [0.75, 1.25]).tobytes()
    gpu.write(inputs, data)
    for name, (text, number) in table.items():
        rough = any(word in name for word in ROUGH)
        count = 8 if rough else 32
        try:
            function = gpu.kernel(body(text, count, 1), "body")
            values = [(spans(gpu, function, inputs, 32, 9) - spans(gpu, function, inputs, 32, 5)) / (4 * count * number)
                      for _ in range(gpu.repetitions)]
            row("latency of " + name, "cycles", values)
            count = max(count // 4, 2)
            function = gpu.kernel(body(text, count, 4), "body")
            longer = [spans(gpu, function, inputs, 1024, 13) - spans(gpu, function, inputs, 1024, 5) for _ in range(gpu.repetitions)]
            values = [32 * 4 * 8 * count * number / cycles for cycles in longer if cycles > 0]
            row("throughput of " + name, "warp instructions per cycle and SM", values)
        except real_gpu.DriverError as error:
            print(f"{name}: {error}", file=sys.stderr)
    gpu.free(inputs)


BRANCH = HEAD + """.visible .entry branches(.param .u64 out, .param .u64 in, .param .u64 turns)
{{
    .reg .u64 %o, %i, %t<2>;
    .reg .u32 %e, %n, %a, %lane;
    .reg .f32 %f<4>, %x, %y;
    .reg .pred %q, %p;
    ld.param.u64 %o, [out];
    ld.param.u64 %i, [in];
    ld.param.u32 %n, [turns];
    ld.global.u32 %a, [%i];
    ld.global.f32 %x, [%i+8];
    ld.global.f32 %y, [%i+12];
    mov.u32 %lane, %laneid;
    mov.f32 %f0, %x;
    mov.f32 %f1, %y;
    mov.u32 %e, 0;
{before}    mov.u64 %t0, %clock64;
again:
    .pragma "nounroll";
    add.u32 %e, %e, 1;
    fma.rn.f32 %f0, %f0, %x, %y;
{turn}    setp.lt.u32 %q, %e, %n;
    @%q bra again;
    st.global.f32 [%o+8], %f0;
    st.global.f32 [%o+12], %f1;
    mov.u64 %t1, %clock64;
    sub.u64 %t1, %t1, %t0;
    st.global.u64 [%o], %t1;
    exit;
}}
"""
LONG = "    fma.rn.f32 %f0, %f0, %x, %y;\n" * 24
OTHER = "    fma.rn.f32 %f1, %f1, %y, %x;\n" * 24
BRANCHES = {
    "a loop of one multiply-add": ("", ""),
    "the same with a branch that all take": ("    setp.ne.u32 %p, %a, 0;\n", "    @%p bra skip;\n" + LONG + "skip:\n"),
    "the same with a branch that none takes": ("    setp.eq.u32 %p, %a, 0;\n", "    @%p bra skip;\n" + LONG + "skip:\n"),
    "the same with 24 multiply-adds": ("", LONG),
    "the same with 24 multiply-adds for half of the lanes": ("    and.b32 %a, %lane, 1;\n    setp.ne.u32 %p, %a, 0;\n",
                                                            "    @%p bra skip;\n" + LONG + "skip:\n"),
    "the same with 24 for one half and 24 for the other": ("    and.b32 %a, %lane, 1;\n    setp.ne.u32 %p, %a, 0;\n",
                                                          "    @%p bra other;\n" + LONG + "    bra.uni both;\nother:\n" + OTHER + "both:\n"),
}


def branches(gpu):
    inputs = gpu.allocate(64)
    gpu.write(inputs, array.array("I", [5, 3]).tobytes() + array.array("f", [0.75, 1.25]).tobytes())
    for name, (before, turn) in BRANCHES.items():
        function, values = gpu.kernel(BRANCH.format(before=before, turn=turn), "branches"), []
        for _ in range(gpu.repetitions):
            clocks = []
            for turns in (64, 192):
                gpu.run(function, 1, 32, [gpu.out, inputs, turns])
                clocks.append(gpu.read(gpu.out, 1)[0])
            values.append((clocks[1] - clocks[0]) / 128)
        row(name, "cycles per turn", values)
    gpu.free(inputs)


def instruction_cache(gpu):
    inputs = gpu.allocate(64)
    for kib in (8, 16, 24, 32, 64, 96, 112, 128, 144, 192, 256, 384):
        if gpu.quick and kib > 32:
            break
        count = kib * 64
        function = gpu.kernel(body(OPERATIONS["fp32 multiply-add"][0], count // 4, 4), "body")
        values = [(spans(gpu, function, inputs, 32, 4) - spans(gpu, function, inputs, 32, 2)) / (2 * count) for _ in range(gpu.repetitions)]
        row("a loop of code, one warp", "cycles per instruction", values, f"{kib} KiB")
    gpu.free(inputs)


def first_fetch(gpu):
    """What the first pass through code takes: with the caches as the same kernel left them, with the SMs' own caches full of other code, and
    with the L2 full of other data as well. One warp on one SM counts cycles, one on each SM has the driver's events around it."""
    inputs = gpu.allocate(64)
    gpu.write(inputs, array.array("I", [5, 3]).tobytes() + array.array("f", [0.75, 1.25]).tobytes())
    operation = OPERATIONS["fp32 multiply-add"][0]
    other = gpu.kernel(body(OPERATIONS["fp32 add"][0], 4096, 4), "body")
    swept = (64 if gpu.quick else 256) << 20
    sweep = gpu.allocate(swept, False)
    def other_code():
        gpu.run(other, 2 * gpu.sms, 32, [gpu.out, inputs, 1])
    def other_data():
        other_code()
        gpu.run(mover(gpu, "stores"), gpu.sms, 1024, [gpu.out, sweep, swept - 1, swept // (gpu.sms << 16) + 1, gpu.sms])
        gpu.run(mover(gpu, "loads from the L2"), gpu.sms, 1024, [gpu.out, sweep, swept - 1, swept // (gpu.sms << 16) + 1, gpu.sms])
    for kib in (4,) if gpu.quick else (2, 4, 8, 16, 32, 64, 96):
        function = gpu.kernel(body(operation, kib * 16, 4), "body")
        states = {"the same kernel before it": lambda: gpu.run(function, gpu.sms, 32, [gpu.out, inputs, 1]), "other code before it": other_code}
        if not gpu.quick:
            states["other data in the L2"] = other_data
        for name, before in states.items():
            cycles, times = [], []
            for _ in range(gpu.repetitions + 2):
                before()
                cycles.append(spans(gpu, function, inputs, 32, 1) / (kib * 64))
                before()
                times.append(gpu.run(function, gpu.sms, 32, [gpu.out, inputs, 1]))
            row(f"first pass through code, {name}", "cycles per instruction", cycles, f"{kib} KiB, one SM")
            row(f"first pass through code, {name}", "us", times, f"{kib} KiB, all SMs")
    gpu.free(sweep)
    gpu.free(inputs)


def code_of_warps(gpu):
    """A loop of so many bytes of code, by several warps of one SM."""
    inputs = gpu.allocate(64)
    gpu.write(inputs, array.array("I", [5, 3]).tobytes() + array.array("f", [0.75, 1.25]).tobytes())
    for kib in (8,) if gpu.quick else (8, 24, 32, 48, 64, 128, 192):
        count = kib * 64
        function = gpu.kernel(body(OPERATIONS["fp32 multiply-add"][0], count // 4, 4), "body")
        for warps in (4, 16, 32):
            values = [warps * 2 * count / (spans(gpu, function, inputs, 32 * warps, 4) - spans(gpu, function, inputs, 32 * warps, 2))
                      for _ in range(gpu.repetitions)]
            row(f"a loop of code, {warps} warps", "warp instructions per cycle and SM", values, f"{kib} KiB")
    gpu.free(inputs)


# ---- latencies of memory ----

CHASE = HEAD + """.const .align 16 .b8 table[65536];
.shared .align 16 .b8 words[16384];
.visible .entry where(.param .u64 out)
{{
    .reg .u64 %o, %z;
    ld.param.u64 %o, [out];
    mov.u64 %z, table;
    st.global.u64 [%o], %z;
    exit;
}}
.visible .entry chase_{name}(.param .u64 out, .param .u64 start, .param .u64 warm, .param .u64 steps)
{{
    .reg .u64 %o, %p, %w, %n, %i, %t<2>, %z;
    .reg .pred %q;
    ld.param.u64 %o, [out];
    ld.param.u64 %p, [start];
    ld.param.u64 %w, [warm];
    ld.param.u64 %n, [steps];
{before}    mov.u64 %i, 0;
warming:
    setp.ge.u64 %q, %i, %w;
    @%q bra warmed;
    {load}
    add.u64 %i, %i, 1;
    bra warming;
warmed:
    mov.u64 %i, 0;
    st.global.u64 [%o+8], %p;
    mov.u64 %t0, %clock64;
step:
{loads}    add.u64 %i, %i, 16;
    setp.lt.u64 %q, %i, %n;
    @%q bra step;
    st.global.u64 [%o+8], %p;
    mov.u64 %t1, %clock64;
    sub.u64 %t1, %t1, %t0;
    st.global.u64 [%o], %t1;
    exit;
}}
"""
# next of place i of 2^k: a linear congruential generator of full period, so one circle
BUILD = HEAD + """.visible .entry build(.param .u64 base, .param .u64 places, .param .u64 stride)
{
    .reg .u64 %b, %n, %s, %i, %m, %a, %v, %t;
    .reg .u32 %x, %c, %y, %g;
    .reg .pred %q;
    ld.param.u64 %b, [base];
    ld.param.u64 %n, [places];
    ld.param.u64 %s, [stride];
    mov.u32 %x, %tid.x;
    mov.u32 %c, %ctaid.x;
    mov.u32 %y, %ntid.x;
    mov.u32 %g, %nctaid.x;
    mad.lo.u32 %x, %c, %y, %x;
    mul.lo.u32 %g, %g, %y;
    cvt.u64.u32 %i, %x;
    cvt.u64.u32 %t, %g;
    sub.u64 %m, %n, 1;
place:
    setp.ge.u64 %q, %i, %n;
    @%q exit;
    mul.lo.u64 %v, %i, 1664525;
    add.u64 %v, %v, 1013904223;
    and.b64 %v, %v, %m;
    mul.lo.u64 %v, %v, %s;
    add.u64 %v, %v, %b;
    mul.lo.u64 %a, %i, %s;
    add.u64 %a, %a, %b;
    st.global.u64 [%a], %v;
    add.u64 %i, %i, %t;
    bra place;
}
"""
LOADS = {
    "ca": ("ld.global.ca.u64 %p, [%p];", ""),
    "cg": ("ld.global.cg.u64 %p, [%p];", ""),
    "nc": ("ld.global.nc.u64 %p, [%p];", ""),
    "atom": ("atom.global.or.b64 %p, [%p], 0;", ""),
    "const": ("ld.const.u64 %p, [%p];", "    mov.u64 %z, table;\n    add.u64 %p, %p, %z;\n"),
    "shared": ("ld.shared.u64 %p, [%p];", "    mov.u64 %p, words;\n    st.shared.u64 [%p], %p;\n"),
    "shared_atom": ("atom.shared.or.b64 %p, [%p], 0;", "    mov.u64 %p, words;\n    st.shared.u64 [%p], %p;\n"),
    "shared_add": ("atom.shared.add.u64 %p, [%p], 0;", "    mov.u64 %p, words;\n    st.shared.u64 [%p], %p;\n"),
}


def chaser(gpu, name):
    load, before = LOADS[name]
    return gpu.kernel(CHASE.format(name=name, load=load, loads=f"    {load}\n" * 16, before=before), f"chase_{name}")


def cycle_of(address, places, stride):
    """Pointers in a random order, each place once; what is between them is zero."""
    order = list(range(places))
    random.Random(places).shuffle(order)
    words = array.array("Q", bytes(places * stride))
    for here, there in zip(order, order[1:] + order[:1]):
        words[here * stride // 8] = address + there * stride
    return words.tobytes(), address + order[0] * stride


def chase(gpu, name, places, stride, warm=None, steps=512):
    memory = gpu.allocate(places * stride)
    data, start = cycle_of(memory, places, stride)
    gpu.write(memory, data)
    function, values = chaser(gpu, name), []
    for _ in range(gpu.repetitions):
        clocks = []
        for count in (steps, 3 * steps):
            gpu.run(function, 1, 1, [gpu.out, start, places if warm is None else warm, count])
            clocks.append(gpu.read(gpu.out, 1)[0])
        values.append((clocks[1] - clocks[0]) / (2 * steps))
    gpu.free(memory)
    return values


def memories(gpu):
    row("latency of shared memory", "cycles", chase_fixed(gpu, "shared"))
    row("latency of an atomic or of shared memory", "cycles", chase_fixed(gpu, "shared_atom"))
    row("latency of an atomic add of shared memory", "cycles", chase_fixed(gpu, "shared_add"))
    sizes = (8, 128, 224, 256, 512) if gpu.quick else (8, 128, 208, 216, 224, 240, 256, 384)
    for kib in sizes:
        row("latency of a load", "cycles", chase(gpu, "ca", kib * 8, 128), f"{kib} KiB")
    row("latency of a read-only load", "cycles", chase(gpu, "nc", 64, 128), "8 KiB")
    size = (128 if gpu.quick else 2048) << 20
    memory = gpu.allocate(size, False)
    for mib in (1, 8) if gpu.quick else (1, 2, 4, 8, 16, 32, 64, 128, 512, 2048):
        row("latency of a load past the L1", "cycles", chase_built(gpu, "cg", mib * 8192, 128, memory, min(mib * 8192, 1 << 19)), f"{mib} MiB of a large buffer")
    gpu.swept = (64 if gpu.quick else 256) << 20
    gpu.sweep = gpu.allocate(gpu.swept, False)
    for stride, places in ((4096 + 128, 16384),) if gpu.quick else ((4096 + 128, 16384), (65536 + 128, 16384), ((2 << 20) + 128, 512)):
        row("latency of a load that was never read", "cycles", chase_built(gpu, "cg", places, stride, memory, 0, min(1024, places // 8)), f"stride {stride}")
    gpu.free(gpu.sweep)
    gpu.free(memory)
    for mib in (1,) if gpu.quick else (1, 2, 4, 8, 16, 32, 64):
        memory = gpu.allocate(mib << 20, False)
        row("latency of a load past the L1", "cycles", chase_built(gpu, "cg", mib * 8192, 128, memory), f"{mib} MiB, a buffer")
        gpu.free(memory)
    row("latency of an atomic of global memory", "cycles", chase(gpu, "atom", 1024, 128))
    constants(gpu)


def chase_built(gpu, name, places, stride, memory, warm=None, steps=2048):
    """The same along a circle of 2^k places that the GPU made itself. Without `warm` each step of a run is to a place that run has not read."""
    gpu.run(gpu.kernel(BUILD, "build"), 64, 256, [memory, places, stride])
    function, values = chaser(gpu, name), []
    for _ in range(gpu.repetitions):
        clocks = []
        for count in (steps, 3 * steps):
            if warm == 0:
                gpu.run(mover(gpu, "stores"), gpu.sms, 1024, [gpu.out, gpu.sweep, gpu.swept - 1, gpu.swept // (gpu.sms << 16) + 1, gpu.sms])
            gpu.run(function, 1, 1, [gpu.out, memory, places if warm is None else warm, count])
            clocks.append(gpu.read(gpu.out, 1)[0])
        values.append((clocks[1] - clocks[0]) / (2 * steps))
    return values


def chase_fixed(gpu, name):
    function, values = chaser(gpu, name), []
    for _ in range(gpu.repetitions):
        clocks = []
        for count in (256, 768):
            gpu.run(function, 1, 1, [gpu.out, 0, 16, count])
            clocks.append(gpu.read(gpu.out, 1)[0])
        values.append((clocks[1] - clocks[0]) / 512)
    return values


def constants(gpu):
    load, before = LOADS["const"]
    text = CHASE.format(name="const", load=load, loads=f"    {load}\n" * 16, before=before)
    function, address, size = gpu.kernel(text, "chase_const"), ADDRESS(), c_size_t()
    gpu.driver("cuModuleGetGlobal_v2", byref(address), byref(size), gpu.module(text), b"table")
    gpu.run(gpu.kernel(text, "where"), 1, 1, [gpu.out])
    base = gpu.read(gpu.out, 1)[0]
    for kib in (1, 2, 4, 8, 16, 32, 64):
        data, start = cycle_of(base, kib * 16, 64)
        gpu.write(address.value, data)
        values = []
        for _ in range(gpu.repetitions):
            clocks = []
            for count in (1024, 3072):
                gpu.run(function, 1, 1, [gpu.out, start - base, kib * 32, count])
                clocks.append(gpu.read(gpu.out, 1)[0])
            values.append((clocks[1] - clocks[0]) / 2048)
        row("latency of a constant", "cycles", values, f"{kib} KiB")


LINES = HEAD + """.visible .entry lines(.param .u64 out, .param .u64 from, .param .u64 stride, .param .u64 count)
{
    .reg .u64 %o, %f, %s, %n, %p, %t<2>, %k;
    .reg .u32 %m;
    .reg .pred %q;
    ld.param.u64 %o, [out];
    ld.param.u64 %f, [from];
    ld.param.u64 %s, [stride];
    ld.param.u64 %n, [count];
    mov.u32 %m, %smid;
    st.global.u32 [%o], %m;
line:
    add.u64 %o, %o, 8;
    st.global.u64 [%f], %f;
    membar.gl;
    mov.u64 %p, %f;
    ld.volatile.global.u64 %p, [%p];
    ld.volatile.global.u64 %p, [%p];
    mov.u64 %k, 0;
    st.global.u64 [%o], %p;
    membar.gl;
    mov.u64 %t0, %clock64;
""" + "    ld.volatile.global.u64 %p, [%p];\n" * 16 + """    st.global.u64 [%o], %p;
    mov.u64 %t1, %clock64;
    sub.u64 %t1, %t1, %t0;
    st.global.u64 [%o], %t1;
    add.u64 %f, %f, %s;
    sub.u64 %n, %n, 1;
    setp.ne.u64 %q, %n, 0;
    @%q bra line;
    exit;
}
"""


def halves(gpu):
    """Of single lines in the L2: which are near and which far shows in how their latencies lie."""
    count = 32 if gpu.quick else 2048
    memory = gpu.allocate(count * 4224)
    gpu.run(gpu.kernel(LINES, "lines"), 1, 1, [gpu.out, memory, 4224, count])
    values = sorted(v / 16 for v in gpu.read(gpu.out + 8, count))
    for percent in (0, 5, 25, 50, 75, 95, 100):
        row("latency of single lines of the L2", "cycles", values[min(count - 1, count * percent // 100)], f"{percent} %")
    gpu.free(memory)


# What a thread block of one warp on each SM sees of single lines of the L2.
LOOK = HEAD + """.extern .shared .align 16 .b8 room[];
.visible .entry look(.param .u64 out, .param .u64 from, .param .u64 stride, .param .u64 count)
{
    .reg .u64 %o, %f, %s, %n, %p, %t<2>, %c;
    .reg .u32 %m, %x;
    .reg .pred %q;
    ld.param.u64 %o, [out];
    ld.param.u64 %f, [from];
    ld.param.u64 %s, [stride];
    ld.param.u64 %n, [count];
    mov.u32 %x, %ctaid.x;
    mad.lo.u64 %c, %n, 8, 8;
    cvt.u64.u32 %p, %x;
    mad.lo.u64 %o, %p, %c, %o;
    mov.u32 %m, %smid;
    cvt.u64.u32 %p, %m;
    st.global.u64 [%o], %p;
line:
    add.u64 %o, %o, 8;
    mov.u64 %p, %f;
    ld.volatile.global.u64 %p, [%p];
    ld.volatile.global.u64 %p, [%p];
    st.global.u64 [%o], %p;
    membar.gl;
    mov.u64 %t0, %clock64;
""" + "    ld.volatile.global.u64 %p, [%p];\n" * 16 + """    st.global.u64 [%o], %p;
    mov.u64 %t1, %clock64;
    sub.u64 %t1, %t1, %t0;
    st.global.u64 [%o], %t1;
    add.u64 %f, %f, %s;
    sub.u64 %n, %n, 1;
    setp.ne.u64 %q, %n, 0;
    @%q bra line;
    exit;
}
"""


def partitions(gpu):
    """Of single lines in the L2 from every SM: who is near which."""
    count, room = 4 if gpu.quick else 64, 120 << 10
    memory = gpu.allocate(count * 4224)
    gpu.run(gpu.kernel(LINES, "lines"), 1, 1, [gpu.out, memory, 4224, count])
    function = gpu.kernel(LOOK, "look")
    gpu.driver("cuFuncSetAttribute", function, real_gpu.FUNCTION_MAX_DYNAMIC_SHARED, room)
    gpu.run(function, gpu.sms, 1, [gpu.out, memory, 4224, count], room)
    words = gpu.read(gpu.out, gpu.sms * (count + 1))
    of_sm = {words[k]: [w / 16 for w in words[k + 1:k + 1 + count]] for k in range(0, len(words), count + 1)}
    for sm in sorted(of_sm):
        row("latency of lines of the L2 by SM", "cycles", of_sm[sm], sm)
    for line in range(count):
        row("latency of lines of the L2 by line", "cycles", [values[line] for values in of_sm.values()], line)
    first = of_sm[min(of_sm)]
    for sm in sorted(of_sm):
        row("likeness of an SM to the first one, by the latencies of lines", "correlation", likeness(first, of_sm[sm]), sm)
    gpu.free(memory)


def likeness(a, b):
    means = statistics.mean(a), statistics.mean(b)
    squares = sum((x - means[0]) ** 2 for x in a) * sum((y - means[1]) ** 2 for y in b)
    return sum((x - means[0]) * (y - means[1]) for x, y in zip(a, b)) / squares ** 0.5 if squares else 0.0


def pages(gpu):
    """Single lines, one from each 2 MiB: what the translation of addresses has room for."""
    size, most = (256 << 20, 6) if gpu.quick else (34 << 30, 14)
    memory = gpu.allocate(size, False)
    stride = (2 << 20) + 128
    for k in range(3, most + 1):
        row("latency of a load past the L1, a line of each 2 MiB", "cycles", chase_built(gpu, "cg", 1 << k, stride, memory, 2 << k, 2048), f"{2 << k} MiB")
    gpu.free(memory)


# ---- shared memory ----

BANKS = HEAD + """.shared .align 16 .b8 words[32768];
.visible .entry banks(.param .u64 out, .param .u64 stride, .param .u64 turns)
{{
    .reg .u64 %o, %s, %n, %e, %l, %t<2>, %w;
    .reg .u32 %x, %lane, %v<16>, %u;
    .reg .pred %q;
    ld.param.u64 %o, [out];
    ld.param.u64 %s, [stride];
    ld.param.u64 %n, [turns];
    mov.u32 %x, %tid.x;
    and.b32 %lane, %x, 31;
    cvt.u64.u32 %l, %lane;
    mul.lo.u64 %l, %l, %s;
    mov.u64 %w, words;
    add.u64 %w, %w, %l;
    mov.u64 %e, 0;
    mov.u32 %u, %x;
    mov.u32 %v0, %x; mov.u32 %v1, %x; mov.u32 %v2, %x; mov.u32 %v3, %x;
    bar.sync 0;
    mov.u64 %t0, %clock64;
again:
{steps}    add.u64 %e, %e, 1;
    setp.lt.u64 %q, %e, %n;
    @%q bra again;
    bar.sync 0;
    mov.u64 %t1, %clock64;
    setp.eq.u32 %q, %u, 12345678;
    @%q st.global.u32 [%o+8], %u;
    setp.ne.u32 %q, %x, 0;
    @%q exit;
    sub.u64 %t1, %t1, %t0;
    st.global.u64 [%o], %t1;
    exit;
}}
"""
STRIDES = {4: (0, 4, 8, 12, 16, 32, 64, 128, 132), 8: (0, 8, 16, 24, 32, 64, 128, 136), 16: (0, 16, 32, 48, 64, 80, 128, 144, 256)}


def banks(gpu):
    """Cycles of an SM for one access of a warp, by width and distance of its lanes."""
    for move in ("ld", "st"):
        for width, strides in STRIDES.items():
            vector, parts = {4: ("", 1), 8: (".v2", 2), 16: (".v4", 4)}[width]
            steps = ""
            for k in range(8):
                registers = ", ".join(f"%v{4 * (k % 4) * (move == 'ld') + r}" for r in range(parts))
                registers = f"{{{registers}}}" if parts > 1 else registers
                steps += f"    ld.volatile.shared{vector}.u32 {registers}, [%w];\n    xor.b32 %u, %u, %v{4 * (k % 4)};\n" if move == "ld" else \
                         f"    st.volatile.shared{vector}.u32 [%w], {registers};\n"
            function = gpu.kernel(BANKS.format(steps=steps), "banks")
            for stride in strides:
                values = []
                for _ in range(gpu.repetitions):
                    clocks = []
                    for turns in (16, 48):
                        gpu.run(function, 1, 512, [gpu.out, stride, turns])
                        clocks.append(gpu.read(gpu.out, 1)[0])
                    values.append((clocks[1] - clocks[0]) / (32 * 8 * 16))
                row(f"{'load' if move == 'ld' else 'store'} of {width} bytes of shared memory", "cycles", values, f"stride {stride}")


# ---- bandwidths ----

# Every thread loads or stores 16 bytes four times per turn, from where its warp was before plus `step`, within `mask`.
TURNS = HEAD + """.shared .align 16 .b8 words[32768];
.visible .entry turns(.param .u64 out, .param .u64 from, .param .u64 mask, .param .u64 turns, .param .u64 tbs)
.maxntid 1024, 1, 1
.minnctapersm 2
{{
    .reg .u64 %o, %f, %m, %n, %at, %a, %t<3>, %s, %b, %step;
    .reg .u32 %v<16>, %x, %c, %y;
    .reg .pred %q;
    ld.param.u64 %o, [out];
    ld.param.u64 %f, [from];
    ld.param.u64 %m, [mask];
    ld.param.u64 %n, [turns];
    ld.param.u64 %step, [tbs];
    mov.u32 %x, %tid.x;
    mov.u32 %c, %ctaid.x;
    mov.u32 %y, %ntid.x;
    mul.lo.u32 %y, %y, 64;
    mul.wide.u32 %b, %c, %y;
    cvt.u64.u32 %s, %y;
    mul.lo.u64 %step, %step, %s;
    mul.wide.u32 %at, %x, 16;
    add.u64 %at, %at, %b;
    shr.u64 %s, %s, 2;
    mov.u32 %v15, 0;
    mov.u32 %v0, %x; mov.u32 %v1, %x; mov.u32 %v2, %x; mov.u32 %v3, %x;
    mov.u64 %b, 0;
{before}    bar.sync 0;
    mov.u64 %t0, %clock64;
again:
{turn}    add.u64 %at, %at, %step;
    add.u64 %b, %b, 1;
    setp.lt.u64 %q, %b, %n;
    @%q bra again;
    bar.sync 0;
    mov.u64 %t1, %clock64;
    setp.eq.u32 %q, %v15, 12345678;
    @%q st.global.u32 [%o], %v15;
    setp.ne.u32 %q, %x, 0;
    @%q exit;
    mul.wide.u32 %t2, %c, 16;
    add.u64 %o, %o, %t2;
    st.global.u64 [%o+64], %t0;
    st.global.u64 [%o+72], %t1;
    exit;
}}
"""
PLACE = "    and.b64 %a, %at, %m;\n    add.u64 %a, %a, %f;\n"
MOVES = {
    "loads from the L1": ("", "ld.global.ca.v4.u32 {%v0, %v1, %v2, %v3}, [%a];"),
    "loads from the L2": ("", "ld.global.cg.v4.u32 {%v0, %v1, %v2, %v3}, [%a];"),
    "stores": ("", "st.global.v4.u32 [%a], {%v0, %v1, %v2, %v3};"),
    "loads from shared memory": ("    mov.u64 %f, words;\n", "ld.shared.v4.u32 {%v0, %v1, %v2, %v3}, [%a];"),
    "stores to shared memory": ("    mov.u64 %f, words;\n", "st.shared.v4.u32 [%a], {%v0, %v1, %v2, %v3};"),
}


def mover(gpu, name):
    before, move = MOVES[name]
    turn = ""
    for k in range(4):
        turn += PLACE.replace("%at", "%at" if k == 0 else "%t2")
        regs = move
        for r in range(4):
            regs = regs.replace(f"%v{r}", f"%v{r}" if "st." in move else f"%v{4 * (k % 3) + r}")
        turn += f"    {regs}\n"
        if "ld." in move:
            turn += "".join(f"    xor.b32 %v15, %v15, %v{4 * (k % 3) + r};\n" for r in range(4))
        turn += "    add.u64 %t2, %at, %s;\n" if k == 0 else "    add.u64 %t2, %t2, %s;\n"
    return gpu.kernel(TURNS.format(before=before, turn=turn), "turns")


def moved(gpu, name, size, tbs, threads, turns):
    """Bytes per cycle of all thread blocks: what each takes longer for so many turns more, in the middle."""
    memory, function, values = gpu.allocate(size, not gpu.quick), mover(gpu, name), []
    for _ in range(gpu.repetitions):
        taken = []
        for count in (turns, 3 * turns):
            gpu.run(function, tbs, threads, [gpu.out, memory, size - 1, count, tbs])
            stamps = gpu.read(gpu.out + 64, 2 * tbs)
            taken.append(statistics.mean(b - a for a, b in zip(stamps[0::2], stamps[1::2])))
        values.append(tbs * threads * 64 * 2 * turns / (taken[1] - taken[0]))
    gpu.free(memory)
    return values


def bandwidths(gpu):
    turns = 16 if gpu.quick else 256  # of a simulated GPU the difference between few turns is as good as that between many
    for name in ("loads from the L1", "loads from shared memory", "stores to shared memory"):
        row(name, "bytes per cycle and SM", moved(gpu, name, 16384, 1, 1024, turns))
    counts = [n for n in (1, 2, 4, 8, 16, 33, 66, 132) if n <= gpu.sms]
    for n in (1, 16, gpu.sms) if gpu.quick else counts:
        row("loads from the L2", "bytes per cycle", moved(gpu, "loads from the L2", 8 << 20, n, 1024, turns), f"{n} TBs of 1024")
        row("stores", "bytes per cycle", moved(gpu, "stores", 8 << 20, n, 1024, turns), f"{n} TBs of 1024")
    for mib in (8,) if gpu.quick else (2, 8, 16, 32):
        row("loads from the L2", "bytes per cycle", moved(gpu, "loads from the L2", mib << 20, 2 * gpu.sms, 1024, turns), f"{mib} MiB, all SMs")
    row("stores", "bytes per cycle", moved(gpu, "stores", 8 << 20, 2 * gpu.sms, 1024, turns), "8 MiB, all SMs")
    for n in (1, 16, gpu.sms) if gpu.quick else counts:
        row("loads from DRAM", "bytes per cycle", moved(gpu, "loads from the L2", 1 << 30, n, 1024, turns), f"{n} TBs of 1024")
        row("stores to DRAM", "bytes per cycle", moved(gpu, "stores", 1 << 30, n, 1024, turns), f"{n} TBs of 1024")
    for threads in (64, 256) if gpu.quick else (64, 128, 256, 512):
        row("loads from DRAM", "bytes per cycle", moved(gpu, "loads from the L2", 1 << 30, gpu.sms, threads, turns), f"an SM each {threads}")


def streams(gpu):
    """Kernels of probes.ptx: a word of 64 bits per thread; by the driver's events."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "probes.ptx"), encoding="utf-8") as file:
        text = file.read()
    length = (64 if gpu.quick else 512) << 20
    arrays = [gpu.allocate(2 * length, not gpu.quick) for _ in range(3)]
    for name, count in (("read", 1), ("write", 1), ("scale", 2), ("triad", 3)):
        function, values = gpu.kernel(text, f"stream_{name}"), []
        for _ in range(gpu.repetitions):
            times = [gpu.run(function, n // 8 // 256, 256, arrays) for n in (length, 2 * length)]
            values.append(count * length / (times[1] - times[0]) / 1000)
        row(f"DRAM, {name}", "GB/s", values)
    for address in arrays:
        gpu.free(address)


# ---- atomics ----

ATOMICS = HEAD + """.shared .align 16 .b8 words[8192];
.visible .entry atomics(.param .u64 out, .param .u64 at, .param .u64 turns)
{{
    .reg .u64 %o, %p, %n, %i, %t<3>, %w;
    .reg .u32 %x, %c, %r, %y;
    .reg .pred %q;
    ld.param.u64 %o, [out];
    ld.param.u64 %p, [at];
    ld.param.u64 %n, [turns];
    mov.u32 %x, %tid.x;
    mov.u32 %c, %ctaid.x;
    mov.u32 %y, %ntid.x;
    mov.u32 %r, 0;
{where}    mov.u64 %i, 0;
    bar.sync 0;
    mov.u64 %t0, %clock64;
again:
    {atomic}
    add.u64 %i, %i, 1;
    setp.lt.u64 %q, %i, %n;
    @%q bra again;
    membar.gl;
    bar.sync 0;
    mov.u64 %t1, %clock64;
    setp.eq.u32 %q, %r, 12345678;
    @%q st.global.u32 [%o], %r;
    setp.ne.u32 %q, %x, 0;
    @%q exit;
    mul.wide.u32 %t2, %c, 16;
    add.u64 %o, %o, %t2;
    st.global.u64 [%o+64], %t0;
    st.global.u64 [%o+72], %t1;
    exit;
}}
"""
THREAD = "    mad.lo.u32 %y, %c, %y, %x;\n    mul.wide.u32 %w, %y, {bytes};\n    add.u64 %p, %p, %w;\n"
WHERE = {
    "one address": "",
    "an address per warp": "    shr.u32 %x, %x, 5;\n    shr.u32 %y, %y, 5;\n" + THREAD.format(bytes=128) + "    mov.u32 %x, %tid.x;\n",
    "an address per thread": THREAD.format(bytes=4),
    "an address per thread, a sector each": THREAD.format(bytes=32),
}


def atomics(gpu):
    memory = gpu.allocate(64 << 20)
    kinds = {"global atomics that return": "atom.global.add.u32 %r, [%p], 1;", "global atomics": "red.global.add.u32 [%p], 1;"}
    turns = 8 if gpu.quick else 64
    for kind, text in kinds.items():
        for place, where in WHERE.items():
            function = gpu.kernel(ATOMICS.format(where=where, atomic=text), "atomics")
            for tbs in (1, 2 * gpu.sms):
                values = []
                for _ in range(gpu.repetitions):
                    taken = []
                    for count in (turns, 3 * turns):
                        gpu.run(function, tbs, 256, [gpu.out, memory, count])
                        stamps = gpu.read(gpu.out + 64, 2 * tbs)
                        taken.append(statistics.mean(b - a for a, b in zip(stamps[0::2], stamps[1::2])))
                    values.append(tbs * 8 * 2 * turns / (taken[1] - taken[0]))
                row(f"{kind}, {place}", "warp instructions per cycle", values, f"{tbs} TBs of 256")
    shared = {"one address": "    mov.u64 %p, words;\n", "an address per thread": "    mov.u64 %p, words;\n    mul.wide.u32 %w, %x, 4;\n    add.u64 %p, %p, %w;\n"}
    for place, where in shared.items():
        function = gpu.kernel(ATOMICS.format(where=where, atomic="atom.shared.add.u32 %r, [%p], %x;"), "atomics")
        values = []
        for _ in range(gpu.repetitions):
            taken = []
            for count in (turns, 3 * turns):
                gpu.run(function, 1, 1024, [gpu.out, memory, count])
                stamps = gpu.read(gpu.out + 64, 2)
                taken.append(stamps[1] - stamps[0])
            values.append(32 * 2 * turns / (taken[1] - taken[0]))
        row(f"shared atomics, {place}", "warp instructions per cycle and SM", values)
    gpu.free(memory)


# ---- what two kinds of work do to each other ----

ROLES = ("nothing", "loads from DRAM", "stores to DRAM", "loads from the L2", "a chase in the L2", "a chase in DRAM", "multiply-adds")

# SMs are of one kind or the other: their first half and their second, or every other one. Each works until `budget` cycles are over.
PAIR = HEAD + """.visible .entry pair(.param .u64 out, .param .u64 from, .param .u64 to, .param .u64 mask, .param .u64 near, .param .u64 roles,
                     .param .u64 budget, .param .u64 half)
.maxntid 1024, 1, 1
.minnctapersm 2
{
    .reg .u64 %o, %f, %to, %m, %near, %k, %budget, %half, %at, %a, %b, %t<3>, %n, %s, %w, %step;
    .reg .u32 %x, %c, %sm, %g, %r, %i, %v<20>, %lane;
    .reg .f32 %e<4>;
    .reg .pred %q;
    ld.param.u64 %o, [out];
    ld.param.u64 %f, [from];
    ld.param.u64 %to, [to];
    ld.param.u64 %m, [mask];
    ld.param.u64 %near, [near];
    ld.param.u64 %k, [roles];
    ld.param.u64 %budget, [budget];
    ld.param.u64 %half, [half];
    mov.u32 %x, %tid.x;
    mov.u32 %c, %ctaid.x;
    mov.u32 %g, %nctaid.x;
    mov.u32 %sm, %smid;
    mov.u32 %lane, %laneid;
    cvt.u64.u32 %s, %sm;
    and.b64 %w, %s, 1;
    setp.eq.u64 %q, %half, 0;
    @%q bra placed;
    mov.u64 %w, 0;
    setp.ge.u64 %q, %s, %half;
    @%q mov.u64 %w, 1;
placed:
    shl.b64 %s, %w, 3;
    add.u64 %o, %o, %s;
    cvt.u32.u64 %r, %s;
    shr.u64 %k, %k, %r;
    and.b64 %k, %k, 255;
    mul.wide.u32 %at, %c, 65536;
    mul.wide.u32 %s, %x, 16;
    add.u64 %at, %at, %s;
    mul.wide.u32 %step, %g, 65536;
    mov.u64 %n, 0;
    mov.u32 %v15, 0;
    mov.u32 %v0, %x; mov.u32 %v1, %x; mov.u32 %v2, %x; mov.u32 %v3, %x;
    mov.u64 %t0, %clock64;
    setp.eq.u64 %q, %k, 1;
    @%q bra load;
    setp.eq.u64 %q, %k, 2;
    @%q bra store;
    setp.eq.u64 %q, %k, 3;
    @%q bra l2;
    setp.eq.u64 %q, %k, 4;
    @%q bra chase;
    setp.eq.u64 %q, %k, 5;
    @%q bra chase;
    setp.eq.u64 %q, %k, 6;
    @%q bra compute;
idle:
    mov.u64 %t1, %clock64;
    sub.u64 %t1, %t1, %t0;
    setp.lt.u64 %q, %t1, 10000;
    @%q bra idle;
    exit;
l2:
    mov.u64 %f, %near;
    mov.u64 %m, 8388607;
load:
    and.b64 %a, %at, %m;
    add.u64 %a, %a, %f;
    ld.global.cg.v4.u32 {%v0, %v1, %v2, %v3}, [%a];
    ld.global.cg.v4.u32 {%v4, %v5, %v6, %v7}, [%a+16384];
    ld.global.cg.v4.u32 {%v8, %v9, %v10, %v11}, [%a+32768];
    ld.global.cg.v4.u32 {%v12, %v13, %v14, %v16}, [%a+49152];
    xor.b32 %v15, %v15, %v0;
    xor.b32 %v15, %v15, %v4;
    xor.b32 %v15, %v15, %v8;
    xor.b32 %v15, %v15, %v12;
    add.u64 %at, %at, %step;
    add.u64 %n, %n, 1;
    mov.u64 %t1, %clock64;
    sub.u64 %t1, %t1, %t0;
    setp.lt.u64 %q, %t1, %budget;
    @%q bra load;
    bra over;
store:
    and.b64 %a, %at, %m;
    add.u64 %a, %a, %to;
    st.global.v4.u32 [%a], {%v0, %v1, %v2, %v3};
    st.global.v4.u32 [%a+16384], {%v0, %v1, %v2, %v3};
    st.global.v4.u32 [%a+32768], {%v0, %v1, %v2, %v3};
    st.global.v4.u32 [%a+49152], {%v0, %v1, %v2, %v3};
    add.u64 %at, %at, %step;
    add.u64 %n, %n, 1;
    mov.u64 %t1, %clock64;
    sub.u64 %t1, %t1, %t0;
    setp.lt.u64 %q, %t1, %budget;
    @%q bra store;
    bra over;
chase:
    setp.ne.u32 %q, %x, 0;
    @%q exit;
    mul.lo.u32 %i, %c, 2654435761;
    setp.eq.u64 %q, %k, 5;
    @%q bra step;
    mov.u64 %f, %near;
    mov.u64 %m, 8388607;
step:
    mad.lo.u32 %i, %i, 1664525, 1013904223;
    mul.wide.u32 %a, %i, 128;
    and.b64 %a, %a, %m;
    add.u64 %a, %a, %f;
    ld.volatile.global.u32 %v0, [%a];
    add.u32 %i, %i, %v0;
    add.u64 %n, %n, 1;
    mov.u64 %t1, %clock64;
    sub.u64 %t1, %t1, %t0;
    setp.lt.u64 %q, %t1, %budget;
    @%q bra step;
    bra over;
compute:
    cvt.rn.f32.u32 %e0, %x;
    mov.f32 %e1, %e0; mov.f32 %e2, %e0; mov.f32 %e3, %e0;
more:
""" + "    fma.rn.f32 %e0, %e0, %e0, %e1;\n    fma.rn.f32 %e2, %e2, %e2, %e3;\n" * 16 + """    add.u64 %n, %n, 1;
    mov.u64 %t1, %clock64;
    sub.u64 %t1, %t1, %t0;
    setp.lt.u64 %q, %t1, %budget;
    @%q bra more;
    add.f32 %e0, %e0, %e2;
    mov.b32 %v15, %e0;
over:
    setp.eq.u32 %q, %v15, 12345678;
    @%q st.global.u32 [%o+64], %v15;
    setp.ne.u32 %q, %lane, 0;
    @%q exit;
    red.global.add.u64 [%o], %n;
    red.global.add.u64 [%o+16], %t1;
    red.global.add.u64 [%o+32], 1;
    exit;
}
"""


def together(gpu, arrays, roles, half):
    """Of the first and the second kind of SMs: bytes per cycle of all of them, cycles per step of a chase, or warp instructions per cycle and SM.

    In little time (`quick`) an empty L2 would hold most of what is stored and nothing of what is read again, and stores on their way would
    count: two launches fill the L2 with what is read again, and as the pair leaves it (the pair before has stored there), and the next two differ
    by a length that is counted. Each is in another one of the `pieces` of the arrays."""
    (read, written, size, near, pieces), values = arrays, ([], [])
    for _ in range(gpu.repetitions):
        counted = [0] * 6
        for kinds, budget, sign in (((3, 3), 10000, 0), (roles, 80000, 0), (roles, 20000, -1), (roles, 80000, 1)) if gpu.quick else ((roles, 400000, 1),):
            at = size * next(pieces)
            gpu.driver("cuMemsetD8_v2", gpu.out, 0, 64)
            gpu.run(gpu.kernel(PAIR, "pair"), 2 * gpu.sms, 1024,
                    [gpu.out, read + at, written + at, size - 1, near, kinds[0] | kinds[1] << 8, budget, half])
            sums = gpu.read(gpu.out, 6)
            counted = [old + sign * new for old, new in zip(counted[:4], sums)] + list(sums[4:])
        for side, role in enumerate(roles):
            turns, cycles, warps = counted[side], counted[side + 2], counted[side + 4]
            if role in (1, 2, 3):
                values[side].append(turns * 2048 / (cycles / warps))
            elif role:
                values[side].append(cycles / turns if role < 6 else 32 * turns / (cycles / warps) / (gpu.sms / 2))
    return values


def interference(gpu):
    """Quick: streams, and a chase in the L2 beside them. Chases in DRAM come by lines that an earlier repetition brought into the L2."""
    size, pieces, roles, others = (128 << 20, 6, 5, 4) if gpu.quick else (2 << 30, 1, len(ROLES), len(ROLES))
    arrays = [gpu.allocate(pieces * size, not gpu.quick), gpu.allocate(pieces * size, not gpu.quick), size, gpu.allocate(8 << 20),
              itertools.cycle(range(pieces))]
    units = {1: "bytes per cycle", 2: "bytes per cycle", 3: "bytes per cycle", 4: "cycles", 5: "cycles", 6: "warp instructions per cycle and SM"}
    for half, name in ((gpu.sms // 2, "halves"), (0, "every other SM")):
        for role in range(1, roles):
            for other in range(others):
                row(f"{ROLES[role]} beside {ROLES[other]}", units[role], together(gpu, arrays, (role, other), half)[0], name)
        if gpu.quick:
            break
    for address in (arrays[0], arrays[1], arrays[3]):
        gpu.free(address)


# ---- launches, thread blocks, barriers, copies ----

STAMP = HEAD + """.extern .shared .align 16 .b8 room[];
.visible .entry stamp(.param .u64 out, .param .u64 least, .param .u64 first)
{
    .reg .u64 %o, %w, %t<4>, %g<2>, %f;
    .reg .u32 %x, %c, %s;
    .reg .pred %q;
    mov.u64 %t0, %clock64;
    mov.u64 %g0, %globaltimer;
    ld.param.u64 %o, [out];
    ld.param.u64 %w, [least];
    ld.param.u64 %f, [first];
    mov.u32 %c, %ctaid.x;
    mov.u32 %s, %smid;
    cvt.u64.u32 %t3, %c;
    add.u64 %t3, %t3, %f;
    shl.b64 %t3, %t3, 5;
    add.u64 %o, %o, %t3;
    mov.u32 %x, %tid.x;
wait:
    mov.u64 %t1, %clock64;
    sub.u64 %t2, %t1, %t0;
    setp.lt.u64 %q, %t2, %w;
    @%q bra wait;
    bar.sync 0;
    setp.ne.u32 %q, %x, 0;
    @%q exit;
    cvt.u64.u32 %t2, %s;
    st.global.u64 [%o+64], %t2;
    st.global.u64 [%o+72], %t0;
    mov.u64 %g1, %globaltimer;
    st.global.u64 [%o+80], %g0;
    mov.u64 %t1, %clock64;
    st.global.u64 [%o+88], %t1;
    exit;
}
.visible .entry nothing()
{
    exit;
}
"""


def by_sm(stamps):
    """Of each SM its thread blocks in order: (begin, end)."""
    sms = {}
    for k in range(0, len(stamps), 4):
        sms.setdefault(stamps[k], []).append((stamps[k + 1], stamps[k + 3]))
    return [sorted(blocks) for blocks in sms.values()]


def launches(gpu):
    function, nothing = gpu.kernel(STAMP, "stamp"), gpu.kernel(STAMP, "nothing")
    number = 8 if gpu.quick else 200
    gate = real_gpu.Gate(gpu.driver)
    for tbs, name in ((1, "1 TB"), (gpu.sms, "a TB on each SM")):
        for _ in range(2):
            with gate.closed():
                for k in range(number):
                    gpu.launch(function, tbs, 32, [gpu.out, 200, k * tbs])
            gpu.driver("cuCtxSynchronize")
        stamps = gpu.read(gpu.out + 64, 4 * number * tbs)
        gaps = [b[0] - a[1] for blocks in by_sm(stamps) for a, b in zip(blocks, blocks[1:])]
        row("gap between kernels of a stream", "cycles", gaps, name)
        firsts = [min(stamps[4 * (k * tbs + i) + 2] for i in range(tbs)) for k in range(number)]
        row("kernel to kernel of a stream", "ns by the global timer", (firsts[-1] - firsts[0]) / (number - 1), name)
    for tbs in (1, gpu.sms, 32 * gpu.sms):
        values = []
        for _ in range(gpu.repetitions):
            with gate.closed():
                gpu.driver("cuEventRecord", gpu.events[0], None)
                for k in range(number):
                    gpu.launch(nothing, tbs, 32, [])
                gpu.driver("cuEventRecord", gpu.events[1], None)
            gpu.driver("cuCtxSynchronize")
            elapsed = ctypes.c_float()
            gpu.driver("cuEventElapsedTime", byref(elapsed), *gpu.events)
            values.append(elapsed.value * 1e6 / number)
        row("empty kernels in a stream", "ns each", values, f"{tbs} TBs")
    values = []
    for _ in range(2 * gpu.repetitions):
        values.append(gpu.run(nothing, 1, 32, []) * 1000)
    row("events around an empty kernel", "ns", values)
    with gate.closed():
        for k in range(number):
            gpu.driver("cuEventRecord", gate.events[2 * k], None)
            gpu.launch(nothing, 1, 32, [])
            gpu.driver("cuEventRecord", gate.events[2 * k + 1], None)
    gpu.driver("cuCtxSynchronize")
    row("an empty kernel between two events", "ns", [1000 * gate.elapsed_us(k) for k in range(1, number)])
    values = []
    for _ in range(20 if not gpu.quick else 2):
        begin = time.perf_counter_ns()
        gpu.launch(nothing, 1, 32, [])
        gpu.driver("cuCtxSynchronize")
        values.append(time.perf_counter_ns() - begin)
    row("launch and wait, seen from Python", "ns", values)
    gate.close()


def turnover(gpu):
    function, nothing = gpu.kernel(STAMP, "stamp"), gpu.kernel(STAMP, "nothing")
    for threads, waves in ((1024, 8), (256, 8), (32, 8)):
        per_sm = min(2048 // threads, 32)
        tbs = gpu.sms * per_sm * (2 if gpu.quick else waves)
        gpu.run(function, tbs, threads, [gpu.out, 3000, 0])
        ends, gaps = [], []
        for blocks in by_sm(gpu.read(gpu.out + 64, 4 * tbs)):
            ends = sorted(b for _, b in blocks)
            begins = sorted(a for a, _ in blocks)[per_sm:]
            gaps += [begin - end for begin, end in zip(begins, ends)]
        row("a thread block's end to the next one's begin", "cycles", gaps, f"{threads} threads")
    for threads in (32, 256, 1024):
        counts = (gpu.sms * 64, gpu.sms * 320)
        if gpu.quick:
            counts = (gpu.sms * 32, gpu.sms * 64)
        values = []
        for _ in range(gpu.repetitions):
            times = [gpu.run(nothing, tbs, threads, []) for tbs in counts]
            values.append((counts[1] - counts[0]) / (times[1] - times[0]))
        row("empty thread blocks", "per microsecond", values, f"{threads} threads")


BARRIER = HEAD + """.visible .entry barrier(.param .u64 out)
{
    .reg .u64 %o, %t<3>;
    .reg .u32 %x;
    .reg .pred %q;
    ld.param.u64 %o, [out];
    mov.u32 %x, %tid.x;
    bar.sync 0;
    mov.u64 %t0, %clock64;
""" + "    bar.sync 0;\n" * 64 + """    mov.u64 %t1, %clock64;
    setp.ne.u32 %q, %x, 0;
    @%q exit;
    sub.u64 %t1, %t1, %t0;
    st.global.u64 [%o], %t1;
    exit;
}
"""


def barriers(gpu):
    function = gpu.kernel(BARRIER, "barrier")
    for warps in (1, 2, 4, 8, 16, 32):
        values = []
        for _ in range(gpu.repetitions):
            gpu.run(function, 1, 32 * warps, [gpu.out])
            values.append(gpu.read(gpu.out, 1)[0] / 64)
        row("barrier", "cycles", values, f"{warps} warps")


def copies(gpu):
    size = (1 if gpu.quick else 128) << 20
    memory, host = gpu.allocate(size), c_void_p()
    gpu.driver("cuMemHostAlloc", byref(host), size, 0)
    pageable = ctypes.create_string_buffer(size)
    for name, buffer in (("pinned", host), ("pageable", ctypes.cast(pageable, c_void_p))):
        for call, what, arguments in (("cuMemcpyHtoDAsync_v2", "to the GPU", (memory, buffer)), ("cuMemcpyDtoHAsync_v2", "from the GPU", (buffer, memory))):
            for bytes_, unit in ((size, "MB/s"), (4, "ns")):
                values = []
                for _ in range(gpu.repetitions + 1):
                    begin = time.perf_counter_ns()
                    gpu.driver(call, *arguments, bytes_, None)
                    gpu.driver("cuStreamSynchronize", None)
                    taken = time.perf_counter_ns() - begin
                    values.append(bytes_ * 1000 / taken if unit == "MB/s" else taken)
                row(f"copy {what}, {name}", unit, values[1:], f"{bytes_} bytes")
    gpu.driver("cuMemFreeHost", host)
    gpu.free(memory)


def attributes(gpu):
    for name, which in ATTRIBUTES.items():
        try:
            row("attribute " + name, "", gpu.driver.number("cuDeviceGetAttribute", which, gpu.device.device))
        except real_gpu.DriverError as error:
            print(f"{name}: {error}", file=sys.stderr)


def warpgroups(gpu):
    asynchronous.warpgroup_products(gpu, row)


def clusters(gpu):
    asynchronous.clusters(gpu, row)


def bulk_copies(gpu):
    asynchronous.bulk_copies(gpu, row)


PARTS = {"attributes": attributes, "operations": operations, "mixes": mixes, "expansions": expansions, "branches": branches, "memories": memories, "halves": halves, "bandwidths": bandwidths,
         "streams": streams, "atomics": atomics, "launches": launches, "turnover": turnover, "barriers": barriers, "interference": interference,
         "copies": copies, "instruction_cache": instruction_cache, "code_of_warps": code_of_warps, "first_fetch": first_fetch, "partitions": partitions,
         "pages": pages, "banks": banks, "warpgroups": warpgroups, "clusters": clusters, "bulk_copies": bulk_copies}


def save(path, gpu):
    with open(path, "w", newline="", encoding="utf-8") as file:
        facts = gpu.device.facts
        file.write(f"# {facts['gpu']}, driver {facts['driver']}, SM clock {gpu.device.clocks.sample()} MHz, {facts['date']}\n")
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(ROWS)


def read_values(path):
    with open(path, encoding="utf-8") as file:
        return {(r["quantity"], r["parameter"]): r for r in csv.DictReader(line for line in file if not line.startswith("#"))}


def compare(first, second):
    ours = read_values(second)
    print("| what | | unit | measured | simulated | simulated / measured |\n|---|---|---|--:|--:|--:|")
    for key, measured in read_values(first).items():
        if key in ours:
            a, b = float(measured["value"]), float(ours[key]["value"])
            print(f"| {key[0]} | {key[1]} | {measured['unit']} | {a:.4g} | {b:.4g} | {f'{b / a:.2f}' if a else ''} |")


def slow_downs(first, second):
    """How many times as long each kind of work takes beside each other kind, on both."""
    sides, distances, alone = (read_values(first), read_values(second)), [], "nothing"

    def times(values, kind, other, parameter):
        pair, single = (values[f"{kind} beside {name}", parameter] for name in (other, alone))
        ratio = float(pair["value"]) / float(single["value"])
        return ratio if single["unit"] == "cycles" else 1 / ratio

    print("| what | beside | alone: measured | simulated | unit | slow-down: measured | simulated | simulated / measured |\n"
          "|---|---|--:|--:|---|--:|--:|--:|")
    for (quantity, parameter), simulated in sides[1].items():
        kind, _, other = quantity.partition(" beside ")
        single = f"{kind} beside {alone}", parameter
        if other in ("", alone) or (quantity, parameter) not in sides[0] or any(single not in values for values in sides):
            continue
        singles = [float(values[single]["value"]) for values in sides]
        slow = [times(values, kind, other, parameter) for values in sides]
        distances.append(abs(slow[1] / slow[0] - 1))
        print(f"| {kind} | {other} | {singles[0]:.4g} | {singles[1]:.4g} | {simulated['unit']} | {slow[0]:.2f} | {slow[1]:.2f} | {slow[1] / slow[0]:.2f} |")
    if not distances:
        print("microbenchmarks.py: no pairs of interference that both files have", file=sys.stderr)
        return 1
    print(f"\n* {len(distances)} pairs: mean distance of the slow-downs {100 * statistics.mean(distances):.1f} %, "
          f"{sum(d >= 0.15 for d in distances)} of them 15 % or more")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="*", help=f"which of {', '.join(PARTS)} [all]")
    parser.add_argument("--csv", help="write the rows to this file")
    parser.add_argument("--compare", nargs=2, metavar="FILE.csv", help="print two files side by side")
    parser.add_argument("--slow-downs", nargs=2, metavar="FILE.csv", help="print the slow-downs of interference side by side")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="small arrays and few points: for a simulated GPU")
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("--driver", default="libcuda.so.1")
    parser.add_argument("--nvml", default="libnvidia-ml.so.1")
    options = parser.parse_args()
    if options.compare:
        return compare(*options.compare)
    if options.slow_downs:
        return slow_downs(*options.slow_downs)
    unknown = [part for part in options.part if part not in PARTS]
    if unknown:
        parser.error(f"no part named {', '.join(unknown)}")
    os.environ["CUDA_MODULE_LOADING"] = "EAGER"
    try:
        gpu = Gpu(options)
    except real_gpu.NoGpu as error:
        print(f"microbenchmarks.py: {error}", file=sys.stderr)
        return real_gpu.NO_GPU
    status = 0
    for part in options.part or PARTS:
        begin = time.perf_counter()
        try:
            PARTS[part](gpu)
        except real_gpu.DriverError as error:
            print(f"microbenchmarks.py: {part}: {error}", file=sys.stderr)
            status = 1
        print(f"# {part}: {time.perf_counter() - begin:.1f} s", flush=True)
        if options.csv:
            save(options.csv, gpu)
    return status


if __name__ == "__main__":
    sys.exit(main())
