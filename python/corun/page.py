# SPDX-License-Identifier: MIT
"""The report as one HTML file: no script, nothing from the network."""

from . import figures, sketch, tables
from .fragments import application_table, grouped, history_html, machine_text, memory_table, stall_table, table, text
from .results import command_line

STYLE = """
:root { color-scheme: light dark; --text: #1c1f23; --soft: #565d66; --grid: #d8dce1; --paper: #ffffff; --panel: #f5f6f8;
  --link: #0b5cad; --good: #00664b; --bad: #a63c00;
  --series-0: #0072b2; --series-1: #e69f00; --series-2: #009e73; --series-3: #d55e00; --series-4: #cc79a7; --series-5: #56b4e9;
  --series-6: #6b6b6b; --series-7: #b3a100; }
@media screen and (prefers-color-scheme: dark) { :root { --text: #e6e8eb; --soft: #a5adb8; --grid: #3a4048; --paper: #15181c;
  --panel: #1e2228; --link: #7db7f0; --good: #4fd0a5; --bad: #ff9a5c;
  --series-0: #3f9fd8; --series-1: #f0b440; --series-2: #2bbf93; --series-3: #f07a2e; --series-4: #dd93bb; --series-5: #8fd0f5;
  --series-6: #a8a8a8; --series-7: #d6c84a; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; padding: 1rem; max-width: 82rem; background: var(--paper); color: var(--text);
  font: 1rem/1.45 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; margin: 0.3rem 0; } h2 { font-size: 1.3rem; margin: 2rem 0 0.3rem; border-top: 2px solid var(--grid);
  padding-top: 1rem; } h3 { font-size: 1.1rem; margin: 1.6rem 0 0.5rem; }
p { margin: 0.4rem 0; max-width: 48rem; } .soft { color: var(--soft); } a { color: var(--link); }
.scroll { overflow-x: auto; margin: 0.6rem 0; } .scroll:focus-visible { outline: 2px solid var(--link); }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; overflow-wrap: normal; }
th, td { padding: 0.25rem 0.6rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--grid); }
th { font-weight: 600; border-bottom: 2px solid var(--soft); } th:first-child, td:first-child { text-align: left; }
.tables { display: flex; flex-wrap: wrap; gap: 0 2.5rem; align-items: start; } .tables > * { max-width: 100%; }
.words td { text-align: left; white-space: normal; overflow-wrap: anywhere; }
.words td:first-child { white-space: nowrap; }
.figures { display: grid; gap: 1rem; align-items: start; grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)); }
figure { margin: 0; padding: 0.7rem; border: 1px solid var(--grid); border-radius: 0.4rem; min-width: 0; }
figure h4 { margin: 0 0 0.4rem; font-size: 0.95rem; } figure svg { display: block; width: 100%; max-width: 40rem; height: auto;
  margin: 0 auto; } .map text { pointer-events: none; } figcaption { font-size: 0.85rem; color: var(--soft); margin-top: 0.4rem; }
details { border-bottom: 1px solid var(--grid); padding: 0.25rem 0; } details details { margin-left: 0.6rem; }
summary { cursor: pointer; padding: 0.15rem 0; } .cases > summary { font-weight: 600; }
code, pre { font: 0.85rem/1.4 ui-monospace, "DejaVu Sans Mono", monospace; }
pre { background: var(--panel); padding: 0.5rem 0.7rem; border-radius: 0.3rem; overflow-x: auto; margin: 0.4rem 0; }
.sketch { max-width: 42rem; margin: 0.6rem 0; } .sketch > svg { display: block; width: 100%; height: 6rem;
  border: solid var(--soft); border-width: 0 0 1px 1px; } .sketch p span { white-space: nowrap; margin-right: 1rem; }
.sketch p { font-size: 0.85rem; } .sketch p svg { vertical-align: -2px; } .hatches { position: absolute; }
.good { color: var(--good); } .bad { color: var(--bad); }
@media (max-width: 32rem) { table { font-size: 0.82rem; } th, td { padding: 0.25rem 0.4rem; } body { padding: 0.7rem; } }
@media print { body { max-width: none; padding: 0; font-size: 9.5pt; } .figures { display: block; }
  figure { break-inside: avoid; border: none; margin-bottom: 4mm; } figure svg { max-width: 14cm; }
  h2, h3 { break-after: avoid; } tr { break-inside: avoid; } .scroll { overflow: visible; } table { font-size: 7.5pt; }
  pre { white-space: pre-wrap; } th, td { padding: 0.4mm 1.2mm; } .cases:not([open]) { display: none; }
  * { print-color-adjust: exact; } }
"""

MEANINGS = [
    ("STP", "system throughput: the sum of the applications' normalised IPC. 1 is one application alone; more is better. In "
     "tables the geometric mean over cases, and the least and the most."),
    ("normalised IPC", "IPC when sharing / IPC of the same application alone on the same GPU."),
    ("ANTT", "average normalised turnaround time: the mean of 1 / normalised IPC; less is better, inf when an application stood "
     "still. The mean over cases."),
    ("fairness", "smallest / largest normalised IPC of a case; 1 is fair. The mean over cases."),
    ("QoSreach", "cases that met all of their goals / cases with goals."),
    ("overshoot", "IPC / IPC of the goal - 1, over the cases that met their goals."),
    ("best effort", "normalised IPC of the applications without a goal, over the cases that met their goals."),
]


def figure(plot):
    kind = ' class="map"' if plot.is_map else ""
    return f'<figure id="{plot.name}"{kind}><h4>{text(plot.title)}</h4>{plot.svg}<figcaption>{text(plot.caption)}</figcaption></figure>'


