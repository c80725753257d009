#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Headers of which nothing is used must be found out, and no others: what tests/tree/check_includes.py says of small trees."""
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import check_includes  # noqa: E402

GIVES = """\
/* struct said { only in a comment */
#define MOST 4
#define ROWS(R) \\
    R(north, 1) \\
    R(south, 2)
typedef int (*measured)(void);
struct room {
    int doors;
};
enum colour { RED, GREEN = 2 };
extern const struct room hall, attic;
int open_door(struct room *room, int which);
static inline int twice(int value)
{
    int inside = value;
    return 2 * inside;
}
"""


class CheckIncludes(unittest.TestCase):
    def complaints(self, body, **more):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {"src/house/gives.h": GIVES, "src/house/uses.c": f'#include "house/gives.h"\n\n{body}\n', **more}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            return check_includes.check(root)

    def test_each_kind_of_name(self):
        for used in ("int x = MOST;", "measured m;", "struct room *r;", "enum colour c;", "int c = GREEN;", "const void *a = &attic;",
                     "void f(void) { open_door(0, 1); }", "int x = twice(2);", "int north;"):
            with self.subTest(used):
                self.assertEqual(self.complaints(used), [])

    def test_nothing_used(self):
        said = ["src/house/uses.c:1: nothing of house/gives.h is used"]
        for unused in ("int x;", "/* open_door */ int x;", 'const char *text = "open_door";', "int inside, which, said;", "int f(void) { return sizeof 1; }"):
            with self.subTest(unused):
                self.assertEqual(self.complaints(unused), said)

    def test_what_only_a_header_of_it_gives(self):
        inner = {"src/house/gives.h": '#include "house/inner.h"\nint given;\n', "src/house/inner.h": "int open_window(void);\n"}
        self.assertEqual(len(self.complaints("int x = open_window();", **inner)), 1)

    def test_what_no_text_shows(self):
        self.assertEqual(self.complaints("int x;", **{"src/house/gives.h": '#include "house/rows.def"\n', "src/house/rows.def": ""}), [])
        self.assertEqual(self.complaints("#define OPEN(what) open##_##what()\nint x = OPEN(door);\nint open;"), [])
        table = {"src/house/rows.def": "ROW(open_door)\n"}
        self.assertEqual(self.complaints('#include "house/rows.def"', **table), [])

    def test_members(self):
        """Of a structure that another header names and this one alone defines."""
        other = {"src/house/other.h": "struct room;\nstruct room *find_room(void);\nstruct gate {\n    int bars;\n};\n"}
        for member, complaints in ("doors", 0), ("bars", 1):
            body = f'#include "house/other.h"\nint n = find_room()->{member};'
            self.assertEqual(len(self.complaints(body, **other)), complaints, member)

    def test_of_its_own_noun(self):
        own = {"src/house/uses.h": "struct nobody;\n", "src/house/uses.c": '#include "house/uses.h"\n'}
        self.assertEqual(self.complaints("", **own), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
