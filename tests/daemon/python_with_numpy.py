# SPDX-License-Identifier: MIT
"""A python with what the package corun needs: who imports this asks for it when a test wants one, and then once."""
import functools
import subprocess
import sys


@functools.cache
def find_python_with_numpy():
    return next((python for python in (sys.executable, "/usr/bin/python3")
                 if subprocess.run([python, "-c", "import numpy"], capture_output=True, check=False).returncode == 0), None)


def needs_numpy(test):
    @functools.wraps(test)
    def run(self):
        if not find_python_with_numpy():
            self.skipTest("no python has numpy")
        test(self)
    return run
