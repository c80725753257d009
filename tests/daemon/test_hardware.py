#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
The shim in front of a driver, and corund that grants launches to programs with it.

    test_hardware.py CORUN PROGRAMS TEST...

The driver below is corun's own on the simulated GPU, which each process has for itself: what the shim and corund do is the same as on a GPU of
hardware, but how fast something is on it.
"""
import fcntl
import json
import mmap
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from python_with_numpy import find_python_with_numpy, needs_numpy

CORUN, PROGRAMS = (pathlib.Path(word).absolute() for word in sys.argv[1:3])
LIBRARIES, SHIM = CORUN.parent / "cuda", CORUN.parent / "shim"
# Programs that call the driver: all that the shim sees. Runtime calls of corun's libcudart do not go through libcuda.
DRIVER = "driver_graph graph_changes driver_more virtual_memory driver_threads endings many_faults stream_values bulk_copies".split()
BOTH = "driver driver_link driver_texture vector_add graph capture streams threads per_thread_stream".split()
TELLS_TIMES = {"cuda_bulk_copies", "cuda_driver_threads", "cuda_driver_more"}


def without_places(text):
    return re.sub(rb"0x[0-9a-f]+", b"X", re.sub(rb"cycle [0-9]+", b"cycle N", text))


class Shimmed(unittest.TestCase):
    def setUp(self):
        # The test cleans up after itself: pylint: disable=consider-using-with
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.socket = self.folder / "socket"
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("CORUN_CUDA_", "CORUN_SHIM_"))}
        self.environment.update(CORUN_DAEMON_SOCKET=str(self.socket), LD_LIBRARY_PATH=str(LIBRARIES),
                                XDG_CACHE_HOME=str(self.folder / "cache"))

    def shimmed(self, **more):
        return dict(self.environment, LD_LIBRARY_PATH=f"{SHIM}:{LIBRARIES}", **more)

    def run_program(self, program, environment, *words):
        done = subprocess.run([program, *words], env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False)
        return done.returncode, done.stdout, done.stderr

    def start_daemon(self, *options, file=CORUN.parent / "corund"):
        # pylint: disable=consider-using-with
        daemon = subprocess.Popen([file, *options],
                                  env=dict(self.environment, CORUN_SHIM_DRIVER=str(LIBRARIES / "libcuda.so.1")),
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(daemon.stdout.close)
        self.addCleanup(daemon.stderr.close)
        self.addCleanup(daemon.wait)
        self.addCleanup(daemon.kill)
        self.said = daemon.stdout.readline()
        self.assertIn(str(self.socket), self.said)
        return daemon

    def share(self, program, *options, words=(), stdin=subprocess.DEVNULL):
        # pylint: disable=consider-using-with
        process = subprocess.Popen([CORUN, "share", *options, "--", program, *words], env=self.environment, stdin=stdin,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def end(self, process):
        out, err = process.communicate(timeout=300)
        return process.returncode, out, err

    def ask(self, *words):
        return subprocess.run([CORUN, *words], env=self.environment, capture_output=True, text=True, timeout=20, check=False)

    def clients(self):
        return {client["name"]: client for client in json.loads(self.ask("ps", "--json", "-").stdout)["clients"]}

    def launches(self, name):
        return self.clients()[name]["launches"]

    def stands_still(self, name):
        before = self.launches(name)
        time.sleep(0.15)
        return self.launches(name) == before

    def wait_for(self, condition):
        until = time.monotonic() + 60 # against a hang: a busy machine takes seconds for what an idle one does at once
        while not condition():
            if time.monotonic() > until:
                self.fail("it did not happen within a minute")
            time.sleep(0.02)


ROOT = pathlib.Path(__file__).resolve().parents[2]
MESSAGES = re.findall(r"^FROM_\w+\((\w+), struct (\w+)", (ROOT / "src" / "wire" / "messages.def").read_text(), re.MULTILINE)
NUMBER = {name: number for number, (name, _) in enumerate(MESSAGES)}
VERSION = int(re.search(r"WIRE_VERSION (\d+)u", (ROOT / "src" / "wire" / "wire.h").read_text())[1])
GATES = re.findall(r"G\((\w+), \"", (ROOT / "src" / "wire" / "board.h").read_text())
GATE, STARTING, RUNS, RUN_NS, BYTES, ASKED = 0, 20, 56, 64, 72, 80  # struct board
TIMED = 80 + 64 * 8 + 256 * 8 + 16 + 8
LAST_TIMES = TIMED + 8
BOARD_BYTES = LAST_TIMES + 256 * 4
LAST_RUNS = 80 + 64 * 8
SMS = LAST_RUNS + 256 * 8 + 16
OBEYS = SMS + 4
GATE_PLACES = 64
# struct board_sheet, behind the boards
SHEET_BYTES = 67 * 4096
LIMITS, SHEET_SMS, OBEYED, LOOKED_NS, SHEET_DONE, SHEET_PLACES = 0, 2048, 2068, 2072, 2080, 2088
FILE_BYTES = (GATE_PLACES + 1) * 4096 + GATE_PLACES * SHEET_BYTES


class Client:
    """A program's end of the socket, by hand."""

    def __init__(self, path, goal=0, name=b"by hand", version=VERSION, board_bytes=BOARD_BYTES, value=0.9, gpu=bytes(16)):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.send("ATTACH", struct.pack("IIIId64s16s", version, goal, board_bytes, 0, value, name, gpu))
        data, files, *_ = socket.recv_fds(self.socket, 4096, 1)
        self.kind = MESSAGES[struct.unpack_from("I", data)[0]][0]
        self.text = data[12:]
        if self.kind == "BOARD":
            self.boards = mmap.mmap(files[0], FILE_BYTES)
            self.number = struct.unpack_from("I", data, 8)[0]
            self.at = 4096 * (1 + self.number)
            self.sheet = 4096 * (GATE_PLACES + 1) + self.number * SHEET_BYTES
            os.close(files[0])

    def send(self, kind, body=bytes(4)):
        self.socket.sendall(struct.pack("II", NUMBER[kind], len(body)) + body)

    def gate(self):
        return GATES[struct.unpack_from("I", self.boards, self.at + GATE)[0]]

    def put(self, offset, value, kind="I"):
        struct.pack_into(kind, self.boards, self.at + offset, value)
        self.send("RING")

    def close(self):
        self.socket.close()


class Programs(Shimmed):
    """A program finds behind the shim what it finds without: results, messages, exit status."""

    def compare(self, program):
        name = program.name
        plain, shimmed = self.run_program(program, self.environment), self.run_program(program, self.shimmed())
        self.assertEqual(shimmed[0], plain[0], (name, shimmed))
        if name not in TELLS_TIMES:
            self.assertEqual(without_places(shimmed[1]), without_places(plain[1]), name)
        self.assertEqual(without_places(shimmed[2]), without_places(plain[2]), name)

    def test_driver(self):
        for name in DRIVER:
            with self.subTest(name):
                self.compare(PROGRAMS.parent / f"cuda_{name}")

    def test_both(self):
        for name in BOTH:
            with self.subTest(name):
                self.compare(PROGRAMS / name)

    def test_names(self):
        """What is asked of the driver goes through the shim: by linking, by dlsym, by cuGetProcAddress."""
        trace = self.folder / "trace"
        program = "\n".join(["import ctypes as c", "d = c.CDLL('libcuda.so.1')", "f = c.c_void_p()", "status = c.c_int()",
                             "print(d.cuInit(0))", "print(d.cuGetProcAddress_v2(b'cuLaunchKernel', c.byref(f), 12000, 0, c.byref(status)))",
                             "print(f.value == c.cast(d.cuLaunchKernel, c.c_void_p).value)",
                             "print(d.cuGetProcAddress_v2_ptsz(b'cuLaunchKernel', c.byref(f), 12000, 0, c.byref(status)))",
                             "print(f.value == c.cast(d.cuLaunchKernel_ptsz, c.c_void_p).value)",
                             "print(d.cuGetProcAddress_v2(b'cuNothing', c.byref(f), 12000, 0, c.byref(status)), status.value)",
                             "print(d.cuGetExportTable(c.byref(f), bytes(range(16))))", "print(d.cuEGLStreamConsumerConnect(0, 0))"])
        environment = self.shimmed(CORUN_SHIM_TRACE=str(trace))
        status, out, err = self.run_program(sys.executable, environment, "-c", program)
        self.assertEqual((status, err.count(b"cuEGLStreamConsumerConnect")), (0, 1), err)
        plain = self.run_program(sys.executable, self.environment, "-c", program)
        self.assertEqual(out, plain[1])
        lines = [line.split()[1:] for line in trace.read_text().splitlines()]
        self.assertIn(["driver", str((LIBRARIES / "libcuda.so.1").resolve()), "opened"], lines)
        self.assertIn(["call", "cuInit"], lines)
        self.assertIn(["table", "000102030405060708090a0b0c0d0e0f", "error"], lines)
        self.assertEqual([line[1] for line in lines if line[0] == "address"], ["cuLaunchKernel", "cuLaunchKernel", "cuNothing"])

    def test_no_driver(self):
        missing = self.shimmed(CORUN_SHIM_DRIVER="/nonexistent/libcuda.so.1")
        status, out, err = self.run_program(sys.executable, missing, "-c", "import ctypes; d = ctypes.CDLL('libcuda.so.1'); print(d.cuInit(0))")
        self.assertEqual((status, out), (0, b"100\n"))
        self.assertIn(b"corun: no driver is below the shim: /nonexistent/libcuda.so.1", err)
        # Two copies of the shim do not call each other for ever.
        twice = dict(self.environment, LD_LIBRARY_PATH=f"{SHIM}", CORUN_SHIM_DRIVER=str(SHIM / "libcuda.so.1"))
        status, out, err = self.run_program(sys.executable, twice, "-c", "import ctypes; d = ctypes.CDLL('libcuda.so.1'); print(d.cuInit(0))")
        self.assertEqual((status, out), (0, b"100\n"))


