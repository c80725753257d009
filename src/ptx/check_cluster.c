/* SPDX-License-Identifier: MIT */
/* Suffixes of what concerns clusters of thread blocks. */
#include "ptx/parser.h"

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
    default:
        return NULL;
    }
}
