#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a release says in several places is the same in all of them: check_release.py ROOT

The version is that of CMakeLists.txt; the packages that the Debian package is built with are those of scripts/packages.txt.
"""
import pathlib
import re
import sys

# Where the version stands again: a pattern with the version in a group. What is not there yet says nothing.
VERSIONS = (("CITATION.cff", r"^version: (\S+)$"),
            ("debian/changelog", r"\Acorun \((\S+)\) "),
            ("CHANGELOG.md", r"\A.*?^## \D*(\d+\.\d+\.\d+)"))
OPTIONAL = (("python/corun/__init__.py", r"^__version__ = \"(.*?)\""),)
ESSENTIAL = {"gcc", "libc6-dev"}  # every Debian package is built with these


def version_of(root):
    return re.search(r"^project\(corun VERSION (\S+) ", (root / "CMakeLists.txt").read_text(), re.M).group(1)


def versions(root):
    version, complaints = version_of(root), []
    for path, pattern in VERSIONS + OPTIONAL:
        found = re.search(pattern, (root / path).read_text(), re.M | re.S)
        if not found and (path, pattern) in VERSIONS:
            complaints.append(f"{path}: no version was found")
        elif found and found.group(1) != version:
            complaints.append(f"{path}: version {found.group(1)}, but CMakeLists.txt says {version}")
    return complaints


def build_dependencies(root):
    wanted = set(re.findall(r"^build (\S+)$", (root / "scripts/packages.txt").read_text(), re.M)) - ESSENTIAL
    control = re.search(r"^Build-Depends: (.*?)^(?=\S)", (root / "debian/control").read_text(), re.M | re.S).group(1)
    found = {re.match(r"[\w.+-]+", word.strip()).group() for word in control.split(",")} - {"debhelper-compat"}
    return ([f"debian/control: {name} of scripts/packages.txt is missing" for name in sorted(wanted - found)] +
            [f"debian/control: {name} is not in the group build of scripts/packages.txt" for name in sorted(found - wanted)])


def library_package(root):
    """The package of the shared library is called as its soname."""
    major = version_of(root).split(".")[0]
    return [] if f"\nPackage: libcorun{major}\n" in (root / "debian/control").read_text() else [
        f"debian/control: there is no package libcorun{major}, as the library is called"]


def main(root):
    root = pathlib.Path(root)
    complaints = [complaint for check in (versions, build_dependencies, library_package) for complaint in check(root)]
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
