#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Programs that share the simulated GPU of corund.

    test_daemon.py CORUN PROGRAMS TEST...

PROGRAMS is the folder of the compiled tests/cuda/programs; what is built of them in plain C lies in the folder above. What a program finds under
`corun exec` it finds here, and two programs that are expected have the same cycles in every run, whatever the host does meanwhile.
"""
import ctypes
import fcntl
import json
import os
import pathlib
import pty
import re
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import json_page  # noqa: E402  # pylint: disable=wrong-import-position
from python_with_numpy import find_python_with_numpy, needs_numpy  # noqa: E402  # pylint: disable=wrong-import-position

PYTHON = str(pathlib.Path(__file__).resolve().parents[2] / "python")
CORUN, PROGRAMS = (pathlib.Path(word).absolute() for word in sys.argv[1:3])
# Of tests/cuda/programs: every one that `corun exec` runs without options of its own. The first finds the GPU as it does alone: which of two warps makes the load that
# is noted of a kernel of `edges` depends on what others have left in caches and DRAM rows.
PLAIN = """edges vector_add reduction symbols streams host_memory managed pitched errors fault traps device_printf attributes host_functions
graph capture cooperative cooperative_pair pools wild threads forked priorities polling device_heap driver driver_link textures surfaces heat
driver_texture behind_atomics waiting_blocks structures elimination graph_memory mistakes per_thread_stream replayed two_files heaps""".split()
EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "corund"


def holds_writers():
    """Whether a process can make others of its threads wait that write to some pages."""
    if os.uname().machine != "x86_64":
        return False
    file = ctypes.CDLL(None).syscall(323, os.O_CLOEXEC | 1)  # userfaultfd, for faults of the process's own code
    if file >= 0:
        os.close(file)
    return file >= 0


HOLDS_WRITERS = holds_writers()
DRIVER = "driver_graph graph_changes driver_more driver_threads endings many_faults stream_values bulk_copies".split()
# Prints times, and which of several threads comes first.
TELLS_TIMES = {"cuda_bulk_copies", "cuda_driver_threads"}


def without_places(text):
    """Addresses lie elsewhere where others came before, and its clock goes on."""
    return re.sub(rb"0x[0-9a-f]+", b"X", re.sub(rb"(cycle|for) [0-9]+", rb"\1 N", text))


class Daemon(unittest.TestCase):
    def setUp(self):
        # The test cleans up after itself: pylint: disable=consider-using-with
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.socket = self.folder / "socket"
        self.environment = dict(os.environ, CORUN_DAEMON_SOCKET=str(self.socket))
        for name in [name for name in self.environment if name.startswith("CORUN_CUDA_")]:
            del self.environment[name]

    def start_daemon(self, *options, gpu="gtx980"):
        gpus = [word for one in gpu.split() for word in ("--simulate", one)]
        # pylint: disable=consider-using-with
        daemon = subprocess.Popen([CORUN.parent / "corund", *gpus, *options], env=self.environment,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(daemon.stdout.close)
        self.addCleanup(daemon.stderr.close)
        self.addCleanup(daemon.wait)
        self.addCleanup(daemon.kill)
        self.daemon = daemon
        self.assertIn(str(self.socket), daemon.stdout.readline())
        return daemon

    def stop_daemon(self):
        self.daemon.terminate()
        self.assertEqual(self.daemon.wait(20), 0)
        self.assertFalse(self.socket.exists())

    def share(self, program, *options, record=None, words=()):
        """The program, started."""
        environment = dict(self.environment)
        if record:
            record.mkdir()
            environment["CORUN_CUDA_RECORD"] = str(record)
        # pylint: disable=consider-using-with
        process = subprocess.Popen([CORUN, "share", *options, "--", program, *words], env=environment, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def end(self, process):
        out, err = process.communicate(timeout=300)
        return process.returncode, out, err

    def run_shared(self, program, *options, record=None):
        return self.end(self.share(program, *options, record=record))

    def set_patience(self, program):
        """One that looks at memory waits no longer for the GPU than it must."""
        self.environment["CORUN_CUDA_PATIENCE"] = "50ms" if program.name.startswith("polling") else "3s"

    def run_alone(self, program):
        done = subprocess.run([CORUN, "exec", "-q", "--keep-status", "--", program], env=self.environment, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=120, check=False)
        return done.returncode, done.stdout, done.stderr

    def ask(self, *words):
        return subprocess.run([CORUN, *words], env=self.environment, capture_output=True, text=True, timeout=20, check=False)

    def told(self):
        """The list as JSON."""
        done = self.ask("ps", "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def clients(self):
        done = subprocess.run([CORUN, "ps"], env=self.environment, capture_output=True, text=True, timeout=20, check=True)
        return [line.split() for line in done.stdout.splitlines()[2:]]

    def wait_for(self, holds):
        for _ in range(400):
            if holds():
                return
            time.sleep(0.025)
        self.fail("it does not come to that")

    @staticmethod
    def recorded(folder):
        """What the libraries wrote of a program: a row for each launch and copy, with cycles and counters."""
        return [path.read_bytes() for path in sorted(folder.iterdir())]


class Programs(Daemon):
    def compare(self, programs):
        self.start_daemon()
        for program in programs:
            with self.subTest(program.name):
                self.set_patience(program)
                alone, shared = self.run_alone(program), self.run_shared(program)
                self.assertEqual(shared[0], alone[0], shared)
                if program.name not in TELLS_TIMES:
                    self.assertEqual(without_places(shared[1]), without_places(alone[1]))
                    self.assertEqual(without_places(shared[2]), without_places(alone[2]))
        self.assertEqual(self.clients(), [])
        self.stop_daemon()

    def test_shared_runtime(self):
        self.compare([PROGRAMS / name for name in PLAIN])

    def test_static_runtime(self):
        self.compare([PROGRAMS / f"{name}-static" for name in PLAIN])

    def test_driver(self):
        self.compare([PROGRAMS.parent / f"cuda_{name}" for name in DRIVER])

    def test_stacks(self):
        """Of threads of kernels, as deep as the program has asked for; and of the host, registered while it is used."""
        self.start_daemon()
        for name, words in (("deep_calls", ()), ("registered", ("0",))):
            with self.subTest(name):
                self.assertEqual(self.end(self.share(PROGRAMS / name, words=words))[0], 0)
        self.stop_daemon()

    @unittest.skipUnless(HOLDS_WRITERS, "this process gets no userfaultfd here")
    def test_registered(self):
        """Other threads write to memory of the heap while it is registered and given back: nothing of that is lost."""
        self.start_daemon()
        for name in ("registered", "registered-static"):
            self.assertEqual(self.end(self.share(PROGRAMS / name, words=("50",))), (0, b"", b""))
        self.stop_daemon()


class Children(Daemon):
    """Of programs that have joined."""
    HEAD = """
import ctypes as c, mmap, os, signal, sys, time
d, v, n = c.CDLL("libcuda.so.1"), c.c_void_p, c.c_size_t
context, memory = v(), v()
assert d.cuInit(0) == 0 and d.cuCtxCreate_v2(c.byref(context), 0, 0) == 0 and d.cuMemAlloc_v2(c.byref(memory), n(1 << 20)) == 0
"""

    def test_registered_pages(self):
        """That a child writes to are its own, as of all private memory; those of its parent stay registered."""
        self.start_daemon()
        status, out, said = self.end(self.share("/usr/bin/python3", words=("-c", self.HEAD + """
pages = mmap.mmap(-1, 8192, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
pages[0], pages[4096] = 3, 4
place, there = v(c.addressof(c.c_char.from_buffer(pages))), v()
assert d.cuMemHostRegister_v2(place, n(8192), 2) == 0 and d.cuMemHostGetDevicePointer_v2(c.byref(there), place, 0) == 0
for turn in range(3):
    child = os.fork()
    if not child:
        good = pages[0] == 3 + turn and pages[4096] == 4
        pages[0], pages[4096] = 77, 78
        os._exit(0 if good and d.cuMemHostUnregister(place) else 1)
    print(os.waitpid(child, 0)[1], pages[0], pages[4096])
    pages[0] += 1
assert d.cuMemcpyDtoD_v2(memory, there, n(8192)) == 0
back = (c.c_uint8 * 8192)()
assert d.cuMemcpyDtoH_v2(back, memory, n(8192)) == 0 and d.cuMemHostUnregister(place) == 0
print(back[0], back[4096], pages[0])
""")))
        self.assertEqual((status, out), (0, b"0 3 4\n0 4 4\n0 5 4\n6 4 6\n"), said)
        self.stop_daemon()

    def test_child_outlives(self):
        """A child that uses no CUDA holds nothing of its parent's: when that is killed, its memory and its place are free."""
        self.start_daemon()
        program = self.share("/usr/bin/python3", "--name", "server", words=("-c", self.HEAD + "print(os.fork() or time.sleep(1000), flush=True)\ntime.sleep(1000)\n"))
        child = int(program.stdout.readline())
        told = self.told()
        self.assertEqual([client["memory_bytes"] for client in told["clients"]], [1 << 20])
        os.kill(told["clients"][0]["pid"], signal.SIGKILL)
        self.wait_for(lambda: not self.told()["clients"])
        self.assertEqual(self.told()["used_bytes"], 0)
        self.assertEqual(self.run_shared(PROGRAMS / "vector_add")[0], 0)
        os.kill(child, signal.SIGKILL)
        self.stop_daemon()

    def test_child_is_another_program(self):
        """A child that executes another CUDA program is a client of its own."""
        self.start_daemon()
        program = self.share("/usr/bin/python3", "--name", "server", words=("-c", self.HEAD + f"""
child = os.fork()
if not child: os.execv({str(PROGRAMS / "own_goal")!r}, ["own_goal", "100000"])
print(child, flush=True)
print(d.cuCtxSynchronize(), os.waitpid(child, 0)[1], d.cuCtxSynchronize())
"""))
        child = int(program.stdout.readline())
        self.wait_for(lambda: child in [client["pid"] for client in self.told()["clients"]])
        self.assertEqual(len(self.told()["clients"]), 2)
        os.kill(child, signal.SIGKILL)
        self.assertEqual(self.end(program)[:2], (0, b"0 9 0\n"))
        self.stop_daemon()


class Alone(Daemon):
    def test_cycles(self):
        """The first client finds the machine that `corun exec` makes: the same cycles and counters."""
        for name in ("heat", "streams", "elimination"):
            with self.subTest(name):
                self.start_daemon()
                self.assertEqual(self.run_shared(PROGRAMS / name, record=self.folder / name)[0], 0)
                self.stop_daemon()
                folder = self.folder / f"{name}-alone"
                folder.mkdir()
                environment = dict(self.environment, CORUN_CUDA_RECORD=str(folder), LD_LIBRARY_PATH=str(CORUN.parent / "cuda"))
                subprocess.run(["setarch", "-R", PROGRAMS / name], env=environment, capture_output=True, check=True, timeout=120)
                self.assertEqual(self.recorded(self.folder / name), self.recorded(folder))

    def test_goal_of_rate_alone(self):
        """A part of the rate alone is a goal once that rate is known: given, or seen."""
        self.start_daemon("--policy", "even")
        status, _, said = self.run_shared(PROGRAMS / "heat", "--goal", "90%", "--name", "server")
        self.assertNotEqual(status, 0)
        self.assertIn(b"run it once alone", said)
        self.assertEqual(self.run_shared(PROGRAMS / "heat", "--goal", "90%", "--isolated", "400")[0], 0)
        self.assertEqual(self.run_shared(PROGRAMS / "heat", "--name", "server")[0], 0)
        self.assertEqual(self.run_shared(PROGRAMS / "heat", "--goal", "90%", "--name", "server")[0], 0)
        self.stop_daemon()


class Together(Daemon):
    def share_all(self, policy, *clients):
        """Their records, and the daemon is gone. Clients: name, program, options."""
        expected = [word for name, _, _ in clients for word in ("--expect", name)]
        run = self.folder / f"run{len(list(self.folder.iterdir()))}"
        run.mkdir()
        self.start_daemon("--policy", policy, *expected)
        processes = [self.share(PROGRAMS / program, "--name", name, *options, record=run / name)
                     for name, program, options in reversed(clients)]
        for process in processes:
            self.assertEqual(self.end(process)[0], 0)
        self.stop_daemon()
        return [self.recorded(run / name) for name, _, _ in clients]

    def test_two(self):
        """Runs with goals, every second one beside processes that take the processor, give one and the same record."""
        clients = (("server", "heat", ("--goal", "50%", "--isolated", "400")), ("train", "elimination", ("--isolated", "300")))
        for policy in ("even", "smqos"):
            first = self.share_all(policy, *clients)
            self.assertTrue(all(first))
            self.repeat(first, clients, policy, least=3)

    def test_one_command(self):
        """Goals and best effort of two, three and eight are what they are in one `corun exec`, to the cycle."""
        two = (("server", "heat", ("--goal", "40%", "--isolated", "400")), ("train", "elimination", ("--isolated", "300")))  # which it reaches
        three = two + (("third", "elimination", ("--goal", "ipc=20")),)
        eight = tuple((f"client{i}", "elimination", ("--goal", f"ipc={10 + i}") if i % 2 else ()) for i in range(8))
        for policy, clients in ("even", two), ("smqos", two), ("smqos", three), ("spart-qos", eight):
            programs = [[":"] * (i > 0) + ["--name", name, *options, "--", PROGRAMS / program] for i, (name, program, options) in enumerate(clients)]
            done = subprocess.run([CORUN, "exec", "-q", "--gpu", "gtx980", "--policy", policy, "--json", "-", *sum(programs, [])], env=self.environment,
                                  capture_output=True, timeout=300, check=True)
            together = json.loads(done.stdout)
            self.assertTrue(all(program["goal_met"] for program in together["programs"] if program["goal"] and policy.endswith("qos")), together["programs"])
            told = sorted((launch["start_cycle"], launch["start_cycle"] + launch["cycles"]) for launch in together["launches"])
            records = b"".join(file for record in self.share_all(policy, *clients) for file in record)
            lines = [line.split(b"\t") for line in records.splitlines() if line.startswith(b"launch\t")]
            self.assertGreater(len(told), 100)
            self.assertEqual(sorted((int(line[9]), int(line[10])) for line in lines), told, (policy, len(clients)))

    def test_three(self):
        clients = (("one", "heat", ("--goal", "ipc=100")), ("two", "elimination", ()), ("three", "reduction", ()))
        self.repeat(self.share_all("even", *clients), clients)

    def repeat(self, first, clients, policy="even", least=2):
        """As often as CORUN_TEST_RUNS says, every second time beside two processes that take the processor."""
        for turn in range(1, max(least, int(os.environ.get("CORUN_TEST_RUNS", "0")))):
            # pylint: disable=consider-using-with
            load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 if turn % 2 else 0)]
            try:
                self.assertEqual(self.share_all(policy, *clients), first, (policy, turn))
            finally:
                for process in load:
                    process.kill()
                    process.wait()

    def share_ranks(self, first, second):
        """Records of a program of two processes, which do different things, and connect that much later than they start."""
        self.start_daemon("--policy", "smqos", "--expect", "ranks", "--expect", "ranks")
        run = self.folder / f"ranks{len(list(self.folder.iterdir()))}"
        script = f"(sleep {first}; exec {PROGRAMS / 'vector_add'}) & sleep 0.1; (sleep {second}; exec {PROGRAMS / 'reduction'}) & wait"
        self.assertEqual(self.end(self.share("/bin/sh", "--name", "ranks", record=run, words=["-c", script]))[0], 0)
        self.stop_daemon()
        return sorted(self.recorded(run))

    def test_processes_of_one_program(self):
        """Which of them is first is who started first, and not who connects first."""
        records = self.share_ranks(0, 0.4)
        self.assertEqual(len(records), 2)
        self.assertEqual(self.share_ranks(0.8, 0), records)
        self.assertEqual(self.share_ranks(0, 0), records)

    def disturb(self, stop, done):
        """Everything that a program that does not take part can do, again and again."""
        while not stop.is_set():
            for data in (b"", b"\xff" * 64, struct.pack("<II", 0, 112)[:6], struct.pack("<II", 15, 4) + b"\0" * 4):
                for _ in range(10):
                    with socket.socket(socket.AF_UNIX) as client:
                        try:
                            client.connect(str(self.socket))
                            client.sendall(data * 20)
                        except OSError:
                            continue
            self.ask("ps")
            self.ask("goal", "1", "none")
            self.ask("policy", "nothing")
            done.append(1)

    def test_disturbed(self):
        """Connections, garbage, unfinished messages, questions, refused wishes: nobody who computes notices."""
        clients = (("server", "heat", ("--goal", "50%", "--isolated", "400")), ("train", "elimination", ("--isolated", "300")))
        first, stop, done = self.share_all("smqos", *clients), threading.Event(), []
        thread = threading.Thread(target=self.disturb, args=(stop, done))
        thread.start()
        try:
            self.assertEqual(self.share_all("smqos", *clients), first)
        finally:
            stop.set()
            thread.join()
        self.assertTrue(done)

    def test_eight(self):
        clients = tuple((f"client{i}", "elimination", ("--goal", f"ipc={i}") if i else ()) for i in range(8))
        first = self.share_all("even", *clients)
        self.assertEqual(len(first), 8)
        self.repeat(first, clients)

    def test_machine_is_shared(self):
        """Beside another one a program takes longer than alone."""
        def last_cycle(record):
            return max(int(line.split(b"\t")[-1]) for line in record[0].splitlines() if line.startswith(b"copy"))
        alone = self.share_all("even", ("server", "heat", ()))
        both = self.share_all("even", ("server", "heat", ()), ("train", "elimination", ()))
        self.assertGreater(last_cycle(both[0]), last_cycle(alone[0]))


