/* SPDX-License-Identifier: MIT */
/*
 * Words of the host that the GPU writes in the order of streams: what has been reached there is known without asking the driver. A question costs a call, and a simulated
 * GPU goes on for whoever asks it again and again.
 */
#ifndef CORUN_SHIM_MARKS_H
#define CORUN_SHIM_MARKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define MARKS_WORDS 1024u

struct marks {
    _Atomic uint32_t *words; /* MARKS_WORDS of them, for ever; NULL: none have been made */
    uint64_t address;        /* for the GPU, in the context in which they were made last */
};

/* For the current context: all 0. A context before, in which they were made, has ended. False: the driver cannot. */
bool marks_make(struct marks *marks);
/* For cuStreamWriteValue32. */
uint64_t marks_address(const struct marks *marks, uint32_t word);

#endif
