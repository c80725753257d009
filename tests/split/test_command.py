#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A divided task under `corun exec` and `corun split`. Usage: test_command.py CORUN PROGRAM MODULE [TEST...]"""
import contextlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
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
        for settings in "strategy=quick", "strategy=meet,threads=1,cpu_seconds=1e-6":
            done = run("exec", "-q", "--gpu", GPU, "--", PROGRAM, MODULE, "100000", "2", "99900", CORUN_SPLIT=settings)
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

    def test_clocks(self):
        for setting, text in (("rest=4", "GPUs in simulated time, the CPU in processor time\n"),
                              ("cpu_seconds=1e-8", "GPUs in simulated time, the CPU by cpu_seconds\n")):
            done = run("split", "--gpu", GPU, "-s", "meet", "--set", setting, "--", PROGRAM, MODULE, "20000", "1")
            self.assertIn(text, done.stdout, done.stderr)

    def test_mistakes(self):
        for words, status, text in ((["--", "true"], 5, "has divided no task"),
                                    (["--native", "--", PROGRAM, MODULE, "1000", "1"], 5, "there is no GPU"),
                                    (["--", PROGRAM, "no.ptx", "1000", "1"], 1, "ended with status 1"),
                                    (["-s", "cap,best", "--", "./none"], 2, "--strategy: `best`: that is no value of strategy"),
                                    (["-s", "cap,,meet", "--", "./none"], 2, "--strategy: ``: that is no value of strategy"),
                                    (["--threads", "-3", "--", "./none"], 2, "--threads: `-3`: that is no value of threads"),
                                    (["--set", "rest=5", "--set", "first=2", "--", "./none"], 2, "--set: `2`: that is no value of first"),
                                    (["--set", "firs=1/2", "--", "./none"], 2, "--set: `firs`: there is no such setting"),
                                    (["--set", "first", "--", "./none"], 2, "--set: `first`: NAME=VALUE"),
                                    (["--native", "--gpu", GPU, "--", "true"], 2, "exclude"),
                                    ([], 2, "a program is missing")):
            done = run("split", *words)
            self.assertEqual(done.returncode, status, (words, done.stderr))
            self.assertIn(text, done.stderr)


