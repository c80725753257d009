#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Campaigns as a user meets them: results, resuming, and everything that can end one. Usage: test_campaign.py CORUN [TEST...]"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

from programs import PTX, describe

CORUN = None
OK, USAGE, SYNTAX, NOT_FOUND, ARGUMENT, FILE, INTERRUPTED = 0, 2, 3, 5, 6, 13, 130

CAMPAIGN = """\
name: mixed
gpus: ["gtx980:sms=2"]
policies: [even, cooperative]
workloads: [./a.yaml, ./b.yaml, ./c.yaml]
cycles: {cycles}
mixes:
  - {{size: 2, repeated: true}}
"""


def children_of(process):
    try:
        return [int(child) for child in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except FileNotFoundError:
        return []


class Campaign(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="corun-campaign-"))
        self.environment = dict(os.environ, XDG_CACHE_HOME=str(self.folder / "cache"), LC_ALL="C")
        self.write("work.ptx", PTX)
        for name, rounds in (("a", 50), ("b", 90), ("c", 200)):
            self.write(f"{name}.yaml", describe(name, rounds))
        self.write("bad.yaml", describe("bad", 1, "outside"))
        self.write("campaign.yaml", CAMPAIGN.format(cycles="20K"))

    def tearDown(self):
        shutil.rmtree(self.folder)

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def corun(self, *arguments, status=OK):
        done = subprocess.run([CORUN, *arguments], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=300, check=False)
        if status is not None: # else the caller looks at it
            self.assertEqual(done.returncode, status, f"{arguments}: {done.stdout} {done.stderr}")
        return done

    def run_campaign(self, *arguments, status=OK):
        """(found, run) of its summary."""
        done = self.corun("campaign", "-r", "results.db", *(arguments or ["campaign.yaml"]), status=status)
        numbers = re.search(r"(\d+) found, (\d+) run", done.stdout)
        return (int(numbers[1]), int(numbers[2])) if numbers else done

    def begin(self, *arguments):
        return subprocess.Popen([CORUN, "campaign", "-r", "results.db", *arguments], cwd=self.folder,
                                env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def rows(self, text="SELECT key, status, message, stp, result FROM cases ORDER BY key", name="results.db"):
        database = sqlite3.connect(f"file:{self.folder / name}?mode=ro", uri=True)
        try:
            return database.execute(text).fetchall()
        except sqlite3.OperationalError:
            return [] # there is no table yet
        finally:
            database.close()

    def wait_for(self, count, process):
        """Until so many cases are finished."""
        until = time.monotonic() + 120
        while time.monotonic() < until and process.poll() is None:
            if (self.folder / "results.db").exists() and len(self.rows()) >= count:
                return
            time.sleep(0.01)
        self.fail(f"not {count} cases: {process.communicate()}")

    def results(self):
        """Less what depends on the wall clock, by key."""
        found = {}
        for key, status, _, _, text in self.rows():
            self.assertEqual(status, "finished")
            result = json.loads(text)
            for name in ("wall_seconds", "warp_instructions_per_second"):
                result.pop(name)
            for app in result["applications"]:
                app.pop("isolated_from_cache", None)
            found[key] = result
        return found


class Results(Campaign):
    def test_runs_every_case_once(self):
        self.assertEqual(self.run_campaign(), (0, 3 + 12))
        self.assertEqual(self.run_campaign(), (15, 0))
        self.assertEqual(self.rows("SELECT count(*), sum(isolated) FROM cases")[0], (15, 3))
        self.assertEqual(self.rows("SELECT count(*) FROM members WHERE campaign = 'mixed'")[0], (15,))
        pairs = self.rows("SELECT applications FROM cases WHERE policy = 'even' ORDER BY applications")
        self.assertEqual([row[0] for row in pairs],
                         [f"./{x}.yaml ./{y}.yaml" for x, y in ("aa", "ab", "ac", "bb", "bc", "cc")])
        self.assertEqual(self.rows("SELECT count(*) FROM applications WHERE normalised_ipc > 0 AND ipc_isolated > 0")[0],
                         (27,))

    def test_a_case_is_what_corun_run_gives(self):
        self.run_campaign()
        alone = json.loads(self.corun("run", "--gpu", "gtx980:sms=2", "--policy", "even", "--cycles", "20K", "--json", "-",
                                      "./a.yaml", "./b.yaml").stdout)
        kept = json.loads(self.rows("SELECT result FROM cases WHERE policy = 'even' AND applications = './a.yaml ./b.yaml'")
                          [0][0])
        for result in (alone, kept):
            for name in ("wall_seconds", "warp_instructions_per_second"):
                result.pop(name)
        self.assertEqual(alone, kept)

    def test_jobs_change_nothing(self):
        self.run_campaign("--jobs", "1", "campaign.yaml")
        one = self.results()
        (self.folder / "results.db").unlink()
        self.run_campaign("--jobs", "5", "--no-cache", "campaign.yaml")
        self.assertEqual(self.results(), one)

    def test_only_what_changed_runs_again(self):
        self.run_campaign()
        self.write("b.yaml", "# a comment\n" + (self.folder / "b.yaml").read_text())
        self.assertEqual(self.run_campaign(), (15, 0))
        self.write("b.yaml", describe("b", 91))
        self.assertEqual(self.run_campaign(), (2 + 6, 1 + 6))

    def test_failures_are_recorded_and_the_others_continue(self):
        self.write("campaign.yaml", CAMPAIGN.format(cycles="20K").replace("./c.yaml", "./bad.yaml"))
        done = self.corun("campaign", "-r", "results.db", "campaign.yaml")
        self.assertIn("7 failed", done.stdout)
        self.assertIn("a case failed", done.stderr)
        failed = self.rows("SELECT message, policy FROM cases WHERE status = 'failed'")
        self.assertEqual(len(failed), 7)
        for message, _ in failed:
            self.assertIn("out of bounds", message)
        self.assertEqual(self.run_campaign(), (8, 0))
        self.assertIn("7 failed", self.corun("campaign", "-r", "results.db", "--retry", "campaign.yaml").stdout)
        self.write("bad.yaml", describe("bad", 1))
        self.assertEqual(self.run_campaign(), (8, 7))

    def test_time_and_memory_are_limited(self):
        self.write("c.yaml", describe("c", 2000000000))
        self.write("campaign.yaml", CAMPAIGN.format(cycles="100G").replace("./a.yaml, ./b.yaml, ", ""))
        self.run_campaign("--time", "1", "campaign.yaml")
        for status, message in self.rows("SELECT status, message FROM cases"):
            self.assertEqual((status, message), ("lost", "it took longer than 1 seconds"))
        self.write("campaign.yaml", CAMPAIGN.format(cycles="1K").replace("./a.yaml, ./b.yaml, ", ""))
        self.write("c.yaml", describe("c", 9).replace("4096", "32 * 1048576"))
        self.run_campaign("--memory", "100M", "campaign.yaml")
        lost = self.rows("SELECT message FROM cases WHERE status = 'lost' AND cycles = 1000")
        self.assertEqual(len(lost), 3)
        self.assertEqual(self.run_campaign(), (0, 3))


class Ends(Campaign):
    """Whatever ends it, no finished case is lost, and the rest comes out as if nothing had happened."""

    def setUp(self):
        super().setUp()
        self.run_campaign()
        self.whole = self.results()
        (self.folder / "results.db").unlink()
        shutil.rmtree(self.folder / "cache")

    def proceed(self, least):
        found, run = self.run_campaign()
        self.assertGreaterEqual(found, least)
        self.assertEqual(found + run, 15)
        self.assertEqual(self.results(), self.whole)

    def test_the_runner_is_killed(self):
        for count in (2, 5, 9):
            process = self.begin("--jobs", "2", "campaign.yaml")
            self.wait_for(count, process)
            process.kill()
            process.communicate()
        self.proceed(9)

    def test_workers_are_killed(self):
        process = self.begin("--jobs", "2", "campaign.yaml")
        killed = 0
        while process.poll() is None:
            for child in children_of(process.pid):
                if killed < 3:
                    try:
                        os.kill(child, signal.SIGKILL)
                        killed += 1
                    except ProcessLookupError:
                        pass
        self.assertEqual(process.wait(), OK)
        process.communicate()
        lost = [row for row in self.rows() if row[1] == "lost"]
        self.assertTrue(lost)
        for _, _, message, _, _ in lost:
            self.assertIn("killed by signal 9", message)
        self.proceed(15 - killed)

    def test_an_interrupt(self):
        process = self.begin("--jobs", "1", "campaign.yaml")
        self.wait_for(3, process)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate()
        if process.returncode != OK: # it may just have been done
            self.assertEqual(process.returncode, INTERRUPTED)
            self.assertIn("not run", output)
        self.proceed(3)

    def test_no_worker_outlives_the_runner(self):
        self.write("long.yaml", CAMPAIGN.format(cycles="100G").replace("./a.yaml, ./b.yaml, ", ""))
        process = self.begin("--jobs", "1", "long.yaml")
        children = []
        while not children and process.poll() is None:
            children = children_of(process.pid)
        process.kill()
        process.communicate()
        until = time.monotonic() + 20
        while time.monotonic() < until and any(os.path.exists(f"/proc/{child}") for child in children):
            time.sleep(0.05)
        self.assertFalse(any(os.path.exists(f"/proc/{child}") for child in children))

    def test_a_full_disk(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=240k", "tmpfs", str(disk)], stderr=subprocess.PIPE,
                               check=False)
        if mount.returncode:
            self.skipTest("only root can make a small disk")
        try:
            done = self.corun("campaign", "-r", "disk/results.db", "campaign.yaml", status=FILE)
            self.assertIn("the disk is full", done.stderr)
            database = sqlite3.connect(disk / "results.db")
            finished = database.execute("SELECT count(*) FROM cases WHERE status = 'finished'").fetchone()[0]
            database.close()
            self.assertGreater(finished, 0)
            self.assertLess(finished, 15)
            subprocess.run(["mount", "-o", "remount,size=100m", str(disk)], check=True)
            done = self.corun("campaign", "-r", "disk/results.db", "campaign.yaml")
            self.assertIn(f"{finished} found, {15 - finished} run", done.stdout)
        finally:
            subprocess.run(["umount", str(disk)], check=True)

    def test_a_full_disk_at_every_step(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mount = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(disk)], stderr=subprocess.PIPE,
                               check=False)
        if mount.returncode:
            self.skipTest("only root can make a small disk")
        try:
            finished = 0
            for pages in (1, 2, 3, 4, 6, 9, 12, 16, 20, 30, 50, 80):
                subprocess.run(["mount", "-o", f"remount,size={4 * pages}k", str(disk)], check=True)
                done = self.corun("campaign", "-r", "disk/results.db", "campaign.yaml", status=FILE)
                self.assertRegex(done.stderr, "disk is full|No space left")
                if pages > 40:
                    now = self.rows("SELECT count(*) FROM cases WHERE status = 'finished'", "disk/results.db")[0][0]
                    self.assertGreaterEqual(now, finished)
                    finished = now
            self.assertGreater(finished, 0)
            subprocess.run(["mount", "-o", "remount,size=100m", str(disk)], check=True)
            done = self.corun("campaign", "-r", "disk/results.db", "campaign.yaml")
            self.assertIn(f"{finished} found, {15 - finished} run", done.stdout)
        finally:
            subprocess.run(["umount", str(disk)], check=True)

    def test_the_results_file_goes_away(self):
        self.write("campaign.yaml", CAMPAIGN.format(cycles="300K"))
        for replace in (False, True):
            process = self.begin("--jobs", "1", "campaign.yaml")
            self.wait_for(1, process)
            os.rename(self.folder / "results.db", self.folder / "away.db")
            if replace:
                self.write("results.db", "")
            output, said = process.communicate()
            self.assertEqual(process.returncode, FILE, output)
            self.assertIn("deleted, renamed or replaced", said)
            for name in ("results.db", "results.db-wal", "results.db-shm", "away.db"):
                (self.folder / name).unlink(missing_ok=True)

    def test_a_damaged_file(self):
        self.run_campaign()
        path = self.folder / "results.db"
        for damage in (b"\\0" * 100, b"this is no database at all" * 4):
            data = bytearray(path.read_bytes())
            offset = 0 if damage[0:1] == b"t" else 4096
            for place in range(offset, len(data), 4096):
                data[place:place + len(damage)] = damage
            (self.folder / "broken.db").write_bytes(data)
            before = hashlib.sha256(data).hexdigest()
            done = self.corun("campaign", "-r", "broken.db", "campaign.yaml", status=FILE)
            self.assertIn("broken.db", done.stderr)
            self.assertIn("left as it is", done.stderr)
            self.assertEqual(hashlib.sha256((self.folder / "broken.db").read_bytes()).hexdigest(), before)

    def test_files_of_others(self):
        database = sqlite3.connect(self.folder / "other.db")
        database.execute("CREATE TABLE cases(x)")
        database.commit()
        database.close()
        self.assertIn("not a results file of corun",
                      self.corun("campaign", "-r", "other.db", "campaign.yaml", status=FILE).stderr)
        self.assertIn("No such file or directory",
                      self.corun("campaign", "-r", "no/such/folder.db", "campaign.yaml", status=FILE).stderr)
        self.write("note.txt", "x") # so little is an empty database for SQLite
        self.write("work", "a longer note than the head of a database")
        for name, words in ((".", "this is a directory"), ("/dev/null", "no regular file"), ("note.txt", "not a results file"),
                            ("work", "not a results file")):
            for command in (("campaign", "campaign.yaml"), ("search", "oracle-best", "-g", "gtx980:sms=2", "./a.yaml", "./b.yaml")):
                done = self.corun(command[0], "-r", name, *command[1:], status=FILE)
                self.assertIn(f"{name}: ", done.stderr)
                self.assertIn(words, done.stderr)
                self.assertEqual(done.stdout, "") # nothing was run, and nothing is told of it
        self.assertEqual((self.folder / "note.txt").read_text(), "x")
        if os.geteuid() == 0: # may read everything
            return
        (self.folder / "other.db").chmod(0)
        self.assertIn("cannot be read: Permission denied",
                      self.corun("campaign", "-r", "other.db", "campaign.yaml", status=FILE).stderr)


