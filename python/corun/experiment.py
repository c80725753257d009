# SPDX-License-Identifier: MIT
"""An experiment: a figure or a table of a paper, what of it is computed from our results, and how both compare
(docs/experiments.md). `corun reproduce` reads the YAML file and hands it over as JSON in which every text knows its place."""

import fnmatch
import hashlib
import inspect
import json
import math
import re

from . import experiment_metrics as em
from . import experiment_predictions, experiment_queues
from .results import join_applications, split_applications


class ExperimentError(Exception):
    """Something in the file is wrong; the text begins with FILE:LINE:COLUMN."""


class Node:
    """A text, a list or a map of the file, with its place."""

    def __init__(self, path, data):
        self.path = path
        self.line, self.column, value = data
        if isinstance(value, str):
            self.value = value
        elif isinstance(value, list):
            self.value = [Node(path, one) for one in value]
        else:
            self.value = {key: Node(path, one) for key, one in value["keys"]}

    def wrong(self, text):
        return ExperimentError(f"{self.path}:{self.line}:{self.column}: {text}")

    def text(self):
        if not isinstance(self.value, str):
            raise self.wrong("expected a text")
        return self.value

    def list(self):
        if not isinstance(self.value, list):
            raise self.wrong("expected a list")
        return self.value

    def map(self):
        if not isinstance(self.value, dict):
            raise self.wrong("expected a map")
        return self.value

    def get(self, key):
        """None if the map has no such key."""
        return self.map().get(key)

    def text_of(self, key, initial=None):
        node = self.get(key)
        return node.text() if node is not None else initial


# What says which number is meant; a figure, a point and a series each may say some of it, the series last.
WHICH = {
    "metric": "what is computed of each case",
    "over": "how the cases become one number",
    "part": "of which campaign",
    "policy": "a policy as in the campaign; a pattern like fixed:* together with choose",
    "choose": "of several policies, for each mix: best, worst or meets",
    "gpu": "a GPU as in the campaign",
    "class": "classes of the mix in any order, as in C+M",
    "roles": "classes of the mix in its order",
    "goal": "the goal, as in 50% or 25% + 25%",
    "application": "a workload of the mix",
    "mix": "the workloads of the mix, as in lbm+spmv",
    "alone": "true: isolated runs",
    "relative": "a map of these keys: each case is divided by that of the same mix there",
    "against": "a map of these keys: what the whole number is compared with",
    "compare": "with against: ratio, change (the initial one) or difference",
    "neutral": "the value that means no effect",
}
COMPARISONS = {"ratio": (lambda ours, other: ours / other if other else math.nan, 1.0),
               "change": (lambda ours, other: ours / other - 1 if other else math.nan, 0.0),
               "difference": (lambda ours, other: ours - other, 0.0)}
FIGURE_KEYS = {"name", "title", "source", "unit", "kind", "value", "points", "series"}
KINDS = ("bars", "lines", "distribution")
# Of a figure that is a table, made of the results of other commands than corun run.
TABLE_KEYS = {"name", "title", "source", "table", "parts", "paper"}
TABLES = {"queue": experiment_queues.TABLES, "predict": experiment_predictions.TABLES}
RUN = "run"
CHOICES = ("best", "worst", "meets")


class Paper:
    """What the paper says: a number, or only the direction of the effect, or nothing."""

    def __init__(self, node):
        self.value, self.sign = None, None
        text = node.text() if node is not None else "?"
        if text in ("+", "-"):
            self.sign = 1 if text == "+" else -1
        elif text != "?":
            self.value = number_of(text)
            if self.value is None:
                raise node.wrong(f"'{text}' is no number of a paper: a number, a percentage, + or - (only the direction), or ?")

    def effect_sign(self, neutral):
        if self.sign is not None:
            return self.sign
        if self.value is None or neutral is None:
            return None
        return sign_of(self.value - neutral)


def number_of(text):
    """1.14 and 0.884 of "1.14" and "88.4%"; None if it is no number."""
    found = re.fullmatch(r"([+-]?\d+(?:\.\d+)?)\s*(%?)", text.strip())
    return float(found[1]) / (100 if found[2] else 1) if found else None


def sign_of(value):
    return (value > 0) - (value < 0)


