#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a page with the figures of CAP (Wang, thesis, SJTU 2017, chapter 4), the paper's numbers beside ours.

    compare_split.py CORUN NAME GPU THREADS PROGRAM=COMMAND... > NAME.md

GPU is a simulated one, or `native`. Each COMMAND is a program that uses corun/split.h; PROGRAM is its name in the thesis (cg, jacobi, mc,
mm, nbody, nns) or any other, for which the paper has no number. Every program runs under `corun split`: with the defaults, as the
thesis has its algorithm (patience=1e9,extrapolate=0,fill=0), and with first steps of 1/64 and 1/256.
"""
import json
import os
import shlex
import subprocess
import sys
import tempfile

# Table 4-3: gain over Quick and over Split, share of the iterations in profiling steps; in percent.
PAPER = {"cg": (26.1, 3.6, 37.9), "jacobi": (47.6, 6.9, 26.8), "mc": (1.1, 197.3, 3.1), "mm": (1.1, 19.8, 3.1),
         "nbody": (37.5, 7.2, 26.8), "nns": (86.7, 21.6, 25.0)}
THESIS = "patience=1e9,extrapolate=0,fill=0"
SIZES = (0.001, 0.004, 0.016, 0.06, 0.25, 1)


def split(corun, gpu, threads, command, strategies, settings):
    """{name of the case: its rounds}"""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "split.json")
        words = [corun, "split", "--quiet", "--threads", threads, "-s", strategies, "-j", path]
        words += ["--set", settings] if settings else []
        words += ["--native"] if gpu == "native" else ["--gpu", gpu]
        done = subprocess.run(words + ["--"] + command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            sys.exit(f"{shlex.join(words + ['--'] + command)}: {done.stderr}")
        with open(path, encoding="utf-8") as file:
            return {case["case"]: case["rounds"] for case in json.load(file)["cases"]}


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
    rows, over_quick, over_split, thesis_quick, thesis_split = [], [], [], [], []
    for name, result in results.items():
        paper = PAPER.get(name, (None, None, None))
        ours, theirs = result["default"], result["thesis"]
        values = [100 * (seconds(runs[other]) / seconds(runs["cap"]) - 1) for runs in (theirs, ours) for other in ("quick", "split")]
        for kept, value in zip((thesis_quick, thesis_split, over_quick, over_split), values):
            kept.append(value)
        profiled = [f"{100 * runs['cap'][0]['profiled']:.1f} %" for runs in (theirs, ours)]
        rows.append([name, percent(paper[0]), percent(values[0]), percent(values[2]), percent(paper[1]), percent(values[1]),
                     percent(values[3]), "" if paper[2] is None else f"{paper[2]:.1f} %", *profiled])
    rows.append(["mean", percent(mean([PAPER[name][0] for name in results if name in PAPER])), percent(mean(thesis_quick)),
                 percent(mean(over_quick)), percent(mean([PAPER[name][1] for name in results if name in PAPER])),
                 percent(mean(thesis_split)), percent(mean(over_split)), "", "", ""])
    print("## Table 4-3: what CAP brings, and what it profiles\n")
    table(["program", "over Quick: paper", "thesis' CAP", "our CAP", "over Split: paper", "thesis' CAP", "our CAP", "profiled: paper",
           "thesis' CAP", "our CAP"], rows)


def signs(results):
    """How many of the paper's gains ours share the direction of."""
    same = {"thesis": 0, "default": 0}
    known = 0
    for name, result in results.items():
        for other, paper in zip(("quick", "split"), PAPER.get(name, ())):
            known += 1
            for kind in same:
                ours = seconds(result[kind][other]) / seconds(result[kind]["cap"]) - 1
                same[kind] += (ours > 0) == (paper > 0)
    print(f"Gains of table 4-3 whose sign is the paper's, with the thesis' CAP: {same['thesis']} of {known}; with ours:\n")
    print(f"Same sign: {same['default']} of {known}.\n")


def speedups(results):
    print("## Figure 4-3: speed-up over the CPU alone, and efficiency against the ideal\n\nThe ideal: both sides at their best rate, at no cost. "
          "The last column is our CAP's time over that of the faster side alone.\n")
    rows = []
    for name, result in results.items():
        runs = result["default"]
        cpu, gpu = seconds(runs["CPU alone"]), seconds(runs["GPUs alone"])
        ideal = 1 / (1 / cpu + 1 / gpu)
        row = [name] + [f"{cpu / seconds(runs[case]):.2f}" for case in ("GPUs alone", "static", "quick", "split")]
        row += [f"{cpu / seconds(result['thesis']['cap']):.2f}", f"{cpu / seconds(runs['cap']):.2f}"]
        row += [f"{ideal / seconds(result['thesis']['cap']):.3f}", f"{ideal / seconds(runs['cap']):.3f}",
                f"{seconds(runs['cap']) / min(cpu, gpu):.3f}"]
        rows.append(row)
    table(["program", "GPU alone", "static", "quick", "split", "thesis' CAP", "our CAP", "efficiency: thesis' CAP", "our CAP",
           "over the faster"], rows)


