#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The command line as a whole: results, messages and exit statuses. Usage: test_cli.py CORUN [TEST...]"""
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import programs
from json_page import differences

CORUN = None
OK, USAGE, SYNTAX, UNSUPPORTED, NOT_FOUND, ARGUMENT, LIMIT, FAULT, DEADLOCK, WATCHDOG = 0, 2, 3, 4, 5, 6, 7, 8, 9, 10
TIMEOUT = 15
POLICY, FILE, INTERRUPTED = 12, 13, 130
SMALL_GPU = "gtx980:sms=2"
UMASK = os.umask(0o022)
os.umask(UMASK)

HEADER = ".version 6.3\n.target sm_52\n.address_size 64\n"

# One kernel per way to go wrong, and two that go well. The comments with arrows are looked for by the tests.
HALF = """.version 7.0
.target sm_75
.address_size 64
.visible .entry half()
{
    .reg .pred %p; .reg .b32 %r;
    mov.u32 %r, %tid.x; setp.ge.u32 %p, %r, 16;
    @%p bra REST;
    bar.sync 0;
REST:
    mov.u32 %r, 1;
    ret;
}
"""

# Odd threads come to the barrier at once, even ones after a loop; each reads what its neighbour has stored before it came.
PARTS = """.version 7.0
.target sm_70
.address_size 64
.visible .entry parts(.param .u64 out)
{
    .reg .pred %p; .reg .b32 %r<9>; .reg .b64 %d<3>;
    .shared .align 4 .b8 s[256];
    ld.param.u64 %d0, [out];
    mov.u32 %r0, %tid.x; mov.u32 %r1, s; shl.b32 %r2, %r0, 2; add.u32 %r2, %r2, %r1;
    xor.b32 %r3, %r0, 1; shl.b32 %r3, %r3, 2; add.u32 %r3, %r3, %r1; add.u32 %r4, %r0, 100;
    mul.wide.u32 %d1, %r0, 4; add.u64 %d0, %d0, %d1;
    and.b32 %r5, %r0, 1; setp.ne.u32 %p, %r5, 0;
    @%p bra ODD;
    mov.u32 %r6, 0;
AGAIN:
    add.u32 %r6, %r6, 1; setp.lt.u32 %p, %r6, 100;
    @%p bra AGAIN;
    st.shared.u32 [%r2], %r4;
    barrier.sync 0;
    ld.shared.u32 %r7, [%r3];
    bra JOIN;
ODD:
    st.shared.u32 [%r2], %r4;
    barrier.sync 0;
    ld.shared.u32 %r7, [%r3];
JOIN:
    st.global.u32 [%d0], %r7;
    ret;
}
"""

# One kernel loads on and on, the other waits for a number that nobody stores; the third counts to no end in a circle of 8 states.
LOOPS = HEADER + """
.visible .entry long_sum(.param .u64 data, .param .u32 rounds)
{
    .reg .pred %p; .reg .b32 %r<6>; .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    ld.param.u32 %r1, [rounds];
    mov.u32 %r2, 0;
AGAIN:
    and.b32 %r3, %r1, 255;
    mul.wide.u32 %rd2, %r3, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r4, [%rd3];
    add.u32 %r2, %r2, %r4;
    sub.u32 %r1, %r1, 1;
    setp.ne.u32 %p, %r1, 0;
    @%p bra AGAIN;
    st.global.u32 [%rd1], %r2;
    ret;
}

.visible .entry wait_for(.param .u64 data)
{
    .reg .pred %p; .reg .b32 %r<3>; .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [data];
    mov.u32 %r2, %tid.x;
    setp.lt.u32 %p, %r2, 32;
    @%p bra AGAIN;
    bar.sync 0;
AGAIN:
    ld.volatile.global.u32 %r1, [%rd1];
    setp.eq.u32 %p, %r1, 0;
    @%p bra AGAIN;
    bar.sync 0;
    ret;
}

.visible .entry circle()
{
    .reg .b32 %r<2>;
    mov.u32 %r1, 0;
AGAIN:
    add.u32 %r1, %r1, 1;
    and.b32 %r1, %r1, 7;
    bra AGAIN;
}
"""

KERNELS = HEADER + """
.extern .func (.param .b32 result) vprintf(.param .b64 format, .param .b64 values);
.global .align 1 .b8 text[13] = {114, 101, 115, 117, 108, 116, 32, 37, 117, 10, 0, 0, 0};

.visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .f32 %f<4>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [a];
    ld.param.u64 %rd2, [b];
    ld.param.u64 %rd3, [c];
    ld.param.u32 %r1, [n];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    setp.ge.u32 %p1, %r5, %r1;
    @%p1 bra DONE;
    mul.wide.u32 %rd4, %r5, 4;
    add.s64 %rd5, %rd1, %rd4;
    add.s64 %rd6, %rd2, %rd4;
    add.s64 %rd7, %rd3, %rd4;
    ld.global.f32 %f1, [%rd5];
    ld.global.f32 %f2, [%rd6];
    add.f32 %f3, %f1, %f2;
    st.global.f32 [%rd7], %f3;
DONE:
    ret;
}

.visible .entry outside(.param .u64 data)
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %tid.x;
    setp.ne.u32 %p1, %r1, 2;
    @%p1 bra DONE;
    setp.ne.u32 %p1, %r2, 37;
    @%p1 bra DONE;
    st.global.u32 [%rd1+1048576], %r1; // <- out of bounds
DONE:
    ret;
}

.visible .entry stuck()
{
    .reg .pred %p<2>;
    .reg .b32 %r<4>;
    mov.u32 %r1, %tid.x;
    setp.lt.u32 %p1, %r1, 32;
    @%p1 bra FIRST;
    bar.sync 1, 64;
FIRST:
    bar.sync 0;
    ret;
}

.visible .entry endless()
{
    .reg .b32 %r<4>;
    mov.u32 %r1, 0;
AGAIN:
    bra AGAIN;
}

.visible .entry speak(.param .u32 value)
{
    .local .align 8 .b8 depot[8];
    .reg .b32 %r<4>;
    .reg .b64 %rd<6>;
    ld.param.u32 %r1, [value];
    mov.u64 %rd1, depot;
    cvta.local.u64 %rd2, %rd1;
    st.local.u32 [%rd1], %r1;
    mov.u64 %rd3, text;
    cvta.global.u64 %rd4, %rd3;
    {
        .param .b64 p0;
        .param .b64 p1;
        .param .b32 r0;
        st.param.b64 [p0], %rd4;
        st.param.b64 [p1], %rd2;
        call.uni (r0), vprintf, (p0, p1);
        ld.param.b32 %r2, [r0];
    }
    ret;
}
"""

DESCRIPTION = """\
name: {name}
summary: a test
character: compute
ptx: {ptx}
sizes:
  small: {{n: 4096}}
buffers:
  - {{name: data, type: f32, count: n, initial: {{uniform: [0, 1]}}, output: true}}
launches:
  - kernel: {kernel}
    grid: [n / 128]
    block: [128]
    arguments:
      - buffer: data
{arguments}"""

RUN_KEYS = {"gpu", "policy", "cycles", "seed", "threads", "applications", "sms", "dram", "interconnect", "energy", "stp",
            "antt", "fairness", "wall_seconds", "warp_instructions_per_second"}
APP_KEYS = {"name", "size", "goal", "goal_met", "runs", "thread_instructions", "warp_instructions", "cycles", "ipc",
            "ipc_isolated", "normalised_ipc", "l1_hit_rate", "l2_hit_rate", "dram_bytes", "energy_joules",
            "instructions_per_joule", "stalls", "kernels"}
LAUNCH_KEYS = {"cycles", "thread_instructions", "warp_instructions", "ipc", "registers_per_thread", "shared_bytes",
               "l1_hit_rate", "l2_hit_rate", "dram_bytes", "wall_seconds", "warp_instructions_per_second"}


def without_wall_time(text):
    """The JSON as text, less the lines that tell how long it took."""
    return "\n".join(line for line in text.splitlines()
                     if '"wall_seconds"' not in line and '"warp_instructions_per_second"' not in line)


