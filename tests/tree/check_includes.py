#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A source file includes a header of ours for a name that it says: check_includes.py ROOT

A header gives the functions, types, constants and macros that it declares itself, not those of headers that it includes, and members that no other
one defines. What a header makes of a
table (.def), or by pasting, no text shows: such headers count as used, and what a file pastes. So does the header of the file's own noun. What a table names that a file
includes, the file says. Says FILE:LINE and ends with 1 if there is anything.
"""
import functools
import pathlib
import re
import sys

FOLDERS = ("src", "tests", "fuzz", "bench", "examples")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.M)
WORD = re.compile(r"[A-Za-z_]\w*")
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\\n|\\.)*", re.M)
NO_NAMES = {"sizeof", "_Static_assert", "_Alignof", "_Alignas", "__attribute__", "if", "for", "while", "switch", "return", "void"}


def without_comments_and_texts(text):
    """Blanked, lines kept; what an include names stays."""
    blank = lambda match: match[0] if match[0].startswith("#") else re.sub(r"[^\n]", " ", match[0])
    return re.sub(r'#[ \t]*include[^\n]*|/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def names_of(text):
    """What a header declares."""
    code = without_comments_and_texts(text)
    names = set(re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", code, re.M))
    for directive in DIRECTIVE.findall(code):
        names |= set(re.findall(r"\b[A-Z]+\((\w+)", directive))  # a table in a macro: its rows
    code = re.sub(r"^\{$.*?^\}$", ";", DIRECTIVE.sub("", code), flags=re.M | re.S)  # without the bodies of functions
    names |= set(re.findall(r"\b(?:struct|union|enum)\s+(\w+)\s*[{;]", code))
    names |= set(re.findall(r"(\w+)\s*\((?!\s*\*)", code)) | set(re.findall(r"\(\s*\*?\s*(\w+)\s*\)\s*\(", code))
    for body in re.findall(r"\benum\s*\w*\s*\{([^}]*)\}", code):
        names |= set(WORD.findall(body))
    for declared in re.findall(r"^(?:extern|typedef)\b([^;{(]*);", code, re.M):
        names |= {WORD.findall(part)[-1] for part in declared.split(",") if WORD.search(part)}
    return names | set(re.findall(r"^\}\s*(\w+)\s*;", code, re.M)) - NO_NAMES


def members_of(text):
    """Of the structures that it defines."""
    code = DIRECTIVE.sub("", without_comments_and_texts(text))
    return {name for body in re.findall(r"^(?:struct|union) \w+ \{$(.*?)^\}", code, re.M | re.S)
            for name in re.findall(r"(\w+)(?:\[[^\]]*\])*(?: : \w+)?[;,)]", body)}


class Tree:
    def __init__(self, root):
        self.root = root

    def resolve(self, path, bracket, name):
        folders = [self.root / "include"] if bracket == "<" else [path.parent, *(self.root / top for top in ("include", "src", "tests"))]
        return next(((folder / name).resolve() for folder in folders if (folder / name).exists()), None)

    @functools.lru_cache(maxsize=None)
    def names(self, header):
        """None: they cannot be told."""
        text = header.read_text(encoding="utf-8")
        made = "##" in text or re.search(r"^[A-Z_]+\(", text, re.M) or any(name.endswith(".def") for _, name in INCLUDE.findall(text))
        return None if made or header.suffix != ".h" else names_of(text) - NO_NAMES

    @functools.lru_cache(maxsize=None)
    def headers(self, header):
        """What it includes of ours."""
        found = (self.resolve(header, *names) for names in INCLUDE.findall(without_comments_and_texts(header.read_text(encoding="utf-8"))))
        return frozenset(inner for inner in found if inner)

    @functools.lru_cache(maxsize=None)
    def members(self, header):
        return members_of(header.read_text(encoding="utf-8"))

    def members_elsewhere(self, headers, but):
        """Those that the headers and theirs define, without one of them."""
        seen, left = set(), [header for header in headers if header]
        while left:
            if (header := left.pop()) not in seen and header != but:
                seen.add(header)
                left += self.headers(header)
        return set().union(*(self.members(header) for header in seen))

    def unused(self, path):
        """(line, name) of each header that gives nothing to the file."""
        code = without_comments_and_texts(path.read_text(encoding="utf-8"))
        included = [(match, self.resolve(path, *match.groups())) for match in INCLUDE.finditer(code)]
        tables = [header.read_text(encoding="utf-8") for _, header in included if header and header.suffix == ".def"]
        words = set(WORD.findall(INCLUDE.sub("", code) + "\n".join(tables)))
        accessed = set(re.findall(r"(?:\.|->)(\w+)", code))
        for match, header in included:
            if header and header.stem != path.stem and (names := self.names(header)) is not None and not words & names:
                if "##" in code and any(name.split("_")[0] in words for name in names):
                    continue  # slice##_module
                if accessed & self.members(header) - self.members_elsewhere([inner for _, inner in included], header):
                    continue  # of a structure that another header names
                yield code.count("\n", 0, match.start(2)) + 1, match[2]


def check(root):
    tree = Tree(pathlib.Path(root).resolve())
    return [f"{path.relative_to(tree.root)}:{line}: nothing of {name} is used"
            for folder in FOLDERS for path in sorted((tree.root / folder).rglob("*.c")) for line, name in tree.unused(path)]


if __name__ == "__main__":
    found = check(sys.argv[1])
    print("\n".join(found))
    sys.exit(1 if found else 0)
