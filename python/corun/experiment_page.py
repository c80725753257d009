# SPDX-License-Identifier: MIT
"""The comparison of an experiment as one HTML file with the paper's numbers and ours in the same drawings: no script, nothing
from the network."""

import math
import re

from matplotlib import pyplot

from . import experiment_text as et
from . import figures
from .page import STYLE, figure as figure_html, table, text

LINES_OF_LABEL = 34
WORDS = [
    ("paper", "the number that the paper says; more and less: it says only the direction."),
    ("ours", "the same from our kernels on our simulated GPU, in the window and over the cases that are said above."),
    ("same sign", "whether ours lies on the same side of no effect as the paper's. No effect is a change of 0, a speed-up of 1; "
                  "a number without such a value, as a share of goals met, has no sign."),
    ("effect", "our distance from no effect / the paper's; without a sign, our number / the paper's. 1 is the paper's size."),
]


class _Titled:
    """What a plot asks for the title of."""

    def __init__(self, experiment):
        self.experiment = experiment

    def title(self):
        return self.experiment.name


def _scaled(value, unit):
    return value * 100 if unit in ("percent", "change") else value


def _axis(unit):
    return {"percent": "%", "change": "change, %", "": "", "ratio": ""}.get(unit, unit)


def _wrap(label):
    lines = [""]
    for word in re.findall(r"\S+\s*", label):
        if lines[-1] and len(lines[-1] + word) > LINES_OF_LABEL:
            lines.append("")
        lines[-1] += word
    return "\n".join(line.strip() for line in lines)


def _units(numbers):
    """The numbers of a figure by unit: changes do not stand on the same axis as what they are changes of."""
    found = {}
    for number in numbers:
        found.setdefault(et.unit_of(number), []).append(number)
    return found


def _bars(numbers, unit, name, title, block):
    drawn = [number for number in numbers if number.known or number.cell.paper.value is not None]
    if not drawn:
        return None
    series = list(dict.fromkeys(number.cell.series for number in drawn))
    labels = [_wrap(et.label(number.cell)) for number in drawn]
    with pyplot.rc_context(figures.STYLE):
        heights = [0.16 + 0.17 * (label.count("\n") + 1) for label in labels]
        canvas, axes = figures._drawing(0.9 + max(0.36 * len(drawn), sum(heights)))
        neutral = next((number.neutral for number in drawn if number.neutral is not None), None)
        start = _scaled(neutral or 0, unit) if unit != "ratio" or neutral is not None else 0
        for row, number in enumerate(drawn):
            place = series.index(number.cell.series)
            right = start
            if number.known:
                ours = _scaled(number.value, unit)
                axes.barh(row, ours - start, left=start, height=0.62, color=figures._colour(place), edgecolor=figures.TEXT,
                          linewidth=0.6, hatch=figures._mark(figures.HATCHES, place))
                right = max(right, ours)
            if number.cell.paper.value is not None:
                said = _scaled(number.cell.paper.value, unit)
                axes.plot([said], [row], marker="D", markersize=7, color=figures.PAPER, markeredgecolor=figures.TEXT,
                          markeredgewidth=1.6, linestyle="none")
                right = max(right, said)
            axes.annotate(et.our_text(number), (right, row), xytext=(8, 0), textcoords="offset points", va="center")
        axes.axvline(start, color=figures.TEXT, linewidth=0.8, linestyle=":")
        axes.set_yticks(range(len(drawn)), labels)
        axes.set_ylim(len(drawn) - 0.5, -0.5)
        axes.margins(x=0.16)
        axes.set_xlabel(_axis(unit))
        axes.grid(axis="x")
        caption = "Bar and number: ours." + (" Diamond: the paper's."
                                             if any(number.cell.paper.value is not None for number in drawn) else "")
        if neutral is not None:
            caption += " Dotted: no effect."
        return figures.Plot(name, title, block, caption, canvas)


def _lines(figure, evaluation, unit, name, block):
    rows = [(place, series, [evaluation.numbers[figure.of(series, point)] for point, _ in figure.points])
            for place, series in enumerate(figure.series)]
    rows = [row for row in rows if any(number.known or number.cell.paper.value is not None for number in row[2])]
    if not rows:
        return None
    with pyplot.rc_context(figures.STYLE):
        canvas, axes = figures._drawing(3.0 + figures._legend_inches([series for _, series, _ in rows]))
        for place, series, numbers in rows:
            ours = [(x, _scaled(number.value, unit)) for x, number in enumerate(numbers) if number.known]
            said = [(x, _scaled(number.cell.paper.value, unit)) for x, number in enumerate(numbers)
                    if number.cell.paper.value is not None]
            axes.plot([x for x, _ in ours], [y for _, y in ours], color=figures._colour(place), linewidth=1.8,
                      linestyle=figures._mark(figures.LINES, place), marker=figures._mark(figures.MARKERS, place), markersize=6,
                      markeredgecolor=figures.PAPER, markeredgewidth=0.6, label=figures._wrapped(series), clip_on=False)
            axes.plot([x for x, _ in said], [y for _, y in said], color=figures._colour(place), marker="D", markersize=7,
                      markerfacecolor=figures.PAPER, markeredgewidth=1.6, linestyle="none", clip_on=False)
        labels = [point for point, _ in figure.points]
        crowded = len(labels) * max(map(len, labels)) > 44
        axes.set_xticks(range(len(labels)), labels, rotation=35 if crowded else 0, ha="right" if crowded else "center")
        axes.set_xlim(-0.35, len(labels) - 0.65)
        axes.set_ylim(bottom=min(0, axes.get_ylim()[0]))
        axes.set_ylabel(_axis(unit))
        axes.grid(axis="y")
        figures._legend(axes)
        papers = any(number.cell.paper.value is not None for _, _, numbers in rows for number in numbers)
        return figures.Plot(name, figure.title, block, "Lines: ours." + (" Diamonds: the paper's." if papers else
                            " The paper draws these; its text says no numbers."), canvas)


