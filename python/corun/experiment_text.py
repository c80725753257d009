# SPDX-License-Identifier: MIT
"""The comparison of an experiment as a table on the terminal and as Markdown."""

from .tables import print_table


def value_text(value, unit):
    """"88.4 %", "+12.7 %" for changes, "1.140", "164.5 cycles"; "-" where there is none."""
    if value is None or value != value:
        return "-"
    if value in (float("inf"), float("-inf")):
        return "inf"
    if unit in ("percent", "change"):
        return f"{value * 100:{'+' if unit == 'change' else ''}.1f} %"
    if unit in ("", "ratio"):
        return f"{value:.3f}"
    digits = 4 if abs(value) >= 0.001 or not value else 3
    return f"{value:.{digits}g} {unit}"


def unit_of(number):
    """Changes are percentages, whatever the figure's other numbers are."""
    if "against" in number.cell.which.nodes and number.cell.which.text("compare", "change") == "change":
        return "change"
    unit = number.cell.figure.unit
    if "against" in number.cell.which.nodes and number.cell.which.text("compare") == "difference" and unit == "percent":
        return "change"
    return unit


def paper_text(number):
    paper = number.cell.paper
    if paper.sign is not None:
        return "more" if paper.sign > 0 else "less"
    return value_text(paper.value, unit_of(number))


def our_text(number):
    return value_text(number.value if number.known else None, unit_of(number))


def sign_text(number):
    return {True: "yes", False: "NO", None: "-"}[number.same_sign]


def effect_text(number):
    ratio = number.effect_ratio
    return "-" if ratio is None else f"{ratio:.2f}"


def cycles_text(cycles):
    if cycles is None:
        return "-"
    for factor, letter in ((10 ** 6, "M"), (10 ** 3, "K")):
        if cycles % factor == 0:
            return f"{cycles // factor}{letter}"
    return str(cycles)


def label(cell):
    return ", ".join(one for one in (cell.series, cell.point) if one) or cell.figure.title


def sample_lines(evaluation):
    """One for each part: how much of it has finished."""
    lines = []
    for part in evaluation.experiment.parts.values():
        done, failed = evaluation.finished(part), len(evaluation.failures[part.name])
        name = f"{part.name}: " if part.name else ""
        of = "combinations of workloads and goals" if part.command == "run" else f"cases of corun {part.command}"
        text = f"{name}{done} of {part.combinations} {of}"
        lines.append(text + (f"; {failed} cases failed" if failed else ""))
    return lines


def has_windows(experiment):
    return any(part.command == "run" for part in experiment.parts.values())


def version_line(versions):
    """Of a page, bulleted: index_results.py and --confirm look for it."""
    return "* timing model: version " + ", ".join(map(str, sorted(versions)))


def digits_line(digits):
    """By which another version of the timing model is held against the page."""
    return f"* digits of {digits[0]} drawn cases: `{digits[1]}`"


def condition_lines(evaluation):
    """In which window, with which model, and of how many cases."""
    lines = [f"window: {window_text(evaluation)}"] if has_windows(evaluation.experiment) else []
    lines += [settled_line(evaluation.settled)] if evaluation.settled else []
    lines += [f"GPU: {', '.join(evaluation.gpus())}"]
    versions = [one for one in evaluation.models if one]
    lines += [version_line(versions)[len("* "):]] if versions else []
    return lines + [f"sample: {line}" for line in sample_lines(evaluation)]


def window_text(evaluation):
    experiment = evaluation.experiment
    ours = ", ".join(cycles_text(one) for one in sorted(evaluation.windows)) or cycles_text(experiment.cycles)
    return f"{ours} cycles" + (f"; the paper's: {cycles_text(experiment.paper_cycles)}" if experiment.paper_cycles else "")


def settled_line(rows):
    """Of --settle: that speeds are estimates, how well they are known, and what was simulated of the windows."""
    parts = ", ".join(f"{part * 100:g} %" for part in sorted({part for part, _, _ in rows}))
    early = sum(cycle < window for _, cycle, window in rows)
    simulated = sum(cycle for _, cycle, _ in rows) / sum(window for _, _, window in rows)
    return (f"settled: {early} of {len(rows)} cases ended before their window did, when speeds were known to {parts} of those alone; "
            f"{simulated * 100:.0f} % of the cycles were simulated")


def counts(evaluation):
    """(how many numbers have a sign to compare, how many agree)"""
    signs = [number.same_sign for number in evaluation.numbers.values() if number.same_sign is not None]
    return len(signs), sum(signs)


def verdict(evaluation):
    compared, same = counts(evaluation)
    if not compared:
        return "No number of the paper has a direction that ours could share."
    return f"Same sign: {same} of {compared}."


def failure_lines(evaluation, most):
    """What failed, by message: the same one counts once."""
    found = {}
    for failures in evaluation.failures.values():
        for applications, policy, status, message in failures:
            found.setdefault((policy, message or status), []).append(applications)
    lines = [f"{len(mixes)} cases failed under {policy}: {message} ({mixes[0]}{' and others' if len(mixes) > 1 else ''})"
             for (policy, message), mixes in found.items()]
    return lines[:most] + ([f"and {len(lines) - most} other failures"] if len(lines) > most else [])


