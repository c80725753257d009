#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bad trees must be found out: one test for each rule of scripts/check_layers.py."""
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts"))
sys.dont_write_bytecode = True
import check_layers  # noqa: E402

GOOD = {
    "src/layers.txt": "# a comment\n\nbase:\nptx: base\nisa: base ptx\ngovern: base\ngpu: base govern\nshare: | base\n"
                      "cli: base gpu isa share\n",
    "include/corun/gpu.h": '#include "corun/status.h"\n',
    "include/corun/status.h": "",
    "src/base/arena.h": "",
    "src/base/arena.c": '#include "base/arena.h"\n/* printf("") and stderr are only named here */\n',
    "src/gpu/sm.h": '#include "base/arena.h"\n#include "corun/gpu.h"\n',
    "src/gpu/sm.c": '#include "gpu/sm.h"\nvoid f(struct s *s) { s->exit(1); state_exit(1); snprintf(0, 0, "exit(1)"); }\n',
    "src/share/even.c": '#include "corun/gpu.h"\n',
    "src/cli/main.c": '#include "gpu/sm.h"\nint main(void) { printf("x"); exit(1); }\n',
}


class CheckLayers(unittest.TestCase):
    def complaints(self, changed):
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**GOOD, **changed}.items():
                os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            return check_layers.check_sources(root)

    @staticmethod
    def build(folder, text, archive):
        source, member = (os.path.join(folder, n) for n in ("x.c", "x.o"))
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        subprocess.run(["cc", "-O0", "-fPIC", "-c", source, "-o", member], check=True)
        subprocess.run(["ar", "rc", archive, member], check=True)

    def expect(self, changed, *parts):
        complaints = self.complaints(changed)
        self.assertEqual(len(complaints), 1, complaints)
        for part in parts:
            self.assertIn(part, complaints[0])

    def test_good_tree(self):
        self.assertEqual(self.complaints({}), [])

    def test_upwards(self):
        self.expect({"src/base/arena.c": '\n#include "gpu/sm.h"\n'}, "src/base/arena.c:2:", "base must not include gpu")

    def test_only_what_the_row_names(self):
        row = GOOD["src/layers.txt"].replace("cli: base gpu isa share", "cli: base | gpu")
        self.expect({"src/layers.txt": row}, "src/cli/main.c:1:", "cli must not include gpu")  # it may only call it

    def test_tables(self):
        for line, what in (("base: gpu", "second row of base"), ("more: cli more", "more names more, which is not a layer below it"),
                           ("more: | above", "more names above"), ("More: base", "no row of the table")):
            self.expect({"src/layers.txt": GOOD["src/layers.txt"] + line + "\n"}, "src/layers.txt:10:", what)

    def test_page(self):
        rows = "".join(f"    {row}\n" for row in GOOD["src/layers.txt"].splitlines()[2:])
        self.assertEqual(self.complaints({"docs/architecture.md": f"# Layers\n\n{rows}\nMore.\n"}), [])
        for text in ("", rows.replace("gpu: base", "gpu:"), rows + "    more: base\n"):
            self.expect({"docs/architecture.md": f"# Layers\n\n{text}\nMore.\n"}, "docs/architecture.md:1:")

    def test_calls(self):
        with tempfile.TemporaryDirectory() as folder:
            for layer, text in (("base", "int low(void) { return 1; }"), ("govern", "int low(void); int mid(void) { return low(); }"),
                                ("gpu", "int mid(void); int high(void) { return mid(); }"),
                                ("share", "int low(void); int high(void); int side(int x) { return x ? low() : high(); }")):
                self.build(folder, text, os.path.join(folder, f"libcorun_{layer}.a"))
            archives = [os.path.join(folder, f) for f in sorted(os.listdir(folder)) if f.endswith(".a")]
            complaints = check_layers.check_calls(archives, check_layers.Layers(GOOD["src/layers.txt"]))
            self.assertEqual(complaints, ["share(x.o): share must not call gpu (high)"])

    def test_gpu_and_isa(self):
        self.expect({"src/isa/warp.h": "", "src/gpu/sm.c": '#include "isa/warp.h"\n'}, "gpu must not include isa")

    def test_gpu_and_ptx(self):
        self.expect({"src/ptx/module.h": "", "src/gpu/sm.c": '#include "../ptx/module.h"\n'},
                    "gpu must not include ptx")

    def test_share_and_gpu(self):
        self.expect({"src/share/even.c": '#include "gpu/sm.h"\n'}, "share must not include gpu")

    def test_gpu_and_share(self):
        self.expect({"src/share/table.h": "", "src/gpu/sm.c": '#include "share/table.h"\n'},
                    "gpu must not include share")

    def test_govern_sees_only_base(self):
        for layer in ("ptx", "isa", "gpu", "share"):
            self.expect({f"src/{layer}/table.h": "", "src/govern/view.c": f'#include "{layer}/table.h"\n'},
                        f"govern must not include {layer}")

    def test_share_and_govern(self):
        self.expect({"src/govern/governor.h": "", "src/share/even.c": '#include "govern/governor.h"\n'},
                    "share must not include govern")

    def test_contract_includes_only_itself(self):
        self.expect({"include/corun/status.h": '#include "base/arena.h"\n'}, "corun must not include base")

    def test_cycle(self):
        self.expect({"src/base/arena.h": '#include "base/vector.h"\n', "src/base/vector.h": '#include "arena.h"\n'},
                    "cycle of includes", "src/base/arena.h", "src/base/vector.h")

    def test_cycle_through_three(self):
        self.expect({"src/base/arena.h": '#include "base/b.h"\n', "src/base/b.h": '#include "base/c.h"\n',
                     "src/base/c.h": '#include "base/arena.h"\n'}, "cycle of includes")

    def test_missing(self):
        self.expect({"src/base/arena.c": '#include "base/nowhere.h"\n'}, 'there is no "base/nowhere.h"')

    def test_unknown_layer(self):
        self.expect({"src/misc/x.c": ""}, "not in a known layer")

    def test_printing_and_leaving(self):
        for call in ('printf("x");', "puts(x);", 'fprintf(stderr, "x");', "exit (1);", "abort();", "_exit(1);",
                     "perror(0);", "fflush(stdout);"):
            self.expect({"src/gpu/sm.c": "void f(void)\n{\n    " + call + "\n}\n"}, "src/gpu/sm.c:3:",
                        "only cli prints and exits")

    def test_lengths(self):
        function = "int f(int x)\n{\n" + 77 * "    x++;\n" + "    return x;\n}\n"
        self.assertEqual(self.complaints({"src/gpu/sm.c": function, "src/gpu/all.def": 900 * "\n"}), [])
        self.expect({"src/gpu/sm.c": function.replace("    return", "    x--;\n    return")}, "src/gpu/sm.c:1:", "more than 80 lines")
        self.assertEqual(self.complaints({"src/gpu/sm.c": 800 * "\n"}), [])
        self.expect({"src/gpu/sm.c": 801 * "\n"}, "src/gpu/sm.c:801:", "more than 800 lines")

    def test_mutable_state(self):
        with tempfile.TemporaryDirectory() as folder:
            for text, bad in (("static int count; int f(void) { return count++; }", True),
                              ("int f(void) { static int count = 3; return count++; }", True),
                              ("int count;", True),
                              ("_Thread_local int count;", True),
                              ("const char *name = \"x\";", True),
                              ("const int count = 3;", False),
                              ("static const char *const names[] = {\"a\", \"b\"};"
                               "const char *f(int i) { return names[i]; }", False)):
                archive = os.path.join(folder, "x.a")
                if os.path.exists(archive):
                    os.remove(archive)
                self.build(folder, text, archive)
                self.assertEqual(len(check_layers.check_archive(archive)), int(bad), text)


if __name__ == "__main__":
    unittest.main()
