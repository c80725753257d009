#!/bin/sh
# SPDX-License-Identifier: MIT
# Slurm's TaskProlog: what it prints tells the job's programs where their agent is (docs/host-linux.md#slurm).
: "${CORUN_JOBS:=/run/corun}"
[ ! -S "$CORUN_JOBS/$SLURM_JOB_ID/agent" ] || echo "export CORUN_AGENT=$CORUN_JOBS/$SLURM_JOB_ID/agent"
