#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a page with the figures of CAP (Wang, thesis, SJTU 2017, chapter 4), the paper's numbers beside ours.

    compare_split.py CORUN NAME GPU THREADS [--only SECTION,...] [--sample] [--cache DIR] PROGRAM[@SECONDS]=COMMAND... > NAME.md

GPU is a simulated one, or `native`. Each COMMAND is a program that uses corun/split.h; PROGRAM is its name in the thesis (cg, jacobi, mc,
mm, nbody, nns) or any other, for which the paper has no number. SECONDS is what an iteration takes a CPU thread beside a simulated GPU
(cpu_seconds): then every number of the page is exact, the same at each run; without it the CPU is measured, again and again.
Every program runs with each strategy, with cap as the thesis has it (patience=1e9,extrapolate=0,fill=0,ahead=0), without each of its additions, with first
steps of 1/64 and 1/256, with fixed shares, and beside CPUs of other speeds; with --only, what these sections need (gains, goals, ratios, speeds,
speedups, additions, imbalances, variances, first_steps, rates). With --sample, long launches are timed in part (docs/sampling.md). Runs are kept in the cache, by program, GPU and settings: a page that was
interrupted continues where it was, and whoever changes a program or the library begins with an empty one.
"""
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

# Table 4-3: gain over Quick and over Split, share of the iterations in profiling steps; in percent.
PAPER = {"cg": (26.1, 3.6, 37.9), "jacobi": (47.6, 6.9, 26.8), "mc": (1.1, 197.3, 3.1), "mm": (1.1, 19.8, 3.1),
         "nbody": (37.5, 7.2, 26.8), "nns": (86.7, 21.6, 25.0)}
THESIS = "patience=1e9,extrapolate=0,fill=0,ahead=0"
SIZES = (0.001, 0.004, 0.016, 0.06, 0.25, 1)
SHARES = (0.25, 0.5, 0.75, 0.9, 1, 1.1, 1.25)
SPEEDS = (0.01, 0.1, 10, 100)
RATIOS = (0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 4, 10, 20, 50, 100)
CASES = {"CPU alone": "strategy=static,cpu_share=1", "GPUs alone": "strategy=static,cpu_share=0",
         "sizes": "strategy=cap,variance=0,patience=1e9,rest=1,first=1/4096,growth=2", "static": "strategy=static", "quick": "strategy=quick",
         "split": "strategy=split", "cap": "strategy=cap", "meet": "strategy=meet", "thesis": f"strategy=cap,{THESIS}",
         "cap 1/64": "strategy=cap,first=1/64", "cap 1/256": "strategy=cap,first=1/256", "thesis 1/64": f"strategy=cap,first=1/64,{THESIS}",
         "thesis 1/256": f"strategy=cap,first=1/256,{THESIS}", "without patience": "strategy=cap,patience=1e9",
         "without extrapolate": "strategy=cap,extrapolate=0", "without fill": "strategy=cap,fill=0", "without ahead": "strategy=cap,ahead=0"}


def model_version(corun):
    said = subprocess.run([corun, "version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.search(r"timing model (\d+)", said)[1]


def run(corun, gpu, command, settings):
    """The rounds of a run with these settings (CORUN_SPLIT). `gpu`: words of `corun exec`."""
    with tempfile.TemporaryDirectory() as folder:
        record = os.path.join(folder, "record")
        words = command if gpu == ["native"] else [corun, "exec", "--quiet", "--gpu", *gpu, "--", *command]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              env=dict(os.environ, CORUN_SPLIT=settings, CORUN_SPLIT_RECORD=record))
        if done.returncode:
            sys.exit(f"{shlex.join(words)} with CORUN_SPLIT={settings}: {done.stdout}")
        with open(record, encoding="utf-8") as file:
            return [json.loads(line) for line in file]


class Program:
    """A program on one GPU beside one CPU; its runs by case (CASES), by the CPU's fixed share and by the CPU's speed."""

    def __init__(self, corun, gpu, threads, command, each, cache):
        self.corun, self.gpu, self.threads, self.command, self.each, self.cache = corun, gpu, threads, command, each, cache
        self.known = {}

    def settled(self, settings):
        if settings not in self.known:
            key = hashlib.sha256(json.dumps([*self.gpu, os.path.basename(self.command[0]), *self.command[1:], settings]).encode()).hexdigest()
            path = self.cache and os.path.join(self.cache, key + ".json")
            if path and os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    self.known[settings] = json.load(file)
            else:
                self.known[settings] = run(self.corun, self.gpu, self.command, settings)
                if path:
                    with open(path + ".new", "w", encoding="utf-8") as file:
                        json.dump(self.known[settings], file)
                    os.replace(path + ".new", path)
        return self.known[settings]

    def beginning(self, speed=1):
        return f"threads={self.threads}" + (f",cpu_seconds={self.each / speed:g}" if self.each else "")

    def __getitem__(self, case):
        return self.settled(f"{self.beginning()},{CASES[case]}")

    def share(self, share):
        return self.settled(f"{self.beginning()},strategy=static,cpu_share={share:g}")

    def speed(self, speed):
        return self.settled(f"{self.beginning(speed)},strategy=meet")

    def ratio(self, ratio):
        """Beside a CPU that is so many times as fast as the GPU."""
        alone = self["GPUs alone"]
        each = seconds(alone) / ratio / sum(one["iterations"] for one in alone) * float(self.threads)
        return self.settled(f"threads={self.threads},cpu_seconds={each:g},strategy=meet")


def seconds(rounds):
    return sum(one["seconds"] for one in rounds)


def mean(values):
    values = [value for value in values if value is not None]
    return sum(values) / len(values) if values else None


def percent(value):
    return "" if value is None else f"{value:+.1f} %"


def table(titles, rows):
    print("| " + " | ".join(titles) + " |")
    print("|---|" + "--:|" * (len(titles) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def gains(results):
    rows = []
    columns = [(kind, other) for other in ("quick", "split") for kind in ("thesis", "cap", "meet")]
    means = {column: [] for column in columns}
    for name, result in results.items():
        paper = PAPER.get(name, (None, None, None))
        values = {column: 100 * (seconds(result[column[1]]) / seconds(result[column[0]]) - 1) for column in columns}
        for column, value in values.items():
            means[column].append(value)
        profiled = [f"{100 * result[kind][0]['profiled']:.1f} %" for kind in ("thesis", "cap")]
        rows.append([name, percent(paper[0])] + [percent(values[column]) for column in columns[:3]] + [percent(paper[1])]
                    + [percent(values[column]) for column in columns[3:]] + ["" if paper[2] is None else f"{paper[2]:.1f} %", *profiled])
    rows.append(["mean", percent(mean([PAPER[name][0] for name in results if name in PAPER]))] + [percent(mean(means[c])) for c in columns[:3]]
                + [percent(mean([PAPER[name][1] for name in results if name in PAPER]))] + [percent(mean(means[c])) for c in columns[3:]]
                + ["", "", ""])
    print("## Table 4-3: what CAP brings, and what it profiles\n")
    kinds = ["thesis' CAP", "our CAP", "meet"]
    table(["program", "over Quick: paper", *kinds, "over Split: paper", *kinds, "profiled: paper", "thesis' CAP", "our CAP"], rows)
    signs(results)


def signs(results):
    """How many of the paper's gains ours share the direction of."""
    same = dict.fromkeys(("thesis", "cap", "meet"), 0)
    known = 0
    for name, result in results.items():
        for other, paper in zip(("quick", "split"), PAPER.get(name, ())):
            known += 1
            for kind in same:
                ours = seconds(result[other]) / seconds(result[kind]) - 1
                same[kind] += (ours > 0) == (paper > 0)
    print(f"Gains of table 4-3 whose sign is the paper's: with our CAP {same['cap']} of {known}, with meet {same['meet']}; with the thesis' CAP:\n")
    print(f"Same sign: {same['thesis']} of {known}.\n")


