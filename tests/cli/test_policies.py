#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Policies that split the SMs, and searches, as a user meets them. Usage: test_policies.py CORUN [TEST...]"""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import time
import unittest

from programs import InFolder

OK, USAGE, NOT_FOUND, ARGUMENT, FAULT, POLICY, FILE = 0, 2, 5, 6, 8, 12, 13


class Command(InFolder):
    # wide fills every SM, narrow has three thread blocks, bad is stopped
    programs = {"wide": {"rounds": 60, "grid": 128, "count": 16384}, "other": {"rounds": 200, "grid": 128, "count": 16384},
                "narrow": {"rounds": 400, "grid": 3, "count": 16384}, "bad": {"rounds": 1, "kernel": "outside", "grid": 4, "count": 16384}}

    def says(self, status, words, *arguments):
        self.assertIn(words, self.corun(*arguments, status=status).stderr)

    def result(self, policy, *applications, gpu="gtx980:sms=8", cycles="30K"):
        return json.loads(self.corun("run", "-g", gpu, "-c", cycles, "-p", policy, "--json", "-", *applications).stdout)

    @staticmethod
    def owners(result):
        """One letter per SM: who executed anything there; '*' more than one."""
        text = ""
        for sm in result["sms"]:
            own = [chr(ord("A") + a) for a, app in enumerate(sm["applications"]) if app["warp_instructions"]]
            text += own[0] if len(own) == 1 else "*" if own else "."
        return text


