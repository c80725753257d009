# SPDX-License-Identifier: MIT
"""Figures as SVG made by matplotlib, to stand inside a page: texts are texts, and colours are variables of the page's style
sheet, so that one figure is right in light, in dark and on paper. What a colour says, a hatch, a marker or a number says,
too."""

import io
import math
import re

import matplotlib

matplotlib.use("svg")
from matplotlib import colors, pyplot  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from .summary import goal_label  # noqa: E402
from .results import split_applications  # noqa: E402

# Stand-ins for the variables of the page: colours that nothing else has.
TEXT, GRID, PAPER = "#fe0200", "#fe0201", "#fe0202"
SERIES = [f"#fe01{place:02x}" for place in range(8)]
VARIABLES = {TEXT: "var(--text)", GRID: "var(--grid)", PAPER: "var(--paper)",
             **{colour: f"var(--series-{place})" for place, colour in enumerate(SERIES)}}
HATCHES = ["", "////", "....", "xxxx", "\\\\\\\\", "++++", "||||", "ooo"]
MARKERS = ["o", "s", "^", "D", "v", "P", "X", "*"]
LINES = ["-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 3)), (0, (3, 1))]
MAP = "cividis"
INCHES = 5.6  # wide enough for a column of a page, narrow enough that its text can be read on a phone
CELLS_WITH_NUMBERS = 14
PANELS = 6  # of one figure
SAMPLED_MIXES = 40
LETTERS = 24  # of a line in a name

STYLE = {
    "svg.fonttype": "none", "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans"], "font.size": 10.5,
    "axes.edgecolor": TEXT, "axes.labelcolor": TEXT, "axes.facecolor": "none", "axes.axisbelow": True, "axes.linewidth": 0.6,
    "axes.spines.top": False, "axes.spines.right": False, "text.color": TEXT, "xtick.color": TEXT, "ytick.color": TEXT,
    "grid.color": GRID, "grid.linewidth": 0.6, "hatch.color": TEXT, "hatch.linewidth": 0.5, "figure.facecolor": "none",
    "text.parse_math": False, "legend.frameon": False, "legend.fontsize": 10,
}


class Plot:
    """A picture with what it says in words; `name` is unique in the page. `cells`, of a map: what each says to a pointer over it, row
    after row; "" where there is none."""

    def __init__(self, name, title, block, caption, figure, cells=None):
        self.name, self.title, self.caption, self.is_map = name, title, caption, cells is not None
        self.svg = _as_svg(figure, name, f"{title}: {block.title()}", cells)


def _drawing(height):
    figure = Figure(figsize=(INCHES, height), layout="constrained")
    return figure, figure.add_subplot()


def _as_svg(figure, name, title, cells=None):
    stream = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name}):
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    text = stream.getvalue()
    text = text[text.index("<svg"):]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.S)
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.S)
    text = re.sub(r' xmlns(:xlink)?="[^"]*"', "", text).replace("xlink:href=", "href=")
    for stand_in, variable in VARIABLES.items():
        text = text.replace(stand_in, variable)
    # The first family is what the lines were measured with; a browser without it takes the reader's own.
    text = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font: \1px 'DejaVu Sans', Verdana, system-ui, sans-serif", text)
    # Names are of the whole page, so that those of two figures must differ.
    text = re.sub(r' id="([^"]*)"', rf' id="{name}-\1"', text)
    text = re.sub(r'href="#', f'href="#{name}-', text)
    text = re.sub(r"url\(#", f"url(#{name}-", text)
    text = _smaller(_with_words(text, cells or []))
    box = re.search(r'viewBox="([^"]*)"', text)[1]
    head = f'<svg viewBox="{box}" role="img" aria-labelledby="{name}-title">' \
           f'<title id="{name}-title">{_escape(title)}</title>'
    return head + re.sub(r"^<svg[^>]*>", "", text).strip()


