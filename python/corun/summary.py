# SPDX-License-Identifier: MIT
"""What a report says, as numbers: sections (campaigns) of blocks (a GPU and a number of applications) of groups (a policy,
and a policy under one goal). Tables, JSON and the page are made from this and from nothing else."""

from __future__ import annotations

import functools
import re
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy
from numpy.typing import NDArray

from . import metrics
from .results import Campaign, Results, command_line, goals_of, split_applications


class Group:
    """Cases that are summed up in one row."""

    def __init__(self, policy: str, goal: Optional[str], cases: NDArray[Any], applications: NDArray[Any]) -> None:
        self.policy, self.goal = policy, goal  # goal: None when it is about all of them
        self.cases = cases
        self.finished = cases[cases["status"] == "finished"]
        keys = set(self.finished["key"])
        self.applications = applications[numpy.array([key in keys for key in applications["key"]], bool)]

    def count(self, status: str) -> int:
        return int(numpy.count_nonzero(self.cases["status"] == status))

    def known(self, column: str) -> NDArray[Any]:
        """The numbers of a column, less those that are not known."""
        values: NDArray[Any] = self.finished[column]
        return numpy.compress(~numpy.isnan(values), values)

    def antt(self) -> float:
        """An application that stands still makes it infinite, which the file has no number for."""
        values = self.known("antt")
        return float("inf") if self.standstill() else metrics.mean(values)

    def standstill(self) -> int:
        """Cases in which an application made no progress."""
        return len(set(self.applications["key"][self.applications["normalised_ipc"] == 0]))

    @functools.cached_property
    def numbers(self) -> Dict[str, Union[int, float]]:
        """{name: number}; a number that there is not is NaN. docs/reports.md says what each is."""
        stp = self.known("stp")
        return {
            "cases": len(self.cases),
            "finished": len(self.finished),
            "failed": self.count("failed"),
            "lost": self.count("lost"),
            "stp_geomean": metrics.geometric_mean(stp),
            "stp_min": float(stp.min()) if stp.size else float("nan"),
            "stp_p25": metrics.percentile(stp, 25),
            "stp_median": metrics.percentile(stp, 50),
            "stp_p75": metrics.percentile(stp, 75),
            "stp_max": float(stp.max()) if stp.size else float("nan"),
            "antt": self.antt(),
            "standstill": self.standstill(),
            "fairness": metrics.mean(self.known("fairness")),
            "dram_utilisation": metrics.mean(self.known("dram_utilisation")),
            "energy_joules": metrics.mean(self.known("energy_joules")),
            "cases_with_goal": len(metrics.cases_met(self.applications)),
            "cases_met": sum(metrics.cases_met(self.applications).values()),
            "qos_reach": metrics.qos_reach(self.applications),
            "overshoot": metrics.overshoot(self.applications),
            "best_effort": metrics.best_effort_throughput(self.applications),
        }


class Block:
    """Cases that may be compared: one GPU, one number of applications."""

    def __init__(self, gpu: str, size: int, cases: NDArray[Any], applications: NDArray[Any]) -> None:
        self.gpu, self.size = gpu, size
        goals = numpy.array([goal_label(text) for text in cases["applications"]], object)
        self.goals = sorted(set(goals) - {""}, key=goal_order)
        self.policies = [Group(policy, None, cases[cases["policy"] == policy], applications)
                         for policy in dict.fromkeys(cases["policy"])]
        self.by_goal = [Group(policy, goal, cases[(cases["policy"] == policy) & (goals == goal)], applications)
                        for policy in dict.fromkeys(cases["policy"]) for goal in self.goals]

    def of_policy(self, policy: str) -> List[Group]:
        """Its groups, one for each goal, in the order of the goals."""
        return [group for group in self.by_goal if group.policy == policy]

    def title(self) -> str:
        return f"{self.gpu}, {self.size} applications" if self.size > 1 else f"{self.gpu}, one application"


