#!/bin/sh
# SPDX-License-Identifier: MIT
# Format, static analysis and layers of the whole tree: scripts/lint.sh BUILD [JOBS [FILE…]]
# BUILD holds compile_commands.json. With files: only those (for what was just changed).
set -eu
build=$1
jobs=${2:-2}
cd "$(dirname "$0")/.."
[ $# -ge 2 ] && shift 2 || shift $#

status=0
if [ $# -gt 0 ]; then
    files=$*
else
    files=$(find src include tests fuzz bench kernels -name '*.[ch]' | sort)
fi

echo "== clang-format"
clang-format-14 --dry-run -Werror $files || status=1

echo "== layers"
python3 scripts/check_layers.py . || status=1

echo "== clang-tidy"
# Only what is compiled: fuzzers and benchmarks are not part of every build. Without the option of gcc that clang knows not.
mkdir -p "$build/lint"
sed 's/ -fno-tree-loop-distribute-patterns//g' "$build/compile_commands.json" >"$build/lint/compile_commands.json"
units=$(for file in $files; do
    case $file in
    *.c) grep -qs "/$file\"" "$build/compile_commands.json" && echo "$file" ;;
    esac
done || true)
if [ -n "$units" ]; then
    echo "$units" | xargs -P "$jobs" -n 4 clang-tidy-14 -p "$build/lint" --quiet --warnings-as-errors='*' 2>"$build/tidy.log" ||
        { status=1; grep -v 'warnings generated\|Suppressed\|NOLINT\|Use -header-filter' "$build/tidy.log" >&2 || true; }
fi

[ $status -eq 0 ] && echo "clean" || echo "lint found something" >&2
exit $status
