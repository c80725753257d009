#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `corun exec` says and writes. Usage: test_exec.py CORUN FOLDER-OF-PROGRAMS [TEST...]"""
import csv
import fcntl
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import textwrap
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from json_page import differences  # noqa: E402

CORUN, PROGRAMS = sys.argv[1:3]


def run(*arguments, **settings):
    return subprocess.run([CORUN, "exec", *arguments], capture_output=True, text=True, timeout=120, check=False,
                          env=dict(os.environ, **settings))


def program(name):
    return os.path.join(PROGRAMS, name)


class Exec(unittest.TestCase):
    def test_table(self):
        done = run("--", program("vector_add"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertIn("gtx980 at 1216 MHz: 1 launch", done.stderr)
        self.assertRegex(done.stderr, r"add +1 +\d+ ")
        self.assertIn("host to device, pageable      2  80.00 KB", done.stderr)

    def test_page(self):
        """docs/cuda.md shows what a program of ours prints."""
        done = run("--gpu", "quadro-v100", "--", program("heat"))
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/cuda.md"), encoding="utf-8") as file:
            shown = file.read().split("heat.cu` ")[1].split("\n\n", maxsplit=1)[1].split("\nWithout a toolkit")[0]
        self.assertEqual(textwrap.dedent(shown).strip(), done.stderr.replace("─", "-").strip())

    def test_terminal(self):
        """Whatever a kernel is called, no line is wider than the terminal."""
        for width in (80, 97):
            try:
                ours, theirs = pty.openpty()
            except OSError as error:
                self.skipTest(f"no terminal can be made here: {error}")
            fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
            with subprocess.Popen([CORUN, "exec", "--profile", "--", program("structures")], stdin=theirs, stdout=theirs, stderr=theirs,
                                  env=dict(os.environ, TERM="dumb", LC_ALL="C.UTF-8")) as process:
                os.close(theirs)
                text = b""
                while True:
                    try:
                        read = os.read(ours, 65536)
                    except OSError:  # the other end is closed
                        break
                    if not read:
                        break
                    text += read
            os.close(ours)
            lines = text.decode().replace("\r\n", "\n").split("\n")
            self.assertEqual(process.returncode, 0, lines)
            self.assertGreater(len(lines), 20)
            self.assertEqual([line for line in lines if len(line) > width], [])
            self.assertTrue(any("DRAM" in line for line in lines))

    def test_rows(self):
        with tempfile.TemporaryDirectory() as folder:
            rows_file, json_file = os.path.join(folder, "rows.csv"), os.path.join(folder, "all.json")
            done = run("-q", "--csv", rows_file, "--json", json_file, "--", program("vector_add"))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            with open(rows_file, encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            with open(json_file, encoding="utf-8") as file:
                everything = json.load(file)
        self.assertEqual([row["Name"] for row in rows],
                         ["[CUDA memcpy HtoD]", "[CUDA memcpy HtoD]", "_Z3addPKfS0_Pfi", "[CUDA memcpy DtoH]"])
        launch = rows[2]
        self.assertEqual((launch["Grid X"], launch["Block X"], launch["Grid Y"]), ("40", "256", "1"))
        starts = [float(row["Start (ns)"]) for row in rows]
        ends = [float(row["Start (ns)"]) + float(row["Duration (ns)"]) for row in rows]
        self.assertTrue(all(end <= start + 0.2 for end, start in zip(ends, starts[1:])), rows)
        self.assertEqual(int(rows[0]["Size (B)"]), 40000)
        # 10 000 threads of 40 blocks with 8 warps: 313 warps work, the others see that they need not
        self.assertEqual(everything["launches"][0]["kernel"], "add")
        self.assertEqual(everything["launches"][0]["counters"]["tbs_completed"], 40)
        self.assertEqual(everything["launches"][0]["counters"]["stores"], 313)
        self.assertEqual(everything["launches"][0]["profiled_cycles"], everything["launches"][0]["cycles"] + 5000)
        self.assertEqual(len(everything["copies"]), 3)
        self.assertEqual(differences("A CUDA program", everything), ([], []))

    def test_timeline(self):
        with tempfile.TemporaryDirectory() as folder:
            timeline, everything = os.path.join(folder, "t.json"), os.path.join(folder, "all.json")
            done = run("-q", "--timeline", timeline, "--json", everything, "--", program("streams"))
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            with open(timeline, encoding="utf-8") as file:
                lines = file.read().splitlines()
                events = json.loads("".join(lines))["traceEvents"]
            with open(everything, encoding="utf-8") as file:
                everything = json.load(file)
            again = os.path.join(folder, "again.json")
            run("-q", "--timeline", again, "--", program("streams"))
            with open(again, encoding="utf-8") as file:
                self.assertEqual(file.read().splitlines(), lines)
        slices = [event for event in events if event["ph"] == "X"]
        self.assertEqual(len(slices), len(everything["launches"]) + len(everything["copies"]))
        launches = sorted((launch["start_cycle"], launch["cycles"], launch["stream"], launch["kernel"]) for launch in everything["launches"])
        self.assertEqual(sorted((event["args"]["start_cycle"], event["args"]["end_cycle"] - event["args"]["start_cycle"], event["tid"],
                                 event["name"]) for event in slices if "grid" in event["args"]), launches)
        self.assertEqual({event["tid"] for event in events if event["name"] == "thread_name"}, {event["tid"] for event in slices})
        # The counter is what the slices say, at every change.
        kernels = [event for event in events if event["ph"] == "C" and event["name"] == "kernels"]
        self.assertGreater(len(kernels), 1)
        self.assertEqual(kernels[-1]["args"]["kernels"], 0)
        for event in kernels:
            under_way = sum(slice_["ts"] <= event["ts"] + 1e-6 < slice_["ts"] + slice_["dur"] - 1e-6 for slice_ in slices if "grid" in slice_["args"])
            self.assertEqual(event["args"]["kernels"], under_way)
        self.assertIn("--functional has not", run("--functional", "--timeline", "t.json", "--", program("streams")).stderr)

    def timed(self, *options):
        """Numbers, from 1, of the launches of the program `profiled` that are timed, by kernel; its results are right in any case."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "all.json")
            done = run("--json", path, *options, "--", program("profiled"))
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path, encoding="utf-8") as file:
                everything = json.load(file)
        self.assertEqual(differences("A CUDA program", everything), ([], []))
        launches = sorted(everything["launches"], key=lambda launch: launch["start_cycle"])
        self.assertEqual([launch["timed"] for launch in launches], [launch["cycles"] > 0 for launch in launches])
        self.assertTrue(all(launch["counters"]["thread_instructions"] > 0 for launch in launches))
        for launch in launches:  # what was not counted is not 0
            unknown = [name for name, value in launch["counters"].items() if value is None]
            self.assertEqual(len(launch["counters"]) - len(unknown), len(launch["counters"]) if launch["timed"] else 3)
            # The gtx980 runs PTX as it is written.
            self.assertEqual(launch["counters"]["ptx_thread_instructions"], launch["counters"]["thread_instructions"])
        timed = sum(launch["timed"] for launch in launches)
        self.assertIn("gtx980 at 1216 MHz: 20 launches" + (f", {timed} of them timed" if timed < 20 else ""), done.stderr)
        return [(launch["kernel"], launch["cycles"]) for launch in launches if launch["timed"]]

    def test_a_region(self):
        whole = self.timed()
        self.assertEqual(len(whole), 20)
        region = self.timed("--profiled")
        self.assertEqual([kernel for kernel, _ in region], ["advance", "turn"] * 3)
        # Alone on the machine, as in the whole program; the first ones find colder caches.
        for (_, cycles), (_, before) in zip(region[2:], whole[8:12]):
            self.assertLess(abs(cycles / before - 1), 0.1)
        self.assertEqual([kernel for kernel, _ in self.timed("--kernel", "advance")], ["advance"] * 10)
        self.assertEqual([kernel for kernel, _ in self.timed("--kernel", "turn", "--launch", "2-4")], ["turn"] * 3)
        self.assertEqual([kernel for kernel, _ in self.timed("--launch=3-4")], ["advance", "turn"])
        self.assertEqual([kernel for kernel, _ in self.timed("--launch=2", "--profiled")], ["turn"])
        self.assertEqual(self.timed("--kernel", "tur"), [])
        self.assertEqual(run("-q", "--kernel", "tur", "--", program("profiled")).stderr,
                         f"corun: warning: {program('profiled')} has launched no kernel `tur` (--kernel); it has launched others: advance, turn\n")
        self.assertEqual([kernel for kernel, _ in self.timed("--kernel", "_Z4turnILi7EEvPiPKi")], ["turn"] * 10)

    def test_sampled(self):
        """Every launch of `heat` is carried out, few are timed: it finds the same, and its cycles are nearly those of a run in full."""
        with tempfile.TemporaryDirectory() as folder:
            told = []
            for options in ([], ["--sample"]):
                path = os.path.join(folder, "all.json")
                done = run("--json", path, *options, "--", program("heat"))
                self.assertEqual(done.returncode, 0, done.stderr)
                with open(path, encoding="utf-8") as file:
                    told.append((done.stdout, json.load(file), done.stderr))
        (printed, full, _), (printed_too, sampled, table) = told
        self.assertEqual(printed, printed_too)
        sampling = sampled.pop("sampling")
        self.assertEqual(differences("A CUDA program", sampled), ([], []))
        self.assertEqual(differences("Sampling", {"sampling": sampling}), ([], []))
        self.assertNotIn("sampling", full)
        sums = [{kernel: sum(launch["cycles"] for launch in everything["launches"] if launch["kernel"] == kernel)
                 for kernel in ("diffuse", "largest_change")} for everything in (full, sampled)]
        for kernel, cycles in sums[0].items():
            self.assertLess(abs(sums[1][kernel] / cycles - 1), 0.03)
        for before, launch in zip(full["launches"], sampled["launches"]):
            self.assertEqual(before["counters"]["thread_instructions"], launch["counters"]["thread_instructions"])
        self.assertEqual(sampling["launches"], 143)
        self.assertEqual(sampling["launches_timed"], 143 - sum(launch.get("estimated", False) for launch in sampled["launches"]))
        self.assertLess(sampling["launches_timed"], 50)
        self.assertEqual(sampling["cycles"], sum(sums[1].values()))
        self.assertEqual([group["kernel"].strip("_Z0123456789")[:7] for group in sampling["groups"]], ["diffuse", "largest"])
        self.assertRegex(table, r"estimated: \d+ cycles of launches, ± \d\.\d\d % \(95 %\); \d+\.\d % of the instructions timed")
        self.assertRegex(table, r"diffuse +36 +130 +\d+ +0 +\d+\.\d % +\d+ +± \d\.\d\d %")

    def test_profile(self):
        """Every warp instruction of every launch is at a line; the cycles are those without a profile."""
        told = []
        for options in ([], ["--profile"], ["--profile", "--threads", "2"]):
            done = run("-q", "--json", "-", *options, "--", program("heat"))
            self.assertEqual(done.returncode, 0, done.stderr)
            told.append(json.loads(done.stdout))
        plain, profiled, threads = told
        self.assertEqual(profiled, threads)
        profile = profiled.pop("profile")
        self.assertEqual(profiled, plain)
        self.assertEqual(differences("Profiles", {"profile": profile}), ([], []))
        self.assertEqual([kernel["kernel"] for kernel in profile], ["diffuse", "largest_change"])
        for kernel in profile:
            for counter in ("warp_instructions", "thread_instructions"):
                self.assertEqual(sum(line[counter] for line in kernel["lines"]),
                                 sum(launch["counters"][counter] for launch in plain["launches"] if launch["symbol"] == kernel["symbol"]))
            self.assertEqual(kernel["lines"], sorted(kernel["lines"], key=lambda line: line["line"]))
        done = run("--profile", "--", program("heat"))
        self.assertIn("kernel diffuse: warp instructions, and warp cycles waited before them for", done.stderr)
        self.assertRegex(done.stderr, r"\d+ +37440 +32\.0 .* st\.shared\.f32")
        self.assertIn("--functional has not", run("--profile", "--functional", "--", program("heat")).stderr)

    def test_profile_of_a_region(self):
        """Only what is timed is in it."""
        done = run("-q", "--profile", "--kernel", "advance", "--json", "-", "--", program("profiled"))
        self.assertEqual([kernel["kernel"] for kernel in json.loads(done.stdout)["profile"]], ["advance"])

    def test_wrong_samples(self):
        self.assertIn("--sample: expected error=PART or every=N, found `x`", run("--sample=x", "--", program("heat")).stderr)
        self.assertIn("--functional has not", run("--sample", "--functional", "--", program("heat")).stderr)
        self.assertIn("CORUN_CUDA_SAMPLE: every is a number of launches", run("--", program("heat"), CORUN_CUDA_SAMPLE="every=0").stderr)

    def test_wrong_regions(self):
        for launches in ("0", "3-2", "x", "1-", "-1", "", "1-2-3", "1;profiler"):
            self.assertIn("--launch is a launch or a range of them", run("--launch", launches, "--", program("profiled")).stderr)
        self.assertIn("--functional times nothing", run("--functional", "--profiled", "--", program("profiled")).stderr)
        self.assertIn("CORUN_CUDA_REGION is like profiler;launch=3-5;kernel=NAME",
                      run("--", program("profiled"), CORUN_CUDA_REGION="profile").stderr)

    def test_script_without_first_line(self):
        with tempfile.TemporaryDirectory() as folder:
            script, other = os.path.join(folder, "run"), os.path.join(folder, "other")
            with open(script, "w", encoding="utf-8") as file:
                file.write(f"{program('vector_add')} && exit $1\n")
            with open(other, "wb") as file:
                file.write(b"\x7fELF" + bytes(60))
            os.chmod(script, 0o755)
            os.chmod(other, 0o755)
            done = run("--", script, "7")
            self.assertEqual(done.returncode, 7, done.stderr)
            self.assertIn("gtx980 at 1216 MHz: 1 launch", done.stderr)
            done = run("--", other)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("cannot be started", done.stderr)

    def test_same_every_time(self):
        names = ("host_memory", "streams", "graph", "reduction")
        for name in names:
            outputs = set()
            for threads in ("1", "1", "2"):
                done = run("-q", "--threads", threads, "--json", "-", "--", program(name))
                self.assertEqual(done.returncode, 0, done.stderr)
                outputs.add(done.stdout)
            self.assertEqual(len(outputs), 1, name)

    def test_functions_that_wait(self):
        """They take no time of the GPU's, whatever else the host does; the program's end does not wait for one."""
        outputs = set()
        for others in (0, 4):
            busy = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(others)]
            try:
                for _ in range(2):
                    done = run("-q", "--patience", "600s", "--json", "-", "--", program("function_thread"))
                    self.assertEqual(done.returncode, 0, done.stderr)
                    outputs.add(done.stdout)
            finally:
                for process in busy:
                    process.kill()
                    process.wait()
        self.assertEqual(len(outputs), 1)
        for options in ((), ("--functional",)):
            done = run("-q", "--patience", "600s", "--wall-timeout", "100s", *options, "--", program("function_thread"), "exit")
            self.assertEqual((done.returncode, done.stderr), (7, ""))

    def test_a_full_disk(self):
        """Where the launches cannot all be recorded: what could be is told, and that this is not all."""
        known = []
        for blocks in (0, 1, 2):
            done = run("-q", "--json", "-", "--", "sh", "-c",
                       f"trap '' XFSZ; ulimit -f {blocks}; exec {program('streams')} functional")
            self.assertEqual(done.returncode, 13, done.stderr)
            self.assertIn("cannot be recorded: File too large", done.stderr)
            self.assertIn("not all that the program launched could be recorded", done.stderr)
            known.append(len(json.loads(done.stdout)["launches"]))
        self.assertEqual((known[0], known == sorted(known), known[2] > 0), (0, True, True), known)

    def test_signals_are_those_of_a_shell(self):
        """What corun does about signals for itself is not handed down, as that a file which may not become longer is no end."""
        done = run("-q", "--", "cat", "/proc/self/status")
        bits = {line.split(":")[0]: int(line.split()[1], 16) for line in done.stdout.splitlines() if line.startswith(("SigIgn", "SigCgt"))}
        for number in (signal.SIGXFSZ, signal.SIGPIPE):
            self.assertEqual([bits[name] >> number - 1 & 1 for name in ("SigIgn", "SigCgt")], [0, 0], number)

    def test_a_process_that_ends_with_exit(self):
        """_exit, which libraries do not see: what a child had launched until then is known as that of its parent."""
        done = run("-q", "--json", "-", "--", program("forked"), "functional")
        self.assertEqual(done.returncode, 0, done.stderr)
        processes = [launch["process"] for launch in json.loads(done.stdout)["launches"]]
        self.assertEqual(sorted(processes.count(process) for process in set(processes)), [1, 2])

    def test_exit_status_is_the_programs(self):
        for status in (0, 1, 42, 255):
            self.assertEqual(run("-q", "--", "sh", "-c", f"exit {status}").returncode, status)
        self.assertEqual(run("-q", "--", "sh", "-c", "kill -9 $$").returncode, 128 + 9)
        # A pipe that nobody reads ends it, as without corun.
        self.assertEqual(run("-q", "--", "sh", "-c", "kill -PIPE $$; exit 3").returncode, 128 + 13)

    def test_refused_launches(self):
        """A program that does not look at errors does not end well without the results of a kernel."""
        said = r"corun: kernel everywhere cannot be launched: module\.ptx:9: not supported: multimem\.red"
        done = run("-q", "--json", "-", "--", program("refused"), "careless")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(len(json.loads(done.stdout)["launches"]), 2)
        first, last = done.stderr.splitlines()
        self.assertRegex(first, said)
        self.assertIn("has ended with status 0 without launches of kernel everywhere (module.ptx:9: not supported", last)
        self.assertIn("--keep-status", last)
        done = run("-q", "--keep-status", "--", program("refused"), "careless")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (0, 1), done.stderr)
        done = run("-q", "--", program("refused"), "careful")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (3, 1), done.stderr)
        self.assertRegex(done.stderr, said)

    def test_kernels_that_call_what_is_refused(self):
        done = run("-q", "--", program("refused"), "careless", "through")
        self.assertEqual(done.returncode, 4, done.stderr)
        said = r"corun: kernel through cannot be launched: module\.ptx:17: not supported: multimem\.red\S* \(function strange\)"
        self.assertRegex(done.stderr, said)

    def test_long_call(self):
        """Whoever waits in a call for seconds, or for a processor, is not helped: cycles are those of a short call on a host with nothing else to do."""
        launches = []
        for words in ((), ("hasty",), ("starved",)):
            done = run("-q", "--json", "-", "--", program("long_call"), *words)
            self.assertEqual(done.returncode, 0, done.stderr)
            launches.append(json.loads(done.stdout)["launches"])
        self.assertEqual(len(launches[0]), 241)
        self.assertEqual(launches[1], launches[0])
        self.assertEqual(launches[2], launches[0])

    def test_many_launches(self):
        """Nothing of them stays in the program; the table has them all."""
        done = run("--", program("many_launches"), "4000")
        self.assertEqual(done.returncode, 0, done.stderr)
        first, last = (float(mib) for mib in re.findall(r"([\d.]+) MiB", done.stdout))
        self.assertLess(last - first, 0.5, done.stdout)
        self.assertIn("gtx980 at 1216 MHz: 4000 launches\n", done.stderr)
        self.assertRegex(done.stderr, r"add_one +4000 ")

    def test_kernel_timeout(self):
        """The kernel that ran before is told as ever; one that stores for ever ends, with where it was and for how long."""
        for timeout, least in (("100us", 121600), ("150K", 150000)):
            outputs = set()
            for threads in ("1", "2"):
                done = run("-q", "--kernel-timeout", timeout, "--threads", threads, "--json", "-", "--", program("endless"))
                outputs.add(done.stdout + done.stderr)
            self.assertEqual(len(outputs), 1)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(done.stdout.startswith("launched\n702 702\n"), done.stdout)
            self.assertEqual([launch["kernel"] for launch in json.loads(done.stdout.split("\n", maxsplit=2)[2])["launches"]],
                             ["add_one"])
            found = re.fullmatch(r"corun: module\.ptx:(1[01]): .*kernel store_for_ever has run for (\d+) cycles "
                                 r"\((0\.1\d+) ms\), longer than it may; of 4 warps on the SMs: .* at line \1.*\n", done.stderr)
            self.assertTrue(found, done.stderr)
            self.assertTrue(least <= int(found[2]) <= least + 2 * 10000, found[2])
        done = run("-q", "--kernel-timeout", "10ms", "--", program("vector_add"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for words in (["--kernel-timeout", "soon"], ["--kernel-timeout", "0"], ["--kernel-timeout", "1m30s"],
                      ["--functional", "--kernel-timeout", "1ms"], ["--wall-timeout", "10"], ["--wall-timeout", "-1s"]):
            self.assertEqual(run(*words, "--", "true").returncode, 2, words)

    def test_patience(self):
        """A program that looks at memory is helped after that time, also if `corun exec` is not what says so."""
        done = run("-q", "--patience", "20ms", "--", program("polling"))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        given = run("-q", "--patience", "20ms", "--", "sh", "-c", "echo $CORUN_CUDA_PATIENCE").stdout
        self.assertEqual(given, "20ms\n")
        done = run("-q", "--", "env", "CORUN_CUDA_PATIENCE=5M", program("vector_add"))
        self.assertIn("CORUN_CUDA_PATIENCE is a time like 50ms or 3s, not `5M`", done.stderr)
        for words in ("soon", "0s", "1m", "2h", "100"):
            self.assertIn("--patience is a time like 50ms or 3s", run("--patience", words, "--", "true").stderr)

    def test_wall_timeout(self):
        done = run("--wall-timeout", "1s", "--", program("endless"))
        self.assertEqual((done.returncode, done.stdout), (15, "launched\n"), done.stderr)
        self.assertIn("1 launch\n", done.stderr)
        self.assertIn("endless has not ended within 1 s (--wall-timeout), and has been ended", done.stderr)
        # One that does not want to is ended all the same, with what it has started.
        done = run("-q", "--wall-timeout", "1s", "--", "sh", "-c", "trap '' TERM; sleep 1000 & sleep 1000; sleep 1000")
        self.assertEqual(done.returncode, 15, done.stderr)
        self.assertEqual(run("-q", "--wall-timeout", "1h", "--", "sh", "-c", "exit 3").returncode, 3)

    def test_arguments_are_the_programs(self):
        done = run("sh", "-c", "echo $0 $1", "--csv", "-q")
        self.assertEqual((done.returncode, done.stdout), (0, "--csv -q\n"))

    def test_what_is_wrong(self):
        self.assertEqual(run("--", "/nonexistent/program").returncode, 5)
        self.assertEqual(run("--", "no-such-program").returncode, 5)
        done = subprocess.run([CORUN, "exec", "echo", "found"], env={}, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, "found\n"), done.stderr)
        self.assertEqual(run("--gpu", "no-such-gpu", "--", "true").returncode, 5)
        self.assertEqual(run().returncode, 2)
        done = run("--gpu", "gtx980:sms=0", "--", "true")
        self.assertEqual(done.returncode, 6, done.stderr)

    def mistake(self, which, *options):
        done = run("-q", *options, "--", program("mistakes"), which)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 0 if which == "none" else 1, done.stderr)
        return done.stderr

    def test_mistakes_are_named(self):
        """What a user reads of a mistake, with timing and without: with --check it is a fault, without it the program may continue."""
        line = r"corun: mistakes\(1\)\.ptx:\d+: "
        freed = (r"0x10000201510.* a use after free: 16 bytes into the 4096 bytes of allocation 2 \(cudaMalloc\) at "
                 r"0x10000201500, freed by cudaFree after 1 launch")
        thread = r".*kernel \w+, thread block \(0,0,0\), thread \(0,0,0\): "
        for options in ((), ("--functional",)):
            with self.subTest(options=options):
                check = ("--check", "memory,sync", *options)
                self.assertRegex(self.mistake("store after free", *options), line + thread + "store of 4 bytes at .* " + freed)
                self.assertRegex(self.mistake("load after free", *options), line + r"note: kernel \w+ loads 4 bytes at " + freed)
                self.assertRegex(self.mistake("load after free", *check), line + thread + "load of 4 bytes at .* " + freed)
                self.assertRegex(self.mistake("free twice", *options),
                                 "note: cudaFree of 0x10000201500, which was freed before by cudaFree after 1 launch")
                self.assertRegex(self.mistake("shared", *options),
                                 thread + "store of 4 bytes at shared address 0x100 is out of bounds: the thread block has 40 bytes")
                self.assertRegex(self.mistake("host pointer", *options), thread + "store of 4 bytes .* a host pointer, by its looks")
                self.assertRegex(self.mistake("free twice on the device", *options),
                                 line + thread + "free of 0x[0-9a-f]+, which was freed before")
                self.assertRegex(self.mistake("free by all", *options), "free of 0x[0-9a-f]+, which another thread of the warp frees")
                self.assertRegex(self.mistake("free of nothing", *options), "free of 0x[0-9a-f]+, which malloc has not given")
                self.assertRegex(self.mistake("use after free on the device", *check), line + thread +
                                 r"store of 4 bytes .* use after free: 12 bytes into the 112 bytes of a block that malloc gave at "
                                 r"0x[0-9a-f]+, freed by the free at line \d+ of kernel release$")
                self.assertRegex(self.mistake("barrier", *options), line + "note: .* comes to barrier 0 with 16 of the 32 threads")
                self.assertRegex(self.mistake("barrier", *check), line + thread + "divergent barrier 0: 16 of the 32 threads of warp 0")
                self.assertRegex(self.mistake("mask", *options), line + "note: .* waits with mask 0xffffffff for thread .16,0,0. of "
                                 r"thread block .0,0,0., which is at line \d+ and cannot come; the 16 threads that have come")
                self.assertRegex(self.mistake("mask", *check), line + thread + "divergent operation of a warp: 16 threads of warp 0 wait")
                self.mistake("none", *check)
                done = run("-q", *check, "--", program("device_heap"), *options[1:])  # which frees and allocates a lot
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_wrong_checks(self):
        done = run("--check", "memory,race", "--", "true")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--check: `memory,race` is no list of checks; there are memory, sync", done.stderr)
        done = subprocess.run([CORUN, "exec", "--", program("vector_add")], env=dict(os.environ, CORUN_CUDA_CHECK="race"),
                              capture_output=True, text=True, check=False)
        self.assertIn("CORUN_CUDA_CHECK: `race` is no list of checks", done.stderr)

    def test_slices(self):
        rows = []
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "out.json")
            for slices in ((), ("--slice", "1/4:3")):
                done = run("-q", "--json", out, *slices, "--", program("vector_add"))
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                with open(out, encoding="utf-8") as file:
                    rows.append(json.load(file)["launches"])
        self.assertEqual(*([row["grid"] for row in launches] for launches in rows))
        for whole, sliced in zip(*rows):
            self.assertGreater(sliced["counters"]["warp_instructions"], whole["counters"]["warp_instructions"])
            self.assertGreater(sliced["cycles"], whole["cycles"])
        for wrong in ("0", "1/0", "2/3", "x", "5:", "1:y"):
            done = run("--slice", wrong, "--", "true")
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"not `{wrong}`", done.stderr)

    def test_faults_name_their_place(self):
        done = run("-q", "--", program("fault"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"fault\(1\)\.ptx:\d+: .*kernel store, thread block \(0,0,0\), thread \(0,0,0\): "
                                      r"store of 4 bytes at .*0x[0-9a-f]+")
        self.assertEqual(done.stderr.count("misaligned store"), 1)

    def test_records_of_killed_programs(self):
        script = f"{program('vector_add')}; kill -9 $$"
        done = run("--", "sh", "-c", script)
        self.assertEqual(done.returncode, 137)
        self.assertIn("1 launch", done.stderr)

    def test_two_at_once(self):
        running = [subprocess.Popen([CORUN, "exec", "-q", "--", program("streams")]) for _ in range(2)]
        self.assertEqual([process.wait(timeout=60) for process in running], [0, 0])


def static_runtime(folder, text=b"cudaErrorCudartUnloading\0"):
    """An ELF file with a section .nv_fatbin and no libcudart, made by hand, with a text of the static runtime."""
    path = os.path.join(folder, "static")
    names = b"\0.nv_fatbin\0.shstrtab\0"
    header = 64
    sections = header + len(names) + (-len(names)) % 8
    elf = b"\x7fELF\x02\x01\x01" + bytes(9)
    elf += (3).to_bytes(2, "little") + (62).to_bytes(2, "little") + (1).to_bytes(4, "little") + bytes(16)
    elf += sections.to_bytes(8, "little") + bytes(4)
    for value in (64, 56, 0, 64, 3, 2):
        elf += value.to_bytes(2, "little")
    elf += bytes(header - len(elf)) if len(elf) < header else b""
    elf = elf[:header] + names + bytes((-len(names)) % 8)

    def section(name, kind, offset, size):
        return (name.to_bytes(4, "little") + kind.to_bytes(4, "little") + bytes(16) + offset.to_bytes(8, "little") +
                size.to_bytes(8, "little") + bytes(24))
    elf += section(0, 0, 0, 0) + section(1, 1, header, 1) + section(12, 3, header, len(names)) + text
    with open(path, "wb") as file:
        file.write(elf)
    os.chmod(path, 0o755)
    return path


class Programs(unittest.TestCase):
    def test_static_runtime_is_told_before(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run("--", static_runtime(folder))
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("-cudart shared", done.stderr)

    def test_device_code_without_a_runtime(self):
        """A program of the driver API that nvcc has linked has an empty section of device code: it is started, here in vain."""
        with tempfile.TemporaryDirectory() as folder:
            done = run("--", static_runtime(folder, b""))
        self.assertNotIn("static runtime", done.stderr)
        self.assertNotEqual(done.returncode, 4, done.stderr)

    def test_static_runtime_that_is_left_with_its_symbols(self):
        """In the program, in one that a script starts, and stripped."""
        self.assertEqual(run("-q", "--", program("vector_add-static")).returncode, 0)
        done = run("--", "sh", "-c", f"{program('vector_add-static')}; exit $?")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"add +1 ")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "stripped")
            if subprocess.run(["strip", "-o", path, program("vector_add-static")], check=False).returncode:
                self.skipTest("no strip")
            done = run("--", path)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("stripped", done.stderr)

    def test_libraries_that_are_opened(self):
        """One with a stripped static runtime, and one of machine code only: said when they are opened, as nothing else tells why their calls fail."""
        stripped, code = "its symbol table, by which that is found, was stripped off", "its kernels are machine code only"
        source = 'const char name[] = "cudaErrorCudartUnloading";\n__attribute__((section(".nv_fatbin"))) const char code[] = "code";\n'
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "code.c"), "w", encoding="utf-8") as file:
                file.write(source)
            for name, options, told in (("plugin.so", ["-s"], stripped), ("libcublas.so.13", [], code), ("libother.so", ["-s", "-D__attribute__(x)="], None)):
                path = os.path.join(folder, name)
                subprocess.run(["cc", "-shared", *options, "-o", path, os.path.join(folder, "code.c")], check=True)
                done = run("-q", "--", sys.executable, "-c", f"import ctypes; ctypes.CDLL('{path}')")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual([text for text in (stripped, code) if text in done.stderr], [told] if told else [], done.stderr)
                self.assertEqual(f"corun: note: {path} " in done.stderr, bool(told))

    def test_a_library_of_several(self):
        """cuBLAS is two libraries, one of which brings the other: said once; what else is opened is said, too."""
        source = 'const char name[] = "cudaErrorCudartUnloading";\n__attribute__((section(".nv_fatbin"))) const char code[] = "code";\n'
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "code.c"), "w", encoding="utf-8") as file:
                file.write(source)
            names = ("libcublasLt.so.13", "libcublas.so.13", "libcufft.so.12")
            for name in names:
                needed = [f"-L{folder}", "-Wl,--no-as-needed", "-l:libcublasLt.so.13", f"-Wl,-rpath,{folder}"] if name == names[1] else []
                subprocess.run(["cc", "-shared", "-o", os.path.join(folder, name), os.path.join(folder, "code.c"), *needed], check=True)
            opened = "; ".join(f"ctypes.CDLL('{os.path.join(folder, name)}')" for name in names[1:])
            done = run("-q", "--", sys.executable, "-c", f"import ctypes; {opened}")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr.count("its kernels are machine code only"), 2, done.stderr)
        self.assertIn("libcufft.so.12 was opened", done.stderr)

    def test_a_program_without_a_dynamic_linker(self):
        """Nothing can bring it our runtime: said before it starts. One that has nothing to do with CUDA starts."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "whole")
            for text, status in (("cudaErrorCudartUnloading", 4), ("nothing", 0)):
                with open(path + ".c", "w", encoding="utf-8") as file:
                    file.write(f'#include <stdio.h>\nint main(void)\n{{\n    return puts("{text}") < 0;\n}}\n')
                if subprocess.run(["cc", "-static", "-o", path, path + ".c"], check=False).returncode:
                    self.skipTest("no static C library")
                done = run("-q", "--", path)
                self.assertEqual((done.returncode, done.stdout), (status, "" if status else text + "\n"), done.stderr)
                self.assertEqual("it is linked without a dynamic linker (-static)" in done.stderr, status == 4)

    def test_static_runtime_without_our_libraries(self):
        """A function that is led away needs our libcudart: said, not a crash."""
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(os.path.join(os.path.dirname(CORUN), "cuda/libcorun-static-runtime.so"), folder)
            environment = {**os.environ, "LD_AUDIT": os.path.join(folder, "libcorun-static-runtime.so")}
            environment["LD_LIBRARY_PATH"] = os.path.join(os.path.dirname(CORUN), "cuda")  # libcuda
            done = subprocess.run([program("vector_add-static")], env=environment, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 127, done.stderr)
        self.assertRegex(done.stderr, "^corun: __cudaRegisterFatBinary of CUDA's static runtime was called, but .*libcudart.so.12 cannot be")

    def test_broken_files(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(static_runtime(folder), "rb") as file:
                good = file.read()
            path = os.path.join(folder, "broken")
            for length in (1, 10, 63, 64, 70, 100, len(good) - 1):
                with open(path, "wb") as file:
                    file.write(good[:length])
                os.chmod(path, 0o755)
                self.assertIn(run("--", path).returncode, (4, 13, 126, 127), length)

    def test_file_that_was_cut_off(self):
        """Said, where the system would start it and end it with a signal."""
        with open(program("vector_add-static"), "rb") as file:
            good = file.read()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "short")
            with open(path, "wb") as file:
                file.write(good[:len(good) // 4])
            os.chmod(path, 0o755)
            done = run("--", path)
        self.assertEqual(done.returncode, 5, done.stderr)
        self.assertRegex(done.stderr, r"is cut off: it has \d+ bytes, and what is loaded of it ends at byte \d+")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]] + sys.argv[3:])