class Which:
    """Which number: keys of WHICH."""

    def __init__(self, nodes, place):
        self.nodes, self.place = nodes, place

    @staticmethod
    def check(node, others=()):
        for key, entry in node.map().items():
            if key not in WHICH and key not in others:
                known = ", ".join([*sorted(others), *WHICH])
                raise entry.wrong(f"unknown key '{key}' (known here: {known})")

    @staticmethod
    def keys_of(node):
        return {key: entry for key, entry in node.map().items() if key in WHICH}

    def text(self, key, initial=None):
        return self.nodes[key].text() if key in self.nodes else initial

    def flag(self, key):
        text = self.text(key, "false")
        if text not in ("true", "false"):
            raise self.nodes[key].wrong("expected true or false")
        return text == "true"

    def with_nodes(self, nodes, without=()):
        return Which({**{key: node for key, node in self.nodes.items() if key not in without}, **nodes}, self.place)

    def neutral(self):
        if "neutral" in self.nodes:
            value = number_of(self.text("neutral"))
            if value is None:
                raise self.nodes["neutral"].wrong("expected a number")
            return value
        if "against" in self.nodes:
            return COMPARISONS[self.text("compare", "change")][1]
        return 1.0 if "relative" in self.nodes else None


class Cell:
    """One number of a figure: the paper's, and which of ours."""

    def __init__(self, figure, series, point, which, paper):
        self.figure, self.series, self.point, self.which, self.paper = figure, series, point, which, paper


class Figure:
    table = None

    def __init__(self, experiment, node):
        if not set(node.map()) <= FIGURE_KEYS:
            odd = next(entry for key, entry in node.map().items() if key not in FIGURE_KEYS)
            raise odd.wrong(f"unknown key here (known: {', '.join(sorted(FIGURE_KEYS))})")
        self.name = name_of_figure(node)
        self.title, self.source = node.text_of("title", self.name), node.text_of("source", "")
        self.unit, self.kind = node.text_of("unit", ""), node.text_of("kind", "bars")
        if self.kind not in KINDS:
            raise node.get("kind").wrong(f"there is no kind '{self.kind}'; there are: {', '.join(KINDS)}")
        base = {}
        if node.get("value") is not None:
            Which.check(node.get("value"))
            base = Which.keys_of(node.get("value"))
        self.points = self._points(node)
        self.series, self.cells = [], []
        if node.get("series") is None or not node.get("series").list():
            raise node.wrong("a figure needs 'series'")
        for series in node.get("series").list():
            self._add_series(experiment, base, series)

    @staticmethod
    def _points(node):
        """[(label, nodes)]"""
        points = node.get("points")
        if points is None:
            return [("", {})]
        if isinstance(points.value, dict):
            if len(points.value) != 1 or not set(points.value) <= set(WHICH):
                raise points.wrong("expected a list of points, or one key with its values, as in {goal: [50%, 60%]}")
            (key, values), = points.value.items()
            return [(one.text(), {key: one}) for one in values.list()]
        found = []
        for point in points.list():
            Which.check(point, {"label"})
            if point.get("label") is None:
                raise point.wrong("a point needs a 'label'")
            found.append((point.text_of("label"), Which.keys_of(point)))
        return found

    def _add_series(self, experiment, base, node):
        Which.check(node, {"name", "paper"})
        name = node.text_of("name", "")
        self.series.append(name)
        paper = node.get("paper")
        if paper is None:
            papers = [None] * len(self.points)
        elif isinstance(paper.value, str):
            papers = [paper]
        else:
            papers = paper.list()
        if len(papers) != len(self.points):
            raise paper.wrong(f"{len(papers)} numbers of the paper for {len(self.points)} points")
        own = Which.keys_of(node)
        for (label, nodes), said in zip(self.points, papers):
            which = Which({**base, **nodes, **own}, node)
            experiment.check(which)
            self.cells.append(Cell(self, name, label, which, Paper(said)))

    def of(self, series, point):
        return next(cell for cell in self.cells if cell.series == series and cell.point == point)


