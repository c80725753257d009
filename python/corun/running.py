# SPDX-License-Identifier: MIT
"""Running cases: corun.run, and what it can be given (GPUs, policies). Numbers come back as numpy arrays."""

from __future__ import annotations

import ctypes
import functools
import json
import math
import os
import threading
import warnings
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Union

import numpy
from numpy.typing import NDArray

from . import fragments, library, worker as workers
from .history import History
from .library import Case, CorunError, CorunWarning, Messages, Outcome, StepFunction, encoded, text_of
from .results import NOT_KNOWN

Number = Union[int, float, "numpy.integer[Any]", "numpy.floating[Any]"]
Value = Union[Number, bool, "numpy.bool_", str]  # of a parameter
Amount = Union[int, "numpy.integer[Any]", str]  # 500000 or "500K"
Goal = Union[Number, str, None]
Path = Union[str, "os.PathLike[str]"]
Progress = Callable[[str, int, int], Optional[bool]]
Array = NDArray[Any]

_APPLICATION_COLUMNS = [("name", "O"), ("size", "O"), ("status", "O"), ("goal", "O"), ("goal_met", "i1"), ("goal_ipc", "f8"),
                        ("goal_distance", "f8"), ("start_cycle", "i8"), ("runs", "i8"), ("cycles", "i8"),
                        ("thread_instructions", "i8"), ("warp_instructions", "i8"), ("ipc", "f8"), ("ipc_isolated", "f8"),
                        ("normalised_ipc", "f8"), ("l1_hit_rate", "f8"), ("l2_hit_rate", "f8"), ("dram_bytes", "i8"),
                        ("energy_joules", "f8")]


def _number(value: Any) -> Any:
    return math.nan if value is None else value


class Gpu:
    """A configuration of a simulated GPU.

        gpu = corun.gpu("gtx980", sms=8, l2_bytes="4M")
        gpu.sms, gpu["core_clock_khz"]

    specification: the text that `corun run --gpu` takes, with the overrides.
    parameters: {name: value}, every row of `corun list parameters`; int, or str for words. They are attributes, too.
    """

    def __init__(self, specification: str, parameters: Dict[str, Union[int, str]]) -> None:
        self.specification, self.parameters = specification, parameters

    def __getitem__(self, name: str) -> Union[int, str]:
        return self.parameters[name]

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["parameters"][name]
        except KeyError:
            raise AttributeError(f"a GPU has no parameter {name!r}") from None

    def __str__(self) -> str:
        return self.specification

    def __repr__(self) -> str:
        return f"<corun.Gpu {self.specification}: {self.parameters['sms']} SMs>"


def _with_overrides(specification: Union[str, Gpu], overrides: Optional[Mapping[str, Value]]) -> str:
    text = str(specification)
    if overrides:
        settings = ",".join(f"{name}={_word(value)}" for name, value in overrides.items())
        last = os.path.basename(text)
        text += ("," if ":" in last else ":") + settings
    return text


def _word(value: Value) -> str:
    """A value as corun reads it."""
    if isinstance(value, (bool, numpy.bool_)):
        return str(int(value))
    return repr(float(value)) if isinstance(value, (float, numpy.floating)) and value != int(value) else \
        str(int(value)) if isinstance(value, (int, float, numpy.integer, numpy.floating)) else str(value)


def gpu(specification: Union[str, Gpu] = "gtx980", **overrides: Value) -> Gpu:
    """Loads a Gpu by name (`corun list gpus`) or from a YAML file, with overrides by parameter: corun.gpu("gtx980", sms=8).

    CorunError: there is no such GPU or parameter, or the values do not fit together.
    """
    text = _with_overrides(specification, overrides)
    table = library.rows("corun_gpu_parameters")
    end = max(row.offset for row in table) + 4
    config = numpy.zeros(end + 64, "u1")
    with Messages() as messages:
        messages.check(library.load().corun_gpu_config_load(encoded(text, "gpu"), encoded(data_directory(), "data"),
                                                           messages.handle, config.ctypes.data))
    values: Dict[str, Union[int, str]] = {}
    for row in table:
        value = int(config[row.offset:row.offset + 4].view("u4")[0])
        values[text_of(row.name)] = text_of(row.words[value]) if row.words else value
    return Gpu(text, values)


def data_directory() -> str:
    """The folder with kernels/ and gpu/: $CORUN_DATA, or what belongs to the library."""
    room = numpy.zeros(4096, "S1")
    with Messages() as messages:
        messages.check(library.load().corun_data_directory(room.ctypes.data_as(ctypes.c_char_p), room.size,
                                                          messages.handle))
    return os.fsdecode(room.tobytes().split(b"\0")[0])


