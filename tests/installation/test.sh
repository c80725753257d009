#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs into an empty folder, moves it, and uses what is there as somebody else's program would.
#     test.sh SOURCE BUILD CC
set -eu
source=$1
build=$2
cc=$3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cmake --build "$build" --target corun_libraries >/dev/null
DESTDIR=$folder/first cmake --install "$build" --prefix /usr/local >/dev/null
mv "$folder/first/usr/local" "$folder/moved"
root=$folder/moved

for file in bin/corun lib/libcorun.a lib/libcorun.so lib/pkgconfig/corun.pc include/corun/gpu.h \
    lib/libcorun-split.so lib/pkgconfig/corun-split.pc include/corun/split.h include/corun/split_parameters.def \
    include/corun/statistics.def share/man/man1/corun.1 share/corun/gpu/gtx980.yaml share/corun/kernels/sgemm/sgemm.ptx \
    share/corun/python/__main__.py share/corun/python/corun/report.py share/corun/python/corun/py.typed \
    share/corun/python/examples/sharing.ipynb share/doc/corun/docs/campaigns.md \
    share/doc/corun/docs/images/exec.png share/doc/corun/examples/mine.ptx share/doc/corun/examples/pairs.yaml; do
    [ -e "$root/$file" ] || { echo "not installed: $file"; exit 1; }
done

# The command finds its data from where it lies now.
env -u CORUN_DATA "$root/bin/corun" list gpus | grep -q quadro-fx5800
env -u CORUN_DATA "$root/bin/corun" list workloads | grep -q sgemm
"$root/bin/corun" version | grep -q "$(sed -n 's/^project(corun VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")"

# Completion lies where the shells look, which the help text names.
completions=$("$root/bin/corun" completion --help | sed -n 's/^ *\([a-z]*\) - installed as \(.*\)/\1 \2/p')
echo "$completions" | grep -c . | grep -q 3
echo "$completions" | while read -r shell place; do "$root/bin/corun" completion "$shell" | diff - "$root/$place"; done

corun()
{
    env -u CORUN_DATA XDG_CACHE_HOME="$folder/cache" "$root/bin/corun" "$@"
}

# Applications share a GPU; the results of a campaign are asked in SQL; the experiments are there.
corun run --gpu gtx980:sms=2 --cycles 5K --policy even sgemm@small sgemm@small | grep -q "policy even"
cat >"$folder/pair.yaml" <<'CAMPAIGN'
name: pair
gpus: ["gtx980:sms=2"]
cycles: 5K
cases: [[sgemm@small, sgemm@small]]
CAMPAIGN
corun campaign -q -r "$folder/results.db" "$folder/pair.yaml"
corun query --csv -r "$folder/results.db" "SELECT count(*) FROM cases WHERE status = 'finished'" | grep -q "^2"
corun reproduce --list | grep -q "^hpca12-fig5 "

# Reports find their Python package there, too; without numpy, they say so.
status=0
corun report --results "$folder/results.db" >"$folder/report.txt" 2>&1 || status=$?
if [ "$status" -eq 0 ]; then
    grep -q "pair: 2 cases with isolated runs: 2 finished" "$folder/report.txt"
else
    [ "$status" -eq 5 ] && grep -q numpy "$folder/report.txt"
fi

# A program that divides a task links the library for that alone, and runs without a GPU.
PKG_CONFIG_PATH=$root/lib/pkgconfig pkg-config --define-prefix --cflags --libs corun-split >"$folder/flags.txt"
$cc -std=c17 -Wall -o "$folder/smooth" "$source/tests/split/programs/smooth.c" $(cat "$folder/flags.txt")
if ldd "$folder/smooth" | grep -q "libcorun\.so"; then
    echo "a divided task needs the simulator"
    exit 1
