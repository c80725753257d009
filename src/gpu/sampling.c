/* SPDX-License-Identifier: MIT */
/*
 * Which launches and thread blocks are timed, and what the others are taken for.
 *
 * Launches of one kernel with one shape are a group (sample_group.h); what those that were timed tell is decided there.
 */
#include "gpu/sampling.h"

#include "base/bits.h"
#include "gpu/archive.h"
#include "gpu/gpu.h"
#include "gpu/sample_group.h"

#include <stdlib.h>
#include <string.h>

#define MOST_GROUPS ((size_t)1 << 20) /* in a checkpoint */
#define FEWEST_WAVES 3u               /* that count, behind those that warm up */
#define TIMED_PART \
    50u /* of a launch, one in so many waves is timed at least: that costs less than running the others without timing */
#define SHORTEST 6u                    /* waves of a launch that is watched */
#define PATIENCE 4u                    /* draining may take so many times what went before */
#define WARMING_LAUNCHES 2u            /* of a group, before one that is timed: these put what they use into the L2 */
#define OVERDUE 2u                     /* times its period: a group that has not come for longer is not waited for */
#define WARMING 4u                     /* times the L2: what the last thread blocks move through it, and put there */
#define WATCHDOG UINT64_C(20000000000) /* warp instructions of a thread block without timing */
#define MILLION UINT64_C(1000000)

struct sampling {
    struct corun_sampling settings;
    VECTOR(struct sample_group *) groups;
    uint64_t cycles; /* of all launches of kinds */
    uint64_t launches;
};

struct sampling *sampling_create(const struct corun_sampling *settings)
{
    struct sampling *sampling = calloc(1, sizeof *sampling);
    if (sampling)
        sampling->settings = *settings;
    return sampling;
}

void sampling_destroy(struct sampling *sampling)
{
    if (!sampling)
        return;
    for (size_t i = 0; i < sampling->groups.count; i++)
        sample_group_destroy(sampling->groups.data[i]);
    vector_free(&sampling->groups);
    free(sampling);
}

/* NULL when out of memory. */
static struct sample_group *group_of(struct sampling *sampling, const struct corun_grid *grid)
{
    for (size_t i = 0; i < sampling->groups.count; i++) {
        struct sample_group *group = sampling->groups.data[i];
        if (group->code == grid->code && group->tb_count == grid->tb_count && group->tb_threads == grid->tb_threads &&
            group->tb_shared_bytes == grid->tb_shared_bytes && !strcmp(group->name, grid->name))
            return group;
    }
    struct sample_group *group = sample_group_create(grid->name);
    if (!group || !vector_push(&sampling->groups, group)) {
        sample_group_destroy(group);
        return NULL;
    }
    group->code = grid->code;
    group->tb_count = grid->tb_count;
    group->tb_threads = grid->tb_threads;
    group->tb_shared_bytes = grid->tb_shared_bytes;
    return group;
}

/* How many launches of the group come before the next one that is timed, as far as one can tell. */
static uint32_t untimed_ahead(const struct sampling *sampling, const struct sample_group *group)
{
    uint32_t every = sampling->settings.every;
    if (group->overlaps || group->since_timed + 1 >= every ||
        !sample_group_knows_next(group, sampling->cycles, sampling->settings.error))
        return 0;
    return every - 1 - group->since_timed;
}

/* Launches of a group came after so many others, and have not for longer: there may be no more. */
static bool is_overdue(const struct sampling *sampling, const struct sample_group *group)
{
    return sampling->launches - group->came > OVERDUE * group->period;
}

/* Whether a launch is to be timed soon, of whatever group that goes on: it has to find the L2 as it would be. */
static bool is_warming(const struct sampling *sampling)
{
    for (size_t i = 0; i < sampling->groups.count; i++) {
        const struct sample_group *group = sampling->groups.data[i];
        if (!is_overdue(sampling, group) && untimed_ahead(sampling, group) <= WARMING_LAUNCHES)
            return true;
    }
    return false;
}

/* ---- counters ---- */

