#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a page with the figures of Kernelet (Zhong and He, TPDS 2014, section 5) that are about queues, the paper's numbers beside ours.

    compare_queue.py CORUN GPU INSTANCES MC FULL [--cache DIR] [--jobs N] [--only SECTION,...] [--groups GROUP,...] [--schedulers NAME,...]
                     [--cycles] [FULL.json...] > kernelet-GPU.md

INSTANCES launches of each kernel wait from the beginning, as the paper assumes that several always do. MC random plans are drawn (0: none).
FULL launches of each kernel of MIX are also simulated cycle by cycle (0: none); results of `corun queue --full --json` on the groups that are there
already stand in for that. --cycles: Case I is simulated cycle by cycle, for GPUs that these launches do not fill. What was measured is kept in the
cache: a page that was interrupted continues. Sections: kernels, case-one, ends (a table of case-one), pairs, ipc, pruning, choices, random, case-two, full, costs.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

GROUPS = {"CI": "bs mm tea mriq", "MI": "pc spmv st sad", "MIX": "pc bs tea sad", "ALL": "pc spmv st bs mm tea mriq sad"}
SCHEDULERS = ["sequential", "base", "kernelet", "opt"]
# Section 5.3: Kernelet over Base, and behind OPT, lowest and highest of the four groups; in percent.
PAPER = {"tesla-c2050": ((5, 31), (1, 3)), "gtx680": ((7, 23), (4, 15))}
# Section 5.3, Case II on the C2050: Y,Y over the slowest of the others, and the share of the copies that is hidden; in percent.
CASE_TWO = {"CI": (9.2, 99), "MI": (13.0, 95), "MIX": (16.8, 97), "ALL": (17.5, 97)}
# Overlap and Kernelet: O1,O2 of figure 8. Case II is also run with so many times the rate of the bus.
VARIANTS = ["Y,Y", "Y,N", "N,Y", "N,N"]
FASTER = [(2, "80M"), (2, "160M"), (5, "80M"), (17, "80M")]
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


def case_one(corun, instances, paper, groups, schedulers, cycles, everything, sections):
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
    if "ends" in sections:
        ends(everything, results, schedulers)
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


def ends(everything, results, schedulers):
    """What Base has of the ends of launches, and what the pairs give without them."""
    steady = {kernel["name"]: kernel["alone_ticks"] * kernel["ipc"] / kernel["sliced_ipc"] for kernel in everything["kernels"]}
    print("Ends of launches: *steady* is every kernel alone, one after the other, at the speed that it has in the middle of its launches (in slices, which follow one "
          "another): what sequential would take if launches had neither beginnings nor ends. The launches of the paper have so many thread blocks that its Base "
          "\"only slightly improves\" the sequential execution; *fills* is how often a launch of ours fills the GPU, from the kernel with the fewest to that with the most.\n")
    names, rows = [name for name in schedulers if name != "sequential"], []
    for group, result in results.items():
        whole = result["instances"] * sum(steady[kernel["name"]] for kernel in result["kernels"])
        fills = sorted(kernel["fills"] for kernel in everything["kernels"] if kernel["name"] in GROUPS[group].split())
        spans = makespans(result)
        rows.append([group, f"{fills[0]:.1f} to {fills[-1]:.1f}", milliseconds(result, whole), percent(spans["sequential"] / whole - 1)]
                    + [percent(whole / spans[name] - 1) for name in names])
    table(["group", "fills", "steady, ms", "Ends of sequential", *(f"{name.capitalize()} over steady" for name in names)], rows)


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


def rate_of(gpu):
    """The rate of the bus of a GPU in MB/s."""
    text = (pathlib.Path(__file__).parents[1] / "configs" / "gpu" / f"{gpu}.yaml").read_text(encoding="utf-8")
    return int(re.search(r"pcie_pinned_mbps: {value: (\d+)", text).group(1))


def transfers(corun, instances, words, memory, gpu=None):
    """The runs of the four variants, and their makespans as cells."""
    runs = {}
    for mode, one in (("overlap", "Y"), ("apart", "N")):
        result = corun.queue(words, ["kernelet", "base"], "-n", str(instances), "-t", mode, "--memory", memory, gpu=gpu)
        runs |= {f"{one},Y": result["runs"][0], f"{one},N": result["runs"][1]}
    return runs, [milliseconds(result, runs[name]["makespan_ticks"]) for name in VARIANTS]


