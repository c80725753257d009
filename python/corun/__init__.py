"""corun: CUDA kernels that share a simulated GPU. Runs cases, and reads the results of campaigns, as numpy arrays, tables and
pictures (docs/python.md, docs/reports.md).

    import corun
    print(corun.run(["sgemm", "lbm"], policy="even", goals=["90%"]).applications["normalised_ipc"])
"""

from .history import History
from .library import CorunError, CorunWarning
from .metrics import (antt, best_effort_throughput, cases_met, fairness, geometric_mean, normalised_ipc, overshoot, percentile,
                      qos_reach, stp)
from .results import NOT_KNOWN, Campaign, Results, ResultsError, command_line, goals_of, split_applications
from .running import Gpu, Result, counters, data_directory, gpu, policies, run, workloads

__all__ = ["NOT_KNOWN", "Campaign", "CorunError", "CorunWarning", "Gpu", "History", "Result", "Results", "ResultsError", "antt",
           "best_effort_throughput", "cases_met", "command_line", "counters", "data_directory", "fairness", "geometric_mean",
           "goals_of", "gpu", "normalised_ipc", "overshoot", "percentile", "policies", "qos_reach", "run", "split_applications",
           "stp", "workloads"]
