# SPDX-License-Identifier: MIT
"""The report as text, CSV and JSON."""

from __future__ import annotations

import csv
import json
import math
from typing import Any, List, Mapping, Optional, Sequence, TextIO, Tuple

from .summary import Block, Group, Section, as_data

Table = Tuple[List[str], List[List[str]]]  # titles, rows

CSV_COLUMNS = ["campaign", "gpu", "applications", "policy", "goal"]


def number(value: Optional[float], digits: int = 3) -> str:
    """"1.238"; infinite as such; "-" where there is none."""
    if value is None or math.isnan(value):
        return "-"
    return "inf" if math.isinf(value) else f"{value:.{digits}f}"


def percent(value: Optional[float], digits: int = 1) -> str:
    """"88.4 %" of 0.884"""
    return "-" if value is None or math.isnan(value) else f"{value * 100:.{digits}f} %"


def quantity(value: Optional[float], unit: str, digits: int = 3) -> str:
    """"1.87 mJ" of 0.00187 and "J\""""
    if value is None or math.isnan(value):
        return "-"
    for factor, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1, ""), (1e-3, "m"), (1e-6, "µ")):
        if abs(value) >= factor:
            return f"{value / factor:.{digits}g} {prefix}{unit}"
    return f"{value:.{digits}g} {unit}"


def goal_met(application: Mapping[str, Any]) -> str:
    """Of an application of a result: "yes", "no", "-" without a goal; one that is out of reach with the best that was reached."""
    if application.get("goal_out_of_reach"):
        return f"out of reach, {percent(application['best_epoch_ipc'] / application['goal_ipc'])} of it in the best epoch"
    return {True: "yes", False: "no", None: "-"}[application["goal_met"]]


def goal_text(group: Group) -> str:
    return "all" if group.goal is None else group.goal


def policy_table(block: Block) -> Table:
    """(titles, rows): the first column flush left, the others flush right."""
    titles = ["policy", "STP", "least", "most", "ANTT", "fairness", "cases", "finished", "failed", "lost"]
    rows = []
    for group in block.policies:
        n = group.numbers
        rows.append([group.policy, *(number(n[name]) for name in ("stp_geomean", "stp_min", "stp_max", "antt", "fairness")),
                     *(str(n[name]) for name in ("cases", "finished", "failed", "lost"))])
    return titles, rows


def goal_table(block: Block) -> Table:
    titles = ["policy", "goal", "QoSreach", "overshoot", "best effort", "goals met", "of cases"]
    rows = []
    for whole in block.policies if block.goals else []:
        for group in [*block.of_policy(whole.policy), whole]:
            n = group.numbers
            if n["cases"]:
                rows.append([group.policy, goal_text(group), percent(n["qos_reach"]), percent(n["overshoot"]),
                             number(n["best_effort"]), str(n["cases_met"]), str(n["cases_with_goal"])])
    return titles, rows


def print_table(titles: List[str], rows: List[List[str]], stream: TextIO) -> None:
    widths = [max(len(row[column]) for row in [titles, *rows]) for column in range(len(titles))]

    def line(cells: List[str]) -> str:
        aligned = [cells[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells[1:], widths[1:]))]
        return "  ".join(aligned).rstrip()

    print(line(titles), file=stream)
    print("-" * (sum(widths) + 2 * (len(widths) - 1)), file=stream)
    for row in rows:
        print(line(row), file=stream)


def counts_text(section: Section) -> str:
    """"90 cases: 80 finished, 2 failed, 8 not run yet" """
    n = section.counts()
    parts = [f"{n['finished']} finished"]
    parts += [f"{n[name]} {word}" for name, word in (("failed", "failed"), ("lost", "lost"), ("missing", "not run yet"))
              if n[name]]
    return f"{n['asked']} cases with isolated runs: {', '.join(parts)}"


def print_report(parts: Sequence[Section], stream: TextIO) -> None:
    for place, section in enumerate(parts):
        if place:
            print(file=stream)
        print(f"{section.name}: {counts_text(section)}", file=stream)
        if not section.blocks:
            print("no case that shares a GPU has ended", file=stream)
        for block in section.blocks:
            print(f"\n{block.title()}", file=stream)
            print_table(*policy_table(block), stream)
            titles, rows = goal_table(block)
            if rows:
                print(file=stream)
                print_table(titles, rows, stream)


def write_csv(parts: Sequence[Section], stream: TextIO) -> None:
    """RFC 4180; one row for each policy and for each policy under each goal; nothing where there is no number."""
    writer = csv.writer(stream)
    head = None
    for section in parts:
        for block in section.blocks:
            for group in [*block.policies, *block.by_goal]:
                numbers = group.numbers
                if head is None:
                    head = list(numbers)
                    writer.writerow(CSV_COLUMNS + head)
                writer.writerow([section.campaign.name if section.campaign else "", block.gpu, block.size, group.policy,
                                 group.goal or "",
                                 *("" if isinstance(value, float) and math.isnan(value) else value
                                   for value in numbers.values())])
    if head is None:
        writer.writerow(CSV_COLUMNS)


def write_json(parts: Sequence[Section], stream: TextIO) -> None:
    json.dump(as_data(parts), stream, indent=1, allow_nan=False)
    stream.write("\n")