fi
LD_LIBRARY_PATH=$root/lib "$folder/smooth" none.ptx 10000 2 | grep -q "round 1: meet"
# The six that are installed, compiled with the lines that their page shows for one of them.
cp -r "$root/share/doc/corun/examples/split" "$folder/split"
sed -n 's/^    \(cc .*\)/\1/p; /^    clang-14 /,/mm\.ptx$/p' "$folder/split/README.md" >"$folder/split/lines.sh"
for program in cg jacobi mc mm nbody nns; do
    size=256
    [ $program != mc ] || size=65536
    sed "s/\bmm\b/$program/g; s/^cc /\$cc -Wall -Wextra -Werror /" "$folder/split/lines.sh" >"$folder/split/$program.sh"
    grep -q "o $program\.ptx" "$folder/split/$program.sh"
    (cd "$folder/split" && export cc PKG_CONFIG_PATH="$root/lib/pkgconfig" && sh -eu "./$program.sh")
    LD_LIBRARY_PATH=$root/lib "$folder/split/$program" --no-gpu --size=$size | grep -q "^PASSED"
    if [ -e "$root/lib/corun/libcuda.so.1" ]; then
        LD_LIBRARY_PATH=$root/lib corun exec -q --gpu gtx980 -- "$folder/split/$program" --no-cpu --size=$size --strategy=static \
            >"$folder/split/log"
        grep -q "^PASSED" "$folder/split/log" && grep -q "^gtx980: [1-9]" "$folder/split/log"
    fi
done

# A CUDA program gets the libraries that lie beside the command, also where the command is started by a link from elsewhere.
if [ -e "$root/lib/corun/libcuda.so.1" ]; then
    cat >"$folder/cuda.c" <<'PROGRAM'
#include <stdio.h>
#include <string.h>

int cuInit(unsigned flags);
int cuDeviceGet(int *device, int ordinal);
int cuDeviceGetName(char *name, int bytes, int device);

int main(void)
{
    char name[100], line[4096];
    int device, found = 0;
    if (cuInit(0) || cuDeviceGet(&device, 0) || cuDeviceGetName(name, sizeof name, device))
        return 1;
    printf("%s\n", name);
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && !found && fgets(line, sizeof line, maps))
        found = strstr(line, "libcorun-cuda") && printf("%s", strchr(line, '/'));
    return !found;
}
PROGRAM
    $cc -std=c17 -Wall "$folder/cuda.c" -L"$root/lib/corun" -l:libcuda.so.1 -Wl,-rpath-link,"$root/lib/corun" -o "$folder/cuda"
    mkdir "$folder/elsewhere"
    ln -s "$root/bin/corun" "$folder/elsewhere/corun"
    for command in "$root/bin/corun" "$folder/elsewhere/corun"; do
        env -u CORUN_DATA "$command" exec -q --gpu quadro-v100 -- "$folder/cuda" >"$folder/cuda.txt"
        printf '%s\n' quadro-v100 "$root/lib/corun/libcorun-cuda.so" | diff - "$folder/cuda.txt"
    done
fi

# The examples are all there: a copy of them is what README's commands work on.
cp -r "$root/share/doc/corun/examples" "$folder/try"
corun check "$folder/try/mine.ptx" | grep -q "^add "
corun campaign --list "$folder/try/pairs.yaml" | grep -c . | grep -q 12
if [ -e "$root/lib/corun/libcuda.so.1" ]; then
    $cc -std=c17 -Wall -Wextra -Werror "$folder/try/program.c" -o "$folder/try/program"
    (cd "$folder/try" && corun exec -q -- ./program 2 | grep -q "2 times: the sum is right")
fi

# CUDA C is compiled with clang and what is installed, where clang is; and runs. The page has the program and what it prints.
if [ -e "$root/lib/corun/libcuda.so.1" ] && command -v clang-14 >/dev/null && [ -e /usr/lib/clc/nvptx64--nvidiacl.bc ]; then
    mkdir "$folder/compiled"
    page=$root/share/doc/corun/docs/cuda-cc.md
    sed -n '/^```cuda/,/^```/p' "$page" | grep -v '^```' >"$folder/compiled/saxpy.cu"
    (cd "$folder/compiled" && corun cc saxpy.cu -o saxpy && corun exec -q -- ./saxpy >saxpy.txt &&
        corun cc saxpy.cu -o saxpy.ptx && corun check saxpy.ptx | grep -q saxpy)
    sed -n 's/^    \(no error: .*\)/\1/p' "$page" | diff - "$folder/compiled/saxpy.txt"
fi

# The Python package finds the library and the data from where they lie now; the library as well, without a program of ours.
if /usr/bin/python3 -c "import numpy" 2>/dev/null; then
    env -u CORUN_DATA -u CORUN_LIBRARY PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$root/share/corun/python" /usr/bin/python3 -c "
