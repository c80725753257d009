# SPDX-License-Identifier: MIT
"""The tables of a results file, made of the rows of src/campaign/columns.def as the command makes them, for tests that fill them by hand."""
import pathlib
import re

_ROW = re.compile(r'^(CASE|APPLICATION)_(?:FIRST|COLUMN)\((\w+), "([^"]*)", ', re.M)
_ROWS = _ROW.findall((pathlib.Path(__file__).resolve().parents[2] / "src/campaign/columns.def").read_text(encoding="utf-8"))
# (name, SQL type) of the columns of each table
CASES = [(name, kind) for table, name, kind in _ROWS if table == "CASE"]
APPLICATIONS = [(name, kind) for table, name, kind in _ROWS if table == "APPLICATION"]


def _list(columns):
    return ", ".join(f"{name} {kind}" for name, kind in columns)


SCHEMA = f"""
CREATE TABLE campaigns(name TEXT PRIMARY KEY, summary TEXT NOT NULL, description TEXT NOT NULL);
CREATE TABLE members(campaign TEXT NOT NULL, ordinal INTEGER NOT NULL, key TEXT NOT NULL, PRIMARY KEY(campaign, ordinal));
CREATE TABLE cases({_list(CASES)});
CREATE TABLE applications({_list(APPLICATIONS)}, PRIMARY KEY(key, position));
"""
