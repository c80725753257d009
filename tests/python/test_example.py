#!/usr/bin/env python3
"""The example in python/examples runs, in small, and leaves what it says.
Usage: test_example.py FOLDER_OF_THE_PACKAGE LIBRARY CORUN [TEST...]"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from python_with import SKIPPED, need, run_tests  # noqa: E402

need("numpy", "matplotlib")
PACKAGE, LIBRARY, CORUN = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))

CAMPAIGN = """\
name: two
gpus: ["gtx980:sms=4"]
policies: [left-over, even]
workloads: [sgemm, lbm]
size: small
cycles: 20K
mixes:
  - {size: 2}
"""


class Example(unittest.TestCase):
    def test_sharing(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            environment = dict(os.environ, CORUN_LIBRARY=LIBRARY, PYTHONPATH=PACKAGE, PYTHONDONTWRITEBYTECODE="1",
                               XDG_CACHE_HOME=str(folder / "cache"))
            (folder / "two.yaml").write_text(CAMPAIGN)
            subprocess.run([CORUN, "campaign", "-q", "-r", "two.db", "two.yaml"], cwd=folder, env=environment, check=True)
            done = subprocess.run([sys.executable, os.path.join(PACKAGE, "examples", "sharing.py"), "--small", "--results",
                                   folder / "two.db", folder], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stderr, "")
            for expected in (r"gtx980:sms=8: 8 SMs at 1216 MHz, 2 MB of L2", r"cooperative +STP [01]\.\d{3}, sgemm at",
                             r"SMs that issued for each application: \[4 4\]", r"two: 4 cases",
                             r"even +STP 1\.\d{3} over 1 cases", r"the least: corun run --gpu gtx980:sms=4 --policy"):
                self.assertTrue(re.search(expected, done.stdout), f"{expected}: {done.stdout}")
            for picture in ("split.svg", "sweep.svg"):
                root = xml.etree.ElementTree.parse(folder / picture).getroot()
                self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
                self.assertGreater(len(list(root.iter("{http://www.w3.org/2000/svg}path"))), 20)


if __name__ == "__main__":
    if not os.path.exists(LIBRARY):
        print(f"skipped: {LIBRARY} is not built")
        sys.exit(SKIPPED)
    run_tests()
