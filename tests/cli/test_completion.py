#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Completion in shells: what `corun completion` offers, and that shells take it. Usage: test_completion.py CORUN [TEST...]"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from programs import InFolder

ROOT = pathlib.Path(__file__).resolve().parents[2]
USAGE = 2


class Completion(InFolder):
    def words(self, *line):
        """What is offered in place of the last word, with its meaning."""
        return dict(found.split("\t") if "\t" in found else (found, None)
                    for found in self.corun("completion", "words", "--", *line).stdout.splitlines())


class Words(Completion):
    def test_commands(self):
        told = dict(re.findall(r"^  ([a-z]+) +(.+)$", self.corun("help").stdout.split("Commands:\n")[1].split("\n\n")[0], re.M))
        self.assertEqual(self.words(""), told)
        self.assertEqual(self.words("help", ""), told)
        self.assertEqual(sorted(self.words("re")), ["report", "reproduce", "rewrite"])
        self.assertEqual(self.words("nothing", ""), {})
        self.assertEqual(self.words(), {})

    def test_options_are_those_of_the_help(self):
        for command in self.words(""):
            if command == "help":
                continue
            with self.subTest(command):
                told = set(re.findall(r"^  (?:-.,|   ) (--[a-z-]+)", self.corun("help", command).stdout, re.M)) - {"--usage"}
                found = self.words(command, "-")
                self.assertEqual(set(found) - {"--"}, told)
                self.assertTrue(all(found.values()), found)

    def test_values(self):
        gpus = {path.stem for path in (ROOT / "configs/gpu").glob("*.yaml")}
        self.assertEqual(set(self.words("run", "--gpu", "")), gpus | {"@files"})
        self.assertEqual(set(self.words("run", "sgemm", "-g", "gtx9")), {"gtx980", "@files"})
        self.assertEqual(set(self.words("check", "--gpu=gtx9")), {"--gpu=gtx980", "@files"})
        self.assertIn("gtx980:sms=", self.words("run", "-g", "gtx980:s"))
        self.assertEqual(set(self.words("run", "-g", "gtx980:sms=4,scheduler=")),
                         {f"gtx980:sms=4,scheduler={word}" for word in ("gto", "lrr", "two_level")})
        self.assertEqual(set(self.words("run", "-p", "smk")), {"smk", "smk-p", "smk-pw", "@files"})
        self.assertEqual(set(self.words("run", "--policy", "even:")), {"even:exclusive="})
        self.assertEqual(set(self.words("run", "--policy", "even:exclusive=")), {"even:exclusive=off", "even:exclusive=on"})
        self.assertEqual(set(self.words("run", "--policy", "fixed:sp")), {"fixed:split="})
        self.assertEqual(set(self.words("search", "--metric", "")), {"STP", "ANTT", "fairness", "goal"})
        self.assertEqual(set(self.words("run", "--json", "")), {"@files"})
        self.assertEqual(set(self.words("run", "--cache=")), {"@directories"})
        self.assertEqual(self.words("run", "--cycles", ""), {})
        self.assertEqual(self.words("run", "--nothing="), {})

    def test_arguments(self):
        workloads = set(re.findall(r"^([\w.-]+) .*small", self.corun("list", "workloads").stdout, re.M))
        self.assertIn("sgemm", workloads)
        for line in (("run", ""), ("run", "-q", "-c", "1K", "lbm", ""), ("run", "--", ""), ("characterize", ""), ("export", ""),
                     ("search", "offline", ""), ("search", "offline", "sgemm", "lbm", "")):
            self.assertLessEqual(workloads | {"@files"}, set(self.words(*line)), line)
        self.assertEqual(set(self.words("run", "sgemm@")), {"sgemm@small", "sgemm@medium", "sgemm@large"})
        self.assertEqual(set(self.words("run", "sgemm@small,m=1,")), {f"sgemm@small,m=1,{name}=" for name in "mnk"})
        self.assertEqual(set(self.words("run", "sgemm@small:")), {"sgemm@small:goal=", "sgemm@small:start="})
        self.assertEqual(set(self.words("export", "sgemm", "")), {"@directories"})
        self.assertEqual(set(self.words("search", "")), {"oracle-best", "oracle-worst", "offline"})
        self.assertEqual(set(self.words("list", "")), {"gpus", "parameters", "workloads", "policies", "counters", "schedulers"})
        self.assertEqual(set(self.words("reproduce", "hpca12-fig1")), {f"hpca12-fig1{n}" for n in range(3)} | {"@files"})
        self.assertEqual(set(self.words("completion", "")), {"bash", "zsh", "fish"})
        self.assertEqual(set(self.words("check", "")), {"@files"})
        self.assertEqual(self.words("version", ""), {})

    def test_programs(self):
        for command in ("exec", "capture"):
            self.assertEqual(set(self.words(command, "--gpu", "gtx980", "")), {"@programs"})
            self.assertEqual(set(self.words(command, "--", "")), {"@programs"})
            self.assertEqual(set(self.words(command, "-q", "./program", "--gpu", "")), {"@files"})
            self.assertIn("--", self.words(command, "--"))

    def test_mistakes(self):
        self.assertIn("did you mean `bash`?", self.corun("completion", "bsh", status=USAGE).stderr)
        self.assertIn("the shell is missing", self.corun("completion", status=USAGE).stderr)


