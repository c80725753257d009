#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A picture of what `corun exec` says, by Chromium: the command line as it is given, and the output of that very run.
    screenshot_exec.py CORUN docs/images/exec.png [--folder FOLDER] [--dark] -- ARGUMENTS OF corun exec"""

import argparse
import html
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "cli"))
import chromium  # noqa: E402

MOST_BYTES = 120_000
LIGHT = {"ground": "#ffffff", "ink": "#1f2328", "faint": "#6e7781", "head": "#0550ae"}
DARK = {"ground": "#16191d", "ink": "#e6e6e6", "faint": "#8b949e", "head": "#79c0ff"}
RULE = re.compile("^[─-]+$")
PAGE = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; background: {ground} }}
pre {{ display: inline-block; margin: 0; padding: 16px 22px; color: {ink}; font: 15px/1.4 "DejaVu Sans Mono", "Liberation Mono", monospace }}
b {{ color: {head} }} i {{ color: {faint}; font-style: normal }}
</style><pre>{text}</pre>"""


def marked(command, output):
    """The text with heads of tables and rules set apart."""
    lines = [f"<i>$</i> <b>{html.escape(command)}</b>"]
    rows = output.rstrip("\n").split("\n")
    for row, below in zip(rows, rows[1:] + [""]):
        safe = html.escape(row)
        lines.append(f"<i>{safe}</i>" if RULE.match(row) else f"<b>{safe}</b>" if RULE.match(below) else safe)
    return "\n".join(lines)


def take(page, dark):
    browser = chromium.Chromium(chromium.find() or sys.exit("there is no Chromium"))
    try:
        browser.open(page, 1600, 1200, dark)
        box = browser.evaluate("(() => { const box = document.querySelector('pre').getBoundingClientRect(); "
                               "return [box.width, box.height]; })()")
        return browser.screenshot({"x": 0, "y": 0, "width": box[0], "height": box[1]})
    finally:
        browser.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corun")
    parser.add_argument("picture")
    parser.add_argument("--folder", default=".", help="where the program runs")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("arguments", nargs="+")
    options = parser.parse_args()
    done = subprocess.run([os.path.abspath(options.corun), "exec", *options.arguments], cwd=options.folder, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=dict(os.environ, LC_ALL="C.UTF-8"))
    if done.returncode:
        sys.exit(f"the program ended with {done.returncode}:\n{done.stdout}")
    command = shlex.join(["corun", "exec", *options.arguments])
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "page.html")
        with open(page, "w", encoding="utf-8") as file:
            file.write(PAGE.format(text=marked(command, done.stdout), **(DARK if options.dark else LIGHT)))
        picture = take(page, options.dark)
    with open(options.picture, "wb") as file:
        file.write(picture)
    print(f"{options.picture}: {len(picture)} bytes")
    return len(picture) > MOST_BYTES


if __name__ == "__main__":
    sys.exit(main())
