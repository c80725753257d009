#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Finds the one factor, energy_scale, by which all energies and powers of a GPU are multiplied so that the kernel that
draws most meets the rated power of the board (board_power).

    calibrate_energy.py CORUN [GPU ...]           says what it finds
    calibrate_energy.py CORUN [GPU ...] --write   and writes it to configs/gpu/GPU.yaml
    calibrate_energy.py CORUN [GPU ...] --check   fails where a file says otherwise

The kernel is bench/energy/peak_power.ptx: full-rate multiply-adds beside a stream from DRAM, on every SM as full as it
gets. How many multiply-adds there are for each word of the stream is tried out; the highest average power counts.
Nothing else is fitted: the proportions between the energies stay those of their sources. The same files give the same
factor everywhere.
"""
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TURNS = (1, 2, 3, 4, 6, 8, 12, 16, 24)  # of 16 multiply-adds for each word
SOURCE = "scripts/calibrate_energy.py with bench/energy/peak_power.ptx"
THREADS = 256
CYCLES = 12000  # about so long a run


def value(text, name):
    match = re.search(rf"^  {name}: {{value: ([\d.]+)([KM]?), unit: (\w+)", text, re.M)
    if not match:
        raise SystemExit(f"no {name} in the configuration")
    factor = {"W": 1000}.get(match.group(3), 1) * {"": 1, "K": 1024, "M": 1 << 20}[match.group(2)]
    return round(float(match.group(1)) * factor)


def run(corun, gpu, tbs, turns, rounds):
    size = (rounds + 1) * tbs * THREADS * 4
    command = [corun, "launch", "--gpu", f"{gpu}:energy_scale=1000", "--grid", str(tbs), "--block", str(THREADS),
               "--json", "-", f"--arg=buf={size}", f"--arg=u32={rounds}", f"--arg=u32={turns}",
               os.path.join(ROOT, "bench/energy/peak_power.ptx")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise SystemExit(f"{' '.join(command)}: {result.stderr.strip()}")
    return json.loads(result.stdout)


def peak(corun, gpu, text):
    """(watts, turns): the most that the kernel draws."""
    tbs = value(text, "sms") * min(value(text, "threads_per_sm") // THREADS, value(text, "tbs_per_sm"))
    best = (0.0, 0)
    for turns in TURNS:
        first = run(corun, gpu, tbs, turns, 4)["cycles"]
        second = run(corun, gpu, tbs, turns, 8)["cycles"]
        rounds = max(8, round(4 + (CYCLES - first) * 4 / max(second - first, 1)))
        best = max(best, (run(corun, gpu, tbs, turns, rounds)["energy"]["average_watts"], turns))
    return best


def main():
    options = [word for word in sys.argv[1:] if word.startswith("--")]
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    if not words or set(options) - {"--write", "--check"}:
        raise SystemExit(__doc__)
    folder = os.path.join(ROOT, "configs/gpu")
    gpus = words[1:] or sorted(name[:-5] for name in os.listdir(folder) if name.endswith(".yaml"))
    wrong = []
    for gpu in gpus:
        path = os.path.join(folder, gpu + ".yaml")
        with open(path, encoding="utf-8") as file:
            text = file.read()
        rated = value(text, "board_power") / 1000
        watts, turns = peak(os.path.abspath(words[0]), path, text)
        scale = round(1000 * rated / watts)
        print(f"{gpu}: {watts:.1f} W with {16 * turns} multiply-adds for each word, rated {rated:g} W: "
              f"energy_scale {scale}")
        if value(text, "energy_scale") != scale:
            wrong.append(gpu)
        if "--write" in options:
            source = f"calibration: {rated:g} W over the {watts:.1f} W that the kernel draws"
            if "\n  calibration: " not in text:
                text = text.replace("\nparameters:\n", f'\n  calibration: "{SOURCE}"\nparameters:\n')
            row = f'  energy_scale: {{value: {scale}, unit: permille, source: "{source}"}}'
            text = re.sub(r"^  energy_scale: .*$", row, text, flags=re.M)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    if "--check" in options and wrong:
        raise SystemExit("energy_scale is not what is found: " + ", ".join(wrong))


if __name__ == "__main__":
    main()
