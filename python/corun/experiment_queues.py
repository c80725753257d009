# SPDX-License-Identifier: MIT
"""Tables of experiments whose cases are of `corun queue`. A table is a list of blocks: a text, or titles with rows."""

from .experiment_text import value_text

# The groups of Kernelet, section 5.1.
GROUPS = {"bs mm tea mriq": "CI", "pc spmv st sad": "MI", "pc bs tea sad": "MIX", "pc spmv st bs mm tea mriq sad": "ALL"}
# Of figure 8: whether copies overlap, and whether kernels do.
VARIANTS = {("overlap", "kernelet"): "Y,Y", ("overlap", "base"): "Y,N", ("apart", "kernelet"): "N,Y", ("apart", "base"): "N,N"}
ALONE = "(alone)"


def percent(value, digits=1):
    return value_text(None if value is None else round(value, 12), "percent") if digits == 1 else f"{100 * value:.{digits}f} %"


def figure_of(value):
    """Three digits; "-" for what was not asked for: what pairs say of kernels."""
    return "-" if value is None else f"{value:.3f}"


def milliseconds(result, ticks, digits=1):
    return f"{1e3 * ticks / result['ticks_per_second']:.{digits}f}"


def group_of(outcome):
    """CI, or the kernels themselves."""
    return GROUPS.get(" ".join(outcome.arguments), " ".join(outcome.arguments))


def spans_of(result):
    return {run["scheduler"]: run["makespan_ticks"] for run in result["runs"]}


def launches_of(outcome):
    return outcome.result["instances"] * len(outcome.arguments)


def by_group(outcomes):
    """{(group, launches of each kernel): makespans of the schedulers, in how many ticks a second}; cases of single schedulers together."""
    found = {}
    for outcome in outcomes:
        spans, _ = found.setdefault((group_of(outcome), outcome.result["instances"]), ({}, outcome))
        spans.update(spans_of(outcome.result))
    return found


def profile(kernels):
    return {kernel["name"]: kernel for outcome in kernels for kernel in outcome.result["kernels"]}


def kernels(_, outcomes):
    rows = [[kernel["name"], f"{kernel['workload']}@{kernel['size']}", str(kernel["tbs"]), f"{kernel['fills']:.1f}",
             milliseconds(outcome.result, kernel["alone_ticks"], 3), figure_of(kernel["ipc"]), figure_of(kernel["predicted_ipc"]),
             figure_of(kernel["pipeline_utilization"]), figure_of(kernel["memory_utilization"]), figure_of(kernel["memory_share"]),
             str(kernel["smallest_slice"])] for outcome in outcomes for kernel in outcome.result["kernels"]]
    return ["Alone and whole, and in slices side by side with themselves. PUR and MUR are the shares of the issue slots and of the DRAM's pins that a kernel "
            "uses; *fills* is how often a launch fills the GPU.",
            (["kernel", "workload", "thread blocks", "fills", "ms", "IPC of an SM", "predicted", "PUR", "MUR", "R_m", "smallest slice"], rows)]


GAINS = [("Base over sequential", "sequential", "base"), ("Kernelet over Base", "base", "kernelet"), ("Kernelet behind OPT", "kernelet", "opt")]


def makespans(figure, outcomes):
    """Base, Kernelet and OPT, and the least and the most of what one gains over another."""
    groups = by_group(outcomes)
    names = list(dict.fromkeys(name for spans, _ in groups.values() for name in spans))
    names.sort(key=lambda name: ["sequential", "base", "kernelet", "opt"].index(name) if ":" not in name else 4)
    gains = [gain for gain in GAINS if set(gain[1:]) <= set(names)]
    rows, shares = [], {gain[0]: [] for gain in gains}
    for (group, instances), (spans, outcome) in groups.items():
        row = [f"{group}, {instances} of each"] + [milliseconds(outcome.result, spans[name], 2 if instances < 100 else 1) if name in spans else "-"
                                                   for name in names]
        for title, slow, fast in gains:
            share = spans[slow] / spans[fast] - 1 if {slow, fast} <= set(spans) else None
            shares[title] += [] if share is None else [share]
            row.append(percent(share))
        rows.append(row)
    full = any(outcome.result["simulated"] == "cycles" for outcome in outcomes)
    blocks = [f"Makespan in ms, {'every slice simulated cycle by cycle' if full else 'by events at measured speeds'}.", (["group", *names, *shares], rows)]
    lines = [f"{title} {percent(min(values))} to {percent(max(values))}" + (f" (paper: {figure.paper[title]})" if title in figure.paper else "")
             for title, values in shares.items() if values and title.startswith("Kernelet")]
    return blocks + ([", ".join(lines) + "."] if lines else [])


