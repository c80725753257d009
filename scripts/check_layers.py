#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the rules of the house that a compiler does not know.

    check_layers.py ROOT [ARCHIVE…]

* A layer includes headers of the layers that its row in src/layers.txt names, and no others; it calls functions of those and of the
  ones that the row names for that. Rows form no cycle, nor do includes. docs/architecture.md shows the rows as they are.
  include/corun/ includes nothing but itself.
* Nothing below cli prints, exits or aborts; only a child of its own making ends itself, and a program whose state cannot be saved is ended.
* A function has no more than 80 lines, a file no more than 800; tables (.def) are as long as they are.
* No mutable state at file scope: the objects in the given archives have nothing in a writable section.

Says FILE:LINE: what is wrong and ends with 1 if there is anything.
"""
import os
import re
import subprocess
import sys

TABLE = os.path.join("src", "layers.txt")
PAGE = os.path.join("docs", "architecture.md")
ROW = re.compile(r"([a-z]+):([a-z ]*)(?:\|([a-z ]*))?")

# What a file may call all the same.
ALLOWED = {("src/campaign/worker.c", "_exit"), ("src/cuda/checkpoint.c", "_exit"), ("src/case/policy_probe.c", "_exit"),
           ("src/agent/programs.c", "_exit"), ("src/agent/guardian.c", "_exit"),
           # What a CUDA program prints on its GPU, and messages to its user: they go where the program's own go.
           ("src/cuda/console.c", "stdout"), ("src/cuda/console.c", "stderr"), ("src/shim/console.c", "stderr")}

# Loaded into a program, they have what belongs to the process: its devices, and what its threads are at.
STATEFUL = {"libcorun_cuda.a", "libcorun_trace.a"}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)
CALL = re.compile(r"(?<![\w.>])(v?printf|puts|putchar|perror|exit|_exit|_Exit|quick_exit|abort)\s*\(")
STREAM = re.compile(r"\b(stdout|stderr)\b")
# A line of objdump -t: address, seven flags, section, size, name. .data.rel.ro is constant after loading.
SYMBOL = re.compile(r"^[0-9a-f]+ (.{7}) (\S+)\t([0-9a-f]+) +(?:\.\w+ )?(\S+)$")
FUNCTION = re.compile(r"^\{$.*?^\}$", re.M | re.S)  # clang-format puts both braces there, and no others
LONGEST_FUNCTION, LONGEST_FILE = 80, 800
WRITABLE = re.compile(r"\.data|\.bss|\.tdata|\.tbss|\.data\.(?!rel\.ro).*|\.[tb]*bss\..*|\*COM\*")


class Layers:
    """The table of layers: what each may include, and what it may call."""

    def __init__(self, text):
        self.includes, self.calls, self.rows, self.complaints = {}, {}, [], []
        for number, line in enumerate(text.splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            row = ROW.fullmatch(line)
            if not row or row[1] in self.includes:
                self.complaints.append(f"{TABLE}:{number}: {'a second row of ' + row[1] if row else 'no row of the table'}")
                continue
            includes, calls = row[2].split(), (row[3] or "").split()
            for other in includes + calls:
                if other not in self.includes:
                    self.complaints.append(f"{TABLE}:{number}: {row[1]} names {other}, which is not a layer below it")
            self.rows.append(line)
            self.includes[row[1]] = set(includes)
            self.calls[row[1]] = set(includes + calls)

    @classmethod
    def of(cls, root):
        with open(os.path.join(root, TABLE), encoding="utf-8") as file:
            return cls(file.read())

    def layer_of(self, path):
        """The layer of a path under src/ or include/; "corun" for the public contract; None if there is no such layer."""
        parts = path.split(os.sep)
        if parts[0] == "include":
            return "corun"
        return parts[1] if len(parts) > 2 and parts[1] in self.includes else None

    def may_include(self, layer, other):
        return other in ("corun", layer) or (layer != "corun" and other in self.includes[layer])


def check_page(root, layers):
    """docs/architecture.md has the rows, in their order, as one block."""
    path = os.path.join(root, PAGE)
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        text = file.read()
    block = "".join(f"    {row}\n" for row in layers.rows)
    return [] if f"\n{block}\n" in text else [f"{PAGE}:1: does not show the rows of {TABLE} as they are"]


def sources(root):
    """Paths of all C files under src/ and include/, relative to root."""
    found = []
    for top in ("include", "src"):
        for folder, _, files in os.walk(os.path.join(root, top)):
            found += [os.path.relpath(os.path.join(folder, f), root) for f in files if f.endswith((".c", ".h", ".def"))]
    return sorted(found)


def without_comments_and_texts(text):
    """The same text with comments and literals blanked, lines kept."""
    blank = lambda match: re.sub(r"[^\n]", " ", match.group(0))
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def check_lengths(path, text):
    complaints = []
    if text.count("\n") > LONGEST_FILE:
        complaints.append(f"{path}:{LONGEST_FILE + 1}: a file of more than {LONGEST_FILE} lines")
    for match in FUNCTION.finditer(text):
        if match.group(0).count("\n") + 1 > LONGEST_FUNCTION:
            line = text.count("\n", 0, match.start())
            complaints.append(f"{path}:{line}: a function of more than {LONGEST_FUNCTION} lines")
    return complaints


def check_sources(root):
    layers = Layers.of(root)
    complaints = layers.complaints + check_page(root, layers)
    graph = {}
    for path in sources(root):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
        layer = layers.layer_of(path)
        if layer is None:
            complaints.append(f"{path}:1: not in a known layer ({', '.join(layers.includes)})")
            continue
        graph[path] = []
        if not path.endswith(".def"):
            complaints += check_lengths(path, text)
        code = without_comments_and_texts(text)
        for match in INCLUDE.finditer(text):
            line = text.count("\n", 0, match.start(1)) + 1
            if not code.splitlines()[line - 1].lstrip().startswith("#"):
                continue  # inside a comment
            name = match.group(1)
            for folder in (os.path.dirname(path), "include", "src"):
                target = os.path.normpath(os.path.join(folder, name))
                if os.path.exists(os.path.join(root, target)):
                    break
            else:
                complaints.append(f'{path}:{line}: there is no "{name}" in src/ or include/')
                continue
            graph[path].append((target, line))
            other = layers.layer_of(target)
            if other and not layers.may_include(layer, other):
                complaints.append(f"{path}:{line}: {layer} must not include {other} ({name})")
        if layer not in ("cli", "corun"):
            for pattern, what in ((CALL, "calls"), (STREAM, "uses")):
                for match in pattern.finditer(code):
                    if (path, match.group(1)) in ALLOWED:
                        continue
                    line = code.count("\n", 0, match.start()) + 1
                    complaints.append(f"{path}:{line}: {layer} {what} {match.group(1)}: only cli prints and exits")
    return complaints + find_cycles(graph)


def find_cycles(graph):
    """One complaint for each edge that closes a cycle of includes."""
    complaints = []
    state = {}

    def visit(path, way):
        state[path] = "open"
        for target, line in graph.get(path, ()):
            if state.get(target) == "open":
                cycle = way[way.index(target):] + [target] if target in way else [path, target]
                complaints.append(f"{path}:{line}: cycle of includes: {' > '.join(cycle)}")
            elif target not in state:
                visit(target, way + [target])
        state[path] = "done"

    for path in sorted(graph):
        if path not in state:
            visit(path, [path])
    return complaints


def symbols_of(archive):
    """(member, match of SYMBOL) of every symbol."""
    listing = subprocess.run(["objdump", "-t", archive], check=True, capture_output=True, text=True).stdout
    member = archive
    for line in listing.splitlines():
        header = re.match(r"(\S+\.o):\s+file format", line)
        if header:
            member = header.group(1)
        elif symbol := SYMBOL.match(line):
            yield member, symbol


def check_archive(archive):
    if os.path.basename(archive) in STATEFUL:
        return []
    return [f"{os.path.basename(archive)}({member}): mutable state: {symbol.group(4)}" for member, symbol in symbols_of(archive)
            if "d" not in symbol.group(1) and int(symbol.group(3), 16) and WRITABLE.fullmatch(symbol.group(2))]


def check_calls(archives, layers):
    """Functions and tables of other layers that a layer uses: declared in include/corun/, they need no include that tells."""
    homes, uses = {}, []
    for archive in archives:
        layer = re.fullmatch(r"libcorun_(\w+)\.a", os.path.basename(archive))
        if not layer or layer[1] not in layers.includes:
            continue
        for member, symbol in symbols_of(archive):
            if symbol.group(2) == "*UND*":
                uses.append((layer[1], member, symbol.group(4)))
            elif symbol.group(1)[0] in "gu!" or symbol.group(1)[1] == "w":
                homes.setdefault(symbol.group(4), set()).add(layer[1])
    return [f"{layer}({member}): {layer} must not call {'/'.join(sorted(homes[name]))} ({name})" for layer, member, name in uses
            if name in homes and not homes[name] & (layers.calls[layer] | {layer})]


def main(arguments):
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    complaints = check_sources(arguments[0])
    for archive in arguments[1:]:
        complaints += check_archive(archive)
    complaints += check_calls(arguments[1:], Layers.of(arguments[0]))
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
