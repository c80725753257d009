#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""corun run --checkpoint and --resume: the same results, the same files, and what is refused. Usage: test_checkpoints.py CORUN [TEST...]"""
import csv
import io
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
import unittest

from programs import InFolder

USAGE, SYNTAX, UNSUPPORTED, NOT_FOUND, ARGUMENT, FAULT, FILE = 2, 3, 4, 5, 6, 8, 13
INTERRUPTED = 130
CHANGING = ("wall_seconds", "warp_instructions_per_second", "baseline_wall_seconds")
CYCLES = 8000
# Not every compiler can clear what lies between the members of a structure (src/base/archive.h).
SAME_BYTES = os.environ.get("CORUN_COMPILER", "GNU") == "GNU"
# Ten runs: alone and together, policies that hand over by draining, switching, swapping, dropping and quotas; atomics, barriers,
# textures, divergence, text, restarts, late arrivals; other GPUs, threads, profiles.
RUNS = (
    ("sgemm@small",),
    ("--policy", "even", "sgemm@small", "histogram@small"),
    ("--policy", "smqos", "sgemm@small:goal=ipc=200", "nbody@small:start=2K", "spmv@small"),
    ("--policy", "smk", "spmv@small", "histogram@small"),
    ("--policy", "spart", "hotspot@small", "sgemm@small:start=3K"),
    ("--policy", "qos-rollover", "sgemm@small:goal=ipc=300", "atax@small"),
    ("--gpu", "quadro-v100:sms=8", "gemm-wmma@small", "radix-sort@small"),
    ("--threads", "2", "monte-carlo@small", "stencil@small"),
    ("--profile", "ray-tracing@small"),
    ("--gpu", "tesla-c2050", "2mm@small", "merge-sort@small"),
)


SAMPLED = (("stencil@small,steps=80",), ("spmv@small,repeats=100",), ("2dconv@medium",), ("cg@small,steps=20",), ("jacobi@small,steps=60",),
           ("lbm@small,steps=60",), ("hotspot@small,steps=60",), ("3dconv@small,ni=60",), ("pathfinder@small,rows=900",),
           ("--gpu", "tesla-c2050", "vector-add@medium"))
SAMPLED_POINTS = 2


def results(text):
    result = json.loads(text)
    for name in CHANGING:
        result.pop(name, None)
    return result


# All warps of two thread blocks on an SM meet at barrier 1, one of each late.
MEETING = """\
.version 6.3
.target sm_52
.address_size 64
.visible .entry meeting(.param .u64 data)
{
    .reg .pred %p<3>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, 300;
    setp.gt.u32 %p1, %r1, 31;
    @%p1 bra MEET;
LOOP:
    sub.u32 %r2, %r2, 1;
    setp.gt.u32 %p2, %r2, 0;
    @%p2 bra LOOP;
MEET:
    bar.sync 1;
    mov.u32 %r3, %clock;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r3;
    ret;
}
"""
MEETING_DESCRIPTION = """\
name: meeting
ptx: meeting.ptx
buffers:
  - {name: data, type: u32, count: 1024, output: true}
launches:
  - {kernel: meeting, grid: 2, block: 1024, arguments: [{buffer: data}]}
"""

