#!/usr/bin/env python3
"""Checks the rules of the house that a compiler does not know.

    check_layers.py ROOT [ARCHIVE…]

* Includes only point down the layers and never form a cycle. gpu knows neither ptx nor isa; share and gpu meet only in
  include/corun/, which includes nothing but itself.
* Nothing below cli prints, exits or aborts; only a child of its own making ends itself.
* A function has no more than 80 lines, a file no more than 800; tables (.def) are as long as they are.
* No mutable state at file scope: the objects in the given archives have nothing in a writable section.

Says FILE:LINE: what is wrong and ends with 1 if there is anything.
"""
import os
import re
import subprocess
import sys

LAYERS = ["base", "ptx", "isa", "govern", "gpu", "share", "stream", "workload", "campaign", "report", "cuda", "split", "cli"]
# Below a layer and still not for it to see. split is a library for programs and sees nothing of the simulator.
FORBIDDEN = {"govern": {"ptx", "isa"}, "gpu": {"ptx", "isa"}, "share": {"gpu", "govern", "ptx", "isa"},
             "stream": {"share", "govern", "ptx", "isa"}, "split": set(LAYERS[1:-2])}

# What a file may call all the same.
ALLOWED = {("src/campaign/worker.c", "_exit"), ("src/campaign/policy_probe.c", "_exit"),
           # What a CUDA program prints on its GPU, and messages to its user: they go where the program's own go.
           ("src/cuda/console.c", "stdout"), ("src/cuda/console.c", "stderr")}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)
CALL = re.compile(r"(?<![\w.>])(v?printf|puts|putchar|perror|exit|_exit|_Exit|quick_exit|abort)\s*\(")
STREAM = re.compile(r"\b(stdout|stderr)\b")
# A line of objdump -t: address, seven flags, section, size, name. .data.rel.ro is constant after loading.
SYMBOL = re.compile(r"^[0-9a-f]+ (.{7}) (\S+)\t([0-9a-f]+) +(?:\.\w+ )?(\S+)$")
FUNCTION = re.compile(r"^\{$.*?^\}$", re.M | re.S)  # clang-format puts both braces there, and no others
LONGEST_FUNCTION, LONGEST_FILE = 80, 800
WRITABLE = re.compile(r"\.data|\.bss|\.tdata|\.tbss|\.data\.(?!rel\.ro).*|\.[tb]*bss\..*|\*COM\*")


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


def layer_of(path):
    """The layer of a path under src/ or include/; "corun" for the public contract; None if there is no such layer."""
    parts = path.split(os.sep)
    if parts[0] == "include":
        return "corun"
    return parts[1] if len(parts) > 2 and parts[1] in LAYERS else None


def may_include(layer, other):
    if other == "corun":
        return True
    if layer == "corun":
        return False
    return LAYERS.index(other) <= LAYERS.index(layer) and other not in FORBIDDEN.get(layer, ())


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
    complaints = []
    graph = {}
    for path in sources(root):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
        layer = layer_of(path)
        if layer is None:
            complaints.append(f"{path}:1: not in a known layer ({', '.join(LAYERS)})")
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
            other = layer_of(target)
            if other and not may_include(layer, other):
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


def check_archive(archive):
    complaints = []
    listing = subprocess.run(["objdump", "-t", archive], check=True, capture_output=True, text=True).stdout
    member = archive
    for line in listing.splitlines():
        header = re.match(r"(\S+\.o):\s+file format", line)
        if header:
            member = header.group(1)
            continue
        symbol = SYMBOL.match(line)
        if symbol and "d" not in symbol.group(1) and int(symbol.group(3), 16) and WRITABLE.fullmatch(symbol.group(2)):
            complaints.append(f"{os.path.basename(archive)}({member}): mutable state: {symbol.group(4)}")
    return complaints


def main(arguments):
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    complaints = check_sources(arguments[0])
    for archive in arguments[1:]:
        complaints += check_archive(archive)
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
