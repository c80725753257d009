#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""examples/slurm: jobs of a real Slurm of one node that get an agent. Usage: test_slurm.py CORUN EXAMPLES [TEST...]

Ends with 77 where Slurm cannot be brought up (tests/cli/test_slurm.py says when).
"""
import json
import os
import pathlib
import signal
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CORUN, EXAMPLES = os.path.abspath(sys.argv.pop(1)), os.path.abspath(sys.argv.pop(1))
sys.path.append(str(ROOT / "tests" / "cli"))
sys.path = [path for path in sys.path if path != str(pathlib.Path(__file__).resolve().parent)]
sys.modules.pop("test_slurm", None)
import test_slurm

JOB = f"""#!/bin/sh
#SBATCH --output=job.txt
echo "agent $CORUN_AGENT"
{EXAMPLES}/blackscholes --serve --size=2 --threads=1 >/dev/null &
batch=$!
{EXAMPLES}/gmm --serve --size=5 --gap=50 --queries=60 --threads=1
kill $batch
"""
SLURM = None


def agents(folder):
    """Processes that have a socket in that folder, but for those that have ended."""
    found = []
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if str(folder).encode() in (entry / "cmdline").read_bytes() and "host" in (entry / "cmdline").read_text().split("\0"):
                found.append(int(entry.name))
        except OSError:
            pass
    return found


class Jobs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="corun-job-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.addCleanup(lambda: SLURM.command("scancel", "--user=root"))
        (self.folder / "job.sh").write_text(JOB, encoding="utf-8")

    def submit(self, *words):
        said = SLURM.command("sbatch", "--parsable", f"--chdir={self.folder}", "--cpus-per-task=2", *words, str(self.folder / "job.sh"))
        self.assertRegex(said.strip(), r"^\d+$")
        return said.strip()

    def end_of(self, job):
        if not SLURM.wait(lambda: not SLURM.command("squeue", "--noheader", f"--jobs={job}").strip(), 120):
            self.fail(SLURM.command("scontrol", "show", "jobs"))
        SLURM.wait(lambda: not (SLURM.folder / "jobs" / job).exists(), 30)
        return (self.folder / "job.txt").read_text(encoding="utf-8")

    def test_a_job_gets_an_agent_with_its_goal(self):
        job = self.submit("--comment", "corun policy=fixed:cores=1,ways=1 service=gmm:goal=9s batch=blackscholes --json=/etc/passwd $(id)")
        said = self.end_of(job)
        self.assertIn(f"agent {SLURM.folder}/jobs/{job}/agent", said)
        self.assertIn("60 queries", said)
        results = json.loads((self.folder / f"corun-{job}.json").read_text(encoding="utf-8"))
        service, batch = results["cases"][0]["services"][0], results["cases"][0]["batches"][0]
        self.assertEqual((service["application"], service["goal_ns"], service["queries"]), ("gmm", 9000000000, 60))
        self.assertEqual(batch["application"], "blackscholes")
        self.assertGreater(service["cores"], 0)
        self.assertEqual(agents(SLURM.folder / "jobs"), [])
        self.assertFalse((SLURM.folder / "jobs" / job).exists())

    def test_a_job_that_asks_for_none_gets_none(self):
        said = self.end_of(self.submit("--comment", "nightly"))
        self.assertIn("agent \n", said)
        self.assertIn("60 queries", said)

    def test_a_comment_that_is_wrong_harms_nothing(self):
        job = self.submit("--comment", "corun policy=no-such service=gmm")
        self.assertIn("60 queries", self.end_of(job))
        self.assertIn("a host has no policy 'no-such'", (self.folder / f"corun-{job}.log").read_text(encoding="utf-8"))
        self.assertEqual(SLURM.command("sinfo", "--noheader", "--format=%t").strip(), "idle")

    def test_an_agent_that_is_killed_leaves_the_job_running(self):
        job = self.submit("--comment", "corun policy=os service=gmm batch=blackscholes")
        socket = SLURM.folder / "jobs" / job / "agent"
        self.assertTrue(SLURM.wait(socket.exists, 60), SLURM.command("scontrol", "show", "jobs"))
        self.assertTrue(SLURM.wait(lambda: agents(socket), 20))
        time.sleep(1)
        os.kill(min(agents(socket)), signal.SIGKILL)
        self.assertIn("60 queries", self.end_of(job))
        self.assertEqual(agents(SLURM.folder / "jobs"), [])


def wrap(name, folder):
    """What an administrator would write at the head of the file."""
    path = folder / name
    path.write_text(f"#!/bin/sh\nCORUN={CORUN} CORUN_JOBS={folder}/jobs exec {ROOT}/examples/slurm/{name}\n", encoding="utf-8")
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