class Faults(Daemon):
    def test_killed(self):
        """Whoever is killed, at any moment, leaves nothing behind; what comes later runs."""
        self.start_daemon()
        for turn in range(8):
            process = self.share(PROGRAMS / "heat", "--name", "killed")
            self.wait_for(lambda: any(row[2] == "killed" for row in self.clients()))
            time.sleep(0.02 * turn)
            for row in self.clients():
                os.kill(int(row[1]), signal.SIGKILL)
            process.communicate(timeout=20)
            self.wait_for(lambda: not self.clients())
        self.assertEqual(self.run_shared(PROGRAMS / "vector_add")[0], 0)
        self.stop_daemon()

    def test_fault_of_another(self):
        """A client's kernels fault; those of the other one end as if alone."""
        self.start_daemon("--expect", "good", "--expect", "bad")
        good, bad = self.share(PROGRAMS / "heat", "--name", "good"), self.share(PROGRAMS / "fault", "--name", "bad")
        self.assertEqual(self.end(good), self.run_alone(PROGRAMS / "heat"))
        self.assertEqual(self.end(bad)[0], 0)
        self.stop_daemon()

    def test_stopped(self):
        """A client that stands still holds up the others, and no longer than the daemon is patient."""
        self.start_daemon("--patience", "1s", "--expect", "stopped", "--expect", "other")
        stopped = self.share(PROGRAMS / "heat", "--name", "stopped")
        self.wait_for(lambda: len(self.clients()) == 1)
        pid = int(self.clients()[0][1])
        os.kill(pid, signal.SIGSTOP)
        try:
            self.assertEqual(self.run_shared(PROGRAMS / "vector_add", "--name", "other")[0], 0)
        finally:
            os.kill(pid, signal.SIGCONT)
        self.assertEqual(self.end(stopped)[0], 0)
        self.stop_daemon()

    def connect(self):
        client = socket.socket(socket.AF_UNIX)
        self.addCleanup(client.close)
        client.connect(str(self.socket))
        client.settimeout(20)
        return client

    def test_garbage(self):
        self.start_daemon()
        for data in (b"\0" * 64, b"\xff" * 4096, struct.pack("<II", 0, 7) + b"1234567", struct.pack("<II", 14, 16) + b"\0" * 16,
                     struct.pack("<II", 99, 0), struct.pack("<II", 18, 4) + b"abcd"):
            client = self.connect()
            client.sendall(data)
            self.assertEqual(client.recv(4096), b"", data[:16])
        partial = self.connect()
        partial.sendall(struct.pack("<II", 0, 112)[:6])
        self.assertEqual(self.run_shared(PROGRAMS / "vector_add")[0], 0)
        partial.close()
        self.stop_daemon()

    def peak_kib(self):
        """Of memory that corund had at a time."""
        fields = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{self.daemon.pid}/status").read_text().splitlines())
        return int(fields["VmHWM"].split()[0])

    def test_long_messages(self):
        """Who has no context sends nothing long: connections do not fill corund's memory, whatever it has to begin with."""
        self.start_daemon()
        peak = self.peak_kib()
        names = re.findall(r"^FROM_\w+\((\w+),", (EXAMPLES.parents[1] / "src" / "wire" / "messages.def").read_text(), re.MULTILINE)
        for _ in range(10):
            client = self.connect()
            with self.assertRaises((BrokenPipeError, ConnectionResetError)):
                client.sendall(struct.pack("<II", names.index("MODULE"), 40 << 20) + bytes(39 << 20))
        self.assertLess(self.peak_kib() - peak, 8 << 10)
        self.assertEqual(self.run_shared(PROGRAMS / "vector_add")[0], 0)
        self.stop_daemon()

    def test_connections(self):
        """A thousand, some of them at once and more than there may be: the next program runs."""
        self.start_daemon()
        for _ in range(5):
            many = [self.connect() for _ in range(200)]
            for client in many:
                client.close()
        held = [self.connect() for _ in range(100)]
        self.assertEqual(self.run_shared(PROGRAMS / "vector_add")[0], 0)
        for client in held:
            client.close()
        self.stop_daemon()

    def test_more_connections_than_there_can_be(self):
        """Who is one too many is told so, and comes when there is a place again."""
        self.start_daemon()
        held = [self.connect() for _ in range(256)]
        for words in (("ps",), ("share", "--", PROGRAMS / "vector_add")):
            done = self.ask(*words)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("corund has as many connections as it can have", done.stderr)
        for client in held:
            client.close()
        self.assertEqual(self.run_shared(PROGRAMS / "vector_add")[0], 0)
        self.stop_daemon()

    def test_endless(self):
        """A kernel that does not end: the other program has its results, with and without a limit; a limit ends the kernel, SIGKILL the program."""
        alone = self.run_alone(PROGRAMS / "heat")
        self.start_daemon("--policy", "even", "--kernel-timeout", "1ms", "--expect", "endless", "--expect", "good")
        endless, good = self.share(PROGRAMS / "endless", "--name", "endless"), self.share(PROGRAMS / "heat", "--name", "good")
        self.assertEqual(self.end(good), alone)
        self.assertEqual(self.end(endless)[1], b"launched\n702 702\n")
        self.stop_daemon()
        self.start_daemon("--policy", "even", "--expect", "endless", "--expect", "good")
        endless, good = self.share(PROGRAMS / "endless", "--name", "endless"), self.share(PROGRAMS / "heat", "--name", "good")
        self.assertEqual(self.end(good), alone)
        self.assertEqual([row[2] for row in self.clients()], ["endless"])
        os.killpg(endless.pid, signal.SIGKILL)
        self.wait_for(lambda: not self.clients())
        self.assertEqual(self.run_shared(PROGRAMS / "vector_add")[0], 0)
        self.stop_daemon()

    def test_flood(self):
        """Who asks without end and reads nothing is dropped, and costs no more memory than it may; others have their results."""
        self.start_daemon()
        client, question = self.connect(), (struct.pack("<II", 15, 4) + b"\0" * 4) * 1000
        alone = self.run_alone(PROGRAMS / "vector_add")
        beside = self.share(PROGRAMS / "vector_add")
        client.settimeout(0.5)
        with self.assertRaises((BrokenPipeError, ConnectionResetError)):
            for _ in range(2000):
                try:
                    client.sendall(question)
                except socket.timeout:
                    pass
        self.assertEqual(self.end(beside), alone)
        fields = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{self.daemon.pid}/status").read_text().splitlines())
        self.assertLess(int(fields["VmHWM"].split()[0]), 400 << 10)
        self.assertEqual(self.run_shared(PROGRAMS / "vector_add"), alone)
        self.stop_daemon()

    def test_daemon_killed_under_load(self):
        """Three programs lose their GPU: each says so and ends by itself; those that come later have the next daemon."""
        for _ in range(2):
            self.start_daemon("--policy", "even")
            programs = [self.share(PROGRAMS / "own_goal", words=("200",)) for _ in range(3)]
            self.wait_for(lambda: sum(client["launches"] > 2 for client in self.told()["clients"]) == 3)
            self.daemon.kill()
            for status, _, said in map(self.end, programs):
                self.assertGreater(status, 0)
                self.assertEqual(said.count(b"corund is gone"), 1, said)
            self.daemon.wait()
        self.start_daemon()
        self.assertEqual(self.run_shared(PROGRAMS / "own_goal")[0], 0)
        self.stop_daemon()

    def test_daemon_gone(self):
        """A program whose daemon is killed gets errors, and ends."""
        self.start_daemon()
        process = self.share(PROGRAMS / "heat")
        self.wait_for(self.clients)
        self.daemon.kill()
        status, _, said = self.end(process)
        self.assertNotEqual(status, 0)
        self.assertIn(b"corund is gone", said)
        self.daemon.wait()
        self.start_daemon()  # its socket was left over
        self.assertEqual(self.run_shared(PROGRAMS / "vector_add")[0], 0)
        self.stop_daemon()


