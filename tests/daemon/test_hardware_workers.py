#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Launches as workers, on SMs that corund gives to each program.

    test_hardware_workers.py CORUN PROGRAMS TEST...

The driver below is corun's own on the simulated GPU, a GTX 980 with 16 SMs, which each process has for itself.
"""
import fcntl
import json
import mmap
import os
import random
import re
import socket
import struct
import subprocess
import sys
import threading
import time
import unittest

from test_hardware import (ASKED, BOTH, CORUN, DRIVER, FILE_BYTES, GATE, GATES, LIMITS, LOOKED_NS, NUMBER, OBEYED, SHEET_SMS, OBEYS, PROGRAMS, SMS, STARTING, TELLS_TIMES, Client, Shimmed, without_places)

ALL = 1024
LOOKED = 8  # struct board_front
SEALS, SHRINK_AND_GROW = 1033, 2 | 4


def part(first, end):
    return end << 16 | first


class Corund(threading.Thread):
    """One that says what it likes of SMs, again and again, to each program that comes."""

    def __init__(self, path, choose, pause=0.002):
        super().__init__(daemon=True)
        self.choose, self.pause, self.ends, self.obeys, self.boards = choose, pause, False, set(), None
        self.left = []  # what each program that has gone said last of obeying
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        self.start()

    def run(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client:
            self.answer(client)

    def answer(self, client):
        if not client.recv(4096):
            return
        file = os.memfd_create("boards", os.MFD_ALLOW_SEALING)
        os.ftruncate(file, FILE_BYTES)
        fcntl.fcntl(file, SEALS, SHRINK_AND_GROW)
        self.boards = boards = mmap.mmap(file, FILE_BYTES)
        struct.pack_into("I", boards, 4096 + GATE, GATES.index("COUNTED"))
        struct.pack_into("I", boards, 4096 + SMS, self.choose())
        socket.send_fds(client, [struct.pack("IIII", NUMBER["BOARD"], 8, 0, 0)], [file])
        os.close(file)
        client.settimeout(self.pause)
        while not self.ends:
            struct.pack_into("Q", boards, LOOKED, time.monotonic_ns())
            struct.pack_into("I", boards, 4096 + SMS, self.choose())
            self.obeys.add(struct.unpack_from("I", boards, 4096 + OBEYS)[0])
            try:
                if not client.recv(4096):
                    self.left.append(struct.unpack_from("I", boards, 4096 + OBEYS)[0])
                    return
            except TimeoutError:
                pass

    def close(self):
        if self.ends:
            return
        self.ends = True
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.join()


class Workers(Shimmed):
    def corund(self, choose, **more):
        corund = Corund(self.socket, choose, **more)
        self.addCleanup(corund.close)
        return corund

    def manned(self, **more):
        """The environment of a program, and what its shim tells."""
        self.trace = self.folder / "trace"
        self.trace.write_text("")
        return self.shimmed(CORUN_SHIM_DAEMON=str(self.socket), CORUN_SHIM_WORKERS="1", CORUN_SHIM_TRACE=str(self.trace), **more)

    def kernels(self):
        """Names of kernels that workers ran, and of those that stayed whole."""
        lines = [line.split()[2:] for line in self.trace.read_text().splitlines() if line.split()[1:2] == ["workers"]]
        return {words[0] for words in lines if len(words) == 1}, {words[0] for words in lines if len(words) == 2}

    def faults(self, text):
        """Messages of faults are of the kernel that ran, and of the first thread that was there: lines and threads are others, and launches more."""
        return re.sub(rb"launches|\d+", lambda found: b"launch" if found[0] == b"launches" else b"N", without_places(text))

    def sms(self, line):
        return [int(word) for word in line.split()]

    def test_programs(self):
        """What programs print, and how they end, is what it is without corund, wherever their workers may be, and from wherever they are sent away."""
        seed = random.randrange(1 << 30)
        drawn = random.Random(seed)

        def choose():
            first = drawn.randrange(ALL)
            return drawn.choice([part(0, ALL), part(0, ALL // 2), part(ALL // 2, ALL), part(first, drawn.randint(first + 1, ALL))])
        corund = self.corund(choose)
        programs = [(PROGRAMS.parent / f"cuda_{name}", ()) for name in DRIVER]
        programs += [(PROGRAMS / name, ()) for name in BOTH if name != "streams"]  # which compares times
        programs += [(PROGRAMS / "wide_launches", ("30",)), (PROGRAMS / "where_blocks", ("0", "1", "1"))]
        ran, stayed = set(), set()
        for program, words in programs:
            with self.subTest(program.name, seed=seed):
                plain, manned = self.run_program(program, self.environment, *words), self.run_program(program, self.manned(), *words)
                self.assertEqual(manned[0], plain[0], manned)
                if program.name not in TELLS_TIMES:
                    self.assertEqual(without_places(manned[1]), without_places(plain[1]))
                self.assertEqual(self.faults(manned[2]), self.faults(plain[2]))
                ran |= self.kernels()[0]
                stayed |= self.kernels()[1]
        self.assertIn(1, corund.obeys)
        self.assertIn("place", ran)
        self.assertGreater(len(ran), 3, stayed)

    def test_every_thread_block_runs_once(self):
        """The program itself counts; the limits change within its launches, and leave it no SM on which it was."""
        drawn = random.Random(7)
        for what in ("moves", "jumps"):
            parts = [part(0, ALL // 4), part(3 * ALL // 4, ALL)] if what == "jumps" else [part(64 * i, 64 * i + 256) for i in range(13)]
            with self.subTest(what):
                corund = Corund(self.socket, lambda: drawn.choice(parts), pause=0.0005)  # pylint: disable=cell-var-from-loop
                status, out, err = self.run_program(PROGRAMS / "where_blocks", self.manned(), "6", "3000", "60")
                corund.close()
                self.socket.unlink()
                self.assertEqual((status, err), (0, b""), out)
                self.assertTrue(out.endswith(b"6 launches of 3000 thread blocks\n"))
                self.assertEqual(self.kernels(), ({"where"}, set()))

    def test_where(self):
        """Workers are on the program's SMs alone, from the first of them to the last."""
        for first, end, sms in ((0, ALL // 2, range(8)), (ALL // 2, ALL, range(8, 16)), (ALL // 4, ALL // 4 + 64, range(4, 5)), (1000, 1001, range(15, 16))):
            with self.subTest((first, end)):
                corund = Corund(self.socket, lambda: part(first, end))  # pylint: disable=cell-var-from-loop
                status, out, err = self.run_program(PROGRAMS / "where_blocks", self.manned(), "3", "200", "50")
                corund.close()
                self.socket.unlink()
                self.assertEqual((status, err), (0, b""), out)
                for line in out.splitlines()[:-1]:
                    self.assertEqual(self.sms(line), list(sms))

    def test_lookups(self):
        """What the shim calls for launches as workers is looked up once."""
        self.corund(lambda: part(0, ALL // 2))

        def lookups(launches):
            status, _, err = self.run_program(PROGRAMS / "wide_launches", self.manned(LD_PRELOAD=str(PROGRAMS / "count_lookups.so")), str(launches))
            self.assertEqual(status, 0, err)
            self.assertTrue(self.kernels()[0], self.kernels())
            return int(re.search(rb"(\d+) lookups", err)[1])
        self.assertEqual(lookups(20), lookups(5))

    def test_all_sms_are_taken_away(self):
        """In the middle of long launches, as each begins: the rest of it runs on the program's new SMs, and on no others."""
        parts, ended = [part(0, ALL // 4), part(3 * ALL // 4, ALL)], []
        self.corund(lambda: parts[len(ended) % 2])
        # pylint: disable=consider-using-with
        process = subprocess.Popen([PROGRAMS / "where_blocks", "6", "20000", "60"], env=self.manned(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for line in process.stdout:
            ended.append(self.sms(line) if b"launches" not in line else [])
        self.addCleanup(process.stdout.close)
        self.assertEqual(process.stderr.read(), b"")
        process.stderr.close()
        self.assertEqual((process.wait(), len(ended), ended[0]), (0, 7, list(range(4))))
        self.assertLessEqual({sm for sms in ended for sm in sms}, {*range(4), *range(12, 16)})
        self.assertIn([*range(4), *range(12, 16)], ended)

    def test_launch_grows(self):
        """A launch that is under way has the SMs that its program gets, as soon as it gets them."""
        seen = []

        def choose():
            if corund.boards and struct.unpack_from("I", corund.boards, 4096 + ASKED)[0]:
                seen.append(time.monotonic())
            return part(0, ALL) if seen and seen[-1] - seen[0] > 0.1 else part(0, ALL // 4)
        corund = self.corund(choose)
        status, out, err = self.run_program(PROGRAMS / "where_blocks", self.manned(), "1", "60000", "60")
        self.assertEqual((status, err), (0, b""), out)
        self.assertEqual(self.sms(out.splitlines()[0]), list(range(16)))
        self.assertTrue(out.endswith(b"1 launches of 60000 thread blocks\n"))

    def test_launches_grow_at_random(self):
        """Launches of several streams, asked for one behind the other, that read what those before have written, while SMs come and go all the time."""
        seed = random.randrange(1 << 30)
        drawn = random.Random(seed)

        def choose():
            first = drawn.randrange(ALL)
            return drawn.choice([part(0, ALL), part(0, ALL // 4), part(3 * ALL // 4, ALL), part(first, drawn.randint(first + 1, ALL))])
        self.corund(choose, pause=0.0005)
        status, out, err = self.run_program(PROGRAMS / "growing_launches", self.manned(), "2", "3", "20000", "40")
        self.assertEqual((status, err), (0, b""), seed)
        self.assertTrue(out.startswith(b"2 streams of 3 launches of 20000 thread blocks"))
        self.assertGreater(self.trace.read_text().count(" further step"), 1)

    def test_one_launch(self):
        """A launch of the program is one in its stream, also a long one."""
        self.corund(lambda: part(0, ALL // 2))
        record = self.folder / "record.json"
        for program, words, asked in (("wide_launches", ("20",), 20), ("growing_launches", ("1", "3", "20000", "2"), 3)):
            environment = self.manned()
            status, _, err = self.run_program(CORUN, environment, "exec", "-q", "--functional", "--json", record, "--", "/usr/bin/env",
                                              f"LD_LIBRARY_PATH={environment['LD_LIBRARY_PATH']}", PROGRAMS / program, *words)
            self.assertEqual((status, err), (0, b""))
            self.assertTrue(self.kernels()[0], self.kernels())
            self.assertEqual(len(json.loads(record.read_text())["launches"]), asked)

    def test_last_worker_has_help(self):
        """Another launch of the program has all places on its one SM, and no limit rises behind that: when they are free, further workers come."""
        self.corund(lambda: part(0, ALL // 16))
        status, out, err = self.run_program(PROGRAMS / "growing_launches", self.manned(), "2", "1", "2000", "20")
        self.assertEqual((status, err), (0, b""))
        self.assertTrue(out.startswith(b"2 streams of 1 launches of 2000 thread blocks"))
        self.assertIn(" further step", self.trace.read_text())

    def test_without_corund(self):
        """One that is killed leaves a program with what it had, and then with everything."""
        corund = self.corund(lambda: part(0, ALL // 8))
        # pylint: disable=consider-using-with
        process = subprocess.Popen([PROGRAMS / "where_blocks", "100", "64", "20"], env=self.manned(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(self.sms(process.stdout.readline()), [0, 1])
        corund.close()
        out, err = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 0, err)
        self.assertIn(b"corund is gone, the program runs on ungoverned", err)
        self.assertEqual(self.sms(out.splitlines()[-2]), list(range(16)))

    def test_another_corund_within_a_launch(self):
        """A program that asks for nothing more comes to the next corund by itself, busy with what is under way, and obeys it."""
        def given(corund, offset):
            return struct.unpack_from("I", corund.boards, 4096 + offset)[0] if corund.boards else 0
        first = self.corund(lambda: part(0, ALL // 8))
        # pylint: disable=consider-using-with
        process = subprocess.Popen([PROGRAMS / "where_blocks", "2", "60000", "80"], env=self.manned(), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.wait_for(lambda: given(first, ASKED))
        first.close()
        self.socket.unlink()
        second = self.corund(lambda: part(ALL // 2, ALL // 2 + 64))
        self.wait_for(lambda: given(second, STARTING) == 1)
        self.assertIsNone(process.poll())
        self.assertEqual(given(second, ASKED), 0)
        self.wait_for(lambda: given(second, ASKED) and given(second, STARTING) == 0)
        out, err = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 0, err)
        self.assertTrue(out.endswith(b"2 launches of 60000 thread blocks\n"))

    def test_partition(self):
        """Who is alone has all SMs, in whole launches; who wants the GPU beside another one has those that its goal promises, or half of them."""
        self.start_daemon("--policy", "partition:window=50")
        other = Client(self.socket, name=b"other")
        self.addCleanup(other.close)
        other.put(OBEYS, 1)
        self.environment["CORUN_SHIM_TRACE"] = str(self.folder / "trace")
        process = self.share(PROGRAMS / "where_blocks", "--workers", "--name", "train", words=["100000", "256", "20"])

        def sees(*sms):
            for _ in range(400):
                if self.sms(process.stdout.readline()) == list(range(*sms)):
                    return True
            return False
        self.assertTrue(sees(16))
        other.put(STARTING, 1)
        self.assertTrue(sees(8, 16))
        self.assertEqual(struct.unpack_from("I", other.boards, other.at + SMS)[0], part(0, ALL // 2))
        self.assertEqual(self.ask("goal", str(process_of(self, "train")), "75%").returncode, 0)
        self.assertTrue(sees(4, 16))
        clients = self.clients()
        self.assertEqual((clients["train"]["sm_share"], clients["other"]["sm_share"]), (0.75, 0.25))
        self.assertEqual(self.ask("policy", "left-over").returncode, 0)
        self.assertTrue(sees(16))
        self.assertEqual(struct.unpack_from("I", other.boards, other.at + SMS)[0], 0)
        self.assertIsNone(self.clients()["train"]["sm_share"])
        self.assertEqual(self.ask("policy", "partition:window=20").returncode, 0)
        self.assertTrue(sees(4, 16))
        other.put(STARTING, 0)
        self.assertTrue(sees(16))
        process.kill()

    def test_policies(self):
        """Policies with limits on each SM, in front of a real shim and beside a program by hand; another one while they run; one is killed; one has no workers."""
        journal = self.folder / "journal"
        self.start_daemon("--policy", "workers:even", "--journal", str(journal))
        other = Client(self.socket, name=b"other")
        self.addCleanup(other.close)
        other.put(OBEYS, 1)
        other.put(STARTING, 1)
        process = self.share(PROGRAMS / "where_blocks", "--workers", "--name", "train", words=["1000000", "256", "20"])
        seen, ends = [[]], threading.Event()

        def look():
            """As a shim does: it has tables, and looks at them. pack_into would write zeros first, which corund may see."""
            with memoryview(other.boards) as file, file.cast("I") as words, file.cast("Q") as times:
                words[(other.sheet + SHEET_SMS) // 4 + 1] = 2048
                words[(other.sheet + SHEET_SMS) // 4 + 2] = 32
                while not ends.wait(0.002):
                    words[(other.sheet + OBEYED) // 4] = words[(other.at + SMS) // 4]
                    times[(other.sheet + LOOKED_NS) // 8] = time.monotonic_ns()
                    words[(other.sheet + SHEET_SMS) // 4] = 16

        def read():
            """The program never waits for whoever reads what it prints."""
            for line in process.stdout:
                seen[0] = self.sms(line) if line.strip() else seen[0]
        threads = [threading.Thread(target=what, daemon=True) for what in (look, read)]
        for thread in threads:
            thread.start()
        self.addCleanup(threads[0].join)
        self.addCleanup(ends.set)

        def given():
            limits = struct.unpack_from("16H", other.boards, other.sheet + LIMITS)
            return [sm for sm in range(16) if limits[sm]]

        def divided(count):
            """So many SMs are the program's, where it is seen to run, and the rest the other one's."""
            self.wait_for(lambda: len(seen[0]) == count and sorted(seen[0] + given()) == list(range(16)))
            self.wait_for(lambda: self.clients()["train"]["sm_share"] == count / 16)
            self.assertEqual(self.clients()["other"]["sm_share"], 1 - count / 16)
        divided(8)
        for policy, message in (("qos-rollover", "needs a machine that"), ("smqos", "gate=off does without"), ("profile", "speed-up curves"),
                                ("./mine.so", "no policy comes from a file"), ("fixed", "the split is missing")):
            done = self.ask("policy", policy)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(message, done.stderr)
        divided(8)
        self.assertEqual(self.ask("policy", "fixed:split=4/12").returncode, 0)
        self.wait_for(lambda: len(given()) in (4, 12))
        divided(16 - len(given()))
        self.assertEqual(self.ask("policy", "workers:even").returncode, 0)
        whole = Client(self.socket, name=b"whole")
        self.addCleanup(whole.close)
        whole.put(STARTING, 1)
        divided(8)
        self.assertEqual(whole.gate(), "COUNTED")
        self.assertIsNone(self.clients()["whole"]["sm_share"])
        process.kill()
        process.wait()
        self.wait_for(lambda: len(given()) == 16)
        self.assertIn('"SMs"', journal.read_text())

    FEW_SMS = "gtx980:sms=4"  # which hold 128 thread blocks

    def test_variables(self):
        """Kernels of modules with variables are workers, count in the variables that the program reads, see what it writes, and print; who uses a texture reference does not."""
        program, drawn = PROGRAMS / "module_variables", random.Random(3)
        self.environment["CORUN_CUDA_GPU"] = self.FEW_SMS
        self.corund(lambda: drawn.choice([part(0, ALL // 2), part(ALL // 2, ALL), part(ALL // 4, ALL // 2)]))
        plain = self.run_program(program, self.environment, "2")
        self.assertTrue(plain[1].endswith(b"2 launches of 150 thread blocks\n"), plain)
        for how in ("made", "kept"):
            self.assertEqual(self.run_program(program, self.manned(), "2"), plain)
            self.assertEqual(self.kernels(), ({"count", "speak", "idle"}, {"sample"}))
            self.assertIn(f" rewritten {how}", self.trace.read_text())
            self.assertNotIn("not found", self.trace.read_text())

    def test_hidden_variables(self):
        """A kernel whose variable the driver does not know by name stays whole, and uses the program's; others of the module are workers."""
        program = PROGRAMS / "module_variables"
        self.environment["CORUN_CUDA_GPU"] = self.FEW_SMS
        self.corund(lambda: part(0, ALL // 2))
        plain = self.run_program(program, self.environment, "1")
        below = str(PROGRAMS / "hidden_names.so")
        for hidden, ran, stayed in (("nobody", {"count", "speak", "idle"}, {"sample"}), ("place", {"speak", "idle"}, {"count", "sample"}),
                                    ("digits", {"speak", "idle"}, {"count", "sample"})):
            with self.subTest(hidden):
                done = self.run_program(program, self.manned(CORUN_SHIM_DRIVER=below, HIDDEN_NAME=hidden), "1")
                self.assertEqual(done, plain)
                self.assertEqual(self.kernels(), (ran, stayed))
                self.assertEqual(f" variable {hidden} not found" in self.trace.read_text(), hidden != "nobody")

    # A function for each word, in front of a driver that gives each handle again as soon as it may.
    AGAIN = """
import ctypes as c, sys
d, v, libc = c.CDLL("libcuda.so.1"), c.c_void_p, c.CDLL(None)
class Counts(c.Structure):
    _fields_ = [(name, c.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]
libc.mallinfo2.restype = Counts
text = b".version 6.0\\n.target sm_50\\n.address_size 64\\n.visible .entry %s(.param .u64 to) { ret; }\\n"
def do(name, *words):
    if getattr(d, name)(*words):
        raise SystemExit(name)
def begin():
    context = v()
    do("cuDevicePrimaryCtxRetain", c.byref(context), 0)
    do("cuCtxSetCurrent", context)
def module(name):
    new, function = v(), v()
    do("cuModuleLoadData", c.byref(new), text % name)
    do("cuModuleGetFunction", c.byref(function), new, name)
    return new, function
def library(name):
    new, kernel, function = v(), v(), v()
    do("cuLibraryLoadData", c.byref(new), text % name, None, None, 0, None, None, 0)
    do("cuLibraryGetKernel", c.byref(kernel), new, name)
    do("cuKernelGetFunction", c.byref(function), kernel)
    return new, function
def enumerated(load, ask):
    def made(name):
        new, function = v(), v()
        do(*load(c.byref(new), text % name))
        do(ask, c.byref(function), 1, new)
        return new, function
    return made
of_module = enumerated(lambda new, text: ("cuModuleLoadData", new, text), "cuModuleEnumerateFunctions")
of_library = enumerated(lambda new, text: ("cuLibraryLoadData", new, text, None, None, 0, None, None, 0), "cuLibraryEnumerateKernels")
def launch(function):
    parameters = (v * 1)(c.cast(c.pointer(c.c_uint64()), v))
    do("cuLaunchKernel", function, 5000, 1, 1, 32, 1, 1, 0, None, parameters, None)
def resets():
    for first in (module, library, of_module, of_library):
        for second in (module, library, of_module, of_library):
            begin()
            _, before = first(b"first")
            launch(before)
            do("cuDevicePrimaryCtxReset_v2", 0)
            begin()
            _, after = second(b"second")
            print(before.value == after.value, flush=True)
            launch(after)
            do("cuDevicePrimaryCtxReset_v2", 0)
def bytes_after(rounds, one):
    for _ in range(rounds):
        one()
    return libc.mallinfo2().uordblks
def flat():
    def unloads():
        for load, unload in ((module, "cuModuleUnload"), (library, "cuLibraryUnload"), (of_module, "cuModuleUnload"), (of_library, "cuLibraryUnload")):
            new, function = load(b"some")
            launch(function)
            do(unload, new)
    def ends():
        begin()
        for load in (module, library, of_module, of_library):
            launch(load(b"some")[1])
        do("cuDevicePrimaryCtxReset_v2", 0)
    def growth(one):
        before = bytes_after(800, one) # each place of a long launch has had one, and each thread that there is has a cache of the heap's
        for _ in range(3): # what is kept grows each time; another thread may hold something for a moment
            after = bytes_after(100, one)
            grown, before = max(0, after - before) // 1000, after
            if not grown:
                break
        return grown
    begin()
    for one in (unloads, ends):
        print(one.__name__, growth(one), "KB")
do("cuInit", 0)
globals()[sys.argv[1]]()
"""

    def again(self, word, **more):
        self.corund(lambda: part(0, ALL // 2))
        environment = self.manned(CORUN_SHIM_DRIVER=str(PROGRAMS / "handles_again.so"), CORUN_SHIM_CACHE="", PYTHONMALLOC="pymalloc", **more)
        status, out, err = self.run_program("/usr/bin/python3", environment, "-c", self.AGAIN, word)
        self.assertEqual((status, err), (0, b""), out)
        return out.decode().splitlines()

    def test_handles_are_given_again(self):
        """After the device's context has ended, a handle that was another kernel's is launched as the kernel for which the driver gave it, however the program got it."""
        lines = self.again("resets", TELL_LAUNCHES="1")
        self.assertEqual(lines.count("True"), 16, lines)
        after = [line for at, line in enumerate(lines) if "True" in lines[:at]]
        self.assertIn("second of second, rewritten", after)
        several = "\n".join(lines).split("True")
        for number, told in enumerate(several[1:-1]):
            self.assertIn("second of second, rewritten", told, number)
            self.assertNotIn("first", told.split("first of first, rewritten", 1)[0], number)

    def test_modules_come_and_go(self):
        """What the shim notes of modules, libraries and their kernels goes with them; also with their context."""
        self.assertEqual(self.again("flat"), ["unloads 0 KB", "ends 0 KB"])

    def test_corund_hangs_up(self):
        """During attach: the program comes again, soon at first, then after longer and longer times, and is governed as soon as corund answers."""
        come, left, attached, stop = [], [], threading.Event(), self.folder / "stop"

        class HangsUp(Corund):
            def answer(self, client):
                come.append(time.monotonic())
                if len(come) <= 4:
                    client.recv(4096)
                    time.sleep(0.04)
                    left.append(time.monotonic())
                    return
                attached.set()
                super().answer(client)
        corund = HangsUp(self.socket, lambda: part(0, ALL // 2))
        self.addCleanup(corund.close)
        word = self.AGAIN.replace('do("cuInit", 0)\n', """do("cuInit", 0)
def patient():
    import os, time
    begin()
    _, function = module(b"some")
    while not os.path.exists(sys.argv[2]):
        launch(function)
        time.sleep(0.001)
""")
        environment = self.manned(CORUN_SHIM_DRIVER=str(PROGRAMS / "handles_again.so"), CORUN_SHIM_CACHE="")
        with subprocess.Popen(["/usr/bin/python3", "-c", word, "patient", stop], env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as program:
            came = attached.wait(20)
            time.sleep(0.1)
            stop.touch()
            out, said = program.communicate(timeout=20)
        self.assertTrue(came, come)
        self.assertEqual((program.returncode, out), (0, b""), said)
        self.assertEqual(said.splitlines(), [b"corun: corund hangs up, the program runs ungoverned until it answers"])
        self.assertEqual(len(come), 5)
        for number, (before, after) in enumerate(zip(left, come[1:])):
            self.assertGreater(after - before, 0.05 * 2 ** number)

    def test_workers_are_kept(self):
        """The other form of a module is made once, beside those for slices."""
        corund = self.corund(lambda: part(0, ALL // 2))
        for how in ("made", "kept"):
            status, _, err = self.run_program(PROGRAMS / "where_blocks", self.manned(), "1", "64", "20")
            self.assertEqual((status, err), (0, b""))
            self.assertIn(f" rewritten {how}", self.trace.read_text())
        entry, = (self.folder / "cache" / "corun" / "workers").iterdir()
        entry.write_bytes(entry.read_bytes()[:-9])
        status, _, err = self.run_program(PROGRAMS / "where_blocks", self.manned(), "1", "64", "20")
        self.assertEqual((status, err), (0, b"corun: kernels of workers in " + bytes(entry) + b" are not used: it is damaged\n"))
        self.wait_for(lambda: len(corund.left) == 3)
        self.assertEqual(corund.left, [1, 1, 1])

    def test_usage(self):
        done = self.ask("share", "--slices", "--workers", "--", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("slices or workers, not both", done.stderr)


def process_of(test, name):
    return test.clients()[name]["pid"]


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
