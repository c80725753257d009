/* SPDX-License-Identifier: MIT */
/*
 * Measurements: one launch, or several, from an idle GPU to their end; and the steady state of one kernel or two in slices, launch after launch
 * without end.
 */
#include "serve/measurement.h"

#include "case/baseline.h"
#include "serve/simulated.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Raised when measurements may give other results. */
#define MEASUREMENT_VERSION 1u
/*
 * A steady state is measured from when each strand has completed what it has in flight once, for at least so many times that and so many
 * cycles. Neither takes more cycles than the measurement says: instructions tell a speed before thread blocks end.
 */
#define STEADY_ROUNDS 6u
#define STEADY_LEAST_CYCLES 100000u
#define SPEED_SCALE 1024u

/* ---- what is known of it without running it ---- */

static const char *const kind_texts[] = {
#define MEASUREMENT_TEXT(name, text) [MEASUREMENT_##name] = text,
    MEASUREMENTS(MEASUREMENT_TEXT)
#undef MEASUREMENT_TEXT
};

struct measurement measurement_of(enum measurement_kind kind, const uint32_t *kernels, uint32_t count)
{
    struct measurement measurement = {.kind = kind};
    for (uint32_t i = 0; i < MEASURED_LAUNCHES; i++)
        measurement.kernels[i] = i < count ? kernels[i] : CORUN_QUEUE_NONE;
    return measurement;
}

const char *measurement_words(const struct steady_request *request, const struct measurement *measurement, char *text,
                              size_t bytes)
{
    int length = snprintf(text, bytes, "%s:", kind_texts[measurement->kind]);
    for (uint32_t i = 0; i < MEASURED_LAUNCHES && measurement->kernels[i] != CORUN_QUEUE_NONE; i++) {
        const char *name = request->kernels[measurement->kernels[i]].name;
        size_t left = (size_t)length < bytes ? bytes - (size_t)length : 0;
        if (measurement->kind != MEASUREMENT_SEQUENCE && measurement->slice_tbs[i])
            length += snprintf(text + bytes - left, left, "%s %.40s (slices of %u, %u in flight)", i ? " and" : "",
                               name, measurement->slice_tbs[i], measurement->in_flight_tbs[i]);
        else
            length += snprintf(text + bytes - left, left, "%s %.40s", i ? "," : "", name);
    }
    return text;
}

enum corun_status measurement_key(const struct steady_request *request, const struct measurement *measurement,
                                  struct content_key *key)
{
    struct content_digest *digest = content_digest_create();
    enum corun_status status = CORUN_OK;
    if (!digest)
        return CORUN_MEMORY;
    content_digest_add(digest, "kind", kind_texts[measurement->kind], strlen(kind_texts[measurement->kind]));
    content_digest_add_number(digest, "measurement version", MEASUREMENT_VERSION);
    baseline_digest_kernels_gpu(digest, request->gpu);
    if (measurement->kind == MEASUREMENT_SPEEDS) {
        content_digest_add_number(digest, "rounds", STEADY_ROUNDS);
        content_digest_add_number(digest, "least cycles", STEADY_LEAST_CYCLES);
        content_digest_add_number(digest, "most cycles", measurement->most_cycles);
    }
    for (uint32_t i = 0; i < MEASURED_LAUNCHES && status == CORUN_OK && measurement->kernels[i] != CORUN_QUEUE_NONE;
         i++) {
        const struct served_kernel *kernel = &request->kernels[measurement->kernels[i]];
        status = baseline_digest_workload(digest, kernel->workload, request->seed);
        content_digest_add_number(digest, "launch", kernel->launch);
        content_digest_add_number(digest, "slice", i < 2 ? measurement->slice_tbs[i] : 0);
        content_digest_add_number(digest, "in flight", i < 2 ? measurement->in_flight_tbs[i] : 0);
    }
    *key = content_digest_end(digest);
    return status;
}

#define OUTCOME_FIELDS(F) F(speeds.tbs[0]) F(speeds.tbs[1]) F(speeds.ticks) F(ticks) F(warp_instructions)

static bool read_number(const json_t *values, const char *name, uint64_t *number)
{
    const json_t *value = json_object_get(values, name);
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    *number = (uint64_t)json_integer_value(value);
    return true;
}

bool measurement_load(const struct steady_request *request, const struct content_key *key,
                      const struct measurement *measurement, struct corun_diagnostics *list, struct outcome *outcome)
{
    json_t *values = request->cache_directory ? cache_load(request->cache_directory, key, list) : NULL;
    size_t count;
    const struct corun_counter_row *rows = corun_counter_rows(&count);
    bool good = values != NULL;
#define READ(field) good = good && read_number(values, #field, &outcome->field);
    OUTCOME_FIELDS(READ)
#undef READ
    for (size_t i = 0; good && measurement->kind == MEASUREMENT_ALONE && i < count; i++)
        good = read_number(values, rows[i].name, (uint64_t *)((char *)&outcome->counters + rows[i].offset));
    json_decref(values);
    return good;
}

