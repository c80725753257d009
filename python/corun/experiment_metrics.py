# SPDX-License-Identifier: MIT
"""What experiments compute from the result of one case, and how many cases become one number (docs/experiments.md).

Every metric is a function of a Case that gives a number, or raises Undefined with the reason why there is none for it: a
case that missed its goal has no overshoot.
"""

import math
import re

import numpy

from . import metrics
from .results import goals_of, split_applications
from .summary import goal_label


class Undefined(Exception):
    """There is no such number for a case; the text says why."""


class Unknown(Exception):
    """There is no metric or no statistic of that name."""


class Case:
    """A finished case with what its names and goals say; everything else is read when it is needed first."""

    def __init__(self, row, result):
        """`row`: a row of Results.cases; `result`: called without arguments, gives what Results.result does."""
        self.key, self.gpu, self.policy = row["key"], row["gpu"], row["policy"]
        self.isolated = bool(row["isolated"])
        self.row = row
        self.applications = [workload_of(text) for text in split_applications(row["applications"])]
        self.goals = goals_of(row["applications"])
        self.goal = goal_label(row["applications"])
        self._result, self._read = None, result
        self._values = {}  # by name; an Undefined where there is no number

    def compute(self, names):
        """Those metrics, so that its result, which is large, need not be kept."""
        for name in names:
            try:
                self._values[name] = metric(name)(self)
            except Undefined as error:
                self._values[name] = Undefined(str(error))  # without the frames that the first one holds
        self._result = None

    def value(self, name):
        """Of a metric; Undefined if it has none."""
        if name not in self._values:
            self.compute([name])
        if isinstance(self._values[name], Undefined):
            raise self._values[name]
        return self._values[name]

    @property
    def combination(self):
        """The mix and the goals: what cases have in common that differ in policy and GPU."""
        return (tuple(self.applications), tuple(self.goals))

    @property
    def result(self):
        if self._result is None:
            self._result = self._read()
        return self._result

    @property
    def apps(self):
        return self.result["applications"]

    def counter(self, name):
        """Of all applications."""
        return sum(kernel["counters"][name] for app in self.apps for kernel in app["kernels"])

    def normalised(self):
        values = [app["normalised_ipc"] for app in self.apps]
        if any(value is None for value in values):
            raise Undefined("the isolated IPC of an application is not known")
        return values


def workload_of(text):
    """"lbm" of "lbm@medium:goal=50%"; parameters of a workload stay: "lbm@medium,n=5" is "lbm,n=5"."""
    text = re.sub(r":(goal|start)=[^:]*", "", text)
    name, _, size = text.partition("@")
    return re.sub(r"\.yaml$", "", name.rsplit("/", 1)[-1]) + "".join("," + part for part in size.split(",")[1:])


def known(value, what):
    if value is None or (isinstance(value, float) and math.isnan(value)):
        raise Undefined(f"{what} is not known")
    return value


def ratio(part, whole, what):
    if not whole:
        raise Undefined(what)
    return part / whole


def _stp(case):
    return metrics.stp(case.normalised())


def _antt(case):
    values = case.normalised()
    if min(values) <= 0:
        raise Undefined("an application made no progress, which makes its turnaround time infinite")
    return metrics.antt(values)


def _fairness(case):
    return metrics.fairness(case.normalised())


def _normalised_ipc(case, position):
    values = case.normalised()
    if not position:
        return metrics.mean(values)
    if int(position) >= len(values):
        raise Undefined(f"there is no application {position}")
    return values[int(position)]


def _ipc(case):
    return sum(app["ipc"] for app in case.apps)


def _goals(case):
    """The applications with goals; whether all were met."""
    apps = [app for app in case.apps if app["goal"]]
    if not apps:
        raise Undefined("no application has a goal")
    return apps, all(app["goal_met"] is True for app in apps)


def _goal_met(case):
    return float(_goals(case)[1])


def _overshoot(case):
    apps, met = _goals(case)
    if not met:
        raise Undefined("its goals were missed")
    return metrics.mean([app["goal_distance"] for app in apps])


