#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Figures 15, 16, 19 and 20 of Sun et al., SMQoS, Parallel Computing 2022, again: latency-sensitive kernels beside batch kernels on a simulated
V100, under policies in software and in hardware, and on parts of the GPU.

    compare_baselines.py CORUN [--gpu GPU] [--part GPU] [--cycles N] [--epoch N] [--goals 0.8 0.9 0.95] [--results FILE] [--only FIGURE]

Writes the page in Markdown. What has run is kept in the file of results (a line of JSON for each run), so that a page which was interrupted goes on. `--part`
is the GPU with {sms}, {controllers} and {l2} in place of its numbers: of it the parts of a partitioned GPU are made.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import time

LS = {"HS": "hotspot@medium", "MERGE": "merge-sort@medium", "LIB": "lib@small", "LBM": "lbm@medium"}
BATCH = {"PF": "pathfinder@medium", "BINO": "binomial-options@medium", "GESUMMV": "gesummv@small", "ATAX": "atax@small"}
# name, machine, policy
WAYS = (("dynamic, software", "software", "smqos:gate=off"), ("static, software", "software", "static-smqos"),
        ("thread limits, software", "software", "thread-limits"), ("smqos, hardware", "hardware", "smqos:gate=off"),
        ("qos-rollover, hardware", "hardware", "qos-rollover"))
PAPER = {"static, software": ("93.8 %", "41.2 %"), "slate, software": ("84.4 %", "37.3 %"), "thread limits, software": ("76.6 %", "23.9 %")}
SMS, CONTROLLERS, L2 = 10, 4, 768


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corun")
    parser.add_argument("--gpu", default=f"quadro-v100:sms={SMS},memory_controllers={CONTROLLERS},l2={L2}K")
    parser.add_argument("--part", default="quadro-v100:sms={sms},memory_controllers={controllers},l2={l2}K")
    parser.add_argument("--cycles", default="1M")
    parser.add_argument("--epoch", default="20K")
    parser.add_argument("--goals", nargs="+", type=float, default=[0.8, 0.9, 0.95])
    parser.add_argument("--results", default="baselines.jsonl")
    parser.add_argument("--cache", default="baselines-cache")
    parser.add_argument("--only", nargs="+", default=["pairs", "slate", "three", "parts"])
    return parser.parse_args(arguments)


class Runs:
    """Runs of corun, each once."""

    def __init__(self, options):
        self.options, self.kept = options, {}
        if os.path.exists(options.results):
            with open(options.results, encoding="utf-8") as stream:
                self.kept = {row["key"]: row for row in map(json.loads, stream)}

    def run(self, machine, policy, applications, gpu=None):
        gpu = gpu or self.options.gpu
        command = ["run", "-m", machine, "-g", gpu, "-c", self.options.cycles]
        command += ["-p", policy] if policy else []
        command += ["--epoch", self.options.epoch] if machine == "software" else []
        key = " ".join(command + applications)
        if key not in self.kept:
            begin = time.time()
            done = subprocess.run([self.options.corun, *command, "--cache", self.options.cache, "--json", "-", *applications],
                                  capture_output=True, text=True, check=False)
            if done.returncode:
                sys.exit(f"{key}: {done.stderr}")
            found = json.loads(done.stdout)
            row = {"key": key, "seconds": round(time.time() - begin, 1),
                   "rows": [{"normalised": row["normalised_ipc"] or 0, "ipc": row["ipc"] or 0, "met": row.get("goal_met")}
                            for row in found["applications"]],
                   "control": found.get("control")}
            self.kept[key] = row
            with open(self.options.results, "a", encoding="utf-8") as stream:
                stream.write(json.dumps(row) + "\n")
        return self.kept[key]

    def seconds(self):
        return sum(row["seconds"] for row in self.kept.values())


def case(runs, machine, policy, first, others, goal):
    rows = runs.run(machine, policy, [f"{first}:goal={goal * 100:g}%", *others])["rows"]
    batch = [row["normalised"] for row in rows[1:]]
    return {"npm": rows[0]["normalised"] / goal, "batch": sum(batch) / len(batch)}


