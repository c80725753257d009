#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The CUDA programs in slices, or by workers: each finds what it finds when its launches run whole.

    test_sliced.py CORUN COMMANDS slice=SLICE|workers[=SEED] [--whole]

COMMANDS has a line for each test of a program: its name, variables of its environment, `--`, and what follows `corun exec -q`, with tabs
between them. The third word is an option of `corun exec`. With --whole, every program says what it says whole: what the file PLAIN_RUNS has of
that (daemon_hardware_all_Plain leaves it), or it runs once more. Then it has no seed.
"""
import os
import pickle
import subprocess
import sys
import unittest

# Thread blocks that wait for others without a cooperative launch: nothing in the kernel shows it, and a slice waits for the next one.
WAIT_FOR_EACH_OTHER = {"waiting_blocks", "waiting_blocks_functional"}
# Sees which of two kernels comes first by when each runs thread block 0: with another order of slices, that says nothing.
LOOKS_AT_ORDER = {"priorities", "priorities_functional"}
# Compares how long launches take side by side and one after the other: not while SMs owe now this and now that.
COMPARES_TIMES = {"streams"}
# Prints times: of slices they are others.
TELLS_TIMES = {"bulk_copies", "bulk_copies_functional"}
# Counts thread blocks that fill the shared memory of an SM to the last byte: a worker takes 32 more.
FILLS_SHARED_MEMORY = {"attributes", "attributes_functional"}
CORUN = COMMANDS = OPTION = None
WHOLE = False


def commands():
    with open(COMMANDS, encoding="utf-8") as file:
        for line in file:
            words = line.rstrip("\n").split("\t")
            end = words.index("--")
            yield words[0], dict(word.split("=", 1) for word in words[1:end]), words[end + 1:]


class Sliced(unittest.TestCase):
    def run_program(self, environment, words, *options):
        return subprocess.run([CORUN, "exec", "-q", *options, *words], env=dict(os.environ, **environment), timeout=300,
                              capture_output=True, check=False)

    def whole_runs(self):
        """Status, output and errors by the name of the test, of those that somebody has run."""
        if WHOLE and os.path.exists(os.environ.get("PLAIN_RUNS", "")):
            with open(os.environ["PLAIN_RUNS"], "rb") as file:
                return pickle.load(file)
        return {}

    def test_programs(self):
        known = self.whole_runs()
        count, reorders = 0, ":" in OPTION or OPTION.startswith("workers=")
        for name, environment, words in commands():
            if name in WAIT_FOR_EACH_OTHER or (reorders and name in LOOKS_AT_ORDER):
                continue
            if OPTION.startswith("workers=") and name in COMPARES_TIMES:
                continue
            if OPTION.startswith("workers") and name in FILLS_SHARED_MEMORY:
                continue
            with self.subTest(name):
                done = self.run_program(environment, words, f"--{OPTION}")
                self.assertEqual(done.returncode, 0, (done.stdout[-1000:], done.stderr[-1000:]))
                if WHOLE and name not in TELLS_TIMES:
                    whole = known.get("cuda_" + name)
                    self.assertEqual(done.stdout, whole[1] if whole else self.run_program(environment, words).stdout)
                count += 1
        self.assertGreater(count, 85)


if __name__ == "__main__":
    WHOLE = "--whole" in sys.argv
    CORUN, COMMANDS, OPTION = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1])
