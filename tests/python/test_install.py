#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The package as others get it: pip installs it, it finds the library or says where it looked, and its type hints hold.
Usage: test_install.py FOLDER_OF_THE_PACKAGE LIBRARY [TEST...]"""

import inspect
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import typing
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from python_with import SKIPPED, need, run_tests  # noqa: E402

need("numpy", "setuptools", "wheel", "pip")  # pip behind setuptools, which wants to be the first with distutils
PACKAGE, LIBRARY = (os.path.abspath(sys.argv.pop(1)) for _ in range(2))
if not os.path.exists(LIBRARY):
    print(f"skipped: {LIBRARY} is not built")
    sys.exit(SKIPPED)
ROOT = pathlib.Path(__file__).resolve().parents[2]

RIGHT = """\
import corun
result = corun.run(["sgemm", "lbm"], policy="even", goals=[0.9, None], cycles="5K", overrides={"sms": 2}, worker=False)
number: float = result.stp + result.applications["ipc"][0]
names: list[str] = corun.workloads() + result.messages
if result.history is not None:
    number += result.history.movement()
with corun.Results("goals.db") as results:
    number += corun.geometric_mean(results.cases(policy="even")["stp"])
try:
    corun.gpu("gtx980", sms=8)
except corun.WorkerError as error:
    print(error.returncode, error.stage, error.status)
"""
WRONG = """\
import corun
corun.run(["sgemm"], cycels="5K")
words: str = corun.run("sgemm").stp
corun.Results("goals.db").cases(policy=3)
"""


def tearDownModule():
    if Installed.folder:
        shutil.rmtree(Installed.folder)


class Installed(unittest.TestCase):
    """Installed once for all tests."""
    folder = None

    @classmethod
    def setUpClass(cls):
        if Installed.folder:
            return
        Installed.folder = pathlib.Path(tempfile.mkdtemp(prefix="corun-install-"))
        shutil.copytree(PACKAGE, Installed.folder / "python", ignore=shutil.ignore_patterns("__pycache__", "build", "*.egg-info"))
        Installed.site = Installed.folder / "site"
        done = subprocess.run([sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--no-build-isolation",
                               "--disable-pip-version-check", "--target", cls.site, cls.folder / "python"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            raise AssertionError(done.stdout)

    def python(self, program, *options, path=None, **variables):
        environment = dict(os.environ, PYTHONPATH=str(path or self.site), PYTHONDONTWRITEBYTECODE="1",
                           XDG_CACHE_HOME=str(self.folder / "cache"), **variables)
        if "CORUN_LIBRARY" not in variables:
            environment.pop("CORUN_LIBRARY", None)
        return subprocess.run([sys.executable, *options, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=environment, cwd=self.folder, check=False)


class Install(Installed):
    def test_version(self):
        """Of the package, of what pip calls it, and of the library."""
        version = re.search(r"^project\(corun VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M)[1]
        self.assertEqual(self.python("import corun; print(corun.__version__)").stdout, version + "\n")
        self.assertTrue((self.site / f"corun-{version}.dist-info").is_dir())
        self.assertEqual(self.python("import corun; print(corun.__version__)", path=PACKAGE).stdout, version + "\n")

    def test_runs(self):
        done = self.python("import corun; print(corun.__file__); print(corun.run('sgemm@small', cycles=5000, gpu='gtx980:sms=1').cycles)",
                           CORUN_LIBRARY=LIBRARY)
        self.assertEqual((done.stdout, done.stderr), (f"{self.site}/corun/__init__.py\n5000\n", ""))

    def test_no_library(self):
        done = self.python("from corun import library\nlibrary._of_the_system = lambda: ''\nlibrary.INSTALLED = '/no/where.so'\n"
                           "import corun\ntry: corun.counters()\nexcept corun.CorunError as error: print(error.status, error)")
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in ("LIBRARY libcorun.so was not found", "make install", "CORUN_LIBRARY=", f"\n  {self.site}/corun/libcorun.so\n",
                      "LD_LIBRARY_PATH", "\n  /no/where.so\n"):
            self.assertIn(words, done.stdout)

    def test_library_beside(self):
        path = self.site / "corun" / "libcorun.so"
        path.symlink_to(LIBRARY)
        try:
            done = self.python("import corun; corun.counters(); from corun import library; print(library.path())")
        finally:
            path.unlink()
        self.assertEqual((done.stdout, done.stderr), (f"{path}\n", ""))

    def test_library_of_the_loader(self):
        done = self.python("import corun; corun.counters(); from corun import library; print(library.path())",
                           LD_LIBRARY_PATH=os.path.dirname(LIBRARY))
        self.assertEqual(done.stderr, "")
        self.assertRegex(done.stdout, r"^(libcorun\.so|/)")

    def test_without_numpy(self):
        """-S: without what is installed."""
        done = self.python("import corun", "-S")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stderr.splitlines()[-1], f"ModuleNotFoundError: corun needs numpy, which {sys.executable} does not have: "
                         "apt-get install python3-numpy, or pip install numpy")
        self.assertEqual(done.stderr.count("Traceback"), 1)


class Hints(Installed):
    def test_all_there(self):
        """Every argument and result of what the package has for others; and they mean something."""
        sys.path.insert(0, PACKAGE)
        import corun
        self.assertTrue((self.site / "corun" / "py.typed").exists())

        def check(name, function):
            for parameter in inspect.signature(function).parameters.values():
                if parameter.name != "self":
                    self.assertIsNot(parameter.annotation, parameter.empty, f"{name}: {parameter.name}")
            self.assertIn("return", typing.get_type_hints(function), name)
        for name in corun.__all__:
            one = getattr(corun, name)
            if inspect.isclass(one):
                for part, method in vars(one).items():
                    method = getattr(method, "fget", getattr(method, "__func__", method))
                    if inspect.isfunction(method):
                        check(f"{name}.{part}", method)
            elif callable(one):
                check(name, one)

    @unittest.skipUnless(os.path.exists("/usr/bin/mypy") or shutil.which("mypy"), "there is no mypy")
    def test_by_a_checker(self):
        """Of the package itself (what `import corun` reads), and of programs of its users."""
        (self.folder / "right.py").write_text(RIGHT)
        (self.folder / "wrong.py").write_text(WRONG)
        program = "/usr/bin/mypy" if os.path.exists("/usr/bin/mypy") else shutil.which("mypy")
        modules = [word for name in ("corun", "corun.worker_main", "right", "wrong") for word in ("-m", name)]
        done = subprocess.run([program, "--strict", "--python-version", "3.9", "--cache-dir", self.folder / "types", *modules],
                              cwd=self.folder, stdout=subprocess.PIPE, text=True, check=False,
                              env=dict(os.environ, MYPYPATH=str(self.site)))
        found = re.findall(r"^(\S+): error", done.stdout, re.M)
        self.assertEqual(found, ["wrong.py:2", "wrong.py:3", "wrong.py:4"], done.stdout)


if __name__ == "__main__":
    run_tests()