class Campaigns(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.program, self.module = os.path.join(self.folder.name, "smooth"), os.path.join(self.folder.name, "smooth.ptx")
        shutil.copy(PROGRAM, self.program)
        shutil.copy(MODULE, self.module)

    def tearDown(self):
        self.folder.cleanup()

    def campaign(self, options, *more, iterations="20000", rounds="2"):
        path = os.path.join(self.folder.name, "campaign.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"name: ratios\ncommand: split\noptions: {{gpu: '{GPU}', threads: 1, strategy: cap, {options}}}\n"
                       f"arguments: [{self.program}, {self.module}, '{iterations}', '{rounds}']\n")
        done = run("campaign", "-r", os.path.join(self.folder.name, "results.db"), "--jobs", "1", *more, path,
                   TMPDIR=self.folder.name)  # a killed one leaves its records
        self.assertEqual(done.returncode, 0, done.stderr)
        numbers = re.search(r"(\d+) found, (\d+) run", done.stdout)
        return int(numbers[1]), int(numbers[2])

    def rows(self, text):
        with contextlib.closing(sqlite3.connect(os.path.join(self.folder.name, "results.db"))) as database:
            return database.execute(text).fetchall()

    def test_rows_are_the_figures_of_the_result(self):
        self.assertEqual(self.campaign("set: [cpu_seconds=1e-8, first=1/64]"), (0, 2))
        self.assertEqual(self.campaign("set: [cpu_seconds=1e-8, first=1/64]"), (2, 0))
        rows = self.rows("SELECT run, strategy, task, clock, rounds, iterations, seconds, cpu_iterations, gpu_iterations, steps, "
                         "imbalance, efficiency, reproducible, result FROM splits JOIN cases USING(key) ORDER BY key, run")
        self.assertEqual([row[:2] for row in rows], [(0, "CPU alone"), (1, "GPUs alone"), (3, "cap")] * 2)
        self.assertEqual(sorted(row[12] for row in rows), [0, 0, 0, 1, 1, 1])
        for row in rows:
            cases = json.loads(row[-1])["cases"]
            rounds = cases[row[0]]["rounds"]
            seconds = [sum(one["seconds"] for one in case["rounds"]) for case in cases]
            self.assertEqual(row[2:6], ("smooth", "simulated", 2, 40000))
            self.assertAlmostEqual(row[6] / seconds[row[0]], 1)
            self.assertEqual(row[7], sum(one["devices"][0]["iterations"] for one in rounds))
            self.assertEqual(row[8], sum(one["devices"][1]["iterations"] for one in rounds))
            self.assertEqual(row[9], len(rounds[0]["steps"]))
            self.assertAlmostEqual(row[10], rounds[0]["imbalance"])
            self.assertAlmostEqual(row[11] * seconds[row[0]] * (1 / seconds[0] + 1 / seconds[1]), 1)
            self.assertEqual(row[12], 0 if any(one["measured"] for one in rounds) else 1)

    def test_only_what_changed_runs_again(self):
        options = "set: 'cpu_seconds=1e-8'"
        self.assertEqual(self.campaign(options), (0, 1))
        self.assertEqual(self.campaign(options), (1, 0))
        with open(self.module, "a", encoding="utf-8") as file:
            file.write("\n// one more line\n")
        self.assertEqual(self.campaign(options), (0, 1))
        with open(self.program, "ab") as file:
            file.write(b"more")
        self.assertEqual(self.campaign(options), (0, 1))
        self.assertEqual(self.campaign(options, iterations="20001"), (0, 1))
        # what is the same every time is the same every time
        times = self.rows("SELECT strategy, count(DISTINCT seconds) FROM splits WHERE iterations = 40000 GROUP BY 1")
        self.assertEqual(sorted(times), [("CPU alone", 1), ("GPUs alone", 1), ("cap", 1)])

    def test_failures_and_time(self):
        module, self.module = self.module, "no.ptx"
        self.assertEqual(self.campaign("set: first=1/64"), (0, 0))
        self.assertEqual(self.rows("SELECT status FROM cases"), [("failed",)])
        self.assertIn("the program has ended with status", self.rows("SELECT message FROM cases")[0][0])
        self.module = module
        self.campaign("set: first=1/64", "--time", "1", rounds="1000000")
        self.assertEqual(self.rows("SELECT message FROM cases WHERE status = 'lost'"), [("it took longer than 1 seconds",)])
        until = time.monotonic() + 20 # the program ends with the command that started it
        while self.running() and time.monotonic() < until:
            time.sleep(0.05)
        self.assertEqual(self.running(), [])

    def running(self):
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{name}/exe") == self.program:
                    found.append(name)
            except OSError:
                pass
        return found

    def test_mistakes_have_their_place(self):
        for options, place, message in (("strategy: [cap, best]", "3:27", "`best`"),
                                        ("set: ['first=2']", "3:17", "beyond its range"),
                                        ("set: ['nothing=2']", "3:17", "there is no such setting"),
                                        ("threads: many", "3:20", "`many`"),
                                        ("native: true", "3:11", "its times are those of this machine"),
                                        ("json: a", "3:11", "the result goes to the results file"),
                                        ("instances: 3", "3:11", "corun split has no option 'instances'")):
            path = os.path.join(self.folder.name, "wrong.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"name: wrong\ncommand: split\noptions: {{{options}}}\narguments: [./program]\n")
            done = run("campaign", "--list", path)
            self.assertNotEqual(done.returncode, 0, options)
            self.assertIn(message, done.stderr)
            self.assertIn(f"wrong.yaml:{place}:", done.stderr)
        with open(path, "w", encoding="utf-8") as file:
            file.write("name: wrong\ncommand: split\narguments: [./no-such-program]\n")
        done = run("campaign", "-r", os.path.join(self.folder.name, "none.db"), path)
        self.assertIn("./no-such-program", done.stderr)
        self.assertNotEqual(done.returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