def ideal(result):
    return 1 / (1 / seconds(result["CPU alone"]) + 1 / seconds(result["GPUs alone"]))


def speedups(results):
    print("## Figure 4-3: speed-up over the CPU alone\n")
    rows = []
    for name, result in results.items():
        cpu = seconds(result["CPU alone"])
        rows.append([name, f"{1e6 * cpu:.1f}"]
                    + [f"{cpu / seconds(result[case]):.2f}" for case in ("GPUs alone", "static", "quick", "split", "thesis", "cap", "meet")])
    table(["program", "CPU alone, us", "GPU alone", "static", "quick", "split", "thesis' CAP", "our CAP", "meet"], rows)


def goals(results):
    factors = ", ".join(f"{factor:g}" for factor in SHARES)
    print("## Goals: 0.93 of the ideal, at most 1.02 of the faster side alone\n\nThe ideal: both sides at their best rate, at no cost. Best fixed share: of none, "
          f"all and {factors} times that of the ideal; what knows the machine cannot do much better with one part for each side.\n")
    rows = []
    for name, result in results.items():
        faster = min(seconds(result["CPU alone"]), seconds(result["GPUs alone"]))
        own = ideal(result) / seconds(result["CPU alone"])
        shares = {round(own * factor, 4) for factor in SHARES if own * factor < 1}
        best, share = min((seconds(result.share(share)), share) for share in sorted({0, 1} | shares))
        cases = ("thesis", "cap", "meet")
        rows.append([name, f"{ideal(result) / best:.3f} ({share:.3g})"] + [f"{ideal(result) / seconds(result[case]):.3f}" for case in cases]
                    + [f"{seconds(result[case]) / faster:.3f}" for case in cases])
    table(["program", "of the ideal: best fixed share (CPU's)", "thesis' CAP", "our CAP", "meet", "over the faster side: thesis' CAP", "our CAP", "meet"],
          rows)


