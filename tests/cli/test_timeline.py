#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Timelines of real runs: the published format's rules, the tracks that must be there, and numbers that must agree with the
results. Usage: test_timeline.py CORUN [TEST...]"""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from programs import PTX

CORUN = None
OK, USAGE, FAULT, FILE, INTERRUPTED = 0, 2, 8, 13, 130
SMS = 3
GPU = f"gtx980:sms={SMS}"
GPU_PROCESS = 1

HALF = """.version 6.3
.target sm_52
.address_size 64
.visible .entry half(.param .u64 data)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %ctaid.x;
    and.b32 %r2, %r1, 1;
    setp.eq.u32 %p1, %r2, 0;
    @%p1 bra STRAY;
    add.u32 %r3, %r1, 1;
    add.u32 %r3, %r3, 1;
    add.u32 %r3, %r3, 1;
    ret;
STRAY:
    st.global.u32 [%rd1+1099511627776], %r1;
    ret;
}
"""

DESCRIPTION = """\
name: {name}
summary: a test
character: compute
ptx: work.ptx
sizes:
  small: {{n: 4096}}
buffers:
  - {{name: data, type: f32, count: n, initial: {{uniform: [0, 1]}}, output: true}}
launches:
  - {{kernel: work, grid: [n / 128], block: [128], arguments: [{{buffer: data}}, {{u32: {rounds}}}]}}
  - {{kernel: {second}, grid: [n / 256], block: [256], arguments: [{{buffer: data}}, {{u32: 3}}]}}