def _with_words(text, cells):
    """The cells of a map as they are written in SVG, one path each, say what they are."""
    mesh = re.search(r'<g id="[^"]*QuadMesh_1">.*?</g>', text, re.S) if cells else None
    if not mesh:
        return text
    paths = re.findall(r"<path [^>]*/>", mesh[0])
    assert len(paths) == len(cells)
    told = "".join(f"{path[:-2]}><title>{_escape(words)}</title></path>" if words else "" for path, words in zip(paths, cells))
    return text[:mesh.start()] + mesh[0][:mesh[0].index("<path")] + told + "</g>" + text[mesh.end():]


def _smaller(text):
    """The same picture in a third of the bytes: paths to a hundredth of a point, cells of a map without what is the same for all."""
    def path(found):
        data = re.sub(r"-?\d+\.\d+", lambda number: f"{float(number[0]):.2f}".rstrip("0").rstrip("."), found[1])
        return 'd="' + re.sub(r" *([A-Za-z]) *", r"\1", " ".join(data.split())) + '"'
    text = re.sub(r'\bd="([^"]*)"', path, text)
    cells = re.search(r'(<g id="[^"]*QuadMesh_1">)(.*?)(</g>)', text, re.S)
    if cells and "var(--paper)" in cells[2]:
        kept = "".join(f'<path d="{data}" fill="{fill}">{words}</path>' for data, fill, words in
                       re.findall(r'<path d="([^"]*)"[^>]*style="fill: (#[0-9a-f]+)[^>]*>(<title>[^<]*</title>)', cells[2]))
        head = cells[1].replace(">", ' stroke="var(--paper)">')
        text = text[:cells.start()] + head + kept + cells[3] + text[cells.end():]
    return re.sub(r">\s+<", "><", text)


def _escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _colour(place):
    return SERIES[place % len(SERIES)]


def _wrapped(name):
    """A long name of a policy with its parameters, in lines."""
    lines = [""]
    for part in re.findall(r"[^:,]*[:,]?", name):
        if lines[-1] and len(lines[-1] + part) > LETTERS:
            lines.append("")
        lines[-1] += part
    return "\n".join(lines)


