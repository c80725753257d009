/* SPDX-License-Identifier: MIT */
/*
 * Fences: every access of a module to global memory is bounded to the memory of its own application, so that several of them may share a
 * context, and a wild pointer of one is no fault of the others (Pavlidakis et al., "G-Safe: Safe GPU Sharing in Multi-Tenant Environments",
 * arXiv:2401.09290, compares three bounds: an address that wraps around, one that is checked, and a modulus. This is the
 * one that is checked: it alone can say who stepped outside, and where).
 *
 *     t = address - bounds.first             for each access; a guard of the access is part of the comparison
 *     t < bounds.bytes                       it is performed as it was
 *     in a variable of the module            the same; and for generic addresses: in shared, local or constant memory
 *     else                                   it is left out: a load leaves its register as it was. The first one of a launch is recorded
 *
 * Bounds come from a constant of the module, so that parameters and launches stay what they were. The memory of an application is one range,
 * which begins and ends at a multiple of 16 bytes: whatever is aligned as PTX demands and begins in there ends in there.
 */
#ifndef CORUN_REWRITE_FENCE_H
#define CORUN_REWRITE_FENCE_H

#include "rewrite/rewritten.h"

/* `.const .align 16 .b64 corun_fence[4]`, with a suffix if that name is taken; to be set before the first launch. */
#define FENCE_VARIABLE "corun_fence"

struct fence_bounds {
    uint64_t first, bytes; /* of the application's memory, multiples of 16 */
    uint64_t record;       /* address of 8 bytes that are 0 at first: fence_recorded */
    uint64_t reserved;
};
_Static_assert(sizeof(struct fence_bounds) == 32, "kernels rely on the layout");

/* A rewrite_pass. Kernels keep their parameters. What is refused has accesses that no fence can bound. */
enum corun_status fence_module(const struct ptx_module *source, struct corun_diagnostics *list,
                               struct rewritten *rewritten);

/*
 * The same, and then another pass. A kernel that cannot be fenced is refused, whatever the other pass has made of it. What it had before is of the
 * source, as the pass alone would say.
 */
enum corun_status fence_before(rewrite_pass *pass, const struct ptx_module *source, struct corun_diagnostics *list,
                               struct rewritten *rewritten);

#define FENCE_MOST_NUMBER 4095u /* later accesses of a module share that one */

/* What stands in the record: the first access that was left out. */
static inline uint32_t fence_recorded_number(uint64_t record)
{
    return (uint32_t)(record >> 52);
}

static inline uint64_t fence_recorded_address(uint64_t record)
{
    return record & ((UINT64_C(1) << 52) - 1);
}

struct fence_access {
    const struct ptx_function *function;
    const struct ptx_instruction *instruction;
    uint32_t bytes; /* that a thread accesses */
};

/* An access of the source by its number, from 1. False: there is none. */
bool fence_access_find(const struct ptx_module *source, uint32_t number, struct fence_access *access);

#endif
