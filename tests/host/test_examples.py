#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program of examples/host: checked, and the same for any number of threads. Usage: test_examples.py PROGRAM"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(sys.argv[1]).resolve()
# Small ones of a few milliseconds: more than one task, more than one phase.
SIZES = {"blackscholes": 2, "bodytrack": 2, "canneal": 2, "crf": 200, "dnn-asr": 68, "facesim": 1, "fd": 100, "fe": 100, "fluidanimate": 1,
         "gmm": 20, "raytrace": 8, "regex": 100, "stemmer": 5, "streamcluster": 6, "x264": 4}
SIZE = SIZES[PROGRAM.name]


class Example(unittest.TestCase):
    def run_program(self, *words, status=0):
        done = subprocess.run([PROGRAM, f"--size={SIZE}", *words], text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status == 0 else done.stderr

    def report(self, *words):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "report.json"
            self.run_program(f"--report={path}", *words)
            return json.loads(path.read_text(encoding="utf-8"))

    def test_same_result(self):
        """For any number of threads, and for another order of the machine's; another seed is another query."""
        outputs = [self.run_program(f"--threads={threads}", "--queries=2", f"--seed={seed}")
                   for threads, seed in ((1, 7), (2, 7), (4, 7), (4, 7), (2, 8))]
        for output in outputs:
            self.assertRegex(output, r"\nPASSED\n\Z")
        results = [re.search(r"^result ([0-9a-f]{16})$", output, re.M).group(1) for output in outputs]
        self.assertEqual(len(set(results[:4])), 1, results)
        self.assertNotEqual(results[3], results[4])

    def test_task_graph(self):
        """The graph is that of the input, not that of the threads; needs go back; a repeated query is one query."""
        one, four = self.report("--threads=1", "--queries=2"), self.report("--threads=4", "--queries=2", "--repeat=3")
        self.assertEqual((one["program"], one["size"], one["threads"], four["threads"]), (PROGRAM.name, SIZE, 1, 4))
        self.assertEqual(len(one["queries"]), 2)
        for a, b in zip(one["queries"], four["queries"]):
            self.assertGreater(a["wall_ns"], 0)
            self.assertEqual([(p["name"], len(p["tasks_ns"]), p["needs"]) for p in a["phases"]],
                             [(p["name"], len(p["tasks_ns"]), p["needs"]) for p in b["phases"]])
            self.assertGreater(max(len(p["tasks_ns"]) for p in a["phases"]), 1)
            for phase in a["phases"]:
                for task, earlier in phase["needs"]:
                    self.assertLess(earlier, task)
                    self.assertLess(task, len(phase["tasks_ns"]))

    def test_without_check(self):
        """For measurements: nothing but the queries, or nothing but their inputs."""
        self.assertRegex(self.run_program("--no-check"), r"\A\S+: query 1 of .*\nnot checked\n\Z")
        self.assertEqual(self.run_program("--prepare-only", "--queries=2"), "not checked\n")

    def test_command_line(self):
        for words in (["--size=0"], ["--size=many"], ["--threads=0"], ["--repeat=0"], ["more"]):
            with self.subTest(words):
                self.assertIn(words[-1].split("=")[-1], self.run_program(*words, status=2))
        self.run_program("--report=/nonexistent/report", status=1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
