#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
What the shim costs a program that is alone under corund, for every CUDA program of the tests, on corun's own driver.

    bench/shim_overhead.py BUILD [NAME...] [--limit SECONDS] [--markdown FILE]

A program that takes longer under callgrind than the limit has `-`; a limit of 0 counts no instructions.

Cycles are those of the simulated GPU, from its start to the end of the program's last launch or copy, with timing. Instructions are those of the
program's process in the host, as callgrind counts them, without timing of the GPU: most of them are then those of start, of corun's driver and of the kernels'
emulation, and the difference is the shim's and what it asks the driver for. A program is run without the shim, and behind it under corund with its own policy, `goal`, which
notes each launch of the first tenth of a second of use and counts later ones.
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

# What waits for the clock of the host, or for other processes.
LEFT_OUT = {"polling", "forked", "cuda_interprocess", "cuda_stream_values"}


def programs(build):
    """Those of clang, each once as tests run it without timing; options and words."""
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
            seen[program.name] = ([option for option in options if option not in ("-q", "--functional", "--keep-status")], program, words[end + 2:])
    return seen


class Bench:
    def __init__(self, build, folder):
        self.corun, self.libraries, self.shim, self.folder = build / "corun", build / "cuda", build / "shim", folder
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith(("CORUN_CUDA_", "CORUN_SHIM_"))}
        self.environment.update(CORUN_DAEMON_SOCKET=str(folder / "socket"), XDG_CACHE_HOME=str(folder))

    @contextlib.contextmanager
    def corund(self):
        driver = str(self.libraries / "libcuda.so.1")
        with subprocess.Popen([self.corun.parent / "corund"], env=dict(self.environment, CORUN_SHIM_DRIVER=driver), stdout=subprocess.PIPE,
                              text=True) as daemon:
            daemon.stdout.readline()
            yield
            daemon.kill()

    def behind(self, governed):
        """In front of a program's words."""
        if not governed:
            return []
        return ["/usr/bin/env", f"LD_LIBRARY_PATH={self.shim}:{self.libraries}", f"CORUN_SHIM_DAEMON={self.folder / 'socket'}",
                f"CORUN_SHIM_DRIVER={self.libraries / 'libcuda.so.1'}"]

    def execute(self, options, governed, words, limit=600):
        """False: `corun exec` has ended what did not end by itself."""
        done = subprocess.run([self.corun, "exec", "-q", "--wall-timeout", f"{limit}s", *options, "--", *self.behind(governed), *words], env=self.environment,
                              capture_output=True, check=False)
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
        if not limit:
            return None
        counted = self.folder / "callgrind.out"
        counted.unlink(missing_ok=True)
        if not self.execute(["--functional", *options], governed, ["valgrind", "--tool=callgrind", f"--callgrind-out-file={counted}", program, *words], limit):
            return None # what callgrind has counted up to that is a part
        found = re.search(r"^(?:summary|totals): (\d+)", counted.read_text() if counted.exists() else "", re.MULTILINE)
        return int(found[1]) if found else None


def ratio(after, before):
    return f"{after / before:.4f}" if isinstance(before, int) and isinstance(after, int) and before else "-"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--limit", type=int, default=600)
    parser.add_argument("--markdown", type=pathlib.Path)
    given = parser.parse_intermixed_args()
    lines = ["| program | launches | cycles without | with | ratio | host instructions without | with | ratio |", "|---|---|---|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(given.build.absolute(), pathlib.Path(folder))
        with bench.corund():
            for name, (options, program, words) in sorted(programs(given.build).items()):
                if given.names and name not in given.names:
                    continue
                timed = [word for word in words if word != "functional"]
                (plain, launches), (behind, _) = (bench.cycles(options, program, timed, governed) for governed in (False, True))
                before, after = (bench.instructions(options, program, words, governed, given.limit) for governed in (False, True))
                before, after = (before, after) if before and after else ("-", "-")
                lines.append(f"| {name} | {launches} | {plain} | {behind} | {ratio(behind, plain)} | {before} | {after} | {ratio(after, before)} |")
                print(lines[-1], flush=True)
    if given.markdown:
        given.markdown.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