def choices(_, outcomes):
    """Of each group, its makespan with each scheduler."""
    groups = by_group(outcomes)
    names = list(dict.fromkeys(name for spans, _ in groups.values() for name in spans))
    return ["Makespan in ms.", (["group", *names], [[group] + [milliseconds(outcome.result, spans[name]) for name in names]
                                                    for (group, _), (spans, outcome) in groups.items()])]


def steady_ticks(kernel):
    """A launch at the speed that it has in the middle, in slices."""
    return kernel["alone_ticks"] * kernel["ipc"] / kernel["sliced_ipc"]


def ends(_, outcomes, alone):
    known, rows, names = profile(alone), [], ["base", "kernelet", "opt"]
    for (group, instances), (spans, outcome) in by_group(outcomes).items():
        members = [known[name] for name in outcome.arguments if name in known and known[name]["sliced_ipc"]]
        if len(members) < len(outcome.arguments):
            continue
        whole, fills = instances * sum(map(steady_ticks, members)), sorted(kernel["fills"] for kernel in members)
        rows.append([group, f"{fills[0]:.1f} to {fills[-1]:.1f}", milliseconds(outcome.result, whole), percent(spans["sequential"] / whole - 1 if "sequential" in spans else None)]
                    + [percent(whole / spans[name] - 1 if name in spans else None) for name in names])
    return ["*Steady* is every kernel alone, one after the other, at the speed that it has in the middle of its launches (in slices, which follow one another): what "
            "sequential would take if launches had neither beginnings nor ends. The launches of the paper have so many thread blocks that its Base \"only slightly "
            "improves\" the sequential execution.",
            (["group", "fills", "steady, ms", "ends of sequential", *(f"{name.capitalize()} over steady" for name in names)], rows)]


def pairs_of(outcomes):
    """Of each pair: in the ratio of equation 7, and in the best ratio that was measured."""
    best, balanced = {}, {}
    for outcome in outcomes:
        for pair in outcome.result["pairs"]:
            key = tuple(pair["kernels"])
            if key not in best or pair["measured_profit"] > best[key]["measured_profit"]:
                best[key] = pair
            if pair["balanced"]:
                balanced[key] = pair
    return best, balanced


def chosen(_, outcomes, measured):
    """What ran beside what, and what that was expected to give and gave in a steady state."""
    best, balanced = pairs_of(measured)
    rows = []
    for outcome in outcomes:
        for run in outcome.result["runs"]:
            known = {"kernelet": balanced, "opt": best}.get(run["scheduler"])
            times = {}
            for kernel in run["kernels"]:
                for other, ticks in kernel["beside_ticks"].items():
                    key = (kernel["name"],) if other == ALONE else tuple(sorted((kernel["name"], other), key=outcome.arguments.index))
                    times[key] = max(times.get(key, 0), ticks)
            for key, ticks in sorted(times.items(), key=lambda item: -item[1]) if known is not None else []:
                pair = known.get(key)
                rows.append([f"{group_of(outcome)}, {run['scheduler']}", " + ".join(key) if len(key) > 1 else f"{key[0]} alone",
                             percent(ticks / run["makespan_ticks"]), percent(pair and pair["predicted_profit"]), percent(pair and pair["measured_profit"])])
    return ["Which pairs were planned, for which share of the makespan, and their profits in a steady state: the share of the time that is saved against one kernel "
            "after the other. Of `kernelet` in the ratio of equation 7, of `opt` in the best one.",
            (["", "pair", "planned", "profit predicted", "measured"], rows)]


