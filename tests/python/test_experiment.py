#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What experiments compute, on results files made by hand. Usage: test_experiment.py FOLDER_OF_THE_PACKAGE [TEST...]"""

import io
import json
import os
import pathlib
import shutil
import sqlite3
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from python_with import need, run_tests  # noqa: E402
from results_file import SCHEMA  # noqa: E402

need("numpy")
sys.path.insert(0, os.path.abspath(sys.argv.pop(1)))

import corun  # noqa: E402
from corun import experiment_metrics as em  # noqa: E402
from corun import experiment_predictions as ep  # noqa: E402
from corun import experiment_queues as eq  # noqa: E402
from corun import experiment_text as et  # noqa: E402
from corun.experiment import Evaluation, Experiment, ExperimentError, Outcome, number_of  # noqa: E402
from corun.results import APPLICATION_ID, VERSION  # noqa: E402

GPU = {"sms": 2, "registers_per_sm": 65536, "register_unit": 256, "shared_bytes_per_sm": 98304, "threads_per_sm": 2048,
       "tbs_per_sm": 32}


def tree(value, line=[0]):  # one line more for each node, so that places differ
    """What the command hands over for a map, a list or a text."""
    line[0] += 1
    here = line[0]
    if isinstance(value, dict):
        return [here, 1, {"keys": [[key, tree(one)] for key, one in value.items()]}]
    if isinstance(value, list):
        return [here, 1, [tree(one) for one in value]]
    return [here, 1, str(value)]


def experiment(figures, cases=(), **changes):
    tree.__defaults__[0][0] = 0
    description = {"name": "tiny", "title": "A title", "paper": "A paper", "section": "figure 1", "paper_cycles": "2M",
                   "classes": {"C": ["a", "b"], "M": ["m", "n"]},
                   "campaign": {"gpus": ["gpu"], "policies": ["slow", "fast"]}, "figures": figures, **changes}
    parts = changes.get("parts", [{"name": ""}])
    return Experiment(json.dumps({
        "path": "tiny.yaml", "tree": tree(description), "cycles": 1000,
        "parts": [{"name": one["name"], "campaign": "tiny" + ("/" + one["name"] if one["name"] else ""), "combinations": 9,
                   "sampled": 9, "cases": cases} for one in parts]}))


def kernel(**changes):
    counters = {"issue_cycles": 60, "tb_cycles": 0, "l1_hits": 3, "l1_accesses": 4, "l2_hits": 0, "l2_accesses": 0,
                "saved_bytes": 100, "restored_bytes": 50}
    counters.update(changes.pop("counters", {}))
    return {"cycles": 1000, "registers_per_thread": 30, "shared_bytes": 4096, "threads_per_tb": 100, "tbs_per_sm": 4,
            "counters": counters, **changes}


def app(normalised, goal=None, distance=None, **changes):
    stalls = {name: 0 for name in em.STALLS}
    stalls.update(changes.pop("stalls", {}))
    return {"name": "x", "ipc": 100 * normalised, "normalised_ipc": normalised, "goal": goal, "goal_distance": distance,
            "goal_met": None if goal is None else distance >= 0, "stalls": stalls, "kernels": [kernel()], **changes}


def result(apps, **changes):
    return {"applications": apps, "gpu_parameters": GPU, "cycles": 1000, "dram": {"utilisation": 0.25, "row_hit_rate": 0.5},
            "interconnect": {"utilisation": 0.1, "latency_cycles": 20.0},
            "energy": {"total": 0.5, "average_watts": 100.0, "instructions_per_joule": 1e9},
            "sms": [{"applications": [{"warp_instructions": 5}, {"warp_instructions": 0}]},
                    {"applications": [{"warp_instructions": 5}, {"warp_instructions": 1}]}], **changes}


def case(apps, applications="a b", **changes):
    row = {"key": "k", "gpu": "gpu", "policy": "fast", "isolated": 0, "applications": applications}
    return em.Case(row, lambda: result(apps, **changes))