def data_of(corun, name):
    result = corun.queue(name, ["sequential"], "-n", "1", "-t", "apart")
    run = result["runs"][0]
    return [name, f"{run['bytes_in'] / 1e6:.1f}", f"{run['bytes_out'] / 1e6:.1f}", f"{1e3 * run['copy_ticks'] / result['ticks_per_second']:.2f}",
            f"{1e3 * run['busy_ticks'] / result['ticks_per_second']:.2f}", f"{run['copy_ticks'] / run['busy_ticks']:.2f}"]


def gain(runs):
    return max(runs[name]["makespan_ticks"] for name in VARIANTS[1:]) / runs["Y,Y"]["makespan_ticks"] - 1


def hidden(runs):
    return runs["Y,Y"]["overlapped_copy_ticks"] / runs["Y,Y"]["copy_ticks"]


def case_two(corun, instances, gpu):
    print("## Figure 8: Case II, every launch brings its data\n\nO1: copies run beside kernels, or in turns with them. O2: Kernelet, or Base. Makespan in ms; *gain* is Y,Y over "
          "the slowest of the others, *hidden* the share of the time of its copies in which kernels ran, *copies : kernels* the time of copies over that with kernels on the "
          "GPU, of N,N. 80 MB hold about one launch of each of the eight kernels, which is the paper's scale factor 1; 34 MB are to these data what its memory is to the "
          "scale factor 2.5, whose figure is MIX.\n")
    rows, rate = [], rate_of(gpu)
    print("What a launch brings and how long that takes, beside the kernel alone:\n")
    table(["kernel", "MB in", "MB out", "copies, ms", "kernel, ms", "copies : kernel"], [data_of(corun, name) for name in GROUPS["ALL"].split()])
    for group, words, memory in [(group, words, "80M") for group, words in GROUPS.items()] + [("MIX, 34 MB", GROUPS["MIX"], "34M")]:
        runs, spans = transfers(corun, instances, words, memory)
        paper = CASE_TWO.get(group) if gpu == "tesla-c2050" else None
        rows.append([group, *spans, f"{runs['N,N']['copy_ticks'] / runs['N,N']['busy_ticks']:.2f}", percent(gain(runs)), f"{paper[0]} %" if paper else "",
                                          percent(hidden(runs)), f"{paper[1]} %" if paper else ""])
    table(["group", *VARIANTS, "copies : kernels", "gain", "paper", "hidden", "paper"], rows)
    print(f"The same with a bus that is faster than {rate / 1e3:.3g} GB/s: less data for the same work. The paper's copies take about a tenth of the time of its "
          "kernels: overlap alone gains 9 % there, with 95 to 99 % hidden. *Overlap*: Y,Y over N,Y. *Kernelet*: Y,Y over Y,N.\n")
    rows = []
    for factor, memory in FASTER:
        for group, words in GROUPS.items():
            runs, _ = transfers(corun, instances, words, memory, f"{gpu}:pcie_pinned_mbps={factor * rate}")
            spans = {name: run["makespan_ticks"] for name, run in runs.items()}
            rows.append([f"{factor} times, {memory}B", group, f"{runs['N,N']['copy_ticks'] / runs['N,N']['busy_ticks']:.2f}", percent(spans["N,Y"] / spans["Y,Y"] - 1),
                         percent(spans["Y,N"] / spans["Y,Y"] - 1), percent(gain(runs)), percent(hidden(runs))])
    table(["bus, memory", "group", "copies : kernels", "overlap", "Kernelet", "gain", "hidden"], rows)


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


SECTIONS = ["kernels", "case-one", "ends", "pairs", "ipc", "pruning", "choices", "random", "case-two", "full", "costs"]


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
    everything = corun.queue(GROUPS["ALL"], ["opt"], "-n", "1", "--pairs") if {"kernels", "ends", "pairs", "ipc", "pruning"} & set(sections) else None
    if "kernels" in sections:
        kernels(everything)
    if "case-one" in sections:
        case_one(corun, instances, PAPER.get(gpu), groups, schedulers, cycles, everything, sections)
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