import corun
assert corun.gpu('gtx980', sms=3).sms == 3
assert corun.data_directory().startswith('$root'), corun.data_directory()
assert 'sgemm' in corun.workloads()"
fi

# Each public header is readable on its own, in C and, where there is a compiler, in C++.
export PKG_CONFIG_PATH=$root/lib/pkgconfig
flags=$(pkg-config --cflags corun)
for header in "$root"/include/corun/*.h; do
    printf '#include "corun/%s"\n' "$(basename "$header")" >"$folder/header.c"
    $cc -std=c17 -Wall -Wextra -Werror -fsyntax-only $flags "$folder/header.c"
    if command -v c++ >/dev/null 2>&1; then
        cp "$folder/header.c" "$folder/header.cc"
        c++ -Wall -Wextra -Werror -fsyntax-only $flags "$folder/header.cc"
    fi
done

# Examples are compiled as their pages show it, without a word of the compiler.
for program in "$root"/share/doc/corun/examples/host/*.c "$root"/share/doc/corun/examples/queue/*.c; do
    $cc -Wall -Wextra -Werror -fsyntax-only $flags "$program"
done

# A program of somebody else's, linked with the shared object and with the archive.
cat >"$folder/program.c" <<'PROGRAM'
#include "corun/gpu.h"

#include <stdio.h>

int main(int count, char **arguments)
{
    struct corun_gpu_config config;
    if (count != 2 || corun_gpu_config_load("gtx980:sms=2", arguments[1], NULL, &config) != CORUN_OK)
        return 1;
    struct corun_gpu *gpu;
    if (corun_gpu_create(&config, NULL, &gpu) != CORUN_OK)
        return 1;
    corun_gpu_destroy(gpu);
    printf("%s\n", config.name);
    return 0;
}
PROGRAM
$cc -std=c17 -Wall $flags "$folder/program.c" $(pkg-config --libs corun) -Wl,-rpath,"$root/lib" -o "$folder/shared"
$cc -std=c17 -Wall $flags "$folder/program.c" "$root/lib/libcorun.a" \
    $(pkg-config --static --libs corun | sed 's/-lcorun//') -o "$folder/static"
for program in shared static; do
    [ "$("$folder/$program" "$(pkg-config --variable=datadir corun)")" = gtx980:sms=2 ]
done
# A policy of somebody else's, with what is installed alone.
$cc -std=c17 -Wall -Wextra -Werror -shared -fPIC $flags "$root/share/doc/corun/examples/policy/fair_turns.c" -o "$folder/fair_turns.so"
env -u CORUN_DATA XDG_CACHE_HOME="$folder/cache" "$root/bin/corun" run --gpu gtx980:sms=2,epoch_cycles=1000 --cycles 5K \
    --policy "$folder/fair_turns.so:pause=2" sgemm@small sgemm@small | grep -q "policy fair-turns:pause=2"
# A program that gives an application another goal while it runs: the goal falls from part to part, and so does what SMQoS gives. It
# prints what its page shows, where its second workload is built.
$cc -std=c17 -Wall -Wextra -Werror $flags "$root/share/doc/corun/examples/goal/changing_goal.c" $(pkg-config --libs corun) \
    -Wl,-rpath,"$root/lib" -o "$folder/changing_goal"
# Folders beside a program that are called as those of corun are not taken for them.
mkdir -p "$folder/data/kernels"
workloads="sgemm@small sgemm@small"
[ ! -d "$root/share/corun/kernels/lbm" ] || workloads=
env -u CORUN_DATA "$folder/changing_goal" $workloads >"$folder/goals.txt"
awk '{ now = $5 + 0; if (NR > 1 && (now != goal / 2 || $7 + 0 >= reached)) wrong = 1; goal = now; reached = $7 + 0 }
     END { exit wrong || NR != 3 }' "$folder/goals.txt" || { cat "$folder/goals.txt"; exit 1; }
[ -n "$workloads" ] || sed -n 's/^    \(to cycle\)/\1/p' "$source/docs/policies-smqos.md" | diff - "$folder/goals.txt"
echo "installed, moved, used"
