/* SPDX-License-Identifier: MIT */
/*
 * Kernels as the machine knows them, and the slots under which they are counted.
 *
 * A slot is a number of 16 bits that every packet carries. The kernels of an application that has gone are retired: their slots are looked
 * for everywhere at once, when some have come together, and whatever still names them is given to one slot of nobody, the heir. So totals keep
 * what was counted, and neither slots nor memory grow with the number of applications.
 */
#include "gpu/archive.h"

#include <stdlib.h>
#include <string.h>

#define SWEPT_TOGETHER 64u /* retired slots; a sweep looks at every line of the L2 */

/* ---- slots ---- */

static void retire_counters(struct sm *sm, const struct retired_kernels *retired)
{
    for (uint32_t slot = 0; slot < sm->counters_capacity; slot++) {
        if (!is_retired(retired, slot))
            continue;
        sm->port.writes[retired->heir].under_way += sm->port.writes[slot].under_way;
        sm->port.writes[slot].last_answer = sm->port.writes[slot].under_way = 0;
        if (!sm->counters[slot])
            continue;
        corun_counters_add(sm->counters[retired->heir], sm->counters[slot]);
        free(sm->counters[slot]);
        sm->counters[slot] = NULL;
    }
}

static void retire_in_sm(struct sm *sm, const struct retired_kernels *retired)
{
    struct load_store *unit = &sm->load_store;
    for (uint32_t i = 0; i < unit->count; i++) {
        struct memory_entry *entry = &unit->entries[(unit->head + i) & unit->mask];
        if (is_retired(retired, entry->kernel)) {
            entry->kernel = retired->heir;
            entry->counters = sm->counters[retired->heir];
        }
    }
    for (size_t i = 0; i < sm->port.out_count; i++)
        sm->port.out[i].kernel = heir_of(retired, sm->port.out[i].kernel);
    retire_counters(sm, retired);
}

/* A slot of nobody takes over. False when out of memory: then nothing has changed. */
static bool find_heir(struct corun_gpu *gpu)
{
    struct kernel_slots *slots = &gpu->kernels;
    for (uint32_t slot = 0; !slots->has_heir; slot++)
        if (is_retired(&slots->retired, slot)) {
            slots->retired.heir = (uint16_t)slot;
            slots->retired.marks[slot / 64] &= ~(UINT64_C(1) << slot % 64);
            slots->retired_count--;
            slots->has_heir = true;
        }
    for (uint32_t s = 0; s < gpu->config.sms; s++)
        if (!sm_counters(gpu->sms[s], slots->retired.heir))
            return false;
    return memory_system_counters(follower_memory(gpu->follower), slots->retired.heir) != NULL;
}

static void sweep(struct corun_gpu *gpu)
{
    struct kernel_slots *slots = &gpu->kernels;
    if (!slots->retired_count || !find_heir(gpu))
        return;
    memory_system_retire(follower_memory(gpu->follower), &slots->retired);
    cluster_network_retire(gpu->cluster_network, &slots->retired);
    for (uint32_t s = 0; s < gpu->config.sms; s++)
        retire_in_sm(gpu->sms[s], &slots->retired);
    for (size_t i = 0; i < gpu->vacated.count; i++)
        gpu->vacated.data[i].kernel = heir_of(&slots->retired, gpu->vacated.data[i].kernel);
    for (uint32_t slot = 0; slot < slots->used.count; slot++)
        if (is_retired(&slots->retired, slot) && vector_push(&slots->free, (uint16_t)slot)) {
            slots->retired.marks[slot / 64] &= ~(UINT64_C(1) << slot % 64);
            slots->retired_count--;
        }
}

/* A slot under which nothing has been counted; false: out of memory, or every one is in use. */
static bool take_slot(struct corun_gpu *gpu, struct machine_kernel *kernel)
{
    struct kernel_slots *slots = &gpu->kernels;
    if (!slots->free.count && slots->used.count == KERNEL_SLOTS)
        sweep(gpu);
    bool again = slots->free.count != 0;
    if (!again && (slots->used.count == KERNEL_SLOTS || !vector_push(&slots->used, NULL)))
        return false;
    uint32_t slot = again ? slots->free.data[--slots->free.count] : (uint32_t)slots->used.count - 1;
    slots->used.data[slot] = kernel;
    kernel->slot = (uint16_t)slot;
    return true;
}

void kernel_slots_destroy(struct corun_gpu *gpu)
{
    vector_free(&gpu->kernels.used);
    vector_free(&gpu->kernels.free);
}

/* ---- kernels ---- */

