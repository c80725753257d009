#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Several programs of one `corun exec`. Usage: test_together.py CORUN FOLDER-OF-PROGRAMS [TEST...]"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from json_page import differences  # noqa: E402  # pylint: disable=wrong-import-position

CORUN, PROGRAMS = sys.argv[1:3]


def program(name):
    return os.path.join(PROGRAMS, name)


class Together(unittest.TestCase):
    def setUp(self):
        # pylint: disable=consider-using-with
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = temporary.name

    def start(self, *words, **settings):
        return subprocess.Popen([CORUN, "exec", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, start_new_session=True, env=dict(os.environ, TMPDIR=self.folder, **settings))

    def run_all(self, *words):
        """Whatever it is that ran, nothing of it is left."""
        with self.start(*words) as process:
            out, err = process.communicate(timeout=120)
        self.assertEqual(os.listdir(self.folder), [])
        return process.returncode, out, err

    def told(self, *words):
        status, out, err = self.run_all("-q", "--json", "-", *words)
        self.assertEqual(status, 0, err)
        return json.loads(out)

    TWO = ("--goal", "50%", "--", program("heat"), ":", "--name", "train", "--", program("elimination"))

    def test_report(self):
        status, out, err = self.run_all("--policy", "smqos", "--gpu", "gtx980", *self.TWO)
        self.assertEqual((status, out), (0, ""), err)
        self.assertRegex(err, r"gtx980 at 1216 MHz, policy smqos: 2 programs, \d+ cycles")
        self.assertRegex(err, r"heat +50% +143 +\d+ +\d+\.\d\d +\d+\.\d\d +0\.\d{3} +(yes|no), \d+\.\d %")
        self.assertRegex(err, r"train +- +\d+ +\d+ +\d+\.\d\d +- +- +-")
        self.assertIn("\nheat: gtx980 at 1216 MHz: 143 launches\n", err)
        self.assertIn("\ntrain: gtx980 at 1216 MHz: ", err)

    def test_json(self):
        both = self.told("--policy", "smqos", "--baselines", *self.TWO)
        self.assertEqual(differences("CUDA programs together", both), ([], []))
        heat, train = both["programs"]
        self.assertEqual((heat["name"], train["name"]), ("heat", "train"))
        self.assertEqual((heat["goal"], train["goal"], train["goal_met"]), ("50%", None, None))
        self.assertEqual(heat["command"], [program("heat")])
        for one in (heat, train):
            launches = [launch for launch in both["launches"] if launch["process"] in one["processes"]]
            self.assertEqual(one["launches"], len(launches))
            self.assertEqual(sum(launch["counters"]["thread_instructions"] for launch in launches), one["thread_instructions"])
            self.assertAlmostEqual(one["ipc"], one["thread_instructions"] / one["cycles"])
            self.assertAlmostEqual(one["normalised_ipc"], one["ipc"] / one["ipc_isolated"])
        self.assertAlmostEqual(heat["goal_ipc"], heat["ipc_isolated"] / 2)
        self.assertEqual(heat["goal_met"], heat["ipc"] >= heat["goal_ipc"])
        self.assertLessEqual(train["normalised_ipc"], 1.05)

    def test_alone_is_alone(self):
        """One program under a policy that gives all to one has the rate that it has as its own baseline."""
        done = self.told("--policy", "left-over", "--baselines", "--", program("heat"))
        self.assertEqual(done["programs"][0]["normalised_ipc"], 1)
        self.assertEqual(len(done["launches"]), 143)

    def test_same_digits(self):
        """Over repeats, with two threads, and beside processes that take the processor; also of a script that runs one program after another."""
        script = os.path.join(self.folder, "script")
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"{program('reduction')}; sleep 0.$(($$ % 3)); {program('vector_add')}; {program('reduction')}\n")
        first = None
        turns = max(3, int(os.environ.get("CORUN_TEST_RUNS", "0")))
        for turn in range(turns):
            # pylint: disable=consider-using-with
            load = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 if turn % 2 else 0)]
            try:
                with self.start("-q", "--json", "-", "--policy", "smqos", "--threads", "1" if turn < turns - 1 else "2", *self.TWO, ":", "--", "sh",
                                script) as process:
                    out, err = process.communicate(timeout=120)
                self.assertEqual(process.returncode, 0, err)
            finally:
                for one in load:
                    one.kill()
                    one.wait()
            first = first or out
            self.assertEqual(out, first, turn)
        self.assertEqual([len(one["processes"]) for one in json.loads(first)["programs"]], [1, 1, 3])

    def test_numbers_of_processes_begin_anew(self):
        """Processes are in the order in which they started, also where the later one has the lower number."""
        alone = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
        if subprocess.run([*alone, "sh", "-c", "echo 7 > /proc/sys/kernel/ns_last_pid"], check=False, capture_output=True).returncode:
            self.skipTest("no namespace of processes can be made here")
        script = os.path.join(self.folder, "script")
        told = []
        for last in ("2000", "100"):
            with open(script, "w", encoding="utf-8") as file:
                file.write(f"echo 1000 > /proc/sys/kernel/ns_last_pid; {program('reduction')}\n"
                           f"echo {last} > /proc/sys/kernel/ns_last_pid; {program('vector_add')}\n")
            done = subprocess.run([*alone, CORUN, "exec", "-q", "--json", "-", "--policy", "even", "--", "sh", script], check=False,
                                  capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            told.append(done.stdout)
        self.assertEqual(told[0], told[1])
        kernels = [launch["kernel"] for launch in json.loads(told[1])["launches"]]
        self.assertIn("add", kernels[-1])

    def test_time_is_shared(self):
        """Beside another one, a program takes longer than alone, and its launches lie in the same time as those of the other one."""
        both = self.told("--policy", "even", "--baselines", "--", program("heat"), ":", program("heat"))
        one, other = both["programs"]
        self.assertEqual((one["name"], other["name"]), ("heat", "heat-2"))
        for row in (one, other):
            self.assertLess(row["normalised_ipc"], 0.95)
        self.assertLess(max(one["arrived_cycle"], other["arrived_cycle"]), one["cycles"])

    def test_regions(self):
        """Each program has its own; the rest takes no simulated time, and the results are right in any case."""
        words = ("--policy", "even", "--kernel", "advance", "--launch", "2-4", "--", program("profiled"), ":", "--profiled", "--",
                 program("profiled"), ":", program("profiled"))
        told = self.told(*words)
        self.assertEqual(told, self.told(*words))
        timed = []
        for one in told["programs"]:
            launches = [launch for launch in told["launches"] if launch["process"] in one["processes"]]
            self.assertEqual((one["launches"], one["exit_status"]), (20, 0))
            timed.append([launch for launch in launches if launch["timed"]])
            self.assertEqual(one["thread_instructions"], sum(launch["counters"]["thread_instructions"] for launch in timed[-1]))
            self.assertTrue(all(launch["cycles"] == 0 for launch in launches if not launch["timed"]))
            self.assertTrue(all(launch["cycles"] > 0 for launch in timed[-1]))
        self.assertEqual([launch["kernel"] for launch in timed[0]], ["advance"] * 3)
        self.assertEqual([launch["kernel"] for launch in timed[1]], ["advance", "turn"] * 3)
        self.assertEqual(len(timed[2]), 20)
        self.assertIn(": 20 launches, 6 of them timed\n", self.run_all(*words)[2])

    def test_without_timing(self):
        """A program without timing has its results, and takes nothing from the others; all can be so."""
        add = program("vector_add")
        alone = self.told("--policy", "even", "--", program("heat"))["programs"][0]
        words = ("--policy", "even", "--functional", "--", add, ":", "--name", "other", "--", program("heat"))
        told = self.told(*words)
        first, other = told["programs"]
        self.assertEqual((first["launches"], first["thread_instructions"], first["ipc"]), (1, 0, None))
        self.assertEqual(other["thread_instructions"], alone["thread_instructions"])
        self.assertLess(abs(other["cycles"] - alone["cycles"]), 0.01 * alone["cycles"])  # its memory has other addresses
        self.assertEqual([device["timed"] for device in told["devices"]], [False, True])
        self.assertEqual([launch["timed"] for launch in told["launches"] if launch["process"] in first["processes"]], [False])
        err = self.run_all(*words)[2]
        self.assertIn("vector_add: gtx980 at 1216 MHz, without timing: 1 launch\n", err)
        self.assertRegex(err, r"\nadd +1 +6942 +211920\n")
        both = self.told("--policy", "even", "--functional", "--", add, ":", "--functional", "--", add)
        self.assertEqual([one["exit_status"] for one in both["programs"]], [0, 0])
        self.assertEqual([launch["timed"] for launch in both["launches"]], [False, False])

    def test_profile(self):
        """Of each program by itself; cycles stay the same."""
        plain, profiled = (self.told("--policy", "even", *options, *self.TWO) for options in ((), ("--profile",)))
        for one in profiled["programs"]:
            profile = one.pop("profile")
            self.assertEqual(differences("Profiles", {"profile": profile}), ([], []))
            launches = [launch for launch in profiled["launches"] if launch["process"] in one["processes"]]
            self.assertEqual({kernel["symbol"] for kernel in profile}, {launch["symbol"] for launch in launches})
            for kernel in profile:
                self.assertEqual(sum(line["warp_instructions"] for line in kernel["lines"]),
                                 sum(launch["counters"]["warp_instructions"] for launch in launches if launch["symbol"] == kernel["symbol"]))
        self.assertEqual(profiled, plain)
        _, _, err = self.run_all("--policy", "even", "--profile", *self.TWO)
        self.assertRegex(err, r"(?s)\nheat: .*kernel diffuse: warp instructions, .*\ntrain: .*kernel pivot: warp instructions, ")

    def test_crash(self):
        """One that ends otherwise, never uses its GPU or has a kernel that faults: the others go on."""
        status, out, err = self.run_all("-q", "--json", "-", "--policy", "even", "--", program("heat"), ":", "--", program("fault"), ":", "--name",
                                        "killed", "--", "sh", "-c", "kill -9 $$", ":", "true")
        self.assertEqual(status, 128 + 9, err)
        self.assertIn("fault(1).ptx:22: application program stopped at cycle", err)
        self.assertIn("killed has ended with status 137", err)
        rows = json.loads(out)["programs"]
        self.assertEqual([row["status"] for row in rows], ["OK", "FAULT", "OK", "OK"])
        self.assertEqual([row["exit_status"] for row in rows], [0, 0, 137, 0])
        self.assertEqual([row["launches"] for row in rows[:1] + rows[2:]], [143, 0, 0])

    def test_refused(self):
        done = self.run_all("-q", "--policy", "even", "--", program("heat"), ":", program("refused"), "careless")
        self.assertEqual(done[0], 4, done)
        self.assertIn("refused has ended with status 0 without launches of kernel everywhere", done[2])
        done = self.run_all("-q", "--policy", "even", "--keep-status", "--", program("heat"), ":", program("refused"), "careless")
        self.assertEqual(done[0], 0, done)

    def test_signals(self):
        """All end, and nothing is left: Ctrl-C, SIGTERM, and when it is killed itself."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            mark = f"{100 + number.value}.25"
            with self.start("--policy", "even", "--", program("heat"), ":", "--", "sh", "-c", f"trap '' INT; sleep {mark} & wait") as process:
                deadline = time.monotonic() + 30
                while not self.running(mark) and time.monotonic() < deadline:
                    time.sleep(0.05)
                self.assertTrue(self.running(mark))
                process.send_signal(number)
                process.communicate(timeout=30)
            self.assertEqual(process.returncode, -9 if number == signal.SIGKILL else 128 + number)
            deadline = time.monotonic() + 10
            while (self.running(mark) or os.listdir(self.folder)) and time.monotonic() < deadline:
                time.sleep(0.05)
            self.assertFalse(self.running(mark))
            self.assertEqual(os.listdir(self.folder), [])

    @staticmethod
    def running(mark):
        return subprocess.run(["pgrep", "-fx", f"sleep {mark}"], capture_output=True, check=False).returncode == 0

    def test_policy_that_crashes(self):
        """It is named, nothing of the programs is left, and no folder, also of a program that had ended before."""
        source, policy = os.path.join(self.folder, "mine.c"), os.path.join(self.folder, "mine.so")
        with open(source, "w", encoding="utf-8") as file:
            file.write("""#include "corun/policy.h"
static enum corun_status start(void *state, const struct corun_view *view, const double *parameters, struct corun_allowances *allowances)
{ (void)state, (void)view, (void)parameters, (void)allowances; return CORUN_OK; }
static void decide(void *state, const struct corun_view *view, struct corun_policy_moment moment, struct corun_allowances *allowances)
{ (void)state, (void)moment, (void)allowances; if (view->cycle > 50000) *(volatile int *)0 = 1; }
const struct corun_policy corun_policy = {.version = CORUN_POLICY_VERSION, .name = "mine", .summary = "", .paper = "",
    .needs = 1u << CORUN_CAN_TB_LIMIT, .state_bytes = 64, .start = start, .decide = decide};
""")
        include = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../include")
        subprocess.run(["cc", "-shared", "-fPIC", "-I", include, source, "-o", policy], check=True)
        with self.start("-q", "--policy", policy, "--", program("heat"), ":", program("elimination"), ":", "true") as process:
            err = process.communicate(timeout=60)[1]
        self.assertEqual(process.returncode, 12, err)
        self.assertIn("policy mine crashed in one of its calls (Segmentation fault)", err)
        deadline = time.monotonic() + 10
        while len(os.listdir(self.folder)) > 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(sorted(os.listdir(self.folder)), ["mine.c", "mine.so"])

    def test_wall_timeout(self):
        status, _, err = self.run_all("-q", "--policy", "even", "--wall-timeout", "1s", "--", program("heat"), ":", "--", "sleep", "300")
        self.assertEqual(status, 15, err)
        self.assertIn("has not ended within 1 s (--wall-timeout)", err)

    def test_kernel_timeout(self):
        status, out, err = self.run_all("-q", "--json", "-", "--policy", "even", "--kernel-timeout", "200000", "--", program("endless"), ":",
                                        program("heat"))
        self.assertTrue(out.startswith("launched\n702 702\n"), out[:100])
        rows = json.loads(out.split("\n", maxsplit=2)[2])["programs"]
        self.assertIn("kernel store_for_ever has run for", err)
        self.assertEqual([row["status"] for row in rows], ["TIMEOUT", "OK"])
        self.assertEqual(rows[1]["launches"], 143)
        self.assertEqual((status, rows[0]["exit_status"]), (0, 0))

    def test_timeline(self):
        status, out, err = self.run_all("-q", "--timeline", "-", "--policy", "even", "--", program("heat"), ":", program("reduction"))
        self.assertEqual(status, 0, err)
        events = json.loads(out)
        events = events["traceEvents"] if isinstance(events, dict) else events
        launches = {event["pid"] for event in events if event["ph"] == "X"}
        self.assertEqual(len(launches), 2)
        names = [event["args"]["name"] for event in events if event["name"] == "process_name"]
        self.assertEqual(names[:1], ["heat: gtx980, device 0 of process 0"])
        self.assertIn("reduction: gtx980, device 0 of process 1", names)

    def test_a_kernel_that_is_not_there(self):
        done = self.run_all("-q", "--policy", "even", "--kernel", "advanced", "--", program("profiled"), ":", "--kernel", "x", "--", "true", ":",
                            "--kernel", "turn", "--", program("profiled"))
        self.assertEqual((done[0], done[2]), (0, "corun: warning: profiled has launched no kernel `advanced` (--kernel); it has launched others: "
                                              "advance, turn\ncorun: warning: true has launched no kernel `x` (--kernel), and no other\n"))

    def test_mistakes(self):
        add = program("vector_add")
        for words, status, text in ((("--policy", "even", "--", add, ":"), 2, "program 2: a program is missing"),
                                    (("--policy", "even", "--", ":", "--", add), 2, "a program is missing"),
                                    (("--policy", "even", "--", add, ":", "--goal", "90%"), 2, "program 2: a program is missing"),
                                    (("--policy", "even", "--", add, ":", "--goal", "9", "--", add), 2,
                                     "program 2: a goal is 90% of the rate alone, or ipc=X thread instructions per cycle, not `9`"),
                                    (("--policy", "even", "--", add, ":", "--nothing", "--", add), 2, "program 2: unrecognized option"),
                                    (("--policy", "nothing", "--", add), 5, "there is no policy `nothing`"),
                                    (("--policy", "even", "--", add, ":", "no-such-program"), 5, "no program `no-such-program` in PATH"),
                                    (("--policy", "even", "--gpu", "nothing", "--", add), 5, "nothing"),
                                    (("--policy", "even", "--sample", "--", add), 2, "without --sample"),
                                    (("--policy", "even", "--functional", "--goal", "50%", "--", add), 2, "which --functional has not"),
                                    (("--policy", "even", "--", add, ":", "--functional", "--isolated", "5", "--", add), 2,
                                     "program 2: --goal and --isolated are rates in simulated time"),
                                    (("--policy", "even", "--", add, ":", "--functional", "--profiled", "--", add), 2,
                                     "program 2: --kernel, --launch and --profiled say what is timed"),
                                    (("--policy", "even", "--", add, ":", "--launch", "3-", "--", add), 2,
                                     "program 2: --launch is a launch or a range of them"),
                                    (("--policy", "even", "--gpu", "gtx980", "--gpu", "gtx980", "--", add), 2, "without a second --gpu"),
                                    (("--goal", "90%", "--", add), 2, "are for programs that share a GPU: --policy"),
                                    (("--policy", "even", "--name", "a", "--", add, ":", "--name", "a", "--", add), 2,
                                     "two programs have the name `a`"),
                                    (("--policy", "even", "--goal", "50%", "--", "true"), 6, "its rate alone is not known"),
                                    (("--policy", "even", "--", add, *[word for _ in range(16) for word in (":", add)]), 2,
                                     "more than 16 programs")):
            with self.subTest(words):
                done = self.run_all(*words)
                self.assertEqual(done[0], status, done)
                self.assertIn(text, done[2])
                if "program 2: " in text:
                    self.assertIn("Try `corun exec --help' or `corun exec --usage' for more information.\n", done[2])
                    self.assertEqual(done[2].count("\n"), 2, done[2])
        # Without a policy a colon is an argument as any other.
        self.assertEqual(self.run_all("-q", "--", "echo", ":", "--goal")[1], ": --goal\n")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]], verbosity=2)
