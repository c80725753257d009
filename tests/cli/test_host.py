#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""corun host: services and batch programs on a simulated host. Usage: test_host.py CORUN [TEST...]"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

CORUN = None
OK, USAGE, SYNTAX, NOT_FOUND, ARGUMENT, POLICY = 0, 2, 3, 5, 6, 12
APPLICATIONS = pathlib.Path(__file__).resolve().parent.parent / "host" / "applications"
SERVICE, BATCH = str(APPLICATIONS / "synthetic-parallel.yaml"), str(APPLICATIONS / "synthetic-stream.yaml")
SMALL = ("--queries", "200")


class Host(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def corun(self, *words, status=OK):
        done = subprocess.run([CORUN, "host", *words], cwd=self.folder.name, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              stdin=subprocess.DEVNULL, timeout=600)
        self.assertEqual(done.returncode, status, done.stderr + done.stdout)
        return done

    def results(self, *words):
        self.corun(*words, "--quiet", "--json", "r.json")
        return json.loads(pathlib.Path(self.folder.name, "r.json").read_text(encoding="utf-8"))

    def test_one_service_and_one_batch_program(self):
        results = self.results("simulate", "-s", SERVICE, "-b", BATCH, "-p", "os:instances=1,emu:margin=0.3,cache=off,heracles", *SMALL)
        cases = results["cases"]
        self.assertEqual([case["policy"] for case in cases], ["os:instances=1", "emu:margin=0.3,cache=off", "heracles"])
        for case in cases:
            service, batch = case["services"][0], case["batches"][0]
            self.assertEqual(service["queries"], 200)
            self.assertLessEqual(service["p50_ns"], service["p95_ns"])
            self.assertLessEqual(service["p99_ns"], service["longest_ns"])
            self.assertGreater(service["p50_ns"], 0)
            self.assertEqual(case["violations"], int(service["p99_of_goal"] > 1))
            self.assertGreater(batch["throughput"], 0)
            self.assertLessEqual(batch["cores"] + service["cores"], 12.000001)
            self.assertLess(case["busiest_memory_load"], 1)
        self.assertEqual(results["host"]["cores"], 12)

    def test_policies_that_are_given_one_by_one(self):
        together, apart = (self.results("simulate", "-s", SERVICE, "-b", BATCH, *policies, *SMALL)["cases"]
                           for policies in (("-p", "os,emu:margin=0.3,cache=off,heracles"),
                                            ("--policy", "os", "--policy", "emu:margin=0.3,cache=off", "-p", "heracles")))
        self.assertEqual([case["policy"] for case in apart], ["os", "emu:margin=0.3,cache=off", "heracles"])
        self.assertEqual(apart, together)

    def test_the_same_digits_for_any_number_of_threads(self):
        texts = []
        for jobs in ("1", "2", "5"):
            results = self.results("sweep", "-s", SERVICE, "-b", BATCH, "-b", str(APPLICATIONS / "synthetic-cache.yaml"), "--jobs", jobs, *SMALL)
            del results["wall_seconds"]
            texts.append(json.dumps(results))
        self.assertEqual(texts[0], texts[1])
        self.assertEqual(texts[0], texts[2])

    def test_a_sweep_takes_each_service_with_each_batch_program(self):
        services = [SERVICE, str(APPLICATIONS / "synthetic-serial.yaml")]
        done = self.corun("sweep", "-s", services[0], "-s", services[1], "-b", BATCH, "-b", str(APPLICATIONS / "synthetic-compute.yaml"),
                          "-p", "static-opt:instances=0,emu", "--json", "r.json", *SMALL)
        cases = json.loads(pathlib.Path(self.folder.name, "r.json").read_text(encoding="utf-8"))["cases"]
        pairs = {(case["services"][0]["application"], case["batches"][0]["application"], case["policy"]) for case in cases}
        self.assertEqual(len(cases), 8)
        self.assertEqual(len(pairs), 8)
        self.assertIn("co-locations", done.stdout)
        for case in cases:
            if case["policy"] == "static-opt:instances=0":
                self.assertEqual(case["throughput"], 0)

    def test_static_opt_takes_the_most_instances_that_do_no_harm(self):
        compute = str(APPLICATIONS / "synthetic-compute.yaml")
        words = ("simulate", "-s", SERVICE + "", "-b", compute, "--goal", "400ms", *SMALL)
        found = self.results(*words, "-p", "static-opt")["cases"][0]
        self.assertGreater(found["instances"], 0)
        self.assertLess(found["instances"], 8)
        self.assertEqual(found["violations"], 0)
        more = self.results(*words, "-p", f"static-opt:instances={found['instances'] + 1}")["cases"][0]
        self.assertEqual(more["violations"], 1)

    def test_two_services_with_goals_of_their_own(self):
        results = self.results("simulate", "-s", SERVICE + ":goal=300ms,load=0.1,queries=50",
                               "-s", str(APPLICATIONS / "synthetic-serial.yaml") + ":queries=70", "-b", BATCH + ":instances=2", "-p", "emu")
        services = results["cases"][0]["services"]
        self.assertEqual([service["goal_ns"] for service in services], [300000000, 150000000])
        self.assertEqual([service["queries"] for service in services], [50, 70])
        self.assertEqual(results["cases"][0]["batches"][0]["instances"], 2)

    def test_a_service_that_cannot_keep_up(self):
        words = ("simulate", "-s", f"{SERVICE}:load=0.9,goal=1s", "-b", BATCH, "--queries", "60", "-p", "fixed:cores=1,ways=1", "--host",
                 "e5-2650v4:ways=1", "--timeline", "t.json", "--json", "r.json")
        said = self.corun(*words).stdout
        folder = pathlib.Path(self.folder.name)
        case = json.loads((folder / "r.json").read_text(encoding="utf-8"))["cases"][0]
        service = case["services"][0]
        begun = sum(event["ph"] == "b" for event in json.loads((folder / "t.json").read_text(encoding="utf-8"))["traceEvents"])
        self.assertGreater(service["unanswered"], 1)
        self.assertIn(service["queries"] - service["unanswered"], (begun - 1, begun))  # one more was under way
        self.assertLess(service["longest_ns"], case["end_ns"])
        self.assertIn(f"\nfixed:cores=1,ways=1: {service['unanswered']} of 60 queries of synthetic-parallel were not answered", said)
        enough = self.corun("simulate", "-s", SERVICE, "-b", BATCH, "-p", "os:instances=1", *SMALL, "--json", "r.json").stdout
        self.assertEqual(json.loads((folder / "r.json").read_text(encoding="utf-8"))["cases"][0]["services"][0]["unanswered"], 0)
        self.assertNotIn("not answered", enough)

    def test_a_timeline(self):
        self.corun("simulate", "-s", SERVICE, "-b", BATCH, "-p", "emu", "--timeline", "t.json", "--queries", "20")
        events = json.loads(pathlib.Path(self.folder.name, "t.json").read_text(encoding="utf-8"))["traceEvents"]
        begun = [event["id"] for event in events if event["ph"] == "b"]
        ended = [event["id"] for event in events if event["ph"] == "e"]
        self.assertEqual(begun, list(range(20)))
        self.assertEqual(sorted(ended), begun)
        cores = {2: 0, 3: 12}
        for event in events:
            if event.get("name") == "cores":
                cores[event["pid"]] = event["args"]["cores"]
                self.assertLessEqual(cores[event["pid"]], 12)
        self.assertTrue(any(event.get("name") == "memory" for event in events))

    def samples(self, count=200):
        """Amdahl's law: duration and IPC of queries on some cores; ways do nothing."""
        lines = ["size,cores,ways,duration_ns,ipc"]
        for i in range(count):
            size, cores, ways = 10 + i * 37 % 101, 1 + i % 12, 1 + i * 5 % 16
            speed = 1 / (0.1 + 0.9 / cores)
            lines.append(f"{size},{cores},{ways},{1e6 * size / speed:.0f},{0.8 * speed:.4f}")
        return "\n".join(lines) + "\n"

    def test_a_predictor_is_trained(self):
        folder = pathlib.Path(self.folder.name)
        (folder / "s.csv").write_text(self.samples(), encoding="utf-8")
        table = self.corun("train", "s.csv", "-o", "m.json").stdout
        self.assertIn("160 samples to learn from, 40 to judge by", table)
        rows = {line.split()[0]: line for line in table.splitlines() if line.strip()}
        self.assertEqual(table.count("* 0."), 2)
        self.assertNotIn("*", rows["svm"])
        model = json.loads((folder / "m.json").read_text(encoding="utf-8"))
        self.assertEqual((model["format"], model["version"], model["predictor"]["name"]), ("corun predictor", 1, "s.csv"))
        self.assertEqual(self.corun("train", "-q", "s.csv", "-o", "-").stdout, (folder / "m.json").read_text(encoding="utf-8"))
        other = self.corun("train", "-q", "s.csv", "-o", "-", "--seed", "2", "--name", "regex").stdout
        self.assertEqual(json.loads(other)["predictor"]["name"], "regex")

    def test_nothing_to_judge_by(self):
        """Samples without variance: there is no R2, whatever rounding makes of it; the other target keeps its own."""
        folder = pathlib.Path(self.folder.name)
        lines = self.samples().splitlines()
        (folder / "s.csv").write_text("\n".join([lines[0], *(line.rsplit(",", 1)[0] + ",0.1" for line in lines[1:])]) + "\n", encoding="utf-8")
        rows = [line.split() for line in self.corun("train", "s.csv").stdout.splitlines()[4:]]
        self.assertEqual(len(rows), 5)
        for row in rows:
            self.assertEqual(row[-2:], ["not", "defined"])
            self.assertRegex(row[-3 - (row[-3] == "*")], r"^-?[0-9]\.[0-9]{4}$")

    def test_samples_of_a_service(self):
        """What `simulate` learns from: every number of cores, eight numbers of ways; twelve are faster than one."""
        text = self.corun("samples", SERVICE, "--sizes", "3").stdout
        lines = [line.split(",") for line in text.splitlines()]
        self.assertEqual(lines[0], ["size", "cores", "ways", "duration_ns", "ipc"])
        self.assertEqual(len(lines) - 1, 3 * 12 * 8)
        found = {(float(s), int(c), int(w)): float(d) for s, c, w, d, _ in lines[1:]}
        for size, _, ways in found:
            self.assertLess(found[size, 12, ways], found[size, 1, ways] / 2)
        self.assertEqual(self.corun("samples", SERVICE, "--sizes", "3", "-H", "e5-2650v4:cores=2").stdout.count("\n"), 1 + 3 * 2 * 8)
        self.corun("samples", SERVICE, "-o", "s.csv")
        self.corun("train", "-q", "s.csv", "-o", "m.json")
        self.assertIn("is a batch program, no service", self.corun("samples", BATCH, status=ARGUMENT).stderr)
        self.assertIn("which SERVICE?", self.corun("samples", status=USAGE).stderr)

    def test_every_kind_of_model_predicts(self):
        """What is best on samples that were held out keeps the goal more often than a line does."""
        late = {}
        for model in ("best", "knn", "nn", "linear", "sgd", "svm"):
            case = self.results("simulate", "-s", SERVICE, "-b", BATCH, "-p", f"emu:model={model}", *SMALL)["cases"][0]
            late[model] = case["services"][0]["late"]
        self.assertLess(late["best"], late["linear"])
        self.assertEqual(late["best"], late["nn"])

    def test_mistakes_of_training(self):
        folder = pathlib.Path(self.folder.name)
        (folder / "few.csv").write_text(self.samples(9), encoding="utf-8")
        (folder / "bad.csv").write_text(self.samples(30).replace("14,", "many,", 1), encoding="utf-8")
        for words, status, message in (((), USAGE, "the file of samples is missing"),
                                       (("a.csv", "b.csv"), USAGE, "'b.csv' is one too many"),
                                       (("-q", "few.csv"), USAGE, "--output MODEL is missing"),
                                       (("no.csv",), NOT_FOUND, "no.csv"),
                                       (("few.csv",), ARGUMENT, "9 samples: a predictor learns from 10 to 100000"),
                                       (("bad.csv",), SYNTAX, "no number: 'many'")):
            self.assertIn(message, self.corun("train", *words, status=status).stderr)

    def test_a_cluster_places_batch_programs(self):
        words = ["cluster", "--nodes", "12", "-p", "emu:margin=0.3", "--hungarian", "emu:margin=0.3", "--queries", "100", "--load", "0.1"]
        for name in ("parallel", "serial"):
            words += ["-s", str(APPLICATIONS / f"synthetic-{name}.yaml")]
        for name in ("stream", "cache", "compute"):
            words += ["-b", str(APPLICATIONS / f"synthetic-{name}.yaml")]
        cases = self.results(*words)["cases"]
        placements = []
        for policy in ("emu:margin=0.3", "emu:margin=0.3, placed"):
            nodes = [case for case in cases if case["policy"] == policy]
            self.assertEqual(len(nodes), 12)
            self.assertEqual([node["services"][0]["application"] for node in nodes], ["synthetic-parallel", "synthetic-serial"] * 6)
            programs = [node["batches"][0]["application"] for node in nodes]
            self.assertEqual({programs.count(name) for name in programs}, {4})
            placements.append(sum(node["throughput"] for node in nodes))
        self.assertGreaterEqual(placements[1], 0.98 * placements[0]) # by other arrivals than those of the pairs

    def test_mistakes_are_named(self):
        for words, status, message in (
                (("simulate",), USAGE, "nothing is to be simulated"),
                (("simulat",), USAGE, "did you mean `simulate`?"),
                ((), USAGE, "which COMMAND?"),
                (("simulate", "-s", SERVICE, *["-p", "os"] * 17), USAGE, "more than 16 policies"),
                (("simulate", "-s", SERVICE, "-p", "os,os", *["-p", "os"] * 15), USAGE, "more than 16 policies"),
                (("simulate", "-s", SERVICE, "-p", "emo"), NOT_FOUND, "a host has no policy 'emo'; did you mean 'emu'?"),
                (("simulate", "-s", SERVICE, "-p", "anything"), NOT_FOUND, "no policy 'anything'; there are os, static-opt, emu, pace, heracles, fixed\n"),
                (("simulate", "-s", SERVICE, "-p", "emu:margins=1"), ARGUMENT, "did you mean 'margin'?"),
                (("top", "--socket", ""), USAGE, "--socket: the name is missing"),
                (("simulate", "-s", SERVICE, "-p", "emu:margin=2"), ARGUMENT, "margin of policy emu is a number from 0 to 0.99, not '2'"),
                (("simulate", "-s", SERVICE, "-p", "emu:cache=maybe"), ARGUMENT, "cache of policy emu is one of off|on, not 'maybe'"),
                (("simulate", "-s", SERVICE, "-p", "emu:model=dnn"), ARGUMENT, "one of best|knn|nn|linear|sgd|svm, not 'dnn'"),
                (("simulate", "-s", SERVICE, "-p", "fixed:cores=13"), ARGUMENT, "gives a query more than the host has"),
                (("simulate", "-s", BATCH), ARGUMENT, "synthetic-stream is a batch program, no service"),
                (("simulate", "-b", SERVICE), ARGUMENT, "synthetic-parallel is a service, no batch program"),
                (("simulate", "-s", "no-such-service"), NOT_FOUND, "there is no application 'no-such-service'"),
                (("simulate", "-s", SERVICE + ":speed=3"), USAGE, "speed is not among goal=TIME, load=FRACTION, queries=N"),
                (("simulate", "-s", SERVICE, "--goal", "soon"), USAGE, "`soon` is no time, such as 20ms"),
                (("simulate", "-s", SERVICE, "--load", "0"), USAGE, "`0` is no fraction"),
                (("simulate", "-s", SERVICE, "-H", "nowhere"), NOT_FOUND, "there is no host 'nowhere'"),
                (("simulate", "-s", SERVICE, "-H", "e5-2650v4:cors=1"), ARGUMENT, "a host has no parameter 'cors'; did you mean 'cores'?"),
                (("simulate", "-s", SERVICE, "-H", "e5-2650v4:cores=0"), ARGUMENT, "cores is between 1 and 1024")):
            done = self.corun(*words, status=status)
            self.assertIn(message, done.stderr)

    def test_a_host_that_changes(self):
        slow = self.results("simulate", "-b", BATCH, "-H", "e5-2650v4:memory_mbps=10K", "-p", "os")
        fast = self.results("simulate", "-b", BATCH, "-H", "e5-2650v4:memory_mbps=200K", "-p", "os")
        self.assertLess(slow["cases"][0]["batches"][0]["bytes_per_second"], 10e9)
        self.assertGreater(fast["cases"][0]["batches"][0]["bytes_per_second"], 20e9)


if __name__ == "__main__":
    CORUN = os.path.abspath(sys.argv.pop(1))
    unittest.main()