class TableFigure:
    """A table of an experiment whose cases are of another command than `corun run`: what makes it is named, and of which parts."""

    cells, series, points, kind, unit = (), (), (("", {}),), "table", ""

    def __init__(self, experiment, node):
        if not set(node.map()) <= TABLE_KEYS:
            odd = next(entry for key, entry in node.map().items() if key not in TABLE_KEYS)
            raise odd.wrong(f"unknown key of a table (known: {', '.join(sorted(TABLE_KEYS))})")
        self.name = name_of_figure(node)
        self.title, self.source = node.text_of("title", self.name), node.text_of("source", "")
        parts = node.get("parts")
        self.parts = [experiment.command_part(one) for one in parts.list()] if parts is not None else list(experiment.parts.values())
        tables = TABLES.get(self.parts[0].command, {}) if self.parts else {}
        if node.text_of("table") not in tables:
            raise node.get("table").wrong(f"there is no table '{node.text_of('table')}'; there are: {', '.join(tables) or 'none'}")
        self.table = tables[node.text_of("table")]
        needed = self.table.__code__.co_argcount - 1
        if len(self.parts) < needed or (len(self.parts) > needed and not self.table.__code__.co_flags & inspect.CO_VARARGS):
            raise node.wrong(f"the table '{node.text_of('table')}' is made of {needed} parts, and here are {len(self.parts)}")
        self.paper = {}  # what the paper says, as the table wants it: texts, or lists of them
        for key, said in (node.get("paper").map() if node.get("paper") is not None else {}).items():
            self.paper[key] = [one.text() for one in said.list()] if isinstance(said.value, list) else said.text()

    def blocks(self, evaluation):
        """Texts and (titles, rows)."""
        outcomes = [evaluation.outcomes[part.name] for part in self.parts]
        return self.table(self, *outcomes) if all(outcomes) else ["No case that this needs has finished."]


class Outcome:
    """A case of another command than `corun run`, with its result."""

    def __init__(self, gpu, arguments, options, result):
        self.gpu, self.arguments, self.options, self.result = gpu, arguments, options, result


def name_of_figure(node):
    name = node.text_of("name", "")
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name):
        raise (node.get("name") or node).wrong("a figure needs a 'name' of small letters, digits and '-'")
    return name


def words_of(case):
    """(GPU, policy, applications, whether it is an isolated run)"""
    return case[0], case[1], tuple(case[2]), case[3]


class Part:
    """A campaign of the experiment."""

    def __init__(self, experiment, data, description):
        self.name, self.campaign = data["name"], data["campaign"]
        self.combinations, self.sampled = data["combinations"], data["sampled"]
        self.cases = [words_of(case) for case in data["cases"]]
        self.drawn = [words_of(case) for case in data.get("drawn", ())]  # of which a page has a digest
        self.options = [dict(case[4]) if len(case) > 4 else {} for case in data["cases"]]  # of other commands than corun run
        self.command = experiment.text(description, "command", RUN)
        self.policies = experiment.names(description, "policies", "left-over")
        self.gpus = experiment.names(description, "gpus", "gtx980")


