/* SPDX-License-Identifier: MIT */
/* Keys that are not all alike, and the library's sort. */
#include "corun/workload.h"

#include <stdlib.h>

static bool generate(const struct corun_problem *problem)
{
    int64_t count = corun_problem_value(problem, "keys");
    uint32_t *keys = count > 0 ? corun_problem_data(problem, "keys", CORUN_ELEMENT_U32, (uint64_t)count) : NULL;
    if (!keys)
        return false;
    uint64_t state = problem->seed ^ UINT64_C(0x7261646978000000);
    for (int64_t i = 0; i < count; i++) {
        uint64_t random = corun_random(&state);
        uint32_t key = (uint32_t)(random >> 32);
        switch (random % 4) {
        case 0: /* small ones, smaller ones more often */
            key >>= 8 + random / 4 % 24;
            break;
        case 1: /* one that was there before */
            key = i ? keys[key % i] : key;
            break;
        default: /* anything */
            break;
        }
        keys[i] = key;
    }
    keys[count / 2] = UINT32_MAX; /* like the kernel's padding */
    return true;
}

static int compare(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool compute(const struct corun_problem *problem)
{
    uint64_t count = (uint64_t)corun_problem_value(problem, "keys");
    uint32_t *keys = corun_problem_data(problem, "keys", CORUN_ELEMENT_U32, count);
    if (!keys)
        return false;
    qsort(keys, count, sizeof *keys, compare);
    return true;
}

const struct corun_reference corun_reference_radix_sort = {
    .name = "radix-sort",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"keys", generate}, {0}},
};
