#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
What is left of a program when `corun exec` or `corun capture` is ended: nothing. Usage: test_ends.py CORUN FORKING [TEST...], FORKING being
programs/forking.c.

A process that still runs keeps its end of the pipe that is its standard output: where that pipe has come to its end, nothing runs.
"""
import os
import pty
import signal
import subprocess
import sys
import tempfile
import unittest

CORUN, FORKING = sys.argv[1:3]
# A shell, a program that it waits for, one in the background, and one in a session of its own.
FAMILY = "sleep 1000 & setsid sleep 1000 & echo ready; sleep 1000; true"


class Ends(unittest.TestCase):
    def setUp(self):
        # The test cleans up after itself: pylint: disable=consider-using-with
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = self.temporary.name

    def tearDown(self):
        self.temporary.cleanup()

    def start(self, *words, **more):
        """With its folder where we look, once its program has said a word. SIGHUP ends it, also where these tests are under nohup."""
        more.setdefault("preexec_fn", lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))
        # pylint: disable=consider-using-with
        process = subprocess.Popen([CORUN, *words], cwd=self.folder, env=dict(os.environ, TMPDIR=self.folder),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stdin.close)
        self.addCleanup(process.stderr.close)
        self.word = process.stdout.readline().strip()
        self.assertTrue(self.word)
        return process

    def is_all_over(self, process):
        rest, _ = process.communicate(timeout=60)
        self.assertEqual(os.listdir(self.folder), [])
        return rest

    def test_signals(self):
        for command, number in (("exec", signal.SIGTERM), ("exec", signal.SIGHUP), ("exec", signal.SIGKILL),
                                ("capture", signal.SIGTERM), ("capture", signal.SIGHUP), ("capture", signal.SIGKILL)):
            with self.subTest(command=command, signal=number.name):
                process = self.start(command, "-q", "--", "sh", "-c", FAMILY)
                process.send_signal(number)
                self.is_all_over(process)
                if number == signal.SIGKILL:
                    self.assertEqual(process.returncode, -number)
                elif command == "exec":
                    self.assertEqual(process.returncode, 128 + number)

    def test_all_of_a_group(self):
        """As those do who start others with a time limit."""
        process = self.start("exec", "-q", "--", "sh", "-c", FAMILY, start_new_session=True)
        os.killpg(process.pid, signal.SIGKILL)
        self.is_all_over(process)

    def test_a_child_whose_fork_is_under_way(self):
        """It comes to be after we have looked for what there is, and is told all the same."""
        for _ in range(8):  # about half of them hit the fork
            process = self.start("exec", "-q", "--", FORKING)
            process.send_signal(signal.SIGTERM)
            words = self.is_all_over(process).split()
            self.assertGreaterEqual(words.count("told"), 1 + words.count("there"), words)

    def test_the_program_may_clean_up(self):
        process = self.start("exec", "-q", "--", "sh", "-c", "trap 'echo bye; exit 7' TERM; sleep 1000 & echo ready; wait")
        process.send_signal(signal.SIGTERM)
        self.assertEqual((self.is_all_over(process), process.returncode), ("bye\n", 7))

    def test_nohup(self):
        process = self.start("exec", "-q", "--", "sh", "-c", "echo ready; read line; echo $line; exit 3",
                             preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)
        process.stdin.write("on\n")
        process.stdin.flush()
        self.assertEqual((self.is_all_over(process), process.returncode), ("on\n", 3))

    def test_the_guard_is_killed(self):
        process = self.start("exec", "-q", "--", "sh", "-c", "echo $PPID; " + FAMILY)
        os.kill(int(self.word), signal.SIGKILL)
        self.is_all_over(process)
        self.assertEqual(process.returncode, 128 + signal.SIGKILL)

    def test_a_stopped_neighbour(self):
        """The caller's process group has no shell above it, as under cron: no guard may be what keeps it from being orphaned."""
        script = f"sleep 1000 & kill -STOP $!; {CORUN} exec -q -- true; status=$?; kill -KILL $!; exit $status"
        done = subprocess.run(["sh", "-c", script], start_new_session=True, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_what_stays_in_the_background(self):
        """A program that has ended by itself leaves what it wants to leave."""
        process = self.start("exec", "-q", "--", "sh", "-c", "sleep 1000 >/dev/null 2>&1 & echo $!")
        self.is_all_over(process)
        os.kill(int(self.word), signal.SIGKILL)  # fails if there is no such process

    def test_ends_of_children_ignored(self):
        process = self.start("exec", "-q", "--", "sh", "-c", "echo ready; exit 5",
                             preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        self.is_all_over(process)
        self.assertEqual(process.returncode, 5)


# A shell with job control, as far as it goes: its job has the terminal, is stopped, resumes in the foreground, and ends.
SHELL = """
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
job = os.fork()
if job == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
while True:
    _, status = os.waitpid(job, os.WUNTRACED)
    os.tcsetpgrp(0, os.getpgrp())
    if not os.WIFSTOPPED(status):
        break
    print("stopped", flush=True)
    os.tcsetpgrp(0, job)
    os.killpg(job, signal.SIGCONT)
print("ended", os.waitstatus_to_exitcode(status), flush=True)
"""
# Says what comes, and asks the terminal, which only the foreground may.
ASKS = """
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCONT, signal.SIGINT})
print("ready", flush=True)
signal.sigwait({signal.SIGCONT})
print("continued", flush=True)
signal.sigwait({signal.SIGINT})
print("interrupted", flush=True)
print("got", input(), flush=True)
sys.exit(9)
"""


class Terminal(unittest.TestCase):
    def expect(self, words):
        while words not in self.shown:
            some = os.read(self.terminal, 4096).decode()
            self.assertTrue(some)
            self.shown += some
        self.shown = self.shown.split(words, maxsplit=1)[1]

    def test_keys(self):
        try:
            shell, self.terminal = pty.fork()
        except OSError as problem:
            self.skipTest(f"no terminal can be had: {problem}")
        if shell == 0:
            os.execv(sys.executable, [sys.executable, "-c", SHELL, CORUN, "exec", "-q", "--", sys.executable, "-c",
                                      ASKS])
        signal.alarm(60)
        self.shown = ""
        try:
            self.expect("ready")
            os.write(self.terminal, b"\x1a")  # Ctrl-Z
            self.expect("stopped")
            self.expect("continued")
            os.write(self.terminal, b"\x03")  # Ctrl-C, which drops what has not been read
            self.expect("interrupted")
            os.write(self.terminal, b"b\n")
            self.expect("got b")
            self.expect("ended 9")
        finally:
            signal.alarm(0)
            os.close(self.terminal)
            os.waitpid(shell, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
