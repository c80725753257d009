#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page docs/results/README.md: a line for each comparison that `corun reproduce --markdown` has written there.

    index_results.py ROOT [--check]

With --check it writes nothing and ends with 1 if the page is not as it would be written.
"""
import os
import re
import sys

HEAD = """# Figures and tables of papers, run again

Made by `scripts/index_results.py`: do not edit. Each page is the output of `corun reproduce` (what the columns say is in
[experiments](../experiments.md)), or says what made it. *Same sign*: how many of the paper's numbers that have a direction ours share it with.

Versions of the timing model (`corun version`): cycles are of versions 1 and 2 but where this says otherwise. Version 3 has latencies, ports of the L2 and divisions nearer to hardware,
version 4 another clock, L1 and order of instructions for the V100, A100 and H100 alone, version 5 divisions, roots, atomics and turns of thread blocks of these
three, version 6 fewer registers, and wide loads of shared memory, for the same three, version 8 what loops, sums, atomics and expansions become, and on V100 and A100 spared registers, version 9 registers of full occupancy, for the same three, version 10 atomics of shared memory, also of the GTX 980 and 680, and sums of loops that the scheduler counted twice: no other page has been made with it, version 11 integers of 64 bits and products that are contracted, on V100, A100 and H100: no page has been made with it ([fidelity](../fidelity.md)). Of version 3, which is version 6 on the GPUs of these pages: all smk pages, all isca17 pages,
hpca12-fig2, 3, 4, 5, 8, 9 and table4, smqos-fig10 and smqos-static; the Kernelet pages say theirs. smqos-fig7 and smqos-fig14 are of version 9, in which no sign has changed. rh-smqos-pairs is of version 8, its parts on pace, smqos again and splits that stay of version 10 (four of its pairs were run again with version 9, under smqos in hardware and in software: the goals met are the same, and speeds move by 2.4 % of the goal at most); rh-smqos-latency, both cap-quadro-v100 and
cap-tesla-m2090 are of version 5. In the seven SMK pages no sign has changed; averages of figure 2-9 moved by 0.015 (STP) and 0.03 (fairness) at most, but in memory-bound pairs SMK's
fairness is 27 % below Spart's, 16 % before. In isca17-fig6a
Rollover meets 16.1 % fewer goals than Spart (14.9 % before), among memory-bound pairs 4.2 % more (20.7 % fewer before: the sign is the paper's now); in 6b and 6c 2.9 and 3.3 % fewer (8.1 and 18.8 % before).
The paper has more in all of them. History-based quotas
help Naive, too, now, which is the paper's sign. Two signs were lost with version 3: thread block adjustment (isca17-tb-adjust) and the ANTT of four kernels over Spart (smk-fig2-15). Pages of EMU and cap-study
have no simulated GPU in them; share-h100, rh-smqos-h100, kernelet-h100 and cap-h100 are of a real one.

| experiment | | window | same sign |
|---|---|---|--:|
"""


def natural(name):
    """fig9 before fig10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


def row(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as stream:
        text = stream.read()
    title = re.match(r"# ([a-z0-9-]+): (.*)\n", text)
    window = re.search(r"^\* window: (\S+) cycles", text, re.M)
    sign = re.search(r"^Same sign: (\d+ of \d+)\.$", text, re.M)
    other = re.search(r"^\* (made by: `\S|timing model: version \d)", text, re.M)
    if not title or not (window or other) or title[1] + ".md" != name:
        sys.exit(f"{os.path.join(folder, name)}: not a page of corun reproduce, and it does not say what made it")
    return f"| [{title[1]}]({name}) | {title[2]} | {window[1] if window else '-'} | {sign[1] if sign else '-'} |\n"


def main():
    folder = os.path.join(sys.argv[1], "docs", "results")
    if not os.path.isdir(folder):
        return 0
    names = sorted((name for name in os.listdir(folder) if name.endswith(".md") and name != "README.md"), key=natural)
    text = HEAD + "".join(row(folder, name) for name in names)
    page = os.path.join(folder, "README.md")
    if "--check" not in sys.argv:
        with open(page, "w", encoding="utf-8") as stream:
            stream.write(text)
        return 0
    current = open(page, encoding="utf-8").read() if os.path.exists(page) else ""
    if current != text:
        print(f"{page} is not what scripts/index_results.py {sys.argv[1]} writes", file=sys.stderr)
    return int(current != text)


sys.exit(main())
