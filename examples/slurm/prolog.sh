#!/bin/sh
# SPDX-License-Identifier: MIT
# Slurm's Prolog on a node: a job that asks for it gets an agent of `corun host run` on its cores (docs/host-linux.md#slurm).
#
#     sbatch --comment "corun policy=emu service=gmm:goal=150ms,model=/data/gmm.json batch=canneal" job.sh
#
# Programs of a job that says so run under the corund of the node, as `corun share` would start them (docs/daemon.md#slurm):
#
#     sbatch --comment "corun:goal=90%,name=server" job.sh
#
# The agent runs as the job's user. What the comment says becomes its options word by word, never a command. Whatever goes wrong, the job begins:
# a Prolog that fails would take the node out of service.
: "${CORUN:=corun}" "${CORUN_JOBS:=/run/corun}"
set -f
folder=$CORUN_JOBS/$SLURM_JOB_ID

described=$(scontrol --details --oneliner show job "$SLURM_JOB_ID" 2>/dev/null)
comment=${SLURM_JOB_COMMENT-$(printf '%s\n' "$described" | sed -n 's/.* Comment=\(.*\)/\1/p')}
case $comment in "corun "* | corun:*) ;; *) exit 0 ;; esac

mkdir -p "$CORUN_JOBS"
case $comment in
corun:*) # its tasks read it; the folder is root's, so nobody puts a link there
    umask 022
    mkdir "$folder" && printf '%s\n' "${comment#corun:}" >"$folder/share"
    exit 0
    ;;
esac
install -d -m 0700 -o "$SLURM_JOB_USER" "$folder" || exit 0
cores=$(printf '%s\n' "$described" | sed -n 's/.* CPU_IDs=\([0-9,-]*\) .*/\1/p')
set -- --quiet --socket "$folder/agent" --json "$folder/results.json"
[ -z "$cores" ] || set -- "$@" --cores "$cores"
for word in ${comment#corun }; do
    case $word in
    policy=* | service=* | batch=* | interval=* | warmup=* | confine=*) set -- "$@" "--${word%%=*}" "${word#*=}" ;;
    esac
done
# Root writes nothing in the folder of the user, who could put a link there: the log is opened as that user, and the number lies beside the folder.
setsid setpriv --reuid "$SLURM_JOB_USER" --regid "$(id -g "$SLURM_JOB_USER")" --init-groups \
    sh -c 'exec "$@" >"$0" 2>&1' "$folder/log" "$CORUN" host run "$@" </dev/null >/dev/null 2>&1 &
agent=$!
echo $agent >"$folder.pid"
tries=0
while [ ! -S "$folder/agent" ] && kill -0 $agent 2>/dev/null && [ $tries -lt 50 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
exit 0
