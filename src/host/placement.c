/* SPDX-License-Identifier: MIT */
/* Which batch programs run on which nodes. */
#include "host/placement.h"

#include "host/arrivals.h"
#include "host/assignment.h"

#include <stdlib.h>

void host_place_at_random(size_t nodes, size_t kinds, uint64_t seed, size_t *kind)
{
    struct host_random random = host_random_of(seed, UINT64_MAX - 2);
    for (size_t n = 0; n < nodes; n++)
        kind[n] = n % kinds;
    for (size_t n = nodes; n > 1; n--) { /* Fisher and Yates */
        size_t other = (size_t)(host_random_next(&random) * (double)n), kept = kind[n - 1];
        kind[n - 1] = kind[other];
        kind[other] = kept;
    }
}

enum corun_status host_place_best(size_t nodes, size_t services, size_t kinds, const double *values, size_t *kind)
{
    double *matrix = calloc(nodes * nodes + 1, sizeof *matrix);
    enum corun_status status = matrix ? CORUN_OK : CORUN_MEMORY;
    for (size_t n = 0; n < nodes && !status; n++)
        for (size_t group = 0; group < nodes; group++)
            matrix[n * nodes + group] = values[n % services * kinds + group % kinds];
    if (!status)
        status = host_assign(matrix, nodes, kind);
    for (size_t n = 0; n < nodes && !status; n++)
        kind[n] %= kinds;
    free(matrix);
    return status;
}
