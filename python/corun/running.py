"""Running cases: corun.run, and what it can be given (GPUs, policies). Numbers come back as numpy arrays."""

import json
import math
import os
import threading
import warnings

import numpy

from . import library
from .history import History
from .library import ALL, CorunError, CorunWarning, Messages, encoded, text_of
from .results import NOT_KNOWN

_APPLICATION_COLUMNS = [("name", "O"), ("size", "O"), ("status", "O"), ("goal", "O"), ("goal_met", "i1"), ("goal_ipc", "f8"),
                        ("goal_distance", "f8"), ("start_cycle", "i8"), ("runs", "i8"), ("cycles", "i8"),
                        ("thread_instructions", "i8"), ("warp_instructions", "i8"), ("ipc", "f8"), ("ipc_isolated", "f8"),
                        ("normalised_ipc", "f8"), ("l1_hit_rate", "f8"), ("l2_hit_rate", "f8"), ("dram_bytes", "i8"),
                        ("energy_joules", "f8")]


def _number(value):
    return math.nan if value is None else value


class Gpu:
    """A configuration of a simulated GPU.

        gpu = corun.gpu("gtx980", sms=8, l2_bytes="4M")
        gpu.sms, gpu["core_clock_khz"]

    specification: the text that `corun run --gpu` takes, with the overrides.
    parameters: {name: value}, every row of `corun list parameters`; int, or str for words. They are attributes, too.
    """

    def __init__(self, specification, parameters):
        self.specification, self.parameters = specification, parameters

    def __getitem__(self, name):
        return self.parameters[name]

    def __getattr__(self, name):
        try:
            return self.__dict__["parameters"][name]
        except KeyError:
            raise AttributeError(f"a GPU has no parameter {name!r}") from None

    def __str__(self):
        return self.specification

    def __repr__(self):
        return f"<corun.Gpu {self.specification}: {self.parameters['sms']} SMs>"


def _with_overrides(specification, overrides):
    text = str(specification)
    if overrides:
        settings = ",".join(f"{name}={_word(value)}" for name, value in overrides.items())
        last = os.path.basename(text)
        text += ("," if ":" in last else ":") + settings
    return text


def _word(value):
    """A value as corun reads it."""
    if isinstance(value, (bool, numpy.bool_)):
        return str(int(value))
    return repr(float(value)) if isinstance(value, (float, numpy.floating)) and value != int(value) else \
        str(int(value)) if isinstance(value, (int, float, numpy.integer, numpy.floating)) else str(value)


def gpu(specification="gtx980", **overrides):
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
    values = {}
    for row in table:
        value = int(config[row.offset:row.offset + 4].view("u4")[0])
        values[text_of(row.name)] = text_of(row.words[value]) if row.words else value
    return Gpu(text, values)


def data_directory():
    """The folder with kernels/ and gpu/: $CORUN_DATA, or what belongs to the library."""
    room = numpy.zeros(4096, "S1")
    with Messages() as messages:
        messages.check(library.load().corun_data_directory(room.ctypes.data_as(library.ctypes.c_char_p), room.size,
                                                          messages.handle))
    return os.fsdecode(room.tobytes().split(b"\0")[0])


def policies():
    """{name: {"summary", "paper", "parameters": {name: {"initial", "lowest", "highest", "integer", "meaning", "choices"}}}}, in
    the order of `corun list policies`; "left-over", sharing without a policy, is not among them. `choices` is a list of
    words, or None for a number."""
    found, index = {}, 0
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


def workloads():
    """The names of the workloads, sorted."""
    folder = os.path.join(data_directory(), "kernels")
    return sorted(name for name in os.listdir(folder) if os.path.exists(os.path.join(folder, name, name + ".yaml")))


def counters():
    """{name: (unit, meaning)} of everything that is counted (`corun list counters`): the fields of Result.sms and others."""
    return {text_of(row.name): (text_of(row.unit), text_of(row.meaning)) for row in library.rows("corun_counter_rows")}


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

    def __init__(self, case, messages):
        self.data = data = json.loads(case.json())
        self.messages = messages
        for name in ("cycles", "interrupted", "dram", "interconnect", "energy", "seed"):
            setattr(self, name, data[name])
        for name in ("stp", "antt", "fairness", "wall_seconds"):
            setattr(self, name, _number(data[name]))
        if self.antt != self.antt and any(app["normalised_ipc"] == 0 for app in data["apps"]):
            self.antt = math.inf  # JSON has no number for it
        self.gpu, self.policy, self.policy_parameters = data["gpu"], data["policy"]["name"], data["policy"]["params"]
        self.applications = numpy.empty(len(data["apps"]), _APPLICATION_COLUMNS)
        for place, app in enumerate(data["apps"]):
            met = NOT_KNOWN if app["goal_met"] is None else int(app["goal_met"])
            row = {**app, "size": app["size"] or "", "goal": app["goal"] or "", "goal_met": met}
            self.applications[place] = tuple(_number(row[name]) for name, _ in _APPLICATION_COLUMNS)
        self.kernels = [app["kernels"] for app in data["apps"]]
        self.history = History(data["history"], len(data["sms"])) if "history" in data else None
        kind = library.counters_dtype()
        sm_count, count = len(data["sms"]), len(data["apps"])
        self.sms = numpy.zeros(sm_count, kind)
        self.shares = numpy.zeros((sm_count, count), kind)
        self.totals = numpy.zeros(count, kind)
        for sm in range(sm_count):
            case.counters(sm, ALL, self.sms[sm:])
            for app in range(count):
                case.counters(sm, app, self.shares[sm, app:])
        for app in range(count):
            case.counters(ALL, app, self.totals[app:])

    def __repr__(self):
        names = " + ".join(f"{row['name']}@{row['size']}" if row["size"] else row["name"] for row in self.applications)
        return f"<corun.Result {names}: {self.policy} on {self.gpu}, STP {self.stp:.3f}, {self.cycles} cycles>"