class Command(unittest.TestCase):
    """A folder of files to work in, and a cache of its own."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="corun-cli-"))
        cls.environment = dict(os.environ, XDG_CACHE_HOME=str(cls.folder / "cache"), LC_ALL="C")
        cls.write("kernels.ptx", KERNELS)
        cls.write("work.ptx", programs.PTX)
        cls.write("work.yaml", DESCRIPTION.format(name="work", ptx="work.ptx", kernel="work", arguments="      - u32: 50\n"))
        cls.write("more.yaml", DESCRIPTION.format(name="more", ptx="work.ptx", kernel="work", arguments="      - u32: 90\n"))
        cls.write("bad.yaml", DESCRIPTION.format(name="bad", ptx="kernels.ptx", kernel="outside", arguments=""))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def write(cls, name, text):
        (cls.folder / name).write_text(text)

    def run_command(self, *arguments, status=OK, **settings):
        settings.setdefault("stdout", subprocess.PIPE)
        done = subprocess.run([CORUN, *arguments], cwd=self.folder, env=self.environment, stderr=subprocess.PIPE,
                              text=True, timeout=600, check=False, **settings)
        self.assertEqual(done.returncode, status, f"{arguments}: {done.stdout} {done.stderr}")
        return done

    def fails(self, status, words, *arguments):
        """Ends with this status and says these words on stderr; stdout has nothing."""
        done = self.run_command(*arguments, status=status)
        for word in words:
            self.assertIn(word, done.stderr)
        return done

    def launch(self, kernel, *arguments):
        return ("launch", "kernels.ptx", "--kernel", kernel, "--gpu", SMALL_GPU, *arguments)

    def line_of(self, words):
        return next(number for number, line in enumerate(KERNELS.splitlines(), 1) if words in line)


class Help(Command):
    def test_every_command_explains_itself(self):
        for command in self.commands():
            own = self.run_command(command, "--help").stdout
            self.assertIn("Exit status:", own)
            self.assertIn("a barrier can never be met", own)
            self.assertEqual(own, self.run_command("help", command).stdout)
            self.assertLessEqual(max(len(line) for line in own.splitlines()), 80, command)

    def test_the_list_of_commands_fits_80_columns(self):
        self.assertLessEqual(max(len(line) for line in self.run_command("--help").stdout.splitlines()), 80)

    def commands(self):
        """All but help, as it lists them."""
        rows = self.run_command("--help").stdout.split("Commands:\n")[1].split("\n\n")[0].splitlines()
        names = [row.split()[0] for row in rows]
        self.assertGreater(len(names), 10)
        self.assertEqual(names.pop(), "help")
        return names

    def test_the_man_page_has_every_option(self):
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "corun.1").read_text()
        for command in self.commands():
            self.assertIn(f".It Cm {command}\n", page)
            self.assertIn(f".Nm\n.Cm {command}\n", page.split(".Sh DESCRIPTION")[0])
            parts = page.split(f".Ss Options of {command}\n")
            part = parts[1].split("\n.S")[0] if len(parts) == 2 else ""
            known = set(re.findall(r"^\.It Fl (?:\w , )?-([a-z-]+)", part, re.M))
            text = self.run_command(command, "--help").stdout
            for below in re.findall(r"^  ([a-z]+) - ", text.partition("COMMAND is one of\n")[2], re.M):
                text += self.run_command(command, below, "--help").stdout
            told = set(re.findall(r"^  (?:-\w,|   ) --([a-z-]+)", text, re.M))
            self.assertEqual(told - {"help", "usage"}, known, command)

    def test_version(self):
        self.assertRegex(self.run_command("version").stdout, r"^corun \d+\.\d+\.\d+\n")
        self.assertEqual(self.run_command("--version").stdout, self.run_command("version").stdout)

    def test_wrong_usage(self):
        self.fails(USAGE, ["a command is missing"])
        self.fails(USAGE, ["did you mean `launch`"], "lanch")
        self.fails(USAGE, ["no command"], "help", "nothing")
        self.fails(USAGE, ["did you mean `launch`"], "help", "lanch")
        self.fails(USAGE, ["--no-such-option"], "run", "--no-such-option")
        self.fails(USAGE, ["an application is missing"], "run")
        self.fails(USAGE, ["a PTX file is missing"], "launch")
        self.fails(USAGE, ["did you mean `gpus`"], "list", "gpu")
        self.fails(USAGE, ["a program is missing"], "exec", "--threads", "2")
        self.fails(USAGE, ["--threads", "`many`"], "exec", "--threads", "many", "--", "true")
        self.fails(NOT_FOUND, ["parameters follow a size"], "run", "sgemm,k=8")
        for option in ("--cycles=0", "--cycles=-1", "--cycles=many", "--cycles=1T", "--cycles=99999999999999999999",
                       "--instructions=0", "--runs=0", "--seed=x", "--threads=0", "--watchdog=0", "--jobs=0"):
            self.fails(USAGE, [option.split("=", maxsplit=1)[0], option.split("=")[1]], "run", option, "work.yaml")

    def test_options_by_nearly_their_name(self):
        self.fails(USAGE, ["no option `--cycels`", "did you mean `--cycles`?"], "run", "--cycels", "5", "work.yaml")
        self.fails(USAGE, ["did you mean `--policy`?"], "run", "-qj", "-", "work.yaml", "--polcy=even")
        self.fails(USAGE, ["did you mean `--quiet`?"], "campaign", "--results", "--cycels", "--quite", "x.yaml")
        # What is a value, follows --, or is a program's own is none of ours; a beginning is enough.
        self.fails(NOT_FOUND, ["--cycels"], "check", "--", "--cycels")
        self.fails(NOT_FOUND, ["there is no kernel `--grd`"], "launch", "kernels.ptx", "--kernel", "--grd")
        self.assertEqual(self.run_command("exec", "echo", "--quite").stdout, "--quite\n")
        self.assertIn("corun run", self.run_command("run", "--hel").stdout)

    def test_names_of_files(self):
        self.fails(USAGE, ["--json: the name of the file is missing"], "run", "--json=", "work.yaml")
        self.fails(USAGE, ["--results: the name is missing"], "query", "--results=", "SELECT 1")
        self.fails(USAGE, ["--resume: the name is missing"], "run", "--resume=", "work.yaml")
        self.fails(NOT_FOUND, ["``: the name of a file is missing"], "check", "")
        self.fails(NOT_FOUND, ["'' is no name of a GPU"], "exec", "--gpu=", "--", "true")
        self.fails(NOT_FOUND, ["'' is no name of a GPU"], "capture", "--gpu=", "-o", "x.corun", "--", "true")
        self.fails(USAGE, ["--check: `none` is no list of checks; there are memory, sync\n"], "exec", "--check=none", "--", "true")
        self.fails(USAGE, ["--json and --trace cannot both"], "run", "--json", "-", "--trace", "-", "work.yaml")
        self.fails(FILE, ["no/x.json: cannot be written"], "exec", "--json", "no/x.json", "touch", "started")
        self.fails(FILE, ["no/x.corun: cannot be written"], "capture", "-o", "no/x.corun", "touch", "started")
        (self.folder / "x.corun").mkdir()
        self.fails(FILE, ["x.corun: cannot be written"], "capture", "-o", "x.corun", "touch", "started")
        self.assertFalse((self.folder / "started").exists(), "known before the program has run")
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("x.corun.")], [])

    def test_what_is_in_a_file_does_not_steer_the_terminal(self):
        (self.folder / "samples.csv").write_bytes(b"size,cores,ways,duration_ns,ipc\n\x1b[2J\x07,1,1,1,1\n")
        done = self.run_command("host", "train", "samples.csv", "-o", "-", status=SYNTAX)
        self.assertEqual(done.stderr, "corun: samples.csv:2:1: no number: '?[2J?'\n")
        done = self.run_command("check", "a\nname.ptx", status=NOT_FOUND)
        self.assertEqual(done.stderr.count("\n"), 1)

    def test_lists(self):
        gpus = self.run_command("list", "gpus").stdout
        for name in ("gtx980", "fx5800", "h100"):
            self.assertIn(name, gpus)
        self.assertIn("cooperative", self.run_command("list", "policies").stdout)
        sgemm = [line for line in self.run_command("list", "workloads").stdout.splitlines() if line.startswith("sgemm")]
        self.assertRegex(sgemm[0], "small medium large +m n k .*dense")
        self.assertIn("stall_barrier", self.run_command("list", "counters").stdout)
        self.assertIn("l2_bytes", self.run_command("list", "parameters").stdout)


class Check(Command):
    def test_tells_what_is_in_a_file(self):
        text = self.run_command("check", "kernels.ptx").stdout
        for name in ("add", "outside", "stuck", "endless", "speak"):
            self.assertRegex(text, rf"(?m)^{name} ")

    def test_registers_of_an_assembler(self):
        self.write("assembled.ptx", HEADER + ".visible .entry k()\n{\n    ret;\n}\n")
        self.assertIn("allocation", self.run_command("check", "assembled.ptx").stdout)
        self.write("assembled.ptxas", "ptxas info    : Compiling entry function 'k' for 'sm_75'\n"
                                      "ptxas info    : Function properties for k\n"
                                      "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
                                      "ptxas info    : Used 77 registers, 352 bytes cmem[0]\n")
        text = self.run_command("check", "assembled.ptx").stdout
        self.assertRegex(text, r"77\b.*assembler|assembler.*77\b")

    def test_functions_that_cuda_has(self):
        """malloc, free and launches of kernels are linked, as `corun exec` does; what nobody has is refused at its line."""
        heap = (".extern .func (.param .b64 result) malloc(.param .b64 bytes);\n.extern .func free(.param .b64 pointer);\n"
                ".extern .func (.param .b64 result) cudaGetParameterBufferV2(.param .b64 kernel, .param .align 4 .b8 grid[12], "
                ".param .align 4 .b8 block[12], .param .b32 shared);\n.extern .func nobody(.param .b64 pointer);\n")
        kernel = (".visible .entry k()\n{\n    .reg .b64 %d;\n    {\n    .param .b64 bytes;\n    .param .b64 result;\n"
                  "    st.param.b64 [bytes], 64;\n    call.uni (result), malloc, (bytes);\n    ld.param.b64 %d, [result];\n    }\n"
                  "    {\n    .param .b64 pointer;\n    st.param.b64 [pointer], %d;\n    call.uni {}, (pointer);\n    }\n    ret;\n}\n")
        self.write("heap.ptx", HEADER + heap + kernel.replace("{}", "free"))
        text = self.run_command("check", "heap.ptx").stdout
        self.assertIn("heap.ptx: 1 kernel;", text)
        self.assertRegex(text, r"(?m)^k +\d+ +allocation ")
        self.write("nobody.ptx", HEADER + heap + kernel.replace("{}", "nobody"))
        self.fails(UNSUPPORTED, ["nobody.ptx:21:", "nobody, which has no body here"], "check", "nobody.ptx")

    def test_registers_of_launch_bounds(self):
        """Launch bounds limit the registers of a kernel that takes more, on a GPU whose SM has too few for what is promised."""
        values = range(1, 81)
        body = (".visible .entry k(.param .u64 p)\n%s{\n    .reg .b32 %%r<82>;\n    .reg .b64 %%d;\n    ld.param.u64 %%d, [p];\n" +
                "".join(f"    ld.volatile.global.u32 %%r{i}, [%%d+{4 * i}];\n" for i in values) + "    mov.u32 %%r0, 0;\n" +
                "".join(f"    add.u32 %%r0, %%r0, %%r{i};\n" for i in values) + "    st.global.u32 [%%d], %%r0;\n    ret;\n}\n")
        for bounds, gpu, expected in ((".maxntid 1024\n", "gtx980", "64 +launch-bounds .* 1024 +1 "),
                                      (".reqntid 256\n.minnctapersm 5\n", "h100", "48 +launch-bounds .* 256 +5 "),
                                      (".maxntid 256\n.minnctapersm 4\n", "tesla-c2050", r"\d+ +launch-bounds .* 256 +"),
                                      (".maxntid 256\n", "gtx980", r"\d+ +allocation .* 256 +2 "),
                                      (".maxntid 1024\n.maxnreg 80\n", "gtx980", "80 +maxnreg .* 1024 +0 ")):
            self.write("bounds.ptx", HEADER + body % bounds)
            self.assertRegex(self.run_command("check", "bounds.ptx", "--gpu", gpu).stdout, "(?m)^k +" + expected)

    def test_names_of_cxx(self):
        """Messages say what people called a kernel, with a place; figures for machines keep the symbol."""
        symbol = "_ZN4math4fillILi7EfEEvPT0_"
        self.write("named.ptx", HEADER + f".visible .entry {symbol}(.param .u64 to)\n.reqntid 32\n{{\n    .reg .b64 %to;\n"
                                         "    ld.param.u64 %to, [to];\n    st.global.u32 [%to], 7;\n    ret;\n}\n")
        launch = ("launch", "named.ptx", "--gpu", SMALL_GPU)
        for mode in ((), ("--functional",)):
            done = self.fails(FAULT, [": kernel math::fill, thread block (0,0,0), thread (0,0,0): "], *launch, "--block", "32",
                              "--arg", "u64=0", *mode)
            self.assertRegex(done.stderr, r"named\.ptx:\d+: ")
            self.assertNotIn(symbol, done.stderr)
        self.fails(ARGUMENT, ["kernel math::fill requires blocks of (32,1,1)"], *launch, "--block", "64", "--arg", "u64=0")
        self.fails(ARGUMENT, ["kernel math::fill has 1 parameters"], *launch, "--block", "32")
        self.write("plain.ptx", (self.folder / "named.ptx").read_text().replace("st.global", "// "))
        self.run_command("launch", "plain.ptx", "--gpu", SMALL_GPU, "--block", "32", "--arg", "u64=0", "--json", "named.json")
        self.assertIn(f'"{symbol}"', (self.folder / "named.json").read_text())

    def test_malformed(self):
        self.write("malformed.ptx", HEADER + ".visible .entry k()\n{\n    .reg .b32 %r<2>;\n    mov.u32 %r1 %tid.x;\n    ret;\n}\n")
        self.fails(SYNTAX, ["malformed.ptx:7:"], "check", "malformed.ptx")
        self.fails(SYNTAX, ["malformed.ptx:7:"], "launch", "malformed.ptx", "--functional")
        self.write("empty.ptx", "")
        self.fails(SYNTAX, ["empty.ptx"], "check", "empty.ptx")

    def test_not_supported(self):
        self.write("unsupported.ptx", HEADER.replace("6.3", "8.0").replace("sm_52", "sm_90") +
                   ".visible .entry k()\n{\n    .reg .b32 %r<3>;\n    tcgen05.wait::ld.sync.aligned;\n    ret;\n}\n")
        self.fails(UNSUPPORTED, ["unsupported.ptx:7:", "tcgen05"], "check", "unsupported.ptx")

    def test_no_such_file(self):
        self.fails(NOT_FOUND, ["nowhere.ptx"], "check", "nowhere.ptx")
        self.fails(FILE, ["."], "check", ".")


class Rewrite(Command):
    MEETS = ".visible .entry meets()\n{\n    .reg .b32 %r;\n    mov.u32 %r, %envreg1;\n    ret;\n}\n"

    def test_slices(self):
        text = self.run_command("rewrite", "slice", "kernels.ptx", "-o", "sliced.ptx").stdout
        for name in ("add", "outside", "stuck", "endless", "speak"):
            self.assertRegex(text, rf"(?m)^(kernels.ptx)? +{name} +yes ")
        self.assertIn("5 of 5 kernels sliced", text)
        again = self.run_command("check", "sliced.ptx").stdout
        self.assertRegex(again, r"(?m)^add ")
        self.assertEqual(self.run_command("rewrite", "slice", "-o", "-", "kernels.ptx").stdout,
                         (self.folder / "sliced.ptx").read_text())

    def test_a_slice_is_launched(self):
        self.run_command("rewrite", "slice", "-q", "kernels.ptx", "-o", "sliced.ptx")
        vectors = ("--block", "64", "--arg", "buf=4000:iota", "--arg", "buf=4000:f32=0.5", "--save", "2=part.bin",
                   "--arg", "buf=4000", "--arg", "u32=1000")
        # Thread blocks 3 to 7 of 16, as struct slice_arguments says it.
        (self.folder / "slice.bin").write_bytes(struct.pack("<8IQ", 3, 16, 0, 1, 0, 1, 2**32 // 16, 2**32 - 1, 0))
        self.run_command("launch", "sliced.ptx", "--kernel", "add", "--grid", "5", *vectors, "--arg", "bytes=@slice.bin")
        wanted = struct.pack("<1000f", *[0.5 if 192 <= i < 512 else 0 for i in range(1000)])
        self.assertTrue((self.folder / "part.bin").read_bytes() == wanted)

    def test_refuses_by_name_and_continues(self):
        self.write("meets.ptx", HEADER + self.MEETS + ".visible .entry plain()\n{\n    ret;\n}\n")
        text = self.run_command("rewrite", "slice", "meets.ptx", "kernels.ptx").stdout
        self.assertRegex(text, r"meets +no .* line 7: reads %envreg1: all thread blocks of its grid wait")
        self.assertRegex(text, r"plain +yes")
        self.assertIn("6 of 7 kernels sliced", text)

    def test_json(self):
        self.write("meets.ptx", HEADER + self.MEETS)
        self.run_command("rewrite", "slice", "--json", "slices.json", "kernels.ptx", "meets.ptx")
        written = json.loads((self.folder / "slices.json").read_text())
        self.assertEqual(differences("Rewritten kernels", written), ([], []))
        self.assertEqual((written["pass"], written["kernels"], written["rewritten"]), ("slice", 6, 5))
        self.assertEqual([kernel["rewritten"] for kernel in written["files"][1]["kernels"]], [False])
        self.assertEqual(written["files"][0]["kernels"][0]["reads"], ["%ctaid.x"])
        self.run_command("rewrite", "workers", "--json", "workers.json", "kernels.ptx")
        written = json.loads((self.folder / "workers.json").read_text())
        self.assertEqual(differences("Rewritten kernels", written), ([], []))
        self.assertEqual({kernel["shared_bytes_added"] for kernel in written["files"][0]["kernels"]}, {48})

    def test_fence(self):
        text = self.run_command("rewrite", "fence", "kernels.ptx", "-o", "fenced.ptx").stdout
        self.assertIn("5 of 5 kernels fenced", text)
        self.assertIn("corun_fence", (self.folder / "fenced.ptx").read_text())
        self.run_command("rewrite", "fence", "--json", "fenced.json", "kernels.ptx")
        self.run_command("rewrite", "workers", "--fence", "--json", "both.json", "kernels.ptx", "-o", "both.ptx")
        self.assertIn("corun_fence", (self.folder / "both.ptx").read_text())
        fenced, both = (json.loads((self.folder / name).read_text()) for name in ("fenced.json", "both.json"))
        self.assertEqual(differences("Rewritten kernels", fenced), ([], []))
        self.assertEqual((fenced["pass"], both["pass"]), ("fence", "workers"))
        for first, then in zip(fenced["files"][0]["kernels"], both["files"][0]["kernels"]):
            self.assertEqual(first["registers"], then["registers"])
            self.assertGreater(then["instructions_added"], first["instructions_added"])
        self.write("heap.ptx", HEADER + ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.visible .entry heap()\n{\n    .reg .b64 %d;\n"
                   "    { .param .b64 n; .param .b64 r;\n    st.param.b64 [n], 8;\n    call (r), malloc, (n); }\n    ret;\n}\n")
        for arguments in (("fence",), ("slice", "--fence")):
            self.assertRegex(self.run_command("rewrite", *arguments, "heap.ptx").stdout, r"heap +no .*calls a function without a body")

    def test_borrow(self):
        self.write("counts.ptx", HEADER + ".global .u32 count;\n.const .u32 step;\n.visible .entry counts()\n{\n    .reg .b32 %r;\n"
                   "    ld.const.u32 %r, [step];\n    red.global.add.u32 [count], %r;\n    ret;\n}\n.visible .entry plain()\n{\n    ret;\n}\n")
        text = self.run_command("rewrite", "borrow", "counts.ptx", "-o", "borrows.ptx").stdout
        self.assertIn("2 of 2 kernels borrowing", text)
        self.assertIn(".const .b64 corun_variables[2]", (self.folder / "borrows.ptx").read_text())
        for arguments in (("borrow",), ("slice", "--borrow"), ("workers", "--borrow"), ("workers", "--borrow", "--drop")):
            self.run_command("rewrite", *arguments, "--json", "borrows.json", "counts.ptx")
            written = json.loads((self.folder / "borrows.json").read_text())
            self.assertEqual(differences("Rewritten kernels", written), ([], []))
            file, = written["files"]
            self.assertEqual((written["pass"], file["borrowed"], file["borrowed_table"]), (arguments[0], ["step", "count"], "corun_variables"))
            self.assertEqual(file["copied"], [True, False])
            self.assertEqual([kernel["borrows"] for kernel in file["kernels"]], [[0, 1], []])
        self.run_command("rewrite", "slice", "--json", "plain.json", "counts.ptx")
        file, = json.loads((self.folder / "plain.json").read_text())["files"]
        self.assertEqual((file["borrowed"], file["borrowed_table"]), ([], None))
        for arguments in (("borrow", "--fence"), ("fence", "--borrow"), ("slice", "--borrow", "--fence")):
            self.fails(USAGE, ["not both"], "rewrite", *arguments, "counts.ptx")

    def test_workers(self):
        text = self.run_command("rewrite", "workers", "kernels.ptx", "-o", "workers.ptx").stdout
        self.assertIn("5 of 5 kernels rewritten", text)
        again = self.run_command("check", "workers.ptx").stdout
        self.assertRegex(again, r"(?m)^add ")

    def test_workers_that_drop(self):
        loop = ("    .reg .b64 %%d<2>; .reg .b32 %%r<2>; .reg .pred %%p;\n    ld.param.u64 %%d0, [out];\n    ld.param.u64 %%d1, [in];\n"
                "    mov.u32 %%r0, 9;\nL:\n    ld.global.u32 %%r1, [%s];\n    sub.u32 %%r0, %%r0, 1;\n    setp.ne.u32 %%p, %%r0, 0;\n"
                "    @%%p bra L;\n    st.global.u32 [%%d0], %%r1;\n    ret;\n}\n")
        entry = ".visible .entry %s(.param .u64 out, .param .u64 in)\n{\n"
        self.write("loops.ptx", HEADER + entry % "again" + loop % "%d1" + entry % "once" + loop % "%d0")
        text = self.run_command("rewrite", "workers", "loops.ptx", "--json", "plain.json").stdout
        self.assertRegex(text, r"(?m)^ *\S* +again .* in loops, if its arguments do not overlap$")
        self.assertRegex(text, r"(?m)^ +once .* no: reads what it writes$")
        self.run_command("rewrite", "workers", "--drop", "--json", "drop.json", "loops.ptx", "-o", "drop.ptx")
        plain, drop = (json.loads((self.folder / name).read_text())["files"][0]["kernels"] for name in ("plain.json", "drop.json"))
        self.assertEqual([kernel["drops"] for kernel in plain], ["in loops", None])
        self.assertEqual([kernel["drops"] for kernel in drop], ["in loops", None])
        self.assertGreater(drop[1]["instructions_added"], plain[1]["instructions_added"])
        self.assertGreater(drop[0]["instructions_added"], drop[1]["instructions_added"])
        self.assertRegex(self.run_command("check", "drop.ptx").stdout, r"(?m)^again ")
        self.assertIn("for `workers`, not for `slice`", self.run_command("rewrite", "slice", "--drop", "loops.ptx", status=USAGE).stderr)

    def test_workers_are_launched(self):
        self.run_command("rewrite", "workers", "-q", "kernels.ptx", "-o", "workers.ptx")
        vectors = ("--block", "64", "--arg", "buf=4000:iota", "--arg", "buf=4000:f32=0.5", "--save", "2=sum.bin",
                   "--arg", "buf=4000", "--arg", "u32=1000")
        # Without workers, as struct worker_arguments says it: the whole grid as it is.
        (self.folder / "direct.bin").write_bytes(struct.pack("<4Q12I", 0, 0, 0, 0, 16, 2**32 // 16, 1, 8, 1, 1, 2**32 - 1, 0, 0, 0, 0, 0))
        self.run_command("launch", "workers.ptx", "--kernel", "add", "--grid", "16", *vectors,
                         "--arg", "bytes=@direct.bin")
        self.assertTrue((self.folder / "sum.bin").read_bytes() == struct.pack("<1000f", *[0.5] * 1000))

    def test_wrong_usage(self):
        self.fails(USAGE, ["is missing"], "rewrite")
        self.fails(USAGE, ["a PTX file is missing"], "rewrite", "slice")
        self.fails(USAGE, ["did you mean `slice`"], "rewrite", "slices", "kernels.ptx")
        self.fails(USAGE, ["did you mean `workers`"], "rewrite", "worker", "kernels.ptx")
        self.fails(USAGE, ["--output", "2"], "rewrite", "slice", "-o", "x.ptx", "kernels.ptx", "kernels.ptx")
        self.fails(USAGE, ["is not replaced"], "rewrite", "slice", "-o", "kernels.ptx", "kernels.ptx")
        self.fails(NOT_FOUND, ["nowhere.ptx"], "rewrite", "slice", "nowhere.ptx", "kernels.ptx")
        self.write("malformed.ptx", HEADER + "nothing\n")
        self.fails(SYNTAX, ["malformed.ptx:4"], "rewrite", "slice", "malformed.ptx", "-o", "new.ptx")
        self.assertFalse((self.folder / "new.ptx").exists())


class Config(Command):
    """GPUs described for GPGPU-Sim (tests/import has every option)."""

    def test_import(self):
        (self.folder / "SM7_X").mkdir()
        shutil.copy(pathlib.Path(__file__).resolve().parents[1] / "import/volta.config", self.folder / "SM7_X/gpgpusim.config")
        told = self.run_command("config", "import", "SM7_X/gpgpusim.config", "-o", "x.yaml").stdout
        self.assertIn("sm7-x: ", told)
        self.assertRegex(told, r"-gpgpu_new_idea +not known")
        text = (self.folder / "x.yaml").read_text()
        self.assertIn('sms: {value: 80, unit: count, source: "gpgpusim: line 11, -gpgpu_n_cores_per_cluster"}', text)
        self.assertIn("# line 78, not known: -gpgpu_new_idea", text)
        self.assertEqual(self.run_command("config", "import", "-q", "--name", "sm7-x", "SM7_X/gpgpusim.config").stdout, text)
        self.assertIn("sm7-x: 80 SMs", self.run_command("run", "-g", "x.yaml", "--cycles", "2K", "vector-add@small").stdout)

    def test_base(self):
        self.write("one.config", "-gpgpu_n_clusters 7\n")
        text = self.run_command("config", "import", "--base", "quadro-v100", "one.config").stdout
        self.assertIn('name: "one"', text)
        self.assertIn('sms: {value: 7, unit: count, source: "gpgpusim: line 1, -gpgpu_n_clusters"}', text)
        self.assertIn('l2_bytes: {value: 6144K, unit: bytes, source: "assumed: as quadro-v100"}', text)

    def test_mistakes(self):
        self.write("bad.config", "-gpgpu_n_clusters 7\nnothing\n")
        self.fails(SYNTAX, ["bad.config:2:"], "config", "import", "bad.config", "-o", "new.yaml")
        self.assertFalse((self.folder / "new.yaml").exists())
        self.fails(NOT_FOUND, ["nowhere.config"], "config", "import", "nowhere.config")
        self.fails(USAGE, ["did you mean `import`"], "config", "imports", "bad.config")
        for name in ("", "two words", 'a"b', "a/b", "ä", 64 * "a"):  # none that a description may have
            self.fails(USAGE, ["1 to 63 letters, digits, or one of - _ . +"], "config", "import", "--name", name, "one.config")
        self.fails(USAGE, ["expected what is to be done and a file"], "config", "import")
        self.fails(NOT_FOUND, ["nowhere"], "config", "import", "--base", "nowhere", "bad.config")


class Launch(Command):
    VECTORS = ("--grid", "16", "--block", "64", "--arg", "buf=4000:iota", "--arg", "buf=4000:f32=0.5", "--arg", "buf=4000",
               "--arg", "u32=1000")

    def test_computes_and_saves(self):
        for mode in ((), ("--functional",)):
            for name in ("sum.bin", "other.bin"):
                (self.folder / name).unlink(missing_ok=True)
            self.run_command(*self.launch("add", *self.VECTORS, "--quiet", "--save", "2=sum.bin", "--save",
                                          "1=other.bin", *mode))
            # the u32 0, 1, ... of `iota` are tiny denormal floats: 0.5 remains
            self.assertEqual((self.folder / "sum.bin").read_bytes(), struct.pack("<1000f", *[0.5] * 1000))
            self.assertEqual((self.folder / "other.bin").read_bytes(), struct.pack("<1000f", *[0.5] * 1000))

    def test_random_data_and_files(self):
        (self.folder / "in.bin").write_bytes(struct.pack("<4f", 1, 2, 3, 4))
        self.run_command(*self.launch("add", "--block", "4", "--arg", "buf=@in.bin", "--arg", "buf=16:random:9", "--arg",
                                      "buf=16", "--arg", "u32=4", "--save", "1=random.bin", "--save", "2=sum.bin"))
        added = struct.unpack("<4f", (self.folder / "random.bin").read_bytes())
        self.assertTrue(all(0 <= value < 1 for value in added))
        total = struct.unpack("<4f", (self.folder / "sum.bin").read_bytes())
        rounded = [struct.unpack("<f", struct.pack("<f", index + 1 + value))[0] for index, value in enumerate(added)]
        self.assertEqual(list(total), rounded)

    def test_json(self):
        first = self.run_command(*self.launch("add", *self.VECTORS, "--json", "-")).stdout
        result = json.loads(first)
        self.assertLessEqual(LAUNCH_KEYS, set(result))
        self.assertGreater(result["cycles"], 0)
        self.assertAlmostEqual(result["ipc"], result["thread_instructions"] / result["cycles"])
        self.run_command(*self.launch("add", *self.VECTORS, "--json", "again.json"))
        self.assertEqual(without_wall_time(first), without_wall_time((self.folder / "again.json").read_text()))
        functional = json.loads(self.run_command(*self.launch("add", *self.VECTORS, "--functional", "--json=-")).stdout)
        self.assertLessEqual(LAUNCH_KEYS, set(functional))
        self.assertIsNone(functional["cycles"])
        self.assertEqual(functional["thread_instructions"], result["thread_instructions"])

    def test_profiled_cycles(self):
        """What a profiler counts of a launch is told beside its cycles, which stay what they were."""
        told = [json.loads(self.run_command(*self.launch("add", *self.VECTORS, "--json=-", f"--gpu=gtx980:profiled_launch_cycles={cycles}"))
                           .stdout) for cycles in (0, 1234)]
        self.assertEqual(told[0]["cycles"], told[1]["cycles"])
        self.assertEqual([each["profiled_cycles"] - each["cycles"] for each in told], [0, 1234])
        functional = json.loads(self.run_command(*self.launch("add", *self.VECTORS, "--functional", "--json=-")).stdout)
        self.assertIsNone(functional["profiled_cycles"])
        case = json.loads(self.run_command("run", "--quiet", "--json=-", "--runs=1", "--no-baselines",
                                           "--gpu=gtx980:profiled_launch_cycles=1234", "3dconv@small").stdout)
        kernel = case["applications"][0]["kernels"][0]
        self.assertGreater(kernel["launches"], 1)
        self.assertEqual(kernel["profiled_cycles"], kernel["cycles"] + 1234 * kernel["launches"])

    def test_printed_text(self):
        for mode in ((), ("--functional",)):
            self.assertEqual(self.run_command(*self.launch("speak", "--arg", "u32=42", "--quiet", *mode)).stdout,
                             "result 42\n")
        done = self.run_command(*self.launch("speak", "--arg", "u32=42", "--json", "-"))
        json.loads(done.stdout)
        self.assertEqual(done.stderr, "result 42\n")

    def test_unknown_kernel(self):
        self.fails(NOT_FOUND, ["`ad`", "did you mean `add`"], *self.launch("ad"))
        self.fails(NOT_FOUND, ["`zzzzzz`"], *self.launch("zzzzzz"))
        self.fails(USAGE, ["5 kernels", "outside"], "launch", "kernels.ptx")

    def test_arguments_that_do_not_fit(self):
        self.fails(ARGUMENT, ["4 parameters", "2 arguments", "`c` is missing"],
                   *self.launch("add", "--arg", "buf=4", "--arg", "buf=4"))
        self.fails(ARGUMENT, ["`n`", "f64=1"], *self.launch("add", *["--arg=buf=4"] * 3, "--arg", "f64=1"))
        self.fails(ARGUMENT, ["`c`", "u32=1"], *self.launch("add", *["--arg=buf=4"] * 2, "--arg=u32=1", "--arg=u32=1"))
        self.fails(ARGUMENT, ["u32=one"], *self.launch("add", "--arg", "u32=one"))
        self.fails(NOT_FOUND, ["nowhere.bin"], *self.launch("add", "--arg", "buf=@nowhere.bin"))
        self.fails(USAGE, ["--save", "argument 3"], *self.launch("add", *self.VECTORS, "--save", "3=out"))
        self.fails(USAGE, ["--save", "4 arguments"], *self.launch("add", *self.VECTORS, "--save", "9=out"))
        self.fails(USAGE, ["--save"], *self.launch("add", *self.VECTORS, "--save", "out"))
        self.fails(USAGE, ["--grid", "0"], *self.launch("add", "--grid", "0"))

    def test_a_block_larger_than_an_sm(self):
        for settings in (("--block", "2048"), ("--shared", "200K"), ("--block", "1024,1024,64")):
            done = self.run_command(*self.launch("endless", *settings), status=LIMIT)
            self.assertIn("endless", done.stderr)

    def test_out_of_bounds(self):
        line = self.line_of("<- out of bounds")
        for mode in ((), ("--functional",)):
            self.fails(FAULT, ["outside", f"kernels.ptx:{line}", "thread block (2,0,0)", "thread (37,0,0)", "0x",
                               ": 1047552 bytes behind the 1024 bytes of argument buf=1K at 0x"],
                       *self.launch("outside", "--grid", "4", "--block", "64", "--arg", "buf=1K", *mode))

    def test_a_barrier_that_is_never_met(self):
        for mode in ((), ("--functional",)):
            self.fails(DEADLOCK, ["stuck", "thread block (0,0,0)", "warp 0 at barrier 0 (line", "; none has ended"],
                       *self.launch("stuck", "--block", "64", *mode))

    def test_a_barrier_that_a_part_of_a_warp_comes_to(self):
        self.write("half.ptx", HALF)
        for mode in ((), ("--functional",)):
            launch = ("launch", "half.ptx", "--gpu", SMALL_GPU, "--block", "32", *mode)
            told = self.run_command(*launch).stderr
            self.assertIn("half.ptx:9: warning: kernel half comes to barrier 0 with 16 of the 32 threads of a warp", told)
            self.fails(FAULT, ["half.ptx:9: ", "divergent barrier 0", "thread (16,0,0) is at line 11"], *launch, "--check", "sync")
        self.fails(USAGE, ["--check: `race` is no list of checks; there are memory, sync"], *launch, "--check", "race")

    def test_barriers_that_parts_of_a_warp_come_to(self):
        """A GPU since Volta waits for each thread, whichever path it comes on; an older one does not, and that is told."""
        self.write("parts.ptx", PARTS)
        expected = struct.pack("<64I", *((thread ^ 1) + 100 for thread in range(64)))
        for mode in ((), ("--threads", "2"), ("--functional",)):
            launch = ("launch", "parts.ptx", "--block", "64", "--arg", "buf=256", "--save", "0=parts.bin", *mode)
            told = self.run_command(*launch, "--gpu", "quadro-v100:sms=4", "--check", "sync").stderr
            self.assertNotIn("barrier", told)
            self.assertEqual((self.folder / "parts.bin").read_bytes(), expected)
            self.assertIn("comes to barrier 0 with 16 of the 32 threads of a warp",
                          self.run_command(*launch, "--gpu", SMALL_GPU).stderr)

    def test_an_endless_loop(self):
        self.fails(WATCHDOG, ["endless", "larger --watchdog"], *self.launch("endless", "--block", "32", "--watchdog", "50K"))
        self.fails(WATCHDOG, ["endless"], *self.launch("endless", "--block", "32", "--watchdog", "50K", "--functional"))

    def test_long_is_not_endless(self):
        self.write("loops.ptx", LOOPS)
        launch = ("launch", "loops.ptx", "--gpu", SMALL_GPU, "--block", "64", "--watchdog", "20K")
        self.run_command(*launch, "--kernel", "long_sum", "--arg", "buf=1024:iota", "--arg", "u32=10000", "--save", "0=sum.bin")
        wanted = sum(10000 // 256 * i for i in range(256)) + sum(i for i in range(1, 10000 % 256 + 1))
        self.assertEqual(struct.unpack("<I", (self.folder / "sum.bin").read_bytes()[:4])[0], wanted)
        for kernel, *arguments in (("wait_for", "--arg", "buf=4"), ("circle",)):
            self.fails(WATCHDOG, [kernel, "no store", "in states in which they were before"], *launch, "--kernel", kernel, *arguments)

    def test_a_time_limit(self):
        self.fails(TIMEOUT, ["kernel endless has run for", "longer than it may", "of 1 warps on the SMs: 1 at line"],
                   *self.launch("endless", "--block", "32", "--kernel-timeout", "20us"))
        self.fails(USAGE, ["--functional has not"], *self.launch("endless", "--kernel-timeout", "20us", "--functional"))
        self.fails(USAGE, ["`soon`"], *self.launch("endless", "--kernel-timeout", "soon"))


class Run(Command):
    SHORT = ("run", "--gpu", SMALL_GPU, "--cycles", "20K")

    def json_of(self, *arguments):
        return self.run_command(*self.SHORT, "--json", "-", *arguments).stdout

    def test_a_window_of_instructions_ends_for_each_application_on_its_own(self):
        done = self.run_command("run", "--gpu", SMALL_GPU, "--policy", "even", "--instructions", "200K", "--json", "-",
                                "./work.yaml", "./more.yaml")
        for app in json.loads(done.stdout)["applications"]:
            self.assertGreaterEqual(app["thread_instructions"], 200000)
            self.assertLess(app["thread_instructions"], 230000)  # it runs until a step ends, and is not counted then
            self.assertAlmostEqual(app["ipc"], app["thread_instructions"] / app["cycles"])
            self.assertLess(app["normalised_ipc"], 1.05)

    def test_json(self):
        result = json.loads(self.json_of("--policy", "even", "./work.yaml:goal=40%", "./more.yaml:goal=ipc=1M"))
        self.assertLessEqual(RUN_KEYS, set(result))
        self.assertEqual(result["policy"]["name"], "even")
        self.assertEqual(result["cycles"], 20000)
        self.assertEqual(len(result["sms"]), 2)
        for app in result["applications"]:
            self.assertLessEqual(APP_KEYS, set(app))
            self.assertGreater(app["normalised_ipc"], 0)
            self.assertAlmostEqual(app["ipc"], app["thread_instructions"] / app["cycles"])
            self.assertAlmostEqual(app["normalised_ipc"], app["ipc"] / app["ipc_isolated"])
        self.assertTrue(result["applications"][0]["goal_met"])
        self.assertFalse(result["applications"][1]["goal_met"])
        shares = [app["normalised_ipc"] for app in result["applications"]]
        self.assertAlmostEqual(result["stp"], sum(shares))
        self.assertAlmostEqual(result["antt"], sum(1 / share for share in shares) / 2)
        self.assertAlmostEqual(result["fairness"], min(shares) / max(shares))
        for index, sm in enumerate(result["sms"]):  # each SM has one application, contiguous sets, in order
            self.assertGreater(sm["applications"][index]["thread_instructions"], 0)
            self.assertEqual(sm["applications"][1 - index]["thread_instructions"], 0)

    def test_the_same_bytes_every_time(self):
        arguments = ("./work.yaml:start=3K", "./more.yaml")
        first = without_wall_time(self.json_of("--no-cache", *arguments))
        self.assertEqual(first, without_wall_time(self.json_of(*arguments)))
        self.assertEqual(first, without_wall_time(self.json_of(*arguments)))  # now from the cache
        self.assertEqual(first.replace('"threads": 1', '"threads": 2'),
                         without_wall_time(self.json_of("--threads", "2", "--jobs", "1", *arguments)))
        self.assertNotEqual(first, without_wall_time(self.json_of("--cycles", "19K", *arguments)))

    def test_a_damaged_cache_is_computed_anew(self):
        cache = ("--cache", "damaged")
        first = without_wall_time(self.json_of(*cache, "./work.yaml", "./more.yaml"))
        entries = list((self.folder / "damaged").glob("*.json"))
        self.assertEqual(len(entries), 2)
        entries[0].write_text(entries[0].read_text()[:50])
        entries[1].write_text(entries[1].read_text().replace('"cycles": 20000', '"cycles": 10000'))
        done = self.run_command(*self.SHORT, *cache, "--json", "-", "./work.yaml", "./more.yaml")
        self.assertEqual(without_wall_time(done.stdout), first)
        self.assertEqual(done.stderr.count("warning: cached result"), 2)
        self.assertEqual(self.run_command(*self.SHORT, *cache, "--json", "-", "./work.yaml", "./more.yaml").stderr, "")

    def test_alone_it_is_its_own_baseline(self):
        result = json.loads(self.json_of("./work.yaml:goal=100%"))
        self.assertEqual(result["applications"][0]["normalised_ipc"], 1)
        self.assertTrue(result["applications"][0]["goal_met"])
        self.assertEqual(result["stp"], 1)

    def test_the_table(self):
        text = self.run_command(*self.SHORT, "--policy", "cooperative:runs=2", "./work.yaml:goal=ms=1000", "./more.yaml").stdout
        for words in ("policy cooperative:runs=2", "work@small", "ms=1000", "yes", "STP", "fairness", "per second"):
            self.assertIn(words, text)
        self.assertNotIn("\033", text)
        self.assertEqual(self.run_command(*self.SHORT, "--quiet", "./work.yaml").stdout, "")

    def test_windows(self):
        runs = json.loads(self.run_command("run", "--gpu", SMALL_GPU, "--runs", "2", "--json", "-", "./work.yaml",
                                           "./more.yaml").stdout)
        self.assertEqual([app["runs"] for app in runs["applications"]], [2, 2])
        few = json.loads(self.run_command("run", "--gpu", SMALL_GPU, "--instructions", "100K", "--json", "-", "./work.yaml",
                                          "./more.yaml").stdout)
        self.assertGreaterEqual(min(app["thread_instructions"] for app in few["applications"]), 100000)

    def test_profile_and_trace(self):
        text = self.run_command(*self.SHORT, "--profile", "./work.yaml").stdout
        self.assertIn("fma.rn.f32", text)
        self.assertNotIn("source", text.split("kernel work: ")[1])
        ptx = programs.PTX.splitlines()
        ptx.insert(next(i for i, line in enumerate(ptx) if "fma.rn.f32" in line), '.loc 1 12 3')
        self.write("lines.ptx", "\n".join([*ptx, '.file 1 "/home/me/heat.cu"', ""]))
        self.write("lines.yaml", DESCRIPTION.format(name="lines", ptx="lines.ptx", kernel="work", arguments="      - u32: 50\n"))
        text = self.run_command(*self.SHORT, "--profile", "./lines.yaml").stdout
        self.assertRegex(text, r"fma\.rn\.f32.* heat\.cu:12")
        profile = json.loads(self.json_of("--profile", "./lines.yaml"))["applications"][0]["kernels"][0]["profile"]
        self.assertEqual({row["source"] for row in profile if "fma" in row["text"]}, {"heat.cu:12"})
        self.assertEqual(profile[0]["source"], "")
        self.run_command(*self.SHORT, "--quiet", "--trace", "trace.txt:100-400", "./work.yaml")
        lines = (self.folder / "trace.txt").read_text().splitlines()
        self.assertTrue(lines[0].startswith("#"))
        cycles = [int(line.split()[0]) for line in lines[1:]]
        self.assertTrue(cycles and min(cycles) >= 100 and max(cycles) <= 400)

    def test_cooperative_applications_take_turns(self):
        self.run_command(*self.SHORT, "--quiet", "--no-baselines", "--policy", "cooperative", "--trace", "turns.txt",
                         "./work.yaml", "./more.yaml")
        issued = sorted((int(cycle), int(application)) for cycle, _, _, _, application, *_ in
                        (line.split() for line in (self.folder / "turns.txt").read_text().splitlines()[1:]))
        turns = [application for number, (_, application) in enumerate(issued)
                 if number == 0 or issued[number - 1][1] != application]
        self.assertGreater(len(turns), 2)
        runs = json.loads(self.json_of("--policy", "cooperative", "./work.yaml", "./more.yaml"))["applications"]
        # each turn is one whole run: no application comes back before the other has had its turn
        self.assertLessEqual(abs(len(turns) - sum(app["runs"] for app in runs)), 1)

    def test_one_is_stopped_and_the_others_continue(self):
        done = self.run_command(*self.SHORT, "--json", "-", "./work.yaml", "./bad.yaml", status=FAULT)
        result = json.loads(done.stdout)
        self.assertEqual([app["status"] for app in result["applications"]], ["OK", "FAULT"])
        self.assertEqual(result["cycles"], 20000)
        self.assertIsNone(result["applications"][1]["ipc_isolated"])
        self.assertIn("outside", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)

    def test_the_sms_of_one_that_was_stopped_go_to_the_others(self):
        self.write("stuck.yaml", DESCRIPTION.format(name="stuck", ptx="kernels.ptx", kernel="stuck", arguments="")
                   .replace("      - buffer: data\n", "").replace("    arguments:\n", ""))
        # the watchdog is shorter than an epoch: a policy must not be blamed for what one look saw
        for policy in ("even", "cooperative"):
            done = self.run_command(*self.SHORT, "--json", "-", "--policy", policy, "--watchdog", "5K", "--no-baselines",
                                    "./stuck.yaml", "./work.yaml", status=DEADLOCK)
            apps = json.loads(done.stdout)["applications"]
            self.assertEqual([app["status"] for app in apps], ["DEADLOCK", "OK"])
            self.assertGreater(apps[1]["runs"], 1)

    def test_a_workload_that_needs_a_later_architecture(self):
        for arguments in (["run", "attention@small", "-c", "1K"], ["characterize", "gemm-mma@small", "-c", "1K"],
                          ["predict", "gemm-wmma@small", "-c", "1K"]):
            self.fails(UNSUPPORTED, ["needs a GPU of sm_", "gtx980 is sm_52 and has no tensor cores"], *arguments)
        self.fails(UNSUPPORTED, ["attention needs a GPU of sm_80 or later; quadro-v100 is sm_70\n"],
                   "run", "attention@small", "-c", "1K", "--gpu", "quadro-v100")
        self.run_command("run", "attention@small", "-c", "1K", "--gpu", "a100:sms=2", "--no-baselines", "--no-cache")

    def test_unknown_names(self):
        self.fails(NOT_FOUND, ["gtx98"], "run", "--gpu", "gtx98", "./work.yaml")
        self.fails(NOT_FOUND, ["did you mean `even`"], "run", "--policy", "evn", "./work.yaml")
        self.fails(NOT_FOUND, ["sgem", "sgemm"], "run", "sgem")
        self.fails(NOT_FOUND, ["nowhere.yaml"], "run", "./nowhere.yaml")
        self.fails(NOT_FOUND, ["huge"], "run", "./work.yaml@huge")
        self.fails(NOT_FOUND, ["huge"], "run", "./work.yaml@huge,n=128")
        self.fails(ARGUMENT, ["no parameter 'm'", "it has: n"], "run", "./work.yaml@small,m=1:goal=50%")
        self.fails(ARGUMENT, ["given twice"], "run", "./work.yaml@small,n=128,n=128:start=1K")
        self.fails(ARGUMENT, ["whole number", "'12x'"], "run", "./work.yaml@small,n=12x")

    def test_other_values_for_parameters(self):
        def sizes_and_baselines(*applications):
            apps = json.loads(self.json_of("--runs", "1", *applications))["applications"]
            return [app["size"] for app in apps], [app["ipc_isolated"] for app in apps]
        sizes, alone = sizes_and_baselines("./work.yaml@small,n=128:goal=50%:start=1", "./work.yaml",
                                           "./work.yaml@small,n=0x1000", "./work.yaml@small,n=4K")
        self.assertEqual(sizes, ["small,n=128", "small", "small,n=4096", "small,n=4096"])
        self.assertLess(alone[0], alone[1] / 2)  # one thread block; and the cache keeps them apart
        self.assertEqual(alone[1:3], alone[2:4])
        shutil.copy(self.folder / "work.yaml", self.folder / "a:b=c,d.yaml")
        sizes, alone = sizes_and_baselines("./a:b=c,d.yaml@small,n=128:goal=10%", "./a:b=c,d.yaml@small")
        self.assertEqual(sizes, ["small,n=128", "small"])

    def test_impossible_settings(self):
        for gpu, word in (("gtx980:sms=0", "sms"), ("gtx980:smx=4", "smx"), ("gtx980:l2=x", "l2_bytes"),
                          ("gtx980:sms", "sms"), ("gtx980:scheduler=fifo", "fifo"), ("gtx980:l1_line_bytes=100", "l1_line")):
            self.fails(ARGUMENT, [word], "run", "--gpu", gpu, "./work.yaml")
        self.fails(ARGUMENT, ["runs"], "run", "--policy", "cooperative:runs=0", "./work.yaml")
        self.fails(ARGUMENT, ["runs is given twice"], "run", "--policy", "cooperative:runs=2,runs=3", "./work.yaml")
        self.fails(USAGE, ["--cache"], "run", "--cache", "", "./work.yaml")
        self.fails(USAGE, ["120%"], "run", "./work.yaml:goal=120%")
        self.fails(USAGE, ["gaol"], "run", "work:gaol=1")
        self.fails(ARGUMENT, ["starts at cycle"], *self.SHORT, "./work.yaml:start=20K")
        self.fails(USAGE, ["--trace"], *self.SHORT, "--json", "-", "--trace", "-", "./work.yaml")
        self.fails(USAGE, ["at most 16 applications can share a GPU; `./more.yaml` is one more"], "run", *["./work.yaml"] * 16,
                   "./more.yaml", "./more.yaml")
        self.fails(POLICY, ["even", "more applications than SMs"], *self.SHORT, "--policy", "even", "--no-baselines",
                   *["./work.yaml"] * 3)

    def test_yaml_as_other_systems_write_it(self):
        self.write("marked.yaml", "\ufeff" + (self.folder / "work.yaml").read_text().replace("\n", "\r\n"))
        self.run_command(*self.SHORT, "--no-baselines", "./marked.yaml")

    def test_broken_yaml(self):
        self.write("broken.yaml", "name: broken\nlaunches: [\n  - {kernel: work\n")
        self.fails(SYNTAX, ["broken.yaml:"], "run", "./broken.yaml")
        self.fails(SYNTAX, ["broken.yaml:"], "run", "--gpu", "./broken.yaml", "./work.yaml")
        self.write("odd.yaml", "just text\n")
        self.fails(SYNTAX, ["odd.yaml"], "run", "./odd.yaml")


class Characterize(Command):
    def characterize(self, *arguments, **settings):
        return self.run_command("characterize", "--gpu", SMALL_GPU, "-c", "2K", *arguments, **settings)

    def test_tells_what_limits_a_workload(self):
        text = self.characterize("./work.yaml", "./more.yaml").stdout
        for words in ("work@small", "more@small", "memory clock", "stated", "Speed over the number of SMs",
                      "by the clause of the rule", ", as "):
            self.assertIn(words, text)
        self.assertNotIn("What the papers say", text)

    def test_json_and_markdown(self):
        self.characterize("-q", "./work.yaml", "-j", "c.json", "-m", "c.md")
        result = json.loads((self.folder / "c.json").read_text())
        workload = result["workloads"][0]
        self.assertEqual((result["window_cycles"], workload["workload"], workload["size"]), (2000, "work", "small"))
        self.assertEqual([point["sms"] for point in workload["sms"]["points"]], [1, 2])
        self.assertEqual(workload["memory_clock"]["points"][0]["speed_up"], 1)
        self.assertIn(workload["class"], ("compute", "memory", "problem-size"))
        page = (self.folder / "c.md").read_text()
        self.assertIn(f"corun characterize --gpu {SMALL_GPU} --cycles 2000 ./work.yaml --markdown c.md", page)
        self.assertRegex(page, r"\nTiming model: version \d+\.\n")
        self.assertIn("| work@small |", page)

    def test_kernels_have_the_names_that_people_gave_them(self):
        symbol = "_ZN4heat4workEPfj"
        kernel = re.search(r"kernel: (\w+)", (self.folder / "work.yaml").read_text()).group(1)
        ptx = re.search(r"ptx: (\S+)", (self.folder / "work.yaml").read_text()).group(1)
        (self.folder / "people.ptx").write_text((self.folder / ptx).read_text().replace(f".entry {kernel}(", f".entry {symbol}("))
        (self.folder / "people.yaml").write_text((self.folder / "work.yaml").read_text().replace(f"kernel: {kernel}", f"kernel: {symbol}")
                                                 .replace(f"ptx: {ptx}", "ptx: people.ptx"))
        text = self.characterize("./people.yaml").stdout
        self.assertRegex(text, r"heat::work +100\.0 %")
        self.assertNotIn("_ZN", text)

    def test_what_cannot_run_is_said_and_the_others_continue(self):
        run = self.characterize("./bad.yaml", "./work.yaml", status=FAULT)
        self.assertIn("bad@small does not run on", run.stdout)
        self.assertIn("out of bounds", run.stderr)
        self.assertIn("Speed over the number of SMs", run.stdout)

    def test_wrong_usage(self):
        self.fails(USAGE, ["the names of workloads, or --all"], "characterize")
        self.fails(USAGE, ["the names of workloads, or --all"], "characterize", "--all", "sgemm")
        self.fails(USAGE, ["--size goes with --all"], "characterize", "--size", "small", "./work.yaml")
        self.fails(USAGE, ["--cycles"], "characterize", "-c", "0", "./work.yaml")
        self.fails(USAGE, ["cannot both go"], "characterize", "-c", "1K", "-j", "-", "-m", "-", "./work.yaml")
        self.fails(NOT_FOUND, ["no-such"], "characterize", "no-such")
        self.fails(NOT_FOUND, ["no workload has a size 'meduim'"], "characterize", "--all", "--size", "meduim")
        self.fails(ARGUMENT, ["one SM"], "characterize", "--gpu", "gtx980:sms=1", "./work.yaml")


class Predict(Command):
    GPU = "gtx980:sms=1,threads_per_sm=256,threads_per_tb=256"  # few points of the latency lines

    def predict(self, *arguments, **settings):
        return self.run_command("predict", "--gpu", self.GPU, "-c", "20K", *arguments, **settings)

    def test_alone_and_in_pairs(self):
        text = self.predict("./work.yaml", "./more.yaml").stdout
        for words in ("coalesced accesses: latency", "work@small", "more@small", "predicted", "balanced"):
            self.assertIn(words, text)

    def test_json(self):
        self.predict("-q", "./work.yaml", "./more.yaml", "-j", "p.json")
        result = json.loads((self.folder / "p.json").read_text())
        self.assertEqual((result["cycles"], result["virtual_sms"], len(result["pairs"])), (20000, 4, 1))
        points = result["latency"]["coalesced"]["points"]
        self.assertEqual([point[0] for point in points], [1, 2, 4, 8])
        self.assertGreater(points[0][1], 100)
        counted, sampled = (result["kernels"][0][way] for way in ("counted", "sampled"))
        self.assertEqual((counted["status"], sampled["status"]), ("OK", "OK"))
        self.assertAlmostEqual(counted["memory_share"], sampled["memory_share"], delta=0.05 * counted["memory_share"])
        self.assertLessEqual(counted["predicted_ipc"], result["peak_ipc"])
        self.assertEqual(sum(one["balanced"] for one in result["pairs"][0]["co_schedules"]), 1)

    def test_latencies_alone(self):
        self.assertNotIn("alone:", self.predict().stdout)

    def test_small_thread_blocks(self):
        """The warps of an SM are as many thread blocks of one size as they need to be."""
        for most, points in ((256, [1, 2, 4, 8]), (128, [1, 2, 4, 8]), (96, [1, 2, 4, 6]), (32, [1, 2, 4, 8])):
            self.run_command("predict", "--gpu", f"gtx980:sms=1,threads_per_sm=256,threads_per_tb={most}", "-q", "-j", "p.json")
            latency = json.loads((self.folder / "p.json").read_text())["latency"]
            self.assertEqual([point[0] for point in latency["coalesced"]["points"]], points)

    def test_wrong_usage(self):
        self.fails(USAGE, ["--cycles"], "predict", "-c", "0", "./work.yaml")
        self.fails(NOT_FOUND, ["no-such"], "predict", "-g", self.GPU, "no-such")
        self.predict("./bad.yaml", status=FAULT)


class Export(Command):
    """Two buffers that change places, a variable of the module, a copy."""
    EXPORTED = """\