def policies() -> Dict[str, Dict[str, Any]]:
    """{name: {"summary", "paper", "parameters": {name: {"initial", "lowest", "highest", "integer", "meaning", "choices"}}}}, in
    the order of `corun list policies`; "left-over", sharing without a policy, is not among them. `choices` is a list of
    words, or None for a number."""
    found: Dict[str, Dict[str, Any]] = {}
    index = 0
    while True:
        pointer = library.load().corun_policy_at(index)
        if not pointer:
            return found
        one, index = pointer.contents, index + 1
        if one.version != library.POLICY_VERSION:
            raise CorunError("LIBRARY", f"policies of version {one.version}; this package knows version {library.POLICY_VERSION}")
        parameters = {text_of(row.name): {
            "initial": row.initial, "lowest": row.lowest, "highest": row.highest, "integer": row.integer,
            "meaning": text_of(row.meaning), "choices": text_of(row.choices).split("|") if row.choices else None}
            for row in (one.parameters[place] for place in range(one.parameter_count))}
        found[text_of(one.name)] = {"summary": text_of(one.summary), "paper": text_of(one.paper), "parameters": parameters}


def workloads() -> list[str]:
    """The names of the workloads, sorted."""
    folder = os.path.join(data_directory(), "kernels")
    return sorted(name for name in os.listdir(folder) if os.path.exists(os.path.join(folder, name, name + ".yaml")))


def counters() -> Dict[str, tuple[str, str]]:
    """{name: (unit, meaning)} of everything that is counted (`corun list counters`): the fields of Result.sms and others."""
    return {text_of(row.name): (text_of(row.unit), text_of(row.meaning)) for row in library.rows("corun_counter_rows")}


@functools.lru_cache(maxsize=None)
def counters_dtype() -> numpy.dtype[Any]:
    """The numpy type of struct corun_counters: one unsigned 64-bit field for each counter."""
    table = library.rows("corun_counter_rows")
    return numpy.dtype({"names": [text_of(row.name) for row in table], "formats": ["u8"] * len(table),
                        "offsets": [row.offset for row in table], "itemsize": library.counters_bytes()})


class Result:
    """What a case came to. A number that is not known is NaN.

    stp, antt, fairness     of the normalised IPCs (docs/reports.md); NaN unless every one is known
    cycles                  simulated
    interrupted             `progress` ended it early: with what was measured until then
    gpu, policy             names; `policy_parameters` is {name: value}
    applications            structured array, one row for each: name, size, status ("OK", or why it was stopped: "FAULT"), goal (text,
                            "" without one), goal_met (1, 0, corun.NOT_KNOWN), goal_ipc, goal_distance (IPC / goal - 1), start_cycle,
                            runs, cycles (from its arrival), thread_instructions, warp_instructions, ipc (thread instructions per
                            cycle), ipc_isolated, normalised_ipc, l1_hit_rate, l2_hit_rate, dram_bytes, energy_joules
    sms                     structured array (SMs,): every counter by name (corun.counters()), as result.sms["warp_instructions"]
    shares                  the same, (SMs, applications): what each application did on each SM
    totals                  the same, (applications,): with what the memory system counted for each
    kernels                 a list for each application of its kernels, dicts as in `corun run --json`
    dram, interconnect      dicts: utilisation (0 to 1), row_hit_rate, read_bytes, write_bytes; utilisation, latency_cycles
    energy                  dict: joules by component, total, average_watts, instructions_per_joule
    history                 History: the run over time
    messages                list of str: what corun said meanwhile; they are also issued as CorunWarning
    wall_seconds            of the simulation, without isolated runs
    data                    everything, as `corun run --json` writes it
    """

    def __init__(self, outcome: Outcome) -> None:
        self.data: Dict[str, Any] = json.loads(outcome.json)
        data = self.data
        self.messages = [line for _, line in outcome.lines]
        self.cycles: int = data["cycles"]
        self.interrupted: bool = data["interrupted"]
        self.seed: int = int(data["seed"])  # text where it is too large for a double
        self.dram: Dict[str, Any] = data["dram"]
        self.interconnect: Dict[str, Any] = data["interconnect"]
        self.energy: Dict[str, Any] = data["energy"]
        self.stp, self.antt, self.fairness, self.wall_seconds = (
            float(_number(data[name])) for name in ("stp", "antt", "fairness", "wall_seconds"))
        if self.antt != self.antt and any(app["normalised_ipc"] == 0 for app in data["applications"]):
            self.antt = math.inf  # JSON has no number for it
        self.gpu: str = data["gpu"]
        self.policy: str = data["policy"]["name"]
        self.policy_parameters: Dict[str, Any] = data["policy"]["parameters"]
        self.applications: Array = numpy.empty(len(data["applications"]), _APPLICATION_COLUMNS)
        for place, app in enumerate(data["applications"]):
            met = NOT_KNOWN if app["goal_met"] is None else int(app["goal_met"])
            row = {**app, "size": app["size"] or "", "goal": app["goal"] or "", "goal_met": met}
            self.applications[place] = tuple(_number(row[name]) for name, _ in _APPLICATION_COLUMNS)
        self.kernels: list[list[Dict[str, Any]]] = [app["kernels"] for app in data["applications"]]
        self.history = History(data["history"], len(data["sms"])) if "history" in data else None
        kind = counters_dtype()
        self.sms: Array = numpy.frombuffer(outcome.sms, kind)
        self.shares: Array = numpy.frombuffer(outcome.shares, kind).reshape(len(data["sms"]), len(data["applications"]))
        self.totals: Array = numpy.frombuffer(outcome.totals, kind)

    def __repr__(self) -> str:
        names = " + ".join(f"{row['name']}@{row['size']}" if row["size"] else row["name"] for row in self.applications)
        return f"<corun.Result {names}: {self.policy} on {self.gpu}, STP {self.stp:.3f}, {self.cycles} cycles>"

    def _repr_html_(self) -> str:
        """For notebooks: the applications as a table, and the split of the GPU over time."""
        return fragments.notebook(self.data)


