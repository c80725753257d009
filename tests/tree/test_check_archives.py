#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What check_archives.py finds in a tree of one file. Usage: test_check_archives.py TREE COMPILER READELF"""
import ctypes
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from check_archives import check_padding

TREE, COMPILER, READELF = pathlib.Path(sys.argv[1]).resolve(), *sys.argv[2:4]
CHECK = pathlib.Path(__file__).with_name("check_archives.py")
SOURCE = """\
#include "base/archive.h"
typedef void function(void);
struct inner { char small; function *call; unsigned bits : 3; };
struct thing { int first; struct inner inner[2][2]; union { void *one; long other; } either; void *owner; };
struct line { unsigned long long address; unsigned token; unsigned char flag; unsigned short rest; };
struct large { int before; struct line lines[64]; char behind; long last; };
void thing_archive(struct corun_archive *archive, struct thing *thing, struct large *large, struct inner *many);
void thing_archive(struct corun_archive *archive, struct thing *thing, struct large *large, struct inner *many)
{
    static const struct archive_hole holes[] = {HOLES};
    MOVES
}
"""
OWNER, INNER, EITHER = (f"ARCHIVE_HOLE(struct thing, {name})" for name in ("owner", "inner", "either"))


class FoundOut(unittest.TestCase):
    def check(self, holes, moves, status):
        with tempfile.TemporaryDirectory() as name:
            tree = pathlib.Path(name).resolve()
            (tree / "src").mkdir()
            (tree / "src/thing.c").write_text(SOURCE.replace("HOLES", ", ".join(holes)).replace("MOVES", moves))
            command = f"{COMPILER} -D_GNU_SOURCE -I{TREE}/include -I{TREE}/src -std=c17 -c src/thing.c"
            (tree / "compile_commands.json").write_text(json.dumps([{"directory": name, "file": "src/thing.c", "command": command}]))
            done = subprocess.run([sys.executable, CHECK, tree, tree, READELF], capture_output=True, text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (status, ""), done.stdout)
            return done.stdout.splitlines()[:-1]

    def test_nothing_is_wrong(self):
        for move in ("ARCHIVE_RECORD", "ARCHIVE_LARGE_RECORD"):
            self.assertEqual(self.check((OWNER, INNER, EITHER), f"{move}(archive, thing, holes);", 0), [])

    def test_addresses(self):
        want = "is saved: it wants an ARCHIVE_HOLE"
        for move in ("ARCHIVE_RECORD", "ARCHIVE_LARGE_RECORD"):
            found = self.check((INNER,), f"{move}(archive, thing, holes);", 1)
            self.assertEqual(found, [f"src/thing.c:11: the address {name} {want}" for name in ("either.one (byte 104)", "owner (byte 112)")])
        found = self.check((OWNER, EITHER), "ARCHIVE_RECORD(archive, thing, holes);", 1)
        self.assertEqual(found, [f"src/thing.c:11: the address inner[{i}][{k}].call (byte {16 + 48 * i + 24 * k}) {want}"
                                 for i in range(2) for k in range(2)])

    def test_addresses_in_bytes(self):
        record = "ARCHIVE_RECORD(archive, thing, holes); "
        for move in ("archive_bytes(archive, many, 3 * sizeof *many);", "ARCHIVE(archive, *many);"):
            found = self.check((OWNER, INNER, EITHER), record + move, 1)
            self.assertEqual(found, ["src/thing.c:11: the address call (byte 8) is saved: it wants an ARCHIVE_HOLE"])

    def test_padding(self):
        bits, left, taken = b"\xff\x0f\x00", "byte {} belongs to no member and is not cleared", "the compiler clears byte {}, which belongs to a member"
        for after, holes, findings in ((b"\xff\x0f\x00", [], []), (b"\xff\x1f\x00", [], [left.format(1)]), (b"\xff\x0f\x01", [], [left.format(2)]),
                                       (b"\xff\x0f\x01", [(2, 3)], []), (b"\xff\x0e\x00", [], [taken.format(1)]),
                                       (b"\x00\x0f\xff", [], [taken.format(0), left.format(2)])):
            found = check_padding(lambda room, after=after: ctypes.memmove(room, after, len(after)), bits, holes)
            self.assertEqual(list(found), findings)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[4:])
