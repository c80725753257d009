#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Cases in worker processes and in this one: what ends a run, and what a policy does to its process.
Usage: test_worker.py FOLDER_OF_THE_PACKAGE LIBRARY INCLUDE CC [TEST...]"""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "cli")]
from python_with import SKIPPED, need, run_tests  # noqa: E402
from programs import PTX, describe  # noqa: E402

need("numpy")
PACKAGE, LIBRARY, INCLUDE = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
CC = sys.argv.pop(1)
if not os.path.exists(LIBRARY):
    print(f"skipped: {LIBRARY} is not built")
    sys.exit(SKIPPED)
os.environ["CORUN_LIBRARY"] = LIBRARY
sys.path.insert(0, PACKAGE)
from test_own_policy import program  # noqa: E402

import corun  # noqa: E402
from corun import library, worker  # noqa: E402

GPU = "gtx980:sms=2,epoch_cycles=1000"
SECONDS = 120  # of patience; nothing here takes long
BOTH = (True, False)  # worker


class Folder(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="corun-worker-"))
        (cls.folder / "work.ptx").write_text(PTX)
        for name, rounds in (("a", 50), ("b", 200), ("endless", 2**31 - 1)):
            (cls.folder / f"{name}.yaml").write_text(describe(name, rounds, grid=64, count=8192))
        cls.a, cls.b, cls.endless = (str(cls.folder / f"{name}.yaml") for name in ("a", "b", "endless"))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def policy(self, name, start="", decide="", more=""):
        """The path of a shared object with a policy that does this."""
        source, path = self.folder / f"{name}.c", str(self.folder / f"{name}.so")
        head = "#include <signal.h>\n#include <stdio.h>\n#include <unistd.h>\n"
        source.write_text(head + program(start=start, decide=decide) + more)
        subprocess.run([CC, "-std=c17", "-D_GNU_SOURCE", "-shared", "-fPIC", f"-I{INCLUDE}", source, "-o", path], check=True)
        return path

    def run_case(self, **settings):
        return corun.run([self.a, self.b], **{"gpu": GPU, "cycles": "8K", "cache": False, "baselines": False, **settings})

    def python(self, program, *arguments, **settings):
        """A Python that runs the text, with its two outputs piped and a session of its own, as a terminal has one."""
        return subprocess.Popen([sys.executable, *(arguments or ["-c", program])], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, start_new_session=True, **settings,
                                env=dict(os.environ, PYTHONPATH=PACKAGE, PYTHONDONTWRITEBYTECODE="1"))

    def end_of(self, process, given=None):
        """(status, output, errors) when all that have its outputs open have ended: itself, and workers."""
        try:
            return (*process.communicate(given, timeout=SECONDS), process.returncode)
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()

    def long_run(self, worker):
        return textwrap.dedent(f"""\
            import corun
            def begun(stage, cycle, limit, told=[]):
                if cycle and not told: print('begun', flush=True); told.append(1)
            def run():
                corun.run({self.endless!r}, cycles='100G', watchdog='100G', gpu={GPU!r}, cache=False, worker={worker}, progress=begun)
            """)


class Interrupts(Folder):
    """Ctrl-C reaches all processes of a terminal, a signal from elsewhere one."""

    def interrupted(self, program, everybody):
        process = self.python(program)
        self.assertEqual(process.stdout.readline(), "begun\n")
        (os.killpg if everybody else os.kill)(process.pid, signal.SIGINT)
        return self.end_of(process)

    def test_ends_the_run_and_then_the_interpreter(self):
        for worker in BOTH:
            for everybody in (False, True):
                with self.subTest(worker=worker, everybody=everybody):
                    output, errors, status = self.interrupted(self.long_run(worker) + "run()", everybody)
                    self.assertEqual(status, -signal.SIGINT, errors)
                    self.assertEqual((output, errors.count("Traceback"), errors.splitlines()[-1]), ("", 1, "KeyboardInterrupt"))

    def test_leaves_an_interpreter_that_can_be_used(self):
        for worker in BOTH:
            with self.subTest(worker=worker):
                output, errors, status = self.interrupted(self.long_run(worker) + textwrap.dedent(f"""\
                    try:
                        run()
                    except KeyboardInterrupt:
                        print('interrupted')
                    print(corun.run({self.a!r}, cycles='8K', gpu={GPU!r}, cache=False, worker={worker}).cycles)
                    """), True)
                self.assertEqual((output, errors, status), ("interrupted\n8000\n", "", 0))

    def test_that_another_thread_takes(self):
        """The kernel may give the signal to any thread, and it may come just before this one waits: then nothing wakes this one. With a
        policy that does not return, there is no progress that would."""
        path = self.policy("endless", decide="for (;;) pause();")
        output, errors, status = self.end_of(self.python(f"""\
import corun, signal, threading, time
def take(stage='', cycle=1, limit=0):
    if cycle:
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
def run(worker, **settings):
    try:
        corun.run({self.endless!r}, cycles='100G', watchdog='100G', gpu={GPU!r}, cache=False, baselines=False, worker=worker, **settings)
    except KeyboardInterrupt:
        print('interrupted')