class Bash(Completion):
    """The script in bash, which calls _corun as it does after a tab."""

    @classmethod
    def setUpClass(cls):
        if not shutil.which("bash"):
            raise unittest.SkipTest("there is no bash")
        super().setUpClass()
        (cls.folder / "results one.db").touch()
        (cls.folder / "results").mkdir()
        os.symlink(cls.command, cls.folder / "corun")

    def replies(self, line, breaks=" \t\n\"'><=;|&(:"):
        script = 'source <(corun completion bash); COMP_WORDBREAKS=$2 COMP_LINE=$1 COMP_POINT=${#1}; _corun; printf "%s\\n" "${COMPREPLY[@]}"'
        environment = dict(self.environment, PATH=f"{self.folder}:{os.environ['PATH']}")
        done = subprocess.run(["bash", "-c", script, "bash", line, breaks], capture_output=True, text=True, cwd=self.folder,
                              env=environment, check=True, timeout=60)
        self.assertEqual(done.stderr, "")
        return sorted(filter(None, done.stdout.split("\n")))

    def test_registered(self):
        environment = dict(self.environment, PATH=f"{self.folder}:{os.environ['PATH']}")
        done = subprocess.run(["bash", "-c", "source <(corun completion bash); complete -p corun"], capture_output=True, text=True,
                              env=environment, check=True, timeout=60)
        self.assertEqual(done.stdout, "complete -F _corun corun\n")

    def test_replies(self):
        for line, replies in (("corun ver", ["version"]), ("corun run --gpu gtx9", ["gtx980"]), ("corun run --gpu=gtx9", ["gtx980"]),
                              ("corun run -p even:exclusive=o", ["off", "on"]), ("corun run sgemm:g", ["goal="]),
                              ("corun run sgemm@s", ["sgemm@small"]), ("corun list p", ["parameters", "policies"]),
                              ("corun query -r results", ["results", "results one.db"]),
                              ("corun report --json=results", ["results", "results one.db"]),
                              ("corun campaign --cache ", ["results"]), ("corun exec -- ./results", ["./results", "./results one.db"])):
            with self.subTest(line):
                self.assertEqual(self.replies(line), replies)

    def test_words_that_are_not_broken(self):
        self.assertEqual(self.replies("corun run --gpu=gtx9", breaks=" "), ["--gpu=gtx980"])
        self.assertEqual(self.replies("corun run sgemm:g", breaks=" ="), ["sgemm:goal="])

    def test_cursor_inside_the_line(self):
        script = "source <(corun completion bash); COMP_WORDBREAKS=' ' COMP_LINE='corun li policies' COMP_POINT=8; _corun; echo ${COMPREPLY[@]}"
        environment = dict(self.environment, PATH=f"{self.folder}:{os.environ['PATH']}")
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env=environment, check=True, timeout=60)
        self.assertEqual(done.stdout, "list\n")


class Others(Completion):
    """The scripts of the other shells, where these are installed."""

    def shell(self, name, *arguments):
        if not shutil.which(name):
            self.skipTest(f"there is no {name}")
        script = self.folder / f"script.{name}"
        script.write_text(self.corun("completion", name).stdout)
        environment = dict(self.environment, PATH=f"{os.path.dirname(self.command)}:{os.environ['PATH']}", HOME=str(self.folder))
        done = subprocess.run([name, *(word.replace("SCRIPT", str(script)) for word in arguments)], capture_output=True, text=True,
                              cwd=self.folder, env=environment, check=False, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_zsh(self):
        self.assertEqual(self.shell("zsh", "-n", "SCRIPT"), "")

    def test_fish(self):
        self.assertEqual(self.shell("fish", "--no-config", "-n", "SCRIPT"), "")
        for line, word in (("corun ver", "version"), ("corun run --gpu gtx9", "gtx980"), ("corun run --gpu=gtx9", "--gpu=gtx980"),
                           ("corun run --prof", "--profile"), ("corun run sgemm@s", "sgemm@small")):
            found = self.shell("fish", "--no-config", "-c", f"source SCRIPT; complete -C '{line}'")
            self.assertIn(word, [row.split("\t")[0] for row in found.splitlines()])


if __name__ == "__main__":
    Completion.command = os.path.abspath(sys.argv.pop(1))
    unittest.main()
