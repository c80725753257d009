#!/bin/sh
# Runs every fuzzer of a build folder for some seconds: scripts/fuzz.sh BUILD SECONDS
# Inputs that were found to be interesting are kept in BUILD/corpus, starting from tests/*/corpus and configs/.
set -eu
build=$1
seconds=$2
source=$(cd "$(dirname "$0")/.." && pwd)
status=0
for fuzzer in "$build"/fuzz_*; do
    [ -x "$fuzzer" ] && [ -f "$fuzzer" ] || continue
    name=$(basename "$fuzzer")
    corpus=$build/corpus/$name
    mkdir -p "$corpus"
    case $name in
    fuzz_fat_binary | fuzz_module) seeds="$source/tests/ptx/corpus" ;;
    fuzz_ptx) seeds="$source/tests/ptx/corpus $source/tests/isa/corpus $build/data/kernels" ;;
    fuzz_config) seeds=$source/configs/gpu ;;
    fuzz_workload) seeds=$source/kernels ;;
    fuzz_campaign) seeds=$source/tests/campaign/corpus ;;
    fuzz_experiment) seeds=$source/experiments ;;
    fuzz_capture) seeds=$source/tests/workload/captures ;;
    *) seeds= ;;
    esac
    for seed in $seeds; do
        [ -d "$seed" ] || continue
        find "$seed" -type f \( -name '*.ptx' -o -name '*.yaml' -o -name '*.operations' \) -exec cp -f {} "$corpus" \;
    done
    if [ "$name" = fuzz_workload ]; then # values for parameters behind a NUL
        for seed in "$source"/kernels/*/*.yaml; do
            { cat "$seed"; printf '\0n=0x10,first=2K,count=7,steps=1'; } > "$corpus/$(basename "$seed")-with-values"
        done
    fi
    echo "== $name, $seconds s"
    if ! "$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$build/$name-" "$corpus"; then
        echo "== $name FAILED: the input is $build/$name-*" >&2
        status=1
    fi
done
exit $status