/* `first`: the same kernel, which has profile and place in the list; NULL: this is the first. */
static struct machine_kernel *create(struct corun_gpu *gpu, uint32_t application, const struct corun_grid *grid,
                                     const struct machine_kernel *first)
{
    struct machine_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel)
        return NULL;
    kernel->code = grid->code;
    kernel->name = grid->name;
    kernel->code_length = grid->code_length;
    kernel->hazard_entries = grid->register_slots + grid->predicate_slots;
    kernel->application = (uint8_t)application;
    kernel->ops = allocate_lines((grid->code_length + 1) * sizeof *kernel->ops);
    if (gpu->profiling && first)
        kernel->profile = first->profile;
    else if (gpu->profiling)
        kernel->profile = calloc(grid->code_length + 1, sizeof *kernel->profile);
    if (kernel->ops && (!gpu->profiling || kernel->profile))
        return kernel;
    if (!first)
        free(kernel->profile);
    kernel_destroy(kernel);
    return NULL;
}

/* Launches of one kernel that overlap are counted apart: then each of them can be told what is its. */
struct machine_kernel *kernel_take(struct corun_gpu *gpu, uint32_t index, const struct corun_grid *grid)
{
    struct application *application = &gpu->applications[index];
    struct machine_kernel *last = NULL;
    for (size_t i = 0; i < application->kernels.count && !last; i++)
        if (application->kernels.data[i]->code == grid->code)
            last = application->kernels.data[i];
    while (last && last->running && last->twin)
        last = last->twin;
    if (last && !last->running)
        return last;
    struct machine_kernel *kernel = create(gpu, index, grid, last);
    if (!kernel)
        return NULL;
    bool slotted = take_slot(gpu, kernel);
    if (!slotted || !memory_system_counters(follower_memory(gpu->follower), kernel->slot) ||
        (!last && !vector_push(&application->kernels, kernel))) {
        if (slotted)
            kernel_retire(gpu, kernel);
        if (!last)
            free(kernel->profile);
        kernel_destroy(kernel);
        return NULL;
    }
    if (last)
        last->twin = kernel;
    machine_ops_build(&gpu->config, grid, kernel->ops);
    return kernel;
}

struct instruction_sum kernel_instructions(const struct corun_gpu *gpu, const struct machine_kernel *kernel)
{
    struct instruction_sum sum = kernel->untimed;
    for (uint32_t s = 0; s < gpu->config.sms; s++) {
        const struct sm *sm = gpu->sms[s];
        const struct corun_counters *counters =
            kernel->slot < sm->counters_capacity ? sm->counters[kernel->slot] : NULL;
        if (!counters)
            continue;
        sum.warp += counters->warp_instructions;
        sum.thread += counters->thread_instructions - counters->thread_instructions_dropped;
    }
    return sum;
}

void kernel_settle(struct corun_gpu *gpu, struct machine_kernel *kernel)
{
    struct instruction_sum now = kernel_instructions(gpu, kernel);
    struct instruction_sum *past = &gpu->applications[kernel->application].past;
    past->warp += now.warp - kernel->settled.warp;
    past->thread += now.thread - kernel->settled.thread;
    kernel->settled = now;
}

void kernel_forget_code(struct machine_kernel *kernel)
{
    kernel->kept_name = strdup(kernel->name);
    kernel->name = kernel->kept_name ? kernel->kept_name : "";
    kernel->code = NULL;
    free(kernel->ops);
    kernel->ops = NULL;
}

void kernel_retire(struct corun_gpu *gpu, struct machine_kernel *kernel)
{
    struct kernel_slots *slots = &gpu->kernels;
    slots->used.data[kernel->slot] = NULL;
    slots->retired.marks[kernel->slot / 64] |= UINT64_C(1) << kernel->slot % 64;
    if (++slots->retired_count >= SWEPT_TOGETHER)
        sweep(gpu);
}

void kernel_destroy(struct machine_kernel *kernel)
{
    free(kernel->kept_name);
    free(kernel->ops);
    free(kernel);
}

/* ---- checkpoints ---- */

static void archive_fields(struct corun_archive *archive, struct machine_kernel *kernel)
{
    static const struct archive_hole holes[] = {
        ARCHIVE_HOLE(struct machine_kernel, code),      ARCHIVE_HOLE(struct machine_kernel, running),
        ARCHIVE_HOLE(struct machine_kernel, twin),      ARCHIVE_HOLE(struct machine_kernel, name),
        ARCHIVE_HOLE(struct machine_kernel, kept_name), ARCHIVE_HOLE(struct machine_kernel, ops),
        ARCHIVE_HOLE(struct machine_kernel, profile)};
    ARCHIVE_RECORD(archive, kernel, holes);
}

