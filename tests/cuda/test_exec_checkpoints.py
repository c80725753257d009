#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""corun exec --checkpoint and --resume: the same results, the same files, and what is refused. Usage: test_exec_checkpoints.py CORUN
FOLDER-OF-PROGRAMS [TEST...]"""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

CORUN, PROGRAMS = sys.argv[1:3]
USAGE, SYNTAX, UNSUPPORTED, NOT_FOUND, ARGUMENT, FILE = 2, 3, 4, 5, 6, 13
POINTS = max(4, int(os.environ.get("CORUN_TEST_RUNS", "0")))
# Not every compiler can clear what lies between the members of a structure (src/base/archive.h).
SAME_BYTES = os.environ.get("CORUN_COMPILER", "GNU") == "GNU"
# Streams, events, pinned and managed memory, text of kernels, graphs, pools, the device's heap, textures, structures in constant memory,
# slices, costs of launches, threads of the host, other GPUs; addresses of the host in what the GPU gets.
RUNS = (
    ("saved",),
    ("streams",),
    ("--gpu", "quadro-v100:sms=8", "saved", "leave"),
    ("--threads", "2", "pools"),
    ("--launch-costs", "graph"),
    ("--slice", "7", "reduction"),
    ("--gpu", "tesla-c2050", "structures"),
    ("textures",),
    ("tensor",),
    ("deep_calls",),
)
# With a sanitizer, which has a heap of its own for all, ours is not apart from the program's (src/cuda/own_heap.c).
if not os.environ.get("CORUN_SANITIZE"):
    RUNS += (("own_addresses",), ("--threads", "2", "own_addresses"))


def exec_(*arguments, **settings):
    """Runs with the options, and the program that is the last of them or the last but one."""
    return subprocess.run([CORUN, "exec", *arguments], capture_output=True, text=True, timeout=300, check=False,
                          env=dict(os.environ, **settings))


def split(run):
    """Options, and the command line of the program."""
    first = next(i for i, word in enumerate(run) if os.path.exists(os.path.join(PROGRAMS, word)))
    return list(run[:first]), ["--", os.path.join(PROGRAMS, run[first]), *run[first + 1:]]


def last_cycle(text):
    result = json.loads(text)
    return max(row["start_cycle"] + row["cycles"] for row in result["launches"] + result["copies"])


def descendants(pid):
    """The process, its children and theirs; those that end meanwhile may be left out."""
    found = [pid]
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                for child in file.read().split():
                    found += descendants(int(child))
    except OSError:
        pass
    return found


def takes(pid, number):
    """It has a handler for the signal."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            return int(re.search(r"^SigCgt:\s*(\w+)", file.read(), re.M)[1], 16) >> (number - 1) & 1
    except OSError:
        return False


