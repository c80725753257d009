/* SPDX-License-Identifier: MIT */
/* Device memory of the program, as far as it asks the driver for it by name: what corund limits and lists. */
#ifndef CORUN_SHIM_MEMORY_H
#define CORUN_SHIM_MEMORY_H

#include <stdint.h>

/* Bytes that the program has now. From any thread. */
uint64_t memory_total(void);
/* A context has ended: what was in it is looked for. `context`: the one that was destroyed; NULL: that of a device. */
void memory_context_ended(const void *context);
/* A graph was launched, for which the driver may have taken memory. */
void memory_graph_launched(void);
/* In a child of the process (forked.h). */
void memory_forked(void);

#endif
