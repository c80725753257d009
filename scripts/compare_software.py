#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What does software control cost? Pairs of a latency-sensitive and a batch workload under one policy, obeyed by the simulated GPU in
hardware and by the software machine through a CUDA driver.

    compare_software.py CORUN [--gpu GPU] [--policy POLICY] [--cycles N] [--epoch N] [--goals 0.6 0.8] [--ls A B] [--batch C D] [--cache DIR]

Writes a table in Markdown: what each application reaches of its own speed alone, whether the goal is met, and means over all cases: cases
that meet their goal (QoSreach: Sun et al., SMQoS, section 5), what is kept of best effort where both machines meet it, and by how much goals are exceeded where they are met.
"""
import argparse
import json
import subprocess
import sys

MACHINES = ("hardware", "software")


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corun")
    parser.add_argument("--gpu", default="quadro-v100:sms=8")
    parser.add_argument("--policy", default="smqos:gate=off")
    parser.add_argument("--cycles", default="1M")
    parser.add_argument("--epoch")
    parser.add_argument("--goals", nargs="+", type=float, default=[0.6, 0.8])
    parser.add_argument("--ls", nargs="+", default=["hotspot", "lib"])
    parser.add_argument("--batch", nargs="+", default=["pathfinder", "gesummv"])
    parser.add_argument("--cache")
    return parser.parse_args(arguments)


def run(options, first, second, goal):
    command = [options.corun, "run", "-m", "both", "-g", options.gpu, "-p", options.policy, "-c", options.cycles, "--json", "-"]
    command += ["--epoch", options.epoch] if options.epoch else []
    command += ["--cache", options.cache] if options.cache else ["--no-cache"]
    done = subprocess.run(command + [f"{first}:goal={goal * 100:g}%", second], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{first} and {second}: {done.stderr}")
    return json.loads(done.stdout)


def figures(result, goal):
    """Of each machine: what the two reach of themselves alone, and whether the goal is met."""
    found = {}
    for machine in MACHINES:
        first, second = (row["normalised_ipc"] for row in result[machine]["applications"])
        found[machine] = {"ls": first, "batch": second, "met": result[machine]["applications"][0]["goal_met"],
                          "excess": first / goal - 1}
    return found


def mean(values):
    return sum(values) / len(values) if values else float("nan")


def main(arguments):
    options = parse(arguments)
    print(f"| with goal | beside | goal | {' | '.join(f'{m} | met | batch' for m in MACHINES)} | hand-over, us |")
    print("|---|---|--:|" + "--:|---|--:|" * len(MACHINES) + "--:|")
    cases = []
    for first in options.ls:
        for second in options.batch:
            for goal in options.goals:
                result = run(options, first, second, goal)
                found = figures(result, goal)
                cases.append(found)
                cells = [f"{found[m]['ls']:.3f} | {'yes' if found[m]['met'] else 'no'} | {found[m]['batch']:.3f}" for m in MACHINES]
                time = result["software"]["control"]["hand_over_microseconds"]
                print(f"| {first} | {second} | {goal:g} | {' | '.join(cells)} | {'-' if time is None else f'{time:.1f}'} |", flush=True)
    both = [case for case in cases if all(case[m]["met"] for m in MACHINES)]
    print(f"\n| {len(cases)} cases | " + " | ".join(MACHINES) + " |\n|---|" + "--:|" * len(MACHINES))
    print("| goals met | " + " | ".join(f"{100 * mean([case[m]['met'] for case in cases]):.1f} %" for m in MACHINES) + " |")
    print("| best effort, where both meet the goal | " + " | ".join(f"{mean([case[m]['batch'] for case in both]):.3f}" for m in MACHINES) + " |")
    print("| above the goal, where it is met | " +
          " | ".join(f"{100 * mean([case[m]['excess'] for case in cases if case[m]['met']]):.1f} %" for m in MACHINES) + " |")


if __name__ == "__main__":
    main(sys.argv[1:])
