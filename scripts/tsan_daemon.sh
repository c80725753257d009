#!/bin/sh
# SPDX-License-Identifier: MIT
# Programs with the shim, and on a simulated GPU of corund, with threads watched: tsan_daemon.sh BUILD, of the preset tsan. The driver below the shim is
# corun's own. Races are told, and the status is 1 then.
set -u
sources=$(cd "$(dirname "$0")/../tests/cuda/programs" && pwd)
build=$(cd "${1:?BUILD}" && pwd)
folder=$(mktemp -d) || exit 1
corund=
trap '[ -z "$corund" ] || kill "$corund" 2> /dev/null; rm -rf "$folder"' EXIT
export CORUN_DAEMON_SOCKET="$folder/socket" XDG_CACHE_HOME="$folder/cache" LD_LIBRARY_PATH="$build/cuda"
export TSAN_OPTIONS="halt_on_error=0 log_path=$folder/race"
status=0

for name in driver_threads driver_more long_call many_launches wide_launches; do
    ${CC:-gcc} -std=c17 -D_GNU_SOURCE -g -O1 -fsanitize=thread -o "$folder/$name" "$sources/$name.c" -L "$build/cuda" -l:libcuda.so.1 \
        -Wl,-rpath-link,"$build/cuda" -Wl,--export-dynamic -lpthread -ldl || exit 1
done

# Without the randomisation of addresses, which the sanitizer does not know on every kernel.
start() {
    CORUN_SHIM_DRIVER="$build/cuda/libcuda.so.1" setarch -R "$build/corund" "$@" >> "$folder/said" 2>&1 &
    corund=$!
    tries=0
    until "$build/corun" ps > /dev/null 2>&1 || [ $((tries += 1)) -gt 100 ]; do sleep 0.1; done
}

finish() {
    for process in "$@"; do
        wait "$process" || { echo "$what: a program ended with $?"; status=1; }
    done
    kill "$corund" && wait "$corund" || { echo "$what: corund ended with $?"; status=1; }
    corund=
}

share() {
    name=$1
    shift
    setarch -R "$build/corun" share --name "$name" "$@" >> "$folder/said" 2>&1 &
}

# Slices and launches whole, corund is killed, comes again, and becomes its successor.
what="the shim"
start --policy goal
share a --goal 90% -- "$folder/many_launches" 2000
a=$!
share b --slices -- "$folder/driver_threads"
b=$!
share c -- "$folder/driver_more"
c=$!
sleep 2
kill -9 "$corund"
wait "$corund" 2> /dev/null
start --policy priority:bound=1
kill -USR2 "$corund"
share d --slices -- "$folder/wide_launches" 10
finish $a $b $c $!

# Workers, whose SMs change while threads launch.
what="workers"
start --policy partition:window=1
share e --workers -- "$folder/driver_threads"
a=$!
share f --workers -- "$folder/wide_launches" 100
b=$!
share g --workers --goal 75% -- "$folder/many_launches" 2000
c=$!
for policy in left-over partition goal partition:window=1; do
    sleep 1
    "$build/corun" policy $policy > /dev/null
done
finish $a $b $c

# As corun share has it, but for what it puts in front of the sanitizer's library.
for options in "--threads 2" "--pace 0.001"; do
    what="--simulate $options"
    # shellcheck disable=SC2086
    start --simulate gtx980 --policy even $options
    CORUN_CUDA_DAEMON="$folder/socket" setarch -R "$folder/driver_threads" >> "$folder/said" 2>&1 &
    a=$!
    CORUN_CUDA_DAEMON="$folder/socket" setarch -R "$folder/long_call" hasty >> "$folder/said" 2>&1 &
    finish $a $!
done

cat "$folder"/race.* 2> /dev/null && status=1
[ $status = 0 ] || tail -n 20 "$folder/said"
exit $status
