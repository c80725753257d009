#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The page docs/results/README.md: a line for each comparison that `corun reproduce --markdown` has written there.

    index_results.py ROOT [--check]

With --check it writes nothing and ends with 1 if the page is not as it would be written.
"""
import os
import re
import sys

HEAD = """# Figures and tables of papers, run again

Made by `scripts/index_results.py`: do not edit. Each page is the output of `corun reproduce` (what the columns say is in
[experiments](../experiments.md)), or says what made it.

* *Same sign*: how many of the paper's numbers that have a direction ours share it with.
* *Version*: the timing model that a page's digits are of; today's is {current}. *3 = 12*: made with 3, and with 12 some
  [drawn cases](../experiments.md#pages-of-an-older-model) have the same digits. `-`: no simulated GPU is in it.
* A version that does not change a page's GPU leaves its digits as they are. Last changed were {changed}.
* Which conclusions moved with the model: [conclusions](../conclusions.md). How far it is from hardware: [fidelity](../fidelity.md).

| experiment | | simulated GPU | window | same sign | version |
|---|---|---|---|--:|--:|
"""

OLDER = """
## To be made again

The model of these pages' GPUs has changed since, or their policies have. Each command resumes where it was interrupted.

| page | version | what makes it again |
|---|--:|---|
"""


# The last version of the timing model that changed a GPU's cycles, for those GPUs that later versions than CHANGED_ALL changed alone.
CHANGED = {}
CHANGED_ALL = 18
# Versions that change what policies decide, or programs that a paper has, whatever the GPU: the beginnings of the names of these pages.
CHANGED_PAGES = {"hpca12-": 21, "isca17-": 21, "smk-": 21, "smqos-": 21}
# The last version that changed nothing that a page has, but other kernels.
CHANGED_OTHERS = 20


def current_model(root):
    """CORUN_MODEL_VERSION; whoever raises it says above which GPUs it changes."""
    with open(os.path.join(root, "include", "corun", "gpu.h"), encoding="utf-8") as stream:
        version = int(re.search(r"^#define CORUN_MODEL_VERSION (\d+)u$", stream.read(), re.M)[1])
    if version != max([CHANGED_ALL, CHANGED_OTHERS, *CHANGED.values(), *CHANGED_PAGES.values()]):
        sys.exit(f"{sys.argv[0]}: which GPUs, or which policies' pages, does version {version} of the timing model change? CHANGED, CHANGED_PAGES or CHANGED_OTHERS has to say it")
    return version


def changed_text():
    by_version = {}
    for gpu, version in CHANGED.items():
        by_version.setdefault(version, []).append(gpu)
    lists = [f"{', '.join(gpus)} by version {version}" for version, gpus in by_version.items()]
    pages = ", ".join(f"{beginning}* by version {version}" for beginning, version in CHANGED_PAGES.items())
    return "; ".join(lists + [f"{'all others' if lists else 'all'} by version {CHANGED_ALL}"]) + (f"; of pages, {pages}" if pages else "")


def changed(page, gpu):
    """The last version that changed this GPU, or the page's policies."""
    return max([CHANGED.get(gpu, CHANGED_ALL), *(version for beginning, version in CHANGED_PAGES.items() if page.startswith(beginning))])


def natural(name):
    """fig9 before fig10."""
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)]


class Page:
    """What the index says of a page."""

    def __init__(self, folder, name):
        self.path = os.path.join(folder, name)
        with open(self.path, encoding="utf-8") as stream:
            text = stream.read()
        title = re.match(r"# ([a-z0-9-]+): (.*)\n", text)
        if not title or title[1] + ".md" != name:
            self.refuse("does not begin with its name")
        self.name, self.title = title[1], title[2]
        window = re.search(r"^\* window: (\S+) cycles", text, re.M)
        sign = re.search(r"^Same sign: (\d+ of \d+)\.$", text, re.M)
        self.window, self.sign = window[1] if window else "-", sign[1] if sign else "-"
        made = re.search(r"^(?:Made by|\* made by:) `(.+?)`", text, re.M)
        if not made:
            self.refuse("does not say what made it")
        self.command = made[1]
        model = re.search(r"^\* timing model: version ([\d, ]+?)(?:, and with version (\d+) the same digits in \d+ drawn cases)?$", text, re.M)
        if not model and self.command.startswith("corun reproduce"):
            self.refuse("does not say the version of the timing model")
        self.versions = [int(one) for one in model[1].split(", ")] if model else []
        self.confirmed = int(model[2]) if model and model[2] else None
        head = re.split(r"^## ", text, maxsplit=1, flags=re.M)[0]
        gpus = re.search(r"\bGPU: `?([a-z][a-z0-9-]*(?:, [a-z][a-z0-9-]*)*)", head)
        self.gpus = gpus[1].split(", ") if gpus and self.versions else []
        if self.versions and not self.gpus:
            self.refuse("does not say its GPU")
        self.drawn = re.search(r"^\* digits of \d+ drawn cases: `[0-9a-f]+`$", text, re.M) is not None

    def refuse(self, why):
        sys.exit(f"{self.path}: {why}")

    def version(self):
        text = ", ".join(map(str, self.versions)) or "-"
        return text + (f" = {self.confirmed}" if self.confirmed else "")

    def is_older(self):
        """Has the model of one of its GPUs changed since, or have its policies?"""
        return any((self.confirmed or min(self.versions)) < changed(self.name, gpu) for gpu in self.gpus)

    def row(self):
        return f"| [{self.name}]({self.name}.md) | {self.title} | {', '.join(self.gpus) or '-'} | {self.window} | {self.sign} | {self.version()} |\n"

    def older_row(self):
        command = self.command
        if command.startswith("corun reproduce"):
            command = command.replace("--markdown FILE", f"--markdown docs/results/{self.name}.md")
            if self.drawn:
                command = f"corun reproduce {self.name} --confirm docs/results/{self.name}.md"
        return f"| [{self.name}]({self.name}.md) | {self.version()} | `{command}` |\n"


def main():
    folder = os.path.join(sys.argv[1], "docs", "results")
    if not os.path.isdir(folder):
        return 0
    current = current_model(sys.argv[1])
    pages = [Page(folder, name) for name in sorted(os.listdir(folder), key=natural) if name.endswith(".md") and name != "README.md"]
    older = [page for page in pages if page.is_older()]
    text = HEAD.format(current=current, changed=changed_text()) + "".join(page.row() for page in pages)
    text += OLDER + "".join(page.older_row() for page in older) if older else ""
    page = os.path.join(folder, "README.md")
    if "--check" not in sys.argv:
        with open(page, "w", encoding="utf-8") as stream:
            stream.write(text)
        return 0
    present = open(page, encoding="utf-8").read() if os.path.exists(page) else ""
    if present != text:
        print(f"{page} is not what scripts/index_results.py {sys.argv[1]} writes", file=sys.stderr)
    return int(present != text)


sys.exit(main())
