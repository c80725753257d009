/* SPDX-License-Identifier: MIT */
/* Which calls of the driver a runtime made, when, and how long the host was in each: for whoever wants to know where time goes. */
#ifndef CORUN_RUNTIME_CALLS_H
#define CORUN_RUNTIME_CALLS_H

#include "base/vector.h"
#include "corun/status.h"

struct call {
    const char *text;       /* the call as the source has it, or what has ended */
    uint64_t begin, end;    /* ns: of the host's clock; of what has ended, of the device's */
    uint32_t number, where; /* of what has ended: its job and launch as one number, its stream */
    bool of_device;
};

struct calls {
    bool wanted;
    uint64_t begun;    /* of the call that is under way */
    uint64_t first_ns; /* the host's clock when the record was begun */
    VECTOR(struct call) list;
};

/* The host's clock, nanoseconds. */
uint64_t calls_clock(void);
static inline void calls_begin(struct calls *calls)
{
    if (calls->wanted)
        calls->begun = calls_clock();
}

/* The call has returned `result`, which is returned again. */
int calls_note(struct calls *calls, const char *text, int result);
/* Something that the device did, in nanoseconds of the host's clock. */
void calls_note_device(struct calls *calls, const char *text, uint64_t begin, uint64_t end, uint32_t number,
                       uint32_t where);
/* Rows of CSV: begin and length in microseconds, who, what, number, stream. FILE with the reason. */
enum corun_status calls_write(const struct calls *calls, const char *path, struct corun_diagnostics *list);
void calls_free(struct calls *calls);

#endif
