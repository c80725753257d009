#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""corun host profile on programs of examples/host, and on such that are none. Usage: test_profile.py CORUN FOLDER"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

CORUN, FOLDER = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
USAGE, UNSUPPORTED, NOT_FOUND, MISMATCH = 2, 4, 5, 11


class Profile(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def profile(self, *words, status=0):
        done = subprocess.run([CORUN, "host", "profile", "--quiet", *words], cwd=self.path, text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout if status == 0 else done.stderr

    def numbers(self, description, key):
        return [[float(number) for number in re.findall(r"[\d.e+-]+", line)]
                for line in re.findall(rf"^ *(?:- )?{key}: \[(.*)\]$", description, re.M)]

    def program(self, text):
        path = self.path / "program"
        path.write_text("#!/bin/sh\n" + text, encoding="utf-8")
        path.chmod(0o755)
        (self.path / "traced").mkdir(exist_ok=True)
        shutil.copy(path, self.path / "traced/program")
        return "program"

    def test_service(self):
        """gmm streams 13.1 MB of model for each eight frames: it misses always with six ways of 30 MB, never with seven."""
        text = self.profile("--sizes=16,32", "--queries=2", "--repeat=1", "--cores=4", "--curves=1,4", FOLDER / "gmm")
        self.assertIn("application: gmm\nkind: service\n", text)
        self.assertRegex(text, r"measured: \"corun host profile --queries=2 --repeat=1 --rate=16, on .*, \d{4}-\d\d-\d\d\"")
        (instructions,) = self.numbers(text, "instructions")
        self.assertEqual(instructions[::2], [16, 32])
        self.assertAlmostEqual(instructions[3] / instructions[1], 2, delta=0.1)  # a frame is a frame
        rows = self.numbers(text, "cores")
        self.assertEqual([len(row) for row in rows], [4, 4])
        for row in rows:
            self.assertEqual(row[0], 1)
            self.assertEqual(row, sorted(row))
            self.assertLessEqual(row[3], 4)
        curves = self.numbers(text, "points")
        self.assertEqual(len(curves), 4)
        for curve in curves:
            by_bytes = dict(zip(curve[::2], curve[1::2]))
            way = 30 * 2**20 // 16
            model = 13.1e6 / 64 / (instructions[1] / 2) * 1000  # lines of the model for 1000 instructions of eight frames
            for ways in 1, 6:
                self.assertAlmostEqual(by_bytes[ways * way] / model, 1, delta=0.1)
            for ways in 7, 16:
                self.assertLess(by_bytes[ways * way], 0.02 * model)

    def test_every_load_is_heard(self):
        """streamcluster reads 12.6 MB of points for each candidate, and once before: a vector load that is not traced would be missing."""
        text = self.profile("--sizes=5", "--queries=2", "--repeat=1", "--cores=1", "--curves=1", FOLDER / "streamcluster")
        instructions, = [float(found) for found in re.findall(r"^instructions: (\S+)$", text, re.M)]
        ((_, quarter, *_),) = self.numbers(text, "points")
        self.assertAlmostEqual(quarter / (6 * 49152 * 64 * 4 / 64 / instructions * 1000), 1.05, delta=0.1)  # and some for costs

    def test_output(self):
        text = self.profile("--queries=2", "--repeat=1", "--sizes=1", "--rate=64", "-o", "b.yaml", FOLDER / "blackscholes")
        self.assertEqual(text, "")
        text = (self.path / "b.yaml").read_text(encoding="utf-8")
        self.assertIn("kind: batch\n", text)
        self.assertNotIn("size:", re.sub("#.*", "", text))
        self.assertRegex(text, r"\ninstructions: \d")

    def test_mistakes(self):
        self.assertIn("the program is missing", self.profile(status=USAGE))
        self.assertIn("no such file", self.profile("nothing", status=NOT_FOUND))
        self.assertIn("--curves", self.profile("--cores=2", FOLDER / "gmm", status=USAGE))
        self.assertIn("each more than the one before", self.profile("--sizes=3,2", FOLDER / "gmm", status=USAGE))
        shutil.copy(FOLDER / "gmm", self.path)
        self.assertIn("traced/gmm", self.profile("gmm", status=NOT_FOUND))
        self.assertIn("--traced says where it is", self.profile("gmm", status=NOT_FOUND))
        self.assertNotIn("--traced", self.profile("nothing", status=NOT_FOUND))
        self.assertIn("ended with status 3", self.profile(self.program("exit 3\n"), status=MISMATCH))
        self.assertIn("has left no report", self.profile(self.program("exit 0\n"), status=UNSUPPORTED))

    def test_not_traced(self):
        """A program in place of its traced build leaves no trace."""
        self.assertIn("has left no trace", self.profile("--sizes=8", "--queries=2", "--repeat=1", "--traced", FOLDER / "gmm",
                                                        FOLDER / "gmm", status=UNSUPPORTED))

    def test_task(self):
        done = subprocess.run([CORUN, "host", "profil"], text=True, capture_output=True, check=False)
        self.assertEqual(done.returncode, USAGE)
        self.assertIn("did you mean `profile`?", done.stderr)


if __name__ == "__main__":
    if not shutil.which("valgrind"):
        sys.exit(77)
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
