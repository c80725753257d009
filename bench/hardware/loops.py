#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Innermost loops of the machine-code model beside those of ptxas.

    loops.py build/bench_loops GPU FILE.cu [FILE.cu …] [--arch sm_90] [--each] [--half deciding]

Kernels are compiled by nvcc; an innermost loop counts where both sides have one with as many loads, stores, atomics and products of floats.
Printed are the means of the logarithms' absolute values: of the instructions, and of the cycles that its busiest pipeline takes for the loop;
and of all kernels how far their registers are off, and the warps that fit an SM with them.
Halves are by the SHA-256 of the kernels' names: the first, third, … of that order decides.
"""
import argparse
import collections
import hashlib
import math
import os
import re
import struct
import subprocess
import tempfile

# The low nine bits of an instruction's 128 are its operation, for compute capability 7.0 to 9.0.
ALU = {0x002, 0x005, 0x007, 0x008, 0x009, 0x00b, 0x00c, 0x010, 0x011, 0x012, 0x013, 0x014, 0x015, 0x016, 0x017, 0x019, 0x01a, 0x01b, 0x01c, 0x006, 0x00a, 0x004, 0x018, 0x01e, 0x035, 0x036, 0x045, 0x046, 0x048}
FMA = {0x020, 0x021, 0x023}
IMAD = {0x024, 0x025, 0x026, 0x027}
FP64 = {0x028, 0x029, 0x02a, 0x02b}
HALF = {0x030, 0x031, 0x032, 0x034}
SFU = {0x100, 0x101, 0x103, 0x104, 0x105, 0x106, 0x107, 0x108, 0x109, 0x110, 0x111, 0x112, 0x113}
LOADS = {0x180, 0x181, 0x183, 0x184, 0x169}
STORES = {0x185, 0x186, 0x187, 0x188}
ATOMICS = {0x18c, 0x18d, 0x18e, 0x1a8, 0x1a9, 0x1aa, 0x198, 0x1a3}
PRODUCTS = {0x020, 0x023, 0x028, 0x02b}
BRANCH = 0x147
NOP = 0x118

Loop = collections.namedtuple("Loop", "signature count alu fma either lines")


def cubin_kernels(path, wide=True):
    """name: list of (operation, target or None)"""
    data = open(path, "rb").read()
    shoff, = struct.unpack_from("<Q", data, 0x28)
    size, number, names = struct.unpack_from("<HHH", data, 0x3a)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, shoff + i * size) for i in range(number)]
    strings = headers[names][4]
    found = {}
    for header in headers:
        start = strings + header[0]
        name = data[start:data.index(b"\0", start)].decode()
        if not name.startswith(".text."):
            continue
        code = []
        for at in range(header[4], header[4] + header[5], 16):
            low, high = struct.unpack_from("<QQ", data, at)
            operation, target = low & 0x1ff, None
            if operation == BRANCH:
                target = (at - header[4] + 16 + distance(low, high, wide)) // 16
            code.append((operation, target))
        found[name[6:]] = code
    return found


def distance(low, high, wide):
    """Bytes that a branch goes. From compute capability 9.0 on eight bits more of it are in front."""
    words = low >> 34 | (high & 0x3ffff) << 30
    words -= (words >> 47) << 48
    return (words << 8 | low >> 16 & 0xff) * 4 if wide else words * 4


def innermost(targets):
    """targets: by index, where an instruction jumps to. Bodies (first, last) that have no other within."""
    bodies = {}
    for at, target in enumerate(targets):
        if target is not None and 0 <= target <= at:
            bodies[target] = max(at, bodies.get(target, 0))
    spans = [(first, last) for first, last in bodies.items() if last > first]
    return [s for s in spans if not any(o != s and s[0] <= o[0] and o[1] <= s[1] for o in spans)]


def of_cubin(code):
    loops = []
    for first, last in innermost([target for _, target in code]):
        body = [operation for operation, _ in code[first:last + 1] if operation != NOP]
        number = lambda group: sum(operation in group for operation in body)
        signature = tuple(number(group) for group in (LOADS, STORES, ATOMICS, PRODUCTS))
        loops.append(Loop(signature, len(body), number(ALU) * 2, number(FMA) + number(IMAD) * 2 + number(HALF), 0, body))
    return loops


def of_model(rows):
    loops = []
    for first, last in innermost([None if row[0] < 0 else row[0] for row in rows]):
        body = rows[first:last + 1]
        number = lambda kind: sum(row[2] == kind for row in body)
        signature = tuple(number(kind) for kind in ("load", "store", "atomic", "product"))
        alu, fma, either = (sum(row[column] for row in body) for column in (4, 5, 6))
        loops.append(Loop(signature, sum(row[3] for row in body), alu, fma, either, body))
    return loops


def busiest(loop):
    """Cycles: what may go either way fills up the pipeline that has less to do."""
    alu, fma = loop.alu, loop.fma
    gap = min(loop.either, abs(alu - fma))
    rest = (loop.either - gap) / 2
    return max(loop.count, max(alu, fma) + rest if loop.either > gap else max(min(alu, fma) + gap, max(alu, fma)))


def pairs(ours, theirs):
    left = sorted(theirs, key=lambda loop: -loop.count)
    for loop in sorted(ours, key=lambda loop: -loop.count):
        for other in left:
            if other.signature == loop.signature:
                left.remove(other)
                yield loop, other
                break


def warps(registers):
    """That fit 65 536 registers, in steps of 256 for a warp and as many on each of four schedulers, 64 at most."""
    return min(64, 65536 // ((registers * 32 + 255) // 256 * 256) // 4 * 4)


def mean_error(pairs):
    return sum(abs(ours / theirs - 1) for ours, theirs in pairs) / len(pairs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tool")
    parser.add_argument("gpu")
    parser.add_argument("sources", nargs="+")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--half", choices=("deciding", "reported"))
    parser.add_argument("--show", help="of this kernel: lines of the PTX and operations")
    args = parser.parse_args()
    theirs, ours, registers, taken = {}, collections.defaultdict(list), {}, {}
    text = {}
    with tempfile.TemporaryDirectory() as folder:
        for source in args.sources:
            ptx, cubin = os.path.join(folder, "loops.ptx"), os.path.join(folder, "loops.cubin")
            subprocess.run(["nvcc", "-std=c++17", "-arch=" + args.arch.replace("sm", "compute"), "-ptx", "-o", ptx, source], check=True)
            log = subprocess.run(["ptxas", "-v", "-arch=" + args.arch, "-o", cubin, ptx], check=True, stderr=subprocess.PIPE, text=True).stderr
            taken.update((name, int(count)) for name, count in re.findall(r"function '(\w+)' for '\w+'\n(?:.*\n)*?.*Used (\d+) registers", log))
            theirs.update(cubin_kernels(cubin, int(args.arch[3:5]) >= 90))
            printed = subprocess.run([args.tool, args.gpu, ptx], check=True, stdout=subprocess.PIPE, text=True).stdout
            lines = open(ptx).read().split("\n")
            for line in printed.splitlines():
                if line.split()[1] == "registers":
                    registers[line.split()[0]] = int(line.split()[2])
                    continue
                name, _, target, place, kind, slots, logic, products, either, _ = line.split()
                ours[name].append((int(target), int(place), kind, int(slots), int(logic), int(products), int(either), lines[int(place) - 1].strip()))
    order = sorted(set(ours) & set(theirs), key=lambda name: hashlib.sha256(name.encode()).hexdigest())
    sums = {half: [] for half in ("deciding", "reported")}
    without, kept = [], {half: [] for half in ("deciding", "reported")}
    for place, name in enumerate(order):
        half = "reported" if place % 2 else "deciding"
        mine, other = of_model(ours[name]), of_cubin(theirs[name])
        kept[half].append((registers[name], taken[name]))
        if args.each and args.half in (None, half):
            print(f"{half:9} {name:20} registers {registers[name]:3} {taken[name]:3}  warps {warps(registers[name]):2} {warps(taken[name]):2}")
        found = list(pairs(mine, other))
        if args.show == name:
            for title, loops in (("model", mine), ("ptxas", other)):
                for loop in loops:
                    print(title, loop.signature, loop.count, loop.alu, loop.fma, loop.either)
                    for item in loop.lines:
                        print("   ", "%03x" % item if isinstance(item, int) else " ".join(map(str, item)))
        if not found:
            without.append(name)
        for loop, against in found:
            entry = (math.log(loop.count / against.count), math.log(busiest(loop) / busiest(against)))
            sums[half].append(entry)
            if args.each and args.half in (None, half):
                print(f"{half:9} {name:20} {str(loop.signature):18} instructions {loop.count:4} {against.count:4} {loop.count / against.count:5.2f}   "
                      f"int {loop.alu:4} {against.alu:4}  fp32 {loop.fma:4} {against.fma:4}  either {loop.either:4}   cycles {busiest(loop):6.1f} {busiest(against):6.1f} {math.exp(entry[1]):5.2f}")
    for half, entries in sums.items():
        if entries and args.half in (None, half):
            print(f"{half}: {len(entries)} loops, instructions {100 * sum(abs(e[0]) for e in entries) / len(entries):.1f} %, busiest pipeline {100 * sum(abs(e[1]) for e in entries) / len(entries):.1f} %"
                  f" (signed {100 * sum(e[0] for e in entries) / len(entries):+.1f}, {100 * sum(e[1] for e in entries) / len(entries):+.1f})")
        if kept[half] and args.half in (None, half):
            print(f"{half}: {len(kept[half])} kernels, registers {100 * mean_error(kept[half]):.1f} %, warps of them that fit an SM {100 * mean_error([(warps(a), warps(b)) for a, b in kept[half]]):.1f} %")
    print("no loop in common:", *without)


if __name__ == "__main__":
    main()
