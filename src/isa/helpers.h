/* SPDX-License-Identifier: MIT */
/*
 * Lanes that could end the wait of the top in a loop: those of other paths of the warp, and those that wait behind a branch. They help if they
 * can come to something that changes memory before they come to a barrier of the thread block, to the end of the kernel, or to an
 * operation that names lanes of the top in a constant mask.
 */
#ifndef CORUN_ISA_HELPERS_H
#define CORUN_ISA_HELPERS_H

#include "isa/executor.h"

struct helper {
    uint32_t entry; /* of the stack */
    uint32_t lanes;
    uint32_t
        place; /* lanes that wait in the entry: up to here; SIMT_NOWHERE: past the end of their function. A path: of no meaning */
    bool path; /* the entry is a path of its own */
};

/* Is there anybody who could help the top? */
bool helpers_are_there(struct corun_warp *warp);
/* Paths that could. */
uint32_t helpers_count(const struct corun_warp *warp);
/* Who is next: lanes behind a branch with `behind`, otherwise a path, and the other kind if there is none. False: nobody could help. */
bool helpers_next(struct corun_warp *warp, bool behind, struct helper *helper);
/* The top is at a barrier: a path that is not at one, and does not wait. */
bool helpers_beside_barrier(const struct corun_warp *warp, struct helper *helper);
/* They become the top. */
void helpers_run(struct corun_warp *warp, const struct helper *helper);

#endif
