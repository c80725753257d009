/* SPDX-License-Identifier: MIT */
/*
 * Outputs of kernels in slices against outputs of the same kernels whole: bench_slice_outputs DRIVER WORKLOAD[@SIZE]…
 * Every workload runs through a CUDA driver, corun's own (BUILD/cuda/libcuda.so.1) or NVIDIA's (libcuda.so.1): whole, whole once more, then every launch in slices of 1,
 * of a prime in random order, of a half, and of a third with an uneven rest. Prints a row for each: device, workload, launches, launches that cannot be sliced, thread
 * blocks of all launches, cutting, slices, bytes of the outputs, bytes that differ from the first run. Ends with 1 where a workload could not
 * run or a run in slices differs although two whole runs agree.
 */
#include "runtime/runtime.h"
#include "workload/commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cutting {
    const char *name;
    uint32_t parts;  /* of a launch, 0: `blocks` */
    uint64_t blocks; /* of a slice */
    uint64_t seed;   /* 0: in order */
};

struct trial {
    const char *name;
    struct corun_diagnostics *list;
    struct runtime *runtime;
    struct workload_commands *commands;
    uint32_t workload;
    uint8_t *first_outputs; /* of the first run, buffer behind buffer */
    uint64_t output_bytes, slices;
};

static const struct cutting cuttings[] = {{"whole", 1, 0, 0},       {"whole again", 1, 0, 0},  {"1", 0, 1, 0},
                                          {"7 shuffled", 0, 7, 17}, {"31 shuffled", 0, 31, 5}, {"half", 2, 0, 0},
                                          {"third", 3, 0, 0}};

static uint64_t slice_of(const struct cutting *cutting, const struct runtime_launch *about)
{
    uint64_t size = cutting->parts ? about->tbs / cutting->parts + (cutting->parts > 1) : cutting->blocks;
    return about->refusal || size > about->tbs || !size ? about->tbs : size;
}

static enum corun_status give(struct trial *trial, const struct cutting *cutting, const struct runtime_event *ready)
{
    struct runtime_launch about;
    uint64_t seed = cutting->seed;
    runtime_launch_at(trial->runtime, trial->workload, ready->launch, &about);
    uint64_t size = slice_of(cutting, &about), count = size ? (about.tbs + size - 1) / size : 0;
    uint64_t *order = malloc(count * sizeof *order);
    enum corun_status status = order ? CORUN_OK : CORUN_MEMORY;
    for (uint64_t i = 0; i < count && order; i++)
        order[i] = i;
    for (uint64_t i = count; seed && order && i-- > 1;) {
        uint64_t other = corun_random(&seed) % (i + 1), mine = order[i];
        order[i] = order[other];
        order[other] = mine;
    }
    for (uint64_t i = 0; i < count && status == CORUN_OK; i++) {
        uint64_t first = order[i] * size, left = about.tbs - first;
        status = runtime_slice(trial->runtime, ready->job, first, left < size ? left : size,
                               (uint32_t)(i % RUNTIME_MOST_STREAMS));
    }
    trial->slices += count;
    free(order);
    return status == CORUN_FAULT ? CORUN_OK : status; /* runtime_wait says so */
}

/* Bytes that differ from the first run; the first run's are kept. */
static uint64_t compare(struct trial *trial, uint32_t job, bool first)
{
    uint64_t different = 0;
    uint8_t *place = trial->first_outputs;
    for (size_t b = 0; b < trial->commands->buffer_count; b++) {
        const struct command_buffer *buffer = &trial->commands->buffers[b];
        if (!buffer->is_output || !buffer->bytes)
            continue;
        const uint8_t *result = runtime_result(trial->runtime, job, b);
        if (first)
            memcpy(place, result, buffer->bytes);
        for (uint64_t i = 0; i < buffer->bytes; i++)
            different += place[i] != result[i];
        place += buffer->bytes;
    }
    return different;
}