class Experiment:
    """As `corun reproduce` hands it over."""

    def __init__(self, text):
        data = json.loads(text)
        self.tree = Node(data["path"], data["tree"])
        self.path, self.cycles = data["path"], data["cycles"]
        for key in ("name", "title", "paper", "section", "shows", "remarks", "paper_cases"):
            setattr(self, key, (self.tree.text_of(key) or "").strip())
        paper_cycles = self.tree.text_of("paper_cycles")
        self.paper_cycles = cycles_of(paper_cycles) if paper_cycles else None
        self.classes = {}  # workload: class
        if self.tree.get("classes") is not None:
            for name, members in self.tree.get("classes").map().items():
                self.classes.update({member.text(): name for member in members.list()})
        parts = self.tree.get("parts")
        descriptions = parts.list() if parts is not None else [None]
        self.parts = {one["name"]: Part(self, one, description) for one, description in zip(data["parts"], descriptions)}
        self.figures = [(TableFigure if node.get("table") is not None else Figure)(self, node) for node in self.tree.get("figures").list()]
        names = [figure.name for figure in self.figures]
        for figure in self.figures:
            if names.count(figure.name) > 1:
                raise self.tree.get("figures").wrong(f"there are two figures '{figure.name}'")

    def text(self, description, key, initial):
        for node in (description, self.tree.get("campaign")):
            if node is not None and node.get(key) is not None:
                return node.text_of(key)
        return initial

    def command_part(self, node):
        """That a table is made of."""
        part = self.parts.get(node.text())
        if part is None:
            raise node.wrong(f"there is no part '{node.text()}'; there are: {', '.join(self.parts)}")
        return part

    def names(self, description, key, initial):
        for node in (description, self.tree.get("campaign")):
            if node is not None and node.get(key) is not None:
                return [one.text() for one in node.get(key).list()]
        return [initial]

    def class_of(self, workload):
        """That of "lbm,n=5", or else that of "lbm"; None if it has none."""
        return self.classes.get(workload, self.classes.get(workload.split(",")[0]))

    def part_of(self, which):
        name = which.text("part")
        if name is None and len(self.parts) == 1:
            return next(iter(self.parts.values()))
        if name is None:
            raise which.place.wrong(f"of which part? There are: {', '.join(self.parts)}")
        if name not in self.parts:
            raise which.nodes["part"].wrong(f"there is no part '{name}'; there are: {', '.join(self.parts)}")
        return self.parts[name]

    def check(self, which):
        """Everything that can be said before anything has run."""
        part = self.part_of(which)
        if part.command != RUN:
            raise which.place.wrong(f"this part has cases of corun {part.command}: its figures are tables, with the key 'table'")
        for key, function in (("metric", em.metric), ("over", em.statistic)):
            if key not in which.nodes:
                raise which.place.wrong(f"'{key}' is said nowhere: {WHICH[key]}")
            try:
                function(which.text(key))
            except em.Unknown as error:
                raise which.nodes[key].wrong(str(error)) from None
        choose = which.text("choose")
        if choose is not None and choose not in CHOICES:
            raise which.nodes["choose"].wrong(f"expected one of {', '.join(CHOICES)}")
        self._check_place(which, part)
        which.flag("alone")
        known = set(self.classes.values())
        for key in ("class", "roles"):
            for name in (which.text(key) or "").split("+") if key in which.nodes else []:
                if name not in known:
                    raise which.nodes[key].wrong(f"there is no class '{name}'; there are: {', '.join(sorted(known)) or 'none'}")
        if which.text("compare", "change") not in COMPARISONS:
            raise which.nodes["compare"].wrong(f"expected one of {', '.join(COMPARISONS)}")
        which.neutral()
        for key in ("against", "relative"):
            if key in which.nodes:
                Which.check(which.nodes[key])
                self.check(self.other(which, key))

    def metrics_of(self, which):
        """Names of the metrics that a number is made of."""
        found = {which.text("metric")}
        if which.text("choose") == "meets":
            found |= {"goal-met", "best-effort-of-all", "goal-distance"}
        for key in ("against", "relative"):
            if key in which.nodes:
                found |= self.metrics_of(self.other(which, key))
        return found

    def _check_place(self, which, part):
        policy, gpu = which.text("policy"), which.text("gpu")
        if which.flag("alone"):  # no policy has anything to decide there
            policy = None
        if policy is not None and not fnmatch.filter(part.policies, policy) and policy not in part.policies:
            raise which.nodes["policy"].wrong(f"the campaign has no policy '{policy}'; it has: {', '.join(part.policies)}")
        if policy is None and len(part.policies) > 1 and not which.flag("alone"):
            raise which.place.wrong(f"which policy? There are: {', '.join(part.policies)}")
        if gpu is not None and gpu not in part.gpus:
            raise which.nodes["gpu"].wrong(f"the campaign has no GPU '{gpu}'; it has: {', '.join(part.gpus)}")
        if gpu is None and len(part.gpus) > 1:
            raise which.place.wrong(f"which GPU? There are: {', '.join(part.gpus)}")

    @staticmethod
    def other(which, key):
        """What `against` or `relative` say it is compared with."""
        without = {"against": ("against", "compare", "neutral"), "relative": ("relative", "against", "compare", "neutral")}
        return which.with_nodes(Which.keys_of(which.nodes[key]), without[key])


def cycles_of(text):
    factor = {"K": 10 ** 3, "M": 10 ** 6, "G": 10 ** 9}.get(text[-1:], 1)
    return int(text.rstrip("KMG")) * factor


class Number:
    """A cell with what we found."""

    def __init__(self, cell, value, cases, part, reasons, values):
        self.cell, self.value, self.cases, self.part, self.reasons = cell, value, cases, part, reasons
        self.values = values  # of the single cases
        self.neutral = cell.which.neutral()

    @property
    def known(self):
        return self.value is not None and math.isfinite(self.value)

    @property
    def same_sign(self):
        """True, False, or None where no sign is defined."""
        said = self.cell.paper.effect_sign(self.neutral)
        if not self.known or said in (None, 0) or (self.neutral is None and self.cell.paper.sign is None):
            return None
        return sign_of(self.value - (self.neutral or 0)) == said

    @property
    def effect_ratio(self):
        """Our effect / the paper's; without a neutral value, our number / the paper's. None where that is not defined."""
        said, zero = self.cell.paper.value, self.neutral or 0
        if not self.known or said is None or said == zero:
            return None
        return (self.value - zero) / (said - zero)


