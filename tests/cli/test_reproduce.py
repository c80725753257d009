#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""corun reproduce, from the file of an experiment to its page. Usage: test_reproduce.py CORUN [TEST...]"""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "python")]
from python_with import need, run_tests  # noqa: E402

need("numpy", "matplotlib")
import chromium  # noqa: E402
import test_campaign  # noqa: E402
from test_campaign import FILE, INTERRUPTED, NOT_FOUND, OK, SYNTAX, USAGE  # noqa: E402

MISMATCH = 11  # exit status
EXPERIMENTS = HERE.parent.parent / "experiments"

TINY = """\
name: tiny
title: Even against the whole GPU in turns
paper: A paper
section: figure 1
shows: Two small programs share two SMs.
paper_cycles: 100K
cycles: {cycles}
classes: {{C: [a, b], M: [c]}}
campaign:
  gpus: ["gtx980:sms=2"]
  policies: [even, cooperative]
  workloads: [./a.yaml, ./b.yaml, ./c.yaml]
  mixes: [{{size: 2}}]
figures:
  - name: stp
    title: Throughput
    unit: ratio
    value: {{metric: stp, over: geomean, neutral: 1}}
    series:
      - {{name: even, policy: even, paper: "1.10"}}
      - {{name: cooperative, policy: cooperative, paper: "-"}}
      - {{name: C+M, policy: even, class: C+M}}
  - name: distribution
    title: Distribution
    kind: distribution
    value: {{metric: stp, policy: even}}
    points:
      - {{label: exceeded by 75 %, over: exceeded-by-75%}}
      - {{label: median, over: median}}
    series:
      - {{name: pairs, paper: ["1.05", "1.10"]}}
  - name: pairs
    title: Fairness of each pair
    kind: lines
    value: {{metric: fairness, over: mean}}
    points: {{mix: [a+b, a+c, b+c]}}
    series:
      - {{name: even, policy: even, paper: ["0.9", "?", "?"]}}
      - {{name: cooperative, policy: cooperative}}
remarks: Ours are made for a test.
"""


QUEUES = """\
name: queues
title: Two kernels in a queue
paper: A paper
section: figure 2
campaign: {command: queue, arguments: [./a.yaml, ./b.yaml]}
parts:
  - {name: measured, options: {gpu: "gtx980:sms=2", scheduler: opt, instances: 1, pairs: true}}
  - {name: spans, options: {gpu: "gtx980:sms=2", scheduler: [[sequential, base, kernelet]], instances: 2}}
  - {name: full, options: {gpu: "gtx980:sms=2", scheduler: [base, sequential], instances: 2, full: true}}
figures:
  - {name: spans, title: Makespans, source: its text, table: makespans, parts: [spans], paper: {Kernelet over Base: 5 to 31 %}}
  - {name: kernels, table: kernels, parts: [measured]}
  - {name: cycles, table: cycles, parts: [full, spans]}
remarks: Ours are made for a test.
"""


class Reproduce(test_campaign.Campaign):
    def setUp(self):
        super().setUp()
        self.write("tiny.yaml", TINY.format(cycles="20K"))

    def reproduce(self, *arguments, status=OK):
        return self.corun("reproduce", "-r", "results.db", *arguments, status=status)

    def counts(self, *arguments):
        """(cases, found, run)"""
        done = self.reproduce("./tiny.yaml", *arguments)
        return tuple(int(number) for number in re.search(r"(\d+) cases, (\d+) found, (\d+) run", done.stdout).groups())