class OfOneCase(unittest.TestCase):
    def value(self, name, *arguments, **changes):
        return em.metric(name)(case(*arguments, **changes))

    def undefined(self, reason, name, *arguments, **changes):
        with self.assertRaisesRegex(em.Undefined, reason):
            self.value(name, *arguments, **changes)

    def test_throughput(self):
        two = [app(0.5), app(0.75)]
        self.assertEqual(self.value("stp", two), 1.25)
        self.assertEqual(self.value("speedup", two), 1.25)
        self.assertAlmostEqual(self.value("antt", two), (2 + 4 / 3) / 2)
        self.assertAlmostEqual(self.value("fairness", two), 2 / 3)
        self.assertEqual(self.value("ipc", two), 125)
        self.assertEqual(self.value("normalised-ipc:1", two), 0.75)
        self.assertEqual(self.value("normalised-ipc", two), 0.625)
        self.undefined("no progress", "antt", [app(0.5), app(0.0)])
        self.undefined("isolated IPC", "stp", [app(0.5), dict(app(0.5), normalised_ipc=None)])
        self.undefined("no application 2", "normalised-ipc:2", two)

    def test_goals(self):
        met, missed = [app(0.55, "50%", 0.1), app(0.4)], [app(0.45, "50%", -0.1), app(0.6)]
        self.assertEqual((self.value("goal-met", met), self.value("goal-met", missed)), (1, 0))
        self.assertEqual(self.value("overshoot", met), 0.1)
        self.undefined("missed", "overshoot", missed)
        self.assertEqual(self.value("violation", missed), 0.1)
        self.undefined("met", "violation", met)
        self.assertEqual(self.value("violation-within:8%", missed), 0)
        self.assertEqual(self.value("violation-within:11%", missed), 1)
        self.assertEqual(self.value("best-effort", met), 0.4)
        self.undefined("missed", "best-effort", missed)
        self.assertEqual(self.value("best-effort-of-all", missed), 0.6)
        self.undefined("every application has a goal", "best-effort", [met[0], met[0]])
        self.undefined("no application has a goal", "goal-met", [app(1), app(1)])
        self.assertEqual(self.value("goal-distance", [met[0], missed[0]]), -0.1)
        self.assertEqual(self.value("goal-met", [met[0], missed[0]]), 0)

    def test_machine(self):
        one = [app(1)]
        self.assertEqual(self.value("dram-utilisation", one), 0.25)
        self.assertEqual(self.value("icnt-latency", one), 20)
        self.assertEqual((self.value("watts", one), self.value("energy", one)), (100, 0.5))
        self.assertEqual(self.value("instructions-per-joule", one), 1e9)
        self.assertEqual(self.value("l1-hit-rate", one), 0.75)
        self.undefined("accessed the L2", "l2-hit-rate", one)
        self.assertEqual(self.value("mixed-sms", one), 1)
        self.assertEqual(self.value("switched-bytes", one * 2), 300)
        self.undefined("not known", "icnt-latency", one, interconnect={"utilisation": 0, "latency_cycles": None})
        self.undefined("history", "powered-sms", one)
        shown = {"end_cycles": [500, 1000], "variables": {"upper_1": [0, 1], "never": [None, None]}}
        self.assertEqual(self.value("variable:upper_1", one, history=shown), 1)
        self.undefined("never known", "variable:never", one, history=shown)
        self.undefined("no variable 'lower_1'", "variable:lower_1", one, history=shown)
        self.assertEqual(self.value("powered-sms", one, history={"end_cycles": [1000]}), 1)
        self.assertEqual(self.value("powered-sms", one, history={"end_cycles": [100, 400], "powered_sms": [2, 1]}),
                         (100 * 2 + 300 * 1) / 800)

    def test_stalls(self):
        apps = [app(1, stalls={"pipeline": 10, "data": 30}), app(1, stalls={"memory_data": 40})]
        self.assertEqual(self.value("stall-cycles:pipeline", apps), 10)
        self.assertEqual(self.value("stall-cycles:data+memory_data", apps), 70)
        self.assertEqual(self.value("stall-cycles:all", apps), 80)
        self.assertEqual(self.value("stall-share:all", apps), 80 / (80 + 120))

    def test_stalls_of_schedulers(self):
        def sm(**cycles):
            return {"scheduler_cycles": {**dict.fromkeys(em.STALLS, 0), "issued": 60, **cycles}}
        sms = [sm(pipeline=1, data=20), sm(data=300, memory_data=4000)]
        self.assertEqual(self.value("scheduler-stall-cycles:data", [app(1)], sms=sms), 320)
        self.assertEqual(self.value("scheduler-stall-cycles:data+memory_data", [app(1)], sms=sms), 4320)
        self.assertEqual(self.value("scheduler-stall-cycles:all", [app(1)], sms=sms), 4321)
        self.undefined("not known", "scheduler-stall-cycles:all", [app(1)])

    def test_resources(self):
        # 100 threads are 4 warps; 30 registers of 32 lanes are 960, given as 1024: 4096 for a thread block
        held = [dict(app(1), kernels=[kernel(counters={"tb_cycles": 8000})]),
                dict(app(1), kernels=[kernel(counters={"tb_cycles": 4000}, shared_bytes=0)])]
        self.assertAlmostEqual(self.value("resource:registers", held), 12000 * 4096 / (2 * 1000 * 65536))
        self.assertAlmostEqual(self.value("resource:tbs", held), 12000 / (2 * 1000 * 32))
        # dominant: registers 0.25 and 0.125 against threads 0.195, shared 0.167
        self.assertAlmostEqual(self.value("resource-fairness", held), 0.5)
        self.assertAlmostEqual(self.value("full-resource:registers", held[:1]), 4 * 30 * 100 / 65536)
        self.assertAlmostEqual(self.value("full-resource:shared", held[:1]), 4 * 4096 / 98304)

    def test_names(self):
        for text in ("nothing", "stp:1", "stp:", "", "normalised-ipc:x", "stall-cycles", "stall-cycles:colour", "stall-cycles:data+",
                     "resource:colour", "resource", "violation-within", "violation-within:8"):
            self.assertRaises(em.Unknown, em.metric, text)
        for text in ("nothing", "exceeded-by-101%", "exceeded-by-%"):
            self.assertRaises(em.Unknown, em.statistic, text)
        self.assertEqual(em.statistic("exceeded-by-75%")([1, 2, 3, 4, 5]), 2)
        self.assertEqual(em.statistic("exceeded-by-25%")([1, 2, 3, 4, 5]), 4)
        self.assertEqual([em.statistic(name)([4, 1]) for name in ("mean", "median", "min", "max", "sum")], [2.5, 2.5, 1, 4, 5])
        self.assertAlmostEqual(em.statistic("geomean")([4, 1]), 2)
        self.assertEqual(em.workload_of("./x/lbm.yaml@small,n=5:goal=50%"), "lbm,n=5")
        self.assertEqual([number_of(text) for text in ("1.14", "88.4%", "-10%", "+5", "x", "1%%")],
                         [1.14, 0.884, -0.1, 5, None, None])
        for _, meaning in em.METRICS.values():
            self.assertGreater(len(meaning), 5)


