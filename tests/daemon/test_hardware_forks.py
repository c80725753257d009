#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Children of programs under corund, and connections that change hands: whose launches, goals and memory they are.

    test_hardware_forks.py CORUN PROGRAMS TEST...

As test_hardware.py, on corun's own driver.
"""
import fcntl
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from test_hardware import BOARD_BYTES, BYTES, CORUN, FILE_BYTES, NUMBER, PROGRAMS, VERSION, Client, Configured, Shimmed  # pylint: disable=wrong-import-position

# What the program and its children share: a context with memory in it, and a kernel that is launched by number of times.
HEAD = """
import ctypes as c, os, signal, sys, threading, time
d = c.CDLL("libcuda.so.1")
v, n = c.c_void_p, c.c_size_t
context, module, function, memory = v(), v(), v(), v()
assert d.cuInit(0) == 0 and d.cuCtxCreate_v2(c.byref(context), 0, 0) == 0
assert d.cuModuleLoadData(c.byref(module), b".version 6.0\\n.target sm_50\\n.address_size 64\\n.visible .entry k()\\n{\\nret;\\n}\\n") == 0
assert d.cuModuleGetFunction(c.byref(function), module, b"k") == 0
assert d.cuMemAlloc_v2(c.byref(memory), n(6 << 20)) == 0
def launch():
    return d.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, None, None, None)
assert launch() == 0 and d.cuCtxSynchronize() == 0
"""


class Forks(Shimmed):
    def begin(self, name, text, *options):
        # pylint: disable=consider-using-with
        process = subprocess.Popen([CORUN, "share", "--name", name, *options, "--", "/usr/bin/python3", "-c", HEAD + text],
                                   env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1,
                                   start_new_session=True)
        for end in (process.stdin.close, process.stdout.close, process.stderr.close, process.wait, lambda: self.kill(process)):
            self.addCleanup(end)
        return process

    @staticmethod
    def kill(process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def test_child_outlives(self):
        """A child that uses no CUDA holds nothing of its parent's: when that is killed, its goal, memory and launches are gone."""
        self.start_daemon("--policy", "priority")
        program = self.begin("server", "print(os.fork() or time.sleep(1000), flush=True)\nwhile True: launch()\n", "--goal", "50%")
        child = int(program.stdout.readline())
        other = Client(self.socket, name=b"other")
        self.wait_for(lambda: self.clients()["server"]["launches"] > 100 and other.gate() == "BOUNDED")
        os.kill(self.clients()["server"]["pid"], signal.SIGKILL)
        self.wait_for(lambda: set(self.clients()) == {"other"})
        self.wait_for(lambda: other.gate() == "FREE")
        os.kill(child, 0)  # still there
        other.close()

    def test_child_calls(self):
        """CUDA in a child is refused as without corund, at once, also where threads of the parent were in calls; the parent's records stay."""
        self.start_daemon("--policy", "priority")
        beside = Client(self.socket, goal=1)  # so that launches of others are noted
        program = self.begin("server", """
ends = []
def busy():
    while not ends:
        assert launch() == 0
        p = v()
        assert d.cuMemAlloc_v2(c.byref(p), n(1 << 20)) == 0 and d.cuMemFree_v2(p) == 0
threads = [threading.Thread(target=busy) for _ in range(3)]
for thread in threads: thread.start()
said = set()
for _ in range(60):
    child = os.fork()
    if not child:
        p = v()
        said = [launch(), d.cuMemAlloc_v2(c.byref(p), n(1 << 20)), d.cuMemFree_v2(memory), d.cuCtxSynchronize(), d.cuModuleUnload(module)]
        os._exit(1 if 0 in said else 0)
    until = time.monotonic() + 20
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done: break
        time.sleep(0.001)
    else:
        os.kill(child, signal.SIGKILL)
        status = "hangs"
    said.add(status)
ends.append(1)
for thread in threads: thread.join()
print(said, d.cuCtxSynchronize(), launch(), d.cuCtxSynchronize(), flush=True)
time.sleep(1000)
""")
        self.assertEqual(program.stdout.readline(), "{0} 0 0 0\n")
        told = self.clients()["server"]
        self.assertEqual((told["memory_bytes"], told["launches_in_flight"]), (6 << 20, 0))
        beside.close()

    def test_child_is_another_program(self):
        """A child that executes another CUDA program is a client of its own, which leaves the parent's row alone."""
        self.start_daemon("--policy", "priority")
        program = self.begin("server", f"""
child = os.fork()
if not child:
    os.environ["CORUN_CUDA_NAME"] = "child"
    os.execv({str(PROGRAMS / "many_launches")!r}, ["many_launches", "100000000"])
print(child, flush=True)
sys.stdin.readline()
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
print("over", flush=True)
time.sleep(1000)
""", "--goal", "50%")
        child = int(program.stdout.readline())
        self.wait_for(lambda: self.clients().get("child", {}).get("launches"))
        told = self.clients()
        self.assertEqual((told["child"]["pid"], len(told)), (child, 2))
        self.assertNotEqual(told["server"]["pid"], child)
        program.stdin.write("\n")
        self.assertEqual(program.stdout.readline(), "over\n")
        self.wait_for(lambda: set(self.clients()) == {"server"})
        self.assertEqual(self.clients()["server"]["memory_bytes"], 6 << 20)

    def test_descriptors(self):
        """Nothing of the connection is there in a program that the program executes."""
        self.start_daemon("--policy", "priority")
        program = self.begin("server", "os.execv('/bin/sh', ['sh', '-c', 'ls -l /proc/$$/fd; sleep 1000'])\n")
        lines = []
        while len(lines) < 4 or "->" in lines[-1]:
            lines.append(program.stdout.readline())
            if not self.clients():
                break
        self.wait_for(lambda: not self.clients())
        self.kill(program)
        said = "".join(lines) + program.stdout.read()
        self.assertNotIn("socket:", said)
        self.assertNotIn("memfd", said)

    def test_child_of_a_call(self):
        """A child that is forked while another thread asks corund, which does not answer: launches and goals are refused in it at once all the same."""
        daemon = self.start_daemon("--policy", "priority")
        program = self.begin("server", """
sys.stdin.readline()
thread = threading.Thread(target=lambda: d.corun_shim_set_goal(1, c.c_double(0.5)))
thread.start()
time.sleep(0.3)
child = os.fork()
if not child:
    os._exit(7 if launch() and d.corun_shim_set_goal(1, c.c_double(0.4)) else 8)
until = time.monotonic() + 1.5  # the other thread waits for three seconds
while time.monotonic() < until:
    done, status = os.waitpid(child, os.WNOHANG)
    if done: break
    time.sleep(0.01)
else:
    os.kill(child, signal.SIGKILL)
    status = -256
print(status // 256, flush=True)
""")
        self.wait_for(lambda: "server" in self.clients())
        daemon.send_signal(signal.SIGSTOP)
        program.stdin.write("\n")
        self.assertEqual(program.stdout.readline(), "7\n")
        daemon.send_signal(signal.SIGCONT)