class Together(Campaign):
    """Several runners on one results file: each case is run once, by whoever is there."""

    def numbers(self, process):
        """(found, run, run by others) of a runner that has ended well."""
        output, said = process.communicate(timeout=300)
        self.assertEqual((process.returncode, said), (OK, ""), output)
        found = re.search(r"15 cases, (\d+) found, (\d+) run(?:, (\d+) run by others)?, in", output)
        self.assertTrue(found, output)
        return int(found[1]), int(found[2]), int(found[3] or 0)

    def check(self, runners):
        numbers = [self.numbers(process) for process in runners]
        for found, run, others in numbers: # whoever comes back has all results
            self.assertEqual(found + run + others, 15, numbers)
        self.assertEqual(sum(run for _, run, _ in numbers), 15, numbers)
        self.assertEqual(len(self.results()), 15)
        self.assertEqual(self.rows("SELECT (SELECT count(*) FROM runners), (SELECT count(*) FROM claims)"), [(0, 0)])
        return numbers

    def test_two_share_the_work(self):
        self.write("campaign.yaml", CAMPAIGN.format(cycles="300K"))
        numbers = self.check([self.begin("--jobs", "1", "campaign.yaml") for _ in range(2)])
        self.assertTrue(all(run > 0 for _, run, _ in numbers), numbers)

    def test_many_begin_at_once_with_a_new_file(self):
        for _ in range(2):
            self.check([self.begin("--jobs", "1", "campaign.yaml") for _ in range(8)])
            for name in ("results.db", "results.db-wal", "results.db-shm"):
                (self.folder / name).unlink(missing_ok=True)

    def test_what_a_killed_runner_had_is_run_by_the_other(self):
        self.write("c.yaml", describe("c", 2000000000))
        self.write("campaign.yaml", CAMPAIGN.format(cycles="1M").replace("./a.yaml, ./b.yaml, ", ""))
        first = self.begin("--jobs", "1", "campaign.yaml")
        until = time.monotonic() + 60
        while not ((self.folder / "results.db").exists() and self.rows("SELECT 1 FROM claims")) and time.monotonic() < until:
            time.sleep(0.01)
        second = self.begin("--jobs", "1", "campaign.yaml")
        while len(self.rows("SELECT 1 FROM runners")) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        first.kill() # and nobody waits for it: it stays a zombie
        output, said = second.communicate(timeout=300)
        first.communicate()
        self.assertEqual(second.returncode, OK, said)
        self.assertEqual(self.rows("SELECT count(*), sum(status = 'finished') FROM cases"), [(3, 3)])
        self.assertRegex(output, r"3 cases, 0 found, 3 run, in")

    def test_failures_count_for_all(self):
        self.write("campaign.yaml", CAMPAIGN.format(cycles="20K").replace("./c.yaml", "./bad.yaml"))
        both = [self.begin("--jobs", "1", "campaign.yaml") for _ in range(2)]
        failures = 0
        for process in both:
            output, said = process.communicate(timeout=300)
            self.assertEqual(process.returncode, OK, said)
            self.assertIn("7 failed", output)
            failures += said.count("a case failed")
        self.assertEqual(failures, 7) # none was tried twice

    def begin_run(self):
        return subprocess.Popen([CORUN, "run", "--gpu", "gtx980:sms=2", "--policy", "even", "--cycles", "200K", "--json", "-",
                                 "./a.yaml", "./c.yaml"], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, text=True)

    def test_isolated_runs_of_the_dead(self):
        first = self.begin_run()
        until = time.monotonic() + 60
        while not list((self.folder / "cache").rglob("*.lock")) and time.monotonic() < until:
            time.sleep(0.001)
        first.kill()
        first.communicate()
        second = self.begin_run()
        second.communicate(timeout=300)
        self.assertEqual(second.returncode, OK)
        self.assertEqual(list((self.folder / "cache").rglob("*.lock")), [])

    def test_files_of_before_claims(self):
        self.run_campaign()
        database = sqlite3.connect(self.folder / "results.db")
        database.executescript("DROP TABLE runners; DROP TABLE claims; DELETE FROM cases WHERE policy = 'even'")
        database.close()
        self.assertEqual(self.run_campaign(), (9, 6))


