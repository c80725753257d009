#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""corun run --sample: estimates beside runs in full. Usage: test_sampling.py CORUN [TEST...]"""
import json
import os
import sys
import unittest

from json_page import differences
from programs import InFolder

USAGE, ARGUMENT, FAULT = 2, 6, 8
GPU = "gtx980:sms=2"
# The last thread block of many loads where nothing is.
LATE = """
.visible .entry late(.param .u64 data, .param .u32 rounds)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %ctaid.x;
    setp.ne.u32 %p1, %r1, 1999;
    @%p1 ret;
    add.s64 %rd2, %rd1, 1099511627776;
    ld.global.u32 %r2, [%rd2];
    st.global.u32 [%rd1], %r2;
    ret;
}
"""

# Launches of one shape: four lengths that take turns; and two buffers that do, each of which is cold once.
TURNS = """\
name: turns
ptx: work.ptx
sizes:
  small: {count: 4096}
buffers:
  - {name: data, type: f32, count: count, initial: {uniform: [0, 1]}, output: true}
launches:
  - {kernel: work, grid: 32, block: 128, arguments: [{buffer: data}, {u32: "40 + 40 * (step % 4)"}], repeat: 120}
"""
BUFFERS = """\
name: buffers
ptx: work.ptx
sizes:
  small: {count: 4096}
buffers:
  - {name: one, type: f32, count: count, initial: {uniform: [0, 1]}, output: true}
  - {name: other, type: f32, count: count, initial: {uniform: [0, 1]}, output: true}
launches:
  - {kernel: work, grid: 32, block: 128, arguments: [{buffer: one}, {u32: 1}], repeat: 60, swap: [one, other]}
"""


