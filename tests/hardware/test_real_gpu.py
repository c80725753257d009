#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench/hardware/real_gpu.py on a driver of ours (driver.c). Usage: test_real_gpu.py SCRIPT CORUN DRIVER [TEST...]"""
import csv
import json
import os
import pathlib
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import unittest

SCRIPT = CORUN = DRIVER = None
OK, WRONG, USAGE, BROKEN, NO_GPU = 0, 1, 2, 3, 77
# What they have that others have not: several kernels and buffers used in place; two grids that change places; a constant variable
# and a copy to it; variables with initial data; a tile in shared memory and scalars of two types.
WORKLOADS = ("histogram", "lbm", "mri-q", "spmv", "sgemm")
FORMATS = {"u8": "B", "s8": "b", "u16": "H", "s16": "h", "u32": "I", "s32": "i", "u64": "Q", "s64": "q", "f32": "f", "f64": "d"}

COUNTED = """\
.version 6.3
.target sm_52
.address_size 64
.global .align 4 .u32 runs = 5;
.visible .entry add(.param .u64 to, .param .u64 from, .param .u32 value)
{
    .reg .b32 %r<8>;
    .reg .b64 %rd<6>;
    ld.param.u64 %rd1, [to];
    ld.param.u64 %rd2, [from];
    ld.param.u32 %r1, [value];
    mov.u32 %r2, %tid.x;
    mul.wide.u32 %rd3, %r2, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.u32 %r3, [%rd5];
    add.u32 %r4, %r3, %r1;
    st.global.u32 [%rd4], %r4;
    atom.global.add.u32 %r5, [runs], 1;
    ret;
}
"""
# More launches than one batch; the result lies in the other buffer, since 601 is odd.
COUNTED_DESCRIPTION = """\
name: counted
ptx: counted.ptx
buffers:
  - {name: now, type: u32, count: 32, initial: iota, output: true}
  - {name: next, type: u32, count: 32}
  - {name: runs, type: u32, count: 1, symbol: runs, output: true}
launches:
  - kernel: add
    grid: 1
    block: 32
    arguments: [{buffer: next}, {buffer: now}, {u32: step}]
    repeat: 601
    swap: [now, next]
"""


class Script(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="corun-hardware-"))
        listed = subprocess.run([CORUN, "list", "workloads"], check=True, capture_output=True, text=True).stdout
        cls.all = names = [line.split()[0] for line in listed.splitlines()[2:] if line.strip()]
        cls.workloads = [name for name in WORKLOADS if name in names] or names[:1]
        for name in cls.workloads:
            cls.export(f"{name}@small", cls.folder / name)
        cls.plain = cls.workloads[0]
        (cls.folder / "counted.ptx").write_text(COUNTED)
        (cls.folder / "counted.yaml").write_text(COUNTED_DESCRIPTION)
        cls.export(cls.folder / "counted.yaml", cls.folder / "counted")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def export(cls, workload, directory):
        subprocess.run([CORUN, "export", "--quiet", str(workload), str(directory)], check=True)

    def setUp(self):
        self.results = self.folder / "results" / "here.csv"
        self.log_path = self.folder / "log"
        for path in (self.results, self.log_path):
            path.unlink(missing_ok=True)

    def run_script(self, *arguments, status=OK, words=(), nvml=None, **environment):
        done = subprocess.run([sys.executable, SCRIPT, "--driver", DRIVER, "--nvml", nvml or DRIVER, "--results",
                               str(self.results), "--repetitions", "2", *arguments], cwd=self.folder, capture_output=True,
                              text=True, timeout=300, check=False,
                              env=dict(os.environ, DRIVER_LOG=str(self.log_path), **environment))
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        if status == OK:
            self.assertEqual(done.stderr, "")
        return done

    def rows(self):
        if not self.results.exists():
            return []
        with open(self.results, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def calls(self, *kinds):
        return [call for call in map(json.loads, self.log_path.read_text().splitlines())
                if not kinds or next(iter(call)) in kinds]

    def altered(self, name, change):
        """A copy of an export whose launch.json went through `change`."""
        copy = self.folder / "altered"
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.folder / name, copy)
        facts = json.loads((copy / "launch.json").read_text())
        change(facts)
        (copy / "launch.json").write_text(json.dumps(facts))
        return "altered"


