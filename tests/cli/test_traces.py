#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Traces of machine code as workloads: counts that are known beforehand, mistakes, sharing. Usage: test_traces.py CORUN [TEST...]"""

import gzip
import json
import lzma
import os
import sys
import unittest

from programs import InFolder

SYNTAX, UNSUPPORTED, NOT_FOUND = 3, 4, 5
HEAD = """-kernel name = {name}
-kernel id = 1
-grid dim = ({tbs},1,1)
-block dim = (64,1,1)
-shmem = 256
-nregs = 16
-binary version = 70
-shmem base_addr = 0x00007f1d80000000
-local mem base_addr = 0x00007f1d7e000000
-accelsim tracer version = 3

#traces format = PC mask dest_num [reg_dests] opcode src_num [reg_srcs] mem_width [adrrescompress?] [mem_addresses]

"""


def kernel(name, tbs, warp):
    """The text of a kernel whose warp w of thread block b has the lines warp(b, w)."""
    text = HEAD.format(name=name, tbs=tbs)
    for b in reversed(range(tbs)):  # in any order
        text += f"#BEGIN_TB\n\nthread block = {b},0,0\n\n"
        for w in range(2):
            lines = warp(b, w)
            text += f"warp = {w}\ninsts = {len(lines)}\n" + "".join(line + "\n" for line in lines) + "\n"
        text += "#END_TB\n\n"
    return text


def exchange(b, w):
    """Loads 32 words, gives them to the other warp behind a barrier, stores a sum."""
    first = 0x7f1d90000000 + (b * 64 + w * 32) * 4
    return ["0000 ffffffff 1 R0 S2R 0 0", "0010 ffffffff 1 R2 IMAD.WIDE 3 R0 R5 R6 0",
            f"0020 ffffffff 1 R8 LDG.E.SYS 1 R2 4 1 {first:#x} 4", f"0030 ffffffff 0 STS 2 R0 R8 4 1 {w * 128:#x} 4",
            "0040 ffffffff 0 BAR.SYNC 0 0", f"0050 ffffffff 1 R9 LDS 1 R0 4 1 {(1 - w) * 128:#x} 4",
            "0060 ffffffff 1 R9 FADD 2 R9 R8 0", f"0070 ffffffff 0 STG.E.SYS 2 R2 R9 4 2 {first + 65536:#x} " + " ".join(["4"] * 31),
            "0080 ffffffff 0 EXIT 0 0"]


