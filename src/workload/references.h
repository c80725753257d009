/* The CPU references and generators that were built in, from the folders in kernels/ (cmake/kernels.cmake writes the table). */
#ifndef CORUN_WORKLOAD_REFERENCES_H
#define CORUN_WORKLOAD_REFERENCES_H

#include "corun/workload.h"

extern const struct corun_reference *const corun_references[]; /* ends with NULL */

#endif
