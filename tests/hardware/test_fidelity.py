#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench/hardware/fidelity.py: its two halves, its figures, and its probes. Usage: test_fidelity.py FOLDER CORUN [TEST...]"""
import contextlib
import io
import os
import sys
import tempfile
import unittest

CORUN = None
fidelity = None


class Halves(unittest.TestCase):
    def test_no_program_is_in_both(self):
        rows = list(fidelity.simulated.published())
        first = fidelity.deciding(rows)
        names = {row.split("@")[0] for row in rows}
        self.assertLess(first, names)
        self.assertLessEqual(abs(2 * len(first) - len(names)), 1)

    def test_order_and_sizes_do_not_matter(self):
        rows = list(fidelity.simulated.published())
        self.assertEqual(fidelity.deciding(rows), fidelity.deciding(list(reversed(rows))))
        self.assertEqual(fidelity.deciding(rows), fidelity.deciding([row + "-other" for row in rows]))

    def test_by_hand(self):
        # SHA-256 of a begins with ca97, of b with 3e23, of c with 2e7d
        self.assertEqual(fidelity.deciding(["a@small", "b", "c@large"]), {"c", "a"})


class Figures(unittest.TestCase):
    def test_correlation_of_a_power(self):
        self.assertAlmostEqual(fidelity.correlation([(1, 5), (10, 500), (100, 50000)]), 1)
        self.assertAlmostEqual(fidelity.correlation([(1, 100), (10, 10), (100, 1)]), -1)

    def test_correlation_by_hand(self):
        self.assertAlmostEqual(fidelity.correlation([(1, 1), (10, 100), (100, 10)]), 0.5)

    def test_distance(self):
        self.assertEqual(fidelity.distance(210, 207, 225), 0)
        self.assertAlmostEqual(fidelity.distance(180, 200, 220), -0.1)
        self.assertAlmostEqual(fidelity.distance(275, 200, 220), 0.25)


class Published(unittest.TestCase):
    def test_every_row_is_measured(self):
        known = {row["gpu"] for row in fidelity.published()}
        for gpu in known:
            self.assertTrue(os.path.exists(os.path.join(fidelity.simulated.ROOT, f"configs/gpu/{gpu}.yaml")), gpu)
        for row in fidelity.published():
            self.assertIn(row["quantity"], fidelity.MEASURED)
            self.assertLessEqual(float(row["low"]), float(row["high"]))
            self.assertGreater(float(row["low"]), 0)

    def test_every_source_is_named(self):
        with open(os.path.join(fidelity.HERE, "published/latencies-bandwidths.csv"), encoding="utf-8") as file:
            head = [line.split()[1] for line in file if line.startswith("#   ")]
        for row in fidelity.published():
            for source in row["source"].split(";"):
                self.assertIn(source.split()[0], head)


class Probes(unittest.TestCase):
    def measure(self, quantity, gpu):
        with tempfile.TemporaryDirectory() as folder:
            return fidelity.MEASURED[quantity][0](fidelity.Machine(CORUN, gpu, folder), quantity)

    def test_chain(self):
        self.assertAlmostEqual(self.measure("int_add", "gtx980"), 6)
        self.assertAlmostEqual(self.measure("int_add", "gtx980:int_add_latency=11"), 13)
        self.assertAlmostEqual(self.measure("shared", "gtx980:shared_latency=30"), 32)

    def test_chases_are_answered_where_they_should(self):
        l1 = self.measure("l1", "gtx980:l1_latency=50")
        self.assertAlmostEqual(l1, 52, delta=0.5)
        slower = [self.measure("l2", f"gtx980:l2_latency={latency}") for latency in (100, 200)]
        self.assertAlmostEqual(slower[1] - slower[0], 100, delta=1)
        dram = [self.measure("dram", f"gtx980:dram_latency={latency}") for latency in (100, 200)]
        self.assertAlmostEqual(dram[1] - dram[0], 100, delta=3)
        self.assertLess(l1, slower[0])
        self.assertLess(slower[0], dram[0])

    def test_bandwidths(self):
        self.assertAlmostEqual(self.measure("shared_bytes", "gtx980:sms=1") * 16, 128, delta=8)
        half, whole = (self.measure("dram_read", f"gtx980:dram_bus_bytes={width}") for width in (4, 8))
        self.assertAlmostEqual(whole / half, 2, delta=0.2)

    def test_divisions_beside_multiplications(self):
        ten, twenty = (self.measure("fp32_div_rate", f"quadro-v100:fp32_div_interval={interval}") for interval in (10, 20))
        self.assertAlmostEqual(ten, 5, delta=0.1)
        self.assertAlmostEqual(twenty, 10, delta=0.1)

    def test_thread_blocks_of_few_threads(self):
        """Two thread blocks of 32 words of 8 bytes on an SM, and what goes by between one and the next."""
        bytes_per_cycle = [self.measure("dram_write_64", f"gtx980:tb_turn_latency={turn}") for turn in (1000, 2000)]
        self.assertAlmostEqual(512 / bytes_per_cycle[1] - 512 / bytes_per_cycle[0], 1000, delta=20)

    def test_a_gpu_without_published_figures(self):
        with contextlib.redirect_stderr(io.StringIO()) as text, self.assertRaises(SystemExit):
            sys.argv = ["fidelity.py", CORUN, "probes", "isca56"]
            fidelity.main()
        self.assertIn("no published figures of isca56", text.getvalue())


if __name__ == "__main__":
    sys.path.insert(0, sys.argv[1])
    import fidelity
    CORUN = sys.argv[2]
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:])
