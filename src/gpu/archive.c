/* SPDX-License-Identifier: MIT */
/* The GPU to a checkpoint and back: applications, launches, what the dispatcher and preemption know, and in which order all parts go. */
#include "gpu/archive.h"

#include "corun/checkpoint.h"
#include "gpu/sampling.h"

#include <stdlib.h>

#define MOST_LAUNCHES ((size_t)1 << 24)
#define MOST_SAVED_TBS ((size_t)1 << 20)

void corun_gpu_checkpoints(struct corun_gpu *gpu, const struct corun_checkpoints *checkpoints)
{
    gpu->checkpoints = *checkpoints;
    follower_keep_to_steps(gpu->follower);
    gpu->checkpoint_next = checkpoints->save ? checkpoints->next : NEVER;
}

const double *corun_gpu_policy_variables(const struct corun_gpu *gpu)
{
    return gpu->allowances ? gpu->allowances->variables : NULL;
}

/* ---- pointers as numbers ---- */

static struct launch *find_launch(const struct corun_gpu *gpu, uint64_t number)
{
    for (uint32_t a = 0; a < gpu->application_count; a++) {
        const struct application *application = &gpu->applications[a];
        for (size_t i = application->launches_first; i < application->launches.count; i++)
            if (application->launches.data[i]->number == number)
                return application->launches.data[i];
    }
    return NULL;
}

static void check_named(struct corun_archive *archive, uint64_t number, const void *named, const char *what)
{
    if (archive->reads && archive_fine(archive) && number && !named)
        archive_fail(archive, CORUN_SYNTAX, "there is no %s %llu", what, (unsigned long long)number);
}

void archive_launch(struct corun_archive *archive, const struct corun_gpu *gpu, struct launch **launch)
{
    uint64_t number = archive->reads || !*launch ? 0 : (*launch)->number;
    ARCHIVE(archive, number);
    if (archive->reads)
        *launch = number ? find_launch(gpu, number) : NULL;
    check_named(archive, number, *launch, "launch");
}

void archive_kernel(struct corun_archive *archive, const struct corun_gpu *gpu, struct machine_kernel **kernel)
{
    uint32_t number = archive->reads || !*kernel ? 0 : (*kernel)->slot + 1u;
    ARCHIVE(archive, number);
    if (archive->reads)
        *kernel = number && number <= gpu->kernels.used.count ? gpu->kernels.used.data[number - 1] : NULL;
    check_named(archive, number, *kernel, "kernel");
}

void archive_saved(struct corun_archive *archive, const struct corun_gpu *gpu, struct saved_tb **saved)
{
    uint32_t number = archive->reads || !*saved ? 0 : (*saved)->place + 1;
    ARCHIVE(archive, number);
    if (archive->reads)
        *saved = number && number <= gpu->saved_tbs.count ? gpu->saved_tbs.data[number - 1] : NULL;
    check_named(archive, number, *saved, "saved thread block");
}

void archive_grid(struct corun_archive *archive, const struct corun_gpu *gpu, uint32_t application,
                  const struct corun_grid **grid)
{
    const struct corun_checkpoints *checkpoints = &gpu->checkpoints;
    uint32_t number = 0;
    const struct corun_grid *at;
    if (!archive->reads && *grid) {
        while ((at = checkpoints->grid(checkpoints->user, application, number++)) && at != *grid)
            ;
        if (!at)
            archive_fail(archive, CORUN_UNSUPPORTED, "application %s has launched a grid that it does not number",
                         gpu->applications[application].name);
    }
    ARCHIVE(archive, number);
    if (archive->reads)
        *grid = number ? checkpoints->grid(checkpoints->user, application, number - 1) : NULL;
    check_named(archive, number, *grid, "grid");
}

void archive_source(struct corun_archive *archive, const struct launch *launch, struct corun_tb **tb)
{
    uint64_t number = archive->reads || !*tb || !launch ? 0 : launch->grid->operations->tb_number(*tb);
    ARCHIVE(archive, number);
    if (archive->reads)
        *tb = number && launch ? launch->grid->operations->tb_of(launch->grid, number) : NULL;
    check_named(archive, number, *tb, "thread block");
}

