#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program of examples/split: the same result from every strategy and device. Usage: test_examples.py CORUN FOLDER PROGRAM"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CORUN, FOLDER, PROGRAM = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
SIZES = {"cg": 256, "jacobi": 256, "mc": 65536, "mm": 128, "nbody": 512, "nns": 512}
# Its last digits depend on who computes what.
INEXACT = {"nbody"}
STRATEGIES = ["static", "quick", "split", "cap", "meet"]


class Examples(unittest.TestCase):
    def run_program(self, *words, gpu=None, setting="", program=FOLDER / PROGRAM, status=0):
        command = [CORUN, "exec", "-q", "--gpu", gpu, "--"] if gpu else []
        environment = {name: value for name, value in os.environ.items() if not name.startswith("CORUN_SPLIT")}
        environment["CORUN_SPLIT"] = setting
        done = subprocess.run([*command, program, f"--size={SIZES[PROGRAM]}", *words], env=environment, text=True, capture_output=True,
                              check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status in (0, 3) else done.stderr

    def result(self, output):
        """What must not depend on the split."""
        self.assertRegex(output, r"\nPASSED: ")
        found = re.search(r"^result ([0-9a-f]{16})$", output, re.M)
        self.assertEqual(found is None, PROGRAM in INEXACT, output)
        return found and found.group(1)

    def iterations(self, output):
        return [int(count) for count in re.findall(r": (\d+) iterations in", output)]

    def test_cpu_alone(self):
        """One thread, several, and a machine without a GPU, which is told."""
        one = self.run_program("--no-gpu", "--threads=1")
        self.assertRegex(one, r", 1 thread\n")
        several = self.run_program("--no-gpu", "--threads=3")
        self.assertRegex(several, r", 3 threads\n")
        self.assertEqual(self.result(one), self.result(several))
        self.assertNotIn("no GPU is found", one)
        found = self.run_program()
        self.assertEqual(self.result(found), self.result(one))
        self.assertEqual("no GPU is found" in found, len(self.iterations(found)) == 1)

    def test_every_strategy(self):
        expected = self.result(self.run_program("--no-gpu"))
        for strategy in STRATEGIES:
            with self.subTest(strategy):
                # Every strategy begins with halves: both sides have a part, however fast this machine is.
                output = self.run_program("--strategy", strategy, gpu="gtx980")
                self.assertEqual(self.result(output), expected)
                self.assertRegex(output, rf"\nstrategy {strategy}: ")
                cpu, gpu = self.iterations(output)
                if strategy == "meet":  # here the CPU or the GPU may have done all before the other had anything
                    continue
                self.assertGreater(cpu, 0)
                self.assertGreater(gpu, 0)

    def test_other_divisions(self):
        """The GPU alone, uneven parts, two GPUs."""
        expected = self.result(self.run_program("--no-gpu"))
        alone = self.run_program("--no-cpu", gpu="quadro-v100")
        self.assertEqual(self.result(alone), expected)
        self.assertEqual(self.iterations(alone)[0], 0)
        for share in "0.1", "0.83":
            self.assertEqual(self.result(self.run_program(gpu="gtx980", setting=f"strategy=static,cpu_share={share}")), expected)
        two = self.run_program(gpu="gtx980;quadro-v100", setting="strategy=static")
        self.assertEqual(self.result(two), expected)
        self.assertEqual(len(self.iterations(two)), 3)
        self.assertGreater(min(self.iterations(two)), 0)

    @unittest.skipUnless(PROGRAM == "jacobi", "one program tells it for all")
    def test_rounds_give_at_once_what_was_given_in_parts(self):
        """In the second round a GPU is given a part behind what it had learned. From the third on both are one."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "record"
            subprocess.run([CORUN, "exec", "-q", "--gpu", "tesla-m2090", "--", FOLDER / PROGRAM], stdout=subprocess.DEVNULL,
                           check=False, env=dict(os.environ, CORUN_SPLIT="threads=1,cpu_seconds=1.3e-5", CORUN_SPLIT_RECORD=str(path)))
            rounds = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        parts = [sum(step["parts"][1]["done"] > 0 for step in one["steps"]) for one in rounds]
        self.assertEqual(parts[1:], [2] + [1] * (len(parts) - 2))

    @unittest.skipUnless(PROGRAM == "cg", "one program tells it for all")
    def test_simulated_time_of_decisions(self):
        """Results go back when the CPU has ended, although the GPU's next part would end later: after the CPU comes one copy, of about 8 us."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "record"
            subprocess.run([CORUN, "exec", "-q", "--gpu", "quadro-v100", "--", FOLDER / PROGRAM, "--rounds=1"], stdout=subprocess.DEVNULL,
                           check=False, env=dict(os.environ, CORUN_SPLIT="threads=1,cpu_seconds=8e-8", CORUN_SPLIT_RECORD=str(path)))
            record = json.loads(path.read_text(encoding="utf-8"))
        cpu = max(step["start"] + step["parts"][0]["seconds"] for step in record["steps"] if step["parts"][0]["done"])
        self.assertGreater(record["devices"][1]["iterations"], 0)
        self.assertLess(record["seconds"] - cpu, 12e-6)

    def seconds(self, setting):
        """Of the first run beside a CPU of which the setting says how fast it is: simulated, and exact."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "record"
            subprocess.run([CORUN, "exec", "-q", "--gpu", "quadro-v100", "--", FOLDER / PROGRAM], stdout=subprocess.DEVNULL, check=True,
                           env=dict(os.environ, CORUN_SPLIT=setting, CORUN_SPLIT_RECORD=str(path)))
            return json.loads(path.read_text(encoding="utf-8").splitlines()[0])["seconds"]

    @unittest.skipUnless(PROGRAM == "nbody", "one program tells it for all")
    def test_what_nobody_needs_is_given_up(self):
        """A granule takes this CPU longer than everything takes the GPU, and the CPU's function asks whether it is needed."""
        slow = "threads=1,cpu_seconds=6.18e-6"
        self.assertGreater(16 * 6.18e-6, 1.2 * self.seconds(f"{slow},strategy=static,cpu_share=0"))
        self.assertLess(self.seconds(f"{slow},strategy=meet"), 1.02 * self.seconds(f"{slow},strategy=static,cpu_share=0"))

    @unittest.skipUnless(PROGRAM in ("cg", "jacobi"), "the others have no rounds with bytes that stay")
    def test_rounds_move_ahead(self):
        """The matrix moves behind the CPU's parts: a dozen rounds take less than without that. No round of cap waits for it: none is longer than the one before."""
        seconds = {}
        for setting in "cap", "meet", "cap,ahead=0", "meet,ahead=0":
            with tempfile.TemporaryDirectory() as folder:
                path = pathlib.Path(folder) / "record"
                done = subprocess.run([CORUN, "exec", "-q", "--gpu", "quadro-v100", "--", FOLDER / PROGRAM], stdout=subprocess.PIPE, check=True, text=True,
                                      env=dict(os.environ, CORUN_SPLIT=f"threads=1,cpu_seconds=4.2e-8,strategy={setting}", CORUN_SPLIT_RECORD=str(path)))
                self.result(done.stdout)
                seconds[setting] = [json.loads(line)["seconds"] for line in path.read_text(encoding="utf-8").splitlines()]
        rounds = seconds["cap"][1:]
        for before, after in zip(rounds, rounds[1:]):
            self.assertLess(after, 1.02 * before, rounds)
        for strategy in "cap", "meet":
            self.assertLess(sum(seconds[strategy]), 0.95 * sum(seconds[f"{strategy},ahead=0"]), seconds)

    @unittest.skipUnless(PROGRAM == "cg", "one program tells it for all")
    def test_rounds_compute_what_arrives(self):
        """Where rows move about as fast as the CPU computes, the second round has on the GPU what the first one had, and what arrives in time besides."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "record"
            done = subprocess.run([CORUN, "exec", "-q", "--gpu", "quadro-v100", "--", FOLDER / PROGRAM, "--size=2048", "--rounds=3"], stdout=subprocess.PIPE, check=False,
                                  text=True, env=dict(os.environ, CORUN_SPLIT="threads=1,cpu_seconds=3e-7", CORUN_SPLIT_RECORD=str(path)))
            rounds = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        self.assertEqual(len(rounds), 3, done.stdout)
        times, rows = [one["seconds"] for one in rounds], [one["devices"][1]["iterations"] for one in rounds]
        self.assertLess(times[1], 0.8 * times[0], times)
        self.assertLess(times[2], 0.8 * times[1], times)
        self.assertGreater(rows[1], 1.5 * rows[0], rows)

    def test_wrong_result(self):
        """A kernel that computes nothing is found out; so is one that is missing."""
        with tempfile.TemporaryDirectory() as folder:
            program = shutil.copy(FOLDER / PROGRAM, folder)
            ptx = (FOLDER / f"{PROGRAM}.ptx").read_text(encoding="utf-8")
            head, entry = re.search(r"\A(.*?)(\.visible \.entry [^{]*)\{", ptx, re.S).groups()
            (pathlib.Path(folder) / f"{PROGRAM}.ptx").write_text(f"{head}{entry}{{\n ret;\n}}\n", encoding="utf-8")
            self.assertRegex(self.run_program("--no-cpu", gpu="gtx980", program=program, status=3), r"\nWRONG: ")
            (pathlib.Path(folder) / f"{PROGRAM}.ptx").unlink()
            self.assertIn(f"{PROGRAM}.ptx", self.run_program(gpu="gtx980", program=program, status=1))
            self.run_program("--no-gpu", program=program)

    def test_command_line(self):
        for words in (["--strategy=best"], ["--size=0"], ["--size=63"], ["--size=many"], ["--threads=0"], ["more"]):
            with self.subTest(words):
                self.assertIn(words[-1].split("=")[-1], self.run_program(*words, status=2))
        if PROGRAM in ("mc", "mm", "nns"):
            self.assertIn("--rounds", self.run_program("--rounds=2", status=2))
        else:
            self.result(self.run_program("--rounds=3") if PROGRAM == "nbody" else self.run_program("--rounds=40"))
        self.assertIn("no GPU", self.run_program("--no-gpu", "--no-cpu", status=1))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