def _mark(kinds, place):
    """A hatch, marker or line. After eight series, colours come again with other ones."""
    return kinds[(place + place // len(SERIES)) % len(kinds)]


def stp_bars(block, name):
    """Geometric mean of STP, with the range of all cases and of their middle half."""
    rows = [(place, group.policy, group.numbers) for place, group in enumerate(block.policies) if group.known("stp").size]
    if not rows:
        return None
    title = "System throughput by policy"
    with pyplot.rc_context(STYLE):
        lines = max(_wrapped(policy).count("\n") + 1 for _, policy, _ in rows)
        figure, axes = _drawing(0.8 + max(0.42, 0.19 * lines) * len(rows))
        for row, (place, _, n) in enumerate(rows):
            axes.barh(row, n["stp_geomean"], height=0.66, color=_colour(place), edgecolor=TEXT, linewidth=0.6,
                      hatch=_mark(HATCHES, place))
            axes.plot([n["stp_min"], n["stp_max"]], [row, row], color=PAPER, linewidth=3.6, solid_capstyle="butt")
            axes.plot([n["stp_p25"], n["stp_p75"]], [row, row], color=PAPER, linewidth=6.6, solid_capstyle="butt")
            axes.plot([n["stp_min"], n["stp_max"]], [row, row], color=TEXT, linewidth=1.4, marker="|", markersize=9)
            axes.plot([n["stp_p25"], n["stp_p75"]], [row, row], color=TEXT, linewidth=4.4, solid_capstyle="butt")
            axes.annotate(f"{n['stp_geomean']:.3f}", (max(n["stp_max"], n["stp_geomean"]), row), xytext=(8, 0),
                          textcoords="offset points", va="center")
        axes.axvline(1, color=TEXT, linewidth=0.8, linestyle=":")
        axes.set_yticks(range(len(rows)), [_wrapped(policy) for _, policy, _ in rows])
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.margins(x=0.12)
        axes.set_xlim(left=0)
        axes.set_xlabel("STP (1: one application alone)")
        axes.grid(axis="x")
        return Plot(name, title, block, "Bar and number: geometric mean. Thin line: from the least to the most of all cases; "
                    "thick line: the middle half of them. Dotted: what one application alone has.", figure)


def _legend_inches(names):
    """The height of a legend of two columns."""
    lines = [_wrapped(name).count("\n") + 1 for name in names]
    half = (len(lines) + 1) // 2
    return 0.2 * max(sum(lines[:half]), sum(lines[half:]))


def _legend(axes):
    """Above the plot, where it hides no line."""
    axes.legend(loc="lower center", bbox_to_anchor=(0.45, 1.0), ncol=2, handlelength=3.4)


def stp_distribution(block, name):
    """Which share of the cases has at most so much STP."""
    rows = [(place, group.policy, sorted(group.known("stp"))) for place, group in enumerate(block.policies)
            if group.known("stp").size]
    if not rows:
        return None
    title = "Distribution of system throughput"
    with pyplot.rc_context(STYLE):
        figure, axes = _drawing(2.9 + _legend_inches([policy for _, policy, _ in rows]))
        for place, policy, values in rows:
            shares = [(rank + 1) / len(values) * 100 for rank in range(len(values))]
            axes.step([values[0], *values], [0, *shares], where="post", color=_colour(place), linewidth=1.8,
                      linestyle=_mark(LINES, place), marker=_mark(MARKERS, place), markersize=5, markeredgecolor=PAPER,
                      markeredgewidth=0.6, markevery=(place % 3, max(1, len(values) // 8)), label=_wrapped(policy))
        axes.set_ylim(0, 103)
        axes.set_xlabel("STP")
        axes.set_ylabel("cases with at most that, %")
        axes.grid()
        _legend(axes)
        return Plot(name, title, block, "Further right is better: the share of cases whose STP is not above the value on the "
                    "axis.", figure)


def _by_goal(block, name, title, caption, column, label, factor, top):
    """Lines over the goals, one for each policy; None when there is no number."""
    rows = []
    for place, whole in enumerate(block.policies):
        values = {group.goal: group.numbers[column] * factor for group in block.of_policy(whole.policy)}
        points = [(x, values[goal]) for x, goal in enumerate(block.goals) if not math.isnan(values[goal])]
        if points:
            rows.append((place, whole.policy, points))
    if not rows:
        return None
    with pyplot.rc_context(STYLE):
        figure, axes = _drawing(2.9 + _legend_inches([policy for _, policy, _ in rows]))
        for rank, (place, policy, points) in enumerate(rows):
            nudge = (rank - (len(rows) - 1) / 2) * min(0.05, 0.3 / len(rows))  # lines that lie on each other are still seen
            axes.plot([x + nudge for x, _ in points], [y for _, y in points], color=_colour(place), linewidth=1.8,
                      linestyle=_mark(LINES, place), marker=_mark(MARKERS, place), markersize=6.5, markeredgecolor=PAPER,
                      markeredgewidth=0.6, label=_wrapped(policy), clip_on=False)
        crowded = len(block.goals) * max(map(len, block.goals)) > 44
        axes.set_xticks(range(len(block.goals)), block.goals, rotation=35 if crowded else 0, ha="right" if crowded else "center")
        axes.set_xlim(-0.35, len(block.goals) - 0.65)
        axes.set_ylim(0, top or None)
        axes.set_xlabel("goal")
        axes.set_ylabel(label)
        axes.grid(axis="y")
        _legend(axes)
        return Plot(name, title, block, caption, figure)


def reach_by_goal(block, name):
    return _by_goal(block, name, "QoSreach by goal", "Higher is better: the share of the cases that met all of their goals.",
                    "qos_reach", "cases with goals met, %", 100, 104)


def best_effort_by_goal(block, name):
    return _by_goal(block, name, "Best-effort throughput by goal",
                    "Higher is better: normalised IPC of the applications without a goal, over the cases that met theirs.",
                    "best_effort", "normalised IPC", 1, None)


def pairs(group, block, name):
    """STP of every pair under one policy; None if they are no pairs or only one."""
    if block.size != 2:
        return None
    found, names = {}, {}
    for case in group.finished:
        if case["stp"] == case["stp"]:
            pair = tuple(re.sub(r":(goal|start)=[^:]*", "", text) for text in split_applications(case["applications"]))
            found.setdefault(pair, []).append(case["stp"])
            names.update(dict.fromkeys(pair))
    if len(found) < 2:
        return None
    names = list(names)
    short = _without_common_size(names)
    scale = [value for one in block.policies for value in one.known("stp")]
    norm = colors.Normalize(min(scale), max(max(scale), min(scale) + 1e-6))
    title = f"STP of pairs, {group.policy}"
    with pyplot.rc_context(STYLE):
        size = len(names)
        figure, axes = _drawing(min(5.6, 1.9 + 0.42 * size))
        cells = [[_mean(found.get((row, column))) for column in names] for row in names]
        mesh = axes.pcolormesh(cells, cmap=MAP, norm=norm, edgecolors=PAPER, linewidth=1)
        for y, row in enumerate(cells if size <= CELLS_WITH_NUMBERS else []):
            for x, value in enumerate(row):
                if value == value:
                    axes.text(x + 0.5, y + 0.5, f"{value:.2f}", ha="center", va="center", fontsize=9 if size <= 8 else 6.5,
                              color="black" if norm(value) > 0.5 else "white")
        crowded = size * max(map(len, short)) > 40
        axes.set_xticks([x + 0.5 for x in range(size)], short, rotation=45 if crowded else 0, ha="right" if crowded else "center")
        axes.set_yticks([y + 0.5 for y in range(size)], short)
        axes.invert_yaxis()
        axes.tick_params(length=0)
        axes.set_ylabel("first application")
        axes.set_xlabel("second application")
        for side in axes.spines.values():
            side.set_visible(False)
        bar = figure.colorbar(mesh, ax=axes, label="STP", fraction=0.05)
        bar.outline.set_visible(False)
        bar.solids.set_rasterized(False)
        bar.solids.set_edgecolor("face")  # no seams between its steps
        over = ", the mean over the goals" if any(goal_label(text) for text in group.finished["applications"]) else ""
        words = [_cell_words(row, column, found.get((row, column), [])) for row in names for column in names]
        return Plot(name, title, block, f"System throughput of each pair{over}; brighter is more. The scale is the same for every "
                    f"policy. {_diagonal_words(set(found))} A pointer over a cell shows its numbers.", figure, words)


def _cell_words(first, second, values):
    if not values:
        return ""
    more = f", the mean of {len(values)} cases from {min(values):.3f} to {max(values):.3f}" if len(values) > 1 else ""
    return f"{first} + {second}: STP {_mean(values):.3f}{more}"


def _diagonal_words(pairs_found):
    """What the cells from the upper left to the lower right are, and why there may be empty ones."""
    same = {pair for pair in pairs_found if pair[0] == pair[1]}
    if same:
        text = "Cells on the diagonal, from the upper left to the lower right, are an application that shares the GPU with a second " \
               "copy of itself: above 1, the two get more done than one alone."
    else:
        text = "The diagonal, from the upper left to the lower right, is empty: no application shared the GPU with a copy of itself."
    if any(pair[::-1] not in pairs_found for pair in pairs_found - same):
        text += " Other empty cells are pairs that were not run in this order."
    return text


def _typical_mix(block, results):
    """The mix whose split moves most under any policy, among (at most) SAMPLED_MIXES of those that finished under most of the
    policies: (its applications, [(place of the policy, policy, History)]); None without histories."""
    policies = [group for group in block.policies if len(group.finished)]
    keys = {}
    for group in policies:
        for case in group.finished:
            keys.setdefault(case["applications"], {})[group.policy] = case["key"]
    most = max((len(found) for found in keys.values()), default=0)
    mixes = [mix for mix, found in keys.items() if len(found) == most]
    best = None
    for mix in mixes[::max(1, math.ceil(len(mixes) / SAMPLED_MIXES))]:
        rows = [(place, group.policy, results.history(keys[mix][group.policy])) for place, group in enumerate(block.policies)
                if group.policy in keys[mix]]
        rows = [row for row in rows if row[2] is not None and len(row[2].end_cycles)]
        movement = max((history.movement() for _, _, history in rows), default=-1.0)
        if rows and (best is None or movement > best[0] + 1e-9):
            best = movement, mix, rows
    return best[1:] if best else None


def split_over_time(block, results, name):
    """Who held how much of the GPU over the window, a panel for each policy."""
    found = _typical_mix(block, results)
    if not found:
        return None
    mix, rows = found
    left_out = len(rows) - PANELS
    rows = rows[:PANELS]
    applications = split_applications(mix)
    labels = _without_common_size([re.sub(r":(goal|start)=.*", "", text) for text in applications])
    goals = [re.search(r":goal=([^:]+)", text) for text in applications]
    labels = [f"{label}, goal {goal[1]}" if goal else label for label, goal in zip(labels, goals)]
    title = "The split over time"
    with pyplot.rc_context(STYLE):
        figure = Figure(figsize=(INCHES, 0.95 + 1.12 * len(rows) + 0.2 * (len(labels) > 2)), layout="constrained")
        panels = figure.subplots(len(rows), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (_, policy, history) in zip(panels, rows):
            series = history.tbs if history.mixes else history.sms
            edges = [0, *(history.end_cycles / 1000)]
            below = [0.0] * len(history.end_cycles)
            for place, values in enumerate(series):
                above = [low + value for low, value in zip(below, values)]
                axes.stairs(above, edges, baseline=below, fill=True, facecolor=_colour(place), edgecolor=TEXT, linewidth=0.3,
                            hatch=_mark(HATCHES, place), label=labels[place])
                below = above
            if not history.mixes and (history.powered_sms < history.sm_count).any():
                axes.stairs([history.sm_count] * len(history.end_cycles), edges, baseline=list(history.powered_sms), fill=True,
                            facecolor=GRID, edgecolor=TEXT, linewidth=0.3, hatch="oo", label="switched off")
            axes.set_title(policy, fontsize=10, loc="left", pad=3)
            axes.set_ylabel("blocks" if history.mixes else "SMs", fontsize=9.5)
            axes.set_ylim(0, None if history.mixes else history.sm_count)
            axes.set_xlim(0, edges[-1])
            axes.tick_params(labelsize=9)
        panels[-1].set_xlabel("thousand cycles")
        handles, texts = panels[max(range(len(rows)), key=lambda row: len(panels[row].get_legend_handles_labels()[1]))] \
            .get_legend_handles_labels()
        panels[0].legend(handles, texts, loc="lower center", bbox_to_anchor=(0.5, 1.2), ncol=2, handlelength=2.4)
        rest = f" {left_out} more policies are left out." if left_out > 0 else ""
        return Plot(name, title, block, f"{', '.join(applications)}: SMs that hold thread blocks of each application, one above the "
                    "other; their thread blocks, where they share SMs. Of the mixes looked at, the one whose split moves most." + rest,
                    figure)


def _mean(values):
    return sum(values) / len(values) if values else float("nan")


def _without_common_size(names):
    """"sgemm" for "sgemm@medium" when all have that size, and no folders."""
    sizes = {name.partition("@")[2] for name in names}
    short = [name.partition("@")[0] for name in names] if len(sizes) == 1 else names
    last = [re.sub(r"\.yaml$", "", name.rsplit("/", 1)[-1]) for name in short]
    return last if len(set(last)) == len(names) else short


def of_block(block, results, prefix):
    """All figures that the block has numbers for."""
    made = [stp_bars(block, f"{prefix}-stp"), stp_distribution(block, f"{prefix}-distribution"),
            reach_by_goal(block, f"{prefix}-reach"), best_effort_by_goal(block, f"{prefix}-best-effort"),
            split_over_time(block, results, f"{prefix}-split")]
    made += [pairs(group, block, f"{prefix}-pairs-{place}") for place, group in enumerate(block.policies)]
    return [plot for plot in made if plot]
