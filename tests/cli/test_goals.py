#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Goals, and the policies that hold them by whole SMs, as a user meets them. Usage: test_goals.py CORUN [TEST...]"""

import json
import os
import sys
import unittest

from programs import InFolder

OK, USAGE, ARGUMENT, POLICY = 0, 2, 6, 12
GPU = "gtx980:sms=8,epoch_cycles=2K"


class Goals(InFolder):
    programs = {"one": {"rounds": 60, "grid": 512, "count": 65536}, "two": {"rounds": 80, "grid": 512, "count": 65536}}

    def result(self, policy, *applications, cycles="60K", more=()):
        return json.loads(self.corun("run", "-g", GPU, "-c", cycles, "-p", policy, *more, "--json", "-",
                                     *applications).stdout)

    @staticmethod
    def sms_of(result, application):
        return sum(sm["applications"][application]["warp_instructions"] != 0 for sm in result["sms"])

    def test_times_are_translated(self):
        goals = {}
        for goal in ("ms=2", "fps=500", "ms=3,transfer=1", "fps=250,transfer=2", "ms=1"):
            app = self.result("even", f"./one.yaml:goal={goal}", "./two.yaml", cycles="5K")["applications"][0]
            self.assertEqual(app["goal"], goal)
            goals[goal] = app["goal_ipc"]
        for goal in ("fps=500", "ms=3,transfer=1", "fps=250,transfer=2"):
            self.assertAlmostEqual(goals[goal] / goals["ms=2"], 1, places=9, msg=goal)
        self.assertAlmostEqual(goals["ms=1"] / goals["ms=2"], 2, places=9)

    def test_wrong_goals(self):
        for goal, status, words in (("101%", USAGE, "above 100 %"), ("0%", USAGE, "greater than 0"),
                                    ("fps=0", USAGE, "greater than 0"), ("hz=5", USAGE, "90%, ipc=X, ms=Y or fps=Z"),
                                    ("50%,transfer=1", USAGE, "a time may have ,transfer=MS"),
                                    ("ms=2,transfer=x", USAGE, "transfer is a number of milliseconds"),
                                    ("ms=2,transfer=2", ARGUMENT, "leave no time"),
                                    ("fps=1K,transfer=1.5", ARGUMENT, "transfers of 1.5 ms leave no time of the 1 ms")):
            self.assertIn(words, self.corun("run", "-c", "5K", f"./one.yaml:goal={goal}", status=status).stderr)

    def test_more_than_alone_is_out_of_reach(self):
        done = self.corun("run", "-g", GPU, "-c", "20K", "-p", "smqos", "./one.yaml:goal=ipc=100K", "./two.yaml")
        self.assertIn("one.yaml: the goal is 100000.00 thread instructions per cycle, alone it reaches", done.stderr)
        self.assertIn("out of reach", done.stdout)
        app = self.result("even", "./one.yaml:goal=ipc=100K", "./two.yaml", cycles="20K")["applications"][0]
        self.assertEqual((app["goal_met"], app["goal_out_of_reach"]), (False, True))
        self.assertGreaterEqual(app["best_epoch_ipc"], app["ipc"])

    def test_smqos_holds_a_goal_and_switches_off_what_is_left(self):
        result = self.result("smqos", "./one.yaml:goal=40%")
        app = result["applications"][0]
        self.assertEqual((app["goal_met"], app["goal_out_of_reach"]), (True, False))
        self.assertLess(app["goal_distance"], 0.5)
        self.assertGreater(sum(sm["gated_cycles"] for sm in result["sms"]), 0)
        awake = self.result("smqos:gate=off", "./one.yaml:goal=40%")
        self.assertEqual(sum(sm["gated_cycles"] for sm in awake["sms"]), 0)
        self.assertLess(result["energy"]["static_sm"], awake["energy"]["static_sm"])

    def test_a_run_shows_how_the_split_moved(self):
        case = ("run", "-g", GPU, "-c", "40K", "-p", "smqos", "./one.yaml:goal=40%", "./two.yaml:start=20K")
        lines = [line.split() for line in self.corun(*case).stdout.splitlines()]
        first = lines.index("SMs in use, until 4K 8K 12K 16K 20K 24K 28K 32K 36K 40K".split())
        rows = {" ".join(words[:-10]): [float(word) for word in words[-10:]] for words in lines[first + 2:first + 5]}
        self.assertEqual(list(rows), ["one@small", "two@small", "switched off"])
        history = json.loads(self.corun(*case, "--json", "-").stdout)["history"]
        self.assertEqual(len(history["end_cycles"]), 100)
        for index, name in enumerate(("one@small", "two@small")):
            sms = history["applications"][index]["sms"]
            for column, shown in enumerate(rows[name]):
                self.assertAlmostEqual(shown, sum(sms[10 * column:10 * column + 10]) / 10, delta=0.06)
        self.assertEqual(rows["two@small"][:5], [0] * 5)
        self.assertGreater(rows["two@small"][-1], 2)
        self.assertGreater(max(rows["switched off"]), 1)

    def test_goals_move_sms(self):
        for policy in ("smqos", "smqos:reclaim=switch", "spart-qos", "spart-qos:reclaim=drain", "spart-qos:ideal=on"):
            high, low = (self.result(policy, f"./one.yaml:goal={goal}%", "./two.yaml")["applications"] for goal in (80, 20))
            self.assertGreater(high[0]["ipc"], 1.5 * low[0]["ipc"], policy)
            self.assertGreater(low[1]["ipc"], 1.5 * high[1]["ipc"], policy)

    def test_a_policy_says_what_it_cannot_reach(self):
        for policy in ("smqos:batch-least=4", "spart-qos:best-effort-least=4"):
            app = self.result(policy, "./one.yaml:goal=90%", "./two.yaml")["applications"][0]
            self.assertEqual((app["goal_met"], app["goal_out_of_reach"]), (False, True), policy)
            free = self.result(policy.split(":")[0], "./one.yaml:goal=90%", "./two.yaml")["applications"][0]
            self.assertFalse(free["goal_out_of_reach"], policy)
            self.assertGreater(free["ipc"], app["ipc"])

    def test_static_ratio_is_the_goal(self):
        result = self.result("static-smqos", "./one.yaml:goal=75%", "./two.yaml", cycles="20K")
        self.assertEqual((self.sms_of(result, 0), self.sms_of(result, 1)), (6, 2))
        self.assertIn("add up to more than the whole GPU",
                      self.corun("run", "-g", GPU, "-c", "5K", "-p", "static-smqos", "./one.yaml:goal=75%",
                                 "./two.yaml:goal=50%", status=POLICY).stderr)

    def test_threads_change_nothing(self):
        for policy in ("smqos", "spart-qos"):
            seen = []
            for threads in ("1", "3"):
                result = self.result(policy, "./one.yaml:goal=60%", "./two.yaml:start=5K", cycles="30K",
                                     more=("--threads", threads))
                seen.append(([app["thread_instructions"] for app in result["applications"]], result["energy"]["total"]))
            self.assertEqual(seen[0], seen[1], policy)


if __name__ == "__main__":
    InFolder.command = os.path.abspath(sys.argv.pop(1))
    unittest.main()
