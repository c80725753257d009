"""The shared library of corun through ctypes: its public functions (include/corun/), errors as exceptions, results as bytes and
arrays. corun.run and its neighbours are made of this; nothing else of the package knows of C."""

import contextlib
import ctypes
import ctypes.util
import functools
import os

import numpy

POLICY_VERSION = 2
ALL = 0xFFFFFFFF
OK = 0

_PROGRESS = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p)


class CorunError(Exception):
    """corun refuses, or cannot go on. The text is corun's messages, one a line, with their places.

    status: name of the status as in include/corun/status.h, "NOT_FOUND" for instance; "LIBRARY" if the shared library is not there.
    """

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class CorunWarning(UserWarning):
    """What corun says although a run went on: an application was stopped, a cache could not be written."""


class _Place(ctypes.Structure):
    _fields_ = [("file", ctypes.c_char_p), ("line", ctypes.c_uint32), ("column", ctypes.c_uint32)]


class _Diagnostic(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("place", _Place), ("message", ctypes.c_char_p)]


class Progress(ctypes.Structure):
    """struct corun_case_progress"""
    _fields_ = [("stage", ctypes.c_char_p), ("cycle", ctypes.c_uint64), ("cycle_limit", ctypes.c_uint64)]


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
_FUNCTIONS = {
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


def _candidates():
    """Where the library may lie, the best first: named by the user; beside this package in a build tree (data/python of it, or
    python/ of the source tree with its build/) or in an installation (share/corun/python); where the system looks."""
    named = os.environ.get("CORUN_LIBRARY")
    if named:
        return [named]
    found = []
    here = os.path.dirname(os.path.abspath(__file__))  # first as it was reached: in a build tree through a link
    for folder in dict.fromkeys((here, os.path.realpath(here))):
        above = os.path.dirname(folder)
        for place in ("../../lib", "../build/lib", "../../../lib"):
            found.append(os.path.normpath(os.path.join(above, place, "libcorun.so")))
    system = ctypes.util.find_library("corun")
    return [path for path in found if os.path.exists(path)] + ([system] if system else [])


@functools.lru_cache(maxsize=None)
def load():
    """The library; CorunError if there is none that fits."""
    paths = _candidates()
    if not paths:
        raise CorunError("LIBRARY", "libcorun.so is not there: `make` builds it, `make install` installs it, and the environment "
                                    "variable CORUN_LIBRARY names it where it lies elsewhere")
    try:
        library = ctypes.CDLL(paths[0])
        for name, (result, arguments) in _FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as error:
        raise CorunError("LIBRARY", f"{paths[0]} cannot be used: {error}") from None
    library.path = paths[0]
    return library


def text_of(value):
    """A C string as text; "" for NULL."""
    return value.decode(errors="replace") if value else ""


class Messages:
    """A list of diagnostics, for the length of a `with`."""

    def __enter__(self):
        self.library = load()
        self.handle = self.library.corun_diagnostics_create()
        if not self.handle:
            raise MemoryError
        return self

    def __exit__(self, *_):
        self.library.corun_diagnostics_destroy(self.handle)

    def lines(self):
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

    def check(self, status):
        """Raises what a status other than OK means."""
        if status == OK:
            return
        errors = [line for is_warning, line in self.lines() if not is_warning]
        raise CorunError(text_of(self.library.corun_status_name(status)),
                         "\n".join(errors) or text_of(self.library.corun_status_meaning(status)))


def encoded(text, what):
    """Text for C."""
    if not isinstance(text, str):
        raise TypeError(f"{what}: text is expected, not {text!r}")
    if "\0" in text:
        raise ValueError(f"{what}: {text!r} has a zero byte")
    return os.fsencode(text)


def rows(function):
    """The rows of a C table with a count, as a list of structures."""
    count = _SIZE()
    table = getattr(load(), function)(ctypes.byref(count))
    return [table[index] for index in range(count.value)]


@functools.lru_cache(maxsize=None)
def counters_dtype():
    """The numpy type of struct corun_counters: one unsigned 64-bit field for each counter."""
    table = rows("corun_counter_rows")
    return numpy.dtype({"names": [text_of(row.name) for row in table], "formats": ["u8"] * len(table),
                        "offsets": [row.offset for row in table], "itemsize": max(row.offset for row in table) + 8})


class CaseResult:
    """A struct corun_case_result; close() frees it."""

    def __init__(self, handle):
        self.library, self.handle = load(), handle

    def close(self):
        self.library.corun_case_result_destroy(self.handle)
        self.handle = None

    def json(self):
        text = ctypes.c_void_p()
        if self.library.corun_case_result_json(self.handle, ctypes.byref(text)) != OK:
            raise MemoryError
        try:
            return ctypes.string_at(text).decode()
        finally:
            _free(text)

    def counters(self, sm, application, place):
        """Into an element of an array of counters_dtype()."""
        if self.library.corun_case_result_counters(self.handle, sm, application, place.ctypes.data) != OK:
            raise IndexError(f"there is no SM {sm} or application {application}")


def _free(pointer):
    free = ctypes.CDLL(None).free
    free.argtypes, free.restype = [ctypes.c_void_p], None
    free(pointer)


@contextlib.contextmanager
def request():
    """A new request (include/corun/request.h), destroyed in the end."""
    library = load()
    handle = library.corun_request_create()
    if not handle:
        raise MemoryError
    try:
        yield handle
    finally:
        library.corun_request_destroy(handle)


def run(handle, progress):
    """Runs a request: (CaseResult, lines of Messages). `progress(stage, cycle, cycle limit)` is called on the thread of the
    run or one of its helpers; what it raises ends the run and is raised here."""
    library = load()
    raised = []

    def step(_, pointer):
        try:
            now = ctypes.cast(pointer, ctypes.POINTER(Progress)).contents
            return bool(progress(text_of(now.stage), now.cycle, now.cycle_limit))
        except BaseException as error:  # pylint: disable=broad-except  # there is C between here and the caller
            raised.append(error)
            return False

    with Messages() as messages:
        result = ctypes.c_void_p()
        status = library.corun_request_run(handle, _PROGRESS(step), None, messages.handle, ctypes.byref(result))
        case = CaseResult(result) if result else None
        if raised:
            if case:
                case.close()
            raise raised[0]
        messages.check(status)
        return case, messages.lines()
