#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Policies that users write: the example of docs/writing-policies.md builds and runs, and what is wrong with others is told by name.
Usage: test_own_policy.py CORUN INCLUDE EXAMPLE CC [TEST...]"""

import concurrent.futures
import json
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import sys
import unittest

from programs import InFolder

INCLUDE = EXAMPLE = CC = None
OK, POLICY, NOT_FOUND, ARGUMENT, FILE = 0, 12, 5, 6, 13

# A policy that does nothing but what is put in; the rest of its table can be replaced.
PROGRAM = """\
#include "corun/policy.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
{functions}
static enum corun_status start(void *state, const struct corun_view *view, const double *parameters,
                               struct corun_allowances *allowances)
{{
    (void)state, (void)view, (void)parameters, (void)allowances;
    {start}
    return CORUN_OK;
}}
static void decide(void *state, const struct corun_view *view, struct corun_policy_moment moment,
                   struct corun_allowances *allowances)
{{
    (void)state, (void)view, (void)moment, (void)allowances;
    {decide}
}}
static void stop(void *state)
{{
    (void)state;
    {stop}
}}
static const struct corun_policy_parameter rows[] = {{
    {{"first", 1, 0, 2, true, "a number", NULL}}, {{{row}}},
}};
const struct corun_policy corun_policy = {{
    .version = CORUN_POLICY_VERSION, .name = "mine", .summary = "", .paper = "", .parameters = rows, .parameter_count = 2,
    .needs = 1u << CORUN_CAN_TB_LIMIT, .state_bytes = 64, .start = start, .decide = decide, .stop = stop, {more}
}};
"""


def program(start="", decide="", stop="", row='"second", 0, 0, 1, true, "a choice", "off|on"', more="", functions=""):
    return PROGRAM.format(start=start, decide=decide, stop=stop, row=row, more=more, functions=functions)


class OwnPolicy(InFolder):
    programs = {"a": {"rounds": 50}, "b": {"rounds": 200}}

    def compile(self, source, name):
        command = [CC, "-std=c17", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-override-init",
                   "-Wno-initializer-overrides", "-Wno-unknown-warning-option", "-Wno-array-bounds", "-Wno-nonnull",
                   "-shared", "-fPIC", f"-I{INCLUDE}", str(source), "-o", str(self.folder / name)]
        subprocess.run(command, check=True)

    def build(self, name="mine.so", **parts):
        source = self.folder / (name + ".c")
        source.write_text(program(**parts))
        self.compile(source, name)
        source.unlink()

    def run_with(self, policy, *more):
        return self.run_corun("run", "--gpu", "gtx980:sms=2,epoch_cycles=1000", "--cycles", "8K", "--policy", policy, *more,
                          "./a.yaml", "./b.yaml")

    def refused(self, status, *texts, policy="./mine.so"):
        result = self.run_with(policy)
        self.assertEqual(result.returncode, status, result.stderr + result.stdout)
        for text in texts:
            self.assertIn(text, result.stderr)
        return result


class Runs(OwnPolicy):
    def test_the_example(self):
        self.assertLess(len(pathlib.Path(EXAMPLE).read_text().splitlines()), 80)
        self.compile(EXAMPLE, "fair_turns.so")
        result = self.run_with("./fair_turns.so:pause=2")
        self.assertEqual(result.returncode, OK, result.stderr)
        self.assertIn("policy fair-turns:pause=2", result.stdout)
        alone = self.run_with("left-over")
        self.assertNotEqual(re.findall(r"@small +- .*", alone.stdout), re.findall(r"@small +- .*", result.stdout))

    def test_parameters(self):
        self.build()
        self.assertEqual(self.run_with("./mine.so:first=2,second=on").returncode, OK)
        self.assertIn("first is a whole number from 0 to 2, not `3`", self.refused(ARGUMENT, policy="./mine.so:first=3").stderr)
        self.refused(ARGUMENT, "has no parameter `fist`; did you mean `first`?", policy="./mine.so:fist=1")

    def test_files(self):
        self.refused(NOT_FOUND, "./none.so: No such file", policy="./none.so")
        (self.folder / "text.so").write_text("not a program")
        self.refused(FILE, "text.so cannot be loaded", policy="./text.so")
        self.refused(POLICY, "FILE.so", policy="./")
        self.build("cut.so")
        whole = (self.folder / "cut.so").read_bytes()
        for bytes_left in (1000, len(whole) // 2):  # the dynamic linker would end the process with a signal
            (self.folder / "cut.so").write_bytes(whole[:bytes_left])
            self.refused(FILE, f"policy ./cut.so cannot be loaded: it is cut off, it has {bytes_left} of ", policy="./cut.so")
        (self.folder / "cut.so").write_bytes(b"")
        self.refused(FILE, "cut.so cannot be loaded", policy="./cut.so")
        source = self.folder / "empty.c"
        source.write_text("extern int nothing; int nothing = 1;\n")
        self.compile(source, "empty.so")
        self.refused(POLICY, "./empty.so: it does not export `const struct corun_policy corun_policy`", policy="./empty.so")


class Tables(OwnPolicy):
    def test_what_is_wrong_is_told(self):
        cases = [
            (".version = 2", "built for version 2 of the sharing contract (corun/policy.h), this is version 6"),
            ('.name = "no name"', "its name is not"),
            (".name = 0", "its name is not"),
            ('.name = "smk"', "there is a policy in corun already that is called smk"),
            (".summary = 0", "summary and paper"),
            (".decide = 0", "start and decide must be there"),
            (".needs = 1u << 31", "capabilities that do not exist"),
            (".observes = 1u << 31", "it observes what does not exist"),
            (".state_bytes = (size_t)2 << 30", "its state is larger than 1 GiB"),
            (".parameters = 0", "its table of parameters is missing"),
            (".parameter_count = 100000", "longer than 256 rows"),
            (".variable_count = 1", "its table of variables is missing"),
        ]
        for number, (more, text) in enumerate(cases):
            with self.subTest(more):
                self.build(f"table{number}.so", more=more)
                self.refused(POLICY, f"./table{number}.so", text, policy=f"./table{number}.so")

    def test_rows(self):
        cases = [
            ('"first", 0, 0, 1, true, "again", 0', "two parameters are called first"),
            ('"se cond", 0, 0, 1, true, "", 0', "a parameter's name is not"),
            ('"second", 2, 0, 1, true, "", 0', "lowest <= initial <= highest does not hold for parameter second"),
            ('"second", 0, 0, 1.0 / 0.0, false, "", 0', "does not hold for parameter second"),
            ('"second", 0.5, 0, 1, true, "", 0', "not whole"),
            ('"second", 0, 0, 1, true, 0, 0', "there is no meaning of parameter second"),
            ('"second", 0, 0, 2, true, "", "off|on"', "numbered from 0 to their last one in the row of parameter second"),
            ('"second", 0, 0, 2, true, "", "off||on"', "numbered from 0"),
        ]
        for number, (row, text) in enumerate(cases):
            with self.subTest(row):
                self.build(f"row{number}.so", row=row)
                self.refused(POLICY, text, policy=f"./row{number}.so")


class Deeds(OwnPolicy):
    def test_what_it_must_not_do(self):
        cases = [
            ("allowances->tb_limit[view->sm_count * view->application_count] = 3;",
             "policy mine at cycle 0: it wrote beyond the end of tb_limit, which has 16 bytes (2 SMs, 2 applications)"),
            ("allowances->powered[-1] = false;", "it wrote in front of powered, which has 2 bytes"),
            ("((char *)state)[64] = 1;", "it wrote beyond the end of its state, which has 64 bytes"),
            ("static uint32_t own[4]; allowances->order = own;", "it replaced the address of order"),
            ("allowances->quota_refill[3] = -5;", "SM 1 would refill the quota of b with -5"),
            ("allowances->reclaim[0] = 77;", "its way to reclaim SM 0 from a, 77"),
            ("allowances->fill = 9;", "the fill rule is none of those that exist"),
            ("allowances->quotas_on = true; allowances->quota_kind = 5;", "whose kind, 5,"),
        ]
        for number, (decide, text) in enumerate(cases):
            with self.subTest(decide):
                self.build(f"deed{number}.so", decide=decide)
                self.refused(POLICY, "policy mine at cycle", text, policy=f"./deed{number}.so")

    def test_what_it_must_not_do_at_its_end(self):
        self.build(stop="((char *)state)[64] = 1;")
        self.refused(POLICY, "policy mine at cycle 8000: it wrote beyond the end of its state, which has 64 bytes")

    def test_what_it_has_not_declared_it_does_not_see(self):
        ask = "allowances->quota_refill[0] = view->shares[0].resident_tbs == UINT32_MAX ? -1 : view->observations ? -3 : -2;"
        self.build("blind.so", decide=ask)
        self.refused(POLICY, "SM 0 would refill the quota of a with -1", policy="./blind.so")
        self.build("seeing.so", decide=ask, more=".observes = 1u << CORUN_SEES_RESIDENT_TBS,")
        self.refused(POLICY, "SM 0 would refill the quota of a with -3", policy="./seeing.so")

    def test_far_writes_stop_it(self):
        self.build("far.so", decide="((char *)allowances->tb_limit)[65536] = 1;")
        self.refused(POLICY, "corun: policy mine crashed", policy="./far.so")
        self.build("last.so", stop="((char *)state)[-65536] = 1;")
        self.refused(POLICY, "corun: policy mine crashed", policy="./last.so")

    def test_it_refuses_itself(self):
        self.build(start='allowances->refusal = "it is Sunday"; return CORUN_POLICY;')
        self.refused(POLICY, "policy mine cannot start", "it is Sunday")

    def test_it_crashes(self):
        self.build("fall.so", decide="if (moment.event == CORUN_EVENT_EPOCH) *(volatile int *)8 = 1;")
        self.refused(POLICY, "corun: policy mine crashed", policy="./fall.so")

    def test_it_crashes_while_it_is_loaded(self):
        source = self.folder / "early.c"
        source.write_text("__attribute__((constructor)) static void early(void) { *(volatile int *)8 = 1; }\n")
        self.compile(source, "early.so")
        self.refused(POLICY, "corun: ./early.so: a policy crashed while it was loaded", policy="./early.so")
        (self.folder / "early.yaml").write_text(
            "name: early\npolicies: [./early.so]\nworkloads: [./a.yaml, ./b.yaml]\ncycles: 5K\nmixes:\n  - {size: 2}\n")
        result = self.run_corun("campaign", "--results", "early.db", "early.yaml")
        self.assertEqual(result.returncode, POLICY)
        self.assertIn("policy ./early.so crashed while it was loaded: signal 11", result.stderr)

    def test_it_ends_the_process(self):
        at_the_end = "__attribute__((destructor)) static void last(void) {{ {} }}"
        in_call, outside = " in one of its calls", ", not in one of its calls"
        cases = [  # what is built, and what is said of it
            ({"decide": "exit(0);"}, "policy mine ended the process with status 0" + in_call),
            ({"start": "_exit(3);"}, "policy mine ended the process with status 3" + in_call),
            ({"decide": "abort();"}, "policy mine crashed in one of its calls (Aborted)"),
            ({"functions": "static int deep(volatile int *a) { volatile int b[1000]; b[0] = *a; return *a ? deep(b) + b[1] : 0; }",
              "decide": "int a = 1; exit(deep(&a));"}, "policy mine crashed in one of its calls (Segmentation fault)"),
            ({"stop": "exit(0);"}, "policy mine ended the process with status 0" + in_call),
            ({"stop": "*(volatile int *)8 = 1;"},
             "policy mine crashed in one of its calls (Segmentation fault)"),
            ({"functions": "static void *leave(void *none) { exit(0); return none; }",
              "decide": "pthread_t t; pthread_create(&t, NULL, leave, NULL); pthread_join(t, NULL);"},
             "policy mine ended the process with status 0" + in_call),
            ({"functions": at_the_end.format("*(volatile int *)8 = 1;")},
             "policy mine crashed after the run, when it was unloaded (Segmentation fault)"),
            ({"functions": at_the_end.format("_exit(7);")}, "policy mine ended the process with status 7 instead of 0 after the run"),
            ({"functions": "static void last(void) { _exit(9); }", "start": "atexit(last);"},
             "policy mine ended the process with status 9 instead of 0 after the run"),
            ({"functions": "__attribute__((constructor)) static void first(void) { exit(0); }"},
             "./end11.so: a policy ended the process with status 0 while it was loaded"),
        ]
        for number, (parts, text) in enumerate(cases, 1):
            with self.subTest(text):
                self.build(f"end{number}.so", **parts)
                self.refused(POLICY, "corun: " + text, policy=f"./end{number}.so")

    def test_it_writes_over_what_is_not_its_own(self):
        self.build(decide="memset(allowances->tb_limit, 0x5a, 64 << 10);")
        self.refused(POLICY, "corun: policy mine")
        self.build("later.so", stop="memset((char *)state - 4096, 0x5a, 64 << 10);")
        result = self.refused(POLICY, policy="./later.so")  # a sanitizer, if there is one, ends the process instead
        self.assertRegex(result.stderr, "corun: policy mine (crashed|ended the process)")

    def test_what_it_wrote_before_it_ended_the_process_is_no_result(self):
        self.build(decide="exit(0);")
        result = self.run_with("./mine.so", "--json", "out.json")
        self.assertEqual(result.returncode, POLICY)
        self.assertEqual(list(self.folder.glob("out.json*")), [])

    def test_a_wrong_command_line_beside_it(self):
        self.build()
        result = self.run_corun("run", "--policy", "./mine.so")
        self.assertEqual((result.returncode, "policy" in result.stderr), (2, False), result.stderr)

    @staticmethod
    def takes_signals(process):
        try:
            return any("signalfd" in os.readlink(one) for one in (process / "fd").iterdir())
        except FileNotFoundError:  # one was closed in between
            return False

    def test_signals_reach_it(self):
        self.build()
        process = subprocess.Popen([self.command, "run", "--gpu", "gtx980:sms=2", "--cycles", "4G", "--no-baselines", "--policy",
                                    "./mine.so", "--json", "-", "./a.yaml", "./b.yaml"], cwd=self.folder, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL)
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        while not children.read_text():
            pass
        child = pathlib.Path(f"/proc/{children.read_text().strip()}")
        while not self.takes_signals(child):  # before that a signal ends it
            pass
        process.send_signal(signal.SIGINT)
        self.assertTrue(json.loads(process.communicate()[0])["interrupted"])
        self.assertEqual(process.returncode, 130)

    def test_it_does_not_come_back(self):
        forever = "struct timespec minute = {60, 0}; for (;;) nanosleep(&minute, NULL);"
        self.build("hang.so", decide=forever)
        self.build("stop.so", stop=forever)
        self.build("last.so", functions="__attribute__((destructor)) static void last(void) { " + forever + " }")
        call = "corun: policy mine: one call of it did not return within 10 seconds"
        last = "corun: policy mine was not unloaded after the run within 10 seconds"
        with concurrent.futures.ThreadPoolExecutor() as pool:  # each takes these seconds
            list(pool.map(lambda name, text: self.refused(POLICY, text, policy=name), ["./hang.so", "./stop.so", "./last.so"],
                          [call, call, last]))

    def test_it_starves_everybody(self):
        self.build("starve.so", decide="for (int i = 0; i < 4; i++) allowances->tb_limit[i] = 0;")
        result = self.run_corun("run", "--gpu", "gtx980:sms=2", "--cycles", "20M", "--no-baselines", "--policy", "./starve.so",
                            "./a.yaml", "./b.yaml")
        self.assertEqual(result.returncode, POLICY, result.stderr)
        self.assertIn("policy mine has let no application run", result.stderr)


class Campaigns(OwnPolicy):
    CAMPAIGN = "name: own\ngpus: ['gtx980:sms=2']\npolicies: [even, {}]\nworkloads: [./a.yaml, ./b.yaml]\ncycles: 5K\nmixes:\n  - {{size: 2}}\n"

    def cases(self, policy):
        (self.folder / "campaign.yaml").write_text(self.CAMPAIGN.format(policy))
        result = self.run_corun("campaign", "--results", "own.db", "campaign.yaml")
        with sqlite3.connect(self.folder / "own.db") as store:
            rows = store.execute("SELECT policy, status, message FROM cases WHERE NOT isolated").fetchall()
        return result, rows

    def test_its_bytes_are_part_of_the_case(self):
        self.build("turn.so")
        self.cases("./turn.so")
        result, _ = self.cases("./turn.so")
        self.assertEqual(result.returncode, OK, result.stderr)
        before = len(self.cases("./turn.so")[1])
        self.build("turn.so", decide="for (int s = 0; s < 2; s++) allowances->tb_limit[s * 2] = 1;")
        after = len(self.cases("./turn.so")[1])
        self.assertEqual(before, 2)
        self.assertEqual(after, 3)

    def test_one_that_crashes_is_a_case_that_failed(self):
        self.build("crash.so", decide="*(volatile int *)8 = 1;")
        _, rows = self.cases("./crash.so")
        message = [row[2] for row in rows if "crash" in row[0]][0]
        self.assertIn("policy ./crash.so crashed: signal 11", message)
        self.assertEqual([row[1] for row in rows if row[0].startswith("even")], ["finished"])

    def fails(self, name, status, *texts):
        """The case fails by the policy's name, the others and the runner come to their end, and say so once."""
        result, rows = self.cases(f"./{name}")
        self.assertEqual(result.returncode, OK, result.stderr)
        self.assertEqual(result.stdout.count("own: 4 cases"), 1, result.stdout)
        self.assertIn("1 failed", result.stdout)
        self.assertEqual([row[1] for row in rows if row[0].startswith("even")], ["finished"])
        found = [row[1:] for row in rows if row[0] == f"./{name}"]
        self.assertEqual([row[0] for row in found], [status])
        for text in (*texts, f"./{name}"):
            self.assertIn(text, found[0][1])

    def test_one_that_ends_the_process(self):
        self.build("leave.so", decide="exit(0);")
        self.fails("leave.so", "failed", "policy ./leave.so ended the process, with status 0")
        self.build("leave2.so", start="_Exit(7);")
        self.fails("leave2.so", "failed", "policy ./leave2.so ended the process, with status 7")

    def test_one_that_crashes_when_it_stops(self):
        for name, deed, text in (("stop.so", "*(volatile int *)8 = 1;", "signal 11"), ("stop2.so", "exit(0);", "status 0"),
                                 ("stop3.so", "abort();", "signal 6")):
            self.build(name, stop=deed)
            self.fails(name, "failed", text)

    def test_one_whose_destructor_crashes(self):
        self.build("late.so", more="};\n__attribute__((destructor)) static void late(void) { *(volatile int *)8 = 1; }\n"
                   "extern const int nothing; const int nothing = {0")
        result, rows = self.cases("./late.so") # nothing of it is in the runner, and workers do not call it
        self.assertEqual((result.returncode, result.stderr), (OK, ""))
        self.assertEqual([row[1] for row in rows if row[0] == "./late.so"], ["finished"])

    def test_one_that_writes_where_it_likes(self):
        for name, deed in (("beyond.so", "for (int i = 0; i < 65536; i++) ((char *)allowances->tb_limit)[i] = 0x55;"),
                           ("state.so", "for (int i = 0; i < 65536; i++) ((char *)state)[i] = 0x55;"),
                           ("before.so", "for (int i = 0; i < 65536; i++) ((volatile char *)state)[-i] = 0x55;")):
            with self.subTest(name):
                self.build(name, decide=deed)
                result, rows = self.cases(f"./{name}")
                self.assertEqual(result.returncode, OK, result.stderr)
                found = [row[1:] for row in rows if row[0] == f"./{name}"]
                self.assertEqual(found[0][0], "failed", found)
                self.assertRegex(found[0][1], f"./{name}|policy mine")
                self.assertEqual([row[1] for row in rows if row[0].startswith("even")], ["finished"])

    def cannot_be_loaded(self, name, deed, text):
        source = self.folder / "early.c"
        source.write_text("#include <stdlib.h>\n#include <unistd.h>\n__attribute__((constructor)) static void early(void) { " + deed + " }\n")
        self.compile(source, name)
        (self.folder / "early.yaml").write_text(self.CAMPAIGN.format(f"./{name}"))
        result = self.run_corun("campaign", "--results", "early.db", "early.yaml")
        self.assertEqual(result.returncode, POLICY, result.stdout)
        self.assertIn(text, result.stderr)
        self.assertIn("early.yaml:3:", result.stderr)

    def test_ones_that_do_not_come_back(self):
        """From a call, which computes, and from being loaded, which sleeps: ten seconds each, at the same time."""
        self.build("hang.so", decide="for (;;) ;")
        with concurrent.futures.ThreadPoolExecutor() as pool:
            loaded = pool.submit(self.cannot_be_loaded, "early3.so", "for (;;) sleep(60);", "policy ./early3.so was not loaded within 10 seconds")
            self.fails("hang.so", "failed", "one call of it did not return within 10 seconds")
            loaded.result()

    def test_ones_that_cannot_be_loaded(self):
        for name, deed, text in (("early0.so", "_Exit(0);", "policy ./early0.so ended the process while it was loaded, with status 0"),
                                 ("early1.so", "exit(0);", "policy ./early1.so ended the process while it was loaded, with status 0"),
                                 ("early2.so", "abort();", "policy ./early2.so crashed while it was loaded: signal 6")):
            self.cannot_be_loaded(name, deed, text)


if __name__ == "__main__":
    InFolder.command, INCLUDE, EXAMPLE = map(os.path.abspath, sys.argv[1:4])
    CC = sys.argv[4]
    unittest.main(argv=sys.argv[:1] + sys.argv[5:])
