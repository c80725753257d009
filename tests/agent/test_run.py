#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""corun host run on this machine: programs, queries, policies, and how everything ends. Usage: test_run.py CORUN EXAMPLES [TEST...]"""
import contextlib
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import client
from client import Client
from json_page import differences

CORUN = EXAMPLES = None
OK, USAGE, SYNTAX, NOT_FOUND, ARGUMENT, POLICY, FILE = 0, 2, 3, 5, 6, 12, 13
ALL = os.sched_getaffinity(0)
ONE = min(ALL)
BURN = "import threading\nfor _ in range(2): threading.Thread(target=lambda: [0 for _ in iter(int, 1)], daemon=True).start()\nprint('here', flush=True)\nfor _ in iter(int, 1): pass"
CPUSETS = [pathlib.Path(line.split()[1]) for line in open("/proc/mounts", encoding="utf-8") if "cpuset" in line.split()[3].split(",")]


def state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]


def command_of(entry):
    with contextlib.suppress(OSError):
        return (entry / "cmdline").read_bytes()
    return b""


def affinities(pid):
    return {int(thread): os.sched_getaffinity(int(thread)) for thread in os.listdir(f"/proc/{pid}/task")}


def wait_until(condition, seconds=20, what="it does not happen"):
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            raise AssertionError(what)
        time.sleep(0.01)