class Parts(Campaign):
    """Shards, lists of cases, and merging."""

    def keys(self, name):
        return {key for key, status in self.rows("SELECT key, status FROM cases", name) if status == "finished"}

    def run_shards(self, count):
        return [self.corun("campaign", "--shard", f"{k}/{count}", "-r", f"{k}.db", "campaign.yaml").stdout
                for k in range(1, count + 1)]

    def test_shards_make_the_whole(self):
        self.run_campaign()
        whole = self.results()
        (self.folder / "results.db").unlink()
        said = self.run_shards(4)
        self.assertEqual(sorted(re.search(r"(\d+) cases", line)[1] for line in said), ["3", "4", "4", "4"])
        parts = [self.keys(f"{k}.db") for k in range(1, 5)]
        self.assertEqual(set().union(*parts), set(whole))
        self.assertEqual(sum(map(len, parts)), 15)
        done = self.corun("merge", "-r", "results.db", *(f"{k}.db" for k in range(1, 5)))
        self.assertIn("4 of 4 files merged into results.db: 15 cases", done.stdout)
        self.assertEqual(self.results(), whole)
        self.assertEqual(self.rows("SELECT count(*) FROM applications")[0], (27,))
        self.assertEqual(self.rows("SELECT count(*) FROM members")[0], (15,))
        self.assertEqual(self.run_campaign(), (15, 0))
        self.assertIn("files merged into results.db: 0 cases", self.corun("merge", "-r", "results.db", "1.db").stdout)

    def test_merging_continues_past_what_is_damaged(self):
        self.run_shards(3)
        data = bytearray((self.folder / "1.db").read_bytes())
        for place in range(4096, len(data), 4096):
            data[place:place + 100] = b"\0" * 100
        (self.folder / "1.db").write_bytes(data)
        before = hashlib.sha256(data).hexdigest()
        self.write("text.db", "no database at all" * 100)
        self.write("empty.db", "")
        done = self.corun("merge", "-r", "results.db", "1.db", "2.db", "text.db", "none.db", "empty.db", "3.db", status=FILE)
        for words in ("1.db: damaged", "text.db: not a results file", "none.db: cannot be read"):
            self.assertIn(words, done.stderr)
        self.assertIn("3 of 6 files merged", done.stdout)
        self.assertEqual(self.keys("results.db"), self.keys("2.db") | self.keys("3.db"))
        self.assertEqual(hashlib.sha256((self.folder / "1.db").read_bytes()).hexdigest(), before)
        self.assertFalse((self.folder / "none.db").exists())
        self.assertEqual(self.run_campaign(), (10, 5))

    def test_merging_takes_finished_cases_for_failed_ones(self):
        self.write("campaign.yaml", CAMPAIGN.format(cycles="20K").replace("./c.yaml", "./bad.yaml"))
        self.run_campaign("--quiet", "campaign.yaml")
        lost = self.rows("SELECT key FROM cases WHERE status = 'finished' LIMIT 1")[0][0]
        shutil.copy(self.folder / "results.db", self.folder / "one.db")
        database = sqlite3.connect(self.folder / "one.db")
        database.execute("UPDATE cases SET status = 'lost', result = NULL WHERE key = ?", (lost,))
        database.execute("DELETE FROM applications WHERE key = ?", (lost,))
        database.commit()
        database.close()
        self.assertIn(": 1 case\n", self.corun("merge", "-r", "one.db", "results.db").stdout)
        order = "SELECT * FROM {} ORDER BY 1, 2"
        for table in ("cases", "applications"):
            self.assertEqual(self.rows(order.format(table), "one.db"), self.rows(order.format(table)))

    def test_only_what_is_in_a_list(self):
        self.run_campaign()
        self.write("keys.csv", self.corun("query", "-r", "results.db", "--csv",
                                          "SELECT key FROM cases WHERE policy = 'even'").stdout)
        (self.folder / "results.db").unlink()
        self.assertEqual(self.run_campaign("--only", "keys.csv", "campaign.yaml"), (0, 6))
        self.assertEqual({row[0] for row in self.rows("SELECT policy FROM cases")}, {"even"})
        self.assertEqual(self.run_campaign("--only", "keys.csv", "--shard", "2/4", "campaign.yaml"), (2, 0))
        self.write("b.yaml", describe("b", 91))
        self.assertIn("3 of these 6 cases are none of the campaign",
                      self.corun("campaign", "--only", "keys.csv", "campaign.yaml", status=ARGUMENT).stderr)
        self.write("keys.csv", "key\n" + "0" * 63 + "\n")
        self.assertIn("keys.csv:2:1: ",
                      self.corun("campaign", "--only", "keys.csv", "campaign.yaml", status=SYNTAX).stderr)
        self.corun("campaign", "--only", "none.csv", "campaign.yaml", status=NOT_FOUND)

    def test_wrong_usage(self):
        for shard in ("0/2", "3/2", "2", "/", "a/b", "1/0", ""):
            self.assertIn("--shard", self.corun("campaign", "--shard", shard, "campaign.yaml", status=USAGE).stderr)
        self.corun("campaign", "--slurm", "--shard", "1/2", "campaign.yaml", status=USAGE)
        self.corun("campaign", "--slurm-tasks", "2", "campaign.yaml", status=USAGE)
        self.corun("merge", "-r", "results.db", status=USAGE)
        self.corun("merge", "1.db", status=USAGE)
        self.corun("campaign", "-r", "", "campaign.yaml", status=USAGE)

    def test_without_slurm(self):
        self.environment["PATH"] = str(self.folder)
        done = self.corun("campaign", "--slurm", "-r", "results.db", "campaign.yaml", status=NOT_FOUND)
        self.assertIn("sbatch cannot be run: there is no such command", done.stderr)
        self.assertFalse((self.folder / "results.db.slurm").exists())


