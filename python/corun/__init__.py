"""corun: results of simulations of CUDA kernels that share a GPU, as numpy arrays, tables and pictures (docs/reports.md)."""

from .metrics import (antt, best_effort_throughput, cases_met, fairness, geometric_mean, normalised_ipc, overshoot, percentile,
                      qos_reach, stp)
from .results import NOT_KNOWN, Campaign, Results, ResultsError, command_line, goals_of, split_applications

__all__ = ["NOT_KNOWN", "Campaign", "Results", "ResultsError", "antt", "best_effort_throughput", "cases_met", "command_line",
           "fairness", "geometric_mean", "goals_of", "normalised_ipc", "overshoot", "percentile", "qos_reach",
           "split_applications", "stp"]
