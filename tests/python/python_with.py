# SPDX-License-Identifier: MIT
"""For tests that need Python packages which not every machine has."""

import importlib.util
import os
import subprocess
import sys
import unittest

SKIPPED = 77
SYSTEM = "/usr/bin/python3"


def need(*modules):
    """Continues in a python that has them, as `corun report` does, or ends as skipped with the reason."""
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if not missing:
        return
    if os.path.realpath(SYSTEM) != os.path.realpath(sys.executable) and os.path.exists(SYSTEM):
        code = "import " + ", ".join(modules)
        if subprocess.run([SYSTEM, "-c", code], stderr=subprocess.DEVNULL, check=False).returncode == 0:
            os.execv(SYSTEM, [SYSTEM, *sys.argv])
    print(f"skipped: there is no {' and no '.join(missing)} for {sys.executable}")
    sys.exit(SKIPPED)


def run_tests():
    """unittest.main, which ends as skipped if every test was."""
    program = unittest.main(module="__main__", exit=False)
    result = program.result
    if result.skipped and result.wasSuccessful() and result.testsRun <= len(result.skipped):  # of a skipped class none is run
        for _, reason in result.skipped:
            print(f"skipped: {reason}")
        sys.exit(SKIPPED)
    sys.exit(not result.wasSuccessful())
