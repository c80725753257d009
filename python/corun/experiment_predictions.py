# SPDX-License-Identifier: MIT
"""Tables of experiments whose cases are of `corun predict`: kernels alone, predicted and measured."""

import math

WITHIN = 0.2  # of the peak: the lines in Kernelet's figures
# Scheduler cycles without an issue that the chain knows nothing of. What is left are warps that wait for loaded data.
OTHERS = {"load/store unit": ("stall_memory",), "pipelines": ("stall_pipeline",), "arithmetic latency": ("stall_data",),
          "rest": ("stall_fetch", "stall_control", "stall_barrier", "stall_fence", "stall_other")}


def percent(value):
    return f"{100 * value:.0f} %"


def latencies(_, outcomes):
    """The fitted lines, and what they were fitted to."""
    blocks = []
    for outcome in outcomes:
        for kind, line in outcome.result["latency"].items():
            points = ", ".join(f"{requests:g}: {measured:.0f}" for requests, measured in line["points"])
            blocks.append(f"{outcome.gpu}, {kind} accesses: {line['slope']:.2f} x + {line['intercept']:.0f} cycles, {percent(line['residual'])} off in the mean; measured: {points}")
    return blocks


def inputs(_, outcomes):
    blocks = []
    for outcome in outcomes:
        rows = []
        for kernel in outcome.result["kernels"]:
            row = [kernel["workload"], str(kernel["residents"] * kernel["tb_warps"])]
            for view in (kernel["counted"], kernel["sampled"]):
                row += ["-"] * 4 if view["status"] != "OK" else [f"{view['memory_share']:.4f}", f"{view['uncoalesced_share']:.2f}",
                                                                f"{view['uncoalesced_requests']:.1f}", f"{view['tb_instructions']:.0f}"]
            rows.append(row)
        blocks += [f"{outcome.gpu}:", (["kernel", "warps per SM", "R_m counted", "U", "requests", "instructions", "R_m sampled", "U", "requests", "instructions"], rows)]
    return blocks


def correlation(points):
    """Spearman's: of the ranks."""
    def ranks(values):
        order = sorted(values)
        return [order.index(value) for value in values]
    xs, ys = ranks([x for x, _ in points]), ranks([y for _, y in points])
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = math.sqrt(sum((x - mean_x) ** 2 for x in xs) * sum((y - mean_y) ** 2 for y in ys))
    return sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys)) / spread if spread else math.nan


def prediction(kernel, way, peak):
    """Its text, and its difference from the measured IPC in parts of the peak; None where there is none."""
    view = kernel[way]
    if view["status"] != "OK":
        return "-", None
    difference = (view["predicted_ipc"] - kernel["ipc"]) / peak
    return f"{view['predicted_ipc']:.3f} ({100 * difference:+.0f} %)", difference


def row_of(kernel, peak, near):
    counters = kernel["counters"]
    total = sum(value for name, value in counters.items() if name == "issue_cycles" or name.startswith("stall_"))
    row = [kernel["workload"], f"{kernel['ipc']:.3f}"]
    for way in near:
        text, difference = prediction(kernel, way, peak)
        near[way] += difference is not None and abs(difference) <= WITHIN
        row.append(text)
    row += [percent(kernel["counted"].get("predicted_stalled", 0)), percent(counters["stall_memory_data"] / total)]
    return row + [percent(sum(counters[name] for name in names) / total) for names in OTHERS.values()]


def alone(_, outcomes):
    """IPC of each kernel alone, and where its scheduler cycles went."""
    blocks = ["Warp instructions per core cycle and SM; differences in parts of the peak. The last columns are shares of the scheduler cycles in which a kernel had warps and issued "
              "nothing, by cause. The chain knows of one cause, loads that have not come back. What stands in the other columns is what it cannot know: where it predicts too "
              "much, they say why. Where it predicts too little, accesses of a warp overlap or wait a shorter time than the line says."]
    for outcome in outcomes:
        known, peak, near = outcome.result["kernels"], outcome.result["peak_ipc"], {"counted": 0, "sampled": 0}
        rows = [row_of(kernel, peak, near) for kernel in known]
        order = correlation([(kernel["ipc"], kernel["counted"].get("predicted_ipc", 0)) for kernel in known])
        blocks += [f"{outcome.gpu}:", (["kernel", "IPC measured", "predicted, counted", "predicted, sampled", "no warp ready: predicted", "waits for loads: measured", *OTHERS], rows),
                   f"Within ±20 % of the peak of {peak:g}: {near['counted']} of {len(rows)} by counters, {near['sampled']} by a sample. Order of the kernels (Spearman): {order:.2f}."]
    return blocks


TABLES = {"latencies": latencies, "inputs": inputs, "alone": alone}
