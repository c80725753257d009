#!/bin/sh
# SPDX-License-Identifier: MIT
# Gives every kernel file to NVIDIA's assembler, as a driver would on a GPU: assemble.sh PTXAS FOLDER ARCHITECTURE...
set -eu
ptxas=$1
folder=$2
shift 2
known=$("$ptxas" --help)
status=0
count=0
for architecture; do
    case $known in
    *"'sm_$architecture'"*) ;;
    *) continue ;; # this one is too old, or too new
    esac
    for ptx in "$folder"/*/*.ptx; do
        target=$(sed -n 's/^\.target sm_\([0-9]*a\{0,1\}\).*/\1/p' "$ptx" | head -n 1)
        case $target in
        *a) # of no other GPU
            [ "$target" = "${architecture}a" ] || continue
            assembled=$target ;;
        *)
            [ "$target" -le "$architecture" ] || continue # a kernel of a later GPU
            assembled=$architecture ;;
        esac
        "$ptxas" "-arch=sm_$assembled" "$ptx" -o /dev/null || { echo "$ptx: not for sm_$assembled" >&2; status=1; }
        count=$((count + 1))
    done
done
echo "$count assembled"
[ $count -gt 0 ] || exit 77
exit $status