class Latencies(Daemon):
    """What becomes of a program changes no digit of the others: when their launches began and ended is the same in every run."""
    # A function for each word; they launch what adds one to a number.
    LAUNCHES = """
import ctypes as c, os, signal, sys, time
d, v = c.CDLL("libcuda.so.1"), c.c_void_p
text = b".version 6.0\\n.target sm_50\\n.address_size 64\\n.visible .entry add(.param .u64 p) { .reg .b64 %d; ld.param.u64 %d, [p]; red.global.add.u32 [%d], 1; ret; }\\n"
def do(name, *words):
    error = getattr(d, name)(*words)
    assert error == 0, (name, error)
context, module, function, place, number = v(), v(), v(), c.c_uint64(), c.c_uint32()
blocks = 20 if sys.argv[1] == "full" else 200  # seven thousand launches are under way as long as the other program runs
do("cuInit", 0)
do("cuCtxCreate_v2", c.byref(context), 0, 0)
def begin():
    do("cuModuleLoadData", c.byref(module), text)
    do("cuModuleGetFunction", c.byref(function), module, b"add")
    do("cuMemAlloc_v2", c.byref(place), c.c_size_t(4))
    do("cuMemsetD32_v2", place, 0, c.c_size_t(1))
    do("cuCtxSynchronize")
begin()
parameters = (v * 1)(c.cast(c.pointer(place), v))
def launch(stream=None):
    do("cuLaunchKernel", function, blocks, 1, 1, 32, 1, 1, 0, stream, parameters, None)
def told():
    do("cuCtxSynchronize")
    do("cuMemcpyDtoH_v2", c.byref(number), place, c.c_size_t(4))
    print(number.value // (blocks * 32))
def ends():
    for i in range(5):
        launch()
        if i % 2:
            do("cuCtxSynchronize")
def killed():
    ends()
    os.kill(os.getpid(), signal.SIGKILL)
def returns():
    ends()
    do("cuCtxDestroy_v2", context)
    time.sleep(float(sys.argv[2]))
    do("cuCtxCreate_v2", c.byref(context), 0, 0)
    begin()
    ends()
    told()
def full():
    streams = [v() for _ in range(5000)]
    for stream in streams:
        do("cuStreamCreate", c.byref(stream), 1)
    for stream in streams:
        launch(stream)
    for _ in range(2000):
        launch()
    told()
globals()[sys.argv[1]]()
"""

    def beside(self, *bad, meanwhile=None):
        """What is recorded of a good program, and how a bad one ended."""
        run = self.folder / f"run{len(list(self.folder.iterdir()))}"
        run.mkdir()
        self.start_daemon("--policy", "even", "--kernel-timeout", "1ms", "--expect", "good", "--expect", "bad")
        good = self.share(PROGRAMS / "heat", "--name", "good", record=run / "good")
        other = self.share(bad[0], "--name", "bad", words=bad[1:])
        if meanwhile:
            meanwhile()
        self.assertEqual(self.end(good), self.alone)
        ended = self.end(other)
        self.wait_for(lambda: not self.clients())
        self.stop_daemon()
        return self.recorded(run / "good"), ended

    def test_others(self):
        """Beside one that is killed between its launches, has a kernel that faults or does not end, or has more launches under way than corund takes."""
        self.alone = self.run_alone(PROGRAMS / "heat")
        python, seen = ("/usr/bin/python3", "-c", self.LAUNCHES), {}
        for what, bad, status, out in (("killed", (*python, "killed"), 137, b""), ("fault", (PROGRAMS / "fault",), 0, None),
                                       ("endless", (PROGRAMS / "endless",), None, b"launched\n702 702\n"), ("full", (*python, "full"), 0, b"7000\n")):
            with self.subTest(what):
                records, ended = self.beside(*bad)
                self.assertTrue(records)
                if status is not None:
                    self.assertEqual(ended[0], status, ended)
                if out is not None:
                    self.assertEqual(ended[1], out, ended)
                self.assertEqual(self.beside(*bad)[0], records)
                seen[what] = records
        self.assertGreater(len({str(records) for records in seen.values()}), 1)  # they are not the same whatever the other one does

    def test_returns(self):
        """Beside one that has no context for a while, however long: it is expected."""
        self.alone = self.run_alone(PROGRAMS / "heat")
        found = [self.beside("/usr/bin/python3", "-c", self.LAUNCHES, "returns", seconds) for seconds in ("0", "0.5")]
        self.assertEqual(found[0][1][:2], (0, b"5\n"), found[0][1])
        self.assertEqual(found[1], found[0])

    def test_stopped(self):
        """One that stands still now and then holds up time, and changes no digit."""
        self.alone = self.run_alone(PROGRAMS / "heat")

        def stop():
            for turn in range(4):
                self.wait_for(lambda: len(self.clients()) == 2)
                pid = next(int(row[1]) for row in self.clients() if row[2] == "bad")
                os.kill(pid, signal.SIGSTOP)
                time.sleep(0.1 * turn)
                os.kill(pid, signal.SIGCONT)
        words = (PROGRAMS / "own_goal", "40")
        self.assertEqual(self.beside(*words, meanwhile=stop), self.beside(*words))


class Pace(Daemon):
    def test_results(self):
        """Programs find what they find elsewhere; one that waits without calling, too."""
        self.start_daemon("--pace", "0.0005")
        for name in "vector_add reduction polling graph threads host_functions errors".split():
            with self.subTest(name):
                self.set_patience(PROGRAMS / name)
                alone, shared = self.run_alone(PROGRAMS / name), self.run_shared(PROGRAMS / name)
                self.assertEqual((shared[0], without_places(shared[1])), (alone[0], without_places(alone[1])), shared)
        self.stop_daemon()

    def test_nobody_holds_up(self):
        """One that stands still with work under way: time goes on, no faster than the pace, and the other one ends."""
        self.start_daemon("--pace", "0.0001", "--expect", "stopped", "--expect", "other")
        stopped, other = self.share(PROGRAMS / "heat", "--name", "stopped"), self.share(PROGRAMS / "heat", "--name", "other")
        self.wait_for(lambda: any(client["name"] == "stopped" and client["launches"] for client in self.told()["clients"]))
        pid = next(client["pid"] for client in self.told()["clients"] if client["name"] == "stopped")
        os.kill(pid, signal.SIGSTOP)
        try:
            self.assertEqual(self.end(other)[0], 0)
            began, first = time.monotonic(), self.told()
            time.sleep(0.5)
            told = self.told()
            passed = told["cycle"] - first["cycle"]
            self.assertIsNone(told["holder"])
            self.assertEqual(told["pace"], 0.0001)
            self.assertGreater(passed, 0)  # what the stopped one had launched has long ended; its context is there
            self.assertLessEqual(passed, 0.0001 * told["core_clock_khz"] * 1e3 * (time.monotonic() - began + 0.2) + 50000)
        finally:
            os.kill(pid, signal.SIGCONT)
        self.assertEqual(self.end(stopped), self.run_alone(PROGRAMS / "heat"))
        self.wait_for(lambda: not self.clients())
        still = self.told()["cycle"]
        time.sleep(0.1)
        self.assertEqual(self.told()["cycle"], still)
        self.stop_daemon()

    def test_refused(self):
        for pace in ("0", "2", "fast", "-1", "nan"):
            self.assertEqual(self.ask("daemon", "--simulate", "gtx980", "--pace", pace).returncode, 2, pace)
        done = self.ask("daemon", "--simulate", "gtx980", "--pace", "0.1", "--patience", "1s")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no meaning", done.stderr)


class Several(Daemon):
    """Several GPUs of one corund."""
    GPUS = "gtx980 quadro-v100 gtx980"

    def places(self):
        told = self.told()
        return {client["name"]: (client["device"], told["gpus"][client["device"]]["gpu"]) for client in told["clients"]}

    def test_placement(self):
        """By number, by name, by CUDA_VISIBLE_DEVICES; else where each program has most SMs. Results are those of that GPU."""
        self.start_daemon("--policy", "even", gpu=self.GPUS)
        held = []
        for name, options, visible in (("first", (), None), ("number", ("--gpu", "0"), None), ("name", ("--gpu", "gtx980"), None),
                                       ("seen", (), "2,1"), ("said", ("--gpu", "1"), "2"), ("next", (), None)):
            if visible:
                self.environment["CUDA_VISIBLE_DEVICES"] = visible
            held.append(self.share(PROGRAMS / "own_goal", "--name", name, *options, words=("100000",)))
            self.environment.pop("CUDA_VISIBLE_DEVICES", None)
            self.wait_for(lambda name=name: name in self.places())
        self.assertEqual(self.places(), {"first": (1, "quadro-v100"), "number": (0, "gtx980"), "name": (2, "gtx980"), "seen": (2, "gtx980"),
                                         "said": (1, "quadro-v100"), "next": (1, "quadro-v100")})
        listed = {row[2]: row[-2:] for row in self.clients()}
        self.assertEqual(listed["name"], ["2", "gtx980"])
        for process in held:
            os.killpg(process.pid, signal.SIGKILL)
        self.wait_for(lambda: not self.clients())
        for wanted, visible in (("3", None), ("titan", None), (None, "7")):
            if visible:
                self.environment["CUDA_VISIBLE_DEVICES"] = visible
            status, _, said = self.run_shared(PROGRAMS / "vector_add", *(("--gpu", wanted) if wanted else ()))
            self.assertNotEqual(status, 0)
            self.assertIn(f"no GPU `{wanted or visible}` here: 0 gtx980, 1 quadro-v100, 2 gtx980".encode(), said)
        self.environment["CUDA_VISIBLE_DEVICES"] = ""  # as ever: no GPU at all
        self.assertNotEqual(self.run_shared(PROGRAMS / "vector_add")[0], 0)
        del self.environment["CUDA_VISIBLE_DEVICES"]
        self.stop_daemon()

    def test_cycles(self):
        """Each GPU has its own time and clients: cycles are those of that GPU alone, however many run beside it."""
        options = ("--policy", "even", "--expect", "one", "--expect", "two")
        self.start_daemon(*options, gpu="quadro-v100 gtx980:sms=200")  # the larger one comes first
        both = [self.share(PROGRAMS / "heat", "--name", name, "--gpu", gpu, record=self.folder / name) for name, gpu in (("one", "0"), ("two", "1"))]
        for process in both:
            self.assertEqual(self.end(process)[0], 0)
        self.assertEqual(sorted(gpu["policy"] for gpu in self.told()["gpus"]), ["even", "even"])
        self.stop_daemon()
        for name, gpu in (("one", "quadro-v100"), ("two", "gtx980:sms=200")):
            self.start_daemon("--policy", "even", gpu=gpu)
            self.assertEqual(self.run_shared(PROGRAMS / "heat", record=self.folder / f"{name}-alone")[0], 0)
            self.stop_daemon()
            # Addresses are those of the client's number, which decide cache sets: what was launched and how much is the same.
            self.assertEqual(len(self.recorded(self.folder / name)[0].splitlines()), len(self.recorded(self.folder / f"{name}-alone")[0].splitlines()))
        self.assertEqual(self.recorded(self.folder / "one"), self.recorded(self.folder / "one-alone"))

    def test_expected(self):
        """The GPUs of expected programs do not depend on which of them comes first."""
        for order in (("a", "b", "c"), ("c", "b", "a")):
            self.start_daemon("--expect", "a", "--expect", "b", "--expect", "c", gpu="gtx980 gtx980")
            for name in order[:2]:
                self.share(PROGRAMS / "own_goal", "--name", name, words=("5",))
                self.wait_for(lambda name=name: name in self.places())
            places = {name: place[0] for name, place in self.places().items()}
            self.assertEqual(places, {name: {"a": 0, "b": 1, "c": 0}[name] for name in order[:2]})
            self.assertEqual(self.run_shared(PROGRAMS / "vector_add", "--name", order[2])[0], 0)
            self.stop_daemon()

    def test_tools(self):
        """Policies of one and of all, pictures, metrics and the journal say which GPU it is."""
        metrics, journal = self.folder / "corund.prom", self.folder / "journal.json"
        self.start_daemon("--policy", "even", "--metrics", str(metrics), "--journal", str(journal), gpu="gtx980 quadro-v100")
        for words, status, policies in ((("smqos", "--gpu", "1"), 0, "0 gtx980 even\n1 quadro-v100 smqos\n"),
                                        (("spart-qos", "--gpu", "gtx980"), 0, "0 gtx980 spart-qos\n1 quadro-v100 smqos\n"),
                                        (("even", "--gpu", "titan"), 5, None), (("even", "--gpu", "2"), 5, None),
                                        (("smk",), 0, "0 gtx980 smk\n1 quadro-v100 smk\n")):
            self.assertEqual(self.ask("policy", *words).returncode, status, words)
            if policies:
                self.assertEqual(self.ask("policy").stdout, policies)
        self.assertEqual(self.ask("policy", "--gpu", "1").stdout, "smk\n")
        process = self.share(PROGRAMS / "own_goal", "--name", "one", "--gpu", "1", words=("100000",))
        self.wait_for(lambda: any(client["launches"] and client["sms"] for client in self.told()["clients"]))
        self.assertEqual(json_page.differences("Programs under corund", self.told()), ([], []))
        picture = self.ask("top", "--once").stdout.splitlines()
        self.assertRegex(picture[0], "^0 gtx980, 16 SMs, policy smk")
        self.assertRegex(picture[1], "^0 programs")
        self.assertTrue(any(line.startswith("1 quadro-v100, 80 SMs, policy smk") for line in picture), picture)
        self.assertTrue(picture[-1].startswith("one"), picture)
        self.daemon.send_signal(signal.SIGHUP)  # there is no file; metrics are written again all the same
        self.wait_for(lambda: metrics.exists() and 'corun_client_waits{client="0",name="one"' in metrics.read_text())
        text = metrics.read_text()
        self.assertIn('corun_sms{device="1"} 80\n', text)
        self.assertRegex(text, r'corun_client_launches_total\{client="0",name="one",pid="[0-9]+",uid="[0-9]+",device="1"\}')
        os.killpg(process.pid, signal.SIGKILL)
        self.wait_for(lambda: not self.clients())
        self.stop_daemon()
        events = json.loads(journal.read_text())
        self.assertEqual([event["args"]["name"] for event in events if event["name"] == "process_name"], ["gtx980", "quadro-v100"])
        seen = [(event["pid"], event["name"], event["args"].get("is")) for event in events if event.get("ph") == "i"]
        for wanted in ((2, "client", "comes"), (2, "client", "goes"), (1, "policy", "spart-qos"), (2, "policy", "smqos")):
            self.assertIn(wanted, seen)
        self.assertNotIn((1, "client", "comes"), seen)

    def test_faults(self):
        """A client that stands still holds up its own GPU alone."""
        self.start_daemon(gpu="gtx980 gtx980")
        stopped = self.share(PROGRAMS / "own_goal", "--name", "stopped", "--gpu", "0", words=("100000",))
        self.wait_for(lambda: any(client["launches"] for client in self.told()["clients"]))
        os.kill(self.told()["clients"][0]["pid"], signal.SIGSTOP)
        self.assertEqual(self.run_shared(PROGRAMS / "heat", "--gpu", "1"), self.run_alone(PROGRAMS / "heat"))
        os.killpg(stopped.pid, signal.SIGKILL)
        self.wait_for(lambda: not self.clients())
        self.stop_daemon()


