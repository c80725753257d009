#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the same cases with two builds of the command and compares what they print, byte for byte apart from wall time.

    compare_runs.py BUILD OTHER_BUILD [--drawn N] [--policy NAME…] [--capture FILE…] [--cycles N] [--jobs N] [--data DIR]

With neither --drawn nor --capture it runs a few cases of its own. --drawn runs N cases with each policy (all that BUILD has, or
those that are named): small workloads, GPUs of few SMs, goals, arrivals and settings are drawn, the same ones every time.
--capture runs each captured program with each policy, beside a workload. --data names kernels and GPUs for both; without it, each
build has its own.

A case that both builds refuse alike is counted, and is the same. Members of the JSON that an older build calls by another
name are renamed before they are compared; counters that only one of the builds has are left out. Ends with 1 if anything differs, with 77 (skipped) if the other build is not there.
"""
import argparse
import concurrent.futures
import os
import random
import re
import subprocess
import sys
import tempfile

# Small, and between them: several workloads, both kinds of sharing, another GPU.
CASES = [
    ["--gpu", "gtx980:sms=4", "--policy", "even", "--cycles", "20K", "sgemm@small", "lbm@small"],
    ["--gpu", "gtx980:sms=4", "--policy", "even", "--cycles", "20K", "spmv@small:goal=90%", "mri-q@small"],
    ["--gpu", "tesla-c2050:sms=4", "--policy", "cooperative", "--cycles", "20K", "stencil@small", "histogram@small"],
    ["--gpu", "quadro-fx5800:sms=4", "--policy", "even", "--cycles", "20K", "lbm@small", "stencil@small"],
]
TIMES = re.compile(r'("(?:wall_seconds|warp_instructions_per_second)": *)[-+0-9.eE]+')
# What members were called before, and are called now.
FORMER = {"apps": "applications", "params": "parameters", "context_bytes_out": "saved_bytes",
          "context_bytes_in": "restored_bytes"}
MEMBER = re.compile('"(' + "|".join(FORMER) + ')":')

WORKLOADS = ["sgemm", "lbm", "spmv", "mri-q", "stencil", "histogram", "cutcp", "sad", "tpacf", "hotspot", "bicg", "tea",
             "aes-encrypt", "radix-sort", "pathfinder", "fractal-flame"]
# Few SMs, and overrides that lead other ways: no L1 for global loads, a mesh, no L2, other schedulers, few packets.
GPUS = ["gtx980:sms=4", "gtx680:sms=3", "tesla-c2050:sms=4", "quadro-fx5800:sms=5", "smqos24:sms=4", "quadro-v100:sms=4",
        "isca56:sms=6", "gtx980:sms=4,scheduler=lrr,icnt_buffer=24", "gtx980:sms=6,scheduler=two_level,l2=512K"]


def listed(build, what):
    """First words of the entries of `corun list`."""
    text = subprocess.run([os.path.join(build, "corun"), "list", what], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^([a-z][\w-]*)", text, re.M)


def settings(policy, draw, sms, applications):
    """A policy with what it cannot do without, and something to do within a short window."""
    if policy == "fixed":
        first = draw.randint(1, sms - applications + 1)
        rest = sms - first - (applications - 2)
        return "fixed:split=" + "/".join(map(str, [first] + [1] * (applications - 2) + [rest]))
    if policy == "time-slice":
        return f"time-slice:slice={draw.choice((5000, 7000, 20000))}"
    if policy == "profile":
        return "profile:window=5000,points=2"
    return policy


def drawn(policy, count, cycles):
    """The cases of one policy. They depend on nothing but its name and the count."""
    draw = random.Random(policy)
    for _ in range(count):
        gpu = draw.choice(GPUS)
        gpu += ("," if ":" in gpu else ":") + f"epoch_cycles={draw.choice((2000, 5000))}"
        applications = []
        for position in range(draw.choice((2, 2, 3))):
            name = draw.choice(WORKLOADS) + "@small"
            if position == 0 or draw.random() < 0.3:
                name += f":goal={draw.choice((20, 40, 60, 80, 95))}%"
            if position and draw.random() < 0.3:
                name += f":start={draw.randint(1, 12)}K"
            applications.append(name)
        sms = int(re.search(r"sms=(\d+)", gpu)[1])
        yield ["--gpu", gpu, "--policy", settings(policy, draw, sms, len(applications)), "--cycles", cycles,
               "--seed", str(draw.randint(1, 99)), *applications]


def with_capture(file, policy, cycles):
    draw = random.Random(policy + os.path.basename(file))
    gpu = "gtx980:sms=4,epoch_cycles=5000"
    return ["--gpu", gpu, "--policy", settings(policy, draw, 4, 2), "--cycles", cycles, f"{file}:goal=50%",
            draw.choice(WORKLOADS) + "@small"]


def run(build, case, home, data):
    """JSON text of one run, times blanked, or its refusal. Each build has its own cache: no baseline is handed on."""
    cache = os.path.join(home, re.sub(r"\W", "_", os.path.abspath(build)))
    environment = {**os.environ, "XDG_CACHE_HOME": cache, "HOME": cache, **({"CORUN_DATA": os.path.abspath(data)} if data else {})}
    result = subprocess.run([os.path.join(build, "corun"), "run", *case, "--json", "-", "--quiet"], capture_output=True, text=True,
                            env=environment, check=False)
    if result.returncode < 0:
        raise SystemExit(f"{build}/corun run {' '.join(case)} was ended by signal {-result.returncode}")
    if result.returncode != 0:
        return f"refused with {result.returncode}: {result.stderr}"
    if not TIMES.search(result.stdout):
        raise SystemExit(f"{build}/corun run {' '.join(case)}: no wall_seconds in its JSON:\n{result.stdout[:1000]}")
    text = MEMBER.sub(lambda member: f'"{FORMER[member[1]]}":', TIMES.sub(r"\1?", result.stdout))
    return text.replace('"by": "program"', '"by": "run"')  # of smart-even and rounds


COUNTER = re.compile(r'^ *"(\w+)": [-+0-9.eE]+,?$', re.M)


def without_new_counters(left, right):
    """Both texts without the numbers whose names one of them never has."""
    names = [set(COUNTER.findall(text)) for text in (left, right)]
    alone = names[0] ^ names[1]
    texts = (COUNTER.sub(lambda line: "" if line[1] in alone else line[0].rstrip(","), text) for text in (left, right))
    return ["\n".join(filter(None, text.split("\n"))) for text in texts]


def difference(left, right):
    """The first line that differs."""
    ours, others = left.splitlines() + [""], right.splitlines() + [""]
    for number, (a, b) in enumerate(zip(ours, others), 1):
        if a != b:
            return f"  line {number}:\n    {a[:300]}\n    {b[:300]}"
    return "  one ends earlier"


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--drawn", type=int, default=0, metavar="N", help="cases to draw for each policy")
    parser.add_argument("--policy", nargs="+", default=[], metavar="NAME", help="these policies only")
    parser.add_argument("--capture", nargs="+", default=[], metavar="FILE", help="captured programs to run with each policy")
    parser.add_argument("--cycles", default="20K", help="window of the cases that are drawn [20K]")
    parser.add_argument("--jobs", type=int, default=1, help="cases side by side [1]")
    parser.add_argument("--data", metavar="DIR", help="kernels and GPUs for both builds [those of each]")
    parser.add_argument("builds", nargs=2, metavar="BUILD")
    options = parser.parse_args(arguments)
    if options.policy and not (options.drawn or options.capture):
        parser.error("--policy goes with --drawn or --capture")
    return options


def main(arguments):
    options = parse(arguments)
    first, second = options.builds
    if not os.path.exists(os.path.join(second, "corun")):
        print(f"skipped: there is no {second}/corun (make check builds it)")
        return 77
    drawing = options.drawn or options.capture
    policies = (options.policy or listed(first, "policies")) if drawing else []
    cases = [] if drawing else CASES
    for policy in policies:
        cases += drawn(policy, options.drawn, options.cycles)
        cases += [with_capture(file, policy, options.cycles) for file in options.capture]
    same = refused = different = 0
    with tempfile.TemporaryDirectory() as home, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        both = pool.map(lambda case: (case, *(run(build, case, home, options.data) for build in (first, second))), cases)
        for case, left, right in both:
            if left != right:
                left, right = without_new_counters(left, right)
            if left == right:
                same += 1
                refused += left.startswith("refused")
                if not drawing:
                    print("same  ", " ".join(case))
                elif left.startswith("refused"):
                    print("both refuse", " ".join(case), "\n  ", left.splitlines()[0][:200])
            else:
                different += 1
                print("DIFFER", " ".join(case))
                print(difference(left, right))
    print(f"{len(cases)} cases: {same} same ({refused} of them refused alike), {different} different")
    return 1 if different or not cases else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