class Checkpoints(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.file, self.json = os.path.join(self.folder, "state.ck"), os.path.join(self.folder, "all.json")

    def start(self, run, *options, program=()):
        """A process that runs it."""
        before, behind = split(run)
        command = [CORUN, "exec", "-q", "--json", self.json, *before, *options, *behind, *program]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def run_(self, run, *options, program=()):
        """Status, output and JSON of a run; what it says on its errors is in `self.errors`."""
        process = self.start(run, *options, program=program)
        output, self.errors = process.communicate(timeout=300)
        with open(self.json, encoding="utf-8") as file:
            return process.returncode, output, file.read()

    def state(self, cycle=None):
        """Options that save the state, and go on from it."""
        return ["--checkpoint", self.file + (f"@{cycle}" if cycle else ""), "--resume", self.file]

    def test_the_same_results(self):
        """At random cycles of each run, as many as CORUN_TEST_RUNS says. A cycle behind the last step of the GPU has no state."""
        for number, run in enumerate(RUNS):
            plain = self.run_(run)
            self.assertEqual(plain[0], 7 if "leave" in run else 0, self.errors)
            end, points, saved = last_cycle(plain[2]), random.Random(number), 0
            for _ in range(POINTS):
                cycle = points.randrange(1, end)
                with self.subTest(run=run, cycle=cycle):
                    self.assertEqual(self.run_(run, *self.state(cycle)), plain, "the run that writes it")
                    if os.path.exists(self.file):
                        saved += 1
                        self.assertEqual(self.run_(run, *self.state(cycle)), plain, "the run that goes on: " + self.errors)
                        os.remove(self.file)
            self.assertGreaterEqual(saved, POINTS // 3, run)

    def test_other_options(self):
        """Addresses of the program's stack are where they were, whatever else is asked of the run that goes on: also with other options of checkpoints."""
        run = ("own_addresses",)
        plain = self.run_(run)
        self.assertEqual(plain[0], 0, self.errors)
        self.assertEqual(self.run_(run, "--checkpoint", f"{self.file}@{last_cycle(plain[2]) // 2}"), plain, self.errors)
        moved = os.path.join(self.folder, "a-longer-name.checkpoint")
        os.rename(self.file, moved)
        self.assertEqual(self.run_(run, "--resume", moved), plain, self.errors)
        self.assertEqual(self.run_(run, "--resume", moved, "--checkpoint", self.file, "--checkpoint-every", "1M"), plain, self.errors)
        before, behind = split(run)
        done = subprocess.run([CORUN, "exec", "-q", *before, "--resume", moved, *behind], capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual((done.returncode, done.stdout), plain[:2], done.stderr)

    def test_the_same_file(self):
        """What is saved later is the same, byte for byte, whether the run was interrupted or not: nothing is forgotten."""
        if not SAME_BYTES:
            self.skipTest("files of the same state differ")
        for run in (("saved",), ("streams",), ("--gpu", "quadro-v100:sms=8", "deep_calls")):
            end = last_cycle(self.run_(run)[2])
            files = {}
            for name, options in (("early", []), ("late", []), ("again", ["--resume", os.path.join(self.folder, "early")])):
                path = os.path.join(self.folder, name)
                self.run_(run, "--checkpoint", f"{path}@{end // (5 if name == 'early' else 2)}", *options)
                with open(path, "rb") as file:
                    files[name] = file.read()
            self.assertNotEqual(files["early"], files["late"])
            self.assertEqual(files["again"], files["late"], run)

    def kill_and_go_on(self, kill, seconds):
        """Kills it again and again until it ends; gives the statuses of all runs."""
        run, statuses = ("--gpu", "quadro-v100:sms=8", "saved"), []
        plain = self.run_(run, program=["pause"])
        while len(statuses) < 30:
            process = self.start(run, "--checkpoint-every", "2K", *self.state(), program=["pause"])
            try:
                output, errors = process.communicate(timeout=seconds + 0.3 * len(statuses))
            except subprocess.TimeoutExpired:
                kill(process)
                output, errors = process.communicate(timeout=60)
            statuses.append(process.returncode)
            if process.returncode == 0:
                with open(self.json, encoding="utf-8") as file:
                    self.assertEqual((0, output, file.read()), plain, errors)
                return statuses
            self.assertEqual(errors, "")
        self.fail(f"it has not ended: {statuses}")

    def test_killed(self):
        self.assertIn(-signal.SIGKILL, self.kill_and_go_on(lambda process: process.send_signal(signal.SIGKILL), 0.5))

    def test_terminated(self):
        """The program has come to where it takes the signal, however busy the machine is: before, it dies of the signal, and the command says so."""
        def kill(process):
            until = time.monotonic() + 60
            while process.poll() is None and not any(takes(pid, signal.SIGTERM) for pid in descendants(process.pid)):
                self.assertLess(time.monotonic(), until, "it does not take the signal")
                time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
        self.assertEqual(set(self.kill_and_go_on(kill, 0.5)[:-1]), {128 + signal.SIGTERM})

    def test_one_more_when_it_is_told_to_end(self):
        """Between two calls of a program that rests, and at SIGINT, which a terminal sends to all of its group."""
        plain = self.run_(("saved",), program=["pause"])
        for kill, status in ((lambda process: process.send_signal(signal.SIGTERM), 143), (lambda process: os.killpg(process.pid, signal.SIGINT), 130)):
            process = self.start(("saved",), *self.state(), program=["pause"])
            time.sleep(0.9)
            kill(process)
            process.communicate(timeout=60)
            self.assertEqual(process.returncode, status)
            self.assertGreater(os.path.getsize(self.file), 1000)
            self.assertEqual(self.run_(("saved",), *self.state(), program=["pause"]), plain, self.errors)
            os.remove(self.file)

    def saved(self, *program):
        """A checkpoint in the midst of the program `saved`."""
        plain = self.run_(("saved",))
        self.run_(("saved", *program), "--checkpoint", f"{self.file}@{last_cycle(plain[2]) // 2}")
        self.assertTrue(os.path.exists(self.file), self.errors)

    def refused(self, status, words, *arguments, **settings):
        done = exec_("-q", *arguments, **settings)
        self.assertIn(words, done.stderr)
        self.assertEqual(done.returncode, status, done.stderr)

    def test_another_way(self):
        """A program that gives its GPU what the clock of the host says."""
        saved = os.path.join(PROGRAMS, "saved")
        self.saved("clock")
        self.refused(ARGUMENT, "the program does not do what it did before the checkpoint: after its task 1 (copy of 16384 bytes to the GPU), "
                     "bytes from the host: not what it was", "--resume", self.file, "--", saved, "clock")
        self.saved("argument")
        self.refused(ARGUMENT, "its task 4, launch of kernel _Z3mixPjji, grid 32,1,1, thread blocks of 128,1,1, was another one: its arguments differ",
                     "--resume", self.file, "--", saved, "argument")

    def test_an_early_end(self):
        """A program that ends before it has come to where it was saved."""
        flag = os.path.join(self.folder, "flag")
        with open(flag, "w", encoding="utf-8"):
            self.saved("while", flag)
        os.remove(flag)
        self.refused(ARGUMENT, "it has ended after its task 2 (copy of 16384 bytes to the GPU), before it came there", "--resume", self.file, "--",
                     os.path.join(PROGRAMS, "saved"), "while", flag)

    def test_of_something_else(self):
        saved = os.path.join(PROGRAMS, "saved")
        self.saved()
        with open(self.file, "rb") as file:
            whole = file.read()
        for words, arguments in ((": the command line of the program is not what it was", ("--", saved, "leave")),
                                 (": the program is not what it was", ("--", os.path.join(PROGRAMS, "streams"))),
                                 (": the name of its GPU was gtx980, and is quadro-v100 now", ("--gpu", "quadro-v100", "--", saved)),
                                 (": the name of its GPU was gtx980, and is gtx980:sms=4 now", ("--gpu", "gtx980:sms=4", "--", saved)),
                                 (": --slice was , and is 3 now", ("--slice", "3", "--", saved))):
            self.refused(ARGUMENT, words, "--resume", self.file, *arguments)
        for at in (20, len(whole) // 2, len(whole) - 1):
            with open(self.file, "wb") as file:
                file.write(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1:])
            self.refused(SYNTAX, "state.ck: it is", "--resume", self.file, "--", saved)
        self.refused(NOT_FOUND, "none.ck", "--resume", os.path.join(self.folder, "none.ck"), "--", saved)
        self.refused(FILE, "no checkpoint can be written", "--checkpoint", "/nowhere/state.ck", "--", saved)
        with open(self.file, "w", encoding="utf-8") as file:
            file.write("something of the user's that stays")
        self.refused(FILE, "is there and is no checkpoint", "--checkpoint", self.file, "--", saved)

    def test_what_cannot_be_saved(self):
        """Named, before anything is simulated, or where it is met."""
        for words, name in (("several of its threads call CUDA", "threads"), ("its kernels launch kernels", "driver_nested"),
                            ("its kernels use memory of the host that it has not got from CUDA", "registered"),
                            ("several of its processes use CUDA", "forked"),
                            ("its graphs have conditional nodes", "../cuda_graph_conditions"),
                            ("its streams wait for values in memory", "../cuda_stream_values"),
                            ("a function in a stream waits for what the program does next", "function_thread"),
                            ("it shares memory or events with other processes", "../cuda_interprocess")):
            path = os.path.join(PROGRAMS, name)
            with self.subTest(program=name):
                self.refused(UNSUPPORTED, "there are no checkpoints of this program: " + words, "--checkpoint", self.file, "--", path)
        saved = os.path.join(PROGRAMS, "saved")
        for option in (["--functional"], ["--profile"], ["--sample"], ["--workers"], ["--profiled"], ["--kernel", "mix"], ["--launch", "2"],
                       ["--policy", "even"], ["--gpu", "gtx980", "--gpu", "gtx980"]):
            self.refused(USAGE, "--checkpoint and --resume are for one program on one GPU", "--checkpoint", self.file, *option, "--", saved)
        self.refused(USAGE, "--checkpoint-every wants --checkpoint FILE", "--checkpoint-every", "5K", "--", saved)
        self.assertFalse(os.path.exists(self.file))
        # Who says it to the libraries alone is told there.
        self.refused(UNSUPPORTED, "there are no checkpoints of this program: it runs without timing", "--functional", "--", saved,
                     CORUN_CUDA_CHECKPOINT=self.file)

    def test_a_failed_kernel(self):
        """Nothing is saved after it, and the program ends as it does without checkpoints."""
        plain = self.run_(("fault",))
        self.assertEqual(self.run_(("fault",), "--checkpoint-every", "1K", *self.state()), plain)
        if os.path.exists(self.file):
            self.assertEqual(self.run_(("fault",), "--checkpoint-every", "1K", *self.state()), plain)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
