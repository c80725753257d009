# SPDX-License-Identifier: MIT
"""The shared library of corun through ctypes: its public functions (include/corun/), errors as exceptions, results as bytes.
corun.run and its neighbours are made of this; nothing else of the package knows of C. A worker process imports this file, so that
it does without numpy."""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util
import functools
import os
from typing import Any, Callable, Iterator, NamedTuple

POLICY_VERSION = 6
ALL = 0xFFFFFFFF
OK = 0
INSTALLED = "/usr/local/lib/libcorun.so"  # by `make install`, also where nobody has called ldconfig

_PROGRESS = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p)


class CorunError(Exception):
    """corun refuses, or cannot continue. The text is corun's messages, one a line, with their places.

    status: name of the status as in include/corun/status.h, "NOT_FOUND" for instance; "LIBRARY" if the shared library is not there,
    "WORKER" if a worker process cannot be started, or ended before it had a result (WorkerError).
    """

    def __init__(self, status: str, text: str) -> None:
        super().__init__(text)
        self.status = status


class WorkerError(CorunError):
    """The worker process of a case ended without a result: its policy crashed, or called exit, or the system killed it.

    returncode  as subprocess has it: the exit status, or minus the signal (-11: SIGSEGV)
    stage       what it was doing: "isolated NAME", "shared", or "start", before any of them
    cycle       the last one of that stage that is known
    """

    def __init__(self, text: str, returncode: int, stage: str, cycle: int) -> None:
        super().__init__("WORKER", text)
        self.returncode, self.stage, self.cycle = returncode, stage, cycle


class CorunWarning(UserWarning):
    """What corun says although a run was completed: an application was stopped, a cache could not be written."""


class _Place(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("line", ctypes.c_uint32), ("column", ctypes.c_uint32)]


class _Diagnostic(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("place", _Place), ("message", ctypes.c_char_p)]


class Progress(ctypes.Structure):
    """struct corun_case_progress"""
    _fields_ = [("stage", ctypes.c_char_p), ("cycle", ctypes.c_uint64), ("cycle_limit", ctypes.c_uint64), ("done", ctypes.c_double)]


class CounterRow(ctypes.Structure):
    """struct corun_counter_row"""
    _fields_ = [("name", ctypes.c_char_p), ("unit", ctypes.c_char_p), ("meaning", ctypes.c_char_p), ("offset", ctypes.c_size_t)]


class GpuParameter(ctypes.Structure):
    """struct corun_gpu_parameter"""
    _fields_ = [("name", ctypes.c_char_p), ("unit", ctypes.c_char_p), ("meaning", ctypes.c_char_p), ("initial", ctypes.c_uint32),
                ("lowest", ctypes.c_uint32), ("highest", ctypes.c_uint32), ("offset", ctypes.c_size_t),
                ("words", ctypes.POINTER(ctypes.c_char_p))]


class PolicyParameter(ctypes.Structure):
    """struct corun_policy_parameter"""
    _fields_ = [("name", ctypes.c_char_p), ("initial", ctypes.c_double), ("lowest", ctypes.c_double),
                ("highest", ctypes.c_double), ("integer", ctypes.c_bool), ("meaning", ctypes.c_char_p),
                ("choices", ctypes.c_char_p)]


class Policy(ctypes.Structure):
    """The head of struct corun_policy, version POLICY_VERSION."""
    _fields_ = [("version", ctypes.c_uint32), ("name", ctypes.c_char_p), ("summary", ctypes.c_char_p), ("paper", ctypes.c_char_p),
                ("parameters", ctypes.POINTER(PolicyParameter)), ("parameter_count", ctypes.c_uint32)]


_POINTER, _TEXT, _SIZE = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
_OUT = ctypes.POINTER(ctypes.c_void_p)