def _goal_text(goal: Union[Number, str]) -> str:
    """0.9, "90%", "ipc=100", "ms=2": as the command has it."""
    if isinstance(goal, (int, float, numpy.integer, numpy.floating)):
        return f"{float(goal) * 100:.12g}%"
    return str(goal)


def _specifications(applications: Union[str, Iterable[str]], goals: Union[Goal, Sequence[Goal]]) -> list[str]:
    if isinstance(applications, str):
        applications = [applications]
    texts = [str(one) for one in applications]
    if goals is None:
        return texts
    each: List[Goal] = [goals] if isinstance(goals, (str, int, float, numpy.integer, numpy.floating)) else list(goals)
    if len(each) > len(texts):
        raise ValueError(f"{len(each)} goals for {len(texts)} applications")
    return [f"{text}:goal={_goal_text(goal)}" if goal is not None else text
            for text, goal in zip(texts, [*each, *[None] * (len(texts) - len(each))])]


def _parameter_text(value: Any, choices: Optional[Sequence[str]]) -> str:
    """A parameter of a policy: numbers stand for their choice, lists are written with slashes."""
    if isinstance(value, (list, tuple, numpy.ndarray)):
        return "/".join(_word(one) for one in value)
    if choices and not isinstance(value, str) and value == int(value) and 0 <= value < len(choices):
        return choices[int(value)]
    return _word(value)


def _policy_text(policy: Path, parameters: Optional[Mapping[str, Any]]) -> str:
    text = str(policy)
    if parameters:
        known = policies().get(text.partition(":")[0], {"parameters": {}})["parameters"]
        text += ("," if ":" in text else ":") + ",".join(
            f"{name}={_parameter_text(value, known.get(name, {}).get('choices'))}" for name, value in parameters.items())
    return text


def _settings(gpu_: Union[str, Gpu], overrides: Optional[Mapping[str, Value]], policy: Path, parameters: Optional[Mapping[str, Any]],
              **numbers: Any) -> Iterator[tuple[str, Optional[str]]]:
    """(option, value) as corun_request_set takes them."""
    yield "gpu", _with_overrides(gpu_, overrides)
    yield "policy", _policy_text(policy, parameters)
    for option in ("cycles", "instructions", "runs", "seed", "threads", "jobs", "watchdog"):
        if numbers[option] is not None:
            yield option, _word(numbers[option])
    cache = numbers["cache"]
    if cache is False:
        yield "no-cache", None
    elif cache is not True:
        yield "cache", os.fspath(cache)
    if not numbers["baselines"]:
        yield "no-baselines", None
    if numbers["settle"] is not None:
        yield "settle", _word(numbers["settle"])
    if numbers["replay"] is not None:
        yield "replay", os.fspath(numbers["replay"])
    if numbers["profile"]:
        yield "profile", None