class Descriptions(Campaign):
    def test_large_ones_take_no_time(self):
        names = [f"./{i}.yaml" for i in range(300)]
        self.write("campaign.yaml", f"name: large\nworkloads: [{', '.join(names)}]\nmixes: [{{size: 2, ordered: true}}]\n")
        begin = time.monotonic()
        self.assertEqual(len(self.corun("campaign", "--list", "campaign.yaml").stdout.splitlines()), 300 * 300)
        self.write("campaign.yaml", f"name: large\nworkloads: [{', '.join(names)}]\nmixes: [{{size: 4, sample: 300K}}]\n")
        self.assertEqual(len(self.corun("campaign", "--list", "campaign.yaml").stdout.splitlines()), 300 * 1001)
        cases = "".join(f"  - [\"./{i}.yaml\"]\n" for i in range(4900))
        self.write("campaign.yaml", f"name: large\ncases:\n{cases}")
        self.assertEqual(len(self.corun("campaign", "--list", "campaign.yaml").stdout.splitlines()), 2 * 4900)
        self.assertLess(time.monotonic() - begin, 30) # it takes less than two seconds; a loop too many, hours

    def test_what_is_there_takes_no_time(self):
        for i in range(40):
            self.write(f"{i}.yaml", describe(f"n{i}", i + 1))
        names = ", ".join(f"./{i}.yaml" for i in range(40))
        self.write("campaign.yaml", f"name: large\ngpus: ['gtx980:sms=2']\npolicies: [even, cooperative]\ncycles: 1K\n"
                                    f"goals: [50%, 60%, 70%, 80%, 90%]\nworkloads: [{names}]\n"
                                    "mixes: [{size: 2, ordered: true}]\n")
        process = self.begin("campaign.yaml")
        self.wait_for(1, process)
        process.send_signal(signal.SIGINT)
        process.communicate()
        database = sqlite3.connect(self.folder / "results.db")
        database.execute("INSERT INTO cases SELECT members.key, gpu, policy, applications, cases.cycles, seed, isolated, "
                         "status, message, ended, wall_seconds, stp, antt, fairness, energy_joules, dram_utilisation, "
                         "icnt_utilisation, result FROM members, (SELECT * FROM cases LIMIT 1) AS cases "
                         "WHERE members.key NOT IN (SELECT key FROM cases)")
        database.commit()
        database.close()
        begin = time.monotonic()
        self.assertEqual(self.run_campaign(), (40 + 40 * 39 * 10, 0))
        self.assertLess(time.monotonic() - begin, 20)

    def test_the_same_case_twice_is_one(self):
        self.write("campaign.yaml", "name: twice\ngpus: ['gtx980:sms=2']\npolicies: [even, even]\ncycles: 10K\n"
                                    "cases:\n  - [./a.yaml, ./b.yaml]\n  - [./a.yaml, ./b.yaml]\n")
        done = self.corun("campaign", "-r", "results.db", "campaign.yaml")
        self.assertIn("twice: 3 cases, 0 found, 3 run,", done.stdout)
        self.assertEqual(self.rows("SELECT count(*), count(DISTINCT key) FROM members")[0], (6, 3))

    def test_names_may_have_colons(self):
        self.write("a:b.yaml", describe("ab", 7))
        self.write("campaign.yaml", "name: colons\ngpus: ['gtx980:sms=2']\nsize: small\ncycles: 10K\n"
                                    "cases:\n  - [\"./a:b.yaml:goal=50%\", ./c.yaml]\n")
        lines = self.corun("campaign", "--list", "campaign.yaml").stdout.splitlines()
        self.assertEqual([line.split("--seed 1 ")[1] for line in lines],
                         ["./a:b.yaml@small", "./c.yaml@small", "./a:b.yaml@small:goal=50% ./c.yaml@small"])
        self.assertEqual(self.run_campaign(), (0, 3))

    def test_sizes_are_for_what_has_sizes(self):
        """A trace and a captured program have none, and an @ of a folder is none."""
        (self.folder / "p@q").mkdir()
        for rounds, name in enumerate(("p@q/a.yaml", "b@c.yaml"), 7):
            self.write(name, describe("a", rounds).replace("work.ptx", str(self.folder / "work.ptx")))
        self.write("campaign.yaml", "name: sizes\nsize: small\nworkloads: ['trace:p@q', 'trace:folder', './x@y.corun', './p@q/a.yaml', "
                                    "'b@c.yaml', 'p@q/a.yaml@small']\ncycles: 10K\nmixes: [{size: 1}]\n")
        lines = self.corun("campaign", "--list", "campaign.yaml").stdout.splitlines()
        self.assertEqual([line.split("--seed 1 ")[1] for line in lines],
                         2 * ["trace:p@q", "trace:folder", "./x@y.corun", "./p@q/a.yaml@small", "b@c.yaml@small", "p@q/a.yaml@small"])
        self.write("campaign.yaml", "name: sizes\nsize: small\ngpus: ['gtx980:sms=2']\nworkloads: ['./p@q/a.yaml', 'b@c.yaml']\n"
                                    "cycles: 10K\nmixes: [{size: 1}]\n")
        self.assertEqual(self.run_campaign(), (0, 2))

    def test_names_may_have_blanks(self):
        """Their cases are listed and kept as a shell takes them."""
        (self.folder / "d e").mkdir()
        self.write("d e/it's.yaml", describe("ab", 7).replace("work.ptx", str(self.folder / "work.ptx")))
        self.write("campaign.yaml", "name: blanks\ngpus: ['gtx980:sms=2']\ncycles: 10K\ncases:\n  - [\"./d e/it's.yaml\", ./c.yaml]\n")
        written = "'./d e/it'\\''s.yaml' ./c.yaml"
        lines = self.corun("campaign", "--list", "campaign.yaml").stdout.splitlines()
        self.assertEqual(lines[-1].split("--seed 1 ")[1], written)
        self.assertEqual(self.run_campaign(), (0, 3))
        self.assertIn((written,), self.rows("SELECT applications FROM cases"))
        done = self.corun("report", "-r", "results.db", "--json", "-")
        section = json.loads(done.stdout)["sections"][0]
        case = next(case for case in section["cases"] if case["mix"] == written)
        self.assertEqual([block["applications"] for block in section["blocks"]], [2])
        again = subprocess.run(case["command"].replace("corun", CORUN, 1) + " --quiet --json -", shell=True, cwd=self.folder,
                               env=self.environment, stdout=subprocess.PIPE, text=True, check=True)
        self.assertEqual(json.loads(again.stdout)["stp"], case["stp"])

    def test_lists_cases(self):
        self.write("campaign.yaml", """
name: qos
workloads: {c: [sgemm, mri-q@large], m: [lbm, spmv, stencil]}
size: small
gpus: [gtx980, quadro-fx5800]
goals: [50%, 95%, [30%, ipc=100]]
mixes:
  - {product: [c, m]}
  - {size: 2, of: m, ordered: true, sample: 2}
cases:
  - ["sgemm@large:start=5K", lbm]
""")
        lines = self.corun("campaign", "--list", "campaign.yaml").stdout.splitlines()
        mixes = [line for line in lines if "goal" in line]
        self.assertEqual(len(mixes), (6 + 2 + 1) * 3 * 2)
        self.assertEqual(len(lines) - len(mixes), 2 * 6)
        self.assertIn("--gpu gtx980 --policy left-over --cycles 200000 --seed 1 sgemm@small:goal=50% lbm@small", lines)
        self.assertIn("--gpu quadro-fx5800 --policy left-over --cycles 200000 --seed 1 mri-q@large:goal=30% "
                      "spmv@small:goal=ipc=100", lines)

    def test_mistakes_have_their_place(self):
        for text, place, words in (
                ("", "1:1", "empty"),
                ("name: a\n", "1:1", "neither 'mixes' nor 'cases'"),
                ("name: a\nmixes: []\ncases: []\n", "1:1", "there is no case"),
                ("name: a\ncolour: red\n", "2:1", "unknown key 'colour' (known here: name summary gpus "),
                ("name: a\nworkload: [x]\n", "2:1", "unknown key 'workload'; did you mean 'workloads'?"),
                ("name: a\nworkloads: x\n", "2:12", "a list of workloads, or a map of such lists"),
                ("name: a\nworkloads: [x]\nmixes: [{size: 2}]\n", "3:9", "2 of 1 workloads"),
                ("name: a\nworkloads: [x]\nmixes: [{size: 9}]\n", "3:16", "'9' is no number from 1 to 8"),
                ("name: a\nworkloads: {p: [x], q: [y]}\nmixes: [{size: 1}]\n", "3:9", "of which group"),
                ("name: a\nworkloads: [x]\nmixes: [{size: 1, of: z}]\n", "3:23", "no group 'z'"),
                ("name: a\nworkloads: [x]\nmixes: [{product: [z]}]\n", "3:20", "no group 'z'"),
                ("name: a\nworkloads: [x]\nmixes: [{size: 1, ordered: maybe}]\n", "3:28", "true or false"),
                ("name: a\ncycles: soon\nworkloads: [x]\nmixes: [{size: 1}]\n", "2:9", "'soon' is no number"),
                ("name: a\ngoals: [[50%, 60%]]\nworkloads: [x]\nmixes: [{size: 1}]\n", "2:15", "more goals than"),
                ("name: a\ncases: [[]]\n", "2:9", "the list is empty")):
            self.write("broken.yaml", text)
            done = self.corun("campaign", "broken.yaml", status=SYNTAX)
            self.assertIn(f"broken.yaml:{place}: ", done.stderr, text)
            self.assertIn(words, done.stderr, text)
        for text, place, words, status in (
                ("name: a\npolicies: [even, fair]\ncases: [[sgemm]]\n", "2:18", "no policy `fair`", NOT_FOUND),
                ("name: a\ncases: [[\"sgemm:goal=high\"]]\n", "2:10", "a goal is", USAGE),
                ("name: a\ngoals: [50%, high]\ncases: [[sgemm]]\n", "2:14", "a goal is", USAGE),
                ("name: a\ngoals: [50%]\ncases: [[lbm, sgemm], [\"sgemm:start=x\"]]\n", "3:24", "start is", USAGE)):
            self.write("broken.yaml", text)
            done = self.corun("campaign", "broken.yaml", status=status)
            self.assertIn(words, done.stderr, text)
            self.assertIn(f"broken.yaml:{place}: in campaign 'a'", done.stderr, text)
        self.write("broken.yaml", "name: a\ncases: [[no-such-workload]]\n")
        done = self.corun("campaign", "-r", "x.db", "broken.yaml", status=NOT_FOUND)
        self.assertIn("no-such-workload", done.stderr)
        self.assertIn("broken.yaml: in campaign 'a'", done.stderr)
        self.assertFalse((self.folder / "x.db").exists())
        self.corun("campaign", "no-such-file.yaml", status=NOT_FOUND)
        self.corun("campaign", status=USAGE)