def queue_kernel(name, ipc, predicted, **changes):
    return {"name": name, "workload": name, "size": "small", "tbs": 100, "tbs_per_sm": 4, "fills": 2.5, "alone_ticks": 1000, "ipc": ipc, "sliced_ipc": 2 * ipc,
            "predicted_ipc": predicted, "pipeline_utilization": ipc / 2, "memory_utilization": 0.25, "memory_share": 0.1, "smallest_slice": 8, **changes}


def queue_run(scheduler, makespan, **changes):
    return {"scheduler": scheduler, "makespan_ticks": makespan, "busy_ticks": makespan, "copy_ticks": 0, "overlapped_copy_ticks": 0, "kernels": [], **changes}


def queued(runs, arguments=("a", "b"), options=None, gpu="gpu", **changes):
    """A result whose ticks are microseconds."""
    return Outcome(gpu, list(arguments), options or {}, {"ticks_per_second": 10 ** 6, "instances": 5, "simulated": "events", "kernels": [], "pairs": [], "runs": runs,
                                                         **changes})


class Said:
    def __init__(self, **paper):
        self.paper = paper


class OfQueues(unittest.TestCase):
    kernels = [queued([], kernels=[queue_kernel("a", 0.5, 0.8), queue_kernel("b", 1.0, 1.5)], pairs=[
        {"kernels": ["a", "b"], "residents": [1, 3], "balanced": True, "predicted_ipc": [0.2, 1.0], "measured_ipc": [0.3, 0.4], "predicted_profit": 0.2,
         "measured_profit": -0.1},
        {"kernels": ["a", "b"], "residents": [2, 2], "balanced": False, "predicted_ipc": [0.5, 0.5], "measured_ipc": [0.5, 0.6], "predicted_profit": 0.1,
         "measured_profit": 0.05}])]

    def test_makespans(self):
        split = [queued([queue_run(name, span)]) for name, span in (("kernelet", 8000), ("base", 10000), ("sequential", 12000), ("opt", 6400))]
        text, (titles, rows), summary = eq.makespans(Said(**{"Kernelet over Base": "5 to 31 %"}), split)
        self.assertIn("by events", text)
        self.assertEqual(titles, ["group", "sequential", "base", "kernelet", "opt", "Base over sequential", "Kernelet over Base", "Kernelet behind OPT"])
        self.assertEqual(rows, [["a b, 5 of each", "12.00", "10.00", "8.00", "6.40", "20.0 %", "25.0 %", "25.0 %"]])
        self.assertEqual(summary, "Kernelet over Base 25.0 % to 25.0 % (paper: 5 to 31 %), Kernelet behind OPT 25.0 % to 25.0 %.")
        _, (_, rows), *_ = eq.makespans(Said(), split[:2])  # what has not run is not there
        self.assertEqual(rows, [["a b, 5 of each", "10.00", "8.00", "25.0 %"]])
        self.assertEqual(eq.group_of(queued([], ["pc", "bs", "tea", "sad"])), "MIX")

    def test_steady(self):
        """In slices both run twice as fast: 2 launches of 500 ticks, five times, are 5 ms."""
        spans = [queued([queue_run(name, span) for name, span in (("sequential", 6000), ("base", 4000), ("kernelet", 5000), ("opt", 2500))])]
        self.assertEqual(eq.ends(Said(), spans, self.kernels)[1][1], [["a b", "2.5 to 2.5", "5.0", "20.0 %", "25.0 %", "0.0 %", "100.0 %"]])

    def test_pairs(self):
        text = eq.profits(Said(), self.kernels)
        self.assertEqual(text[1][1], [["a + b", "1+3", "20.0 %", "-10.0 %", "2+2", "5.0 %"]])
        blocks = eq.ipc(Said(), self.kernels)
        self.assertEqual(blocks[1][1], [["a + b", "0.200", "1.000", "1.200", "0.300", "0.400", "0.700", "+25 %"]])
        self.assertIn("1 of 2 kernels alone, 0 of 1 pairs, 1 of 2 co-schedules", blocks[2])  # the peak is 2: 0.4 are near

    def test_chosen(self):
        beside = [{"name": "a", "beside_ticks": {"b": 600, "(alone)": 100}}, {"name": "b", "beside_ticks": {"a": 600}}]
        runs = [queue_run("kernelet", 1000, kernels=beside), queue_run("opt", 1000, kernels=beside), queue_run("base", 1000, kernels=beside)]
        self.assertEqual(eq.chosen(Said(), [queued(runs)], self.kernels)[1][1], [
            ["a b, kernelet", "a + b", "60.0 %", "20.0 %", "-10.0 %"], ["a b, kernelet", "a alone", "10.0 %", "-", "-"],
            ["a b, opt", "a + b", "60.0 %", "10.0 %", "5.0 %"], ["a b, opt", "a alone", "10.0 %", "-", "-"]])

    def test_pruning(self):
        spans = [queued([queue_run("kernelet:pur=0.3,mur=0.1", 1000), queue_run("kernelet:pur=0.2,mur=0.1", 2000)])]
        self.assertEqual(eq.pruning(Said(), spans, self.kernels)[1][1], [["0.3", "1 of 1", "-10.0 %", "1.0"], ["0.2", "0 of 1", "-", "2.0"]])

    def test_what_is_not_there(self):
        """A table of what was not asked for, or has not finished, has no such numbers."""
        without = queue_kernel("a", 0.5, None, sliced_ipc=None)
        self.assertEqual(eq.kernels(Said(), [queued([], kernels=[without])])[1][1][0][6], "-")
        spans = [queued([queue_run("base", 4000)])]
        self.assertEqual(eq.ends(Said(), spans, [queued([], kernels=[without, without])])[1][1], [])
        self.assertEqual(eq.ends(Said(), spans, self.kernels)[1][1][0][3:], ["-", "25.0 %", "-", "-"])
        self.assertEqual((eq.plans(Said(), spans)[1][1], eq.slices(Said(), [queued([queue_run("base", 1)], kernels=[without])])[1:]), ([], []))
        self.assertEqual(eq.pruning(Said(), [queued([queue_run("kernelet", 1000)])], self.kernels)[1][1], [["0.1", "0 of 1", "-", "1.0"]])

    def test_plans(self):
        spans = [queued([queue_run("kernelet", 3500)] + [queue_run(f"random:seed={n}", 1000 * n) for n in range(10, 0, -1)])]
        self.assertEqual(eq.plans(Said(better="none"), spans)[1][1], [["1.0", "2.0", "6.0", "10.0", "10.0", "3.5", "3 of 10 (paper: none)"]])

    def test_case_two(self):
        def runs(transfers, kernelet, base, gpu="gpu", memory="80M"):
            return queued(transfers=transfers, runs=[queue_run("kernelet", kernelet, copy_ticks=1000, overlapped_copy_ticks=750, busy_ticks=4000), queue_run("base", base, copy_ticks=1000, busy_ticks=4000)],
                          options={"transfers": transfers, "memory": memory}, gpu=gpu)
        both = [runs("overlap", 4000, 4400), runs("apart", 5000, 4800), runs("apart", 1, 1, memory="34M")]
        self.assertEqual(eq.variants(Said(**{"a b, 80M": ["9.2 %", "99 %"]}), both[:1], both[1:])[1][1],
                         [["a b, 80MB", "4.0", "4.4", "5.0", "4.8", "0.25", "25.0 %", "9.2 %", "75.0 %", "99 %"]])
        fast = [runs("overlap", 4000, 4400, "gpu:pcie_pinned_mbps=12000"), runs("apart", 5000, 4800, "gpu:pcie_pinned_mbps=12000")]
        self.assertEqual(eq.buses(Said(), fast)[1][1], [["12 GB/s, 80MB", "a b", "0.25", "25.0 %", "10.0 %", "25.0 %", "75.0 %"]])

    def test_events_beside_cycles(self):
        full, events = [queued([queue_run("base", 2000)], simulated="cycles")], [queued([queue_run("base", 1900), queue_run("opt", 1)])]
        self.assertEqual(eq.cycles(Said(), full, events)[1][1], [["a b, 10 launches", "base", "2.00", "1.90", "-5.0 %"]])

    def test_slices(self):
        spans = [queue_run("sequential", 1000)] + [queue_run(f"slices:tbs={size}{more}", ticks) for size, more, ticks in (
            (8, "", 2000), (16, "", 1100), (64, "", 1010), (128, "", 1000), (8, ",in_flight=2", 1015), (16, ",in_flight=2", 1000))]
        titles, rows = eq.slices(Said(), [queued(spans, ["a"], kernels=[queue_kernel("a", 1, 1)])])[1]
        self.assertEqual(titles, ["", "slices in flight", "thread blocks", "fit an SM", "whole, µs", "1", "2", "8", "16", "least"])
        self.assertEqual(rows, [["a", "1", "100", "4", "1000.0", "100.0", "10.0", "1.0", "", "8"], ["", "2", "", "", "", "1.5", "0.0", "1"]])


