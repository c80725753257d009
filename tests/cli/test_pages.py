#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the pages say of the command is true: command lines, policies, and examples. Usage: test_pages.py CORUN [TEST...]"""
import contextlib
import functools
import json
import os
import pathlib
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import unittest

from json_page import differences
from programs import InFolder, describe

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
POLICY_OF_OWN = re.compile(r"\.so\b")


def blocks(page, language=""):
    """The blocks of code of a page: indented ones and fenced ones."""
    text = page.read_text(encoding="utf-8")
    fenced = re.findall(rf"^```{language}\n(.*?)^```$", text, re.M | re.S)
    return fenced if language else fenced + re.findall(r"(?:^    .*\n)+", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M)


def command_lines(page):
    """The words of each command line with corun, from blocks and from backticks, without what follows a comment."""
    lines = [line for block in blocks(page) for line in block.splitlines()]
    lines += [code for code in re.findall(r"`([^`]+)`", re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S))]
    for line in lines:
        line = re.sub(r"\s+# .*|\s+\(--.*", "", line.replace("\n", " ")).strip().removeprefix("$ ")
        for part in re.split(r";\s*", line) if '"' not in line else [line]:
            if re.match(r"corun [a-z]", part) and "…" not in part:
                yield shlex.split(part)[1:]


class Pages(InFolder):
    def text(self, *arguments):
        return self.corun(*arguments).stdout

    def policies(self):
        """Parameters and their defaults by policy."""
        policies, name = {}, None
        for line in self.text("list", "policies").splitlines():
            if not line.startswith(" "):
                name = line
                policies[name] = {}
            elif found := re.match(r"    ([a-z_-]+)=(\S*) \(", line):
                policies[name][found.group(1)] = found.group(2)
        self.assertGreater(len(policies), 15)
        self.assertGreater(sum(map(len, policies.values())), 30)
        return policies


