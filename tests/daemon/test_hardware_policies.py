#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Policies of SMs on a GPU of hardware, under what can go wrong.

    test_hardware_policies.py CORUN PROGRAMS TEST...

The driver below is corun's own on the simulated GPU, a GTX 980 with 16 SMs, which each process has for itself.
"""
import json
import os
import pathlib
import re
import resource
import select
import signal
import socket
import subprocess
import sys
import time
import unittest

from test_hardware import CORUN, OBEYS, PROGRAMS, STARTING, Client, Configured, Shimmed

WITHOUT = "has no workers: start it with `corun share --workers`"


class Policies(Shimmed):
    def manned(self, name, *words, **more):
        return self.share(PROGRAMS / "where_blocks", "--workers", "--name", name, words=words, **more)

    def endless(self, name, blocks):
        """One that launches so many thread blocks again and again until it is told to end."""
        return self.manned(name, "-", str(blocks), "40", stdin=subprocess.PIPE)

    def tell_to_end(self, programs):
        for program in programs:
            program.stdin.close()
            program.stdin = None

    def assert_each_block_once(self, program, blocks, said=0):
        """It has ended well, each thread block of each launch has run once, and it has met the end of so many corunds."""
        status, out, err = self.end(program)
        self.assertEqual(status, 0, err)
        *launches, last = out.splitlines()
        self.assertEqual(last, b"%d launches of %d thread blocks" % (len(launches), blocks))
        self.assertEqual(err.count(b"corund is gone, the program runs on ungoverned"), said, err)
        self.assertEqual(len(err.splitlines()), said, err)

    def shares(self):
        return {name: client["sm_share"] for name, client in self.clients().items()}

    def test_top(self):
        """The part of the SMs that each may be on, now and over time."""
        self.start_daemon("--policy", "partition:window=50")
        other = Client(self.socket, name=b"other")
        self.addCleanup(other.close)
        other.put(OBEYS, 1)
        other.put(STARTING, 1)
        self.environment["CORUN_SHIM_TRACE"] = str(self.folder / "trace")
        train = self.share(PROGRAMS / "many_launches", "--workers", "--name", "train", "--goal", "75%", words=["100000000"])
        self.wait_for(lambda: self.shares() == {"train": 0.75, "other": 0.25})
        self.wait_for(lambda: len(self.clients()["train"]["sms"]) > 3 and self.clients()["train"]["sms"][-1] == 0.75)
        self.assertEqual(json.loads(self.ask("ps", "--json", "-").stdout)["sample_cycles"], 100000000)
        self.assertLessEqual(len(self.clients()["train"]["sms"]), 60)
        lines = self.ask("top", "--once").stdout.splitlines()
        title, rows = next(line for line in lines if line.startswith("name ")), {line.split()[0]: line for line in lines if line}
        self.assertIn("of alone  SMs  SMs over time", re.sub(" {2,}", "  ", title))
        self.assertIn(" 75% ", rows["train"])
        self.assertIn(" 25% ", rows["other"])
        self.assertEqual(self.ask("policy", "left-over").returncode, 0)
        self.assertEqual(self.clients()["train"]["sms"], [])
        self.assertIsNone(self.clients()["train"]["sm_share"])
        train.kill()

    def test_goals_without_workers(self):
        """A goal that nobody can keep is refused: when the program comes, by `corun goal`, and with the policy; the program has its results."""
        self.start_daemon("--policy", "workers:even")
        refused = self.share(PROGRAMS / "many_launches", "--goal", "90%", words=["2000"])
        status, out, err = self.end(refused)
        self.assertEqual((status, out.startswith(b"2000 launches")), (0, True), err)
        self.assertIn(b"corund refuses, the program runs ungoverned: the policy keeps goals by SMs, and the program " + WITHOUT.encode(), err)
        whole = Client(self.socket, name=b"whole")
        self.addCleanup(whole.close)
        for goal in "90%", "ms=2", "fps=30":
            self.assertIn(WITHOUT, self.ask("goal", str(os.getpid()), goal).stderr)
        self.assertEqual(self.ask("goal", str(os.getpid()), "none").returncode, 0)
        self.assertEqual(self.ask("policy", "goal").returncode, 0)
        self.assertEqual(self.ask("goal", str(os.getpid()), "90%").returncode, 0)
        done = self.ask("policy", "workers:even")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("policy even keeps goals by SMs, and whole (process ", done.stderr)
        self.assertEqual(self.ask("policy").stdout, "goal\n")

    def restart(self, daemon, *options):
        daemon.kill()
        daemon.wait()
        self.socket.unlink(missing_ok=True)
        return self.start_daemon(*options)

    def test_killed_under_load(self):
        """Programs run on everywhere without corund, and have their SMs again under the next one; each thread block has run once."""
        for policy in ("workers:even", "smqos:gate=off"):
            with self.subTest(policy):
                daemon = self.start_daemon("--policy", policy)
                programs = [self.endless(name, 1500) for name in ("one", "two")]
                for _ in range(2):
                    self.wait_for(lambda: len(self.shares()) == 2 and all(self.shares().values()))
                    daemon = self.restart(daemon, "--policy", policy)
                    self.assertEqual([program.poll() for program in programs], [None, None])
                self.wait_for(lambda: len(self.shares()) == 2 and all(self.shares().values()))
                self.tell_to_end(programs)
                for program in programs:
                    self.assert_each_block_once(program, 1500, said=2)
                self.assertEqual(self.clients(), {})
                daemon.kill()
                daemon.wait()
                self.socket.unlink(missing_ok=True)

    def test_another_version_under_eight(self):
        """At SIGUSR2 corund becomes that of its file under eight programs: these run on, have SMs again, and each thread block has run once."""
        daemon = self.start_daemon("--policy", "workers:even")
        programs = [self.endless(f"program{i}", 600) for i in range(8)]
        for _ in range(2):
            self.wait_for(lambda: len(self.shares()) == 8 and all(self.shares().values()))
            daemon.send_signal(signal.SIGUSR2)
            self.assertIn(str(self.socket), daemon.stdout.readline())
            self.assertEqual(self.ask("policy").stdout, "workers:even\n")
        self.wait_for(lambda: len(self.shares()) == 8 and all(self.shares().values()))
        self.tell_to_end(programs)
        for program in programs:
            self.assert_each_block_once(program, 600, said=2)
        self.assertEqual(self.clients(), {})

    def held(self, daemon):
        folder = pathlib.Path("/proc") / str(daemon.pid)
        return len(list((folder / "fd").iterdir())), len((folder / "maps").read_text().splitlines())

    def test_connections(self):
        """A thousand, beside two programs on SMs of their own: these have their results, and corund no descriptor more."""
        daemon = self.start_daemon("--policy", "workers:even")
        programs = [self.endless(name, 1500) for name in ("one", "two")]
        # corund has all of its memory when it has divided the SMs between two programs that have launched
        self.wait_for(lambda: len(self.shares()) == 2 and all(self.shares().values()) and all(client["launches"] > 1 for client in self.clients().values()))
        before = self.held(daemon)
        for i in range(1000):
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(str(self.socket))
                client.sendall((b"", b"\0\0\0", b"garbage" * 9, bytes(64))[i % 4])
        self.wait_for(lambda: self.held(daemon)[0] <= before[0])
        self.assertLessEqual(self.held(daemon)[1], before[1] + 4)
        self.tell_to_end(programs)
        for program in programs:
            self.assert_each_block_once(program, 1500)

    def test_no_descriptors(self):
        """Where corund has none left, it turns away who connects and rests; who is there stays, and the next one comes when there is room."""
        for options in (), ("--simulate", "gtx980:sms=2"):
            with self.subTest(options):
                daemon = self.start_daemon(*options)
                self.assertEqual(self.ask("ps").returncode, 0)
                resource.prlimit(daemon.pid, resource.RLIMIT_NOFILE, (40, 40))
                many = [socket.socket(socket.AF_UNIX) for _ in range(80)]
                for client in many:
                    client.connect(str(self.socket))
                times = pathlib.Path(f"/proc/{daemon.pid}/stat")

                def used():
                    return sum(map(int, times.read_text().rsplit(")", 1)[1].split()[11:13]))  # pylint: disable=cell-var-from-loop
                turned, waiting = 0, many
                while turned <= 5:
                    readable = select.select(waiting, [], [], 60)[0]
                    self.assertTrue(readable, turned)
                    waiting = [client for client in waiting if client not in readable]
                    for client in readable:
                        try:
                            turned += client.recv(1) == b""
                        except ConnectionResetError:
                            pass
                before = used()
                time.sleep(1)
                self.assertLess(used() - before, 20)  # of 100
                self.assertIsNone(daemon.poll())
                for client in many:
                    client.close()
                self.wait_for(lambda: self.ask("ps").returncode == 0)
                daemon.send_signal(signal.SIGTERM)
                self.assertEqual(daemon.wait(10), 0)


class Reload(Configured):
    def test_goals_without_workers(self):
        """SIGHUP changes to no policy that cannot keep the goals that there are; all else of the file counts."""
        daemon = self.start_configured("policy: goal\n")
        client = Client(self.socket, goal=1, name=b"server")
        self.addCleanup(client.close)
        self.assertEqual(client.kind, "BOARD")
        self.write(f"hardware: true\nsocket: {self.socket}\npolicy: workers:even\n")
        daemon.send_signal(signal.SIGHUP)
        said = daemon.stderr.readline()
        self.assertIn("the policy stays as it was: policy even keeps goals by SMs, and server (process ", said)
        self.assertEqual(self.ask("policy").stdout, "goal\n")
        self.assertEqual(self.ask("goal", str(os.getpid()), "80%").returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
