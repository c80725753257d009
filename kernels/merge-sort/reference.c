/* SPDX-License-Identifier: MIT */
/* Keys, some of them very frequent, and the pairs in order: radix sort, which is stable like the merges. */
#include "corun/workload.h"

#include <stdlib.h>

static bool generate(const struct corun_problem *problem)
{
    int64_t pairs = corun_problem_value(problem, "pairs");
    uint32_t *keys = corun_problem_data(problem, "keys", CORUN_ELEMENT_U32, (uint64_t)pairs);
    if (!keys || pairs < 1024 || pairs % 1024 != 0)
        return false;
    uint64_t state = problem->seed ^ UINT64_C(0x6d65726765000000);
    for (int64_t i = 0; i < pairs; i++) {
        uint64_t random = corun_random(&state);
        uint32_t key = (uint32_t)(random >> 32);
        /* a quarter is spread over all keys, the others are skewed towards few small ones: long runs of equal keys */
        uint32_t shift = random & 3 ? 12 + (uint32_t)(random >> 2 & 15) : 0;
        keys[i] = key >> shift;
    }
    return true;
}

/* One pass over one byte of the keys. */
static void sort_by_byte(const uint32_t *keys, const uint32_t *values, uint32_t *to_keys, uint32_t *to_values,
                         uint64_t count, unsigned shift)
{
    uint64_t places[257] = {0};
    for (uint64_t i = 0; i < count; i++)
        places[(keys[i] >> shift & 255) + 1]++;
    for (unsigned i = 1; i < 256; i++)
        places[i] += places[i - 1];
    for (uint64_t i = 0; i < count; i++) {
        uint64_t place = places[keys[i] >> shift & 255]++;
        to_keys[place] = keys[i];
        to_values[place] = values[i];
    }
}

static bool compute(const struct corun_problem *problem)
{
    uint64_t count = (uint64_t)corun_problem_value(problem, "pairs");
    const uint32_t *keys = corun_problem_data(problem, "keys", CORUN_ELEMENT_U32, count);
    const uint32_t *values = corun_problem_data(problem, "values", CORUN_ELEMENT_U32, count);
    uint32_t *sorted_keys = corun_problem_data(problem, "sorted_keys", CORUN_ELEMENT_U32, count);
    uint32_t *sorted_values = corun_problem_data(problem, "sorted_values", CORUN_ELEMENT_U32, count);
    uint32_t *other_keys = malloc(count * sizeof *other_keys);
    uint32_t *other_values = malloc(count * sizeof *other_values);
    bool complete = keys && values && sorted_keys && sorted_values && other_keys && other_values;
    if (complete) {
        sort_by_byte(keys, values, other_keys, other_values, count, 0);
        sort_by_byte(other_keys, other_values, sorted_keys, sorted_values, count, 8);
        sort_by_byte(sorted_keys, sorted_values, other_keys, other_values, count, 16);
        sort_by_byte(other_keys, other_values, sorted_keys, sorted_values, count, 24);
    }
    free(other_keys);
    free(other_values);
    return complete;
}

const struct corun_reference corun_reference_merge_sort = {
    .name = "merge-sort",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"keys", generate}, {0}},
};
