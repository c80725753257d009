/* SPDX-License-Identifier: MIT */
/*
 * What a program may tell the library corun_trace, which it is linked with to be traced: whose loads and stores come next. The library hears
 * of these by the calls that a compiler makes for a sanitizer (clang -fsanitize=thread, without that sanitizer's library) and writes what
 * `corun host profile` reads (docs/host-applications.md). It does nothing unless the environment variable CORUN_TRACE names a file.
 */
#ifndef CORUN_TRACE_H
#define CORUN_TRACE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In place of a task: the thread between the phase before and this one. */
#define CORUN_TRACE_SERIAL UINT32_MAX

/* What the calling thread loads and stores from now on is done for that task of that phase of that query. */
void corun_trace_task(uint32_t query, uint32_t phase, uint32_t task);
/* What it loads and stores from now on is done for nobody. */
void corun_trace_pause(void);

#ifdef __cplusplus
}
#endif
#endif
