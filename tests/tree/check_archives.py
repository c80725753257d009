#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
Holds what a checkpoint saves (src/base/archive.h) against its types. Every source file that saves something is compiled once more, so that
it notes the type and the holes of each record (note_archives.h); what a type consists of is read from the debugging information.
It is wrong

* that a record, or bytes that are moved without holes, have an address outside of the holes;
* that the compiler, told to clear what lies between the members of a record, leaves some of it outside of the holes, or clears a member.

Usage: check_archives.py TREE BUILD READELF. BUILD has the file compile_commands.json, for gcc.
"""
import ctypes
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

SAVES = re.compile(r"\b(?:ARCHIVE_RECORD|ARCHIVE_LARGE_RECORD|ARCHIVE_PLAIN|ARCHIVE|archive_bytes)\(")
RECORDS = re.compile(r"\b(?:ARCHIVE_RECORD|ARCHIVE_LARGE_RECORD)\(")
BYTES, PLAIN, RECORD, LARGE_RECORD = range(4)
ENTRY = re.compile(r" *<(\d+)><([0-9a-f]+)>: Abbrev Number: \d+ \(DW_TAG_(\w+)\)")
ATTRIBUTE = re.compile(r" *<[0-9a-f]+> +DW_AT_(\w+) *: (?:\([^)]*\):? )*(.*)")  # the form of a value, as some readelf tell, is left out
NOTED = re.compile(r"NOTED_(BYTES|PLAIN|RECORD|LARGE_RECORD)_(\d+)")
PLACE = re.compile(r"<0x([0-9a-f]+)>")
ADDRESS_BYTES, ALIGNMENT = 8, 64
KEYWORDS = {"structure_type": "struct ", "union_type": "union ", "enumeration_type": "enum "}
SAME = ("typedef", "const_type", "volatile_type", "restrict_type", "atomic_type")


class Hole(ctypes.Structure):
    _fields_ = [("offset", ctypes.c_size_t), ("bytes", ctypes.c_size_t)]


class Noted(ctypes.Structure):
    _fields_ = [("line", ctypes.c_size_t), ("number", ctypes.c_size_t), ("kind", ctypes.c_size_t), ("holes", ctypes.POINTER(Hole)),
                ("hole_count", ctypes.c_size_t)]


class Entry:
    """A type, a member or a variable of the debugging information."""

    def __init__(self, tag):
        self.tag, self.attributes, self.children = tag, {}, []

    def number(self, name, default=None):
        value = self.attributes.get(name)
        return default if value is None else int(value.split()[0], 0)


class Types:
    """All entries of a program, and what its types consist of."""

    def __init__(self, text):
        self.entries, self.noted, self.cleared, self.known = {}, {}, [], {}
        above, entry = [], None
        for line in text.splitlines():
            found = ENTRY.match(line)
            if found:
                depth, entry = int(found[1]), Entry(found[3])
                self.entries[int(found[2], 16)] = entry
                del above[depth:]
                if above:
                    above[-1].children.append(entry)
                above.append(entry)
                continue
            found = ATTRIBUTE.match(line)
            if found and entry:
                entry.attributes[found[1]] = found[2].strip()
        for entry in self.entries.values():
            found = NOTED.fullmatch(entry.attributes.get("name", ""))
            if found and entry.tag == "variable":
                self.noted[int(found[2])] = self.type_of(self.type_of(entry))
                if found[1] in ("PLAIN", "RECORD"):
                    self.cleared.append(int(found[2]))

    def type_of(self, entry):
        """Nothing for void."""
        place = entry.attributes.get("type")
        return self.entries[int(PLACE.match(place)[1], 16)] if place else None

    def spell(self, entry):
        """A type in C."""
        return KEYWORDS.get(entry.tag, "") + entry.attributes["name"]

    def parts(self, entry):
        """The bits of a type that belong to members, byte by byte, and its addresses: [(offset, name)]."""
        if entry is None:
            return bytes(), []
        if id(entry) not in self.known:
            self.known[id(entry)] = self.find_parts(entry)
        return self.known[id(entry)]

    def find_parts(self, entry):
        if entry.tag in SAME:
            return self.parts(self.type_of(entry))
        if entry.tag == "array_type":
            return self.parts_of_array(entry)
        if entry.tag in ("structure_type", "union_type"):
            return self.parts_of_structure(entry)
        if entry.tag == "pointer_type":
            return b"\xff" * ADDRESS_BYTES, [(0, "")]
        if entry.tag in ("base_type", "enumeration_type"):
            return b"\xff" * entry.number("byte_size"), []
        raise ValueError(f"DW_TAG_{entry.tag} is not known")

    def parts_of_array(self, entry):
        bits, addresses = self.parts(self.type_of(entry))
        for dimension in reversed([child for child in entry.children if child.tag == "subrange_type"]):
            count = dimension.number("count", dimension.number("upper_bound", -1) + 1)
            addresses = [(i * len(bits) + offset, f"[{i}]{name}") for i in range(count) for offset, name in addresses]
            bits = bits * count
        return bits, addresses

    def parts_of_structure(self, entry):
        bits, addresses = bytearray(entry.number("byte_size")), []
        for member in entry.children:
            if member.tag != "member":
                continue
            if "bit_size" in member.attributes:
                first = member.number("data_bit_offset")
                for bit in range(first, first + member.number("bit_size")):
                    bits[bit // 8] |= 1 << bit % 8
                continue
            at, name = member.number("data_member_location", 0), member.attributes.get("name")
            inner_bits, inner = self.parts(self.type_of(member))
            for i, byte in enumerate(inner_bits):
                bits[at + i] |= byte
            addresses += [(at + offset, (f".{name}" if name else "") + rest) for offset, rest in inner]
        return bytes(bits), addresses


def compile_file(command, text, output, *options):
    """A text as a file of the project, with the notes before it."""
    words = shlex.split(command["command"])
    kept = [word for word in words[1:] if word.startswith(("-I", "-D", "-std=", "-m"))]
    notes = pathlib.Path(__file__).with_name("note_archives.h")
    subprocess.run([words[0], *kept, "-w", "-O0", "-fPIC", "-include", notes, *options, "-o", output, "-x", "c", "-"], check=True,
                   cwd=command["directory"], input=text, text=True)


def find_types(command, source, folder, readelf):
    """The types of a file, from its debugging information."""
    compile_file(command, f'#include "{source}"\n', folder / "noted.o", "-c", "-gdwarf-5")
    dump = [readelf, "--wide", "--debug-dump=info", folder / "noted.o"]
    return Types(subprocess.run(dump, check=True, capture_output=True, text=True).stdout)


def load(command, source, folder, types):
    """The file as a library that needs no other one. For each type, clear_NUMBER clears what lies between the members."""
    exports, library = folder / "exports", folder / "noted.so"
    exports.write_text("{global: noted_begin; noted_end; clear_*; local: *;};\n")
    text = f'#include "{source}"\n'
    for number, kind in sorted(types.items()):
        text += f"void clear_{number}(void *noted)\n{{\n    __builtin_clear_padding(({kind} *)noted);\n}}\n"
    compile_file(command, text, library, "-shared", "-ffunction-sections", "-fdata-sections", f"-Wl,--gc-sections,--version-script={exports}")
    return ctypes.CDLL(str(library))


def in_a_hole(holes, offset, count=1):
    return any(begin <= offset and offset + count <= end for begin, end in holes)


def check_padding(clear, bits, holes):
    """What the compiler clears where all is ones."""
    room = (ctypes.c_ubyte * (len(bits) + 2 * ALIGNMENT))()
    ctypes.memset(room, 0xff, len(room))
    begin = -ctypes.addressof(room) % ALIGNMENT
    clear(ctypes.c_void_p(ctypes.addressof(room) + begin))
    after = bytes(room)[begin:begin + len(bits)]
    cleared = next((i for i, bit in enumerate(bits) if after[i] & bit != bit), None)
    left = next((i for i, bit in enumerate(bits) if after[i] & ~bit & 0xff and not in_a_hole(holes, i)), None)
    if cleared is not None:
        yield f"the compiler clears byte {cleared}, which belongs to a member"
    if left is not None:
        yield f"byte {left} belongs to no member and is not cleared"


def check_note(note, types, library):
    """What is wrong with one record."""
    bits, addresses = types.parts(types.noted[note.number])
    holes = [(note.holes[i].offset, note.holes[i].offset + note.holes[i].bytes) for i in range(note.hole_count)]
    for offset, name in addresses:
        if not in_a_hole(holes, offset, ADDRESS_BYTES):
            yield f"the address {name.lstrip('.') or 'itself'} (byte {offset}) is saved: it wants an ARCHIVE_HOLE"
    if note.kind in (PLAIN, RECORD):
        yield from check_padding(library[f"clear_{note.number}"], bits, holes)


def check_file(command, source, readelf):
    """Findings, and how many records there are."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        types = find_types(command, source, folder, readelf)
        library = load(command, source, folder, {number: types.spell(types.noted[number]) for number in types.cleared})
    for function in (library.noted_begin, library.noted_end):
        function.restype = ctypes.c_void_p
    begin, end = library.noted_begin(), library.noted_end()
    notes = (Noted * ((end - begin) // ctypes.sizeof(Noted))).from_address(begin)
    findings = [(note.line, text) for note in notes for text in check_note(note, types, library)]
    return findings, sum(note.kind in (RECORD, LARGE_RECORD) for note in notes)


def main():
    tree, build, readelf = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]), sys.argv[3]
    commands = {}
    for command in json.loads((build / "compile_commands.json").read_text()):
        commands.setdefault(pathlib.Path(command["directory"], command["file"]).resolve(), command)
    wrong = total = 0
    for source in sorted((tree / "src").rglob("*.c")):
        text = source.read_text()
        if source == tree / "src/base/archive.c" or not SAVES.search(text):
            continue
        findings, records = check_file(commands[source], source, readelf)
        where = source.relative_to(tree)
        if records != len(RECORDS.findall(text)):
            findings.append((1, f"{records} records were found where the text has {len(RECORDS.findall(text))}"))
        for line, message in sorted(findings):
            print(f"{where}:{line}: {message}")
        wrong += len(findings)
        total += records
    if not total:
        sys.exit("no records were found")
    print(f"{total} records, {wrong} findings")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
