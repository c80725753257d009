/* SPDX-License-Identifier: MIT */
/*
 * Micro-benchmarks: small PTX kernels whose answer follows from the configuration of the GPU.
 *
 * A row names what is measured, how, and which value the configuration implies. A kernel is written for the GPU that we
 * believe to have (`design`: footprints, strides, numbers of warps) and runs on one (`machine`); the two differ only
 * where a unit has been switched off to see that the row notices.
 */
#ifndef CORUN_TESTS_MICROBENCHMARKS_HARNESS_H
#define CORUN_TESTS_MICROBENCHMARKS_HARNESS_H

#include "corun/gpu.h"
#include "corun/memory.h"
#include "corun/module.h"

#include <math.h>
#include <stdio.h>

#define STAMPS 4096u /* results that a kernel can leave in its variable `stamps` */

struct bench {
    const struct corun_gpu_config *design, *machine;
    uint32_t k; /* the row's parameter */
};

/* A second, independent way to the same number (the kernel's own %clock, a counter); NAN if there is none. */
struct reading {
    double value, other;
};

struct row {
    const char *name;
    const char *unit;
    struct reading (*measure)(const struct bench *bench, const struct row *row);
    double (*implied)(const struct bench *bench, const struct row *row);
    const char *isolate;                              /* overrides that keep other units out of the picture */
    const char *off;                                  /* overrides that switch the unit off or make it free */
    bool (*applies)(const struct corun_gpu_config *); /* NULL: to every GPU */
    void (*prepare)(struct corun_gpu_config *,
                    uint32_t); /* what the parameter changes in the configuration; may be NULL */
    double tolerance;          /* 0: 5 % */
    const struct operation_class *operation;
    const uint32_t *parameters; /* values of k, ended by 0; NULL: 0 alone */
};

/* A class of operations: PTX text of one instruction, `#` stands for the number of a register. */
struct operation_class {
    const char *text;
    enum corun_unit unit;
    size_t latency, interval; /* offsets in struct corun_gpu_config */
};

extern const struct row latency_rows[], throughput_rows[], bandwidth_rows[], memory_rows[], contention_rows[],
    cache_rows[], barrier_rows[], warpgroup_rows[], occupancy_rows[], order_rows[];

/* ---- configuration ---- */

uint32_t config_at(const struct corun_gpu_config *config, size_t offset);
uint32_t units_of(const struct corun_gpu_config *config, enum corun_unit unit);
bool has_l1(const struct corun_gpu_config *config);
bool has_l2(const struct corun_gpu_config *config);
/* Core cycles per cycle of another clock. */
double core_per(const struct corun_gpu_config *config, uint32_t khz);
/* Flits of a packet with that payload. */
uint32_t flits_of(const struct corun_gpu_config *config, uint32_t payload_bytes);
/* Core cycles from a read request leaving an SM over a crossbar until its last data is back; the L2, if any, has it. */
double round_trip(const struct corun_gpu_config *config, uint32_t bytes);
/* What a load or an atomic that is not answered in the SM spends in it: the L1's own latency, whether it is looked up there or not. */
uint32_t l1_way(const struct corun_gpu_config *config);

/* ---- kernels ---- */

struct text {
    FILE *stream;
    char *data;
    size_t bytes;
};
/* Begins entry `k` with a parameter `buffer` in %rd0, 40 registers %r, %rd, %f, %fd each, predicates %p. */
void text_begin(struct text *text, const char *variables);
/* The same with .maxnreg: the entry takes so many registers per thread; 0: as many as it needs. */
void text_begin_with_registers(struct text *text, const char *variables, uint32_t registers);
void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds the line `count` times; `#` becomes first, first + 1, …, first + registers - 1 in turn. */
void text_repeat(struct text *text, uint32_t count, const char *line, uint32_t first, uint32_t registers);
/* Reads %r<first> … so that none of them is without use, and stores the sum where nobody looks. */
void text_use(struct text *text, uint32_t first, uint32_t registers);
void text_loop_begin(struct text *text, uint32_t turns); /* uses %r39 and %p7 */
void text_loop_end(struct text *text);
void text_end(struct text *text); /* `data` is to be freed with text_free */
void text_free(struct text *text);

struct run {
    const char *text;
    uint32_t tbs, threads;
    uint64_t buffer_bytes;
    /* Fills the buffer: `host` is its memory, `address` where the kernel sees it. May be NULL. */
    void (*fill)(void *user, const struct bench *bench, uint64_t address, uint8_t *host);
    /* The same for the module's variable `table`. */
    void (*fill_table)(void *user, const struct bench *bench, uint64_t address, uint8_t *host);
    void (*trace)(void *user, const struct corun_trace_event *event);
    void *user;
    /* results */
    uint64_t cycles;
    struct corun_counters counters;
    struct corun_sm_result sm;
    uint64_t stamps[STAMPS];
};
void run_kernel(const struct bench *bench, struct run *run);

#endif