def _goal_text(goal):
    """0.9, "90%", "ipc=100", "ms=2": as the command has it."""
    if isinstance(goal, (int, float, numpy.integer, numpy.floating)):
        return f"{float(goal) * 100:.12g}%"
    return str(goal)


def _specifications(applications, goals):
    if isinstance(applications, str):
        applications = [applications]
    texts = [str(one) for one in applications]
    if goals is None:
        return texts
    if isinstance(goals, (str, int, float)):
        goals = [goals]
    if len(goals) > len(texts):
        raise ValueError(f"{len(goals)} goals for {len(texts)} applications")
    return [f"{text}:goal={_goal_text(goal)}" if goal is not None else text
            for text, goal in zip(texts, list(goals) + [None] * (len(texts) - len(goals)))]


def _parameter_text(value, choices):
    """A parameter of a policy: numbers stand for their choice, lists are written with slashes."""
    if isinstance(value, (list, tuple, numpy.ndarray)):
        return "/".join(_word(one) for one in value)
    if choices and not isinstance(value, str) and value == int(value) and 0 <= value < len(choices):
        return choices[int(value)]
    return _word(value)


def _policy_text(policy, parameters):
    text = str(policy)
    if parameters:
        known = policies().get(text.partition(":")[0], {"parameters": {}})["parameters"]
        text += ("," if ":" in text else ":") + ",".join(
            f"{name}={_parameter_text(value, known.get(name, {}).get('choices'))}" for name, value in parameters.items())
    return text


def _settings(gpu_, overrides, policy, parameters, **numbers):
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
    if numbers["profile"]:
        yield "profile", None


def run(applications, *, policy="left-over", parameters=None, gpu="gtx980", overrides=None, goals=None, cycles=None,  # pylint: disable=redefined-outer-name
        instructions=None, runs=None, seed=1, threads=1, jobs=None, watchdog=None, cache=True, baselines=True, profile=False,
        progress=None):
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
    progress        called with (stage, cycle, cycle limit or 0) now and then, on another thread; False ends the run with what was measured

    The simulation runs on a thread of its own without Python's lock: other threads go on, may run other cases, and Ctrl-C ends it
    (KeyboardInterrupt). The result is the same whatever runs beside it.

    CorunError: something is not there or does not fit, with corun's own messages. An application that is stopped (a fault, a deadlock)
    is no error: its `status` says so and a CorunWarning is issued.
    """
    specifications = _specifications(applications, goals)
    settings = list(_settings(gpu, overrides, policy, parameters, cycles=cycles, instructions=instructions, runs=runs, seed=seed,
                              threads=threads, jobs=jobs, watchdog=watchdog, cache=cache, baselines=baselines, profile=profile))
    with library.request() as request, Messages() as messages:
        for option, value in settings:
            messages.check(library.load().corun_request_set(
                request, option.encode(), None if value is None else encoded(value, option), messages.handle))
        for text in specifications:
            messages.check(library.load().corun_request_add(request, encoded(text, "applications"), messages.handle))
        case, lines = _in_thread(request, progress)
    try:
        result = Result(case, [line for _, line in lines])
    finally:
        case.close()
    for line in result.messages:
        warnings.warn(line, CorunWarning, stacklevel=2)
    return result


def _in_thread(request, progress):
    """library.run on another thread: this one can take a KeyboardInterrupt meanwhile."""
    stop = threading.Event()
    outcome = []

    def step(stage, cycle, limit):
        if stop.is_set():
            return False
        return progress is None or progress(stage, cycle, limit) is not False

    def work():
        try:
            outcome.append(library.run(request, step))
        except BaseException as error:  # pylint: disable=broad-except  # for the thread that waits
            outcome.append(error)

    thread = threading.Thread(target=work, name="corun.run", daemon=True)
    thread.start()
    try:
        thread.join()
    except BaseException:
        stop.set()
        while thread.is_alive():  # what it runs on belongs to this call
            try:
                thread.join()
            except KeyboardInterrupt:
                pass
        if outcome and not isinstance(outcome[0], BaseException):
            outcome[0][0].close()
        raise
    if isinstance(outcome[0], BaseException):
        raise outcome[0]
    return outcome[0]
