#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`corun capture` and captured programs as workloads. Usage: test_capture.py CORUN PROGRAMS TEST_CAPTURED [TEST...]"""
import filecmp
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

CORUN, PROGRAMS, TEST_CAPTURED = sys.argv[1:4]
FROM_PYTHON = os.path.join(os.path.dirname(os.path.abspath(__file__)), "test_from_python.py")
CYCLES, POINTS = 60000, 4  # of runs that are saved
NAMES = ("vector_add", "reduction", "managed", "host_memory", "streams", "symbols", "pitched", "cooperative", "graph",
         "replayed", "textures", "surfaces", "driver", "capture")


def program(name):
    return os.path.join(PROGRAMS, name)


class Captured(unittest.TestCase):
    """A folder with captures of the programs `names`."""

    names = ()

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        for name in cls.names:
            done = cls.corun("capture", "--verify", "-o", f"{name}.corun", "--", program(name), "functional")
            assert done.returncode == 0, (name, done.stderr)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def corun(cls, *arguments):
        return subprocess.run([CORUN, *arguments], capture_output=True, text=True, timeout=120, check=False,
                              cwd=cls.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def saved(self, case, cycles, *more):
        """Results of a run, but for the time of the host."""
        done = self.corun("run", "--no-baselines", "-q", "--console", "none", "--cycles", str(cycles), "-j", "-", *more, *case)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout)
        for name in ("wall_seconds", "warp_instructions_per_second", "baseline_wall_seconds"):
            result.pop(name, None)
        return result, done.stderr


class CheckpointsQuick(Captured):
    names = ("streams",)

    def test_goes_on(self):
        for case in (("streams.corun",), ("--policy", "even", "streams.corun", "sgemm@small:start=1K")):
            whole = self.saved(case, 8000)
            self.assertEqual(self.saved(case, 8000, "--checkpoint", "quick@5K"), whole, "saving changes the run")
            self.assertEqual(self.saved(case, 8000, "--resume", "quick"), whole)
            os.remove(self.path("quick"))


