#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program of examples/split beside CPUs of other speeds: meet is never slower than the faster side alone by more than 2 %.

Usage: test_ratios.py CORUN FOLDER PROGRAM [GPU...]. The CPU's time is given (cpu_seconds), so every run is exact, the same everywhere. Five ratios, and fourteen with CORUN_TEST_RUNS=10.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

CORUN, FOLDER, PROGRAM = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
GPUS = sys.argv[4:] or ["quadro-v100", "tesla-m2090"]
RATIOS = (0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 10, 20, 50, 100)  # of the CPU's speed to the GPU's
if int(os.environ.get("CORUN_TEST_RUNS", "0")) < 10:
    RATIOS = RATIOS[::3]
else:
    RATIOS = (0.005, *RATIOS)
LIMIT = 1.02


class Ratios(unittest.TestCase):
    def rounds(self, gpu, setting):
        with tempfile.TemporaryDirectory() as folder:
            record = os.path.join(folder, "record")
            done = subprocess.run([CORUN, "exec", "-q", "--gpu", gpu, "--", FOLDER / PROGRAM], text=True, capture_output=True, check=False,
                                  env=dict(os.environ, CORUN_SPLIT=f"threads=1,{setting}", CORUN_SPLIT_RECORD=record))
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            with open(record, encoding="utf-8") as file:
                return [json.loads(line) for line in file]

    def test_never_slower_than_the_faster_side(self):
        for gpu in GPUS:
            alone = self.rounds(gpu, "strategy=static,cpu_share=0,cpu_seconds=1")
            iterations, seconds = sum(one["iterations"] for one in alone), sum(one["seconds"] for one in alone)
            for ratio in RATIOS:
                with self.subTest(gpu=gpu, ratio=ratio):
                    ours = sum(one["seconds"] for one in self.rounds(gpu, f"strategy=meet,cpu_seconds={seconds / ratio / iterations:.12g}"))
                    self.assertLessEqual(ours / min(seconds, seconds / ratio), LIMIT)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