class Sampling(InFolder):
    programs = {"long": {"rounds": 40, "grid": 2000, "count": 256000}, "short": {"rounds": 40},
                "late": {"rounds": 1, "kernel": "late", "grid": 2000}}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        text = (cls.folder / "work.ptx").read_text()
        (cls.folder / "work.ptx").write_text(text + LATE)
        (cls.folder / "turns.yaml").write_text(TURNS)
        (cls.folder / "buffers.yaml").write_text(BUFFERS)

    def result(self, name, *options):
        done = self.corun("run", "--gpu", GPU, "--runs", "1", "--no-cache", "-q", "--json", "-", *options, f"{name}.yaml")
        result = json.loads(done.stdout)
        for changing in ("wall_seconds", "warp_instructions_per_second", "threads"):
            del result[changing]
        return result

    def test_a_long_launch(self):
        full, sampled = self.result("long"), self.result("long", "--sample")
        sampling = sampled["sampling"]
        self.assertEqual(differences("Sampling", {"sampling": sampling}), ([], []))
        self.assertNotIn("sampling", full)
        self.assertTrue(sampling["estimated"])
        self.assertEqual([sampling["launches"], sampling["launches_timed"], sampling["launches_timed_in_part"]], [1, 0, 1])
        self.assertLess(sampling["warp_instructions_timed"], sampling["warp_instructions"] / 2)
        self.assertLess(abs(sampled["cycles"] / full["cycles"] - 1), 0.03)
        self.assertGreater(sampling["cycles_margin"], 0)
        for counted in ("thread_instructions", "warp_instructions", "runs", "status"):
            self.assertEqual(sampled["applications"][0][counted], full["applications"][0][counted])
        self.assertEqual({key: value for key, value in sampling["groups"][0].items() if key in sampling and key != "groups"},
                         {key: value for key, value in sampling.items() if key not in ("estimated", "groups")})

    def test_a_short_launch_is_timed(self):
        full, sampled = self.result("short"), self.result("short", "--sample")
        self.assertFalse(sampled.pop("sampling")["estimated"])
        del full["history"]
        self.assertEqual(full, sampled)

    def test_threads_change_nothing(self):
        self.assertEqual(self.result("long", "--sample"), self.result("long", "--sample=error=2%,every=128", "--threads", "2"))

    def test_options_count(self):
        self.assertFalse(self.result("long", "--sample=error=0.0001%")["sampling"]["estimated"])

    def test_kinds_that_take_turns(self):
        full, sampled = self.result("turns"), self.result("turns", "--sample")
        self.assertEqual(sampled["sampling"]["launches"], 120)
        self.assertLess(sampled["sampling"]["launches_timed"], 20)  # the first one, and four of each kind
        self.assertLess(abs(sampled["cycles"] / full["cycles"] - 1), 0.02)

    def test_cold_launches_stand_for_themselves(self):
        full, sampled = self.result("buffers"), self.result("buffers", "--sample")
        self.assertLess(sampled["sampling"]["launches_timed"], 8)
        self.assertLess(abs(sampled["cycles"] / full["cycles"] - 1), 0.01)
        self.assertLess(sampled["sampling"]["cycles_margin"], 0.01 * sampled["sampling"]["cycles"])

    def test_launches_as_long_as_their_longest_warp(self):
        """Frames whose cycles differ by 8 % with the longest reflections, not with all instructions: by those 38 of 40 would be timed."""
        def result(*options):
            done = self.corun("run", "--gpu", "gtx980", "--runs", "1", "--no-cache", "-q", "--json", "-", *options, "ray-tracing@small,frames=40")
            return json.loads(done.stdout)
        full, sampled = result(), result("--sample")
        self.assertLess(sampled["sampling"]["launches_timed"], 10)
        self.assertLess(abs(sampled["cycles"] / full["cycles"] - 1), 0.01)

    def test_time_between_launches(self):
        """Stores of the first launch wait for DRAM: the time until the next one starts tells nothing of later ones."""
        def between(*options):
            done = self.corun("run", "--gpu", "gtx980", "--runs", "1", "--no-cache", "-q", "--json", "-", *options, "stencil@small,steps=30")
            result = json.loads(done.stdout)
            return (result["cycles"] - result["sampling"]["cycles"]) / result["sampling"]["launches"]
        self.assertLess(abs(between("--sample") - between("--sample=error=0.0001%,every=1")), 3)

    def test_launches_behind_some_that_were_not_timed(self):
        """Arrays just larger than the L2: what is left there of the launch before decides. Warmed one thread block after the other, 5 % too fast."""
        def cycles(*options):
            done = self.corun("run", "--gpu", "gtx980", "--runs", "1", "--no-cache", "-q", "--json", "-", *options, "lbm@small,ny=16,nz=8,steps=48")
            return json.loads(done.stdout)["cycles"]
        self.assertLess(abs(cycles("--sample=every=4") / cycles() - 1), 0.03)

    def test_table(self):
        done = self.corun("run", "--gpu", GPU, "--runs", "1", "--no-cache", "--sample", "long.yaml")
        self.assertRegex(done.stdout, r"estimated: \d+ cycles of launches, ± \d+\.\d\d % \(95 %\); \d+\.\d % of the instructions timed")
        self.assertRegex(done.stdout, r"work +2000 +1 +0 +1 +")
        self.assertNotIn("SMs in use", done.stdout)

    def test_a_fault_in_what_is_not_timed(self):
        done = self.run_corun("run", "--gpu", GPU, "--runs", "1", "--no-cache", "-q", "--sample", "late.yaml")
        self.assertEqual(done.returncode, FAULT, done.stderr)
        self.assertIn("thread block (1999,0,0), thread (0,0,0): load of 4 bytes", done.stderr)

    def test_mistakes(self):
        for option in ("--sample=error=0", "--sample=every=0", "--sample=more"):
            self.assertIn("--sample: ", self.corun("run", option, "short.yaml", status=USAGE).stderr)
        for words in (["short.yaml", "long.yaml"], ["-p", "even", "short.yaml"]):
            self.assertIn("sampling is for one application without a policy",
                          self.corun("run", "--sample", "--no-baselines", *words, status=ARGUMENT).stderr)
        self.assertIn("--machine hardware", self.corun("run", "--sample", "--machine", "both", "short.yaml", status=USAGE).stderr)


if __name__ == "__main__":
    InFolder.command = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
