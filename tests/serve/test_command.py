#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`corun queue`: tables, JSON, timelines, schedulers of users, wrong input. Usage: test_command.py CORUN INCLUDE EXAMPLE CC [TEST...]"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from json_page import differences  # noqa: E402

CORUN, INCLUDE, EXAMPLE, CC = sys.argv[1:5]
GPU = "gtx980:sms=2"
KERNELS = ["tea@small,bytes=100K", "pc@small,hops=31"]
USAGE, NOT_FOUND, ARGUMENT, FILE, POLICY = 2, 5, 6, 13, 12


class Queue(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.room = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.room.name)

    @classmethod
    def tearDownClass(cls):
        cls.room.cleanup()

    def queue(self, *words, status=0):
        done = subprocess.run([CORUN, "queue", "--cache", str(self.folder / "cache"), *words], capture_output=True, text=True, timeout=300,
                              check=False, cwd=self.folder)
        self.assertEqual(done.returncode, status, done.stderr)
        return done

    def compile(self, source, name):
        subprocess.run([CC, "-std=c17", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", f"-I{INCLUDE}", str(source), "-o",
                        str(self.folder / name)], check=True)

    def test_json_and_page(self):
        self.queue("-q", "-g", GPU, "-n", "3", "-s", "base", "-s", "kernelet", "--pairs", "-j", "all.json", *KERNELS)
        result = json.loads((self.folder / "all.json").read_text(encoding="utf-8"))
        self.assertEqual(differences("Queues", result), ([], []))
        self.assertEqual([run["scheduler"] for run in result["runs"]], ["base", "kernelet"])
        for run in result["runs"]:
            self.assertEqual([kernel["launches"] for kernel in run["kernels"]], [3, 3])
            self.assertLessEqual(run["busy_ticks"], run["makespan_ticks"])
        self.assertEqual(sum(pair["balanced"] for pair in result["pairs"]), 1)
        text = self.queue("-q", "-g", GPU, "-n", "3", "-s", "base", "--balanced-pairs", "-j", "-", *KERNELS).stdout
        self.assertEqual(json.loads(text)["pairs"], [pair for pair in result["pairs"] if pair["balanced"]])

    def test_a_faster_bus(self):
        """Nothing is measured again where only copies are faster, and copies take less time; where SMs are fewer, it is."""
        copies, kept = [], []
        for gpu in (GPU, GPU + ",pcie_pinned_mbps=118000", "gtx980:sms=1,pcie_pinned_mbps=118000"):
            text = self.queue("-q", "-g", gpu, "-n", "2", "-t", "overlap", "-s", "sequential", "-j", "-", *KERNELS).stdout
            copies.append(json.loads(text)["runs"][0]["copy_ticks"])
            kept.append(len(list((self.folder / "cache").iterdir())))
        self.assertLess(copies[1], copies[0])
        self.assertEqual(kept[0], kept[1])
        self.assertLess(kept[1], kept[2])

    def test_the_same_again(self):
        """With and without the cache, and with all threads, apart from the processor time of decisions."""
        texts = []
        for more in (["--jobs", "1"], ["--jobs", "2"], ["--no-cache"]):
            text = self.queue("-g", GPU, "-n", "5", "-a", "poisson:20000", "-s", "kernelet", "-j", "-", *more, *KERNELS).stdout
            result = json.loads(text)
            for run in result["runs"]:
                del run["planning_seconds"], run["longest_plan_seconds"]
            texts.append(result)
        self.assertEqual(texts[0], texts[1])
        self.assertEqual(texts[0], texts[2])

    def test_tables(self):
        done = self.queue("-g", GPU, "-n", "2", "-s", "sequential", "-s", "kernelet:pur=0.2", *KERNELS)
        for words in ("2 launches of each of 2 kernels, all at once", "smallest slice", "kernelet:pur=0.2", "makespan", "beside"):
            self.assertIn(words, done.stdout)

    def test_one_of_each(self):
        """What is one has no plural."""
        heading = self.queue("-g", "gtx980:sms=1", "-n", "1", "-s", "sequential", "tea@small").stdout.splitlines()[0]
        self.assertIn("gtx980:sms=1: 1 SM at 1216 MHz; 1 launch of each of 1 kernel, all at once", heading)

    def test_small_launches(self):
        """Launches that do not fill the GPU are named, where times are computed by events."""
        small = ["-q", "-g", "gtx980", "-n", "1", "-s", "sequential", "-j", "small.json", "tea@small,bytes=100K"]
        self.assertIn("bytes=100K: a launch has 100 thread blocks", self.queue(*small).stderr)
        kernel = json.loads((self.folder / "small.json").read_text(encoding="utf-8"))["kernels"][0]
        self.assertEqual(kernel["fills"], 100 / (kernel["tbs_per_sm"] * 16))
        self.assertEqual(self.queue("--full", *small).stderr, "")
        self.assertEqual(self.queue("-q", "-g", GPU, "-n", "1", "-s", "sequential", "-j", "large.json", "tea@small,bytes=500K").stderr, "")

    def need_driver(self):
        if not (pathlib.Path(CORUN).parent / "cuda" / "libcuda.so.1").exists():
            self.skipTest("corun's CUDA driver is for x86-64")

    def test_driver(self):
        """Through corun's own CUDA driver: the same launches, data that are copied, results as without timing."""
        self.need_driver()
        for transfers, hidden in (("none", None), ("overlap", True), ("apart", False)):
            done = self.queue("-g", GPU, "--driver", "-n", "3", "-t", transfers, "-s", "kernelet", "-s", "base", "-j", "driver.json", *KERNELS)
            self.assertNotIn("not what a run without timing leaves", done.stderr)
            self.assertIn("through a CUDA driver", done.stdout)
            result = json.loads((self.folder / "driver.json").read_text(encoding="utf-8"))
            self.assertEqual(result["simulated"], "driver")
            for run in result["runs"]:
                self.assertEqual([kernel["launches"] for kernel in run["kernels"]], [3, 3])
                self.assertGreater(run["bytes_out"], 0)
                self.assertEqual(run["bytes_in"] == 0, transfers == "none")  # data that are on the device are there when time begins
                if hidden is not None:
                    self.assertEqual(run["overlapped_copy_ticks"] > 0, hidden)

    def test_driver_twice(self):
        """The same digits again: nothing of the host's speed is in them."""
        self.need_driver()
        runs = []
        for _ in range(2):
            text = self.queue("-g", GPU, "--driver", "-n", "2", "-a", "poisson:20000", "-t", "overlap", "-s", "kernelet", "-j", "-", *KERNELS).stdout
            result = json.loads(text)
            for run in result["runs"]:
                del run["planning_seconds"], run["longest_plan_seconds"]
            runs.append(result)
        self.assertEqual(runs[0], runs[1])

    def test_sample(self):
        """What a sample of thread blocks and the driver's times say is what counters say, as far as they know it."""
        self.need_driver()
        found = {}
        for how in ("counters", "sample"):
            text = self.queue("-g", GPU, "--driver", "--profile", how, "-n", "1", "-s", "kernelet", "-j", "-", *KERNELS).stdout
            result = json.loads(text)
            self.assertEqual(result["profile"], how)
            found[how] = result["kernels"]
        for counted, sampled in zip(found["counters"], found["sample"]):
            for name in ("tbs", "tbs_per_sm", "tb_warps", "smallest_slice"):
                self.assertEqual(sampled[name], counted[name])
            self.assertAlmostEqual(sampled["tb_instructions"] / counted["tb_instructions"], 1, delta=0.05)
            self.assertAlmostEqual(sampled["alone_ticks"] / counted["alone_ticks"], 1, delta=0.4)  # with a launch's cost
            self.assertAlmostEqual(sampled["ipc"] * sampled["alone_ticks"], counted["ipc"] * counted["alone_ticks"],
                                   delta=0.05 * counted["ipc"] * counted["alone_ticks"])
            self.assertTrue(0 <= sampled["memory_utilization"] <= 1)
        for words, text in ((("--profile", "sample"), "--driver or --native"), (("--driver", "--profile", "sample", "--pairs"), "--profile counters"),
                            (("--driver", "--profile", "sample", "-s", "opt"), "--profile counters"), (("--profile", "some"), "found `some`")):
            self.assertIn(text, self.queue("-g", GPU, *words, *KERNELS, status=USAGE).stderr)

    def test_driver_memory(self):
        """Data of 12 launches, and memory for some of them."""
        self.need_driver()
        self.queue("-q", "-g", GPU + ",memory_mib=8", "--driver", "-n", "6", "-t", "overlap", "-s", "base", *KERNELS)

    def test_no_driver(self):
        if os.path.exists("/dev/nvidiactl"):
            self.skipTest("there is a GPU")
        done = self.queue("-q", "-g", GPU, "--native", "-n", "1", *KERNELS, status=NOT_FOUND)
        self.assertIn("there is no driver of CUDA", done.stderr)
        self.queue("--native", "--full", *KERNELS, status=USAGE)

    def test_timeline(self):
        self.queue("-q", "-g", GPU, "-n", "2", "-s", "kernelet", "--timeline", "t.json", *KERNELS)
        trace = json.loads((self.folder / "t.json").read_text(encoding="utf-8"))
        slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        tbs = {}
        for event in slices:
            tbs[event["args"]["launch"]] = tbs.get(event["args"]["launch"], 0) + event["args"]["tbs"]
            self.assertGreaterEqual(event["dur"], 0)
        self.assertEqual(len(tbs), 4)
        self.assertEqual({event["name"] for event in slices}, {"tea_encrypt", "pointer_chase"})

    def test_slices_of_a_track_do_not_overlap(self):
        self.queue("-q", "-g", GPU, "-n", "3", "-s", "kernelet", "-s", "slices:tbs=2,in_flight=5", "-s", "base", "--timeline", "t.json", *KERNELS)
        events = json.loads((self.folder / "t.json").read_text(encoding="utf-8"))["traceEvents"]
        named = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}
        tracks = {}
        for event in (event for event in events if event["ph"] == "X"):
            begin = round(event["ts"] * 1000)
            tracks.setdefault((event["pid"], event["tid"]), []).append((begin, begin + round(event["dur"] * 1000)))
        self.assertEqual(named, set(tracks))
        self.assertEqual({process for process, _ in tracks}, {1, 2, 3})
        for slices in tracks.values():
            for before, after in zip(slices, slices[1:]):
                self.assertLessEqual(before[1], after[0])

    def test_transfers(self):
        result = json.loads(self.queue("-g", GPU, "-n", "2", "-s", "base", "-t", "apart", "-j", "-", *KERNELS).stdout)
        self.assertEqual(result["transfers"], "apart")
        self.assertEqual(result["runs"][0]["overlapped_copy_ticks"], 0)
        self.assertGreater(result["runs"][0]["copy_ticks"], 0)
        done = self.queue("-g", GPU, "-n", "2", "-t", "overlap", "--memory", "1M", "pc@small", status=ARGUMENT)
        self.assertIn("bytes of device memory", done.stderr)

    def test_own_scheduler(self):
        self.compile(EXAMPLE, "quarters.so")
        result = json.loads(self.queue("-g", GPU, "-n", "2", "-s", "./quarters.so", "-j", "-", *KERNELS).stdout)
        self.assertEqual([kernel["slices"] for kernel in result["runs"][0]["kernels"]], [8, 8])
        self.compile(pathlib.Path(EXAMPLE).with_name("ratio.c"), "ratio.so")
        text = self.queue("-g", GPU, "-n", "2", "-s", "./ratio.so:first=1,second=0,first_tbs=2,second_tbs=6", "-j", "-", *KERNELS).stdout
        kernel = json.loads(text)["runs"][0]["kernels"][0]
        self.assertGreater(kernel["beside_ticks"][KERNELS[1]], 0)
        self.assertIn("are the same kind", self.queue("-g", GPU, "-s", "./ratio.so:second=0", *KERNELS, status=POLICY).stderr)
        source = self.folder / "idle.c"
        source.write_text(pathlib.Path(EXAMPLE).read_text(encoding="utf-8").replace("plan->grant_count = 1;", ""), encoding="utf-8")
        self.compile(source, "idle.so")
        self.assertIn("scheduler quarters at tick 0, plan 1: no grants",
                      self.queue("-g", GPU, "-s", "./idle.so", *KERNELS, status=POLICY).stderr)
        source.write_text("int nothing;\n", encoding="utf-8")
        self.compile(source, "empty.so")
        self.assertIn("does not export", self.queue("-s", "./empty.so", *KERNELS, status=POLICY).stderr)

    def test_wrong_words(self):
        rows = [
            ([], USAGE, "a kernel is missing"),
            (["-a", "poisson:0", "tea"], USAGE, "poisson:RATE"),
            (["-a", "poisson:1e-300", "tea"], USAGE, "from 0.01 to 1e+12 a second"),
            (["-a", "sometimes", "tea"], USAGE, "`sometimes`"),
            (["-t", "both", "tea"], USAGE, "`both`"),
            (["-n", "0", "tea"], USAGE, "--instances"),
            (["--memory", "80M", "tea"], USAGE, "--transfers overlap or apart"),
            (["--slicing", "-1", "tea"], USAGE, "--slicing"),
            (["-s", "kernlet", "tea"], NOT_FOUND, "did you mean `kernelet`"),
            (["-s", "base:streams=99", "tea"], ARGUMENT, "streams is a whole number from 1 to 16"),
            (["-g", "gtx98", "tea"], NOT_FOUND, "gtx98"),
            (["tee"], NOT_FOUND, "tee"),
            (["-q", "-g", GPU, *["tea@small"] * 17], ARGUMENT, "from 1 to 16 kernels"),
            (["-j", "no/such/folder.json", "tea@small"], FILE, "no/such"),
        ]
        for words, status, says in rows:
            with self.subTest(words=words):
                self.assertIn(says, self.queue(*words, status=status).stderr)

    def test_list_and_completion(self):
        listed = subprocess.run([CORUN, "list", "schedulers"], capture_output=True, text=True, check=True).stdout
        for name in ("sequential", "base", "kernelet", "opt", "random", "slices"):
            self.assertRegex(listed, rf"(?m)^{name}$")
        offered = subprocess.run([CORUN, "completion", "--", "queue", "-s", "ker"], capture_output=True, text=True, check=False).stdout
        self.assertTrue(not offered or "kernelet" in offered, offered)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[5:]])