class OfPredictions(unittest.TestCase):
    def test_alone(self):
        def kernel_of(name, ipc, predicted):
            view = {"status": "OK", "predicted_ipc": predicted, "predicted_stalled": 0.25}
            counters = {"issue_cycles": 50, "stall_memory": 30, "stall_memory_data": 10, "stall_pipeline": 10, "stall_data": 0, "stall_fetch": 0, "stall_control": 0,
                        "stall_barrier": 0, "stall_fence": 0, "stall_other": 0, "cycles": 7}
            return {"workload": name, "ipc": ipc, "counted": view, "sampled": dict(view, status="ARGUMENT"), "counters": counters}
        outcome = Outcome("gpu", [], {}, {"peak_ipc": 2, "kernels": [kernel_of("a", 1.0, 1.5), kernel_of("b", 0.5, 0.75)]})
        blocks = ep.alone(None, [outcome])
        self.assertEqual(blocks[2][1], [["a", "1.000", "1.500 (+25 %)", "-", "25 %", "10 %", "30 %", "10 %", "0 %", "0 %"],
                                        ["b", "0.500", "0.750 (+12 %)", "-", "25 %", "10 %", "30 %", "10 %", "0 %", "0 %"]])
        self.assertIn("Within ±20 % of the peak of 2: 1 of 2 by counters, 0 by a sample. Order of the kernels (Spearman): 1.00.", blocks[3])


