# SPDX-License-Identifier: MIT
"""The papers' metrics, as functions of numpy arrays.

Sources: Eyerman and Eeckhout, "System-level performance metrics for multiprogram workloads", IEEE Micro 2008 (STP, ANTT);
Wang et al., "Quality of service support for fine-grained sharing on GPUs", ISCA 2017 (QoSreach, overshoot, throughput of
applications without a goal).
"""

from __future__ import annotations

from typing import Any, Dict, List

import numpy
from numpy.typing import ArrayLike, NDArray


def normalised_ipc(shared: ArrayLike, isolated: ArrayLike) -> NDArray[numpy.float64]:
    """IPC when sharing / IPC of the same application alone on the whole GPU; no unit, 1 is as fast as alone. NaN where the
    isolated IPC is 0 or not known."""
    shared, isolated = numpy.asarray(shared, float), numpy.asarray(isolated, float)
    ratio = numpy.full(numpy.broadcast(shared, isolated).shape, numpy.nan)
    numpy.divide(shared, isolated, out=ratio, where=isolated > 0)
    return ratio


def stp(normalised: ArrayLike) -> float:
    """System throughput of one case: the sum of its applications' normalised IPC; no unit, from 0 to the number of
    applications, 1 is what one application alone has; NaN without applications. Higher is better. IEEE Micro 2008, where it is
    also called weighted speedup."""
    normalised = numpy.asarray(normalised, float)
    return float(numpy.sum(normalised)) if normalised.size else float("nan")


def antt(normalised: ArrayLike) -> float:
    """Average normalised turnaround time of one case: the mean of 1 / normalised IPC; no unit, 1 is as fast as alone. Lower
    is better; infinite when an application made no progress; NaN without applications. IEEE Micro 2008."""
    with numpy.errstate(divide="ignore"):
        return mean(1 / numpy.asarray(normalised, float))


def fairness(normalised: ArrayLike) -> float:
    """Smallest / largest normalised IPC of one case; no unit, from 0 to 1, 1 is fair; 1 when no application made progress;
    NaN without applications. Eyerman and Eeckhout 2008, as the SMK chapter uses it."""
    normalised = numpy.asarray(normalised, float)
    largest = normalised.max() if normalised.size else float("nan")
    return float(normalised.min() / largest) if largest > 0 else 1.0 if largest == 0 else float("nan")


def geometric_mean(values: ArrayLike) -> float:
    """The unit is that of the values. 0 as soon as one of them is 0; NaN without values. The papers average STP so
    (HPCA 2012, section 5)."""
    values = numpy.asarray(values, float)
    if not values.size:
        return float("nan")
    with numpy.errstate(divide="ignore"):
        return float(numpy.exp(numpy.mean(numpy.log(values))))


def percentile(values: ArrayLike, share: float) -> float:
    """The value that `share` percent (0 to 100) of the values do not exceed, linear between neighbours; the unit is that of
    the values; NaN without values. What "75 % of the combinations exceed" (HPCA 2012, figure 4) is percentile 25."""
    values = numpy.asarray(values, float)
    return float(numpy.percentile(values, share)) if values.size else float("nan")


def mean(values: ArrayLike) -> float:
    """The unit is that of the values; NaN without values."""
    values = numpy.asarray(values, float)
    return float(numpy.mean(values)) if values.size else float("nan")


def cases_met(applications: NDArray[Any]) -> Dict[str, bool]:
    """{key of a case: were all its goals met?} of the cases that have a goal. `applications` is what Results.applications
    returns. A goal of which it is not known whether it was met (a run that did not end, say) counts as missed."""
    met: Dict[str, bool] = {}
    for row in applications[applications["goal"] != ""]:
        met[row["key"]] = met.get(row["key"], True) and bool(row["goal_met"] == 1)
    return met


def qos_reach(applications: NDArray[Any]) -> float:
    """Cases whose goals are met / cases with a goal; from 0 to 1, NaN without such a case. ISCA 2017, section 4
    ("QoSreach")."""
    return mean(list(cases_met(applications).values()))


def overshoot(applications: NDArray[Any]) -> float:
    """IPC reached / IPC of the goal - 1, the mean over all goals of the cases that met theirs; no unit, 0.1 is 10 % more than
    was asked for. NaN when no case met its goals. ISCA 2017, section 4."""
    return mean([row["goal_distance"] for row in of_met_cases(applications) if row["goal"] != ""])


def best_effort_throughput(applications: NDArray[Any]) -> float:
    """Normalised IPC of the applications without a goal: their mean within a case, then the mean over the cases that met their
    goals; no unit, 1 is as fast as alone. NaN when there is no such case. ISCA 2017, section 4."""
    cases: Dict[str, List[float]] = {}
    for row in of_met_cases(applications):
        if row["goal"] == "":
            cases.setdefault(row["key"], []).append(row["normalised_ipc"])
    return mean([mean(values) for values in cases.values()])


def of_met_cases(applications: NDArray[Any]) -> NDArray[Any]:
    """The rows of those cases that have a goal and met all of theirs."""
    met = cases_met(applications)
    rows: NDArray[Any] = applications[numpy.array([met.get(key, False) for key in applications["key"]], bool)]
    return rows
