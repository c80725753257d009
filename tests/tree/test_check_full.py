#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""scripts/check_full.py with a program that does as files tell it. Usage: test_check_full.py SCRIPT [TEST...]"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SCRIPT = None
OK, FAILED, INTERRUPTED = 0, 1, 130
NAMES = ["a@small", "a@medium", "a@large", "b@small", "b@v100", "b@large"]

# Notes when it begins and ends, waits while there is a file hold, and fails if there is a file NAME@SIZE.broken.
PROGRAM = """#!/bin/sh
cd {folder}
if [ "$1" = list ]; then cat list; exit; fi
echo "begin $1" >>events
while [ -e hold ] && [ "$1" = "$(cat hold)" ]; do sleep 0.05; done
echo "about $1"
echo "end $1" >>events
[ ! -e "$1.broken" ] || exit 3
"""


class CheckFull(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="corun-check-full-"))
        self.addCleanup(shutil.rmtree, self.folder)
        for name in ("a", "b"):
            folder = self.folder / "data" / "kernels" / name
            folder.mkdir(parents=True)
            (folder / f"{name}.ptx").write_text("ptx")
            (folder / f"{name}.yaml").write_text("yaml")
        (self.folder / "list").write_text("".join(f"{name} 1000\n" for name in NAMES))
        self.program = self.folder / "program"
        self.program.write_text(PROGRAM.format(folder=self.folder))
        self.program.chmod(0o755)

    def command(self, *arguments):
        return [sys.executable, SCRIPT, str(self.program), str(self.folder / "state"), *arguments]

    def environment(self):
        return dict(os.environ, CORUN_DATA=str(self.folder / "data"))

    def run_script(self, *arguments, status=OK):
        """What ran, in the order in which it began."""
        (self.folder / "events").write_text("")
        done = subprocess.run(self.command(*arguments), env=self.environment(), capture_output=True, text=True, timeout=60,
                              check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.output = done.stdout
        return self.begun()

    def events(self):
        return [line.split() for line in (self.folder / "events").read_text().splitlines()]

    def begun(self):
        return [name for what, name in self.events() if what == "begin"]

    def most_at_once(self):
        most = now = 0
        for what, _ in self.events():
            now += 1 if what == "begin" else -1
            most = max(most, now)
        return most

    def test_everything_once(self):
        self.assertEqual(self.run_script("--jobs", "1"), ["a@small", "b@small", "a@medium", "a@large", "b@large", "b@v100"])
        self.assertIn("6 passed now, 0 before, 0 failed, 0 not run", self.output)
        self.assertIn("about b@v100", self.output)
        self.assertEqual(self.run_script(), [])
        self.assertIn("0 passed now, 6 before", self.output)

    def test_a_choice(self):
        self.assertEqual(sorted(self.run_script("--sizes", "small,large", "b")), ["b@large", "b@small"])
        self.assertEqual(self.run_script("--sizes", "huge", status=2), [])

    def test_what_changed_runs_again(self):
        self.run_script()
        (self.folder / "data" / "kernels" / "a" / "a.yaml").write_text("other")
        self.assertEqual(sorted(self.run_script()), ["a@large", "a@medium", "a@small"])
        (self.folder / "data" / "kernels" / "b" / "b.ptx").write_text("other")
        self.assertEqual(sorted(self.run_script()), ["b@large", "b@small", "b@v100"])
        with open(self.program, "a", encoding="ascii") as file:
            file.write("\n# new\n")
        self.assertEqual(sorted(self.run_script()), sorted(NAMES))
        (self.folder / "state" / "a@large.json").write_text("{")  # not from here
        self.assertEqual(self.run_script(), ["a@large"])

    def test_continues_after_a_failure(self):
        (self.folder / "b@small.broken").touch()
        self.assertEqual(sorted(self.run_script(status=FAILED)), sorted(NAMES))
        self.assertIn("b@small FAILED (status 3)", self.output)
        self.assertIn("5 passed now, 0 before, 1 failed, 0 not run", self.output)
        self.assertIn(f"failed: b@small, see {self.folder}/state/b@small.log", self.output)
        self.assertEqual(self.run_script(status=FAILED), ["b@small"])
        (self.folder / "b@small.broken").unlink()
        self.assertEqual(self.run_script(), ["b@small"])
        self.assertEqual(self.run_script(), [])

    def test_an_interrupt(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                self.interrupt(number)
                shutil.rmtree(self.folder / "state")

    def interrupt(self, number):
        (self.folder / "hold").write_text("a@large")
        (self.folder / "events").write_text("")
        with subprocess.Popen(self.command("--jobs", "1"), env=self.environment(), stdout=subprocess.PIPE, text=True) as process:
            until = time.monotonic() + 30
            while "a@large" not in self.begun() and time.monotonic() < until:
                time.sleep(0.02)
            process.send_signal(number)
            text = process.communicate(timeout=30)[0]
        self.assertEqual(process.returncode, INTERRUPTED)
        self.assertIn("3 passed now, 0 before, 0 failed, 3 not run", text)
        (self.folder / "hold").unlink()
        self.assertEqual(self.run_script("--jobs", "1"), ["a@large", "b@large", "b@v100"])

    def test_jobs_and_memory(self):
        # Nothing ends before as many have begun as a file says: what runs side by side does not depend on the load of the machine.
        together, wait = self.folder / "together", "while [ $(grep -c begin events) -lt $(cat together) ]; do sleep 0.02; done; "
        self.program.write_text(self.program.read_text().replace("echo \"end", wait + "echo \"end"))
        together.write_text("3")
        self.run_script("--jobs", "3")
        self.assertEqual(self.most_at_once(), 3)
        # before their first run, large buffers are taken for three times their size: no two of these fit, but a small one beside
        shutil.rmtree(self.folder / "state")
        (self.folder / "list").write_text("a@small 400000000\nb@small 400000000\na@medium 1000\n")
        together.write_text("2")
        begun = self.run_script("--jobs", "3", "--memory", str(2 << 30))
        self.assertEqual([sorted(begun[:2]), begun[2:]], [["a@medium", "a@small"], ["b@small"]])
        self.assertEqual(self.most_at_once(), 2)
        # after it, what they took is known, and one that fits nowhere runs alone
        together.write_text("1")
        (self.folder / "state" / "a@small.json").write_text('{"key": "", "passed": true, "peak_bytes": 9000000000}')
        (self.folder / "state" / "b@small.json").write_text('{"key": "", "passed": true, "peak_bytes": 1000}')
        (self.folder / "state" / "a@medium.json").write_text('{"key": "", "passed": true, "peak_bytes": 1000}')
        self.assertEqual(self.run_script("--jobs", "3", "--memory", str(2 << 30))[0], "a@small")
        self.assertEqual([what for what, _ in self.events()][:2], ["begin", "end"])

    def test_one_that_never_ends(self):
        (self.folder / "hold").write_text("a@small")
        self.run_script("--timeout", "0.5", "--sizes", "small", status=FAILED)
        self.assertIn("a@small FAILED (signal SIGKILL)", self.output)
        self.assertIn("1 passed now, 0 before, 1 failed", self.output)


if __name__ == "__main__":
    SCRIPT = os.path.abspath(sys.argv.pop(1))
    unittest.main()
