#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measures the programs of examples/split on the CPU and the GPUs of this machine, in wall time, and writes a page of what was measured.

    measure_split.py run FOLDER SECONDS ROWS.csv PLAN             the runs of PLAN, as far as they begin in that time; rows are appended
    measure_split.py page NAME MACHINE ROWS.csv > NAME.md         medians of the runs; MACHINE is a line that names CPU, GPU and driver

A line of PLAN names repeats, programs, numbers of threads and cases, each with commas between: `5 mc,mm:full 1,all GPU alone,meet`. A program
is one of cg, jacobi, mc, mm, nbody, nns, with `:full` behind the name in the thesis' size. A case is one of CASES, or `share=X`: the CPU is given
that fraction beforehand. Every run is a process of its own, which checks its result. The cases of a program follow each other, and that as often
as repeats say, so that what changes in the machine does not fall upon one of them; times are those of corun_split_result, without the creation
of the split.
"""
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

THESIS = "strategy=cap,patience=1e9,extrapolate=0,fill=0,ahead=0"
CASES = {"CPU alone": "strategy=static,cpu_share=1", "GPU alone": "strategy=static,cpu_share=0", "static": "strategy=static",
         "quick": "strategy=quick", "split": "strategy=split", "thesis' CAP": THESIS, "our CAP": "strategy=cap", "meet": "strategy=meet"}
COLUMNS = ("program", "threads", "case", "status", "seconds", "first_seconds", "rounds", "steps", "cpu_iterations", "gpu_iterations",
           "cpu_seconds", "gpu_seconds", "imbalance", "result")


def measure(folder, program, threads, case, record):
    """A row of the table: what became of one run."""
    name, _, size = program.partition(":")
    if os.path.exists(record):
        os.remove(record)
    setting = f"strategy=static,cpu_share={case[6:]}" if case.startswith("share=") else CASES[case]
    environment = dict(os.environ, CORUN_SPLIT=f"threads={threads},{setting}", CORUN_SPLIT_RECORD=record)
    row = {"program": program, "threads": threads, "case": case}
    try:
        done = subprocess.run([os.path.join(folder, name), *(["--full"] if size else [])], env=environment, text=True, check=False, timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except subprocess.TimeoutExpired:
        return row | {"status": "timeout"}
    row |= {"status": done.returncode, "result": " ".join(line[7:] for line in done.stdout.splitlines() if line.startswith("result "))}
    if done.returncode:
        print(f"{program}, {case}, {threads} threads: {done.stdout[-400:]}", file=sys.stderr)
    if not os.path.exists(record):
        return row
    with open(record, encoding="utf-8") as file:
        rounds = [json.loads(line) for line in file]
    devices = list(zip(*(one["devices"] for one in rounds)))
    row |= {"seconds": sum(one["seconds"] for one in rounds), "first_seconds": rounds[0]["seconds"], "rounds": len(rounds),
            "steps": len(rounds[0]["steps"]), "imbalance": rounds[0]["imbalance"]}
    for side, parts in zip(("cpu", "gpu"), devices):
        row |= {f"{side}_iterations": sum(one["iterations"] for one in parts), f"{side}_seconds": sum(one["seconds"] for one in parts)}
    return row


def planned(path):
    """The runs of a plan: program, threads, case."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            repeats, programs, threads, cases = line.strip().split(maxsplit=3)
            for _ in range(int(repeats)):
                for program in programs.split(","):
                    for count in threads.split(","):
                        for case in cases.split(","):
                            yield program, count, case


def run(folder, limit, path, plan):
    begin = time.monotonic()
    new = not os.path.exists(path)
    with open(path, "a", encoding="utf-8", newline="") as file, tempfile.TemporaryDirectory() as temporary:
        rows = csv.DictWriter(file, COLUMNS)
        if new:
            rows.writeheader()
        for program, threads, case in planned(plan):
            if time.monotonic() - begin > limit:
                return
            rows.writerow(measure(folder, program, threads, case, os.path.join(temporary, "record")))
            file.flush()


