#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Verifies every workload in every size against its reference, and resumes where it was interrupted.

    check_full.py PROGRAM STATE [--jobs N] [--sizes SIZE,...] [WORKLOAD...]

PROGRAM is workload_test_workloads: `PROGRAM list` tells NAME@SIZE and bytes, `PROGRAM NAME@SIZE` verifies one. STATE is a folder that
keeps what passed, by a hash over the program, the PTX and the description: that is not run again. What failed is. Several run at a
time, as far as there is memory. Exit status: 0 if all passed, 1 if not, 130 after SIGINT or SIGTERM.
"""
import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import time

ORDER = {"small": 0, "medium": 1, "large": 2}  # others last: what is quick comes first
# Before a workload's first run: its buffers on the device, those of the reference, what either keeps besides; and the program.
BYTES_PER_BUFFER_BYTE, BYTES_OF_PROGRAM = 3, 200 << 20
SHARE_OF_MEMORY = 0.8  # of what is available


def available_bytes():
    with open("/proc/meminfo", encoding="ascii") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("MemAvailable"))


class Job:
    """One workload in one size."""

    def __init__(self, options, name, buffer_bytes):
        self.name = name
        self.base = os.path.join(options.state, name)
        self.program = options.program
        workload = name.split("@")[0]
        folder = os.path.join(options.data, "kernels", workload)
        digest = hashlib.sha256(options.program_digest)
        for part in (f"{workload}.ptx", f"{workload}.yaml"):
            with open(os.path.join(folder, part), "rb") as file:
                digest.update(hashlib.sha256(file.read()).digest())
        self.key = digest.hexdigest()
        before = self.remembered()
        self.passed_before = before.get("key") == self.key and before.get("passed") is True
        self.bytes = before.get("peak_bytes") or buffer_bytes * BYTES_PER_BUFFER_BYTE + BYTES_OF_PROGRAM
        self.passed = self.process = self.log = None
        self.started = self.seconds = 0.0

    def remembered(self):
        try:
            with open(self.base + ".json", encoding="utf-8") as file:
                found = json.load(file)
            return found if isinstance(found, dict) else {}
        except (OSError, ValueError):
            return {}

    def start(self):
        self.started = time.monotonic()
        with open(self.base + ".log", "wb") as self.log:
            self.process = subprocess.Popen([self.program, self.name], stdout=self.log, stderr=subprocess.STDOUT)

    def finish(self, status, usage):
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.seconds = time.monotonic() - self.started
        self.passed = self.process.returncode == 0
        found = {"key": self.key, "passed": self.passed, "seconds": round(self.seconds, 1), "peak_bytes": usage.ru_maxrss << 10}
        with open(self.base + ".json.new", "w", encoding="utf-8") as file:
            json.dump(found, file)
        os.replace(self.base + ".json.new", self.base + ".json")  # all of it or nothing

    def text(self, most_lines=None):
        with open(self.base + ".log", encoding="utf-8", errors="replace") as file:
            lines = [line.rstrip() for line in file if not line.startswith(("[ RUN", "[       OK", "[=====", "[  PASSED"))]
        return lines[-most_lines:] if most_lines else lines


class Schedule:
    """Jobs, a few at a time."""

    def __init__(self, options, jobs):
        self.options, self.jobs = options, jobs
        self.waiting = [job for job in jobs if not job.passed_before]
        self.running, self.ended = {}, 0
        self.memory = SHARE_OF_MEMORY * available_bytes() if options.memory is None else options.memory

    def may_start(self, job):
        return not self.running or (len(self.running) < self.options.jobs and
                                    sum(other.bytes for other in self.running.values()) + job.bytes <= self.memory)

    def start_what_fits(self):
        for job in list(self.waiting):
            if len(self.running) >= self.options.jobs:
                return
            if self.may_start(job):  # a smaller one may overtake one that does not fit now
                self.waiting.remove(job)
                job.start()
                self.running[job.process.pid] = job

    def end_too_long(self):
        for job in self.running.values():
            if time.monotonic() - job.started > self.options.timeout:
                job.process.kill()

    def step(self):
        """Waits for one to end, or a moment."""
        pid, status, usage = os.wait4(-1, os.WNOHANG)
        if pid not in self.running:
            self.end_too_long()
            time.sleep(0.02)
            return
        job = self.running.pop(pid)
        job.finish(status, usage)
        self.ended += 1
        total = len([job for job in self.jobs if not job.passed_before])
        words = "passed" if job.passed else f"FAILED ({describe_end(job.process.returncode)})"
        print(f"[{self.ended}/{total}] {job.name} {words}, {job.seconds:.1f} s, {usage.ru_maxrss / 1024:.0f} MB", flush=True)
        for line in job.text() if job.passed else job.text(20):
            print(f"    {line}", flush=True)

    def run(self):
        while self.waiting or self.running:
            self.start_what_fits()
            self.step()

    def stop(self):
        for job in self.running.values():
            job.process.kill()
            job.process.wait()
        self.running = {}


def describe_end(code):
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"status {code}"


def jobs_of(options):
    listed = subprocess.run([options.program, "list"], stdout=subprocess.PIPE, text=True, check=True).stdout
    jobs = []
    for name, count in (line.split() for line in listed.splitlines()):
        workload, size = name.split("@")
        if (not options.workload or workload in options.workload) and (not options.sizes or size in options.sizes.split(",")):
            jobs.append(Job(options, name, int(count)))
    return sorted(jobs, key=lambda job: ORDER.get(job.name.split("@")[1], len(ORDER)))


def summary(jobs, seconds):
    """True if all passed."""
    failed = [job for job in jobs if job.passed is False]
    missing = [job for job in jobs if job.passed is None and not job.passed_before]
    print(f"\n{len(jobs)} workloads and sizes: {sum(job.passed is True for job in jobs)} passed now, "
          f"{sum(job.passed_before for job in jobs)} before, {len(failed)} failed, {len(missing)} not run; {seconds:.0f} s")
    for job in failed:
        print(f"failed: {job.name}, see {job.base}.log")
    return not failed and not missing


def main():
    parser = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    parser.add_argument("program")
    parser.add_argument("state")
    parser.add_argument("workload", nargs="*", help="only these")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="at a time [one for each processor]")
    parser.add_argument("--sizes", help="only these, separated by commas")
    parser.add_argument("--memory", type=int, help="bytes that all together may take [most of what is available]")
    parser.add_argument("--timeout", type=float, default=3600, help="seconds after which one is ended and has failed [3600]")
    options = parser.parse_intermixed_args()
    options.program = os.path.abspath(options.program)
    options.data = os.environ.get("CORUN_DATA") or os.path.join(os.path.dirname(options.program), "..", "data")
    with open(options.program, "rb") as file:
        options.program_digest = hashlib.sha256(file.read()).digest()
    os.makedirs(options.state, exist_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    begin = time.monotonic()
    jobs = jobs_of(options)
    if not jobs:
        parser.error("no such workload or size")
    schedule = Schedule(options, jobs)
    if len(schedule.waiting) < len(jobs):
        print(f"{len(jobs) - len(schedule.waiting)} of {len(jobs)} passed before and are as they were")
    try:
        schedule.run()
    except KeyboardInterrupt:
        schedule.stop()
        summary(jobs, time.monotonic() - begin)
        print("interrupted: the next run resumes here")
        return 130
    return 0 if summary(jobs, time.monotonic() - begin) else 1


if __name__ == "__main__":
    sys.exit(main())
