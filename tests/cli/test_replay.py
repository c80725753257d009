#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""corun run --replay: the same results, what is refused, what a damaged record does. Usage: test_replay.py CORUN [TEST...]"""
import json
import pathlib
import shutil
import sqlite3
import sys
import unittest

from programs import InFolder

USAGE, UNSUPPORTED, ARGUMENT, FAULT, FILE = 2, 4, 6, 8, 13
CHANGING = ("wall_seconds", "warp_instructions_per_second", "baseline_wall_seconds")
# Alone and together, policies that hand over by draining, switching, swapping, dropping and quotas; atomics, barriers, textures, local
# memory, divergence, restarts, late arrivals; other GPUs, threads, profiles.
RUNS = (
    ("--policy", "even", "sgemm@small", "histogram@small"),
    ("--policy", "smqos", "sgemm@small:goal=ipc=50", "nbody@small:start=2K", "spmv@small"),
    ("--policy", "smk", "spmv@small", "tpacf@small"),
    ("--policy", "spart", "hotspot@small", "sgemm@small:start=3K"),
    ("--policy", "qos-rollover", "sgemm@small:goal=80%", "atax@small"),
    ("--policy", "time-slice:slice=10K", "ray-tracing@small", "cutcp@small"),
    ("--policy", "time-slice:slice=10K,reclaim=drop", "vector-add@small", "matmul@small"),
    ("--policy", "time-slice:slice=10K,reclaim=drain", "pathfinder@small", "denoise@small"),
    ("--gpu", "quadro-v100:sms=8", "gemm-wmma@small", "radix-sort@small"),
    ("--gpu", "h100:sms=8", "gemm-mma@small", "attention@small"),
    ("--gpu", "gtx980:l2=256K,l1=0", "merge-sort@small", "sgemm@small"),
    ("--threads", "2", "monte-carlo@small", "stencil@small"),
    ("--profile", "fractal-flame@small"),
    ("--gpu", "tesla-c2050", "2mm@small", "jpeg-decode@small"),
)