def _goal_distance(case):
    """Of the application that is farthest below its goal, or least above it."""
    return min(known(app["goal_distance"], "how far a goal was reached") for app in _goals(case)[0])


def _violation(case):
    distance = _goal_distance(case)
    if _goals(case)[1]:
        raise Undefined("its goals were met")
    return -distance


def _violation_within(case, bound):
    return float(_violation(case) < float(bound[:-1]) / 100)


def _best_effort_of(case):
    values = [value for app, value in zip(case.apps, case.normalised()) if not app["goal"]]
    if not values:
        raise Undefined("every application has a goal")
    return metrics.mean(values)


def _best_effort(case):
    if not _goals(case)[1]:
        raise Undefined("its goals were missed")
    return _best_effort_of(case)


STALLS = ("fetch", "control", "data", "memory_data", "pipeline", "memory", "barrier", "fence", "quota", "other", "preempted")


def _stall_cycles(case, cause):
    """Causes may be summed up: "data+memory_data"; "all" is every cause."""
    causes = STALLS if cause == "all" else cause.split("+")
    return sum(app["stalls"].get(one, 0) for app in case.apps for one in causes)


def _scheduler_stall_cycles(case, cause):
    causes = STALLS if cause == "all" else cause.split("+")
    return sum(known(sm.get("scheduler_cycles"), "the cycles of schedulers")[one] for sm in case.result["sms"] for one in causes)


def _stall_share(case, cause):
    cycles = _stall_cycles(case, cause)
    return ratio(cycles, case.counter("issue_cycles") + _stall_cycles(case, "all"), "no scheduler had live warps")


def _memory_hits(name):
    def share(case):
        return ratio(case.counter(name + "_hits"), case.counter(name + "_accesses"), f"nothing accessed the {name.upper()}")
    return share


