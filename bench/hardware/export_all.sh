#!/bin/sh
# SPDX-License-Identifier: MIT
# Exports workloads in one size, each to DIRECTORY/NAME-SIZE: export_all.sh CORUN DIRECTORY SIZE NAME...
# What is newer than the command and its workloads already is left as it is.
set -eu
corun=$1
directory=$2
size=$3
shift 3
data=${CORUN_DATA:-$(dirname "$corun")/data}
mkdir -p "$directory"
for name; do
    made=$directory/$name-$size/launch.json
    if [ -e "$made" ] && [ -z "$(find "$corun" "$data/kernels/$name" -newer "$made" -type f)" ]; then
        continue
    fi
    "$corun" export --force "$name@$size" "$directory/$name-$size"
done