void measurement_store(const struct steady_request *request, const struct content_key *key,
                       const struct measurement *measurement, const struct outcome *outcome,
                       struct corun_diagnostics *list)
{
    json_t *values = request->cache_directory ? json_object() : NULL;
    size_t count;
    const struct corun_counter_row *rows = corun_counter_rows(&count);
    char about[256];
    if (!values)
        return;
    bool good = true;
#define WRITE(field) good = good && !json_object_set_new(values, #field, json_integer((json_int_t)outcome->field));
    OUTCOME_FIELDS(WRITE)
#undef WRITE
    for (size_t i = 0; good && measurement->kind == MEASUREMENT_ALONE && i < count; i++) {
        uint64_t value = *(const uint64_t *)((const char *)&outcome->counters + rows[i].offset);
        good = !json_object_set_new(values, rows[i].name, json_integer((json_int_t)value));
    }
    if (good)
        cache_store(request->cache_directory, key, measurement_words(request, measurement, about, sizeof about), values,
                    list);
    json_decref(values);
}

/* ---- running it ---- */

/* Launches of a kernel in slices, one launch after the other. */
struct strand {
    uint32_t kernel;                        /* index of its grid in the stage */
    uint32_t tbs, slice_tbs, in_flight_tbs; /* slice_tbs 0: whole */
    uint32_t next, launch;                  /* thread block, and number of the launch that has it */
    uint32_t most_launches;                 /* 0: no end */
    uint32_t in_flight;                     /* thread blocks of that launch */
    uint64_t completed;
};

struct stage {
    const struct steady_request *request;
    uint64_t most_cycles;
    uint32_t count; /* strands */
    struct strand strands[MEASURED_LAUNCHES];
    uint32_t opened; /* instances */
    struct corun_instance *instances[MEASURED_LAUNCHES];
    const struct corun_grid *grids[MEASURED_LAUNCHES];
    struct simulated *machine;
    struct queue_machine operations;
    uint64_t now;
};

static void stage_close(struct stage *stage)
{
    simulated_destroy(stage->machine);
    for (uint32_t i = 0; i < stage->opened; i++)
        corun_instance_destroy(stage->instances[i]);
}

/* The index of the kernel's grid. Launches of a sequence that are of one kernel have one; two strands of slices are told apart by theirs. */
static enum corun_status open_kernel(struct stage *stage, const struct measurement *measurement, uint32_t strand,
                                     struct corun_diagnostics *list, uint32_t *index)
{
    for (uint32_t i = 0; i < strand && measurement->kind == MEASUREMENT_SEQUENCE; i++) {
        if (measurement->kernels[i] != measurement->kernels[strand])
            continue;
        *index = stage->strands[i].kernel;
        return CORUN_OK;
    }
    *index = stage->opened;
    enum corun_status status =
        served_kernel_open(&stage->request->kernels[measurement->kernels[strand]], stage->opened, stage->request->seed,
                           list, &stage->instances[stage->opened], &stage->grids[stage->opened]);
    stage->opened += status == CORUN_OK;
    return status;
}

static enum corun_status stage_open(struct stage *stage, const struct steady_request *request,
                                    const struct measurement *measurement, struct corun_diagnostics *list)
{
    enum corun_status status = CORUN_OK;
    *stage = (struct stage){.request = request, .most_cycles = measurement->most_cycles};
    for (uint32_t i = 0; i < MEASURED_LAUNCHES && measurement->kernels[i] != CORUN_QUEUE_NONE && status == CORUN_OK;
         i++) {
        struct strand *strand = &stage->strands[i];
        *strand = (struct strand){.tbs = request->kernels[measurement->kernels[i]].tbs,
                                  .slice_tbs = i < 2 ? measurement->slice_tbs[i] : 0,
                                  .in_flight_tbs = i < 2 ? measurement->in_flight_tbs[i] : 0,
                                  .most_launches = measurement->kind != MEASUREMENT_SPEEDS};
        status = open_kernel(stage, measurement, i, list, &strand->kernel);
        stage->count++;
    }
    if (status == CORUN_OK)
        status = simulated_create(request->gpu, stage->grids, list, &stage->machine);
    if (status == CORUN_OK)
        stage->operations = simulated_operations(stage->machine);
    else
        stage_close(stage);
    return status;
}

/* Hands out what may be in flight; as queue_next does with a plan of these strands. */
static enum corun_status fill_strand(struct stage *stage, uint32_t number)
{
    struct strand *strand = &stage->strands[number];
    for (;;) {
        if (strand->next == strand->tbs) {
            if (strand->most_launches && strand->launch + 1 == strand->most_launches)
                return CORUN_OK;
            /* Two streams take turns: a third launch would wait there. Small ones would be handed out for ever. */
            if (strand->completed < (uint64_t)strand->launch * strand->tbs)
                return CORUN_OK;
            strand->launch++;
            strand->next = strand->in_flight = 0;
        }
        uint32_t left = strand->tbs - strand->next;
        uint32_t tbs = strand->slice_tbs && strand->slice_tbs < left ? strand->slice_tbs : left;
        if (strand->in_flight_tbs && strand->in_flight && strand->in_flight + tbs > strand->in_flight_tbs)
            return CORUN_OK;
        struct queue_slice slice = {.launch = strand->launch,
                                    .kind = strand->kernel,
                                    .strand = 2 * number + strand->launch % 2,
                                    .first = strand->next,
                                    .tbs = tbs};
        strand->next += tbs;
        strand->in_flight += tbs;
        enum corun_status status = stage->operations.launch(stage->operations.user, stage->now, &slice);
        if (status != CORUN_OK)
            return status;
    }
}

