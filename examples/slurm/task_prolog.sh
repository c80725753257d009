#!/bin/sh
# SPDX-License-Identifier: MIT
# Slurm's TaskProlog: what it prints tells the job's programs where their agent is (docs/host-linux.md#slurm), or that they share the GPU of the
# node's corund (docs/daemon.md#slurm). Words of the comment become options of `corun share`; one that it refuses is said in the job's output, and
# the job runs without.
: "${CORUN:=corun}" "${CORUN_JOBS:=/run/corun}"
set -f
folder=$CORUN_JOBS/$SLURM_JOB_ID
[ ! -S "$folder/agent" ] || echo "export CORUN_AGENT=$folder/agent"
[ -f "$folder/share" ] || exit 0
IFS=', '
read -r words <"$folder/share"
set --
for word in $words; do
    case $word in
    goal=* | isolated=* | name=* | gpu=* | check=*) set -- "$@" "--${word%%=*}" "${word#*=}" ;;
    *) echo "print corun: '$word' is passed over" ;;
    esac
done
unset IFS
if said=$("$CORUN" share --environment "$@" 2>&1); then
    printf '%s\n' "$said" | sed 's/^/export /'
else
    printf '%s\n' "$said" | sed 's/^/print /'
fi
exit 0