def reason_lines(figure, evaluation):
    """Why cases have no such number."""
    lines = {}
    for cell in figure.cells:
        for reason, count in evaluation.numbers[cell].reasons.items():
            lines.setdefault((cell.which.text("metric"), reason), set()).add(count)
    return [f"{metric}: not defined for {spread(numbers)} cases: {reason}" for (metric, reason), numbers in lines.items()]


def spread(numbers):
    """"3", or "3 to 5" if they differ."""
    least, most = min(numbers), max(numbers)
    return str(least) if least == most else f"{least} to {most}"


def has_paper(figure):
    return any(cell.paper.value is not None or cell.paper.sign is not None for cell in figure.cells)


def rows_of(figure, evaluation, window=None):
    """(titles, rows), with a column for the window if one is given. A figure of which the paper says no number has its points
    side by side."""
    if not has_paper(figure) and len(figure.points) > 1:
        return _rows_of_ours(figure, evaluation, window)
    titles = [figure.name, "paper", "ours", "cases", *(["window"] if window else []), "same sign",
              "ratio of effects" if window else "effect"]
    rows = []
    for cell in figure.cells:
        number = evaluation.numbers[cell]
        rows.append([label(cell), paper_text(number), our_text(number), str(number.cases), *([window] if window else []),
                     sign_text(number), effect_text(number)])
    return titles, rows


def blocks_of(figure, evaluation, window=None):
    """Texts and tables, one behind the other."""
    if figure.table:
        return figure.blocks(evaluation)
    return [rows_of(figure, evaluation, window), *reason_lines(figure, evaluation)]


def _rows_of_ours(figure, evaluation, window):
    titles = [f"{figure.name}: ours", *(point for point, _ in figure.points), "cases", *(["window"] if window else [])]
    rows = []
    for series in figure.series:
        numbers = [evaluation.numbers[figure.of(series, point)] for point, _ in figure.points]
        cases = spread({number.cases for number in numbers})
        rows.append([series, *map(our_text, numbers), cases, *([window] if window else [])])
    return titles, rows


def print_comparison(evaluation, stream):
    experiment = evaluation.experiment
    print(f"\n{experiment.name}: {experiment.title}\n{experiment.paper}, {experiment.section}", file=stream)
    for line in condition_lines(evaluation):
        print(line, file=stream)
    for figure in experiment.figures:
        print(f"\n{figure.title}", file=stream)
        for block in blocks_of(figure, evaluation):
            if isinstance(block, str):
                print(block, file=stream)
            else:
                print_table(*block, stream)
    if has_windows(experiment):
        print(f"\n{verdict(evaluation)}", file=stream)
    for line in failure_lines(evaluation, 5):
        print(line, file=stream)


def markdown_table(titles, rows):
    def line(cells):
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
    return [line(titles), "|---" + "|--:" * (len(titles) - 1) + "|", *(line(row) for row in rows)]


def markdown_blocks(figure, evaluation, window):
    if not figure.table:
        reasons = reason_lines(figure, evaluation)
        return markdown_table(*rows_of(figure, evaluation, window)) + ([""] + [f"* {line}" for line in reasons] if reasons else [])
    parts = [[block] if isinstance(block, str) else markdown_table(*block) for block in figure.blocks(evaluation)]
    return [line for place, lines in enumerate(parts) for line in ([""] if place else []) + lines]


def markdown(evaluation):
    """The page of docs/results: paper, ours, sample and window, same sign or not, ratio of effects, and the remarks of the
    file, of which none is made here."""
    experiment = evaluation.experiment
    sampled = max(map(evaluation.finished, experiment.parts.values()), default=0)
    whole = all(evaluation.finished(part) == part.combinations for part in experiment.parts.values())
    size = "" if whole else f" --sample {sampled}"
    window = cycles_text(next(iter(evaluation.windows)) if len(evaluation.windows) == 1 else experiment.cycles)
    extent = f"{size} --cycles {window}" if has_windows(experiment) else ""
    extent += "".join(f" --settle {part * 100:g}%" for part in sorted({part for part, _, _ in evaluation.settled}))
    lines = [f"# {experiment.name}: {experiment.title}", "",
             f"Made by `corun reproduce {experiment.name}{extent} --markdown FILE`: do not "
             "edit. What the columns say is in [experiments](../experiments.md).", "",
             f"{experiment.paper}, {experiment.section}.", ""]
    if experiment.shows:
        lines += [experiment.shows, ""]
    lines += [f"* {line}" for line in condition_lines(evaluation)]
    if experiment.paper_cases:
        lines += [f"* the paper's sample: {experiment.paper_cases}"]
    digits = evaluation.digits()
    lines += [digits_line(digits)] if digits else []
    for figure in experiment.figures:
        lines += ["", f"## {figure.title}", ""]
        if figure.source:
            lines += [f"The paper's numbers: {figure.source}", ""]
        lines += markdown_blocks(figure, evaluation, window)
    lines += ["", verdict(evaluation)] if has_windows(experiment) else []
    failures = failure_lines(evaluation, 10)
    if failures:
        lines += ["", "## Cases that failed", ""] + [f"* {line}" for line in failures]
    if experiment.remarks:
        lines += ["", "## Remarks", "", experiment.remarks]
    return "\n".join(lines) + "\n"