class Policies(Command):
    def test_the_split_is_what_sms_execute(self):
        for policy, owners in (("even", "AAAABBBB"), ("spart", "AAAABBBB"), ("smart-even", "AAAABBBB"),
                               ("fixed:split=3/5", "AAABBBBB"), ("fixed:split=1/4,rest=idle", "ABBBB..."),
                               ("left-over", "********")):
            self.assertEqual(self.owners(self.result(policy, "./wide.yaml", "./other.yaml")), owners, policy)

    def test_three_thread_blocks_get_three_sms(self):
        # known only when its kernel starts, which is before anything is dispatched
        self.assertEqual(self.owners(self.result("smart-even", "./narrow.yaml", "./wide.yaml")), "AAABBBBB")
        even = self.result("even", "./narrow.yaml", "./wide.yaml")
        self.assertEqual(self.owners(even), "AAA.BBBB")
        smart = self.result("smart-even", "./narrow.yaml", "./wide.yaml")
        self.assertGreater(smart["stp"], even["stp"])
        rounds = self.result("rounds", "./narrow.yaml", "./wide.yaml")  # one round with three SMs, as with four
        self.assertGreaterEqual(rounds["stp"], even["stp"])

    def test_profile_runs_each_alone_and_keeps_it(self):
        run = ("run", "-g", "gtx980:sms=4", "-c", "10K", "-p", "profile", "--cache", "profiles", "./narrow.yaml", "./wide.yaml")
        first = self.corun(*run).stdout
        self.assertIn("policy profile:objective=product,window=0,points=0", first)
        self.assertIn("the isolated runs before took", first)
        self.assertEqual(len(list((self.folder / "profiles").glob("*.json"))), 8)  # two on 1 to 4 SMs
        self.assertNotIn("the isolated runs before took", self.corun(*run).stdout)
        self.corun(*(word.replace("profile", "profile:points=2", 1) if word == "profile" else word for word in run))
        self.assertEqual(len(list((self.folder / "profiles").glob("*.json"))), 8)  # 1 and 4 are among them
        # three thread blocks of four warps that wait for each result: as fast on one SM as on three
        self.assertEqual(self.owners(self.result("profile", "./narrow.yaml", "./wide.yaml")), "ABBBBBBB")
        self.assertEqual(self.owners(self.result("profile", "./wide.yaml", "./wide.yaml")), "AAAABBBB")

    def test_an_application_without_a_curve(self):
        done = self.corun("run", "-g", "gtx980:sms=2", "-c", "5K", "-p", "profile", "./wide.yaml", "./bad.yaml", status=FAULT)
        self.assertIn("bad has no speed-up curve: alone on 1 SMs it was stopped", done.stderr)

    def test_hand_over_by_switch_drain_and_for_free(self):
        """A comes late: half of B's SMs change hands, which costs what it costs."""
        late = ("./wide.yaml:start=5K", "./other.yaml")
        drained, switched, free = (self.result(policy, *late, cycles="40K")
                                   for policy in ("spart:reclaim=drain", "spart", "spart:ideal=on"))
        for key in ("cycles", "applications", "sms"):
            self.assertEqual(drained[key], self.result("even", *late, cycles="40K")[key])
        def counted(name):
            return [sum(kernel["counters"][name] for app in result["applications"] for kernel in app["kernels"])
                    for result in (drained, switched, free)]
        saved = counted("saved_bytes")
        self.assertEqual(saved[0], 0)
        self.assertGreater(saved[1], 4 * 128 * 32)  # four SMs with full thread blocks
        self.assertEqual(saved[2], 0)
        moved = counted("tbs_swapped_out")
        self.assertEqual(moved[0], 0)
        self.assertGreater(moved[1], 0)
        self.assertGreater(moved[2], 0)
        self.assertGreaterEqual(free["applications"][1]["ipc"], switched["applications"][1]["ipc"])
        # mixing while an SM changes hands lets A begin at once; without a hand-over it is the same
        mixed = self.result("even:exclusive=off", *late, cycles="40K")
        self.assertNotEqual(mixed["applications"][0]["ipc"], drained["applications"][0]["ipc"])
        both = ("./wide.yaml", "./other.yaml")
        self.assertEqual(self.result("even:exclusive=off", *both)["sms"], self.result("even", *both)["sms"])

    def test_time_slices(self):
        result, ideal = (self.result(policy, "./wide.yaml", "./other.yaml", cycles="80K")
                         for policy in ("time-slice:slice=20K", "time-slice:slice=20K,ideal=on"))
        self.assertEqual(self.owners(result), "********")
        for app, free in zip(result["applications"], ideal["applications"]):  # half of the time each, less the switches
            self.assertAlmostEqual(free["normalised_ipc"], 0.5, delta=0.05)
            self.assertLess(app["normalised_ipc"], free["normalised_ipc"])
            self.assertGreater(app["normalised_ipc"], 0.2)
        self.assertEqual(self.owners(self.result("time-slice:slice=50K", "./wide.yaml", "./other.yaml")), "AAAAAAAA")

    def test_parameters_in_words(self):
        policy = self.result("fixed:split=3/4,rest=idle", "./wide.yaml", "./other.yaml")["policy"]
        self.assertEqual(policy, {"name": "fixed", "parameters": {"split": "3/4", "rest": "idle"}})
        self.assertEqual(self.result("time-slice:slice=20K", "./wide.yaml", "./other.yaml")["policy"]["parameters"],
                         {"slice": 20000, "microseconds": 0.0, "reclaim": "switch", "ideal": "off"})
        text = self.corun("run", "-g", "gtx980:sms=8", "-c", "5K", "-p", "fixed:split=3/5", "./wide.yaml", "./other.yaml").stdout
        self.assertIn("policy fixed:split=3/5,rest=error,", text)
        listed = self.corun("list", "policies").stdout
        for words in ("objective=product (product|sum): ", "split=0 (0 to 1024, up to 16 as A/B/...): ", "ideal=off (off|on): "):
            self.assertIn(words, listed)

    def test_mistakes(self):
        pair = ("run", "-g", "gtx980:sms=8", "-c", "5K", "./wide.yaml", "./other.yaml", "-p")
        for policy, words in (("fixed", "the split is missing, like split=8/22"),
                              ("fixed:split=3/6", "together 9 SMs"), ("fixed:split=3/4", "rest=idle leaves the others unused"),
                              ("fixed:split=8/0", "gives application 2 no SM"), ("fixed:split=2/3/3", "for 3 applications"),
                              ("time-slice:slice=5K", "shorter than an epoch")):
            self.says(POLICY, words, *pair, policy)
        for policy, words in (("profile:objective=max", "objective is one of product|sum, not `max`"),
                              ("spart:ideal=1", "ideal is one of off|on, not `1`"),
                              ("fixed:split=3/-5", "split_2 is a whole number from 0 to 1024, not `-5`"),
                              ("fixed:split=3//5", "split_2 is a whole number"), ("fixed:split=", "split_1 is a whole number"),
                              ("fixed:split=" + "/".join(["1"] * 17), "split takes at most 16 values"),
                              ("fixed:split=3/5,split_2=5", "split_2 is given twice"),
                              ("fixed:spilt=3/5", "did you mean `split`?"), ("smart-even:by=kernels", "by is one of run|kernel")):
            self.says(ARGUMENT, words, *pair, policy)
        for policy in ("even", "smart-even", "rounds", "profile", "spart"):
            self.says(POLICY, "more applications than SMs", "run", "-g", "gtx980:sms=1", "-c", "5K", "-p", policy,
                      "./wide.yaml", "./other.yaml")


