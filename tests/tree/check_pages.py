#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The pages lead where they say: check_pages.py ROOT

Links between pages and to their sections, files and identifiers that pages name, scripts, keys of descriptions, columns of results files, and metrics:
all are there, and every page can be reached from README.md. What pages say of the command is tried by tests/cli/test_pages.py.
"""
import functools
import pathlib
import re
import sys

FOLDERS = "bench|cmake|configs|docs|examples|experiments|fuzz|include|kernels|python|scripts|src|tests"
NAMED = re.compile(rf"(?<![\w/.-])((?:{FOLDERS})/[\w./*-]*\w)")  # src/share/even.c, tests/cuda
NAMES_OF_OTHERS = {"compute_80", "trace_processor"}
CAPITALS = re.compile(r"(?<![a-z])[A-Z]{3,}(?![a-z])")  # kernels/NAME stands for any


def pages_of(root):
    """Text by path from ROOT."""
    paths = [path for pattern in ("*.md", "*/*.md", "*/*/*.md") for path in root.glob(pattern)
             if not path.relative_to(root).parts[0].startswith(("build", "."))]
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def without_code(text):
    return re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)


def sections(text):
    """Anchors of the headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", without_code(text), re.M) + re.findall(r"^<a id=\"(.*?)\"", text, re.M)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings)
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}


def links(root, pages):
    reached, complaints = {page: set() for page in pages}, []
    for page, text in pages.items():
        for target in re.findall(r"\]\(([^)\s]+)\)", without_code(text)):
            if re.match(r"https?:", target):
                continue
            name, _, section = target.partition("#")
            path = (root / page).parent / name if name else root / page
            if not path.exists():
                complaints.append(f"{page}: {target}: there is no such file")
                continue
            found = path.resolve().relative_to(root).as_posix()
            reached[page].add(found)
            if section and section not in sections(pages.get(found, "")):
                complaints.append(f"{page}: {target}: there is no such section")
    known, new = set(), {"README.md"}
    while new:
        known |= new
        new = {found for page in new for found in reached.get(page, ())} - known
    return complaints + [f"{page}: no page leads there from README.md" for page in sorted(set(pages) - known)]


def named_files(root, pages):
    """What pages name, also in blocks of code, and pages that are named anywhere in the sources."""
    complaints = []
    for page, text in pages.items():
        for name in NAMED.findall(text):
            if not CAPITALS.search(name) and not list(root.glob(name)):
                complaints.append(f"{page}: {name}: there is no such file")
    return complaints + [f"{path}: {name}: there is no such page" for path, text in sources(root).items()
                         for name in re.findall(r"\bdocs/[\w./-]+\.(?:md|1)\b", text) if not (root / name).exists()]


@functools.lru_cache(maxsize=None)
def sources(root):
    """Text by path from ROOT of what is not a page."""
    return {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8", errors="replace")
            for folder in FOLDERS.split("|") for path in root.glob(f"{folder}/**/*")
            if path.suffix in (".c", ".h", ".def", ".cu", ".py", ".sh", ".yaml", ".txt", ".cmake", ".1", ".map", ".in")}


def identifiers(root, pages):
    """Names of functions, parameters, counters, members: what has an underscore and stands in backticks is a word of the sources, or
    the end of one (KERNEL_START of CORUN_EVENT_KERNEL_START), or numbered (goal_1 of "goal_")."""
    words = {word for text in sources(root).values() for word in re.findall(r"\w*_\w*", text)}
    words |= {word[match.end():] for word in words for match in re.finditer("_", word)} | NAMES_OF_OTHERS
    return [f"{page}: `{name}`: no source has that name" for page, text in pages.items()
            for code in re.findall(r"`([^`\n]+)`", without_code(text))
            for name in re.findall(r"(?<![\w/.])[A-Za-z]\w*_\w+", code) if not {name, name.rstrip("0123456789")} & words]


def programs(root, _):
    """What pages call by its path can be called."""
    return [f"{path.relative_to(root)}: begins with #! and cannot be run" for folder in ("scripts", "bench", ".ci")
            for path in root.glob(f"{folder}/**/*") if path.is_file() and path.read_bytes().startswith(b"#!") and
            not path.stat().st_mode & 0o100]


