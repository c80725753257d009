#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An open-loop server beside batch work on the software machine: requests come at random to a chain of short kernels.

    compare_latency.py CORUN [--gpu GPU] [--server WORKLOAD] [--batch A B] [--loads 0.3 0.5 0.8] [--requests N] [--alone CYCLES] [--ways NAME …]
        [--cache DIR]

Writes tables in Markdown: for each batch workload and load, under plain streams, grants and workers, the median and the 99th percentile of the time from a request to
its answer beside those of the server alone at the same requests, and what the batch work keeps of itself alone. The windows are as long as `--requests` requests
take on average; --alone is how many cycles one takes alone. `late` of the policy priority is 3 % of the 99th percentile alone; `within` is the time of a run
alone and so much of what the 99th percentile alone is above it as --within says.
"""
import argparse
import json
import re
import subprocess
import sys

# name, arguments
WAYS = (("plain streams", ("--launching", "whole")),
        ("turns, slices", ("--launching", "slices", "-p", "turns:microseconds=20,waves=1")),
        ("priority, whole", ("--launching", "whole", "-p", "priority:wait=10")),
        ("priority, slices", ("--launching", "slices", "-p", "priority:wait=10")),
        ("priority, slices, 20 us", ("--launching", "slices", "-p", "priority:wait=20")),
        ("priority, slices, 20 us, 3 % late", ("--launching", "slices", "-p", "priority:wait=20,late={late:.2f}")),
        ("priority, slices, in time", ("--launching", "slices", "-p", "priority:wait=10,within={within:.1f}")),
        ("priority, slices, in time, apart",
         ("--launching", "slices", "-p", "priority:wait=10,within={within:.1f},apart={apart}")),
        ("SMs of its own", ("--launching", "whole", "--streams", "sms={sms}")),
        ("priority, a quarter beside", ("--launching", "slices", "-p", "priority:wait=10,beside={quarter}")),
        ("slate, workers", ("-p", "slate", "--epoch", "20K")))


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corun")
    parser.add_argument("--gpu", default="quadro-v100:sms=10,memory_controllers=4,l2=768K")
    parser.add_argument("--server", default="merge-sort@small")
    parser.add_argument("--batch", nargs="+", default=["pathfinder@small"])
    parser.add_argument("--loads", nargs="+", type=float, default=[0.3, 0.5, 0.8])
    parser.add_argument("--requests", type=int, default=60)
    parser.add_argument("--alone", type=int, default=64000)
    parser.add_argument("--quarter", type=int, default=20, help="thread blocks of batch work that fill about a quarter of the GPU")
    parser.add_argument("--sms", type=int, default=8, help="of the server, where it has its own")
    parser.add_argument("--apart", type=int, default=4, help="SMs of the batch work beside the server, where both are apart")
    parser.add_argument("--within", type=float, default=0.25)
    parser.add_argument("--ways", nargs="+", default=[name for name, _ in WAYS], help="only these of: " + "; ".join(name for name, _ in WAYS))
    parser.add_argument("--mhz", type=int, default=1455, help="of the GPU's cores")
    parser.add_argument("--cache")
    return parser.parse_args(arguments)


def model_version(corun):
    said = subprocess.run([corun, "version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.search(r"timing model (\d+)", said)[1]


def run(options, load, more, applications, alone=0):
    cycles = int(options.requests * options.alone / load)
    command = [options.corun, "run", "-m", "software", "-g", options.gpu, "-c", str(cycles), "--load", f"{load * 100:g}%", "--json", "-"]
    command += ["--cache", options.cache] if options.cache else ["--no-cache"]
    within = options.alone + options.within * (alone - options.alone)
    numbers = {"quarter": options.quarter, "sms": options.sms, "apart": options.apart, "late": 0.03 * alone / options.mhz, "within": within / options.mhz}
    command += [part.format(**numbers) for part in more]
    done = subprocess.run(command + applications, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command + applications)}: {done.stderr}")
    return json.loads(done.stdout)["applications"]


def main(arguments):
    options = parse(arguments)
    print(f"""# rh-smqos-latency: an open-loop server beside batch work, on the software machine

* made by: `scripts/compare_latency.py corun --requests {options.requests} --loads {" ".join(f"{load:g}" for load in options.loads)} --batch {" ".join(options.batch)}`
* GPU: `{options.gpu}`, an eighth of the V100 in SMs, L2 and memory
* timing model: version {model_version(options.corun)}
* server: {options.server}, a chain of 13 short launches that takes {options.alone} cycles alone; requests come at random (a Poisson process), so many that the server would be busy for the
  load's part of the time alone; windows as long as {options.requests} requests take on average. Times count from the request, so that they hold the wait for requests before
* batch keeps: speed over speed alone""", flush=True)
    for batch in options.batch:
        print(f"\n**{options.server} beside {batch}**\n\n| load | | requests | done | median, cycles | 99th percentile | over alone | batch keeps |")
        print("|--:|---|--:|--:|--:|--:|--:|--:|")
        for load in options.loads:
            row = run(options, load, ("--launching", "whole"), [options.server])[0]
            alone = row["run_cycles"]["p99"]
            print(f"| {load * 100:g} % | alone | {row['requests']} | {row['runs']} | {row['run_cycles']['median']} | {alone} | | |", flush=True)
            for name, more in WAYS:
                if name not in options.ways:
                    continue
                row, other = run(options, load, more, [f"{options.server}:goal=50%", batch], alone)
                time = row["run_cycles"]
                over = f"{100 * (time['p99'] / alone - 1):+.1f} %" if time["p99"] else "-"
                print(f"| | {name} | {row['requests']} | {row['runs']} | {time['median']} | {time['p99']} | {over} | {other['normalised_ipc'] or 0:.3f} |",
                      flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
