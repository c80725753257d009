/* SPDX-License-Identifier: MIT */
/* The CPU references and generators that were built in, from the folders in kernels/ (cmake/kernels.cmake writes the table). */
#ifndef CORUN_WORKLOAD_REFERENCES_H
#define CORUN_WORKLOAD_REFERENCES_H

#include "corun/workload.h"

extern const struct corun_reference *const corun_references[]; /* ends with NULL */

/* A hash over the sources of each reference and of what else decides the data of its workload (by the name of its folder). */
struct reference_fingerprint {
    const char *name, *hash;
};
extern const struct reference_fingerprint reference_fingerprints[]; /* ends with name == NULL */

#endif
