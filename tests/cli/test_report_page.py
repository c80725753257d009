#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""corun report on a small campaign: its numbers against ours, its page by a parser and in a real browser.
Usage: test_report_page.py CORUN [TEST...]"""

import csv
import html.parser
import io
import json
import math
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "python")]
from python_with import need, run_tests  # noqa: E402

need("numpy", "matplotlib", "PIL")
from PIL import Image  # noqa: E402

import chromium  # noqa: E402
import test_campaign  # noqa: E402
from programs import describe  # noqa: E402
from test_campaign import FILE, NOT_FOUND, OK, USAGE  # noqa: E402

CAMPAIGNS = {
    "goals": """\
name: goals
summary: one goal <of a pair>
gpus: ["gtx980:sms=2"]
policies: [even, cooperative]
workloads: [./a.yaml, ./b.yaml, ./c.yaml]
cycles: 20K
goals: [30%, 90%]
mixes:
  - {size: 2, ordered: true}
""",
    "mixed": """\
name: mixed
gpus: ["gtx980:sms=2", "gtx980:sms=4"]
policies: [left-over, even]
workloads: [./a.yaml, ./b.yaml, ./bad.yaml]
cycles: 20K
mixes:
  - {size: 2, repeated: true}
cases:
  - [./a.yaml, ./b.yaml, ./c.yaml]