class Granted(Shimmed):
    def test_what_is_said(self):
        done = self.ask("daemon", "--policy", "smqos")
        self.assertEqual(done.returncode, 12, done.stderr)
        self.assertIn("policy smqos cannot start with these parameters: this machine cannot switch SMs off; gate=off does without", done.stderr)
        done = self.ask("daemon", "--pace", "0.5")
        self.assertIn("--pace is of simulated GPUs", done.stderr)
        daemon = self.start_daemon()
        self.assertIn("policy goal, programs take turns on the GPU", self.said)
        daemon.terminate()
        daemon.wait()
        self.start_daemon("--policy", "priority:bound=100")
        self.assertIn("policy priority:bound=100, programs take turns on the GPU", self.said)
        done = self.ask("policy", "time-slice:quantum=9")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("time-slice:quantum=9", self.ask("policy").stdout)
        done = self.ask("policy", "smk")
        self.assertIn("policy smk needs a machine that", done.stderr)
        done = self.ask("share", "--isolated", "3", "--", "true")
        self.assertIn("are of simulated GPUs", done.stderr)

    def test_alone(self):
        """Alone, launches are not looked at, and results are those without the shim."""
        self.start_daemon("--policy", "priority")
        for name in DRIVER:
            with self.subTest(name):
                program = PROGRAMS.parent / f"cuda_{name}"
                plain, shared = self.run_program(program, self.environment), self.end(self.share(program))
                self.assertEqual(shared[0], plain[0], shared)
                self.assertEqual(without_places(shared[2]), without_places(plain[2]))

    def test_beside(self):
        """Beside others, every launch is noted and some wait; results are those without the shim."""
        names = "driver_more", "driver_graph", "graph_changes", "stream_values", "driver_threads"
        plain = {name: self.run_program(PROGRAMS.parent / f"cuda_{name}", self.environment) for name in names}
        for policy in "priority:bound=1", "even:quantum=100":
            daemon = self.start_daemon("--policy", policy)
            others = [self.share(PROGRAMS / "many_launches", "--name", "other", "--goal", "50%", words=["40000"]) for _ in range(2)]
            self.wait_for(lambda: len(self.clients()) == 1)
            for name in names:
                with self.subTest(policy=policy, name=name):
                    shared = self.end(self.share(PROGRAMS.parent / f"cuda_{name}"))
                    self.assertEqual(shared[0], plain[name][0], shared)
                    self.assertEqual(without_places(shared[2]), without_places(plain[name][2]))
            for other in others:
                other.kill()
                other.communicate()
            daemon.send_signal(signal.SIGTERM)
            self.assertEqual(daemon.wait(10), 0)

    def test_held_back(self):
        """A program without a goal launches nothing from the moment at which one with a goal begins to, until that has ended."""
        self.start_daemon("--policy", "priority")
        server = Client(self.socket, goal=1)
        train = self.share(PROGRAMS / "many_launches", "--name", "train", words=["2000000"])
        self.wait_for(lambda: self.clients().get("train", {"launches": 0})["launches"] > 100)
        self.assertEqual(server.gate(), "COUNTED")
        server.put(STARTING, 1)
        self.wait_for(lambda: self.stands_still("train"))
        server.put(ASKED + 5 * 8, 7)  # seven launches in the sixth lane
        server.put(STARTING, 0)
        self.assertTrue(self.stands_still("train"))
        server.put(ASKED + 5 * 8 + 4, 7)
        self.wait_for(lambda: not self.stands_still("train"))
        # What a program that is killed had under way holds up nobody.
        server.put(STARTING, 1)
        self.wait_for(lambda: self.stands_still("train"))
        server.close()
        self.wait_for(lambda: not self.stands_still("train"))
        train.kill()

    def test_several_gpus(self):
        """Programs on one GPU do not wait for those on another; the list has both."""
        self.start_daemon("--policy", "priority")
        server = Client(self.socket, goal=1, name=b"server", gpu=b"a" * 16)
        beside, elsewhere = Client(self.socket, name=b"beside", gpu=b"a" * 16), Client(self.socket, name=b"elsewhere", gpu=b"b" * 16)
        self.assertEqual([client.gate() for client in (server, beside, elsewhere)], ["COUNTED", "BOUNDED", "FREE"])
        listed = json.loads(self.ask("ps", "--json", "-").stdout)
        self.assertEqual([gpu["gpu"] for gpu in listed["gpus"]], ["driver of CORUN_SHIM_DRIVER", "GPU-" + "62" * 16])
        self.assertEqual({client["name"]: client["device"] for client in listed["clients"]}, {"server": 0, "beside": 0, "elsewhere": 1})
        self.assertEqual(len({client["client"] for client in listed["clients"]}), 3)
        self.assertIn("elsewhere", self.ask("top", "--once").stdout)
        self.assertIn("a policy is of all GPUs", self.ask("policy", "--gpu", "1", "even").stderr)
        self.assertEqual(self.ask("policy", "even").returncode, 0)
        beside.put(STARTING, 1)
        elsewhere.put(STARTING, 1)
        self.wait_for(lambda: beside.gate() == "BOUNDED" and server.gate() == "CLOSED")
        self.assertEqual(elsewhere.gate(), "FREE")  # alone there
        one = self.share(PROGRAMS / "many_launches", "--name", "one", words=["1000000"])  # its GPU is one more
        self.wait_for(lambda: self.clients().get("one", {}).get("launches"))
        self.assertEqual(self.clients()["one"]["device"], 2)
        one.kill()
        for client in server, beside, elsewhere:
            client.close()
        self.wait_for(lambda: not self.clients())
        full = [Client(self.socket, gpu=bytes([number] * 16)) for number in range(1, 10)]  # three of them where nobody is any more
        self.assertEqual([client.kind for client in full], ["BOARD"] * 8 + ["REFUSED"])
        self.assertEqual(full[-1].text, b"there are too many GPUs")
        full[0].close()
        self.wait_for(lambda: len(json.loads(self.ask("ps", "--json", "-").stdout)["clients"]) == 7)
        self.assertEqual(Client(self.socket, gpu=b"c" * 16).kind, "BOARD")

    def test_word_of_a_program(self):
        """The UUID of a GPU that corund knows by name alone is what a program there says, while one is there and no longer."""
        self.start_daemon("--policy", "priority")
        first = Client(self.socket, name=b"first", gpu=b"x" * 16)  # whatever it says
        second = Client(self.socket, name=b"second", gpu=b"a" * 16)
        self.assertEqual({name: client["device"] for name, client in self.clients().items()}, {"first": 0, "second": 1})
        first.close()
        self.wait_for(lambda: set(self.clients()) == {"second"})
        third = Client(self.socket, name=b"third", gpu=b"a" * 16)  # with the second one, not where nobody is
        self.assertEqual({name: client["device"] for name, client in self.clients().items()}, {"second": 1, "third": 1})
        second.close()
        third.close()
        self.wait_for(lambda: not self.clients())
        fourth = Client(self.socket, name=b"fourth", gpu=b"b" * 16)
        self.assertEqual(self.clients()["fourth"]["device"], 0)
        fourth.close()

    ON_TWO = """
import ctypes as c, sys
d = c.CDLL("libcuda.so.1")
text = b".version 6.0\\n.target sm_30\\n.address_size 64\\n.visible .entry nothing()\\n{\\nret;\\n}\\n"
assert d.cuInit(0) == 0
for number, count in zip(map(int, sys.argv[1]), (5, 7, 2)):
    context, module, function = c.c_void_p(), c.c_void_p(), c.c_void_p()
    assert d.cuCtxCreate_v2(c.byref(context), 0, number) == 0
    assert d.cuModuleLoadData(c.byref(module), text) == 0 and d.cuModuleGetFunction(c.byref(function), module, b"nothing") == 0
    for _ in range(count):
        assert d.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, None, None, None) == 0
    assert d.cuCtxSynchronize() == 0
print("done", flush=True)
input()
"""

    def test_launches_on_two_gpus(self):
        """A program is governed on the GPU of its first launch; those on others are not looked at."""
        self.start_daemon("--policy", "left-over")

        def start(name, *words):  # `corun share` takes no GPU of the driver below
            environment = self.shimmed(CORUN_SHIM_DAEMON=str(self.socket), CORUN_CUDA_GPU="gtx980;gtx680", CORUN_CUDA_NAME=name)
            # pylint: disable=consider-using-with
            process = subprocess.Popen(words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for end in (process.stdin.close, process.stdout.close, process.wait, process.kill):
                self.addCleanup(end)
            return process
        for order in "010", "110":
            process = start("on" + order, "/usr/bin/python3", "-c", self.ON_TWO, order)
            self.assertEqual(process.stdout.readline(), "done\n")
        clients = self.clients()
        self.assertEqual((clients["on010"]["launches"], clients["on110"]["launches"]), (5 + 2, 5 + 7))
        self.assertEqual((clients["on010"]["device"], clients["on110"]["device"]), (0, 1))

    def test_slices(self):
        """A long launch becomes many, with the results of the whole one; without PTX or --slices it stays one."""
        self.start_daemon("--policy", "priority:bound=1")
        server = Client(self.socket, goal=1)
        for options, cut in ((), False), (("--slices",), True):
            trace = self.folder / f"trace{cut}"
            self.environment["CORUN_SHIM_TRACE"] = str(trace)
            train = self.share(PROGRAMS / "wide_launches", "--name", "train", *options, words=["20"])
            launches = 0
            while train.poll() is None:
                launches = max(launches, self.clients().get("train", {"launches": 0})["launches"])
                time.sleep(0.01)
            status, out, err = self.end(train)
            self.assertEqual((status, out, err), (0, b"20 launches of 3219 thread blocks\n", b""))
            self.assertEqual(" slice place" in trace.read_text(), cut)
            if cut:  # a wave of a GTX 980 is 512 thread blocks, so seven slices
                self.assertGreater(launches, 40)
        server.close()

    def test_slices_with_variables(self):
        """Slices use the variables that the program reads and writes."""
        self.environment["CORUN_CUDA_GPU"] = "gtx980:sms=4"  # which hold fewer thread blocks than a launch has
        plain = self.run_program(PROGRAMS / "module_variables", self.environment, "3")
        self.start_daemon("--policy", "priority:bound=1")
        server = Client(self.socket, goal=1)
        trace = self.folder / "trace"
        self.environment["CORUN_SHIM_TRACE"] = str(trace)
        self.assertEqual(self.end(self.share(PROGRAMS / "module_variables", "--name", "train", "--slices", words=["3"])), plain)
        lines = [line.split()[2:] for line in trace.read_text().splitlines() if line.split()[1:2] == ["slice"]]
        self.assertIn(["count"], lines)
        self.assertLessEqual({line[0] for line in lines if line[-1] == "whole"}, {"sample"})
        server.close()

    def test_slices_are_kept(self):
        """The sliced form of a module is made once, and found by later processes; what is damaged is told of, and made anew."""
        self.start_daemon("--policy", "priority:bound=1")
        server = Client(self.socket, goal=1)
        trace, kept = self.folder / "trace", self.folder / "cache" / "corun" / "slices"

        def run(how, said=b"", **more):
            self.environment.update(CORUN_SHIM_TRACE=str(trace), **more)
            trace.write_text("")
            status, out, err = self.end(self.share(PROGRAMS / "wide_launches", "--name", "train", "--slices", words=["5"]))
            self.assertEqual((status, out), (0, b"5 launches of 3219 thread blocks\n"), err)
            self.assertIn(f" sliced {how}", trace.read_text())
            self.assertIn(said, err)
            self.assertEqual(bool(said), bool(err), err)
        run("made")
        run("kept")
        entry, = kept.iterdir()
        self.assertEqual(entry.stat().st_mode & 0o777, 0o600)
        for data, said in ((entry.read_bytes()[:-9], b"it is damaged"), (b"garbage", b"it is not a file of ours"), (b"", b"not a file of ours")):
            entry.write_bytes(data)
            run("made", b"sliced kernels in " + bytes(entry) + b" are not used: " + said if data else said)
            run("kept")
        entry.unlink()
        kept.rmdir()
        kept.write_text("no folder")
        run("made")  # nothing can be kept there
        run("made", CORUN_SHIM_CACHE="")
        run("made", CORUN_SHIM_CACHE=str(self.folder / "other"))
        run("kept")
        server.close()

    def test_kinds_of_corund(self):
        """Libraries of a simulated GPU and the shim notice that they have come to the other kind of corund."""
        self.start_daemon()
        environment = dict(self.environment, CORUN_CUDA_DAEMON=str(self.socket))
        status, _, err = self.run_program(PROGRAMS / "vector_add", environment)
        self.assertNotEqual(status, 0)
        self.assertIn(b"this corund shares a GPU of hardware", err)


class Lookups(Shimmed):
    """The shim looks up what it calls once: a lookup takes as long as the rest of what it does for a launch."""
    # Words: how many allocations of each kind, which end with the context.
    ALLOCATIONS = """
import ctypes as c, sys
d = c.CDLL("libcuda.so.1")
context = c.c_void_p()
assert d.cuInit(0) == 0 and d.cuCtxCreate_v2(c.byref(context), 0, 0) == 0
class Array(c.Structure):
    _fields_ = [("width", c.c_size_t), ("height", c.c_size_t), ("format", c.c_uint), ("channels", c.c_uint)]
for i in range(int(sys.argv[1])):
    p = c.c_void_p()
    assert d.cuMemAlloc_v2(c.byref(p), c.c_size_t(4096)) == 0 and d.cuMemFree_v2(p) == 0
    assert d.cuMemAlloc_v2(c.byref(p), c.c_size_t(4096)) == 0
    assert d.cuMemAllocAsync(c.byref(p), c.c_size_t(4096), None) == 0
    assert d.cuArrayCreate_v2(c.byref(p), c.byref(Array(64, 64, 32, 1))) == 0
assert d.cuCtxSynchronize() == 0 and d.cuCtxDestroy_v2(context) == 0
"""
    # Words: how many launches of a graph that allocates.
    GRAPHS = """
import ctypes as c, sys
d = c.CDLL("libcuda.so.1")
primary, stream, made, ready, p = (c.c_void_p() for _ in range(5))
assert d.cuInit(0) == 0 and d.cuDevicePrimaryCtxRetain(c.byref(primary), 0) == 0 and d.cuCtxSetCurrent(primary) == 0
assert d.cuStreamCreate(c.byref(stream), 1) == 0 and d.cuStreamBeginCapture_v2(stream, 0) == 0
assert d.cuMemAllocAsync(c.byref(p), c.c_size_t(4096), stream) == 0 and d.cuMemFreeAsync(p, stream) == 0
assert d.cuStreamEndCapture(stream, c.byref(made)) == 0 and d.cuGraphInstantiateWithFlags(c.byref(ready), made, c.c_ulonglong(0)) == 0
for i in range(int(sys.argv[1])):
    assert d.cuGraphLaunch(ready, stream) == 0
assert d.cuStreamSynchronize(stream) == 0
"""

    # Words: how many names are asked for.
    NAMES = """
import ctypes as c, sys
d = c.CDLL("libcuda.so.1")
p = c.c_void_p()
assert d.cuInit(0) == 0
for i in range(int(sys.argv[1])):
    assert d.cuGetProcAddress_v2(b"cuMemAlloc", c.byref(p), 12050, c.c_ulonglong(1), None) == 0 and p.value
"""

    def lookups(self, *words, kind="lookups", **more):
        """The last line is that of the program; what it starts before has one of its own."""
        environment = self.shimmed(CORUN_SHIM_DAEMON=str(self.socket), LD_PRELOAD=str(PROGRAMS / "count_lookups.so"), **more)
        status, _, err = self.run_program(words[0], environment, *words[1:])
        self.assertEqual(status, 0, err)
        return int(re.findall(rf"(\d+) {kind}", err.decode())[-1])

    def test_launches(self):
        for policy, more in ("goal", {}), ("left-over", {}), ("partition", {"CORUN_SHIM_WORKERS": "1"}):
            with self.subTest(policy):
                daemon = self.start_daemon("--policy", policy)
                few, many = (self.lookups(PROGRAMS / "many_launches", str(count), **more) for count in (100, 300))
                self.assertGreater(few, 0)
                self.assertEqual(many, few)
                daemon.terminate()
                daemon.wait()

    # Words: how many launches and allocations in a stream while another one is captured, and once more behind that; how the capture begins, and whether it ends well.
    CAPTURES = """
import ctypes as c, sys
d, v, count, way, ends = c.CDLL("libcuda.so.1"), c.c_void_p, int(sys.argv[1]), sys.argv[2], sys.argv[3]
context, module, function, stream, captured, graph, p = (v() for _ in range(7))
text = b".version 6.0\\n.target sm_50\\n.address_size 64\\n.visible .entry none() { ret; }\\n"
def launch(into):
    assert d.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, into, None, None) == 0
assert d.cuInit(0) == 0 and d.cuCtxCreate_v2(c.byref(context), 0, 0) == 0 and d.cuModuleLoadData(c.byref(module), text) == 0
assert d.cuModuleGetFunction(c.byref(function), module, b"none") == 0
assert d.cuStreamCreate(c.byref(stream), 1) == 0 and d.cuStreamCreate(c.byref(captured), 1) == 0
launch(stream)
if way == "graph":
    assert d.cuGraphCreate(c.byref(graph), 0) == 0 and d.cuStreamBeginCaptureToGraph(captured, graph, None, None, c.c_size_t(0), 2) == 0
else:
    assert d.cuStreamBeginCapture_v2(captured, 2) == 0 and d.cuStreamBeginCapture_v2(captured, 2) != 0
launch(captured)
for i in range(count):
    launch(stream)
    assert d.cuMemAllocAsync(c.byref(p), c.c_size_t(4096), stream) == 0
if ends == "well":
    assert d.cuStreamEndCapture(captured, c.byref(graph)) == 0
for i in range(count):
    launch(stream)
assert d.cuStreamSynchronize(stream) == 0
"""

    def test_captures(self):
        """The driver is not asked whether a stream is captured while nobody captures; else once for each launch and allocation, also if the launch is timed and noted."""
        for policy in "goal", "left-over":
            with self.subTest(policy):
                daemon = self.start_daemon("--policy", policy)
                few, many = (self.lookups(PROGRAMS / "many_launches", str(count), kind="captures") for count in (100, 300))
                self.assertEqual((few, many), (0, 0))
                for way in "stream", "graph":
                    for ends, more in ("well", 0), ("not", 10):
                        asked = self.lookups("/usr/bin/python3", "-c", self.CAPTURES, "10", way, ends, kind="captures")
                        self.assertEqual(asked, 1 + 2 * 10 + more, (way, ends))
                daemon.terminate()
                daemon.wait()

    def test_timed(self):
        """A quarter of the first launches is timed, and later an eighth, by two events each."""
        self.start_daemon("--policy", "left-over")
        few, some, many = (self.lookups(PROGRAMS / "many_launches", str(count), kind="records") for count in (10, 100, 1000))
        self.assertTrue(2 <= few <= 2 * (10 // 4 + 1), few)
        self.assertTrue(2 * 20 <= some <= 2 * (100 // 4 + 2), some)
        self.assertTrue(2 * 120 <= many <= 2 * (32 + 900 // 8 + 2), many)

    def test_names(self):
        """corun's driver opens its library once, whatever it is asked for."""
        self.start_daemon()
        few, many = (self.lookups("/usr/bin/python3", "-c", self.NAMES, str(count), kind="openings") for count in (2, 20))
        self.assertGreater(few, 0)
        self.assertEqual(many, few)

    def test_allocations_and_graphs(self):
        self.start_daemon()
        for program in self.ALLOCATIONS, self.GRAPHS:
            few, many = (self.lookups("/usr/bin/python3", "-c", program, str(count)) for count in (2, 20))
            self.assertGreater(few, 0)
            self.assertEqual(many, few)


class Times(Shimmed):
    """How long launches take, in every list."""

    def test_times_of_launches(self):
        """Of a program that nobody holds up, and whose launches are not even noted: the times are those on the GPU."""
        self.start_daemon("--policy", "left-over")
        process = self.share(PROGRAMS / "many_launches", "--name", "train", words=["4000000"])
        self.wait_for(lambda: self.clients().get("train", {"launch_p99_cycles": None})["launch_p99_cycles"])
        row = self.clients()["train"]
        # a launch of one thread block, on a simulated GPU, from when it was asked for
        self.assertTrue(100 < row["launch_p50_cycles"] <= row["launch_p99_cycles"] < 1_000_000_000, row)
        process.kill()

    def test_what_a_program_tells(self):
        """It may write there what it likes; what is no time is none."""
        metrics = self.folder / "metrics"
        file = self.folder / "corund.yaml"
        file.write_text(f"hardware: true\nmetrics: {metrics}\nmetrics_interval: 1s\n")
        self.start_daemon("--configuration", str(file))
        server = Client(self.socket, name=b"server")
        self.assertIsNone(self.clients()["server"]["launch_p50_cycles"])
        for i, milliseconds in enumerate((4.0, 0.5, float("nan"), -1.0, float("inf"), 2.0)):
            server.put(LAST_TIMES + 4 * i, milliseconds, "f")
        server.put(TIMED, 6, "Q")
        row = self.clients()["server"]
        self.assertEqual((row["launch_p50_cycles"], row["launch_p99_cycles"]), (2_000_000, 4_000_000))
        self.assertIn("0  2.0 ms  4.0 ms     0", self.ask("top", "--once").stdout)
        self.wait_for(lambda: metrics.exists() and "launch_p50_seconds{" in metrics.read_text())
        text = metrics.read_text()
        self.assertRegex(text, r'corun_client_launch_p50_seconds\{[^}]*name="server"[^}]*\} 0\.002')
        self.assertRegex(text, r'corun_client_launch_p99_seconds\{[^}]*name="server"[^}]*\} 0\.004')
        server.put(TIMED, 1 << 63, "Q")
        self.assertEqual(self.clients()["server"]["launch_p99_cycles"], 4_000_000)
        server.close()


class Goals(Shimmed):
    def test_runs(self):
        """Others yield while runs take longer than was promised, and no longer."""
        self.start_daemon("--policy", "goal:window=100000")
        server = Client(self.socket, goal=3, value=5.0, name=b"server")  # 5 ms
        train = self.share(PROGRAMS / "many_launches", "--name", "train", words=["4000000"])
        self.wait_for(lambda: self.clients().get("train", {"launches": 0})["launches"] > 100)
        self.assertEqual(self.clients()["server"]["goal"], "ms")
        server.put(STARTING, 1)  # busy, but not behind
        self.assertFalse(self.stands_still("train"))
        server.put(RUN_NS, 30_000_000, "Q")
        server.put(RUNS, 3, "Q")
        self.wait_for(lambda: self.clients()["server"]["behind"])
        self.wait_for(lambda: self.stands_still("train"))
        for i in range(3):
            server.put(LAST_RUNS + 8 * i, (9 - i) * 1_000_000, "Q")
        row = self.clients()["server"]
        self.assertEqual((row["runs"], row["run_p50_cycles"], row["run_p99_cycles"]), (3, 8_000_000, 9_000_000))
        self.assertIn("8.0 ms  9.0 ms", self.ask("top", "--once").stdout)
        server.put(RUNS, 7, "Q")
        self.wait_for(lambda: not self.clients()["server"]["behind"])
        self.wait_for(lambda: not self.stands_still("train"))
        done = self.ask("goal", str(os.getpid()), "fps=1000000")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.wait_for(lambda: self.stands_still("train"))
        self.assertIn("fps=1e+06", self.ask("ps").stdout)
        done = self.ask("goal", str(os.getpid()), "none")
        self.wait_for(lambda: not self.stands_still("train"))
        train.kill()

    def test_rate_alone(self):
        """What a program does alone is that of the next one of its name; until it is known, others are held back for a moment."""
        self.start_daemon("--policy", "goal")
        first = self.share(PROGRAMS / "many_launches", "--name", "server", words=["4000000"])
        self.wait_for(lambda: self.clients().get("server", {}).get("launches_per_second_isolated"))
        first.kill()
        self.wait_for(lambda: not self.clients())
        server = Client(self.socket, goal=1, name=b"server")
        self.assertGreater(self.clients()["server"]["launches_per_second_isolated"], 0)
        other = Client(self.socket, name=b"other")
        self.assertEqual((server.gate(), other.gate()), ("COUNTED", "BOUNDED"))
        server.put(STARTING, 1)  # it wants the GPU, and nothing ends
        self.wait_for(lambda: other.gate() == "CLOSED")
        self.assertEqual((server.gate(), self.clients()["server"]["behind"]), ("COUNTED", True))
        server.put(STARTING, 0)
        self.wait_for(lambda: other.gate() == "BOUNDED")  # as it wants nothing any more
        unknown = Client(self.socket, goal=1, name=b"unknown")
        unknown.put(STARTING, 1)
        self.wait_for(lambda: other.gate() == "CLOSED")
        self.assertEqual((unknown.gate(), server.gate()), ("COUNTED", "CLOSED"))
        self.wait_for(lambda: other.gate() == "BOUNDED")  # nothing came of it within a second
        self.assertIsNone(self.clients()["unknown"]["launches_per_second_isolated"])
        self.assertTrue(self.clients()["unknown"]["behind"])

    def test_goals(self):
        """The headline: one program with a goal, one that takes the rest, results as ever, and rates in the lists."""
        self.start_daemon("--policy", "goal")
        server = self.share(PROGRAMS / "many_launches", "--name", "server", "--goal", "50%", words=["40000"])
        train = self.share(PROGRAMS / "many_launches", "--name", "train", words=["40000"])
        seen = {}
        while server.poll() is None or train.poll() is None:
            for name, client in self.clients().items():
                if client["launches_per_second"]:
                    seen[name] = client
            time.sleep(0.1)
        for process in server, train:
            status, out, err = self.end(process)
            self.assertEqual((status, err), (0, b""), out)
            self.assertIn(b"40000 launches", out)
        self.assertEqual((seen["server"]["goal"], seen["server"]["goal_value"], seen["train"]["goal"]), ("fraction", 0.5, "none"))
        self.assertGreater(seen["train"]["cycles"], 0)
        self.assertIn("launches/s", self.ask("ps").stdout)
        self.assertIn("launches/s", self.ask("top", "--once").stdout)

    def test_own_goals(self):
        """corun/client.h reaches the shim."""
        self.start_daemon("--policy", "goal")
        own = self.share(PROGRAMS / "own_goal", words=["3", "1", "0.8", "2", "10", "3", "20", "4", "-1", "0", "0"])
        status, out, err = self.end(own)
        self.assertEqual((status, out), (0, b"5 0 5 0 5 0 good\n"), err)
        self.assertEqual(err.count(b"corun: corund refuses the goal: on a GPU of hardware a goal is"), 2)
        self.assertEqual(err.count(b"corun: corund refuses the goal: a goal is above 0"), 1)
        runs = self.share(PROGRAMS / "own_runs", "--name", "runs", words=["7", "2", "1", "stay"])
        self.wait_for(lambda: self.clients().get("runs", {"runs": 0})["runs"] == 7)
        row = self.clients()["runs"]
        self.assertTrue(0 < row["run_p50_cycles"] <= row["run_p99_cycles"], row)
        runs.kill()
        self.assertEqual(self.end(runs)[1:], (b"5 5 1\n", b""))

    @needs_numpy
    def test_own_goals_of_python(self):
        self.start_daemon("--policy", "goal")
        script = "\n".join(["import ctypes, sys", f"sys.path.insert(0, {str(ROOT / 'python')!r})", "import corun", "ctypes.CDLL('libcuda.so.1')",
                            "corun.set_goal('fps=30')", "print([client['goal'] for client in corun.Node().list()['clients']])",
                            "with corun.one_run(): pass", "print([client['runs'] for client in corun.Node().list()['clients']])"])
        self.environment["PATH"] = f"{CORUN.parent}:{os.environ['PATH']}"
        status, out, err = self.end(self.share(find_python_with_numpy(), "--name", "python", words=["-c", script]))
        self.assertEqual((status, out, err), (0, b"['fps']\n[1]\n", b""))

    def test_goals_that_are_none(self):
        daemon = self.start_daemon("--policy", "goal:window=50,bound=90")
        self.assertIn("policy goal:window=50,bound=90", self.said)
        done = self.ask("share", "--goal", "ipc=3", "--", "true")
        self.assertIn("--goal ipc=X is of simulated GPUs", done.stderr)
        one = Client(self.socket, name=b"one")
        done = self.ask("goal", str(os.getpid()), "ipc=3")
        self.assertIn("on a GPU of hardware a goal is a part of the rate alone", done.stderr)
        self.assertEqual(self.clients()["one"]["goal"], "none")
        for goal, value in (2, 1.0), (3, -1.0), (4, float("nan")), (1, 1.5), (1, 0.0), (7, 1.0):
            self.assertEqual(Client(self.socket, goal=goal, value=value).kind, "REFUSED", (goal, value))
        one.send("GOAL", struct.pack("IId", 0, 4, float("inf")))
        self.assertIn(b"a goal is above 0", one.socket.recv(4096))
        daemon.terminate()
        daemon.wait()
        self.start_daemon("--simulate", "gtx980")
        done = self.ask("share", "--goal", "ms=3", "--", "true")
        self.assertIn("--goal ms=X is of GPUs of hardware", done.stderr)
        done = self.ask("exec", "--policy", "even", "--", "true", ":", "--goal", "fps=3", "--", "true")
        self.assertIn("a goal is 90% of the rate alone, or ipc=X thread instructions per cycle, not `fps=3`", done.stderr)

    def test_goal_changes(self):
        self.start_daemon("--policy", "priority")
        one, other = Client(self.socket, name=b"one"), Client(self.socket, name=b"other")
        self.assertEqual((one.gate(), other.gate()), ("FREE", "FREE"))
        done = self.ask("goal", str(os.getpid()), "90%")  # both are of this process: the last one that came
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted([one.gate(), other.gate()]), ["BOUNDED", "COUNTED"])
        other.close()
        one.close()
        self.wait_for(lambda: not self.clients())


class Faults(Shimmed):
    def test_corund_goes_and_comes(self):
        """Programs run on, ungoverned, and find the next corund."""
        daemon = self.start_daemon("--policy", "time-slice")
        train = self.share(PROGRAMS / "many_launches", "--name", "train", words=["4000000"])
        self.wait_for(lambda: "train" in self.clients())
        self.assertEqual(self.ask("goal", str(self.clients()["train"]["pid"]), "40%").returncode, 0)
        daemon.kill()
        daemon.wait()
        time.sleep(0.2)
        self.assertIsNone(train.poll())
        self.socket.unlink(missing_ok=True)
        self.start_daemon("--policy", "time-slice")
        self.wait_for(lambda: "train" in self.clients())
        self.assertEqual(self.clients()["train"]["goal_value"], 0.4)  # the goal that it had
        train.kill()
        self.assertIn(b"corund is gone, the program runs on ungoverned", self.end(train)[2])

    def test_another_version(self):
        """At SIGUSR2 corund becomes that of its file: programs run on and come again; policy, rates alone and the journal stay."""
        file, own = self.folder / "journal.json", self.folder / "corund"
        shutil.copy(CORUN, own)
        daemon = self.start_daemon("--policy", "time-slice", "--journal", file, file=own)
        train = self.share(PROGRAMS / "many_launches", "--name", "train", words=["4000000"])
        self.wait_for(lambda: "train" in self.clients())
        self.assertEqual(self.ask("policy", "goal:window=50").returncode, 0)
        self.wait_for(lambda: self.clients()["train"]["launches_per_second_isolated"])
        descriptors = pathlib.Path(f"/proc/{daemon.pid}/fd")
        count = len(list(descriptors.iterdir()))
        for _ in range(3):
            daemon.send_signal(signal.SIGUSR2)
            self.assertIn(str(self.socket), daemon.stdout.readline())
            self.assertEqual(self.ask("policy").stdout, "goal:window=50\n")
            self.assertIsNone(train.poll())
            self.wait_for(lambda: "train" in self.clients())
        self.wait_for(lambda: len(list(descriptors.iterdir())) <= count)
        train.kill()
        self.assertEqual(self.end(train)[2].count(b"corund is gone, the program runs on ungoverned"), 3)
        again = Client(self.socket, name=b"train")
        self.assertGreater(self.clients()["train"]["launches_per_second_isolated"], 0)
        own.unlink()
        own.write_text("#!/bin/sh\necho corund of tomorrow\n")
        own.chmod(0o755)
        daemon.send_signal(signal.SIGUSR2)
        self.assertIn("it stays the corund that it is: the new one is of another version", daemon.stderr.readline())
        self.wait_for(lambda: again.gate() == "COUNTED")  # its gates are as they were, once corund has looked at them
        again.close()
        daemon.terminate()
        self.assertEqual(daemon.wait(10), 0)
        self.assertFalse(self.socket.exists())
        notes = [(event["name"], event["args"]["is"]) for event in json.loads(file.read_text()) if event["ph"] == "i"]
        self.assertEqual(notes.count(("corund", "another version")), 3)
        self.assertEqual(notes[0], ("policy", "time-slice"))

    def test_corund_stands_still(self):
        """Who stands at a gate goes on without a corund that does nothing, and who comes does not wait for it."""
        daemon = self.start_daemon("--policy", "time-slice")
        holder = Client(self.socket, name=b"holder")
        holder.put(STARTING, 1)
        train = self.share(PROGRAMS / "many_launches", "--name", "train", words=["2000"])
        self.wait_for(lambda: self.clients().get("train", {"state": "host"})["state"] == "waits")
        daemon.send_signal(signal.SIGSTOP)
        status, out, err = self.end(train)
        self.assertEqual((status, out.startswith(b"2000 launches")), (0, True), err)
        self.assertIn(b"corund stands still, the program runs on ungoverned", err)
        environment = self.shimmed(CORUN_SHIM_DAEMON=str(self.socket))
        status, out, err = self.run_program(PROGRAMS / "many_launches", environment, "2000")
        self.assertEqual((status, out.startswith(b"2000 launches")), (0, True), err)
        self.assertIn(b"corund does not answer, the program runs ungoverned", err)
        daemon.send_signal(signal.SIGCONT)

    def test_wrong_boards(self):
        """Boards that are shorter than they are said to be, can become so, or have no such number, are none."""
        seal = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
        for size, seals, number in (4096, seal, 0), (0, seal, 0), (FILE_BYTES, 0, 0), (FILE_BYTES, seal, 64), (None, 0, 0):
            with self.subTest(size=size, seals=seals, number=number), socket.socket(socket.AF_UNIX) as listener:
                self.socket.unlink(missing_ok=True)
                listener.bind(str(self.socket))
                listener.listen()
                environment = self.shimmed(CORUN_SHIM_DAEMON=str(self.socket))
                # pylint: disable=consider-using-with
                program = subprocess.Popen([PROGRAMS / "many_launches", "100"], env=environment, stdin=subprocess.DEVNULL,
                                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self.addCleanup(program.kill)
                listener.settimeout(20)
                connection = listener.accept()[0]
                connection.settimeout(20)
                connection.recv(4096)
                message = struct.pack("IIII", NUMBER["BOARD"], 8, number, 0)
                if size is None:
                    connection.sendall(message)
                else:
                    file = os.memfd_create("boards", os.MFD_ALLOW_SEALING)
                    os.truncate(file, size)
                    fcntl.fcntl(file, fcntl.F_ADD_SEALS, seals)
                    socket.send_fds(connection, [message], [file])
                    os.close(file)
                out, err = program.communicate(timeout=300)
                connection.close()
                self.assertEqual((program.returncode, out.startswith(b"100 launches")), (0, True), err)
                self.assertIn(b"corund refuses, the program runs ungoverned", err)

    def test_lifetimes(self):
        """Many programs come and go, some of them refused: descriptors and mappings stay as many as they were."""
        daemon = self.start_daemon("--policy", "goal")
        folder = pathlib.Path("/proc") / str(daemon.pid)

        def held():
            return len(list((folder / "fd").iterdir())), len((folder / "maps").read_text().splitlines())

        before = ()
        for lives in 50, 500:
            for i in range(lives):
                clients = [Client(self.socket, goal=i % 4 % 3, name=b"life") for _ in range(1 + i % 3)]
                clients[0].send("LIST")
                for client in clients:
                    client.close()
            self.wait_for(lambda: not self.clients())
            before = held() if lives == 50 else before
        self.wait_for(lambda: held()[0] <= before[0])
        self.assertLessEqual(held()[1], before[1] + 4)

    def test_bad_clients(self):
        """Whoever sends what is none of a program's messages loses its connection, and nobody else anything."""
        daemon = self.start_daemon("--policy", "priority")
        good = Client(self.socket, goal=1)
        self.assertEqual(Client(self.socket, version=VERSION + 1).kind, "REFUSED")
        self.assertEqual(Client(self.socket, board_bytes=8).kind, "REFUSED")
        for garbage in (b"garbage" * 100, struct.pack("II", NUMBER["RING"], 5) + bytes(5), struct.pack("II", 1 << 31, 0),
                        struct.pack("II", NUMBER["MODULE"], 1 << 25) + bytes(20000), struct.pack("II", NUMBER["WELCOME"], 4) + bytes(4),
                        struct.pack("IIIIIId64s", NUMBER["ATTACH"], 88, VERSION, 0, BOARD_BYTES, 0, 0.5, b"x" * 64)):
            with socket.socket(socket.AF_UNIX) as bad:
                bad.connect(str(self.socket))
                bad.settimeout(10)
                try:
                    bad.sendall(garbage)
                    self.assertEqual(bad.recv(4096), b"", garbage[:16])
                except (BrokenPipeError, ConnectionResetError):
                    pass
        twice = Client(self.socket)
        twice.send("ATTACH", struct.pack("IIIId64s", VERSION, 0, BOARD_BYTES, 0, 0.9, b"again"))
        self.assertEqual(twice.socket.recv(4096), b"")
        partial = socket.socket(socket.AF_UNIX)
        partial.connect(str(self.socket))
        partial.sendall(b"\0\0\0")
        flood = Client(self.socket, name=b"flood")
        flood.socket.sendall(struct.pack("III", NUMBER["RING"], 4, 0) * 100000)
        many = [Client(self.socket, name=b"many") for _ in range(GATE_PLACES)]
        last = many[-1]
        self.assertEqual((last.kind, last.text), ("REFUSED", b"there are too many clients"))
        self.assertEqual(good.gate(), "COUNTED")
        self.assertIsNone(daemon.poll())
        self.assertIn("flood", self.clients())
        partial.close()


class Configured(Shimmed):
    def write(self, text):
        self.folder.chmod(0o755)
        (self.folder / "corund.yaml").write_text(text)
        return str(self.folder / "corund.yaml")

    def start_configured(self, text, *options):
        return self.start_daemon("--configuration", self.write(f"hardware: true\nsocket: {self.socket}\n{text}"), *options)

    def as_user(self, uid, *words, **more):
        # pylint: disable=consider-using-with
        process = subprocess.Popen([CORUN, *words], env=dict(self.environment, HOME="/", **more), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, start_new_session=True, user=uid, group=uid, extra_groups=[], cwd="/")
        for end in (process.stdout.close, process.stderr.close, process.wait, process.kill):
            self.addCleanup(end)
        return process


class Service(Configured):
    """From a configuration file: limits, metrics, the journal, and what SIGHUP changes."""
    def test_check(self):
        done = self.ask("daemon", "--check", self.write("hardware: true\npolicy: goal:window=20\nlimits: [{user: root, clients: 3, share: 50%}]\n"))
        self.assertEqual((done.returncode, done.stdout.split(": ")[1]), (0, "the GPU of this computer, policy goal:window=20, 1 row of limits\n"),
                         done.stderr)
        for text, place, why in (("hardware: true\nsimulate: gtx980\n", "2:11", "exclude each other"), ("hardware: 7\n", "1:11", ""),
                                 ("hardware: true\npolicy: smqos\n", "2:9", "gate=off does without"),
                                 ("hardware: true\nthreads: 2\n", "", "`threads` is of simulated GPUs"),
                                 ("hardware: true\npace: 0.1\n", "", "`pace` is of simulated GPUs"),
                                 ("hardware: false\n", "", "it names no GPU")):
            done = self.ask("daemon", "--check", self.write(text))
            self.assertNotEqual(done.returncode, 0, text)
            self.assertIn(f"corund.yaml:{place}", done.stderr)
            self.assertIn(why, done.stderr)

    def metrics(self, file):
        """{name: {labels: value}} and the types."""
        values, types = {}, {}
        for line in file.read_text().splitlines() if file.exists() else ():
            if line.startswith("# TYPE"):
                types[line.split()[2]] = line.split()[3]
            elif not line.startswith("#"):
                name, labels, value = re.fullmatch(r'([a-z0-9_]+)(?:\{((?:[a-z]+="(?:[^"\\]|\\.)*",?)*)\})? (\S+)', line).groups()
                self.assertIn(name, types)
                values.setdefault(name, {})[labels] = float(value)
        return values, types

    def test_metrics(self):
        """What is written is what the list says."""
        file, other = self.folder / "corund.prom", self.folder / "other.prom"
        daemon = self.start_configured(f"policy: goal\nmetrics: {file}\nmetrics_interval: 1s\n")
        one = Client(self.socket, goal=1, name=b'o"ne')
        two = Client(self.socket, goal=4, name=b"two", value=25.0)
        one.put(STARTING, 1)
        labels = f'client="0",name="o\\"ne",pid="{os.getpid()}",uid="{os.getuid()}"'
        self.wait_for(lambda: self.metrics(file)[0].get("corun_client_wanted_seconds_total", {}).get(labels))
        values, types = self.metrics(file)
        for name, kind in types.items():
            self.assertEqual(kind == "counter", name.endswith("_total"), name)
        self.assertEqual(values["corun_node_info"], {'gpu="driver of CORUN_SHIM_DRIVER",policy="goal"': 1})
        self.assertEqual((values["corun_client_goal_fraction"][labels], values["corun_client_behind"][labels]), (0.9, 1))
        second = labels.replace('client="0",name="o\\"ne"', 'client="1",name="two"')
        self.assertEqual((values["corun_client_goal_runs_per_second"][second], values["corun_client_goal_fraction"][second]), (25, 0))
        self.assertEqual(values["corun_connections"][None], 2)
        self.assertFalse({"corun_sms", "corun_client_isolated_ipc", "corun_cycles_total"} & set(types))
        self.write(f"hardware: true\nsocket: {self.socket}\npolicy: even\nmetrics: {other}\nmetrics_interval: 1s\n")
        daemon.send_signal(signal.SIGHUP)
        self.wait_for(lambda: 'gpu="driver of CORUN_SHIM_DRIVER",policy="even"' in self.metrics(other)[0].get("corun_node_info", {}))
        self.write("hardware: true\npolicy: smqos\n")
        daemon.send_signal(signal.SIGHUP)
        self.assertIn("gate=off does without", daemon.stderr.readline())
        self.assertIn("the configuration stays as it was", daemon.stderr.readline())
        self.assertEqual(self.ask("policy").stdout, "even\n")
        for client in one, two:
            client.close()

    def test_full_disk(self):
        daemon = self.start_configured("policy: left-over\nmetrics: /dev/full/corund.prom\njournal: /dev/full\n")
        self.assertIn("metrics cannot be written", daemon.stderr.readline())
        self.assertEqual(Client(self.socket).gate(), "FREE")

    def test_journal(self):
        """Who came and went, goals, policies, and how fast everybody was."""
        file = self.folder / "journal.json"
        daemon = self.start_configured(f"policy: goal\njournal: {file}\n")
        server = self.share(PROGRAMS / "many_launches", "--name", "server", "--goal", "50%", words=["4000000"])
        self.wait_for(lambda: self.clients().get("server", {}).get("launches_per_second_isolated"))
        train = Client(self.socket, name=b"train")
        pid = self.clients()["server"]["pid"]
        self.assertEqual(self.ask("goal", str(pid), "60%").returncode, 0)
        self.wait_for(lambda: '"of alone"' in file.read_text() and '"behind"' in file.read_text())
        self.assertEqual(self.ask("policy", "left-over").returncode, 0)
        server.kill()
        self.wait_for(lambda: "server" not in self.clients())
        train.close()
        daemon.terminate()
        self.assertEqual(daemon.wait(10), 0)
        events = json.loads(file.read_text())
        notes = [(event["name"], event["args"].get("program"), event["args"]["is"]) for event in events if event["ph"] == "i"]
        self.assertEqual(notes, [("policy", None, "goal"), ("client", "server", "comes"), ("goal", "server", "fraction 0.5"),
                                 ("client", "train", "comes"), ("goal", "server", "fraction 0.6"), ("policy", None, "left-over"),
                                 ("client", "server", "goes"), ("client", "train", "goes")])
        for event in events:
            if event["ph"] == "C":
                self.assertLessEqual(set(event["args"]), {"0 server"})
                self.assertTrue(event["name"] == "of alone" or 0 <= event["args"]["0 server"] <= 1, event)
        self.assertEqual([event["ts"] for event in events if "ts" in event], sorted(event["ts"] for event in events if "ts" in event))

    @unittest.skipUnless(os.getuid() == 0, "needs root to be other users")
    def test_users(self):
        """Who is let in, how many programs of a user, and how much their goals may promise."""
        daemon = self.start_configured("policy: goal\n")
        self.assertEqual(self.as_user(54321, "ps").wait(20), 5)  # nobody else can even connect
        self.write(f"hardware: true\nsocket: {self.socket}\npolicy: goal\nlimits: [{{user: 54321, clients: 2, share: 50%}}]\n")
        daemon.send_signal(signal.SIGHUP)
        self.wait_for(lambda: self.as_user(54321, "ps").wait(20) == 0)
        self.assertNotEqual(self.as_user(54322, "ps").wait(20), 0)
        mine = Client(self.socket, name=b"mine")
        program = [PROGRAMS / "many_launches", "4000000"]
        first = self.as_user(54321, "share", "--name", "first", "--goal", "40%", "--", *program)
        self.wait_for(lambda: "first" in self.clients())
        self.wait_for(lambda: self.launches("first") > 0)
        place = 4096 * (1 + self.clients()["first"]["client"])
        self.assertFalse(any(mine.boards[place:place + 4096]))  # its board is in another file
        pids = {name: str(client["pid"]) for name, client in self.clients().items()}
        for words, status, why in ((("policy", "even"), 6, b"only the daemon's user"), (("goal", pids["mine"], "none"), 6, b"another user"),
                                   (("goal", pids["first"], "60%"), 6, b"share of the GPU"), (("goal", pids["first"], "ms=5"), 6, b"is limited"),
                                   (("goal", pids["first"], "45%"), 0, b"")):
            status_was, _, said = self.end(self.as_user(54321, *words))
            self.assertEqual((status_was, why in said), (status, True), (words, said))
        done = self.as_user(54321, "share", "--goal", "10%", "--", PROGRAMS / "many_launches", "10")
        self.assertIn(b"more than its share of the GPU", self.end(done)[2])
        second = self.as_user(54321, "share", "--name", "second", "--goal", "5%", "--", *program)
        self.wait_for(lambda: "second" in self.clients())
        status, out, said = self.end(self.as_user(54321, "share", "--", PROGRAMS / "many_launches", "10"))
        self.assertEqual((status, b"10 launches" in out), (0, True))  # ungoverned
        self.assertIn(b"as many programs there as it may have", said)
        self.assertEqual(Client(self.socket, goal=1, name=b"more").kind, "BOARD")  # the daemon's own user is not limited
        for process in first, second:
            os.killpg(process.pid, signal.SIGKILL)
        mine.close()


class Memory(Configured):
    """Device memory of programs: what the list says, and limits of users."""
    MIB = 1 << 20
    # Words: a kind of allocation and MiB, `free`, `end` the context, `info`; what each gives is a line.
    PROGRAM = """
import ctypes as c, sys
d = c.CDLL("libcuda.so.1")
v, n, context = c.c_void_p, c.c_size_t, c.c_void_p()
def new():
    assert d.cuInit(0) == 0 and d.cuCtxCreate_v2(c.byref(context), 0, 0) == 0
class How(c.Structure):
    _fields_ = [("words", c.c_int * 4), ("rest", c.c_char * 64)]
class Array(c.Structure):
    _fields_ = [("width", n), ("height", n), ("format", c.c_uint), ("channels", c.c_uint)]
def take(kind, bytes):
    p, pitch = v(), n()
    if kind == "plain": status = d.cuMemAlloc_v2(c.byref(p), n(bytes))
    if kind == "pitch": status = d.cuMemAllocPitch_v2(c.byref(p), c.byref(pitch), n(1024), n(bytes // 1024), 4)
    if kind == "managed": status = d.cuMemAllocManaged(c.byref(p), n(bytes), 1)
    if kind == "async": status = d.cuMemAllocAsync(c.byref(p), n(bytes), None)
    if kind == "create": status = d.cuMemCreate(c.byref(p), n(bytes), c.byref(How((1, 0, 1, 0))), c.c_ulonglong(0))
    if kind == "array": status = d.cuArrayCreate_v2(c.byref(p), c.byref(Array(1024, bytes // 4096, 32, 1)))
    if status == 0: held.append((kind, p))
    return status
def graph(bytes):
    primary, stream, made, ready, p = v(), v(), v(), v(), v()
    said = [d.cuDevicePrimaryCtxRetain(c.byref(primary), 0), d.cuCtxSetCurrent(primary), d.cuStreamCreate(c.byref(stream), 1), d.cuStreamBeginCapture_v2(stream, 0), d.cuMemAllocAsync(c.byref(p), n(bytes), stream),
            d.cuMemFreeAsync(p, stream), d.cuStreamEndCapture(stream, c.byref(made)), d.cuGraphInstantiateWithFlags(c.byref(ready), made, c.c_ulonglong(0)),
            d.cuGraphLaunch(ready, stream), d.cuStreamSynchronize(stream), d.cuCtxSetCurrent(context)]
    graphs.append((ready, made))
    return max(said)
def trim():
    ready, made = graphs.pop()
    return max(d.cuGraphExecDestroy(ready), d.cuGraphDestroy(made), d.cuDeviceGraphMemTrim(0))
def drop(kind, p):
    if kind == "async": return d.cuMemFreeAsync(p, None)
    if kind == "create": return d.cuMemRelease(p)
    return d.cuArrayDestroy(p) if kind == "array" else d.cuMemFree_v2(p)
held, graphs = [], []
new()
for line in sys.stdin:
    word, *more = line.split()
    if word == "free": print(drop(*held.pop()), flush=True)
    elif word == "several": print(max(take("async", 512) for _ in range(int(more[0]))), flush=True)
    elif word == "half": print(max(drop(*held.pop(len(held) // 3)) for _ in range(len(held) // 2)), flush=True)
    elif word == "graph": print(graph(int(more[0]) << 20), flush=True)
    elif word == "trim": print(trim(), flush=True)
    elif word == "end": held.clear(); print(d.cuCtxDestroy_v2(context), flush=True); new()
    elif word == "info":
        a, b = n(), n()
        print(d.cuMemGetInfo_v2(c.byref(a), c.byref(b)), a.value, b.value, flush=True)
    else: print(take(word, int(more[0]) << 20), flush=True)
"""

    def begin(self, name, uid=None):
        # pylint: disable=consider-using-with
        other = {} if uid is None else {"user": uid, "group": uid, "extra_groups": [], "cwd": "/"}
        process = subprocess.Popen([CORUN, "share", "--name", name, "--", "/usr/bin/python3", "-c", self.PROGRAM], env=dict(self.environment, HOME="/"),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, **other)
        for end in (process.stdin.close, process.stdout.close, process.wait, process.kill):
            self.addCleanup(end)
        return process

    def tell(self, process, *words):
        process.stdin.write(" ".join(map(str, words)) + "\n")
        return [int(number) for number in process.stdout.readline().split()]

    def bytes_of(self, name):
        return self.clients()[name]["memory_bytes"]

    def test_many(self):
        """More than the shim has quick places for, freed in another order, and gone with their context."""
        self.start_daemon()
        program = self.begin("program")
        self.assertEqual(self.tell(program, "several", 6000), [0])
        self.assertEqual(self.bytes_of("program"), 6000 * 512)
        self.assertEqual(self.tell(program, "half"), [0])
        self.assertEqual(self.bytes_of("program"), 3000 * 512)
        self.assertEqual(self.tell(program, "several", 2000), [0])
        self.assertEqual(self.bytes_of("program"), 5000 * 512)
        self.assertEqual(self.tell(program, "end"), [0])
        self.assertEqual(self.bytes_of("program"), 0)

    def test_counts(self):
        """Of each kind, freed or gone with its context."""
        self.start_daemon()
        program = self.begin("program")
        for kind in "plain", "pitch", "managed", "async", "create", "array":
            with self.subTest(kind):
                self.assertEqual(self.tell(program, kind, 6), [0])
                self.assertEqual(self.bytes_of("program"), 6 * self.MIB)
                self.assertEqual(self.tell(program, "plain", 2), [0])
                self.assertEqual(self.bytes_of("program"), 8 * self.MIB)
                self.assertEqual(self.tell(program, "free") + self.tell(program, "free"), [0, 0])
                self.assertEqual(self.bytes_of("program"), 0)
        for kind in "plain", "pitch", "array":
            self.assertEqual(self.tell(program, kind, 6), [0])
        self.assertEqual(self.bytes_of("program"), 18 * self.MIB)
        self.assertEqual(self.tell(program, "end"), [0])
        self.assertEqual(self.bytes_of("program"), 0)
        self.assertEqual(self.tell(program, "graph", 6), [0])  # the driver keeps that for the next launch
        self.assertGreaterEqual(self.bytes_of("program"), 6 * self.MIB)
        self.assertEqual(self.tell(program, "trim"), [0])
        self.assertEqual(self.bytes_of("program"), 0)
        self.assertEqual(self.tell(program, "plain", 1 << 20), [2])  # a terabyte: the driver says no
        self.assertEqual(self.bytes_of("program"), 0)

    @unittest.skipUnless(os.getuid() == 0, "needs root to be other users")
    def test_limits(self):
        """Beyond its limit a user gets what a full GPU says; what it sees is a GPU as large as that."""
        daemon = self.start_configured("limits: [{user: 54321, memory: 64M}, {user: 54322}]\n")
        first, second, other = self.begin("first", 54321), self.begin("second", 54321), self.begin("other", 54322)
        most = 64 * self.MIB
        self.assertEqual(self.tell(first, "info"), [0, most, most])
        self.assertEqual(self.tell(first, "plain", 40), [0])
        self.assertEqual(self.tell(second, "plain", 30), [2])
        self.assertEqual(self.tell(second, "info"), [0, 24 * self.MIB, most])
        for kind in "async", "pitch", "managed", "create", "array":
            self.assertEqual(self.tell(second, kind, 26), [2], kind)
            self.assertEqual(self.tell(second, kind, 20), [0], kind)
            self.assertEqual(self.tell(second, "free"), [0])
        self.assertEqual(self.tell(second, "graph", 20), [0])
        self.assertEqual(self.tell(second, "plain", 20), [2])
        self.assertEqual(self.tell(second, "trim"), [0])
        self.assertEqual(self.tell(other, "plain", 100), [0])
        self.assertGreater(self.tell(other, "info")[2], most)
        self.assertEqual(self.tell(second, "plain", 24), [0])
        self.assertEqual(self.tell(second, "plain", 1), [2])
        self.write(f"hardware: true\nsocket: {self.socket}\nlimits: [{{user: 54321, memory: 50M}}, {{user: 54322, memory: 10M}}]\n")
        daemon.send_signal(signal.SIGHUP)
        self.wait_for(lambda: self.tell(other, "info") == [0, 0, 10 * self.MIB])  # what it has it keeps
        self.assertEqual(self.tell(other, "plain", 1), [2])
        first.kill()
        first.wait()
        self.wait_for(lambda: self.tell(second, "info") == [0, 26 * self.MIB, 50 * self.MIB])
        daemon.send_signal(signal.SIGKILL)  # the next one is told of what there is already
        daemon.wait()
        self.socket.unlink(missing_ok=True)
        self.start_configured("limits: [{user: 54321, memory: 30M}]\n")
        self.wait_for(lambda: self.tell(second, "info") == [0, 6 * self.MIB, 30 * self.MIB])
        self.assertEqual(self.tell(second, "plain", 7), [2])
        self.assertEqual(self.tell(second, "plain", 6), [0])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