class Runs(Reproduce):
    def test_from_file_to_markdown(self):
        done = self.reproduce("./tiny.yaml", "--markdown", "tiny.md")
        self.assertIn("tiny: 9 cases, 0 found, 9 run", done.stdout)
        stp = [float(row[0]) for row in self.rows("SELECT stp FROM cases WHERE policy = 'even' AND NOT isolated")]
        mean = (stp[0] * stp[1] * stp[2]) ** (1 / 3)
        self.assertRegex(done.stdout, rf"even +1\.100 +{mean:.3f} +3 +yes +{(mean - 1) / 0.1:.2f}")
        text = (self.folder / "tiny.md").read_text()
        self.assertIn(f"| even | 1.100 | {mean:.3f} | 3 | 20K | yes | {(mean - 1) / 0.1:.2f} |", text)
        self.assertIn("* sample: 3 of 3 combinations", text)
        self.assertIn("20K cycles; the paper's: 100K", text)
        self.assertTrue(text.endswith("## Remarks\n\nOurs are made for a test.\n"))

    def test_settled(self):
        """Cases of their own, beside the same isolated runs; the page says what was simulated."""
        self.assertEqual(self.counts("--markdown", "full.md"), (9, 0, 9))
        self.assertEqual(self.counts("--markdown", "early.md", "--settle", "5%"), (9, 3, 6))
        full, page = ((self.folder / f"{name}.md").read_text() for name in ("full", "early"))
        self.assertRegex(page, r"\* settled: \d of 6 cases ended before their window did, when speeds were known to 5 % of those alone; \d+ % of the cycles")
        self.assertIn("--cycles 20K --settle 5% --markdown", page)
        self.assertNotIn("settle", full)
        self.reproduce("./tiny.yaml", "--settle", "0", status=USAGE)

    def test_queues(self):
        self.write("queues.yaml", QUEUES)
        done = self.reproduce("./queues.yaml", "--markdown", "queues.md", "--html", "queues.html")
        self.assertIn("queues: 4 cases, 0 found, 4 run", done.stdout)
        self.assertIn("full: 2 of 2 cases of corun queue", done.stdout)
        self.assertIn("4 cases, 4 found, 0 run", self.reproduce("./queues.yaml").stdout)
        spans = dict(self.rows("SELECT scheduler, makespan_seconds * 1e3 FROM queues WHERE simulated = 'events' AND instances = 2"))
        full = dict(self.rows("SELECT scheduler, makespan_seconds * 1e3 FROM queues WHERE simulated = 'cycles'"))
        change = f"{100 * (spans['base'] / spans['kernelet'] - 1):.1f} %"
        text = (self.folder / "queues.md").read_text()
        self.assertIn(f"| ./a.yaml ./b.yaml, 2 of each | {spans['sequential']:.2f} | {spans['base']:.2f} | {spans['kernelet']:.2f} | "
                      f"{100 * (spans['sequential'] / spans['base'] - 1):.1f} % | {change} |", text)
        self.assertIn(f"Kernelet over Base {change} to {change} (paper: 5 to 31 %).", text)
        for name in full:
            self.assertIn(f"| ./a.yaml ./b.yaml, 4 launches | {name} | {full[name]:.2f} | {spans[name]:.2f} | {100 * (spans[name] / full[name] - 1):+.1f} % |", text)
        version = subprocess.run([test_campaign.CORUN, "version"], capture_output=True, text=True, check=True).stdout
        self.assertIn(f"* timing model: version {re.search('timing model ([0-9]+)', version)[1]}\n", text)
        self.assertIn("Made by `corun reproduce queues --markdown FILE`", text)
        self.assertNotIn("window", text)
        self.assertTrue(text.endswith("## Remarks\n\nOurs are made for a test.\n"))
        page = (self.folder / "queues.html").read_text()
        self.assertIn("Makespans", page)
        self.assertIn(f"{spans['kernelet']:.2f}</td>", page)

    def test_continues(self):
        self.assertEqual(self.counts("--sample", "1"), (4, 0, 4))
        self.assertEqual(self.counts("--sample", "2"), (7, 4, 3))
        self.assertEqual(self.counts(), (9, 7, 2))
        self.assertEqual(self.counts("--full"), (9, 0, 9))
        self.assertEqual(self.rows("SELECT DISTINCT cycles FROM cases ORDER BY cycles"), [(20000,), (100000,)])
        self.assertEqual(self.counts("--cycles", "100K"), (9, 9, 0))
        self.assertEqual(self.rows("SELECT count(*) FROM members WHERE campaign = 'tiny'")[0], (9,))

    def test_confirms_a_page(self):
        self.reproduce("./tiny.yaml", "-q", "--sample", "3", "--markdown", "tiny.md")
        page, text = self.folder / "tiny.md", (self.folder / "tiny.md").read_text()
        version = re.search(r"^\* timing model: version (\d+)$", text, re.M)[1]
        self.assertRegex(text, r"\* digits of 9 drawn cases: `[0-9a-f]{16}`\n")
        page.write_text(text.replace(f"version {version}\n", "version 1\n"))
        confirm = ("reproduce", "-r", "other.db", "./tiny.yaml", "--confirm", "tiny.md")
        confirmed = f"version 1, and with version {version} the same digits in 9 drawn cases\n"
        for _ in range(2):  # the second time there is such a line already
            done = self.corun(*confirm)
            self.assertIn(f"tiny.md: version {version} of the timing model gives the same digits in 9 drawn cases", done.stdout)
            self.assertEqual(page.read_text(), text.replace(f"version {version}\n", confirmed))
        for cycles, change in (("20K", ("cases: `", "cases: `0")), ("10K", ("", ""))):
            other = text.replace(*change)
            page.write_text(other)
            self.assertIn("gives other digits", self.corun(*confirm, "--cycles", cycles, status=MISMATCH).stderr)
            self.assertEqual(page.read_text(), other)
        self.assertEqual(self.rows("SELECT count(*) FROM cases", "other.db"), [(18,)])
        for name, words in (("none.md", "none.md: No such file"), ("a.yaml", "a.yaml: no page with one version")):
            self.assertIn(words, self.corun(*confirm[:-1], name, "--cycles", "30M", status=NOT_FOUND).stderr)
        self.assertIn("--confirm is of one experiment", self.corun(*confirm, "--sample", "2", status=USAGE).stderr)

    def test_has_a_file_of_its_own(self):
        self.corun("reproduce", "./tiny.yaml", "--sample", "1", "-q")
        self.assertEqual(self.rows("SELECT count(*) FROM cases", "corun-reproduce.db"), [(4,)])
        self.assertFalse((self.folder / "corun-results.db").exists())

    def test_two_at_once(self):
        both = [subprocess.Popen([test_campaign.CORUN, "reproduce", "-r", "results.db", "--jobs", "1", "./tiny.yaml"],
                                 cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                for _ in range(2)]
        run = 0
        for process in both:
            output, said = process.communicate(timeout=300)
            self.assertEqual(process.returncode, OK, said)
            self.assertRegex(output, r"even +1\.100 +\d\.\d+ +3 ")
            run += int(re.search(r"(\d+) run", output)[1])
        self.assertEqual(run, 9)

    def test_compares_without_running(self):
        self.reproduce("./tiny.yaml", "--sample", "1", "-q")
        done = self.reproduce("./tiny.yaml", "--no-run")
        self.assertIn("sample: 1 of 3 combinations", done.stdout)
        self.assertEqual(self.rows("SELECT count(*) FROM cases")[0], (4,))

    def test_fits_a_time(self):
        done = self.reproduce("./tiny.yaml", "--budget", "100s", "--cycles", "5K", "--jobs", "1")
        self.assertIn("tiny: 9 cases, 0 found, 9 run", done.stdout)  # small cases: all of them
        began = time.monotonic()
        done = self.reproduce("./tiny.yaml", "--budget", "1s", "--cycles", "30M", "--jobs", "1")
        self.assertLess(time.monotonic() - began, 20)
        self.assertIn("sample: 0 of 3 combinations", done.stdout)  # the first of these does not fit

    def test_interrupted(self):
        self.write("tiny.yaml", TINY.format(cycles="30M"))
        process = subprocess.Popen([test_campaign.CORUN, "reproduce", "-r", "results.db", "--jobs", "1", "./tiny.yaml"],
                                   cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True)
        until = time.monotonic() + 60
        while not (self.folder / "results.db").exists() and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, INTERRUPTED)
        self.assertIn("the same command resumes it", out)
        self.write("tiny.yaml", TINY.format(cycles="20K"))
        self.assertEqual(self.counts(), (9, 0, 9))

    def test_shares_a_file_with_other_words(self):
        text = TINY.format(cycles="20K")
        self.write("other.yaml", text.replace("tiny", "other").replace('"gtx980:sms=2"', '"gtx980:sms=2,l2=2M"'))
        self.reproduce("./other.yaml", "-q")
        done = self.reproduce("./tiny.yaml")
        self.assertIn("9 cases, 9 found, 0 run", done.stdout)
        self.assertIn("sample: 3 of 3 combinations", done.stdout)

    def test_failed_cases_are_said(self):
        self.write("tiny.yaml", TINY.format(cycles="20K").replace("./c.yaml]", "./bad.yaml]").replace("M: [c]", "M: [bad]"))
        done = self.reproduce("./tiny.yaml")
        self.assertIn("sample: 1 of 3 combinations of workloads and goals; 5 cases failed", done.stdout)
        self.assertRegex(done.stdout, r"\d cases failed under even: .*outside|\d cases failed under even: .*")

    def test_all(self):
        (self.folder / "data").mkdir()
        for name in ("kernels", "gpu", "python"):
            (self.folder / "data" / name).symlink_to(pathlib.Path(test_campaign.CORUN).parent / "data" / name)
        (self.folder / "data" / "experiments").mkdir()
        self.environment["CORUN_DATA"] = str(self.folder / "data")
        text = TINY.format(cycles="20K")
        self.write("data/experiments/tiny.yaml", text)
        self.write("data/experiments/later.yaml", text.replace("tiny", "later").replace("cooperative", "nosuch"))
        (self.folder / "pages").mkdir()
        done = self.reproduce("--all", "--budget", "60s", "--markdown", "pages", "--html", "pages")
        self.assertIn("later: left out, needs policy nosuch", done.stdout)
        self.assertEqual(sorted(path.name for path in (self.folder / "pages").iterdir()), ["tiny.html", "tiny.md"])
        listed = self.reproduce("--list").stdout
        self.assertIn("tiny              A paper, figure 1: Even against the whole GPU in turns\n"
                      "                  9 cases of 20000 cycles; in full 9 of 100000", listed)
        self.assertIn("needs policy nosuch, which this corun does not have", listed)
        done = self.reproduce("later", status=NOT_FOUND)
        self.assertIn("later needs policies that this corun does not have: nosuch", done.stderr)