/* Advances to the next end of a slice; *any is false when nothing is in flight. */
static enum corun_status advance(struct stage *stage, bool *any)
{
    struct queue_slice ended;
    enum corun_status status = CORUN_OK;
    for (uint32_t i = 0; i < stage->count && status == CORUN_OK; i++)
        status = fill_strand(stage, i);
    bool busy = false;
    for (uint32_t i = 0; i < stage->count; i++)
        busy |= stage->strands[i].completed <
                (uint64_t)stage->strands[i].launch * stage->strands[i].tbs + stage->strands[i].next;
    *any = false;
    if (status != CORUN_OK || !busy)
        return status;
    status = stage->operations.wait(stage->operations.user, UINT64_MAX, &stage->now, &ended, any);
    if (status != CORUN_OK || !*any)
        return status;
    struct strand *strand = &stage->strands[ended.strand / 2];
    strand->completed += ended.tbs;
    if (ended.launch == strand->launch)
        strand->in_flight -= ended.tbs;
    return CORUN_OK;
}

static enum corun_status run_to_end(struct stage *stage)
{
    enum corun_status status;
    bool any;
    do
        status = advance(stage, &any);
    while (status == CORUN_OK && any);
    return status;
}

/* Advances until each strand has completed so many more times what it has in flight. */
static enum corun_status run_rounds(struct stage *stage, uint32_t rounds, uint64_t least_cycles)
{
    uint64_t until[2] = {0}, start = stage->now;
    enum corun_status status = CORUN_OK;
    bool any = true, done = false;
    for (uint32_t i = 0; i < stage->count; i++) {
        const struct strand *strand = &stage->strands[i];
        uint32_t round = strand->in_flight_tbs ? strand->in_flight_tbs : strand->tbs;
        until[i] = strand->completed + (uint64_t)rounds * round;
    }
    while (status == CORUN_OK && any && !done && stage->now - start < stage->most_cycles) {
        status = advance(stage, &any);
        done = stage->now - start >= least_cycles;
        for (uint32_t i = 0; i < stage->count; i++)
            done = done && stage->strands[i].completed >= until[i];
    }
    return status;
}

static void take_instructions(const struct stage *stage, uint64_t instructions[2], uint64_t *cycle)
{
    for (uint32_t i = 0; i < stage->count; i++) {
        struct corun_counters counters;
        uint64_t cycles;
        simulated_counters(stage->machine, stage->strands[i].kernel, &counters, &cycles);
        instructions[i] = counters.warp_instructions;
    }
    *cycle = corun_gpu_cycles(simulated_gpu(stage->machine));
}

/* Instructions in the window over instructions of a thread block: finer than thread blocks, which end in waves. */
static enum corun_status run_steady(struct stage *stage, const uint64_t warp_instructions[2], struct outcome *outcome)
{
    uint64_t before[2] = {0}, after[2] = {0}, start, end;
    enum corun_status status = run_rounds(stage, 1, 0);
    if (status != CORUN_OK)
        return status;
    take_instructions(stage, before, &start);
    status = run_rounds(stage, STEADY_ROUNDS, STEADY_LEAST_CYCLES);
    if (status != CORUN_OK)
        return status;
    take_instructions(stage, after, &end);
    outcome->speeds.ticks = (end - start) * SPEED_SCALE;
    for (uint32_t i = 0; i < stage->count; i++) {
        unsigned __int128 tbs = (unsigned __int128)(after[i] - before[i]) * stage->strands[i].tbs * SPEED_SCALE;
        outcome->speeds.tbs[i] =
            (uint64_t)((tbs + warp_instructions[i] / 2) / (warp_instructions[i] ? warp_instructions[i] : 1));
    }
    return CORUN_OK;
}

enum corun_status measurement_run(const struct steady_request *request, const struct measurement *measurement,
                                  const uint64_t warp_instructions[2], struct corun_diagnostics *list,
                                  struct outcome *outcome)
{
    struct stage stage;
    *outcome = (struct outcome){.ticks = 0};
    enum corun_status status = stage_open(&stage, request, measurement, list);
    if (status != CORUN_OK)
        return status;
    if (measurement->kind == MEASUREMENT_SPEEDS) {
        status = run_steady(&stage, warp_instructions, outcome);
    } else {
        uint64_t cycles;
        status = run_to_end(&stage);
        outcome->ticks = stage.now;
        simulated_counters(stage.machine, 0, &outcome->counters, &cycles);
        outcome->warp_instructions = outcome->counters.warp_instructions;
    }
    stage_close(&stage);
    return status;
}
