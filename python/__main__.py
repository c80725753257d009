# SPDX-License-Identifier: MIT
"""Where `corun report` and `corun reproduce` come in: python3 FOLDER [reproduce] OPTION... Finds a python that has what is
needed, and says so if there is none."""

import importlib.util
import os
import subprocess
import sys

sys.dont_write_bytecode = True  # the folder belongs to an installation
SYSTEM = "/usr/bin/python3"
NOT_FOUND = 5  # the exit status
OLDEST = (3, 9)


def missing_here(modules):
    return [module for module in modules if importlib.util.find_spec(module) is None]


def system_has(modules):
    """Often the first python3 of the PATH is one of the user's own, while the packages belong to that of the system."""
    if os.environ.get("CORUN_PYTHON") or os.path.realpath(SYSTEM) == os.path.realpath(sys.executable):
        return False
    try:
        return subprocess.run([SYSTEM, "-c", "import " + ", ".join(modules)], stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, check=False).returncode == 0
    except OSError:
        return False


def run():
    wants_page = any(argument.split("=")[0] == "--html" for argument in sys.argv[1:])
    modules = ["numpy", "matplotlib"] if wants_page else ["numpy"]
    missing = missing_here(modules) if sys.version_info >= OLDEST else modules
    if missing and system_has(modules):
        os.execv(SYSTEM, [SYSTEM, *sys.argv])
    if sys.version_info < OLDEST:
        sys.exit(say(f"Python {OLDEST[0]}.{OLDEST[1]} or newer is needed; {sys.executable} is {sys.version.split()[0]}"))
    if missing:
        packages = " ".join("python3-" + module for module in missing)
        what = "the page" if missing == ["matplotlib"] else "corun report"
        sys.exit(say(f"{what} needs {' and '.join(missing)}, which {sys.executable} does not have; Debian: apt-get install "
                     f"{packages}; or name another python in CORUN_PYTHON"))
    if sys.argv[1:2] == ["reproduce"]:
        from corun.experiment_main import main
        sys.exit(main(sys.argv[2:]))
    from corun.report import main
    sys.exit(main())


def say(text):
    print(f"corun: {text}", file=sys.stderr)
    return NOT_FOUND


run()