void archive_warp(struct corun_archive *archive, const struct launch *launch, struct corun_warp **warp)
{
    uint64_t number = archive->reads || !*warp || !launch ? 0 : launch->grid->operations->warp_number(*warp);
    ARCHIVE(archive, number);
    if (archive->reads)
        *warp = number && launch ? launch->grid->operations->warp_of(launch->grid, number) : NULL;
    check_named(archive, number, *warp, "warp");
}

/* ---- applications ---- */

static void archive_one_launch(struct corun_archive *archive, struct corun_gpu *gpu, uint32_t index,
                               struct launch *launch)
{
    static const struct archive_hole holes[] = {
        ARCHIVE_HOLE(struct launch, grid), ARCHIVE_HOLE(struct launch, kernel), ARCHIVE_HOLE(struct launch, next),
        ARCHIVE_HOLE(struct launch, returned), ARCHIVE_HOLE(struct launch, sample)};
    ARCHIVE_RECORD(archive, launch, holes);
    archive_grid(archive, gpu, index, &launch->grid);
    archive_kernel(archive, gpu, &launch->kernel);
    if (ARCHIVE_VECTOR(archive, &launch->returned, UINT32_MAX))
        archive_bytes(archive, launch->returned.data, launch->returned.count * sizeof *launch->returned.data);
    if (gpu->sampling && archive_fine(archive))
        sampling_archive_launch(archive, gpu, launch);
    if (!launch->grid || !launch->kernel) {
        archive_fail(archive, CORUN_SYNTAX, "a launch of nothing");
        return;
    }
    if (archive->reads && archive_fine(archive) &&
        launch->grid->operations->attach(launch->grid, gpu->config.sms, gpu->config.core_clock_khz) != CORUN_OK)
        archive_fail(archive, CORUN_MEMORY, "out of memory");
}

static void archive_launches(struct corun_archive *archive, struct corun_gpu *gpu, uint32_t index)
{
    struct application *application = &gpu->applications[index];
    size_t count = application->launches.count - application->launches_first;
    if (archive->reads)
        application_forget_launches(application);
    archive_count(archive, &count, MOST_LAUNCHES);
    for (size_t i = 0; i < count && archive_fine(archive); i++) {
        struct launch *launch =
            archive->reads ? calloc(1, sizeof *launch) : application->launches.data[application->launches_first + i];
        if (!launch || (archive->reads && !vector_push(&application->launches, launch))) {
            free(launch);
            archive_fail(archive, CORUN_MEMORY, "out of memory");
            return;
        }
        archive_one_launch(archive, gpu, index, launch);
    }
}

static void archive_application(struct corun_archive *archive, struct corun_gpu *gpu, uint32_t index)
{
    static const struct archive_hole holes[] = {
        ARCHIVE_HOLE(struct application, description), ARCHIVE_HOLE(struct application, name),
        ARCHIVE_HOLE(struct application, kernels),     ARCHIVE_HOLE(struct application, launches),
        ARCHIVE_HOLE(struct application, running),     ARCHIVE_HOLE(struct application, preempted),
        ARCHIVE_HOLE(struct application, standstill),  ARCHIVE_HOLE(struct application, launches_first)};
    struct application *application = &gpu->applications[index];
    ARCHIVE_RECORD(archive, application, holes);
    kernels_archive(archive, gpu, index);
    archive_launches(archive, gpu, index);
    watchdog_archive(archive, gpu, application);
}

/* ---- thread blocks that are away, and pointers that need all launches ---- */

static void archive_saved_tb(struct corun_archive *archive, const struct corun_gpu *gpu, struct saved_tb *saved)
{
    static const struct archive_hole holes[] = {
        ARCHIVE_HOLE(struct saved_tb, next), ARCHIVE_HOLE(struct saved_tb, launch),
        ARCHIVE_HOLE(struct saved_tb, source), ARCHIVE_HOLE(struct saved_tb, warps)};
    ARCHIVE_RECORD(archive, saved, holes);
    archive_launch(archive, gpu, &saved->launch);
    if (archive_fine(archive) && (!saved->launch || saved->warp_count > MAX_WARPS))
        archive_fail(archive, CORUN_SYNTAX, "a saved thread block of no launch");
    if (!archive_fine(archive))
        return;
    archive_source(archive, saved->launch, &saved->source);
    for (uint32_t i = 0; i < saved->warp_count; i++)
        archive_warp(archive, saved->launch, &saved->warps[i]);
}

