#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Campaigns on a real Slurm of one node, brought up for the test. Usage: test_slurm.py CORUN [TEST...]

Ends with 77 where that is not possible: without Debian's slurm-wlm and munge, not as root, or without control groups.
"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

import test_campaign
from test_campaign import CAMPAIGN, FILE, USAGE, Campaign, children_of

SKIPPED = 77
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "scancel", "sinfo")

CONFIGURATION = """\
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=bf_interval=1,sched_interval=1,sched_min_interval=0
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
KillWait=2
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
NodeName=node NodeHostname={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=node Default=YES MaxTime=INFINITE State=UP
"""


def path_of(program):
    return shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def why_not():
    """The reason why Slurm cannot be brought up here, or None."""
    missing = [program for program in PROGRAMS if not path_of(program)]
    if missing:
        return f"no {', '.join(missing)} (Debian: slurm-wlm and munge)"
    if os.geteuid():
        return "only root can bring Slurm up"
    if not os.path.ismount("/sys/fs/cgroup"):
        return "slurmd needs control groups, and none are mounted in /sys/fs/cgroup"
    return None


def free_ports(count):
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


class Slurm:
    """Three daemons of our own, with files and ports of their own: a Slurm that is there already is not touched."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="corun-slurm-"))
        self.folder.chmod(0o755)
        self.daemons = []
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        (self.folder / "munge.key").write_bytes(os.urandom(128))
        (self.folder / "munge.key").chmod(0o600)
        configuration = self.folder / "slurm.conf"
        configuration.write_text(CONFIGURATION.format(folder=self.folder, ports=free_ports(2),
                                                      host=socket.gethostname().split(".")[0]))
        self.environment = {"SLURM_CONF": str(configuration)}

    def begin(self, name, *arguments):
        with open(self.folder / f"{name}.out", "wb") as output:
            self.daemons.append(subprocess.Popen([path_of(name), *arguments], stdin=subprocess.DEVNULL, stdout=output,
                                                 stderr=output, env={**os.environ, **self.environment},
                                                 start_new_session=True))

    def bring_up(self):
        """The reason why it does not come up, or None."""
        folder = self.folder
        self.begin("munged", "--foreground", "--force", f"--key-file={folder}/munge.key", f"--socket={folder}/munge.socket",
                   f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munged.log", f"--seed-file={folder}/munge.seed")
        self.wait(lambda: (folder / "munge.socket").exists(), 20)
        self.begin("slurmctld", "-D")
        self.begin("slurmd", "-D", "-N", "node")
        if self.wait(lambda: self.command("sinfo", "--noheader", "--format=%t").strip() == "idle", 60):
            return None
        said = [f"{file.name}: {file.read_text()[-1000:]}" for file in (*folder.glob("*.out"), *folder.glob("*.log"))]
        return "the node does not become idle:\n" + "\n".join(said)

    def wait(self, condition, seconds):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if condition():
                return True
            time.sleep(0.2)
        return False

    def command(self, name, *arguments):
        return subprocess.run([path_of(name), *arguments], env={**os.environ, **self.environment}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False).stdout

    def take_down(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


SLURM = None


class Jobs(Campaign):
    whole = None # of a run without Slurm

    def setUp(self):
        super().setUp()
        self.environment.update(SLURM.environment)
        self.write("campaign.yaml", CAMPAIGN.format(cycles="500K"))
        if Jobs.whole is None:
            self.run_campaign()
            Jobs.whole = self.results()
            (self.folder / "results.db").unlink()
            shutil.rmtree(self.folder / "cache")

    def tearDown(self):
        jobs = SLURM.command("squeue", "--noheader", "--format=%A").split()
        if jobs:
            SLURM.command("scancel", *jobs)
        super().tearDown()

    def submit(self, *arguments):
        """(found, submitted) of what it says."""
        said = self.corun("campaign", "--slurm", "--slurm-tasks", "2", "--slurm-options", "--cpus-per-task=1", "-r",
                          "results.db", *arguments, "campaign.yaml").stdout
        numbers = re.search(r"(\d+) found(?:.*, (\d+) submitted)?", said)
        return int(numbers[1]), int(numbers[2] or 0)

    def all_ended(self, seconds=240):
        if not SLURM.wait(lambda: not SLURM.command("squeue", "--noheader").strip(), seconds):
            self.fail(SLURM.command("squeue") + SLURM.command("scontrol", "show", "jobs") + self.logs())

    def logs(self):
        return "\n".join(f"{log}: {log.read_text()}" for log in self.folder.glob("results.db.slurm/*/*.log"))

    def runner_of(self, task):
        """The process of a task, when it has a worker."""
        found = []
        def look():
            for entry in pathlib.Path("/proc").iterdir():
                try:
                    if entry.name.isdigit() and f"--shard\0{task}/2\0".encode() in (entry / "cmdline").read_bytes() and \
                            str(self.folder).encode() in (entry / "cmdline").read_bytes() and children_of(int(entry.name)):
                        found.append(int(entry.name))
                except OSError:
                    pass
            return found
        if not SLURM.wait(look, 60):
            self.fail("the task does not run: " + SLURM.command("squeue") + self.logs())
        return found[0]

    def test_the_same_as_here(self):
        self.assertEqual(self.submit(), (0, 15))
        again = self.corun("campaign", "--slurm", "-r", "results.db", "campaign.yaml", status=FILE)
        self.assertRegex(again.stderr, r"job \d+ of an earlier submission has not ended")
        self.all_ended()
        self.assertEqual(self.results(), self.whole, self.logs())
        self.assertEqual(list(self.folder.glob("results.db.slurm/*/task-*.db*")), [])
        self.assertEqual(self.submit(), (15, 0))
        self.assertEqual(SLURM.command("squeue", "--noheader").strip(), "")

    def test_a_task_that_is_killed_goes_back_to_the_queue(self):
        self.submit()
        os.kill(self.runner_of(1), signal.SIGKILL)
        self.all_ended()
        self.assertEqual(self.results(), self.whole, self.logs())

    def test_the_next_submission_completes_what_was_cancelled(self):
        self.submit()
        self.runner_of(1)
        job = (self.folder / "results.db.slurm" / "1" / "jobs").read_text().split()[0]
        SLURM.command("scancel", f"{job}_1")
        self.all_ended()
        found, submitted = self.submit()
        self.assertEqual(found + submitted, 15, self.logs())
        self.assertGreaterEqual(found, 7) # the other task has done its part
        self.assertGreater(submitted, 0)
        self.all_ended()
        self.assertEqual(self.results(), self.whole, self.logs())

    def test_refusals_say_why(self):
        refused = self.corun("campaign", "--slurm", "--slurm-options", "--partition=none", "-r", "results.db",
                             "campaign.yaml", status=FILE)
        self.assertIn("sbatch refused", refused.stderr)
        self.assertIn("invalid partition", refused.stderr)
        self.assertFalse((self.folder / "results.db.slurm").exists())
        self.corun("campaign", "--slurm", "--slurm-options", "'", "campaign.yaml", status=USAGE)


if __name__ == "__main__":
    test_campaign.CORUN = os.path.abspath(sys.argv.pop(1))
    REASON = why_not()
    if REASON is None:
        SLURM = Slurm()
        try:
            REASON = SLURM.bring_up()
            if REASON is None:
                sys.exit(not unittest.main(exit=False).result.wasSuccessful())
            sys.exit(REASON) # it should have come up
        finally:
            SLURM.take_down()
    print(f"skipped: {REASON}")
    sys.exit(SKIPPED)