class Query(Campaign):
    def test_tables_and_csv(self):
        self.run_campaign()
        table = self.corun("query", "-r", "results.db", "SELECT policy, count(*) AS n FROM cases GROUP BY policy").stdout
        self.assertRegex(table, r"policy +n\n-+\ncooperative +6\neven +6\nleft-over +3\n")
        csv = self.corun("query", "--csv", "-r", "results.db", "SELECT 'a,\"b\"' AS x, NULL, 2.5").stdout
        self.assertEqual(csv, 'x,NULL,2.5\n"a,""b""",,2.5\n')
        self.assertIn("CREATE TABLE cases", self.corun("query", "-r", "results.db", ".schema").stdout)

    def query(self, *arguments, status=OK):
        return self.corun("query", "-r", "results.db", *arguments, status=status)

    def test_a_name_that_sqlite_would_take_apart(self):
        name = "file:other.db?mode=memory"
        self.run_campaign()
        (self.folder / "results.db").rename(self.folder / name)
        self.assertEqual(self.corun("query", "--csv", "-r", name, "SELECT count(*) FROM cases").stdout, "count(*)\n15\n")

    def test_bytes(self):
        """What has a zero in it is not cut off there."""
        self.run_campaign()
        text = "SELECT x'00ff' AS a, x'' AS b, x'41' AS c, char(65, 0, 66) AS d, 'e' AS e, NULL AS f"
        self.assertEqual(self.query("--csv", text).stdout, "a,b,c,d,e,f\nX'00FF',X'',X'41',X'410042',e,\n")
        self.assertEqual(self.query(text).stdout.splitlines()[2].split(), ["X'00FF'", "X''", "X'41'", "X'410042'", "e"])

    def test_only_reads(self):
        self.run_campaign()
        before = sorted(path.name for path in self.folder.iterdir() if not path.name.startswith("results.db-"))
        for text in ("DELETE FROM cases", "INSERT INTO campaigns VALUES(1, 2, 3)", "UPDATE cases SET stp = 2", "DROP TABLE cases",
                     "VACUUM", "VACUUM INTO 'copy.db'", "ATTACH 'other.db' AS other", "CREATE TABLE x(y)",
                     "CREATE TEMP TABLE x(y)", "CREATE VIEW x AS SELECT 1", "PRAGMA journal_mode = DELETE",
                     "PRAGMA user_version = 7", "PRAGMA wal_checkpoint", "PRAGMA temp_store_directory = '.'", "BEGIN", "ROLLBACK",
                     "REINDEX", "ANALYZE", "SELECT load_extension('x')", "EXPLAIN ATTACH 'other.db' AS other"):
            self.assertIn("results are only read; this text ", self.query(text, status=USAGE).stderr, text)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir() if not path.name.startswith("results.db-")), before)
        self.assertEqual(len(self.results()), 15)

    def test_whatever_reads(self):
        self.run_campaign()
        for text, answer in (("PRAGMA user_version", "user_version\n1\n"),
                             ("SELECT name FROM pragma_table_info('members') LIMIT 1", "name\ncampaign\n"),
                             ("SELECT count(*) AS n FROM cases, json_each(result, '$.applications')", "n\n27\n"),
                             ("WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x LIMIT 9) SELECT sum(n) AS n FROM x",
                              "n\n45\n"),
                             ("VALUES(1)", "column1\n1\n")):
            self.assertEqual(self.query("--csv", text).stdout, answer)
        self.query("EXPLAIN QUERY PLAN SELECT * FROM cases")

    def test_without_end(self):
        self.run_campaign()
        numbers = "WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x) SELECT {} FROM x"
        self.assertIn("it took longer than 1 seconds (--time)",
                      self.query("--time", "1", numbers.format("count(*)"), status=USAGE).stderr)
        self.assertIn("more than 1000000 rows do not fit a table", self.query(numbers.format("n"), status=USAGE).stderr)
        self.query("SELECT hex(zeroblob(1000000000))", status=USAGE)
        process = subprocess.Popen([CORUN, "query", "-r", "results.db", numbers.format("count(*)")], cwd=self.folder)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=60), -signal.SIGINT)

    def test_searches_stay_out_of_it(self):
        self.corun("campaign", "-q", "campaign.yaml")
        average = "SELECT policy, avg(stp) FROM cases WHERE NOT isolated GROUP BY policy"
        before = self.corun("query", average).stdout
        self.corun("search", "-q", "oracle-best", "-g", "gtx980:sms=3", "-c", "2K", "./a.yaml", "./b.yaml")
        after = self.corun("query", average)
        self.assertEqual((after.stdout, after.stderr), (before, ""))
        self.assertIn("fixed:split", self.corun("query", "-r", "corun-search.db", "SELECT policy FROM cases").stdout)

    def test_what_must_not_be_averaged(self):
        average = "SELECT policy, avg(stp) FROM cases WHERE NOT isolated GROUP BY policy"
        self.run_campaign()
        self.assertEqual(self.query(average).stderr, "")
        self.assertIn("`WHERE NOT isolated` leaves them out", self.query("SELECT policy, avg(stp) FROM cases GROUP BY policy").stderr)
        self.assertEqual(self.query("SELECT policy, count(*) FROM cases GROUP BY policy").stderr, "")
        self.write("other.yaml", CAMPAIGN.format(cycles="10K").replace("mixed", "short").replace("sms=2", "sms=4"))
        self.run_campaign("other.yaml")
        said = self.query(average).stderr
        self.assertIn("the cases are of 2 windows (10000, 20000), and the query does not look at `cycles`", said)
        self.assertIn("2 GPUs (gtx980:sms=2, gtx980:sms=4)", said)
        self.assertEqual(self.query(average.replace("GROUP BY policy", "GROUP BY policy, cycles, gpu")).stderr, "")
        self.assertEqual(self.query(average.replace("NOT isolated", "NOT isolated AND cycles = 10000 AND gpu LIKE '%=4'")).stderr, "")
        both = [self.query("--csv", "--campaign", name, average) for name in ("mixed", "short")]
        self.assertEqual([done.stderr for done in both], ["", ""])
        self.assertNotEqual(both[0].stdout, both[1].stdout)
        self.assertEqual(self.query("--csv", "--campaign", "short", "SELECT count(*) AS n FROM cases JOIN applications USING(key)")
                         .stdout, "n\n27\n")
        self.assertIn("there is no campaign `none`", self.query("--campaign", "none", "SELECT 1", status=NOT_FOUND).stderr)

    def test_a_folder_that_cannot_be_written(self):
        self.run_campaign()
        if os.geteuid():
            self.skipTest("only root can be somebody else")
        shelf = self.folder / "shelf 100%?#"
        shelf.mkdir()
        shutil.copy(self.folder / "results.db", shelf)
        self.folder.chmod(0o755)
        shutil.copy(CORUN, self.folder / "corun")
        done = subprocess.run([str(self.folder / "corun"), "query", "-r", str(shelf / "results.db"), "--csv",
                               "SELECT count(*) FROM cases"], user=65534, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False)
        self.assertEqual((done.stdout, done.stderr), ("count(*)\n15\n", ""))

    def test_mistakes(self):
        self.run_campaign()
        self.assertIn("syntax error", self.corun("query", "-r", "results.db", "SELEKT 1", status=USAGE).stderr)
        self.assertIn("only one", self.corun("query", "-r", "results.db", "SELECT 1; SELECT 2", status=USAGE).stderr)
        self.assertIn("empty", self.corun("query", "-r", "results.db", "  ", status=USAGE).stderr)
        self.assertIn("no such file", self.corun("query", "-r", "none.db", "SELECT 1", status=NOT_FOUND).stderr)
        self.corun("query", "-r", "", "SELECT 1", status=USAGE)
        self.assertIn("directory", self.corun("query", "-r", ".", "SELECT 1", status=FILE).stderr)
        self.assertFalse((self.folder / "none.db").exists())
        self.write("text.db", "no database" * 100)
        self.corun("query", "-r", "text.db", "SELECT 1", status=FILE)
        self.write("empty.db", "")
        self.assertIn("empty.db: this is no results file of corun",
                      self.corun("query", "-r", "empty.db", "SELECT * FROM cases", status=FILE).stderr)
        data = bytearray((self.folder / "results.db").read_bytes())
        for place in range(4096, len(data), 4096):
            data[place:place + 100] = b"\0" * 100
        (self.folder / "broken.db").write_bytes(data)
        self.assertIn("broken.db: ", self.corun("query", "-r", "broken.db", "SELECT result FROM cases", status=FILE).stderr)
        self.corun("query", status=USAGE)


