#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Children of programs under corund, and connections that change hands: whose launches, goals and memory they are.

    test_hardware_forks.py CORUN PROGRAMS TEST...

As test_hardware.py, on corun's own driver.
"""
import array
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from test_hardware import ASKED, BYTES, CORUN, PROGRAMS, STARTING, Client, Configured, Shimmed  # pylint: disable=wrong-import-position

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


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