/* What the launch has been counted so far. */
static void counted(const struct corun_gpu *gpu, const struct launch *launch, struct corun_counters *counters)
{
    kernel_counters(gpu, launch->kernel, counters);
#define N(name, unit, meaning) counters->name -= launch->sample->before.name;
#include "corun/statistics.def"
#undef N
}

/* The counters of what was not timed: as those of `like`, but what is known of it. */
static void estimate_counters(const struct corun_counters *like, const struct corun_untimed_result *done, uint32_t tbs,
                              struct corun_counters *counters)
{
    uint64_t whole = like->warp_instructions ? like->warp_instructions : 1;
#define N(name, unit, meaning) counters->name = ratio_scale(like->name, done->warp_instructions, whole);
#include "corun/statistics.def"
#undef N
    counters->warp_instructions = done->warp_instructions;
    counters->thread_instructions = done->thread_instructions;
    counters->ptx_thread_instructions = done->ptx_thread_instructions;
    counters->tbs_completed = tbs;
}

/* ---- what is not timed ---- */

#define RECENT \
    1024u /* lines that need not be touched again at once: their place in the order of use is near the first anyway */

struct toucher {
    struct corun_gpu *gpu;
    const struct machine_kernel *kernel;
    uint32_t line_shift, sector_shift;
    struct {
        uint64_t line;   /* its address; 0: none */
        uint64_t stored; /* words of 4 bytes of it */
        uint32_t loaded; /* sectors */
    } recent[RECENT];
};

/* Bits first..last. */
static uint64_t bit_range(uint32_t first, uint32_t last)
{
    return ~UINT64_C(0) >> (63 - (last - first)) << first;
}

static void touch(void *user, uint64_t address, uint32_t bytes, bool store)
{
    struct toucher *toucher = user;
    const struct corun_gpu_config *config = &toucher->gpu->config;
    uint64_t line_bytes = config->l2_line_bytes, end = address + bytes;
    for (uint64_t line = address & ~(line_bytes - 1); line < end; line += line_bytes) {
        uint32_t from = address > line ? (uint32_t)(address - line) : 0;
        uint32_t last = (uint32_t)(end - line < line_bytes ? end - line : line_bytes) - 1;
        uint32_t sectors = (uint32_t)bit_range(from >> toucher->sector_shift, last >> toucher->sector_shift);
        uint64_t words = store ? bit_range(from / 4, last / 4) : 0;
        uint32_t at = (uint32_t)(line >> toucher->line_shift) % RECENT;
        if (toucher->recent[at].line != line) {
            toucher->recent[at].line = line;
            toucher->recent[at].loaded = 0;
            toucher->recent[at].stored = 0;
        }
        if (!(words & ~toucher->recent[at].stored) && (store || !(sectors & ~toucher->recent[at].loaded)))
            continue;
        toucher->recent[at].stored |= words;
        if (!store)
            toucher->recent[at].loaded |= sectors;
        memory_system_touch(follower_memory(toucher->gpu->follower), line, sectors, words, store, toucher->kernel->slot,
                            toucher->kernel->application);
    }
}

/* Runs thread blocks from `first` to the end. False: the application was stopped. */
static bool run_rest(struct corun_gpu *gpu, uint32_t index, const struct launch *launch, uint32_t first, bool warms,
                     struct corun_untimed_result *done)
{
    const struct application *application = &gpu->applications[index];
    const struct corun_grid *grid = launch->grid;
    struct toucher toucher = {.gpu = gpu,
                              .kernel = launch->kernel,
                              .line_shift = log2_floor(gpu->config.l2_line_bytes),
                              .sector_shift = log2_floor(gpu->config.l2_sector_bytes)};
    uint64_t each = launch->sample->group->l2_bytes_per_tb;
    uint64_t warming = each ? (uint64_t)WARMING * gpu->config.l2_bytes / each + 1 : grid->tb_count;
    struct corun_untimed how = {.first = first,
                                .count = grid->tb_count - first,
                                .touch_from = warming < grid->tb_count ? grid->tb_count - (uint32_t)warming : 0,
                                .places = launch->kernel->tbs_per_sm * gpu->config.sms,
                                .watchdog = WATCHDOG,
                                .touch = warms ? touch : NULL,
                                .touch_user = &toucher,
                                .print = application->description.print,
                                .print_user = application->description.user};
    struct corun_diagnostics *list = corun_diagnostics_create();
    enum corun_status status = grid->operations->run_untimed(grid, &how, list, done);
    if (status != CORUN_OK) {
        const struct corun_diagnostic *said =
            list && corun_diagnostics_count(list) ? corun_diagnostics_get(list, 0) : NULL;
        application_stop(gpu, index, status, said ? said->place : CORUN_NOWHERE,
                         said ? said->message : "out of memory");
    }
    corun_diagnostics_destroy(list);
    return status == CORUN_OK;
}

