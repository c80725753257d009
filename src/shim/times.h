/* SPDX-License-Identifier: MIT */
/*
 * How long launches of the program take, for whoever looks at the list (`corun top`): from when the program asked, held back or not, until the last thread block has ended, on
 * the GPU's clock. An event in a stream of the shim's, in which there is never anything else, says when the program asked, and one behind the launch when it has
 * ended, with a mark that the GPU writes, so that the driver is not asked. About every fourth of the first launches is timed, the very first one among them, and then every eighth, while few enough of those have not ended. Nobody is woken, and nothing is waited for: what has
 * ended is seen when a later launch is timed.
 */
#ifndef CORUN_SHIM_TIMES_H
#define CORUN_SHIM_TIMES_H

#include <stdbool.h>
#include <stdint.h>

struct governed;

#define TIMES_NONE UINT32_MAX

/* The program asks for a launch. Which one of those that are timed it is; TIMES_NONE: it is not. */
uint32_t times_begin(const struct governed *launch);
/* All of the launch is in the stream, or it could not be made. */
void times_end(uint32_t timed, const struct governed *launch, int error);
/* The context is gone, and its events; NULL: it is not known which. */
void times_context_ended(const void *context);

#endif