def on_parts(runs, first, second, goal):
    """Each on a GPU of its own, with its share of SMs, L2 and memory, rounded as a static split rounds."""
    options, cells = runs.options, {}
    sms = min(math.ceil(goal * SMS - 1e-9), SMS - 1)
    for name, part in ((first, sms), (second, SMS - sms)):
        controllers = max(1, round(CONTROLLERS * part / SMS))
        gpu = options.part.format(sms=part, controllers=controllers, l2=L2 // CONTROLLERS * controllers)
        whole = runs.run("hardware", None, [name])["rows"][0]["ipc"]
        cells[name] = runs.run("hardware", None, [name], gpu)["rows"][0]["ipc"] / whole if whole else 0
    return {"npm": cells[first] / goal, "batch": cells[second]}


def mean(values):
    return sum(values) / len(values) if values else float("nan")


def per_cent(value):
    return "-" if math.isnan(value) else f"{100 * value:.1f} %"


def number(value):
    return f"{value:.3f}"


def summary(cases, goals):
    """cases[way][(ls, batch, goal)] → rows."""
    ways = list(cases)
    print(f"\n| | QoSreach | paper | {' | '.join(f'at {100 * g:g} %' for g in goals)} | batch, goals met | paper | batch, all | above the goal, where met |")
    print("|---|--:|--:|" + "--:|" * len(goals) + "--:|--:|--:|--:|")
    for way in ways:
        rows = cases[way]
        met = {key: row["npm"] >= 1 for key, row in rows.items()}
        at = [per_cent(mean([met[key] for key in rows if key[2] == goal])) for goal in goals]
        paper = PAPER.get(way, ("", ""))
        print(f"| {way} | {per_cent(mean(list(met.values())))} | {paper[0]} | {' | '.join(at)} "
              f"| {per_cent(mean([row['batch'] for key, row in rows.items() if met[key]]))} | {paper[1]} "
              f"| {per_cent(mean([row['batch'] for row in rows.values()]))} "
              f"| {per_cent(mean([row['npm'] - 1 for key, row in rows.items() if met[key]]))} |")


def table(title, cases, value):
    ways = list(cases)
    print(f"\n{title}\n\n| LS | beside | goal | {' | '.join(ways)} |\n|---|---|--:|" + "--:|" * len(ways))
    for key in cases[ways[0]]:
        cells = [number(cases[way][key][value]) if key in cases[way] else "" for way in ways]
        print(f"| {key[0]} | {key[1]} | {100 * key[2]:g} % | {' | '.join(cells)} |")


def main(arguments):
    options = parse(arguments)
    runs = Runs(options)
    pairs = {name: {} for name, _, _ in WAYS}
    pairs["parts of the GPU"] = {}
    slate = {"slate, software": {}, "static, software": {}}
    three = {"dynamic, software": {}, "static, software": {}}
    if "parts" in options.only:
        for goal in options.goals:
            for ls, first in LS.items():
                for batch, second in BATCH.items():
                    pairs["parts of the GPU"][(ls, batch, goal)] = on_parts(runs, first, second, goal)
    for goal in options.goals if "pairs" in options.only else []:
        for ls, first in LS.items():
            for batch, second in BATCH.items():
                for name, machine, policy in WAYS:
                    pairs[name][(ls, batch, goal)] = case(runs, machine, policy, first, [second], goal)
    for ls, first in LS.items() if "slate" in options.only else []:
        for batch, second in BATCH.items():
            goal = options.goals[0]
            slate["slate, software"][(ls, batch, goal)] = case(runs, "software", "slate", first, [second], goal)
            slate["static, software"][(ls, batch, goal)] = case(runs, "software", "static-smqos", first, [second], goal)
    for goal in options.goals if "three" in options.only else []:
        for ls, first in LS.items():
            for name, policy in (("dynamic, software", "smqos:gate=off"), ("static, software", "static-smqos")):
                three[name][(ls, "PF and GESUMMV", goal)] = case(runs, "software", policy, first, [BATCH["PF"], BATCH["GESUMMV"]], goal)
    if "pairs" in options.only:
        summary(pairs, options.goals)
        table("**Figure 15**: what the LS kernel reaches of its goal (NPM).", pairs, "npm")
        table("**Figure 16**: what the batch kernel reaches of itself alone (NTP).", pairs, "batch")
    if "slate" in options.only:
        summary(slate, options.goals[:1])
        table("**Slate** beside the static split.", slate, "npm")
    if "three" in options.only:
        summary(three, options.goals)
        table("**Figure 19**: three kernels.", three, "npm")
    print(f"\n{len(runs.kept)} runs, {runs.seconds() / 60:.1f} minutes of the host.", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