class OfFiles(unittest.TestCase):
    """Four mixes under two policies; of one mix the fast policy failed."""

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="corun-experiment-"))
        self.database = sqlite3.connect(self.folder / "results.db")
        self.database.executescript(f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION};" + SCHEMA)
        self.count = 0

    def tearDown(self):
        self.database.close()
        shutil.rmtree(self.folder)

    def add(self, applications, policy, apps=None, campaign="tiny", isolated=0, gpu="gpu", status="finished"):
        self.count += 1
        key = f"k{self.count}"
        text = json.dumps(result(apps)) if apps else None
        self.database.execute("INSERT INTO cases VALUES(?, ?, ?, ?, 1000, 1, ?, ?, ?, '', 0.5, NULL, NULL, NULL, NULL, NULL, "
                              "NULL, ?)", (key, gpu, policy, applications, isolated, status, "" if apps else "it broke", text))
        self.database.execute("INSERT INTO members VALUES(?, ?, ?)", (campaign, self.count, key))

    def fill(self):
        self.add("a m", "slow", [app(0.5), app(0.5)])
        self.add("a m", "fast", [app(0.75), app(0.75)])
        self.add("a b", "slow", [app(0.5), app(1.0)])
        self.add("a b", "fast", [app(0.6), app(0.9)])
        self.add("m n", "slow", [app(1.0), app(1.0)])
        self.add("m n", "fast", [app(0.5), app(0.5)])
        self.add("n n", "slow", [app(1.0), app(1.0)])
        self.add("n n", "fast", status="failed")
        self.add("b n", "slow", [app(9.0), app(9.0)])  # the other has not run yet

    def numbers(self, figures, **changes):
        self.database.commit()
        with corun.Results(self.folder / "results.db") as results:
            self.evaluation = Evaluation(experiment(figures, **changes), results)
        return {(number.cell.series, number.cell.point): number for number in self.evaluation.numbers.values()}

    def one(self, value, paper="?", **changes):
        figure = {"name": "f", "series": [{"name": "s", "paper": paper, **value}]}
        return self.numbers([figure], **changes)["s", ""]

    def test_only_combinations_that_finished_everywhere(self):
        self.fill()
        slow = self.one({"metric": "stp", "over": "mean", "policy": "slow"})
        self.assertAlmostEqual(slow.value, (1 + 1.5 + 2) / 3)
        self.assertEqual(slow.cases, 3)
        self.assertEqual(et.sample_lines(self.evaluation), ["3 of 9 combinations of workloads and goals; 1 cases failed"])
        self.assertEqual(et.failure_lines(self.evaluation, 5), ["1 cases failed under fast: it broke (n n)"])

    def test_classes(self):
        self.fill()
        for name, value in (("C+M", 1.5), ("M+C", 1.5), ("C+C", 1.5), ("M+M", 1.0)):
            number = self.one({"metric": "stp", "over": "mean", "policy": "fast", "class": name})
            self.assertEqual((number.value, number.cases), (value, 1))
        self.assertEqual(self.one({"metric": "stp", "over": "mean", "policy": "fast", "roles": "C+M"}).cases, 1)
        none = self.one({"metric": "stp", "over": "mean", "policy": "fast", "roles": "M+C"}, "1.5")
        self.assertEqual((none.value, none.cases, none.same_sign, none.effect_ratio), (None, 0, None, None))
        self.assertEqual(self.one({"metric": "stp", "over": "mean", "policy": "fast", "application": "b"}).cases, 1)
        self.assertEqual(self.one({"metric": "stp", "over": "mean", "policy": "fast", "mix": "b+a"}).value, 1.5)

    def test_classes_of_workloads_with_parameters(self):
        classes = experiment([], classes={"C": ["a", "b"], "M": ["b,n=5"]}).class_of
        self.assertEqual([classes(name) for name in ("a", "a,n=5", "b,n=4", "b,n=5", "c,n=5")], ["C", "C", "C", "M", None])

    def test_signs_and_effects(self):
        self.fill()
        fast = {"metric": "stp", "over": "max", "policy": "fast"}
        for paper, neutral, sign, effect in (("1.25", "1", True, 2), ("0.75", "1", False, -2), ("+", "1", True, None),
                                             ("-", "1", False, None), ("3", None, None, 0.5), ("?", "1", None, None),
                                             ("1", "1", None, None)):
            number = self.one({**fast, **({"neutral": neutral} if neutral else {})}, paper)
            self.assertEqual(number.same_sign, sign, paper)
            self.assertEqual(number.effect_ratio, None if effect is None else effect, paper)

    def test_against(self):
        self.fill()
        fast, slow = (1.5 + 1.5 + 1) / 3, (1 + 1.5 + 2) / 3
        change = self.one({"metric": "stp", "over": "mean", "policy": "fast", "against": {"policy": "slow"}}, "-10%")
        self.assertAlmostEqual(change.value, fast / slow - 1)
        self.assertEqual(change.same_sign, True)
        self.assertAlmostEqual(change.effect_ratio, (fast / slow - 1) / -0.1)
        for compare, value in (("ratio", fast / slow), ("difference", fast - slow)):
            number = self.one({"metric": "stp", "over": "mean", "policy": "fast", "against": {"policy": "slow"},
                               "compare": compare})
            self.assertAlmostEqual(number.value, value)
        best = self.one({"metric": "stp", "over": "max", "policy": "fast", "relative": {"policy": "slow"}}, "1.61")
        self.assertAlmostEqual(best.value, 1.5)
        self.assertAlmostEqual(best.effect_ratio, 0.5 / 0.61)
        self.assertAlmostEqual(self.one({"metric": "stp", "over": "min", "policy": "fast", "relative": {"policy": "slow"}}).value,
                               0.5)

    def test_searches(self):
        for policy, values in (("fixed:split=1/3", (0.2, 0.9)), ("fixed:split=2/2", (0.5, 0.6)), ("fixed:split=3/1", (0.7, 0.1))):
            apps = [app(values[0], "50%", values[0] / 0.5 - 1), app(values[1])]
            self.add("a:goal=50% m", policy, apps)
        self.add("a:goal=50% m", "smart", [app(0.55, "50%", 0.1), app(0.5)])
        policies = ["smart", "fixed:split=1/3", "fixed:split=2/2", "fixed:split=3/1"]
        campaign = {"gpus": ["gpu"], "policies": policies}
        value = {"metric": "stp", "over": "mean", "policy": "fixed:*"}
        for choose, expected in (("best", 1.1), ("worst", 0.8), ("meets", 1.1)):
            self.assertAlmostEqual(self.one({**value, "choose": choose}, campaign=campaign).value, expected)
        batch = {"metric": "best-effort-of-all", "over": "mean", "policy": "fixed:*", "choose": "meets"}
        self.assertAlmostEqual(self.one(batch, campaign=campaign).value, 0.6)
        self.assertAlmostEqual(self.one({**batch, "policy": "smart", "against": {"policy": "fixed:*"}}, campaign=campaign).value,
                               0.5 / 0.6 - 1)
        self.assertEqual(self.one({"metric": "goal-met", "over": "mean", "policy": "smart", "goal": "50%"},
                                  campaign=campaign).cases, 1)

    def test_offline_that_never_meets(self):
        for policy, reached in (("fixed:split=1/3", 0.3), ("fixed:split=3/1", 0.4)):
            self.add("a:goal=50% m", policy, [app(reached, "50%", reached / 0.5 - 1), app(0.9 - reached)])
        number = self.one({"metric": "best-effort-of-all", "over": "mean", "policy": "fixed:*", "choose": "meets"},
                          campaign={"gpus": ["gpu"], "policies": ["fixed:split=1/3", "fixed:split=3/1"]})
        self.assertAlmostEqual(number.value, 0.5)

    def test_undefined_is_said(self):
        self.add("a:goal=50% m", "slow", [app(0.4, "50%", -0.2), app(1.0)])
        self.add("a:goal=50% m", "fast", [app(0.6, "50%", 0.2), app(0.5)])
        number = self.one({"metric": "overshoot", "over": "mean", "policy": "slow"})
        self.assertEqual((number.value, number.cases), (None, 0))
        self.assertEqual(number.reasons, {"its goals were missed": 1})
        self.assertEqual(et.reason_lines(self.evaluation.experiment.figures[0], self.evaluation),
                         ["overshoot: not defined for 1 cases: its goals were missed"])

    def test_isolated_runs(self):
        for gpu, ipc in (("gpu", 1.0), ("gpu:sms=1", 0.25)):
            self.add("a", "left-over", [app(ipc)], isolated=1, gpu=gpu)
            self.add("m", "left-over", [app(ipc / 2)], isolated=1, gpu=gpu)
        campaign = {"gpus": ["gpu", "gpu:sms=1"]}
        value = {"metric": "ipc", "over": "geomean", "alone": "true", "gpu": "gpu"}
        self.assertAlmostEqual(self.one({**value, "relative": {"gpu": "gpu:sms=1"}}, campaign=campaign).value, 4)
        self.assertAlmostEqual(self.one({**value, "class": "C"}, campaign=campaign).value, 100)
        self.assertAlmostEqual(self.one({**value, "class": "C", "against": {"class": "M"}, "compare": "ratio"},
                                        campaign=campaign).value, 2)

    def test_points_and_parts(self):
        self.add("a m", "slow", [app(0.5), app(0.5)], "tiny/pairs")
        self.add("a m", "fast", [app(0.75), app(0.75)], "tiny/pairs")
        self.add("a m n", "fast", [app(0.5), app(0.5), app(1)], "tiny/trios")
        figure = {"name": "f", "value": {"metric": "stp", "over": "mean", "policy": "fast"},
                  "points": [{"label": "2", "part": "pairs"}, {"label": "3", "part": "trios"}],
                  "series": [{"name": "mean", "paper": ["1.4", "?"]}, {"name": "most", "over": "max", "paper": ["?", "+"]}]}
        numbers = self.numbers([figure], parts=[{"name": "pairs"}, {"name": "trios", "policies": ["fast"]}])
        self.assertEqual([numbers[key].value for key in (("mean", "2"), ("mean", "3"), ("most", "3"))], [1.5, 2, 2])
        self.assertEqual(et.sample_lines(self.evaluation), ["pairs: 1 of 9 combinations of workloads and goals",
                                                            "trios: 1 of 9 combinations of workloads and goals"])

    def test_texts(self):
        self.fill()
        figures = [{"name": "f", "title": "STP | all", "unit": "ratio", "source": "Table 1",
                    "value": {"metric": "stp", "over": "mean", "policy": "fast"},
                    "series": [{"name": "fast", "neutral": "1", "paper": "1.5"},
                               {"name": "over slow", "against": {"policy": "slow"}, "paper": "-"}]}]
        self.numbers(figures, remarks="Theirs is larger.")
        text = et.markdown(self.evaluation)
        self.assertIn("| fast | 1.500 | 1.333 | 3 | 1K | yes | 0.67 |", text)
        self.assertIn("| over slow | less | -11.1 % | 3 | 1K | yes | - |", text)
        self.assertIn("## Remarks\n\nTheirs is larger.\n", text)
        self.assertIn("* window: 1K cycles; the paper's: 2M", text)
        self.assertIn("`corun reproduce tiny --sample 3 --cycles 1K --markdown FILE`", text)
        self.assertIn("Same sign: 2 of 2.", text)
        self.assertNotIn("Remarks", self.without_remarks(figures))
        stream = io.StringIO()
        et.print_comparison(self.evaluation, stream)
        self.assertRegex(stream.getvalue(), r"over slow +less +-11\.1 % +3 +yes +-")

    def test_without_the_papers_numbers_points_stand_side_by_side(self):
        self.fill()
        figure = {"name": "f", "unit": "ratio", "value": {"metric": "stp", "over": "mean"}, "points": {"class": ["C+M", "M+M"]},
                  "series": [{"name": "fast", "policy": "fast"}, {"name": "slow", "policy": "slow"}]}
        self.numbers([figure])
        self.assertEqual(et.rows_of(self.evaluation.experiment.figures[0], self.evaluation, "1K"), (
            ["f: ours", "C+M", "M+M", "cases", "window"],
            [["fast", "1.500", "1.000", "1", "1K"], ["slow", "1.000", "2.000", "1", "1K"]]))

    def test_a_case_in_other_words(self):
        self.add("a m", "quick", [app(0.75), app(0.75)], gpu="gpu:l2=2M")
        self.add("a m", "slow", [app(0.5), app(0.5)])
        own = [["gpu", "fast", ["a", "m"], False], ["gpu", "slow", ["a", "m"], False]]
        value = {"metric": "stp", "over": "mean", "policy": "fast"}
        self.assertEqual(self.one(value).cases, 0)
        self.assertEqual(self.one(value, cases=own).value, 1.5)
        self.assertEqual(self.one(value, cases=own + own[:1]).cases, 0)  # of another sample

    def without_remarks(self, figures):
        self.numbers(figures)
        return et.markdown(self.evaluation)