def _share_of(number):
    """At which height of a distribution a statistic lies, in percent; None if it is no such statistic."""
    over = number.cell.which.text("over")
    exceeded = re.fullmatch(r"exceeded-by-(\d+(?:\.\d+)?)%", over)
    return 100 - float(exceeded[1]) if exceeded else {"median": 50, "min": 0, "max": 100}.get(over)


def _distribution(figure, evaluation, unit, name, block):
    rows = []
    for place, series in enumerate(figure.series):
        numbers = [evaluation.numbers[figure.of(series, point)] for point, _ in figure.points]
        rows.append((place, series, sorted(_scaled(value, unit) for value in numbers[0].values if math.isfinite(value)), numbers))
    rows = [row for row in rows if row[2]]
    if not rows:
        return None
    with pyplot.rc_context(figures.STYLE):
        canvas, axes = figures._drawing(3.0 + figures._legend_inches([series for _, series, _, _ in rows]))
        for place, series, values, numbers in rows:
            shares = [(rank + 1) / len(values) * 100 for rank in range(len(values))]
            axes.step([values[0], *values], [0, *shares], where="post", color=figures._colour(place), linewidth=1.8,
                      linestyle=figures._mark(figures.LINES, place), label=figures._wrapped(series))
            said = [(_scaled(number.cell.paper.value, unit), _share_of(number)) for number in numbers
                    if number.cell.paper.value is not None and _share_of(number) is not None]
            axes.plot([x for x, _ in said], [y for _, y in said], color=figures._colour(place), marker="D", markersize=7,
                      markerfacecolor=figures.PAPER, markeredgewidth=1.6, linestyle="none", clip_on=False)
        axes.set_ylim(0, 103)
        axes.set_xlabel(_axis(unit))
        axes.set_ylabel("cases with at most that, %")
        axes.grid()
        figures._legend(axes)
        return figures.Plot(name, figure.title, block, "Lines: the share of our cases that have at most the value on the axis. "
                            "Diamonds: where the paper's distribution passes, as far as its text says.", canvas)


def plots(figure, evaluation, prefix):
    """The drawings of one figure: one for each unit."""
    block = _Titled(evaluation.experiment)
    numbers = [evaluation.numbers[cell] for cell in figure.cells]
    made = []
    for place, (unit, some) in enumerate(_units(numbers).items()):
        name = f"{prefix}-{figure.name}" + (f"-{place}" if place else "")
        if figure.kind == "lines":
            plot = _lines(figure, evaluation, unit, name, block)
        elif figure.kind == "distribution":
            plot = _distribution(figure, evaluation, unit, name, block)
        else:
            plot = _bars(some, unit, name, figure.title, block)
        made += [plot] if plot else []
    return made


def figure_section(figure, evaluation, number):
    parts = [f"<h3>{text(figure.title)}</h3>"]
    if figure.source:
        parts.append(f'<p class="soft">The paper\'s numbers: {text(figure.source)}</p>')
    if figure.table:
        return "".join(parts) + "".join(f"<p>{text(block)}</p>" if isinstance(block, str) else table(*block, figure.title)
                                        for block in figure.blocks(evaluation))
    drawn = plots(figure, evaluation, f"f{number}")
    parts.append(table(*et.rows_of(figure, evaluation), figure.title))
    if drawn:
        parts.append('<div class="figures">' + "".join(figure_html(plot) for plot in drawn) + "</div>")
    else:
        parts.append('<p class="soft">There is nothing to draw yet: no case that it needs has finished.</p>')
    parts += [f'<p class="soft">{text(line)}</p>' for line in et.reason_lines(figure, evaluation)]
    return "".join(parts)


def make_page(evaluation):
    """The page as text."""
    experiment = evaluation.experiment
    conditions = "".join(f"<li>{text(line)}</li>" for line in et.condition_lines(evaluation))
    paper_cases = f"<li>the paper's sample: {text(experiment.paper_cases)}</li>" if experiment.paper_cases else ""
    failures = "".join(f"<li>{text(line)}</li>" for line in et.failure_lines(evaluation, 20))
    meanings = "".join(f"<tr><td>{text(word)}</td><td>{text(meaning)}</td></tr>" for word, meaning in WORDS)
    return "".join([
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">',
        f"<title>{text(experiment.name)} - corun</title><style>{STYLE}</style></head><body>",
        f"<header><h1>{text(experiment.title)}</h1>",
        f'<p class="soft">{text(experiment.paper)}, {text(experiment.section)}</p>', f"<p>{text(experiment.shows)}</p>",
        f"<ul>{conditions}{paper_cases}</ul>",
        f"<p><strong>{text(et.verdict(evaluation))}</strong></p>" if et.has_windows(experiment) else "", "</header><main>",
        *(figure_section(figure, evaluation, number) for number, figure in enumerate(experiment.figures)),
        f"<h3>Cases that failed</h3><ul>{failures}</ul>" if failures else "",
        f"<h3>Remarks</h3><p>{text(experiment.remarks)}</p>" if experiment.remarks else "",
        f'</main><footer><h2>What the words mean</h2><table class="words"><tbody>{meanings}</tbody></table></footer></body></html>\n'])
