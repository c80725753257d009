# SPDX-License-Identifier: MIT
"""What happened over the window of a case."""

from __future__ import annotations

from typing import Any, Mapping

import numpy
from numpy.typing import NDArray


class History:
    """A run over time, in at most a hundred intervals that follow one another from cycle 0; of each the mean.

    end_cycles      (intervals,) int: where each ends
    sms             (applications, intervals): SMs that hold thread blocks of the application
    tbs             (applications, intervals): resident thread blocks of it
    ipc             (applications, intervals): its thread instructions per cycle
    powered_sms     (intervals,): SMs that have power
    variables       {name: (intervals,)}: what the policy shows of its controller, at the end of each interval; NaN: not known
    sm_count        SMs of the GPU
    """

    def __init__(self, data: Mapping[str, Any], sm_count: int) -> None:
        self.sm_count = sm_count
        self.end_cycles: NDArray[Any] = numpy.array(data["end_cycles"], "i8")
        self.sms, self.tbs, self.ipc = (numpy.array([app[name] for app in data["applications"]], "f8") for name in ("sms", "tbs", "ipc"))
        self.powered_sms: NDArray[Any] = numpy.array(data.get("powered_sms", [sm_count] * len(self.end_cycles)), "f8")
        self.variables = {name: numpy.array([numpy.nan if value is None else value for value in values], "f8")
                          for name, values in data["variables"].items()}

    def __repr__(self) -> str:
        return f"<corun.History {len(self.sms)} applications, {len(self.end_cycles)} intervals>"

    @property
    def start_cycles(self) -> NDArray[Any]:
        """(intervals,) int: where each begins"""
        return numpy.concatenate([[0], self.end_cycles[:-1]]).astype("i8")

    @property
    def mixes(self) -> bool:
        """Whether applications share SMs: then thread blocks, not SMs, tell who has how much."""
        return bool(self.sms.size and (self.sms.sum(axis=0) > 1.02 * self.sm_count + 0.05).mean() > 0.1)

    def movement(self) -> float:
        """How much the split moves: the greatest standard deviation, over the window, of an application's SMs (or thread blocks) as a
        part of all."""
        series = self.tbs if self.mixes else self.sms
        whole = max(series.sum(axis=0).max(), 1) if self.mixes else self.sm_count
        weights = self.end_cycles - self.start_cycles
        if not series.size:
            return 0.0
        mean = (series * weights).sum(axis=1, keepdims=True) / weights.sum()
        return float(numpy.sqrt(((series - mean) ** 2 * weights).sum(axis=1) / weights.sum()).max() / whole)
