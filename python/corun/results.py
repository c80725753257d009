# SPDX-License-Identifier: MIT
"""A results file of `corun campaign`, read only."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import sqlite3
import urllib.parse
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import numpy
from numpy.typing import NDArray

from .history import History

APPLICATION_ID = 0x636F7275
VERSION = 1
NOT_KNOWN = -1  # of integer columns; floating point columns have NaN

# Members of a result that had another name once: results files may still have it.
_FORMER_NAMES = {"apps": "applications", "params": "parameters"}
_FORMER_COUNTERS = {"context_bytes_out": "saved_bytes", "context_bytes_in": "restored_bytes"}
_FORMER_PARAMETERS = {"context_warp_bytes": "saved_warp_bytes", "context_tb_bytes": "saved_tb_bytes",
                      "context_interval": "save_interval", "context_packets": "save_packets"}

# A word of the column `applications`: one in quotes, or, as all were once, whatever stands between two blanks.
_APPLICATION = re.compile(r"(?:^|(?<= ))(?:'(?:[^']|'\\'')*'(?= |$)|[^ ]+)")
_PLAIN = re.compile(r"[-0-9:@A-Za-z+,./_%=\u0080-\U0010ffff]+")

_CASES = [("key", "O"), ("gpu", "O"), ("policy", "O"), ("applications", "O"), ("cycles", "i8"), ("seed", "i8"),
          ("isolated", "?"), ("status", "O"), ("message", "O"), ("ended", "O"), ("wall_seconds", "f8"), ("stp", "f8"),
          ("antt", "f8"), ("fairness", "f8"), ("energy_joules", "f8"), ("dram_utilisation", "f8"), ("icnt_utilisation", "f8")]
_APPLICATIONS = [("key", "O"), ("position", "i8"), ("workload", "O"), ("size", "O"), ("goal", "O"), ("goal_met", "i1"),
                 ("ipc", "f8"), ("ipc_isolated", "f8"), ("normalised_ipc", "f8"), ("runs", "i8"), ("cycles", "i8"),
                 ("thread_instructions", "i8"), ("goal_ipc", "f8"), ("goal_distance", "f8")]


class ResultsError(Exception):
    """The file is not there, damaged or not a results file; the text says which."""


class Campaign:
    """A campaign that the file knows. `asked` is the number of its cases, with those that have not run yet."""

    def __init__(self, name: str, summary: str, description: str, asked: int) -> None:
        self.name, self.summary, self.description, self.asked = name, summary, description, asked

    def __repr__(self) -> str:
        return f"Campaign({self.name!r}, {self.asked} cases)"


class Results:
    """Opens a results file; it is never written. Also while a campaign is running: what has ended is there.

        with corun.Results("goals.db") as results:
            cases = results.cases(campaign="goals-of-pairs", policy="even")
            print(corun.geometric_mean(cases["stp"]))
    """

    def __init__(self, path: Union[str, os.PathLike[str]] = "corun-results.db") -> None:
        self.path = os.fspath(path)
        if not os.path.isfile(self.path):
            raise ResultsError(f"{self.path}: " + ("this is no regular file" if os.path.exists(self.path) else "there is no such file"))
        with self._reading():
            self._database = self._open()
            identity = self._database.execute("PRAGMA application_id").fetchone()[0]
            version = self._database.execute("PRAGMA user_version").fetchone()[0]
        if identity != APPLICATION_ID:
            self.close()
            raise ResultsError(f"{self.path}: not a results file of corun")
        if version != VERSION:
            self.close()
            raise ResultsError(f"{self.path}: results of another version of corun ({version}, this one reads {VERSION})")

    def _open(self) -> sqlite3.Connection:
        address = "file:" + urllib.parse.quote(os.path.abspath(self.path))
        database = sqlite3.connect(address + "?mode=ro", uri=True, timeout=60)
        try:
            database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            # Write-ahead mode wants to make a file beside the database, which a folder may forbid that is only for reading.
            # Without a log, which would hold results, nobody is writing and the file is whole by itself.
            database.close()
            if os.path.exists(self.path + "-wal") and os.path.getsize(self.path + "-wal"):
                raise
            database = sqlite3.connect(address + "?immutable=1", uri=True)
            database.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return database

    @contextlib.contextmanager
    def _reading(self) -> Iterator[None]:
        """What stumbles over a damaged file says so: the database itself, or whoever takes what it has for text, a number, JSON."""
        try:
            yield
        except sqlite3.Error as error:
            raise ResultsError(f"{self.path}: {error}") from None
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise ResultsError(f"{self.path}: damaged: {type(error).__name__}: {error}") from None

    def close(self) -> None:
        self._database.close()

    def __repr__(self) -> str:
        return f"<corun.Results {self.path}>"

    def __enter__(self) -> Results:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _query(self, text: str, arguments: Sequence[Any] = ()) -> List[Any]:
        with self._reading():
            return self._database.execute(text, arguments).fetchall()

    def campaigns(self) -> List[Campaign]:
        """List of Campaign, by name."""
        return [Campaign(*row) for row in self._query(
            "SELECT name, summary, description, (SELECT count(DISTINCT key) FROM members WHERE campaign = name) "
            "FROM campaigns ORDER BY name")]

    @staticmethod
    def _filter(campaign: Optional[str], gpu: Optional[str], policy: Optional[str], isolated: Optional[bool],
                status: Optional[str]) -> Tuple[str, str, str, List[Any]]:
        """(tables and conditions, arguments); in the order of the campaign, or in that of the file."""
        arguments: List[Any] = []
        text = "cases"
        order = "cases.rowid"
        if campaign is not None:
            text += " JOIN (SELECT key, min(ordinal) AS ordinal FROM members WHERE campaign = ? GROUP BY key) USING(key)"
            arguments.append(campaign)
            order = "ordinal"
        conditions = []
        for column, value in (("gpu", gpu), ("policy", policy), ("status", status)):
            if value is not None:
                conditions.append(f"cases.{column} = ?")
                arguments.append(value)
        if isolated is not None:
            conditions.append("cases.isolated" if isolated else "NOT cases.isolated")
        return text, " WHERE " + (" AND ".join(conditions) or "1"), order, arguments

    def cases(self, campaign: Optional[str] = None, gpu: Optional[str] = None, policy: Optional[str] = None,
              isolated: Optional[bool] = False, status: Optional[str] = "finished") -> NDArray[Any]:
        """One row for each case, a numpy structured array with the columns of the table `cases` (docs/campaigns.md) but
        `result`. Every filter takes one value, or None for all; `isolated` is whether it is a run of one application alone
        that others are compared with. Numbers that are not known are NaN."""
        tables, conditions, order, arguments = self._filter(campaign, gpu, policy, isolated, status)
        columns = ", ".join(f"cases.{name}" for name, _ in _CASES)
        rows = self._query(f"SELECT {columns} FROM {tables}{conditions} ORDER BY {order}", arguments)
        with self._reading():
            return _array(rows, _CASES)

    def applications(self, campaign: Optional[str] = None, gpu: Optional[str] = None, policy: Optional[str] = None,
                     isolated: Optional[bool] = False, status: Optional[str] = "finished") -> NDArray[Any]:
        """One row for each application of each case, with the columns of the table `applications` and two of the full
        result: `goal_ipc` (thread instructions per cycle) and `goal_distance` (IPC / goal - 1). Filters as those of cases.
        `goal_met` is 1, 0 or NOT_KNOWN; `goal` is "" without one."""
        tables, conditions, order, arguments = self._filter(campaign, gpu, policy, isolated, status)
        columns = ", ".join(f"a.{name}" for name, _ in _APPLICATIONS[:-2])
        reached = ", ".join("CASE a.goal WHEN '' THEN NULL ELSE coalesce(" + ", ".join(
            f"json_extract(cases.result, '$.{member}[' || a.position || '].{name}')" for member in ("applications", "apps")) +
                            ") END" for name, _ in _APPLICATIONS[-2:])
        rows = self._query(f"SELECT {columns}, {reached} FROM {tables} JOIN applications AS a USING(key){conditions} "
                           f"ORDER BY {order}, a.position", arguments)
        with self._reading():
            return _array(rows, _APPLICATIONS)

    def model_versions(self, campaign: str) -> List[int]:
        """Versions of the timing model that the campaign's finished cases are of."""
        return [row[0] for row in self._query(
            "SELECT DISTINCT json_extract(result, '$.model_version') AS version FROM cases JOIN members USING(key) "
            "WHERE campaign = ? AND status = 'finished' AND version IS NOT NULL ORDER BY version", (campaign,))]

    def settled(self, campaign: str) -> List[Tuple[float, int, int]]:
        """(PART, core cycles that were simulated, window) of the campaign's finished cases that might end before their window did
        (docs/settling.md)."""
        return [(part, window if cycle is None else cycle, window) for part, cycle, window in self._query(
            "SELECT json_extract(result, '$.settled.part') AS part, json_extract(result, '$.settled.cycle'), cycles FROM cases "
            "JOIN members USING(key) WHERE campaign = ? AND status = 'finished' AND part IS NOT NULL", (campaign,))]

    def members(self, campaign: str) -> List[str]:
        """The keys of a campaign's cases in the order of its description, isolated runs first, with those that have not run."""
        return [row[0] for row in self._query("SELECT key FROM members WHERE campaign = ? ORDER BY ordinal", (campaign,))]

    def result(self, key: str) -> Optional[Dict[str, Any]]:
        """Everything about a finished case, as `corun run --json` writes it; None if there is no such case or it did not
        finish."""
        rows = self._query("SELECT result FROM cases WHERE key = ?", (key,))
        with self._reading():
            return _with_present_names(json.loads(rows[0][0])) if rows and rows[0][0] else None

    def history(self, key: str) -> Optional[History]:
        """The History of a finished case; None if there is no such case, it did not finish, or the file is from before there were
        histories."""
        rows = self._query("SELECT json_extract(result, '$.history'), json_array_length(result, '$.sms') FROM cases WHERE key = ?",
                           (key,))
        with self._reading():
            return History(_renamed(json.loads(rows[0][0])), rows[0][1]) if rows and rows[0][0] else None