QUEUE = """\
name: queues
command: queue
options:
  gpu: "gtx980:sms=2"
  scheduler: [sequential, base]
  instances: 1
arguments: {arguments}
"""


class Commands(Campaign):
    def setUp(self):
        super().setUp()
        self.write("campaign.yaml", QUEUE.format(arguments="[./a.yaml, ./b.yaml]"))

    def queue(self, *arguments):
        done = self.corun("queue", "--gpu", "gtx980:sms=2", "-n", "1", "--json", "-", *arguments)
        return self.timeless(json.loads(done.stdout))

    @staticmethod
    def timeless(result):
        for run in result["runs"]:
            for name in ("planning_seconds", "longest_plan_seconds"):
                run.pop(name)
        return result

    def test_a_case_is_what_the_command_gives(self):
        self.assertEqual(self.run_campaign(), (0, 2))
        self.assertEqual(self.run_campaign(), (2, 0))
        for scheduler in ("sequential", "base"):
            row = self.rows("SELECT gpu, applications, cycles, seed, isolated, status, result, wall_seconds > 0 FROM cases "
                            f"WHERE policy = '{scheduler}'")[0]
            self.assertEqual(row[:6], ("gtx980:sms=2", "./a.yaml ./b.yaml", 0, 1, 0, "finished"))
            self.assertEqual(self.timeless(json.loads(row[6])), self.queue("-s", scheduler, "./a.yaml", "./b.yaml"))
            self.assertEqual(row[7], 1)

    def test_rows_are_the_figures_of_the_result(self):
        self.run_campaign()
        queues = self.rows("SELECT scheduler, simulated, transfers, instances, rate_per_second, makespan_seconds, throughput, "
                           "utilisation, copy_overlap, slices, result FROM queues JOIN cases USING(key) ORDER BY scheduler")
        self.assertEqual([row[0] for row in queues], ["base", "sequential"])
        for row in queues:
            result = json.loads(row[-1])
            of, tick = result["runs"][0], 1 / result["ticks_per_second"]
            self.assertEqual(row[1:5], ("events", "none", 1, 0))
            self.assertAlmostEqual(row[5] / (of["makespan_ticks"] * tick), 1)
            self.assertAlmostEqual(row[6] * of["makespan_ticks"] * tick, 2)
            self.assertAlmostEqual(row[7], of["busy_ticks"] / of["makespan_ticks"])
            self.assertIsNone(row[8]) # nothing was copied
            self.assertEqual(row[9], of["slices"])
            kernels = self.rows("SELECT position, kernel, launches, slices, throughput, mean_response_seconds, "
                                f"p99_response_seconds, mean_wait_seconds FROM queue_kernels WHERE scheduler = '{row[0]}' "
                                "ORDER BY position")
            self.assertEqual([kernel[1] for kernel in kernels], ["./a.yaml", "./b.yaml"])
            for kernel, its in zip(kernels, of["kernels"]):
                self.assertEqual(kernel[2:4], (1, its["slices"]))
                for value, ticks in zip(kernel[5:], ("mean_response_ticks", "p99_response_ticks", "mean_wait_ticks")):
                    self.assertAlmostEqual(value / tick, its[ticks], 3)
        table = self.corun("query", "-r", "results.db", "--campaign", "queues", "--csv",
                           "SELECT scheduler, count(*), avg(mean_response_seconds) > 0 FROM queue_kernels GROUP BY 1").stdout
        self.assertEqual(table.splitlines()[1:], ["base,2,1", "sequential,2,1"])

    def test_several_values_in_one_case(self):
        self.write("campaign.yaml", "name: both\ncommand: queue\noptions: {gpu: 'gtx980:sms=2', instances: 1, full: [true, false],\n"
                                    "  scheduler: [[sequential, base], base]}\narguments: [[./a.yaml], [./b.yaml, ./a.yaml]]\n")
        words = "queue --gpu=gtx980:sms=2 --instances=1"
        both, one = "--scheduler=sequential --scheduler=base", "--scheduler=base"
        self.assertEqual(self.corun("campaign", "--list", "campaign.yaml").stdout.splitlines(),
                         [f"{words}{full} {chosen} {kernels}" for kernels in ("./a.yaml", "./b.yaml ./a.yaml")
                          for full in (" --full", "") for chosen in (both, one)])
        self.assertEqual(self.run_campaign(), (0, 8))
        self.assertEqual(self.rows("SELECT policy, count(*) FROM queues JOIN cases USING(key) GROUP BY policy ORDER BY policy"),
                         [("base", 4), ("sequential base", 8)])
        self.assertEqual(self.rows("SELECT DISTINCT run, scheduler FROM queues JOIN cases USING(key) "
                                   "WHERE policy = 'sequential base' ORDER BY run"), [(0, "sequential"), (1, "base")])

    def test_a_range_stands_for_its_numbers(self):
        text = "name: drawn\ncommand: queue\noptions: {{gpu: 'gtx980:sms=2', seed: [{0}], scheduler: [[base, 'random:seed={1}']]}}\narguments: [./a.yaml]\n"
        self.write("campaign.yaml", text.format("7, '{2..3}'", "{9..11}"))
        words = "queue --gpu=gtx980:sms=2 --seed={} --scheduler=base --scheduler=random:seed=9 --scheduler=random:seed=10 --scheduler=random:seed=11 ./a.yaml"
        self.assertEqual(self.corun("campaign", "--list", "campaign.yaml").stdout.splitlines(), [words.format(seed) for seed in (7, 2, 3)])
        for wrong, says in (("{3..2}", "a range has 1 to 10000 numbers"), ("{0..10000}", "a range has 1 to 10000 numbers"), ("{1..}", "not `{1..}`"),
                            ("{..2}", "{..2}"), ("{1.2}", "{1.2}"), ("{-1..2}", "{-1..2}"), ("{1..123456789012345678901234567890}", "{1..1234")):
            self.write("campaign.yaml", text.format("1", wrong))
            said = self.corun("campaign", "--list", "campaign.yaml", status=None).stderr
            self.assertIn(says, said)
            self.assertIn("campaign.yaml:3:", said)

    def test_cases_of_predict(self):
        self.write("campaign.yaml", "name: predicted\ncommand: predict\noptions: {gpu: 'gtx980:sms=2', cycles: 5K, samples: [0, 2]}\narguments: [./a.yaml, ./b.yaml]\n")
        self.assertEqual(self.run_campaign(), (0, 2))
        self.assertEqual(self.run_campaign(), (2, 0))
        done = self.corun("predict", "-q", "--gpu", "gtx980:sms=2", "--cycles", "5K", "--samples", "0", "--json", "-", "./a.yaml", "./b.yaml")
        rows = self.rows("SELECT result, applications, gpu, cycles FROM cases ORDER BY rowid")
        results = [json.loads(row[0]) for row in rows]
        self.assertIn(json.loads(done.stdout)["kernels"], [result["kernels"] for result in results])
        self.assertEqual({row[1:] for row in rows}, {("./a.yaml ./b.yaml", "gtx980:sms=2", 0)})
        text = (self.folder / "campaign.yaml").read_text()
        for change in (("5K", "6K"), ("[0, 2]", "[3, 4]"), ("cycles: 5K", "cycles: 5K, seed: 2"), ("sms=2", "sms=3"), (", ./b.yaml", "")):
            self.write("campaign.yaml", text.replace(*change))
            self.assertEqual(self.run_campaign(), (0, 2), change)
        self.write("campaign.yaml", text.replace("5K", "0"))
        self.assertIn("campaign.yaml:3:", self.corun("campaign", "--list", "campaign.yaml", status=USAGE).stderr)

    def test_only_what_changed_runs_again(self):
        self.assertEqual(self.run_campaign(), (0, 2))
        text = (self.folder / "campaign.yaml").read_text()
        self.write("campaign.yaml", "# a comment\n" + text.replace("instances: 1", "instances: 1\n  seed: 1\n  arrivals: all"))
        self.assertEqual(self.run_campaign(), (2, 0)) # what was said is what it is without
        for change in ("instances: 2", "instances: 1\n  seed: 2", "instances: 1\n  full: true", "instances: 1\n  arrivals: poisson:7",
                       "instances: 1\n  slicing: 3%", "instances: 1\n  transfers: apart"):
            self.write("campaign.yaml", text.replace("instances: 1", change))
            self.assertEqual(self.run_campaign(), (0, 2), change)
        self.write("campaign.yaml", text)
        self.write("b.yaml", describe("b", 91))
        self.assertEqual(self.run_campaign(), (0, 2))

    def test_failures_are_recorded_and_the_others_continue(self):
        self.write("campaign.yaml", QUEUE.format(arguments="[[./bad.yaml], [./a.yaml]]"))
        self.assertIn("4 cases, 0 found, 2 run, 2 failed", self.corun("campaign", "-r", "results.db", "campaign.yaml").stdout)
        failed = self.rows("SELECT status, applications, message FROM cases WHERE status <> 'finished'")
        self.assertEqual([row[:2] for row in failed], [("failed", "./bad.yaml")] * 2)
        for row in failed:
            self.assertRegex(row[2], "outside|address|buffer")
        self.assertEqual(self.run_campaign(), (2, 0))
        self.assertEqual(self.rows("SELECT count(*) FROM queues"), [(2,)])

    def test_time_is_limited_and_workers_are_killed(self):
        self.write("long.yaml", describe("long", 30000000))
        for arguments in ("[[./a.yaml]]", "[[./long.yaml], [./a.yaml]]"):
            self.write("campaign.yaml", QUEUE.format(arguments=arguments))
            limit = ("--time", "2") if "long" in arguments else () # a busy machine may need longer for the short ones
            done = self.corun("campaign", "-r", "results.db", *limit, "--jobs", "1", "campaign.yaml")
        self.assertIn("4 cases, 2 found, 0 run, 2 failed", done.stdout)
        self.assertEqual(self.rows("SELECT DISTINCT status, message FROM cases WHERE status <> 'finished'"),
                         [("lost", "it took longer than 2 seconds")])
        process = self.begin("--jobs", "2", "campaign.yaml")
        until = time.monotonic() + 60
        while len(children_of(process.pid)) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        workers = children_of(process.pid)
        self.assertEqual(len(workers), 2)
        process.kill()
        process.communicate()
        until = time.monotonic() + 20
        while any(pathlib.Path(f"/proc/{worker}").exists() for worker in workers) and time.monotonic() < until:
            time.sleep(0.01)
        self.assertFalse([worker for worker in workers if pathlib.Path(f"/proc/{worker}").exists()])

    def test_memory_is_limited(self):
        if "asan" in subprocess.run(["ldd", CORUN], stdout=subprocess.PIPE, text=True, check=False).stdout:
            self.skipTest("the sanitizer takes more address space than any limit")
        for limit in ("12M", "40M"): # the one does for no program, the other for no queue
            self.corun("campaign", "-r", f"{limit}.db", "--memory", limit, "--no-cache", "campaign.yaml")
            self.assertEqual(self.rows("SELECT DISTINCT status FROM cases", f"{limit}.db"), [("lost",)],
                             self.rows("SELECT message FROM cases", f"{limit}.db"))
        self.corun("campaign", "-r", "12M.db", "campaign.yaml")
        self.assertEqual(self.rows("SELECT DISTINCT status FROM cases", "12M.db"), [("finished",)])

    def test_runners_share_and_shards_merge(self):
        self.write("campaign.yaml", (self.folder / "campaign.yaml").read_text().replace("instances: 1", "instances: [1, 2, 3]"))
        processes = [self.begin("--jobs", "1", "campaign.yaml") for _ in range(2)]
        run = [int(re.search(r"found, (\d+) run", process.communicate(timeout=300)[0])[1]) for process in processes]
        self.assertEqual(sum(run), 6)
        for part in ("1", "2"):
            self.corun("campaign", "-r", f"{part}.db", "--shard", f"{part}/2", "campaign.yaml")
        self.assertIn(": 6 cases", self.corun("merge", "-r", "merged.db", "1.db", "2.db").stdout)
        columns = "SELECT key, run, scheduler, instances, makespan_seconds FROM queues ORDER BY key"
        self.assertEqual(self.rows(columns, "merged.db"), self.rows(columns))
        self.assertEqual(self.rows("SELECT count(*) FROM queue_kernels", "merged.db"), [(12,)])

    def test_files_of_before(self):
        run = CAMPAIGN.format(cycles="20K").replace("{size: 2, repeated: true}", "{size: 1}")
        self.write("runs.yaml", run)
        self.corun("campaign", "-r", "results.db", "runs.yaml")
        database = sqlite3.connect(self.folder / "results.db")
        for table in ("queues", "queue_kernels", "splits"):
            database.execute(f"DROP TABLE {table}")
        database.commit()
        database.close()
        shutil.copy(self.folder / "results.db", self.folder / "before.db")
        asked = self.corun("query", "-r", "before.db", "--campaign", "mixed", "--csv", "SELECT count(*) FROM cases").stdout
        self.assertEqual(asked.split(), ["count(*)", "9"])
        self.assertEqual(self.run_campaign(), (0, 2))
        self.assertEqual(self.rows("SELECT count(*) FROM queues"), [(2,)])
        self.assertIn(": 9 cases", self.corun("merge", "-r", "new.db", "before.db").stdout)
        self.assertIn(": 2 cases", self.corun("merge", "-r", "new.db", "results.db").stdout)
        self.assertEqual(self.rows("SELECT count(*) FROM queues", "new.db"), [(2,)])

    def test_mistakes_have_their_place(self):
        begin = "name: wrong\ncommand: queue\n"
        for text, place, message in (
                ("name: wrong\ncommand: exec\n", "2:10", "a campaign has no cases of 'exec', only of: run, queue"),
                (begin, "1:1", "the key 'arguments' is missing"),
                (begin + "gpus: [gtx980]\narguments: [bs]\n", "3:1", "unknown key 'gpus'"),
                (begin + "arguments: []\n", "3:12", "expected 1 to 1000 kernels"),
                (begin + "arguments: [bs, [mm]]\n", "3:17", "expected text, found a list"),
                (begin + "arguments: bs\n", "3:12", "expected a list for 'arguments'"),
                (begin + "options: {schedular: base}\narguments: [bs]\n", "3:11", "did you mean 'scheduler'?"),
                (begin + "options: {colour: red}\narguments: [bs]\n", "3:11", "corun queue has no option 'colour'"),
                (begin + "options: {json: a}\narguments: [bs]\n", "3:11", "the result goes to the results file"),
                (begin + "options: {native: true}\narguments: [bs]\n", "3:11", "its times are those of this machine"),
                (begin + "options: {jobs: 2}\narguments: [bs]\n", "3:11", "it is an option of corun campaign"),
                (begin + "options: {scheduler: [base, bas]}\narguments: [bs]\n", "3:29", "no scheduler `bas`"),
                (begin + "options: {scheduler: 'base:x=1'}\narguments: [bs]\n", "3:22", "x"),
                (begin + "options: {instances: [1, none]}\narguments: [bs]\n", "3:26", "--instances"),
                (begin + "options: {instances: []}\narguments: [bs]\n", "3:22", "the list is empty"),
                (begin + "options: {instances: [[1, 2]]}\narguments: [bs]\n", "3:23", "expected text"),
                (begin + "options: {full: maybe}\narguments: [bs]\n", "3:17", "expected true or false for 'full'"),
                (begin + "options: {full: true, driver: true}\narguments: [bs]\n", "3:17", "exclude each other"),
                (begin + "options: {arrivals: poisson}\narguments: [bs]\n", "3:21", "expected all or poisson:RATE"),
                ("name: wrong\noptions: {full: true}\ncases: [[bs]]\n", "2:1", "unknown key 'options'")):
            self.write("campaign.yaml", text)
            said = self.corun("campaign", "--list", "campaign.yaml", status=None).stderr
            self.assertIn(message, said, text)
            self.assertIn(f"campaign.yaml:{place}:", said, text)

    def test_what_is_not_there(self):
        for text, message in (("options: {gpu: none}\narguments: [./a.yaml]\n", "none"),
                              ("arguments: [nothing-like-it]\n", "nothing-like-it"),
                              ("options: {scheduler: ./none.so}\narguments: [./a.yaml]\n", "none.so")):
            self.write("campaign.yaml", "name: wrong\ncommand: queue\n" + text)
            said = self.corun("campaign", "-r", "results.db", "campaign.yaml", status=None)
            self.assertNotEqual(said.returncode, OK)
            self.assertIn(message, said.stderr)
            self.assertIn("in campaign 'wrong'", said.stderr)
            self.assertFalse((self.folder / "results.db").exists())

    def test_the_report_says_that_there_is_none(self):
        self.run_campaign()
        said = self.corun("report", "-r", "results.db", status=None)
        if "numpy" in said.stderr or "Python" in said.stderr:
            self.skipTest(said.stderr)
        self.assertNotEqual(said.returncode, OK)
        self.assertIn("results.db: reports have cases of corun run only; ask for the others with corun query", said.stderr)
        self.write("runs.yaml", CAMPAIGN.format(cycles="20K").replace("{size: 2, repeated: true}", "{size: 1}"))
        self.corun("campaign", "-r", "results.db", "runs.yaml")
        said = self.corun("report", "-r", "results.db")
        self.assertIn("mixed", said.stdout)
        self.assertNotIn("queues", said.stdout)
        self.assertIn("campaign 'queues' is left out", said.stderr)
        self.assertIn("cases of corun run only", self.corun("report", "-r", "results.db", "--campaign", "queues", status=None).stderr)


if __name__ == "__main__":
    CORUN = os.path.abspath(sys.argv.pop(1))
    unittest.main()