/* The launch is over but for its time, which is `cycles` more. */
static void take_estimate(struct corun_gpu *gpu, struct launch *launch, uint64_t cycles,
                          const struct corun_untimed_result *done, const struct corun_counters *like)
{
    struct launch_sample *sample = launch->sample;
    uint32_t tbs = launch->grid->tb_count - sample->tbs_before;
    estimate_counters(like, done, tbs, &sample->rest);
    corun_counters_add(memory_system_counters(follower_memory(gpu->follower), launch->kernel->slot), &sample->rest);
    launch->kernel->untimed.warp += done->warp_instructions;
    launch->kernel->untimed.thread += done->thread_instructions;
    if (done->longest_warp > launch->longest_warp)
        launch->longest_warp = done->longest_warp;
    launch->next_tb = launch->tbs = launch->completed = launch->grid->tb_count;
    launch->last_cycle += cycles;
    sample->estimated_cycles = cycles;
    sample->estimated = true;
    sample->until = launch->last_cycle;
    sample->state = SAMPLE_ESTIMATED;
}

/* All of a launch, when its time has come. */
static void skip(struct corun_gpu *gpu, uint32_t application, struct launch *launch)
{
    struct sample_group *group = launch->sample->group;
    struct corun_untimed_result done;
    if (!run_rest(gpu, application, launch, 0, is_warming(gpu->sampling), &done))
        return;
    struct sampling *sampling = gpu->sampling;
    struct sample_work work = {done.warp_instructions, done.thread_instructions, done.longest_warp};
    uint32_t kind = sample_group_kind(group, &work);
    if (kind == SAMPLE_NO_KIND) {
        application_stop(gpu, application, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
        return;
    }
    uint64_t cycles = sample_group_estimate(group, kind, &work, sampling->cycles, sampling->settings.error);
    launch->started = true;
    launch->first_cycle = launch->last_cycle = launch->earliest;
    take_estimate(gpu, launch, cycles, &done, &group->counters);
    sample_group_note(group, kind, work.warp);
    group->since_timed++;
    sampling->cycles += cycles;
}

/* ---- the life of a launch ---- */

/* Everything of a launch is timed from now on, if it is not too late. */
static void time_in_full(struct corun_gpu *gpu, struct launch *launch)
{
    struct launch_sample *sample = launch->sample;
    if (sample->state != SAMPLE_WATCHED && sample->state != SAMPLE_DRAINING)
        return;
    sample->state = SAMPLE_TIMED;
    launch->tbs = launch->grid->tb_count;
    gpu->dispatch_due = true;
}

/* Is another launch in flight beside it? Then neither of them, nor later ones of their groups, are sampled. */
static void note_overlaps(struct corun_gpu *gpu, struct launch *launch)
{
    for (uint32_t a = 0; a < gpu->application_count; a++)
        for (struct launch *other = gpu->applications[a].running; other; other = other->next) {
            if (other == launch || !other->sample)
                continue;
            launch->sample->group->overlaps = other->sample->group->overlaps = true;
            time_in_full(gpu, other);
        }
}

void sampling_begin(struct corun_gpu *gpu, struct launch *launch)
{
    const struct corun_grid *grid = launch->grid;
    struct launch_sample *sample = grid->operations->run_untimed ? calloc(1, sizeof *sample) : NULL;
    if (!sample)
        return; /* it is timed */
    launch->sample = sample;
    sample->group = group_of(gpu->sampling, grid);
    if (!sample->group) {
        free(sample);
        launch->sample = NULL;
        return;
    }
    struct sample_group *group = sample->group;
    group->period = ++gpu->sampling->launches - group->came;
    group->came = gpu->sampling->launches;
    kernel_counters(gpu, launch->kernel, &sample->before);
    note_overlaps(gpu, launch);
    if (untimed_ahead(gpu->sampling, group)) {
        sample->state = SAMPLE_SKIPPED;
        sample->until = launch->earliest;
        launch->tbs = 0;
        return;
    }
    uint64_t wave = (uint64_t)launch->kernel->tbs_per_sm * gpu->config.sms;
    if (group->overlaps || grid->tb_count / SHORTEST < wave)
        return;
    sample->state = SAMPLE_WATCHED;
    sample->wave = sample->next_mark = (uint32_t)wave;
}

/* Whether the waves that count agree, and what they say. */
static bool is_steady(const struct corun_gpu *gpu, const struct launch *launch)
{
    struct launch_sample *sample = launch->sample;
    uint32_t count = (sample->waves + 1) / 2; /* the first half warms up */
    if (count < FEWEST_WAVES)
        count = FEWEST_WAVES;
    if (count > RATIO_POINTS)
        count = RATIO_POINTS;
    if (sample->waves < count || sample->waves < launch->grid->tb_count / sample->wave / TIMED_PART)
        return false;
    struct ratio_point points[RATIO_POINTS];
    sample->rate_cycles = sample->rate_instructions = 0;
    for (uint32_t i = 0; i < count; i++) {
        points[i] = sample->points[(sample->waves - count + i) % RATIO_POINTS];
        sample->rate_cycles += points[i].cycles;
        sample->rate_instructions += points[i].instructions;
    }
    sample->margin_cycles = ratio_half_width_in_turn(points, count); /* a part of what will be estimated, for now */
    return ratio_half_width(points, count) <= gpu->sampling->settings.error;
}

static void end_wave(struct corun_gpu *gpu, struct launch *launch)
{
    struct launch_sample *sample = launch->sample;
    uint64_t instructions = kernel_instructions(gpu, launch->kernel).warp - sample->before.warp_instructions;
    if (sample->mark_cycle) {
        sample->points[sample->waves % RATIO_POINTS] =
            (struct ratio_point){gpu->now - sample->mark_cycle, instructions - sample->mark_instructions};
        sample->waves++;
    }
    sample->mark_cycle = gpu->now;
    sample->mark_instructions = instructions;
    sample->next_mark = launch->completed + sample->wave;
    bool worth = launch->grid->tb_count - launch->next_tb > sample->wave;
    if (!worth || launch->returned.count) {
        sample->state = worth ? SAMPLE_WATCHED : SAMPLE_TIMED;
    } else if (is_steady(gpu, launch)) {
        sample->state = SAMPLE_DRAINING;
        sample->stop_cycle = gpu->now;
        launch->tbs = launch->next_tb;
    }
}

void sampling_look(struct corun_gpu *gpu, struct launch *launch)
{
    struct launch_sample *sample = launch->sample;
    if (sample->state == SAMPLE_WATCHED && launch->completed >= sample->next_mark)
        end_wave(gpu, launch);
    if (sample->state != SAMPLE_DRAINING || launch->completed == launch->tbs)
        return;
    uint64_t patience = PATIENCE * (sample->stop_cycle - launch->first_cycle);
    if (patience > gpu->watchdog / 2)
        patience = gpu->watchdog / 2;
    if (gpu->now - sample->stop_cycle <= patience)
        return;
    time_in_full(gpu, launch); /* its thread blocks seem to wait for those that were not started */
}

/* What was timed of a launch, the whole launch or a part, tells of others. */
static void learn(struct corun_gpu *gpu, struct launch *launch, const struct corun_counters *timed)
{
    struct launch_sample *sample = launch->sample;
    struct sample_group *group = sample->group;
    uint64_t instructions = timed->warp_instructions + sample->rest.warp_instructions;
    struct sample_work work = {instructions, timed->thread_instructions + sample->rest.thread_instructions,
                               launch->longest_warp};
    uint32_t tbs = sample->estimated ? sample->tbs_before : launch->grid->tb_count;
    uint32_t kind = sample_group_kind(group, &work);
    if (kind == SAMPLE_NO_KIND)
        return; /* it tells nothing */
    sample_group_note(group, kind, work.warp);
    group->since_timed = 0;
    if (group->launches == 1) /* what a launch with cold caches was counted is not what others are */
        memset(&group->counters, 0, sizeof group->counters);
    corun_counters_add(&group->counters, timed);
    group->timed_warp_instructions += timed->warp_instructions;
    group->l2_bytes_per_tb = timed->l2_accesses * gpu->config.l2_sector_bytes / (tbs ? tbs : 1) + 1;
    group->timed += !sample->estimated;
    group->parted += sample->estimated;
    group->part_margin = ratio_join(group->part_margin, sample->margin_cycles);
    if (!group->launches) /* caches are cold */
        return;
    struct sampling *sampling = gpu->sampling;
    struct sample_timing timing = {.cycles = launch->last_cycle - launch->first_cycle, .margin = sample->margin_cycles};
    sampling->cycles += timing.cycles;
    sampling->cycles -= sample_group_learn(group, kind, &work, &timing, sampling->settings.error);
}

static void end(struct corun_gpu *gpu, struct launch *launch)
{
    struct launch_sample *sample = launch->sample;
    struct sample_group *group = sample->group;
    bool skipped = sample->estimated && !sample->tbs_before;
    struct corun_counters timed;
    counted(gpu, launch, &timed);
#define N(name, unit, meaning) timed.name -= sample->rest.name;
#include "corun/statistics.def"
#undef N
    if (!sample->estimated)
        sample->margin_cycles = 0;
    if (!skipped)
        learn(gpu, launch, &timed);
    group->launches++;
    group->cycles += launch->last_cycle - launch->first_cycle;
    group->estimated_cycles += sample->estimated_cycles;
    group->warp_instructions += timed.warp_instructions + sample->rest.warp_instructions;
}

/* The thread blocks that were not dispatched. */
static void finish(struct corun_gpu *gpu, uint32_t application, struct launch *launch)
{
    struct launch_sample *sample = launch->sample;
    struct corun_counters like;
    struct corun_untimed_result done;
    counted(gpu, launch, &like);
    sample->tbs_before = launch->tbs;
    if (!sample->group->l2_bytes_per_tb)
        sample->group->l2_bytes_per_tb = like.l2_accesses * gpu->config.l2_sector_bytes / launch->tbs + 1;
    if (!run_rest(gpu, application, launch, launch->tbs, true, &done))
        return;
    uint64_t cycles = ratio_scale(done.warp_instructions, sample->rate_cycles, sample->rate_instructions);
    sample->margin_cycles = ratio_scale(cycles, sample->margin_cycles, MILLION);
    take_estimate(gpu, launch, cycles, &done, &like);
}

uint64_t sampling_moment(const struct launch *launch)
{
    const struct launch_sample *sample = launch->sample;
    bool waits = sample && (sample->state == SAMPLE_SKIPPED || sample->state == SAMPLE_ESTIMATED);
    return waits ? sample->until : NEVER;
}

bool sampling_ends(struct corun_gpu *gpu, uint32_t application, struct launch *launch)
{
    if (sampling_moment(launch) != NEVER && sampling_moment(launch) > gpu->now)
        return false;
    if (launch->sample->state == SAMPLE_SKIPPED)
        skip(gpu, application, launch);
    else if (launch->tbs < launch->grid->tb_count)
        finish(gpu, application, launch);
    if (gpu->applications[application].state != CORUN_APPLICATION_RUNNING ||
        (launch->sample->state == SAMPLE_ESTIMATED && launch->sample->until > gpu->now))
        return false;
    end(gpu, launch);
    return true;
}

/* ---- what came of it ---- */

size_t sampling_groups(const struct sampling *sampling, struct corun_sampled_group *rows, size_t room)
{
    for (size_t i = 0; i < sampling->groups.count && i < room; i++) {
        const struct sample_group *group = sampling->groups.data[i];
        rows[i] = (struct corun_sampled_group){.name = group->name,
                                               .tb_count = group->tb_count,
                                               .tb_threads = group->tb_threads,
                                               .launches = group->launches,
                                               .timed = group->timed,
                                               .parted = group->parted,
                                               .cycles = group->cycles,
                                               .estimated_cycles = group->estimated_cycles,
                                               .margin_cycles = sample_group_margin(group),
                                               .warp_instructions = group->warp_instructions,
                                               .timed_warp_instructions = group->timed_warp_instructions};
    }
    return sampling->groups.count;
}

/* ---- checkpoints ---- */

/* The code of a group is named by a grid that has it. */
static void archive_code(struct corun_archive *archive, const struct corun_gpu *gpu, struct sample_group *group)
{
    const struct corun_checkpoints *checkpoints = &gpu->checkpoints;
    const struct corun_grid *grid = NULL;
    uint32_t application = 0;
    for (uint32_t a = 0; a < gpu->application_count && !archive->reads && !grid; a++) {
        application = a;
        for (uint32_t i = 0; (grid = checkpoints->grid(checkpoints->user, a, i)); i++)
            if (grid->code == group->code && !strcmp(grid->name, group->name))
                break;
    }
    ARCHIVE(archive, application);
    if (application >= gpu->application_count || (!archive->reads && !grid))
        archive_fail(archive, CORUN_SYNTAX, "a group of launches of no application");
    if (!archive_fine(archive))
        return;
    archive_grid(archive, gpu, application, &grid);
    if (!archive->reads || !archive_fine(archive))
        return;
    group->code = grid ? grid->code : NULL;
    group->name = grid ? strdup(grid->name) : NULL;
    if (!group->name)
        archive_fail(archive, grid ? CORUN_MEMORY : CORUN_SYNTAX, "a group of launches of nothing");
}

void sampling_archive(struct corun_archive *archive, struct corun_gpu *gpu)
{
    struct sampling *sampling = gpu->sampling;
    size_t count = sampling->groups.count;
    archive_section(archive, "sampling", 4);
    ARCHIVE(archive, sampling->cycles);
    ARCHIVE(archive, sampling->launches);
    archive_count(archive, &count, MOST_GROUPS);
    for (size_t i = 0; i < count && archive_fine(archive); i++) {
        struct sample_group *group = archive->reads ? calloc(1, sizeof *group) : sampling->groups.data[i];
        if (!group || (archive->reads && !vector_push(&sampling->groups, group))) {
            if (archive->reads)
                sample_group_destroy(group);
            archive_fail(archive, CORUN_MEMORY, "out of memory");
            return;
        }
        sample_group_archive(archive, group);
        archive_code(archive, gpu, group);
    }
}

void sampling_archive_launch(struct corun_archive *archive, const struct corun_gpu *gpu, struct launch *launch)
{
    static const struct archive_hole holes[] = {ARCHIVE_HOLE(struct launch_sample, group)};
    const struct sampling *sampling = gpu->sampling;
    struct launch_sample *sample = launch->sample;
    bool there = sample != NULL;
    size_t number = 0;
    ARCHIVE(archive, there);
    if (archive->reads)
        sample = launch->sample = there && archive_fine(archive) ? calloc(1, sizeof *sample) : NULL;
    if (there && !sample)
        archive_fail(archive, CORUN_MEMORY, "out of memory");
    if (!sample || !archive_fine(archive))
        return;
    ARCHIVE_LARGE_RECORD(archive, sample, holes);
    while (!archive->reads && sampling->groups.data[number] != sample->group)
        number++;
    archive_count(archive, &number, sampling->groups.count);
    if (archive->reads && archive_fine(archive) && number < sampling->groups.count)
        sample->group = sampling->groups.data[number];
    if (!sample->group || (sample->state == SAMPLE_WATCHED && !sample->wave))
        archive_fail(archive, CORUN_SYNTAX, "a launch of no group");
}
