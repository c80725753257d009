#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How near the simulated GPUs are to real ones: the tables of docs/fidelity.md.

    fidelity.py CORUN programs [--overrides machine_code=0]  [WORKLOAD...]   cycles beside published/v100-cycles.csv, in two halves
    fidelity.py CORUN probes [--overrides ...] [GPU...]        latencies and bandwidths, end to end, beside published/latencies-bandwidths.csv
    fidelity.py CORUN sharing [GPU...]                         what programs on half of the SMs each do to one another
    fidelity.py CORUN all                                      programs and probes, the programs as the GPU has them and as PTX is written

The programs are in two halves by a rule that knows nothing of them: their names (the part before @) in the order of their SHA-256; the
first, third, fifth ... decide, the others are only reported. A choice in the model is made from the deciding half, and the other
half says what it is worth on programs that had no say. Left out unless it is named: 2mm, ten minutes by itself.
"""
import argparse
import csv
import hashlib
import math
import os
import struct
import subprocess
import sys
import tempfile

import simulated

HERE = os.path.dirname(os.path.abspath(__file__))
PROBES = os.path.join(HERE, "probes.ptx")
LONG = ["2mm@v100"]


# ---- programs ----

def deciding(workloads):
    """The half that decides, of all the workloads of the file."""
    names = sorted({w.split("@")[0] for w in workloads}, key=lambda name: hashlib.sha256(name.encode()).hexdigest())
    return set(names[::2])


def correlation(pairs):
    """Pearson's, of the logarithms."""
    logs = [(math.log(a), math.log(b)) for a, b in pairs]
    means = [sum(column) / len(logs) for column in zip(*logs)]
    products = [sum((row[i] - means[i]) * (row[j] - means[j]) for row in logs) for i, j in ((0, 1), (0, 0), (1, 1))]
    return products[0] / math.sqrt(products[1] * products[2])


def summary(name, pairs):
    if len(pairs) < 2:
        return
    error = sum(abs(ours / hardware - 1) for hardware, ours in pairs) / len(pairs)
    print(f"* {name}: mean absolute error {100 * error:.1f} %, correlation of logarithms {correlation(pairs):.4f}, "
          f"{len(pairs)} rows", flush=True)


def profiled_cycles(corun, gpu, workload):
    """What a profiler would count: published cycles are a profiler's, the sum over the kernels of a program."""
    if workload not in simulated.BY_WAVES:
        return sum(kernel["profiled_cycles"] for kernel in simulated.run_once(corun, gpu, workload)["kernels"])
    parameter = simulated.BY_WAVES[workload][0]
    kernels = simulated.run_once(corun, gpu, f"{workload},{parameter}=8")["kernels"]
    return simulated.by_waves(corun, gpu, workload)[0] + sum(k["profiled_cycles"] - k["cycles"] for k in kernels)


def programs(corun, gpu, wanted):
    rows = simulated.published()
    first = deciding(rows)
    print(f"\n{gpu}\n\n| program | half | hardware | simulated | simulated / hardware |\n|---|---|--:|--:|--:|")
    halves = {"decides": [], "reported": []}
    for workload in wanted or [w for w in rows if w not in LONG]:
        hardware = int(rows[workload]["cycles"])
        cycles = profiled_cycles(corun, gpu, workload)
        half = "decides" if workload.split("@")[0] in first else "reported"
        halves[half].append((hardware, cycles))
        print(f"| {workload} | {half} | {hardware} | {cycles} | {cycles / hardware:.2f} |", flush=True)
    print()
    summary("deciding half", halves["decides"])
    summary("reported half", halves["reported"])
    summary("both", halves["decides"] + halves["reported"])


# ---- probes ----

