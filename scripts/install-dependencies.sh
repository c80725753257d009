#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the Debian packages of the given groups (scripts/packages.txt) that are missing: as root, or with sudo.
# Without either it names them and stops. The package database is asked every time, which takes milliseconds: a stamp
# file would be wrong as soon as somebody removes a package.
#
#     scripts/install-dependencies.sh build check
set -eu

list=$(dirname "$0")/packages.txt
[ $# -gt 0 ] || set -- build
for group in "$@"; do
    if ! grep -q "^$group " "$list"; then
        echo "$0: there is no group '$group' in $list" >&2
        exit 2
    fi
done
wanted=$(for group in "$@"; do sed -n "s/^$group //p" "$list"; done)

if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "Not a Debian system: please see to it that what these packages bring is installed:" $wanted >&2
    exit 0
fi

missing=
for package in $wanted; do
    # The last letter group says what is there: "ii " is installed.
    case $(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null || true) in
    ii*) ;;
    *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0

command_line="apt-get install --yes --no-install-recommends$missing"
if [ "$(id -u)" -eq 0 ]; then
    as_root=
elif command -v sudo >/dev/null 2>&1 && { [ -t 0 ] || sudo -n true 2>/dev/null; }; then
    as_root=sudo
else
    echo "Missing packages:$missing" >&2
    echo "They can be installed by root only, and there is no sudo here that would do it. Please have somebody run:" >&2
    echo "    $command_line" >&2
    exit 1
fi

echo "Installing$missing"
# The environment is set behind sudo, which would drop it.
$as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q
$as_root env DEBIAN_FRONTEND=noninteractive $command_line
