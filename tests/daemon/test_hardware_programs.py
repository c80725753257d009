#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Every CUDA program of the tests behind the shim, under corund: the output and the exit status that it has without.

    test_hardware_programs.py CORUN PROGRAMS TEST...

The programs are those that the tests of tests/cuda run, with their options and arguments; CTest says which these are. The driver below is corun's own
on the simulated GPU, and corun's runtime, shared or in place of the static one, calls it through the shim as NVIDIA's does.
"""
import functools
import json
import os
import pathlib
import pickle
import random
import re
import struct
import subprocess
import sys
import unittest

from test_hardware import ASKED, CORUN, LIBRARIES, PROGRAMS, SHIM, Client, Shimmed, without_places
from test_hardware_workers import ALL, Corund, part

# What `corun exec` makes of its options, as far as it is of one process.
SETTINGS = ["CORUN_CUDA_" + name for name in "GPU FUNCTIONAL THREADS LAUNCH_COSTS CHECK SLICE WORKERS KERNEL_TIMEOUT PATIENCE REGION SAMPLE".split()]
FORMS = "whole slices workers".split()
HOLDS = "whole slices"  # while a program that goes first is there, launches go one after the other
# Programs that do not find the same in one form or another, by the name of their file or of the test, and why.
DIFFER = {
    "streams": ("whole slices workers", "compares how long two launches take side by side and one after the other"),
    "cuda_launch_costs": ("whole slices workers", "measures what one launch more takes: each has what notes it behind it"),
    "cuda_copy_batches": ("whole slices workers", "wants the address of cuGetProcAddress to be that it is linked with: the driver's is behind the shim's jump"),
    "priorities": (HOLDS + " workers", "asks for two launches and sees which comes first: they are not there at the same time, or not on the same SMs"),
    "cuda_many_faults": (HOLDS, "wants to hear of a fault when it waits: it hears of it at the next launch, which waits for the one before"),
    "waits_for_host": (HOLDS + " workers", "kernels wait for what the program does behind them: launches go one after the other, and the shim's thread calls meanwhile"),
    "waiting_blocks": ("slices workers", "thread blocks wait for each other without a cooperative launch"),
    "cuda_bulk_copies": ("workers", "compares what copies in bulk and by all threads take"),
    "polling": ("workers", "waits without calling CUDA: the simulated GPU goes on for such a program when nobody calls, and the shim's thread does"),
    "function_thread": ("workers", "waits for its own threads until a function in a stream wakes them: as polling"),
    "cuda_stream_values_nobody": ("workers", "waits for what nobody does until nobody calls CUDA any more: the shim's thread does"),
    "cuda_green_contexts": ("workers", "wants thread blocks on each SM of a green context: workers are on those that the program has there"),
    "attributes": ("workers", "counts thread blocks that fill the shared memory of an SM to the last byte: a worker takes 32 more"),
}
# Of these, runs without timing find the same all the same.
ONLY_TIMED = {"streams", "waits_for_host"}
# These print times and cycles, which are others.
TELLS_TIMES = {"cuda_bulk_copies", "cuda_bulk_times", "cuda_driver_threads", "cuda_driver_more"}
# These fault on purpose, or leave it to the order of threads what is noted: what corun says of that has lines, threads and memory of the rewritten kernels.
SAID_BY_CORUN = re.compile(rb"^corun: .*\n", re.MULTILINE)


class Command:
    """A program as a test runs it."""

    def __init__(self, test):
        words = test["command"]
        end = words.index("--")
        self.name, self.options, self.program, self.words = test["name"], words[2:end], pathlib.Path(words[end + 1]), words[end + 2:]
        given = {item["name"]: item["value"] for item in test["properties"]}
        self.environment = dict(line.split("=", 1) for line in given.get("ENVIRONMENT", []))
        self.stem = re.sub(r"(-static|-nvcc)$", "", self.program.name)

    @functools.cached_property
    def runtime(self):
        if self.program.name.endswith("-static") or self.program.parent.name == "static" or "static_runtimes" in self.program.name:
            return "static"
        return "shared" if b"libcudart.so" in self.program.read_bytes() else "driver"  # among the libraries that it asks for

    def differs(self, form):
        timed = "--functional" not in self.options
        return form in DIFFER.get(self.stem, DIFFER.get(self.name, ("", "")))[0].split() and (timed or self.stem not in ONLY_TIMED)


def all_commands():
    listed = subprocess.run(["ctest", "--show-only=json-v1", "-R", "^cuda_"], cwd=CORUN.parent, capture_output=True, check=True).stdout
    for test in json.loads(listed)["tests"]:
        words = test.get("command", [])
        if words[1:2] == ["exec"] and "--" in words:
            yield Command(test)


def said(form, text):
    """Allocations have numbers, and the shim makes some."""
    return re.sub(rb"allocation \d+", b"allocation N", without_places(text if form == "whole" else SAID_BY_CORUN.sub(b"", text)))


class Behind(Shimmed):
    def setUp(self):
        super().setUp()
        self.environment["LD_AUDIT"] = str(LIBRARIES / "libcorun-static-runtime.so")
        self.trace = self.folder / "trace"
        self.settings_of = {}

    def settings(self, command):
        options = tuple(option for option in command.options if option not in ("-q", "--keep-status"))
        if options not in self.settings_of:  # most programs are run with the same few
            done = subprocess.run([CORUN, "exec", "-q", *options, "--", "/usr/bin/env", "-0"], env=self.environment, capture_output=True, check=True)
            given = dict(line.split("=", 1) for line in done.stdout.decode().split("\0") if "=" in line)
            self.settings_of[options] = {name: given[name] for name in SETTINGS if name in given}
        return self.settings_of[options] | command.environment

    def run_plain(self, command):
        return self.run_program(command.program, self.environment | self.settings(command), *command.words)

    def rewritten(self):
        """How many kernels had another form, and how many stayed whole."""
        lines = [line.split()[1:] for line in self.trace.read_text(errors="replace").splitlines()]
        lines = [line for line in lines if line[:1] in (["slice"], ["workers"])]
        return sum(len(line) == 2 for line in lines), sum(len(line) > 2 for line in lines)


class Plain(Behind):
    def test_plain(self):
        """Without a shim, once for all that is compared with it: PLAIN_RUNS is the file for that."""
        compared = [command for command in all_commands() if not all(map(command.differs, FORMS))]
        with open(os.environ["PLAIN_RUNS"], "wb") as file:
            pickle.dump({command.name: self.run_plain(command) for command in compared}, file)


class Programs(Behind):
    def plain_runs(self):
        """What Plain has left; else each is run when it is asked for."""
        if os.path.exists(os.environ.get("PLAIN_RUNS", "")):
            with open(os.environ["PLAIN_RUNS"], "rb") as file:
                return pickle.load(file)
        return {}

    def compare(self, form, share, every):
        """The commands of the tests, or those with timing and static runtimes."""
        compared, runtimes, kernels, known = 0, {"driver": 0, "shared": 0, "static": 0}, 0, self.plain_runs()
        for command in all_commands():
            if command.differs(form) or not (every or "--functional" not in command.options or command.runtime == "static"):
                continue
            self.trace.write_text("")
            with self.subTest(command.name, form=form):
                plain = known.get(command.name) or self.run_plain(command)
                behind = share(command, self.settings(command) | {"CORUN_SHIM_TRACE": str(self.trace)})
                self.assertEqual(behind[0], plain[0], (behind, plain))
                if command.program.name not in TELLS_TIMES:
                    self.assertEqual(without_places(behind[1]), without_places(plain[1]))
                self.assertEqual(*(said(form, done[2]) for done in (behind, plain)))
                compared += 1
                runtimes[command.runtime] += 1
                kernels += self.rewritten()[0]
        print(f"{form}: {compared} commands, {runtimes}, {kernels} kernels in that form", file=sys.stderr)
        return compared, runtimes, kernels

    def granted(self, *options):
        """By corund, beside a program that goes first."""
        def share(command, settings):
            given = [f"{name}={value}" for name, value in settings.items()]  # of a GPU that `corun share` knows nothing of
            return self.end(self.share("/usr/bin/env", *options, words=[*given, command.program, *command.words]))
        self.start_daemon("--policy", "priority:bound=1")
        first = Client(self.socket, goal=1)
        self.addCleanup(first.close)
        return share

    def test_whole(self):
        """Launches are noted, and go one after the other."""
        compared, runtimes, _ = self.compare("whole", self.granted(), True)
        self.assertGreater(compared, 200)  # 352 with nvcc, 229 without
        self.assertGreater(min(runtimes.values()), 40, runtimes)

    def test_slices(self):
        _, runtimes, kernels = self.compare("slices", self.granted("--slices"), False)
        self.assertGreater(min(runtimes.values()), 20, runtimes)
        self.assertGreater(kernels, 8)

    def test_workers(self):
        """By somebody who says what it likes of SMs."""
        drawn = random.Random(5)

        def choose():
            first = drawn.randrange(ALL)
            return drawn.choice([part(0, ALL), part(0, ALL // 2), part(ALL // 2, ALL), part(first, drawn.randint(first + 1, ALL))])
        corund = Corund(self.socket, choose)
        self.addCleanup(corund.close)

        def share(command, settings):
            environment = self.shimmed(CORUN_SHIM_DAEMON=str(self.socket), CORUN_SHIM_WORKERS="1", **settings)
            return self.run_program(command.program, environment, *command.words)
        _, runtimes, kernels = self.compare("workers", share, False)
        self.assertGreater(min(runtimes.values()), 20, runtimes)
        self.assertGreater(kernels, 100)


class Runtime(Behind):
    """What corund and the shim see of a program with the runtime."""

    def asked(self, program, *words):
        """What it asks of the driver below, by name."""
        self.trace.write_text("")
        environment = self.shimmed(CORUN_SHIM_TRACE=str(self.trace))
        status, _, err = self.run_program(program, environment, *words)
        self.assertEqual(status, 0, err)
        return [line.split()[1:] for line in self.trace.read_text().splitlines()]

    def test_names(self):
        """The runtime asks for the driver by name; without a shim it has no need to."""
        for name in ("vector_add", "vector_add-static"):
            lines = self.asked(PROGRAMS / name)
            found = [line for line in lines if line[0] == "address"]
            self.assertIn("cuLaunchKernel", {line[1] for line in found})
            self.assertEqual({line[-2] for line in found}, {"looked-at"}, found)

    # Words: the version of the runtime.
    ENTRY_POINTS = """
