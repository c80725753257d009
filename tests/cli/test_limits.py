#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is too much for the host or the simulated GPU is refused with its reason before it costs anything, and the same cause has the same
status whichever command meets it. Usage: test_limits.py CORUN [TEST...]"""

import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

from programs import InFolder, describe

OK, USAGE, SYNTAX, NOT_FOUND, ARGUMENT, FILE, MEMORY = 0, 2, 3, 5, 6, 13, 14


def host_bytes():
    return int(re.search(r"MemTotal: +(\d+) kB", pathlib.Path("/proc/meminfo").read_text())[1]) * 1024


class Limits(InFolder):
    programs = {"a": {"rounds": 50}}

    def test_threads(self):
        def result(*arguments):
            return self.corun(*arguments, "--json", "-")
        many = result("run", "--gpu", "gtx980:sms=4", "--cycles", "2K", "--threads", "20000", "./a.yaml")
        self.assertIn("of 20000 threads 4 are used, one for each SM of gtx980:sms=4", many.stderr)
        self.assertEqual(json.loads(many.stdout)["threads"], 4)
        few = result("run", "--gpu", "gtx980:sms=4", "--cycles", "2K", "--threads", "4", "./a.yaml")
        self.assertEqual(few.stderr, "")
        many = result("launch", "--gpu", "gtx980:sms=4", "--kernel", "work", "--threads", "900", "--arg", "buf=4K", "--arg", "u32=9", "work.ptx")
        self.assertIn("of 900 threads 4 are used", many.stderr)

    def test_memory_of_arguments(self):
        size = 2 * host_bytes()
        for fill in ("iota", "random:1", "u32=3", "f32=1"):
            done = self.corun("launch", "--kernel", "work", "--arg", f"buf={size}:{fill}", "--arg", "u32=1", "work.ptx", status=MEMORY)
            self.assertIn(f"corun: buf={size}:{fill}: its {size / 1e9:.2f} GB do not fit into the memory of the host, where", done.stderr)

    def test_memory_of_descriptions(self):
        text = describe("big", 1).replace("{rounds: 1}", "{rounds: 1, count: 4096}").replace("count: 4096, initial", "count: count, initial")
        (self.folder / "big.yaml").write_text(text)
        self.corun("run", "--cycles", "1K", "./big.yaml@small,count=4K")
        count = host_bytes() // 2  # of four bytes
        done = self.corun("run", "--cycles", "1K", f"./big.yaml@small,count={count}", status=MEMORY if count * 4 <= 16 << 30 else SYNTAX)
        self.assertRegex(done.stderr, "do not fit into the memory of the host|the buffers take more than|must be from 1 to")

    def test_seeds(self):
        def result(seed):
            return json.loads(self.corun("run", "--gpu", "gtx980:sms=2", "--cycles", "1K", "--seed", str(seed), "--json", "-", "./a.yaml").stdout)
        self.assertEqual([result(seed)["seed"] for seed in (0, 1 << 53)], [0, 1 << 53])
        largest = (1 << 64) - 1
        for seed in ((1 << 53) + 1, 1 << 63, largest):  # text: readers of JSON often have doubles
            self.assertEqual(result(seed)["seed"], str(seed))
        self.corun("export", "--seed", str(largest), "./a.yaml", "exported")
        self.assertEqual(json.loads((self.folder / "exported" / "launch.json").read_text())["seed"], str(largest))
        self.corun("characterize", "--gpu", "gtx980:sms=2", "--cycles", "1K", "--seed", str(largest), "--json", "all.json", "./a.yaml")
        self.assertEqual(json.loads((self.folder / "all.json").read_text())["seed"], str(largest))
        done = self.corun("run", "--seed", str(1 << 64), "./a.yaml", status=USAGE)
        self.assertIn("--seed: expected a whole number from 0 to 18446744073709551615", done.stderr)
        (self.folder / "seeds.yaml").write_text(f"name: x\ngpus: [gtx980]\npolicies: [even]\nworkloads: [./a.yaml]\ncycles: 1K\nseed: {largest}\n"
                                                "mixes:\n  - {size: 1}\n")
        self.assertIn("is no number from 0 to 9223372036854775807 for 'seed'", self.corun("campaign", "seeds.yaml", status=SYNTAX).stderr)

    def test_the_same_cause_has_the_same_status(self):
        (self.folder / "folder").mkdir()
        (self.folder / "locked").write_text("x")
        (self.folder / "locked").chmod(0)
        (self.folder / "workload.yaml").write_text(describe("other", 1).replace("work.ptx", "gone.ptx"))
        commands = [("check", "{}"), ("launch", "{}"), ("check", "{}/x.corun"), ("launch", "--arg", "buf=@{}", "work.ptx"),
                    ("run", "./{}"), ("run", "--gpu", "./{}", "./a.yaml"), ("run", "--policy", "./{}", "./a.yaml"),
                    ("campaign", "{}"), ("export", "./{}", "out"), ("characterize", "./{}"), ("check", "--gpu", "./{}", "work.ptx")]
        if (pathlib.Path(self.command).parent / "cuda/libcorun-cuda.so").exists():  # sanitized builds have no CUDA libraries
            commands.append(("exec", "--gpu", "./{}", "true"))
        causes = [("gone", NOT_FOUND, "No such file or directory|no such file"), ("work.ptx/x", NOT_FOUND, "Not a directory|no such file")]
        for name, status, reason in causes:
            for command in commands:
                words = [word.format(name) for word in command]
                with self.subTest(" ".join(words)):
                    self.assertRegex(self.corun(*words, status=status).stderr, reason)
        unreadable = [command for command in commands if command[1] not in ("{}/x.corun", "--policy")]  # the latter is a matter of POLICY
        for command in unreadable:
            words = [word.format("folder") for word in command]
            with self.subTest(" ".join(words)):
                self.assertRegex(self.corun(*words, status=FILE).stderr, "directory|not a regular file")
        if os.geteuid():  # root reads everything
            for command in unreadable:
                words = [word.format("locked") for word in command]
                with self.subTest(" ".join(words)):
                    self.assertIn("Permission denied", self.corun(*words, status=FILE).stderr)
        for words in (("check", "/dev/zero"), ("launch", "/dev/zero"), ("run", "--gpu", "/dev/zero", "./a.yaml"), ("run", "/dev/zero"),
                      ("campaign", "/dev/zero")):
            with self.subTest(" ".join(words)):
                self.assertRegex(self.corun(*words, status=FILE).stderr, "the file has more than [0-9]+ bytes")
        self.assertIn("gone.ptx: cannot open the file: No such file", self.corun("run", "./workload.yaml", status=NOT_FOUND).stderr)


if __name__ == "__main__":
    InFolder.command = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
