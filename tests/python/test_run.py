#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Cases run from Python, against the command and by what the numbers must add up to.
Usage: test_run.py FOLDER_OF_THE_PACKAGE LIBRARY CORUN [TEST...]"""

import json
import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
import xml.etree.ElementTree

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "cli")]
from python_with import SKIPPED, need, run_tests  # noqa: E402
from json_page import differences  # noqa: E402
from programs import PTX, describe  # noqa: E402

need("numpy")
PACKAGE, LIBRARY, CORUN = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
if not os.path.exists(LIBRARY):
    print(f"skipped: {LIBRARY} is not built")
    sys.exit(SKIPPED)
os.environ["CORUN_LIBRARY"] = LIBRARY
sys.path.insert(0, PACKAGE)
import numpy  # noqa: E402

import corun  # noqa: E402

GPU = "gtx980:sms=3"

class Running(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="corun-python-"))
        (cls.folder / "work.ptx").write_text(PTX)
        for name, rounds, kernel in (("a", 50, "work"), ("b", 200, "work"), ("bad", 9, "outside"), ("endless", 2**31 - 1, "work")):
            (cls.folder / f"{name}.yaml").write_text(describe(name, rounds, kernel, grid=64, count=8192))
        cls.a, cls.b, cls.bad, cls.endless = (str(cls.folder / f"{name}.yaml") for name in ("a", "b", "bad", "endless"))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def run_case(self, applications, **settings):
        return corun.run(applications, **{"gpu": GPU, "cycles": "20K", "cache": False, **settings})

    def refused(self, status, *words, **settings):
        with self.assertRaises(corun.CorunError) as raised:
            self.run_case(settings.pop("applications", [self.a]), **settings)
        self.assertEqual(raised.exception.status, status, raised.exception)
        for word in words:
            self.assertIn(word, str(raised.exception))

    def test_as_the_command_says(self):
        result = self.run_case([self.a + ":goal=30%", self.b + ":start=3K"], policy="even:exclusive=off", seed=7)
        done = subprocess.run([CORUN, "run", "--gpu", GPU, "--cycles", "20K", "--no-cache", "--policy", "even:exclusive=off", "--seed", "7",
                               "--quiet", "--json", "-", self.a + ":goal=30%", self.b + ":start=3K"], stdout=subprocess.PIPE, text=True,
                              check=True)
        expected, found = json.loads(done.stdout), dict(result.data)
        for one in (expected, found):
            del one["wall_seconds"], one["warp_instructions_per_second"]
        self.assertEqual(found, expected)
        apps = result.applications
        self.assertEqual(list(apps["name"]), ["a", "b"])
        self.assertEqual(list(apps["start_cycle"]), [0, 3000])
        self.assertEqual(list(apps["status"]), ["OK", "OK"])
        self.assertEqual(list(apps["goal_met"]), [int(expected["applications"][0]["goal_met"]), corun.NOT_KNOWN])
        self.assertEqual([apps["goal"][0], apps["goal"][1]], ["30%", ""])
        self.assertTrue(math.isnan(apps["goal_ipc"][1]))
        self.assertEqual(result.stp, expected["stp"])
        self.assertAlmostEqual(result.stp, corun.stp(apps["normalised_ipc"]), places=9)
        self.assertEqual((result.cycles, result.seed, result.policy, result.policy_parameters["exclusive"]),
                         (20000, 7, "even", expected["policy"]["parameters"]["exclusive"]))
        self.assertEqual(result.messages, [])

    def test_arrays_add_up(self):
        result = self.run_case([self.a, self.b])
        self.assertEqual((result.sms.shape, result.shares.shape, result.totals.shape), ((3,), (3, 2), (2,)))
        self.assertEqual(set(result.sms.dtype.names), set(corun.counters()))
        for name in ("warp_instructions", "thread_instructions", "tb_cycles", "issue_cycles", "tbs_completed", "l1_accesses"):
            self.assertTrue((result.shares[name].sum(axis=1) == result.sms[name]).all(), name)
            self.assertTrue((result.shares[name].sum(axis=0) == result.totals[name]).all(), name)
        self.assertGreater(result.sms["warp_instructions"].min(), 0)
        self.assertEqual(list(result.totals["warp_instructions"]), list(result.applications["warp_instructions"]))
        self.assertEqual(result.totals["dram_read_bytes"].sum(), result.dram["read_bytes"])
        for app in range(2):
            for name in result.totals.dtype.names:
                self.assertEqual(result.totals[name][app], sum(kernel["counters"][name] for kernel in result.kernels[app]), name)

    def test_history(self):
        for settings in ({"policy": "even"}, {"policy": "cooperative"}, {"cycles": None, "runs": 4}):
            result = self.run_case([self.a, self.b + ":start=2K"], **settings)
            history = result.history
            cycles = history.end_cycles - history.start_cycles
            self.assertEqual(history.end_cycles[-1], result.cycles)
            self.assertTrue((cycles > 0).all())
            self.assertLessEqual(len(cycles), 100)
            self.assertEqual(history.sms.shape, (2, len(cycles)))
            for app in range(2): # to two decimals
                for series, sum_of in ((history.tbs, result.totals["tb_cycles"]),
                                       (history.ipc, result.applications["thread_instructions"])):
                    self.assertAlmostEqual((series[app] * cycles).sum(), float(sum_of[app]), delta=0.006 * result.cycles)
            self.assertLessEqual(history.sms.max(), 3)
            self.assertGreaterEqual(history.sms.min(), 0)
            self.assertTrue((history.sms <= history.tbs + 0.011).all())
            self.assertTrue((history.powered_sms == 3).all())
            self.assertEqual(history.sms[1][history.end_cycles <= 2000].sum(), 0)
        self.assertTrue((self.run_case([self.a, self.b], policy="even").history.sms.sum(axis=0) <= 3.011).all())

    def test_every_member_of_the_json_has_its_line_in_the_page(self):
        result = self.run_case([self.a + ":goal=30%", self.b], policy="smqos:gate=off", profile=True, cycles="30K")
        self.assertEqual(differences("A case", result.data), ([], ["history.powered_sms[]"]))

    def test_words_and_numbers_mean_the_same(self):
        first = self.run_case([self.a + ":goal=30%", self.b], policy="even:exclusive=off", cycles="20K")
        second = self.run_case([self.a, self.b], goals=[0.3], policy="even", parameters={"exclusive": False},
                               gpu="gtx980", overrides={"sms": 3}, cycles=20000, threads=2)
        third = self.run_case([self.a, self.b], goals=["30%", None], policy="even", parameters={"exclusive": 0.0},
                              gpu=corun.gpu("gtx980", sms=3), cycles=numpy.int64(20000))
        for one in (second, third):
            self.assertTrue((one.sms == first.sms).all())
            self.assertEqual(one.data["applications"][0]["goal_ipc"], first.data["applications"][0]["goal_ipc"])

    def test_seeds_of_64_bits(self):
        self.assertEqual(self.run_case([self.a], cycles=1000, seed=2**64 - 1).seed, 2**64 - 1)

    def test_settings(self):
        result = self.run_case(self.a, baselines=False, profile=True, instructions="50K", cycles=None)
        self.assertEqual(len(result.kernels[0][0]["profile"][0]["stalls"]), 6)
        folder = self.folder / "cache"
        first = self.run_case([self.a, self.b], cache=folder)
        self.assertTrue(any(folder.rglob("*")))
        self.assertEqual(first.stp, self.run_case([self.a, self.b], cache=folder).stp)
        self.assertTrue(math.isnan(self.run_case([self.a, self.b], baselines=False).stp))

    def test_what_there_is(self):
        gpu = corun.gpu("gtx980", sms=5, scheduler="lrr")
        self.assertEqual((gpu.sms, gpu["sms"], gpu.scheduler, str(gpu)), (5, 5, "lrr", "gtx980:sms=5,scheduler=lrr"))
        with self.assertRaises(AttributeError):
            gpu.smx  # pylint: disable=pointless-statement
        self.assertEqual(corun.gpu(gpu, l2_bytes="1M").l2_bytes, 1 << 20)
        policies = corun.policies()
        listed = subprocess.run([CORUN, "list", "policies"], stdout=subprocess.PIPE, text=True, check=True).stdout
        self.assertIn("even", policies)
        for name, policy in policies.items():
            self.assertIn(name, listed)
            for parameter in policy["parameters"].values():
                self.assertLessEqual(parameter["lowest"], parameter["initial"])
        self.assertIn("sgemm", corun.workloads())
        self.assertEqual(corun.counters()["warp_instructions"], ("warp instructions", "issued warp instructions"))

    def test_what_does_not_fit(self):
        self.refused("NOT_FOUND", "sgem", applications=["sgem"])
        self.refused("NOT_FOUND", "evn", "even", policy="evn")
        self.refused("ARGUMENT", "exclusiv", policy="even", parameters={"exclusiv": 1})
        self.refused("ARGUMENT", "smx", overrides={"smx": 1})
        self.refused("NOT_FOUND", "gtx", gpu="gtx")
        self.refused("USAGE", "cycles", "many", cycles="many")
        self.refused("USAGE", "seed", seed=-1)
        self.refused("USAGE", "16", applications=[self.a] * 17)
        self.refused("ARGUMENT", "no application", applications=[])
        self.refused("USAGE", "150", goals=[1.5])
        self.refused("SYNTAX", "work.ptx", applications=[str(self.folder / "work.ptx")])
        with self.assertRaises(ValueError):
            self.run_case([self.a], goals=[0.5, 0.5])
        with self.assertRaises(ValueError):
            self.run_case(["a\0b"])

    def test_one_that_is_stopped(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = self.run_case([self.a, self.bad])
        self.assertEqual(list(result.applications["status"]), ["OK", "FAULT"])
        self.assertTrue(any(issubclass(one.category, corun.CorunWarning) and "out of bounds" in str(one.message) for one in caught))
        self.assertIn("out of bounds", "".join(result.messages))

    def test_progress(self):
        stages = set()
        result = self.run_case([self.a, self.b], progress=lambda stage, cycle, limit: stages.add((stage, limit)))
        self.assertEqual(stages, {("isolated a", 20000), ("isolated b", 20000), ("shared", 20000)})
        self.assertFalse(result.interrupted)
        result = self.run_case([self.a, self.b], cycles="1M", baselines=False, progress=lambda stage, cycle, limit: cycle < 100000)
        self.assertTrue(result.interrupted)
        self.assertLess(result.cycles, 500000)
        for problem in (KeyError("mine"), KeyboardInterrupt()):
            def fail(*_, what=problem):
                raise what
            with self.assertRaises(type(problem)):
                self.run_case([self.a, self.b], progress=fail)

    def test_several_threads(self):
        expected = self.run_case([self.a, self.b], cycles="60K")
        found = [None] * 3

        def work(place):
            found[place] = self.run_case([self.a, self.b], cycles="60K", threads=1 + place % 2)
        threads = [threading.Thread(target=work, args=(place,)) for place in range(len(found))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for result in found:
            self.assertTrue((result.shares == expected.shares).all())

    def test_shown_in_a_notebook(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = [self.run_case([self.a + ":goal=30%", self.b], policy="even"), self.run_case([self.bad, self.b])]
        names = set()
        for result in results:
            self.assertLess(len(repr(result)), 100)
            root = xml.etree.ElementTree.fromstring(result._repr_html_())
            patterns = {pattern.get("id") for pattern in root.iter("pattern")}
            self.assertEqual(names & patterns, set())  # several stand in one page
            names |= patterns
            self.assertEqual({path.get("fill")[5:-1] for path in root.iter("path") if path.find("title") is not None} - patterns, set())
        text = results[0]._repr_html_()
        self.assertIn(f"STP {results[0].stp:.3f}", text)
        self.assertIn(f"<td>{results[0].applications['normalised_ipc'][1]:.3f}</td>", text)
        self.assertIn("bad was stopped: FAULT", results[1]._repr_html_())

    def test_interrupt(self):
        """As by Ctrl-C where nobody asked for progress; test_worker.py tries the rest."""
        program = f"import corun\nprint('begin', flush=True)\ncorun.run({self.endless!r}, cycles='100G', watchdog='100G', gpu={GPU!r}, cache=False)\n"
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=dict(os.environ, PYTHONPATH=PACKAGE, PYTHONDONTWRITEBYTECODE="1")) as process:
            self.assertEqual(process.stdout.readline(), "begin\n")
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            try:
                _, errors = process.communicate(timeout=60)
            finally:
                process.kill()
        self.assertEqual(process.returncode, -signal.SIGINT, errors)
        self.assertEqual((errors.count("Traceback"), errors.splitlines()[-1]), (1, "KeyboardInterrupt"))

    def test_the_library(self):
        def outcome(library):
            program = "import corun\ntry: corun.counters()\nexcept corun.CorunError as error: print(error.status, error)"
            return subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True, env=dict(
                os.environ, PYTHONPATH=PACKAGE, PYTHONDONTWRITEBYTECODE="1", CORUN_LIBRARY=library)).stdout
        self.assertIn("LIBRARY /nowhere.so cannot be used", outcome("/nowhere.so"))
        self.assertIn("LIBRARY libc.so.6 cannot be used", outcome("libc.so.6"))
        self.assertEqual(outcome(LIBRARY), "")


if __name__ == "__main__":
    run_tests()
