#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench/hardware/microbenchmarks.py, launches.c, others.py and beside_hardware.py, on the simulated GPU. Usage: test_microbenchmarks.py FOLDER CORUN LAUNCHES [TEST...]"""
import contextlib
import io
import os
import re
import subprocess
import sys
import tempfile
import types
import unittest

FOLDER = CORUN = LAUNCHES = None
beside = micro = others = None


def run(gpu, *parts):
    """Rows of these parts on a GPU of ours: {(quantity, parameter): value}."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.csv")
        subprocess.run([CORUN, "exec", "--quiet", f"--gpu={gpu}", "--", sys.executable, os.path.join(FOLDER, "microbenchmarks.py"), "--quick",
                        "--repetitions=1", f"--csv={path}", *parts], check=True, stdout=subprocess.DEVNULL)
        return {key: float(row["value"]) for key, row in micro.read_values(path).items()}


class Microbenchmarks(unittest.TestCase):
    def test_operations_are_as_configured(self):
        rows = run("h100:fp32_mad_latency=9,sfu_latency=33,fp32_mad_interval=4,branch_cycles=3", "operations")
        self.assertAlmostEqual(rows["latency of fp32 multiply-add", ""], 10, delta=0.1)
        self.assertAlmostEqual(rows["latency of special function ex2", ""], 34, delta=0.1)
        self.assertAlmostEqual(rows["latency of fp32 add", ""], 4, delta=0.1)
        self.assertAlmostEqual(rows["throughput of fp32 multiply-add", ""], 1, delta=0.05)

    def test_memories_are_as_configured(self):
        first, second = (run(f"h100:sms=4,l1_latency={a},l2_latency={b},shared_latency={c}", "memories") for a, b, c in ((30, 200, 20), (40, 260, 35)))
        # the L1's own latency is in the way of what misses it, too
        for key, more in ((("latency of a load", "8 KiB"), 10), (("latency of a load past the L1", "1 MiB, a buffer"), 70), (("latency of shared memory", ""), 15)):
            self.assertAlmostEqual(second[key] - first[key], more, delta=1, msg=key)

    def test_clusters_are_as_configured(self):
        first, second = (run(f"h100:cluster_latency={a},cluster_barrier_cycles={b},cluster_port_bytes=16", "clusters") for a, b in ((180, 150), (220, 250)))
        self.assertAlmostEqual(second["latency of a load from another thread block", "cluster of 4, rank 3"] -
                               first["latency of a load from another thread block", "cluster of 4, rank 3"], 40, delta=1)
        key = ("barrier of a cluster, relaxed", "cluster of 8, 32 threads")
        self.assertAlmostEqual(second[key] - first[key], 100, delta=1)
        self.assertAlmostEqual(first["loads from the next thread block", "1 clusters of 4"], 16, delta=0.2)

    def test_products_of_warpgroups_are_as_configured(self):
        first, second = (run(f"h100:tensor_warpgroup_rate={rate}", "warpgroups") for rate in (512, 256))
        for rows, factor in ((first, 1), (second, 2)):
            self.assertAlmostEqual(rows["product of a warpgroup", "m64n256k16.f32.f16"], 128 * factor, delta=1)
            self.assertAlmostEqual(rows["product of a warpgroup", "m64n64k32.f32.e4m3"], 32 * factor, delta=1)

    def test_bulk_copies_are_as_configured(self):
        first, second = (run(f"h100:bulk_copy_latency={a},bulk_copy_interval={b}", "bulk_copies") for a, b in ((50, 1), (90, 8)))
        for kind in ("bulk copy", "tensor copy"):
            key = (f"{kind}: store until it has been read", "1024 bytes")
            self.assertAlmostEqual(second[key] - first[key], 40 + 8 * 7, delta=2)

    def test_lines_are_as_far_as_configured(self):
        first, second = (run(f"h100:sms=4,l2_latency={a}", "partitions") for a in (200, 260))
        key = "latency of lines of the L2 by SM", "3"
        self.assertAlmostEqual(second[key] - first[key], 60, delta=1)

    def test_attributes(self):
        self.assertEqual(run("gtx980", "attributes")["attribute sms", ""], 16)

    def test_side_by_side(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("a", "b")]
            for path, value in zip(paths, (4, 6)):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(f"# a GPU\n{','.join(micro.COLUMNS)}\nlatency,8 KiB,cycles,{value},{value},{value}\n")
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                micro.compare(*paths)
        self.assertIn("| latency | 8 KiB | cycles | 4 | 6 | 1.50 |", printed.getvalue())

    def test_slow_downs(self):
        """Rates fall and latencies rise beside others: both are slow-downs of more than one."""
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("a", "b")]
            for path, rate, latency in zip(paths, (50, 80), (300, 150)):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(f"# a GPU\n{','.join(micro.COLUMNS)}\n")
                    for quantity, unit, value in (("loads beside nothing", "bytes per cycle", 100), ("loads beside stores", "bytes per cycle", rate),
                                                  ("a chase beside nothing", "cycles", 100), ("a chase beside stores", "cycles", latency)):
                        file.write(f"{quantity},halves,{unit},{value},{value},{value}\n")
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                micro.slow_downs(*paths)
        self.assertIn("| loads | stores | 100 | 100 | bytes per cycle | 2.00 | 1.25 | 0.62 |", printed.getvalue())
        self.assertIn("| a chase | stores | 100 | 100 | cycles | 3.00 | 1.50 | 0.50 |", printed.getvalue())
        self.assertIn("2 pairs: mean distance of the slow-downs 43.8 %, 2 of them", printed.getvalue())

    def test_slow_downs_of_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a")
            with open(path, "w", encoding="utf-8") as file:
                file.write(f"{','.join(micro.COLUMNS)}\nloads beside stores,halves,cycles,1,1,1\n")
            told = subprocess.run([sys.executable, os.path.join(FOLDER, "microbenchmarks.py"), "--slow-downs", path, path], check=False,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.assertEqual(told.returncode, 1)
        self.assertIn("no pairs of interference", told.stderr)

    def test_stores_are_those_that_reach_dram(self):
        """Half of eight SMs store faster than two memory controllers take it: an L2 of 5 MB must not hide that, quick or not."""
        program = f"""