class Lost(Daemon):
    """Whatever a program is calling when its corund ends, or stands still."""
    KINDS = "launches stream_waits device_waits copies copies_that_wait allocations pools queries events functions callbacks".split()
    LAUNCH_FAILURE = 719

    def start_program(self):
        """It goes on until its input ends."""
        input_, self.input = os.pipe()
        # pylint: disable=consider-using-with
        process = subprocess.Popen([CORUN, "share", "--", PROGRAMS / "lost_gpu"], env=self.environment, stdin=input_,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        os.close(input_)
        for end in (process.stdout.close, process.stderr.close, process.wait, process.kill):
            self.addCleanup(end)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def expect(self, process, status, error):
        out, said = process.communicate(timeout=120)
        self.assertEqual(out.decode().splitlines(), [f"{kind} {error}" for kind in self.KINDS], said)
        self.assertEqual(process.returncode, status, said)
        return said

    def test_ends(self):
        """Every kind of call comes back with the same error, in every thread and ever after, and what has happened is said once, by its name."""
        for how in (signal.SIGKILL, signal.SIGTERM):
            for pause in (0, 0.3, 1):
                with self.subTest(how.name, pause=pause):
                    self.start_daemon("--policy", "even")
                    programs, inputs = [], []
                    for _ in range(2):
                        programs.append(self.start_program())
                        inputs.append(self.input)
                    time.sleep(pause)
                    self.daemon.send_signal(how)
                    for process in programs:
                        said = self.expect(process, 3, self.LAUNCH_FAILURE)
                        self.assertEqual(said.count(b"corund is gone"), 1, said)
                    for one in inputs:
                        os.close(one)
                    self.daemon.wait()

    def test_stands_still(self):
        """Programs wait for a corund that is stopped, and find what they find without."""
        self.start_daemon()
        process = self.start_program()
        for _ in range(2):
            time.sleep(0.3)
            self.daemon.send_signal(signal.SIGSTOP)
            time.sleep(2.5)
            self.daemon.send_signal(signal.SIGCONT)
        time.sleep(0.3)
        os.close(self.input)
        self.assertEqual(self.expect(process, 0, 0), b"")
        self.stop_daemon()

    def test_upgrade(self):
        """One that is replaced is noticed by none of the calls."""
        self.start_daemon()
        process = self.start_program()
        for _ in range(5):
            time.sleep(0.3)
            self.daemon.send_signal(signal.SIGUSR2)
        time.sleep(0.5)
        os.close(self.input)
        self.assertEqual(self.expect(process, 0, 0), b"")
        self.stop_daemon()


class Upgrade(Daemon):
    """SIGUSR2: the process becomes the corund that its file is by now, and programs run on."""
    def restarts(self):
        """How often it has said that it is ready again; past the buffer of a text stream, in which select sees nothing."""
        said, pipe = b"", self.daemon.stdout.fileno()
        while select.select([pipe], [], [], 0)[0] and (more := os.read(pipe, 65536)):
            said += more
        return said.count(str(self.socket).encode())

    def upgrade(self):
        self.daemon.send_signal(signal.SIGUSR2)
        self.assertTrue(select.select([self.daemon.stdout], [], [], 20)[0])
        self.assertIn(str(self.socket), self.daemon.stdout.readline())

    def test_programs_run_on(self):
        """Goals, policies, rates and counts stay; results are as ever; descriptors do not grow; connections of all kinds go on."""
        self.start_daemon("--policy", "even", gpu="gtx980 quadro-v100")
        idle = socket.socket(socket.AF_UNIX)
        self.addCleanup(idle.close)
        idle.connect(str(self.socket))
        self.assertEqual(self.run_shared(PROGRAMS / "heat", "--name", "known", "--gpu", "0")[0], 0)
        held = [self.share(PROGRAMS / "own_goal", "--name", f"held{gpu}", "--gpu", gpu, words=("40",)) for gpu in ("0", "1")]
        self.wait_for(lambda: sum(client["launches"] > 3 for client in self.told()["clients"]) == 2)
        self.assertEqual(self.ask("policy", "--gpu", "1", "smk").returncode, 0)
        pids = {client["name"]: client["pid"] for client in self.told()["clients"]}
        self.assertEqual(self.ask("goal", str(pids["held1"]), "ipc=7").returncode, 0)
        idle.sendall(struct.pack("<II", 15, 4)[:5])  # the half of a message
        before, files = self.told(), len(list(pathlib.Path(f"/proc/{self.daemon.pid}/fd").iterdir()))
        for turn in range(4):
            self.upgrade()
            told = self.told()
            self.assertEqual([gpu["policy"] for gpu in told["gpus"]], ["even", "smk"])
            for now, then in zip(told["clients"], before["clients"]):
                self.assertEqual([now[key] for key in ("client", "pid", "uid", "name", "device", "goal", "memory_bytes")],
                                 [then[key] for key in ("client", "pid", "uid", "name", "device", "goal", "memory_bytes")])
                self.assertGreaterEqual(now["launches"], then["launches"], turn)
            for now, then in zip(told["gpus"], before["gpus"]):
                self.assertGreaterEqual(now["cycle"], then["cycle"])
            before = told
        self.assertEqual(next(client["goal_value"] for client in told["clients"] if client["name"] == "held1"), 7)
        self.wait_for(lambda: len(list(pathlib.Path(f"/proc/{self.daemon.pid}/fd").iterdir())) <= files)  # those of tools go
        idle.sendall(struct.pack("<II", 15, 4)[5:] + b"\0" * 4)
        self.assertGreater(len(idle.recv(100)), 8)
        for process in held:
            self.assertEqual(self.end(process)[0], 0)
        self.assertEqual(self.run_shared(PROGRAMS / "heat", "--name", "known", "--gpu", "0", "--goal", "50%")[0], 0)
        self.stop_daemon()

    def test_every_kind(self):
        """Textures, graphs, pools, managed memory, contexts that fail: programs find what they find alone, while one corund follows the other.

        But for programs that count how often they had to ask (streams): time goes on while corund drains.
        """
        self.start_daemon("--policy", "even")
        stop = threading.Event()

        def again_and_again():
            while not stop.wait(0.05):
                self.daemon.send_signal(signal.SIGUSR2)
        thread = threading.Thread(target=again_and_again)
        thread.start()
        try:
            for name in ("heat vector_add reduction symbols host_memory managed errors fault device_printf graph cooperative pools threads "
                         "device_heap textures surfaces structures graph_memory elimination-static heat-static".split()):
                with self.subTest(name):
                    alone, shared = self.run_alone(PROGRAMS / name), self.run_shared(PROGRAMS / name)
                    self.assertEqual((shared[0], without_places(shared[1])), (alone[0], without_places(alone[1])), shared)
        finally:
            stop.set()
            thread.join()
        self.assertGreater(self.restarts(), 20)
        self.wait_for(lambda: not self.clients())
        self.stop_daemon()

    def test_signals(self):
        """That come while one corund becomes the other wait until that listens: none of them ends it."""
        file = self.folder / "corund.yaml"
        file.write_text(f"simulate: gtx980:sms=2\nsocket: {self.socket}\n")
        # pylint: disable=consider-using-with
        daemon = subprocess.Popen([CORUN.parent / "corund", "--configuration", file], env=self.environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        for end in (daemon.stdout.close, daemon.wait, daemon.kill):
            self.addCleanup(end)
        self.daemon = daemon
        self.assertIn(str(self.socket), daemon.stdout.readline())
        held = self.share(PROGRAMS / "own_goal", words=("20",))
        for _ in range(6):
            daemon.send_signal(signal.SIGUSR2)
            for _ in range(20000):
                if select.select([daemon.stdout], [], [], 0.001)[0]:
                    break
                daemon.send_signal(signal.SIGHUP)
            self.assertIn(str(self.socket), daemon.stdout.readline())
        self.assertEqual(self.end(held)[0], 0)
        self.stop_daemon()

    def upgrade_and(self, kind, then):
        """A corund with the policy even, whose next one answers when it is asked, and does something then; the file has another policy by now."""
        own, file = self.folder / "corund", self.folder / "corund.yaml"
        own.unlink(missing_ok=True)
        shutil.copy(CORUN, own)
        file.write_text(f"{kind}\nsocket: {self.socket}\npolicy: even\n")
        # pylint: disable=consider-using-with
        daemon = subprocess.Popen([own, "--configuration", file], text=True, stdin=subprocess.DEVNULL,
                                  env=dict(self.environment, CORUN_DATA=str(CORUN.parent / "data"), CORUN_SHIM_DRIVER="of the test"),
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for end in (daemon.stdout.close, daemon.stderr.close, daemon.wait, daemon.kill):
            self.addCleanup(end)
        self.daemon = daemon
        self.assertIn(str(self.socket), daemon.stdout.readline())
        own.unlink()
        own.write_text(f'#!/bin/sh\ncase "$*" in *--takes-over*) said=$({CORUN.parent}/corund "$@"); {then}; echo "$said"; exit;; esac\nexec {CORUN.parent}/corund "$@"\n')
        own.chmod(0o755)
        file.write_text(f"{kind}\nsocket: {self.socket}\npolicy: left-over\n")
        daemon.send_signal(signal.SIGUSR2)

    def test_signals_while_it_asks(self):
        """What comes while the next one is asked whether it takes over is heard: the file is read again, and the end is the end."""
        for kind in ("simulate: gtx980", "hardware: true"):
            with self.subTest(kind):
                self.upgrade_and(kind, "kill -HUP $PPID")
                self.assertIn(str(self.socket), self.daemon.stdout.readline())
                self.wait_for(lambda: self.ask("policy").stdout == "left-over\n")
                self.stop_daemon()
                self.upgrade_and(kind, "kill -TERM $PPID")
                self.assertEqual(self.daemon.wait(20), 0)
                self.assertFalse(self.socket.exists())

    def test_file_is_wrong_meanwhile(self):
        """A configuration that has become wrong since the next one was asked, while kernels of programs ended: nothing changes."""
        self.upgrade_and("simulate: gtx980", f"echo 'simulate: [' >{self.folder}/corund.yaml")
        while "it stays the corund that it is" not in self.daemon.stderr.readline():
            self.assertIsNone(self.daemon.poll())
        self.assertEqual(self.ask("policy").stdout, "even\n")
        self.assertEqual(self.run_shared(PROGRAMS / "vector_add")[0], 0)
        self.stop_daemon()

    def test_refused(self):
        """Another version, other GPUs, no file, a kernel that does not end: said, nothing changes, and programs run on."""
        corund, file = self.folder / "bin" / "corund", self.folder / "corund.yaml"
        corund.parent.mkdir()
        shutil.copy(CORUN, corund)
        file.write_text("simulate: gtx980:sms=4\n")
        # pylint: disable=consider-using-with
        daemon = subprocess.Popen([corund, "--configuration", file], env=dict(self.environment, CORUN_DATA=str(CORUN.parent / "data")), text=True,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for end in (daemon.stdout.close, daemon.stderr.close, daemon.wait, daemon.kill):
            self.addCleanup(end)
        self.daemon = daemon
        self.assertIn(str(self.socket), daemon.stdout.readline())
        program = self.share(PROGRAMS / "endless")
        self.wait_for(lambda: self.clients() and self.told()["cycle"] > 100000)

        def refused(why):
            daemon.send_signal(signal.SIGUSR2)
            said = daemon.stderr.readline()
            while "it stays the corund that it is" not in said:  # what the other one says of its configuration
                said = daemon.stderr.readline()
            self.assertIn(why, said)
            self.assertEqual(len(self.clients()), 1)
        refused("a kernel has not ended")
        file.write_text("simulate: gtx980:sms=5\n")
        refused("another version, or would have other GPUs")
        file.write_text("simulate: [")
        refused("another version, or would have other GPUs")
        file.write_text("simulate: gtx980:sms=4\n")
        corund.unlink()
        refused("cannot be started")
        corund.write_text("#!/bin/sh\necho corund handover=99\n")
        corund.chmod(0o755)
        refused("another version")
        corund.unlink()
        shutil.copy(CORUN, corund)
        os.killpg(program.pid, signal.SIGKILL)
        self.wait_for(lambda: not self.clients())
        self.upgrade()
        self.assertEqual(self.run_shared(PROGRAMS / "vector_add")[0], 0)
        self.stop_daemon()


class Goals(Daemon):
    """Goals that a program gives itself: its calls in their order, so the digits are the same in every run."""
    def test_status(self):
        """NONE, half of the rate alone, more than all of it, and a kind that corund has not: values of enum corun_status."""
        self.start_daemon("--policy", "even", "--expect", "own")
        process = self.share(PROGRAMS / "own_goal", "--name", "own", "--isolated", "400", words=("1", "0", "0", "1", "0.5", "1", "1.5", "3", "5"))
        status, out, said = self.end(process)
        self.assertEqual((status, out), (0, b"0 0 0 5 5 good\n"), said)
        self.assertIn(b"at most 100%", said)
        self.stop_daemon()

    def test_unknown_rate(self):
        self.start_daemon()
        status, out, said = self.end(self.share(PROGRAMS / "own_goal", words=("1", "1", "0.5")))
        self.assertEqual((status, out), (0, b"0 5 good\n"), said)
        self.assertIn(b"the rate alone", said)
        self.stop_daemon()

    def test_elsewhere(self):
        """Without corund the program runs as it is."""
        done = subprocess.run([CORUN, "exec", "-q", "--", PROGRAMS / "own_goal", "1", "1", "0.5"], capture_output=True, timeout=300, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, b"3 3 good\n"), done.stderr)

    @needs_numpy
    def test_from_python(self):
        self.start_daemon()
        program = pathlib.Path(__file__).resolve().with_name("own_goal.py")
        status, out, said = self.end(self.share(find_python_with_numpy(), "--isolated", "400", words=(program, PYTHON)))
        self.assertEqual((status, out.decode().splitlines()),
                         (0, ["UNSUPPORTED", "OK OK OK ARGUMENT OK OK",
                              "a goal is 90%, ipc=300, ms=20, fps=30, none, or a fraction of the rate alone, not 'much'"]), said)
        script = ("import sys; sys.path.insert(0, sys.argv[1]); import corun; node = corun.Node(command=sys.argv[2]); node.set_policy('smk');"
                  "print(node.policy, node.list()['gpu'], node.list()['clients'])\n"
                  "try: node.set_goal(1, '50%')\nexcept corun.CorunError as error: print(error.status, error)")
        done = subprocess.run([find_python_with_numpy(), "-c", script, PYTHON, CORUN], env=self.environment, capture_output=True, text=True, timeout=300,
                              check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "smk gtx980 []\nNOT_FOUND corun: process 1 is no client\n"), done.stderr)
        self.stop_daemon()

    def run_beside(self, *words):
        run = self.folder / f"run{len(list(self.folder.iterdir()))}"
        run.mkdir()
        self.start_daemon("--policy", "smqos", "--expect", "own", "--expect", "other")
        own = self.share(PROGRAMS / "own_goal", "--name", "own", "--isolated", "1000", record=run / "own", words=words)
        other = self.share(PROGRAMS / "own_goal", "--name", "other", "--isolated", "1000", record=run / "other", words=("20",))
        self.assertEqual(self.end(own)[0], 0)
        self.assertEqual(self.end(other)[0], 0)
        self.stop_daemon()
        return self.recorded(run / "own") + self.recorded(run / "other")

    def test_it_counts(self):
        """Another goal gives other cycles; the same goals the same ones."""
        without = self.run_beside("6", "0", "0")
        high = self.run_beside("6", "1", "0.9")
        self.assertEqual(self.run_beside("6", "1", "0.9"), high)
        self.assertNotEqual(high, without)


class Idle(Daemon):
    """Programs that say that they want nothing for a while: time goes on without them, and comes to the same cycles whatever they do meanwhile."""
    PROGRAM = PROGRAMS / "own_idle"
    OTHER = PROGRAMS / "elimination"  # half a million cycles

    def beside(self, *words, load=0):
        """What is recorded of the other program and of the idle one, and how that ended."""
        run = self.folder / f"run{len(list(self.folder.iterdir()))}"
        run.mkdir()
        self.start_daemon("--policy", "even", "--expect", "idle", "--expect", "other")
        # pylint: disable=consider-using-with
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(load)]
        try:
            idle = self.share(self.PROGRAM, "--name", "idle", record=run / "idle", words=words)
            other = self.share(self.OTHER, "--name", "other", record=run / "other")
            self.assertEqual(self.end(other)[0], 0)
            ended = self.end(idle)
        finally:
            for process in busy:
                process.kill()
                process.wait()
        self.wait_for(lambda: not self.clients())
        self.stop_daemon()
        return self.recorded(run / "other"), self.recorded(run / "idle"), ended

    def test_digits(self):
        """However long it works on the host meanwhile, beside load or not: the same cycles of both, and others without the idleness."""
        first = self.beside("4", "20000", "0")
        self.assertEqual(first[2][:2], (0, b"3 0 19 good\n"), first)
        for turn in range(1, max(3, int(os.environ.get("CORUN_TEST_RUNS", "0")))):
            self.assertEqual(self.beside("4", "20000", str(5 * turn), load=2 * (turn % 2)), first)
        self.assertNotEqual(self.beside("4", "0", "0")[:2], first[:2])

    def test_killed(self):
        """One that is killed while it is idle leaves when it would have come back: the other one does not notice when that was."""
        first = self.beside("2", "100000", "0", "killed")
        self.assertEqual(first[2][:2], (137, b"3 0\n"), first)
        for work in "20", "60":
            self.assertEqual(self.beside("2", "100000", work, "killed")[0], first[0])

    def test_elsewhere(self):
        """Alone under corund, it has the cycles that it has without; the same time passes there."""
        self.start_daemon()
        shared = self.end(self.share(self.PROGRAM, record=self.folder / "shared", words=("3", "20000", "5")))
        self.stop_daemon()
        self.assertEqual(shared[:2], (0, b"3 0 19 good\n"))
        for nanoseconds, out in ("20000", b"3 0 19 good\n"), ("0", b"3 0 1 good\n"), ("open", b"3 0 1 good\n"):
            folder = self.folder / nanoseconds
            folder.mkdir()
            environment = dict(self.environment, CORUN_CUDA_RECORD=str(folder), LD_LIBRARY_PATH=str(CORUN.parent / "cuda"))
            done = subprocess.run(["setarch", "-R", self.PROGRAM, "3", nanoseconds, "0"], env=environment, capture_output=True, check=True, timeout=120)
            self.assertEqual(done.stdout, out)
            (self.assertEqual if nanoseconds == "20000" else self.assertNotEqual)(self.recorded(folder), self.recorded(self.folder / "shared"))

    def test_nobody_is_held_up(self):
        """Beside one that is idle for a quarter of an hour of the GPU, or until it calls, and works on for as long as it likes, another program ends. Then that time has passed."""
        for nanoseconds, state in ("1000000000000", "host"), ("open", "idle"):
            with self.subTest(nanoseconds):
                self.start_daemon("--expect", "idle", "--expect", "other")
                idle = self.share(self.PROGRAM, "--name", "idle", words=("1", nanoseconds, "0", "stay"))
                self.assertEqual(self.run_shared(self.OTHER, "--name", "other")[0], 0)
                self.assertEqual(idle.stdout.readline(), b"3 0\n")
                told = self.told()
                self.assertEqual([(row["name"], row["state"]) for row in told["clients"]], [("idle", state)])
                self.assertEqual(told["holder"] is None, state == "idle")
                if state == "idle":
                    self.assertEqual(self.run_shared(self.OTHER, "--name", "another")[0], 0)
                os.killpg(idle.pid, signal.SIGKILL)
                self.wait_for(lambda: not self.clients())
                self.stop_daemon()

    def test_until_called(self):
        """One that comes back when it calls finds its numbers, in a cycle that is the host's."""
        self.start_daemon("--expect", "idle", "--expect", "other")
        idle, other = self.share(self.PROGRAM, "--name", "idle", words=("3", "open", "10")), self.share(self.OTHER, "--name", "other")
        self.assertEqual(self.end(other)[0], 0)
        status, out, said = self.end(idle)
        self.assertEqual((status, out[:4], out[-5:]), (0, b"3 0 ", b"good\n"), (out, said))
        self.stop_daemon()

    def test_upgrade(self):
        """Whoever is idle while one corund becomes the other comes back to that one."""
        self.start_daemon("--expect", "idle", "--expect", "other")
        idle = self.share(self.PROGRAM, "--name", "idle", words=("3", "1000000", "100"))
        other = self.share(PROGRAMS / "heat", "--name", "other")
        self.wait_for(lambda: any(row["state"] == "idle" for row in self.told()["clients"]))
        self.daemon.send_signal(signal.SIGUSR2)
        self.assertEqual(self.end(idle)[:2], (0, b"3 0 1000 good\n"))
        self.assertEqual(self.end(other)[0], 0)
        self.stop_daemon()

    def test_wrong_times(self):
        """Longer than there can be; and by hand, of one that has no context, and with a length that is none."""
        self.start_daemon()
        self.assertEqual(self.end(self.share(self.PROGRAM, words=("1", "1000000000001", "0")))[1][:3], b"5 5")
        messages = (pathlib.Path(__file__).resolve().parents[2] / "src" / "wire" / "messages.def").read_text()
        wrong = re.findall(r"^FROM_CLIENT\((\w+),", messages, re.MULTILINE).index("IDLE")
        for data in struct.pack("<IIQ", wrong, 8, 5), struct.pack("<III", wrong, 4, 5), struct.pack("<IIQQ", wrong, 16, 5, 5):
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(self.socket))
                client.sendall(data)
                client.settimeout(20)
                self.assertEqual(client.recv(64), b"")
        self.assertEqual(self.run_shared(PROGRAMS / "vector_add")[0], 0)
        self.stop_daemon()

    @needs_numpy
    def test_from_python(self):
        script = """
import ctypes as c, sys
sys.path.insert(0, sys.argv[1])
import corun
def say(*words):
    try:
        corun.say_idle(*words)
        return "OK"
    except corun.CorunError as error:
        return error.status
print(say(1e-5))
d, context = c.CDLL("libcuda.so"), c.c_void_p()
print(say(1e-5), d.cuInit(0), d.cuCtxCreate_v2(c.byref(context), 0, 0), say(1e-5), say(), say(-1.0), say(1001), d.cuCtxSynchronize())
"""
        self.start_daemon()
        self.assertEqual(self.end(self.share(find_python_with_numpy(), words=("-c", script, PYTHON)))[:2], (0, b"UNSUPPORTED\nUNSUPPORTED 0 0 OK OK ARGUMENT ARGUMENT 0\n"))
        self.stop_daemon()