def block_html(results, block, prefix):
    parts = [f"<h3>{text(block.title())}</h3>", '<div class="tables">',
             table(*tables.policy_table(block), f"policies: {block.title()}")]
    titles, rows = tables.goal_table(block)
    if rows:
        parts.append(table(titles, rows, f"goals: {block.title()}"))
    parts.append("</div>")
    plots = figures.of_block(block, results, prefix)
    if plots:
        parts.append('<div class="figures">' + "".join(figure(plot) for plot in plots) + "</div>")
    else:
        parts.append('<p class="soft">No case has finished here, so there is nothing to draw.</p>')
    return "".join(parts)


def case_html(results, case):
    result = results.result(case["key"]) if case["status"] == "finished" else None
    if result is None:
        brief = f'<span class="bad">{text(case["status"])}</span>'
        inner = f'<p class="bad">{text(case["message"] or "no message")}</p>'
    else:
        brief = f"STP {tables.number(case['stp'])}"
        goals = [one["goal_met"] for one in result["applications"] if one["goal"]]
        if goals:
            brief += ' <span class="good">&#10003; goals met</span>' if all(goals) else ' <span class="bad">&#10007; goals missed</span>'
        inner = table(*application_table(result)) + history_html(result) + table(*stall_table(result)) + \
            table(*memory_table(result)) + f'<p class="soft">{text(machine_text(result))}</p>'
    return f"<details><summary>{text(case['applications'])}: {brief}</summary>{inner}<pre>{text(command_line(case))}</pre></details>"


def drill_down(results, section, room):
    """Cases that did not finish come first; (text, how many are left of `room`)."""
    parts = []
    broken = section.cases[section.cases["status"] != "finished"]
    groups = [("not finished", broken)] if len(broken) else []
    groups += [(f"{group.policy}, {block.title()}", group.finished) for block in section.blocks for group in block.policies
               if len(group.finished)]
    if len(section.isolated):
        groups.append(("isolated runs", section.isolated))
    for title, cases in groups:
        shown = cases[:room]
        room -= len(shown)
        rest = f'<p class="soft">{len(cases) - len(shown)} more are left out to keep the page small (--cases).</p>' \
            if len(shown) < len(cases) else ""
        parts.append(f'<details class="cases"><summary>{text(title)}: {len(cases)}</summary>' +
                     "".join(case_html(results, case) for case in shown) + rest + "</details>")
    intro = '<h3>Cases</h3><p class="soft">With each: goals, stalls, memory, energy, and the command that runs it again.</p>'
    return (intro + "".join(parts) if parts else ""), room


def isolated_table(section):
    rows = []
    size = {row["key"]: row for row in section.isolated_applications}
    for case in section.isolated:
        row = size.get(case["key"])
        rows.append([case["applications"], case["gpu"], tables.number(row["ipc"], 2) if row is not None else case["status"],
                     str(row["runs"]) if row is not None else "-", tables.percent(case["dram_utilisation"]),
                     tables.percent(case["icnt_utilisation"])])
    return ["alone", "GPU", "IPC", "runs", "DRAM busy", "interconnect busy"], rows


def section_html(results, section, place, room, alone):
    parts = [f'<section id="s{place}">']
    if not alone:
        parts.append(f"<h2>{text(section.name)}</h2>")
    if section.campaign and section.campaign.summary:
        parts.append(f"<p>{text(section.campaign.summary)}</p>")
    windows = sorted(set(section.cases["cycles"]) | set(section.isolated["cycles"]))
    window = f" Window: {', '.join(map(grouped, windows))} cycles." if windows else ""
    parts.append(f'<p class="soft">{text(tables.counts_text(section))}.{text(window)}</p>')
    if not section.blocks:
        parts.append("<p>No case in which applications share a GPU has ended yet.</p>")
    parts += [block_html(results, block, f"s{place}b{number}") for number, block in enumerate(section.blocks)]
    if len(section.isolated):
        parts.append("<h3>Each application alone</h3>" + table(*isolated_table(section), "isolated runs"))
    cases, room = drill_down(results, section, room)
    parts.append(cases)
    if section.campaign:
        parts.append(f'<details class="cases"><summary>The description of the campaign</summary>'
                     f"<pre>{text(section.campaign.description)}</pre></details>")
    parts.append("</section>")
    return "".join(parts), room


def make_page(results, sections, room):
    """The page as text; `room` is how many cases may have their details."""
    body = []
    for place, section in enumerate(sections):
        part, room = section_html(results, section, place, room, len(sections) == 1)
        body.append(part)
    title = sections[0].name if len(sections) == 1 else f"{len(sections)} campaigns"
    contents = "".join(f'<li><a href="#s{place}">{text(section.name)}</a></li>' for place, section in enumerate(sections))
    meanings = "".join(f"<tr><td>{text(word)}</td><td>{text(meaning)}</td></tr>" for word, meaning in MEANINGS)
    ended = [when for section in sections for when in [*section.cases["ended"], *section.isolated["ended"]] if when]
    span = f" Results from {min(ended)} to {max(ended)}." if ended else " There are no results yet."
    return "".join([
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">',
        f"<title>{text(title)} - corun</title><style>{STYLE}</style></head><body>", sketch.definitions(),
        f"<header><h1>{text(title)}</h1><p class=\"soft\">CUDA kernels that share a simulated GPU.{text(span)}</p>",
        f"<nav><ul>{contents}</ul></nav>" if len(sections) > 1 else "", "</header><main>", *body, "</main>",
        f'<footer><h2>What the words mean</h2><table class="words"><tbody>{meanings}</tbody></table></footer></body></html>\n'])
