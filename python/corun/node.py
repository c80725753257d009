# SPDX-License-Identifier: MIT
"""Programs that share a GPU under corund (docs/daemon.md): what a Python program tells of itself, and what tools ask.

    import corun
    corun.set_goal("90%")                  # of this process, which `corun share` has started

    node = corun.Node()
    for client in node.list()["clients"]:
        print(client["name"], client["ipc"])
    node.set_policy("smqos")
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import subprocess
from typing import Any, Dict, Iterator, Optional, Sequence, Union

from .library import CorunError

# As include/corun/policy.h and include/corun/status.h have them.
_NONE, _FRACTION, _IPC, _MS, _FPS = 0, 1, 2, 3, 4
_KINDS = {"ipc=": _IPC, "ms=": _MS, "fps=": _FPS}
_STATUSES = {3: "UNSUPPORTED", 5: "ARGUMENT", 9: "DEADLOCK"}


def _goal(goal: Union[None, float, str]) -> "tuple[int, float]":
    if goal is None or goal == "none":
        return _NONE, 0.0
    if isinstance(goal, str):
        if goal.endswith("%"):
            return _FRACTION, float(goal[:-1]) / 100
        for word, kind in _KINDS.items():
            if goal.startswith(word):
                return kind, float(goal[len(word):])
        raise ValueError(f"a goal is 90%, ipc=300, ms=20, fps=30, none, or a fraction of the rate alone, not {goal!r}")
    return _FRACTION, float(goal)


def _find(name: str) -> Any:
    """A function of the shim, or of corun's CUDA, whichever the process has; the driver below the shim may be corun's. None: neither."""
    for library, prefix in ("libcuda.so.1", "corun_shim_"), ("libcorun-cuda.so", "corun_cuda_"):
        try:
            return getattr(ctypes.CDLL(library, mode=os.RTLD_LAZY | os.RTLD_NOLOAD), prefix + name)
        except (OSError, AttributeError):
            pass
    return None


def set_goal(goal: Union[None, float, str]) -> None:
    """Another goal for this process, from now on (include/corun/client.h).

    goal: "90%" or 0.9 of its rate alone, None or "none"; on a simulated GPU "ipc=300" thread instructions per cycle; on one of hardware
    "ms=20" for a run of it, or "fps=30" runs a second.

    CorunError: UNSUPPORTED if the process has no GPU of corund; ARGUMENT if corund refuses, which a note on stderr explains.
    """
    kind, value = _goal(goal)
    function = _find("set_goal")
    if not function:
        raise CorunError("UNSUPPORTED", "this process has no GPU of corund")
    function.argtypes = [ctypes.c_int, ctypes.c_double]
    status = function(kind, value)
    if status:
        name = _STATUSES.get(status, str(status))
        raise CorunError(name, "this process has no GPU of corund" if name == "UNSUPPORTED" else f"corund refuses the goal {goal!r}")


def say_idle(seconds: Optional[float] = None) -> None:
    """This process wants nothing of the GPU for that much simulated time, None: until its next call (include/corun/client.h).

    CorunError: UNSUPPORTED if the process has no context on a simulated GPU; ARGUMENT if it is negative or longer than 1000 s.
    """
    function = _find("say_idle")
    if not function:
        raise CorunError("UNSUPPORTED", "this process has no simulated GPU")
    function.argtypes = [ctypes.c_uint64]
    if seconds is not None and not 0 <= seconds <= 1000:
        raise CorunError("ARGUMENT", f"a process is idle for 0 to 1000 s, not {seconds!r}")
    status = function(2**64 - 1 if seconds is None else round(seconds * 1e9))
    if status:
        name = _STATUSES.get(status, str(status))
        raise CorunError(name, "this process has no context on a simulated GPU" if name == "UNSUPPORTED" else "the connection to corund is gone")


@contextlib.contextmanager
def one_run() -> "Iterator[None]":
    """A run of this process, a request that it answers, for the P99 of its runs in `corun top` (include/corun/client.h).

        with corun.one_run():
            answer(request)

    In a process without a GPU of corund nothing happens.
    """
    begin, end = _find("begin_run"), _find("end_run")
    if not begin or not end:
        yield
        return
    begin.restype, end.argtypes = ctypes.c_uint64, [ctypes.c_uint64]
    begun = begin()
    try:
        yield
    finally:
        end(begun)


class Node:
    """corund as `corun ps`, `corun goal` and `corun policy` see it.

    socket: where it is; as the command has it by default.
    command: of corun; from $PATH by default.
    """

    def __init__(self, socket: Optional[str] = None, command: Optional[str] = None) -> None:
        found = command or shutil.which("corun")
        if not found:
            raise CorunError("NOT_FOUND", "the command corun is not in $PATH: Node(command=...) says where it is")
        self._command, self._socket = found, ["--socket", socket] if socket else []

    def _ask(self, words: Sequence[str]) -> str:
        done = subprocess.run([self._command, words[0], *self._socket, *words[1:]], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False)
        if done.returncode:
            names = {2: "USAGE", 4: "UNSUPPORTED", 5: "NOT_FOUND", 6: "ARGUMENT", 12: "POLICY", 13: "FILE"}
            raise CorunError(names.get(done.returncode, str(done.returncode)), done.stderr.strip())
        return done.stdout

    def list(self) -> Dict[str, Any]:
        """As docs/json.md, "Programs under corund", has it."""
        told: Dict[str, Any] = json.loads(self._ask(["ps", "--json", "-"]))
        return told

    def set_goal(self, pid: int, goal: str) -> None:
        """`goal` as for `corun goal`: "80%", "ipc=300", "none"."""
        self._ask(["goal", str(pid), goal])

    @property
    def policy(self) -> str:
        """Of the first GPU; list() has those of all."""
        return self._ask(["policy", "--gpu", "0"]).strip()

    def set_policy(self, policy: str, gpu: Optional[str] = None) -> None:
        """`policy` as for `corun policy`: "smqos", "time-slice:slice=20K"; of all GPUs, or of one by number or name."""
        self._ask(["policy", *(["--gpu", gpu] if gpu is not None else []), policy])