class WithoutGpu(Script):
    def test_no_driver(self):
        done = self.run_script("--driver", "libcuda-that-is-not-there.so.1", self.plain, status=NO_GPU,
                               words=["no NVIDIA driver", "libcuda-that-is-not-there.so.1", "nothing was run"])
        self.assertEqual(done.stdout, "")
        self.assertEqual(self.rows(), [])

    def test_no_usable_driver(self):
        self.run_script("--driver", "libc.so.6", self.plain, status=NO_GPU, words=["no usable NVIDIA driver", "cuInit"])

    def test_no_gpu(self):
        for arguments in ((self.plain,), ("--probe",)):
            self.run_script(*arguments, status=NO_GPU, words=["finds no GPU", "CUDA_ERROR_NO_DEVICE", "nothing was run"],
                            DRIVER_NO_GPU="1")
        self.run_script("--device", "1", self.plain, status=NO_GPU, words=["no GPU 1"])

    def test_probe(self):
        self.assertEqual(self.run_script("--probe").stdout, "corun / functional 0\n")

    def test_wrong_usage(self):
        self.run_script(status=USAGE, words=["nothing to run"])
        self.run_script("--repetitions", "0", self.plain, status=USAGE, words=["--repetitions"])


class Runs(Script):
    def check_rows(self, name, facts):
        rows = [row for row in self.rows() if row["workload"] == name]
        launched = [facts["operations"][index] for index in facts["sequence"] if "kernel" in facts["operations"][index]]
        self.assertEqual(rows[-1]["kernel"], "(run)")
        self.assertEqual(sum(int(row["launches"]) for row in rows[:-1]), len(launched))
        self.assertEqual(rows[-1]["launches"], str(len(launched)))
        self.assertEqual(rows[-1]["bytes_from"], "work" if facts["work"] else "buffers")
        if facts["work"]:
            self.assertEqual(int(rows[-1]["bytes"]), facts["work"]["global_bytes"])
        for row in rows:
            self.assertEqual((row["gpu"], row["sms"], row["compute_capability"]), ("corun / functional 0", "16", "5.2"))
            self.assertEqual((row["driver"], row["application_sm_mhz"], row["application_memory_mhz"]),
                             ("550.54 CUDA 12.4", "1100", "3500"))
            self.assertEqual((row["repetitions"], row["sm_mhz"], row["sm_mhz_from"]), ("2", "1000", "NVML"))
            self.assertAlmostEqual(int(row["sm_cycles"]), 1000 * float(row["time_us"]), delta=1)
            self.assertGreater(float(row["time_us"]), 0)
            self.assertLessEqual(float(row["time_us_lowest"]), float(row["time_us"]))
            self.assertLessEqual(float(row["time_us"]), float(row["time_us_highest"]))
            self.assertAlmostEqual(float(row["gb_per_s"]), int(row["bytes"]) / float(row["time_us"]) / 1000, delta=0.011)
        return rows

    def test_workloads(self):
        """All of the suite."""
        for name in self.all:
            if name not in self.workloads:
                self.export(f"{name}@small", self.folder / name)
        self.run_script(*self.all)
        done = self.calls("compiled", "done")
        for name in self.all:
            facts = json.loads((self.folder / name / "launch.json").read_text())
            rows = self.check_rows(name, facts)
            self.assertEqual({row["verified"] for row in rows}, {"yes"})
            self.assertLessEqual(float(rows[0]["worst_error"]), 1)
            # the driver's clock: a nanosecond for each warp instruction
            first = done.index({"compiled": name})
            of_name = [call for call in done[first + 1:next((i for i in range(first + 1, len(done)) if "compiled" in done[i]),
                                                            len(done))] if call["done"] != "gate"]
            launched = [facts["operations"][index] for index in facts["sequence"] if "kernel" in facts["operations"][index]]
            self.assertEqual([call["done"] for call in of_name], 3 * [operation["kernel"] for operation in launched])
            timed = of_name[len(launched):]  # one run to warm up, and two
            for row in rows[:-1]:
                times = [call["warp_instructions"] / 1000 for call, operation in zip(timed, 2 * launched)
                         if row["kernel"] == operation["kernel"] and row["shared_bytes"] == str(operation["shared_bytes"]) and
                         all(row[what] == "x".join(map(str, operation[what])) for what in ("grid", "block"))]
                self.assertEqual(len(times), 2 * int(row["launches"]))
                for column, value in (("time_us", statistics.median(times)), ("time_us_lowest", min(times)),
                                      ("time_us_highest", max(times)), ("run_us", sum(times) / 2)):
                    self.assertAlmostEqual(float(row[column]), value, delta=0.001 + 1e-5 * value)
            total = sum(call["warp_instructions"] for call in timed) / 2000
            self.assertAlmostEqual(float(rows[-1]["time_us"]), total, delta=0.001 + 1e-5 * total)
        self.assertEqual(self.calls()[-1], {"left": 0})

    def test_fresh_runs_are_the_first(self):
        self.run_script("--fresh", self.plain)
        facts = json.loads((self.folder / self.plain / "launch.json").read_text())
        launched = [facts["operations"][index]["kernel"] for index in facts["sequence"] if "kernel" in facts["operations"][index]]
        self.assertEqual([call["done"] for call in self.calls("done") if call["done"] != "gate"], 2 * launched)
        self.assertEqual({row["verified"] for row in self.check_rows(self.plain, facts)}, {"yes"})

    def test_calls_say_what_the_file_says(self):
        for name in self.workloads:
            self.log_path.unlink(missing_ok=True)
            self.run_script(name)
            facts = json.loads((self.folder / name / "launch.json").read_text())
            wanted = [facts["operations"][index] for index in facts["sequence"]]
            seen = [call for call in self.calls("launch", "copy") if call.get("launch") != "gate"]
            self.assertEqual(len(seen), 3 * len(wanted))
            for repetition in range(3):
                addresses = {}  # of a buffer: the same wherever it is named
                for operation, call in zip(wanted, seen[repetition * len(wanted):]):
                    self.check_call(operation, call, addresses)
                self.assertEqual(len(set(addresses.values())), len(addresses))

    def check_call(self, operation, call, addresses):
        if "copy" in operation:
            copy = operation["copy"]
            for name, offset, address in ((copy["from"], copy["from_offset_bytes"], call["copy"][0]),
                                          (copy["to"], copy["to_offset_bytes"], call["copy"][1])):
                self.assertEqual(addresses.setdefault(name, address - offset), address - offset)
            self.assertEqual(call["copy"][2], copy["bytes"])
            return
        self.assertEqual((call["launch"], call["grid"], call["block"], call["shared_bytes"]),
                         (operation["kernel"], operation["grid"], operation["block"], operation["shared_bytes"]))
        block, place = bytes.fromhex(call["parameters"]), 0
        for argument in operation["arguments"]:
            code = "Q" if "buffer" in argument else FORMATS[argument["type"]]
            size = struct.calcsize(code)
            place = (place + size - 1) // size * size
            value = struct.unpack_from("<" + code, block, place)[0]
            place += size
            if "buffer" in argument:
                base = value - argument["offset_bytes"]
                self.assertEqual(addresses.setdefault(argument["buffer"], base), base)
            else:
                self.assertEqual(value, argument["value"])

    def test_many_launches_and_no_reference(self):
        """Also: module variables start over in every repetition, and outputs are found where they changed places to."""
        facts = json.loads((self.folder / "counted" / "launch.json").read_text())
        self.assertEqual(len(facts["sequence"]), 601)
        expected = {"now": struct.pack("<32I", *(i + 601 * 300 for i in range(32))), "runs": struct.pack("<I", 5 + 601 * 32)}
        self.run_script("counted")
        rows = self.check_rows("counted", facts)
        self.assertEqual({row["verified"] for row in rows}, {"no reference"})
        self.assertEqual([row["launches"] for row in rows], ["601", "601"])

        def refer(to):
            for buffer in to["buffers"]:
                if "output" in buffer:
                    buffer["output"]["expected"] = buffer["name"] + ".expected"
        altered = self.altered("counted", refer)
        for name, data in expected.items():
            (self.folder / altered / f"{name}.expected").write_bytes(data)
        self.run_script(altered)
        self.assertEqual({row["verified"] for row in self.rows()}, {"yes"})
        self.assertEqual(len([call for call in self.calls("launch") if call["launch"] == "gate"]), 2 * 3)

    def test_rows_are_replaced_and_others_kept(self):
        self.run_script(self.plain, "counted")
        before = self.rows()
        self.run_script("counted", "--repetitions", "3")
        self.assertEqual([row for row in self.rows() if row["workload"] == self.plain],
                         [row for row in before if row["workload"] == self.plain])
        self.assertEqual([row["repetitions"] for row in self.rows() if row["workload"] == "counted"], ["3", "3"])
        self.results.write_text("a,b\n1,2\n")
        self.run_script("counted", status=BROKEN, words=["other columns"])
        self.assertEqual(self.results.read_text(), "a,b\n1,2\n")

    def test_without_nvml(self):
        self.run_script("counted", nvml="libnvidia-ml-that-is-not-there.so")
        for row in self.rows():
            self.assertEqual((row["sm_mhz"], row["sm_mhz_from"], row["application_sm_mhz"]), ("1216", "highest", ""))
            self.assertAlmostEqual(int(row["sm_cycles"]), 1216 * float(row["time_us"]), delta=2)


