#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What batch work beside an open-loop server can keep at best, by a queue whose rates are measured on the simulated GPU.

    bound_latency.py CORUN [--gpu GPU] [--server WORKLOAD] [--batch WORKLOAD] [--loads 0.2 0.3 0.5 0.8] [--divided 2] [--over 0.03] [--requests N] [--draws N] [--cache DIR]

Server and batch work run without a break, on fixed splits of the SMs in hardware and side by side in plain streams: so much of itself alone each has. With these
rates, requests of a Poisson process go through a queue, in which the 99th percentile of the time from a request to its answer may be `--over` above that of the
server alone. A table in Markdown: what turns leave; the best split that stays, and the best one that leaves everything to the batch work while nobody asks; side
by side whenever that is still in time, with all requests known beforehand; and the same with those known that have come, which all end within a time then: side by
side, and with the batch work on the SMs of the best split meanwhile. SMs change hands in no time and nothing is in flight: it is what no policy can pass that decides so.
"""
import argparse
import json
import random
import subprocess
import sys

STEP = 0.04  # of a run, at which it is decided anew
HALVINGS = 7


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corun")
    parser.add_argument("--gpu", default="quadro-v100:sms=10,memory_controllers=4,l2=768K")
    parser.add_argument("--sms", type=int, default=10)
    parser.add_argument("--server", default="merge-sort@small")
    parser.add_argument("--batch", default="pathfinder@small")
    parser.add_argument("--loads", nargs="+", type=float, default=[0.2, 0.3, 0.5, 0.8])
    parser.add_argument("--divided", type=int, default=1, help="a driver divides SMs by so many: other splits are left out")
    parser.add_argument("--over", type=float, default=0.03)
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--draws", type=int, default=6)
    parser.add_argument("--cycles", default="2M")
    parser.add_argument("--cache")
    return parser.parse_args(arguments)


def rates(options, machine, more):
    """What both have of themselves alone, without a break."""
    command = [options.corun, "run", "-m", machine, "-g", options.gpu, "-c", options.cycles, "--json", "-", *more, options.server, options.batch]
    command[2:2] = ["--cache", options.cache] if options.cache else ["--no-cache"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return [row["normalised_ipc"] for row in json.loads(done.stdout)["applications"]]


def draw(load, options, seed):
    numbers, now, times = random.Random(seed), 0, []
    for _ in range(options.requests):
        now += numbers.expovariate(load)
        times.append(now)
    return times


def percentile(times):
    return sorted(times)[int(0.99 * len(times)) - 1]


def serve(asked, length):
    """Runs that take so long, one after the other: 99th percentile, and the part of the time in which there is one."""
    free, answers = 0, []
    for time in asked:
        free = max(free, time) + length
        answers.append(free - time)
    return percentile(answers), len(asked) * length / free


def is_in_time(asked, first, end, limit):
    """Alone from now on, where the run of request `first` ends at `end`: is every request of those that wait for it answered within the limit?"""
    while end - asked[first] <= limit:
        first += 1
        if first == len(asked) or asked[first] >= end:
            return True
        end += 1
    return False


def side_by_side(asked, server, batch, limit):
    """A run takes 1 alone. 99th percentile, and what the batch work keeps."""
    now, kept, answers = 0, 0, []
    for first, time in enumerate(asked):
        kept += max(time - now, 0)
        now, left = max(now, time), 1
        while left > 0:
            shares = is_in_time(asked, first, now + left + STEP * (1 - server), limit)
            left -= STEP * (server if shares else 1)
            kept += STEP * batch if shares else 0
            now += STEP
        answers.append(now - time)
    return percentile(answers), kept / now


def as_they_come(asked, server, batch, within):
    """The same where nobody knows of a request that has not come: those that have are to end `within` their time, alone from now on."""
    now, kept, answers = 0, 0, []
    for first, time in enumerate(asked):
        kept += max(time - now, 0)
        now, left = max(now, time), 1
        while left > 0:
            end, behind = now + left + STEP * (1 - server), first
            while behind < len(asked) and asked[behind] <= now and end - asked[behind] <= within:
                end, behind = end + 1, behind + 1
            shares = behind == len(asked) or asked[behind] > now
            left -= STEP * (server if shares else 1)
            kept += STEP * batch if shares else 0
            now += STEP
        answers.append(now - time)
    return percentile(answers), kept / now


def most_as_they_come(asked, alone, rates_beside, over):
    """With the longest such time, as a part of what the 99th percentile alone is above a run, that is not too late; 0: none."""
    low, high, kept = 0, 1 + over, 0
    for _ in range(HALVINGS):
        part = (low + high) / 2
        found = [as_they_come(times, *rates_beside, 1 + part * (before[0] - 1)) for times, before in zip(asked, alone)]
        if mean([one[0] / before[0] - 1 for one, before in zip(found, alone)]) <= over:
            low, kept = part, mean([one[1] for one in found])
        else:
            high = part
    return kept


def mean(values):
    return sum(values) / len(values)


def bound(options, load, splits, beside):
    """kept by turns, by a split that stays, by one that gives all, and side by side, three times; SMs of the server for the splits."""
    asked = [draw(load, options, seed) for seed in range(options.draws)]
    alone = [serve(times, 1) for times in asked]
    stays, gives = (0, "-"), (0, "-")
    for sms, (server, batch) in splits.items():
        found = [serve(times, 1 / server) for times in asked]
        over = mean([one[0] / before[0] - 1 for one, before in zip(found, alone)])
        if over <= options.over:
            busy = mean([one[1] for one in found])
            stays, gives = max(stays, (batch, sms)), max(gives, (1 - busy + busy * batch, sms))
    known = [side_by_side(times, *beside, (1 + options.over) * before[0])[1] for times, before in zip(asked, alone)]
    come = most_as_they_come(asked, alone, beside, options.over)
    apart = max((most_as_they_come(asked, alone, pair, options.over), sms) for sms, pair in splits.items())
    return 1 - mean([one[1] for one in alone]), stays, gives, mean(known), come, apart


def main(arguments):
    options = parse(arguments)
    splits = {sms: rates(options, "hardware", ["-p", f"fixed:split={sms}/{options.sms - sms}"]) for sms in range(1, options.sms)
              if sms % options.divided == 0}
    beside = rates(options, "software", ["--launching", "whole"])
    print("| SMs of the server | " + " | ".join(str(sms) for sms in splits) + " | plain streams |\n|---|" + "--:|" * (len(splits) + 1))
    for name, which in ((options.server, 0), (options.batch, 1)):
        print(f"| {name} | " + " | ".join(f"{pair[which]:.3f}" for pair in [*splits.values(), beside]) + " |")
    print("\n| load | turns | a split that stays | a split, all while nobody asks | side by side, all known | as they come | as they come, apart |")
    print("|--:|--:|--:|--:|--:|--:|--:|")
    for load in options.loads:
        turns, stays, gives, known, come, apart = bound(options, load, splits, beside)
        print(f"| {load * 100:g} % | {turns:.3f} | {stays[0]:.3f} ({stays[1]}) | {gives[0]:.3f} ({gives[1]}) | {known:.3f} | {come:.3f} | {apart[0]:.3f} ({apart[1]}) |",
              flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