def profits(_, outcomes):
    best, balanced = pairs_of(outcomes)
    rows = [[" + ".join(key), "+".join(map(str, one["residents"])), percent(one["predicted_profit"]), percent(one["measured_profit"]),
             "+".join(map(str, best[key]["residents"])), percent(best[key]["measured_profit"])] for key, one in balanced.items()]
    every = [pair for outcome in outcomes for pair in outcome.result["pairs"]]
    errors = sorted(abs(one["predicted_profit"] - one["measured_profit"]) for one in every)
    ranked = sorted(balanced.values(), key=lambda one: one["predicted_profit"])
    signs = sum((one["predicted_profit"] > 0) == (one["measured_profit"] > 0) for one in ranked)
    better = sum(a["measured_profit"] < b["measured_profit"] for i, a in enumerate(ranked) for b in ranked[i + 1:])
    others = len(every) > len(ranked)
    heads = ["pair", "ratio", "predicted", "measured"] + (["best ratio", "measured"] if others else [])
    blocks = [f"In the ratio that equation 7 gives{', and the best ratio that was measured' if others else ''}; thread blocks of each on an SM. Profit is the share of the "
              "time that is saved against one after the other.", (heads, [row[:len(heads)] for row in rows])]
    if len(ranked) > 1:
        blocks.append(f"Over all {len(errors)} co-schedules the prediction is off by {100 * errors[len(errors) // 2]:.1f} points in the median and "
                      f"{100 * errors[len(errors) * 9 // 10]:.1f} in the ninth decile. {signs} of {len(ranked)} signs are right, and of two pairs the one with the "
                      f"greater prediction is the better one in {100 * better / (len(ranked) * (len(ranked) - 1) / 2):.0f} % of the cases.")
    return blocks


def within(rows, peak):
    """How many of predicted and measured IPCs are within a fifth of the peak of each other."""
    return f"{sum(abs(predicted - measured) <= 0.2 * peak for predicted, measured in rows)} of {len(rows)}"


def ipc(_, outcomes):
    _, balanced = pairs_of(outcomes)
    known = profile(outcomes).values()
    peak = max((kernel["ipc"] / kernel["pipeline_utilization"] for kernel in known), default=1)
    rows = [[" + ".join(key), *(f"{value:.3f}" for name in ("predicted_ipc", "measured_ipc") for value in (*one[name], sum(one[name]))),
             f"{100 * (sum(one['predicted_ipc']) - sum(one['measured_ipc'])) / peak:+.0f} %"] for key, one in balanced.items()]
    alone = [(kernel["predicted_ipc"], kernel["ipc"]) for kernel in known]
    both = [(sum(one["predicted_ipc"]), sum(one["measured_ipc"])) for one in balanced.values()]
    every = [(sum(one["predicted_ipc"]), sum(one["measured_ipc"])) for outcome in outcomes for one in outcome.result["pairs"]]
    return [f"Warp instructions per core cycle and SM, of each kernel of a pair and of both, in the ratio that equation 7 gives; the last column in parts of the peak, {peak:.3g}.",
            (["pair", "predicted", "", "both", "measured", "", "both", "difference"], rows),
            f"Within ±20 % of the peak: {within(alone, peak)} kernels alone, {within(both, peak)} pairs, {within(every, peak)} co-schedules{' in all ratios' if len(every) > len(both) else ''}. "
            "The paper says that most of its predictions are."]


def pruning(_, outcomes, measured):
    known, (_, balanced) = profile(measured), pairs_of(measured)
    rows = []
    for outcome in outcomes:
        for scheduler, ticks in spans_of(outcome.result).items():
            limits = {"pur": "0.1", "mur": "0.1", **dict(word.split("=") for word in scheduler.partition(":")[2].split(",") if word)}
            pruned = [key for key in balanced if all(abs(known[key[0]][name] - known[key[1]][name]) < float(limits[short])
                                                     for name, short in (("pipeline_utilization", "pur"), ("memory_utilization", "mur")))]
            rows.append([limits["pur"], f"{len(pruned)} of {len(balanced)}", percent(max((balanced[key]["measured_profit"] for key in pruned), default=None)),
                         milliseconds(outcome.result, ticks)])
    return ["Pairs whose PUR and MUR both differ by less than the threshold; the makespan on ALL.",
            (["threshold", "pruned", "greatest measured profit among these", "makespan, ms"], rows)]


