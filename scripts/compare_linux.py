#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A service and a batch program of examples/host on this machine under several policies, and the same on a simulated host: docs/results/emu-linux.md.

    compare_linux.py CORUN EXAMPLES FOLDER prepare                    samples, a model, what the batch program does alone
    compare_linux.py CORUN EXAMPLES FOLDER measure [REPEATS]          each policy once, REPEATS times (1); call it again for more
    compare_linux.py CORUN EXAMPLES FOLDER page > emu-linux.md        medians of all repeats, the simulated host beside them

FOLDER keeps what was measured. Policies take turns, so that what else the machine does meets all of them.
"""
import json
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time

SERVICE, BATCH = "gmm", "canneal"
SIZE, GAP_MS, GOAL_MS, WORKERS = 30, 60, 150, 2 # a query of the mean size; between two; the goal of the thesis
SECONDS, WARMUP, INSTANCES = 10, 3, 2
POLICIES = ["os:instances=1"] + [f"static-opt:instances={n}" for n in range(INSTANCES + 1)] + ["emu", "pace"]


class Bench:
    def __init__(self, corun, examples, folder):
        self.corun, self.examples, self.folder = os.path.abspath(corun), os.path.abspath(examples), pathlib.Path(folder)
        self.cores = len(os.sched_getaffinity(0))
        self.folder.mkdir(exist_ok=True)

    def run(self, *words):
        """The results of one run."""
        path = self.folder / "run.json"
        subprocess.run([self.corun, "host", "run", "--quiet", "--json", path, "--socket", self.folder / "agent", *map(str, words)], check=True)
        return json.loads(path.read_text(encoding="utf-8"))

    def service(self, *words):
        return f"{self.examples}/{SERVICE} --serve --size={SIZE} --threads={self.cores} " + " ".join(words)

    def batch(self):
        return f"{self.examples}/{BATCH} --serve --threads={self.cores}"

    def prepare(self):
        lines = []
        for cores in range(1, self.cores + 1):
            path = self.folder / f"samples-{cores}.csv"
            self.run("-p", f"fixed:cores={cores},ways=0", "--samples", path, "-s", f"{SERVICE} {self.service('--queries=250')}")
            lines += path.read_text(encoding="utf-8").splitlines()[1 if lines else 0:]
        (self.folder / "samples.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        subprocess.run([self.corun, "host", "train", "-q", "--name", SERVICE, "-o", self.folder / "model.json", self.folder / "samples.csv"], check=True)

    def measure(self):
        known = {"busy": self.busy(), "at": time.time()}
        alone = self.run("-p", "os", "-t", "6s", "--warmup", f"{WARMUP}s", "-b", f"{BATCH} {self.batch()}")["cases"][0]
        known["alone"] = alone["batches"][0]["per_second"]
        for policy in POLICIES:
            service = f"{SERVICE}:goal={GOAL_MS}ms,model={self.folder}/model.json {self.service(f'--gap={GAP_MS}', f'--workers={WORKERS}')}"
            results = self.run("-p", policy, "-t", f"{SECONDS}s", "--warmup", f"{WARMUP}s", "-s", service,
                               "-b", f"{BATCH}:instances={INSTANCES} {self.batch()}")
            known[policy] = results["cases"][0]
            known["host"] = results["host"]
        with open(self.folder / "repeats.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(known) + "\n")

    def busy(self):
        """The part of a core that a thread gets which does nothing but compute, while others use the machine as well."""
        since, own = time.monotonic(), time.process_time()
        while time.monotonic() < since + 1:
            pass
        return (time.process_time() - own) / (time.monotonic() - since)

    # ---- the page ----

    def simulated(self, repeats, part):
        """The same co-location on a simulated host with as many cores as this machine, and its cache; a core is that part of one."""
        data = pathlib.Path(os.environ.get("CORUN_DATA", pathlib.Path(self.corun).parent / "data"))
        host = repeats[0]["host"]
        with tempfile.TemporaryDirectory() as folder:
            described = pathlib.Path(folder, f"{SERVICE}.yaml")
            text = (data / f"host/applications/{SERVICE}.yaml").read_text(encoding="utf-8")
            described.write_text(re.sub(r"exponential: \{.*?\}", f"exponential: {{mean: {SIZE}, most: {10 * SIZE}}}", text), encoding="utf-8")
            machine = f"e5-2650v4:cores={self.cores},clock_khz={round(3790 * part)}K,cache_bytes={host['cache_bytes']},ways={host['ways']}"
            common = ["simulate", "-q", "-j", f"{folder}/r.json", "-H", machine, "-b", f"{BATCH}:instances={INSTANCES}", "--queries", "2000"]
            def cases(load, policies):
                words = [*common, "-s", f"{described}:goal={GOAL_MS}ms,load={load}", "-p", policies]
                subprocess.run([self.corun, "host", *words], check=True)
                return json.loads(pathlib.Path(folder, "r.json").read_text(encoding="utf-8"))["cases"]
            alone_ms = cases(0.1, "os")[0]["services"][0]["alone_ns"] / 1e6
            load = alone_ms / GAP_MS
            return machine, load, dict(zip(POLICIES, cases(f"{load:.4f}", ",".join(POLICIES))))

    def page(self):
        repeats = [json.loads(line) for line in (self.folder / "repeats.jsonl").read_text(encoding="utf-8").splitlines()]
        busy = statistics.median(known["busy"] for known in repeats)
        machine, load, quiet = self.simulated(repeats, 1)
        slowed, slowed_load, slow = self.simulated(repeats, busy)
        head(repeats, machine, load, slowed, slowed_load)
        print("| | P99 over the goal | its range | late | violated | batch | its range | simulated, slowed: P99 over the goal | batch | simulated, quiet: P99 over the goal | batch |")
        print("|---|" + "--:|" * 10)
        for policy in POLICIES:
            print("| " + " | ".join([policy, *row(repeats, policy), *simulated_row(slow[policy]), *simulated_row(quiet[policy])]) + " |")
        print()
        decisions = [known[policy]["decisions"] for known in repeats for policy in ("emu", "pace")]
        obeyed = [known[policy]["obeyed"] for known in repeats for policy in ("emu", "pace")]
        print(f"A decision of `emu` or `pace` took {statistics.median(d['mean_ns'] for d in decisions) / 1e3:.1f} us of processor time on average (median of "
              f"the runs), and {max(d['longest_ns'] for d in decisions) / 1e3:.0f} us at most; to change cores took "
              f"{statistics.median(d['mean_ns'] for d in obeyed) / 1e3:.0f} us.\n")
        best = static_opt(repeats)
        print(f"By the medians, `static-opt` would run {best} instance{'' if best == 1 else 's'}: the most under which P99 is within the goal."
              if best is not None else "By the medians, not even no instance at all keeps the goal: there is no `static-opt`.")


def head(repeats, machine, load, slowed, slowed_load):
    host = repeats[0]["host"]
    busy = sorted(known["busy"] for known in repeats)
    print("# emu-linux: EMU on a real machine, a service and a batch program on two cores\n")
    print("* made by: `scripts/compare_linux.py`, with `corun host run`")
    print(f"* machine: {host['name']}, {host['cores']} cores, a cache of {host['cache_bytes'] >> 20} MiB, {platform.system()} {platform.release()}; "
          f"cores by {host['cores_by']}; ways {host['ways_by']}; instructions: {host['instructions']}")
    print(f"* {SERVICE}, queries of {SIZE} frames on average, every {GAP_MS} ms on average, two at a time on two threads each, goal {GOAL_MS} ms; up to {INSTANCES} "
          f"instances of {BATCH} on two threads each")
    print(f"* {len(repeats)} repeats of {SECONDS} s for each policy, in turns; medians, and lowest to highest")
    print(f"* simulated, quiet: `{machine}`, load {load:.2f}: queries come as often as here")
    print(f"* simulated, slowed: `{slowed}`, load {slowed_load:.2f}: a core is as fast as the part of one that a thread got here\n")
    print(f"**The machine was not quiet.** Others used both cores all the time: a thread that only computes got {busy[0]:.2f} to {busy[-1]:.2f} of a core "
          f"(median {statistics.median(busy):.2f}), and no policy can give what others take. The figures compare policies under the same noise; they "
          "are not what this machine can do.\n")
    print("Batch is the work of all instances over that of one instance alone in the same repeat. *Violated*: repeats whose P99 is above the goal.\n")


def ratio(known, policy):
    return known[policy]["batches"][0]["per_second"] / known["alone"]


def row(repeats, policy):
    tails = sorted(known[policy]["services"][0]["p99_of_goal"] for known in repeats)
    batch = sorted(ratio(known, policy) for known in repeats)
    late, queries = (sum(known[policy]["services"][0][name] for known in repeats) for name in ("late", "queries"))
    return (f"{statistics.median(tails):.2f}", f"{tails[0]:.2f} to {tails[-1]:.2f}", f"{100 * late / queries:.1f} %",
            f"{sum(tail > 1 for tail in tails)} of {len(tails)}", f"{statistics.median(batch):.2f}", f"{batch[0]:.2f} to {batch[-1]:.2f}")


def simulated_row(case):
    return f"{case['services'][0]['p99_of_goal']:.2f}", f"{case['throughput']:.2f}"


def static_opt(repeats):
    kept = [n for n in range(INSTANCES + 1)
            if statistics.median(known[f"static-opt:instances={n}"]["services"][0]["p99_of_goal"] for known in repeats) <= 1]
    return kept[-1] if kept else None


def main():
    if len(sys.argv) < 5 or sys.argv[4] not in ("prepare", "measure", "page"):
        sys.exit(__doc__)
    bench = Bench(*sys.argv[1:4])
    if sys.argv[4] == "measure":
        for _ in range(int(sys.argv[5]) if len(sys.argv) > 5 else 1):
            bench.measure()
    elif sys.argv[4] == "prepare":
        bench.prepare()
    else:
        bench.page()


if __name__ == "__main__":
    main()
