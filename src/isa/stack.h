/* SPDX-License-Identifier: MIT */
/*
 * Memory that a function takes while it runs (alloca). Frames grow from the beginning of local memory, what alloca gives grows from its end,
 * so that a frame has the size that it was decoded with. How many bytes a thread has from the end is in a slot of the kernel; a function that
 * allocates keeps in a slot of its own how many there were when it was called, and brings that number back where it returns.
 */
#ifndef CORUN_ISA_STACK_H
#define CORUN_ISA_STACK_H

#include "isa/executor.h"

#define STACK_BYTES \
    (16u * 1024u) /* of a thread, beyond the longest path without recursion and alloca, if a launch wants no more */
#define STACK_FRAME_BYTES 16u /* that a call takes of it at least, also of a function with all it needs in registers */
#define STACK_MOST_BYTES (512u * 1024u) /* local memory of a thread on the hardware */
#define STACK_ALIGN 256u /* the end of local memory is a multiple of that, and so no alloca can ask for more */

/* op->variant; extra[0] is the slot of the kernel. Addresses have 64 bits with EXTEND_WIDE. */
enum stack_action {
    STACK_ALLOCATE, /* destination: address; source[0]: bytes; offset: alignment */
    STACK_SAVE,     /* destination: address of what was given last */
    STACK_RESTORE,  /* source[0]: such an address */
    STACK_ENTER,    /* destination: the function's slot */
    STACK_LEAVE     /* source[0]: the function's slot */
};

/* False: a fault was raised. */
bool stack_execute(struct corun_warp *warp, const struct operation *op, uint32_t mask);
/* Bytes of local memory that the lanes have not been given by alloca: where frames must end. */
uint32_t stack_limit(const struct corun_warp *warp, uint32_t mask);

#endif