def plans(figure, outcomes):
    rows = []
    for outcome in outcomes:
        spans = spans_of(outcome.result)
        kernelet, drawn = spans.pop("kernelet", None), sorted(spans.values())
        if kernelet is None or not drawn:
            continue
        better = f"{sum(span < kernelet for span in drawn)} of {len(drawn)}" + (f" (paper: {figure.paper['better']})" if "better" in figure.paper else "")
        rows.append([milliseconds(outcome.result, drawn[min(len(drawn) - 1, int(share * len(drawn)))]) for share in (0, 0.1, 0.5, 0.9, 1)]
                    + [milliseconds(outcome.result, kernelet), better])
    return ["Makespans of plans that were drawn, in ms.",
            (["least", "first decile", "median", "ninth decile", "most", "Kernelet", "plans that are better than Kernelet"], rows)]


def data(_, outcomes):
    rows = []
    for outcome in outcomes:
        run, result = outcome.result["runs"][0], outcome.result
        rows.append([outcome.arguments[0], f"{run['bytes_in'] / 1e6:.1f}", f"{run['bytes_out'] / 1e6:.1f}", milliseconds(result, run["copy_ticks"], 2),
                     milliseconds(result, run["busy_ticks"], 2), f"{run['copy_ticks'] / run['busy_ticks']:.2f}"])
    return [(["kernel", "MB in", "MB out", "copies, ms", "kernel, ms", "copies : kernel"], rows)]


def by_variant(outcomes):
    """{(group, memory, bus): the run of each of the four variants}, of those that are all there"""
    found = {}
    for outcome in outcomes:
        _, _, override = outcome.gpu.partition(":pcie_pinned_mbps=")
        runs = found.setdefault((group_of(outcome), outcome.options.get("memory", "all"), int(override or 0)), {"result": outcome.result})
        runs.update({VARIANTS[key]: run for run in outcome.result["runs"]
                     for key in [(outcome.result["transfers"], run["scheduler"])] if key in VARIANTS})
    return {key: runs for key, runs in found.items() if len(runs) > len(VARIANTS)}


def gain(spans):
    return max(span for name, span in spans.items() if name != "Y,Y") / spans["Y,Y"] - 1


def share(run, part, whole):
    return run[part] / run[whole] if run[whole] else 0


def variants(figure, *parts):
    """Figure 8."""
    rows = []
    for (group, memory, _), runs in by_variant([outcome for outcomes in parts for outcome in outcomes]).items():
        spans = {name: runs[name]["makespan_ticks"] for name in VARIANTS.values()}
        said = figure.paper.get(f"{group}, {memory}", ["-", "-"])
        rows.append([f"{group}, {memory}B", *(milliseconds(runs["result"], ticks) for ticks in spans.values()),
                     f"{share(runs['N,N'], 'copy_ticks', 'busy_ticks'):.2f}", percent(gain(spans)), said[0],
                     percent(share(runs["Y,Y"], "overlapped_copy_ticks", "copy_ticks")), said[1]])
    return ["O1: copies run beside kernels, or in turns with them. O2: Kernelet, or Base. Makespan in ms; *gain* is Y,Y over the slowest of the others, *hidden* the share of the "
            "time of its copies in which kernels ran, *copies : kernels* the time of copies over that with kernels on the GPU, of N,N.",
            (["group, memory", *VARIANTS.values(), "copies : kernels", "gain", "paper", "hidden", "paper"], rows)]


def buses(_, *parts):
    """The same with other rates of the bus."""
    rows = []
    for (group, memory, rate), runs in by_variant([outcome for outcomes in parts for outcome in outcomes]).items():
        spans = {name: runs[name]["makespan_ticks"] for name in VARIANTS.values()}
        rows.append([f"{rate / 1e3:.3g} GB/s, {memory}B", group, f"{share(runs['N,N'], 'copy_ticks', 'busy_ticks'):.2f}", percent(spans["N,Y"] / spans["Y,Y"] - 1),
                     percent(spans["Y,N"] / spans["Y,Y"] - 1), percent(gain(spans)), percent(share(runs["Y,Y"], "overlapped_copy_ticks", "copy_ticks"))])
    return ["Less data for the same work. *Overlap*: Y,Y over N,Y. *Kernelet*: Y,Y over Y,N.",
            (["bus, memory", "group", "copies : kernels", "overlap", "Kernelet", "gain", "hidden"], rows)]


