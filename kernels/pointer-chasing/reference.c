/* SPDX-License-Identifier: MIT */
/*
 * Pointer chasing without chasing: one walk around the cycle tells the place of every element in it and the sum of the
 * payloads before that place; where a thread ends is so many places on.
 */
#include "corun/workload.h"

#include <stdlib.h>

struct chase {
    uint64_t elements, threads, hops;
    uint32_t *links; /* pairs: next, payload */
    uint32_t *starts, *ends, *sums;
};

static bool chase_of(const struct corun_problem *problem, struct chase *chase)
{
    int64_t elements = corun_problem_value(problem, "elements");
    int64_t threads = corun_problem_value(problem, "threads");
    int64_t hops = corun_problem_value(problem, "hops");
    if (elements <= 0 || elements > INT32_MAX || threads <= 0 || hops < 0)
        return false;
    chase->elements = (uint64_t)elements;
    chase->threads = (uint64_t)threads;
    chase->hops = (uint64_t)hops;
    chase->links = corun_problem_data(problem, "elements", CORUN_ELEMENT_U32, 2 * chase->elements);
    chase->starts = corun_problem_data(problem, "starts", CORUN_ELEMENT_U32, chase->threads);
    chase->ends = corun_problem_data(problem, "ends", CORUN_ELEMENT_U32, chase->threads);
    chase->sums = corun_problem_data(problem, "sums", CORUN_ELEMENT_U32, chase->threads);
    return chase->links && chase->starts && chase->ends && chase->sums;
}

/* A random permutation of one cycle: Sattolo's variant of the shuffle never leaves an element where it is. */
static bool generate(const struct corun_problem *problem)
{
    struct chase chase;
    if (!chase_of(problem, &chase))
        return false;
    uint64_t state = problem->seed ^ UINT64_C(0x6368617365000000);
    for (uint64_t i = 0; i < chase.elements; i++) {
        chase.links[2 * i] = (uint32_t)i;
        chase.links[2 * i + 1] = (uint32_t)(corun_random(&state) >> 32);
    }
    for (uint64_t i = chase.elements - 1; i > 0; i--) {
        uint64_t other = corun_random(&state) % i;
        uint32_t link = chase.links[2 * i];
        chase.links[2 * i] = chase.links[2 * other];
        chase.links[2 * other] = link;
    }
    return true;
}

/* The elements in the order of the cycle, the place of each, the sum of the payloads before each place and the end. */
static void walk(const struct chase *chase, uint32_t *order, uint32_t *places, uint32_t *before)
{
    uint32_t element = 0;
    uint32_t sum = 0;
    for (uint64_t place = 0; place < chase->elements; place++) {
        order[place] = element;
        places[element] = (uint32_t)place;
        before[place] = sum;
        sum += chase->links[2 * (uint64_t)element + 1];
        element = chase->links[2 * (uint64_t)element];
    }
    before[chase->elements] = sum;
}

static bool compute(const struct corun_problem *problem)
{
    struct chase chase;
    if (!chase_of(problem, &chase))
        return false;
    uint32_t *order = calloc(3 * chase.elements + 1, sizeof *order);
    if (!order)
        return false;
    uint32_t *places = order + chase.elements;
    uint32_t *before = places + chase.elements;
    walk(&chase, order, places, before);
    uint32_t turn = before[chase.elements];
    for (uint64_t i = 0; i < chase.threads; i++) {
        uint64_t first = places[chase.starts[i]];
        uint64_t last = first + chase.hops;
        uint64_t place = last % chase.elements;
        chase.ends[i] = order[place];
        chase.sums[i] = before[place] + (uint32_t)(last / chase.elements) * turn - before[first];
    }
    free(order);
    return true;
}

const struct corun_reference corun_reference_pointer_chasing = {
    .name = "pointer-chasing",
    .compute = compute,
    .generators = (const struct corun_generator[]){{"cycle", generate}, {0}},
};