def load(path):
    """Rows by threads and program, then by case."""
    results, bad = {}, []
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["status"] != "0":
                bad.append(row)
            else:
                results.setdefault((row["threads"], row["program"]), {}).setdefault(row["case"], []).append(row)
    return results, bad


def median(rows, column="seconds"):
    return statistics.median(float(row[column]) for row in rows)


def best_share(cases):
    """The shortest median of the divisions that were given beforehand, and the CPU's share in it."""
    shares = {"CPU alone": 1, "GPU alone": 0, "static": 0.5} | {case: float(case[6:]) for case in cases if case.startswith("share=")}
    return min((median(cases[case]), share) for case, share in shares.items() if case in cases)


def tables(results, threads):
    needed = ("CPU alone", "GPU alone", "meet")
    chosen = {program: cases for (count, program), cases in results.items() if count == threads and all(case in cases for case in needed)}
    named = [case for case in CASES if any(case in cases for cases in chosen.values())]
    print(f"## {'One thread' if threads == '1' else 'All threads'} of the CPU\n\nMedian of the times in us, with the number of runs in brackets; of the GPU alone and of meet, the least and the "
          "most as well. Then meet's time over that of the faster side alone, its fraction of the ideal (both sides at their best rate, at no cost), that of the best share given beforehand, with the CPU's part in "
          "it, and what of the iterations the GPU had in meet.\n")
    print("| program | " + " | ".join(named) + " | GPU alone, least to most | meet, least to most | meet over the faster side | meet of the ideal | best share of the ideal | GPU's part in meet |")
    print("|---|" + "--:|" * (len(named) + 6))
    for program, cases in chosen.items():
        seconds = {case: median(cases[case]) for case in named if case in cases}
        cpu, gpu = seconds["CPU alone"], seconds["GPU alone"]
        ideal, faster = 1 / (1 / cpu + 1 / gpu), min(cpu, gpu)
        parts = [median(cases["meet"], f"{side}_iterations") for side in ("cpu", "gpu")]
        best, share = best_share(cases)
        print(f"| {program} | " + " | ".join(f"{1e6 * seconds[case]:.0f} ({len(cases[case])})" if case in seconds else "" for case in named)
              + "".join(" | {:.0f} to {:.0f}".format(*(1e6 * end([float(row["seconds"]) for row in cases[case]]) for end in (min, max)))
                        for case in ("GPU alone", "meet"))
              + f" | {seconds['meet'] / faster:.2f} | {ideal / seconds['meet']:.2f} | {ideal / best:.2f} ({100 * share:g} %) | {100 * parts[1] / sum(parts):.1f} % |")
    print()


def checks(results, bad):
    """Whether all runs of a program have the same result, to the last bit."""
    prints = {}
    for (_, program), cases in results.items():
        prints.setdefault(program, set()).update(row["result"] for rows in cases.values() for row in rows)
    runs = sum(len(rows) for cases in results.values() for rows in cases.values())
    same = sorted(program for program, words in prints.items() if len(words) == 1 and words != {""})
    differ = sorted(program for program, words in prints.items() if len(words) > 1)
    print(f"## Results\n\n{runs} runs ended with PASSED, {len(bad)} did not. Every run of {', '.join(same)} has the same result, to the last bit, with every "
          f"strategy and any number of threads{'; not so ' + ', '.join(differ) if differ else ''}. `nbody` has no such fingerprint (the GPU's reciprocal square root).\n")


def page(name, machine, path):
    results, bad = load(path)
    print(f"# {name}: CAP on a real GPU\n\n* made by: `scripts/measure_split.py page` of [the rows]({os.path.basename(path)}); `run` takes such rows\n"
          f"* machine: {machine}\n* wall time. [What meet is](../split.md#how-a-run-goes)\n")
    checks(results, bad)
    for threads in ("1", "all"):
        tables(results, threads)


def main():
    if len(sys.argv) == 6 and sys.argv[1] == "run":
        run(sys.argv[2], float(sys.argv[3]), sys.argv[4], sys.argv[5])
    elif len(sys.argv) == 5 and sys.argv[1] == "page":
        page(*sys.argv[2:])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
