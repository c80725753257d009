#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The picture of a report in docs/images: the first figures of the page of a real results file, by Chromium.
    screenshot_report.py CORUN RESULTS.db docs/images/report.png [--campaign NAME] [--dark] [--height PIXELS]
Chromium and PIL come with scripts/install-dependencies.sh check."""

import argparse
import io
import os
import pathlib
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent.parent / "tests"
sys.path[:0] = [str(TESTS / "cli"), str(TESTS / "python")]
from python_with import need  # noqa: E402

need("PIL")  # of the system's python, where the first one of the PATH has none
from PIL import Image  # noqa: E402

import chromium  # noqa: E402

WIDTH = 1280
MARGIN = 12
MOST_BYTES = 200_000


def take(page, width, height, dark):
    """PNG of the figures, from the first one to the last one that fits whole."""
    browser = chromium.Chromium(chromium.find() or sys.exit("there is no Chromium"))
    try:
        browser.open(page, width, height, dark)
        boxes = browser.evaluate("[...document.querySelectorAll('figure')].map(one => { const box = one.getBoundingClientRect(); "
                                 "return [box.top, box.bottom]; })")
        top = boxes[0][0] - MARGIN
        bottom = max(bottom for _, bottom in boxes if bottom + MARGIN - top <= height) + MARGIN
        return browser.screenshot({"x": 0, "y": top, "width": width, "height": bottom - top})
    finally:
        browser.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corun")
    parser.add_argument("results")
    parser.add_argument("picture")
    parser.add_argument("--campaign")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--height", type=int, default=1800)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "page.html")
        subprocess.run([options.corun, "report", "--quiet", "-r", options.results, "--html", page,
                        *(["--campaign", options.campaign] if options.campaign else [])], check=True)
        picture = Image.open(io.BytesIO(take(page, WIDTH, options.height, options.dark))).convert("RGB")
    picture.quantize(colors=256).save(options.picture, optimize=True)
    size = os.path.getsize(options.picture)
    print(f"{options.picture}: {picture.width} x {picture.height}, {size} bytes")
    return size > MOST_BYTES


if __name__ == "__main__":
    sys.exit(main())
