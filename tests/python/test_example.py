#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The example in python/examples runs, in small, and leaves what it says; so do those of the pages.
Usage: test_example.py FOLDER_OF_THE_PACKAGE LIBRARY CORUN [TEST...]"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from python_with import SKIPPED, need, run_tests  # noqa: E402

need("numpy", "matplotlib")
PACKAGE, LIBRARY, CORUN = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))

ROOT = pathlib.Path(__file__).resolve().parents[2]

# What a kernel does: the last expression of a cell is shown.
KERNEL = """\
import ast, json, sys, types
sys.modules["ipykernel"] = types.ModuleType("ipykernel")
space = {"__name__": "__main__"}
for cell in json.load(sys.stdin):
    tree = ast.parse(cell)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), space)
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), space) if last else None
    if hasattr(value, "_repr_html_"):
        print("shown:", value._repr_html_())
"""

CAMPAIGN = """\
name: {name}
gpus: ["gtx980:sms=4"]
policies: [{policies}]
workloads: [sgemm, lbm]
size: small
cycles: 20K
mixes:
  - {{size: 2}}
"""


class Example(unittest.TestCase):
    def test_sharing(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            environment = dict(os.environ, CORUN_LIBRARY=LIBRARY, PYTHONPATH=PACKAGE, PYTHONDONTWRITEBYTECODE="1",
                               XDG_CACHE_HOME=str(folder / "cache"))
            (folder / "two.yaml").write_text(CAMPAIGN.format(name="two", policies="left-over, even"))
            subprocess.run([CORUN, "campaign", "-q", "-r", "two.db", "two.yaml"], cwd=folder, env=environment, check=True)
            done = subprocess.run([sys.executable, os.path.join(PACKAGE, "examples", "sharing.py"), "--small", "--results",
                                   folder / "two.db", folder], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr, "")
            for expected in (r"gtx980:sms=8: 8 SMs at 1216 MHz, 2 MB of L2", r"cooperative +STP [01]\.\d{3}, sgemm at",
                             r"SMs that issued for each application: \[4 4\]", r"two: 4 cases",
                             r"even +STP 1\.\d{3} over 1 cases", r"the least: corun run --gpu gtx980:sms=4 --policy"):
                self.assertTrue(re.search(expected, done.stdout), f"{expected}: {done.stdout}")
            for picture in ("split.svg", "sweep.svg"):
                root = xml.etree.ElementTree.parse(folder / picture).getroot()
                self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
                self.assertGreater(len(list(root.iter("{http://www.w3.org/2000/svg}path"))), 20)

    def test_notebook(self):
        """All cells, one after the other, as a kernel runs them: in one namespace, with a kernel's arguments, which are not ours."""
        notebook = json.loads(pathlib.Path(PACKAGE, "examples", "sharing.ipynb").read_text(encoding="utf-8"))
        self.assertEqual((notebook["nbformat"], {cell["cell_type"] for cell in notebook["cells"]}), (4, {"code", "markdown"}))
        cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
        self.assertEqual(cells[0].count("parse_args([]"), 1)
        cells[0] = cells[0].replace("parse_args([]", 'parse_args(["--small"]')
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([sys.executable, "-c", KERNEL, "-f", "/nowhere/kernel.json"], input=json.dumps(cells), cwd=folder,
                                  env=dict(os.environ, CORUN_LIBRARY=LIBRARY, PYTHONPATH=PACKAGE, PYTHONDONTWRITEBYTECODE="1",
                                           MPLBACKEND="svg", XDG_CACHE_HOME=os.path.join(folder, "cache")),
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertEqual(sorted(os.listdir(folder)), ["cache", "split.svg", "sweep.svg"])
        self.assertRegex(done.stdout, r"cooperative +STP [01]\.\d{3}, sgemm at")
        shown = re.findall(r"^shown: (.*)$", done.stdout, re.M)
        self.assertEqual(len(shown), 1)
        root = xml.etree.ElementTree.fromstring(shown[0])
        self.assertEqual([row[0].text for row in root.iter("tr")], ["application", "sgemm@small", "lbm@small"])
        self.assertIn("lbm@small", "".join(root.itertext()))
        areas = [path for path in root.iter("path") if path.find("title") is not None]
        patterns = {pattern.get("id") for pattern in root.iter("pattern")}
        self.assertEqual([area.get("fill")[5:-1] in patterns for area in areas], [True, True])
        self.assertRegex(areas[0].find("title").text, r"^sgemm@small: [\d.]+ SMs on average, ")

    def test_pages(self):
        """The blocks of Python in docs/, in a shorter window, with a results file like that of docs/campaigns.md."""
        programs = [re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / page).read_text(), re.M | re.S)
                    for page in ("python.md", "reports.md")]
        self.assertEqual([len(found) for found in programs], [2, 1])
        run, results = "".join(programs[0]).replace('cycles="500K"', 'cycles="5K"'), programs[1][0]
        self.assertIn('"5K"', run)
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            environment = dict(os.environ, CORUN_LIBRARY=LIBRARY, PYTHONPATH=PACKAGE, PYTHONDONTWRITEBYTECODE="1",
                               XDG_CACHE_HOME=str(folder / "cache"))
            (folder / "goals.yaml").write_text(CAMPAIGN.format(name="goals-of-pairs", policies="even, qos-rollover") + "goals: [50%]\n")
            subprocess.run([CORUN, "campaign", "-q", "-r", "goals.db", "goals.yaml"], cwd=folder, env=environment, check=True)
            text = subprocess.run([sys.executable, "-c", run + results], cwd=folder, env=environment, stdout=subprocess.PIPE,
                                  text=True, check=True).stdout
        self.assertRegex(text, r"^NOT_FOUND policy ./mine.so: .*\n"
                         r"even \d\.\d+ [01]\.0\nqos-rollover \d\.\d+ [01]\.0\ncorun run .*\{'utilisation': ")


if __name__ == "__main__":
    if not os.path.exists(LIBRARY):
        print(f"skipped: {LIBRARY} is not built")
        sys.exit(SKIPPED)
    run_tests()
