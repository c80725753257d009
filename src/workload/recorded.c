/* SPDX-License-Identifier: MIT */
/* Records of workloads: one run is recorded launch by launch; instances take their launches from it (docs/replay.md). */
#include "workload/recorded.h"

#include "isa/address.h"
#include "isa/replayable.h"
#include "record/record.h"
#include "workload/instance.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(REPLAY_ORDERED == RECORD_ORDERED, "both say what depends on an order");
_Static_assert(RECORD_KEY_BYTES == CORUN_RECORD_KEY_BYTES, "the public length of a key");

struct corun_record {
    struct record_file *file;
};

struct recorded {
    struct record_kernel **kernels;     /* [distinct] */
    const struct corun_grid **launches; /* [count]; NULL: not made yet */
    const uint32_t *grid_of;
    size_t distinct;
};

static struct record_grid_facts facts_of(const struct corun_grid *grid)
{
    return (struct record_grid_facts){.warp_local_bytes = replay_local_bytes(grid),
                                      .local_first = LOCAL_FIRST,
                                      .local_sm_shift = LOCAL_SM_SHIFT,
                                      .local_sms = LOCAL_SMS};
}

/* ---- recording ---- */

static enum corun_status record_grid(struct record_writer *writer, const struct corun_grid *grid,
                                     struct corun_diagnostics *list)
{
    struct record_grid_facts facts = facts_of(grid);
    uint8_t *atomics = calloc(grid->code_length + 1, 1);
    if (!atomics)
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    for (uint32_t pc = 0; pc < grid->code_length; pc++)
        atomics[pc] = replay_atomic(grid, pc);
    facts.atomics = atomics;
    facts.reason = replay_obstacle(grid, &facts.line);
    enum corun_status status = record_launch(writer, grid, &facts, list);
    free(atomics);
    return status;
}

/* Copies stand between launches, where the next operation of the plan is not the next launch. */
static bool copies_before(const struct corun_instance *instance, uint32_t launch)
{
    return launch && instance->operation_of[launch] != instance->operation_of[launch - 1] + 1;
}

static enum corun_status record_run(struct corun_instance *instance, struct record_writer *writer,
                                    struct corun_diagnostics *list)
{
    enum corun_status status = CORUN_OK;
    uint32_t count = corun_instance_grid_count(instance);
    for (uint32_t i = 0; i < count && status == CORUN_OK; i++) {
        if (copies_before(instance, i))
            status = record_copy(writer, list);
        if (status == CORUN_OK)
            status = record_grid(writer, corun_instance_grid(instance, i), list);
    }
    return status;
}

static uint32_t unit_of(const struct corun_instance *instance)
{
    uint32_t unit = 16;
    for (size_t i = 0; i < instance->distinct; i++)
        unit = record_unit_bytes(instance->grids[i], unit);
    return unit;
}

enum corun_status corun_record_write(const struct corun_workload *workload, uint64_t seed, const char *path,
                                     const char *key, struct corun_diagnostics *list)
{
    if (workload->captured || workload->traced)
        return corun_report(list, CORUN_UNSUPPORTED, CORUN_NOWHERE, "%s cannot be replayed: it is %s",
                            workload_name(workload), workload->captured ? "a captured program" : "a trace already");
    struct corun_instance *instance;
    enum corun_status status = corun_instance_create(workload, 0, seed, list, &instance);
    if (status != CORUN_OK)
        return status;
    struct record_writer *writer;
    status = record_write(path, key, unit_of(instance), list, &writer);
    if (status == CORUN_OK) {
        status = record_run(instance, writer, list);
        enum corun_status ended = record_write_end(writer, status == CORUN_OK, list);
        status = status == CORUN_OK ? ended : status;
    }
    corun_instance_destroy(instance);
    return status;
}

/* ---- replaying ---- */

enum corun_status corun_record_open(const char *path, const char *key, struct corun_diagnostics *list,
                                    struct corun_record **result)
{
    struct corun_record *record = calloc(1, sizeof *record);
    *result = NULL;
    if (!record)
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    enum corun_status status = record_open(path, key, list, &record->file);
    if (status == CORUN_OK)
        *result = record;
    else
        free(record);
    return status;
}

void corun_record_close(struct corun_record *record)
{
    if (record)
        record_close(record->file);
    free(record);
}

void corun_record_measure(const struct corun_record *record, struct corun_record_size *size)
{
    struct record_size measured;
    record_measure(record->file, &measured);
    *size = (struct corun_record_size){measured.file_bytes, measured.stream_bytes, measured.warp_instructions};
}

enum corun_status recorded_create(struct corun_record *record, struct corun_grid *const *grids, size_t distinct,
                                  const uint32_t *grid_of, uint32_t count, uint32_t application,
                                  struct corun_diagnostics *list, struct recorded **result)
{
    bool fits = record_launch_count(record->file) == count;
    for (uint32_t i = 0; i < count && fits; i++)
        fits = record_fits(record->file, i, grids[grid_of[i]]);
    if (!fits)
        return corun_report(list, CORUN_ARGUMENT, CORUN_NOWHERE, "the record is of other launches");
    struct recorded *recorded = calloc(1, sizeof *recorded);
    if (recorded) {
        recorded->kernels = calloc(distinct + 1, sizeof(*recorded->kernels));
        recorded->launches = calloc(count + UINT64_C(1), sizeof(*recorded->launches));
        recorded->grid_of = grid_of;
    }
    bool made = recorded && recorded->kernels && recorded->launches;
    for (size_t i = 0; i < distinct && made; i++) {
        struct record_grid_facts facts = facts_of(grids[i]);
        recorded->kernels[i] = record_kernel_create(record->file, grids[i], &facts, application);
        made = recorded->kernels[i] != NULL;
        recorded->distinct = i + 1;
    }
    if (!made) {
        recorded_destroy(recorded);
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    }
    *result = recorded;
    return CORUN_OK;
}

void recorded_destroy(struct recorded *recorded)
{
    if (!recorded)
        return;
    for (size_t i = 0; i < recorded->distinct; i++)
        record_kernel_destroy(recorded->kernels[i]);
    free(recorded->kernels);
    free(recorded->launches);
    free(recorded);
}

const struct corun_grid *recorded_grid(struct recorded *recorded, uint32_t launch)
{
    if (!recorded->launches[launch])
        recorded->launches[launch] = record_kernel_launch(recorded->kernels[recorded->grid_of[launch]], launch);
    return recorded->launches[launch];
}