class Mistakes(Reproduce):
    def wrong(self, change, place, words, status=SYNTAX):
        text = TINY.format(cycles="20K")
        self.assertIn(change[0], text)
        self.write("tiny.yaml", text.replace(*change))
        done = self.reproduce("./tiny.yaml", status=status)
        self.assertIn(f"corun: ./tiny.yaml:{place}: ", done.stderr)
        self.assertIn(words, done.stderr)
        self.assertFalse((self.folder / "results.db").exists())  # said before anything has run

    def test_in_the_file(self):
        self.wrong(("paper: A paper", "papers: A paper"), "3:1", "unknown key 'papers'")
        self.wrong(("  mixes: [{size: 2}]", "  mixes: [{size: 9}]"), "13:18", "'9' is no number")
        self.wrong(("metric: stp, over: geomean", "metric: speed, over: geomean"), "18:21", "there is no metric 'speed'")
        self.wrong(("policy: even, class: C+M", "policy: even, class: C+X"), "22:42", "there is no class 'X'")
        self.wrong(("policy: even, class: C+M", "policy: odd, class: C+M"), "22:29", "the campaign has no policy 'odd'")
        self.wrong(('["1.05", "1.10"]', '["1.05"]'), "31:30", "1 numbers of the paper for 2 points")

    def test_in_tables(self):
        for change, place, words in ((("table: makespans", "table: makespan"), "11:62", "there is no table 'makespan'; there are: kernels"),
                                     (("parts: [spans]", "parts: [span]"), "11:81", "there is no part 'span'; there are: measured, spans, full"),
                                     (("parts: [full, spans]", "parts: [full]"), "13:5", "is made of 2 parts, and here are 1"),
                                     (("table: kernels, parts", "table: kernels, over: mean, parts"), "12:43", "unknown key of a table"),
                                     (("table: kernels, parts: [measured]", "value: {metric: stp, over: mean}, series: [{name: a, part: full}]"), "12:64", "its figures are tables"),
                                     (("scheduler: opt", "scheduler: best"), "7:64", "in campaign 'measured'"),
                                     (("command: queue,", "command: list,"), "5:21", "a campaign has no cases of 'list', only of: run, queue, split, predict")):
            self.assertIn(change[0], QUEUES)
            self.write("queues.yaml", QUEUES.replace(*change))
            done = self.reproduce("./queues.yaml", status=None)
            self.assertIn(f"./queues.yaml:{place}: ", done.stderr)
            self.assertIn(words, done.stderr)
            self.assertFalse((self.folder / "results.db").exists())

    def test_on_the_command_line(self):
        for arguments, words in ((["x", "y"], "one experiment is expected"), ([], "which experiment?"),
                                 (["--all", "tiny"], "--all is not together"), (["tiny", "--budget", "soon"], "90s, 30m or 1h"),
                                 (["tiny", "--full", "--sample", "3"], "--full is everything")):
            self.assertIn(words, self.reproduce(*arguments, status=USAGE).stderr)
        self.assertIn("--sample", self.reproduce("tiny", "--sample", "0", status=USAGE).stderr)
        self.assertIn("there is no experiment `nosuch`", self.reproduce("nosuch", status=NOT_FOUND).stderr)
        self.assertIn("did you mean `hpca12-fig5`?", self.reproduce("hpca12-fig55", status=NOT_FOUND).stderr)
        self.reproduce("./nosuch.yaml", status=NOT_FOUND)
        self.assertIn("no such file", self.reproduce("./tiny.yaml", "--no-run", status=NOT_FOUND).stderr)
        for option in "--markdown", "--html":
            done = self.reproduce("./tiny.yaml", "-q", option, "nowhere/tiny", status=FILE)
            self.assertIn("nowhere/tiny: cannot be written", done.stderr)
        self.assertFalse((self.folder / "results.db").exists(), "known before anything has run")
        self.assertIn("--html and --markdown", self.reproduce("tiny", "--html", "-", "--markdown", "-", status=USAGE).stderr)

    def test_without_python(self):
        self.environment["CORUN_PYTHON"] = "/nonexistent/python"
        done = self.reproduce("./tiny.yaml", status=NOT_FOUND)
        self.assertIn("/nonexistent/python cannot be run", done.stderr)
        self.assertFalse((self.folder / "results.db").exists())