HEAD = ".version 6.3\n.target sm_52\n.address_size 64\n"
# %r1 is the thread in its grid, %rd1 where the data are, %rd2 that of the thread.
ENTRY = """.visible .entry {name}(.param .u64 data)
{{
    .reg .pred %p<4>;
    .reg .b32 %r<16>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<12>;
    .shared .align 4 .b8 room[1024];
    .local .align 4 .b8 stack[64];
    ld.param.u64 %rd1, [data];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r1, %r2, %r3, %r4;
    mul.wide.u32 %rd3, %r1, 4;
    add.s64 %rd2, %rd1, %rd3;
    mov.u64 %rd4, room;
    mul.wide.u32 %rd5, %r4, 4;
    add.s64 %rd6, %rd4, %rd5;
{body}
    ret;
}}
"""
BODIES = {
    "clock": "    mov.u32 %r5, %clock;\n    st.global.u32 [%rd2], %r5;",
    "sm": "    mov.u32 %r5, %smid;\n    st.global.u32 [%rd2], %r5;",
    "ticket": "    atom.global.add.u32 %r5, [%rd1], 1;\n    st.global.u32 [%rd2+64], %r5;",
    "shared_ticket": "    atom.shared.add.u32 %r5, [room], 1;\n    st.global.u32 [%rd2], %r5;",
    "neighbour": "    st.global.u32 [%rd2], %r1;\n    ld.global.u32 %r5, [%rd2+512];\n    st.global.u32 [%rd2], %r5;",
    "first": """    ld.global.u32 %r5, [%rd1];
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra DONE;
    st.global.u32 [%rd1], %r1;
DONE:""",
    "race": """    st.shared.u32 [%rd6], %r1;
    xor.b32 %r5, %r4, 32;
    mul.wide.u32 %rd7, %r5, 4;
    add.s64 %rd8, %rd4, %rd7;
    ld.shared.u32 %r6, [%rd8];
    st.global.u32 [%rd2], %r6;""",
    "exchange": """    st.shared.u32 [%rd6], %r1;
    bar.sync 0;
    xor.b32 %r5, %r4, 32;
    mul.wide.u32 %rd7, %r5, 4;
    add.s64 %rd8, %rd4, %rd7;
    ld.shared.u32 %r6, [%rd8];
    st.global.u32 [%rd2], %r6;""",
    "float_sum": "    mov.f32 %f1, 0f3F800000;\n    red.global.add.f32 [%rd1], %f1;",
    "whole_sum": "    red.global.add.u32 [%rd1], %r4;",
    "both_sums": "    red.global.add.u32 [%rd1], 1;\n    red.global.max.u32 [%rd1], %r1;",
    "all_store": "    st.global.u32 [%rd1], %r1;",
    "unused": "    atom.shared.add.u32 %r5, [room], 1;\n    atom.global.max.u32 %r6, [%rd1], %r1;",
    "load": "    ld.global.u32 %r5, [%rd1];\n    st.global.u32 [%rd2+64], %r5;",
    # Lanes go to shared, local and global memory with one instruction.
    "mixed": """    and.b32 %r5, %r4, 3;
    cvta.shared.u64 %rd7, %rd6;
    mov.u64 %rd8, stack;
    cvta.local.u64 %rd9, %rd8;
    setp.eq.u32 %p1, %r5, 0;
    setp.eq.u32 %p2, %r5, 1;
    selp.b64 %rd10, %rd7, %rd2, %p1;
    selp.b64 %rd10, %rd9, %rd10, %p2;
    mov.u32 %r7, 0;
AGAIN:
    st.u32 [%rd10], %r1;
    ld.u32 %r6, [%rd10];
    mul.lo.u32 %r8, %r7, 4;
    and.b32 %r8, %r8, 63;
    cvt.u64.u32 %rd11, %r8;
    add.s64 %rd11, %rd8, %rd11;
    st.local.u32 [%rd11], %r6;
    @!%p1 bra NEXT;
    ld.local.u32 %r6, [%rd11];
NEXT:
    add.u32 %r7, %r7, 1;
    setp.lt.u32 %p3, %r7, 200;
    @%p3 bra AGAIN;
    st.global.u32 [%rd2], %r6;""",
}
DESCRIPTION = """name: {name}
ptx: all.ptx
sizes: {{small: {{}}}}
buffers:
  - {{name: data, type: u32, count: 16384, initial: zero}}
launches:
"""
LAUNCH = "  - {{kernel: {kernel}, grid: {grid}, block: {block}, arguments: [{{buffer: data}}]}}\n"
# What is said of launches of these kernels, one after the other; None: they are replayed. A kernel alone has 32 thread blocks of 128 threads.
PROGRAMS = {
    "clock": (["clock"], "it reads a clock, its SM or its warp slot (all.ptx:"),
    "sm": (["sm"], "it reads a clock, its SM or its warp slot"),
    "ticket": (["ticket"], "it uses what an atomic gives back"),
    "shared_ticket": (["shared_ticket"], "it uses what an atomic gives back"),
    "neighbour": (["neighbour"], "what it loads depends on when another thread block stores it"),
    "first": (["first"], "what it loads depends on when another "),
    "race": (["race"], "what it loads depends on when another warp stores it, with no barrier between them"),
    "exchange": (["exchange"], None),
    "float_sum": (["float_sum"], None),
    "float_sum_loaded": (["float_sum", "load"], "depends on the order in which it was stored, or in which atomics came"),
    "whole_sum": (["whole_sum", "load"], None),
    "both_sums": (["both_sums", "load"], "depends on the order in which it was stored, or in which atomics came"),
    "all_store": (["all_store", "load"], "depends on the order in which it was stored, or in which atomics came"),
    "unused": (["unused"], None),
    "mixed": (["mixed"], None),
}


def results(text):
    result = json.loads(text)
    for name in CHANGING:
        result.pop(name, None)
    return result