class Mistakes(unittest.TestCase):
    GOOD = {"name": "f", "value": {"metric": "stp", "over": "mean", "policy": "fast"}, "series": [{"name": "s"}]}

    def test_places(self):
        experiment([self.GOOD])
        good = self.GOOD["value"]
        for change, words in (
                ({"name": "F!"}, "needs a 'name'"), ({"kind": "pie"}, "no kind 'pie'"), ({"colour": "red"}, "unknown key here"),
                ({"value": {**good, "metric": "nothing"}}, "no metric 'nothing'"),
                ({"value": {**good, "over": "nothing"}}, "no statistic 'nothing'"),
                ({"value": {"over": "mean", "policy": "fast"}}, "'metric' is said nowhere"),
                ({"value": {"metric": "stp", "over": "mean"}}, "which policy"),
                ({"value": {**good, "policy": "none"}}, "has no policy 'none'"),
                ({"value": {**good, "gpu": "none"}}, "has no GPU 'none'"),
                ({"value": {**good, "part": "none"}}, "no part 'none'"),
                ({"value": {**good, "class": "C+X"}}, "no class 'X'"),
                ({"value": {**good, "choose": "any"}}, "expected one of best"),
                ({"value": {**good, "alone": "yes"}}, "expected true or false"),
                ({"value": {**good, "neutral": "x"}}, "expected a number"),
                ({"value": {**good, "against": {"policy": "none"}}}, "has no policy 'none'"),
                ({"value": {**good, "against": {"policy": "slow"}, "compare": "product"}}, "expected one of ratio"),
                ({"value": {**good, "relative": "slow"}}, "expected a map"),
                ({"value": {**good, "colour": "red"}}, "unknown key 'colour'"),
                ({"series": []}, "needs 'series'"), ({"series": [{"name": "s", "paper": "1.x"}]}, "no number of a paper"),
                ({"series": [{"name": "s", "paper": ["1", "2"]}]}, "2 numbers of the paper for 1 points"),
                ({"points": [{"goal": "50%"}]}, "needs a 'label'"), ({"points": {"colour": ["x"]}}, "expected a list of points")):
            with self.assertRaises(ExperimentError, msg=words) as caught:
                experiment([{**self.GOOD, **change}])
            self.assertRegex(str(caught.exception), r"^tiny\.yaml:[1-9]\d*:1: ")
            self.assertIn(words, str(caught.exception))
        with self.assertRaisesRegex(ExperimentError, "two figures 'f'"):
            experiment([self.GOOD, self.GOOD])

    def test_each_number_of_a_list_has_its_point(self):
        figure = {**self.GOOD, "points": {"goal": ["50%", "90%"]}, "series": [{"name": "s", "paper": ["1", "+"]}]}
        cells = experiment([figure]).figures[0].cells
        self.assertEqual([(cell.point, cell.paper.value, cell.paper.sign) for cell in cells], [("50%", 1, None), ("90%", None, 1)])


if __name__ == "__main__":
    run_tests()
