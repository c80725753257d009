#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Files that commands write: one replaces a regular file when it is whole, two never share a file, and what is read is never replaced.
Usage: test_outputs.py CORUN [TEST...]"""

import json
import os
import subprocess
import sys
import unittest

from programs import InFolder

OK, USAGE, FAULT = 0, 2, 8
GPU = "gtx980:sms=2"
HAS_CUDA = False


class Outputs(InFolder):
    programs = {"a": {"rounds": 50}, "b": {"rounds": 20}}
    RUN = ("run", "--gpu", GPU, "--cycles", "2K", "--no-baselines", "./a.yaml")
    LAUNCH = ("launch", "--gpu", GPU, "--kernel", "work", "--grid", "32", "--block", "128", "--arg", "buf=16K:iota", "--arg", "u32=1",
              "work.ptx")

    def test_two_outputs_are_two_files(self):
        os.symlink("same", self.folder / "link")
        os.symlink(".", self.folder / "here")
        (self.folder / "there").write_text("old")
        os.link(self.folder / "there", self.folder / "twin")
        cases = [("same", "same"), ("same", "./same"), ("same", "link"), ("same", "here/same"), ("same", str(self.folder / "same")),
                 ("there", "twin"), ("there", "here/here/there"), ("link", "here/link")]
        for first, second in cases:
            with self.subTest(f"{first} {second}"):
                done = self.corun(*self.RUN, "--json", first, "--trace", second, status=USAGE)
                self.assertIn("--json and --trace cannot both go to", done.stderr)
        self.assertIn("--save and --save cannot", self.corun(*self.LAUNCH, "--save", "0=x", "--save", "0=./x", status=USAGE).stderr)
        self.assertIn("cannot both", self.corun("characterize", "--json", "x", "--markdown", "x", "./a.yaml@small", status=USAGE).stderr)
        if HAS_CUDA:
            self.assertIn("cannot both", self.corun("exec", "--json", "x", "--csv", "x", "true", status=USAGE).stderr)
        self.assertIn("cannot both", self.corun(*self.RUN, "--json", "-", "--trace", "-", status=USAGE).stderr)
        done = self.corun(*self.RUN, "--json", "-", "--trace", "/dev/null", "--timeline", "/dev/null")
        json.loads(done.stdout)
        self.assertEqual((self.folder / "there").read_text(), "old")
        self.assertFalse((self.folder / "same").exists())

    def test_what_is_read_is_not_replaced(self):
        (self.folder / "data").write_bytes(bytes(16384))
        (self.folder / "gpu.yaml").write_text("parameters: {}\n")
        os.symlink("data", self.folder / "data_link")
        os.symlink("a.yaml", self.folder / "description")  # known by the file that it leads to
        kept = {name: (self.folder / name).read_bytes() for name in ("data", "gpu.yaml", "a.yaml", "work.ptx")}
        cases = [
            (*self.RUN, "--json", "./description"),
            (*self.RUN, "--json", "./a.yaml"),
            (*self.RUN, "--json", "work.ptx"),
            ("run", "--gpu", "./gpu.yaml:sms=2", "--cycles", "1K", "--json", "gpu.yaml", "./b.yaml@small:goal=50%"),
            ("launch", "work.ptx", "--kernel", "work", "--arg", "buf=@data", "--arg", "u32=1", "--save", "0=data"),
            ("launch", "work.ptx", "--kernel", "work", "--arg", "buf=@data", "--arg", "u32=1", "--save", "0=data_link"),
            ("launch", "work.ptx", "--kernel", "work", "--arg", "buf=@data", "--arg", "u32=1", "--json", "work.ptx"),
            ("characterize", "--markdown", "a.yaml", "./a.yaml"),
        ]
        for words in cases:
            with self.subTest(" ".join(words)):
                self.assertIn("not replaced", self.corun(*words, status=USAGE).stderr)
        (self.folder / "program").write_text("#!/bin/sh\n")
        (self.folder / "program").chmod(0o755)
        done = self.corun(*self.RUN, "--json", "program", status=USAGE)
        self.assertIn("--json: program is there and is a program by its looks: it is not replaced", done.stderr)
        for name, bytes_before in kept.items():
            self.assertEqual((self.folder / name).read_bytes(), bytes_before)

    def test_results_are_no_other_file(self):
        (self.folder / "campaign.yaml").write_text("name: x\ngpus: [gtx980]\npolicies: [even]\nworkloads: [./a.yaml]\ncycles: 1K\nmixes:\n  - {size: 1}\n")
        before = (self.folder / "campaign.yaml").read_text()
        self.assertNotEqual(self.run_corun("campaign", "--results", "campaign.yaml", "campaign.yaml").returncode, OK)
        self.assertEqual((self.folder / "campaign.yaml").read_text(), before)

    def test_a_regular_file_is_replaced_by_a_whole_one(self):
        (self.folder / "old.json").write_text("old")
        self.corun(*self.RUN, "--json", "old.json")
        json.loads((self.folder / "old.json").read_text())
        (self.folder / "old.bin").write_text("old")
        self.corun(*self.LAUNCH, "--save", "0=old.bin")
        self.assertEqual((self.folder / "old.bin").stat().st_size, 16384)
        (self.folder / "old.bin").write_text("old")  # a kernel that is stopped leaves nothing to save
        self.corun("launch", "--gpu", GPU, "--kernel", "outside", "--arg", "buf=16K", "--arg", "u32=1", "work.ptx", "--save", "0=old.bin",
                   status=FAULT)
        self.assertEqual((self.folder / "old.bin").read_text(), "old")

    def test_a_buffer_to_the_standard_output(self):
        done = self.corun(*self.LAUNCH, "--functional", "--save", "0=out.bin")
        saved = (self.folder / "out.bin").read_bytes()
        self.assertIn("thread instructions", done.stdout)
        piped = subprocess.run([self.command, *self.LAUNCH, "--functional", "--save", "0=-"], cwd=self.folder, stdout=subprocess.PIPE,
                               check=True).stdout
        self.assertEqual(piped, saved)


if __name__ == "__main__":
    InFolder.command = os.path.abspath(sys.argv[1])
    HAS_CUDA = os.path.exists(os.path.join(os.path.dirname(InFolder.command), "cuda/libcorun-cuda.so"))  # not in sanitized builds
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
