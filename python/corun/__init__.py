# SPDX-License-Identifier: MIT
"""corun: CUDA kernels that share a simulated GPU. Runs cases, and reads the results of campaigns, as numpy arrays, tables and
pictures (docs/python.md, docs/reports.md).

    import corun
    print(corun.run(["sgemm", "lbm"], policy="even", goals=["90%"]).applications["normalised_ipc"])
"""

try:
    import numpy as _numpy  # noqa: F401  # everything below needs it: say so once, and what to do
except ModuleNotFoundError as _error:
    if _error.name != "numpy":
        raise
    import sys as _sys
    raise ModuleNotFoundError(f"corun needs numpy, which {_sys.executable or 'this Python'} does not have: apt-get install python3-numpy, "
                              "or pip install numpy", name="numpy") from None

from .history import History
from .library import CorunError, CorunWarning, WorkerError
from .metrics import (antt, best_effort_throughput, cases_met, fairness, geometric_mean, normalised_ipc, overshoot, percentile,
                      qos_reach, stp)
from .node import Node, one_run, say_idle, set_goal
from .results import NOT_KNOWN, Campaign, Results, ResultsError, command_line, goals_of, split_applications
from .running import Gpu, Result, counters, data_directory, gpu, policies, run, workloads

__version__ = "0.1.0"  # of the library; tests/python/test_install.py holds it to CMakeLists.txt

__all__ = ["NOT_KNOWN", "Campaign", "CorunError", "CorunWarning", "Gpu", "History", "Node", "Result", "Results", "ResultsError", "WorkerError",
           "antt",
           "best_effort_throughput", "cases_met", "command_line", "counters", "data_directory", "fairness", "geometric_mean",
           "goals_of", "gpu", "normalised_ipc", "one_run", "overshoot", "percentile", "policies", "qos_reach", "run", "say_idle", "set_goal", "split_applications",
           "stp", "workloads"]
