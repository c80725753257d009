#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The Python package without the command: metrics with answers computed by hand, results files made by hand.
Usage: test_package.py FOLDER_OF_THE_PACKAGE [TEST...]"""

import hashlib
import io
import json
import math
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from python_with import need, run_tests  # noqa: E402
from results_file import APPLICATIONS, CASES, SCHEMA  # noqa: E402

need("numpy")
sys.path.insert(0, os.path.abspath(sys.argv.pop(1)))
import numpy  # noqa: E402

import corun  # noqa: E402
from corun import sketch, summary, tables  # noqa: E402
from corun.results import APPLICATION_ID, VERSION  # noqa: E402


def applications(*rows):
    """rows: (key, goal, goal_met, goal_distance, normalised_ipc)"""
    table = numpy.zeros(len(rows), dtype=[("key", "O"), ("goal", "O"), ("goal_met", "i1"), ("goal_distance", "f8"),
                                          ("normalised_ipc", "f8")])
    for place, row in enumerate(rows):
        table[place] = row
    return table


class Metrics(unittest.TestCase):
    def test_of_one_case(self):
        self.assertEqual(list(corun.normalised_ipc([50, 30], [100, 40])), [0.5, 0.75])
        self.assertTrue(math.isnan(corun.normalised_ipc([50, 30], [0, 40])[0]))
        self.assertEqual(corun.stp([0.5, 0.75]), 1.25)
        self.assertAlmostEqual(corun.antt([0.5, 0.75]), (2 + 4 / 3) / 2)
        self.assertEqual(corun.antt([0.5, 0]), math.inf)
        self.assertAlmostEqual(corun.fairness([0.5, 0.75]), 2 / 3)
        self.assertEqual(corun.fairness([0, 0]), 1)
        self.assertEqual(corun.fairness([0, 0.5]), 0)
        for metric in (corun.stp, corun.antt, corun.fairness):
            self.assertTrue(math.isnan(metric([])), metric)
            self.assertTrue(math.isnan(metric([0.5, math.nan])), metric)

    def test_of_many_cases(self):
        self.assertAlmostEqual(corun.geometric_mean([1, 4]), 2)
        self.assertAlmostEqual(corun.geometric_mean([1, 2, 4, 8]), 2 ** 1.5)
        self.assertEqual(corun.geometric_mean([0, 4]), 0)
        self.assertTrue(math.isnan(corun.geometric_mean([])))
        self.assertEqual(corun.percentile([4, 2, 3, 1], 25), 1.75)
        self.assertEqual(corun.percentile([4, 2, 3, 1], 100), 4)
        self.assertTrue(math.isnan(corun.percentile([], 50)))

    def test_of_goals(self):
        nan = math.nan
        rows = applications(("met", "50%", 1, 0.2, 0.6), ("met", "", -1, nan, 0.4), ("met", "", -1, nan, 0.6),
                            ("missed", "50%", 0, -0.1, 0.45), ("missed", "", -1, nan, 0.9),
                            ("both", "20%", 1, 0.1, 0.22), ("both", "20%", 1, 0.3, 0.26), ("both", "", -1, nan, 0.2),
                            ("one of two", "20%", 1, 3, 0.8), ("one of two", "20%", 0, -0.5, 0.1),
                            ("free", "", -1, nan, 1), ("not known", "ms=2", -1, nan, 0.3))
        self.assertEqual(corun.cases_met(rows), {"met": True, "missed": False, "both": True, "one of two": False,
                                                 "not known": False})
        self.assertAlmostEqual(corun.qos_reach(rows), 2 / 5)
        self.assertAlmostEqual(corun.overshoot(rows), (0.2 + 0.1 + 0.3) / 3)
        self.assertAlmostEqual(corun.best_effort_throughput(rows), ((0.4 + 0.6) / 2 + 0.2) / 2)
        for function in (corun.qos_reach, corun.overshoot, corun.best_effort_throughput):
            self.assertTrue(math.isnan(function(rows[10:11])))
            self.assertTrue(math.isnan(function(rows[:0])))

    def test_each_says_its_source(self):
        for function in (corun.stp, corun.antt, corun.fairness, corun.qos_reach, corun.overshoot, corun.best_effort_throughput):
            self.assertRegex(function.__doc__, r"20\d\d|Eyerman")


def history(sms, tbs=None, ends=(100, 200, 300), count=4, **more):
    """Of two applications."""
    return corun.History({"end_cycles": list(ends), "applications": [{"sms": one, "tbs": two, "ipc": one} for one, two in zip(sms, tbs or sms)],
                          "variables": {}, **more}, count)


class Histories(unittest.TestCase):
    def test_arrays(self):
        one = history([[1, 2, 3], [3, 2, 0.5]], powered_sms=[4, 4, 3.5], variables={"x": [None, 1, 2]})
        self.assertEqual(list(one.start_cycles), [0, 100, 200])
        self.assertEqual((one.sms.shape, one.powered_sms[2], one.variables["x"][1]), ((2, 3), 3.5, 1))
        self.assertTrue(math.isnan(one.variables["x"][0]))
        self.assertEqual(list(history([[1, 1, 1], [3, 3, 3]]).powered_sms), [4, 4, 4])

    def test_who_mixes(self):
        self.assertFalse(history([[1, 2, 3], [3, 2, 1]]).mixes)
        self.assertTrue(history([[4, 4, 4], [3, 2, 1]]).mixes)

    def test_movement(self):
        self.assertEqual(history([[2, 2, 2], [1, 1, 1]]).movement(), 0)
        # over intervals of 100, 100 and 200 cycles: mean 2, variance 1
        self.assertAlmostEqual(history([[1, 1, 3], [1, 1, 1]], ends=(100, 200, 400)).movement(), 1 / 4)
        # thread blocks, where SMs are shared: of 10 at most, 5 or 7
        self.assertAlmostEqual(history([[4, 4], [4, 4]], [[5, 7], [3, 3]], ends=(100, 200)).movement(), 1 / 10)

    def test_of_a_sketch(self):
        picture = sketch.split(history([[1, 1, 3], [2, 2, 1]], powered_sms=[4, 3, 4]), ["a<b", "c"])
        root = xml.etree.ElementTree.fromstring(picture)
        areas = [path for path in root.iter("path") if path.get("fill", "").startswith("url(")]
        self.assertEqual([path.get("fill") for path in areas], ["url(#hatch-0)", "url(#hatch-1)", "url(#hatch-8)"])
        # 640 wide, 96 high: 24 for an SM; equal steps are one
        self.assertEqual(areas[0].get("d"), "M0 72H426.7V24H640L640 96H0Z")
        self.assertIn("a<b", "".join(root.itertext()))


class File(unittest.TestCase):
    """A results file by hand: two policies, goals of 50 and 90 %, one case of each kind of end."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="corun-package-"))
        self.path = self.folder / "a file?.db"
        database = sqlite3.connect(self.path)
        database.executescript(f"PRAGMA journal_mode = WAL; PRAGMA application_id = {APPLICATION_ID}; "
                               f"PRAGMA user_version = {VERSION};" + SCHEMA)
        database.execute("INSERT INTO campaigns VALUES('tiny', 'by hand', 'name: tiny')")
        self.ordinal = 0

        def over_time(key):
            return {"sms": [{}] * 3, "history": {"end_cycles": [50, 90], "applications": [{"sms": [1, 2], "tbs": [1, 2], "ipc": [0, 9]}],
                                                 "variables": {}}} if key == "k8" else {}

        def add(key, policy, goal, normalised, status="finished", isolated=0):
            names = ["a@small" + (f":goal={goal}" if goal else ""), "b@small"][:len(normalised) or 2]
            finished = status == "finished"
            goals = [goal, ""]
            rows = []
            for position, value in enumerate(normalised):
                bound = float(goals[position].rstrip("%")) / 100 if goals[position] else None
                rows.append({"goal_ipc": bound and bound * 100, "goal_distance": bound and value / bound - 1})
                database.execute("INSERT INTO applications VALUES(?, ?, ?, 'small', ?, ?, ?, 100, ?, 1, 1000, 5000)",
                                 (key, position, "ab"[position], goals[position], None if bound is None else value >= bound,
                                  value * 100, value))
            stp = sum(normalised) if finished else None
            antt = sum(1 / value for value in normalised) / len(normalised) if finished and min(normalised) > 0 else None
            fairness = min(normalised) / max(normalised) if finished else None
            database.execute("INSERT INTO cases VALUES(?, 'gtx980', ?, ?, 1000, 1, ?, ?, ?, '2026-01-01T00:00:00Z', 0.5, ?, ?, ?, "
                             "0.001, 0.25, NULL, ?)", (key, policy, " ".join(names), isolated, status,
                                                      "" if finished else "it broke, <b>badly</b>", stp, antt, fairness,
                                                      json.dumps({"applications": rows, **over_time(key)}) if finished else None))
            self.member(database, key)

        add("k9", "left-over", "", [1.0], isolated=1)
        add("k8", "even", "50%", [0.6, 0.8])
        add("k7", "even", "90%", [0.8, 0.7])
        add("k6", "fast", "50%", [0.5, 0.0])
        add("k5", "fast", "90%", [], status="failed")
        add("k4", "fast", "90%", [], status="lost")
        self.member(database, "not run yet")
        database.commit()
        database.close()

    def tearDown(self):
        shutil.rmtree(self.folder)

    def member(self, database, key):
        database.execute("INSERT INTO members VALUES('tiny', ?, ?)", (self.ordinal, key))
        self.ordinal += 1

    def test_columns(self):
        """The lists of the package are the rows of src/campaign/columns.def: names, order, and a kind that holds the type."""
        kinds = {"TEXT": ("O",), "REAL": ("f8",), "INTEGER": ("i8", "i1", "?")}
        of_results = 2  # goal_ipc and goal_distance are taken from the JSON
        for mine, stored in ((corun.results._CASES, [column for column in CASES if column[0] != "result"]),
                             (corun.results._APPLICATIONS[:-of_results], APPLICATIONS)):
            self.assertEqual([name for name, _ in mine], [name for name, _ in stored])
            for (name, kind), (_, text) in zip(mine, stored):
                self.assertIn(kind, kinds[text.split()[0]], name)

    def test_cases_and_filters(self):
        with corun.Results(self.path) as results:
            self.assertEqual([(one.name, one.summary, one.asked) for one in results.campaigns()], [("tiny", "by hand", 7)])
            self.assertEqual(list(results.cases(campaign="tiny")["key"]), ["k8", "k7", "k6"])
            self.assertEqual(list(results.cases(status=None)["key"]), ["k8", "k7", "k6", "k5", "k4"])
            self.assertEqual(list(results.cases(policy="fast", status=None)["status"]), ["finished", "failed", "lost"])
            self.assertEqual(list(results.cases(isolated=True)["key"]), ["k9"])
            self.assertEqual(len(results.cases(isolated=None, status=None)), 6)
            self.assertEqual(len(results.cases(gpu="h100")), 0)
            self.assertEqual(len(results.cases(campaign="none")), 0)
            cases = results.cases()
            self.assertEqual(cases["stp"].dtype, numpy.float64)
            self.assertAlmostEqual(cases["stp"][0], 1.4)
            self.assertTrue(math.isnan(cases["antt"][2]) and math.isnan(cases["icnt_utilisation"][0]))
            found = results.applications(policy="even")
            self.assertEqual(list(found["goal_met"]), [1, corun.NOT_KNOWN, 0, corun.NOT_KNOWN])
            self.assertAlmostEqual(found["goal_distance"][0], 0.2)
            self.assertEqual(found["goal_ipc"][0], 50)
            self.assertTrue(math.isnan(found["goal_distance"][1]))
            self.assertEqual(len(results.result("k8")["applications"]), 2)
            self.assertIsNone(results.result("k5"))
            self.assertEqual(results.history("k8").sms.tolist(), [[1, 2]])
            self.assertIsNone(results.history("k7"))
            self.assertIsNone(results.history("k5"))
            self.assertIsNone(results.result("nothing"))

    def test_files_with_the_former_names_of_members(self):
        with corun.Results(self.path) as results:
            found, history, result = results.applications(policy="even"), results.history("k8"), results.result("k8")
        database = sqlite3.connect(self.path)
        former = {**result, "policy": {"name": "even", "params": {"exclusive": "on"}}}
        former["gpu_parameters"] = {"sms": 3, "context_interval": 4}
        former["apps"] = former.pop("applications")
        former["apps"][0]["kernels"] = [{"counters": {"context_bytes_out": 7, "context_bytes_in": 5, "atomics": 1}}]
        former["history"]["apps"] = former["history"].pop("applications")
        for sm in former["sms"]:
            sm["apps"] = [{"tbs": 2}]
        database.execute("UPDATE cases SET result = ? WHERE key = 'k8'", (json.dumps(former),))
        database.commit()
        database.close()
        with corun.Results(self.path) as results:
            for name in found.dtype.names:
                numpy.testing.assert_array_equal(results.applications(policy="even")[name], found[name])
            self.assertEqual(results.history("k8").sms.tolist(), history.sms.tolist())
            result = results.result("k8")
            self.assertEqual([len(result["applications"]), result["policy"]["parameters"]], [2, {"exclusive": "on"}])
            self.assertEqual([sm["applications"] for sm in result["sms"]], [[{"tbs": 2}]] * 3)
            self.assertEqual(result["gpu_parameters"], {"sms": 3, "save_interval": 4})
            self.assertEqual(result["applications"][0]["kernels"][0]["counters"], {"saved_bytes": 7, "restored_bytes": 5, "atomics": 1})
            self.assertFalse({"apps", "params"} & {*result, *result["policy"], *result["sms"][0], *result["history"]})

    def test_only_reads(self):
        before = hashlib.sha256(self.path.read_bytes()).hexdigest()
        with corun.Results(self.path) as results:
            with self.assertRaises(corun.ResultsError):
                results._query("DELETE FROM cases")
        self.assertEqual(hashlib.sha256(self.path.read_bytes()).hexdigest(), before)

    def test_sees_what_a_writer_adds(self):
        writer = sqlite3.connect(self.path)
        with corun.Results(self.path) as results:
            writer.execute("UPDATE cases SET policy = 'slow' WHERE policy = 'fast'")
            self.assertEqual(len(results.cases(policy="slow", status=None)), 0)
            writer.commit()
            self.assertEqual(len(results.cases(policy="slow", status=None)), 3)
        writer.close()

    def test_what_is_damaged_is_said_of_the_file(self):
        """In one line, whatever it is that stumbles: the database, a text that is none, a number that is a text, a result that is no JSON."""
        whole = self.path.read_bytes()
        wrong = {"a type": "UPDATE cases SET stp = 'much' WHERE key = 'k8'", "a number": "UPDATE cases SET cycles = 1e300 WHERE key = 'k8'",
                 "JSON": "UPDATE cases SET result = '{\"history\": [' WHERE key = 'k8'",
                 "a member": "UPDATE cases SET result = '[\"history\"]' WHERE key = 'k8'",
                 "text": "UPDATE cases SET policy = CAST(x'ff0a1b5b324aff' AS TEXT) WHERE key = 'k8'"}
        for name, text in wrong.items():
            with self.subTest(name):
                self.path.write_bytes(whole)
                with sqlite3.connect(self.path) as database:
                    database.execute(text)
                database.close()
                with corun.Results(self.path) as results:
                    with self.assertRaisesRegex(corun.ResultsError, re.escape(str(self.path))):
                        results.cases()
                        results.applications()
                        results.result("k8")
        self.path.write_bytes(whole.replace(b"CREATE TABLE", b"CREATE \xffABLE"))
        with self.assertRaisesRegex(corun.ResultsError, re.escape(str(self.path))):
            corun.Results(self.path)
        done = subprocess.run([sys.executable, os.path.dirname(os.path.dirname(corun.__file__)), "--results", self.path], capture_output=True, text=True, check=False)
        self.assertEqual([done.returncode, done.stdout, done.stderr.count("\n")], [13, "", 1])

    def test_files_of_others(self):
        for name, data, words in (("none.db", None, "no such file"), ("text.db", b"no database" * 100, "not a database"),
                                  ("empty.db", b"", "not a results file")):
            if data is not None:
                (self.folder / name).write_bytes(data)
            with self.assertRaises(corun.ResultsError) as caught:
                corun.Results(self.folder / name)
            self.assertIn(words, str(caught.exception))
            self.assertIn(name, str(caught.exception))
        with self.assertRaisesRegex(corun.ResultsError, "/dev/null: this is no regular file"):
            corun.Results("/dev/null")
        database = sqlite3.connect(self.path)
        database.execute("PRAGMA user_version = 99")
        database.commit()
        database.close()
        with self.assertRaisesRegex(corun.ResultsError, "another version of corun"):
            corun.Results(self.path)

    def test_summary(self):
        with corun.Results(self.path) as results:
            section, = summary.sections(results)
            self.assertRaises(LookupError, summary.sections, results, "none")
        self.assertEqual(section.counts(), {"asked": 7, "finished": 4, "failed": 1, "lost": 1, "missing": 1})
        block, = section.blocks
        self.assertEqual((block.gpu, block.size, block.goals), ("gtx980", 2, ["50%", "90%"]))
        even, fast = (group.numbers for group in block.policies)
        self.assertEqual([even[name] for name in ("cases", "finished", "failed", "lost", "standstill")], [2, 2, 0, 0, 0])
        self.assertEqual([fast[name] for name in ("cases", "finished", "failed", "lost", "standstill")], [3, 1, 1, 1, 1])
        self.assertAlmostEqual(even["stp_geomean"], math.sqrt(1.4 * 1.5))
        self.assertAlmostEqual(even["stp_min"], 1.4)
        self.assertAlmostEqual(even["stp_max"], 1.5)
        self.assertAlmostEqual(even["stp_p25"], 1.425)
        self.assertAlmostEqual(even["antt"], ((1 / 0.6 + 1 / 0.8) / 2 + (1 / 0.8 + 1 / 0.7) / 2) / 2)
        self.assertEqual(fast["antt"], math.inf)
        self.assertAlmostEqual(even["fairness"], (0.75 + 0.875) / 2)
        self.assertEqual((even["qos_reach"], even["cases_with_goal"], even["cases_met"]), (0.5, 2, 1))
        self.assertAlmostEqual(even["overshoot"], 0.2)
        self.assertAlmostEqual(even["best_effort"], 0.8)
        self.assertEqual((fast["qos_reach"], fast["overshoot"], fast["best_effort"]), (1, 0, 0))
        at_90 = block.of_policy("even")[1].numbers
        self.assertEqual((at_90["cases"], at_90["qos_reach"]), (1, 0))
        self.assertTrue(math.isnan(at_90["overshoot"]))
        at_90 = block.of_policy("fast")[1].numbers
        self.assertEqual((at_90["cases"], at_90["finished"]), (2, 0))
        self.assertTrue(math.isnan(at_90["stp_geomean"]) and math.isnan(at_90["qos_reach"]))

    def test_json_has_no_numbers_that_json_has_not(self):
        with corun.Results(self.path) as results:
            stream = io.StringIO()
            tables.write_json(summary.sections(results), stream)
        data = json.loads(stream.getvalue(), parse_constant=self.fail)
        fast = data["sections"][0]["blocks"][0]["policies"][1]
        self.assertEqual((fast["antt"], fast["standstill"], fast["stp_geomean"]), (None, 1, 0.5))
        self.assertEqual(len(data["sections"][0]["cases"]), 5)

    def test_orders_goals_by_number(self):
        goals = ["100%", "9%", "25% + 25%", "50%", "25% + 5%"]
        self.assertEqual(sorted(goals, key=summary.goal_order), ["9%", "50%", "100%", "25% + 5%", "25% + 25%"])

    def test_whether_a_goal_was_met(self):
        for met, unreachable, expected in ((True, False, "yes"), (False, False, "no"), (None, None, "-"),
                                           (False, True, "out of reach, 75.0 % of it in the best epoch")):
            self.assertEqual(tables.goal_met({"goal_met": met, "goal_out_of_reach": unreachable, "goal_ipc": 54.0,
                                              "best_epoch_ipc": 40.5}), expected)
        self.assertEqual(tables.goal_met({"goal_met": False}), "no")  # results of before it was told

    def test_command_lines(self):
        case = {"gpu": "gtx980:sms=2", "policy": "even", "cycles": 20000, "seed": 7, "applications": "./it's.yaml:goal=5% b"}
        self.assertEqual(corun.command_line(case), "corun run --gpu gtx980:sms=2 --policy even --cycles 20000 --seed 7 "
                         "'./it'\"'\"'s.yaml:goal=5%' b")
        case["applications"] = "'./a b.yaml@small:goal=5%' './it'\\''s.yaml' b"
        self.assertEqual(corun.split_applications(case["applications"]), ["./a b.yaml@small:goal=5%", "./it's.yaml", "b"])
        self.assertEqual(corun.command_line(case), "corun run --gpu gtx980:sms=2 --policy even --cycles 20000 --seed 7 "
                         "'./a b.yaml@small:goal=5%' './it'\"'\"'s.yaml' b")
        self.assertEqual(corun.goals_of(case["applications"]), ["5%", "", ""])
        for words in (["a"], ["a", "b c", "d"], ["'", "''", "a'b", "' '"], ["ä", "a\\b", "$(x)", "a;b"]):
            self.assertEqual(corun.split_applications(corun.results.join_applications(words)), words)
        self.assertEqual(corun.goals_of("a@small:start=2K:goal=50% b:goal=ipc=3.5 c"), ["50%", "ipc=3.5", ""])


if __name__ == "__main__":
    run_tests()