def cycles(_, simulated, events):
    """Events beside full simulations."""
    full, quick, rows = by_group(simulated), by_group(events), []
    for key, (spans, outcome) in full.items():
        other, _ = quick.get(key, ({}, None))
        for name in ("sequential", "base", "kernelet", "opt"):
            if name in spans and name in other:
                rows.append([f"{key[0]}, {launches_of(outcome)} launches", name, milliseconds(outcome.result, spans[name], 2), milliseconds(outcome.result, other[name], 2),
                             f"{100 * (other[name] / spans[name] - 1):+.1f} %"])
    return ["Every slice simulated cycle by cycle, and by events. Makespan in ms.", (["", "scheduler", "in full", "by events", "difference"], rows)]


def costs(_, outcomes):
    rows = [[run["scheduler"], str(run["most_pending"]), str(run["plans"]), str(run["slices"]),
             f"{1e6 * (run['planning_seconds'] - run['longest_plan_seconds']) / max(1, run['plans'] - 1):.2f}", f"{1e6 * run['longest_plan_seconds']:.0f}",
             f"{run['queue_bytes'] / 1e3:.0f}"] for outcome in outcomes for run in outcome.result["runs"]]
    return ["Processor time of the scheduler and memory of the queue, with so many launches pending at once. The longest decision is the first one, which has the most pairs to predict.",
            (["scheduler", "pending at most", "plans", "slices", "us per plan, without the longest", "longest, us", "queue, KB"], rows)]


LIMIT = 0.02  # p of section 4.1


def slicing_costs(run_ticks, whole):
    """{thread blocks of a slice: cost} of schedulers like slices:tbs=14,in_flight=2, by slices in flight."""
    found = {1: {}, 2: {}}
    for scheduler, ticks in run_ticks.items():
        name, _, words = scheduler.partition(":")
        if name == "slices":
            values = dict(word.split("=") for word in words.split(","))
            found[int(values.get("in_flight", "1"))][int(values["tbs"])] = ticks / whole - 1
    return found


def least_slice(costs_by_size, smallest):
    """From which size on none costs more than the limit, in thread blocks of an SM; "all": none of these is large enough."""
    least = None
    for size in sorted(costs_by_size, reverse=True):
        if costs_by_size[size] > LIMIT:
            break
        least = size // smallest
    return "all" if least is None else str(least)


def slices(_, outcomes):
    """What slices cost, by their size."""
    rows, titles = [], None
    for outcome in outcomes:
        kernel, spans = outcome.result["kernels"][0], spans_of(outcome.result)
        if "sequential" not in spans:
            continue
        whole, by_streams = spans["sequential"], slicing_costs(spans, spans["sequential"])
        if not by_streams[1]:
            continue
        smallest = min(by_streams[1])
        titles = titles or ["", "slices in flight", "thread blocks", "fit an SM", "whole, µs", *(str(size // smallest) for size in sorted(by_streams[1])), "least"]
        for streams, sizes in by_streams.items():
            useful = {size: cost for size, cost in sizes.items() if size < kernel["tbs"]}
            first = [kernel["workload"], "1", str(kernel["tbs"]), str(kernel["tbs_per_sm"]), f"{1e6 * whole / outcome.result['ticks_per_second']:.1f}"]
            rows.append((first if streams == 1 else ["", str(streams), "", "", ""])
                        + [f"{100 * useful[size] + 0.0:.1f}" if size in useful else "" for size in sorted(sizes)] + [least_slice(useful, smallest)])
    return ["Cost in percent, by thread blocks of a slice for each SM."] + ([(titles, rows)] if rows else [])


TABLES = {"kernels": kernels, "makespans": makespans, "choices": choices, "ends": ends, "chosen": chosen, "profits": profits, "ipc": ipc, "pruning": pruning,
          "plans": plans, "data": data, "variants": variants, "buses": buses, "cycles": cycles, "costs": costs, "slices": slices}
