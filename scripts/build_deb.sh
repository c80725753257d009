#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the Debian packages from a copy of the sources, tracked files only where this is a git repository, and leaves them in
# BUILD/deb: dpkg-buildpackage writes into its sources and beside them.
#
#     scripts/build_deb.sh BUILD JOBS
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)/deb
rm -rf "$folder"
mkdir -p "$folder/sources"
cd "$root"
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    git ls-files -z | tar --create --null --files-from=- | tar --extract --directory "$folder/sources"
else
    tar --create --exclude='./build*' --exclude=./.git . | tar --extract --directory "$folder/sources"
fi
cd "$folder/sources"
DEB_BUILD_OPTIONS="parallel=$2 noautodbgsym ${DEB_BUILD_OPTIONS:-}" dpkg-buildpackage --unsigned-source --unsigned-changes --build=binary
lintian --fail-on error,warning ../corun_*.changes
rm -rf "$folder/sources"
ls "$folder"/*.deb
