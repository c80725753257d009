/* SPDX-License-Identifier: MIT */
/*
 * What the programs of this folder share: the command line, inputs from a seed, the check of every result, the report. A program fills in a
 * `struct program` and its main calls program_main.
 */
#ifndef EXAMPLES_HOST_PROGRAM_H
#define EXAMPLES_HOST_PROGRAM_H

#include "tasks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct program {
    const char *name, *what;    /* what it computes, in a line */
    const char *size_of;        /* what --size counts */
    bool batch;                 /* a run of a batch program in place of a query of a service */
    uint32_t size, least, most; /* the mean query, and the range that --size may have */
    /*
     * What stays from query to query (a model, a dictionary), made from the seed; room for queries of up to `size`. Memory comes from
     * program_allocate, which ends the program where there is none.
     */
    void *(*create)(uint32_t size, uint64_t seed);
    /* The input of one query. The same size and seed make the same input. */
    void (*prepare)(void *state, uint32_t size, uint64_t seed);
    /* Answers it. This alone is measured. */
    void (*run)(void *state, struct tasks *tasks);
    /* NULL, or what is wrong with the answer, by other means than `run` has. */
    const char *(*check)(const void *state);
    /* A fingerprint of the answer (program_fingerprint), the same for any number of threads. */
    uint64_t (*fingerprint)(const void *state);
    void (*destroy)(void *state);
};

/* What --serve asks for. */
struct program_serving {
    const char *agent;      /* the socket of an agent; NULL: that of the environment */
    uint32_t queries;       /* that come, or runs of a batch program; 0: without an end */
    uint32_t workers;       /* queries that are answered at a time, each by threads of its own */
    uint32_t threads;       /* of a query */
    uint32_t size, largest; /* mean and largest size; of a batch program, all have the mean */
    double gap_ms; /* mean time between two queries; 0: the next one comes when the last one has been answered */
    uint64_t seed;
};

/*
 * Queries come at random times, with random sizes: exponential ones, drawn again above the largest. An agent hears of them, and says when each may
 * start (corun/service.h, docs/host-linux.md); a batch program tells it how much it has done. Prints times at the end. The status of the process.
 */
int program_serve(const struct program *program, const struct program_serving *serving);

/* Status of the process: 0 (PASSED), 2 (wrong command line), 3 (WRONG: what is printed). */
int program_main(const struct program *program, int count, char **words);

/* Zeroed, aligned to a page. */
void *program_allocate(size_t count, size_t bytes);
/* Continues from `hash`; 0 begins. */
uint64_t program_fingerprint(uint64_t hash, const void *bytes, size_t count);

/* The number `index` of the fixed sequence of random numbers of a seed (splitmix64). */
static inline uint64_t program_random(uint64_t seed, uint64_t index)
{
    uint64_t z = seed * 0xd1342543de82ef95u + (index + 1) * 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* The same, even in [0, 1). */
static inline float program_random_float(uint64_t seed, uint64_t index)
{
    return (float)(program_random(seed, index) >> 40) * 0x1p-24f;
}

/* The same, near a normal number: the sum of four even ones, with mean 0 and variance 1. */
static inline float program_random_normal(uint64_t seed, uint64_t index)
{
    uint64_t z = program_random(seed, index);
    float sum = (float)(z & 0xffff) + (float)(z >> 16 & 0xffff) + (float)(z >> 32 & 0xffff) + (float)(z >> 48);
    return (sum * 0x1p-16f - 2) * 1.7320508f;
}

/* Of `count` pieces in `parts` parts as equal as can be, where part `part` begins. */
static inline uint32_t program_part(uint32_t count, uint32_t parts, uint32_t part)
{
    return (uint32_t)((uint64_t)count * part / parts);
}

#endif