class Traces(InFolder):
    programs = {"a": {"rounds": 50}}

    def trace(self, folder, kernels, copies="MemcpyHtoD,0x00007f1d90000000,10240\n"):
        (self.folder / folder).mkdir(exist_ok=True)
        for number, text in enumerate(kernels, 1):
            (self.folder / folder / f"kernel-{number}.traceg").write_text(text)
        (self.folder / folder / "kernelslist.g").write_text(
            copies + "".join(f"kernel-{number}.traceg\n" for number in range(1, len(kernels) + 1)))
        return f"trace:{folder}"

    def counters(self, *arguments):
        done = self.corun("run", "--gpu", "quadro-v100:sms=4", "--runs", "1", "--no-baselines", "--no-cache", *arguments, "--json", "-")
        application = json.loads(done.stdout)["applications"][0]
        return [kernel["counters"] for kernel in application["kernels"]], application

    def test_counts_that_are_known(self):
        (counts,), application = self.counters(self.trace("exchange", [kernel("_Z8exchangePf", 10, exchange)]))
        self.assertEqual(application["kernels"][0]["name"], "_Z8exchangePf")
        self.assertEqual(application["kernels"][0]["registers_per_thread"], 16)
        known = {"warp_instructions": 180, "thread_instructions": 5760, "barriers": 20, "tbs_completed": 10, "fp32_instructions": 20,
                 "sfu_instructions": 20, "int_instructions": 20, "memory_instructions": 80, "loads": 40, "stores": 40,
                 "shared_accesses": 40, "shared_conflict_cycles": 0, "global_transactions": 40, "global_sectors": 160}
        self.assertEqual({name: counts[name] for name in known}, known)

    def test_coalescing_follows_the_addresses(self):
        def spread(stride, lanes="ffffffff"):
            return lambda b, w: [f"0000 {lanes} 1 R8 LDG.E.SYS 1 R2 4 1 {0x7f1d90000000 + b * 65536 + w * 32768:#x} {stride}",
                                 "0010 ffffffff 0 EXIT 0 0"]
        for stride, lanes, transactions, sectors in ((4, "ffffffff", 1, 4), (0, "ffffffff", 1, 1), (32, "ffffffff", 8, 32),
                                                     (128, "ffffffff", 32, 32), (-4, "0000ff00", 2, 2), (8, "0000ffff", 1, 4)):
            with self.subTest(stride):
                (counts,), _ = self.counters(self.trace("spread", [kernel("spread", 3, spread(stride, lanes))]))
                self.assertEqual((counts["global_transactions"], counts["global_sectors"]), (6 * transactions, 6 * sectors))

    def test_banks_conflict(self):
        for stride, extra in ((4, 0), (8, 1), (128, 31), (0, 0)):
            lines = [f"0000 ffffffff 1 R8 LDS 1 R0 4 1 0x0 {stride}", "0010 ffffffff 0 EXIT 0 0"]
            (counts,), _ = self.counters(self.trace("banks", [kernel("banks", 2, lambda b, w, lines=lines: lines)]))
            self.assertEqual(counts["shared_conflict_cycles"], 4 * extra)

    def test_a_chain_takes_its_latency(self):
        def cycles(rounds, register):
            lines = [f"{16 * i:04x} ffffffff 1 R{register(i)} FFMA 3 R{register(i)} R1 R2 0" for i in range(64)] * rounds
            lines.append("0400 ffffffff 0 EXIT 0 0")
            (counts,), _ = self.counters(self.trace("chain", [kernel("chain", 1, lambda b, w: lines if w == 0 else lines[-1:])]))
            return counts["warp_cycles"]
        chain, apart = (cycles(12, register) - cycles(2, register) for register in (lambda i: 4, lambda i: 4 + i % 8))
        latency = 64 * 10 * 4  # of a multiply-add on this GPU
        self.assertTrue(latency <= chain < 1.05 * latency, chain)
        self.assertTrue(latency / 2 <= apart < 0.6 * latency, apart)

    def test_kernels_run_in_order_and_a_line_can_repeat_one(self):
        name = self.trace("two", [kernel("one", 2, exchange), kernel("two", 3, exchange)])
        with (self.folder / "two" / "kernelslist.g").open("a") as kernels:
            kernels.write("kernel-1.traceg\n")
        counts, application = self.counters(name)
        self.assertEqual([(k["name"], k["launches"]) for k in application["kernels"]], [("one", 2), ("two", 1)])
        self.assertEqual([c["warp_instructions"] for c in counts], [72, 54])

    def pack(self, folder, pack, ending):
        """The kernels of a folder, packed, in its list too."""
        path = self.folder / folder
        for file in path.glob("*.traceg"):
            (path / (file.name + ending)).write_bytes(pack(file.read_bytes()))
            file.unlink()
        (path / "kernelslist.g").write_text((path / "kernelslist.g").read_text().replace(".traceg", ".traceg" + ending))

    def test_compressed(self):
        plain = self.counters(self.trace("plain", [kernel("one", 2, exchange), kernel("two", 3, exchange)]))[0]

        def halves(pack):
            return lambda data: pack(data[:len(data) // 2]) + pack(data[len(data) // 2:])
        for name, pack, ending in (("gz", gzip.compress, ".gz"), ("xz", lzma.compress, ".xz"), ("members", halves(gzip.compress), ".gz"),
                                   ("streams", halves(lzma.compress), ".xz")):
            with self.subTest(name):
                trace = self.trace(name, [kernel("one", 2, exchange), kernel("two", 3, exchange)])
                self.pack(name, pack, ending)
                self.assertEqual(self.counters(trace)[0], plain)

    def test_broken_files(self):
        for name, pack, ending, text in (("short", lambda data: gzip.compress(data)[:-20], ".gz", "its end is missing"),
                                         ("tail", lambda data: gzip.compress(data) + b"tail", ".gz", "incorrect header check"),
                                         ("empty", lambda data: b"", ".gz", "its end is missing"),
                                         ("other", lambda data: data, ".gz", "incorrect header check"),
                                         ("cut", lambda data: lzma.compress(data)[:-20], ".xz", "its end is missing"),
                                         ("mixed", gzip.compress, ".xz", "no xz data"),
                                         ("nothing", lambda data: b"", ".xz", "its end is missing"),
                                         ("turned", lambda data: lzma.compress(data)[:40] + bytes(8) + lzma.compress(data)[48:], ".xz",
                                          "corrupt xz data")):
            with self.subTest(name):
                trace = self.trace(name, [kernel("one", 2, exchange)])
                self.pack(name, pack, ending)
                done = self.corun("run", "--gpu", "quadro-v100:sms=4", "--runs", "1", "--no-baselines", trace, status=SYNTAX)
                self.assertIn(f"kernel-1.traceg{ending}: cannot be unpacked: {text}", done.stderr)

    def test_shares_a_gpu(self):
        name = self.trace("shared", [kernel("exchange", 40, exchange)])
        done = self.corun("run", "--gpu", "quadro-v100:sms=4", "--cycles", "20K", "--policy", "even", f"{name}:goal=50%", "./a.yaml",
                          "--json", "-")
        applications = json.loads(done.stdout)["applications"]
        self.assertEqual([a["name"] for a in applications], ["shared", "a"])
        self.assertGreater(applications[0]["runs"], 1)
        self.assertGreater(applications[0]["normalised_ipc"], 0)

    def test_threads_change_nothing(self):
        name = self.trace("threads", [kernel("exchange", 40, exchange)])
        self.assertEqual(self.counters(name, "--threads", "3"), self.counters(name))

    def test_a_trace_of_our_own_takes_as_long_as_the_kernel(self):
        """What a trace leaves out is small: predicates nobody waits for, pages of memory that lie elsewhere. A trace is of PTX as it is written."""
        for workload, gpu in (("vector-add@small", "gtx980"), ("matmul@small", "gtx980:sms=8"), ("gemm-mma@small", "a100:machine_code=0")):
            with self.subTest(workload):
                self.corun("export", "--trace", workload, "own", "--force")
                run = ("run", "--gpu", gpu, "--runs", "1", "--no-baselines", "--no-cache", "--json", "-")
                direct, traced = (json.loads(self.corun(*run, name).stdout)["applications"][0] for name in (workload, "trace:own"))
                for name in ("warp_instructions", "thread_instructions", "loads", "stores", "barriers", "shared_accesses",
                             "shared_conflict_cycles", "global_transactions", "global_sectors", "tensor_multiply_adds", "branches"):
                    self.assertEqual(direct["kernels"][0]["counters"][name], traced["kernels"][0]["counters"][name], name)
                self.assertLess(abs(traced["first_run_cycles"] / direct["first_run_cycles"] - 1), 0.03)

    def test_what_cannot_be_written(self):
        done = self.corun("export", "--trace", "jacobi@small", "no", status=UNSUPPORTED)
        self.assertRegex(done.stderr, r"jacobi.ptx:\d+: kernel jacobi_step cannot be written as a trace: machine code has no instruction")
        done = self.corun("export", "--trace", self.trace("again", [kernel("k", 1, exchange)]), "no", status=UNSUPPORTED)
        self.assertIn("only workloads of a launch description are", done.stderr)
        self.corun("export", "--trace", "vector-add@small", "once")
        self.assertIn("kernelslist.g", self.corun("export", "--trace", "vector-add@small", "once", status=13).stderr)

    def test_mistakes(self):
        for text, status, words in ((HEAD.format(name="k", tbs=1) + "#BEGIN_TB\n", SYNTAX, "kernel-1.traceg:14: the last thread block"),
                                    (kernel("k", 1, lambda b, w: ["0000 1 1 R0 TEX 1 R2 0"]), UNSUPPORTED, "kernel-1.traceg:20: not supported")):
            done = self.corun("run", self.trace("wrong", [text]), status=status)
            self.assertIn(words, done.stderr)
        self.assertIn("kernelslist.g", self.corun("run", "trace:nowhere", status=NOT_FOUND).stderr)
        self.assertIn("not supported", self.corun("export", self.trace("fine", [kernel("k", 1, exchange)]), "out", status=UNSUPPORTED).stderr)


if __name__ == "__main__":
    InFolder.command = os.path.abspath(sys.argv[1])
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