def additions(results):
    print("## What our CAP's additions bring: time with all of them over time without one\n")
    cases = ("without patience", "without extrapolate", "without fill", "without ahead", "thesis")
    table(["program", "patience", "extrapolate", "fill", "ahead", "all four (thesis' CAP)"],
          [[name] + [f"{seconds(result['cap']) / seconds(result[case]):.3f}" for case in cases] for name, result in results.items()])


def imbalances(results):
    print("## Figure 4-4: difference of the times of both sides, first run\n")
    table(["program", "static", "quick", "split", "thesis' CAP", "our CAP", "meet"],
          [[name] + [f"{100 * result[case][0]['imbalance']:.1f} %" for case in ("static", "quick", "split", "thesis", "cap", "meet")]
           for name, result in results.items()])


def variances(results):
    print("## Figure 4-5: variance of two successive splits, the thesis' CAP; its steps\n")
    rows = []
    for name, result in results.items():
        steps = result["thesis"][0]["steps"]
        known = [f"{step['variance']:.1e}" for step in steps if step["variance"] is not None]
        rows.append([name, str(len(steps)), str(len(result["cap"][0]["steps"]))] + (known + [""] * 7)[:7])
    table(["program", "steps", "steps of our CAP"] + [f"{n}" for n in range(2, 9)], rows)


def first_steps(results):
    print("## Figure 4-6: the first step; time relative to 1/128, the thesis' CAP and ours in brackets\n")
    table(["program", "1/64", "1/256"],
          [[name] + [f"{seconds(result[f'thesis {part}']) / seconds(result['thesis']):.3f} ({seconds(result[f'cap {part}']) / seconds(result['cap']):.3f})"
                     for part in ("1/64", "1/256")] for name, result in results.items()])


def speeds(results):
    results = {name: result for name, result in results.items() if result.each}
    if not results:
        return
    print("## Beside CPUs of other speeds: meet over the faster side alone, and in brackets its efficiency\n\nA CPU may need longer for one granule than the "
          "GPU for everything. Then the run lasts until the CPU's function asks whether it is needed, or, where it does not ask or the GPU has not been "
          "given that granule, until the granule ends.\n")
    rows = []
    for name, result in results.items():
        gpu, row = seconds(result["GPUs alone"]), [name]
        for speed in sorted([*SPEEDS, 1]):
            cpu = seconds(result["CPU alone"]) / speed
            ours = seconds(result.speed(speed))
            row.append(f"{ours / min(cpu, gpu):.3f} ({1 / (1 / cpu + 1 / gpu) / ours:.2f})")
        rows.append(row)
    table(["program"] + [f"{speed:g} times as fast" for speed in sorted([*SPEEDS, 1])], rows)