class Runs(Daemon):
    """How long runs of a program take: those that corund sees, and those that the program marks."""
    def told_of(self, *words):
        self.start_daemon("--policy", "even")
        process = self.share(PROGRAMS / "own_runs", words=(*words, "stay"))
        self.assertEqual(process.stdout.readline(), b"5 5 1\n")
        row = self.told()["clients"][0]
        os.killpg(process.pid, signal.SIGKILL)
        self.wait_for(lambda: not self.clients())
        self.stop_daemon()
        return row

    def test_lengths(self):
        """A request is a run, from its first copy to its last, whether corund finds that out or is told; two that overlap take both."""
        seen, said, overlap = (self.told_of("8", "3", marked) for marked in ("0", "1", "2"))
        for row in (seen, said):
            self.assertEqual((row["runs"], row["launches"]), (8, 24))
            self.assertLess(row["launch_p99_cycles"] * 3, row["run_p50_cycles"] + 1)  # three launches, copies besides
        self.assertEqual((seen["run_p50_cycles"], seen["run_p99_cycles"]), (said["run_p50_cycles"], said["run_p99_cycles"]))
        self.assertEqual(overlap["runs"], 7)
        self.assertGreater(overlap["run_p50_cycles"], 1.9 * said["run_p50_cycles"])
        self.assertEqual(self.told_of("5", "1", "0")["runs"], 5)

    def test_none(self):
        """Copies alone are no run."""
        row = self.told_of("3", "0", "0")
        self.assertEqual((row["runs"], row["run_p50_cycles"], row["run_p99_cycles"]), (0, None, None))

    def test_elsewhere(self):
        done = subprocess.run([CORUN, "exec", "-q", "--", PROGRAMS / "own_runs", "2", "1", "1"], capture_output=True, timeout=300, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, b"3 3 1\n"), done.stderr)

    @needs_numpy
    def test_from_python(self):
        script = "import sys; sys.path.insert(0, sys.argv[1]); import corun\nwith corun.one_run(): print('in it')"
        self.start_daemon()
        self.assertEqual(self.end(self.share(find_python_with_numpy(), words=("-c", script, PYTHON)))[:2], (0, b"in it\n"))
        self.stop_daemon()


