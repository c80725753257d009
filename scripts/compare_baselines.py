#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Figures 15, 16, 19 and 20 of Sun et al., SMQoS, Parallel Computing 2022, again: latency-sensitive kernels beside batch kernels on a simulated
V100, under policies in software and in hardware, and on parts of the GPU.

    compare_baselines.py CORUN [--whole] [--gpu GPU] [--part GPU] [--cycles N] [--epoch N] [--goals 0.8 0.9 0.95] [--results FILE] [--only FIGURE]
                         [--drawn N SEED]

Writes the page in Markdown. With --whole the GPU is the V100 with all of its SMs, and kernels have sizes that fill it. What has run is kept in the file of results (a line of JSON for each run), so that a page which was interrupted goes on. `--part`
is the GPU with {sms}, {controllers} and {l2} in place of its numbers: of it the parts of a partitioned GPU are made. With --kept nothing is run: cases that
have not run on every machine are left out. With --drawn N SEED the pairs are any N of all workloads, in sizes small and medium, drawn by a seed: those
that nobody has looked at.
"""
import argparse
import json
import math
import os
import random
import re
import subprocess
import sys
import time

# Workloads on an eighth of the V100, and sizes that fill all of it. A thread block of GESUMMV or ATAX takes longer in a larger size, so these stay.
LS = {"HS": "hotspot@medium", "MERGE": "merge-sort@medium", "LIB": "lib@small", "LBM": "lbm@medium"}
BATCH = {"PF": "pathfinder@medium", "BINO": "binomial-options@medium", "GESUMMV": "gesummv@small", "ATAX": "atax@small"}
WHOLE_LS = {"HS": "hotspot@large", "MERGE": "merge-sort@large", "LIB": "lib@medium", "LBM": "lbm@large"}
WHOLE_BATCH = {"PF": "pathfinder@large", "BINO": "binomial-options@medium", "GESUMMV": "gesummv@small", "ATAX": "atax@small"}
# name, machine, policy
WAYS = (("dynamic, software", "software", "smqos:gate=off"), ("static, software", "software", "static-smqos"),
        ("thread limits, software", "software", "thread-limits"), ("smqos, hardware", "hardware", "smqos:gate=off"),
        ("qos-rollover, hardware", "hardware", "qos-rollover"))
NOT_DRAWN = {"attention", "gemm-mma", "gemm-wgmma", "gemm-wmma", "pointer-chasing"}  # for other GPUs, and no program
PAPER = {"static, software": ("93.8 %", "41.2 %"), "slate, software": ("84.4 %", "37.3 %"), "thread limits, software": ("76.6 %", "23.9 %")}
SMS, CONTROLLERS, L2 = 10, 4, 768


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corun")
    parser.add_argument("--whole", action="store_true", help="all SMs of the V100, and sizes that fill them; only pace and smqos in software")
    parser.add_argument("--gpu", default=f"quadro-v100:sms={SMS},memory_controllers={CONTROLLERS},l2={L2}K")
    parser.add_argument("--part", default="quadro-v100:sms={sms},memory_controllers={controllers},l2={l2}K")
    parser.add_argument("--cycles", default="1M")
    parser.add_argument("--epoch", default="20K")
    parser.add_argument("--goals", nargs="+", type=float, default=[0.8, 0.9, 0.95])
    parser.add_argument("--tight", nargs="+", type=float, default=[0.95], help="goals for the dynamic and the static split alone")
    parser.add_argument("--results", default="baselines.jsonl")
    parser.add_argument("--cache", default="baselines-cache")
    parser.add_argument("--kept", action="store_true")
    parser.add_argument("--only", nargs="+", default=["pairs", "tight", "slate", "three"])
    parser.add_argument("--drawn", nargs=2, type=int, metavar=("N", "SEED"), help="so many pairs of any workloads in place of those of the paper; only pace and dynamic")
    options = parser.parse_args(arguments)
    options.pairs = [(ls, batch) for ls in LS for batch in BATCH]
    if options.drawn:
        if set(options.only) - {"pace", "dynamic"} or options.whole:
            parser.error("--drawn is for --only pace dynamic, on a part of the GPU")
        options.pairs = draw(options)
        LS.clear()
        BATCH.clear()
        LS.update((ls, ls) for ls, _ in options.pairs)
        BATCH.update((batch, batch) for _, batch in options.pairs)
    if options.whole:
        if set(options.only) - {"pace", "dynamic"}:
            parser.error("--whole is for --only pace dynamic")
        options.gpu = "quadro-v100"
        LS.update(WHOLE_LS)
        BATCH.update(WHOLE_BATCH)
    return options


def draw(options):
    said = subprocess.run([options.corun, "list", "workloads"], stdout=subprocess.PIPE, text=True, check=True).stdout
    names = [line.split()[0] for line in said.splitlines()[2:] if line.split() and line.split()[0] not in NOT_DRAWN]
    count, seed = options.drawn
    chance = random.Random(seed)
    return [tuple(f"{name}@{chance.choice(('small', 'medium'))}" for name in chance.sample(names, 2)) for _ in range(count)]


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
        if key not in self.kept and self.options.kept:
            raise KeyError(key)
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


def summary(cases, goals, with_paper):
    """cases[way][(ls, batch, goal)] → rows. The paper's figures are of pairs at goals of 80 to 95 %."""
    heads = ["", "QoSreach", *(["paper, 80 to 95 %"] if with_paper else []), *(f"at {100 * goal:g} %" for goal in goals if len(goals) > 1),
             "batch, goals met", *(["paper"] if with_paper else []), "batch, all", "above the goal, where met"]
    print(f"\n| {' | '.join(heads)} |\n|---|" + "--:|" * (len(heads) - 1))
    for way, rows in cases.items():
        met = {key: row["npm"] >= 1 for key, row in rows.items()}
        at = [per_cent(mean([met[key] for key in rows if key[2] == goal])) for goal in goals if len(goals) > 1]
        paper = [[figure] for figure in PAPER.get(way, ("", ""))] if with_paper else [[], []]
        cells = [way, per_cent(mean(list(met.values()))), *paper[0], *at, per_cent(mean([row["batch"] for key, row in rows.items() if met[key]])),
                 *paper[1], per_cent(mean([row["batch"] for row in rows.values()])),
                 per_cent(mean([row["npm"] - 1 for key, row in rows.items() if met[key]]))]
        print(f"| {' | '.join(cells)} |")