/* A grid of that code: the first one. */
static const struct corun_grid *grid_of_code(const struct corun_gpu *gpu, uint32_t application,
                                             const struct corun_instruction *code)
{
    const struct corun_checkpoints *checkpoints = &gpu->checkpoints;
    const struct corun_grid *grid = NULL;
    for (uint32_t i = 0; (grid = checkpoints->grid(checkpoints->user, application, i)) && grid->code != code;)
        i++;
    return grid;
}

/* The slot that the record names is taken. */
static bool seat(struct corun_archive *archive, struct corun_gpu *gpu, struct machine_kernel *kernel)
{
    struct kernel_slots *slots = &gpu->kernels;
    while (slots->used.count <= kernel->slot)
        if (!vector_push(&slots->used, NULL)) {
            archive_fail(archive, CORUN_MEMORY, "out of memory");
            return false;
        }
    if (slots->used.data[kernel->slot]) {
        archive_fail(archive, CORUN_SYNTAX, "two kernels under one number");
        return false;
    }
    slots->used.data[kernel->slot] = kernel;
    return true;
}

/* `first`: of the same code, NULL if this is it. NULL: the archive has failed. */
static struct machine_kernel *read_kernel(struct corun_archive *archive, struct corun_gpu *gpu, uint32_t index,
                                          const struct machine_kernel *first)
{
    const struct corun_grid *grid = NULL;
    archive_grid(archive, gpu, index, &grid);
    struct machine_kernel *kernel = grid && archive_fine(archive) ? create(gpu, index, grid, first) : NULL;
    if (!kernel) {
        archive_fail(archive, CORUN_MEMORY, "out of memory");
        return NULL;
    }
    uint32_t code_length = kernel->code_length, hazard_entries = kernel->hazard_entries;
    archive_fields(archive, kernel);
    if (kernel->code_length != code_length || kernel->hazard_entries != hazard_entries || kernel->application != index)
        archive_fail(archive, CORUN_SYNTAX, "kernel %s is another one", grid->name);
    if (!archive_fine(archive) || !seat(archive, gpu, kernel)) {
        if (!first)
            free(kernel->profile);
        kernel_destroy(kernel);
        return NULL;
    }
    machine_ops_build(&gpu->config, grid, kernel->ops);
    return kernel;
}

static struct machine_kernel *archive_one(struct corun_archive *archive, struct corun_gpu *gpu, uint32_t index,
                                          struct machine_kernel *kernel, const struct machine_kernel *first)
{
    if (archive->reads)
        return read_kernel(archive, gpu, index, first);
    const struct corun_grid *grid = grid_of_code(gpu, index, kernel->code);
    archive_grid(archive, gpu, index, &grid);
    archive_fields(archive, kernel);
    return kernel;
}

/* Its first kernel and those beside it, which share its profile. */
static void archive_twins(struct corun_archive *archive, struct corun_gpu *gpu, uint32_t index, size_t position)
{
    struct application *application = &gpu->applications[index];
    struct machine_kernel *first = archive->reads ? NULL : application->kernels.data[position];
    first = archive_one(archive, gpu, index, first, NULL);
    if (!archive_fine(archive))
        return;
    if (archive->reads && !vector_push(&application->kernels, first)) {
        gpu->kernels.used.data[first->slot] = NULL;
        free(first->profile);
        kernel_destroy(first);
        archive_fail(archive, CORUN_MEMORY, "out of memory");
        return;
    }
    if (first->profile)
        archive_bytes(archive, first->profile, first->code_length * sizeof *first->profile);
    for (struct machine_kernel *kernel = first; archive_fine(archive) && kernel; kernel = kernel->twin) {
        bool more = !archive->reads && kernel->twin;
        ARCHIVE(archive, more);
        if (!more)
            return;
        struct machine_kernel *twin = archive_one(archive, gpu, index, kernel->twin, first);
        if (archive->reads)
            kernel->twin = twin;
    }
}

void kernels_archive(struct corun_archive *archive, struct corun_gpu *gpu, uint32_t index)
{
    struct application *application = &gpu->applications[index];
    size_t count = application->kernels.count;
    if (!archive->reads && (gpu->kernels.free.count || gpu->kernels.retired_count))
        archive_fail(archive, CORUN_UNSUPPORTED, "applications have gone");
    archive_count(archive, &count, KERNEL_SLOTS);
    for (size_t i = 0; i < count && archive_fine(archive); i++)
        archive_twins(archive, gpu, index, i);
}