class InFolder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="corun-run-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.socket = self.folder / "agent"
        self.journal = self.folder / "agent.restore"
        self.more = {} # in the environment of agents
        self.pids = [] # of what may have been an agent of this test

    def corun(self, *words, status=OK):
        process = subprocess.Popen([CORUN, "host", *map(str, words)], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   stdin=subprocess.DEVNULL)
        self.pids.append(process.pid)
        try:
            output, errors = process.communicate(timeout=120)
        finally:
            process.kill()
        self.assertEqual(process.returncode, status, errors + output)
        return subprocess.CompletedProcess(process.args, process.returncode, output, errors)

    def groups_left(self):
        """Control groups of this test's agents. Other tests and other users have agents of their own, which may be ending right now."""
        return [group for mount in CPUSETS for pid in self.pids for group in mount.glob(f"corun-{pid}*")
                if group.name.split("-")[1] == str(pid)]

    def begin(self, *words):
        """An agent that runs; it is there when this returns."""
        agent = subprocess.Popen([CORUN, "host", "run", "-q", "--socket", self.socket, "--json", "r.json", *map(str, words)], cwd=self.folder,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL, env={**os.environ, **self.more},
                                 start_new_session=True) # as burner()
        self.pids.append(agent.pid)
        def gone():
            agent.kill()
            agent.wait()
            agent.stdout.close()
            wait_until(lambda: not self.journal.exists(), what="the guardian does not put everything back")
        self.addCleanup(gone)
        def there():
            if agent.poll() is not None:
                raise AssertionError(agent.stdout.read())
            done = subprocess.run([CORUN, "host", "top", "--json", "--socket", self.socket], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            return done.returncode == 0
        wait_until(there, what="the agent does not begin")
        return agent

    def client(self, *words, **more):
        """A connection to the agent."""
        one = Client(self.socket, *words, **more)
        self.addCleanup(one.close)
        return one

    def end(self, agent, how=signal.SIGINT):
        agent.send_signal(how)
        output = agent.stdout.read()
        self.assertEqual(agent.wait(30), OK, output)
        return json.loads((self.folder / "r.json").read_text(encoding="utf-8"))

    def burner(self):
        """A process of three busy threads that nobody has given anything to."""
        # In a session of its own: an agent may stop it, and a group with a stopped process may get SIGHUP as a whole.
        process = subprocess.Popen([sys.executable, "-c", BURN], stdout=subprocess.PIPE, start_new_session=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        process.stdout.readline()
        return process

    def guardian_of(self, agent):
        for entry in pathlib.Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text(encoding="utf-8").rsplit(")", 1)
                if fields[0].endswith("corun-guardian") and int(fields[1].split()[1]) == agent.pid:
                    return int(entry.name)
        return None


class Queries(InFolder):
    def test_queries_are_started_and_counted(self):
        agent = self.begin("-s", "words:goal=1s", "-p", "os")
        service = self.client("words")
        self.assertEqual(service.answer[0], client.WELCOME)
        self.assertEqual(struct.unpack("=IQ", service.answer[1]), (1, 20000000))
        service.answer_queries(50, seconds=0.002)
        results = self.end(agent)
        case = results["cases"][0]
        told = case["services"][0]
        self.assertEqual((told["application"], told["queries"], told["lost"], told["goal_ns"]), ("words", 50, 0, 1000000000))
        self.assertGreaterEqual(told["p50_ns"], 2e6)
        self.assertLessEqual(told["p50_ns"], told["p95_ns"])
        self.assertLessEqual(told["p99_ns"], told["longest_ns"])
        self.assertGreaterEqual(case["decisions"]["count"], 150)
        self.assertGreater(case["decisions"]["mean_ns"], 0)
        self.assertEqual(results["host"]["cores"], len(ALL))
        self.assertEqual(service.goodbye(), "the agent ends")
        self.assertFalse(self.socket.exists())
        self.assertFalse(self.journal.exists())

    def test_queries_wait_for_workers_and_for_the_policy(self):
        agent = self.begin("-s", "words", "-p", "os:queries=2")
        service = self.client("words", workers=3)
        for query in (7, 8, 9):
            service.arrive(query)
        self.assertEqual([service.started()[0] for _ in range(2)], [7, 8])
        status = json.loads(self.corun("top", "--json", "--socket", self.socket).stdout)
        self.assertEqual([(s["running"], s["waiting"]) for s in status["services"]], [(2, 1)])
        table = self.corun("top", "--once", "--socket", self.socket).stdout
        self.assertRegex(table, r"policy os for \d+ s")
        self.assertRegex(table, r"(?m)^words +2 +1 ")
        service.end(8)
        self.assertEqual(service.started()[0], 9)
        service.end(7)
        service.end(9)
        wait_until(lambda: json.loads(self.corun("top", "--json", "--socket", self.socket).stdout)["services"][0]["queries"] == 3)
        self.assertEqual(self.end(agent)["cases"][0]["services"][0]["queries"], 3)

    def test_times_of_a_program_are_believed_within_reason(self):
        agent = self.begin("-s", "words", "-p", "os")
        service = self.client("words")
        time.sleep(0.3)
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        service.arrive(1, at=now - 200000000) # it lay in a buffer of the program's
        service.started()
        service.end(1)
        service.arrive(2, at=1) # before the program was there
        service.started()
        service.end(2, at=now + 10**15) # in the far future
        wait_until(lambda: json.loads(self.corun("top", "--json", "--socket", self.socket).stdout)["services"][0]["queries"] == 2)
        told = self.end(agent)["cases"][0]["services"][0]
        self.assertGreaterEqual(told["p50_ns"], 2e8)
        self.assertLess(told["longest_ns"], 2e10)

    def test_a_service_that_dies_loses_its_queries_alone(self):
        agent = self.begin("-s", "words:goal=1s", "-s", "other", "-p", "fixed:cores=1,ways=0")
        crashing, other = self.client("words", workers=2), self.client("other")
        crashing.arrive(1)
        crashing.started()
        crashing.arrive(2)
        crashing.progress(1, 0.5)
        crashing.close()
        wait_until(lambda: json.loads(self.corun("top", "--json", "--socket", self.socket).stdout)["common_cores"] == len(ALL),
                   what="the cores of the query do not come back")
        other.answer_queries(5)
        again = self.client("words")
        again.answer_queries(3)
        services = {told["application"]: told for told in self.end(agent)["cases"][0]["services"]}
        self.assertEqual((services["words"]["queries"], services["words"]["lost"]), (3, 2))
        self.assertEqual((services["other"]["queries"], services["other"]["lost"]), (5, 0))

    def test_ten_thousand_queries_a_second(self):
        """Queries of a second at that rate, as fast as the agent takes them: none is lost. What one costs is printed and not judged."""
        agent = self.begin("-s", "words:goal=1s", "-p", "os")
        service = self.client("words", workers=64)
        def agent_seconds():
            fields = pathlib.Path(f"/proc/{agent.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        count, since, begin = 20000, time.monotonic(), agent_seconds()
        sender = threading.Thread(target=lambda: [service.arrive(query) for query in range(count)])
        sender.start()
        for _ in range(count):
            service.end(service.started()[0])
        sender.join()
        taken = agent_seconds() - begin
        print(f"{count} queries in {time.monotonic() - since:.2f} s, {taken / count * 1e6:.1f} us of the agent's processor time each")
        wait_until(lambda: json.loads(self.corun("top", "--json", "--socket", self.socket).stdout)["services"][0]["queries"] == count)
        told = self.end(agent)["cases"][0]["services"][0]
        self.assertEqual((told["queries"], told["lost"]), (count, 0))


class Garbage(InFolder):
    def test_what_is_wrong_ends_that_connection_with_a_reason(self):
        agent = self.begin("-s", "words", "-b", "mill", "-p", "os")
        good = self.client("words", workers=4)
        hello = struct.pack("4I64s", client.HELLO, 1, 0, 1, b"words")
        wrong = [(b"x", "no message"), (b"GET / HTTP/1.1\r\n\r\n", "no message"), (hello[:-1], "another length"), (hello + b"\0", "another length"),
                 (struct.pack("4I64s", client.HELLO, 9, 0, 1, b"words"), "another protocol"),
                 (struct.pack("4I64s", client.HELLO, 1, 5, 1, b"words"), "out of range"),
                 (struct.pack("4I64s", client.HELLO, 1, 0, 0, b"words"), "out of range"),
                 (struct.pack("4I64s", client.HELLO, 1, 0, 257, b"words"), "out of range"),
                 (struct.pack("4I64s", client.HELLO, 1, 0, 1, b"w" * 64), "out of range"),
                 (struct.pack("4I64s", client.HELLO, 1, 0, 1, b"nobody"), "no service of this name"),
                 (struct.pack("4I64s", client.HELLO, 1, 1, 1, b"words"), "no batch program of this name"),
                 (struct.pack("4I64s", client.HELLO, 1, 0, 1, b"words"), "connected already"),
                 (struct.pack("2IQQ", client.END, 0, 1, 0), "wrong time"), (struct.pack("I", 0), "no message"),
                 (struct.pack("I", 2**32 - 1), "no message"), (struct.pack("2I", client.WATCH, 7), "wrong time"),
                 (struct.pack("2IQ", client.START, 1, 1), "wrong time"), (b"\0" * 70000, "no message")]
        for message, reason in wrong:
            bad = self.client()
            bad.send(message)
            self.assertIn(reason, bad.goodbye() or "", message[:20])
            bad.close()
        self.assertEqual(self.end(agent)["cases"][0]["refused_connections"], len(wrong))

    def test_what_a_service_must_not_say(self):
        agent = self.begin("-s", "words", "-p", "os:queries=1")
        nan, inf = float("nan"), float("inf")
        for say, reason in ((lambda c: c.arrive(1, nan), "a size that is none"), (lambda c: c.arrive(1, -1.0), "a size that is none"),
                            (lambda c: c.arrive(1, inf), "a size that is none"), (lambda c: (c.arrive(1), c.arrive(1)), "this query is there already"),
                            (lambda c: c.end(1), "a query ends that does not run"), (lambda c: (c.arrive(1), c.arrive(2), c.end(2)), "ends that does not run"),
                            (lambda c: (c.arrive(1), c.started(), c.end(1), c.end(1)), "ends that does not run"),
                            (lambda c: (c.arrive(1), c.started(), c.progress(1, 1.5)), "a progress that cannot be"),
                            (lambda c: (c.arrive(1), c.started(), c.progress(1, nan)), "a progress that cannot be"),
                            (lambda c: c.begin(1), "a query begins that may not"),
                            (lambda c: (c.arrive(1), c.started(), c.begin(1, [1])), "not one of this process"),
                            (lambda c: (c.arrive(1), c.started(), c.begin(1, [-5])), "not one of this process"),
                            (lambda c: (c.arrive(1), c.started(), c.begin(1, [agent.pid])), "not one of this process"),
                            (lambda c: c.send(struct.pack("2IQ", client.BEGIN, 2**32 - 1, 1)), "another length"),
                            (lambda c: c.send(struct.pack("2IQi", client.BEGIN, 2, 1, 1)), "another length"), (lambda c: c.work(1.0), "nothing that a service says")):
            service = self.client("words")
            say(service)
            self.assertIn(reason, service.goodbye() or "")
            service.close()
        wait_until(lambda: json.loads(self.corun("top", "--json", "--socket", self.socket).stdout)["services"][0]["running"] == 0)
        last = self.client("words")
        last.answer_queries(2)
        self.end(agent)

    def test_random_bytes_harm_nobody_else(self):
        dice = random.Random(20)
        agent = self.begin("-s", "words", "-p", "os")
        good = self.client("words", workers=2)
        stop = threading.Event()
        def throw():
            while not stop.is_set():
                with contextlib.suppress(OSError):
                    bad = self.client()
                    for _ in range(dice.randrange(1, 5)):
                        kind = dice.choice([dice.randrange(0, 16), dice.randrange(2**32)])
                        bad.send(struct.pack("I", kind) + dice.randbytes(dice.choice([0, 4, 12, 20, 28, 76, dice.randrange(9000)])))
                    bad.close()
        throwers = [threading.Thread(target=throw) for _ in range(2)]
        for thrower in throwers:
            thrower.start()
        good.answer_queries(500)
        stop.set()
        for thrower in throwers:
            thrower.join()
        case = self.end(agent)["cases"][0]
        self.assertEqual((case["services"][0]["queries"], case["services"][0]["lost"]), (500, 0))
        self.assertGreater(case["refused_connections"], 10)

    @unittest.skipIf(os.geteuid(), "only root can become somebody else")
    def test_other_users_are_not_let_in(self):
        agent = self.begin("-s", "words", "-p", "os")
        self.folder.chmod(0o777)
        self.socket.chmod(0o777) # as if somebody had been careless
        script = "import socket, sys\ns = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\ns.connect(sys.argv[1])\ntry:\n  s.send(b'x' * 80); print(len(s.recv(100)))\nexcept OSError: print(0)"
        done = subprocess.run(["/usr/bin/python3", "-c", script, self.socket], user=65534, group=65534, stdout=subprocess.PIPE, text=True, check=True)
        self.assertEqual(done.stdout.strip(), "0")
        self.assertEqual(self.end(agent)["cases"][0]["refused_connections"], 1)


class Processes(InFolder):
    def test_programs_are_started_and_end_with_the_agent(self):
        agent = self.begin("-b", "mill:instances=2 sh -c 'sleep 1000 & echo $! >>children; echo $$ >>children; wait'", "-p", "os")
        wait_until(lambda: (self.folder / "children").exists() and len((self.folder / "children").read_text().split()) == 4)
        children = [int(word) for word in (self.folder / "children").read_text().split()]
        results = self.end(agent)
        self.assertEqual(results["cases"][0]["batches"][0]["instances"], 2)
        for pid in children:
            wait_until(lambda: not os.path.exists(f"/proc/{pid}") or state_of(pid) == "Z", what="a program is left")
        self.assertEqual(self.groups_left(), [])

    def test_a_batch_program_that_ends_begins_again(self):
        agent = self.begin("-b", "mill sh -c 'echo x >>runs; sleep 0.1'", "-b", "broken sh -c 'exit 3'", "-p", "os", "-t", "3s")
        self.assertEqual(agent.wait(30), OK)
        mill, broken = json.loads((self.folder / "r.json").read_text())["cases"][0]["batches"]
        runs = (self.folder / "runs").read_text().count("x")
        self.assertGreater(runs, 3)
        self.assertIn(mill["runs"], (runs, runs - 1))
        self.assertEqual((broken["runs"], broken["failures"]), (0, 1))

    def test_work_that_is_told(self):
        agent = self.begin("-s", "words:goal=1s", "-b", "mill:alone=100", "-p", "os")
        mill = self.client("mill", role=client.BATCH)
        since = time.monotonic()
        for work in range(10):
            mill.work(float(work * 10))
            time.sleep(0.02)
        status = json.loads(self.corun("top", "--json", "--socket", self.socket).stdout)
        self.assertEqual((status["batches"][0]["work"], status["batches"][0]["work_by"]), (90, "reported"))
        self.assertEqual(differences("A running agent", status), ([], []))
        results = self.end(agent)
        self.assertEqual(differences("Runs on this machine", results), ([], []))
        told = results["cases"][0]["batches"][0]
        self.assertEqual(told["work"], 90)
        self.assertLess(told["throughput"], 90 / 100 / (time.monotonic() - since) * 100)
        self.assertGreater(told["throughput"], 0)

    def test_processes_that_are_given_keep_their_cores(self):
        for means in ("cpuset", "affinity"):
            with self.subTest(means):
                if means == "cpuset" and not (CPUSETS and os.access(CPUSETS[0], os.W_OK) and not os.geteuid()):
                    self.skipTest("no control groups of processors that this user can write")
                given, other = self.burner(), self.burner()
                os.sched_setaffinity(given.pid, ALL)
                before, others = affinities(given.pid), affinities(other.pid)
                agent = self.begin("-b", f"mill:pid={given.pid}", "-p", "os", "--cores", ONE, "--confine", means)
                self.assertEqual(set(map(frozenset, affinities(given.pid).values())), {frozenset({ONE})})
                results = self.end(agent)
                self.assertEqual(affinities(given.pid), before)
                self.assertEqual(affinities(other.pid), others)
                self.assertEqual(results["cases"][0]["refused_changes"], 0, results)
                self.assertEqual(self.groups_left(), [])

    def test_a_control_group_that_somebody_removes(self):
        if not (CPUSETS and os.access(CPUSETS[0], os.W_OK) and not os.geteuid()):
            self.skipTest("no control groups of processors that this user can write")
        given = self.burner()
        before = affinities(given.pid)
        agent = self.begin("-b", f"mill:pid={given.pid}", "-p", "os", "--cores", ONE, "--confine", "cpuset")
        group = self.groups_left()[0] / "1"
        (CPUSETS[0] / "cgroup.procs").write_text(str(given.pid), encoding="utf-8")
        group.rmdir()
        for thread in before:
            os.sched_setaffinity(thread, ALL)
        wait_until(lambda: set(map(frozenset, affinities(given.pid).values())) == {frozenset({ONE})}, what="it runs anywhere")
        results = self.end(agent)
        self.assertEqual(affinities(given.pid), before)
        self.assertEqual(results["cases"][0]["refused_changes"], 1, results)
        self.assertIn("the control group of process", results["cases"][0]["first_refused_change"])
        self.assertEqual(self.groups_left(), [])

    def test_instances_that_may_not_run_are_stopped(self):
        given = [self.burner() for _ in range(3)]
        agent = self.begin("-b", "mill:" + ",".join(f"pid={process.pid}" for process in given), "-p", "static-opt:instances=1")
        wait_until(lambda: [state_of(process.pid) for process in given].count("T") == 2)
        self.end(agent)
        wait_until(lambda: [state_of(process.pid) for process in given].count("T") == 0, what="a process was left stopped")

    @unittest.skipIf(len(ALL) < 2, "this needs two processors")
    def test_a_query_has_cores_of_its_own_and_batch_the_rest(self):
        given = self.burner()
        agent = self.begin("-s", "words", "-b", f"mill:pid={given.pid}", "-p", "fixed:cores=1,ways=1", "--cores", ",".join(map(str, sorted(ALL)[:2])))
        service = self.client("words")
        service.arrive(1)
        self.assertEqual(service.started(), (1, 1))
        mine = {frozenset(cores) for cores in affinities(os.getpid()).values()}
        batch = {frozenset(cores) for cores in affinities(given.pid).values()}
        self.assertEqual((len(mine), len(batch)), (1, 1))
        self.assertFalse(mine & batch)
        service.end(1)
        wait_until(lambda: {len(cores) for cores in affinities(given.pid).values()} == {2}, what="batch does not get the core back")
        self.end(agent)
        self.assertEqual(os.sched_getaffinity(0), ALL)

    @unittest.skipIf(len(ALL) < 2 or "FAKE_RESCTRL_LIBRARY" not in os.environ, "this needs two processors, and a library that plays the kernel")
    def test_a_query_has_ways_of_its_own(self):
        """As far as files tell: groups of ways and of what is measured, their processors, their threads, and that they are gone in the end."""
        root = self.folder / "resctrl"
        for name, text in (("schemata", "L3:0=fff\n"), ("cpus_list", "0-1\n"), ("info/L3/cbm_mask", "fff\n"), ("info/L3/min_cbm_bits", "1\n"),
                           ("info/L3/num_closids", "4\n"), ("info/L3_MON/mon_features", "mbm_total_bytes\n"), ("mon_groups/.keep", "")):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        given = self.burner()
        first, second = sorted(ALL)[:2]
        self.more = {"LD_PRELOAD": os.environ["FAKE_RESCTRL_LIBRARY"], "FAKE_RESCTRL": str(root)}
        agent = self.begin("-s", "words", "-b", f"mill:pid={given.pid}", "-p", "fixed:cores=1,ways=4", "--cores", f"{first},{second}", "--resctrl", root)
        def groups():
            try:
                return {path.name.rsplit("-", 1)[1]: ((path / "schemata").read_text(), (path / "cpus_list").read_text()) for path in root.glob("corun-*")}
            except FileNotFoundError:  # one that is being made, or removed
                return None
        all_of_both = {"0": ("L3:0=fff\n", f"{first}-{second}\n" if second == first + 1 else f"{first},{second}\n")}
        wait_until(lambda: groups() == all_of_both, what=str(groups()))
        measured = root / "mon_groups" / f"corun-{agent.pid}-1" / "tasks"
        self.assertIn(int(measured.read_text()), map(int, os.listdir(f"/proc/{given.pid}/task"))) # one at a time is written
        service = self.client("words")
        service.arrive(1)
        self.assertEqual(service.started(), (1, 1))
        wait_until(lambda: groups() == {"0": ("L3:0=ff0\n", f"{second}\n"), "1": ("L3:0=f\n", f"{first}\n")}, what=str(groups()))
        service.end(1)
        wait_until(lambda: (groups() or {"0": ("",)})["0"][0] == "L3:0=fff\n", what="the ways do not come back")
        results = self.end(agent)
        self.assertEqual((results["host"]["ways_by"], results["host"]["ways_enforced"], results["host"]["memory_traffic"]), ("resctrl", True, "resctrl"))
        self.assertEqual(results["cases"][0]["refused_changes"], 0, results)
        self.assertEqual([*root.glob("corun-*"), *root.glob("mon_groups/corun-*")], [])
        self.assertEqual((root / "schemata").read_text(), "L3:0=fff\n")

    @unittest.skipIf(len(ALL) < 2, "this needs two processors")
    def test_two_queries_of_one_process_on_threads_of_their_own(self):
        agent = self.begin("-s", "words", "-p", "fixed:cores=1,ways=0", "--cores", ",".join(map(str, sorted(ALL)[:2])))
        done, ids = threading.Event(), []
        self.addCleanup(done.set)
        threads = [threading.Thread(target=lambda: (ids.append(threading.get_native_id()), done.wait())) for _ in range(2)]
        for thread in threads:
            thread.start()
        wait_until(lambda: len(ids) == 2)
        service = self.client("words", workers=2)
        for query, thread in enumerate(ids):
            service.arrive(query)
            service.started()
            service.begin(query, [thread])
        def apart():
            cores = [os.sched_getaffinity(thread) for thread in ids]
            return len(cores[0]) == len(cores[1]) == 1 and cores[0] != cores[1]
        wait_until(apart, what="the threads are not apart")
        self.assertEqual(len(os.sched_getaffinity(threading.get_native_id())), 2) # this one works on neither
        for query in range(2):
            service.end(query)
        self.end(agent)
        done.set()
        for thread in ids:
            with contextlib.suppress(ProcessLookupError): # it may end at any moment
                self.assertEqual(os.sched_getaffinity(thread), ALL)

    @unittest.skipIf(len(ALL) < 2, "this needs two processors")
    def test_ways_that_nobody_enforces_hold_no_query_back(self):
        """Each asks for the whole cache, which is one way where the machine does not tell."""
        empty = self.folder / "no-resctrl"
        empty.mkdir()
        words = ("-s", "words", "--resctrl", empty, "--cores", ",".join(map(str, sorted(ALL)[:2])))
        first = self.begin(*words, "-p", "os")
        ways = json.loads(self.corun("top", "--json", "--socket", self.socket).stdout)["ways"]
        self.end(first)
        agent = self.begin(*words, "-p", f"fixed:cores=1,ways={ways}")
        service = self.client("words", workers=2)
        for query in (1, 2):
            service.arrive(query)
            self.assertEqual(service.started(), (query, 1))
        for query in (1, 2):
            service.end(query)
        told = self.end(agent)
        self.assertEqual((told["host"]["ways_enforced"], told["cases"][0]["services"][0]["queries"]), (False, 2))

    def test_who_leaves_is_let_go(self):
        agent = self.begin("-s", "words", "-p", "os", "--cores", ONE)
        service = self.client("words")
        service.arrive(1)
        service.started()
        self.assertEqual(os.sched_getaffinity(0), {ONE})
        service.close()
        wait_until(lambda: os.sched_getaffinity(0) == ALL)
        self.end(agent)

    @unittest.skipIf(len(ALL) < 2, "this needs two processors")
    def test_who_leaves_is_as_it_was(self):
        """Threads that were somewhere else, control groups, also of a process that was there under two names; what it does then is its own."""
        apart, done = frozenset({max(ALL)}), threading.Event()
        def stand_apart():
            os.sched_setaffinity(0, apart)
            done.wait()
        thread = threading.Thread(target=stand_apart)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(done.set)
        self.addCleanup(os.sched_setaffinity, 0, ALL)
        wait_until(lambda: os.sched_getaffinity(thread.native_id) == apart)
        before, home = affinities(os.getpid()), pathlib.Path("/proc/self/cgroup").read_text(encoding="utf-8")
        def as_before():
            return affinities(os.getpid()) == before and pathlib.Path("/proc/self/cgroup").read_text(encoding="utf-8") == home
        agent = self.begin("-s", "words", "-s", "more", "-p", "os", "--cores", ONE)
        for names in (("words",), ("words", "more"), ("more", "words")):
            with self.subTest(names):
                services = [self.client(name) for name in names]
                for service in services:
                    service.arrive(1)
                    service.started()
                self.assertEqual(set(map(frozenset, affinities(os.getpid()).values())), {frozenset({ONE})})
                for service in services:
                    service.close()
                wait_until(as_before)
        os.sched_setaffinity(0, {max(ALL)})
        self.end(agent)
        self.assertEqual(os.sched_getaffinity(0), {max(ALL)})

    def test_a_stopped_process_that_is_killed_leaves_no_stopped_children(self):
        forks = "import subprocess, time\nprint(subprocess.Popen(['sleep', '1000'], stdout=subprocess.DEVNULL).pid, flush=True)\ntime.sleep(1000)"
        given = [subprocess.Popen([sys.executable, "-c", forks], stdout=subprocess.PIPE, start_new_session=True, text=True) for _ in range(2)]
        children = [int(process.stdout.readline()) for process in given]
        def clean_up():
            for process in given:
                process.kill()
                process.communicate()
            for child in children:
                os.kill(child, signal.SIGKILL)
        self.addCleanup(clean_up)
        agent = self.begin("-b", f"mill:pid={given[0].pid},pid={given[1].pid}", "-p", "static-opt:instances=1")
        wait_until(lambda: state_of(given[1].pid) == state_of(children[1]) == "T")
        given[1].kill()
        given[1].wait()
        wait_until(lambda: state_of(children[1]) != "T", what="the child stays stopped")
        self.end(agent)

    def test_connections_do_not_take_all_descriptors(self):
        """Programs are started again however many connections there are, with the limit that the agent was given; connections that are too many are told so."""
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        given = min(soft, 512)
        resource.setrlimit(resource.RLIMIT_NOFILE, (given, hard))
        try:
            agent = self.begin("-b", "mill sh -c 'ulimit -Sn >limit; echo x >>runs; sleep 0.05'", "-s", "words", "-p", "os")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        wait_until(lambda: (self.folder / "limit").exists() and (self.folder / "limit").read_text() == f"{given}\n", what="the program has another limit")
        resource.prlimit(agent.pid, resource.RLIMIT_NOFILE, (40, 40))
        many = [self.client() for _ in range(100)]
        wait_until(lambda: many[-1].goodbye() == "the agent has as many connections as it can have")
        runs = self.folder / "runs"
        wait_until(runs.exists)
        before = runs.stat().st_size
        wait_until(lambda: runs.stat().st_size > before + 10, what="the program is not started again")
        agent.send_signal(signal.SIGSTOP)  # one that has said something before it is turned away
        early = self.client()
        early.send(struct.pack("4I64s", client.HELLO, 1, client.SERVES, 1, b"words"))
        agent.send_signal(signal.SIGCONT)
        self.assertEqual(early.goodbye(), "the agent has as many connections as it can have")
        for one in many:
            one.close()
        services = []

        def may_come():  # the agent has seen that those have gone
            services.append(self.client("words"))
            return services[-1].answer[0] == client.WELCOME
        wait_until(may_come, what="there is no room again")
        services[-1].answer_queries(3)
        self.assertEqual(self.end(agent)["cases"][0]["services"][0]["queries"], 3)


class Killed(InFolder):
    """Nothing is left of an agent, however it ends."""

    def begin_with_everything(self):
        self.given, self.stopped = self.burner(), self.burner()
        self.before = affinities(self.given.pid)
        agent = self.begin("-b", f"mill:pid={self.given.pid},pid={self.stopped.pid}", "-b", "own sh -c 'echo $$ >own; while :; do sleep 1; done'",
                           "-p", "static-opt:instances=1", "--cores", ONE)
        wait_until(lambda: state_of(self.stopped.pid) == "T" and (self.folder / "own").exists() and (self.folder / "own").read_text())
        self.assertEqual(set(map(frozenset, affinities(self.given.pid).values())), {frozenset({ONE})})
        return agent

    def expect_everything_as_before(self):
        own = int((self.folder / "own").read_text())
        wait_until(lambda: not self.journal.exists(), what="the journal is still there")
        self.assertEqual(affinities(self.given.pid), self.before)
        self.assertNotEqual(state_of(self.stopped.pid), "T")
        wait_until(lambda: not os.path.exists(f"/proc/{own}") or state_of(own) == "Z", what="the agent's program is still there")
        self.assertEqual(self.groups_left(), [])

    def test_the_agent_is_killed(self):
        agent = self.begin_with_everything()
        agent.kill()
        agent.wait()
        self.expect_everything_as_before()
        self.assertFalse(self.socket.exists())
        self.assertIn("nothing is left", self.corun("restore", "--socket", self.socket).stdout)

    def test_the_guardian_is_killed_and_then_the_agent(self):
        agent = self.begin_with_everything()
        wait_until(lambda: self.guardian_of(agent), what="there is no guardian")
        guardian = self.guardian_of(agent)
        os.kill(guardian, signal.SIGKILL)
        wait_until(lambda: self.guardian_of(agent) not in (None, guardian), what="there is no other guardian")
        agent.kill()
        agent.wait()
        self.expect_everything_as_before()

    def both_killed(self):
        agent = self.begin_with_everything()
        wait_until(lambda: self.guardian_of(agent), what="there is no guardian")
        guardian = self.guardian_of(agent)
        os.kill(agent.pid, signal.SIGSTOP) # it cannot make another one
        os.kill(guardian, signal.SIGKILL)
        agent.kill()
        agent.wait()
        self.assertTrue(self.journal.exists())
        self.assertEqual(state_of(self.stopped.pid), "T")

    def test_both_are_killed(self):
        self.both_killed()
        said = self.corun("restore", "--socket", self.socket).stdout
        self.assertRegex(said, r"\d+ processes go on")
        self.expect_everything_as_before()

    def test_the_next_agent_puts_back_what_the_last_one_left(self):
        self.both_killed()
        agent = self.begin("-b", "mill", "-p", "os")
        own = int((self.folder / "own").read_text())
        self.assertEqual(affinities(self.given.pid), self.before)
        self.assertNotEqual(state_of(self.stopped.pid), "T")
        self.assertFalse(os.path.exists(f"/proc/{own}") and state_of(own) != "Z")
        self.end(agent)

    def test_signals(self):
        for how in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            agent = self.begin_with_everything()
            self.end(agent, how)
            self.expect_everything_as_before()
            (self.folder / "own").unlink()

    def test_a_policy_that_cannot_be_obeyed(self):
        """No policy of ours does that: what refuses is an application's own count."""
        given = self.burner()
        before = affinities(given.pid)
        self.corun("run", "-b", f"mill:pid={given.pid}", "-p", "os:share=applications", "--socket", self.socket, "-t", "5s", status=POLICY)
        self.assertEqual(affinities(given.pid), before)
        self.assertFalse(self.journal.exists())

    def test_two_agents_on_one_socket(self):
        agent = self.begin("-b", "mill", "-p", "os")
        refused = self.corun("run", "-b", "mill", "--socket", self.socket, status=ARGUMENT)
        self.assertIn("an agent runs there", refused.stderr)
        self.end(agent)


class Predicted(InFolder):
    def train(self, work="progress"):
        """Queries that take as many tens of ms as their size says, on one core; half of that on two."""
        lines = ["size,cores,ways,duration_ns,ipc,work"]
        for i in range(200):
            size, cores = 1 + i % 10, 1 + i // 10 % 2
            lines.append(f"{size},{cores},{1 + i // 20 % 4},{size / cores * 1e7},1,{work}")
        (self.folder / "s.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
        self.corun("train", "-q", "s.csv", "-o", "words.json")

    @unittest.skipIf(len(ALL) < 2, "this needs two processors")
    def test_emu_gives_what_a_query_needs(self):
        self.train()
        agent = self.begin("-s", "words:goal=100ms,model=words.json", "-p", "emu:model=knn", "--cores", ",".join(map(str, sorted(ALL)[:2])))
        service = self.client("words", workers=2)
        service.arrive(1, 2.0) # 20 ms on one core
        self.assertEqual(service.started(), (1, 1))
        service.end(1)
        service.arrive(2, 9.9) # 99 ms on one core: one is too few
        self.assertEqual(service.started(), (2, 2))
        service.end(2)
        service.arrive(3, 7.0) # one is enough, until it is slow
        self.assertEqual(service.started(), (3, 1))
        service.progress(3, 0.01)
        wait_until(lambda: len(os.sched_getaffinity(0)) == 2, what="it does not get a second core")
        service.end(3)
        case = self.end(agent)["cases"][0]
        self.assertEqual(case["services"][0]["work_by"], "reported")
        self.assertGreater(case["services"][0]["cores"], 0)

    def test_a_service_without_a_model(self):
        refused = self.corun("run", "-s", "words:goal=1s", "-p", "emu", "--socket", self.socket, status=ARGUMENT)
        self.assertIn("policy emu needs a model of the service words", refused.stderr)
        self.assertFalse(self.journal.exists())

    def test_samples_become_a_model(self):
        agent = self.begin("-s", "words", "-p", "fixed:cores=1,ways=0", "--samples", "s.csv")
        service = self.client("words")
        for query in range(30):
            service.arrive(query, 1.0 + query % 5)
            service.started()
            time.sleep(0.001 * (1 + query % 5))
            service.end(query)
        wait_until(lambda: json.loads(self.corun("top", "--json", "--socket", self.socket).stdout)["services"][0]["queries"] == 30)
        self.end(agent)
        lines = (self.folder / "s.csv").read_text(encoding="utf-8").splitlines()
        self.assertEqual(lines[0], "service,size,cores,ways,duration_ns,ipc,work")
        self.assertEqual(len(lines), 31)
        self.assertEqual(lines[1].split(",")[2], "1")
        self.corun("train", "-q", "s.csv", "-o", "m.json")
        by_progress = lines[1].split(",")[6] == "progress"
        self.assertEqual(json.loads((self.folder / "m.json").read_text())["predictor"].get("work"), "progress" if by_progress else None)


class Examples(InFolder):
    """The programs of examples/host, as docs/host-linux.md has them."""

    def test_a_service_and_a_batch_program(self):
        for policy in ("os", "fixed:cores=1,ways=1"):
            with self.subTest(policy):
                self.corun("run", "-q", "-p", policy, "--socket", self.socket, "--json", "r.json",
                           "-s", f"gmm:goal=1000s {EXAMPLES}/gmm --serve --size=10 --gap=50 --queries=40 --threads=2 --workers=2",
                           "-b", f"blackscholes:instances=2 {EXAMPLES}/blackscholes --serve --size=2 --threads=1")
                case = json.loads((self.folder / "r.json").read_text())["cases"][0]
                service, batch = case["services"][0], case["batches"][0]
                self.assertEqual((service["queries"], service["lost"], case["violations"], case["refused_changes"]), (40, 0, 0, 0), case)
                self.assertEqual(batch["work_by"] if batch["work_by"] != "counted" else "reported", "reported")
                self.assertGreater(batch["work"], 0)
                if policy != "os":
                    self.assertGreater(service["cores"], 0)
        self.assertEqual(self.groups_left(), [])

    def test_the_page_has_a_whole_service(self):
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "host-linux.md").read_text(encoding="utf-8")
        program = page.split("```python\n")[1].split("```")[0]
        self.assertLessEqual(len(program.strip().splitlines()), 21)
        (self.folder / "words.py").write_text(program, encoding="utf-8")
        self.corun("run", "-q", "-p", "os", "--socket", self.socket, "--json", "r.json", "-s", f"words:goal=10s {sys.executable} words.py")
        service = json.loads((self.folder / "r.json").read_text())["cases"][0]["services"][0]
        self.assertEqual((service["queries"], service["lost"]), (10, 0))
        self.assertGreater(service["p99_ns"], 5e6)

    def test_the_same_without_an_agent(self):
        environment = {name: value for name, value in os.environ.items() if name != "CORUN_AGENT"}
        for words in (("--gap=5", "--workers=3"), ()):
            done = subprocess.run([EXAMPLES / "regex", "--serve", "--size=20", "--queries=25", "--threads=1", *words], stdout=subprocess.PIPE, text=True,
                                  env=environment, timeout=60, check=True)
            self.assertRegex(done.stdout, r"regex: 25 queries, P50 [\d.]+ ms, P99 [\d.]+ ms")

    def test_an_agent_that_is_killed_leaves_its_service_running(self):
        """The service has connected by itself: it answers all its queries, governed or not."""
        agent = self.begin("-s", "gmm", "-p", "fixed:cores=1,ways=1")
        service = subprocess.Popen([EXAMPLES / "gmm", "--serve", "--size=5", "--gap=10", "--queries=300", "--threads=2", f"--agent={self.socket}"],
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(service.kill)
        def queries():
            return json.loads(self.corun("top", "--json", "--socket", self.socket).stdout)["services"][0]["queries"]
        wait_until(lambda: queries() > 20, 100)
        agent.kill()
        agent.wait()
        wait_until(lambda: not self.journal.exists())
        self.assertEqual(set(map(frozenset, affinities(service.pid).values())), {frozenset(ALL)})
        again = self.begin("-s", "gmm", "-p", "os") # which it finds
        wait_until(lambda: queries() > 5, 100)
        self.assertIn("300 queries", service.communicate(timeout=300)[0])
        self.end(again)

    @unittest.skipIf("SANITIZED" in os.environ, "a sanitized program is not loaded with a library of ours")
    def test_the_clock_of_the_day_may_jump(self):
        library = os.environ.get("JUMPING_CLOCK")
        if not library:
            self.skipTest("no library that makes it jump")
        (self.folder / "plan.yaml").write_text(f"services: [{{name: gmm, goal: 10s, command: \"{EXAMPLES}/gmm --serve --size=5 --gap=10 --threads=1\"}}]\n", encoding="utf-8")
        since = time.monotonic()
        subprocess.run([CORUN, "host", "run", "-q", "-p", "fixed:cores=1,ways=1", "-t", "2s", "--socket", self.socket, "--json", "r.json", "plan.yaml"],
                       cwd=self.folder, env={**os.environ, "LD_PRELOAD": library}, timeout=60, check=True)
        self.assertLess(time.monotonic() - since, 30)
        case = json.loads((self.folder / "r.json").read_text())["cases"][0]
        self.assertGreater(case["services"][0]["queries"], 20)
        self.assertLess(case["services"][0]["longest_ns"], 2e10)
        self.assertLess(abs(case["end_ns"] - 2e9), 1e9)


class Mistakes(InFolder):
    def test_mistakes_are_named(self):
        (self.folder / "bad.yaml").write_text("services:\n  - name: words\n    gaol: 1s\n", encoding="utf-8")
        for words, status, message in (
                ((), USAGE, "nothing is to run"), (("-s", "a b", "-s", "a"), ARGUMENT, "two applications are called a"),
                (("-s", "words", "-p", "emo"), NOT_FOUND, "did you mean 'emu'?"), (("-s", "words", "-p", "static-opt"), ARGUMENT, "static-opt:instances=N"),
                (("-s", "words:goal=x"), USAGE, "goal is not among"), (("-s", "words", "-t", "long"), USAGE, "`long` is no time"),
                (("-s", "words", "--cores", "x"), USAGE, "`x` is no list of processors"), (("-s", "words", "--cores", "1023"), ARGUMENT, "not among those"),
                (("-b", "mill sleep 1", "-t", "1s", "--warmup", "1s"), ARGUMENT, "a warm-up of 1 s leaves nothing of the 1 s of the run"),
                (("-s", "words", "--confine", "rope"), USAGE, "cpuset or affinity"), (("-b", "mill /nonexistent/program"), NOT_FOUND, "/nonexistent/program: No such file"),
                (("-b", "mill:pid=999999"), ARGUMENT, "process 999999 cannot be taken"), (("-s", "words:goal=1s,model=no.json", "-p", "emu"), NOT_FOUND, "no.json"),
                (("bad.yaml",), SYNTAX, "bad.yaml:3:5: unknown key 'gaol'; did you mean 'goal'?"), (("no.yaml",), NOT_FOUND, "no.yaml"), (("a.yaml", "b.yaml"), USAGE, "one too many"),
                (("-s", "words", "--socket", "x" * 150), FILE, "too long" if len("x" * 150) >= 200 else "at most 107 bytes")):
            done = self.corun("run", "--socket", self.socket, *words, status=status)
            self.assertIn(message, done.stderr)
            self.assertFalse(self.journal.exists())
            self.assertFalse(self.socket.exists())
        self.assertEqual(self.groups_left(), [])
        self.assertIn("no agent answers there", self.corun("top", "--once", "--socket", self.socket, status=NOT_FOUND).stderr)

    def test_a_group_by_a_path_from_here(self):
        """What is made there can be put back, from wherever; here it cannot be made."""
        done = self.corun("run", "--time", "300ms", "--socket", self.socket, "-b", "mill sleep 9", "--group", "none")
        self.assertEqual(done.stderr, "")
        self.assertFalse(self.journal.exists())
        if "no hierarchy of control groups has cpuset" in done.stdout:
            self.skipTest("there are no control groups to begin with")
        self.assertIn(f"no control groups: {os.path.realpath(self.folder)}/none/", done.stdout)

    def test_a_file_in_the_way_stays(self):
        self.socket.write_text("mine", encoding="utf-8")
        self.corun("run", "-s", "words", "--socket", self.socket, status=FILE)
        self.assertEqual(self.socket.read_text(encoding="utf-8"), "mine")

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "only root writes where others cannot")
    def test_scripts_of_slurm_write_nothing_through_links(self):
        """Root's Prolog and Epilog have a folder in common with the job's user, who can put anything there."""
        scripts, victim, job = pathlib.Path(__file__).resolve().parents[2] / "examples" / "slurm", self.folder / "victim", self.folder / "jobs" / "7"
        self.folder.chmod(0o755)
        victim.write_text("kept")
        environment = {**os.environ, "CORUN": str(CORUN), "CORUN_JOBS": str(job.parent), "SLURM_JOB_ID": "7", "SLURM_JOB_USER": "nobody",
                       "SLURM_JOB_COMMENT": "corun policy=os service=words", "SLURM_JOB_WORK_DIR": ""}
        for names in (("log", "pid"), ("share",)):
            with self.subTest(names):
                subprocess.run([scripts / "prolog.sh"], env=environment, check=True, timeout=60, stdout=subprocess.DEVNULL)
                agents = [int(entry.name) for entry in pathlib.Path("/proc").glob("[0-9]*") if str(job / "agent").encode() in command_of(entry)]
                self.assertTrue(agents)
                for name in names:
                    (job / name).unlink(missing_ok=True)
                    (job / name).symlink_to(victim)
                subprocess.run([scripts / "epilog.sh"], env=environment, check=True, timeout=60, stdout=subprocess.DEVNULL)
                left = [agent for agent in agents if str(job / "agent").encode() in command_of(pathlib.Path(f"/proc/{agent}"))]
                for agent in left:
                    os.kill(agent, signal.SIGKILL)
                self.assertEqual(left, [])
                self.assertEqual(victim.read_text(), "kept")
                self.assertEqual([entry.name for entry in job.parent.iterdir()], [])

    def test_programs_that_fail_are_told_of(self):
        words = ("run", "--time", "300ms", "--socket", self.socket, "-b", "mill sh -c 'exit 3'", "-b", "other sleep 9")
        lines = self.corun(*words).stdout.splitlines()
        self.assertEqual([line for line in lines if "ended with an error" in line], ["mill: 1 program ended with an error"])
        lines = self.corun("run", "--socket", self.socket, "-s", "words sh -c 'kill -9 $$'").stdout.splitlines()
        self.assertEqual(lines[-1], "words: 1 program ended with an error")

    def test_a_plan(self):
        (self.folder / "plan.yaml").write_text("policy: os\nduration: 1s\nwarmup: 100ms\nbatch:\n  - name: mill\n    instances: 2\n    command: [sleep, 100]\n", encoding="utf-8")
        self.corun("run", "-q", "plan.yaml", "--socket", self.socket, "--json", "r.json")
        case = json.loads((self.folder / "r.json").read_text())["cases"][0]
        self.assertEqual(case["batches"][0]["instances"], 2)
        self.assertGreater(case["end_ns"], 9e8)
        table = self.corun("run", "plan.yaml", "--socket", self.socket).stdout
        self.assertIn("mill x 2", table)
        self.assertRegex(table, r"decisions of [\d.]+ us processor time")


if __name__ == "__main__":
    CORUN = os.path.abspath(sys.argv.pop(1))
    EXAMPLES = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
