/* SPDX-License-Identifier: MIT */
/* Traces: one line per issued warp instruction. */
#ifndef CORUN_REPORT_TRACE_H
#define CORUN_REPORT_TRACE_H

#include "corun/gpu.h"

#include <stdio.h>

struct corun_archive;

/*
 * The file of a trace. Of a run that is saved the file lies in its place from the start: the run that goes on cuts back what was written after the
 * checkpoint, and writes the rest behind it.
 */
struct trace {
    FILE *stream;   /* readable too, where there are checkpoints */
    bool saved;     /* there are: what was written so far is counted and summed up */
    bool begun;     /* the heading is written */
    uint64_t bytes; /* so far, if saved */
    uint64_t sum;   /* FNV-1a over them */
};

void trace_create(struct trace *trace, FILE *stream, bool saved);
/* For corun_gpu_trace; `trace` is a struct trace. Write errors are left to the stream. */
void trace_event(void *trace, const struct corun_trace_event *event);
/*
 * For struct corun_case_keeper, of a trace that is saved. Writing: what was written so far is on its disk before this returns. Reading: the
 * file is cut back to that. FILE: it cannot be; ARGUMENT: the file is not the one that was written.
 */
void trace_archive(void *trace, struct corun_archive *archive);
/* The run is over: a trace without events has its heading as well. */
void trace_end(struct trace *trace);

#endif
