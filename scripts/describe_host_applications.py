#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The table of docs/host-applications.md, from the descriptions in configs/host/applications: describe_host_applications.py ROOT [--check]

--check says with status 1 that the page has another table.
"""
import pathlib
import re
import sys

BEGIN, END = "<!-- table of configs/host/applications -->\n", "<!-- end of the table -->\n"
# What the programs are, in a few words; the heads of examples/host/*.c say more.
WORDS = {
    "crf": ("Viterbi over a linear-chain conditional random field", "12 MB of weights, rows at random by frequency of words"),
    "dnn-asr": ("deep neural network and Viterbi decoder", "23 MB of weights, streamed once for 64 frames"),
    "fd": ("SURF descriptors", "integral image of 12 MB, patches anywhere"),
    "fe": ("SURF detector: box filters, maxima", "21 bytes a pixel and more, streamed"),
    "gmm": ("Gaussian mixtures", "13 MB of model, streamed once for 8 frames"),
    "regex": ("a hundred deterministic automata", "their tables, some kilobytes at a time"),
    "stemmer": ("Porter's suffix stripping", "words, in and out once"),
    "blackscholes": ("Black and Scholes' formula", "1.8 MB of options, swept again and again"),
    "bodytrack": ("annealed particle filter", "5 to 10 MB of pictures, at the limbs' places"),
    "canneal": ("simulated annealing of a placement", "64 MB of netlist, a line for each element, at random"),
    "facesim": ("implicit steps by conjugate gradients", "60 MB of matrix, streamed"),
    "fluidanimate": ("smoothed particle hydrodynamics", "16 MB of particles and counts of cells, neighbours"),
    "raytrace": ("rays through a tree of boxes", "18 MB of triangles and boxes, by direction"),
    "streamcluster": ("k-median by local search", "12 MB of points, streamed for each candidate"),
    "x264": ("motion search, transform, wavefront of rows", "two frames at a time of 24"),
}


def numbers(text):
    return [float(number) for number in re.findall(r"-?\d[\d.]*(?:e[+-]?\d+)?", text)]


class Description:
    """What the table needs of one file, at the size nearest to the mean."""

    def __init__(self, text):
        find = lambda pattern: re.search(pattern, text, re.M)
        self.name, self.kind = find(r"^application: (\S+)$")[1], find(r"^kind: (\S+)$")[1]
        self.clock_ghz, self.memory_ns = numbers(find(r"^# ([\d.]+ GHz, [\d.]+ ns)")[1])[:2]
        rows = {int(size): numbers(rest) for size, rest in re.findall(r"^# (\d+): (.*)$", text, re.M)}
        mean = find(r"exponential: \{mean: (\d+)")
        self.size = int(mean[1]) if mean else next(iter(rows))
        self.work_ms, *_, self.private, _, _ = rows[self.size]
        per_size = numbers(find(r"^instructions: (.*)$")[1])
        self.instructions = dict(zip(per_size[::2], per_size[1::2]))[self.size] if mean else per_size[0]
        self.cpi, self.overlap, self.writebacks = (float(find(rf"^{key}: (\S+)$")[1])
                                                   for key in ("cycles_per_instruction", "overlap", "writebacks"))
        of_size = rf"size: {self.size}\n    " if mean else ""
        self.speedup = numbers(find(rf"^  - {of_size}cores: \[(.*)\]$")[1])
        by_threads = rf"^  - threads: 12\n{of_size and '    ' + of_size[:-4]}    points: (.*)$"
        points = numbers(find(by_threads)[1])
        self.misses = points[5::2]  # at 1, 2, … ways: a quarter and a half of one are before

    def bandwidth(self, ways):
        """GB/s on twelve cores, alone."""
        lines = self.misses[ways - 1] * self.instructions / 1000
        work_ns = self.instructions * self.cpi / self.clock_ghz + lines * self.memory_ns / self.overlap
        return lines * (1 + self.writebacks) * 64 / (work_ns / self.speedup[11])

    def row(self):
        algorithm, data = WORDS[self.name]
        ratios = [f"{self.misses[ways - 1] / self.private:.3f}" for ways in (1, 8, 16)]
        return " | ".join([f"| `{self.name}`", self.kind, algorithm, data, f"{self.instructions / 1e6:.0f}", f"{self.work_ms:.1f}",
                           f"{self.speedup[11]:.1f}", f"{self.private:.2f}", *ratios, f"{self.bandwidth(16):.1f}",
                           f"{self.bandwidth(1):.1f} |"])


def table(root):
    found = [Description(path.read_text(encoding="utf-8")) for path in (root / "configs/host/applications").glob("*.yaml")]
    rows = [d.row() for d in sorted(found, key=lambda d: (d.kind == "batch", d.name))]
    head = ("| program | kind | algorithm | data | million instructions | ms on one core | speed-up on 12 | LLC accesses per 1000 instructions "
            "| misses, 1 way | 8 ways | 16 ways | GB/s, 16 ways | 1 way |\n|---|---|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n")
    return head + "".join(row + "\n" for row in rows)


def main(root, check=None):
    root = pathlib.Path(root)
    page = root / "docs/host-applications.md"
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    made = before + BEGIN + table(root) + END + rest.split(END)[1]
    if check and made != text:
        print(f"{page}: its table is not that of configs/host/applications: run scripts/describe_host_applications.py .")
        return 1
    if not check:
        page.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