run(False, progress=take)
timer = threading.Timer(0.5, take)
run(True, policy={path!r}, progress=lambda *_: timer.start())
"""))
        self.assertEqual((output, errors, status), ("interrupted\ninterrupted\n", "", 0))

    def test_no_worker_outlives_its_parent(self):
        process = self.python(self.long_run(True) + "run()")
        self.assertEqual(process.stdout.readline(), "begun\n")
        process.kill()
        self.assertEqual(self.end_of(process), ("", "", -signal.SIGKILL))  # the worker had both outputs open

    def test_a_worker_whose_parent_stopped_listening_ends_without_a_word(self):
        """As one does whose parent was killed, in the moment before the kernel kills it, too."""
        case = library.Case([("gpu", GPU), ("cycles", "1M"), ("no-baselines", None)], [self.a])
        ours, theirs = socket.socketpair()
        with ours, theirs:
            process = worker._start(theirs)
            theirs.close()
            worker.send(ours, 0, json.dumps({"parent": os.getpid(), "library": LIBRARY, **case._asdict()}).encode())
            worker.receive(ours)  # it has begun
            ours.close()
            self.assertEqual(process.wait(SECONDS), 0)


class Policies(Folder):
    def died(self, returncode, *words, **settings):
        with self.assertRaises(corun.WorkerError) as raised:
            self.run_case(**settings)
        error = raised.exception
        self.assertEqual((error.returncode, error.status), (returncode, "WORKER"), error)
        for word in words:
            self.assertIn(word, str(error))
        self.assertEqual(self.run_case(policy="even").cycles, 8000)  # and we continue
        return error

    def test_that_crash(self):
        path = self.policy("crash", decide="*(volatile int *)0 = 1;")
        error = self.died(-signal.SIGSEGV, "signal 11 (SIGSEGV: Segmentation fault)", "stage 'shared'", path, policy=path)
        self.assertEqual((error.stage, error.cycle), ("shared", 0))
        self.died(-signal.SIGABRT, "SIGABRT", "stage 'shared'", policy=self.policy("stop", start="abort();"))
        self.died(-signal.SIGSEGV, "before the first run", policy=self.policy(
            "load", more="__attribute__((constructor)) static void fail(void) { raise(SIGSEGV); }"))

    def test_that_call_exit(self):
        self.died(3, "exit status 3 and without a result", "stage 'shared'", policy=self.policy("leave", decide="exit(3);"))
        self.died(0, "exit status 0 and without a result", policy=self.policy("leave0", decide="_exit(0);"))

    def test_in_this_process_on_request(self):
        path = self.policy("here", decide="*(volatile int *)0 = 1;")
        program = f"import corun\ncorun.run([{self.a!r}, {self.b!r}], policy={path!r}, cycles='8K', gpu={GPU!r}, cache=False, worker=False)"
        self.assertEqual(self.end_of(self.python(program))[2], -signal.SIGSEGV)

    def test_what_they_print_comes_out(self):
        path = self.policy("print", start='printf("from the policy\\n");',
                           more="__attribute__((destructor)) static void wait_for_ever(void) { for (;;) pause(); }")
        program = f"import corun\ncorun.run([{self.a!r}], policy={path!r}, cycles='8K', gpu={GPU!r}, cache=False)\n" \
                  "print('after', flush=True)"
        self.assertEqual(self.end_of(self.python(program)), ("from the policy\nafter\n", "", 0))


class Workers(Folder):
    def test_same_results(self):
        for settings in ({"policy": "even", "profile": True, "baselines": True},
                         {"cycles": "1M", "progress": lambda stage, cycle, limit: cycle < 200000}):
            there, here = (self.run_case(worker=worker, **settings) for worker in BOTH)
            for one in (there, here):
                del one.data["wall_seconds"], one.data["warp_instructions_per_second"]
            self.assertEqual(there.data, here.data)
            for name in ("sms", "shares", "totals"):
                self.assertTrue((getattr(there, name) == getattr(here, name)).all())
                self.assertTrue(getattr(there, name).flags.writeable)
            self.assertEqual(there.interrupted, "progress" in settings)

    def test_progress_is_called_here(self):
        seen = set()
        self.run_case(progress=lambda *_: seen.add(threading.get_ident()))
        self.assertEqual(seen, {threading.get_ident()})

    def test_one_that_is_killed(self):
        def kill(*_):
            with open(f"/proc/self/task/{threading.get_native_id()}/children", encoding="ascii") as stream:
                os.kill(int(stream.read().split()[-1]), signal.SIGKILL)
        with self.assertRaisesRegex(corun.WorkerError, "SIGKILL: Killed.*memory runs out.*stage 'shared'") as raised:
            self.run_case(cycles="100G", watchdog="100G", progress=kill)
        self.assertEqual((raised.exception.returncode, raised.exception.stage), (-signal.SIGKILL, "shared"))

    def test_main_is_run_once(self):
        """A script without a guard, a program on the standard input (as a REPL or a notebook), python -c: none is imported anew."""
        program = f"import corun\nprint('once')\nprint(corun.run({self.a!r}, cycles='8K', gpu={GPU!r}, cache=False).cycles)\n"
        (self.folder / "script.py").write_text(program)
        for process, given in ((self.python(program), None), (self.python("", str(self.folder / "script.py")), None),
                               (self.python("", "-", stdin=subprocess.PIPE), program)):
            self.assertEqual(self.end_of(process, given), ("once\n8000\n", "", 0))

    def test_files_of_the_user_are_not_imported(self):
        (self.folder / "json.py").write_text("raise ImportError('of the user')\n")
        before = os.getcwd()
        try:
            os.chdir(self.folder)
            self.assertEqual(self.run_case().cycles, 8000)
        finally:
            os.chdir(before)
            (self.folder / "json.py").unlink()

    def test_no_python_to_run_one_with(self):
        before = sys.executable
        try:
            sys.executable = ""
            with self.assertRaisesRegex(corun.CorunError, "sys.executable is empty.*worker=False"):
                self.run_case()
            self.assertEqual(self.run_case(worker=False).cycles, 8000)
            sys.executable = "/nowhere/python"
            with self.assertRaisesRegex(corun.CorunError, "/nowhere/python: No such file") as raised:
                self.run_case()
            self.assertEqual(raised.exception.status, "WORKER")
        finally:
            sys.executable = before


if __name__ == "__main__":
    run_tests()
