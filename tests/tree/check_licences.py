#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every source file names its licence, in a comment on its first line (behind #!): check_licences.py ROOT [--write]

With --write the line is added where it is missing.
"""
import os
import pathlib
import re
import sys

LINE = "SPDX-License-Identifier: MIT"
# Comments by the ending of a file, or by its name.
COMMENTS = {**dict.fromkeys((".c", ".h", ".def", ".cu", ".cuh", ".cu.in"), f"/* {LINE} */"),
            **dict.fromkeys((".py", ".sh", ".cmake", "CMakeLists.txt", "Makefile", "Containerfile", ".pc.in", "debian/rules", ".ci/run"),
                            f"# {LINE}"),
            **dict.fromkeys((".map", ".map.in"), f"/* {LINE} */")}
NOT_SOURCES = re.compile(r"^(\.git|build.*|try|\..*_cache|__pycache__)$")


def sources(root):
    """Path from ROOT and comment of each."""
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not NOT_SOURCES.match(name))
        for name in sorted(files):
            path = pathlib.Path(folder, name)
            comment = next((text for ending, text in COMMENTS.items() if path.as_posix().endswith(ending)), None)
            if comment and not path.is_symlink():
                yield path, comment


def place(text):
    """Where the line belongs: at the beginning, or behind #!."""
    return text.find("\n") + 1 if text.startswith("#!") else 0


def main(root, *options):
    complaints, count = [], 0
    for path, comment in sources(root):
        text = path.read_text(encoding="utf-8")
        at = place(text)
        count += 1
        if text[at:].startswith(comment + "\n"):
            continue
        if "--write" in options:
            path.write_text(text[:at] + comment + "\n" + text[at:], encoding="utf-8")
        else:
            complaints.append(f"{path.relative_to(root)}: the first line is not: {comment}")
    for complaint in complaints:
        print(complaint)
    return 1 if complaints or count < 100 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
