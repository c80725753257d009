#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""corun run --machine: the same case obeyed in software and in hardware. test_machine.py CORUN"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

CORUN = sys.argv.pop(1)
USAGE, ARGUMENT, FAULT, POLICY, FILE = 2, 6, 8, 12, 13
GPU = "gtx980:sms=4"
PAIR = ["hotspot@small:goal=60%", "pathfinder@small"]


# Of runs alone, for all tests: that these change nothing is test_runs_alone_that_are_kept.
KEPT = tempfile.TemporaryDirectory()  # pylint: disable=consider-using-with


def run(*arguments, cache=("--cache", KEPT.name)):
    return subprocess.run([CORUN, "run", "-g", GPU, *cache, *arguments], capture_output=True, text=True, timeout=300, check=False)


def result(*arguments, **more):
    done = run("--json", "-", *arguments, **more)
    if done.returncode:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout)


class Machine(unittest.TestCase):
    def test_software(self):
        found = result("-m", "software", "-p", "even", "-c", "400K", "--check", *PAIR)
        names = [row["name"] for row in found["applications"]]
        self.assertEqual(names, ["hotspot", "pathfinder"])
        for row in found["applications"]:
            self.assertEqual(row["status"], "OK")
            self.assertEqual(row["wrong_runs"], 0)
            self.assertEqual(row["launches_whole"], 0)
            self.assertGreater(row["runs"], 1)
            self.assertTrue(0.1 < row["normalised_ipc"] < 1, row)
            self.assertNotIn("warp_instructions", row)
            self.assertNotIn("energy_joules", row)
        for member in ("sms", "dram", "energy"):
            self.assertNotIn(member, found)
        for share in found["history"]["applications"]:
            self.assertLessEqual(max(share["sms"]), 2)
        self.assertGreater(found["control"]["looks"], 10)
        self.assertAlmostEqual(found["stp"], sum(row["normalised_ipc"] for row in found["applications"]), 6)

    def test_the_same_again(self):
        arguments = ("-m", "software", "-p", "smqos:gate=off", "--epoch", "20K", "-c", "300K", *PAIR)
        first, second = (result(*arguments, cache=("--no-cache",)) for _ in range(2))
        del first["wall_seconds"], second["wall_seconds"]
        self.assertEqual(first, second)

    def test_runs_alone_that_are_kept(self):
        """A run is the same whether those alone before it were simulated or are known: each begins on a GPU that has done nothing."""
        with tempfile.TemporaryDirectory() as folder:
            command = [CORUN, "run", "-g", GPU, "-m", "software", "-p", "even", "-c", "100K", "--cache", folder, "--json", "-", *PAIR]
            runs = [json.loads(subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout) for _ in range(2)]
            self.assertTrue(os.listdir(folder))
        for found in runs:
            del found["wall_seconds"]
        self.assertEqual(*runs)

    def test_both(self):
        found = result("-m", "both", "-p", "static-smqos", "-c", "200K", *PAIR)
        self.assertEqual(list(found), ["hardware", "software"])
        for machine in found.values():
            self.assertEqual(machine["policy"]["name"], "static-smqos")
            self.assertEqual(machine["applications"][0]["goal"], "60%")
        text = run("-m", "both", "-p", "static-smqos", "-c", "200K", *PAIR).stdout
        self.assertIn("on the software machine, launches as workers, through corun's driver on the simulated GPU", text)
        self.assertRegex(text, r"(?m)^normalised +goal +hardware +met +software +met$")

    def test_fence(self):
        for launching in ("workers", "slices", "whole"):
            found = result("-m", "software", "--fence", "--launching", launching, "-c", "100K", "--check", *PAIR)
            for row in found["applications"]:
                self.assertEqual((row["status"], row["wrong_runs"], row["failure"]), ("OK", 0, None))
                self.assertGreater(row["runs"], 0)
        self.fails(USAGE, "are for --machine software", "--fence", *PAIR)

    def test_whole(self):
        found = result("-m", "software", "--launching", "whole", "--runs", "4", *PAIR)
        for row in found["applications"]:
            self.assertEqual(row["runs"], 4)
            self.assertEqual(row["launches"], row["launches_whole"])
            self.assertEqual(row["workers"], 0)
        self.assertNotIn("control", found)

    def test_grants(self):
        found = result("-m", "software", "--launching", "slices", "-p", "turns:microseconds=50", "-c", "400K", "--check", *PAIR)
        for row in found["applications"]:
            self.assertEqual((row["status"], row["wrong_runs"], row["workers"]), ("OK", 0, 0))
            self.assertTrue(0.2 < row["normalised_ipc"] < 0.8, row)
        first, second = found["applications"]
        self.assertEqual((first["launches_whole"], second["launches_whole"], second["slices"]), (0, second["launches"], 0))  # within the grant
        self.assertGreater(first["slices"], first["launches"])
        self.assertGreater(second["launches"], 0)
        found = result("-m", "software", "--launching", "whole", "-p", "priority", "-c", "200K", *PAIR)
        first, second = found["applications"]
        self.assertGreater(first["normalised_ipc"], 0.9)  # it has always a launch: the other one hears of none
        self.assertEqual(second["launches"], 0)

    def test_requests(self):
        case = ("-m", "software", "--load", "30%", "-c", "1M", "--seed", "3", *PAIR)
        plain = result("--launching", "whole", *case)
        first = result("--launching", "slices", "-p", "priority:wait=10", *case)
        for found in (plain, first):
            row = found["applications"][0]
            self.assertEqual(found["load"], 0.3)
            self.assertTrue(0 < row["runs"] <= row["requests"])
            self.assertTrue(0.1 < row["normalised_ipc"] < 0.5, row)
        self.assertLess(first["applications"][0]["run_cycles"]["p99"], plain["applications"][0]["run_cycles"]["p99"])
        self.assertGreater(first["applications"][1]["normalised_ipc"], 0.1)

    def test_priority_of_streams(self):
        found = result("-m", "software", "--launching", "whole", "-c", "100K", "--streams", "priority", *PAIR)
        self.assertEqual((found["streams"], found["own_sms"]), ("priority", 0))
        self.assertIn("the highest priority", run("-m", "software", "-c", "50K", "--streams", "priority", *PAIR).stdout)

    def test_apart(self):
        """Batch work on SMs of its own beside a server: 3 become 4, since a V100 divides SMs by two."""
        gpu = ("-g", "quadro-v100:sms=8,memory_controllers=4,l2=768K")
        case = ("-m", "software", "--launching", "slices", *gpu, "--load", "50%", "-c", "60K", *PAIR)
        found = result("-p", "priority:beside=20,apart=3", *case)
        self.assertEqual((found["streams"], found["own_sms"], found["apart_sms"]), ("plain", 0, 4))
        self.assertGreater(found["applications"][1]["normalised_ipc"], 0.1)
        self.assertIn("kept apart run on 4 SMs", run("-p", "priority:beside=20,apart=3", *case).stdout)

    def test_profile(self):
        found = result("-m", "software", "-p", "profile:window=60K,points=2", "-c", "200K", "hotspot@small", "gesummv@small")
        split = [max(share["sms"]) for share in found["history"]["applications"]]
        self.assertGreater(split[0], split[1])

    def test_times_as_goals(self):
        alone = result("-m", "software", "--launching", "whole", "--runs", "10", "hotspot@small")["applications"][0]
        milliseconds = alone["run_cycles"]["mean"] / 1216000
        found = result("-m", "software", "-p", "smqos:gate=off", "-c", "300K", f"hotspot@small:goal=ms={2 * milliseconds:.6f}",
                       "pathfinder@small")["applications"][0]
        self.assertAlmostEqual(found["goal_ipc"] / found["ipc_isolated"], 0.5, delta=0.1)

    def fails(self, status, text, *arguments):
        done = run(*arguments)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.returncode, status, done.stderr)

    def test_what_is_refused(self):
        software = ("-m", "software", *PAIR)
        self.fails(POLICY, "policy qos-rollover needs a machine that", "-p", "qos-rollover", *software)
        self.fails(POLICY, "this machine cannot switch SMs off; gate=off does without", "-p", "smqos", *software)
        self.fails(ARGUMENT, "does not stop at a number of instructions", "--instructions", "1M", *software)
        self.fails(POLICY, "policy even needs a machine that limits thread blocks", "-p", "even", "--launching", "whole", *software)
        self.fails(POLICY, "policy turns needs a machine that holds launches of an application back; the software machine does not",
                   "-p", "turns", *software)
        self.fails(POLICY, "the simulated GPU does not", "-p", "turns", *PAIR)
        self.fails(USAGE, "--launching: expected workers, slices or whole", "--launching", "half", *software)
        self.fails(USAGE, "--load: expected a share of the time", "--load", "2", *software)
        self.fails(USAGE, "requests do not come to the hardware machine", "--load", "50%", "-m", "both", *PAIR)
        self.fails(ARGUMENT, "has 4 SMs, of which 3 cannot be divided off: 2 can", "--gpu", "quadro-v100:sms=4", "--streams", "sms=3", *software)
        self.fails(ARGUMENT, "has 80 SMs, of which 79 cannot be divided off: 2 to 78 can, in steps of 2", "--gpu", "quadro-v100", "--streams", "sms=79",
                   *software)
        self.fails(USAGE, "--streams: expected plain, priority or sms=N", "--streams", "more", *software)
        self.fails(USAGE, "--streams sms: expected a whole number from 1", "--streams", "sms=0", *software)
        self.fails(FAULT, "streams with SMs of their own: CUDA_ERROR_NOT_SUPPORTED", "--streams", "sms=2", *software)
        self.fails(ARGUMENT, "SMs: with 99 of its own none is left", "--streams", "sms=99", *software)
        self.fails(USAGE, "--start-at: expected seconds since 1970", "--native", "--start-at", "soon", *software)
        self.fails(USAGE, "--start-at is for --native", "--start-at", "1", *software)
        self.fails(USAGE, "are for --machine software", "--driver-calls", "/dev/null", *PAIR)
        self.fails(FILE, "no/such/folder: No such file", "--driver-calls", "no/such/folder", "-c", "20K", *software)
        self.fails(USAGE, "expected hardware, software or both", "-m", "firmware", *PAIR)
        self.fails(USAGE, "are for --machine software", "--epoch", "1M", *PAIR)
        self.fails(USAGE, "show the simulated GPU", "--trace", "/dev/null", *software)


if __name__ == "__main__":
    unittest.main()
