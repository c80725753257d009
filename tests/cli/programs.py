# SPDX-License-Identifier: MIT
"""A program that several tests of the command run: `work` computes for a number of rounds, `outside` loads where nothing is."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

PTX = """.version 6.3
.target sm_52
.address_size 64
.visible .entry work(.param .u64 data, .param .u32 rounds)
{
    .reg .pred %p<2>;
    .reg .b32 %r<8>;
    .reg .f32 %f<3>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [data];
    ld.param.u32 %r1, [rounds];
    mov.u32 %r2, %ctaid.x;
    mov.u32 %r3, %ntid.x;
    mov.u32 %r4, %tid.x;
    mad.lo.s32 %r5, %r2, %r3, %r4;
    mul.wide.u32 %rd2, %r5, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.f32 %f1, [%rd3];
    mov.u32 %r6, 0;
LOOP:
    fma.rn.f32 %f1, %f1, 0f3F000000, 0f3F800000;
    add.u32 %r6, %r6, 1;
    setp.lt.u32 %p1, %r6, %r1;
    @%p1 bra LOOP;
    st.global.f32 [%rd3], %f1;
    ret;
}
.visible .entry outside(.param .u64 data, .param .u32 rounds)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [data];
    add.s64 %rd2, %rd1, 1099511627776;
    ld.global.u32 %r1, [%rd2];
    st.global.u32 [%rd1], %r1;
    ret;
}
"""

DESCRIPTION = """\
name: {name}
ptx: work.ptx
sizes:
  small: {{rounds: {rounds}}}
buffers:
  - {{name: data, type: f32, count: {count}, initial: {{uniform: [0, 1]}}, output: true}}
launches:
  - {{kernel: {kernel}, grid: {grid}, block: 128, arguments: [{{buffer: data}}, {{u32: rounds}}]}}
"""


def describe(name, rounds, kernel="work", grid=32, count=4096):
    """A launch description of it."""
    return DESCRIPTION.format(name=name, rounds=rounds, kernel=kernel, grid=grid, count=count)


class InFolder(unittest.TestCase):
    """A folder of their own for the tests of a class, with the program, a cache, and NAME.yaml for each row of `programs`."""

    programs = {}  # name: arguments of describe()
    command = None  # corun

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="corun-test-"))
        cls.environment = dict(os.environ, XDG_CACHE_HOME=str(cls.folder / "cache"), LC_ALL="C")
        (cls.folder / "work.ptx").write_text(PTX)
        for name, arguments in cls.programs.items():
            (cls.folder / f"{name}.yaml").write_text(describe(name, **arguments))

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def run_corun(self, *arguments):
        return subprocess.run([self.command, *arguments], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=600, check=False)

    def corun(self, *arguments, status=0):
        done = self.run_corun(*arguments)
        self.assertEqual(done.returncode, status, f"{arguments}: {done.stdout} {done.stderr}")
        return done
