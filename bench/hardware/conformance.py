#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Holds what corun computes against a GPU, bit for bit: each instruction of operations.py and matrices.py on the same inputs.

    corun exec -q --functional --gpu h100 -- python3 conformance.py run ours.zip
    conformance.py run --expect ours.zip theirs.zip      # where the GPU is
    conformance.py compare ours.zip theirs.zip
    conformance.py table ours.zip theirs.zip > h100.csv
    corun exec -q --functional --gpu h100 -- python3 conformance.py check h100.csv

`run` loads PTX through the driver (libcuda.so.1; under `corun exec` that is corun's), launches a kernel for each operation over tables of
inputs that are the same everywhere, and writes a hash of each result and the results themselves; with --expect only the results
whose hash is another than there. `compare` names the operations that differ, and rows of them. `table` writes the hash of each operation's results on
the second, and in how many rows the first differs; `check` runs all operations of such a table and complains where one is neither equal nor known to differ in
as many rows. docs/conformance.md has what was found.

Exit status: 0 all is well; 1 something differs or does not run; 2 the command line is wrong; 77 there is no driver or no GPU.
"""
import argparse
import array
import contextlib
import ctypes
import datetime
import hashlib
import json
import os
import random
import sys
import zipfile
from ctypes import byref, c_void_p

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import matrices
import operations
import transfers
import warpgroups
from real_gpu import ADDRESS, ATTRIBUTE_MAJOR, ATTRIBUTE_MINOR, Clocks, Driver, DriverError, NoGpu

OK, DIFFERENT, USAGE, NO_GPU = 0, 1, 2, 77
ROWS = 4096  # of a table
BLOCK = 128  # threads
GROUP = 48  # operations in a module
GROUPS = {"warpgroup": 24, "bulk": 1, "bulk interleaved": 1, "calls": 1}  # by family
AT_ONCE = 16  # processes
SHOWN = 6  # rows of an operation that differs
CODES = {1: "B", 8: "B", 16: "H", 32: "I", 64: "Q"}
FORMATS = {"f16": (5, 10), "bf16": (8, 7), "f32": (8, 23), "f64": (11, 52), "tf32": (8, 23)}
PAIRS = {"f16x2": "f16", "bf16x2": "bf16"}

HEADER = ".version 7.8\n.target sm_90\n.address_size 64\n"
HEADER_OF_CLUSTERS = HEADER.replace("7.8", "8.1")


def specials_of_float(kind):
    """Zeros, subnormals, ends of the range, one and its neighbours, halves, infinities, NaN with payloads; of both signs."""
    exponent_bits, fraction_bits = FORMATS[kind]
    bias, one = (1 << exponent_bits - 1) - 1, 1 << fraction_bits
    top = (1 << exponent_bits) - 1
    magnitudes = [0, 1, 2, one >> 1, one - 1, one, one + 1, (bias - 1) * one, bias * one - 1, bias * one, bias * one + 1, bias * one + one // 2,
                  (bias + 1) * one, (bias + 1) * one + one // 4, (bias + fraction_bits) * one + 1 if bias + fraction_bits < top else one,
                  (top - 1) * one, top * one - 1, top * one, top * one + 1, top * one + one // 2, top * one + one - 1]
    sign = 1 << exponent_bits + fraction_bits
    return [magnitude | way for magnitude in magnitudes for way in (0, sign)]


def random_float(generator, kind):
    """A third of all bit patterns, a third around one, a third of few digits."""
    exponent_bits, fraction_bits = FORMATS[kind]
    bits = generator.getrandbits(1 + exponent_bits + fraction_bits)
    way = generator.randrange(3)
    if way:
        bias = (1 << exponent_bits - 1) - 1
        spread = min(bias - 1, 2 * fraction_bits)
        exponent = bias + generator.randrange(-spread, spread + 1)
        bits = bits & ~(((1 << exponent_bits) - 1) << fraction_bits) | max(0, min(exponent, 2 * bias)) << fraction_bits
    if way == 2:
        bits &= ~((1 << generator.randrange(fraction_bits + 1)) - 1)
    return bits


def specials_of_integer(bits):
    top = 1 << bits
    return [value % top for value in (0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, -1, -2, -3, -127, -128, -256, top // 2 - 1,
                                      top // 2, top // 2 + 1, top // 2 - 2, 0x5555555555555555, 0xaaaaaaaaaaaaaaaa, 0x8080808080808080,
                                      0x7f7f7f7f7f7f7f7f, 0x00ff00ff00ff00ff, 0x8000800080008000, 0x7fff7fff7fff7fff)]


def random_integer(generator, bits):
    value = generator.getrandbits(bits)
    way = generator.randrange(4)
    return value >> generator.randrange(bits) if way == 1 else value | (1 << bits) - (1 << generator.randrange(bits)) if way == 2 else value


def drawn(generator, kind):
    """(specials, function that draws another value)"""
    if kind in PAIRS:
        special, draw = drawn(generator, PAIRS[kind])
        return [low | special[-1 - i] << 16 for i, low in enumerate(special)], lambda: draw() | draw() << 16
    if kind in FORMATS:
        return specials_of_float(kind), lambda: random_float(generator, kind)
    if kind == "n32":
        return list(range(34)) + [63, 64, 65, 127, 255, 256, 0xffffffff, 0x80000000, 0x1f1f, 0x101f], lambda: generator.getrandbits(6)
    if kind == "pred":
        return [0, 1], lambda: generator.getrandbits(1)
    bits = operations.BITS[kind]
    return specials_of_integer(bits), lambda: random_integer(generator, bits)


def table_of(kind, position, rows=ROWS):
    """Values of a type for a source: first all pairs of special values with the neighbouring source, then drawn ones."""
    generator = random.Random(f"{kind} {position}")
    specials, draw = drawn(generator, kind)
    count = len(specials)
    values = []
    for row in range(rows):
        if row < rows // 2:
            place = row if position == 0 else row // count if position == 1 else generator.randrange(count)
            values.append(specials[place % count])
        else:
            values.append(draw())
    if kind in FORMATS and position:  # near the first source, so that sums cancel
        first = table_of(kind, 0, rows)
        for row in range(rows - rows // 8, rows):
            values[row] = first[row] ^ generator.getrandbits(3) ^ (generator.getrandbits(1) << operations.BITS[kind] - 1)
    return values


def register(kind):
    if kind == "pred":
        return "pred"
    return "b16" if operations.BITS[kind] <= 16 else f"b{operations.BITS[kind]}"


def load(kind, i):
    """From the 64-bit word %w to register %s<i>."""
    if kind == "pred":
        return f"setp.ne.u64 %s{i}, %w, 0;"
    bits = operations.BITS[kind]
    return f"mov.b64 %s{i}, %w;" if bits == 64 else f"cvt.u{max(bits, 16)}.u64 %s{i}, %w;"


def store(kind):
    if kind == "pred":
        return "selp.u64 %w, 1, 0, %d;"
    bits = operations.BITS[kind]
    return "mov.b64 %w, %d;" if bits == 64 else f"cvt.u64.u{max(bits, 16)} %w, %d;"


def kernel_of(operation, name):
    """Thread i reads word i of each table and writes word i of the output."""
    count = len(operation.sources)
    clustered = operation.family == "cluster"
    lines = [f".visible .entry {name}(.param .u64 out, " + ", ".join(f".param .u64 in{i}" for i in range(count)) + ")",
             ".explicitcluster .reqnctapercluster 4" if clustered else "", "{",
             ".reg .b32 %t, %c; .reg .b64 %o, %at, %w, %out; .reg .b32 %own;", ".shared .align 8 .b8 words[1024];",
             f".reg .{register(operation.result)} %d;"]
    lines += [f".reg .{register(kind)} %s{i};" for i, kind in enumerate(operation.sources)]
    lines += ["mov.u32 %t, %tid.x; mov.u32 %own, words; shl.b32 %c, %t, 3; add.u32 %own, %own, %c;",
              "mov.u32 %c, %ctaid.x;", f"mad.lo.u32 %t, %c, {BLOCK}, %t;", "mul.wide.u32 %o, %t, 8;",
              "ld.param.u64 %out, [out]; cvta.to.global.u64 %out, %out; add.u64 %out, %out, %o;"]
    for i, kind in enumerate(operation.sources):
        lines += [f"ld.param.u64 %at, [in{i}]; cvta.to.global.u64 %at, %at; add.u64 %at, %at, %o; ld.global.b64 %w, [%at];", load(kind, i)]
    if clustered:
        lines += [".shared .align 8 .b64 bar; .reg .b32 %far, %farbar, %next; .reg .pred %leads, %heard;",
                  "mov.u32 %next, %cluster_ctarank; add.u32 %next, %next, 1; and.b32 %next, %next, 3; mapa.shared::cluster.u32 %far, %own, %next;",
                  "mov.u32 %farbar, bar; mapa.shared::cluster.u32 %farbar, %farbar, %next; mov.u32 %c, %tid.x; setp.eq.u32 %leads, %c, 0;",
                  "@%leads mbarrier.init.shared::cta.b64 [bar], 1; @%leads fence.mbarrier_init.release.cluster;"]
    text = operation.text.format(*[f"%s{i}" for i in range(count)], d="%d")
    lines += [text, store(operation.result), "st.global.b64 [%out], %w;", "ret;", "}"]
    return "\n".join(lines) + "\n"


class Gpu:
    """A device, and the tables that lie on it."""

    def __init__(self, library):
        self.driver = Driver(library)
        self.device = self.driver.number("cuDeviceGet", 0)
        context = c_void_p()
        self.driver("cuDevicePrimaryCtxRetain", byref(context), self.device)
        self.driver("cuCtxSetCurrent", context)
        self.tables = {}

    def describe(self):
        clocks = Clocks("libnvidia-ml.so.1", self.driver, self.device)
        numbers = [self.driver.number("cuDeviceGetAttribute", which, self.device) for which in (ATTRIBUTE_MAJOR, ATTRIBUTE_MINOR)]
        facts = {"gpu": self.driver.text("cuDeviceGetName", self.device), "compute_capability": "{}.{}".format(*numbers),
                 "cuda": self.driver.number("cuDriverGetVersion"), "driver": clocks.driver_version(), "sm_mhz": clocks.sample()}
        clocks.close()
        return facts

    def allocate(self, size):
        address = ADDRESS()
        self.driver("cuMemAlloc_v2", byref(address), size)
        return address.value

    def table(self, key, make):
        """The address of a table of 64-bit words that `make` returns."""
        if key not in self.tables:
            data = array.array("Q", make()).tobytes()
            self.tables[key] = self.allocate(len(data))
            self.driver("cuMemcpyHtoD_v2", self.tables[key], data, len(data))
        return self.tables[key]

    def launch(self, module, name, blocks, block, arguments, out_words):
        """Runs a kernel; returns the words that it has written."""
        function = c_void_p()
        self.driver("cuModuleGetFunction", byref(function), module, name.encode())
        out = self.table(("out", out_words), lambda: [0] * out_words)
        self.driver("cuMemsetD8_v2", out, 0, 8 * out_words)
        values = [ADDRESS(address) for address in (out, *arguments)]
        pointers = (c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
        self.driver("cuLaunchKernel", function, blocks, 1, 1, block, 1, 1, 0, None, pointers, None)
        self.driver("cuCtxSynchronize")
        data = ctypes.create_string_buffer(8 * out_words)
        self.driver("cuMemcpyDtoH_v2", data, out, len(data))
        return array.array("Q", data.raw)


def kernels():
    """All kernels: (name, family, bits of a result, PTX by name, function that runs it on a GPU's module)."""
    found = []
    for operation in operations.all_operations():
        def run(gpu, module, name, operation=operation):
            tables = [gpu.table((kind, i), lambda kind=kind, i=i: table_of(kind, i)) for i, kind in enumerate(operation.sources)]
            return gpu.launch(module, name, ROWS // BLOCK, BLOCK, tables, ROWS)
        bits = operations.BITS[operation.result]
        found.append((operation.name, operation.family, max(bits, 8) if bits != 8 else 16, lambda name, operation=operation: kernel_of(operation, name), run))
    for product in matrices.all_products():
        def run_product(gpu, module, name, product=product):
            tables = [gpu.table(("matrix",) + key, lambda key=key: matrices.table_of(key)) for key in matrices.tables_of(product)]
            return gpu.launch(module, name, matrices.WARPS, 32, tables, matrices.WARPS * matrices.results_of(product))
        found.append((product.name, product.family, product.result_bits, lambda name, product=product: matrices.kernel_of(product, name), run_product))
    for product in warpgroups.all_products():
        def run_warpgroup(gpu, module, name, product=product):
            tables = [gpu.table(("warpgroup",) + key, lambda key=key: warpgroups.table_of(key)) for key in warpgroups.tables_of(product)]
            return gpu.launch(module, name, warpgroups.TBS, warpgroups.THREADS, tables, warpgroups.results_of(product))
        found.append((product.name, product.family, product.result_bits, lambda name, product=product: warpgroups.kernel_of(product, name), run_warpgroup))
    for case in transfers.all_cases():
        def run_case(gpu, module, name, case=case):
            return transfers.run_case(case, gpu, module, name)
        found.append((case.name, case.family, 64, lambda name, case=case: transfers.kernel_of(case, name), run_case))
    for calls in transfers.all_calls():
        def run_calls(gpu, module, name, calls=calls):
            return calls.rows(gpu)
        found.append((calls.name, calls.family, 32, lambda name: "", run_calls))
    return found


def header_of(kernel):
    if kernel[1] == "cluster":
        return HEADER_OF_CLUSTERS
    if kernel[1].startswith(("bulk", "calls")):
        return transfers.HEADER
    return warpgroups.HEADER if kernel[1] == "warpgroup" else matrices.HEADER if kernel[1].startswith("matrix") else HEADER


def groups_of(every):
    """Kernels that go into a module together: (number of the first one, kernels), all with the same header and number."""
    groups = []
    for number, kernel in enumerate(every):
        most, last = GROUPS.get(kernel[1], GROUP), groups[-1][1] if groups else []
        if last and header_of(last[0]) == header_of(kernel) and GROUPS.get(last[0][1], GROUP) == most and len(last) < most:
            groups[-1][1].append(kernel)
        else:
            groups.append((number, [kernel]))
    return groups


def load_module(gpu, ptx):
    module = c_void_p()
    gpu.driver("cuModuleLoadData", byref(module), ptx.encode() + b"\0")
    return module


def run_group(gpu, group, first):
    """[(name, bits, packed results or None, reason)]; what does not load together is loaded one by one."""
    names = [f"k{first + i}" for i in range(len(group))]
    texts = [kernel[3](name) for kernel, name in zip(group, names)]
    header = header_of(group[0])
    try:
        modules = [load_module(gpu, header + "".join(texts))] * len(group)
        shared = True
    except DriverError:
        modules, shared = [None] * len(group), False
    results = []
    for kernel, name, text, module in zip(group, names, texts, modules):
        try:
            module = module or load_module(gpu, header + text)
            words = kernel[4](gpu, module, name)
            results.append((kernel[0], kernel[2], array.array(CODES[kernel[2]], words).tobytes(), None))
            if not shared:
                gpu.driver("cuModuleUnload", module)
        except DriverError as error:
            results.append((kernel[0], kernel[2], None, str(error)))
    if shared:
        with contextlib.suppress(DriverError):  # after a fault nothing succeeds
            gpu.driver("cuModuleUnload", modules[0])
    return results


def run_part(arguments, part, path):
    """Every jobs-th group; writes a file of its own."""
    gpu = Gpu(arguments.library)
    every = [kernel for kernel in kernels() if not arguments.only or arguments.only in kernel[0] or arguments.only == kernel[1]]
    expected = read_index(arguments.expect)["operations"] if arguments.expect else {}
    index = {}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for number, (first, group) in enumerate(groups_of(every)):
            if number % arguments.jobs != part:
                continue
            for name, bits, data, reason in run_group(gpu, group, first):
                if data is None:
                    index[name] = {"refused": reason}
                    continue
                digest = hashlib.sha256(data).hexdigest()[:16]
                index[name] = {"bits": bits, "hash": digest}
                if expected.get(name, {}).get("hash") != digest:
                    file.writestr(name + ".bin", data[:arguments.kept])
        file.writestr("index.json", json.dumps({"facts": gpu.describe(), "operations": index}))


def read_index(path):
    with zipfile.ZipFile(path) as file:
        return json.loads(file.read("index.json"))


def run(arguments):
    parts = [f"{arguments.file}.{part}" for part in range(arguments.jobs)]
    if arguments.jobs == 1:
        run_part(arguments, 0, parts[0])
    else:
        children = []
        for part, path in enumerate(parts):
            if len(children) == AT_ONCE:
                os.waitpid(children.pop(0), 0)
            child = os.fork()
            if child == 0:
                run_part(arguments, part, path)
                os._exit(0)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)
    merged = {"facts": None, "operations": {}}
    with zipfile.ZipFile(arguments.file, "w", zipfile.ZIP_LZMA) as file:
        for path in parts:
            if not os.path.exists(path):
                continue
            try:
                index = read_index(path)
            except (KeyError, zipfile.BadZipFile):
                continue
            merged["facts"] = index["facts"]
            merged["operations"].update(index["operations"])
            with zipfile.ZipFile(path) as part:
                for name in part.namelist():
                    if name != "index.json":
                        file.writestr(name, part.read(name))
            os.remove(path)
        file.writestr("index.json", json.dumps(merged, indent=0))
    refused = sum("refused" in entry for entry in merged["operations"].values())
    print(f"{len(merged['operations'])} operations, {refused} refused, {merged['facts']}")
    return OK


def values_of(file, name, bits):
    try:
        return array.array(CODES[bits], file.read(name + ".bin"))
    except KeyError:
        return None


def inputs_of(sources, row):
    return " ".join(f"{table_of(kind, i)[row]:x}" for i, kind in enumerate(sources))


def compare(arguments):
    first, second = (read_index(path) for path in (arguments.first, arguments.second))
    sources = {operation.name: operation.sources for operation in operations.all_operations()}
    equal, different = 0, 0
    with zipfile.ZipFile(arguments.first) as one, zipfile.ZipFile(arguments.second) as other:
        for name, entry in first["operations"].items():
            there = second["operations"].get(name)
            if there is None:
                continue
            if "refused" in entry or "refused" in there:
                if ("refused" in entry) != ("refused" in there):
                    different += 1
                    print(f"{name}: refused by the {'first' if 'refused' in entry else 'second'}: {entry.get('refused') or there['refused']}")
                continue
            if entry["hash"] == there["hash"]:
                equal += 1
                continue
            different += 1
            a, b = (values_of(file, name, entry["bits"]) for file in (one, other))
            if a is None or b is None:
                print(f"{name}: differs")
                continue
            rows = [row for row, (x, y) in enumerate(zip(a, b)) if x != y]
            print(f"{name}: {len(rows)} of {len(a)} rows differ")
            for row in rows[:arguments.rows]:
                text = inputs_of(sources[name], row) if name in sources else f"word {row}"
                print(f"    {text}: {a[row]:x} {b[row]:x}")
    print(f"{equal} operations equal, {different} differ")
    return DIFFERENT if different else OK


def table(arguments):
    """A line for each operation: hash on the GPU, rows, how many of them differ from ours, hash of ours where some do."""
    first, second = (read_index(path) for path in (arguments.first, arguments.second))
    facts = second["facts"]
    print(f"# {facts['gpu']}, driver {facts['driver']}, CUDA {facts['cuda']}, SM clock {facts['sm_mhz']} MHz, {arguments.date}")
    print("operation,hash,rows,differ,ours")
    with zipfile.ZipFile(arguments.first) as one, zipfile.ZipFile(arguments.second) as other:
        for name, entry in second["operations"].items():
            ours = first["operations"].get(name, {})
            if "refused" in entry or "hash" not in ours:
                continue
            values = values_of(one, name, entry["bits"])
            differ = 0
            if ours["hash"] != entry["hash"]:
                theirs = values_of(other, name, entry["bits"])
                differ = "" if theirs is None else sum(x != y for x, y in zip(values, theirs))
            print(f"{name},{entry['hash']},{len(values)},{differ},{ours['hash'] if ours['hash'] != entry['hash'] else ''}")
    return OK


def check(arguments):
    """Runs the operations of a table."""
    gpu = Gpu(arguments.library)
    wanted = {}
    with open(arguments.table, encoding="utf-8") as file:
        for line in file:
            if not line.startswith(("#", "operation,")):
                name, digest, _, _, ours = line.rstrip("\n").rsplit(",", 4)
                wanted[name] = (digest, ours)
    every = [kernel for kernel in kernels() if kernel[0] in wanted and (not arguments.only or arguments.only in kernel[0] or arguments.only == kernel[1])]
    wrong = 0
    for first, group in groups_of(every):
        for name, _, data, reason in run_group(gpu, group, first):
            digest = reason if data is None else hashlib.sha256(data).hexdigest()[:16]
            if digest not in wanted[name]:
                wrong += 1
                print(f"{name}: {digest}, but {wanted[name][0]} on the GPU" + (f" and {wanted[name][1]} before" if wanted[name][1] else ""))
    print(f"{len(every)} operations, {wrong} with other results than expected")
    return DIFFERENT if wrong or not every else OK


def main():
    parser = argparse.ArgumentParser(description="holds what corun computes against a GPU, bit for bit")
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run")
    runs.add_argument("file")
    runs.add_argument("--expect", help="keep only results that differ from those of this file")
    runs.add_argument("--kept", type=int, help="bytes of a result that are kept [all]")
    runs.add_argument("--jobs", type=int, default=1)
    runs.add_argument("--only", help="operations with this in their names, or of this family")
    runs.add_argument("--library", default="libcuda.so.1")
    emits = commands.add_parser("ptx", help="the PTX of all operations, a file each group")
    emits.add_argument("directory")
    compares = commands.add_parser("compare")
    compares.add_argument("first")
    compares.add_argument("second")
    compares.add_argument("--rows", type=int, default=SHOWN)
    tables = commands.add_parser("table")
    tables.add_argument("first")
    tables.add_argument("second")
    tables.add_argument("--date", default=datetime.date.today().isoformat())
    checks = commands.add_parser("check")
    checks.add_argument("table")
    checks.add_argument("--only", help="operations with this in their names, or of this family")
    checks.add_argument("--library", default="libcuda.so.1")
    arguments = parser.parse_args()
    try:
        if arguments.command == "run":
            return run(arguments)
        if arguments.command != "ptx":
            return {"compare": compare, "table": table, "check": check}[arguments.command](arguments)
        os.makedirs(arguments.directory, exist_ok=True)
        every = kernels()
        for i, kernel in enumerate(every):
            with open(os.path.join(arguments.directory, f"{i:05}.ptx"), "w", encoding="utf-8") as file:
                file.write(f"// {kernel[0]}\n" + header_of(kernel) + kernel[3](f"k{i}"))
        return OK
    except NoGpu as error:
        print(error, file=sys.stderr)
        return NO_GPU


if __name__ == "__main__":
    sys.exit(main())