# Threads of a warp wait for each other: on both sides of a branch, and in a loop for a lock whose release is behind it.
WAITING = """\
.version 7.0
.target sm_70
.address_size 64
.visible .entry waiting(.param .u64 data)
{
    .reg .pred %p<4>;
    .reg .b32 %r<10>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, 0;
    setp.lt.u32 %p1, %r1, 13;
ROUND:
    @%p1 bra LOW;
    shfl.sync.bfly.b32 %r3, %r1, 16, 31, -1;
    bra TAKE;
LOW:
    mad.lo.u32 %r4, %r1, 3, %r2;
    shfl.sync.bfly.b32 %r3, %r4, 16, 31, -1;
TAKE:
    atom.global.cas.b32 %r5, [%rd1], 0, 1;
    setp.ne.u32 %p2, %r5, 0;
    @%p2 bra TAKE;
    ld.volatile.global.u32 %r6, [%rd1+4];
    mad.lo.u32 %r6, %r6, 3, %r3;
    st.volatile.global.u32 [%rd1+4], %r6;
    membar.gl;
    atom.global.exch.b32 %r5, [%rd1], 0;
    add.u32 %r2, %r2, 1;
    setp.lt.u32 %p3, %r2, 4;
    @%p3 bra ROUND;
    ret;
}
"""
WAITING_DESCRIPTION = """\
name: waiting
ptx: waiting.ptx
buffers:
  - {name: data, type: u32, count: 64, output: true, initial: zero}
launches:
  - {kernel: waiting, grid: 3, block: 64, arguments: [{buffer: data}]}
"""

# Every thread block has 4 KiB of its own: loaded, changed, stored in bulk, and added to what all share, three groups under way.
COPYING = """\
.version 8.0
.target sm_90
.address_size 64
.visible .entry copying(.param .u64 data, .param .u64 sums)
{
    .reg .pred %p<4>;
    .reg .b32 %r<10>;
    .reg .b64 %rd<8>;
    .shared .align 128 .b8 room[4096];
    .shared .align 8 .b64 bar;
    ld.param.u64 %rd1, [data];
    ld.param.u64 %rd2, [sums];
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %ctaid.x;
    mul.wide.u32 %rd3, %r2, 4096;
    add.s64 %rd3, %rd1, %rd3;
    setp.ne.u32 %p1, %r1, 0;
    mov.u32 %r3, 0;
    @!%p1 mbarrier.init.shared::cta.b64 [bar], 1;
    bar.sync 0;
ROUND:
    @%p1 bra WAIT;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 4096;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [room], [%rd3], 4096, [bar];
WAIT:
    and.b32 %r4, %r3, 1;
LOOK:
    mbarrier.try_wait.parity.shared::cta.b64 %p2, [bar], %r4;
    @!%p2 bra LOOK;
    mov.u32 %r5, room;
    mad.lo.u32 %r5, %r1, 16, %r5;
    ld.shared.u32 %r6, [%r5];
    add.u32 %r6, %r6, %r2;
    st.shared.u32 [%r5], %r6;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    @%p1 bra NEXT;
    cp.async.bulk.global.shared::cta.bulk_group [%rd3], [room], 4096;
    cp.async.bulk.commit_group;
    cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd2+64], [room], 2048;
    cp.async.bulk.commit_group;
    cp.reduce.async.bulk.global.shared::cta.bulk_group.max.u32 [%rd2+4096], [room+2048], 256;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group.read 1;
    cp.async.bulk.wait_group 0;
NEXT:
    bar.sync 0;
    add.u32 %r3, %r3, 1;
    setp.lt.u32 %p3, %r3, 6;
    @%p3 bra ROUND;
    ret;
}
"""
COPYING_DESCRIPTION = """\
name: copying
ptx: copying.ptx
buffers:
  - {name: data, type: u32, count: 65536, output: true, initial: iota}
  - {name: sums, type: u32, count: 2048, output: true}
launches:
  - {kernel: copying, grid: 64, block: 256, arguments: [{buffer: data}, {buffer: sums}]}
"""