class Machine:
    """Launches of probes on one GPU. `gpu`: its name, with overrides or without."""

    def __init__(self, corun, gpu, folder):
        self.corun, self.gpu, self.folder = corun, gpu, folder
        self.name = gpu.split(":")[0]

    def value(self, name):
        return simulated.value(self.name, name)

    def bytes(self, name):
        """A size of the configuration: 48K, 6M or a number."""
        with open(os.path.join(simulated.ROOT, f"configs/gpu/{self.name}.yaml"), encoding="utf-8") as file:
            text = next(line for line in file if line.startswith(f"  {name}: ")).split("value: ")[1].split(",")[0]
        return int(float(text.rstrip("KM")) * {"K": 1 << 10, "M": 1 << 20}.get(text[-1], 1))

    def launch(self, kernel, tbs, arguments, threads=256, ptx=PROBES):
        """Cycles of the launch, and the first value of its first buffer."""
        saved = os.path.join(self.folder, "out")
        command = [self.corun, "launch", "--quiet", "--json=-", f"--gpu={self.gpu}", f"--kernel={kernel}", f"--grid={tbs}",
                   f"--block={threads}", f"--save=0={saved}"] + [f"--arg={argument}" for argument in arguments] + [ptx]
        cycles = simulated.command_output(command)["cycles"]
        with open(saved, "rb") as file:
            return cycles, struct.unpack("<Q", file.read(8))[0]

    def tbs(self):
        """Thread blocks of 256 threads that fill the GPU."""
        return int(self.value("sms") * min(self.value("threads_per_sm") // 256, self.value("tbs_per_sm")))

    def compile(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path


CHAIN = """.version 6.3
.target sm_52
.address_size 64
.shared .align 8 .b8 words[64];
.const .align 8 .u64 places[1] = {{places}};
.visible .entry chain(.param .u64 out)
{{
    .reg .u64 %o, %p, %k, %t<2>;
    .reg .u32 %r, %i;
    .reg .f32 %f;
    .reg .f64 %d;
    .reg .pred %q;
    ld.param.u64 %o, [out];
    mov.u32 %r, 0;
    mov.u64 %k, places;
    mov.f32 %f, 0f3F800000;
    mov.f64 %d, 0d3FF0000000000000;
    mov.u64 %p, words;
    st.shared.u64 [words], %p;
    mov.u32 %i, 0;
again:
    mov.u64 %t0, %clock64;
{steps}    st.global.{stored} [%o+8], %{result};
    mov.u64 %t1, %clock64;
    sub.u64 %t1, %t1, %t0;
    add.u32 %i, %i, 1;
    setp.lt.u32 %q, %i, 2;
    @%q bra again;
    st.global.u64 [%o], %t1;
    exit;
}}
"""
CHAINS = {
    "int_add": ("add.u32 %r, %r, %r;", "u32", "r"),
    "fp32_fma": ("fma.rn.f32 %f, %f, %f, %f;", "f32", "f"),
    "fp32_sqrt": ("sqrt.rn.f32 %f, %f;", "f32", "f"),
    "fp32_rcp": ("rcp.rn.f32 %f, %f;", "f32", "f"),
    "fp32_div_rate": ("div.rn.f32 %f, %f, %f;", "f32", "f"),
    "fp32_mul": ("mul.f32 %f, %f, %f;", "f32", "f"),
    "fp64_div_rate": ("div.rn.f64 %d, %d, %d;", "f64", "d"),
    "fp64_mul": ("mul.f64 %d, %d, %d;", "f64", "d"),
    "fp64_fma": ("fma.rn.f64 %d, %d, %d, %d;", "f64", "d"),
    "fp64_div": ("div.rn.f64 %d, %d, %d;", "f64", "d"),
    "fp64_sqrt": ("sqrt.rn.f64 %d, %d;", "f64", "d"),
    "sfu": ("ex2.approx.ftz.f32 %f, %f;", "f32", "f"),
    "shared": ("ld.shared.u64 %p, [%p];", "u64", "p"),
    "constant": ("ld.const.u64 %k, [%k];", "u64", "k"),
}


def chain(machine, quantity):
    """The second turn of a loop, so that instructions are there; a chain of 128 less one of 64."""
    text, stored, result = CHAINS[quantity]
    clocks = []
    for count in (64, 128):
        ptx = machine.compile("chain.ptx", CHAIN.format(steps=f"    {text}\n" * count, stored=stored, result=result))
        clocks.append(machine.launch("chain", 1, ["buf=64"], 1, ptx)[1])
    return (clocks[1] - clocks[0]) / 64


def rate(machine, quantity):
    """How many multiplications a division takes, where chains of as many threads as there can be fill an SM."""
    alone = Machine(machine.corun, f"{machine.gpu}{',' if ':' in machine.gpu else ':'}sms=1", machine.folder)
    taken = []
    for name in (quantity, quantity[:5] + "mul"):
        text, stored, result = CHAINS[name]
        cycles = []
        for count in (128, 256):
            ptx = machine.compile("chain.ptx", CHAIN.format(steps=f"    {text}\n" * count, stored=stored, result=result))
            cycles.append(alone.launch("chain", int(machine.tbs() // machine.value("sms")), ["buf=64"], 256, ptx)[0])
        taken.append(cycles[1] - cycles[0])
    return taken[0] / taken[1]


def power_below(number):
    return 1 << (int(number).bit_length() - 1)


def chase(machine, kernel, places, stride, swept, warm):
    clocks = []
    for steps in (256, 768):
        arguments = ["buf=64", f"buf={places * stride}", f"buf={max(swept, 64)}", f"u32={places - 1}", f"u32={stride}", f"u64={swept}",
                     f"u32={warm}", f"u32={steps}"]
        clocks.append(machine.launch(kernel, 1, arguments)[1])
    return (clocks[1] - clocks[0]) / 512


def l1(machine, _):
    return chase(machine, "chase", 64, 128, 0, 128)


def l2(machine, _):
    places = power_below(min(machine.bytes("l2_bytes") // 2, 1 << 20)) // 128
    return chase(machine, "chase", places, 128, 0, places)


def atomic(machine, _):
    return chase(machine, "atomic_chase", 1024, 128, 0, 1024)


def dram(machine, _):
    return chase(machine, "chase", 16384, 4096 + 128, 2 * machine.bytes("l2_bytes"), 0)


def turns(machine, kernel, mask, tbs, count):
    """Bytes per cycle: what a run of twice as many turns takes longer."""
    cycles = [machine.launch(kernel, tbs, ["buf=64", f"buf={mask + 1}", f"u32={mask}", f"u32={n}"])[0] for n in (count, 2 * count)]
    return tbs * count * 16384 / (cycles[1] - cycles[0])


def l1_bytes(machine, _):
    return turns(machine, "l1_turns", 8191, machine.tbs(), 16) / machine.value("sms")


def shared_bytes(machine, _):
    return turns(machine, "shared_turns", 8191, machine.tbs(), 16) / machine.value("sms")


def l2_bytes(machine, _):
    return turns(machine, "l2_turns", power_below(min(machine.bytes("l2_bytes") // 2, 1 << 20)) - 1, machine.tbs(), 32)


def stream(machine, quantity):
    """Percent of the pins: what an array of twice the length takes longer, one word of 64 bits per thread."""
    moved = {"dram_read": 1, "dram_write": 1, "dram_scale": 2, "dram_triad": 3}[quantity]
    length = max(2 * machine.bytes("l2_bytes"), 16 << 20)
    cycles = [machine.launch(quantity.replace("dram", "stream"), n // 8 // 256, [f"buf={n}"] * 3)[0] for n in (length, 2 * length)]
    seconds = (cycles[1] - cycles[0]) / (machine.value("core_clock_khz") * 1e6)
    pins = (machine.value("memory_controllers") * machine.value("dram_bus_bytes") * machine.value("dram_data_rate") *
            machine.value("dram_clock_khz") * 1e6)
    return 100 * moved * length / seconds / pins


def stream_of_few(machine, quantity):
    """Bytes per cycle and SM where an SM may hold only so many threads, as two thread blocks."""
    kind, threads = quantity.rsplit("_", 1)
    few = Machine(machine.corun, f"{machine.gpu}{',' if ':' in machine.gpu else ':'}tbs_per_sm=2", machine.folder)
    length, block = 16 << 20, int(threads) // 2
    cycles = [few.launch(kind.replace("dram", "stream"), n // 8 // block, [f"buf={n}"] * 3, block)[0] for n in (length, 2 * length)]
    return length / (cycles[1] - cycles[0]) / machine.value("sms")


def few(kind):
    return {f"dram_{kind}_{n}": (stream_of_few, f"DRAM, {kind}, {n} threads on an SM", "bytes per cycle and SM") for n in (64, 256, 512, 1024)}


MEASURED = {
    **few("read"), **few("write"),
    "l1": (l1, "L1 hit", "cycles"),
    "l2": (l2, "L2 hit", "cycles"),
    "dram": (dram, "DRAM", "cycles"),
    "atomic": (atomic, "atomic of global memory", "cycles"),
    "l1_bytes": (l1_bytes, "loads from the L1", "bytes per cycle and SM"),
    "shared_bytes": (shared_bytes, "loads from shared memory", "bytes per cycle and SM"),
    "l2_bytes": (l2_bytes, "loads from the L2", "bytes per cycle"),
    "dram_read": (stream, "DRAM, read", "% of the pins"),
    "dram_write": (stream, "DRAM, write", "% of the pins"),
    "dram_scale": (stream, "DRAM, scale", "% of the pins"),
    "dram_triad": (stream, "DRAM, triad", "% of the pins"),
    "int_add": (chain, "integer add", "cycles"),
    "fp32_fma": (chain, "fp32 multiply-add", "cycles"),
    "fp32_sqrt": (chain, "fp32 square root", "cycles"),
    "fp32_rcp": (chain, "fp32 reciprocal", "cycles"),
    "fp32_div_rate": (rate, "fp32 divide", "multiplications"),
    "fp64_div_rate": (rate, "fp64 divide", "multiplications"),
    "fp64_fma": (chain, "fp64 multiply-add", "cycles"),
    "fp64_div": (chain, "fp64 divide", "cycles"),
    "fp64_sqrt": (chain, "fp64 square root", "cycles"),
    "sfu": (chain, "special function", "cycles"),
    "shared": (chain, "shared memory", "cycles"),
    "constant": (chain, "constant, by a register", "cycles"),
}


def published():
    with open(os.path.join(HERE, "published/latencies-bandwidths.csv"), encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def distance(value, low, high):
    """0 within what was published, else how far from its nearer end."""
    return value / low - 1 if value < low else value / high - 1 if value > high else 0.0


def probes(corun, gpus, overrides):
    print("\n| GPU | what | unit | published | measured | off by | source |\n|---|---|---|--:|--:|--:|---|")
    off = []
    with tempfile.TemporaryDirectory() as folder:
        for row in published():
            if row["gpu"] not in gpus:
                continue
            machine = Machine(corun, row["gpu"] + (":" + overrides if overrides else ""), folder)
            measure, name, unit = MEASURED[row["quantity"]]
            low, high = float(row["low"]), float(row["high"])
            value = measure(machine, row["quantity"])
            off.append(abs(distance(value, low, high)))
            between = row["low"] if low == high else f"{row['low']} to {row['high']}"
            board = f"{row['as']}; " if row["as"] else ""
            print(f"| {row['gpu']} | {name} | {unit} | {between} | {value:.4g} | "
                  f"{'–' if off[-1] < 0.005 else f'{100 * distance(value, low, high):+.0f} %'} | {board}{row['source']} |", flush=True)
    print(f"\n* {len(off)} rows: mean distance from what was published {100 * sum(off) / len(off):.1f} %, "
          f"{sum(o >= 0.05 for o in off)} of them 5 % or more", flush=True)


# ---- sharing ----

VICTIMS = ["vector-add@large", "matmul@medium", "merge-sort@medium", "radix-sort@medium", "pointer-chasing@medium"]
NEIGHBOURS = ["nbody@large", "vector-add@large"]


def ipc(corun, gpu, policy, *names):
    command = [corun, "run", "--quiet", "--no-cache", "--no-baselines", f"--gpu={gpu}", f"--policy={policy}", "--cycles=60K", "--json=-"]
    return [a["ipc"] for a in simulated.command_output(command + list(names))["applications"]]


def sharing(corun, gpus):
    """Beside a neighbour on the other half of the SMs, over alone on one half of them; the L2 and the DRAM are whole either way."""
    for gpu in gpus:
        half = f"{gpu}:sms={int(simulated.value(gpu, 'sms')) // 2}"
        print(f"\n{gpu}\n\n| program | alone on half of the SMs, over all | beside computing | beside streaming | the stream beside it |\n|---|--:|--:|--:|--:|")
        stream = ipc(corun, half, "left-over", NEIGHBOURS[1])[0]
        worst = []
        for victim in VICTIMS:
            alone, whole = (ipc(corun, g, "left-over", victim)[0] for g in (half, gpu))
            pairs = [ipc(corun, gpu, "even", victim, neighbour) for neighbour in NEIGHBOURS]
            worst.append(max(alone / pair[0] for pair in pairs) - 1)
            print(f"| {victim} | {whole / alone:.2f} | " + " | ".join(f"{alone / pair[0]:.2f}" for pair in pairs) + f" | {stream / pairs[1][1]:.2f} |", flush=True)
        print(f"\n* slower beside the worse neighbour: {100 * sum(worst) / len(worst):.1f} % in the mean, {100 * max(worst):.1f} % at most", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corun")
    parser.add_argument("what", choices=["programs", "probes", "sharing", "all"])
    parser.add_argument("--overrides", default="")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_intermixed_args()
    gpus = list(dict.fromkeys(row["gpu"] for row in published()))
    known = {"programs": list(simulated.published()), "probes": gpus, "sharing": gpus, "all": []}[arguments.what]
    unknown = [name for name in arguments.names if name not in known]
    if unknown:
        parser.error(f"no published figures of {', '.join(unknown)}; there are some of: {', '.join(known)}")
    if arguments.what == "sharing":
        sharing(arguments.corun, arguments.names or ["quadro-v100"])
    suffix = [arguments.overrides] if arguments.overrides else []
    if arguments.what in ("programs", "all"):
        for more in [[], ["machine_code=0"]] if arguments.what == "all" else [[]]:
            programs(arguments.corun, ":".join(["quadro-v100"] + ([",".join(suffix + more)] if suffix + more else [])), arguments.names)
    if arguments.what in ("probes", "all"):
        probes(arguments.corun, arguments.names or gpus, arguments.overrides)


if __name__ == "__main__":
    sys.exit(main())
