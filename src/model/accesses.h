/* SPDX-License-Identifier: MIT */
/* What both ways to a profile count, and what they make of it. */
#ifndef CORUN_MODEL_ACCESSES_H
#define CORUN_MODEL_ACCESSES_H

#include "corun/source.h"
#include "model/kernel.h"

struct model_accesses {
    uint64_t instructions; /* warp instructions, all */
    uint64_t loads;        /* of these, those that no cache of the SM answers */
    uint64_t lines;        /* that these ask for */
    uint64_t uncoalesced;  /* of the loads */
    uint64_t uncoalesced_lines;
};

/* Everything that follows from the launch; the rest is 1, 0 or NAN. */
void model_profile_place(const struct corun_gpu_config *config, const struct corun_grid *grid,
                         struct model_kernel *kernel);
/* R_m, U and requests of an access. `instructions` must not be 0. */
void model_profile_accesses(struct model_kernel *kernel, const struct model_accesses *accesses);

#endif