static void archive_saved_tbs(struct corun_archive *archive, struct corun_gpu *gpu)
{
    if (!ARCHIVE_VECTOR(archive, &gpu->saved_tbs, MOST_SAVED_TBS))
        return;
    for (size_t i = 0; i < gpu->saved_tbs.count && archive_fine(archive); i++) {
        struct saved_tb **saved = &gpu->saved_tbs.data[i];
        bool there = *saved != NULL;
        ARCHIVE(archive, there);
        if (archive->reads && there && !(*saved = calloc(1, sizeof **saved)))
            archive_fail(archive, CORUN_MEMORY, "out of memory");
        if (*saved && archive_fine(archive))
            archive_saved_tb(archive, gpu, *saved);
    }
    for (size_t i = 0; i < gpu->saved_tbs.count && archive_fine(archive); i++)
        if (gpu->saved_tbs.data[i])
            archive_saved(archive, gpu, &gpu->saved_tbs.data[i]->next);
}

static void archive_queues(struct corun_archive *archive, struct corun_gpu *gpu)
{
    for (uint32_t a = 0; a < gpu->application_count && archive_fine(archive); a++) {
        struct application *application = &gpu->applications[a];
        archive_launch(archive, gpu, &application->running);
        archive_saved(archive, gpu, &application->preempted);
        for (size_t i = application->launches_first; i < application->launches.count; i++) {
            struct launch *launch = application->launches.data[i];
            if (launch)
                archive_launch(archive, gpu, &launch->next);
        }
    }
    for (size_t i = 0; i < gpu->kernels.used.count && archive_fine(archive); i++) {
        struct machine_kernel *kernel = gpu->kernels.used.data[i];
        if (kernel)
            archive_launch(archive, gpu, &kernel->running);
    }
}

static void archive_leaving(struct corun_archive *archive, struct corun_gpu *gpu)
{
    static const struct archive_hole holes[] = {ARCHIVE_HOLE(struct leaving, launch),
                                                ARCHIVE_HOLE(struct leaving, saved)};
    if (!ARCHIVE_VECTOR(archive, &gpu->leaving, MOST_SAVED_TBS))
        return;
    for (size_t i = 0; i < gpu->leaving.count && archive_fine(archive); i++) {
        struct leaving *leaving = &gpu->leaving.data[i];
        ARCHIVE_RECORD(archive, leaving, holes);
        archive_launch(archive, gpu, &leaving->launch);
        archive_saved(archive, gpu, &leaving->saved);
    }
    if (!ARCHIVE_VECTOR(archive, &gpu->vacated, MOST_SAVED_TBS))
        return;
    for (size_t i = 0; i < gpu->vacated.count; i++)
        ARCHIVE_PLAIN(archive, &gpu->vacated.data[i]);
}

/* ---- the dispatcher's account ---- */

static void archive_use(struct corun_archive *archive, const struct corun_gpu *gpu, struct sm_use *use)
{
    static const struct archive_hole holes[] = {ARCHIVE_HOLE(struct sm_use, places)};
    static const struct archive_hole place_holes[] = {ARCHIVE_HOLE(struct sm_place, launch)};
    ARCHIVE_LARGE_RECORD(archive, use, holes);
    if (use->place_count > MAX_TBS)
        archive_fail(archive, CORUN_SYNTAX, "%u thread blocks on an SM", use->place_count);
    for (uint32_t i = 0; i < use->place_count && archive_fine(archive); i++) {
        struct launch *launch = (struct launch *)use->places[i].launch;
        ARCHIVE_RECORD(archive, &use->places[i], place_holes);
        archive_launch(archive, gpu, &launch);
        use->places[i].launch = launch;
    }
}

/* ---- all of it ---- */

