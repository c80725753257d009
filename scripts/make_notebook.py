#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes python/examples/sharing.ipynb from sharing.py: make_notebook.py ROOT [--check]

A cell of the script (# %% TITLE) becomes a heading and a cell of code, the comment in front of the first the text at the top. With
--check, nothing is written, and a notebook that is not that of the script is an error.
"""
import json
import pathlib
import re
import sys


def lines(text):
    return text.strip("\n").splitlines(keepends=True)


def markdown(text):
    return {"cell_type": "markdown", "metadata": {}, "source": lines(text)}


def code(text):
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": lines(text)}


def notebook_of(script):
    head, *rest = re.split(r"^# %% (.*)\n", script, flags=re.M)
    cells = [markdown("# Sharing a GPU\n\n" + re.sub(r"^# ?", "", head, flags=re.M))]
    for title, text in zip(rest[::2], rest[1::2]):
        cells += [markdown("## " + title), code(text)]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}, "language_info": {"name": "python"}}
    return json.dumps({"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 4}, indent=1, ensure_ascii=False) + "\n"


def main():
    folder = pathlib.Path(sys.argv[1]) / "python/examples"
    text, path = notebook_of((folder / "sharing.py").read_text(encoding="utf-8")), folder / "sharing.ipynb"
    if "--check" not in sys.argv[2:]:
        path.write_text(text, encoding="utf-8")
    elif not path.exists() or path.read_text(encoding="utf-8") != text:
        sys.exit(f"{path} is not what sharing.py makes of it: scripts/make_notebook.py {sys.argv[1]}")


main()
