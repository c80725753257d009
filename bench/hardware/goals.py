#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Goals on a GPU of hardware: what part of its rate alone a program has beside others, by `corun share --goal`, what the others have, and how long requests take.

    goals.py CORUN GOALS -o ROWS.csv [--seconds 0.7] [--settle 0.25] [--service] [--cases NAME,...] [--goals none,60%,priority,...] [--plain]
    goals.py --page ROWS.csv COSTS.csv > docs/results/goals-h100.md

GOALS is bench/hardware/goals.c. Every case starts its programs once; one `corund` shares the GPU. First, each program works while the others rest, until `corund` knows its rate alone. Then, for each
goal (`corun goal`): the first program alone again, and a row of all together, of --seconds, --settle after the goal was given. How fast a host is changes
from second to second, so a rate is compared with that alone just before and just behind it. --service starts nvidia-cuda-mps-control, with a folder of its own, and quits it at the end.

The rate is requests in a second of those that are under way: a server has the same at any load. `of_alone` is that rate beside the one alone.
"""
import argparse
import csv
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
# mode, launches of a request, thread blocks, rounds; 1056 thread blocks are a wave of an H100
PROGRAMS = {
    "short": "closed 4 132 2000", "long": "closed 1 264 40000", "poisson": "poisson=500 4 132 2000", "longpoisson": "poisson=600 1 264 40000",
    "batch": "batch 1 1056 10000", "longbatch": "batch 1 5280 10000", "endless": "batch 1 1 2000000000", "infer": "", "train": "",
}
CASES = {  # name: programs, the steps: goals of each program, or a policy; None: --goals, of the first one
    "short": ("short batch", None), "long": ("long batch", None), "long-longbatch": ("long longbatch", None),
    "runs": ("short batch", ["ms=1.25x", "ms=2x", "fps=0.8x", "ms=0.5x"]),
    "poisson": ("poisson batch", None), "longpoisson": ("longpoisson batch", None),
    "two": ("short long batch", [("50%", "40%", "none"), ("70%", "20%", "none"), ("30%", "60%", "none")]),
    "torch": ("infer train", None),
}
COLUMNS = ("service case policy goals program goal requests seconds per_second rate of_alone p50_us p90_us p99_us max_us alone_p99_us corund_of_alone corund_held "
           "corund_held_ms").split()


def numbers(text):
    words = text.split()
    return {key: float(value) for key, value in zip(words[::2], words[1::2])}


class Program:
    """A program with a standard input: goals, or goals_torch.py."""
    def __init__(self, bench, name, share):
        self.name, self.alone = name, {}
        words = PROGRAMS[name].split()
        command = [bench.options.goals, *words] if words else [bench.options.python, str(HERE / "goals_torch.py"), name]
        if share:
            command = [bench.options.corun, "share", "--name", name, "--", *command]
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen(command, env=bench.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def say(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def hear(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.name} has ended: {self.process.wait()}")
        return numbers(line)

    def wake(self):
        """Until it has a context, and has launched something."""
        self.say("start")
        self.say("mark")
        while not self.hear()["launches"]:
            time.sleep(0.02)
            self.say("mark")
        self.say("stop")
        self.hear()

    def end(self):
        try:
            self.process.stdin.close()
        except BrokenPipeError:  # it was killed
            pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


def rate(row):
    """Requests in a second of being under way; launches in a second for batch programs."""
    return row["requests"] / row["service_s"] if row.get("service_s") else row["launches"] / row["seconds"]


class Bench:
    def __init__(self, options, folder, writer, stream):
        self.options, self.writer, self.stream = options, writer, stream
        self.environment = dict(os.environ, CORUN_DAEMON_SOCKET=os.path.join(folder, "corund.sock"))
        self.service = "no"

    def corun(self, *words):
        done = subprocess.run([self.options.corun, *words], env=self.environment, capture_output=True, text=True, timeout=10, check=False)
        if done.returncode:
            print(f"corun {' '.join(words)}: {done.stderr}", file=sys.stderr)
        return done.stdout

    def listed(self):
        return {client["name"]: client for client in json.loads(self.corun("ps", "--json", "-"))["clients"]}

    def measure(self, programs):
        """A row of each, of the same time."""
        for program in programs:
            program.say("mark")
        for program in programs:
            program.hear()
        before = self.listed() if self.policy else {}
        time.sleep(self.options.seconds)
        for program in programs:
            program.say("mark")
        rows = [program.hear() for program in programs]
        after = self.listed() if self.policy else {}
        return rows, before, after

    def write(self, case, goals, programs, measured):
        rows, before, after = measured
        for program, goal, row in zip(programs, goals, rows):
            told, was = after.get(program.name, {}), before.get(program.name, {})
            held = {key: told.get(key, 0) - was.get(key, 0) for key in ("launches_held", "held_cycles")}
            out = {"service": self.service, "case": case, "policy": self.policy or "no corund", "goals": " ".join(goals), "program": program.name, "goal": goal,
                   "requests": int(row["requests"] or row["launches"]), "seconds": f"{row['seconds']:.3f}",
                   "per_second": f"{(row['requests'] or row['launches']) / row['seconds']:.2f}", "rate": f"{rate(row):.2f}",
                   "of_alone": f"{rate(row) / rate(program.alone):.4f}", "corund_held": held["launches_held"], "corund_held_ms": f"{held['held_cycles'] / 1e6:.1f}"}
            out.update({key: f"{row[key]:.1f}" for key in ("p50_us", "p90_us", "p99_us", "max_us") if key in row})
            out["alone_p99_us"] = f"{program.alone['p99_us']:.1f}" if "p99_us" in program.alone else ""
            corund = self.of_alone(was, told)
            out["corund_of_alone"] = f"{corund:.4f}" if corund else ""
            self.writer.writerow(out)
            print(*out.values(), flush=True)
        self.stream.flush()

    @staticmethod
    def of_alone(was, told):
        alone, seconds = told.get("launches_per_second_isolated"), (told.get("cycles", 0) - was.get("cycles", 0)) / 1e9
        if not alone or seconds <= 0:
            return None
        ended = [client.get("launches_per_second") or 0 for client in (was, told)]
        return (ended[1] * told["cycles"] - ended[0] * was.get("cycles", 0)) / 1e9 / seconds / alone

    def goal(self, program, goal):
        pid = self.listed()[program.name]["pid"]
        self.corun("goal", str(pid), goal)

    def learn(self, program):
        """Until corund knows its rate alone, or for four seconds."""
        self.goal(program, "90%")
        program.say("start")
        until = time.monotonic() + 4
        while time.monotonic() < until and not self.listed()[program.name]["launches_per_second_isolated"]:
            time.sleep(0.05)
        program.say("stop")
        program.hear()

    def alone(self, programs, seconds):
        """The first program, while the others rest."""
        for other in programs[1:]:
            other.say("stop")
        for other in programs[1:]:
            other.hear()
        programs[0].say("start")
        time.sleep(0.1)
        programs[0].say("mark")
        programs[0].hear()
        time.sleep(seconds)
        programs[0].say("stop")
        return programs[0].hear()

    def step(self, case, programs, step):
        before = self.alone(programs, min(self.options.seconds / 2, 0.5))
        for program in programs:
            program.say("start")
        goals = step
        if isinstance(step, str):
            goals = ("90%",) + ("none",) * (len(programs) - 1)
            row = programs[0].alone
            if step.startswith("ms="):
                goals = (f"ms={float(step[3:-1]) * row['service_s'] / row['requests'] * 1e3:.4f}",) + goals[1:]
            elif step.startswith("fps="):
                goals = (f"fps={float(step[4:-1]) * row['requests'] / row['seconds']:.1f}",) + goals[1:]
            else:
                self.policy = step
                self.corun("policy", step)
        for program, goal in zip(programs, goals):
            self.goal(program, goal)
        time.sleep(self.options.settle)
        measured = self.measure(programs)
        behind = self.alone(programs, min(self.options.seconds / 2, 0.5))
        both = {key: before[key] + behind[key] for key in ("requests", "launches", "seconds", "service_s")}
        programs[0].alone = dict(before, **both, p99_us=min(before["p99_us"], behind["p99_us"])) if "p99_us" in before and "p99_us" in behind else dict(before, **both)
        self.write(case, goals, programs, measured)

    def daemon(self):
        # pylint: disable=consider-using-with
        daemon = subprocess.Popen([self.options.corun, "daemon"], env=self.environment, stdout=subprocess.PIPE, text=True)
        if "policy" not in daemon.stdout.readline():
            sys.exit("corund does not start")
        return daemon

    def faults(self):
        """What a server with a goal has while things happen to others, and to corund."""
        self.policy = "goal"
        daemon, programs = self.daemon(), {}

        def row(event):
            time.sleep(self.options.settle)
            self.write("faults", [event], [programs["short"]], self.measure([programs["short"]]))
        try:
            for name in ("short", "batch", "longbatch", "endless"):
                programs[name] = Program(self, name, True)
            for name in ("short", "batch", "longbatch"):
                programs[name].wake()
            server, batch = programs["short"], programs["batch"]
            self.goal(server, "90%")
            server.say("start")
            time.sleep(self.options.settle)
            server.alone = self.measure([server])[0][0]
            self.goal(server, "90%")
            batch.say("start")
            row("beside a batch program")
            batch.process.send_signal(signal.SIGSTOP)
            row("that is stopped")
            batch.process.send_signal(signal.SIGCONT)
            row("that goes on")
            programs["longbatch"].say("start")
            row("beside two")
            batch.process.kill()
            row("one of which is killed")
            daemon.kill()
            daemon.wait()
            self.policy = ""
            row("corund is killed")
            daemon.stdout.close()
            daemon, self.policy = self.daemon(), "goal"
            time.sleep(1.2)
            row("corund is there again")
            programs["longbatch"].process.kill()
            programs["endless"].say("start")
            row("beside a kernel of many seconds")
            programs["endless"].process.kill()
            row("whose program is killed")
        finally:
            for program in programs.values():
                program.end()
            daemon.terminate()
            daemon.wait(10)
            daemon.stdout.close()

    def case(self, name):
        names, steps = CASES[name]
        if steps is None:
            steps = [(goal, "none") if goal == "none" or goal.endswith("%") else goal for goal in self.options.goals_given.split(",")]
        self.policy = "goal"
        daemon = self.daemon()
        programs = []
        try:
            programs = [Program(self, program, True) for program in names.split()]
            for program in programs:
                program.wake()
            for program in programs:
                if not PROGRAMS[program.name].startswith("batch"):
                    self.learn(program)
                program.alone = self.alone([program], self.options.seconds)
                self.write(name, ["alone"], [program], ([program.alone], {}, {}))
            for step in steps:
                self.step(name, programs, step)
        finally:
            for program in programs:
                program.end()
            daemon.terminate()
            daemon.wait(10)
            daemon.stdout.close()

    def plain(self, name):
        """The same programs without the shim: each alone, then all together."""
        self.policy = ""
        programs = [Program(self, program, False) for program in CASES[name][0].split()]
        try:
            for program in programs:
                program.say("start")
                time.sleep(self.options.settle)
                rows, *told = self.measure([program])
                program.alone = rows[0]
                self.write(name, ["alone"], [program], (rows, *told))
                program.say("stop")
                program.hear()
            for program in programs:
                program.say("start")
            time.sleep(self.options.settle)
            self.write(name, ["none"] * len(programs), programs, self.measure(programs))
        finally:
            for program in programs:
                program.end()


def run(options):
    machine = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version,clocks.max.sm", "--format=csv,noheader"], capture_output=True, text=True,
                             check=False).stdout.strip() or "no nvidia-smi" if options.machine is None else options.machine
    new = not os.path.exists(options.output)
    with tempfile.TemporaryDirectory() as folder, open(options.output, "a", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        if new:
            stream.write(f"# {machine}; {time.strftime('%Y-%m-%d')}; bench/hardware/goals.py, {options.seconds} s a row\n")
            writer.writeheader()
        bench = Bench(options, folder, writer, stream)
        if options.service:
            pipe = os.path.join(folder, "mps")
            os.mkdir(pipe)
            bench.environment.update(CUDA_MPS_PIPE_DIRECTORY=pipe, CUDA_MPS_LOG_DIRECTORY=pipe)
            subprocess.run(["nvidia-cuda-mps-control", "-d"], env=bench.environment, check=True)
            bench.service = "yes"
        try:
            for name in options.cases.split(","):
                if name == "faults":
                    bench.faults()
                elif options.plain:
                    bench.plain(name)
                else:
                    bench.case(name)
        finally:
            if options.service:
                subprocess.run(["nvidia-cuda-mps-control"], input="quit\n", env=bench.environment, text=True, check=False)


# ---- the page ----

TITLES = {
    "short": "*short*: requests of four kernels of 132 thread blocks, about 50 us, one behind the other, beside launches of one wave, 160 us",
    "long": "*long*: requests of one kernel of 264 thread blocks, about 190 us, one behind the other, beside launches of one wave",
    "long-longbatch": "*long*, beside launches of five waves, 800 us",
    "poisson": "*short* requests at random, 2000 a second on average, beside launches of one wave",
    "longpoisson": "*long* requests at random, 1667 a second on average, beside launches of one wave",
    "runs": "goals of runs: *short* requests, which the program tells of, one behind the other, beside launches of one wave",
    "two": "two programs with goals, *short* and *long*, one behind the other, and best effort: launches of one wave",
    "torch": "PyTorch: a network of convolutions asked every 5 ms, beside training",
}


def percent(text):
    return f"{100 * float(text):.1f} %" if text else "-"


def times(text):
    return f"{float(text):.0f} us" if text else "-"


def ratio(row):
    return f"{float(row['p99_us']) / float(row['alone_p99_us']):.2f}" if row["p99_us"] and row["alone_p99_us"] else "-"


def steps_of(rows):
    """Rows that were measured at the same time."""
    steps = []
    for row in rows:
        if row["goals"] == "alone":
            continue
        first = not steps or steps[-1][0]["goals"] != row["goals"] or steps[-1][0]["policy"] != row["policy"]
        if first or row["program"] in [other["program"] for other in steps[-1]]:
            steps.append([])
        steps[-1].append(row)
    return steps


def page_of_case(rows):
    print("| policy | goal | rate of alone | as corund sees it | P50 | P99 | P99 over alone | others, of their rate alone |\n|---|---|--:|--:|--:|--:|--:|---|")
    for step in steps_of(rows):
        row, others = step[0], step[1:]
        said = ", ".join(f"{other['program']} {percent(other['of_alone'])}" + (f" (goal {other['goal']})" if other["goal"] != "none" else "") for other in others)
        print(f"| {row['policy']} | {row['goal']} | {percent(row['of_alone'])} | {percent(row['corund_of_alone'])} | {times(row['p50_us'])} | {times(row['p99_us'])} | "
              f"{ratio(row)} | {said} |")
    print()


def page_of_runs(rows):
    print("| goal | mean of a run | runs a second | P99 | batch, of its rate alone |\n|---|--:|--:|--:|--:|")
    for row, batch in steps_of(rows):
        print(f"| {row['goal']} | {1e3 / float(row['rate']):.4f} ms | {float(row['per_second']):.0f} | {times(row['p99_us'])} | {percent(batch['of_alone'])} |")
    print()


def page_of_faults(rows):
    print("## What happens to others, and to corund\n\n*Short* requests with a goal of 90 %, without the multi-process service.\n")
    print("| event | rate of alone | P50 | P99 |\n|---|--:|--:|--:|")
    for row in rows:
        print(f"| {row['goals']} | {percent(row['of_alone'])} | {times(row['p50_us'])} | {times(row['p99_us'])} |")
    print()


def page_of_costs(path):
    with open(path, encoding="utf-8", newline="") as stream:
        print(f"## A launch\n\n{stream.readline().strip('# ').strip()}\n")
        rows = list(csv.DictReader(stream))
    print("| | through the shim | past it | more |\n|---|--:|--:|--:|")
    for row in rows:
        through, past = float(row["linked_us"]), float(row["direct_us"])
        print(f"| {row['state']} | {through:.2f} us | {past:.2f} us | {through - past:.2f} us |")
    print()


def page(path, costs):
    with open(path, encoding="utf-8", newline="") as stream:
        head, rows = stream.readline().strip("# \n"), list(csv.DictReader(stream))
    machine, date, _ = head.split("; ")
    lengths = [float(row["seconds"]) for row in rows if row["goals"] != "alone"]
    print("# goals-h100: what goals of corund keep on an H100\n")
    print("* made by: `bench/hardware/goals.py`, from rows in `bench/hardware/results`")
    print(f"* machine: {machine}; {date}; rows of {min(lengths):.1f} to {max(lengths):.1f} s, one run of each")
    print("* *Rate* is requests in a second of those that are under way, or launches a second of batch programs; *alone* is the same program, with corund, just before and just behind the row while the "
          "others rest. *As corund sees it* is by launches that end in a second of wanting the GPU")
    print("* P99 *over alone* is beside the lower one of the two P99 of the program alone\n")
    for service, title in (("yes", "With the multi-process service"), ("no", "Without the multi-process service")):
        cases = [case for case in TITLES if any(row["case"] == case and row["service"] == service for row in rows)]
        if cases:
            print(f"## {title}\n")
        for case in cases:
            some = [row for row in rows if row["case"] == case and row["service"] == service]
            print(f"{TITLES[case]}:\n")
            (page_of_runs if case == "runs" else page_of_case)(some)
    faults = [row for row in rows if row["case"] == "faults"]
    if faults:
        page_of_faults(faults)
    if costs:
        page_of_costs(costs)


def main():
    if sys.argv[1:2] == ["--page"]:
        page(*(sys.argv[2:4] + [None])[:2])
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corun")
    parser.add_argument("goals", metavar="GOALS")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--seconds", type=float, default=0.7)
    parser.add_argument("--settle", type=float, default=0.25)
    parser.add_argument("--cases", default="short,long,poisson,two")
    parser.add_argument("--goals", dest="goals_given", default="none,60%,80%,90%,95%")
    parser.add_argument("--plain", action="store_true", help="without corund")
    parser.add_argument("--service", action="store_true")
    parser.add_argument("--python", default="python3")
    parser.add_argument("--machine")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # the service is quit all the same
    run(parser.parse_args())


main()
