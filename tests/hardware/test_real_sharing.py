#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench/hardware/real_workers.py and real_sharing.py on the simulated GPU. Usage: test_real_sharing.py FOLDER CORUN DRIVER [TEST...]"""
import csv
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

FOLDER, CORUN, DRIVER = sys.argv[1:4]
del sys.argv[1:4]
OK, WRONG, NO_GPU = 0, 1, 77


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_script(self, name, *arguments, environment=None):
        return subprocess.run([sys.executable, f"{FOLDER}/{name}", *arguments], capture_output=True, text=True, timeout=300, cwd=self.folder,
                              env={**os.environ, "CORUN_GPU": "gtx980:sms=4", **(environment or {})})

    def rows(self, name):
        with open(self.folder / name, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))


class Workers(Case):
    def export(self, workload):
        target = self.folder / workload
        subprocess.run([CORUN, "export", f"{workload}@small", target], check=True, capture_output=True)
        kernels = next(target.glob("*.ptx"))
        subprocess.run([CORUN, "rewrite", "workers", kernels, "-o", target / "workers.ptx"], check=True, capture_output=True)
        return target

    def measure(self, *arguments):
        return self.run_script("real_workers.py", "--driver", DRIVER, "--nvml", "none", "--repetitions", "1", *arguments)

    def test_all_ways_leave_the_same(self):
        done = self.measure(self.export("histogram"), self.export("cp"))
        self.assertEqual((done.returncode, done.stderr), (OK, ""))
        rows = self.rows("workers.csv")
        self.assertEqual([row["way"] for row in rows], ["direct", "seated", "ranged", "drawn", "changed"] * 2)
        for row in rows:
            self.assertEqual((row["same_bytes"], row["reproducible"], row["thread_blocks_once"]), ("1", "1", "1"), row)
            self.assertEqual(row["cost"] == "", row["way"] == "changed")

    def test_compiled_before(self):
        target = self.export("cp")
        done = self.measure("--compile", target)
        self.assertEqual((done.returncode, done.stdout), (OK, ""))
        (target / "plain.cubin").rename(target / "workers.cubin")  # kernels that heed no table: there is nothing to find out there
        done = self.measure(target)
        self.assertEqual(done.returncode, WRONG)

    def test_a_worker_that_is_wrong(self):
        target = self.export("cp")
        text = (target / "workers.ptx").read_text()
        found = re.search(r"^\s*(?:@%\w+ )?st\.global\.f32.*$", text, re.M)
        (target / "workers.ptx").write_text(text.replace(found.group(0), "", 1))
        done = self.measure(target)
        self.assertEqual(done.returncode, WRONG)
        self.assertIn("DIFFERS", done.stdout)
        self.assertEqual({row["same_bytes"] for row in self.rows("workers.csv")}, {"0"})

    def test_no_driver(self):
        done = self.run_script("real_workers.py", "--driver", "none.so", self.folder)
        self.assertEqual(done.returncode, NO_GPU)


class Sharing(Case):
    def test_pairs(self):
        done = self.run_script("real_sharing.py", "--corun", CORUN, "--simulated", "--seconds", "250", "--cycles", "200K", "--sms", "4", "--shares", "50",
                               "--no-processes", "pairs", "hotspot@small:50", "pathfinder@small", "--more", "--gpu", "gtx980:sms=4",
                               "--cache", "alone")
        self.assertEqual((done.returncode, done.stderr), (OK, ""))
        rows = {row["way"]: row for row in self.rows("sharing.csv")}
        self.assertEqual(list(rows), ["smqos", "static-smqos", "even", "streams", "streams with priority", "green contexts, 50 %"])
        self.assertIn("CUDA_ERROR_NOT_SUPPORTED", rows.pop("green contexts, 50 %")["failure"])  # of a GPU before compute capability 6.0
        for row in rows.values():
            self.assertEqual(row["failure"], "")
            self.assertEqual(row["goal_met"], str(int(float(row["first_normalised"]) >= 0.5)))
        self.assertGreater(int(rows["even"]["hand_overs"]), 0)
        self.assertGreater(float(rows["even"]["look_us"]), 1)

    def test_a_server(self):
        done = self.run_script("real_sharing.py", "--corun", CORUN, "--simulated", "--seconds", "250", "--cycles", "1M", "--ways", "streams", "server",
                               "hotspot@small:30", "pathfinder@small", "--more", "--gpu", "gtx980:sms=4", "--no-cache")
        self.assertEqual((done.returncode, done.stderr), (OK, ""))
        row, = self.rows("sharing.csv")
        self.assertGreaterEqual(int(row["requests"]), int(row["runs"]))
        self.assertGreaterEqual(float(row["p99_us"]), float(row["median_us"]))

    def test_two_processes(self):
        """On the simulated GPU each has one of its own, and all of it."""
        arguments = ("--corun", CORUN, "--simulated", "--cycles", "50K", "--ways", "time slices", "--more", "--gpu", "gtx980:sms=4", "--no-cache",
                     "--native")
        where = {"LD_LIBRARY_PATH": os.path.dirname(DRIVER)}
        self.run_script("real_sharing.py", "--prepared", "0", "pairs", "cp@small:50", "cp@small", *arguments, environment=where)
        self.run_script("real_sharing.py", "--prepared", "10", "pairs", "cp@small:50", "cp@small", *arguments, environment=where)
        late, row = self.rows("sharing.csv")
        self.assertIn("before everything was ready", late["failure"])
        self.assertEqual((row["failure"], row["way"], row["goal_met"]), ("", "time slices", "1"))

    def test_wrong_arguments(self):
        done = self.run_script("real_sharing.py", "pairs", "hotspot@small", "pathfinder@small")
        self.assertEqual(done.returncode, 2)
        self.assertIn("expected WORKLOAD@SIZE:PERCENT", done.stderr)
        done = self.run_script("real_sharing.py", "--corun", CORUN, "--simulated", "--ways", "even", "pairs", "nobody@small:50", "cp@small")
        self.assertEqual(done.returncode, 1)
        self.assertIn("nobody", self.rows("sharing.csv")[0]["failure"])


if __name__ == "__main__":
    unittest.main()