class Replays(InFolder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        text = HEAD + "".join(ENTRY.format(name=name, body=body) for name, body in BODIES.items())
        (cls.folder / "all.ptx").write_text(text)
        for name, (kernels, _) in PROGRAMS.items():
            launches = "".join(LAUNCH.format(kernel=kernel, grid=1 if kernel == "load" else 32, block=32 if kernel == "load" else 128)
                               for kernel in kernels)
            (cls.folder / f"{name}.yaml").write_text(DESCRIPTION.format(name=name) + launches)

    def outcome(self, *arguments):
        done = self.corun("run", "--no-cache", "--json", "-", *arguments)
        return results(done.stdout), done.stderr

    def compare(self, *arguments, folder="records"):
        """Executed, recorded and replayed, and replayed once more. What was said of the record each time."""
        executed, _ = self.outcome(*arguments)
        first, said = self.outcome("--replay", folder, *arguments)
        self.assertEqual(executed, first, arguments)
        second, again = self.outcome("--replay", folder, *arguments)
        self.assertEqual(executed, second, arguments)
        return said, again

    def records(self, folder="records"):
        return sorted((self.folder / folder).glob("*.record"))


class Suite(Replays):
    def test_runs(self):
        for arguments in RUNS:
            with self.subTest(arguments=arguments):
                said, again = self.compare("--cycles", "40K", *arguments)
                self.assertNotIn("executed", said + again)

    def test_several_runs_of_one_application(self):
        """Runs that start over take their launches from the record again."""
        said, _ = self.compare("--runs", "3", "vector-add@small,n=20K", "2mm@small")
        self.assertNotIn("executed", said)

    def test_what_observers_write(self):
        options = ("run", "--quiet", "--no-cache", "--cycles", "6K", "--policy", "even")
        for replay in ((), ("--replay", "records"), ("--replay", "records")):
            name = "replayed" if replay else "executed"
            self.corun(*options, *replay, "--trace", f"{name}.txt", "--timeline", f"{name}.json", "sgemm@small", "cutcp@small")
        for ending in ("txt", "json"):
            self.assertGreater((self.folder / f"executed.{ending}").stat().st_size, 10000)
            self.assertEqual((self.folder / f"executed.{ending}").read_bytes(), (self.folder / f"replayed.{ending}").read_bytes())

    def test_long_thread_blocks_come_in_pieces(self):
        self.compare("--cycles", "300K", "pointer-chasing@small", folder="pieces")
        (record,) = self.records("pieces")
        self.assertGreater(record.stat().st_size, 1000)


class Refused(Replays):
    def test_programs(self):
        for name, (_, why) in PROGRAMS.items():
            with self.subTest(name=name):
                said, again = self.compare("--cycles", "30K", f"./{name}.yaml", folder=name)
                if why:
                    self.assertIn(f"./{name}.yaml is executed, not replayed: kernel ", said)
                    self.assertIn(why, said)
                    self.assertEqual(said, again)
                    self.assertEqual(self.records(name), [])
                else:
                    self.assertEqual(said + again, "")
                    self.assertEqual(len(self.records(name)), 1)

    def test_products_that_read_shared_memory(self):
        """Which bytes they read is not known, so others may not store any."""
        said, _ = self.compare("--cycles", "10K", "--gpu", "h100:sms=8", "gemm-wgmma@small", folder="products")
        self.assertIn("what a product reads of shared memory depends on when another warp stores it (gemm-wgmma.ptx:", said)

    def test_thread_blocks_that_move(self):
        """Local memory lies where a thread block started, also when it continues elsewhere."""
        for reclaim in ("switch", "drain"):
            said, _ = self.compare("--cycles", "80K", "--policy", f"time-slice:slice=10K,reclaim={reclaim}", "./mixed.yaml",
                                   "sgemm@small", folder="moved")
            self.assertEqual(said, "")

    def test_other_ways(self):
        done = self.corun("run", "--replay", "r", "--sample", "sgemm@small", status=ARGUMENT)
        self.assertIn("replay or sample", done.stderr)
        done = self.corun("run", "--replay", "r", "--checkpoint", "state", "sgemm@small", status=UNSUPPORTED)
        self.assertIn("there are no checkpoints of a run that is replayed", done.stderr)
        self.corun("run", "--replay", "", "sgemm@small", status=USAGE)
        done = self.corun("run", "--replay", "r", "--machine", "both", "sgemm@small", status=USAGE)
        self.assertIn("--replay is for the simulated GPU", done.stderr)
        (self.folder / "file").write_text("")
        done = self.corun("run", "--replay", "file", "sgemm@small", status=FILE)
        self.assertIn("file", done.stderr)


class Damaged(Replays):
    def record(self):
        shutil.rmtree(self.folder / "records", ignore_errors=True)
        executed, _ = self.outcome("--replay", "records", "--cycles", "20K", "sgemm@small")
        (record,) = self.records()
        return executed, record

    def test_index(self):
        """A file whose index cannot be used is written anew."""
        executed, record = self.record()
        whole = record.read_bytes()
        for what, why in ((b"", "it is no record"), (b"x" * 200, "it is no record"), (whole[:-1], "it is damaged"),
                          (whole[:100], "it ends too soon"), (whole[:-60] + bytes([whole[-60] ^ 1]) + whole[-59:], "it is damaged"),
                          (whole[:16] + b"\x63" + whole[17:], "of another version"),
                          (whole[:40] + b"?" + whole[41:], "it is of another workload"),
                          (whole + b"\0", "it is damaged")):
            record.write_bytes(what)
            again, said = self.outcome("--replay", "records", "--cycles", "20K", "sgemm@small")
            self.assertIn(why, said)
            self.assertEqual(executed, again)
            self.assertEqual(record.read_bytes(), whole)

    def test_piece(self):
        """What is only found when a thread block begins stops the application, and the message names the file."""
        _, record = self.record()
        whole = bytearray(record.read_bytes())
        whole[5000] ^= 0x10
        record.write_bytes(whole)
        done = self.corun("run", "--no-cache", "--replay", "records", "--cycles", "20K", "sgemm@small", status=FAULT)
        self.assertIn(f"record records/{record.name} is damaged, or cannot be read: thread block", done.stderr)


CAMPAIGN = """\
name: replayed
gpus: ["gtx980:sms=4", "gtx980:sms=4,l2=512K"]
policies: [even, smk-pw]
workloads: [sgemm, spmv, ./ticket.yaml]
size: small
cycles: 30K
mixes:
  - {size: 2}
"""


class Campaigns(Replays):
    def cases(self, *options):
        results = self.folder / "results.db"
        results.unlink(missing_ok=True)
        self.corun("campaign", "--quiet", "--no-cache", "-r", str(results), *options, "campaign.yaml")
        database = sqlite3.connect(f"file:{results}?mode=ro", uri=True)
        try:
            return [(key, status, globals()["results"](text))
                    for key, status, text in database.execute("SELECT key, status, result FROM cases ORDER BY key")]
        finally:
            database.close()

    def test_each_workload_is_recorded_once(self):
        """Several workers at once, and a workload that is executed among those that are replayed."""
        (self.folder / "campaign.yaml").write_text(CAMPAIGN)
        executed = self.cases()
        self.assertGreater(len(executed), 12)
        self.assertEqual(executed, self.cases("--jobs", "4", "--replay", "records"))
        self.assertEqual(len(self.records()), 2)
        self.assertEqual(len(list((self.folder / "records").glob("*.json"))), 1)
        times = [record.stat().st_mtime_ns for record in self.records()]
        self.assertEqual(executed, self.cases("--replay", "records"))
        self.assertEqual(times, [record.stat().st_mtime_ns for record in self.records()])


if __name__ == "__main__":
    InFolder.command = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main()
