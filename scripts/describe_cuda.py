#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page of CUDA's entry points, docs/cuda-api.md, from src/cuda/entry_points.def.

    describe_cuda.py ROOT            writes the page
    describe_cuda.py ROOT --check    says whether it is current
"""
import os
import re
import sys

ROW = re.compile(r"([RNDM])\((.*)\)$")
PAGE = "docs/cuda-api.md"

HEAD = """# Entry points of CUDA, and which are there

Made from `src/cuda/entry_points.def` by `scripts/describe_cuda.py`. What is not there returns `cudaErrorNotSupported` or
`CUDA_ERROR_NOT_SUPPORTED` and says its name once on the standard error output. How it works and what is different from the hardware:
[cuda.md](cuda.md).

"""


def read(root):
    """(runtime, driver): {name: (versions there, versions absent, second name)}; the driver's versions are empty."""
    runtime, driver = {}, {}
    with open(os.path.join(root, "src/cuda/entry_points.def"), encoding="utf-8") as file:
        for line in file:
            row = ROW.match(line.strip())
            if not row:
                continue
            kind, fields = row.group(1), [field.strip() for field in row.group(2).split(",")]
            name = fields[0]
            if kind in "RN":
                there, absent, _ = runtime.get(name, ([], [], None))
                versions = range(int(fields[1]), int(fields[2]) + 1)
                (there if kind == "R" else absent).extend(versions)
                runtime[name] = (there, absent, fields[3])
            else:
                driver[name] = (["yes"] if kind == "D" else [], ["no"] if kind == "M" else [], fields[1])
    return runtime, driver


def spans(versions):
    versions = sorted(versions)
    if not versions:
        return "–"
    return ", ".join(str(version) for version in versions)


def second(name, variant):
    return f", `_{variant.lower()}`" if variant != "PLAIN" else ""


def make(root):
    runtime, driver = read(root)
    there = sum(bool(row[0]) for row in runtime.values())
    text = HEAD + f"## Runtime API\n\n{there} of {len(runtime)} names. Versions are those of CUDA whose libcudart has the name.\n\n"
    text += "| name | there in | absent in |\n|---|---|---|\n"
    for name, (good, bad, variant) in sorted(runtime.items()):
        text += f"| `{name}`{second(name, variant)} | {spans(good)} | {spans(bad)} |\n"
    there = sum(bool(row[0]) for row in driver.values())
    text += f"\n## Driver API\n\n{there} of {len(driver)} names.\n\n| name | there |\n|---|---|\n"
    for name, (good, _, variant) in sorted(driver.items()):
        text += f"| `{name}`{second(name, variant)} | {'yes' if good else '–'} |\n"
    return text


def main(arguments):
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    path, text = os.path.join(arguments[0], PAGE), make(arguments[0])
    if "--check" in arguments:
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return 0
        print(f"{PAGE} is not what scripts/describe_cuda.py makes")
        return 1
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
