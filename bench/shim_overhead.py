#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
What the shim costs a program that is alone under corund, for every CUDA program of the tests, on corun's own driver.

    bench/shim_overhead.py BUILD [NAME...] [--limit SECONDS] [--instructions] [--markdown FILE] [--page PAGE]

A program that takes longer under callgrind than the limit has `-`; a limit of 0 counts no instructions. With --page, rows of
docs/results/shim-overhead.md become what was measured, each as soon as it is; with --instructions, their launches and cycles stay.

Cycles are those of the simulated GPU, from its start to the end of the program's last launch or copy, with timing. Instructions are those of the
program's process in the host, as callgrind counts them, without timing of the GPU, or of that one of its processes which has most with those before its
fork: most of them are then those of start, of corun's driver and of the kernels' emulation, and the difference is the shim's and what it asks the driver
for. Of launches, callgrind tells that difference itself: what the shim's entry points took without the driver's own launch. A program is run without the shim, and behind it under corund with its own policy, `goal`, which notes each launch of the first tenth of a second of
use and counts later ones. It must end alike.
"""
import argparse
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TIMED_OUT = 15 # the status of a program that was ended
NOT_FOUND = 127

# Of the driver, as the shim has them too (shim/launch.c).
LAUNCHES = {name + suffix for name in ("cuLaunchKernel", "cuLaunchKernelEx", "cuLaunchCooperativeKernel", "cuGraphLaunch") for suffix in ("", "_ptsz")}

# What waits for the clock or threads of the host or for other processes, and what does not find the same behind the shim (tests/daemon/test_hardware_programs.py).
LEFT_OUT = {"polling", "forked", "function_thread", "waits_for_host", "cuda_interprocess", "cuda_stream_values", "cuda_copy_batches"}


def programs(build):
    """Those of clang, each once as tests run it without timing; options, words, and what its test sets."""
    listed = subprocess.run(["ctest", "--show-only=json-v1", "-R", "^cuda_"], cwd=build, capture_output=True, check=True).stdout
    seen = {}
    for test in json.loads(listed)["tests"]:
        words = test.get("command", [])
        if words[1:2] != ["exec"] or "--" not in words or test["name"].endswith("_nvcc"):
            continue
        end = words.index("--")
        options, program = words[2:end], pathlib.Path(words[end + 1])
        stem = program.name.removesuffix("-static")
        if stem in LEFT_OUT or program.name.startswith("python") or any(option.startswith(("--sample", "--slice")) for option in options):
            continue
        if program.name not in seen or "--functional" in options:
            settings = dict(setting.split("=", 1) for one in test["properties"] if one["name"] == "ENVIRONMENT" for setting in one["value"])
            seen[program.name] = ([option for option in options if option not in ("-q", "--functional", "--keep-status")], program, words[end + 2:], settings)
    return seen


def of_launches(text, shim):
    """
    How often programs call what launches in the shim, and the instructions of that without those of the driver's own launches. Of callgrind's file, whose calls name the
    object of the callee (cob) where it is another one than the caller's (ob), and are followed by a line with what the call cost.
    """
    names, objects, launches, cost = {}, {}, 0, 0
    ours = theirs = called = count = None

    def name_of(word, known):
        number, _, name = word.partition(" ")
        return known.setdefault(number, name) if name else known[number]
    for line in text.splitlines():
        key, _, value = line.partition("=")
        if key == "ob":
            ours = theirs = name_of(value, objects)
        elif key == "cob":
            theirs = name_of(value, objects)
        elif key in ("fn", "cfn"):
            called = name_of(value, names)
        elif key == "calls":
            count = int(value.split()[0])
        elif count is not None:
            if called in LAUNCHES and (ours == shim) != (theirs == shim):
                launches += count if theirs == shim else 0
                cost += int(line.split()[1]) * (1 if theirs == shim else -1)
            theirs, count = ours, None
    return launches, cost


class Bench:
    def __init__(self, build, folder):
        self.corun, self.libraries, self.shim, self.folder = build / "corun", build / "cuda", build / "shim", folder
        self.settings, self.statuses = {}, set() # of the program at hand
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("CORUN_CUDA_", "CORUN_SHIM_"))}
        self.environment.update(CORUN_DAEMON_SOCKET=str(folder / "socket"), XDG_CACHE_HOME=str(folder))

    @contextlib.contextmanager
    def corund(self):
        driver = str(self.libraries / "libcuda.so.1")
        with subprocess.Popen([self.corun.parent / "corund"], env=dict(self.environment, CORUN_SHIM_DRIVER=driver), stdout=subprocess.PIPE,
                              text=True) as daemon:
            daemon.stdout.readline()
            try:
                yield
            finally:
                daemon.kill()

    def behind(self, governed):
        """In front of a program's words."""
        if not governed:
            return []
        return ["/usr/bin/env", f"LD_LIBRARY_PATH={self.shim}:{self.libraries}", f"CORUN_SHIM_DAEMON={self.folder / 'socket'}",
                f"CORUN_SHIM_DRIVER={self.libraries / 'libcuda.so.1'}"]

    def execute(self, options, governed, words, limit=600):
        """False: `corun exec` has ended what did not end by itself."""
        done = subprocess.run([self.corun, "exec", "-q", "--wall-timeout", f"{limit}s", *options, "--", *self.behind(governed), *words],
                              env={**self.environment, **self.settings}, capture_output=True, check=False)
        if done.returncode == NOT_FOUND:
            raise SystemExit(f"{words[0]}: {done.stderr.decode()}")
        self.statuses.add(done.returncode)
        return done.returncode != TIMED_OUT

    def cycles(self, options, program, words, governed):
        record = self.folder / "record.json"
        record.unlink(missing_ok=True)
        self.execute([*options, "--json", str(record)], governed, [program, *words])
        if not record.exists():
            return None, 0
        told = json.loads(record.read_text())
        return max((int(one["start_cycle"] + one["cycles"]) for one in told["launches"] + told["copies"]), default=0), len(told["launches"])

    def instructions(self, options, program, words, governed, limit):
        """All, and those of launches in the shim; None: the limit has ended it."""
        if not limit:
            return None
        for counted in self.folder.glob("callgrind.*"):
            counted.unlink()
        if not self.execute(["--functional", *options], governed,
                            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={self.folder / 'callgrind.%p'}", program, *words], limit):
            return None # what callgrind has counted up to that is a part
        # A child begins with the count of its parent.
        texts = [counted.read_text() for counted in self.folder.glob("callgrind.*")]
        found = [(int(one[1]), text) for text in texts for one in [re.search(r"^(?:summary|totals): (\d+)", text, re.MULTILINE)] if one]
        if not found:
            return None
        total, text = max(found)
        return total, *of_launches(text, str(self.shim / "libcuda.so.1"))


def row_of(page, name):
    """The row's cells as the page has them; none if it has none."""
    found = re.search(rf"^\| {re.escape(name)} \|(.*)\|$", page.read_text(encoding="utf-8"), re.MULTILINE) if page else None
    return [cell.strip() for cell in found[1].split("|")] if found else []


def put_row(page, name, line):
    text, count = re.subn(rf"^\| {re.escape(name)} \|.*\|$", line, page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    page.write_text(text if count else f"{text}{line}\n", encoding="utf-8")


def ratio(after, before):
    return f"{after / before:.4f}" if isinstance(before, int) and isinstance(after, int) and before else "-"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--limit", type=int, default=600)
    parser.add_argument("--instructions", action="store_true")
    parser.add_argument("--markdown", type=pathlib.Path)
    parser.add_argument("--page", type=pathlib.Path)
    given = parser.parse_intermixed_args()
    lines = ["| program | launches | cycles without | with | ratio | host instructions without | with | more | launches in the shim | more for each |",
             "|---" * 10 + "|"]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(given.build.absolute(), pathlib.Path(folder))
        with bench.corund():
            for name, (options, program, words, bench.settings) in sorted(programs(given.build).items()):
                name = name.removeprefix("cuda_")
                if given.names and name not in given.names:
                    continue
                bench.statuses.clear()
                timed = [word for word in words if word != "functional"]
                kept = row_of(given.page, name) if given.instructions else []
                if kept:
                    launches, plain, behind = (int(cell) for cell in kept[:3])
                else:
                    (plain, launches), (behind, _) = (bench.cycles(options, program, timed, governed) for governed in (False, True))
                before, after = (bench.instructions(options, program, words, governed, given.limit) for governed in (False, True))
                if len(bench.statuses - {TIMED_OUT}) > 1:
                    raise SystemExit(f"{name} ends with {bench.statuses}")
                counted = ["-"] * 5
                if before and after:
                    made, cost = after[1:]
                    counted = [before[0], after[0], after[0] - before[0], made, round(cost / made) if made else "-"]
                lines.append("| " + " | ".join(map(str, (name, launches, plain, behind, ratio(behind, plain), *counted))) + " |")
                print(lines[-1], flush=True)
                if given.page:
                    put_row(given.page, name, lines[-1])
    if given.markdown:
        given.markdown.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
