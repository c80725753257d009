# SPDX-License-Identifier: MIT
"""Cases in processes of their own: what a policy of the user's does to its process (a crash, exit, memory without end) does not reach
this one. A worker is another Python that runs worker_main.py; the two talk over a pair of sockets.

    us       {"parent", "library", "settings", "applications"}
    worker   PROGRESS [stage, cycle, limit], any number of times; each is answered by a byte, CONTINUE or STOP
    worker   ERROR [kind, status, text]; or LINES, JSON, SMS, SHARES, TOTALS and END (library.Outcome)
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
from typing import Any

from . import library
from .library import Case, CorunError, Outcome, StepFunction, WorkerError

PROGRESS, ERROR, LINES, JSON, SMS, SHARES, TOTALS, END = b"PELJSHTZ"
CONTINUE, STOP = b"g", b"s"
HEADER = struct.Struct("=BQ")  # what it is, bytes that follow
START = "start"  # the stage before there is one
LOOK_SECONDS = 0.2  # a signal that another thread took, or that came just before this one waited, wakes nobody: look for it that often
ERRORS: dict[str, type[Exception]] = {error.__name__: error for error in (ValueError, TypeError, MemoryError)}


def send(connection: socket.socket, kind: int, *parts: bytes | bytearray) -> None:
    connection.sendall(HEADER.pack(kind, sum(map(len, parts))))
    for part in parts:
        connection.sendall(part)


def _exactly(connection: socket.socket, size: int) -> bytearray:
    found = bytearray()
    while len(found) < size:
        part = connection.recv(min(size - len(found), 1 << 20))
        if not part:
            raise EOFError
        found += part
    return found


def receive(connection: socket.socket) -> tuple[int, bytearray]:
    """(what it is, its bytes); EOFError when the other one has gone."""
    kind, size = HEADER.unpack(_exactly(connection, HEADER.size))
    return kind, _exactly(connection, size)


def run(case: Case, step: StepFunction) -> Outcome:
    """Case.run in a worker. `step` is called on this thread. Whatever ends this call ends the worker."""
    path = library.path()
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            process = _start(theirs)
        stage = Stage()
        try:
            send(ours, 0, json.dumps({"parent": os.getpid(), "library": path, **case._asdict()}).encode())
            return _serve(ours, step, stage)
        except (EOFError, ConnectionError, _Garbled):
            process.kill()  # it may have closed its end alone
            raise _ended(case, process.wait(), stage) from None
        finally:
            process.kill()
            process.wait()


class _Garbled(Exception):
    """Somebody else wrote into the connection."""


def _start(theirs: socket.socket) -> subprocess.Popen[bytes]:
    python = os.environ.get("CORUN_PYTHON") or sys.executable
    if not python:
        raise CorunError("WORKER", "there is no Python to run a worker process with (sys.executable is empty): name one in CORUN_PYTHON, "
                                   "or run the case in this process, with worker=False")
    main = os.path.join(os.path.dirname(os.path.abspath(__file__)), "worker_main.py")
    # Ctrl-C reaches every process of a terminal: it is for us to end the worker. The mask is kept across exec.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        return subprocess.Popen([python, "-s", "-S", "-B", main, str(theirs.fileno())], stdin=subprocess.DEVNULL,
                                pass_fds=[theirs.fileno()])
    except OSError as error:
        raise CorunError("WORKER", f"a worker process cannot be started: {python}: {error.strerror}; worker=False runs the case in "
                                   "this one") from None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Stage:
    """What the worker does, as far as we know."""

    def __init__(self) -> None:
        self.name, self.cycle = START, 0


def _serve(ours: socket.socket, step: StepFunction, stage: Stage) -> Outcome:
    """Until the worker has said all; `stage` is kept up to date."""
    found: dict[int, bytearray] = {}
    poll = select.poll()
    poll.register(ours, select.POLLIN)
    while True:
        while not poll.poll(LOOK_SECONDS * 1000):
            pass
        kind, data = receive(ours)
        if kind == PROGRESS:
            now, cycle, limit = _parsed(data)
            stage.name, stage.cycle = now, cycle
            ours.sendall(CONTINUE if step(now, cycle, limit) else STOP)
        elif kind == ERROR:
            name, status, text = _parsed(data)
            raise CorunError(status, text) if name == CorunError.__name__ else ERRORS.get(name, RuntimeError)(text)
        elif kind == END:
            lines = [(bool(is_warning), text) for is_warning, text in _parsed(found[LINES])]
            return Outcome(bytes(found[JSON]), found[SMS], found[SHARES], found[TOTALS], lines)
        else:
            found[kind] = data


def _parsed(data: bytearray) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        raise _Garbled from None


def _ended(case: Case, returncode: int, stage: Stage) -> WorkerError:
    """A worker that left no result."""
    if returncode < 0:
        name = signal.Signals(-returncode).name if -returncode in set(signal.Signals) else "unknown"
        how = f"was ended by signal {-returncode} ({name}: {signal.strsignal(-returncode)})"
        if returncode == -signal.SIGKILL:
            how += ", as the system does when memory runs out,"
    else:
        how = f"ended with exit status {returncode} and without a result"
    where = f"in the stage '{stage.name}'" + (", before the first run" if stage.name == START else f", after cycle {stage.cycle}")
    policy = dict(case.settings).get("policy") or ""
    whose = f"; it ran the policy {policy}" if "/" in policy or ".so" in policy else ""
    return WorkerError(f"the worker process {how} {where}{whose}", returncode, stage.name, stage.cycle)