static void archive_machine(struct corun_archive *archive, struct corun_gpu *gpu)
{
    static const struct archive_hole holes[] = {ARCHIVE_HOLE(struct corun_gpu, config),
                                                ARCHIVE_HOLE(struct corun_gpu, follower),
                                                ARCHIVE_HOLE(struct corun_gpu, sms),
                                                ARCHIVE_HOLE(struct corun_gpu, use),
                                                ARCHIVE_HOLE(struct corun_gpu, power),
                                                ARCHIVE_HOLE(struct corun_gpu, applications),
                                                ARCHIVE_HOLE(struct corun_gpu, kernels),
                                                ARCHIVE_HOLE(struct corun_gpu, cluster_network),
                                                ARCHIVE_HOLE(struct corun_gpu, clusters),
                                                ARCHIVE_HOLE(struct corun_gpu, team),
                                                ARCHIVE_HOLE(struct corun_gpu, sm_rounds),
                                                ARCHIVE_HOLE(struct corun_gpu, sampling),
                                                ARCHIVE_HOLE(struct corun_gpu, saved_tbs),
                                                ARCHIVE_HOLE(struct corun_gpu, leaving),
                                                ARCHIVE_HOLE(struct corun_gpu, vacated),
                                                ARCHIVE_HOLE(struct corun_gpu, governor),
                                                ARCHIVE_HOLE(struct corun_gpu, allowances),
                                                ARCHIVE_HOLE(struct corun_gpu, limits),
                                                ARCHIVE_HOLE(struct corun_gpu, partitions_given),
                                                ARCHIVE_HOLE(struct corun_gpu, list),
                                                ARCHIVE_HOLE(struct corun_gpu, trace),
                                                ARCHIVE_HOLE(struct corun_gpu, trace_user),
                                                ARCHIVE_HOLE(struct corun_gpu, see),
                                                ARCHIVE_HOLE(struct corun_gpu, see_user),
                                                ARCHIVE_HOLE(struct corun_gpu, next_progress),
                                                ARCHIVE_HOLE(struct corun_gpu, checkpoints),
                                                ARCHIVE_HOLE(struct corun_gpu, checkpoint_next)};
    archive_same(archive, gpu->application_count, "applications");
    archive_same(archive, gpu->config.sms, "SMs");
    ARCHIVE_LARGE_RECORD(archive, gpu, holes);
    size_t entries = (size_t)gpu->config.sms * (gpu->application_count ? gpu->application_count : 1);
    archive_bytes(archive, gpu->partitions_given, entries * sizeof *gpu->partitions_given);
    archive_bytes(archive, gpu->power, gpu->config.sms * sizeof *gpu->power);
}

static void check_possible(struct corun_archive *archive, const struct corun_gpu *gpu)
{
    if (gpu->clusters.count || !cluster_network_is_empty(gpu->cluster_network))
        archive_fail(archive, CORUN_UNSUPPORTED, "clusters of thread blocks that are in flight cannot be saved");
    for (uint32_t a = 0; a < gpu->application_count; a++) {
        const struct corun_grid *grid = gpu->checkpoints.grid(gpu->checkpoints.user, a, 0);
        if (grid && !grid->operations->tb_number)
            archive_fail(archive, CORUN_UNSUPPORTED, "application %s cannot be saved", gpu->applications[a].name);
    }
}

void corun_gpu_archive(struct corun_gpu *gpu, struct corun_archive *archive)
{
    check_possible(archive, gpu);
    archive_section(archive, "machine", 1);
    archive_machine(archive, gpu);
    if (gpu->sampling && archive_fine(archive))
        sampling_archive(archive, gpu);
    archive_section(archive, "applications", 1);
    for (uint32_t a = 0; a < gpu->application_count && archive_fine(archive); a++)
        archive_application(archive, gpu, a);
    archive_section(archive, "preempted", 1);
    archive_saved_tbs(archive, gpu);
    archive_queues(archive, gpu);
    archive_leaving(archive, gpu);
    archive_section(archive, "memory", 1);
    if (archive_fine(archive))
        memory_system_archive(archive, follower_memory(gpu->follower));
    for (uint32_t s = 0; s < gpu->config.sms && archive_fine(archive); s++) {
        archive_section(archive, "sm", 2);
        archive_use(archive, gpu, &gpu->use[s]);
        archive_sm(archive, gpu, gpu->sms[s]);
    }
    archive_section(archive, "governor", 1);
    if (archive_fine(archive))
        governor_archive(archive, gpu->governor);
}
