#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every entry point with nulls, wrong handles and odd numbers: none may crash, hang, or give what is no error code.

    test_wild_calls.py ROOT LIBRARIES [SEED]

The entry points are those of src/cuda/entry_points.def, what they take is read from their definitions (ENTRY in src/cuda/*.c). A
parameter is one of

    a handle         every `void *` that is not memory: nothing, numbers, addresses of no object, unmapped ones, live and dead objects of
                     every kind, right or wrong
    memory           pointers to types, and `void *` under the names of MEMORY: nothing, or a block of zeros large enough for every
                     structure. An address that is not mapped is left out where C would have to read it, and a length greater than the
                     block where there is memory of the host in the call.
    a device address `uint64_t` under the names of ADDRESSES: nothing, allocated, freed, none at all
    a number         small, negative, and, where no memory is in the call, huge

Calls are made one after the other in a process that has every kind of object; one that ends it is found by the number it was at.
"""
import ctypes
import os
import random
import re
import subprocess
import sys
import tempfile

LIBRARIES = ("libcudart.so.11.0", "libcudart.so.12", "libcudart.so.13", "libcuda.so.1")
ROW = re.compile(r"^([RNDM])\((\w+),\s*(?:(\d+),\s*(\d+),\s*)?(\w+)(?:,\s*(\w+))?\)")
ENTRY = re.compile(r"ENTRY\((.*?), (\w+), (.*?)\)$")
MEMORY = {"to", "from", "value", "values", "data", "properties", "view", "edges", "affinities", "parameters", "id", "shared", "names"}
ADDRESSES = {"address", "to", "from", "wish"}
STRUCTURES = {"corun_dim3": (ctypes.c_uint32, 3), "abi_extent": (ctypes.c_uint64, 3), "abi_position": (ctypes.c_uint64, 3),
              "abi_pitched": (ctypes.c_uint64, 4), "abi_interprocess_handle": (ctypes.c_uint64, 8),
              "abi_channel": (ctypes.c_int32, 5), "abi_location": (ctypes.c_int32, 2)}
TRIES = 8
BLOCK_BYTES = 1 << 16
SECONDS_OF_A_CALL = 30
# A call that waits for what nobody does is not wrong; these keep or end what the test itself stands on.
LEFT_OUT = {"cuStreamWaitValue32", "cuStreamWaitValue64", "cuStreamBatchMemOp"}
KERNEL = b""".version 6.3
.target sm_50
.address_size 64
.visible .global .align 4 .u32 word;
.visible .entry kernel(.param .u64 a, .param .u32 b) { ret; }
\0"""


def entry_points(root, library):
    """(symbol, handler or None) of what the library has."""
    found = []
    version = int(re.search(r"so\.(\d+)", library).group(1)) if "cudart" in library else None
    with open(os.path.join(root, "src/cuda/entry_points.def"), encoding="utf-8") as file:
        for line in file:
            row = ROW.match(line)
            if not row or (row.group(1) in "RN") != (version is not None):
                continue
            kind, name, first, last, variant, handler = row.groups()
            if version is not None and not int(first) <= version <= int(last):
                continue
            found.append((name, handler if kind in "RD" else None))
            if variant != "PLAIN":
                found.append((f"{name}_{variant.lower()}", handler if kind in "RD" else None))
    return found


def definitions(root):
    """{handler: (what it returns, [(type, name)])}"""
    found = {}
    folder = os.path.join(root, "src/cuda")
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".c"):
            continue
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            text = re.sub(r"\s+", " ", file.read().replace("\\\n", " "))
        # F(bits, type, bytes) of the fills is written out.
        for bits, kind in re.findall(r"\bF\((\d+), ([a-z ]+), \d\)", text):
            for entry in re.findall(r"ENTRY\([^{]*?##[^{]*?\) (?=\{)", text):
                text += " " + entry.replace("##bits##", bits).replace("type value", f"{kind} value") + "{"
        for entry in re.findall(r"ENTRY\([^{;#]*?\) (?=\{)", text):
            row = ENTRY.match(entry.strip())
            if not row:
                continue
            parameters = []
            for parameter in row.group(3).split(", "):
                if parameter == "void":
                    continue
                if "(*" in parameter:
                    parameters.append(("(*", "function"))
                    continue
                array = parameter.endswith("]")
                kind, label = re.match(r"(.*?)(\w+)(?:\[\d*\])?$", parameter).groups()
                parameters.append((kind.strip() + (" *" if array else ""), label))
            found[row.group(2)] = (row.group(1), parameters)
    return found


def class_of(kind, label):
    if "(*" in kind or kind.startswith("abi_"):
        return "function"
    if "*" in kind:
        if re.sub(r"const ", "", kind) in ("void *",):
            return "memory" if label in MEMORY else "handle"
        return "text" if kind == "const char *" else "memory"
    structure = re.match(r"(?:const )?struct (\w+)$", kind)
    if structure:
        return structure.group(1)
    if kind == "uint64_t" and label in ADDRESSES:
        return "address"
    if kind in ("float", "double"):
        return "real"
    return "number" if "count" not in label else "count"


def structure_of(name):
    element, count = STRUCTURES[name]
    return type(name, (ctypes.Structure,), {"_fields_": [("words", element * count)]})


class Place:
    """One process that calls: libraries, memory, and an object of every kind."""

    def __init__(self, folder, name):
        self.driver = ctypes.CDLL(os.path.join(folder, "libcuda.so.1"))
        self.library = ctypes.CDLL(os.path.join(folder, name))
        self.runtime = ctypes.CDLL(os.path.join(folder, LIBRARIES[1]))
        self.block = ctypes.create_string_buffer(BLOCK_BYTES)
        self.nothing = ctypes.CFUNCTYPE(None)(lambda: None)
        self.text = ctypes.create_string_buffer(KERNEL, len(KERNEL))
        self.dead = []
        self.objects = []
        self.addresses = []
        self.make()

    def new(self, name, *arguments):
        out = ctypes.c_uint64(0)
        getattr(self.driver, name)(ctypes.byref(out), *arguments)
        return out.value

    def make(self):
        """A context with objects in it; those of the last one are dead."""
        self.dead = self.objects[-40:]
        driver, number = self.driver, ctypes.c_uint64
        assert driver.cuInit(0) == 0
        for _ in range(64):
            driver.cuCtxPopCurrent_v2(None)
        context = self.new("cuDevicePrimaryCtxRetain", 0)
        assert driver.cuCtxSetCurrent(number(context)) == 0
        module = self.new("cuModuleLoadData", self.text)
        function = self.new("cuModuleGetFunction", number(module), b"kernel")
        graph = self.new("cuGraphCreate", 0)
        node = self.new("cuGraphAddEmptyNode", number(graph), None, number(0))
        self.objects = [context, module, function, graph, node, self.new("cuStreamCreate", 1), self.new("cuStreamCreate", 0),
                        self.new("cuEventCreate", 0), self.new("cuGraphInstantiateWithFlags", number(graph), number(0)),
                        self.new("cuDeviceGetDefaultMemPool", 0), self.new("cuLinkCreate_v2", 0, None, None)]
        gone = self.new("cuEventCreate", 0)
        driver.cuEventDestroy_v2(number(gone))
        self.dead.append(gone)
        self.addresses = [self.new("cuMemAlloc_v2", number(BLOCK_BYTES)), self.new("cuMemAlloc_v2", number(4096))]
        driver.cuMemFree_v2(number(self.addresses[1]))

    def usable(self):
        device = ctypes.c_int()
        return self.driver.cuCtxGetDevice(ctypes.byref(device)) == 0 and self.driver.cuCtxSynchronize() == 0

    def value(self, which, random_, huge):
        block = ctypes.addressof(self.block)
        if which in STRUCTURES:
            element, count = STRUCTURES[which]
            return structure_of(which)((element * count)(*[random_.choice((0, 1, 4, 64)) for _ in range(count)]))
        if which == "real":
            return ctypes.c_float(1)
        if which == "function":
            return random_.choice((ctypes.c_void_p(0), ctypes.cast(self.nothing, ctypes.c_void_p)))
        if which == "text":
            return ctypes.c_char_p(random_.choice((None, b"", b"kernel", b"word", b"cuInit", b"/nonexistent/file")))
        values = {
            "memory": (0, block, block, block),
            "handle": (0, 1, 2, 3, block, 0xDEAD0000, 0x10, (1 << 64) - 1, *self.objects, *self.dead[-12:]),
            "address": (0, 8, *self.addresses, self.addresses[0] + 5, (1 << 64) - 1, 0x7000000000000000),
            "number": (0, 1, 2, 3, 4, 32, 64, 4096, (1 << 64) - 1, *((1 << 63, (1 << 63) - 1, 1 << 33) if huge else ())),
            "count": (0, 1, 2, 5),
        }
        return ctypes.c_uint64(random_.choice(values[which]))


def child(root, folder, name, seed, first):
    """Calls from number `first` on; a line for each call before it is made."""
    points, known = entry_points(root, name), definitions(root)
    with open(os.path.join(root, "src/cuda/errors.def"), encoding="utf-8") as file:
        codes = {int(code) for code in re.findall(r"^E\((\d+),", file.read(), re.M)}
    place = Place(folder, name)
    number = 0
    for symbol, handler in points:
        returns, parameters = known[handler] if handler else ("int", [])
        classes = [class_of(*parameter) for parameter in parameters]
        # A length beside memory of the host must fit it: where memory can be the host's, C has to read it.
        plain = "memory" in classes or "handle" in classes and "number" in classes
        function = getattr(place.library, symbol)
        structure = returns.removeprefix("struct ")
        function.restype = (structure_of(structure) if structure in STRUCTURES
                            else {"int": ctypes.c_int, "void": None}.get(returns, ctypes.c_uint64))
        for attempt in range(TRIES if handler else 1):
            number += 1
            random_ = random.Random(f"{seed} {symbol} {attempt}")
            # All nothing, all wrong, then anything.
            arguments = [place.value(which, random_, not plain) for which in classes]
            if attempt == 0:
                arguments = [type(value)() for value in arguments]
            if number < first or symbol.split("_")[0] in LEFT_OUT:
                continue
            shown = ", ".join(f"{label}={getattr(value, 'value', '…')!r}" for (_, label), value in zip(parameters, arguments))
            print(f"{number} {symbol}({shown})", flush=True)
            ctypes.memset(place.block, 0, BLOCK_BYTES)
            result = function(*arguments)
            if returns == "int" and result not in codes:
                print(f"WRONG {symbol}({shown}) gives {result}, which is no error code", flush=True)
            if attempt % 4 == 3 and not place.usable():
                place.make()
    print("DONE", flush=True)


def run(root, folder, name, seed, place):
    """In the folder `place`, because names of files are among what calls are given."""
    problems, first, made = [], 1, 0
    environment = dict(os.environ, LD_LIBRARY_PATH=folder, CORUN_CUDA_FUNCTIONAL="1")
    while True:
        command = [sys.executable, os.path.abspath(__file__), root, folder, str(seed), name, str(first)]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment, check=False, cwd=place,
                                  timeout=SECONDS_OF_A_CALL * 4)
            output, ended = done.stdout, f"ends with {done.returncode}"
        except subprocess.TimeoutExpired as late:
            output, ended = (late.stdout or b"").decode(), "does not come back"
        lines = output.splitlines()
        problems += [line for line in lines if line.startswith("WRONG")]
        calls = [line for line in lines if line and line[0].isdigit()]
        made += len(calls)
        if lines and lines[-1] == "DONE":
            return problems, made
        if not calls:
            return problems + [f"the process {ended} before the first call: {output[-300:]}"], made
        problems.append(f"{ended}: {calls[-1]}")
        first = int(calls[-1].split()[0]) + 1
        if len(problems) > 60:
            return problems, made


def main(arguments):
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    root, folder = os.path.abspath(arguments[0]), os.path.abspath(arguments[1])
    seed = int(arguments[2]) if len(arguments) > 2 else 1
    if len(arguments) > 4:
        with tempfile.TemporaryDirectory() as place: # some calls write the files that they name
            os.chdir(place)
            child(root, folder, arguments[3], seed, int(arguments[4]))
        return 0
    bad = 0
    for name in LIBRARIES:
        with tempfile.TemporaryDirectory() as place:
            problems, made = run(root, folder, name, seed, place)
        print(f"{name}: {made} calls, {len(problems)} problems")
        for problem in problems:
            print(f"  {problem}")
        bad += len(problems) + (made < 500)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