class Capture(Captured):
    names = NAMES

    def run_alone(self, file, *more):
        done = self.corun("run", "--no-cache", "-q", "--runs", "1", "-j", "-", *more, file)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)["applications"][0]

    def test_page(self):
        """docs/captures.md shows what a capture says."""
        done = self.corun("capture", "-o", "heat.corun", "--", program("heat"))
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/captures.md"), encoding="utf-8") as file:
            self.assertIn("\n    " + done.stderr, file.read())

    def launches(self, name):
        """All launches under `corun exec`, in the order of their ends."""
        done = self.corun("exec", "-q", "--json", "launches.json", "--", program(name), "functional")
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.path("launches.json"), encoding="utf-8") as file:
            return json.load(file)["launches"]

    def capture_of(self, name):
        if not os.path.exists(self.path(f"{name}.corun")):
            done = self.corun("capture", "--verify", "-q", "-o", f"{name}.corun", "--", program(name), "functional")
            self.assertEqual((done.returncode, done.stderr), (0, ""), name)

    def replayed(self, file):
        """First and last cycle of all launches of a replay that is alone, sorted."""
        done = subprocess.run([TEST_CAPTURED, "--launches", file], capture_output=True, text=True, timeout=120,
                              check=False, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        return sorted(tuple(int(cycle) for cycle in line.split()) for line in done.stdout.splitlines())

    def test_same_bytes(self):
        for name in NAMES:
            done = self.corun("capture", "-q", "-o", "second.corun", "--", program(name), "functional")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertTrue(filecmp.cmp(self.path(f"{name}.corun"), self.path("second.corun"), shallow=False), name)

    def test_contents_once(self):
        """128 KiB that are copied twelve times are there once, beside 384 KiB that the host writes to mapped memory."""
        with open(self.path("replayed.corun"), "rb") as file:
            header = file.read(64)
        self.assertLess(int.from_bytes(header[16:24], "little"), 4 * 131072 + 16384)

    def test_of_nvcc(self):
        """What nvcc has made, where it is installed."""
        for name in NAMES:
            if os.path.exists(program(f"{name}-nvcc")):
                done = self.corun("capture", "--verify", "-q", "-o", "nvcc.corun", "--", program(f"{name}-nvcc"),
                                  "functional")
                self.assertEqual((done.returncode, done.stderr), (0, ""), name)

    def test_cycles_of_exec(self):
        """
        Alone, every launch starts and ends at the cycle at which it did in the program: behind copies, in streams that
        overlap and wait for each other, in graphs, with managed memory, textures and functions of the host.
        """
        overlap = 0
        for name in ("vector_add", "capture", "reduction", "managed", "streams", "symbols", "pitched", "cooperative", "graph", "heat",
                     "replayed", "textures", "host_functions"):
            self.capture_of(name)
            expected = [(launch["start_cycle"], launch["start_cycle"] + launch["cycles"])
                        for launch in self.launches(name)]
            spans = self.replayed(f"{name}.corun")
            self.assertEqual(spans, sorted(expected), name)
            overlap += sum(first[1] > second[0] for first, second in zip(spans, spans[1:]))
        self.assertGreater(overlap, 0)
        # Several launches of one kernel that overlap are counted together.
        kernels = {kernel["name"]: kernel for kernel in self.run_alone("streams.corun")["kernels"]}
        cycles = {}
        for launch in self.launches("streams"):
            cycles.setdefault(launch["symbol"], []).append(launch["cycles"])
        self.assertEqual({name: (kernel["launches"], kernel["cycles"]) for name, kernel in kernels.items()},
                         {name: (len(all_of), sum(all_of)) for name, all_of in cycles.items()})

    def test_cycles_with_host_addresses(self):
        """Registered memory is where the C library has put it; that may be elsewhere in the program that is captured."""
        kernels = {kernel["name"]: kernel for kernel in self.run_alone("host_memory.corun")["kernels"]}
        launches = self.launches("host_memory")
        self.assertEqual(set(kernels), {launch["symbol"] for launch in launches})
        expected = sum(launch["cycles"] for launch in launches)
        self.assertAlmostEqual(sum(kernel["cycles"] for kernel in kernels.values()), expected, delta=0.02 * expected)

    def test_host_threads(self):
        one, two = (self.run_alone("reduction.corun", "--threads", threads) for threads in ("1", "2"))
        self.assertEqual(one, two)

    def test_results_together(self):
        """Timed, side by side, at addresses of six applications; and twice without timing."""
        files = [f"{name}.corun" for name in NAMES if name != "pitched"]
        for some in (files[:4], files[4:8], files[8:], ["replayed.corun", "replayed.corun"],
                     ["managed.corun", "managed.corun", "cooperative.corun"]):
            done = subprocess.run([TEST_CAPTURED, *some], capture_output=True, text=True, timeout=120, check=False,
                                  cwd=self.folder)
            self.assertEqual(done.returncode, 0, (some, done.stdout + done.stderr))

    def test_with_a_workload(self):
        done = self.corun("run", "--no-cache", "-q", "--policy", "even", "--cycles", "300K", "-j", "-",
                          "vector_add.corun:goal=50%", "sgemm@small")
        self.assertEqual(done.returncode, 0, done.stderr)
        apps = json.loads(done.stdout)["applications"]
        self.assertEqual([app["name"] for app in apps], ["vector_add", "sgemm"])
        self.assertGreater(apps[0]["runs"], 3)
        self.assertGreater(apps[1]["warp_instructions"], 0)

    def test_two_with_goals(self):
        """Two captured programs share a GPU, each with a goal; their copies share the copy engines."""
        done = self.corun("run", "--no-cache", "-q", "--policy", "smk-pw", "--cycles", "300K", "-j", "-",
                          "reduction.corun:goal=40%", "streams.corun:goal=40%")
        self.assertEqual(done.returncode, 0, done.stderr)
        for app in json.loads(done.stdout)["applications"]:
            self.assertGreater(app["runs"], 1)
            self.assertGreater(app["goal_ipc"], 0)

    def test_checkpoints(self):
        """Saved at some cycle and gone on with: the same results, and the same state later (docs/checkpoints.md)."""
        runs = [(f"{name}.corun",) for name in ("streams", "managed", "graph", "textures", "cooperative", "capture", "driver")]
        runs += [("--policy", "smk", "reduction.corun", "replayed.corun"), ("--policy", "even", "streams.corun", "sgemm@small:start=5K"),
                 ("--policy", "spart", "surfaces.corun", "streams.corun:start=9K")]
        chance = random.Random(28)
        for case in runs:
            whole, compared = self.saved(case, CYCLES), 0
            for first in sorted(chance.sample(range(1, CYCLES - 1000), POINTS)):
                with self.subTest(case=case, first=first):
                    second = first + (CYCLES - first) // 2
                    if not self.saves(case, whole, f"first@{first}"):
                        continue
                    self.assertEqual(self.saved(case, CYCLES, "--resume", "first"), whole)
                    if self.saves(case, whole, f"once@{second}"):
                        later = "again" if self.saves(case, whole, f"again@{second}", "--resume", "first") else "first"
                        self.assertTrue(filecmp.cmp(self.path(later), self.path("once"), shallow=False), f"the states at {second} differ")
                        compared += 1
            self.assertGreater(compared, 1, case)

    def saves(self, case, whole, where, *more):
        """Whether there is a state of that cycle: a step over cycles in which nothing happens may be the last one of the run, and corun says so."""
        name, cycle = where.split("@")
        if os.path.exists(self.path(name)):
            os.remove(self.path(name))
        result, said = self.saved(case, CYCLES, "--checkpoint", where, *more)
        self.assertEqual(result, whole[0], "saving changes the run")
        there = os.path.exists(self.path(name))
        warning = f"corun: {name}: warning: no state of cycle {cycle} was saved: the run ended at cycle {CYCLES}, or in the same step\n"
        self.assertEqual(said, whole[1] if there or more else whole[1] + warning)
        return there

    def test_check(self):
        self.capture_of("streams")
        done = self.corun("check", "streams.corun")
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in ("program streams, captured on gtx980", "launches: 6,", "streams: ", "copies: ", "TBs per SM"):
            self.assertIn(words, done.stdout)
        self.assertEqual(self.corun("check", "none.corun").returncode, 5)

    def test_characterize(self):
        done = self.corun("characterize", "--no-cache", "--cycles", "80K", "vector_add.corun")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("vector_add", done.stdout)

    def test_campaign(self):
        """The contents of the file are part of what a case is known by; its name is not enough."""
        shutil.copy(self.path("vector_add.corun"), self.path("one.corun"))
        with open(self.path("some.yaml"), "w", encoding="utf-8") as file:
            file.write("name: captured\ncycles: 5K\npolicies: [even]\nsize: small\n"
                       "cases:\n  - [one.corun, reduction.corun]\n  - [one.corun, sgemm]\n")
        counts = []
        for _ in range(2):
            for _ in range(2):
                done = self.corun("campaign", "-q", "--no-cache", "--results", "results.db", "some.yaml")
                self.assertEqual(done.returncode, 0, done.stderr)
                counts.append(self.corun("query", "--csv", "--results", "results.db",
                                         "select count(*) as cases from cases where not isolated and "
                                         "status = 'finished'").stdout.split())
            shutil.copy(self.path("symbols.corun"), self.path("one.corun"))
        self.assertEqual(counts, [["cases", "2"], ["cases", "2"], ["cases", "4"], ["cases", "4"]])

    def test_damaged(self):
        with open(self.path("vector_add.corun"), "rb") as file:
            good = file.read()
        changed = bytearray(good)
        changed[len(good) // 2] ^= 1
        later = bytearray(good)
        later[8] = 99
        for data, words, status in ((changed, "do not fit its hash", 3), (good[:100], "its header says", 3),
                                    (good[:20], "within its header", 3), (good + b"x", "its header says", 3),
                                    (later, "version 99", 4), (b"", "not a file of corun capture", 3),
                                    (b"\x7fELF" + bytes(100), "not a file of corun capture", 3)):
            with open(self.path("bad.corun"), "wb") as file:
                file.write(data)
            done = self.corun("run", "bad.corun")
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn(words, done.stderr)
        self.assertEqual(self.corun("run", "vector_add.corun@small").returncode, 5)
        self.assertEqual(self.corun("run", "none.corun").returncode, 5)
        self.assertEqual(self.corun("export", "vector_add.corun", "files").returncode, 4)

    def test_what_cannot_be_captured(self):
        done = self.corun("capture", "-o", "none.corun", "--", "true")
        self.assertEqual(done.returncode, 4)
        self.assertIn("launched no kernel", done.stderr)
        done = self.corun("capture", "-o", "none.corun", "--", program("fault"), "functional")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("failed", done.stderr)
        done = self.corun("capture", "-o", "none.corun", "--", program("refused"), "careless")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("refused cannot be captured: kernel everywhere cannot be launched: module.ptx:9", done.stderr)
        done = self.corun("capture", "-o", "none.corun", "--", program("waits_for_host"), "short")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("cannot be captured: kernel wait_for waits for what the program does meanwhile", done.stderr)
        done = self.corun("capture", "-o", "none.corun", "--", program("function_thread"), "fork")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("cannot be captured: a function in a stream waits for what the program does next", done.stderr)
        script = f"{program('vector_add')} functional; {program('vector_add')} functional"
        done = self.corun("capture", "-o", "none.corun", "--", "sh", "-c", script)
        self.assertEqual(done.returncode, 4)
        self.assertIn("2 processes", done.stderr)
        self.assertFalse(os.path.exists(self.path("none.corun")))
        self.assertEqual(self.corun("capture", "-o", "none", "--", "true").returncode, 2)
        self.assertEqual(self.corun("capture", "--", "/nonexistent/program").returncode, 5)

    def test_a_process_that_becomes_another_program(self):
        """It keeps its number: the work of the first program is not replaced by that of the second one without a word."""
        script = ("import os, runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__'); "
                  f"os.execv({program('vector_add')!r}, ['vector_add', 'functional'])")
        done = self.corun("capture", "-o", "none.corun", "--", sys.executable, "-c", script, FROM_PYTHON)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("2 processes", done.stderr)
        self.assertFalse(os.path.exists(self.path("none.corun")))

    def test_a_full_disk(self):
        """The status of other commands for it, and no file that is not whole."""
        for blocks in (0, 1):  # also where there is no room for the reason
            done = self.corun("capture", "-o", "full.corun", "--", "sh", "-c",
                              f"trap '' XFSZ; ulimit -f {blocks}; exec {program('vector_add')} functional")
            self.assertEqual(done.returncode, 13, done.stderr)
            self.assertIn("corun: full.corun: cannot be written: File too large\n", done.stderr)
            self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("full.corun")], [])

    def test_a_program_that_changes_its_folder(self):
        """The output lies where the command was given, and nothing beside it."""
        os.makedirs(self.path("own/below"))
        script = f"cd below && exec {program('vector_add')} functional"
        done = subprocess.run([CORUN, "capture", "-q", "--", "sh", "-c", script], capture_output=True, text=True, timeout=120,
                              check=False, cwd=self.path("own"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(sorted(os.listdir(self.path("own"))), ["below", "sh.corun"])
        self.assertEqual(os.listdir(self.path("own/below")), [])

    def test_exit_status_is_the_programs(self):
        script = f"{program('vector_add')} functional; exit 42"
        done = self.corun("capture", "-q", "-o", "kept.corun", "--", "sh", "-c", script)
        self.assertEqual((done.returncode, done.stderr), (42, ""))
        self.assertTrue(filecmp.cmp(self.path("kept.corun"), self.path("vector_add.corun"), shallow=False))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