import ctypes as c, sys
version = int(sys.argv[1])
driver, runtime, found, status = c.CDLL("libcuda.so.1"), c.CDLL(f"libcudart.so.{version}" + (".0" if version == 11 else "")), c.c_void_p(), c.c_int()
def same(symbol):
    return found.value == c.cast(getattr(driver, symbol), c.c_void_p).value
assert runtime.cudaFree(None) == 0
more = (c.byref(status),) if version > 11 else ()
for flags, symbol in (0, "cuLaunchKernel"), (1, "cuLaunchKernel"), (2, "cuLaunchKernel_ptsz"):
    assert runtime.cudaGetDriverEntryPoint(b"cuLaunchKernel", c.byref(found), c.c_ulonglong(flags), *more) == 0 and same(symbol), flags
    if version > 11:
        assert runtime.cudaGetDriverEntryPointByVersion(b"cuLaunchKernel", c.byref(found), 12000, c.c_ulonglong(flags), *more) == 0 and same(symbol), flags
assert runtime.cudaGetDriverEntryPoint_ptsz(b"cuLaunchKernel", c.byref(found), c.c_ulonglong(0), *more) == 0 and same("cuLaunchKernel_ptsz")
"""

    def test_entry_points(self):
        """What the runtime is asked for of the driver is the shim's."""
        for version in "11", "12", "13":
            with self.subTest(version):
                lines = self.asked("/usr/bin/python3", "-c", self.ENTRY_POINTS, version)
                self.assertGreater(len([line for line in lines if line[:2] == ["address", "cuLaunchKernel"]]), 3, lines)

    def test_launches(self):
        """corund counts them, of the shared and of the static runtime."""
        self.environment["CORUN_CUDA_PATIENCE"] = "50ms"
        self.start_daemon("--policy", "priority")
        for name in ("polling", "polling-static"):
            process = self.share(PROGRAMS / name, "--name", name)
            self.wait_for(lambda: self.clients().get(name, {"launches": 0})["launches"] > 0)  # pylint: disable=cell-var-from-loop
            self.assertEqual(self.end(process)[0], 0)

    def cycles(self, program, *before):
        """When its launches and copies began on the simulated GPU, and what they took."""
        record = self.folder / "record.json"
        environment = {name: value for name, value in self.environment.items() if not name.startswith("LD_")}
        subprocess.run([CORUN, "exec", "-q", "--keep-status", "--json", record, "--", *before, program], env=environment, capture_output=True, timeout=300, check=True)
        told = json.loads(record.read_text())
        return sorted((one["start_cycle"], one["cycles"]) for one in told["launches"] + told["copies"])  # of several processes, whose order is the host's

    def test_cycles(self):
        """They are what they are without the shim, also where the driver chooses addresses among those of the host (cuMemAddressReserve), and with another environment."""
        self.start_daemon()
        behind = ("/usr/bin/env", f"LD_LIBRARY_PATH={SHIM}:{LIBRARIES}", f"CORUN_SHIM_DAEMON={self.socket}", f"CORUN_SHIM_DRIVER={LIBRARIES / 'libcuda.so.1'}")
        for name in ("vector_add", "heat-static", "graph", "managed", "../cuda_virtual_memory"):
            with self.subTest(name):
                plain = self.cycles(PROGRAMS / name)
                self.assertTrue(plain)
                self.assertEqual(self.cycles(PROGRAMS / name, *behind), plain)
                self.assertEqual(self.cycles(PROGRAMS / name, "/usr/bin/env", "MORE=" + "x" * 5000), plain)

    # A context that somebody gives back stays as long as others have it, and what is known of its kernels with it.
    CONTEXTS = """
import ctypes as c
d, v, other = c.CDLL("libcuda.so.1"), c.c_void_p, c.c_void_p()
context, module, function = v(), v(), v()
text = b".version 6.0\\n.target sm_50\\n.address_size 64\\n.visible .entry nothing() { ret; }\\n"
good = [d.cuInit(0), d.cuDevicePrimaryCtxRetain(c.byref(context), 0), d.cuDevicePrimaryCtxRetain(c.byref(other), 0), d.cuCtxSetCurrent(context),
        d.cuModuleLoadData(c.byref(module), text), d.cuModuleGetFunction(c.byref(function), module, b"nothing"), d.cuDevicePrimaryCtxRelease_v2(0)]
good += [d.cuLaunchKernel(function, 5000, 1, 1, 32, 1, 1, 0, None, None, None), d.cuCtxSynchronize()]
print(good)
"""

    def test_contexts(self):
        corund = Corund(self.socket, lambda: part(0, ALL // 2))
        self.addCleanup(corund.close)
        environment = self.shimmed(CORUN_SHIM_DAEMON=str(self.socket), CORUN_SHIM_WORKERS="1", CORUN_SHIM_TRACE=str(self.trace))
        done = self.run_program("/usr/bin/python3", environment, "-c", self.CONTEXTS)
        self.assertEqual(done[:2], (0, str([0] * 9).encode() + b"\n"), done)
        self.assertEqual(self.rewritten(), (1, 0))

    # What a program of several contexts keeps: a function for each word, and what all of them gave.
    ENDINGS = """
import ctypes as c, sys
d, v = c.CDLL("libcuda.so.1"), c.c_void_p
text = b".version 6.0\\n.target sm_50\\n.address_size 64\\n.visible .entry %s() { ret; }\\n"
failed = [d.cuInit(0)]
def do(name, *words):
    failed.append(getattr(d, name)(*words))
def context():
    new = v()
    do("cuCtxCreate_v2", c.byref(new), 0, 0)
    return new
def kernel(name):
    module, function = v(), v()
    do("cuModuleLoadData", c.byref(module), text % name)
    do("cuModuleGetFunction", c.byref(function), module, name)
    return function
def library(name):
    new, handle = v(), v()
    do("cuLibraryLoadData", c.byref(new), text % name, None, None, 0, None, None, 0)
    do("cuLibraryGetKernel", c.byref(handle), new, name)
    return handle
def launch(function):
    do("cuLaunchKernel", function, 5000, 1, 1, 32, 1, 1, 0, None, None, None)
    do("cuCtxSynchronize")
def free():
    left, all = c.c_size_t(), c.c_size_t()
    do("cuMemGetInfo_v2", c.byref(left), c.byref(all))
    return left.value
def modules():
    first, = context(),
    one = kernel(b"one")
    second = context()
    two, three = kernel(b"two"), kernel(b"three")
    launch(two)
    do("cuCtxSetCurrent", first)
    launch(one)
    before = free()
    do("cuCtxDestroy_v2", second)
    second = context()
    four = kernel(b"four")
    launch(four)
    do("cuCtxSetCurrent", first)
    launch(kernel(b"five"))
    print(free() == before)
def libraries():
    shared = library(b"shared")
    for _ in range(3): # corun's driver has a library in one context at a time
        launching = context()
        launch(shared)
        launch(shared)
        do("cuCtxDestroy_v2", launching)
def primary():
    first, again = v(), v()
    do("cuDevicePrimaryCtxRetain", c.byref(first), 0)
    do("cuCtxSetCurrent", first)
    function = kernel(b"kept")
    launch(function)
    before = free()
    for _ in range(3):
        do("cuDevicePrimaryCtxRetain", c.byref(again), 0)
        do("cuDevicePrimaryCtxRelease_v2", 0)
        launch(function)
    print(free() == before)
globals()[sys.argv[1]]()
print(any(failed), failed if any(failed) else "")
"""

    def test_endings(self):
        """A context that ends takes its own kernels and tables with it, and those of no other one; a library's are made anew; one that stays keeps its tables."""
        self.corund = Corund(self.socket, lambda: part(0, ALL // 2))
        self.addCleanup(self.corund.close)
        environment = self.shimmed(CORUN_SHIM_DAEMON=str(self.socket), CORUN_SHIM_WORKERS="1", CORUN_SHIM_TRACE=str(self.trace))
        for what, out, kernels in (("modules", b"True\nFalse \n", ["two", "one", "four", "five"]), ("libraries", b"False \n", ["shared"] * 3),
                                   ("primary", b"True\nFalse \n", ["kept"])):
            with self.subTest(what):
                self.trace.write_text("")
                done = self.run_program("/usr/bin/python3", environment, "-c", self.ENDINGS, what)
                self.assertEqual(done, (0, out, b""))
                lines = [line.split()[1:] for line in self.trace.read_text().splitlines()]
                self.assertEqual([line[1:] for line in lines if line[0] == "workers"], [[name] for name in kernels])

    # One context has a launch behind a value that the host writes, in a stream or the context's own one, another one has come and gone; a line for each step.
    UNDER_WAY = """
import ctypes as c, sys
d, v = c.CDLL("libcuda.so.1"), c.c_void_p
text = b".version 6.0\\n.target sm_50\\n.address_size 64\\n.visible .entry nothing() { ret; }\\n"
def do(name, *words):
    status = getattr(d, name)(*words)
    assert status == 0, (name, status)
def context():
    new, module, function = v(), v(), v()
    do("cuCtxCreate_v2", c.byref(new), 0, 0)
    do("cuModuleLoadData", c.byref(module), text)
    do("cuModuleGetFunction", c.byref(function), module, b"nothing")
    return new, function
def launch(function, stream):
    do("cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, stream, None, None)
def tell(what):
    print(what, flush=True)
    input()
do("cuInit", 0)
first, function = context()
stream, value = v(), c.c_uint64()
if sys.argv[1] == "stream":
    do("cuStreamCreate", c.byref(stream), 1)
do("cuMemHostAlloc", c.byref(value), c.c_size_t(4), 1)
number = c.cast(value.value, c.POINTER(c.c_uint32))
number[0] = 0
do("cuStreamWaitValue32_v2", stream, value, 1, 0)
launch(function, stream)
second, other = context()
launch(other, None)
do("cuCtxSynchronize")
tell("begun")
do("cuCtxDestroy_v2", second)
tell("one is gone")
number[0] = 1
do("cuCtxSetCurrent", first)
do("cuCtxSynchronize")
tell("ended")
if sys.argv[1] != "stream":  # a context with a stream that waits in vain takes its time to end
    sys.exit()
do("cuStreamWaitValue32_v2", stream, value, 2, 0)
launch(function, stream)
tell("again")
do("cuCtxDestroy_v2", first)
tell("both are gone")
"""

    def test_context_ends_beside_another(self):
        """What another context has under way stays under way; what the context itself had is nowhere any more."""
        corund = Corund(self.socket, lambda: part(0, ALL))
        self.addCleanup(corund.close)

        def under_way():
            lanes = struct.unpack_from("128I", corund.boards, 4096 + ASKED)
            return sum(lanes[0::2]) - sum(lanes[1::2])
        for where in "stream", "own":
            # pylint: disable=consider-using-with
            process = subprocess.Popen(["/usr/bin/python3", "-c", self.UNDER_WAY, where],
                                       env=self.shimmed(CORUN_SHIM_DAEMON=str(self.socket), CORUN_CUDA_PATIENCE="50ms"),  # nobody will write what it waits for
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
            for end in (process.stdin.close, process.stdout.close, process.wait, process.kill):
                self.addCleanup(end)
            for line, count in (("begun", 1), ("one is gone", 1), ("ended", 0)) + (("again", 1), ("both are gone", 0)) * (where == "stream"):
                self.assertEqual(process.stdout.readline(), line + "\n")
                self.assertEqual(under_way(), count, (where, line))
                process.stdin.write("\n")
            self.assertEqual(process.wait(60), 0)

    # Words: a kind of allocation and KiB, `free`, `reset`; what each gives is a line.
    MEMORY = """
import ctypes as c, sys
d, v, n = c.CDLL("libcudart.so.12"), c.c_void_p, c.c_size_t
class Channel(c.Structure):
    _fields_ = [("bits", c.c_int * 4), ("kind", c.c_int)]
held = []
for line in sys.stdin:
    word, *more = line.split()
    p, pitch, bytes = v(), n(), int(more[0]) << 10 if more else 0
    if word == "plain": status = d.cudaMalloc(c.byref(p), n(bytes))
    if word == "pitch": status = d.cudaMallocPitch(c.byref(p), c.byref(pitch), n(1024), n(bytes // 1024))
    if word == "async": status = d.cudaMallocAsync(c.byref(p), n(bytes), None)
    if word == "array": status = d.cudaMallocArray(c.byref(p), c.byref(Channel((32, 0, 0, 0), 0)), n(1024), n(bytes // 4096), 0)
    if word == "reset": status, held = d.cudaDeviceReset(), []
    if word == "free": word, p = held.pop(); status = {"async": lambda p: d.cudaFreeAsync(p, None), "array": d.cudaFreeArray}.get(word, d.cudaFree)(p)
    elif status == 0: held.append((word, p))
    print(status, flush=True)
"""

    def test_priorities(self):
        """As workers the stream of the higher priority comes first, too, as long as both launches have the same SMs."""
        corund = Corund(self.socket, lambda: part(ALL // 2, ALL))
        self.addCleanup(corund.close)
        environment = self.shimmed(CORUN_SHIM_DAEMON=str(self.socket), CORUN_SHIM_WORKERS="1", CORUN_SHIM_TRACE=str(self.trace))
        self.assertEqual(self.run_program(PROGRAMS / "priorities", environment), (0, b"", b""))
        self.assertEqual(self.rewritten(), (1, 0))

    def test_memory(self):
        """What the runtime allocates is what corund counts, until it is freed or its device is reset."""
        self.start_daemon("--policy", "priority")
        # pylint: disable=consider-using-with
        process = subprocess.Popen([CORUN, "share", "--name", "program", "--", "/usr/bin/python3", "-c", self.MEMORY], env=self.environment,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
        for end in (process.stdin.close, process.stdout.close, process.wait, process.kill):
            self.addCleanup(end)

        def tell(words, kib):
            process.stdin.write(words + "\n")
            self.assertEqual(process.stdout.readline(), "0\n", words)
            self.assertEqual(self.clients()["program"]["memory_bytes"], kib << 10, words)
        for kind in ("plain", "pitch", "async", "array"):
            tell(f"{kind} 64", 64)
            tell("plain 16", 80)
            tell("free", 64)
            tell("free", 0)
        tell("plain 64", 64)
        tell("array 64", 128)
        tell("reset", 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