name: exported
ptx: kernels.ptx
sizes:
  small: {n: 8}
buffers:
  - {name: now, type: f32, count: n, initial: {uniform: [0, 1]}, output: true, tolerance: {absolute: 0.5, relative: 1e-3}}
  - {name: next, type: f32, count: n}
  - {name: numbers, type: u32, count: 4, initial: iota}
  - {name: letters, type: u8, count: 13, symbol: text}
launches:
  - kernel: add
    grid: [2, 3]
    block: n / 2
    shared: 64
    arguments:
      - buffer: now
        offset: 2
      - buffer: now
      - buffer: next
      - u32: n + step
    repeat: 3
    swap: [now, next]
  - copy: {from: now, to: next, to_offset: 4, count: 2}
"""

    def export(self, directory, *arguments, workload="./exported.yaml"):
        self.write("exported.yaml", self.EXPORTED)
        self.run_command("export", workload, directory, *arguments)
        return json.loads((self.folder / directory / "launch.json").read_text())

    def test_everything_is_evaluated(self):
        facts = self.export("one")
        self.assertEqual((facts["format"], facts["version"]), ("corun export", 1))
        self.assertEqual((facts["workload"], facts["size"], facts["seed"]), ("exported", "small", 1))
        self.assertEqual((facts["parameters"], facts["ptx"], facts["work"]), ({"n": 8}, "exported.ptx", None))
        self.assertEqual(facts["buffers"], [
            {"name": "now", "type": "f32", "count": 8, "bytes": 32, "initial": "now.initial",
             "output": {"memory": "next", "expected": None, "absolute": 0.5, "relative": 0.001}},
            {"name": "next", "type": "f32", "count": 8, "bytes": 32, "initial": "zero"},
            {"name": "numbers", "type": "u32", "count": 4, "bytes": 16, "initial": "numbers.initial"},
            {"name": "letters", "type": "u8", "count": 13, "bytes": 13, "initial": "module", "symbol": "text"}])
        kernels = [{"kernel": "add", "grid": [2, 3, 1], "block": [4, 1, 1], "shared_bytes": 64, "arguments": [
            {"buffer": here, "offset_bytes": 8}, {"buffer": here, "offset_bytes": 0}, {"buffer": there, "offset_bytes": 0},
            {"type": "u32", "value": 8 + step}]} for step, (here, there) in enumerate([("now", "next"), ("next", "now")] * 2)]
        copy = {"copy": {"from": "next", "from_offset_bytes": 0, "to": "now", "to_offset_bytes": 16, "bytes": 8}}
        self.assertEqual([facts["operations"][index] for index in facts["sequence"]], kernels[:3] + [copy])
        self.assertEqual(sorted(path.name for path in (self.folder / "one").iterdir()),
                         ["exported.ptx", "launch.json", "now.initial", "numbers.initial"])
        self.assertEqual((self.folder / "one" / "exported.ptx").read_text(), KERNELS)
        self.assertEqual((self.folder / "one" / "numbers.initial").read_bytes(), struct.pack("<4I", 0, 1, 2, 3))

    def test_what_repeats_is_written_once(self):
        self.write("again.yaml", self.EXPORTED.replace("n + step", "n").replace("repeat: 3", "repeat: 19999"))
        self.run_command("export", "./again.yaml", "again")
        facts = json.loads((self.folder / "again" / "launch.json").read_text())
        self.assertEqual(len(facts["operations"]), 3)
        self.assertEqual(facts["sequence"], [0, 1] * 9999 + [0, 2])
        self.assertLess((self.folder / "again" / "launch.json").stat().st_size, 50000)

    def test_seeds(self):
        data = []
        for name, seed in (("seed1", "1"), ("seed2", "2"), ("again2", "2")):
            self.assertEqual(self.export(name, "--seed", seed)["seed"], int(seed))
            data.append((self.folder / name / "now.initial").read_bytes())
        self.assertNotEqual(data[0], data[1])
        self.assertEqual(data[1], data[2])

    def test_the_reference_is_written(self):
        name = self.run_command("list", "workloads").stdout.splitlines()[2].split()[0]
        done = self.run_command("export", f"{name}@small", "suite")
        self.assertRegex(done.stdout, rf"^{name}@small with seed 1: \d+ buffers .* with expected results")
        facts = json.loads((self.folder / "suite" / "launch.json").read_text())
        outputs = [buffer for buffer in facts["buffers"] if "output" in buffer]
        self.assertTrue(outputs)
        for buffer in outputs:
            data = (self.folder / "suite" / buffer["output"]["expected"]).read_bytes()
            self.assertEqual(len(data), buffer["bytes"])
            self.assertTrue(any(data))

    def test_directories(self):
        self.export("full")
        (self.folder / "full" / "mine").write_text("mine")
        self.fails(FILE, ["full: the directory is not empty"], "export", "./exported.yaml", "full")
        self.assertEqual(self.export("full", "--force", "--seed", "7")["seed"], 7)
        self.assertEqual((self.folder / "full" / "mine").read_text(), "mine")
        (self.folder / "empty").mkdir()
        self.export("empty")
        self.fails(FILE, ["nowhere/x: the directory cannot be made"], "export", "./exported.yaml", "nowhere/x")
        self.fails(FILE, ["work.yaml", "Not a directory"], "export", "./exported.yaml", "work.yaml")
        # a file that cannot be written: what was there is no export any more
        (self.folder / "full" / "now.initial").unlink()
        (self.folder / "full" / "now.initial").mkdir()
        self.fails(FILE, ["full/now.initial: cannot be written: Is a directory"], "export", "--force", "./exported.yaml", "full")
        self.assertFalse((self.folder / "full" / "launch.json").exists())

    def test_errors(self):
        self.fails(USAGE, ["a workload is missing"], "export")
        self.fails(USAGE, ["a directory to write to is missing"], "export", "./work.yaml")
        self.fails(USAGE, ["a directory to write to is missing"], "export", "./work.yaml", "")
        self.fails(USAGE, ["not also `more`"], "export", "./work.yaml", "x", "more")
        self.fails(USAGE, ["--seed", "many"], "export", "--seed=many", "./work.yaml", "x")
        self.fails(NOT_FOUND, ["sgem"], "export", "sgem", "x")
        self.fails(NOT_FOUND, ["huge"], "export", "./work.yaml@huge", "x")
        self.assertFalse((self.folder / "x").exists())


def no_room():
    """Whoever has a limit has SIGXFSZ as well, which ends a program that does not care for it."""
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


class Streams(Command):
    def test_a_full_disk(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = self.run_command("list", "counters", status=FILE, stdout=full)
            self.assertIn("No space left", done.stderr)
            self.run_command("run", "--help", status=FILE, stdout=full)
        self.fails(FILE, ["/dev/full", "No space left"], *Run.SHORT, "--json", "/dev/full", "./work.yaml")
        self.fails(FILE, ["nowhere/x.json"], *Run.SHORT, "--json", "nowhere/x.json", "./work.yaml")
        self.fails(FILE, ["nowhere/t"], *Run.SHORT, "--trace", "nowhere/t", "./work.yaml")
        self.fails(FILE, ["nowhere/x"], "launch", "kernels.ptx", "--kernel", "add", *Launch.VECTORS, "--save", "2=nowhere/x")

    def test_the_reason_is_said_after_many_writes(self):
        """Of the first that fails it is long gone when the file is closed."""
        (self.folder / "long.ptx").write_text(HEADER + "".join(f".visible .entry k{n}() {{ ret; }}\n" for n in range(200)))
        done = self.run_command("rewrite", "-q", "slice", "long.ptx", "-o", "cut.ptx", status=FILE, preexec_fn=no_room)
        self.assertIn("cut.ptx: not everything could be written: File too large", done.stderr)
        done = self.run_command("export", "-q", "--trace", "./work.yaml", "cut", status=FILE, preexec_fn=no_room)
        self.assertEqual(done.stderr, "corun: cut/kernel-1.traceg: not everything could be written: File too large\n")

    def test_what_was_there_stays_until_the_new_one_is_whole(self):
        folder = self.folder / "kept"
        folder.mkdir()
        try:
            os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY))
        except OSError as error:
            self.skipTest(f"files have a name from the beginning here: {error}")
        (folder / "x.json").write_text("old")
        (folder / "link.json").symlink_to("x.json")
        run = [*Run.SHORT, "--no-cache", "-q", "./work.yaml", "--json"]
        done = self.run_command(*run, "kept/x.json", status=FILE, preexec_fn=no_room)
        self.assertIn("kept/x.json: not everything could be written: File too large", done.stderr)
        self.run_command(*run, "kept/new.json", status=FILE, preexec_fn=no_room)
        with subprocess.Popen([CORUN, *self.launch("endless", "--functional", "--watchdog", "1000G", "--json", "kept/x.json")],
                              cwd=self.folder, env=self.environment, stderr=subprocess.DEVNULL) as process:
            time.sleep(0.3)
            process.kill()
        self.assertEqual(process.returncode, -signal.SIGKILL)  # it had not ended by itself
        self.assertEqual((folder / "x.json").read_text(), "old")
        self.assertEqual(sorted(os.listdir(folder)), ["link.json", "x.json"])
        self.run_command(*run, "kept/link.json")
        self.run_command(*run, "kept/new.json")
        self.assertTrue((folder / "link.json").is_symlink())
        self.assertEqual(set(json.loads((folder / "x.json").read_text())), set(json.loads((folder / "new.json").read_text())))
        self.assertEqual((folder / "x.json").stat().st_mode & 0o777, 0o666 & ~UMASK)
        self.assertEqual(sorted(os.listdir(folder)), ["link.json", "new.json", "x.json"])

    def test_closed_streams(self):
        shell = f'"{CORUN}" list counters >&-'
        done = subprocess.run(["sh", "-c", shell], stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(done.returncode, FILE)
        self.assertIn("standard output", done.stderr)
        shell = f'"{CORUN}" run --gpu {SMALL_GPU} --cycles 5K --quiet --json out.json ./work.yaml >&- 2>&- <&-'
        done = subprocess.run(["sh", "-c", shell], cwd=self.folder, env=self.environment, check=False)
        self.assertEqual(done.returncode, OK)
        json.loads((self.folder / "out.json").read_text())

    def test_a_pipe_that_nobody_reads(self):
        reader, writer = os.pipe()
        os.close(reader)
        done = self.run_command("list", "counters", status=FILE, stdout=writer)
        os.close(writer)
        self.assertEqual(done.stderr, "")

    def test_an_interrupt_ends_the_run_with_a_report(self):
        with subprocess.Popen([CORUN, "run", "--gpu", SMALL_GPU, "--cycles", "100G", "--json", "-", "./work.yaml"],
                              cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, text=True) as process:
            status = pathlib.Path(f"/proc/{process.pid}/status")
            until = time.monotonic() + 60
            while time.monotonic() < until:  # until the command listens
                blocked = next(line for line in status.read_text().splitlines() if line.startswith("SigBlk"))
                if int(blocked.split()[1], 16) >> (signal.SIGINT - 1) & 1:
                    break
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            text = process.communicate(timeout=60)[0]
        self.assertEqual(process.returncode, INTERRUPTED)
        result = json.loads(text)
        self.assertTrue(result["interrupted"])
        self.assertLess(result["cycles"], 100 * 10**9)


if __name__ == "__main__":
    CORUN = os.path.abspath(sys.argv.pop(1))
    unittest.main()
