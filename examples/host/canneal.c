/* SPDX-License-Identifier: MIT */
/*
 * canneal: places the elements of a netlist on a chip so that wires are short, by simulated annealing (Banerjee, Jones, Sargent: Parallel
 * Simulated Annealing Algorithms for Cell Placement on Hypercube Multiprocessors, TPDS 1990). Stands for canneal of PARSEC.
 *
 * Data: a netlist of a million elements, 64 MB, read at random: an element, which is a line, and those at the other ends of its eight wires, for
 * where they are. No cache keeps much of it, and there are hardly two reads of one line. At each temperature, pairs of elements are drawn so that no element is in two; each pair weighs
 * whether to change places by where all others were before (a phase), then those that want to do (another); 1024 pairs are a task.
 */
#include "program.h"

#include <math.h>
#include <stdlib.h>

enum { BITS = 20, ELEMENTS = 1 << BITS, WIRES = 8, TASK_PAIRS = 1024, TASKS = 32, SIDE = 1 << BITS / 2 };

struct element {
    uint32_t wires[WIRES]; /* other elements */
    uint32_t place;        /* y * SIDE + x */
    char name[28];         /* as an element of a real netlist has: it fills a line */
};

struct netlist {
    struct element *elements; /* [ELEMENTS] */
    uint8_t *changes;         /* [TASKS * TASK_PAIRS] */
    uint32_t temperatures, now;
    float heat;
    uint64_t seed;
    uint64_t first_length;
};

static void *create(uint32_t size, uint64_t seed)
{
    (void)size;
    (void)seed;
    struct netlist *netlist = program_allocate(1, sizeof *netlist);
    netlist->elements = program_allocate(ELEMENTS, sizeof *netlist->elements);
    netlist->changes = program_allocate((size_t)TASKS * TASK_PAIRS, 1);
    return netlist;
}

/* A permutation of the numbers of BITS bits: four rounds of a Feistel network. */
static uint32_t permute(uint32_t number, uint64_t seed)
{
    uint32_t mask = (1u << BITS / 2) - 1, left = number >> BITS / 2, right = number & mask;
    for (uint32_t round = 0; round < 4; round++) {
        uint32_t mixed = left ^ ((uint32_t)(program_random(seed, 4ull * right + round) >> 32) & mask);
        left = right;
        right = mixed;
    }
    return left << BITS / 2 | right;
}

static uint32_t apart(uint32_t a, uint32_t b)
{
    int32_t x = (int32_t)(a % SIDE) - (int32_t)(b % SIDE), y = (int32_t)(a / SIDE) - (int32_t)(b / SIDE);
    return (uint32_t)(abs(x) + abs(y));
}

static uint64_t length_of(const struct netlist *netlist)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < (size_t)ELEMENTS * WIRES; i++)
        sum += apart(netlist->elements[i / WIRES].place,
                     netlist->elements[netlist->elements[i / WIRES].wires[i % WIRES]].place);
    return sum;
}

/* Each element has a home; most wires go to homes nearby, and all begin somewhere else. */
static void prepare(void *state, uint32_t size, uint64_t seed)
{
    struct netlist *netlist = state;
    netlist->temperatures = size;
    netlist->seed = seed;
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        for (uint32_t w = 0; w < WIRES; w++) {
            uint64_t random = program_random(seed, (uint64_t)i * WIRES + w);
            uint32_t x = (i % SIDE + (random & 63) - 32) % SIDE, y = (i / SIDE + (random >> 8 & 63) - 32) % SIDE;
            netlist->elements[i].wires[w] = random >> 16 & 7 ? y * SIDE + x : (uint32_t)(random >> 32) % ELEMENTS;
        }
        netlist->elements[i].place = permute(i, seed + 1);
    }
    netlist->first_length = length_of(netlist);
}

static int64_t saved(const struct netlist *netlist, uint32_t element, uint32_t other)
{
    int64_t sum = 0;
    for (uint32_t w = 0; w < WIRES; w++) {
        uint32_t end = netlist->elements[netlist->elements[element].wires[w]].place;
        sum +=
            (int64_t)apart(netlist->elements[element].place, end) - (int64_t)apart(netlist->elements[other].place, end);
    }
    return sum;
}

static void pair(const struct netlist *netlist, uint32_t number, uint32_t *one, uint32_t *other)
{
    *one = permute(2 * number, netlist->seed + 2 + netlist->now);
    *other = permute(2 * number + 1, netlist->seed + 2 + netlist->now);
}

static void weigh(void *user, uint32_t task)
{
    struct netlist *netlist = user;
    for (uint32_t i = task * TASK_PAIRS; i < (task + 1) * TASK_PAIRS; i++) {
        uint32_t one, other;
        pair(netlist, i, &one, &other);
        int64_t better = saved(netlist, one, other) + saved(netlist, other, one);
        float chance = program_random_float(netlist->seed + 3 + netlist->now, i);
        netlist->changes[i] = better > 0 || chance < expf((float)better / netlist->heat);
    }
}

static void change(void *user, uint32_t task)
{
    struct netlist *netlist = user;
    for (uint32_t i = task * TASK_PAIRS; i < (task + 1) * TASK_PAIRS; i++) {
        uint32_t one, other;
        if (!netlist->changes[i])
            continue;
        pair(netlist, i, &one, &other);
        uint32_t place = netlist->elements[one].place;
        netlist->elements[one].place = netlist->elements[other].place;
        netlist->elements[other].place = place;
    }
}

static void run(void *state, struct tasks *tasks)
{
    struct netlist *netlist = state;
    netlist->heat = 2000;
    tasks_span(tasks, 0, 1, 2 * netlist->temperatures);
    for (netlist->now = 0; netlist->now < netlist->temperatures; netlist->now++, netlist->heat *= 0.8f) {
        tasks_phase(tasks, "weigh", weigh, netlist, TASKS);
        tasks_phase(tasks, "change", change, netlist, TASKS);
    }
}

/* Every place has one element, and wires are shorter than they were. */
static const char *check(const void *state)
{
    const struct netlist *netlist = state;
    uint8_t *taken = program_allocate(ELEMENTS, 1);
    const char *problem = NULL;
    for (uint32_t i = 0; i < ELEMENTS && !problem; i++) {
        uint32_t place = netlist->elements[i].place;
        problem = place >= ELEMENTS || taken[place] ? "two elements are in one place" : NULL;
        taken[place % ELEMENTS] = 1;
    }
    free(taken);
    if (!problem && !(length_of(netlist) < netlist->first_length))
        problem = "wires are not shorter than before";
    return problem;
}

static uint64_t fingerprint(const void *state)
{
    const struct netlist *netlist = state;
    return program_fingerprint(0, netlist->elements, ELEMENTS * sizeof *netlist->elements);
}

static void destroy(void *state)
{
    struct netlist *netlist = state;
    free(netlist->elements);
    free(netlist->changes);
    free(netlist);
}

int main(int count, char **words)
{
    const struct program program = {.name = "canneal",
                                    .what = "places for the elements of a netlist",
                                    .size_of = "temperatures",
                                    .batch = true,
                                    .size = 20,
                                    .least = 1,
                                    .most = 1000,
                                    .create = create,
                                    .prepare = prepare,
                                    .run = run,
                                    .check = check,
                                    .fingerprint = fingerprint,
                                    .destroy = destroy};
    return program_main(&program, count, words);
}