import itertools, sys, types
sys.path.insert(0, {FOLDER!r})
import microbenchmarks as micro
gpu = micro.Gpu(types.SimpleNamespace(driver="libcuda.so.1", nvml="libnvidia-ml.so.1", device=0, repetitions=1, quick=True))
size = 64 << 20
arrays = [gpu.allocate(3 * size, False), gpu.allocate(3 * size, False), size, gpu.allocate(8 << 20), itertools.cycle(range(3))]
print(micro.together(gpu, arrays, (2, 0), gpu.sms // 2)[0][0])
"""
        printed = subprocess.run([CORUN, "exec", "--quiet", "--gpu=h100:sms=8,memory_controllers=2,l2=5M", "--", sys.executable, "-c", program],
                                 check=True, stdout=subprocess.PIPE, text=True).stdout
        pins = 2 * 16 * 2 * 2619 / 1980
        self.assertLess(float(printed), pins)
        self.assertGreater(float(printed), pins / 2)

    def test_a_cycle_visits_every_place_once(self):
        data, start = micro.cycle_of(0x1000, 64, 128)
        seen, at = set(), start
        while at not in seen:
            seen.add(at)
            at = int.from_bytes(data[at - 0x1000:at - 0x1000 + 8], "little")
        self.assertEqual((len(seen), at), (64, start))

    def test_without_a_driver(self):
        run_alone = subprocess.run([sys.executable, os.path.join(FOLDER, "microbenchmarks.py"), "--driver=./no-such-driver.so"], check=False,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.assertEqual(run_alone.returncode, 77)
        self.assertIn("no-such-driver.so", run_alone.stderr)


class Launches(unittest.TestCase):
    def test_rows(self):
        printed = subprocess.run([CORUN, "exec", "--quiet", "--gpu=h100", "--", LAUNCHES, "libcuda.so.1", "50"], check=True,
                                 stdout=subprocess.PIPE, text=True).stdout.splitlines()
        self.assertEqual(printed[0], "what,ns,lowest,highest")
        self.assertEqual(len(printed), 5)
        for line in printed[1:]:
            _, middle, lowest, highest = line.rsplit(",", 3)
            self.assertTrue(0 < float(lowest) <= float(middle) <= float(highest), line)

    def test_without_a_driver(self):
        self.assertEqual(subprocess.run([LAUNCHES, "./no-such-driver.so"], check=False, stderr=subprocess.DEVNULL).returncode, 77)


class Beside(unittest.TestCase):
    def test_kernels_are_summed_over_shapes(self):
        rows = [{"kernel": "a", "run_us": "1.5"}, {"kernel": "b", "run_us": "4"}, {"kernel": "a", "run_us": "2"}, {"kernel": "(run)", "run_us": "9"}]
        self.assertEqual(beside.by_kernel(rows), {"a": 3.5, "b": 4})

    def test_records(self):
        row = {"workload": "sad", "size": "small", "launches": "1"}
        rows = [dict(row, kernel="mb_sad_calc", run_us="10"), dict(row, kernel="(run)", run_us="20", launches="3")]
        options = types.SimpleNamespace(corun=CORUN, gpu="h100", overrides="profiled_launch_cycles=1980", sizes="small", names=[], cache=None, launch_us=None, first_launch_us=None, warm=False)
        run_row, kernel = beside.collect(options, rows)
        self.assertEqual((run_row["hardware_us"], kernel["hardware_us"], run_row["half"]), (20, 10, "decides"))
        self.assertAlmostEqual(run_row["simulated_us"] - run_row["without_launches_us"], 3)  # three launches of 1980 cycles at 1980 MHz
        self.assertAlmostEqual(kernel["simulated_us"] - kernel["without_launches_us"], 1)
        options.warm = True
        warm, _ = beside.collect(options, rows)
        self.assertLess(warm["without_launches_us"], run_row["without_launches_us"])
        self.assertAlmostEqual(warm["simulated_us"] - warm["without_launches_us"], 3)

    def test_a_warm_l2_is_as_the_real_one(self):
        """What all SMs have read is near to half of a kernel's SMs or has been copied: loads from the other half are paid for in a warm run."""
        row = {"workload": "gesummv", "size": "small", "launches": "1", "kernel": "(run)", "run_us": "1"}
        options = types.SimpleNamespace(corun=CORUN, gpu="h100", sizes="small", names=[], cache=None, launch_us=2, first_launch_us=None, warm=True)
        taken = []
        for far in (0, 300):
            options.overrides = f"l2_far_latency={far}"
            taken.append(next(beside.collect(options, [row]))["without_launches_us"])
        self.assertGreater(taken[1], taken[0] * 1.2)

    def test_the_first_launch_has_its_own_cost(self):
        kernels = {"a": {"cycles": 10, "launches": 200}, "b": {"cycles": 20, "launches": 100}}
        self.assertEqual(beside.times(kernels, 10, 4, None), {"a": (801, 1), "b": (402, 2)})
        self.assertEqual(beside.times(kernels, 10, 4, 3), {"a": (799, 1), "b": (402, 2)})  # 300 launches are two batches


class Others(unittest.TestCase):
    def test_every_kernel_has_a_launch_with_its_arguments(self):
        with open(os.path.join(FOLDER, "others.cu"), encoding="utf-8") as file:
            kernels = dict(re.findall(r"^KERNEL (\w+)\((.*)\)$", file.read(), re.MULTILINE))
        self.assertEqual(set(kernels) - {"fill"}, set(others.launches()))
        for name, (grid, block, buffers, arguments) in others.launches().items():
            self.assertEqual(len(arguments), len(kernels[name].split(",")), name)
            self.assertTrue(all(isinstance(a, tuple) or 0 <= a < len(buffers) for a in arguments), name)
            self.assertTrue(1 <= len(grid) <= 3 and 1 <= len(block) <= 3, name)

    def test_side_by_side(self):
        """What an empty kernel takes on the real GPU is added in place of what it takes on the simulated one."""
        with tempfile.TemporaryDirectory() as folder:
            paths = [os.path.join(folder, name) for name in ("a", "b")]
            for path, nothing, taken, crc in zip(paths, (4, 1), (14, 6), ("0a", "0b")):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(f"# a GPU\n{','.join(others.COLUMNS)}\n(nothing),1,32,{nothing},0,0,0,0,\nlife,1,32,{taken},0,0,20,8,{crc}\n")
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                others.compare(*paths)
        self.assertIn("| life | 14.0 | 9.0 | 0.64 | 20 | 20 | no |", printed.getvalue())
        self.assertIn("35.7 %, 1 kernels", printed.getvalue())

    def test_mistakes(self):
        for arguments, message in (([], "the PTX of others.cu"), (["others.ptx", "no-such"], "no kernel named no-such")):
            told = subprocess.run([sys.executable, os.path.join(FOLDER, "others.py"), *arguments], check=False, stderr=subprocess.PIPE, text=True)
            self.assertEqual(told.returncode, 2)
            self.assertIn(message, told.stderr)


if __name__ == "__main__":
    FOLDER, CORUN, LAUNCHES = sys.argv[1:4]
    sys.path.insert(0, FOLDER)
    sys.dont_write_bytecode = True
    import beside_hardware as beside
    import microbenchmarks as micro
    import others
    unittest.main(argv=sys.argv[:1] + sys.argv[4:], verbosity=2)