def table(title, cases, value):
    ways = list(cases)
    print(f"\n{title}\n\n| LS | beside | goal | {' | '.join(ways)} |\n|---|---|--:|" + "--:|" * len(ways))
    for key in cases[ways[0]]:
        cells = [number(cases[way][key][value]) if key in cases[way] else "" for way in ways]
        print(f"| {key[0]} | {key[1]} | {100 * key[2]:g} % | {' | '.join(cells)} |")


def model_version(corun):
    said = subprocess.run([corun, "version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.search(r"timing model (\d+)", said)[1]


def pairs_in_words(options):
    if options.drawn:
        return f"* pairs: {options.drawn[0]} of all workloads, drawn with the seed {options.drawn[1]}"
    return f"""* LS: {", ".join(f"{name} ({workload})" for name, workload in LS.items())}
* batch: {", ".join(f"{name} ({workload})" for name, workload in BATCH.items())}. A thread block of GESUMMV or ATAX takes about a third of the window, even in size small"""


def heading(options):
    print(f"""# rh-smqos-pairs: goals on the software machine, beside hardware and static shares

* made by: `scripts/compare_baselines.py corun{" --whole" if options.whole else ""} --goals {" ".join(f"{goal:g}" for goal in options.goals)} --only {" ".join(options.only)}{" --drawn {} {}".format(*options.drawn) if options.drawn else ""}`
* paper: Sun et al., SMQoS, Parallel Computing 2022, section 6, figures 15, 16, 19 and 20, on a Quadro V100 with all of its 80 SMs, seconds long
* GPU: `{options.gpu}`, {"all of the V100" if options.whole else "an eighth of the V100 in SMs, L2 and memory"}; windows of {options.cycles} cycles, in software epochs of {options.epoch} cycles
* timing model: version {model_version(options.corun)}
{pairs_in_words(options)}
* NPM: speed over speed alone, over the goal; the goal is met from 1 on. NTP: speed over speed alone. Speeds count thread instructions of launches, from the arrival of
  all kernels at once, the time until the split has settled included""")


def every(cases, make):
    """Of all cases those that could be had on every machine."""
    found = {}
    for key in cases:
        try:
            found[key] = make(key)
        except KeyError:
            continue
    ways = list(next(iter(found.values()), {}))
    return {way: {key: rows[way] for key, rows in found.items()} for way in ways}


def make_pair(runs, key):
    ls, batch, goal = key
    rows = {name: case(runs, machine, policy, LS[ls], [BATCH[batch]], goal) for name, machine, policy in WAYS}
    rows["parts of the GPU"] = on_parts(runs, LS[ls], BATCH[batch], goal)
    return rows


def make_tight(runs, key):
    ls, batch, goal = key
    return {name: case(runs, machine, policy, LS[ls], [BATCH[batch]], goal) for name, machine, policy in WAYS
            if policy in ("smqos:gate=off", "static-smqos")}


def make_software(runs, key, policies):
    ls, batch, goal = key
    return {name: case(runs, "software", policy, LS[ls], [BATCH[one] for one in batch.split(" and ")], goal) for name, policy in policies.items()}


def make_fixed(runs, key):
    """Of all fixed splits with which the goal is held, the one that leaves most; the one that comes nearest where none holds it."""
    ls, batch, goal = key
    rows = []
    for sms in range(1, SMS):
        first, second = runs.run("software", f"fixed:split={sms}/{SMS - sms}", [LS[ls], BATCH[batch]])["rows"]
        rows.append({"npm": first["normalised"] / goal, "batch": second["normalised"], "split": f"{sms}/{SMS - sms}"})
    held = [row for row in rows if row["npm"] >= 1]
    return max(held, key=lambda row: row["batch"]) if held else max(rows, key=lambda row: row["npm"])


def main(arguments):
    options = parse(arguments)
    runs = Runs(options)
    keys = [(ls, batch, goal) for goal in options.goals for ls, batch in options.pairs]
    three = [(ls, "PF and GESUMMV", goal) for goal in options.goals for ls in LS]
    static = {"slate, software": "slate", "static, software": "static-smqos"}
    two = {"dynamic, software": "smqos:gate=off", "static, software": "static-smqos"}
    tight = [(ls, batch, goal) for goal in options.tight for ls, batch in options.pairs]
    parts = {"pairs": ("Figures 15, 16 and 20: pairs", keys, lambda key: make_pair(runs, key)),
             "tight": ("Tight goals", tight, lambda key: make_tight(runs, key)),
             "slate": ("Slate beside the static split", keys[:len(LS) * len(BATCH)], lambda key: make_software(runs, key, static)),
             "pace": ("Pace", keys, lambda key: make_software(runs, key, {"pace, software": "pace"})),
             "dynamic": ("smqos again", keys, lambda key: make_software(runs, key, {"smqos, software": "smqos:gate=off"})),
             "fixed": ("The best split that stays", keys, lambda key: {"fixed, software": make_fixed(runs, key)}),
             "three": ("Figure 19: three kernels", three, lambda key: make_software(runs, key, two))}
    tables = {name: every(cases, make) for name, (_, cases, make) in parts.items() if name in options.only}
    heading(options)
    for name, cases in tables.items():
        if not cases:
            continue
        print(f"\n## {parts[name][0]}")
        had, wanted = len(next(iter(cases.values()))), len(parts[name][1])
        if had < wanted:
            print(f"\n{had} of {wanted} cases have been run; means are of these.")
        summary(cases, options.tight if name == "tight" else options.goals, name == "pairs")
        table("What the LS kernel reaches of its goal (NPM):", cases, "npm")
        table("What batch kernels reach of themselves alone (NTP):", cases, "batch")
    print(f"{len(runs.kept)} runs, {runs.seconds() / 60:.1f} minutes of the host.", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