# Joins by hand as another user: what corund says, then `more` lines of Python.
JOINS = """
import os, socket, struct, sys
def send(s, number, body): s.sendall(struct.pack("II", number, len(body)) + body)
def hear(s):
    data, files, *_ = socket.recv_fds(s, 4096, 1)
    return struct.unpack_from("I", data)[0], data[8:], files
def join(gpu, goal, value, name):
    s = socket.socket(socket.AF_UNIX)
    s.connect({path!r})
    send(s, {ATTACH}, struct.pack("IIIId64s16s", {version}, goal, {bytes}, 0, value, name, gpu))
    return s, hear(s)
"""


@unittest.skipUnless(os.getuid() == 0, "needs root to be other users")
class Rights(Configured):
    def begin(self, uid, text):
        script = JOINS.format(path=str(self.socket), ATTACH=NUMBER["ATTACH"], version=VERSION, bytes=BOARD_BYTES) + text
        # pylint: disable=consider-using-with
        process = subprocess.Popen(["/usr/bin/python3", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
                                   user=uid, group=uid, extra_groups=[], cwd="/")
        for end in (process.stdin.close, process.stdout.close, process.wait, process.kill):
            self.addCleanup(end)
        return process

    def test_limits_of_several_gpus(self):
        """Programs and memory count on all GPUs together, the share on each."""
        self.start_configured("policy: goal\nlimits: [{user: 54321, clients: 3, share: 50%, memory: 64M}]\n")
        board, refused, room = NUMBER["BOARD"], NUMBER["REFUSED"], NUMBER["ROOM"]
        program = self.begin(54321, f"""
one, two = b"a" * 16, b"b" * 16
first, said = join(one, 1, 0.4, b"first")
second, more = join(two, 1, 0.4, b"second")
print(said[0], more[0])
third, said = join(one, 1, 0.2, b"third")
print(said[0], said[1][4:].decode())
third, said = join(two, 1, 0.1, b"third")
fourth, more = join(two, 0, 0.0, b"fourth")
print(said[0], more[0], more[1][4:].decode())
def hold(s, mib):
    send(s, {NUMBER["HOLD"]}, struct.pack("QII", mib << 20, 1, 0))
    number, body, _ = hear(s)
    return number, struct.unpack_from("I", body)[0]
print(hold(first, 40), hold(second, 30)[1] != 0, hold(second, 24), hold(third, 1)[1] != 0)
sys.stdin.read()
""")
        self.assertEqual(program.stdout.readline(), f"{board} {board}\n")
        self.assertEqual(program.stdout.readline(), f"{refused} the goals of this user's programs would be more than its share of the GPU\n")
        self.assertRegex(program.stdout.readline(), f"{board} {refused} .*as many programs there as it may have\n")
        self.assertEqual(program.stdout.readline(), f"({room}, 0) True ({room}, 0) True\n")
        self.assertEqual({name: client["device"] for name, client in self.clients().items()}, {"first": 0, "second": 1, "third": 1})

    def test_lies_about_memory(self):
        """What a program writes on another one's board is not taken for that one's memory."""
        self.start_configured("policy: goal\nlimits: [{user: 54321, memory: 64M}]\n")
        room = NUMBER["ROOM"]
        program = self.begin(54321, f"""
import mmap
first, said = join(bytes(16), 0, 0.0, b"first")
second, more = join(bytes(16), 0, 0.0, b"second")
boards = mmap.mmap(said[2][0], {FILE_BYTES})
at = 4096 * (1 + struct.unpack_from("I", said[1])[0]) + {BYTES}
def hold(s, mib, grows=1):
    send(s, {NUMBER["HOLD"]}, struct.pack("QII", mib << 20, grows, 0))
    number, body, _ = hear(s)
    return number, struct.unpack_from("I", body)[0] == 0
print(hold(first, 40))
struct.pack_into("Q", boards, at, 2 ** 64 - 1)
print(hold(second, 24), hold(first, 41))
struct.pack_into("Q", boards, at, 0)
print(hold(second, 25), hold(first, 40), hold(second, 0, 0), hold(second, 25), flush=True)
struct.pack_into("Q", boards, at, 5)
print("over", flush=True)
sys.stdin.read()
""")
        self.assertEqual(program.stdout.readline(), f"({room}, True)\n")
        self.assertEqual(program.stdout.readline(), f"({room}, True) ({room}, False)\n")
        self.assertEqual(program.stdout.readline(), f"({room}, False) ({room}, True) ({room}, True) ({room}, False)\n")
        self.assertEqual(program.stdout.readline(), "over\n")
        self.assertEqual({name: client["memory_bytes"] for name, client in self.clients().items()}, {"first": 40 << 20, "second": 0})

    def test_names_of_gpus(self):
        """A user whose programs make GPUs up leaves places to others, and gets its own again."""
        self.start_configured("policy: goal\nlimits: [{user: 54321}, {user: 54322}]\n")
        board, refused = NUMBER["BOARD"], NUMBER["REFUSED"]
        script = """
said = [join(bytes([{first} + i]) * 16, 0, 0.0, b"%d" % ({first} + i)) for i in range({count})]
print([more[0] for _, more in said], flush=True)
print(said[-1][1][1][4:], flush=True)
for s, _ in said[4:]: s.close()
sys.stdin.readline()
again = [join(bytes([{first} + i]) * 16, 0, 0.0, b"%d" % ({first} + i)) for i in range(4, 6)]
print([more[0] for _, more in again], flush=True)
sys.stdin.read()
"""
        one = self.begin(54321, script.format(first=1, count=9))
        self.assertEqual(one.stdout.readline(), f"{[board] * 5 + [refused] * 4}\n")  # the GPU that corund has found, and half of the seven other places
        self.assertRegex(one.stdout.readline(), "as many GPUs as they may name that corund does not know")
        two = self.begin(54322, script.format(first=101, count=3))
        self.assertEqual(two.stdout.readline(), f"{[board] * 3}\n")
        self.wait_for(lambda: len(self.clients()) == 7)
        one.stdin.write("\n")
        self.assertEqual(one.stdout.readline(), f"{[board, refused]}\n")

    def test_passed_socket(self):
        """A connection is the user's who made it, whoever has it: another user who is handed it gets what the first one may, and no more."""
        self.start_configured("policy: goal\nlimits: [{user: 54321, clients: 2, share: 50%}]\n")
        mine = Client(self.socket, name=b"mine")
        path = self.folder / "handed"
        giver = self.begin(54321, f"""
s, said = join(bytes(16), 1, 0.4, b"given")
print(said[0], flush=True)
listener = socket.socket(socket.AF_UNIX)
path = sys.stdin.readline().strip()
to = socket.socket(socket.AF_UNIX)
to.connect(path)
socket.send_fds(to, [b"x"], [s.fileno()] + said[2])
print("over", flush=True)
sys.stdin.read()
""")
        self.assertEqual(int(giver.stdout.readline()), NUMBER["BOARD"])
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            path.chmod(0o777)
            listener.listen(1)
            giver.stdin.write(f"{path}\n")
            there, _ = listener.accept()
        with there:
            _, files, *_ = socket.recv_fds(there, 16, 2)
        self.assertEqual(giver.stdout.readline(), "over\n")
        told = self.clients()["given"]
        self.assertEqual((told["uid"], told["pid"]), (54321, giver.pid))
        with socket.socket(fileno=files[0]) as taken:  # by root here, who might do all of this on a connection of its own
            for kind, body, answer in (("POLICY", struct.pack("I", 2**32 - 1) + b"even", "REFUSED"), ("GOAL", struct.pack("IId", os.getpid(), 0, 0.0), "REFUSED"),
                                       ("GOAL", struct.pack("IId", 0, 1, 0.9), "REFUSED"), ("GOAL", struct.pack("IId", 0, 1, 0.3), "DONE")):
                taken.sendall(struct.pack("II", NUMBER[kind], len(body)) + body)
                self.assertEqual(struct.unpack_from("I", taken.recv(4096))[0], NUMBER[answer], (kind, body))
            giver.kill()
            giver.wait()
            self.assertEqual(self.clients()["given"]["uid"], 54321)  # it counts for the giver as long as somebody holds it,
        self.wait_for(lambda: set(self.clients()) == {"mine"})  # and no longer
        with self.assertRaises(OSError):
            os.truncate(files[1], 4096)
        for seal in (fcntl.F_SEAL_WRITE, fcntl.F_SEAL_FUTURE_WRITE if hasattr(fcntl, "F_SEAL_FUTURE_WRITE") else 16):
            with self.assertRaises(OSError):
                fcntl.fcntl(files[1], fcntl.F_ADD_SEALS, seal)
        os.close(files[1])
        mine.close()

    def test_files_for_corund(self):
        """Descriptors that somebody sends to corund are closed."""
        for kind in ("hardware: true", "simulate: gtx980"):
            daemon = self.start_daemon("--configuration", self.write(f"{kind}\nsocket: {self.socket}\nlimits: [{{user: 54321}}]\n"))
            files = pathlib.Path(f"/proc/{daemon.pid}/fd")
            count = len(list(files.iterdir()))
            sender = self.begin(54321, f"""
s = socket.socket(socket.AF_UNIX)
s.connect({str(self.socket)!r})
file = os.open("/dev/null", os.O_RDONLY)
for _ in range(50):
    socket.send_fds(s, [struct.pack("III", {NUMBER["LIST"]}, 4, 0)], [file] * 20)
    said = b""
    while len(said) < 12 or struct.unpack_from("I", said, len(said) - 12)[0] != {NUMBER["DONE"]}: said += s.recv(4096)
print("over", flush=True)
sys.stdin.read()
""")
            self.assertEqual(sender.stdout.readline(), "over\n")
            self.assertLess(len(list(files.iterdir())), count + 10)  # of a thousand
            daemon.terminate()
            self.assertEqual(daemon.wait(10), 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
