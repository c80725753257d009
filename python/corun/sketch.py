"""Small pictures of single cases, written by hand: a page may have thousands of them. Colours are variables of the page's style
sheet; hatches, defined once for the page, say the same."""

import html

WIDTH, HEIGHT = 640, 96
HATCHES = ["", "M0 8L8 0", "M0 0L8 8", "M0 8L8 0M0 0L8 8", "M0 4H8", "M4 0V8", "M0 4H8M4 0V8", "M2 2H3M6 6H7"]
OFF = len(HATCHES)  # the hatch of SMs that are switched off


def definitions():
    """The hatches, to stand once in a page that has sketches."""
    def pattern(place, colour, path):
        return (f'<pattern id="hatch-{place}" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8" '
                f'fill="{colour}"/><path d="{path}" stroke="var(--text)" stroke-width="0.8" fill="none"/></pattern>')
    patterns = [pattern(place, f"var(--series-{place})", path or "M0 0") for place, path in enumerate(HATCHES)]
    patterns.append(pattern(OFF, "var(--paper)", "M0 8L8 0M0 0L8 8"))
    return '<svg width="0" height="0" aria-hidden="true" class="hatches"><defs>' + "".join(patterns) + "</defs></svg>"


def _path(cycles, low, high):
    """The area between two series of steps; equal steps are one."""
    def steps(values, places):
        found, before = [], None
        for place in places:
            start, end = (cycles[place], cycles[place + 1])
            if places.step < 0:
                start, end = end, start
            if before is None:
                found.append(f"{start:.4g} {values[place]:.4g}")
            elif values[place] != before:
                found.append(f"V{values[place]:.4g}" if before is not None else "")
            found.append(f"H{end:.4g}")
            before = values[place]
        return "".join(_merged(found))
    count = len(low)
    there, back = steps(high, range(count)), steps(low, range(count - 1, -1, -1))
    return f"M{there}L{back}Z"


def _merged(parts):
    """Of horizontal lines that follow one another, the last."""
    return [part for part, following in zip(parts, [*parts[1:], ""]) if not (part[0] == "H" and following[:1] == "H")]


def split(history, names):
    """A picture of who held how much of the GPU over the window, with its key, as HTML."""
    series = history.tbs if history.mixes else history.sms
    top = float(series.sum(axis=0).max()) if history.mixes else float(history.sm_count)
    top = top or 1.0
    last = float(history.end_cycles[-1])
    x = [cycle / last * WIDTH for cycle in [0, *history.end_cycles.tolist()]]

    def y(values):
        return [round(HEIGHT - value / top * HEIGHT, 1) for value in values]
    parts, below = [], [0.0] * len(history.end_cycles)
    for place, values in enumerate(series.tolist()):
        above = [low + value for low, value in zip(below, values)]
        parts.append(f'<path d="{_path(x, y(below), y(above))}" fill="url(#hatch-{place % len(HATCHES)})"/>')
        below = above
    keys = list(enumerate(names))
    if not history.mixes and (history.powered_sms < history.sm_count).any():
        parts.append(f'<path d="{_path(x, y(history.powered_sms.tolist()), y([top] * len(below)))}" fill="url(#hatch-{OFF})"/>')
        keys.append((OFF, "switched off"))
    what = "thread blocks" if history.mixes else "SMs"
    legend = "".join(f'<span><svg width="14" height="14" aria-hidden="true"><rect width="14" height="14" fill="url(#hatch-'
                     f'{place % len(HATCHES) if place != OFF else OFF})"/></svg> {html.escape(name)}</span>' for place, name in keys)
    return (f'<div class="sketch"><p>{legend}</p><svg viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" role="img" '
            f'aria-label="{what} of each application over time">{"".join(parts)}</svg>'
            f'<p class="soft">up to {top:.0f} {what}, over {last / 1000:g} thousand cycles</p></div>')
