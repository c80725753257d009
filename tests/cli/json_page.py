# SPDX-License-Identifier: MIT
"""docs/json.md, section by section, beside JSON that was written."""

import pathlib
import re

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "json.md"


def differences(heading, value):
    """(members that are written but not in the section, members that are only in the section)"""
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    known = {name for cell in re.findall(r"^\| (`.*?) \|", section, re.M) for name in re.findall(r"`([^`]+)`", cell)}
    found = set()

    def walk(value, path):
        if f"{path}.*" in known or f"{path}.*[]" in known:
            found.add(f"{path}.*" if f"{path}.*" in known else f"{path}.*[]")
        elif isinstance(value, dict):
            for name, one in value.items():
                walk(one, f"{path}.{name}" if path else name)
        elif isinstance(value, list) and value:
            walk(value[0], path + "[]")
        elif isinstance(value, list):
            found.add(path + "[]")
        else:
            found.add(path)

    walk(value, "")
    parents = {name for name in known if any(other.startswith((name + ".", name + "[")) for other in known)}
    return sorted(found - known), sorted(known - found - parents)
