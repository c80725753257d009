# SPDX-License-Identifier: MIT
"""What a worker process runs (worker.py): worker_main.py SOCKET. It does without numpy, so that it starts in a moment."""

import contextlib
import ctypes
import os
import signal
import socket
import sys
import types

PR_SET_PDEATHSIG = 1

package = types.ModuleType("corun")  # without what its __init__ imports
package.__path__ = [os.path.dirname(os.path.abspath(__file__))]
sys.modules["corun"] = package

import json  # noqa: E402

from corun import library, worker  # noqa: E402


def serve(connection: socket.socket) -> None:
    try:
        request = json.loads(worker.receive(connection)[1])
    except EOFError:  # the parent was interrupted before it had asked
        return
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # nobody would read what it finds
    if os.getppid() != request["parent"]:  # it was gone before that
        return
    os.environ["CORUN_LIBRARY"] = request["library"]

    def step(*now: object) -> bool:
        worker.send(connection, worker.PROGRESS, json.dumps(now).encode())
        return connection.recv(1) == worker.CONTINUE

    try:
        outcome = library.Case(request["settings"], request["applications"]).run(step)
    except (library.CorunError, ValueError, TypeError, MemoryError) as error:
        name = next((name for name, one in worker.ERRORS.items() if isinstance(error, one)), library.CorunError.__name__)
        worker.send(connection, worker.ERROR, json.dumps([name, getattr(error, "status", ""), str(error)]).encode())
        return
    ctypes.CDLL(None).fflush(None)  # what a policy has printed, before the caller continues
    worker.send(connection, worker.LINES, json.dumps(outcome.lines).encode())
    for kind, data in ((worker.JSON, outcome.json), (worker.SMS, outcome.sms), (worker.SHARES, outcome.shares),
                       (worker.TOTALS, outcome.totals), (worker.END, b"")):
        worker.send(connection, kind, data)


if __name__ == "__main__":
    with socket.socket(fileno=int(sys.argv[1])) as ours:
        ours.set_inheritable(False)
        with contextlib.suppress(ConnectionError):  # the parent has gone, and the kernel's order to die is still on its way
            serve(ours)
    ctypes.CDLL(None).fflush(None)
    os._exit(0)  # what a policy has registered for the end of the process is not ours to wait for