def _renamed(members: Dict[str, Any], former: Dict[str, str] = _FORMER_NAMES) -> Dict[str, Any]:
    return {former.get(name, name): value for name, value in members.items()}


def _with_present_names(result: Dict[str, Any]) -> Dict[str, Any]:
    """The result as docs/json.md has it, also where the file is from before."""
    result = _renamed(result)
    for name in ("policy", "history"):
        if name in result:
            result[name] = _renamed(result[name])
    if "sms" in result:
        result["sms"] = [_renamed(sm) for sm in result["sms"]]
    if "gpu_parameters" in result:
        result["gpu_parameters"] = _renamed(result["gpu_parameters"], _FORMER_PARAMETERS)
    for application in result.get("applications", []):
        for kernel in application.get("kernels", []):
            kernel["counters"] = _renamed(kernel["counters"], _FORMER_COUNTERS)
    return result


def _array(rows: Sequence[Any], columns: List[Tuple[str, str]]) -> NDArray[Any]:
    table = numpy.empty(len(rows), dtype=columns)
    for place, (name, kind) in enumerate(columns):
        missing: Any = {"f8": numpy.nan, "O": ""}.get(kind, NOT_KNOWN)
        table[name] = [missing if row[place] is None else row[place] for row in rows]
    return table


def split_applications(text: str) -> List[str]:
    """The applications of a case (the column `applications`) one by one, without the quotes that some have there."""
    if "'" not in text:
        return text.split(" ")
    words = _APPLICATION.findall(text)
    return [word[1:-1].replace("'\\''", "'") if word[:1] == "'" == word[-1:] else word for word in words]


def join_applications(applications: Sequence[str]) -> str:
    """The column `applications` for these."""
    return " ".join(word if _PLAIN.fullmatch(word) else "'" + word.replace("'", "'\\''") + "'" for word in applications)


def goals_of(text: str) -> List[str]:
    """The goals of a case, "" without one, as in ["50%", ""]: from the column `applications`, so that cases that failed have
    theirs, too."""
    found = (re.search(r":goal=([^:]+)", application) for application in split_applications(text))
    return [goal[1] if goal else "" for goal in found]


def command_line(case: Any) -> str:
    """The command that runs a case again."""
    words = ["corun", "run", "--gpu", case["gpu"], "--policy", case["policy"], "--cycles", str(case["cycles"]), "--seed",
             str(case["seed"]), *split_applications(case["applications"])]
    return " ".join(shlex.quote(word) for word in words)
