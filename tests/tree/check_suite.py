#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every folder of kernels/ is in the lists that name all workloads: check_suite.py ROOT

The page of measurements (docs/workloads.md) and the campaign of lengths (bench/lengths.yaml) are made by hand, from
runs that take too long for a test; a workload that is added or renamed must be added there. Workloads that ask for an
architecture, which the GPU of that page and of the campaign has not, are in docs/workloads-tensor.md or, those of
sm_90, in docs/workloads-h100.md instead.
"""
import pathlib
import re
import sys


def main(root):
    root = pathlib.Path(root)
    paths = sorted(root.glob("kernels/*/*.yaml"))
    tensor = {}
    for path in paths:
        architecture = re.search(r"^architecture: sm_(\d+)", path.read_text(), re.M)
        if architecture:
            tensor[path.stem] = "docs/workloads-h100.md" if int(architecture[1]) >= 90 else "docs/workloads-tensor.md"
    names = sorted(path.stem for path in paths)
    complaints = [f"kernels/{path.parent.name}/{path.name}: the folder has another name"
                  for path in root.glob("kernels/*/*.yaml") if path.stem != path.parent.name]
    page = (root / "docs/workloads.md").read_text()
    lengths = (root / "bench/lengths.yaml").read_text()
    for name in names:
        if name in tensor:
            if f"| {name}@" not in (root / tensor[name]).read_text():
                complaints.append(f"{tensor[name]}: {name} is missing: corun characterize")
            continue
        if f"| {name}@" not in page:
            complaints.append(f"docs/workloads.md: {name} is missing: corun characterize --all")
        if not re.search(rf"^  - {re.escape(name)}$", lengths, re.M):
            complaints.append(f"bench/lengths.yaml: {name} is missing")
    for found in sorted(set(re.findall(r"\| ([\w.-]+)@", page)) | set(re.findall(r"^  - (.+)$", lengths, re.M))):
        if found not in names:
            complaints.append(f"docs/workloads.md or bench/lengths.yaml: there is no workload {found}")
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