static enum corun_status run(struct trial *trial, const struct cutting *cutting, uint64_t *different)
{
    struct runtime_event event = {0};
    uint32_t job;
    trial->slices = 0;
    enum corun_status status = runtime_submit(trial->runtime, trial->workload, &job);
    while (status == CORUN_OK && event.kind != RUNTIME_ENDED && event.kind != RUNTIME_FAILED) {
        status = runtime_wait(trial->runtime, UINT64_MAX, trial->list, &event);
        if (status == CORUN_OK && event.kind == RUNTIME_READY)
            status = give(trial, cutting, &event);
    }
    if (status == CORUN_OK && event.kind == RUNTIME_FAILED)
        return corun_report(trial->list, CORUN_FAULT, CORUN_NOWHERE, "%s", event.failure);
    if (status == CORUN_OK) {
        *different = compare(trial, job, cutting == cuttings);
        runtime_release(trial->runtime, job);
    }
    return status;
}

static void print_row(const struct trial *trial, const struct cutting *cutting, uint64_t different)
{
    struct runtime_info info;
    struct runtime_launch about;
    uint64_t tbs = 0;
    uint32_t refused = 0, launches = runtime_launch_count(trial->runtime, trial->workload);
    runtime_describe(trial->runtime, &info);
    for (uint32_t i = 0; i < launches; i++) {
        runtime_launch_at(trial->runtime, trial->workload, i, &about);
        tbs += about.tbs;
        refused += about.refusal != NULL;
    }
    printf("\"%s\",\"%s\",%u,%u,%" PRIu64 ",%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n", info.device, trial->name,
           launches, refused, tbs, cutting->name, trial->slices, trial->output_bytes, different);
    fflush(stdout);
}

static enum corun_status load(struct trial *trial, const char *driver)
{
    char data[4096];
    struct corun_workload *workload = NULL;
    struct runtime_options options = {.library = driver};
    enum corun_status status = corun_data_directory(data, sizeof data, trial->list);
    if (status == CORUN_OK)
        status = corun_workload_load(trial->name, data, trial->list, &workload);
    if (status == CORUN_OK)
        status = workload_commands_create(workload, WORKLOAD_ALL_LAUNCHES, 1, 0, trial->list, &trial->commands);
    corun_workload_destroy(workload);
    if (status == CORUN_OK)
        status = runtime_open(&options, trial->list, &trial->runtime);
    if (status == CORUN_OK)
        status = runtime_add_workload(trial->runtime, trial->commands, trial->list, &trial->workload);
    for (size_t b = 0; status == CORUN_OK && b < trial->commands->buffer_count; b++)
        trial->output_bytes += trial->commands->buffers[b].is_output ? trial->commands->buffers[b].bytes : 0;
    if (status == CORUN_OK && !(trial->first_outputs = malloc(trial->output_bytes + 1)))
        status = CORUN_MEMORY;
    return status;
}

/* False: it could not run, or slices change what it leaves. */
static bool try(const char *driver, const char *name)
{
    struct trial trial = {.name = name, .list = corun_diagnostics_create()};
    bool good = true, agree = true;
    enum corun_status status = trial.list ? load(&trial, driver) : CORUN_MEMORY;
    for (size_t i = 0; i < sizeof cuttings / sizeof *cuttings && status == CORUN_OK; i++) {
        uint64_t different = 0;
        status = run(&trial, &cuttings[i], &different);
        if (status == CORUN_OK)
            print_row(&trial, &cuttings[i], different);
        if (i == 1)
            agree = !different;
        else
            good &= !agree || !different;
    }
    for (size_t i = 0; status != CORUN_OK && i < corun_diagnostics_count(trial.list); i++)
        fprintf(stderr, "bench_slice_outputs: %s: %s\n", name, corun_diagnostics_get(trial.list, i)->message);
    runtime_close(trial.runtime);
    workload_commands_destroy(trial.commands);
    corun_diagnostics_destroy(trial.list);
    free(trial.first_outputs);
    return good && status == CORUN_OK;
}

int main(int argc, char **argv)
{
    bool good = true;
    if (argc < 3) {
        fputs("bench_slice_outputs DRIVER WORKLOAD[@SIZE]...\n", stderr);
        return 2;
    }
    for (int i = 2; i < argc; i++)
        good &= try(argv[1], argv[i]);
    return !good;
}
