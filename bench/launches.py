#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
What a launch costs under `corun exec` in a long program, over what it costs in a shorter one; and what the command adds to the start of a program.

    bench/launches.py BUILD [LAUNCHES MORE]      10 000 and 100 000 unless told otherwise

Time is that of the processor, of the command and of the program, three runs of each in turn, the fastest counts; memory is the most of either process. About 1 is
wanted for both ratios. A start is the median of 21 runs of a program with one launch, without timing, beside as many of `true` in turn: under 50 ms are wanted.
"""
import os
import re
import resource
import statistics
import subprocess
import sys
import time


def run(build, launches):
    """Microseconds for each launch, MiB of the program in its first and last tenth, and MiB of the command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    program = os.path.join(build, "tests/cuda/programs/many_launches")
    with subprocess.Popen([os.path.join(build, "corun"), "exec", "-q", "--", program, str(launches)], stdout=subprocess.PIPE, text=True) as process:
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"corun exec has ended with status {process.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    first, last = (float(mib) for mib in re.findall(r"([\d.]+) MiB", text))
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds * 1e6 / launches, first, last, usage.ru_maxrss / 1024


def seconds(*command):
    """Of the processor, and passed."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, check=True)
    passed, after = time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, passed


def starts(build):
    """Prints what `corun exec` of a program with one launch takes, and what `true` takes."""
    command = os.path.join(build, "corun"), "exec", "-q", "--functional", "--", os.path.join(build, "tests/cuda/programs/vector_add")
    pairs = [(seconds(*command), seconds("true")) for _ in range(21)]
    (used, passed), (least, shortest) = ([statistics.median(times) * 1e3 for times in zip(*column)] for column in zip(*pairs))
    print(f"a start: {used:.1f} ms of the processor, {passed:.1f} ms pass; true: {least:.1f} and {shortest:.1f}; ratio {used / least:.1f} and {passed / shortest:.1f}")


def main():
    if len(sys.argv) not in (2, 4):
        sys.exit(__doc__)
    build, counts = sys.argv[1], [int(word) for word in sys.argv[2:]] or [10000, 100000]
    starts(build)
    runs = {count: [] for count in counts}
    for _ in range(3):
        for count in counts:
            runs[count].append(run(build, count))
    best = [min(runs[count]) for count in counts]
    for count, (cost, first, last, most) in zip(counts, best):
        print(f"{count:7} launches: {cost:6.2f} us each, program {first:.2f} MiB at first and {last:.2f} MiB at last, at most {most:.2f} MiB")
    print(f"ratio: {best[1][0] / best[0][0]:.3f} of time, {best[1][2] / best[0][2]:.3f} of the program's memory, {best[1][3] / best[0][3]:.3f} of the most")


if __name__ == "__main__":
    main()
