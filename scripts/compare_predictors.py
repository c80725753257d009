#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How well five kinds of models predict queries of the services, on the simulated host and on this machine: docs/results/emu-models.md.

    compare_predictors.py CORUN EXAMPLES FOLDER measure              samples of this machine, which FOLDER keeps
    compare_predictors.py CORUN EXAMPLES FOLDER page > emu-models.md

Figures 5-6 and 5-7 of Wang's thesis (SJTU 2017): the coefficient of determination on the 20 % of the samples that were held out.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

SERVICES = ("dnn-asr", "crf", "fd", "fe", "gmm", "regex", "stemmer") # as the thesis orders them
SIZES = {"dnn-asr": 12, "crf": 500, "fd": 500, "fe": 250, "gmm": 37, "regex": 1000, "stemmer": 62} # an eighth of the mean query
KINDS = ("knn", "linear", "sgd", "network", "svm") # as a predictor's file has them
QUERIES, SEEDS = 150, (1, 2, 3, 4, 5)
TARGETS = (("duration", "Duration (figure 5-6)"), ("ipc", "Instructions per cycle (figure 5-7)"))


def train(corun, samples, seed):
    """{target: [R2 of each kind]}"""
    with tempfile.NamedTemporaryFile(suffix=".json") as model:
        subprocess.run([corun, "host", "train", "-q", "--seed", str(seed), "-o", model.name, str(samples)], check=True)
        predictor = json.load(open(model.name, encoding="utf-8"))["predictor"]
    return {target: predictor[target]["r2"] for target, _ in TARGETS}


def median_r2(corun, samples):
    """The median over several divisions of the samples."""
    rows = [train(corun, samples, seed) for seed in SEEDS]
    return {target: [sorted(row[target][kind] for row in rows)[len(rows) // 2] for kind in range(len(KINDS))] for target, _ in TARGETS}


def measure(corun, examples, folder):
    cores = len(os.sched_getaffinity(0))
    for service in SERVICES:
        lines = []
        for count in range(1, cores + 1):
            path = folder / "part.csv"
            words = f"{service} {examples}/{service} --serve --size={SIZES[service]} --threads={cores} --queries={QUERIES}"
            subprocess.run([corun, "host", "run", "-q", "-p", f"fixed:cores={count},ways=0", "--samples", path, "--socket", folder / "agent", "-s", words], check=True)
            lines += path.read_text(encoding="utf-8").splitlines()[1 if lines else 0:]
        (folder / f"{service}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


def print_table(title, rows):
    print(f"| {title} | " + " | ".join(KINDS) + " | chosen |")
    print("|---|" + "--:|" * len(KINDS) + "---|")
    for service, values in rows.items():
        best = max(range(len(KINDS) - 1), key=lambda kind: values[kind]) # svm is never chosen
        print(f"| {service} | " + " | ".join(f"{value:.3f}" for value in values) + f" | {KINDS[best]} |")
    print()


def page(corun, folder):
    simulated, measured = {}, {}
    with tempfile.TemporaryDirectory() as room:
        for service in SERVICES:
            path = pathlib.Path(room, f"{service}.csv")
            subprocess.run([corun, "host", "samples", "-o", path, service], check=True)
            simulated[service] = median_r2(corun, path)
            if (folder / f"{service}.csv").exists():
                measured[service] = median_r2(corun, folder / f"{service}.csv")
    print("# emu-models: how well queries are predicted, five kinds of models\n")
    print("* made by: `scripts/compare_predictors.py`, with `corun host samples`, `corun host run --samples` and `corun host train`")
    print("* paper: Wang, thesis, SJTU 2017, figures 5-6 and 5-7, which have no numbers in the text\n")
    print("The coefficient of determination R² on the samples that were held out, a fifth of them, median of five divisions. *Chosen* is the kind that a "
          "predictor takes: the best but for `svm`, which the thesis rules out for its time.\n")
    print("## Simulated host\n\nQueries alone on 1 to 12 cores with 1 to 16 ways, 16 sizes: 1536 samples of each service.\n")
    for target, title in TARGETS:
        print_table(title, {service: values[target] for service, values in simulated.items()})
    if measured:
        print(f"## This machine\n\nReal queries of the same programs on one and on two cores, {QUERIES} each, an eighth of the mean size, while others "
              "used the machine as well: what they took from a query is in no feature, and bounds what any model can tell. No instructions are counted here, so "
              "the rate of a query is its size over its time ([host-linux](../host-linux.md)), and the predictor derives it from the duration; the second table "
              "is what a model would make of it by itself. Of durations, the linear kinds tell as much here as any other: on one core or two little bends, and "
              "the rest is what others took.\n")
        for target, title in TARGETS:
            print_table(title, {service: values[target] for service, values in measured.items()})


def main():
    if len(sys.argv) != 5 or sys.argv[4] not in ("measure", "page"):
        sys.exit(__doc__)
    corun, examples, folder = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), pathlib.Path(sys.argv[3])
    folder.mkdir(exist_ok=True)
    if sys.argv[4] == "measure":
        measure(corun, examples, folder)
    else:
        page(corun, folder)


if __name__ == "__main__":
    main()