class Policies(Daemon):
    def test_change(self):
        """Policies come and go while two programs run; results stay, and the list tells which one it is."""
        self.start_daemon("--policy", "even", "--expect", "first", "--expect", "second")
        first = self.share(PROGRAMS / "heat", "--name", "first", "--isolated", "400", "--goal", "30%")
        second = self.share(PROGRAMS / "heat", "--name", "second", "--isolated", "400")
        self.wait_for(lambda: self.told()["cycle"] > 0)
        for policy in ("smqos", "left-over", "smk", "qos-rollover", "time-slice:slice=20K", "even:exclusive=on"):
            done = self.ask("policy", policy)
            self.assertEqual((done.returncode, done.stderr), (0, ""), policy)
            self.assertEqual(self.told()["policy"], policy)
            self.assertEqual(self.ask("policy").stdout, policy + "\n")
        alone = self.run_alone(PROGRAMS / "heat")
        self.assertEqual(self.end(first), alone)
        self.assertEqual(self.end(second), alone)
        self.stop_daemon()

    def test_refused(self):
        """What cannot be is refused with a reason, and the policy stays."""
        self.start_daemon("--policy", "even")
        for policy, status, why in (("nothing", 5, "there is no policy `nothing`"), ("even:sms=3", 6, "sms"), ("spart-qos", 0, ""),
                                    ("./mine.so", 4, "chosen when corund starts"), ("profile", 6, "speed-up curves")):
            done = self.ask("policy", policy)
            self.assertEqual(done.returncode, status, (policy, done.stderr))
            self.assertIn(why, done.stderr)
        self.assertEqual(self.ask("policy").stdout, "spart-qos\n")
        self.assertEqual(self.ask("policy", "").returncode, 2)
        self.assertEqual(self.ask("policy", "x" * 2000).returncode, 2)
        self.stop_daemon()

    def test_rate_alone(self):
        """A policy that needs rates alone is refused as long as that of a program is not known."""
        self.start_daemon("--expect", "first", "--expect", "second")
        first = self.share(PROGRAMS / "heat", "--name", "first")
        self.wait_for(lambda: len(self.clients()) == 1)
        needing = self.ask("policy", "static-smqos")
        self.assertEqual(needing.returncode, 6)
        self.assertIn("of first", needing.stderr)
        self.assertEqual(self.run_shared(PROGRAMS / "vector_add", "--name", "second")[0], 0)
        self.assertEqual(self.end(first)[0], 0)
        self.stop_daemon()


class Tools(Daemon):
    def test_json(self):
        """Every member of docs/json.md, and what is told of a program that runs."""
        self.start_daemon("--policy", "even", "--expect", "first", "--expect", "second")
        first = self.share(PROGRAMS / "own_goal", "--name", "first", "--isolated", "400", "--goal", "30%", words=("20", "0", "0"))
        second = self.share(PROGRAMS / "heat", "--name", "second")
        self.wait_for(lambda: any(client["launches"] > 3 and client["sms"] for client in self.told()["clients"]))
        told = self.told()
        self.assertEqual(json_page.differences("Programs under corund", told), ([], []))
        self.assertEqual((told["gpu"], told["sms"], told["policy"]), ("gtx980", 16, "even"))
        row = told["clients"][0]
        self.assertEqual([client["name"] for client in told["clients"]][:1], ["first"])
        self.assertGreater(row["launch_p99_cycles"], 0)
        self.assertLessEqual(row["launch_p50_cycles"], row["launch_p99_cycles"])
        self.assertTrue(all(0 <= sms <= 16 for sms in row["sms"]) and max(row["sms"]) > 0, row)
        self.assertLessEqual(row["sm_cycles"], 16 * row["cycles"])
        file = self.folder / "list.json"
        self.assertIn("first", self.ask("ps", "--json", str(file)).stdout)
        self.assertEqual(json.loads(file.read_text())["policy"], "even")
        self.assertEqual(self.end(first)[0], 0)
        self.assertEqual(self.end(second)[0], 0)
        self.stop_daemon()

    def test_share_comes_first(self):
        """A corund that was started in the line before is waited for."""
        program = self.share(PROGRAMS / "vector_add")
        time.sleep(0.3)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.socket))
            listener.listen(1)
            listener.settimeout(30)
            client, _ = listener.accept()
            self.assertEqual(len(client.recv(4096)), 12)  # it asks for the list
            client.close()
        code, _, said = self.end(program)
        self.assertNotEqual(code, 0)
        self.assertNotIn(b"can be reached", said)
        self.socket.unlink()
        self.assertIn("no corund can be reached", self.ask("share", "--environment").stderr)

    def test_goals(self):
        self.start_daemon("--policy", "even", "--expect", "first", "--expect", "second")
        process = self.share(PROGRAMS / "heat", "--name", "first", "--isolated", "400")
        self.wait_for(lambda: len(self.clients()) == 1)
        row = self.clients()[0]
        self.assertEqual((row[0], row[2], row[4]), ("0", "first", "-"))
        self.assertEqual(self.ask("goal", row[1], "75%").returncode, 0)
        self.assertEqual(self.clients()[0][4], "75%")
        self.assertEqual(self.ask("goal", row[1], "ipc=20").returncode, 0)
        self.assertEqual(self.clients()[0][4], "ipc=20")
        self.assertEqual(self.ask("goal", row[1], "none").returncode, 0)
        self.assertEqual(self.clients()[0][4], "-")
        self.assertEqual(self.ask("goal", "1", "75%").returncode, 5)
        self.assertEqual(self.ask("goal", row[1], "175%").returncode, 2)
        self.assertEqual(self.run_shared(PROGRAMS / "vector_add", "--name", "second")[0], 0)
        self.assertEqual(self.end(process)[0], 0)
        self.stop_daemon()

    def test_what_lies_at_the_socket(self):
        """A file or folder there stays what it is, and so does the socket of a later corund when an earlier one ends."""
        for make, kind in ((lambda: self.socket.write_text("precious"), pathlib.Path.is_file), (self.socket.mkdir, pathlib.Path.is_dir)):
            make()
            done = self.ask("daemon", "--simulate", "gtx980")
            self.assertEqual(done.returncode, 13)
            self.assertIn("what lies there is no socket, and stays", done.stderr)
            self.assertTrue(kind(self.socket))
            self.socket.rename(self.folder / kind.__name__)
        self.assertEqual((self.folder / "is_file").read_text(), "precious")
        first = self.start_daemon()
        self.socket.unlink()
        self.start_daemon()
        first.terminate()
        self.assertEqual(first.wait(20), 0)
        self.assertEqual(self.ask("ps").returncode, 0)
        self.stop_daemon()

    def test_started_at_once(self):
        """Of several that find the same socket of a killed one, one serves there."""
        for _ in range(5):
            with socket.socket(socket.AF_UNIX) as left:
                left.bind(str(self.socket))
            # Each is waited for: pylint: disable=consider-using-with
            daemons = [subprocess.Popen([CORUN.parent / "corund", "--simulate", "gtx980"], env=self.environment, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(4)]
            self.addCleanup(lambda these=daemons: [daemon.kill() for daemon in these])
            self.wait_for(lambda these=daemons: sum(daemon.poll() is not None for daemon in these) == 3)
            self.assertEqual(self.ask("ps").returncode, 0)
            for daemon in daemons:
                daemon.terminate()
            self.assertEqual(sorted(daemon.wait(20) for daemon in daemons), [0, 13, 13, 13])
            self.assertFalse(self.socket.exists())

    def test_more_programs_than_a_gpu_has(self):
        """The one beyond them is told why it gets no context."""
        self.start_daemon("--expect", "never")  # time does not begin, and nobody ends
        programs = [self.share(PROGRAMS / "vector_add") for _ in range(15)]
        self.wait_for(lambda: len(self.clients()) == 15)
        status, _, said = self.run_shared(PROGRAMS / "vector_add")
        self.assertNotEqual(status, 0)
        self.assertIn(b"the GPU has as many programs at a time as it can have", said)
        self.stop_daemon()
        self.assertNotIn(0, [self.end(program)[0] for program in programs])

    def test_mistakes(self):
        self.assertEqual(self.ask("ps").returncode, 5)
        self.assertEqual(self.ask("share", "--", PROGRAMS / "vector_add").returncode, 5)
        self.assertEqual(self.ask("daemon", "--pace", "0.5").returncode, 2)  # without --simulate it is the GPU of the computer
        self.assertEqual(self.ask("daemon", "--simulate", "gtx1").returncode, 5)
        self.assertEqual(self.ask("daemon", "--simulate", "gtx980", "--policy", "nothing").returncode, 5)
        self.assertEqual(self.ask("share", "--goal", "0%", "--", "x").returncode, 2)
        self.start_daemon()
        second = self.ask("daemon", "--simulate", "gtx980")
        self.assertEqual(second.returncode, 13)
        self.assertIn("serves there already", second.stderr)
        self.stop_daemon()


class Configuration(Daemon):
    def write(self, text):
        (self.folder / "corund.yaml").write_text(text)
        return str(self.folder / "corund.yaml")

    def start_configured(self, text, *options):
        """From a file alone; its socket is that of the tests."""
        file = self.write(f"socket: {self.socket}\n{text}")
        # pylint: disable=consider-using-with
        daemon = subprocess.Popen([CORUN.parent / "corund", "--configuration", file, *options], env=self.environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for end in (daemon.stdout.close, daemon.stderr.close, daemon.wait, daemon.kill):
            self.addCleanup(end)
        self.daemon = daemon
        self.assertIn(str(self.socket), daemon.stdout.readline())

    def test_too_few_descriptors(self):
        """libuv would end the process; beyond a dozen there is a first client, and then more of them."""
        for most in range(5, 11):
            done = subprocess.run([CORUN.parent / "corund", "--simulate", "gtx980", "--policy", "even"], env=self.environment, capture_output=True,
                                  text=True, timeout=20, check=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))  # pylint: disable=cell-var-from-loop
            self.assertEqual((done.returncode, done.stderr), (13, "corun: no clients can be served: Too many open files; descriptors that are lacking "
                                                              f"(ulimit -n): at least {11 - most}\n"))
            self.assertFalse(self.socket.exists())
        self.start_daemon()
        resource.prlimit(self.daemon.pid, resource.RLIMIT_NOFILE, (11, 11))
        self.assertIn(b"corund has no descriptor left for another program (ulimit -n)", self.run_shared(PROGRAMS / "vector_add")[2])
        self.stop_daemon()

    def test_pipe_as_configuration(self):
        """Programs go on whatever has taken the place of the file."""
        self.start_configured("simulate: gtx980\n")
        (self.folder / "corund.yaml").unlink()
        os.mkfifo(self.folder / "corund.yaml")
        self.daemon.send_signal(signal.SIGHUP)
        self.assertIn("corund.yaml: this is a pipe, which cannot be read again", self.daemon.stderr.readline())
        self.assertIn("stays as it was", self.daemon.stderr.readline())
        self.assertEqual(self.run_shared(PROGRAMS / "vector_add")[0], 0)
        self.stop_daemon()

    def test_check(self):
        """What is wrong is said with its place; what is right in one line."""
        done = self.ask("daemon", "--check", self.write("simulate: gtx980:sms=4\npolicy: smqos\nlimits:\n  - {user: root, clients: 1}\n"))
        self.assertEqual((done.returncode, done.stdout.split(": ")[1]), (0, "gtx980:sms=4, policy smqos, 1 row of limits\n"), done.stderr)
        for text, place, why in (("simulate: gtx98\n", "1:11", "gtx98"), ("simulate: gtx980\npolicy: evn\n", "2:9", "did you mean `even`?"),
                                 ("simulate: gtx980\npolicy: even:exclusive=7\n", "2:9", "exclusive"), ("simulate: gtx980\nthread: 1\n", "2:1", "threads"),
                                 ("simulate: gtx980\nlimits: [{user: no.such.user}]\n", "2:17", "there is no user"),
                                 ("simulate: gtx980\npolicy: profile\n", "2:9", "speed-up curves"), ("policy: even\n", "", "it names no GPU"),
                                 ("simulate: [\n", "2:1", "")):
            done = self.ask("daemon", "--check", self.write(text))
            self.assertNotEqual(done.returncode, 0, text)
            self.assertIn(f"corund.yaml:{place}", done.stderr)
            self.assertIn(why, done.stderr)
        self.assertEqual(self.ask("daemon", "--check", "/nowhere").returncode, 5)
        self.assertEqual(self.ask("daemon", "--check", str(EXAMPLES / "corund.yaml")).returncode, 0)

    def reload(self, text):
        self.write(f"socket: {self.socket}\n{text}")
        self.daemon.send_signal(signal.SIGHUP)

    def test_reload(self):
        """Policy, limits and metrics change while programs run; what cannot change, and what is wrong, is said, and stays."""
        self.start_configured("simulate: gtx980\npolicy: even\nexpect: [first, second]\n")
        first = self.share(PROGRAMS / "heat", "--name", "first", "--isolated", "400")
        self.wait_for(lambda: len(self.clients()) == 1)
        self.reload("simulate: gtx980\npolicy: smqos\nexpect: [first, second]\n")
        self.wait_for(lambda: self.told()["policy"] == "smqos")
        self.reload("simulate: gtx980\npolicy: smqo\nexpect: [first, second]\n")
        self.assertIn("corund.yaml:3:9: there is no policy `smqo`", self.daemon.stderr.readline())
        self.reload("simulate: [")
        self.assertIn("corund.yaml:3:1", self.daemon.stderr.readline())
        self.assertIn("stays as it was", self.daemon.stderr.readline())
        self.reload("simulate: gtx680\npolicy: time-slice\nexpect: [first, second]\n")
        self.assertIn("`simulate` changes when corund is started again", self.daemon.stderr.readline())
        self.assertEqual(self.told()["policy"], "time-slice")
        self.assertEqual(self.run_shared(PROGRAMS / "vector_add", "--name", "second")[0], 0)
        self.assertEqual(self.end(first), self.run_alone(PROGRAMS / "heat"))
        self.stop_daemon()

    def metrics(self, file):
        """{name: {labels: value}} and the types, as Prometheus' text format has them."""
        values, types = {}, {}
        for line in file.read_text().splitlines():
            if line.startswith("# TYPE"):
                types[line.split()[2]] = line.split()[3]
            elif not line.startswith("#"):
                name, labels, value = re.fullmatch(r'([a-z0-9_]+)(?:\{((?:[a-z]+="(?:[^"\\]|\\.)*",?)*)\})? (\S+)', line).groups()
                self.assertIn(name, types)
                values.setdefault(name, {})[labels] = float(value)
        return values, types

    def test_metrics(self):
        """What is written is what the list says; every metric of the dashboard is there; a disk that is full stops nothing."""
        file = self.folder / "corund.prom"
        self.start_configured(f"simulate: gtx980\npolicy: even\nmetrics: {file}\nmetrics_interval: 1s\nexpect: [one, 't\"wo\\']\n")
        one = self.share(PROGRAMS / "own_goal", "--name", "one", "--isolated", "400", words=("150", "0", "0"))
        two = self.share(PROGRAMS / "own_goal", "--name", 't"wo\\', words=("1",))
        self.wait_for(lambda: file.exists() and any(self.metrics(file)[0].get("corun_client_launches_total", {0: 0}).values()))
        values, types = self.metrics(file)
        told = self.told()
        self.assertEqual(values["corun_sms"][None], 16)
        self.assertEqual(values["corun_memory_bytes"][None], told["memory_bytes"])
        self.assertIn('gpu="gtx980",policy="even"', values["corun_node_info"])
        for name, kind in types.items():
            self.assertEqual(kind == "counter", name.endswith("_total"), name)
        self.assertTrue(any('name="one"' in labels for labels in values["corun_client_launches_total"]))
        asked = set(re.findall(r"corun_[a-z0-9_]+", (EXAMPLES / "grafana.json").read_text()))
        self.assertLessEqual(asked, set(values))
        json.loads((EXAMPLES / "grafana.json").read_text())
        self.assertEqual(self.end(one)[0], 0)
        self.assertEqual(self.end(two)[0], 0)
        self.stop_daemon()

    def test_metrics_take_the_place_of_no_device(self):
        """A pipe and what a link leads to stay what they are; a link to a file stays a link."""
        pipe, link, file = self.folder / "pipe", self.folder / "link", self.folder / "corund.prom"
        os.mkfifo(pipe)
        for path in (pipe, link):
            if path == link:
                link.symlink_to(pipe)
            self.start_configured(f"simulate: gtx980\nmetrics: {path}\nmetrics_interval: 1s\n")
            self.assertIn(f"{path}: metrics cannot be written: ", self.daemon.stderr.readline())
            self.stop_daemon()
            self.assertTrue(pipe.is_fifo())
        file.write_text("")
        link.unlink()
        link.symlink_to(file)
        self.start_configured(f"simulate: gtx980\nmetrics: {link}\nmetrics_interval: 1s\n")
        self.wait_for(lambda: "corun_sms" in file.read_text())
        self.assertTrue(link.is_symlink())
        self.stop_daemon()

    def test_what_is_read_is_not_replaced(self):
        """Metrics and journal, on the command line, in the file, and in the file that is read again."""
        text = f"socket: {self.socket}\nsimulate: gtx980\n"
        for key in ("metrics", "journal"):
            file = self.write(text)
            done = self.ask("daemon", "--configuration", file, f"--{key}", file)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"--{key}: {file} is there and is a description by its looks: it is not replaced", done.stderr)
            done = self.ask("daemon", "--check", self.write(text + f"{key}: {file}\n"))
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"{key}: {file} is there", done.stderr)
        self.start_configured("simulate: gtx980\npolicy: even\n")
        wrong = f"simulate: gtx980\npolicy: smqos\nmetrics: {self.folder / 'corund.yaml'}\n"
        self.reload(wrong)
        self.assertIn("is not replaced", self.daemon.stderr.readline())
        self.assertIn("stays as it was", self.daemon.stderr.readline())
        self.assertEqual(self.told()["policy"], "even")
        self.assertIn(wrong, (self.folder / "corund.yaml").read_text())
        self.stop_daemon()

    def test_journal(self):
        """Who came and went, policies and goals, decisions and SMs, in order of time; without its last bracket where corund was killed."""
        file = self.folder / "journal.json"
        for ends in (True, False):
            self.start_configured(f"simulate: gtx980\npolicy: smqos\njournal: {file}\nexpect: [one, 't\"wo']\n")
            one = self.share(PROGRAMS / "own_goal", "--name", "one", "--isolated", "400", words=("20", "1", "0.5"))
            two = self.share(PROGRAMS / "own_goal", "--name", 't"wo', words=("10",))
            self.wait_for(lambda: any(client["launches"] for client in self.told()["clients"]))
            self.assertEqual(self.ask("policy", "even").returncode, 0)
            self.assertEqual([self.end(one)[0], self.end(two)[0]], [0, 0])
            self.wait_for(lambda: not self.clients())
            if ends:
                self.stop_daemon()
            else:
                self.daemon.kill()
                self.daemon.wait()
            text = file.read_text()
            events = json.loads(text if ends else text + "{}]")
            seen = [(event["name"], event["args"].get("program"), event["args"].get("is")) for event in events if event.get("ph") == "i"]
            for wanted in (("policy", None, "smqos"), ("client", "one", "comes"), ("client", "t?wo", "comes"), ("goal", "one", "ipc=1"),
                           ("goal", "one", "50%"), ("policy", None, "even"), ("client", "one", "goes")):
                self.assertIn(wanted, seen)
            times = [event["ts"] for event in events if event.get("ph") in ("i", "C")]
            self.assertEqual(times, sorted(times))
            samples = [event["args"] for event in events if event.get("ph") == "C"]
            self.assertTrue(any(sms > 0 for row in samples for sms in row.values()))
            self.assertTrue(all(0 <= sms <= 16 for row in samples for sms in row.values()))
            self.assertTrue(any(event.get("name") == "ARRIVE" and event["args"] for event in events))
        self.assertEqual(self.ask("daemon", "--simulate", "gtx980", "--journal", "/nowhere/x", "--socket", str(self.folder / "s")).returncode, 13)

    def test_full_disk(self):
        """The journal of a full disk ends, and nothing else."""
        self.start_daemon("--journal", "/dev/full")
        self.assertEqual(self.run_shared(PROGRAMS / "vector_add")[0], 0)
        self.stop_daemon()
        self.start_configured("simulate: gtx980\nmetrics: /dev/full/corund.prom\nmetrics_interval: 1s\n")
        self.assertIn("metrics cannot be written", self.daemon.stderr.readline())
        self.assertEqual(self.run_shared(PROGRAMS / "vector_add")[0], 0)
        self.stop_daemon()

    def test_short_files(self):
        """A limit on the length of files (ulimit -f) is as a full disk: no signal ends corund, who runs has its results, and later ones are served again."""
        journal = self.folder / "journal.json"
        self.start_daemon("--policy", "even", "--journal", str(journal))
        beside = self.share(PROGRAMS / "own_goal", words=("20",))
        self.wait_for(lambda: any(client["launches"] for client in self.told()["clients"]))
        before = resource.prlimit(self.daemon.pid, resource.RLIMIT_FSIZE, (journal.stat().st_size, resource.RLIM_INFINITY))
        status, _, _ = self.run_shared(PROGRAMS / "vector_add")  # memory of contexts is a file, too
        self.assertNotEqual(status, 0)
        self.assertEqual(self.end(beside)[0], 0)
        self.assertIsNone(self.daemon.poll())
        resource.prlimit(self.daemon.pid, resource.RLIMIT_FSIZE, before)
        self.assertEqual(self.run_shared(PROGRAMS / "vector_add"), self.run_alone(PROGRAMS / "vector_add"))
        self.stop_daemon()

    def test_handed_over(self):
        """Socket activation: programs may come before the daemon; the socket stays; it is told when it is ready."""
        listener, notified = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(listener.close)
        self.addCleanup(notified.close)
        listener.bind(str(self.socket))
        listener.listen(5)
        notified.bind(str(self.folder / "notify"))
        notified.settimeout(20)
        early = self.share(PROGRAMS / "vector_add")
        environment = dict(self.environment, LISTEN_FDS="1", NOTIFY_SOCKET=str(self.folder / "notify"))

        script = "import os, sys; os.environ['LISTEN_PID'] = str(os.getpid()); os.dup2(int(sys.argv[1]), 3); os.execv(sys.argv[2], sys.argv[2:])"
        for listening, status in ((listener, 0), (notified, 13)):
            # pylint: disable=consider-using-with
            daemon = subprocess.Popen([sys.executable, "-c", script, str(listening.fileno()), CORUN.parent / "corund", "--simulate", "gtx980"],
                                      env=environment, pass_fds=(listening.fileno(), 3), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True)
            for end in (daemon.stdout.close, daemon.stderr.close, daemon.wait, daemon.kill):
                self.addCleanup(end)
            if status == 0:
                self.assertIn(str(self.socket), daemon.stdout.readline())
                self.assertEqual(notified.recv(100), b"READY=1")
                self.assertEqual(self.end(early)[0], 0)
                daemon.terminate()
                self.assertEqual(notified.recv(100), b"STOPPING=1")
            self.assertEqual(daemon.wait(20), status)
        self.assertTrue(self.socket.exists())

    def test_unit(self):
        """The unit is as closed as it says: at most 2.0 of 10."""
        if not shutil.which("systemd-analyze"):
            self.skipTest("there is no systemd-analyze")
        done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=20", EXAMPLES / "corund.service"],
                              capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-300:] + done.stderr)
        self.assertIn("Overall exposure level", done.stdout)