# Every function that is used: (result, arguments). A status as a result is an int.
_FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "corun_diagnostics_create": (_POINTER, []),
    "corun_diagnostics_destroy": (None, [_POINTER]),
    "corun_diagnostics_count": (_SIZE, [_POINTER]),
    "corun_diagnostics_get": (ctypes.POINTER(_Diagnostic), [_POINTER, _SIZE]),
    "corun_status_name": (_TEXT, [ctypes.c_int]),
    "corun_status_meaning": (_TEXT, [ctypes.c_int]),
    "corun_data_directory": (ctypes.c_int, [_TEXT, _SIZE, _POINTER]),
    "corun_gpu_config_load": (ctypes.c_int, [_TEXT, _TEXT, _POINTER, _POINTER]),
    "corun_gpu_parameters": (ctypes.POINTER(GpuParameter), [ctypes.POINTER(_SIZE)]),
    "corun_counter_rows": (ctypes.POINTER(CounterRow), [ctypes.POINTER(_SIZE)]),
    "corun_policy_at": (ctypes.POINTER(Policy), [_SIZE]),
    "corun_request_create": (_POINTER, []),
    "corun_request_destroy": (None, [_POINTER]),
    "corun_request_set": (ctypes.c_int, [_POINTER, _TEXT, _TEXT, _POINTER]),
    "corun_request_add": (ctypes.c_int, [_POINTER, _TEXT, _POINTER]),
    "corun_request_run": (ctypes.c_int, [_POINTER, _PROGRESS, _POINTER, _POINTER, _OUT]),
    "corun_case_result_json": (ctypes.c_int, [_POINTER, _OUT]),
    "corun_case_result_counters": (ctypes.c_int, [_POINTER, ctypes.c_uint32, ctypes.c_uint32, _POINTER]),
    "corun_case_result_destroy": (None, [_POINTER]),
}


def _places() -> list[str]:
    """Where the library may lie, the best first: beside this package in a build tree (data/python of it, or python/ of the source
    tree with its build/) or in an installation (share/corun/python), and inside it."""
    found = []
    here = os.path.dirname(os.path.abspath(__file__))  # first as it was reached: in a build tree through a link
    for folder in dict.fromkeys((here, os.path.realpath(here))):
        for place in ("../../../lib", "../../build/lib", "../../../../lib", "."):
            found.append(os.path.normpath(os.path.join(folder, place, "libcorun.so")))
    return list(dict.fromkeys(found))


def _of_the_system() -> str:
    """As the loader finds it; "" if it does not."""
    found = ctypes.util.find_library("corun")
    for name in [found] if found else ["libcorun.so.0", "libcorun.so"]:  # find_library wants a compiler for LD_LIBRARY_PATH
        with contextlib.suppress(OSError):
            ctypes.CDLL(name)
            return name
    return ""


def _find() -> tuple[str, list[str]]:
    """(path or name of the library, "" if there is none; where it was looked for)"""
    named = os.environ.get("CORUN_LIBRARY")
    if named:
        return named, [named]
    places = _places()
    found = [path for path in places if os.path.exists(path)]
    if not found:
        found = [_of_the_system()]
    if not found[0] and os.path.exists(INSTALLED):
        found = [INSTALLED]
    return found[0], [*places, "the system's library path (ldconfig, LD_LIBRARY_PATH)", INSTALLED]


@functools.lru_cache(maxsize=None)
def load() -> ctypes.CDLL:
    """The library; CorunError if there is none that fits."""
    path, looked = _find()
    if not path:
        raise CorunError("LIBRARY", "libcorun.so was not found. `make build` in corun's source tree makes build/lib/libcorun.so, `make "
                                    "install` puts it where the system looks; CORUN_LIBRARY=/path/to/libcorun.so in the environment "
                                    "names it. Looked for:\n  " + "\n  ".join(looked))
    try:
        library = ctypes.CDLL(path)
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as error:
        raise CorunError("LIBRARY", f"{path} cannot be used: {error}" + (
            " (CORUN_LIBRARY names it)" if os.environ.get("CORUN_LIBRARY") else "")) from None
    return library


def path() -> str:
    """Of the library that is used, as the loader has it."""
    return str(load()._name)


def text_of(value: bytes | None) -> str:
    """A C string as text; "" for NULL."""
    return value.decode(errors="replace") if value else ""


class Messages:
    """A list of diagnostics, for the length of a `with`."""

    def __enter__(self) -> Messages:
        self.library = load()
        self.handle = self.library.corun_diagnostics_create()
        if not self.handle:
            raise MemoryError
        return self

    def __exit__(self, *_: object) -> None:
        self.library.corun_diagnostics_destroy(self.handle)

    def lines(self) -> list[tuple[bool, str]]:
        """[(is a warning, "FILE:LINE:COLUMN: message")]"""
        found = []
        for index in range(self.library.corun_diagnostics_count(self.handle)):
            one = self.library.corun_diagnostics_get(self.handle, index).contents
            place = ""
            if one.place.file:
                numbers = [str(number) for number in (one.place.line, one.place.column) if number]
                place = ":".join([text_of(one.place.file), *numbers]) + ": "
            found.append((one.status == OK, place + text_of(one.message)))
        return found

    def check(self, status: int) -> None:
        """Raises what a status other than OK means."""
        if status == OK:
            return
        errors = [line for is_warning, line in self.lines() if not is_warning]
        raise CorunError(text_of(self.library.corun_status_name(status)),
                         "\n".join(errors) or text_of(self.library.corun_status_meaning(status)))