class Commands(Pages):
    """Every command line: the command, its options and what they take, GPUs, policies, workloads, experiments."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.gpus = {path.stem for path in (ROOT / "configs/gpu").glob("*.yaml")}
        cls.sizes = {}
        for path in (ROOT / "kernels").glob("*/*.yaml"):
            part = path.read_text().split("\nsizes:\n")[1]
            cls.sizes[path.stem] = set(re.findall(r"^  (\w+):", re.split(r"\n(?=\w)", part)[0], re.M))

    @functools.lru_cache(maxsize=None)
    def options(self, command):
        """Whether it takes a value, by option."""
        options = {}
        for short, name, value in re.findall(r"^  (?:-(\w),|   ) --([a-z-]+)(=?)", self.text(*command.split(), "--help"), re.M):
            options["--" + name] = options["-" + short] = bool(value)
        return options

    def check_policy(self, text):
        if not POLICY_OF_OWN.search(text):
            name, _, settings = text.partition(":")
            self.assertIn(name, self.known_policies)
            for setting in filter(None, settings.split(",")):
                self.assertIn(setting.split("=")[0], self.known_policies[name])

    def check_workload(self, text):
        name = text.split(":")[0].split(",")[0]
        if "." not in name and name != name.upper() and not text.startswith("trace:"):
            name, _, size = name.partition("@")
            self.assertIn(name, self.sizes)
            if size:
                self.assertIn(size, self.sizes[name])

    def check(self, command, words):
        options, positional = self.options(command), []
        words = iter(words)
        for word in words:
            if word == "--" and command == "exec" and ":" in (rest := list(words)):
                self.check(command, rest[rest.index(":") + 1:])
            if word == "--":
                break
            if not word.startswith("-"):
                positional.append(word)
                continue
            option, _, value = word.partition("=")
            self.assertIn(option, options)
            if options[option] and not value:
                value = next(words, None)
            if option in ("-g", "--gpu") and value and not value.endswith(".yaml"):
                numbered = command in ("share", "policy") and value.isdigit()  # corund's GPUs have numbers as well
                self.assertTrue(numbered or value.split(":")[0] in self.gpus, value)
            if option in ("-p", "--policy") and value and not command.startswith("host "):
                self.check_policy(value)
        if command in ("run", "characterize"):
            for word in positional:
                self.check_workload(word)
        elif command in ("search", "export"):
            for word in positional[1:] if command == "search" else positional[:1]:
                self.check_workload(word)
        elif command == "reproduce":
            for word in positional:
                self.assertTrue((ROOT / "experiments" / f"{word}.yaml").exists(), word)
        elif command == "list":
            self.assertLessEqual(set(positional) - {"|"}, {"gpus", "parameters", "workloads", "policies", "counters", "schedulers"})

    def test_command_lines(self):
        self.known_policies = self.policies()
        commands = re.findall(r"^  ([a-z]+) ", self.text("help").split("Commands:\n")[1].split("\n\n")[0], re.M)
        seen = []
        for page in PAGES:
            for words in command_lines(page):
                with self.subTest(page=page.name, line=" ".join(words)):
                    self.assertIn(words[0], commands)
                    if words[0] == "host":
                        self.check(" ".join(words[:2]), words[2:])
                    else:
                        self.check(words[0], words[1:])
                    seen.append(words[0])
        self.assertGreater(len(seen), 80)
        self.assertEqual(set(commands) - set(seen), {"help", "version"}, "no page shows how to use them")


class Refusals(Pages):
    """docs/cuda.md names every operation that is refused, and `corun check` refuses those, and no other, by name."""

    def test_operations(self):
        rows = re.findall(r'^OP\(\w+, "([^"]+)", .*?, (NO|YES), "([^"]*)"', (ROOT / "src/ptx/opcodes.def").read_text(), re.M)
        page = (ROOT / "docs/cuda.md").read_text().split("## PTX that is refused\n")[1].split("\n## ")[0]
        table = [line.split("|")[2] for line in page.splitlines() if line.startswith("| ")][1:]
        named = {word for cell in table for word in re.findall(r"`([^`.][^`]*)`", cell)}
        of_machines = {word for word, _, meaning in rows if meaning.startswith("an instruction of machines")}  # none of PTX
        self.assertEqual(named, {word for word, there, _ in rows if there == "NO"} - of_machines)
        for word in sorted(named | of_machines):
            with self.subTest(word):
                (self.folder / "refused.ptx").write_text(f".version 8.0\n.target sm_90\n.address_size 64\n.entry k()\n{{\n{word} %r0;\n}}\n")
                done = self.corun("check", "refused.ptx", status=4)
                self.assertIn(f"refused.ptx:6:1: not supported: {word}\n", done.stderr)


class Json(Pages):
    """docs/json.md (a case: tests/python/test_run.py; CUDA programs: tests/cuda/test_exec.py, test_together.py)."""
    programs = {"one": {"rounds": 4}}

    def test_launch(self):
        written = json.loads(self.text("launch", "work.ptx", "--kernel", "work", "--grid", "4", "--block", "64", "--arg", "buf=4K",
                                       "--arg", "u32=4", "--json", "-"))
        self.assertEqual(differences("A launch", written), ([], []))

    def test_software_machine(self):
        written = json.loads(self.text("run", "-m", "software", "-g", "gtx980:sms=2", "-c", "90K", "--epoch", "20K", "-p", "smqos:gate=off",
                                       "--check", "--load", "50%", "-j", "-", "./one.yaml:goal=10%", "./one.yaml"))
        self.assertEqual(differences("A case on the software machine", written), ([], []))

    def test_characterisations(self):
        written = json.loads(self.text("characterize", "-g", "gtx980:sms=2", "-c", "2K", "-j", "-", "./one.yaml"))
        self.assertEqual(differences("Characterisations", written), ([], []))

    def test_predictions(self):
        written = json.loads(self.text("predict", "-g", "gtx980:sms=1,threads_per_sm=256,threads_per_tb=256", "-c", "2K", "-j", "-", "./one.yaml", "./one.yaml"))
        self.assertEqual(differences("Predictions", written), ([], []))


class Policies(Pages):
    """The table of docs/policies.md has every policy; the section that it leads to has every parameter with its default, and every
    variable."""
    programs = {"one": {"rounds": 4}, "two": {"rounds": 8}}

    def section(self, target, policy):
        """What the table leads to, and what stands under the policy's own name there."""
        name, _, anchor = target.partition("#")
        text = (ROOT / "docs" / (name or "policies.md")).read_text()
        if not anchor:
            return text
        parts = {re.sub(r"[^\w\- ]", "", part.split("\n")[0].lstrip("# ").lower()).replace(" ", "-"): part
                 for part in re.split(r"^(?=#)", text, flags=re.M)}
        return parts[anchor] + (parts.get(policy, "") if policy != anchor else "")

    def test_every_policy_has_its_section(self):
        policies, told = self.policies(), {}
        table = (ROOT / "docs/policies.md").read_text().split("| policy |")[1].split("\n\n")[0]
        for names, target in re.findall(r"^\| (`.*?`) \|.*\]\((.*?)\) \|$", table, re.M):
            told.update({name: target for name in re.findall(r"`([a-z-]+)`", names)})
        self.assertEqual(sorted(told), sorted(policies))
        for name, target in told.items():
            section = self.section(target, name)
            for parameter, default in policies[name].items():
                self.assertRegex(section, rf"`{parameter}[`=]", f"{name}: {target}")
                for row in re.findall(rf"^\| `{parameter}` \| (\S+) \|", section, re.M):
                    self.assertEqual(re.sub(r"(?<=\d)K$", "000", row), default, f"{name}: {parameter}: {target}")
            for variable in self.variables(name):
                self.assertIn(f"`{variable}`", section, f"{name}: {target}")
            self.assertIn(f"`{name}`", (ROOT / "README.md").read_text())

    def variables(self, policy):
        """Names of what its controller shows, of numbered ones the first."""
        named = {"fixed": "fixed:split=2/2"}.get(policy, policy)
        machine = ("-m", "software", "--launching", "slices") if policy in ("priority", "turns") else ()
        written = json.loads(self.text("run", "-g", "gtx980:sms=4,epoch_cycles=1K", "-c", "3K", "-p", named, "--no-baselines", "-j", "-",
                                       *machine, "./one.yaml:goal=10%", "./two.yaml"))
        return [name for name in written.get("history", {}).get("variables", {}) if not re.search(r"_[2-9]$", name)]