def keys(root, pages):
    """Each key that a reader of YAML takes stands on its page: in backticks, or in an example."""
    complaints = []
    for page, source, function in (("docs/campaigns.md", "src/campaign/campaign_file.c", "yaml_expect_map"),
                                   ("docs/campaigns.md", "src/campaign/command_file.c", "yaml_expect_map"),
                                   ("docs/experiments.md", "src/reproduce/experiment.c", "yaml_expect_map"),
                                   ("docs/launch-descriptions.md", "src/workload/description*.c", "yaml_expect_map")):
        found = [key for path in root.glob(source) for call in re.findall(rf"{function}\((.*?)\);", path.read_text(), re.S)
                 for words in ["".join(re.findall(r'"([^"]*)"', call))] for key in re.findall(r"[a-z_]+", words)]
        if not found:
            complaints.append(f"{source}: no keys were found")
        for key in sorted(set(found)):
            if not re.search(rf"`[^`\n]*\b{key}\b[^`\n]*`|^\W*{key}:|[{{,] *{key}:", pages[page], re.M):
                complaints.append(f"{page}: the key '{key}' is missing")
    return complaints


def columns(root, pages):
    """docs/campaigns.md names the columns of a results file as src/campaign/columns.def has them, in their order."""
    source = (root / "src/campaign/columns.def").read_text(encoding="utf-8")
    complaints = []
    for table, macro in (("cases", "CASE"), ("applications", "APPLICATION"), ("queues", "QUEUE"), ("queue_kernels", "QUEUE_KERNEL"), ("splits", "SPLIT")):
        known = re.findall(rf"^{macro}_(?:FIRST|COLUMN)\((\w+),", source, re.M)
        cell = re.search(rf"^\| `{table}` \| (`key`.*) \|$", pages["docs/campaigns.md"], re.M)
        told = re.findall(r"`(\w+)`", re.sub(r"\([^()]*\)", "", re.sub(r"\]\([^)]*\)", "]", cell[1]))) if cell else []
        if not known or told != known:
            complaints.append(f"docs/campaigns.md: the columns of `{table}` are {', '.join(known)}")
    return complaints


def keys_of_figures(root, pages):
    """What says which number is meant in a figure of an experiment (python/corun/experiment.py)."""
    source = (root / "python/corun/experiment.py").read_text()
    known = set(re.findall(r'^    "([a-z]+)": "', source.split("\nWHICH = {")[1].split("\n}")[0], re.M))
    table = pages["docs/experiments.md"].split("| key | meaning |\n")[1].split("\n\n")[0]
    told = {key for cells in re.findall(r"^\| (.*?) \|.*$", table, re.M) for key in re.findall(r"`([a-z]+)`", cells)}
    told |= {"compare"} if "`compare`" in table else set()  # stands beside against
    return [f"docs/experiments.md: the key '{name}' is missing, or there is none" for name in sorted(known ^ told)]


def metrics(root, pages):
    """The metrics of experiments, with the meaning that `corun reproduce` says."""
    source = (root / "python/corun/experiment_metrics.py").read_text()
    known = set(re.findall(r'^    "([a-z-]+)": \(', source.split("\nMETRICS = {")[1].split("\n}")[0], re.M))
    table = pages["docs/experiments.md"].split("| metric | of one case |\n")[1].split("\n\n")[0]
    told = set(re.findall(r"^\| `([a-z-]+)(?::…)?` \|", table, re.M))
    return ([f"docs/experiments.md: the metric '{name}' is missing" for name in sorted(known - told)] +
            [f"docs/experiments.md: there is no metric '{name}'" for name in sorted(told - known)])


def main(root):
    root = pathlib.Path(root).resolve()
    pages = pages_of(root)
    checks = (links, named_files, identifiers, programs, keys, columns, keys_of_figures, metrics)
    complaints = [complaint for check in checks for complaint in check(root, pages)]
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
