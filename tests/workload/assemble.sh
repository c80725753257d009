#!/bin/sh
# Gives every kernel file to NVIDIA's assembler, as a driver would on a GPU: assemble.sh PTXAS FOLDER ARCHITECTURE...
set -eu
ptxas=$1
folder=$2
shift 2
status=0
count=0
for ptx in "$folder"/*/*.ptx; do
    for architecture; do
        if "$ptxas" --help | grep -q "'sm_$architecture'"; then
            "$ptxas" "-arch=sm_$architecture" "$ptx" -o /dev/null || { echo "$ptx: not for sm_$architecture" >&2; status=1; }
            count=$((count + 1))
        fi
    done
done
echo "$count assembled"
[ $count -gt 0 ] || exit 77
exit $status
