#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs that take long: the line on a terminal, an interrupt at any time, and what applications print again and again.
Usage: test_long_runs.py CORUN [TEST...]"""

import fcntl
import json
import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import unittest

from programs import InFolder, describe

OK, USAGE, INTERRUPTED = 0, 2, 130
GPU = "gtx980:sms=2"
SPEAK = """
.extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 values);
.global .align 1 .b8 text[7] = {104, 101, 108, 108, 111, 10, 0};
.visible .entry speak(.param .u64 data, .param .u32 rounds)
{
    .local .align 8 .b8 values[8];
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<5>;
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    or.b32 %r1, %r1, %r2;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 ret;
    mov.u64 %rd1, values;
    cvta.local.u64 %rd2, %rd1;
    mov.u64 %rd3, text;
    cvta.global.u64 %rd4, %rd3;
    {
        .param .b64 p0;
        .param .b64 p1;
        .param .b32 r0;
        st.param.b64 [p0], %rd4;
        st.param.b64 [p1], %rd2;
        call.uni (r0), vprintf, (p0, p1);
        ld.param.b32 %r3, [r0];
    }
    ret;
}
"""


class LongRuns(InFolder):
    programs = {"a": {"rounds": 50}, "b": {"rounds": 200}}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "speak.ptx").write_text((cls.folder / "work.ptx").read_text().split(".visible")[0] + SPEAK)
        (cls.folder / "speak.yaml").write_text(describe("speak", 1, kernel="speak").replace("work.ptx", "speak.ptx"))

    @staticmethod
    def wait_until_it_listens(process):
        folder = pathlib.Path(f"/proc/{process.pid}/fd")
        listens = False
        while not listens:
            try:
                listens = any("signalfd" in os.readlink(one) for one in folder.iterdir())
            except FileNotFoundError:  # one was closed in between
                pass

    def interrupted(self, *arguments):
        """What it says when SIGINT comes as soon as it listens."""
        with subprocess.Popen([self.command, "run", "--gpu", GPU, "--cycles", "100G", *arguments], cwd=self.folder, text=True,
                              env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            self.wait_until_it_listens(process)
            process.send_signal(signal.SIGINT)
            text, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, INTERRUPTED)
        return text

    def test_isolated_runs_that_are_interrupted(self):
        self.assertEqual(list(self.folder.glob("cache/corun/*")), [])
        result = json.loads(self.interrupted("--jobs", "1", "--json", "-", "./a.yaml", "./b.yaml"))
        self.assertEqual((result["interrupted"], result["cycles"]), (True, 0))
        self.assertEqual([one["ipc_isolated"] for one in result["applications"]], [None, None])
        text = self.interrupted("--jobs", "1", "./a.yaml", "./b.yaml")
        self.assertIn("interrupted during the isolated runs: the applications have not run together yet", text)
        self.assertRegex(text, "a@small +not finished\nb@small +not finished\n")
        self.assertNotIn("IPC  isolated", text)
        self.assertEqual(list(self.folder.glob("cache/corun/*")), [])  # neither the one that was ended nor the one that had not begun

    def test_a_prediction_that_is_interrupted(self):
        self.corun("predict", "--gpu", GPU, "--cache", "lines")  # only the lines of latency, which are kept
        with subprocess.Popen([self.command, "predict", "--gpu", GPU, "--cache", "lines", "--cycles", "100G", "--json", "p.json", "./a.yaml"],
                              cwd=self.folder, text=True, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            self.wait_until_it_listens(process)
            process.send_signal(signal.SIGINT)
            text, said = process.communicate(timeout=60)
        self.assertEqual((process.returncode, text), (INTERRUPTED, ""))
        self.assertEqual(said, "corun: interrupted: nothing is predicted\n")
        self.assertFalse((self.folder / "p.json").exists())

    def test_the_line_on_a_terminal(self):
        try:
            ours, theirs = pty.openpty()
        except OSError as problem:
            self.skipTest(f"no terminal can be had: {problem}")
        with subprocess.Popen([self.command, "run", "--gpu", GPU, "--cycles", "100G", "--no-cache", "./a.yaml", "./b.yaml"],
                              cwd=self.folder, env=self.environment, stdout=subprocess.DEVNULL, stderr=theirs) as process:
            os.close(theirs)
            text = ""
            while not re.search(r"isolated [ab]: [0-9.]+ of 100000000.0 thousand cycles; [0-9]+ % of all, .+ left", text):
                text += os.read(ours, 1000).decode()
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)
        os.close(ours)

    def test_lines_fit_the_terminal(self):
        """Tables, their headings and what stands between them, on one of 80 columns."""
        for words in (("predict", "--gpu", GPU, "--cycles", "2K", "./a.yaml"), ("characterize", "--gpu", GPU, "--cycles", "2K", "./a.yaml")):
            try:
                ours, theirs = pty.openpty()
            except OSError as problem:
                self.skipTest(f"no terminal can be had: {problem}")
            fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
            with subprocess.Popen([self.command, *words], cwd=self.folder, env={**self.environment, "NO_COLOR": "1"}, stdout=theirs,
                                  stderr=subprocess.DEVNULL) as process:
                os.close(theirs)
                text = b""
                try:
                    while part := os.read(ours, 1000):
                        text += part
                except OSError:  # the other end is closed
                    pass
                self.assertEqual(process.wait(timeout=60), 0)
            os.close(ours)
            lines = text.decode().splitlines()
            self.assertGreater(len(lines), 8)
            self.assertEqual([line for line in lines if len(line) > 80], [])

    def test_what_applications_print(self):
        run = ("run", "--gpu", GPU, "--runs", "5", "./speak.yaml")
        once = self.corun(*run)
        self.assertEqual(once.stdout.count("hello\n"), 1)
        self.assertTrue(once.stdout.startswith("hello\n"))
        self.assertEqual(self.corun(*run, "--console", "none").stdout.count("hello"), 0)
        self.assertEqual(self.corun(*run, "--console", "-").stdout.count("hello\n"), 5)
        self.assertEqual(self.corun(*run, "--console", "all.txt").stdout.count("hello"), 0)
        self.assertEqual((self.folder / "all.txt").read_text(), 5 * "hello\n")
        two = self.corun(*run, "./speak.yaml", "--json", "-")
        self.assertEqual((two.stderr, json.loads(two.stdout)["applications"][0]["runs"]), (2 * "hello\n", 5))
        self.assertIn("cannot both", self.corun(*run, "--json", "-", "--console", "-", status=USAGE).stderr)


if __name__ == "__main__":
    InFolder.command = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