def ratios(results):
    results = {name: result for name, result in results.items() if result.each}
    if not results:
        return
    print("## Over ratios of CPU to GPU: meet over the faster side alone, and in brackets its efficiency\n")
    rows = []
    for ratio in RATIOS:
        row = [f"1 : {1 / ratio:g}" if ratio < 1 else f"{ratio:g} : 1"]
        for result in results.values():
            gpu = seconds(result["GPUs alone"])
            cpu, ours = gpu / ratio, seconds(result.ratio(ratio))
            row.append(f"{ours / min(cpu, gpu):.3f} ({1 / (1 / cpu + 1 / gpu) / ours:.2f})")
        rows.append(row)
    table(["CPU : GPU", *results], rows)


def rates(results):
    print("## Figure 4-1: rate of the GPU over the size of its part, relative to the CPU's\n")
    rows = []
    for name, result in results.items():
        total = result["CPU alone"][0]["iterations"]
        cpu = total / result["CPU alone"][0]["seconds"]
        points = [(part["done"] / total, part["done"] / part["seconds"] / cpu) for step in result["sizes"][0]["steps"]
                  for part in step["parts"][1:2] if part["done"] and part["seconds"]]
        points.append((1, total / result["GPUs alone"][0]["seconds"] / cpu))
        row = [name]
        for size in SIZES:
            near = min(points, key=lambda point: abs(point[0] / size - 1) + abs(size / point[0] - 1))
            row.append(f"{near[1]:.2f}" if 0.5 < near[0] / size < 2 else "")
        rows.append(row)
    table(["program"] + [f"{100 * size:g} %" for size in SIZES], rows)


SECTIONS = (gains, goals, ratios, speeds, speedups, additions, imbalances, variances, first_steps, rates)


def option(arguments, name):
    """The value of an option, which is taken out."""
    if name not in arguments:
        return None
    place = arguments.index(name)
    value = arguments[place + 1]
    del arguments[place:place + 2]
    return value


def main():
    arguments = sys.argv[1:]
    cache, only = option(arguments, "--cache"), option(arguments, "--only")
    sample = ["--sample"] if "--sample" in arguments else []
    arguments = [word for word in arguments if word not in sample]
    if len(arguments) < 5:
        sys.exit(__doc__)
    if cache:
        os.makedirs(cache, exist_ok=True)
    sections = [section for section in SECTIONS if not only or section.__name__ in only.split(",")]
    corun, page, gpu, threads = arguments[:4]
    results, words, times = {}, [], []
    for word in arguments[4:]:
        name, _, command = word.partition("=")
        name, _, each = name.partition("@")
        command = shlex.split(command)
        results[name] = Program(corun, [gpu, *sample], threads, command, float(each or 0), cache)
        words.append(f"{name}{'@' + each if each else ''}={shlex.quote(shlex.join([os.path.basename(command[0]), *command[1:]]))}")
        times += [f"{name} {float(each) * 1e9:g} ns"] if each else []
    first = next(iter(results.values()))["cap"][0]
    print(f"# {page}: CAP on the {'simulated ' if first['clock'] == 'simulated' else ''}{first['devices'][1]['name']}\n")
    print(f"* made by: `scripts/compare_split.py corun {page} {gpu} {threads} {'--only ' + only + ' ' if only else ''}"
          f"{'--sample ' if sample else ''}{' '.join(words)}`")
    how = "its parts in simulated time" if first["clock"] == "simulated" else "wall time"
    print(f"* CPU: {first['devices'][0]['name']}, threads: {threads}; ratios depend on it. GPU: {first['devices'][1]['name']}; {how}")
    if first["clock"] == "simulated":
        print(f"* timing model: version {model_version(corun)}")
    if sample:
        print("* long launches are [timed in part](../sampling.md)")
    if times:
        print(f"* time of an iteration on a thread of that CPU, measured before, the best of several runs: {', '.join(times)}. So all that follows is exact")
    print("* paper: Wang, thesis, SJTU 2017, chapter 4, on a Xeon E5620 (one thread) and a Tesla M2090; only table 4-3 has numbers. Thesis' CAP is "
          f"ours with `{THESIS}`; [what meet is](../split.md#how-a-run-goes)\n")
    for section in sections:
        section(results)


if __name__ == "__main__":
    main()