class Search(Command):
    GPU = ("-g", "gtx980:sms=8", "-c", "10K", "--cache", "found")

    def search(self, *arguments, status=OK):
        return self.corun("search", *self.GPU, *arguments, status=status)

    @staticmethod
    def table(text):
        """The rows: split, STP, ANTT, fairness, and whether it is marked."""
        rows = re.findall(r"^(>?) *(\d+(?:/\d+)+) +([\d.]+) +([\d.]+) +([\d.]+)", text, re.M)
        return {split: (float(stp), float(antt), float(fairness), bool(mark)) for mark, split, stp, antt, fairness in rows}

    def test_every_split_of_a_pair(self):
        done = self.search("oracle-best", "-r", "pair.db", "./narrow.yaml", "./wide.yaml")
        rows = self.table(done.stdout)
        self.assertEqual(sorted(rows), [f"{a}/{8 - a}" for a in range(1, 8)])
        best = max(rows, key=lambda split: rows[split][0])
        self.assertIn(f"oracle-best of STP on gtx980:sms=8, 10000 cycles: {best}\n7 of 7 splits tried; 9 runs now", done.stdout)
        self.assertEqual([split for split in rows if rows[split][3]], [best])
        own = self.result(f"fixed:split={best}", "./narrow.yaml", "./wide.yaml", cycles="10K")
        self.assertAlmostEqual(own["stp"], rows[best][0], places=3)
        # the same results answer other questions, and nothing is run again
        for search, metric, pick, column in (("oracle-worst", "STP", min, 0), ("oracle-best", "ANTT", min, 1),
                                             ("oracle-worst", "ANTT", max, 1), ("oracle-best", "fairness", max, 2)):
            done = self.search(search, "-m", metric, "-r", "pair.db", "./narrow.yaml", "./wide.yaml")
            found = re.search(r"cycles: (\S+)\n", done.stdout).group(1)
            self.assertEqual(rows[found][column], pick(row[column] for row in rows.values()))
            self.assertIn("; 0 runs now", done.stdout)

    def test_three_applications_coarse_to_fine(self):
        trio = ("-r", "trio.db", "./narrow.yaml", "./wide.yaml", "./other.yaml")
        done = self.search("oracle-best", *trio, "--at-once", "5")
        coarse = self.table(done.stdout)
        self.assertIn("of 21 splits tried, in steps of 2 SMs first, then around the best", done.stdout)
        self.assertLess(len(coarse), 21)
        for a, b, c in ((2, 2, 4), (2, 4, 2), (4, 2, 2)):  # four units of two SMs, all ways
            self.assertIn(f"{a}/{b}/{c}", coarse)
        found = next(split for split in coarse if coarse[split][3])
        for one, other in itertools.permutations(range(3), 2):  # no neighbour is better, and all were tried
            sms = [int(part) for part in found.split("/")]
            sms[one] -= 1
            sms[other] += 1
            if sms[one]:
                self.assertLessEqual(coarse["/".join(map(str, sms))][0], coarse[found][0])
        done = self.search("oracle-best", *trio)
        self.assertEqual(len(self.table(done.stdout)), 21)
        self.assertIn(f"; {21 - len(coarse)} runs now", done.stdout)

    def test_the_fewest_sms_for_a_goal(self):
        def ask(goal):
            return self.search("offline", "-r", "goal.db", "./wide.yaml", f"./other.yaml:goal={goal}").stdout
        text = ask("50%")
        own = {split: row for split, row in self.table(text).items()}
        found = re.search(r"cycles: (\d)/(\d)\n", text)
        met = {split: re.search(rf"{split} .* (\d) of 1", text).group(1) for split in own}
        fewest = min(int(split.split("/")[1]) for split in met if met[split] == "1")
        self.assertEqual(int(found.group(2)), fewest)
        self.assertIn("1", met.values())
        self.assertIn("0", met.values())
        self.assertIn("out of reach; nearest is 1/7", ask("ipc=1M"))
        # goals count before STP
        text = self.search("oracle-best", "-m", "goal", "-r", "goal.db", "./wide.yaml", "./other.yaml:goal=50%").stdout
        marked = re.search(r"^> *(\d)/(\d) .* (\d) of 1$", text, re.M)
        self.assertEqual(marked.group(3), "1")

    def test_continues_after_an_end(self):
        pair = ("oracle-best", "-r", "ended.db", "-c", "4M", "./wide.yaml", "./other.yaml")
        with subprocess.Popen([self.command, "search", *self.GPU, *pair], cwd=self.folder, env=self.environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            until = time.monotonic() + 60
            while not (self.folder / "ended.db").exists() and time.monotonic() < until:  # it listens before that
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            text = process.communicate(timeout=60)[0]
        self.assertEqual(process.returncode, 130)
        self.assertIn("ended early", text)
        self.assertIn("not measured", text)

    def test_failures_are_no_results(self):
        text = self.search("oracle-best", "-r", "bad.db", "./wide.yaml", "./bad.yaml").stdout
        self.assertIn("nothing was measured", text)
        self.assertIn("runs failed", text)

    def test_mistakes(self):
        self.assertIn("two applications or more", self.search("oracle-best", "./wide.yaml", status=USAGE).stderr)
        self.assertIn("missing", self.search(status=USAGE).stderr)
        self.assertIn("did you mean `oracle-best`?", self.search("oracle-bst", "a", "b", status=USAGE).stderr)
        self.assertIn("did you mean `fairness`?", self.search("oracle-best", "-m", "fairnes", "a", "b", status=USAGE).stderr)
        self.assertIn("not together with --metric", self.search("offline", "-m", "STP", "a", "b", status=USAGE).stderr)
        self.assertIn("--at-once", self.search("oracle-best", "--at-once", "0", "a", "b", status=USAGE).stderr)
        self.assertIn("more than 8 applications", self.search("oracle-best", *"abcdefghi", status=USAGE).stderr)
        self.search("oracle-best", "./wide.yaml", "./none.yaml", status=NOT_FOUND)
        self.assertIn("'sgem'", self.search("oracle-best", "./wide.yaml", "sgem", status=NOT_FOUND).stderr)
        pair = ("./wide.yaml", "./other.yaml")
        self.assertIn("none has one", self.search("offline", *pair, status=ARGUMENT).stderr)
        self.assertIn("several have one",
                      self.search("offline", *(name + ":goal=10%" for name in pair), status=ARGUMENT).stderr)
        self.assertIn("no application has a goal", self.search("oracle-best", "-m", "goal", *pair, status=ARGUMENT).stderr)
        self.assertIn("cannot share", self.search("oracle-best", "-g", "gtx980:sms=1", *pair, status=ARGUMENT).stderr)
        (self.folder / "text.db").write_text("no database" * 100)
        self.search("oracle-best", "-r", "text.db", *pair, status=FILE)


if __name__ == "__main__":
    InFolder.command = os.path.abspath(sys.argv.pop(1))
    unittest.main()
