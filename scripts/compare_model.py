#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a page that holds the predictions of docs/model.md against measurements: the eight kernels of Kernelet, each alone.

    compare_model.py CORUN NAME CYCLES GPU... > NAME.md

Each GPU is a simulated one. The kernels are those of the paper (section 5.1), by the names of the suite.
"""
import json
import math
import subprocess
import sys

KERNELS = {"PC": "pointer-chasing", "SAD": "sad", "SPMV": "spmv", "ST": "stencil", "MM": "matmul", "MRIQ": "mri-q",
           "BS": "black-scholes", "TEA": "tea"}
WITHIN = 0.2  # of the peak: the lines in the paper's figures
# Scheduler cycles without an issue that the chain knows nothing of. What is left are warps that wait for loaded data.
OTHERS = {"load/store unit": ("stall_memory",), "pipelines": ("stall_pipeline",), "arithmetic latency": ("stall_data",),
          "rest": ("stall_fetch", "stall_control", "stall_barrier", "stall_fence", "stall_other")}


def predict(corun, gpu, cycles):
    command = [corun, "predict", "--quiet", "--gpu", gpu, "--cycles", cycles, "--json", "-"] + list(KERNELS.values())
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)


def table(titles, rows):
    print("| " + " | ".join(titles) + " |")
    print("|---|" + "--:|" * (len(titles) - 1))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def percent(value):
    return f"{100 * value:.0f} %"


def prediction(kernel, way, peak):
    """Its text, and its difference from the measured IPC in parts of the peak; None where there is none."""
    view = kernel[way]
    if view["status"] != "OK":
        return "-", None
    difference = (view["predicted_ipc"] - kernel["ipc"]) / peak
    return f"{view['predicted_ipc']:.3f} ({100 * difference:+.0f} %)", difference


def correlation(pairs):
    """Spearman's: of the ranks."""
    def ranks(values):
        order = sorted(values)
        return [order.index(value) for value in values]
    xs, ys = ranks([x for x, _ in pairs]), ranks([y for _, y in pairs])
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    covariance = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys))
    return covariance / math.sqrt(sum((x - mean_x) ** 2 for x in xs) * sum((y - mean_y) ** 2 for y in ys))


def inputs(result):
    rows = []
    for short, kernel in zip(KERNELS, result["kernels"]):
        row = [f"{short} ({kernel['workload']})", str(kernel["residents"] * kernel["tb_warps"])]
        for way in ("counted", "sampled"):
            view = kernel[way]
            if view["status"] != "OK":
                row += ["-"] * 4
            else:
                row += [f"{view['memory_share']:.4f}", f"{view['uncoalesced_share']:.2f}", f"{view['uncoalesced_requests']:.1f}",
                        f"{view['tb_instructions']:.0f}"]
        rows.append(row)
    table(["kernel", "warps per SM", "R_m counted", "U", "requests", "instructions", "R_m sampled", "U", "requests", "instructions"], rows)


def lost(kernel):
    """Shares of the scheduler cycles: waiting for loaded data, and what else kept instructions from issuing."""
    counters = kernel["counters"]
    total = sum(value for name, value in counters.items() if name == "issue_cycles" or name.startswith("stall_"))
    return counters["stall_memory_data"] / total, {name: sum(counters[row] for row in rows) / total for name, rows in OTHERS.items()}


def compare(result):
    peak, rows, within, pairs = result["peak_ipc"], [], {"counted": 0, "sampled": 0}, []
    for short, kernel in zip(KERNELS, result["kernels"]):
        waits, others = lost(kernel)
        row = [short, f"{kernel['ipc']:.3f}"]
        for way in ("counted", "sampled"):
            text, difference = prediction(kernel, way, peak)
            within[way] += difference is not None and abs(difference) <= WITHIN
            row.append(text)
        pairs.append((kernel["ipc"], kernel["counted"].get("predicted_ipc", 0)))
        row += [percent(kernel["counted"].get("predicted_stalled", 0)), percent(waits)]
        rows.append(row + [percent(value) for value in others.values()])
    table(["kernel", "IPC measured", "predicted, counted", "predicted, sampled", "no warp ready: predicted", "waits for loads: measured"]
          + list(OTHERS), rows)
    print(f"Within ±20 % of the peak of {peak:g}: {within['counted']} of {len(rows)} by counters, {within['sampled']} by a sample. "
          f"Order of the kernels (Spearman): {correlation(pairs):.2f}.\n")


def main():
    corun, name, cycles, gpus = sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:]
    print(f"# {name}: Kernelet's model, its eight kernels alone\n")
    print(f"* made by: `scripts/compare_model.py corun {name} {cycles} {' '.join(gpus)}`")
    print("* paper: Zhong and He, TPDS 2014, section 5.2; its figure of single kernels is in the supplement, of which the text says that most "
          "predictions are within ±20 % of the peak")
    print(f"* IPC: warp instructions per core cycle and SM, in a window of {cycles} cycles; differences in parts of the peak; "
          "[how](../model.md)\n")
    print("The last columns are shares of the scheduler cycles in which a kernel had warps and issued nothing, by cause. The chain knows of one "
          "cause, loads that have not come back. What stands in the other columns is what it cannot know: where it predicts too much, they say why. "
          "Where it predicts too little, accesses of a warp overlap or wait a shorter time than the line says.\n")
    for gpu in gpus:
        result = predict(corun, gpu, cycles)
        print(f"## {gpu}\n")
        for kind, line in result["latency"].items():
            points = ", ".join(f"{requests:g}: {measured:.0f}" for requests, measured in line["points"])
            print(f"* {kind} accesses: {line['slope']:.2f} x + {line['intercept']:.0f} cycles, {100 * line['residual']:.0f} % off in the mean; "
                  f"measured: {points}")
        print()
        inputs(result)
        compare(result)


main()
