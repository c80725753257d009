# SPDX-License-Identifier: MIT
"""Pieces of HTML about one case, from its result as `corun run --json` writes it: for the page of a report and for notebooks."""

from __future__ import annotations

import html
from typing import Any, Dict, Optional, Sequence

from . import sketch, tables
from .history import History
from .tables import Table

Result = Dict[str, Any]

# A notebook has no style sheet of ours: what the page's says, with the notebook's own colours for text and paper.
VARIABLES = "--text: currentColor; --paper: transparent; " + " ".join(f"--series-{place}: {colour};" for place, colour in enumerate(
    ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#8a8a8a", "#b3a100")))


def text(value: object) -> str:
    return html.escape(str(value))


def grouped(number: int) -> str:
    """500 000, with narrow spaces that do not break."""
    return f"{number:,}".replace(",", "\u202f")


def table(titles: Sequence[str], rows: Sequence[Sequence[str]], label: Optional[str] = None) -> str:
    """In a box that scrolls sideways by itself; `label` names it for those who reach it by keyboard."""
    head = "".join(f"<th>{text(title)}</th>" for title in titles)
    body = "".join("<tr>" + "".join(f"<td>{text(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    region = f' tabindex="0" role="region" aria-label="{text(label)}"' if label else ""
    return f'<div class="scroll"{region}><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def stall_table(result: Result) -> Table:
    """Each application's scheduler cycles, by what came of them; causes that did not occur are left out."""
    rows: list[tuple[str, Dict[str, int]]] = []
    for application in result["applications"]:
        issued = sum(kernel["counters"]["issue_cycles"] for kernel in application["kernels"])
        rows.append((application["name"], {"issued": issued, **application["stalls"]}))
    causes = [cause for cause in rows[0][1] if cause == "issued" or any(cycles[cause] for _, cycles in rows)] if rows else []
    return ["scheduler cycles", *(cause.replace("_", " ") for cause in causes)], \
        [[name, *(tables.percent(cycles[cause] / sum(cycles.values()) if sum(cycles.values()) else float("nan"))
                  for cause in causes)] for name, cycles in rows]


def application_table(result: Result) -> Table:
    rows = []
    for one in result["applications"]:
        rows.append([f"{one['name']}@{one['size']}" if one["size"] else one["name"], one["goal"] or "-", tables.goal_met(one),
                     tables.percent(one["goal_distance"]), str(one["runs"]), tables.number(one["ipc"], 2),
                     tables.number(one["ipc_isolated"], 2), tables.number(one["normalised_ipc"])])
    return ["application", "goal", "met", "beyond it", "runs", "IPC", "isolated", "normalised"], rows


def memory_table(result: Result) -> Table:
    rows = [[one["name"], tables.percent(one["l1_hit_rate"]), tables.percent(one["l2_hit_rate"]),
             tables.quantity(one["dram_bytes"], "B"), tables.quantity(one["energy_joules"], "J")] for one in result["applications"]]
    return ["memory", "L1 hits", "L2 hits", "DRAM", "energy"], rows


def machine_text(result: Result) -> str:
    dram, icnt, energy = result["dram"], result["interconnect"], result["energy"]
    return (f"DRAM {tables.percent(dram['utilisation'])} busy, {tables.percent(dram['row_hit_rate'])} row hits; interconnect "
            f"{tables.percent(icnt['utilisation'])} busy, {tables.number(icnt['latency_cycles'], 1)} cycles per packet; energy "
            f"{tables.quantity(energy['total'], 'J')}, {tables.number(energy['average_watts'], 1)} W on average")


def history_html(result: Result, alone: bool = False) -> str:
    """The split over time, and where the policy's controller stood in the end; `alone` as in sketch.split."""
    if "history" not in result:
        return ""
    history = History(result["history"], len(result["sms"]))
    names = [f"{one['name']}@{one['size']}" if one["size"] else one["name"] for one in result["applications"]]
    if not len(history.end_cycles):
        return ""
    known = [(name, values[-1]) for name, values in history.variables.items() if values[-1] == values[-1]]
    variables = f'<p class="soft">{text(result["policy"]["name"])} in the end: ' + \
        text(", ".join(f"{name} {value:.4g}" for name, value in known)) + "</p>" if known else ""
    return sketch.split(history, names, alone) + variables


def notebook(result: Result) -> str:
    """What a notebook shows of a result: a line, the applications, and the split over time."""
    head = (f"<p><b>{text(result['policy']['name'])}</b> on {text(result['gpu'])}, {grouped(result['cycles'])} cycles: STP "
            f"{tables.number(result['stp'])}, ANTT {tables.number(result['antt'])}, fairness {tables.number(result['fairness'])}</p>")
    stopped = "".join(f"<p>{text(one['name'])} was stopped: {text(one['status'])}</p>" for one in result["applications"] if one["status"] != "OK")
    if result["interrupted"]:
        stopped += "<p>Ended early: this is what was measured until then.</p>"
    return f'<div style="{VARIABLES}">{head}{stopped}{table(*application_table(result))}{history_html(result, True)}</div>'