def _registers(kernel, gpu):
    """Of a thread block, as they are given to its warps."""
    unit = gpu["register_unit"]
    return -(-kernel["registers_per_thread"] * 32 // unit) * unit * -(-kernel["threads_per_tb"] // 32)


# name: (parameter of the GPU, what one thread block takes)
RESOURCES = {"registers": ("registers_per_sm", _registers),
             "shared": ("shared_bytes_per_sm", lambda kernel, gpu: kernel["shared_bytes"]),
             "threads": ("threads_per_sm", lambda kernel, gpu: kernel["threads_per_tb"]),
             "tbs": ("tbs_per_sm", lambda kernel, gpu: 1)}
_OWN_REGISTERS = ("registers_per_sm", lambda kernel, gpu: kernel["registers_per_thread"] * kernel["threads_per_tb"])


def _use(case, app, resource):
    """Share of all SMs' resource that the application's resident thread blocks hold, on average over the window."""
    parameter, each = RESOURCES[resource]
    gpu = case.result["gpu_parameters"]
    held = sum(kernel["counters"]["tb_cycles"] * each(kernel, gpu) for kernel in app["kernels"])
    return ratio(held, gpu["sms"] * case.result["cycles"] * gpu[parameter], f"the GPU has no {resource}")


def _resource(case, resource):
    return sum(_use(case, app, resource) for app in case.apps)


def _full_use(case, resource):
    """Share of one SM that is taken when it holds as many thread blocks of the application as fit; by cycles over its kernels.
    Registers are those that its threads have, not those that are given to warps in whole units (as Table 2-2 of the SMK
    chapter counts them)."""
    parameter, each = (_OWN_REGISTERS if resource == "registers" else RESOURCES[resource])
    gpu = case.result["gpu_parameters"]
    kernels = [kernel for app in case.apps for kernel in app["kernels"] if kernel["cycles"]]
    whole = sum(kernel["cycles"] for kernel in kernels)
    return ratio(sum(kernel["cycles"] * kernel["tbs_per_sm"] * each(kernel, gpu) / gpu[parameter] for kernel in kernels), whole,
                 "no kernel ran")


def _resource_fairness(case):
    """Smallest / largest dominant share of the applications; the dominant share is that of the resource of which one has
    most (Wang et al., SMK, sections 2.4.2 and 2.4.4)."""
    shares = [max(_use(case, app, resource) for resource in RESOURCES) for app in case.apps]
    return ratio(min(shares), max(shares), "no thread block was resident")


def _instructions_per_joule(case):
    return known(case.result["energy"]["instructions_per_joule"], "the energy")


def _powered(case):
    """Mean number of SMs that had power, of all; a case in which all always had says nothing of it."""
    history, sms = case.result.get("history"), len(case.result["sms"])
    if not history:
        raise Undefined("its result has no history")
    if "powered_sms" not in history:
        return 1.0
    ends = history["end_cycles"]
    lengths = [end - start for start, end in zip([0, *ends], ends)]
    powered = sum(length * value for length, value in zip(lengths, history["powered_sms"]))
    return ratio(powered, sum(lengths) * sms, "no cycle was simulated")


def _variable(case, name):
    """What a variable of the policy's controller was at the end."""
    values = case.result.get("history", {}).get("variables", {}).get(name)
    if values is None:
        raise Undefined(f"its policy shows no variable '{name}'")
    values = [value for value in values if value is not None]
    if not values:
        raise Undefined(f"the variable '{name}' was never known")
    return float(values[-1])


def _mixed_sms(case):
    """SMs on which more than one application issued instructions."""
    return float(sum(sum(app["warp_instructions"] > 0 for app in sm["applications"]) > 1 for sm in case.result["sms"]))


def _whole(function):
    """A metric without a part behind a colon."""
    return lambda case, part: function(case)


_STALLS = "|".join(STALLS)
_RESOURCES = "|".join(RESOURCES)
# What may stand behind the colon of a metric, and how that is said; of the others nothing may.
PARTS = {"normalised-ipc": (r"\d*", "the place of an application, from 0"),
         "stall-cycles": (rf"all|({_STALLS})(\+({_STALLS}))*", f"all, or a sum of {', '.join(STALLS)}"),
         "scheduler-stall-cycles": (rf"all|({_STALLS})(\+({_STALLS}))*", f"all, or a sum of {', '.join(STALLS)}"),
         "stall-share": (rf"all|({_STALLS})(\+({_STALLS}))*", f"all, or a sum of {', '.join(STALLS)}"),
         "resource": (_RESOURCES, f"one of {', '.join(RESOURCES)}"),
         "full-resource": (_RESOURCES, f"one of {', '.join(RESOURCES)}"),
         "variable": (r"[a-z][a-z0-9_]*", "the name of a variable of the policy"),
         "violation-within": (r"\d+(\.\d+)?%", "a share, as in 8%")}

# name: (function, meaning)
METRICS = {
    "stp": (_whole(_stp), "system throughput, the sum of normalised IPC"),
    "speedup": (_whole(_stp), "time when run one after the other / time when sharing, for the same instructions: with isolated "
                          "runs as the former this is the sum of normalised IPC"),
    "antt": (_whole(_antt), "average normalised turnaround time"),
    "fairness": (_whole(_fairness), "smallest / largest normalised IPC"),
    "ipc": (_whole(_ipc), "thread instructions per cycle of all applications"),
    "normalised-ipc": (_normalised_ipc, "the mean of the applications, or that of one, from 0: normalised-ipc:1"),
    "dram-utilisation": (_whole(lambda case: known(case.result["dram"]["utilisation"], "the utilisation of DRAM")),
                         "share of the time in which DRAM moved data"),
    "row-hit-rate": (_whole(lambda case: known(case.result["dram"]["row_hit_rate"], "the row hit rate")), "DRAM row hits"),
    "icnt-utilisation": (_whole(lambda case: known(case.result["interconnect"]["utilisation"], "the utilisation of the interconnect")),
                         "share of the interconnect that was used"),
    "icnt-latency": (_whole(lambda case: known(case.result["interconnect"]["latency_cycles"], "the latency of the interconnect")),
                     "cycles from injection to delivery, the mean over packets of both directions"),
    "l1-hit-rate": (_whole(_memory_hits("l1")), "L1 hits / lookups"),
    "l2-hit-rate": (_whole(_memory_hits("l2")), "L2 hits / lookups"),
    "energy": (_whole(lambda case: known(case.result["energy"]["total"], "the energy")), "joules in the window"),
    "watts": (_whole(lambda case: known(case.result["energy"]["average_watts"], "the energy")), "mean power"),
    "instructions-per-joule": (_whole(_instructions_per_joule), "thread instructions per joule, that is per second and watt"),
    "powered-sms": (_whole(_powered), "share of the SMs that had power"),
    "variable": (_variable, "a variable of the policy's controller at the end of the window: variable:upper_1"),
    "mixed-sms": (_whole(_mixed_sms), "SMs on which more than one application issued instructions in the window"),
    "stall-cycles": (_stall_cycles, "scheduler cycles of one cause: stall-cycles:pipeline"),
    "scheduler-stall-cycles": (_scheduler_stall_cycles, "the same, but a cycle in which several applications wait is counted once"),
    "stall-share": (_stall_share, "the same, of all scheduler cycles with live warps"),
    "resource": (_resource, "share of all SMs' registers, shared, threads or tbs that was taken: resource:registers"),
    "full-resource": (_full_use, "share of one SM's registers, shared, threads or tbs when it is full of the application"),
    "resource-fairness": (_whole(_resource_fairness), "smallest / largest dominant share of the applications"),
    "goal-met": (_whole(_goal_met), "1 if all goals were met, else 0; its mean is QoSreach"),
    "goal-distance": (_whole(_goal_distance), "IPC / goal - 1 of the application that is worst off"),
    "overshoot": (_whole(_overshoot), "IPC / goal - 1, of cases that met their goals"),
    "violation": (_whole(_violation), "1 - IPC / goal, of cases that missed their goals"),
    "violation-within": (_violation_within, "share of the misses that are smaller: violation-within:8%"),
    "best-effort": (_whole(_best_effort), "normalised IPC of the applications without a goal, of cases that met their goals"),
    "best-effort-of-all": (_whole(_best_effort_of), "the same of all cases"),
    "switched-bytes": (_whole(lambda case: case.counter("saved_bytes") + case.counter("restored_bytes")),
                       "bytes of state that were saved and restored"),
}


def metric(text):
    """A function of a Case for "stp", "stall-share:pipeline"; Unknown if there is none."""
    name, _, part = text.partition(":")
    if name not in METRICS:
        raise Unknown(f"there is no metric '{text}'; there are: {', '.join(METRICS)}")
    allowed, words = PARTS.get(name, ("", "nothing"))
    if not re.fullmatch(allowed, part) or (text.endswith(":") and not part):
        raise Unknown(f"behind '{name}:' there may be {words}, not '{part}'")
    function = METRICS[name][0]
    return lambda case: function(case, part)


def _exceeded(share):
    return lambda values: metrics.percentile(values, 100 - share)


STATISTICS = {"mean": metrics.mean, "geomean": metrics.geometric_mean, "median": lambda values: metrics.percentile(values, 50),
              "min": lambda values: float(numpy.min(values)) if len(values) else math.nan,
              "max": lambda values: float(numpy.max(values)) if len(values) else math.nan,
              "sum": lambda values: float(numpy.sum(values)) if len(values) else math.nan}


def statistic(text):
    """A function of a list of numbers for "mean", "geomean", "exceeded-by-75%"; Unknown if there is none."""
    exceeded = re.fullmatch(r"exceeded-by-(\d+(?:\.\d+)?)%", text)
    if exceeded and float(exceeded[1]) <= 100:
        return _exceeded(float(exceeded[1]))
    if text not in STATISTICS:
        raise Unknown(f"there is no statistic '{text}'; there are: {', '.join(STATISTICS)}, exceeded-by-N%")
    return STATISTICS[text]