class OfReadme(Pages):
    """What README.md shows is run as it stands there."""

    def setUp(self):
        listed = self.text("list", "workloads")
        if any(not re.search(rf"^{name} ", listed, re.M) for name in ("sgemm", "lbm", "spmv", "stencil", "mri-q")):
            self.skipTest("not built with all of its workloads")

    def block(self, beginning):
        text = (ROOT / "README.md").read_text(encoding="utf-8")
        found = [block for block in re.findall(r"(?:^(?:    .*)?\n)+", text, re.M) if block.strip().startswith(beginning)]
        self.assertEqual(len(found), 1, beginning)
        return [line[4:] for line in found[0].strip("\n").splitlines()]


class Readme(OfReadme):
    def test_commands(self):
        """In a tree that has what a user's has, with a python that can draw."""
        lines = self.block("export PATH=")
        tree = self.folder / "tree"
        shutil.copytree(ROOT / "examples", tree / "examples")
        for name in ("include", "python"):
            (tree / name).symlink_to(ROOT / name)
        (tree / "build").mkdir()
        (tree / "build/corun").symlink_to(self.command)
        (tree / "bin").mkdir()
        python = next((python for python in (sys.executable, "/usr/bin/python3") if os.path.exists(python) and subprocess.run(
            [python, "-c", "import numpy, matplotlib"], capture_output=True, check=False).returncode == 0), None)
        if python:
            (tree / "bin/python3").symlink_to(python)
        else:
            lines = lines[:lines.index(next(line for line in lines if line.startswith("# with Python")))]
        script = "\n".join(["set -ex", "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT", *lines])
        environment = dict(self.environment, PATH=f"{tree}/bin:{os.environ['PATH']}", CORUN_LIBRARY=os.path.join(
            os.path.dirname(self.command), "lib/libcorun.so"))
        done = subprocess.run(["bash", "-c", script], cwd=tree, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, timeout=600, check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-4000:])
        written = {"results.json", "t.json", "mine.so", "out.bin", "program", "mine.corun", "sgemm-large"} | ({"pairs.html"} if python else set())
        self.assertLessEqual(written, {path.name for path in (tree / "try").iterdir()})


    def test_two_programs(self):
        """Two programs of the tests under corund, which look at their results themselves: the lines end at the first status that is not 0."""
        folder = pathlib.Path(self.command).parent
        if not all((folder / "tests/cuda/programs" / name).exists() for name in ("heat", "elimination-static")):
            self.skipTest("not built with its CUDA programs")
        lines = self.block("export CORUN_DAEMON_SOCKET=")
        (self.folder / "build").symlink_to(folder)
        script = "\n".join(["set -ex", "trap 'kill $(jobs -p) 2>/dev/null || true' EXIT", *lines])
        done = subprocess.run(["bash", "-c", script], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual(done.returncode, 0, done.stderr[-4000:])


class Demo(OfReadme):
    def test_demo(self):
        """All but the last line, which tells how long it took."""
        line, *shown = self.block("$ corun run")
        printed = self.text(*shlex.split(line.removeprefix("$ corun"))).splitlines()
        self.assertEqual(printed[:-1], [row.rstrip() for row in shown[:-1]])
        self.assertIn(shlex.join(shlex.split(line.removeprefix("$ corun"))), (ROOT / "Makefile").read_text())


class Examples(Pages):
    """Files that the pages show are taken as they stand."""

    def example(self, page, beginning):
        found = [block for block in blocks(ROOT / "docs" / page, "yaml") if block.startswith(beginning)]
        self.assertEqual(len(found), 1, page)
        return found[0]

    def test_campaign(self):
        (self.folder / "goals.yaml").write_text(self.example("campaigns.md", "name: goals-of-pairs"))
        workloads = self.text("list", "workloads")
        if any(not re.search(rf"^{name} ", workloads, re.M) for name in ("sgemm", "mri-q", "lbm", "spmv")):
            self.skipTest("not built with all of its workloads")
        listed = self.text("campaign", "--list", "goals.yaml")
        self.assertEqual(len(listed.splitlines()), 4 + 12 * 3 * 4, listed)

    def test_results_file(self):
        """The tables of docs/campaigns.md are those of a results file."""
        (self.folder / "one.yaml").write_text(describe("one", 4, grid=4))
        (self.folder / "tiny.yaml").write_text("name: tiny\ncycles: 1K\ngpus: ['gtx980:sms=2']\nworkloads: [./one.yaml]\n"
                                               "mixes: [{size: 1}]\n")
        self.text("campaign", "-q", "-r", "tiny.db", "tiny.yaml")
        told = dict(re.findall(r"^\| `(\w+)` \| (`.*) \|$", (ROOT / "docs/campaigns.md").read_text().split("| table | columns |")[1],
                               re.M))
        told = {table: re.findall(r"`([a-z0-9_]+)`", re.sub(r"\(.*?\)(?=,|$)", "", columns)) for table, columns in told.items()}
        with contextlib.closing(sqlite3.connect(self.folder / "tiny.db")) as file:
            tables = [name for name, in file.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")]
            found = {table: [row[1] for row in file.execute(f"PRAGMA table_info({table})")] for table in tables}
        self.assertEqual(told, found)

    def test_launch_description(self):
        """docs/launch-descriptions.md, with a kernel that has the parameters of its launch."""
        (self.folder / "jacobi.yaml").write_text(self.example("launch-descriptions.md", "name: jacobi"))
        (self.folder / "jacobi.ptx").write_text(
            ".version 6.3\n.target sm_52\n.address_size 64\n"
            ".visible .entry jacobi_step(.param .u64 now, .param .u64 next, .param .u32 n, .param .f32 part)\n{\n    ret;\n}\n")
        self.assertIn("jacobi@small", self.text("run", "-g", "gtx980:sms=2", "-c", "2K", "./jacobi.yaml@small"))

    def test_gpu(self):
        (self.folder / "my-gpu.yaml").write_text(self.example("gpus.md", "name: my-gpu"))
        (self.folder / "one.yaml").write_text(describe("one", 4, grid=4))
        self.assertIn("24 SMs at 1400 MHz", self.text("run", "-g", "./my-gpu.yaml", "-c", "2K", "./one.yaml"))

    def test_fragments_of_the_policy_are_the_example(self):
        source = " ".join((ROOT / "examples/policy/fair_turns.c").read_text().split())
        found = [block for block in blocks(ROOT / "docs/writing-policies.md") if "allowances" in block]
        self.assertEqual(len(found), 2)
        for block in found:
            self.assertIn(" ".join(block.split()), source)


if __name__ == "__main__":
    Pages.command = os.path.abspath(sys.argv.pop(1))
    unittest.main()
