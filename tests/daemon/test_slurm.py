#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""examples/slurm: jobs of a real Slurm of one node whose programs share the GPU of corund. Usage: test_slurm.py CORUN PROGRAMS [TEST...]

Ends with 77 where Slurm cannot be brought up (tests/cli/test_slurm.py says when).
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORUN, PROGRAMS = os.path.abspath(sys.argv.pop(1)), os.path.abspath(sys.argv.pop(1))
sys.path.append(str(ROOT / "tests" / "cli"))
sys.path = [path for path in sys.path if path != str(pathlib.Path(__file__).resolve().parent)]
sys.modules.pop("test_slurm", None)
import test_slurm

SLURM = None


class Jobs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="corun-job-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.addCleanup(lambda: SLURM.command("scancel", "--user=root"))
        self.environment = dict(os.environ, CORUN_DAEMON_SOCKET=str(SLURM.folder / "corund"))
        journal = self.folder / "journal.json"
        self.daemon = subprocess.Popen([pathlib.Path(CORUN).parent / "corund", "--simulate", "gtx980", "--simulate", "quadro-v100", "--policy", "smqos",
                                        "--journal", journal], env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.stop)
        self.assertIn("gtx980, quadro-v100", self.daemon.stdout.readline())

    def stop(self):
        self.daemon.terminate()
        self.daemon.wait(20)
        self.daemon.stdout.close()

    def submit(self, comment, *lines):
        (self.folder / "job.sh").write_text("\n".join(["#!/bin/sh", "#SBATCH --output=job.txt", *lines, ""]), encoding="utf-8")
        said = SLURM.command("sbatch", "--parsable", f"--chdir={self.folder}", "--comment", comment, str(self.folder / "job.sh"))
        self.assertRegex(said.strip(), r"^\d+$")
        return said.strip()

    def end_of(self, job):
        if not SLURM.wait(lambda: not SLURM.command("squeue", "--noheader", f"--jobs={job}").strip(), 120):
            self.fail(SLURM.command("scontrol", "show", "jobs"))
        self.assertTrue(SLURM.wait(lambda: not (SLURM.folder / "jobs" / job).exists(), 30))
        self.assertEqual(SLURM.command("sinfo", "--noheader", "--format=%t").strip(), "idle")
        return (self.folder / "job.txt").read_text(encoding="utf-8")

    def seen(self):
        """What the journal has of programs: GPU, what, of whom, and what it is."""
        self.stop()
        events = json.loads((self.folder / "journal.json").read_text(encoding="utf-8"))
        return [(event["pid"] - 1, event["name"], event["args"]["program"], event["args"]["is"])
                for event in events if event.get("ph") == "i" and "program" in event["args"]]

    def test_a_goal(self):
        """A program of the script itself and one of a step, without `corun share`: both are corund's clients, with the job's goal and GPU."""
        job = self.submit("corun:goal=40%,isolated=400,name=server,gpu=1", f"{PROGRAMS}/heat >/dev/null && echo fine",
                          f"srun {PROGRAMS}/vector_add-static >/dev/null && echo fine",
                          "echo audit=$LD_AUDIT", "srun sh -c 'echo audit=$LD_AUDIT'")
        said = self.end_of(job)
        self.assertEqual(said.count("fine"), 2, said)
        audits = [line for line in said.splitlines() if line.startswith("audit=")]
        self.assertEqual(len(audits), 2)
        self.assertTrue(audits[0].endswith("libcorun-static-runtime.so"))
        self.assertEqual(audits[0], audits[1])  # once, also in steps
        seen = self.seen()
        self.assertEqual(seen.count((1, "client", "server", "comes")), 2, seen)
        self.assertEqual(seen.count((1, "client", "server", "goes")), 2, seen)

    def test_goal_is_the_jobs(self):
        """While the job runs, the list has its goal."""
        job = self.submit("corun:goal=ipc=25", f"{PROGRAMS}/endless >/dev/null")
        def listed():
            done = subprocess.run([CORUN, "ps"], env=self.environment, capture_output=True, text=True, check=True)
            return [line.split() for line in done.stdout.splitlines()[2:]]
        self.assertTrue(SLURM.wait(lambda: listed(), 60), SLURM.command("scontrol", "show", "jobs"))
        self.assertEqual(listed()[0][4], "ipc=25")
        SLURM.command("scancel", job)
        self.assertTrue(SLURM.wait(lambda: not listed(), 30))

    def test_refused(self):
        """What corun refuses is in the job's output, and the job runs; words that are none become no command."""
        said = self.end_of(self.submit("corun:goal=much $(id) --socket=/nowhere", "echo ran"))
        self.assertIn("ran", said)
        self.assertIn("a goal is 90%", said)
        self.assertIn("'$(id)' is passed over", said)
        self.stop()
        said = self.end_of(self.submit("corun:", "echo ran"))
        self.assertIn("no corund can be reached", said)
        self.assertIn("ran", said)

    def test_others(self):
        """A job that says nothing has nothing."""
        said = self.end_of(self.submit("nightly", "env | grep CORUN_CUDA; echo ran"))
        self.assertEqual(said, "ran\n")
        self.assertEqual(self.seen(), [])


def wrap(name, folder):
    """What an administrator would write at the head of the file."""
    path = folder / name
    path.write_text(f"#!/bin/sh\nexport CORUN={CORUN} CORUN_JOBS={folder}/jobs CORUN_DAEMON_SOCKET={folder}/corund\n"
                    f"exec {ROOT}/examples/slurm/{name}\n", encoding="utf-8")
    path.chmod(0o755)


if __name__ == "__main__":
    REASON = test_slurm.why_not()
    if REASON is None:
        test_slurm.CONFIGURATION += "Prolog={folder}/prolog.sh\nTaskProlog={folder}/task_prolog.sh\nEpilog={folder}/epilog.sh\nPrologFlags=Alloc\n"
        SLURM = test_slurm.Slurm()
        for script in ("prolog.sh", "task_prolog.sh", "epilog.sh"):
            wrap(script, SLURM.folder)
        try:
            REASON = SLURM.bring_up()
            if REASON is None:
                sys.exit(not unittest.main(exit=False).result.wasSuccessful())
            sys.exit(REASON)
        finally:
            SLURM.take_down()
    print(f"skipped: {REASON}")
    sys.exit(test_slurm.SKIPPED)