class Saved(InFolder):
    def run_case(self, case, *options, cycles=CYCLES, status=0):
        """Results and messages; nothing for the former where the case could not be run."""
        done = self.corun("run", "-q", "--no-baselines", "--console", "none", "--cycles", str(cycles), "--json", "-", *options,
                          *case, status=status)
        return results(done.stdout) if done.stdout else None, done.stderr

    def bytes_of(self, name):
        return (self.folder / name).read_bytes()

    def compare(self, points, run, end=CYCLES, jumps=False):
        """Saves at each point, goes on from there, and looks at results and at the state half of the points later, which a run from the beginning has
        saved too. run(*options): what is to be the same. `jumps`: a step can lead past the points, or to the end."""
        whole = run()
        known = [*points, points[0] + (end - points[0]) // 2] if len(points) == 1 else points
        for point in known:
            with self.subTest(saved=point):
                self.assertEqual(run("--checkpoint", f"at-{point}@{point}"), whole, "saving changes the run")
                self.assertTrue(jumps or (self.folder / f"at-{point}").exists())
        for i, point in enumerate(points):
            later = known[min(i + max(len(known) // 2, 1), len(known) - 1)]
            with self.subTest(resumed=point, later=later):
                if jumps and not (self.folder / f"at-{point}").exists():
                    continue
                saves = ("--checkpoint", f"again@{later}") if later > point else ()
                self.assertEqual(run("--resume", f"at-{point}", *saves), whole)
                states = [(self.folder / name) for name in ("again", f"at-{later}")]
                if saves and SAME_BYTES and (not jumps or all(state.exists() for state in states)):
                    self.assertTrue(states[0].read_bytes() == states[1].read_bytes(), f"the states at {later} differ")
                states[0].unlink(missing_ok=True)
        for point in known:
            (self.folder / f"at-{point}").unlink(missing_ok=True)

    def compare_results(self, case, points, cycles=CYCLES, jumps=False):
        with self.subTest(case=case):
            self.compare(points, lambda *options: self.run_case(case, *options, cycles=cycles), cycles, jumps)


class Quick(Saved):
    """One checkpoint and one resume for each kind of run, to be run while one works; the other classes take minutes."""

    CYCLES = 4000

    def goes_on(self, *case, cycles=CYCLES, at=CYCLES // 2):
        whole = self.run_case(case, cycles=cycles)
        self.assertEqual(self.run_case(case, "--checkpoint", f"quick@{at}", cycles=cycles), whole, "saving changes the run")
        self.assertEqual(self.run_case(case, "--resume", "quick", cycles=cycles), whole)
        (self.folder / "quick").unlink()

    def test_alone(self):
        self.goes_on("sgemm@small")

    def test_a_policy(self):
        self.goes_on("--policy", "spart", "hotspot@small", "sgemm@small:start=1K")

    def test_goals(self):
        self.goes_on("--policy", "smqos", "sgemm@small:goal=ipc=200", "nbody@small:start=1K")

    def test_bulk_copies(self):
        (self.folder / "copying.ptx").write_text(COPYING)
        (self.folder / "copying.yaml").write_text(COPYING_DESCRIPTION)
        self.goes_on("--gpu", "h100:sms=4", "copying.yaml")

    def test_threads_that_wait_for_each_other(self):
        (self.folder / "waiting.ptx").write_text(WAITING)
        (self.folder / "waiting.yaml").write_text(WAITING_DESCRIPTION)
        for at in (120000, 300001):  # while the first wait in the loop, and when turns have been taken
            self.goes_on("--gpu", "gtx980:sms=4", "waiting.yaml", cycles=400000, at=at)

    def test_products_under_way(self):
        self.goes_on("--gpu", "h100:sms=4", "--policy", "even", "gemm-wgmma@small", "histogram@small")

    def test_a_trace_of_machine_code(self):
        self.corun("export", "--trace", "atax@small", "atax")
        self.goes_on("--policy", "even", "trace:atax", "sgemm@small")

    def test_a_sampled_run(self):
        self.goes_on("--sample", *SAMPLED[0], cycles=50000, at=20000)

    def test_timeline_and_trace(self):
        self.goes_on("--timeline", "t.json", "--trace", "t.txt:1K-3K", "--policy", "even", "sgemm@small", "histogram@small")


class Checkpoints(Saved):
    programs = {"outside": {"rounds": 1, "kernel": "outside"}, "work": {"rounds": 200, "grid": 400, "count": 51200}}

    def test_cycles_of_ten_runs(self):
        """As many as CORUN_TEST_RUNS says of each."""
        chance, count = random.Random(22), max(4, int(os.environ.get("CORUN_TEST_RUNS", "0")))
        for case in RUNS:
            self.compare_results(case, sorted(chance.sample(range(1, CYCLES - 1000), 10)[:count]))

    def test_thread_blocks_that_went_and_came_back(self):
        self.compare_results(RUNS[4], [5539])

    def test_products_under_way(self):
        """Groups of a warpgroup's products, and warps that wait for the others of theirs."""
        chance = random.Random(27)
        case = ("--gpu", "h100:sms=4", "--policy", "even", "gemm-wgmma@small", "histogram@small")
        self.compare_results(case, sorted(chance.sample(range(1, CYCLES - 1000), 4)))

    def test_garbage_where_nothing_was_written(self):
        chance = random.Random(23)
        self.environment["MALLOC_PERTURB_"] = "165"
        try:
            for case in RUNS[:6]:
                self.compare_results(case, [chance.randrange(1, CYCLES - 1000)])
        finally:
            del self.environment["MALLOC_PERTURB_"]

    def test_runs_and_baselines(self):
        options = ("--runs", "3", "--json", "-", "-q", "work.yaml")
        whole = results(self.corun("run", *options).stdout)
        whole["applications"][0].pop("isolated_from_cache", None)
        for cycle in (3000, 20000):
            saved = self.corun("run", "--checkpoint", f"work.ck@{cycle}", *options)
            self.assertEqual(json.loads(saved.stdout)["cycles"], whole["cycles"])
            again = results(self.corun("run", "--resume", "work.ck", *options).stdout)
            again["applications"][0].pop("isolated_from_cache", None)
            self.assertEqual(again, whole)

    def test_a_stopped_application_stays_stopped(self):
        case = ("outside.yaml", "sgemm@small")
        whole = self.run_case(case, status=FAULT)
        self.assertIn("outside", whole[1])
        self.assertEqual(self.run_case(case, "--checkpoint", "fault.ck@7K", status=FAULT), whole)
        self.assertEqual(self.run_case(case, "--resume", "fault.ck", status=FAULT), whole)

    def test_a_barrier_that_all_but_one_have_reached(self):
        (self.folder / "meeting.ptx").write_text(MEETING)
        (self.folder / "meeting.yaml").write_text(MEETING_DESCRIPTION)
        chance = random.Random(26)
        self.compare_results(("--gpu", "gtx980:sms=1", "meeting.yaml"), sorted(chance.sample(range(1, CYCLES - 1000), 10)))

    def test_sampled_runs(self):
        """Launches that are skipped, thread blocks that are, kinds of launches, and runs that begin anew."""
        chance, cycles = random.Random(29), 200000
        for case in SAMPLED:
            points = sorted(chance.sample(range(1, cycles - 1000), SAMPLED_POINTS))
            self.compare_results(("--sample", *case), points, cycles, jumps=True)
        self.run_case(("--sample", *SAMPLED[0]), "--checkpoint", "kept@4K")
        self.refused(ARGUMENT, "its sampling was error=20000/1000000,every=128, and is none now", "--resume", "kept", *SAMPLED[0])

    def test_traces_of_machine_code(self):
        for workload in ("stencil@small,steps=1", "atax@small,ny=64", "pathfinder@small,rows=25"):  # more of them than 8000 cycles need
            self.corun("export", "--trace", workload, workload.split("@")[0])
        cases = (("trace:atax",), ("nbody@small",), ("trace:pathfinder:start=2K",), ("trace:atax", "trace:pathfinder"))
        runs = [("--policy", policy, "trace:stencil", *case) for policy in ("even", "smk") for case in cases]
        runs += [("trace:pathfinder",), ("--gpu", "quadro-v100:sms=8", "--policy", "spart", "trace:atax", "trace:stencil:start=1K")]
        chance = random.Random(27)
        for case in runs:
            self.compare_results(case, [chance.randrange(1, CYCLES - 1000)])

    def test_bulk_copies_under_way(self):
        (self.folder / "copying.ptx").write_text(COPYING)
        (self.folder / "copying.yaml").write_text(COPYING_DESCRIPTION)
        chance = random.Random(27)
        self.compare_results(("--gpu", "h100:sms=4", "copying.yaml"), sorted(chance.sample(range(1, CYCLES - 1000), 10)))
        self.compare_results(("--gpu", "h100:sms=4", "--policy", "spart", "copying.yaml", "sgemm@small:start=1K"), [2500, 5000])
        for case in (("--gpu", "h100:sms=4", "copying.yaml"), ("--policy", "smqos", "copying.yaml:goal=ipc=50", "sgemm@small")):
            one, three = self.run_case(case)[0], self.run_case((*case, "--threads", "3"))[0]
            self.assertEqual((one.pop("threads"), three.pop("threads")), (1, 3))
            self.assertEqual(one, three)

    def test_a_fault_while_bulk_copies_are_under_way(self):
        waits = "    cp.async.bulk.wait_group.read 1;\n    cp.async.bulk.wait_group 0;\nNEXT:\n"
        self.assertIn(waits, COPYING)
        (self.folder / "copying.ptx").write_text(COPYING.replace(waits, "NEXT:\n    setp.eq.u32 %p3, %r2, 9;\n    @%p3 trap;\n"))
        (self.folder / "copying.yaml").write_text(COPYING_DESCRIPTION)
        case = ("--gpu", "h100:sms=4", "--policy", "even", "copying.yaml", "sgemm@small")
        whole = self.run_case(case, status=FAULT)
        self.assertIn("thread block (9,0,0)", whole[1])
        for cycle in (1000, 4000):
            self.assertEqual(self.run_case(case, "--checkpoint", f"fault.ck@{cycle}", status=FAULT), whole)
            self.assertEqual(self.run_case(case, "--resume", "fault.ck", status=FAULT), whole)

    OBSERVED = ("--timeline", "t.json", "--trace", "t.txt:2K-6K")

    def observed(self, case, *options, files=OBSERVED, status=0):
        """Results, timeline and trace of a run."""
        found = self.run_case(case, *files, *options, status=status)[0]
        return found, self.bytes_of("t.json"), self.bytes_of("t.txt")

    def test_timeline_and_trace(self):
        chance = random.Random(25)
        for case in RUNS:
            with self.subTest(case=case):
                self.compare(sorted(chance.sample(range(1, CYCLES - 1000), 3)), lambda *options: self.observed(case, *options))  # pylint: disable=cell-var-from-loop

    def test_a_timeline_that_is_thinned_out(self):
        case, files = RUNS[2], ("--timeline", "t.json:1K-7K", "--timeline-limit", "1K", "--timeline-interval", "200", "--trace", "t.txt")
        whole = self.observed(case, files=files)
        for cycle in (700, 3300, 7400):
            self.observed(case, "--checkpoint", f"thin@{cycle}", files=files)
            self.assertEqual(self.observed(case, "--resume", "thin", files=files), whole)

    def test_the_trace_is_cut_back(self):
        case, place = RUNS[1], self.folder / "t.txt"
        whole = self.observed(case, "--checkpoint", "cut@4K")
        lines = whole[2].splitlines(keepends=True)
        kept = next(i for i, line in enumerate(lines[1:], 1) if int(line.split()[0]) >= 5000)  # certainly after the checkpoint
        for left in (b"".join(lines[:kept]) + b"5000 1 2 ha", whole[2] + b"more than there was"):
            place.write_bytes(left)
            self.assertEqual(self.observed(case, "--resume", "cut"), whole)
        for left in (b"", lines[0], whole[2][:200] + b"X" + whole[2][201:]):
            place.write_bytes(left)
            done = self.run_case(case, *self.OBSERVED, "--resume", "cut", status=ARGUMENT)
            self.assertIn("the file of the trace does not begin with", done[1])
            self.assertEqual(place.read_bytes(), left)
        place.unlink()
        self.run_case(case, *self.OBSERVED, "--resume", "cut", status=ARGUMENT)

    def test_what_is_observed_stays_the_same(self):
        case = RUNS[1]
        self.observed(case, "--checkpoint", "seen@4K")
        for files, text in ((("--timeline", "t.json"), "its trace was of 2000-6000, and is none now"),
                            (("--trace", "t.txt:2K-6K"), "its timeline was of 0-"),
                            (("--timeline", "t.json", "--trace", "t.txt:2K-7K"), "its trace was of 2000-6000, and is of 2000-7000 now"),
                            ((*self.OBSERVED, "--timeline-interval", "2K"), "every 1000, 250000 events, and is of 0-")):
            with self.subTest(files=files):
                self.refused(ARGUMENT, text, *files, "--resume", "seen", *case)
        for place, text in (("-", "trace goes to standard output"), ("/dev/null", "trace goes to /dev/null")):
            self.refused(UNSUPPORTED, text, "--trace", place, "--checkpoint", "no.ck@1K", *case)

    def test_the_same_command_again_and_again(self):
        case = ("--policy", "even", "sgemm@small", "nbody@small")
        whole = self.run_case(case)
        options = ("--checkpoint", "again.ck", "--checkpoint-every", "3K", "--resume", "again.ck")
        self.assertEqual(self.run_case(case, *options), whole)
        self.assertTrue((self.folder / "again.ck").exists())
        self.assertEqual(self.run_case(case, *options), whole)
        self.assertEqual([path.name for path in self.folder.glob("*.part")], [])

    def test_sigterm_saves(self):
        case = ("--gpu", "gtx980:sms=4", "sgemm@small")
        cycles, file = 2000000, self.folder / "term.ck"
        command = [self.command, "run", "-q", "--no-baselines", "--cycles", str(cycles), "--checkpoint", "term.ck@50K", "--resume",
                   "term.ck", "--json", "term.json", *case]
        with subprocess.Popen(command, cwd=self.folder, env=self.environment, stderr=subprocess.PIPE) as process:
            while not file.exists() and process.poll() is None:  # then the shared run is under way
                time.sleep(0.01)
            first = file.read_bytes()
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=100)
        self.assertEqual(process.returncode, INTERRUPTED)
        self.assertNotEqual(file.read_bytes(), first)
        self.assertTrue(json.loads((self.folder / "term.json").read_text())["interrupted"])
        self.assertEqual(self.run_case(case, "--resume", "term.ck", cycles=cycles), self.run_case(case, cycles=cycles))

    def test_a_cycle_that_does_not_come_is_told_of(self):
        """There is no file then, which the next command would go on from; one that has passed already is no mistake."""
        case = ("run", "-q", "--no-baselines", "--cycles", "10K", "sgemm@small")
        text = "late.ck: warning: no state of cycle 11000 was saved: the run ended at cycle 10000"
        self.assertIn(text, self.corun(*case, "--checkpoint", "late.ck@11K").stderr)
        self.assertFalse((self.folder / "late.ck").exists())
        self.assertEqual(self.corun(*case, "--checkpoint", "soon.ck@4K").stderr, "")
        self.assertEqual(self.corun(*case, "--checkpoint", "soon.ck@4K", "--resume", "soon.ck").stderr, "")

    def refused(self, status, text, *arguments, cycles=CYCLES):
        done = self.corun("run", "-q", "--no-baselines", "--cycles", str(cycles), *arguments, status=status)
        self.assertIn(text, done.stderr)

    def test_another_case_is_refused(self):
        self.run_case(("--policy", "even", "sgemm@small", "nbody@small"), "--checkpoint", "other.ck@4K")
        pair = ("sgemm@small", "nbody@small")
        rows = ((("--policy", "smk", *pair), "its policy was even, and is smk now"),
                (("--policy", "even:exclusive=off", *pair), "a parameter of its policy is not what it was"),
                (("--policy", "even", "sgemm@small", "spmv@small"), "the name of application 2 was nbody, and is spmv now"),
                (("--policy", "even", "sgemm@medium", "nbody@small"), "application 1 is not what it was"),
                (("--policy", "even", "sgemm@small"), "the number of its applications was 2, and is 1 now"),
                (("--policy", "even", "--seed", "2", *pair), "its seed was 1, and is 2 now"),
                (("--policy", "even", "--gpu", "h100", *pair), "the name of its GPU was gtx980, and is h100 now"),
                (("--policy", "even", "--gpu", "gtx980:l2_latency=99", *pair),
                 "the name of its GPU was gtx980, and is gtx980:l2_latency=99 now"))
        for arguments, text in rows:
            with self.subTest(arguments=arguments):
                self.refused(ARGUMENT, text, "--resume", "other.ck", *arguments)
        self.refused(ARGUMENT, "its window in cycles was 8000, and is 9000 now", "--resume", "other.ck", "--policy", "even", *pair,
                     cycles=9000)

    def test_what_cannot_be_saved_is_refused(self):
        self.refused(USAGE, "--machine hardware", "--machine", "software", "--checkpoint", "no.ck", "work.yaml")
        self.refused(USAGE, "--checkpoint-every wants --checkpoint FILE", "--checkpoint-every", "1K", "work.yaml")
        self.refused(USAGE, "the name of the file is missing", "--checkpoint", "@1K", "work.yaml")
        self.assertFalse((self.folder / "no.ck").exists())

    def test_a_place_for_none_is_refused_before_the_work(self):
        (self.folder / "kept.txt").write_text("a letter\n")
        (self.folder / "folder").mkdir()
        for status, text, place in ((FILE, "no checkpoint can be written: /nowhere/x.ck: No such file", "/nowhere/x.ck"),
                                    (FILE, "no checkpoint can be written: folder is a folder", "folder"),
                                    (FILE, "no checkpoint can be written: /dev/null is no plain file", "/dev/null"),
                                    (FILE, "kept.txt is there and is no checkpoint", "kept.txt"),
                                    (USAGE, "work.yaml is read: it is not replaced", "work.yaml"),
                                    (USAGE, "--json and --checkpoint cannot both go to same.json", "same.json")):
            self.refused(status, text, "--json", "same.json", "--checkpoint", place, "--cycles", "100M", "work.yaml")
        self.assertEqual((self.folder / "kept.txt").read_text(), "a letter\n")
        (self.folder / "empty.ck").touch()
        self.run_case(("work.yaml",), "--checkpoint", "empty.ck@4K")
        self.assertTrue(self.bytes_of("empty.ck"))
        self.assertEqual([path.name for path in self.folder.iterdir() if path.name.endswith(".part")], [])

    def test_files_that_are_none(self):
        self.refused(NOT_FOUND, "checkpoint nowhere.ck: No such file", "--resume", "nowhere.ck", "work.yaml")
        self.run_case(("work.yaml",), "--checkpoint", "good.ck@4K")
        good = self.bytes_of("good.ck")
        chance = random.Random(24)
        damaged = {b"": "it is no checkpoint", b"{}\n" * 100: "it is no checkpoint", good[:60]: "it ends too soon",
                   good[:-1]: "its checksum is wrong", good + b"x": "its checksum is wrong"}
        for _ in range(10):
            at = chance.randrange(40, len(good))
            damaged[good[:at] + bytes([good[at] ^ 1 << chance.randrange(8)]) + good[at + 1:]] = "its checksum is wrong"
        for data, text in damaged.items():
            (self.folder / "bad.ck").write_bytes(data)
            self.refused(SYNTAX, text, "--resume", "bad.ck", "work.yaml")
        self.refused(FILE, "/nowhere/x.ck", "--checkpoint", "/nowhere/x.ck@4K", "work.yaml")


CAMPAIGN = """\
name: slow
gpus: ["gtx980:sms=4"]
policies: [left-over]
cycles: 5M
cases:
  - [./work.yaml]
"""


class Campaigns(InFolder):
    programs = {"work": {"rounds": 200, "grid": 400, "count": 51200}}

    def setUp(self):
        (self.folder / "slow.yaml").write_text(CAMPAIGN)

    def states(self):
        return list((self.folder / "states").glob("*.ck"))

    def kill_in_the_midst(self, *options):
        """Starts it, and ends it and its worker at once when a state has been written: whose that is."""
        with subprocess.Popen([self.command, "campaign", "-q", *options], cwd=self.folder, env=self.environment) as process:
            while not self.states() and process.poll() is None:
                time.sleep(0.01)
            process.kill()
        self.assertEqual(len(self.states()), 1, "it was done before a state was written")
        return self.states()[0]

    def results_of(self, file):
        text = self.corun("query", "-r", file, "--csv", "SELECT result FROM cases").stdout
        return [results(row[0]) for row in list(csv.reader(io.StringIO(text)))[1:]]

    def test_a_case_that_was_killed_goes_on(self):
        options = ("--checkpoints", "states", "slow.yaml", "-r")
        state = self.kill_in_the_midst("--checkpoint-every", "1s", *options, "kept.db")
        kept = state.read_bytes()
        self.assertEqual(self.rows("kept.db"), [])
        state.write_bytes(kept[:-1])  # which is no state: the case begins anew
        self.corun("campaign", "-q", *options, "once.db")
        self.assertEqual(self.rows("once.db"), ["finished"])
        self.assertEqual(self.states(), [])
        self.corun("run", "-q", "--no-baselines", "--cycles", "9K", "--checkpoint", f"{state}@2K", "work.yaml")
        self.corun("campaign", "-q", *options, "kept.db")  # it looks at the state, which is of something else
        self.assertEqual(self.rows("kept.db"), ["failed"])
        state.write_bytes(kept)
        self.corun("campaign", "-q", "--retry", *options, "kept.db")
        self.assertEqual(self.rows("kept.db"), ["finished"])
        self.assertEqual(self.states(), [])
        self.assertEqual(self.results_of("kept.db"), self.results_of("once.db"))

    def test_what_cannot_be_saved_runs_without(self):
        tree = pathlib.Path(__file__).resolve().parents[2]
        subprocess.run([os.environ.get("CC", "cc"), "-std=c17", "-shared", "-fPIC", "-D_GNU_SOURCE", f"-I{tree}/include",
                        f"{tree}/examples/policy/fair_turns.c", "-o", self.folder / "mine.so"], check=True)
        (self.folder / "mine.yaml").write_text(
            "name: mine\ngpus: [gtx980]\npolicies: [./mine.so]\ncycles: 5K\ncases:\n  - [sgemm@small, nbody@small]\n")
        self.corun("campaign", "-q", "--checkpoints", "states", "-r", "mine.db", "mine.yaml")
        self.assertEqual(set(self.rows("mine.db")), {"finished"})  # with the runs alone
        self.assertEqual(self.states(), [])

    def rows(self, file):
        return self.corun("query", "-r", file, "--csv", "SELECT status FROM cases").stdout.splitlines()[1:]

    def test_mistakes(self):
        for options, text in ((("--checkpoint-every", "5s"), "needs --checkpoints"),
                              (("--checkpoints", "states", "--checkpoint-every", "5"), "a time like 90s, 30m or 1h"),
                              (("--checkpoints", ""), "--checkpoints")):
            self.assertIn(text, self.corun("campaign", *options, "slow.yaml", status=USAGE).stderr)
        self.corun("campaign", "-q", "--checkpoints", "slow.yaml/states", "-r", "none.db", "slow.yaml", status=FILE)


if __name__ == "__main__":
    InFolder.command = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
