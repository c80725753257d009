# SPDX-License-Identifier: MIT
# A tour of corun from Python: it loads a GPU, runs a pair of applications under several policies, sweeps a parameter, draws both into
# SVG files, and asks a results file of `corun campaign`. sharing.py has it in cells as editors know them (# %%), sharing.ipynb as
# a notebook. The notebook is made from the script by scripts/make_notebook.py.
#
#     PYTHONPATH=python python3 python/examples/sharing.py [--small] [--results FILE] [FOLDER]
#     PYTHONPATH=python jupyter lab python/examples/sharing.ipynb
#
# --small takes seconds, for those who only want to see that it works; a notebook has it in its first cell.

# %% What is needed
import argparse
import pathlib
import sys

import matplotlib
from matplotlib import pyplot

import corun

in_notebook = "ipykernel" in sys.modules
if not in_notebook:
    matplotlib.use("svg")

parser = argparse.ArgumentParser()
parser.add_argument("folder", nargs="?", default=".", type=pathlib.Path)
parser.add_argument("--small", action="store_true")
parser.add_argument("--results", help="a results file of `corun campaign`")
options = parser.parse_args([] if in_notebook else None)  # in a notebook, write what you want into the list: ["--small"]
size, cycles = ("small", 30_000) if options.small else ("medium", 300_000)

# %% A GPU: by name, with what we want to be different
gpu = corun.gpu("gtx980", sms=8)
print(f"{gpu}: {gpu.sms} SMs at {gpu.core_clock_khz / 1000:.0f} MHz, {gpu.l2_bytes >> 20} MB of L2")
print("policies:", ", ".join(corun.policies()))

# %% A pair under a few policies: one application has a goal, the other takes what is left
pair = [f"sgemm@{size}", f"lbm@{size}"]
policies = ["left-over", "even", "cooperative"]
results = {policy: corun.run(pair, goals=["50%"], policy=policy, gpu=gpu, cycles=cycles) for policy in policies}
for policy, result in results.items():
    first, second = result.applications
    print(f"{policy:12} STP {result.stp:.3f}, {first['name']} at {first['normalised_ipc']:.2f} of its speed alone "
          f"({'met' if first['goal_met'] == 1 else 'missed'}), {second['name']} at {second['normalised_ipc']:.2f}")

# %% A result in a notebook shows itself: the applications, and who held how many SMs
results["even"]

# %% Where the cycles went: counters are arrays, by SM and application
even = results["even"]
issued = even.shares["issue_cycles"]  # (SMs, applications)
print("SMs that issued for each application:", (issued > 0).sum(axis=0))
print("stalled for the memory, of all scheduler cycles with warps:",
      (even.totals["stall_memory_data"] + even.totals["stall_memory"]) / sum(
          even.totals[name] for name in even.totals.dtype.names if name == "issue_cycles" or name.startswith("stall_")))

# %% The split over time
figure, panels = pyplot.subplots(len(results), 1, sharex=True, figsize=(7, 5), layout="constrained")
for axes, (policy, result) in zip(panels, results.items()):
    history = result.history
    for name, series in zip(result.applications["name"], history.tbs):
        axes.stairs(series, [0, *history.end_cycles / 1000], label=name, linewidth=1.5, baseline=None)
    axes.set_title(policy, loc="left", fontsize=10)
    axes.set_ylabel("thread blocks")
panels[0].legend(ncols=2, loc="upper right")
panels[-1].set_xlabel("thousand cycles")
figure.savefig(options.folder / "split.svg")

# %% A sweep: how the pair's throughput follows the number of SMs
counts = [2, 4, 8] if options.small else [2, 4, 6, 8, 10, 12, 14, 16]
sweep = [corun.run(pair, policy="even", overrides={"sms": count}, cycles=cycles) for count in counts]
figure, axes = pyplot.subplots(figsize=(7, 3.5), layout="constrained")
for place, (name, marker) in enumerate(zip(sweep[0].applications["name"], "os")):
    axes.plot(counts, [result.applications["ipc"][place] for result in sweep], marker=marker, label=name)
axes.set_xlabel("SMs, split evenly")
axes.set_ylabel("thread instructions per cycle")
axes.legend()
figure.savefig(options.folder / "sweep.svg")

# %% What campaigns have found: the same numbers from a results file
if options.results:
    with corun.Results(options.results) as file:
        for campaign in file.campaigns():
            print(f"{campaign.name}: {campaign.asked} cases")
        cases = file.cases()
        for policy in dict.fromkeys(cases["policy"]):
            print(f"{policy:12} STP {corun.geometric_mean(cases['stp'][cases['policy'] == policy]):.3f} over "
                  f"{(cases['policy'] == policy).sum()} cases")
        worst = cases[cases["stp"].argmin()]
        print("the least:", corun.command_line(worst))