"""


def nanoseconds(microseconds):
    return round(microseconds * 1000)


class Timeline(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="corun-timeline-"))
        (cls.folder / "work.ptx").write_text(PTX)
        for name, rounds, second in (("one", 40, "work"), ("two", 90, "work"), ("bad", 20, "outside")):
            (cls.folder / f"{name}.yaml").write_text(DESCRIPTION.format(name=name, rounds=rounds, second=second))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def run_command(self, *arguments, status=OK, cycles="30K"):
        done = subprocess.run([CORUN, "run", "--gpu", GPU, "--cycles", cycles, "--no-baselines", *arguments],
                              cwd=self.folder, capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual(done.returncode, status, f"{arguments}: {done.stdout} {done.stderr}")
        return done

    def timeline(self, *arguments, **settings):
        """The trace and the results of a run."""
        done = self.run_command("--timeline", "out.json", "--json", "-", *arguments, **settings)
        self.text = (self.folder / "out.json").read_text()
        trace = json.loads(self.text, parse_constant=lambda word: self.fail(word))
        self.check_format(trace)
        return trace, json.loads(done.stdout)

    # ---- the rules of the format ----

    def check_format(self, trace):
        self.assertIn(trace["displayTimeUnit"], ("ms", "ns"))
        self.assertIsInstance(trace["otherData"], dict)
        processes, threads, latest, slices = set(), set(), {}, {}
        for event in trace["traceEvents"]:
            with self.subTest(event=event):
                self.assertIsInstance(event["name"], str)
                self.assertIsInstance(event["pid"], int)
                getattr(self, {"M": "metadata", "X": "complete", "i": "instant", "C": "counter"}[event["ph"]])(event)
            if event["ph"] == "M":
                if event["name"] == "process_name":
                    processes.add(event["pid"])
                elif event["name"] == "thread_name":
                    threads.add((event["pid"], event["tid"]))
                continue
            self.assertGreaterEqual(event["ts"], 0)
            track = (event["pid"], event["name"] if event["ph"] == "C" else event["tid"], event["ph"])
            self.assertGreaterEqual(event["ts"], latest.get(track, 0))
            latest[track] = event["ts"]
            if event["ph"] == "X":
                slices.setdefault(track[:2], []).append(event)
            self.assertIn(event["pid"], processes)
            if event["ph"] != "C":
                self.assertIn((event["pid"], event["tid"]), threads)
        self.assertEqual(len({thread for _, thread in threads}), len(threads))
        for track in slices.values():  # on one track, nothing overlaps in part; here nothing overlaps at all
            for before, after in zip(track, track[1:]):
                for viewer in (nanoseconds, lambda microseconds: int(microseconds * 1000)):  # rounding or cutting off
                    self.assertLessEqual(viewer(before["ts"]) + viewer(before["dur"]), viewer(after["ts"]))

    def metadata(self, event):
        kind = {"process_name": ("name", str), "thread_name": ("name", str), "process_sort_index": ("sort_index", int),
                "thread_sort_index": ("sort_index", int)}[event["name"]]
        self.assertIsInstance(event["args"][kind[0]], kind[1])
        self.assertIsInstance(event["tid"], int)

    def complete(self, event):
        for key in ("ts", "dur"):
            self.assertIsInstance(event[key], (int, float))
        self.assertGreaterEqual(event["dur"], 0)
        self.assertIsInstance(event["tid"], int)
        self.assertIsInstance(event["cat"], str)
        self.assertIsInstance(event["args"], dict)

    def instant(self, event):
        self.assertIn(event["s"], ("g", "p", "t"))
        self.assertIsInstance(event["ts"], (int, float))
        self.assertIsInstance(event["tid"], int)

    def counter(self, event):
        self.assertIsInstance(event["ts"], (int, float))
        self.assertTrue(event["args"])
        for value in event["args"].values():
            self.assertIn(type(value), (int, float))

    # ---- what must be in it ----

    @staticmethod
    def named(trace, what):
        key = "pid" if what == "process_name" else "tid"
        return {event["args"]["name"]: event[key] for event in trace["traceEvents"] if event["name"] == what and
                (what == "process_name" or event["pid"] == GPU_PROCESS)}

    @staticmethod
    def of(trace, phase, word, process=None):
        return [event for event in trace["traceEvents"] if event["ph"] == phase and
                word in (event["name"], event.get("cat")) and process in (None, event["pid"])]

    def mean(self, counters, end):
        """Of a counter over time, up to the cycle `end`."""
        times = [nanoseconds(event["ts"]) for event in counters] + [end * 10**6 // 1216000]
        values = [next(iter(event["args"].values())) for event in counters]
        return sum(value * (after - before) for value, before, after in zip(values, times, times[1:])) / times[-1]

    def check_against_results(self, trace, results):
        processes, sms = self.named(trace, "process_name"), self.named(trace, "thread_name")
        for sm in range(SMS):
            self.assertIn(f"SM {sm}", sms)
        self.assertAlmostEqual(self.mean(self.of(trace, "C", "DRAM utilisation"), results["cycles"]),
                               100 * results["dram"]["utilisation"], delta=0.3)
        self.assertAlmostEqual(self.mean(self.of(trace, "C", "interconnect utilisation"), results["cycles"]),
                               100 * results["interconnect"]["utilisation"], delta=0.1)
        blocks = self.of(trace, "X", "thread block")
        for index, app in enumerate(results["applications"]):
            name = f"{app['name']}@{app['size']}"
            process = processes[name]
            launches = self.of(trace, "X", "launch", process)
            done = [event for event in launches if event["args"]["ended"] == "complete"]
            self.assertEqual(len(done), sum(kernel["launches"] for kernel in app["kernels"]))
            self.assertEqual({event["name"] for event in launches}, {kernel["name"] for kernel in app["kernels"]})
            self.assertEqual(sum(event["args"]["end_cycle"] - event["args"]["start_cycle"] for event in launches),
                             sum(kernel["cycles"] for kernel in app["kernels"]))
            for sm in range(SMS):
                here = [event for event in blocks if event["tid"] // 100 == sm + 1 and event["args"]["application"] == name]
                self.assertEqual(sum(event["args"]["ended"] == "complete" for event in here),
                                 results["sms"][sm]["applications"][index]["tbs"])
            cycles = sum(event["args"]["end_cycle"] - event["args"]["start_cycle"] for event in blocks
                         if event["args"]["application"] == name)
            self.assertEqual(cycles, sum(kernel["counters"]["tb_cycles"] for kernel in app["kernels"]))
            self.assertAlmostEqual(self.mean(self.of(trace, "C", "IPC", process), results["cycles"]),
                                   app["thread_instructions"] / results["cycles"], delta=0.001 * app["ipc"])
            resident = self.mean(self.of(trace, "C", "thread blocks", process), results["cycles"])
            self.assertAlmostEqual(resident, cycles / results["cycles"], delta=0.01)
            for event in self.of(trace, "C", "SMs", process):
                self.assertLessEqual(next(iter(event["args"].values())), SMS)

    def test_tracks_and_numbers(self):
        for policy in ("left-over", "even", "cooperative"):
            trace, results = self.timeline("--policy", policy, "./one.yaml", "./two.yaml:start=3K")
            self.check_against_results(trace, results)
            other = trace["otherData"]
            for what in ("thread_blocks", "launches", "moments", "epochs", "samples"):
                self.assertGreater(other[what], 0)
                self.assertEqual(other[f"{what}_left_out"], 0)
            self.assertEqual(other["cycles"], 30000)
            self.assertTrue(other["policy"].startswith(policy))
            self.assertEqual(len(self.of(trace, "C", "DRAM utilisation")), 30)
            names = [event["name"] for event in self.of(trace, "i", "moment") + self.of(trace, "i", "allowances")]
            self.assertTrue(any("two@small arrives" in name for name in names))
            self.assertTrue(any("has completed a run" in name for name in names))
            self.assertEqual(policy != "left-over", any("new allowances" in name for name in names))

    def test_cooperative_applications_wait_for_their_turn(self):
        trace, _ = self.timeline("--policy", "cooperative", "./one.yaml", "./two.yaml")
        waits = self.of(trace, "X", "waiting")
        self.assertTrue(any(event["args"]["end_cycle"] - event["args"]["start_cycle"] > 500 for event in waits))
        running = sorted((event["args"]["start_cycle"], event["args"]["end_cycle"])
                         for event in self.of(trace, "X", "launch"))
        self.assertGreater(len(running), 4)
        # one after the other: the next one's first thread block comes when the last ones of this one leave
        for (_, end), (start, _) in zip(running, running[1:]):
            self.assertGreaterEqual(start, end)

    def test_who_an_sm_is_for_and_what_the_controller_thinks(self):
        trace, results = self.timeline("--policy", "smqos:gate=off", "./one.yaml:goal=30%", "./two.yaml", cycles="100K")
        self.check_against_results(trace, results)
        owners = self.of(trace, "X", "owner")
        for sm in range(SMS): # from beginning to end, one after the other
            mine = [event["args"] for event in owners if event["args"]["sm"] == sm]
            self.assertEqual([one["start_cycle"] for one in mine], [0] + [one["end_cycle"] for one in mine[:-1]])
            self.assertEqual(mine[-1]["end_cycle"], 100000)
        self.assertLessEqual({event["name"] for event in owners}, {"one@small", "two@small", "nobody"})
        self.assertGreater(len(owners), SMS)
        variables = results["history"]["variables"]
        self.assertIn("ls_sms", variables)
        for name, values in variables.items():
            shown = [event["args"]["value"] for event in self.of(trace, "C", name, GPU_PROCESS)]
            known = [value for value in values if value is not None]
            for value in known: # to three decimals
                self.assertTrue(any(abs(value - one) < 0.001 for one in shown), name)
            for before, after in zip(shown, shown[1:]):
                self.assertTrue(before != after or known, name)

    def test_epochs_and_switched_off_sms(self):
        # one alone with a small goal gives up SMs, which lose their power
        trace, results = self.timeline("--policy", "smqos", "./one.yaml:goal=30%", cycles="85K")
        self.check_against_results(trace, results)
        epochs = self.of(trace, "X", "epoch")
        self.assertEqual([(event["name"], event["args"]["start_cycle"], event["args"]["end_cycle"],
                           event["args"]["ended"]) for event in epochs],
                         [(f"epoch {n + 1}", 10000 * n, 10000 * n + 10000, "complete") for n in range(8)] +
                         [("epoch 9", 80000, 85000, "unfinished")])
        self.assertEqual(len({event["tid"] for event in epochs}), 1)
        self.assertEqual(self.named(trace, "thread_name")["epochs"], epochs[0]["tid"])
        # the slices of an SM that is off are the cycles that its result counts as gated, and there nobody is at work
        off = self.of(trace, "X", "switched off")
        gated = [sum(event["args"]["end_cycle"] - event["args"]["start_cycle"] for event in off
                     if event["args"]["sm"] == sm) for sm in range(SMS)]
        self.assertEqual(gated, [sm["gated_cycles"] for sm in results["sms"]])
        self.assertGreater(sum(gated), 10000)
        for event in off:
            for block in self.of(trace, "X", "thread block"):
                if block["tid"] // 100 == event["args"]["sm"] + 1:
                    self.assertTrue(block["args"]["end_cycle"] <= event["args"]["start_cycle"]
                                    or block["args"]["start_cycle"] >= event["args"]["end_cycle"])
        powered = {event["args"]["SMs"] for event in self.of(trace, "C", "SMs with power", GPU_PROCESS)}
        self.assertLess(min(powered), SMS)

    def test_preempted_thread_blocks(self):
        trace, results = self.timeline("--policy", "time-slice:slice=10K", "./one.yaml", "./two.yaml", cycles="100K")
        blocks, moved = self.of(trace, "X", "thread block"), self.of(trace, "X", "preemption")
        saved = [event for event in moved if event["name"].startswith("saving")]
        restored = [event for event in moved if event["name"].startswith("restoring")]
        self.assertGreater(len(saved), 10)
        self.assertGreater(len(restored), 10)
        self.assertGreaterEqual(len(saved), len(restored))

        def key(event, cycle):
            return event["args"]["launch"], event["args"]["thread_block"], event["args"][cycle]
        stopped = [key(event, "end_cycle") for event in blocks if event["args"]["ended"] == "preempted"]
        self.assertEqual(sorted(stopped), sorted(key(event, "start_cycle") for event in saved))
        resumed = {key(event, "end_cycle") for event in restored if event["args"]["ended"] == "complete"}
        at_once = resumed - {key(event, "start_cycle") for event in blocks}  # they had nothing left to do but to end
        self.assertLess(len(at_once), 10)
        self.assertEqual(sum(event["args"]["ended"] == "complete" for event in blocks) + len(at_once),
                         sum(app["tbs"] for sm in results["sms"] for app in sm["applications"]))

    def test_dropped_work_is_taken_back(self):
        trace, results = self.timeline("--policy", "time-slice:slice=10K,reclaim=drop", "tea@small", "spmv@small", cycles="60K")
        processes, history = self.named(trace, "process_name"), results["history"]
        lengths = [end - begin for begin, end in zip([0, *history["end_cycles"]], history["end_cycles"])]
        least = []
        for app, share in zip(results["applications"], history["applications"]):
            self.assertGreater(sum(kernel["counters"]["thread_instructions_dropped"] for kernel in app["kernels"]), 0)
            counters = self.of(trace, "C", "IPC", processes[f"{app['name']}@{app['size']}"])
            mean = app["thread_instructions"] / results["cycles"]
            self.assertAlmostEqual(self.mean(counters, results["cycles"]), mean, delta=0.001 * app["ipc"])
            in_history = sum(ipc * length for ipc, length in zip(share["ipc"], lengths)) / results["cycles"]
            self.assertAlmostEqual(in_history, mean, delta=0.01)  # each is rounded to two decimals
            least += [min(share["ipc"]), *(next(iter(event["args"].values())) for event in counters)]
        self.assertLess(min(least), 0)  # more was dropped there than done
        useful = sum(app["thread_instructions"] for app in results["applications"])
        self.assertAlmostEqual(results["energy"]["instructions_per_joule"] * results["energy"]["total"] / useful, 1, delta=1e-9)

    def test_it_changes_no_result_and_threads_change_no_byte(self):
        def without_times(text):
            return [line for line in text.splitlines() if "wall_seconds" not in line and "per_second" not in line
                    and '"threads"' not in line]
        command = ("--policy", "even", "--json", "-", "./one.yaml", "./two.yaml")
        plain = without_times(self.run_command(*command).stdout)
        first = without_times(self.run_command("--timeline", "first.json", *command).stdout)
        self.assertEqual(plain, without_times(self.run_command("--timeline", "odd.json", "--timeline-interval", "77", *command).stdout))
        second = without_times(self.run_command("--timeline", "second.json", "--threads", "2", *command).stdout)
        self.assertEqual(plain, first)
        self.assertEqual(plain, second)
        self.assertEqual((self.folder / "first.json").read_bytes(), (self.folder / "second.json").read_bytes())

    def test_a_range_of_cycles(self):
        trace, _ = self.timeline("--timeline", "out.json:10K-12K", "--timeline-interval", "100", "./one.yaml", "./two.yaml")
        events = [event for event in trace["traceEvents"] if event["ph"] != "M"]
        first, last = 10000 * 10**6 // 1216000, 12001 * 10**6 // 1216000
        self.assertGreaterEqual(min(nanoseconds(event["ts"]) for event in events), first)
        self.assertLessEqual(max(nanoseconds(event["ts"]) + nanoseconds(event.get("dur", 0)) for event in events), last)
        self.assertIn(len(self.of(trace, "C", "DRAM utilisation")), (20, 21))
        for event in self.of(trace, "X", "thread block"):
            self.assertGreater(event["args"]["end_cycle"], 10000)
            self.assertLessEqual(event["args"]["start_cycle"], 12000)
        self.assertTrue(any(event["args"]["start_cycle"] < 10000 for event in self.of(trace, "X", "thread block")))

    def test_a_limit(self):
        trace, results = self.timeline("--timeline-limit", "1K", "--policy", "even", "./one.yaml", "./two.yaml",
                                       cycles="200K")
        other = trace["otherData"]
        shown = len(self.of(trace, "X", "thread block"))
        self.assertGreater(shown, 100)
        self.assertLessEqual(len([event for event in trace["traceEvents"] if event["ph"] != "M"]), 1000)
        self.assertEqual(other["thread_blocks_left_out"], other["thread_blocks"] - shown)
        completed = sum(app["tbs"] for sm in results["sms"] for app in sm["applications"])
        self.assertIn(other["thread_blocks"] - completed, range(0, SMS * 32))
        self.assertTrue(any(f"shows {shown} of {other['thread_blocks']} thread blocks" in name
                            for name in self.named(trace, "process_name")))

    def test_one_that_is_stopped(self):
        trace, results = self.timeline("./one.yaml", "./bad.yaml", status=FAULT)
        self.assertEqual([app["status"] for app in results["applications"]], ["OK", "FAULT"])
        process = self.named(trace, "process_name")["bad@small"]
        self.assertEqual([(event["name"], event["args"]["ended"]) for event in self.of(trace, "X", "launch", process)],
                         [("work", "complete"), ("outside", "stopped")])
        self.assertTrue(any(event["name"] == "bad@small leaves" for event in self.of(trace, "i", "moment")))

    def test_one_that_is_stopped_leaves_nothing_behind(self):
        # half of its thread blocks complete in the very step in which the others are at fault
        (self.folder / "half.ptx").write_text(HALF)
        (self.folder / "half.yaml").write_text(
            DESCRIPTION.replace("work.ptx", "half.ptx").split("launches:")[0].format(name="half") +
            "launches:\n  - {kernel: half, grid: [64], block: [32], arguments: [{buffer: data}]}\n")
        trace, _ = self.timeline("./half.yaml", "./one.yaml@small,n=16K:start=1K", status=FAULT)
        for sm in range(SMS):
            tracks = {event["tid"] for event in self.of(trace, "X", "thread block")
                     if event["tid"] // 100 == sm + 1 and event["args"]["start_cycle"] > 1000}
            self.assertEqual(len(tracks), 2048 // 128)

    def test_kernels_have_the_names_that_people_gave_them(self):
        symbols = {"work": "_ZN4heat4stepILi2EEEvPfj", "outside": "_ZN4heat4stepILi16EEEvPfj"}
        text, description = (self.folder / "work.ptx").read_text(), (self.folder / "two.yaml").read_text()
        for kernel, symbol in symbols.items():
            text = text.replace(f".entry {kernel}(", f".entry {symbol}(")
            description = description.replace(f"kernel: {kernel},", f"kernel: {symbol},")
        (self.folder / "people.ptx").write_text(text)
        (self.folder / "people.yaml").write_text(description.replace("work.ptx", "people.ptx"))
        trace, results = self.timeline("people.yaml")
        self.assertEqual({kernel["name"] for kernel in results["applications"][0]["kernels"]}, {symbols["work"]})
        self.assertNotIn("_ZN", self.text)
        self.assertIn("heat::step", {event["name"].split(" (")[0] for event in trace["traceEvents"] if event["ph"] == "X"})

    def test_the_same_workload_twice(self):
        trace, _ = self.timeline("./one.yaml", "./one.yaml")
        self.assertLessEqual({"one@small", "one@small (2)"}, set(self.named(trace, "process_name")))

    def test_standard_output(self):
        done = self.run_command("--timeline", "-", "./one.yaml")
        self.check_format(json.loads(done.stdout))

    def test_files_that_cannot_be_written(self):
        for path, words in (("nowhere/t.json", "No such file"), ("/dev/full", "No space left"), (".", "Is a directory")):
            done = self.run_command("--timeline", path, "./one.yaml", status=FILE)
            self.assertIn(f"{path}: ", done.stderr)
            self.assertIn(words, done.stderr)

    def test_wrong_usage(self):
        for arguments, words in ((("--timeline", "t.json:9-5"), "--timeline: expected FILE[:FIRST-LAST]"),
                                 (("--timeline", ""), "--timeline: the name of the file is missing"),
                                 (("--timeline-limit", "10"), "--timeline-limit"),
                                 (("--timeline-interval", "0"), "--timeline-interval"),
                                 (("--timeline", "-", "--json", "-"), "--json and --timeline cannot both")):
            self.assertIn(words, self.run_command(*arguments, "./one.yaml", status=USAGE).stderr)

    def test_an_interrupt_leaves_a_whole_file(self):
        with subprocess.Popen([CORUN, "run", "--gpu", GPU, "--cycles", "100G", "--quiet", "--timeline", "out.json",
                               "--timeline-limit", "1K", "--no-baselines", "./one.yaml"], cwd=self.folder) as process:
            status = pathlib.Path(f"/proc/{process.pid}/status")
            until = time.monotonic() + 60
            while time.monotonic() < until:  # until the command listens
                blocked = next(line for line in status.read_text().splitlines() if line.startswith("SigBlk"))
                if int(blocked.split()[1], 16) >> (signal.SIGINT - 1) & 1:
                    break
                time.sleep(0.01)
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)
        self.assertEqual(process.returncode, INTERRUPTED)
        trace = json.loads((self.folder / "out.json").read_text())
        self.check_format(trace)
        self.assertTrue(trace["otherData"]["interrupted"])
        self.assertLess(trace["otherData"]["cycles"], 100 * 10**9)


if __name__ == "__main__":
    CORUN = os.path.abspath(sys.argv.pop(1))
    unittest.main()
