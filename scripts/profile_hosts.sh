#!/bin/sh
# SPDX-License-Identifier: MIT
# Measures the programs of examples/host again, into configs/host/applications: scripts/profile_hosts.sh BUILD [PROGRAM… [-- OPTION…]]
# What was measured depends on the processor, and is worth something on a machine that does nothing else.
set -eu
build=$1
shift
cd "$(dirname "$0")/.."
names=""
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    names="$names $1"
    shift
done
[ $# -eq 0 ] || shift
[ -n "$names" ] || names=$(cd examples/host && ls *.c | sed 's/\.c$//' | grep -v '^program$\|^tasks$')
mkdir -p configs/host/applications
for name in $names; do
    file=configs/host/applications/$name.yaml
    rm -f "$file.new" # the command replaces no description
    "$build/corun" host profile --quiet "$@" --output "$file.new" "$build/examples/host/$name"
    mv "$file.new" "$file"
done
