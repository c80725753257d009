/* SPDX-License-Identifier: MIT */
/* Traces: one line per issued warp instruction. */
#ifndef CORUN_REPORT_TRACE_H
#define CORUN_REPORT_TRACE_H

#include "corun/gpu.h"

#include <stdio.h>

void trace_heading(FILE *stream);
/* For corun_gpu_trace; `stream` is a FILE. Write errors are left to the stream. */
void trace_event(void *stream, const struct corun_trace_event *event);

#endif