def encoded(text: str, what: str) -> bytes:
    """Text for C."""
    if not isinstance(text, str):
        raise TypeError(f"{what}: text is expected, not {text!r}")
    if "\0" in text:
        raise ValueError(f"{what}: {text!r} has a zero byte")
    return os.fsencode(text)


def rows(function: str) -> list[Any]:
    """The rows of a C table with a count, as a list of structures."""
    count = _SIZE()
    table = getattr(load(), function)(ctypes.byref(count))
    return [table[index] for index in range(count.value)]


@functools.lru_cache(maxsize=None)
def counters_bytes() -> int:
    """sizeof (struct corun_counters)"""
    return max(int(row.offset) for row in rows("corun_counter_rows")) + 8


class Outcome(NamedTuple):
    """What a case came to, in bytes."""
    json: bytes
    sms: bytearray  # struct corun_counters of each SM
    shares: bytearray  # of each (SM, application), those of an SM together
    totals: bytearray  # of each application
    lines: list[tuple[bool, str]]  # what was said: Messages.lines


def _counters(result: ctypes.c_void_p, sm: int, application: int) -> bytes | None:
    """None: there is no such SM or application."""
    room = ctypes.create_string_buffer(counters_bytes())
    return room.raw if load().corun_case_result_counters(result, sm, application, room) == OK else None


def _collected(result: ctypes.c_void_p, lines: list[tuple[bool, str]]) -> Outcome:
    text = ctypes.c_void_p()
    if load().corun_case_result_json(result, ctypes.byref(text)) != OK:
        raise MemoryError
    try:
        outcome = Outcome(ctypes.string_at(text), bytearray(), bytearray(), bytearray(), lines)
    finally:
        _free(text)

    def all_of(get: Callable[[int], bytes | None], place: bytearray) -> int:
        count = 0
        while (one := get(count)) is not None:
            place += one
            count += 1
        return count
    all_of(lambda application: _counters(result, ALL, application), outcome.totals)
    for sm in range(all_of(lambda sm: _counters(result, sm, ALL), outcome.sms)):
        all_of(lambda application, sm=sm: _counters(result, sm, application), outcome.shares)  # type: ignore[misc]
    return outcome


def _free(pointer: ctypes.c_void_p) -> None:
    free = ctypes.CDLL(None).free
    free.argtypes, free.restype = [ctypes.c_void_p], None
    free(pointer)


StepFunction = Callable[[str, int, int], bool]  # (stage, cycle, cycle limit or 0); False ends the run


class Case(NamedTuple):
    """A case in the words of the command line (include/corun/request.h)."""
    settings: list[tuple[str, str | None]]  # options, as corun_request_set takes them
    applications: list[str]

    def run(self, step: StepFunction) -> Outcome:
        """`step` is called on this thread or one of the run's helpers; what it raises ends the run and is raised here."""
        library = load()
        raised: list[BaseException] = []

        def progress(_: Any, pointer: Any) -> bool:
            try:
                now = ctypes.cast(pointer, ctypes.POINTER(Progress)).contents
                return step(text_of(now.stage), now.cycle, now.cycle_limit)
            except BaseException as error:  # pylint: disable=broad-except  # there is C between here and the caller
                raised.append(error)
                return False

        with _request() as request, Messages() as messages:
            for option, value in self.settings:
                messages.check(library.corun_request_set(
                    request, option.encode(), None if value is None else encoded(value, option), messages.handle))
            for text in self.applications:
                messages.check(library.corun_request_add(request, encoded(text, "applications"), messages.handle))
            result = ctypes.c_void_p()
            status = library.corun_request_run(request, _PROGRESS(progress), None, messages.handle, ctypes.byref(result))
            try:
                if raised:
                    raise raised[0]
                messages.check(status)
                return _collected(result, messages.lines())
            finally:
                if result:
                    library.corun_case_result_destroy(result)


@contextlib.contextmanager
def _request() -> Iterator[Any]:
    """A new request, destroyed in the end."""
    library = load()
    handle = library.corun_request_create()
    if not handle:
        raise MemoryError
    try:
        yield handle
    finally:
        library.corun_request_destroy(handle)
