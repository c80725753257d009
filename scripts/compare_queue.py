#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a page with the figures of Kernelet (Zhong and He, TPDS 2014, section 5) that are about queues, the paper's numbers beside ours.

    compare_queue.py CORUN GPU INSTANCES MC FULL [--cache DIR] [--jobs N] [--only SECTION,...] [--groups GROUP,...] [--schedulers NAME,...]
                     [--cycles] [FULL.json...] > kernelet-GPU.md

INSTANCES launches of each kernel wait from the beginning, as the paper assumes that several always do. MC random plans are drawn (0: none).
FULL launches of each kernel of MIX are also simulated cycle by cycle (0: none); results of `corun queue --full --json` on the groups that are there
already stand in for that. --cycles: Case I is simulated cycle by cycle, for GPUs that these launches do not fill. What was measured is kept in the
cache: a page that was interrupted continues. Sections: kernels, case-one, pairs, ipc, pruning, choices, random, case-two, full, costs.
"""
import json
import subprocess
import sys
import tempfile

GROUPS = {"CI": "bs mm tea mriq", "MI": "pc spmv st sad", "MIX": "pc bs tea sad", "ALL": "pc spmv st bs mm tea mriq sad"}
SCHEDULERS = ["sequential", "base", "kernelet", "opt"]
# Section 5.3: Kernelet over Base, and behind OPT, lowest and highest of the four groups; in percent.
PAPER = {"tesla-c2050": ((5, 31), (1, 3)), "gtx680": ((7, 23), (4, 15))}
# Section 5.3, Case II on the C2050: Y,Y over the slowest of the others, and the share of the copies that is hidden; in percent.
CASE_TWO = {"CI": (9.2, 99), "MI": (13.0, 95), "MIX": (16.8, 97), "ALL": (17.5, 97)}
# Of pruning: pur and mur.
THRESHOLDS = [0, 0.05, 0.1, 0.2, 0.4]


class Corun:
    def __init__(self, path, gpu, settings):
        self.path, self.gpu, self.settings = path, gpu, settings

    def queue(self, kernels, schedulers, *words, gpu=None):
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            command = [self.path, "queue", "--quiet", "--gpu", gpu or self.gpu, *self.settings, *words, "--json", file.name]
            for scheduler in schedulers:
                command += ["--scheduler", scheduler]
            done = subprocess.run(command + kernels.split(), stderr=subprocess.PIPE, text=True, check=False)
            if done.returncode:
                sys.exit(f"{' '.join(command)}: {done.stderr}")
            return json.load(open(file.name, encoding="utf-8"))


def table(titles, rows):
    print("| " + " | ".join(titles) + " |")
    print("|---|" + "--:|" * (len(titles) - 1))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def milliseconds(result, ticks):
    return f"{1e3 * ticks / result['ticks_per_second']:.1f}"


def percent(value, digits=1):
    return "" if value is None else f"{100 * value:.{digits}f} %"


def makespans(result):
    return {run["scheduler"]: run["makespan_ticks"] for run in result["runs"]}


def kernels(result):
    print("## The kernels\n\nAlone and whole, and in slices side by side with themselves. PUR and MUR are the shares of the issue slots and of the DRAM's "
          "pins that a kernel uses.\n")
    table(["kernel", "workload", "thread blocks", "ms", "IPC of an SM", "predicted", "PUR", "MUR", "R_m", "smallest slice"],
          [[kernel["name"], f"{kernel['workload']}@{kernel['size']}", kernel["tbs"], f"{1e3 * kernel['alone_ticks'] / result['ticks_per_second']:.3f}",
            f"{kernel['ipc']:.3f}", f"{kernel['predicted_ipc']:.3f}", f"{kernel['pipeline_utilization']:.3f}", f"{kernel['memory_utilization']:.3f}",
            f"{kernel['memory_share']:.3f}", kernel["smallest_slice"]] for kernel in result["kernels"]])


def case_one(corun, instances, paper, groups, schedulers, cycles):
    results = {group: corun.queue(GROUPS[group], schedulers, "-n", str(instances), *(["--full"] if cycles else [])) for group in groups}
    print(f"## Figure 6: Case I, {instances} launches of each kernel\n\nMakespan in ms, "
          f"{'every slice simulated cycle by cycle' if cycles else 'by events at measured speeds'}.\n")
    gains = [("Base over sequential", "sequential", "base"), ("Kernelet over Base", "base", "kernelet"), ("Kernelet behind OPT", "kernelet", "opt")]
    gains = [gain for gain in gains if set(gain[1:]) <= set(schedulers)]
    rows, shares = [], {gain[0]: [] for gain in gains}
    for group, result in results.items():
        spans = makespans(result)
        for title, slow, fast in gains:
            shares[title].append(spans[slow] / spans[fast] - 1)
        rows.append([group] + [milliseconds(result, spans[name]) for name in schedulers] + [percent(shares[gain[0]][-1]) for gain in gains])
    table(["group", *schedulers, *shares], rows)
    if paper:
        print(f"Paper: Kernelet over Base {paper[0][0]} to {paper[0][1]} %, behind OPT {paper[1][0]} to {paper[1][1]} %.\n")
    words = [f"{title} {100 * min(values):.1f} to {100 * max(values):.1f} %" for title, values in shares.items() if title.startswith("Kernelet")]
    if words:
        print(f"Ours: {', '.join(words)}.\n")
    if "ALL" not in results:
        return
    print("What ran beside what, on ALL (share of the time that a kernel was planned):\n")
    rows = []
    for run in results["ALL"]["runs"]:
        if run["scheduler"] in ("kernelet", "opt"):
            for kernel in run["kernels"]:
                whole = sum(kernel["beside_ticks"].values())
                words = sorted(kernel["beside_ticks"].items(), key=lambda item: -item[1])
                rows.append([f"{run['scheduler']}: {kernel['name']}", ", ".join(f"{name} {100 * ticks / whole:.0f} %" for name, ticks in words)])
    table(["kernel", "beside"], rows)


def choose_pairs(result):
    """Of each pair: in the ratio of equation 7, and in the best ratio that was measured."""
    best, balanced = {}, {}
    for pair in result["pairs"]:
        key = tuple(pair["kernels"])
        if key not in best or pair["measured_profit"] > best[key]["measured_profit"]:
            best[key] = pair
        if pair["balanced"]:
            balanced[key] = pair
    return best, balanced


def pairs(result, best, balanced):
    print(f"## Co-scheduling profit of the {len(balanced)} pairs, predicted and measured\n\nIn the ratio that equation 7 gives, and the best ratio that was measured; "
          "thread blocks of each on an SM. Profit is the share of the time that is saved against one after the other.\n")
    table(["pair", "ratio", "predicted", "measured", "best ratio", "measured"],
          [[" + ".join(key), "+".join(map(str, one["residents"])), percent(one["predicted_profit"]), percent(one["measured_profit"]),
            "+".join(map(str, best[key]["residents"])), percent(best[key]["measured_profit"])] for key, one in balanced.items()])
    errors = sorted(abs(one["predicted_profit"] - one["measured_profit"]) for one in result["pairs"])
    signs = sum((one["predicted_profit"] > 0) == (one["measured_profit"] > 0) for one in balanced.values())
    ranked = sorted(balanced.values(), key=lambda one: one["predicted_profit"])
    better = sum(a["measured_profit"] < b["measured_profit"] for i, a in enumerate(ranked) for b in ranked[i + 1:])
    print(f"Over all {len(errors)} co-schedules the prediction is off by {100 * errors[len(errors) // 2]:.1f} points in the median and "
          f"{100 * errors[len(errors) * 9 // 10]:.1f} in the ninth decile. {signs} of {len(balanced)} signs are right, and of two pairs the one with the "
          f"greater prediction is the better one in {100 * better / (len(ranked) * (len(ranked) - 1) / 2):.0f} % of the cases.\n")


def within(rows, peak):
    """How many of predicted and measured IPCs are within a fifth of the peak of each other."""
    return f"{sum(abs(predicted - measured) <= 0.2 * peak for predicted, measured in rows)} of {len(rows)}"


def ipc(result, balanced):
    peak = max(kernel["ipc"] / kernel["pipeline_utilization"] for kernel in result["kernels"])
    print(f"## IPC of the {len(balanced)} pairs, predicted and measured\n\nWarp instructions per core cycle and SM, of each kernel of a pair and of both, in the ratio that equation 7 "
          f"gives; the last column in parts of the peak, {peak:.3g}.\n")
    table(["pair", "predicted", "", "both", "measured", "", "both", "difference"],
          [[" + ".join(key), *(f"{value:.3f}" for name in ("predicted_ipc", "measured_ipc") for value in (*one[name], sum(one[name]))),
            f"{100 * (sum(one['predicted_ipc']) - sum(one['measured_ipc'])) / peak:+.0f} %"] for key, one in balanced.items()])
    alone = [(kernel["predicted_ipc"], kernel["ipc"]) for kernel in result["kernels"]]
    both = [(sum(one["predicted_ipc"]), sum(one["measured_ipc"])) for one in balanced.values()]
    every = [(sum(one["predicted_ipc"]), sum(one["measured_ipc"])) for one in result["pairs"]]
    print(f"Within ±20 % of the peak: {within(alone, peak)} kernels alone, {within(both, peak)} pairs, {within(every, peak)} co-schedules in all ratios. The paper says "
          "that most of its predictions are.\n")


def pruning(corun, result, instances, balanced):
    print("## Pruning\n\nPairs whose PUR and MUR both differ by less than the threshold; the makespan on ALL.\n")
    profile = {kernel["name"]: kernel for kernel in result["kernels"]}
    schedulers = [f"kernelet:pur={threshold},mur={threshold}" for threshold in THRESHOLDS]
    spans = makespans(corun.queue(GROUPS["ALL"], schedulers, "-n", str(instances)))
    rows = []
    for threshold, scheduler in zip(THRESHOLDS, schedulers):
        pruned = [key for key in balanced
                  if all(abs(profile[key[0]][name] - profile[key[1]][name]) < threshold for name in ("pipeline_utilization", "memory_utilization"))]
        lost = max((balanced[key]["measured_profit"] for key in pruned), default=None)
        rows.append([threshold, f"{len(pruned)} of {len(balanced)}", percent(lost), milliseconds(result, spans[scheduler])])
    table(["threshold", "pruned", "greatest measured profit among these", "makespan, ms"], rows)


def variants(corun, instances):
    names = ["kernelet", "kernelet:alone=measured", "kernelet:ratio=profit", "kernelet:ratio=profit,alone=measured", "opt"]
    print("## Choices that the paper leaves open\n\nMakespan in ms.\n")
    rows = []
    for group, words in GROUPS.items():
        result = corun.queue(words, names, "-n", str(instances))
        spans = makespans(result)
        rows.append([group] + [milliseconds(result, spans[name]) for name in names])
    table(["group", *names], rows)


def monte_carlo(corun, instances, plans):
    result = corun.queue(GROUPS["ALL"], ["kernelet"] + [f"random:seed={seed}" for seed in range(plans)], "-n", str(instances))
    kernelet, *spans = (run["makespan_ticks"] for run in result["runs"])
    spans.sort()
    print(f"## Figure 7: MC({plans}) on ALL\n\nMakespans of random plans, {instances} launches of each kernel, in ms.\n")
    table(["least", "first decile", "median", "ninth decile", "most", "Kernelet", "plans that are better than Kernelet"],
          [[milliseconds(result, spans[min(len(spans) - 1, int(share * len(spans)))]) for share in (0, 0.1, 0.5, 0.9, 1)]
           + [milliseconds(result, kernelet), f"{sum(span < kernelet for span in spans)} of {len(spans)} (paper: none of 1000)"]])


def case_two(corun, instances, gpu):
    print("## Figure 8: Case II, every launch brings its data\n\nO1: copies run beside kernels, or in turns with them. O2: Kernelet, or Base. Makespan in ms; the last columns "
          "are the gain of Y,Y over the slowest of the others, and the share of the time of its copies in which kernels ran. 80 MB hold about one launch of each of "
          "the eight kernels, which is the paper's scale factor 1; 34 MB are to these data what its memory is to the scale factor 2.5, whose figure is MIX.\n")
    rows = []
    for group, words, memory in [(group, words, "80M") for group, words in GROUPS.items()] + [("MIX, 34 MB", GROUPS["MIX"], "34M")]:
        spans = []
        for mode in ("overlap", "apart"):
            result = corun.queue(words, ["kernelet", "base"], "-n", str(instances), "-t", mode, "--memory", memory)
            spans += [run["makespan_ticks"] for run in result["runs"]]
            run = result["runs"][0] if mode == "overlap" else run
        paper = CASE_TWO.get(group) if gpu == "tesla-c2050" else None
        rows.append([group] + [milliseconds(result, ticks) for ticks in spans]
                    + [percent(max(spans[1:]) / spans[0] - 1), f"{paper[0]} %" if paper else "",
                       percent(run["overlapped_copy_ticks"] / run["copy_ticks"]), f"{paper[1]} %" if paper else ""])
    table(["group", "Y,Y", "Y,N", "N,Y", "N,N", "gain", "paper", "hidden", "paper"], rows)


def full(corun, launches, files):
    cycles = [json.load(open(path, encoding="utf-8")) for path in files] or [corun.queue(GROUPS["MIX"], SCHEDULERS, "-n", str(launches), "--full")]
    print("## Events beside full simulations\n\nEvery slice simulated cycle by cycle, and by events. Makespan in ms.\n")
    rows = []
    for group, words in GROUPS.items():
        runs = {run["scheduler"]: (run["makespan_ticks"], result["instances"]) for result in cycles
                if " ".join(kernel["name"] for kernel in result["kernels"]) == words for run in result["runs"]}
        for count in sorted({count for _, count in runs.values()}):
            names = [name for name in dict.fromkeys([*SCHEDULERS, *runs]) if runs.get(name, (0, 0))[1] == count]
            events = corun.queue(words, names, "-n", str(count))
            rows += [[f"{group}, {count * len(events['kernels'])} launches", name, milliseconds(events, runs[name][0]), milliseconds(events, ticks),
                      f"{100 * (ticks / runs[name][0] - 1):+.1f} %"] for name, ticks in makespans(events).items()]
    table(["", "scheduler", "in full", "by events", "difference"], rows)


def costs(corun):
    print("## What deciding costs\n\nProcessor time of the scheduler and memory of the queue, launches of all eight kernels pending at once. The longest decision is the "
          "one that predicts all pairs.\n")
    rows = []
    for instances in (1, 13, 125, 1250):
        for run in corun.queue(GROUPS["ALL"], ["base", "kernelet"], "-n", str(instances))["runs"]:
            rows.append([run["scheduler"], run["most_pending"], run["plans"], run["slices"],
                         f"{1e6 * (run['planning_seconds'] - run['longest_plan_seconds']) / max(1, run['plans'] - 1):.2f}",
                         f"{1e6 * run['longest_plan_seconds']:.0f}", f"{run['queue_bytes'] / 1e3:.0f}"])
    table(["scheduler", "pending at most", "plans", "slices", "us per plan, without the longest", "longest, us", "queue, KB"], rows)


SECTIONS = ["kernels", "case-one", "pairs", "ipc", "pruning", "choices", "random", "case-two", "full", "costs"]


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
    cache, jobs, only = option(arguments, "--cache"), option(arguments, "--jobs"), option(arguments, "--only")
    groups, schedulers = option(arguments, "--groups"), option(arguments, "--schedulers")
    cycles = "--cycles" in arguments
    if cycles:
        arguments.remove("--cycles")
    if len(arguments) < 5:
        sys.exit(__doc__)
    settings = (["--cache", cache] if cache else []) + (["--jobs", jobs] if jobs else [])
    corun, gpu = Corun(arguments[0], arguments[1], settings), arguments[1]
    instances, plans, launches = (int(word) for word in arguments[2:5])
    sections = only.split(",") if only else SECTIONS
    words = "".join(f" {name} {value}" for name, value in (("--only", only), ("--groups", groups), ("--schedulers", schedulers)) if value)
    words += " --cycles" if cycles else ""
    groups, schedulers = groups.split(",") if groups else list(GROUPS), schedulers.split(",") if schedulers else SCHEDULERS
    print(f"# Kernelet's queues on {gpu}\n")
    print(f"* made by: `scripts/compare_queue.py corun {gpu} {instances} {plans} {launches}{words}`")
    print("* paper: Zhong and He, Kernelet, TPDS 2014, section 5. The kernels are those of the suite, in their size medium: the paper does not give its sizes")
    print("* how it is simulated, and what the words mean: [queue.md](../queue.md)\n")
    everything = corun.queue(GROUPS["ALL"], ["opt"], "-n", "1", "--pairs") if {"kernels", "pairs", "ipc", "pruning"} & set(sections) else None
    if "kernels" in sections:
        kernels(everything)
    if "case-one" in sections:
        case_one(corun, instances, PAPER.get(gpu), groups, schedulers, cycles)
    best, balanced = choose_pairs(everything) if everything else ({}, {})
    if "pairs" in sections:
        pairs(everything, best, balanced)
    if "ipc" in sections:
        ipc(everything, balanced)
    if "pruning" in sections:
        pruning(corun, everything, instances, balanced)
    if "choices" in sections:
        variants(corun, instances)
    if "random" in sections and plans:
        monte_carlo(corun, max(1, instances // 10), plans)
    if "case-two" in sections:
        case_two(corun, instances, gpu)
    if "full" in sections and (launches or arguments[5:]):
        full(corun, launches, arguments[5:])
    if "costs" in sections:
        costs(corun)


if __name__ == "__main__":
    main()
