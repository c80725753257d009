#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs every fuzzer of a build folder, or those named, for some seconds: scripts/fuzz.sh BUILD SECONDS [FUZZER…]
# Inputs that were found to be interesting are kept in BUILD/corpus, starting from tests/*/corpus and configs/.
set -eu
build=$1
seconds=$2
shift 2
source=$(cd "$(dirname "$0")/.." && pwd)
status=0

# Each kernel of a PTX file on its own, with all that is outside of kernels: split FILE FOLDER
split() {
    awk -v to="$2/$(basename "$1")" '
        !kernel && /\.entry/ { kernel = ++count }
        kernel { bodies[kernel] = bodies[kernel] $0 "\n" }
        !kernel { rest = rest $0 "\n" }
        kernel && /^}/ { kernel = 0 }
        END { for (k = 1; k <= count; k++) printf "%s%s", rest, bodies[k] > (to "-" k) }' "$1"
}

for fuzzer in "$build"/fuzz_*; do
    [ -x "$fuzzer" ] && [ -f "$fuzzer" ] || continue
    name=$(basename "$fuzzer")
    case " ${*:-$name} " in *" $name "*) ;; *) continue ;; esac
    corpus=$build/corpus/$name
    mkdir -p "$corpus"
    case $name in
    fuzz_fat_binary | fuzz_module) seeds="$source/tests/ptx/corpus" ;;
    fuzz_ptx | fuzz_slice | fuzz_workers | fuzz_fence) seeds="$source/tests/ptx/corpus $source/tests/isa/corpus $build/data/kernels" ;;
    fuzz_config) seeds=$source/configs/gpu ;;
    fuzz_host) seeds=$source/configs/host ;;
    fuzz_workload) seeds=$source/kernels ;;
    fuzz_campaign) seeds=$source/tests/campaign/corpus ;;
    fuzz_experiment) seeds=$source/experiments ;;
    fuzz_sass) seeds=$source/tests/sass/corpus ;;
    fuzz_daemon_configuration) seeds=$source/examples/corund ;;
    fuzz_capture) seeds=$source/tests/workload/captures ;;
    *) seeds= ;;
    esac
    for seed in $seeds; do
        [ -d "$seed" ] || continue
        find "$seed" -type f \( -name '*.ptx' -o -name '*.yaml' -o -name '*.operations' -o -name '*.traceg' \) -exec cp -f {} "$corpus" \;
    done
    if [ "$name" = fuzz_workload ]; then # values for parameters behind a NUL
        for seed in "$source"/kernels/*/*.yaml; do
            { cat "$seed"; printf '\0n=0x10,first=2K,count=7,steps=1'; } > "$corpus/$(basename "$seed")-with-values"
        done
    fi
    case $name in
    fuzz_command_line)
        number=0
        for text in sgemm@large,n=2K:goal=90%:start=1M path/a:b.yaml@s:goal=fps=30,transfer=1.5 lbm:goal=ms=0x1p-3 \
            time-slice:slice=10K,ideal=on fixed:split=1/2/3,rest=idle 64,2,1 0x10,7 out.json:1K-2K u32=0x7fffffff f32=-inf f64=nan \
            i64=-9223372036854775808 buf=4M:random:7 buf=1K:f32=1e-3; do
            number=$((number + 1))
            printf '%s' "$text" > "$corpus/text-$number"
        done
        ;;
    fuzz_kernel) # what lies in memory is behind a NUL
        for seed in "$source"/tests/isa/corpus/*.ptx "$source"/tests/ptx/corpus/clang_*.ptx "$source"/tests/ptx/corpus/hand_products.ptx; do
            split "$seed" "$corpus"
        done
        for seed in "$corpus"/*.ptx-*; do
            printf '\0\1\0\0\0\0\0\200\77%%d and %%s\n' >> "$seed"
        done
        ;;
    fuzz_slice | fuzz_workers | fuzz_fence) # what is no text makes a kernel
        for seed in "$0" "$source"/fuzz/fuzz_s*.c; do
            { printf '\1'; cat "$seed"; } > "$corpus/made-$(basename "$seed")"
        done
        ;;
    fuzz_daemon | fuzz_handover | fuzz_client | fuzz_shim)
        "$source/scripts/seed_daemon.py" "$name" "$corpus"
        ;;
    fuzz_print)
        printf '%%-5d|%%+08.3f|%%*.*s|%%%%|%%lld %%p %%c %%hx\n\0\1\0\0\0\0\0\0\0' > "$corpus/formats"
        ;;
    fuzz_program_file)
        cp /proc/self/exe "$corpus/program"
        ;;
    fuzz_record)
        printf 'device\t0\tgtx980\t1216000\t1\ncopy\t0\t0\tto_device\t4096\tpageable\t1\t900\n' > "$corpus/record"
        printf 'launch\t0\t7\t_ZN3foo3barEPf\t1,2,3\t32,1,1\t16\t0\t64\t1000\t2000\tissue_cycles=12\n' >> "$corpus/record"
        ;;
    fuzz_results) # the first byte says what it is
        printf '\0{"applications":[{"name":"sgemm","size":"small","goal":"90%%","ipc":1.5}],"stp":0.9}' > "$corpus/case"
        printf '\1{"ticks_per_second":1e9,"runs":[{"scheduler":"kernelet","makespan_ticks":7,"kernels":[{"name":"sgemm","launches":3}]}]}' > "$corpus/queue"
        round='{"task":"mm","clock":"simulated","measured":true,"iterations":64,"seconds":0.5,"profiled":0.1,"devices":[{"name":"CPU","iterations":64}],
            "steps":[{"profiling":true,"variance":1,"parts":[{"begin":0,"end":64,"done":64,"share":1,"seconds":0.5,"bytes_in":4096}]}]}'
        printf '\2{"cases":[{"case":"CPU alone","rounds":[%s]}]}' "$round" > "$corpus/split"
        { printf '\3'; echo "$round" | tr -d '\n'; } > "$corpus/record"
        printf '\4{"policy":"emu","cores":8,"services":[{"application":"x264","p99_ns":1e6}],"batches":[{"work_by":"counted"}]}' > "$corpus/agent"
        ;;
    fuzz_kept_results)
        {
            printf '{"cycles":7,"thread_instructions":70,"runs":1,"memory.dram_cycles":9,"memory.dram_busy_cycles":8,"memory.icnt_cycles":7,'
            printf '"memory.icnt_busy_cycles":6,"kernels":[],"curve":[0,0,3,40,7,70],"speeds.tbs[0]":1,"speeds.tbs[1]":2,"speeds.ticks":3,"ticks":4,'
            printf '"warp_instructions":5}'
        } > "$corpus/values"
        ;;
    fuzz_settings)
        number=0
        for text in 1.5h 50ms 2.5us 1/4:7 64K:3 'profiler;launch=2-4;kernel=foo' emu:runtime=off,margin=0.1 static-opt:instances=3 arrivals=poisson:5 \
            instances=3K transfers=overlap slicing=2% memory=4G profile=sample '12 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21'; do
            number=$((number + 1))
            printf '%s' "$text" > "$corpus/text-$number"
        done
        printf '0::/user.slice/a.service\n1:name=systemd:/b\n\0/user.slice/*.service' > "$corpus/groups"
        ;;
    fuzz_tensor_map) # two dimensions, loaded in tiles
        {
            printf '\006\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000'
            printf '\000\000\000\000\000\000\000\000\000\000\100\000\000\000\000\000\000\000\000\000\000\000\000\000\000'
            printf '\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\020\000\000\000\004\000\000\000'
            printf '\001\000\000\000\001\000\000\000\001\000\000\000\010\000\000\000\002\000\000\000\001\000\000\000\001'
            printf '\000\000\000\001\000\000\000\001\000\001\000\001\000\001\000\001\000\000\000\000\000\000\000\000\000'
            printf '\000\000\000\000\010\000\007\000\001\002\000\001'
        } > "$corpus/tiles"
        ;;
    esac
    echo "== $name, $seconds s"
    if ! "$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$build/$name-" "$corpus"; then
        echo "== $name FAILED: the input is $build/$name-*" >&2
        status=1
    fi
done
exit $status