class Tree(Reproduce):
    """The experiments of the tree are right as far as can be said without running them."""

    def test_each(self):
        files = sorted(EXPERIMENTS.glob("*.yaml"))
        self.assertGreater(len(files), 25)
        for file in files:
            text = file.read_text()
            self.assertIn(f"name: {file.stem}\n", text)
            done = subprocess.run([test_campaign.CORUN, "reproduce", "-r", "none.db", "--no-run", str(file)], cwd=self.folder,
                                  env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                                  check=False)
            self.assertEqual(done.returncode, NOT_FOUND, file.name)
            if "needs policies that this corun does not have" not in done.stderr:
                # it was read and checked, and then there were no results
                self.assertEqual(done.stderr, "corun: none.db: there is no such file\n", file.name)


class Page(Reproduce):
    FIGURES = """[...document.querySelectorAll('figure')].map(one => { const box = one.getBoundingClientRect();
        return {name: one.id, x: box.x + scrollX, y: box.y + scrollY, width: box.width, height: box.height} })"""

    def test_in_a_browser(self):
        program = chromium.find()
        if not program:
            self.skipTest("there is no Chromium")
        self.reproduce("./tiny.yaml", "-q", "--html", "tiny.html")
        browser = chromium.Chromium(program)
        try:
            for width, dark in ((1200, False), (360, True)):
                browser.open(self.folder / "tiny.html", width, 900, dark)
                wider = browser.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
                self.assertLessEqual(wider, 0)
                figures = browser.evaluate(self.FIGURES)
                self.assertEqual([figure["name"] for figure in figures], ["f0-stp", "f1-distribution", "f2-pairs"])
                for figure in figures:
                    box = {name: figure[name] for name in ("x", "y", "width", "height")}
                    self.assertGreater(len(browser.screenshot(box)), 4000, figure["name"])
            words = browser.evaluate("document.body.innerText")
            self.assertIn("Even against the whole GPU in turns", words)
            self.assertIn("Ours are made for a test.", words)
            self.assertEqual(browser.complaints, [])
            for request in browser.requests:
                self.assertTrue(request.startswith(("file:", "data:")), request)
        finally:
            browser.close()

    def test_nothing_ended(self):
        self.reproduce("./tiny.yaml", "-q", "--sample", "1")
        self.corun("reproduce", "-r", "results.db", "./tiny.yaml", "--budget", "1s", "--cycles", "30M", "--html", "none.html")
        text = (self.folder / "none.html").read_text()
        self.assertIn("There is nothing to draw yet", text)


if __name__ == "__main__":
    test_campaign.CORUN = os.path.abspath(sys.argv.pop(1))
    run_tests()