def run(applications: Union[str, Iterable[str]], *, policy: Path = "left-over", parameters: Optional[Mapping[str, Any]] = None,
        gpu: Union[str, Gpu] = "gtx980", overrides: Optional[Mapping[str, Value]] = None,  # pylint: disable=redefined-outer-name
        goals: Union[Goal, Sequence[Goal]] = None, cycles: Optional[Amount] = None, instructions: Optional[Amount] = None,
        runs: Optional[Amount] = None, seed: Amount = 1, threads: Amount = 1, jobs: Optional[Amount] = None,
        watchdog: Optional[Amount] = None, cache: Union[bool, Path] = True, baselines: bool = True, profile: bool = False,
        settle: Union[None, float, str] = None, replay: Optional[Path] = None, progress: Optional[Progress] = None,
        worker: bool = True) -> Result:
    """Runs applications together on one simulated GPU, and each alone to compare with: a Result.

        result = corun.run(["sgemm", "lbm"], goals=[0.9], policy="even", cycles="500K")
        result.stp, result.applications["normalised_ipc"], result.sms["warp_instructions"]

    applications    str or list of str, each as on the command line: WORKLOAD[@SIZE[,PARAMETER=VALUE,...]][:goal=GOAL][:start=CYCLES]
    policy          name, with or without parameters ("even:exclusive=off"); `parameters`: {name: value} of it, where a value is a
                    number, a word (True and False stand for on and off) or a list, {"split": [8, 22]}
    gpu             name, file or Gpu; `overrides`: {parameter: value} of it
    goals           one for each of the first applications: 0.9 or "90%" of its speed alone, "ipc=X" thread instructions per
                    cycle, "ms=Y" for one run; None: none
    cycles, instructions, runs
                    where the window ends (int, or text with K, M, G): core cycles (200K unless another end is given), thread
                    instructions or runs completed by every application
    seed            of the workloads' data
    threads, jobs   host threads of the simulation; isolated runs side by side. Results do not depend on them
    watchdog        cycles without progress after which an application is stopped
    cache           True: isolated runs are kept in the user's cache; False: they are not; or a folder
    baselines       False: no isolated runs but those that a goal or the policy needs; normalised figures are NaN
    profile         instructions and stalls by PTX line, in `kernels`
    settle          the run ends before its window does, when speeds over the whole window are known so well: 0.02 or "2%" of those alone
    replay          a folder of records: workloads are executed once and simulated from these (docs/replay.md); None: they are executed
    progress        called with (stage, cycle, cycle limit or 0) now and then; False ends the run with what was measured
    worker          True: the case runs in a process of its own, so that a policy of yours that crashes or calls exit does not end this
                    one; False: on a thread of this process, where a debugger finds the policy, and `progress` is called on that thread

    Either way, the results are the same to the last digit; other threads keep running and may run other cases; and Ctrl-C ends the simulation
    before it raises KeyboardInterrupt. A worker ends with its parent, however that ends.

    CorunError: something is not there or does not fit, with corun's own messages. WorkerError, one of them: the worker process died; it
    says of what, and in which stage. An application that is stopped (a fault, a deadlock) is no error: its `status` says so and a
    CorunWarning is issued.
    """
    specifications = _specifications(applications, goals)
    settings = list(_settings(gpu, overrides, policy, parameters, cycles=cycles, instructions=instructions, runs=runs, seed=seed,
                              threads=threads, jobs=jobs, watchdog=watchdog, cache=cache, baselines=baselines, profile=profile,
                              settle=settle, replay=replay))
    case = Case(settings, specifications)

    def step(stage: str, cycle: int, limit: int) -> bool:
        return progress is None or progress(stage, cycle, limit) is not False

    result = Result((workers.run if worker else _in_thread)(case, step))
    for line in result.messages:
        warnings.warn(line, CorunWarning, stacklevel=2)
    return result


def _in_thread(case: Case, step: StepFunction) -> Outcome:
    """Case.run on another thread: this one can take a KeyboardInterrupt meanwhile. What the run stands on belongs to that thread;
    when this one continues, the run has ended, or was never begun."""
    stop, ended, claim = threading.Event(), threading.Event(), threading.Lock()
    outcome: list[Union[Outcome, BaseException]] = []

    def work() -> None:
        if not claim.acquire(blocking=False):
            return  # interrupted before it began
        try:
            outcome.append(case.run(lambda *now: not stop.is_set() and step(*now)))
        except BaseException as error:  # pylint: disable=broad-except  # for the thread that waits
            outcome.append(error)
        finally:
            ended.set()

    try:
        threading.Thread(target=work, name="corun.run", daemon=True).start()
        while not ended.wait(workers.LOOK_SECONDS):
            pass
    except BaseException:
        stop.set()
        begun = not claim.acquire(blocking=False)
        while begun and not ended.is_set():  # Thread.join would not do: once interrupted, it takes the thread for ended
            try:
                ended.wait()
            except KeyboardInterrupt:
                pass
        raise
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]