class Evaluation:
    """The numbers of an experiment from a results file."""

    def __init__(self, experiment, results):
        self.experiment, self.results = experiment, results
        self.cases, self.failures, self.complete = {}, {}, {}
        self.outcomes = {}  # of each part with cases of another command than corun run
        self.models = set()  # versions of the timing model that these are of
        self.settled = []  # (PART, core cycles until it settled, window) of the cases that might end before their window did
        self.windows = set()
        self.metrics = sorted({name for figure in experiment.figures for cell in figure.cells
                               for name in experiment.metrics_of(cell.which)})
        for part in experiment.parts.values():
            if part.command == RUN:
                self._load(part)
            else:
                self._load_outcomes(part)
        self.numbers = {cell: self._number(cell) for figure in experiment.figures for cell in figure.cells}

    def _load(self, part):
        cases, failures = [], []
        self.models.update(self.results.model_versions(part.campaign))
        self.settled += self.results.settled(part.campaign)
        for row in self._rows(part):
            if row["status"] != "finished":
                failures.append((row["applications"], row["policy"], row["status"], row["message"]))
                continue
            self.windows.add(int(row["cycles"]))
            cases.append(em.Case(row, lambda key=row["key"]: self.results.result(key)))
            cases[-1].compute(self.metrics)
        shared = [case for case in cases if not case.isolated]
        expected = {(gpu, policy) for gpu in part.gpus for policy in part.policies}
        self.cases[part.name], self.failures[part.name] = cases, failures
        self.complete[part.name] = {
            False: complete(shared, lambda case: (case.gpu, case.policy), expected),
            True: complete([case for case in cases if case.isolated], lambda case: case.gpu, set(part.gpus))}

    def _load_outcomes(self, part):
        self.outcomes[part.name], self.failures[part.name], self.complete[part.name] = [], [], {False: set(), True: set()}
        options = dict(zip(self.results.members(part.campaign), part.options))
        for row in self._rows(part):
            if row["status"] != "finished":
                self.failures[part.name].append((row["applications"], row["policy"], row["status"], row["message"]))
                continue
            result = self.results.result(row["key"])
            self.models.add(result.get("model_version"))
            self.complete[part.name][False].add(row["key"])
            self.outcomes[part.name].append(Outcome(row["gpu"], split_applications(row["applications"]), options.get(row["key"], {}), result))

    def _rows(self, part):
        """The cases of the results file that belong to the part, in the part's own words: what is in the file is known by its
        content, and may have been put there in other words by another experiment. If the file has another sample than the one
        that is asked for, its words must do."""
        rows = {row["key"]: row for row in self.results.cases(campaign=part.campaign, isolated=None, status=None)}
        keys = self.results.members(part.campaign)
        if len(keys) != len(part.cases):
            return list(rows.values())
        found = []
        for key, (gpu, policy, applications, isolated) in zip(keys, part.cases):
            if key in rows:
                row = rows[key].copy()
                row["gpu"], row["policy"], row["applications"], row["isolated"] = gpu, policy, join_applications(applications), isolated
                found.append(row)
        return found

    def gpus(self):
        """Names of the GPUs, without what is changed of them."""
        found = {gpu.split(":")[0] for part in self.experiment.parts.values() if part.command == RUN for gpu in part.gpus}
        found |= {outcome.gpu.split(":")[0] for outcomes in self.outcomes.values() for outcome in outcomes}
        return sorted(found)

    def digits(self):
        """(number of drawn cases, digest of what they computed), by which another version of the timing model can be held
        against this one without all cases: instructions and cycles of every application, the way of data in the machine. None if
        they have not all finished, and of other commands than corun run."""
        digest, count = hashlib.sha256(), 0
        for part in self.experiment.parts.values():
            if part.command != RUN or not part.drawn:
                return None
            rows = {}
            for row in self._rows(part):
                rows[(row["gpu"], row["policy"], tuple(split_applications(row["applications"])), bool(row["isolated"]))] = row
            applications = {}
            for row in self.results.applications(campaign=part.campaign, isolated=None):
                applications.setdefault(row["key"], []).append((row["thread_instructions"], row["cycles"], row["runs"]))
            for words in part.drawn:
                row = rows.get(words)
                if row is None or row["status"] != "finished":
                    return None
                digest.update(repr((words, int(row["cycles"]), [tuple(map(int, one)) for one in applications[row["key"]]],
                                    float(row["dram_utilisation"]), float(row["icnt_utilisation"]))).encode())
                count += 1
        return count, digest.hexdigest()[:16]

    def finished(self, part):
        """Combinations of mix and goals that have finished everywhere."""
        shared = self.complete[part.name][False]
        return len(shared) if shared or not self.complete[part.name][True] else len(self.complete[part.name][True])

    def _members(self, which):
        """The cases that are meant, one for each combination of mix and goals, or several with `choose`."""
        part, alone = self.experiment.part_of(which), which.flag("alone")
        policy, gpu = which.text("policy"), which.text("gpu")
        found = {}
        for case in self.cases[part.name]:
            if case.isolated != alone or case.combination not in self.complete[part.name][alone]:
                continue
            if gpu is not None and case.gpu != gpu:
                continue
            if policy is not None and not alone and case.policy != policy and not fnmatch.fnmatchcase(case.policy, policy):
                continue
            if self._is_meant(which, case):
                found.setdefault(case.combination, []).append(case)
        return found

    def _is_meant(self, which, case):
        classes = [self.experiment.class_of(name) for name in case.applications]
        application, mix = which.text("application"), which.text("mix")
        goal = which.text("goal")
        if "class" in which.nodes and sorted(map(str, classes)) != sorted(which.text("class").split("+")):
            return False
        if "roles" in which.nodes and list(map(str, classes)) != which.text("roles").split("+"):
            return False
        if application is not None and application not in case.applications:
            return False
        if mix is not None and sorted(mix.split("+")) != sorted(case.applications):
            return False
        return goal is None or case.goal == goal

    def _values(self, which):
        """{combination: number}, and {why others have none: how many}."""
        values, reasons = self._own_values(which)
        if "relative" not in which.nodes:
            return values, reasons
        others, more = self._own_values(self.experiment.other(which, "relative"))
        found = {}
        for combination, value in values.items():
            if others.get(combination):
                found[combination] = value / others[combination]
        without = len(values) - len(found)
        if without:
            reasons["there is nothing, or nothing but 0, to divide it by"] = without
        return found, {**more, **reasons}

    def _own_values(self, which):
        metric, choose = which.text("metric"), which.text("choose")
        values, reasons = {}, {}
        for combination, cases in self._members(which).items():
            found, why = [], None
            try:
                chosen = least_that_meets(cases) if choose == "meets" else cases
            except em.Undefined as error:
                chosen, why = [], str(error)
            for case in chosen:
                try:
                    found.append(case.value(metric))
                except em.Undefined as error:
                    why = str(error)
            if found:
                values[combination] = max(found) if choose == "best" else min(found) if choose == "worst" else found[0]
            elif why:
                reasons[why] = reasons.get(why, 0) + 1
        return values, reasons

    def _number(self, cell):
        which = cell.which
        part, over = self.experiment.part_of(which), em.statistic(which.text("over"))
        values, reasons = self._values(which)
        numbers = list(values.values())
        if "against" not in which.nodes:
            return Number(cell, over(numbers) if numbers else None, len(numbers), part, reasons, numbers)
        other = self.experiment.other(which, "against")
        others, more = self._values(other)
        reasons = {**more, **reasons}
        if not values or not others:
            return Number(cell, None, 0, part, reasons, [])
        compare, _ = COMPARISONS[which.text("compare", "change")]
        value = compare(over(numbers), em.statistic(other.text("over"))(list(others.values())))
        return Number(cell, value, min(len(values), len(others)), part, reasons, numbers)


def complete(cases, place, expected):
    """Combinations of which there is a case at every expected place."""
    found = {}
    for case in cases:
        found.setdefault(case.combination, set()).add(place(case))
    return {combination for combination, places in found.items() if expected <= places}


def least_that_meets(cases):
    """Of one mix under several policies: the case that meets its goals with the most for the applications without one; if none
    does, the one that comes closest to its goals. The fixed split that a search would have found."""
    met = [case for case in cases if case.value("goal-met")]
    if met:
        return [max(met, key=lambda case: case.value("best-effort-of-all"))]
    return [max(cases, key=lambda case: case.value("goal-distance"))]
