# SPDX-License-Identifier: MIT
"""Small pictures of single cases, written by hand: a page may have thousands of them. Colours are variables of the page's style
sheet; hatches, defined once for the page, say the same. A picture for a notebook brings its hatches along."""

from __future__ import annotations

import hashlib
import html
from typing import Sequence

from .history import History

WIDTH, HEIGHT = 640, 96
HATCHES = ["", "M0 8L8 0", "M0 0L8 8", "M0 8L8 0M0 0L8 8", "M0 4H8", "M4 0V8", "M0 4H8M4 0V8", "M2 2H3M6 6H7"]
OFF = len(HATCHES)  # the hatch of SMs that are switched off


def _patterns(prefix: str, places: Sequence[int]) -> str:
    def pattern(place: int, colour: str, path: str) -> str:
        return (f'<pattern id="{prefix}-{place}" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8" '
                f'fill="{colour}"/><path d="{path}" stroke="var(--text)" stroke-width="0.8" fill="none"/></pattern>')
    return "<defs>" + "".join(pattern(place, "var(--paper)", "M0 8L8 0M0 0L8 8") if place == OFF else
                              pattern(place, f"var(--series-{place})", HATCHES[place] or "M0 0") for place in places) + "</defs>"


def definitions() -> str:
    """The hatches, to stand once in a page that has sketches."""
    return f'<svg width="0" height="0" aria-hidden="true" class="hatches">{_patterns("hatch", range(OFF + 1))}</svg>'


def _path(cycles: Sequence[float], low: Sequence[float], high: Sequence[float]) -> str:
    """The area between two series of steps; equal steps are one."""
    def steps(values: Sequence[float], places: range) -> str:
        found: list[str] = []
        before = None
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


def _merged(parts: Sequence[str]) -> list[str]:
    """Of horizontal lines that follow one another, the last."""
    return [part for part, following in zip(parts, [*parts[1:], ""]) if not (part[0] == "H" and following[:1] == "H")]


def split(history: History, names: Sequence[str], alone: bool = False) -> str:
    """A picture of who held how much of the GPU over the window, with its key, as HTML. `alone`: it does not stand in a page of ours,
    and brings along what that would have (but the variables)."""
    series = history.tbs if history.mixes else history.sms
    top = (float(series.sum(axis=0).max()) if history.mixes else float(history.sm_count)) or 1.0
    what = "thread blocks" if history.mixes else "SMs"
    cycles = history.end_cycles - history.start_cycles
    last = float(history.end_cycles[-1])
    x = [cycle / last * WIDTH for cycle in [0, *history.end_cycles.tolist()]]

    def y(values: Sequence[float]) -> list[float]:
        return [round(HEIGHT - value / top * HEIGHT, 1) for value in values]
    areas: list[tuple[int, str, str, str]] = []  # (hatch, name, path, what it is in words)
    below = [0.0] * len(cycles)
    for place, values in enumerate(series.tolist()):
        above = [low + value for low, value in zip(below, values)]
        mean = float((series[place] * cycles).sum() / cycles.sum())
        areas.append((place % len(HATCHES), names[place], _path(x, y(below), y(above)),
                      f"{names[place]}: {mean:.1f} {what} on average, {min(values):.4g} to {max(values):.4g}"))
        below = above
    if not history.mixes and (history.powered_sms < history.sm_count).any():
        areas.append((OFF, "switched off", _path(x, y(history.powered_sms.tolist()), y([top] * len(below))), "switched off"))
    prefix = "hatch-" + hashlib.sha256(repr(areas).encode()).hexdigest()[:12] if alone else "hatch"
    drawn = "".join(f'<path d="{path}" fill="url(#{prefix}-{hatch})"><title>{html.escape(words)}</title></path>'
                    for hatch, _, path, words in areas)
    gap = ' style="white-space: nowrap; margin-right: 1rem"' if alone else ""
    legend = "".join(f'<span{gap}><svg width="14" height="14" aria-hidden="true"><rect '
                     f'width="14" height="14" fill="url(#{prefix}-{hatch})"/></svg> {html.escape(name)}</span>'
                     for hatch, name, _, _ in areas)
    size = ' style="display: block; width: 100%; max-width: 42rem; height: 6rem; border: solid; border-width: 0 0 1px 1px"' if alone else ""
    patterns = _patterns(prefix, sorted({hatch for hatch, _, _, _ in areas})) if alone else ""
    return (f'<div class="sketch"><p>{legend}</p><svg viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" role="img"{size} '
            f'aria-label="{what} of each application over time">{patterns}{drawn}</svg>'
            f'<p class="soft">up to {top:.0f} {what}, over {last / 1000:g} thousand cycles</p></div>')