class Section:
    """A campaign, or everything that the file has."""

    def __init__(self, results: Results, campaign: Optional[Campaign]) -> None:
        name = campaign.name if campaign else None
        self.name = name or "all cases"
        self.campaign = campaign
        self.cases = results.cases(campaign=name, status=None)
        self.isolated = results.cases(campaign=name, isolated=True, status=None)
        self.isolated_applications = results.applications(campaign=name, isolated=True)
        self.applications = results.applications(campaign=name)
        self.asked = campaign.asked if campaign else len(self.cases) + len(self.isolated)
        self.missing = max(0, self.asked - len(self.cases) - len(self.isolated))
        sizes = numpy.array([len(split_applications(text)) for text in self.cases["applications"]], int)
        self.blocks = []
        for gpu in dict.fromkeys(self.cases["gpu"]):
            for size in sorted(set(sizes[self.cases["gpu"] == gpu])):
                chosen = (self.cases["gpu"] == gpu) & (sizes == size)
                keys = set(self.cases["key"][chosen])
                members = numpy.array([key in keys for key in self.applications["key"]], bool)
                self.blocks.append(Block(gpu, int(size), self.cases[chosen], self.applications[members]))

    def is_of_another_command(self) -> bool:
        """Whether the cases are of another command than corun run: those have no window."""
        return bool(len(self.cases)) and not self.cases["cycles"].any()

    def counts(self) -> Dict[str, int]:
        """{status: number}, isolated runs included."""
        both = list(self.cases["status"]) + list(self.isolated["status"])
        return {"asked": self.asked, "finished": both.count("finished"), "failed": both.count("failed"),
                "lost": both.count("lost"), "missing": self.missing}


def goal_label(applications: str) -> str:
    """"50%", "25% + 25%", or "" without a goal."""
    return " + ".join(goal for goal in goals_of(applications) if goal)


def goal_order(label: str) -> Tuple[int, List[float], str]:
    return (label.count("+"), [float(number) for number in re.findall(r"\d+\.?\d*(?:e[-+]?\d+)?", label)], label)


def sections(results: Results, campaign: Optional[str] = None) -> List[Section]:
    """One Section for each campaign of the file, or that one; LookupError if there is no such campaign."""
    known = results.campaigns()
    if campaign is not None:
        known = [one for one in known if one.name == campaign]
        if not known:
            raise LookupError(campaign)
    return [Section(results, one) for one in known] if known else [Section(results, None)]


def as_data(parts: Sequence[Section]) -> Dict[str, Any]:
    """The report as plain lists and dicts, for JSON: numbers that there are not are None."""
    def clean(numbers: Dict[str, Union[int, float]]) -> Dict[str, Union[int, float, None]]:
        return {name: None if isinstance(value, float) and not numpy.isfinite(value) else value
                for name, value in numbers.items()}

    def rows(groups: Sequence[Group]) -> List[Dict[str, Any]]:
        return [{"policy": group.policy, "goal": group.goal, **clean(group.numbers)} for group in groups]

    def cases(section: Section) -> List[Dict[str, Any]]:
        members: Dict[str, List[Dict[str, Any]]] = {}
        for row in section.applications:
            members.setdefault(row["key"], []).append({name: _plain(row[name]) for name in row.dtype.names if name != "key"})
        return [{**{"mix" if name == "applications" else name: _plain(case[name]) for name in case.dtype.names},
                 "command": command_line(case), "applications": members.get(case["key"], [])} for case in section.cases]

    return {"sections": [{
        "campaign": section.campaign.name if section.campaign else None,
        "summary": section.campaign.summary if section.campaign else "",
        **section.counts(),
        "blocks": [{"gpu": block.gpu, "applications": block.size, "policies": rows(block.policies), "goals": rows(block.by_goal)}
                   for block in section.blocks],
        "cases": cases(section),
    } for section in parts]}


def _plain(value: Any) -> Any:
    """A cell of a structured array as JSON has it."""
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not numpy.isfinite(value) else value
