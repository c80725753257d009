#!/bin/sh
# SPDX-License-Identifier: MIT
# Everything in slices, longer than `make check`: scripts/check_slices.sh BUILD [SIZE [WORKLOAD…]]
# The suite in a size (medium), then the CUDA programs of the tests with slices of many sizes and orders.
set -eu
build=$1
size=${2:-medium}
[ $# -gt 2 ] && shift 2 || set -- $(cd "$(dirname "$0")/../kernels" && ls -d */ | sed 's,/,,' | grep -v '^include$')
source=$(cd "$(dirname "$0")/.." && pwd)
"$build/tests/workload_test_slices" size "$size" "$@"
"$build/tests/rewrite_test_random" 1000 20000
for slice in 1 2:1 3:2 5 7:3 13:4 31 64:5 1/2:2 1/3:3 1/5 1/7:4 1/1; do
    echo "== CUDA programs in slices of $slice"
    python3 "$source/tests/cuda/test_sliced.py" "$build/corun" "$build/tests/cuda/sliced.txt" "slice=$slice"
done