class Failures(Script):
    def test_wrong_results(self):
        """A wrong byte in the first and in the last comparison; nothing is written of a workload that is wrong."""
        facts = json.loads((self.folder / self.plain / "launch.json").read_text())
        outputs = sum("output" in buffer for buffer in facts["buffers"])
        for copy in (1, outputs, outputs + 1, 2 * outputs):
            self.run_script(self.plain, "counted", status=WRONG, words=["element", "expected", "1 of"], DRIVER_CORRUPT=str(copy))
            self.assertEqual({row["workload"] for row in self.rows()}, {"counted"})

    def test_buffers_that_are_not_restored(self):
        """An input that is left as it was allocated is rubbish and shows."""
        def forget(facts):
            for buffer in facts["buffers"]:
                if buffer["initial"].endswith(".initial") and "symbol" not in buffer:
                    buffer["initial"] = "module"
        self.run_script(self.altered(self.plain, forget), status=WRONG)
        self.assertEqual(self.rows(), [])

    def test_a_tolerance_counts(self):
        """Floats differ from the reference a little in most workloads: with no tolerance that is an error."""
        found = 0
        for name in self.workloads:
            def tighten(facts):
                for buffer in facts["buffers"]:
                    if "output" in buffer:
                        buffer["output"].update(absolute=0, relative=0)
            if any("output" in buffer and buffer["type"] == "f32" for buffer in
                   json.loads((self.folder / name / "launch.json").read_text())["buffers"]):
                self.run_script(self.altered(name, tighten), status=WRONG, words=["expected"])
                found += 1
        if not found:
            self.skipTest("no workload with floats in this build")

    def test_broken_exports(self):
        self.run_script("nowhere", "counted", status=BROKEN, words=["nowhere", "launch.json"])
        self.assertEqual({row["workload"] for row in self.rows()}, {"counted"})  # the others are measured
        for change, word in ((lambda facts: facts.update(version=2), "version 2"),
                             (lambda facts: facts.update(format="x"), "not written by corun export"),
                             (lambda facts: facts.pop("ptx"), "ptx"),
                             (lambda facts: facts["sequence"].append(10**6), "sequence"),
                             (lambda facts: facts["buffers"][0].update(count=31, bytes=124), "128 bytes, but the buffer has 124"),
                             (lambda facts: facts["buffers"][0].update(initial="none"), "No such file"),
                             (lambda facts: facts["operations"][0]["arguments"][0].update(buffer="none"), "none")):
            self.run_script(self.altered("counted", change), status=BROKEN, words=[word])

    def test_the_driver_refuses(self):
        broken = self.altered("counted", lambda facts: None)
        ptx = self.folder / broken / "counted.ptx"
        ptx.write_text(ptx.read_text().replace("add.u32 %r4, %r3, %r1", "add.u32 %r4 %r3, %r1"))
        self.run_script(broken, status=WRONG, words=["CUDA_ERROR_INVALID_PTX", "line 17"])
        self.run_script(self.altered("counted", lambda facts: facts["operations"][0].update(kernel="sub")), status=WRONG,
                        words=["cuModuleGetFunction", "CUDA_ERROR_NOT_FOUND"])

    def test_out_of_memory(self):
        self.run_script(self.plain, "counted", status=WRONG, words=[self.plain, "CUDA_ERROR_OUT_OF_MEMORY"],
                        DRIVER_NO_MEMORY="1000")
        self.assertEqual({row["workload"] for row in self.rows()}, {"counted"})

    def test_a_fault_ends_it(self):
        def run_over(facts):
            facts["operations"][0]["arguments"][0]["offset_bytes"] = 1 << 20
        self.run_script(self.altered("counted", run_over), "counted", status=WRONG,
                        words=["altered", "CUDA_ERROR_ILLEGAL_ADDRESS"])
        self.assertEqual(self.rows(), [])


if __name__ == "__main__":
    SCRIPT, CORUN, DRIVER = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
    unittest.main()