"""}


class Report(unittest.TestCase):
    """The campaigns are run once for all tests of a class."""

    @classmethod
    def setUpClass(cls):
        cls.made = test_campaign.Campaign()
        cls.made.setUp()
        cls.folder, cls.corun = cls.made.folder, cls.made.corun
        try:
            cls.made.write("bad.yaml", describe("bad", 1, "outside"))
            for name, text in CAMPAIGNS.items():
                cls.made.write(f"{name}.yaml", text)
                cls.corun("campaign", "-r", "results.db", "-q", f"{name}.yaml")
        except BaseException:
            cls.made.tearDown()
            raise

    @classmethod
    def tearDownClass(cls):
        cls.made.tearDown()

    @classmethod
    def report(cls, *arguments, results="results.db", status=OK):
        return cls.corun("report", "-r", results, *arguments, status=status)

    @classmethod
    def page(cls, *arguments, results="results.db"):
        cls.report("--quiet", "--html", "page.html", *arguments, results=results)
        return (cls.folder / "page.html").read_text(encoding="utf-8")

    @classmethod
    def copy(cls, name, *statements):
        """A results file with some of it taken away."""
        database = sqlite3.connect(cls.folder / "results.db")
        copied = sqlite3.connect(cls.folder / name)
        database.backup(copied)
        database.close()
        for statement in statements:
            copied.execute(statement)
        copied.commit()
        copied.close()
        return name


class Numbers(Report):
    def expected(self, campaign, gpu, size, policy, goal=None):
        """Computed from the full results and from nothing else."""
        rows = self.made.rows("SELECT status, result, applications, gpu, policy FROM cases JOIN members USING(key) "
                              f"WHERE campaign = '{campaign}' AND NOT isolated")
        rows = [row for row in rows if row[3:] == (gpu, policy) and len(row[2].split()) == size]
        if goal:
            rows = [row for row in rows if f":goal={goal}" in row[2]]
        results = [json.loads(row[1]) for row in rows if row[0] == "finished"]
        speeds = [[app["ipc"] / app["ipc_isolated"] for app in result["applications"]] for result in results]
        sums = [sum(one) for one in speeds]
        own = {"cases": len(rows), "finished": len(results), "failed": sum(row[0] == "failed" for row in rows),
               "lost": sum(row[0] == "lost" for row in rows), "standstill": sum(min(one) == 0 for one in speeds)}
        if not results:
            return own
        own |= {"stp_geomean": math.prod(sums) ** (1 / len(sums)), "stp_min": min(sums), "stp_max": max(sums),
               "antt": sum(sum(1 / v if v else math.inf for v in one) / size for one in speeds) / len(speeds),
               "fairness": sum(min(one) / max(one) for one in speeds) / len(speeds)}
        with_goal = [result for result in results if any(app["goal"] for app in result["applications"])]
        own["cases_with_goal"] = len(with_goal)
        if with_goal:
            met = [result for result in with_goal if all(app["ipc"] >= app["goal_ipc"] for app in result["applications"] if app["goal"])]
            own["cases_met"] = len(met)
            own["qos_reach"] = len(met) / len(with_goal)
            if met:
                beyond = [app["ipc"] / app["goal_ipc"] - 1 for result in met for app in result["applications"] if app["goal"]]
                free = [app["ipc"] / app["ipc_isolated"] for result in met for app in result["applications"] if not app["goal"]]
                own["overshoot"], own["best_effort"] = sum(beyond) / len(beyond), sum(free) / len(free)
        return own

    def compare(self, found, expected):
        self.assertEqual("stp_min" in expected, found["stp_min"] not in (None, ""))
        for name, value in expected.items():
            number = math.inf if found[name] in (None, "inf") else float(found[name])
            self.assertTrue(math.isclose(number, value, rel_tol=1e-9, abs_tol=1e-9), f"{name}: {found[name]}, not {value}")

    def test_csv(self):
        rows = list(csv.DictReader(io.StringIO(self.report("--csv", "-").stdout)))
        for row in rows:
            self.compare(row, self.expected(row["campaign"], row["gpu"], int(row["applications"]), row["policy"], row["goal"]))
        self.assertEqual(len(rows), 2 * (1 + 2) + 2 * 2 * 2)
        self.assertEqual(sum(int(row["failed"]) for row in rows), 2 * 2 * 3 + 1) # two SMs are too few for three applications, each with its own
        reached = [float(row["qos_reach"]) for row in rows if row["qos_reach"]]
        self.assertGreater(max(reached), min(reached))

    def test_json(self):
        data = json.loads(self.report("--json", "-").stdout)
        self.assertEqual([section["campaign"] for section in data["sections"]], ["goals", "mixed"])
        for section in data["sections"]:
            for block in section["blocks"]:
                for row in [*block["policies"], *block["goals"]]:
                    self.compare(row, self.expected(section["campaign"], block["gpu"], block["applications"], row["policy"],
                                                    row["goal"]))
            for case in section["cases"]:
                if case["status"] == "finished":
                    self.assertAlmostEqual(sum(app["normalised_ipc"] for app in case["applications"]), case["stp"], places=9)
                else:
                    self.assertRegex(case["message"], "out of bounds|more applications than SMs")
        self.assertEqual(data["sections"][0]["finished"], 3 + 2 * 2 * 6)

    def test_a_command_line_gives_the_case_again(self):
        case = json.loads(self.report("--json", "-", "--campaign", "goals").stdout)["sections"][0]["cases"][5]
        words = case["command"].split()
        again = json.loads(self.corun(*words[1:], "--json", "-").stdout)
        self.assertEqual(again["stp"], case["stp"])

    def test_terminal(self):
        output = self.report("--campaign", "goals").stdout
        self.assertIn("goals: 27 cases with isolated runs: 27 finished\n", output)
        own = self.expected("goals", "gtx980:sms=2", 2, "even")
        self.assertRegex(output, rf"\neven +{own['stp_geomean']:.3f} +{own['stp_min']:.3f} +{own['stp_max']:.3f} +"
                         rf"{own['antt']:.3f} +{own['fairness']:.3f} +12 +12 +0 +0\n")
        own = self.expected("goals", "gtx980:sms=2", 2, "even", "90%")
        self.assertRegex(output, rf"\neven +90% +{own['qos_reach'] * 100:.1f} % .* {own['cases_met']} +6\n")
        self.assertLessEqual(max(map(len, output.splitlines())), 100)
        output = self.report("--campaign", "mixed").stdout
        self.assertIn("15 failed", output.splitlines()[0])
        self.assertIn("\ngtx980:sms=4, 3 applications\n", output)

    def test_files(self):
        self.assertEqual(self.report("--quiet", "--csv", "x.csv", "--json", "x.json").stdout, "")
        self.assertEqual((self.folder / "x.csv").read_bytes().decode(), self.report("--csv", "-").stdout.replace("\n", "\r\n"))
        self.assertEqual((self.folder / "x.json").read_text(), self.report("--json", "-").stdout)

    def test_mistakes(self):
        self.assertIn("no campaign 'x'; there are: goals, mixed", self.report("--campaign", "x", status=NOT_FOUND).stderr)
        self.assertIn("no such file", self.report(results="none.db", status=NOT_FOUND).stderr)
        self.made.write("text.db", "no database" * 100)
        self.assertIn("text.db: file is not a database", self.report(results="text.db", status=FILE).stderr)
        self.assertIn("no/x.csv: cannot be written", self.report("--csv", "no/x.csv", status=FILE).stderr)
        self.assertIn("--csv and --json", self.report("--csv", "-", "--json", "-", status=USAGE).stderr)
        self.assertIn("--html: the name", self.report("--html", "", status=USAGE).stderr)
        self.assertIn("too much", self.report("results.db", status=USAGE).stderr)
        self.assertIn("--cases", self.report("--cases=-1", status=USAGE).stderr)
        with open("/dev/full", "w", encoding="utf-8") as stream:
            full = subprocess.run([test_campaign.CORUN, "report", "-r", "results.db"], cwd=self.folder, stdout=stream,
                                  stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual((full.returncode, full.stderr), (FILE, "corun: standard output cannot be written: No space left on "
                                                                "device\n"))

    def test_says_what_is_missing(self):
        environment = self.made.environment
        try:
            type(self).made.environment = dict(environment, CORUN_PYTHON="/no/python")
            self.assertIn("/no/python cannot be run", self.report(status=NOT_FOUND).stderr)
            bare = self.folder / "bare"
            bare.write_text(f"#!/bin/sh\nexec {sys.executable} -S \"$@\"\n")
            bare.chmod(0o755)
            type(self).made.environment = dict(environment, CORUN_PYTHON=str(bare))
            said = self.report(status=NOT_FOUND).stderr
            self.assertIn("needs numpy", said)
            self.assertIn("apt-get install python3-numpy\n", said.replace(";", "\n"))
            import numpy
            modules = self.folder / "modules"
            modules.mkdir()
            (modules / "numpy").symlink_to(pathlib.Path(numpy.__file__).parent)
            self.made.environment["PYTHONPATH"] = str(modules)
            self.assertIn("even", self.report().stdout)
            self.assertIn("the page needs matplotlib", self.report("--html", "x.html", status=NOT_FOUND).stderr)
            self.assertFalse((self.folder / "x.html").exists())
        finally:
            type(self).made.environment = environment


class Reader(html.parser.HTMLParser):
    """Checks that tags nest, and remembers what there is."""
    EMPTY = {"meta", "link", "br", "hr", "img", "input"}

    def __init__(self, text):
        super().__init__()
        self.open, self.problems, self.tags, self.names, self.targets, self.words = [], [], [], [], [], []
        self.classes = []
        self.svg_shapes = []
        self.feed(text)
        self.close()
        if self.open:
            self.problems.append(f"never closed: {self.open}")

    def handle_starttag(self, tag, attributes):
        self.begin(tag, attributes)
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.begin(tag, attributes)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"line {self.getpos()}: </{tag}>")

    def handle_data(self, data):
        self.words.append(data)

    def begin(self, tag, attributes):
        self.tags.append(tag)
        if tag == "svg" and "figure" in self.open:
            self.svg_shapes.append(0)
        elif "figure" in self.open and "svg" in self.open and tag in ("path", "use", "text") and "defs" not in self.open:
            self.svg_shapes[-1] += 1
        for name, value in attributes:
            value = value or ""
            if name == "class":
                self.classes += value.split()
            if name == "id":
                self.names.append(value)
            if name in ("href", "src", "data", "action", "srcset", "poster") or name.endswith(":href"):
                self.targets.append(value)
            self.targets += re.findall(r"url\(([^)]*)\)", value)


class Page(Report):
    def check(self, text, figures):
        page = Reader(text)
        self.assertEqual(page.problems, [])
        self.assertEqual(len(page.names), len(set(page.names)))
        for target in page.targets:
            self.assertTrue(target == "data:," or target[1:] in page.names and target[0] == "#", target)
        for tag in ("script", "iframe", "img", "object", "embed", "image"):
            self.assertNotIn(tag, page.tags)
        self.assertNotIn("http", text)
        self.assertNotIn("@import", text)
        self.assertNotIn("#fe0", text) # every stand-in became a variable
        self.assertEqual(page.tags.count("figure"), figures)
        self.assertEqual(len(page.svg_shapes), figures)
        for shapes in page.svg_shapes:
            self.assertGreater(shapes, 10)
        self.assertNotIn("nan", re.sub(r"[^a-z]+", " ", " ".join(page.words).lower()).split())
        return page

    def test_whole(self):
        page = self.check(self.page(), (5 + 2) + 2 * (3 + 3 + 2))
        words = "".join(page.words)
        finished = self.made.rows("SELECT count(*) FROM members JOIN cases USING(key) WHERE status = 'finished'")[0][0]
        self.assertEqual(page.classes.count("sketch"), finished)
        for expected in ("one goal <of a pair>", "corun run --gpu gtx980:sms=2 --policy even --cycles 20000 --seed 1 ./a.yaml:goal=30% "
                         "./b.yaml", "out of bounds", "27 cases with isolated runs: 27 finished", "memory data", "L2 hits"):
            self.assertIn(expected, words)
        self.assertEqual(sum(" --policy " in word for word in page.words), 27 + len(self.made.rows(
            "SELECT key FROM members WHERE campaign = 'mixed'")))

    def test_maps_say_what_their_cells_are(self):
        """A cell for each pair with its numbers, and the diagonal in words."""
        figures = re.findall(r'<figure id="[^"]*" class="map">.*?</figure>', self.page(), re.S)
        self.assertEqual(len(figures), 2 + 2 * 2)
        ordered, repeated = figures[0], figures[2]
        cells = re.findall(r'<path d="[^"]*" fill="#[0-9a-f]{6}"><title>([^<]*)</title></path>', ordered)
        names = ["./a.yaml", "./b.yaml", "./c.yaml"]
        self.assertEqual(sorted(cell.split(":")[0] for cell in cells),
                         sorted(f"{one} + {two}" for one in names for two in names if one != two))
        self.assertIn(" is empty: no application shared the GPU with a copy of itself.", ordered)
        rows = self.made.rows("SELECT applications, stp FROM cases JOIN members USING(key) WHERE campaign = 'goals' AND "
                              "policy = 'even' AND NOT isolated AND applications LIKE './a.yaml:goal=% ./b.yaml'")
        values = [stp for _, stp in rows]
        self.assertEqual(len(values), 2)
        self.assertIn(f"./a.yaml + ./b.yaml: STP {sum(values) / 2:.3f}, the mean of 2 cases from {min(values):.3f} to "
                      f"{max(values):.3f}", cells)
        cells = re.findall(r"<title>([^<]*)</title></path>", repeated)
        self.assertEqual(sorted(cell.split(":")[0] for cell in cells), ["./a.yaml + ./a.yaml", "./a.yaml + ./b.yaml",
                                                                       "./b.yaml + ./b.yaml"])
        self.assertIn("are an application that shares the GPU with a second copy of itself", repeated)
        self.assertIn("Other empty cells are pairs that were not run in this order.", repeated)

    def test_few_details(self):
        text = self.page("--cases", "10", "--campaign", "goals")
        self.assertEqual(text, self.page("--cases", "10", "--campaign", "goals"))
        page = self.check(text, 7)
        self.assertEqual(sum(" --policy " in word for word in page.words), 10)
        self.assertIn("2 more are left out", "".join(page.words))

    def test_nothing_ended(self):
        name = self.copy("none.db", "DELETE FROM cases", "DELETE FROM applications")
        words = "".join(self.check(self.page(results=name), 0).words)
        self.assertIn("27 not run yet", words)
        self.assertIn("No case in which applications share a GPU has ended yet.", words)
        self.assertIn("no case that shares a GPU has ended", self.report(results=name).stdout)
        self.assertEqual(len(self.report("--csv", "-", results=name).stdout.splitlines()), 1)
        name = self.copy("blank.db", *(f"DELETE FROM {table}" for table in ("cases", "applications", "campaigns", "members")))
        self.assertIn("There are no results yet.", "".join(self.check(self.page(results=name), 0).words))

    def test_part_has_ended(self):
        name = self.copy("part.db", "DELETE FROM cases WHERE policy = 'even' OR applications LIKE '%c.yaml%'")
        page = self.check(self.page("--campaign", "goals", results=name), 6)
        self.assertIn("not run yet", "".join(page.words))
        name = self.copy("failed.db", "DELETE FROM cases WHERE status = 'finished'")
        page = self.check(self.page("--campaign", "mixed", results=name), 0)
        self.assertIn("nothing to draw", "".join(page.words))
        name = self.copy("lost.db", "UPDATE cases SET status = 'lost', result = NULL WHERE policy = 'even'")
        self.check(self.page("--campaign", "goals", results=name), 6)

    def test_before_there_were_histories(self):
        name = self.copy("old.db", "UPDATE cases SET result = json_remove(result, '$.history')")
        text = self.page("--campaign", "goals", results=name)
        self.check(text, 6)
        self.assertNotIn('<div class="sketch"', text)


class Browser(Report):
    FIGURES = """[...document.querySelectorAll('figure')].map(figure => { const svg = figure.querySelector('svg');
        const box = svg.getBoundingClientRect(); return {name: figure.id, x: box.x + scrollX, y: box.y + scrollY,
        width: box.width, height: box.height, font: Math.min(...[...svg.querySelectorAll('text')].map(text =>
        text.getBoundingClientRect().height)), outside: [...svg.querySelectorAll('text')].filter(text => {
        const t = text.getBoundingClientRect(); return t.left < box.left - 2 || t.right > box.right + 2 || t.top < box.top - 2 ||
        t.bottom > box.bottom + 2; }).map(text => text.textContent)}; })"""
    SKETCHES = """[...document.querySelectorAll('.sketch > svg')].map(svg => { const box = svg.getBoundingClientRect();
        return {x: box.x + scrollX, y: box.y + scrollY, width: box.width, height: box.height}; })"""
    WIDER = "document.scrollingElement.scrollWidth - innerWidth"

    @classmethod
    def setUpClass(cls):
        program = chromium.find()
        if not program:
            raise unittest.SkipTest("there is no Chromium")
        super().setUpClass()
        try:
            cls.browser = chromium.Chromium(program)
        except BaseException:
            super().tearDownClass()
            raise
        cls.page()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        super().tearDownClass()

    def tearDown(self):
        self.assertEqual(self.browser.complaints, [])
        for request in self.browser.requests:
            self.assertTrue(request.startswith(("file:", "data:")), request)

    def drawn(self, box):
        """The share of pixels that are not as the corner is, and how many colours there are."""
        image = Image.open(io.BytesIO(self.browser.screenshot({name: box[name] for name in ("x", "y", "width", "height")})))
        image = image.convert("RGB")
        colours = image.getcolors(image.width * image.height)
        paper = image.getpixel((0, 0))
        return 1 - sum(count for count, colour in colours if colour == paper) / (image.width * image.height), len(colours)

    def check(self, width, dark):
        self.browser.open(self.folder / "page.html", width, 900, dark)
        self.assertLessEqual(self.browser.evaluate(self.WIDER), 0)
        figures = self.browser.evaluate(self.FIGURES)
        self.assertEqual(len(figures), 23)
        for figure in figures:
            share, colours = self.drawn(figure)
            self.assertGreater(share, 0.02, f"{figure['name']} is blank")
            self.assertGreater(colours, 20, figure["name"])
            self.assertEqual(figure["outside"], [], figure["name"])
            self.assertGreater(figure["font"], 6, figure["name"])
        self.browser.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        self.assertLessEqual(self.browser.evaluate(self.WIDER), 0)
        for box in self.browser.evaluate(self.SKETCHES)[::40]:
            share, colours = self.drawn(box)
            self.assertGreater(share, 0.1, "a sketch is blank")
            self.assertGreater(colours, 10)
        return self.browser.evaluate("getComputedStyle(document.body).backgroundColor")

    def test_desk(self):
        self.assertEqual(self.check(1280, False), "rgb(255, 255, 255)")

    def test_a_pointer_finds_the_cell(self):
        """Also over the number that is written on it."""
        self.browser.open(self.folder / "page.html", 1280, 900)
        found = self.browser.evaluate("""(() => { const figure = document.querySelector('figure.map'); figure.scrollIntoView();
            return [...figure.querySelectorAll('path > title')].map(title => { const box = title.parentNode.getBoundingClientRect();
            return document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2) === title.parentNode; }); })()""")
        self.assertEqual(found, [True] * 6)

    def test_phone(self):
        self.check(360, False)

    def test_dark(self):
        self.assertNotEqual(self.check(390, True), "rgb(255, 255, 255)")

    def test_paper(self):
        self.browser.open(self.folder / "page.html", 800, 900, dark=True, media="print")
        self.assertEqual(self.browser.evaluate("getComputedStyle(document.body).backgroundColor"), "rgb(255, 255, 255)")
        self.assertRegex(self.browser.pdf()[:8], rb"%PDF-1\.\d")

    def test_nothing_ended(self):
        name = self.copy("none.db", "DELETE FROM cases", "DELETE FROM applications")
        self.report("--quiet", "--html", "none.html", results=name)
        self.browser.open(self.folder / "none.html", 360, 900)
        self.assertLessEqual(self.browser.evaluate(self.WIDER), 0)
        self.assertIn("has ended yet", self.browser.evaluate("document.body.innerText"))

    def test_a_blank_figure_is_noticed(self):
        self.browser.open(self.folder / "page.html", 800, 900)
        self.browser.evaluate("document.querySelector('figure svg').style.visibility = 'hidden'")
        self.assertLess(self.drawn(self.browser.evaluate(self.FIGURES)[0])[0], 0.001)


if __name__ == "__main__":
    test_campaign.CORUN = os.path.abspath(sys.argv.pop(1))
    run_tests()