def imbalances(results):
    print("## Figure 4-4: difference of the times of both sides, first run\n")
    rows = []
    for name, result in results.items():
        rows.append([name] + [f"{100 * result['default'][case][0]['imbalance']:.1f} %" for case in ("static", "quick", "split")]
                    + [f"{100 * result[kind]['cap'][0]['imbalance']:.1f} %" for kind in ("thesis", "default")])
    table(["program", "static", "quick", "split", "thesis' CAP", "our CAP"], rows)


def variances(results):
    print("## Figure 4-5: variance of two successive splits, the thesis' CAP; its steps\n")
    rows = []
    for name, result in results.items():
        steps = result["thesis"]["cap"][0]["steps"]
        known = [f"{step['variance']:.1e}" for step in steps if step["variance"] is not None]
        rows.append([name, str(len(steps)), str(len(result["default"]["cap"][0]["steps"]))] + (known + [""] * 7)[:7])
    table(["program", "steps", "steps of our CAP"] + [f"{n}" for n in range(2, 9)], rows)


def first_steps(results):
    print("## Figure 4-6: the first step; time relative to 1/128, the thesis' CAP and ours in brackets\n")
    rows = []
    for name, result in results.items():
        base, ours = seconds(result["thesis"]["cap"]), seconds(result["default"]["cap"])
        rows.append([name] + [f"{seconds(result[f'thesis {part}']['cap']) / base:.3f} ({seconds(result[f'default {part}']['cap']) / ours:.3f})"
                              for part in ("1/64", "1/256")])
    table(["program", "1/64", "1/256"], rows)


def rates(results):
    print("## Figure 4-1: rate of the GPU over the size of its part, relative to the CPU's\n")
    rows = []
    for name, result in results.items():
        runs = result["default"]
        total = runs["CPU alone"][0]["iterations"]
        cpu = total / runs["CPU alone"][0]["seconds"]
        points = [(part["done"] / total, part["done"] / part["seconds"] / cpu) for step in runs["sizes"][0]["steps"]
                  for part in step["parts"][1:2] if part["done"] and part["seconds"]]
        points.append((1, total / runs["GPUs alone"][0]["seconds"] / cpu))
        row = [name]
        for size in SIZES:
            near = min(points, key=lambda point: abs(point[0] / size - 1) + abs(size / point[0] - 1))
            row.append(f"{near[1]:.2f}" if 0.5 < near[0] / size < 2 else "")
        rows.append(row)
    table(["program"] + [f"{100 * size:g} %" for size in SIZES], rows)


def main():
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    corun, page, gpu, threads = sys.argv[1:5]
    results = {}
    for word in sys.argv[5:]:
        name, _, command = word.partition("=")
        command = shlex.split(command)
        result = results[name] = {}
        result["default"] = split(corun, gpu, threads, command, "cap,quick,split,static", "")
        result["thesis"] = split(corun, gpu, threads, command, "cap,quick,split,static", THESIS)
        for part in ("1/64", "1/256"):
            result[f"default {part}"] = split(corun, gpu, threads, command, "cap", f"first={part}")
            result[f"thesis {part}"] = split(corun, gpu, threads, command, "cap", f"first={part},{THESIS}")
    first = next(iter(results.values()))["default"]["cap"][0]
    print(f"# {page}: CAP on the {'simulated ' if first['clock'] == 'simulated' else ''}{first['devices'][1]['name']}\n")
    commands = [(name, shlex.split(command)) for name, _, command in (word.partition("=") for word in sys.argv[5:])]
    words = " ".join(f"{name}={shlex.quote(shlex.join([os.path.basename(command[0]), *command[1:]]))}" for name, command in commands)
    print(f"* made by: `scripts/compare_split.py corun {page} {gpu} {threads} {words}`")
    print(f"* CPU: {first['devices'][0]['name']}, threads: {threads}; ratios depend on it. GPU: {first['devices'][1]['name']}; "
          f"{'its part in simulated time, the CPU in processor time' if first['clock'] == 'simulated' else 'wall time'}")
    print("* paper: Wang, thesis, SJTU 2017, chapter 4, on a Xeon E5620 (one thread) and a Tesla M2090; only table 4-3 has numbers. Thesis' CAP is "
          "ours with `patience=1e9,extrapolate=0,fill=0`\n")
    for section in (gains, signs, speedups, imbalances, variances, first_steps, rates):
        section(results)


if __name__ == "__main__":
    main()
