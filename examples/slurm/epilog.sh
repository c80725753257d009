#!/bin/sh
# SPDX-License-Identifier: MIT
# Slurm's Epilog on a node: the job's agent ends, and its results go to the folder that the job was submitted from, as the job's user
# (docs/host-linux.md#slurm).
: "${CORUN:=corun}" "${CORUN_JOBS:=/run/corun}"
folder=$CORUN_JOBS/$SLURM_JOB_ID
[ -d "$folder" ] || exit 0
if [ ! -f "$folder.pid" ]; then # it has no agent; its programs have left corund when they ended
    rm -rf "$folder"
    exit 0
fi
agent=$(cat "$folder.pid")

# Its number may be another process's by now.
is_ours() {
    tr '\0' '\n' <"/proc/$agent/cmdline" 2>/dev/null | grep -qxF "$folder/agent"
}
if [ -n "$agent" ] && is_ours; then
    kill "$agent"
    tries=0
    while is_ours && [ $tries -lt 50 ]; do
        sleep 0.1
        tries=$((tries + 1))
    done
    ! is_ours || kill -9 "$agent"
fi
as_user() {
    setpriv --reuid "$SLURM_JOB_USER" --regid "$(id -g "$SLURM_JOB_USER")" --init-groups "$@"
}
as_user sh -c '"$@" >>"$0" 2>&1' "$folder/log" "$CORUN" host restore --socket "$folder/agent" # what root opens there may be a link
work=${SLURM_JOB_WORK_DIR-$(scontrol --oneliner show job "$SLURM_JOB_ID" 2>/dev/null | sed -n 's/.* WorkDir=\([^ ]*\).*/\1/p')}
[ -z "$work" ] || [ ! -f "$folder/results.json" ] || as_user cp "$folder/results.json" "$work/corun-$SLURM_JOB_ID.json"
[ -z "$work" ] || [ ! -s "$folder/log" ] || as_user cp "$folder/log" "$work/corun-$SLURM_JOB_ID.log"
rm -rf "$folder" "$folder.pid"
exit 0
