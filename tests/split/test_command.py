#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A divided task under `corun exec` and `corun split`. Usage: test_command.py CORUN PROGRAM MODULE [TEST...]"""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from json_page import differences  # noqa: E402

CORUN, PROGRAM, MODULE = sys.argv[1:4]
GPU = "gtx980:sms=2"


def run(*arguments, **settings):
    return subprocess.run([CORUN, *arguments], capture_output=True, text=True, timeout=120, check=False,
                          env=dict(os.environ, **settings))


class Exec(unittest.TestCase):
    def test_divides_with_the_simulated_gpu(self):
        done = run("exec", "-q", "--gpu", GPU, "--", PROGRAM, MODULE, "200000", "3")
        self.assertEqual(done.returncode, 0, done.stderr)
        gpu = [int(count) for count in re.findall(r"gtx980\S*: (\d+) iterations", done.stdout)]
        self.assertEqual(len(gpu), 3)
        self.assertTrue(all(0 < count <= 200000 for count in gpu), done.stdout)
        self.assertIn("simulated", done.stdout)

    def test_several_gpus(self):
        done = run("exec", "-q", "--gpu", GPU, "--gpu", GPU, "--", PROGRAM, MODULE, "100000", "1", CORUN_SPLIT="strategy=static,threads=1")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(re.findall(r"(\d+) iterations", done.stdout), ["33408", "33312", "33280"], done.stdout)

    def test_copies_overlap(self):
        """A part that moves much is cut: what moves in, what computes and what moves back run at once. Simulated time is exact."""
        times = []
        for bytes_ in ("1e15", "1e6"):
            done = run("exec", "-q", "--gpu", "gtx980", "--", PROGRAM, MODULE, "1000000", "1",
                       CORUN_SPLIT=f"strategy=static,cpu_share=0,copy_bytes={bytes_}")
            self.assertEqual(done.returncode, 0, done.stderr)
            times.append(float(re.search(r"([\d.]+) us, simulated", done.stdout)[1]))
        self.assertLess(times[1], 0.7 * times[0])

    def test_a_gpu_that_fails(self):
        """The kernel traps: the CPU finishes, the results are right, and the program can say why."""
        done = run("exec", "-q", "--gpu", GPU, "--", PROGRAM, MODULE, "100000", "2", "99000", CORUN_SPLIT="strategy=quick")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("CUDA_ERROR_LAUNCH_FAILED"), 2, done.stdout)

    def test_wrong_settings(self):
        done = run("exec", "-q", "--gpu", GPU, "--", PROGRAM, MODULE, "1000", "1", CORUN_SPLIT="strategy=best")
        self.assertEqual(done.returncode, 1)
        self.assertIn("`best`", done.stderr)


class Split(unittest.TestCase):
    def test_comparison(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "split.json")
            done = run("split", "--gpu", GPU, "-s", "cap,quick", "-j", path, "--", PROGRAM, MODULE, "100000", "2")
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path, encoding="utf-8") as file:
                written = json.load(file)
        for title in ("CPU alone", "GPUs alone", "cap, first run", "quick, first run", "rate of the first GPU"):
            self.assertIn(title, done.stdout)
        self.assertEqual([case["case"] for case in written["cases"]], ["CPU alone", "GPUs alone", "sizes", "cap", "quick"])
        self.assertEqual(differences("Divided tasks", written), ([], []))
        for case in written["cases"]:
            self.assertEqual(len(case["rounds"]), 2)
            for one in case["rounds"]:
                self.assertEqual(sum(device["iterations"] for device in one["devices"]), 100000)
                self.assertEqual(sum(part["done"] for step in one["steps"] for part in step["parts"]), 100000)
        self.assertEqual(written["cases"][1]["rounds"][0]["devices"][0]["iterations"], 0)
        self.assertEqual(len(written["cases"][4]["rounds"][0]["steps"]), 2)
        self.assertTrue(written["cases"][4]["rounds"][1]["reused"])

    def test_mistakes(self):
        for words, status, text in ((["--", "true"], 5, "has divided no task"),
                                    (["--native", "--", PROGRAM, MODULE, "1000", "1"], 5, "there is no GPU"),
                                    (["--", PROGRAM, "no.ptx", "1000", "1"], 1, "ended with status 1"),
                                    (["-s", "best", "--", PROGRAM, MODULE, "1000", "1"], 1, "`best`"),
                                    (["--native", "--gpu", GPU, "--", "true"], 2, "exclude"),
                                    ([], 2, "a program is missing")):
            done = run("split", *words)
            self.assertEqual(done.returncode, status, (words, done.stderr))
            self.assertIn(text, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