def becomes_others():
    """Whether another user can be had here, and finds the command."""
    try:
        return os.geteuid() == 0 and subprocess.run([CORUN, "version"], user=54321, group=54321, extra_groups=[], cwd="/", capture_output=True,
                                                    check=False).returncode == 0
    except OSError:
        return False


@unittest.skipUnless(becomes_others(), "only root becomes another user, who must find the command")
class Users(Daemon):
    """Users without rights, who are let in by a row of the limits, or by none."""
    def start_limited(self, rows, gpus="gtx980"):
        self.folder.chmod(0o755)
        file = self.folder / "corund.yaml"
        file.write_text(f"simulate: {gpus}\nsocket: {self.socket}\n" + (f"limits: [{rows}]\n" if rows else ""))
        # pylint: disable=consider-using-with
        daemon = subprocess.Popen([CORUN.parent / "corund", "--configuration", file], env=self.environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for end in (daemon.stdout.close, daemon.stderr.close, daemon.wait, daemon.kill):
            self.addCleanup(end)
        self.daemon = daemon
        self.assertIn(str(self.socket), daemon.stdout.readline())

    def as_user(self, uid, *words, program=None, groups=(), **more):
        """Started as that user, with no other groups than its own and these."""
        # pylint: disable=consider-using-with
        process = subprocess.Popen([program or CORUN, *words], env=dict(self.environment, HOME="/"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, start_new_session=True, user=uid, group=uid, extra_groups=list(groups), cwd="/", **more)
        for end in (process.stdout.close, process.stderr.close, process.wait, process.kill):
            self.addCleanup(end)
        return process

    def test_stranger(self):
        """Without limits nobody else can even connect; with them, only who is named."""
        self.start_limited("")
        for words in (("ps",), ("policy", "even"), ("goal", "1", "none"), ("share", "--", PROGRAMS / "vector_add")):
            self.assertEqual(self.end(self.as_user(54321, *words))[0], 5, words)
        self.stop_daemon()
        self.start_limited("{user: 54322, clients: 1}")
        status, _, said = self.end(self.as_user(54321, "ps"))
        self.assertEqual((status, said), (6, b"corun: this user may not use the GPU of this corund\n"))
        self.assertNotEqual(self.end(self.as_user(54321, "share", "--", PROGRAMS / "vector_add"))[0], 0)
        self.assertEqual(self.end(self.as_user(54322, "share", "--", PROGRAMS / "vector_add"))[0], 0)
        self.stop_daemon()

    def test_rights(self):
        """Who is let in sees the list, and changes nothing but goals of its own programs."""
        self.start_limited("{clients: 1}")
        mine = self.share(PROGRAMS / "own_goal", "--name", "mine", "--isolated", "400", words=("60",))
        theirs = self.as_user(54321, "share", "--name", "theirs", "--isolated", "400", "--", PROGRAMS / "own_goal", "60")
        self.wait_for(lambda: len(self.clients()) == 2)
        pids = {client["name"]: str(client["pid"]) for client in self.told()["clients"]}
        self.assertEqual(self.end(self.as_user(54321, "ps"))[0], 0)
        for words, status, why in ((("policy", "even"), 6, b"only the user of corund"), (("goal", pids["mine"], "none"), 6, b"another user's"),
                                   (("goal", pids["theirs"], "50%"), 0, b"")):
            got, _, said = self.end(self.as_user(54321, *words))
            self.assertEqual((got, why in said), (status, True), (words, said))
        self.assertEqual(self.end(self.as_user(54322, "goal", pids["theirs"], "none"))[0], 6)
        self.assertEqual(self.ask("goal", pids["theirs"], "none").returncode, 0)
        for process in (mine, theirs):
            self.assertEqual(self.end(process)[0], 0)
        self.stop_daemon()

    def test_limits(self):
        """One context, 1 MiB and half of the GPU: what is more is refused, and others have theirs."""
        self.start_limited("{user: 54321, clients: 1, memory: 512K, share: 50%}, {user: 54322, clients: 1, memory: 1M, share: 50%}")
        small = self.as_user(54321, "share", "--", PROGRAMS / "own_goal", "1")
        self.assertNotEqual(self.end(small)[0], 0)  # it wants 800 000 bytes
        goals = ("share", "--isolated", "400", "--goal", "40%", "--", PROGRAMS / "own_goal", "40")
        first = self.as_user(54322, *goals)
        self.wait_for(lambda: any(client["launches"] for client in self.told()["clients"]))
        os.killpg(first.pid, signal.SIGSTOP)  # still there, however long the others take to come
        status, _, said = self.end(self.as_user(54322, *goals))
        self.assertNotEqual(status, 0)
        self.assertIn(b"more programs", said)
        status, _, said = self.end(self.as_user(54322, "share", "--isolated", "400", "--goal", "60%", "--", PROGRAMS / "own_goal", "1"))
        self.assertIn(b"share of the GPU", said)
        status, _, said = self.end(self.as_user(54322, "share", "--goal", "ipc=1", "--", PROGRAMS / "own_goal", "1"))
        self.assertIn(b"--isolated", said)
        os.killpg(first.pid, signal.SIGCONT)
        self.assertEqual(self.end(first)[0], 0)
        self.assertEqual(self.end(self.as_user(54322, *goals))[0], 0)
        self.stop_daemon()

    def test_several_gpus(self):
        """Contexts and memory count on all GPUs together, the share on each; of a group all members' together."""
        self.start_limited("{user: 54321, clients: 2, memory: 1M}, {user: 54322, clients: 2, share: 50%}, {group: 60099, clients: 2, memory: 2M, share: 60%}",
                           gpus="[gtx980, gtx980]")

        def start(uid, name, gpu, *options, groups=()):
            program = "many_launches" if options else "own_goal"  # which has a goal of its own, and 800 000 bytes
            return self.as_user(uid, "share", "--name", name, "--gpu", gpu, "--isolated", "400", *options, "--", PROGRAMS / program, "1000000",
                                groups=groups)

        def begin(*words, **more):
            process = start(*words, **more)
            self.wait_for(lambda: any(client["name"] == words[1] and client["launches"] for client in self.told()["clients"]))
            return process

        def refused(*words, **more):
            status, _, said = self.end(start(*words, **more))
            self.assertNotEqual(status, 0)
            return said

        def end(*processes):
            for process in processes:
                os.killpg(process.pid, signal.SIGKILL)
            self.wait_for(lambda: not self.clients())
        one = begin(54321, "one", "0")
        refused(54321, "memory", "1")  # 1.6 MB, on whichever GPUs
        end(one)
        both = begin(54322, "first", "0", "--goal", "40%"), begin(54322, "second", "1", "--goal", "40%")
        self.assertEqual(sorted(client["device"] for client in self.told()["clients"]), [0, 1])
        self.assertIn(b"more programs", refused(54322, "third", "1"))
        os.killpg(both[1].pid, signal.SIGKILL)
        self.wait_for(lambda: len(self.clients()) == 1)
        self.assertIn(b"share of the GPU", refused(54322, "more", "0", "--goal", "20%"))
        end(both[0], begin(54322, "elsewhere", "1", "--goal", "20%"))
        mine = begin(54323, "mine", "0", "--goal", "40%", groups=[60099])
        self.assertIn(b"share of the GPU", refused(54324, "theirs", "0", "--goal", "40%", groups=[60099]))
        theirs = begin(54324, "other", "1", "--goal", "40%", groups=[60099])
        self.assertIn(b"more programs", refused(54323, "third", "1", groups=[60099]))
        end(mine, theirs)
        self.stop_daemon()

    def test_many_groups(self):
        """A row of a group is that of its members, of however many others they are."""
        self.start_limited("{group: 60099, memory: 512K}, {clients: 4}")
        wants = ("share", "--", PROGRAMS / "own_goal", "1")  # 800 000 bytes
        self.assertEqual(self.end(self.as_user(54321, *wants))[0], 0)
        for groups in ([60099], range(60000, 60120), range(60000, 60900)):
            self.assertNotEqual(self.end(self.as_user(54321, *wants, groups=groups))[0], 0, groups)
        many = [group for group in range(60000, 61200) if group != 60099]
        self.assertNotEqual(self.end(self.as_user(54321, *wants, groups=many))[0], 0)  # who knows
        self.assertEqual(self.end(self.as_user(54321, *wants, groups=many[:500]))[0], 0)
        self.stop_daemon()

    # Modules with a variable of so many bytes, and then an allocation: what the driver says of each.
    VARIABLES = """
import ctypes as c, sys
d, v = c.CDLL("libcuda.so.1"), c.c_void_p
context, module, address = v(), v(), c.c_uint64()
said = [d.cuInit(0), d.cuCtxCreate_v2(c.byref(context), 0, 0)]
for bytes in (900000, 300000, 100, 300000):
    text = b".version 6.0\\n.target sm_50\\n.address_size 64\\n.global .b8 large[%d];\\n" % bytes
    said.append(d.cuModuleLoadData(c.byref(module), text))
said += [d.cuMemAlloc_v2(c.byref(address), 50000), d.cuMemsetD8_v2(address, 1, 50000), d.cuMemAlloc_v2(c.byref(address), 200000)]
print(said)
"""

    def test_variables(self):
        """Of modules are device memory as well; what is refused takes none, and the program goes on."""
        self.start_limited("{user: 54321, memory: 1M}")
        status, out, said = self.end(self.as_user(54321, "share", "--", "/usr/bin/python3", "-c", self.VARIABLES))
        self.assertEqual((status, out), (0, b"[0, 0, 0, 2, 0, 2, 0, 0, 2]\n"), said)
        self.assertEqual(said.count(b"there is no device memory left for the 300000 bytes of a module's variables"), 2, said)
        self.stop_daemon()

    def test_memory_of_others(self):
        """A limit that becomes lower by SIGHUP takes nothing away, nothing more is given, and what is given back is there for the next one."""
        self.start_limited("{user: 54321, memory: 2M}")
        first = self.as_user(54321, "share", "--", PROGRAMS / "own_goal", "40")
        self.wait_for(lambda: any(client["launches"] for client in self.told()["clients"]))
        (self.folder / "corund.yaml").write_text(f"simulate: gtx980\nsocket: {self.socket}\nlimits: [{{user: 54321, memory: 900K}}]\n")
        os.killpg(first.pid, signal.SIGSTOP)
        self.daemon.send_signal(signal.SIGHUP)
        self.assertNotEqual(self.end(self.as_user(54321, "share", "--", PROGRAMS / "own_goal", "1"))[0], 0)
        os.killpg(first.pid, signal.SIGCONT)
        self.assertEqual(self.end(first)[0], 0)
        self.assertEqual(self.end(self.as_user(54321, "share", "--", PROGRAMS / "own_goal", "1"))[0], 0)
        self.stop_daemon()

    def test_flood(self):
        """One user's connections leave places for others."""
        self.start_limited("{clients: 2}")
        script = ("import socket, sys, time\nheld = []\nfor _ in range(300):\n    s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); held.append(s)\n"
                  "print('held', flush=True); time.sleep(60)")
        flood = self.as_user(54321, "-c", script, str(self.socket), program="/usr/bin/python3")
        self.assertEqual(flood.stdout.readline(), b"held\n")
        self.assertIn(b"this user has as many connections to corund as a user can have", self.end(self.as_user(54321, "ps"))[2])
        self.assertEqual(self.end(self.as_user(54322, "share", "--", PROGRAMS / "vector_add"))[0], 0)
        self.assertEqual(self.run_shared(PROGRAMS / "vector_add")[0], 0)
        flood.kill()
        self.wait_for(lambda: self.end(self.as_user(54321, "ps"))[0] == 0)
        self.stop_daemon()


class Top(Daemon):
    def start_pair(self):
        """Two programs in the middle of their launches: what the list then has."""
        self.start_daemon("--policy", "even", "--expect", "first", "--expect", "second")
        programs = [self.share(PROGRAMS / "own_goal", "--name", name, "--isolated", "400", *goal, words=("60", "2", "50"))
                    for name, goal in (("first", ("--goal", "30%")), ("second\x1b[31m", ()))]
        programs.append(self.share(PROGRAMS / "own_goal", "--name", "second", words=("2",)))
        self.wait_for(lambda: sum(client["launches"] > 0 for client in self.told()["clients"]) >= 2)
        return programs

    def test_once(self):
        """Head, titles, and a row for each; no control characters of a name reach the terminal."""
        self.start_pair()
        done = self.ask("top", "--once")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertRegex(lines[0], r"^gtx980, 16 SMs, policy even, cycle [0-9]+ \([0-9.]+ [um]s\)$")
        self.assertRegex(lines[1], r"^[23] programs, memory [0-9.]+ [kMG]?B of 4.29 GB")
        self.assertEqual(lines[3].split(), "name pid state goal of goal IPC of alone SMs SMs over time launches P50 P99 runs P50 P99 memory".split())
        rows = {line.split()[0]: line for line in lines[5:]}
        self.assertIn("second?[31m", rows)
        self.assertRegex(rows["first"], r"^first +[0-9]+ +(waits|host) +ipc=1 +[0-9]+% +[0-9.]+ +[0-9.]+ +[0-9.]+ .*us +[0-9.]+ us +[0-9]+ +(-|[0-9.]+ us) +(-|[0-9.]+ us) +800.00 KB$")
        self.assertNotIn("\x1b", done.stdout)
        self.assertNotIn("\x1b", self.ask("ps").stdout)

    def test_batch(self):
        self.start_daemon()
        done = self.ask("top", "--batch", "--count", "3", "--delay", "20ms")
        self.assertEqual(done.stdout.count("0 programs"), 3)
        for words, what in ((("--delay", "1"), None), (("--delay", "0"), "--delay"), (("--delay", "2h"), "--delay"), (("--count", "0"), "--count"),
                            (("more",), "no arguments"), ((), "needs a terminal")):
            done = self.ask("top", *(("--once",) if what != "needs a terminal" else ()), *words)
            self.assertEqual(done.returncode, 2 if what else 0, words)
            self.assertIn(what or "", done.stderr)
        self.stop_daemon()
        self.assertEqual(self.ask("top", "--once").returncode, 5)

    def open_terminal(self, *words, columns=140):
        """corun top on a terminal of 40 lines: its process, and the end that is ours."""
        try:
            ours, theirs = pty.openpty()
        except OSError as error:
            self.skipTest(f"no terminal can be had here: {error}")
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        # pylint: disable=consider-using-with
        process = subprocess.Popen([CORUN, "top", *words], env=dict(self.environment, TERM="xterm", LC_ALL="C"), stdin=theirs, stdout=theirs,
                                   stderr=subprocess.PIPE, start_new_session=True)
        os.close(theirs)
        self.addCleanup(os.close, ours)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process, ours

    def read_until(self, ours, text):
        """What comes on the terminal up to that text, and what came with it."""
        seen, until = b"", time.monotonic() + 20
        while text not in seen and time.monotonic() < until:
            if select.select([ours], [], [], 0.1)[0]:
                seen += os.read(ours, 65536)
        self.assertIn(text, seen)
        return seen

    def test_keys(self):
        self.start_pair()
        process, ours = self.open_terminal("--delay", "1m")
        self.read_until(ours, b"first")
        os.write(ours, b"h")
        self.read_until(ours, b"this page, and back")
        os.write(ours, b"h")
        self.read_until(ours, b"policy")
        os.write(ours, b"MRs0.05\n")  # from here on pictures come by themselves
        self.assertEqual(self.ask("policy", "smk").returncode, 0)
        self.read_until(ours, b"smk")
        os.write(ours, b"q")
        self.assertEqual(process.wait(20), 0)

    def test_narrow(self):
        """On 80 columns a line is cut off, and nothing of it is on the next one; the arrows show the rest, and the beginning again."""
        self.start_pair()
        process, ours = self.open_terminal("--delay", "1m", columns=80)
        seen = self.read_until(ours, b"SMs over time")
        while select.select([ours], [], [], 0.5)[0]:
            seen += os.read(ours, 65536)
        self.assertIn(b"first", seen)
        self.assertNotIn(b"800.00 KB", seen)
        for keys, text in ((b"\x1bOC" * 20, b"800.00 KB"), (b"\x1bOD" * 20, b"first")):
            os.write(ours, keys)
            self.read_until(ours, text)
        os.write(ours, b"q")
        self.assertEqual(process.wait(20), 0)

    def test_daemon_gone(self):
        self.start_daemon()
        process, ours = self.open_terminal("--delay", "50ms")
        self.read_until(ours, b"0 programs")
        self.stop_daemon()
        self.assertEqual(process.wait(20), 13)
        self.assertIn(b"closed the connection", process.stderr.read())


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
