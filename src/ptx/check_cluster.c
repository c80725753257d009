/* SPDX-License-Identifier: MIT */
/* Suffixes of what concerns clusters of thread blocks. */
#include "ptx/parser.h"

/* Fences of shared memory alone go one way each: what others did in the cluster comes before, or what the thread block did behind. */
static const char *wrong_restriction(const struct ptx_instruction *instruction)
{
    uint8_t restriction = instruction->restriction, semantics = instruction->semantics;
    bool fits = (restriction == PTX_RESTRICTION_CLUSTER && semantics == PTX_SEMANTICS_ACQUIRE) ||
                (restriction == PTX_RESTRICTION_CTA && semantics == PTX_SEMANTICS_RELEASE);
    if (!restriction)
        return instruction->opcode == PTX_OP_FENCE ? NULL : "needs .sync_restrict::shared::cluster or ::cta";
    return fits && instruction->scope == PTX_SCOPE_CLUSTER
               ? NULL
               : "is .acquire.sync_restrict::shared::cluster.cluster or .release.sync_restrict::shared::cta.cluster";
}

const char *ptx_cluster_problem(const struct ptx_instruction *instruction)
{
    uint8_t space = instruction->space, semantics = instruction->semantics;
    bool elsewhere = space && space != PTX_SPACE_SHARED;
    switch (instruction->opcode) {
    case PTX_OP_MAPA:
    case PTX_OP_GETCTARANK:
        return elsewhere ? "works on .shared::cluster only" : NULL;
    case PTX_OP_ST_ASYNC:
    case PTX_OP_RED_ASYNC:
        if (instruction->opcode == PTX_OP_RED_ASYNC &&
            (!instruction->atomic || instruction->atomic == PTX_ATOMIC_CAS || instruction->atomic == PTX_ATOMIC_EXCH))
            return "needs an operation such as .add, and has no .cas and .exch";
        return !instruction->completion ? "needs .mbarrier::complete_tx::bytes"
               : elsewhere              ? "works on .shared::cluster only"
                                        : NULL;
    case PTX_OP_BARRIER_CLUSTER_ARRIVE:
        return semantics && semantics != PTX_SEMANTICS_RELEASE && semantics != PTX_SEMANTICS_RELAXED
                   ? "has .release or .relaxed only"
                   : NULL;
    case PTX_OP_BARRIER_CLUSTER_WAIT:
        return semantics && semantics != PTX_SEMANTICS_ACQUIRE ? "has .acquire only" : NULL;
    case PTX_OP_FENCE:
    case PTX_OP_FENCE_PROXY_ASYNC_GENERIC:
        return wrong_restriction(instruction);
    default:
        return NULL;
    }
}
