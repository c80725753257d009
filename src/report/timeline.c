/* SPDX-License-Identifier: MIT */
/*
 * Collecting a timeline. Thread blocks get a track of their SM for as long as they are there, so that slices never
 * overlap.
 */
#include "report/timeline_records.h"

#include "base/later.h"

#include <stdlib.h>
#include <string.h>

/*
 * Of the limit: a half for thread blocks, a quarter for samples, an eighth for launches (two slices each), a sixteenth
 * each for moments and epochs and for states of SMs and variables.
 */
static bool set_limits(struct timeline *timeline)
{
    uint64_t limit = timeline->settings.limit;
    uint32_t applications = timeline->settings.application_count;
    size_t sample_bytes = sizeof(struct timeline_sample) + applications * sizeof(struct application_sample);
    series_init(&timeline->tbs, sizeof(struct tb_slice), limit / 2);
    series_init(&timeline->launches, sizeof(struct launch_slice), limit / 16);
    series_init(&timeline->moments, sizeof(struct moment),
                limit * 3 / 64 / (1 + applications / 2)); /* their lines are longer */
    series_init(&timeline->epochs, sizeof(struct epoch_slice), limit / 64);
    series_init(&timeline->samples, sample_bytes, limit / 4 / (3 + 3 * applications));
    timeline->sample = arena_allocate(timeline->arena, sample_bytes);
    return timeline->sample && timeline_states_create(timeline, limit / 16);
}

struct timeline *timeline_create(const struct timeline_settings *settings)
{
    struct timeline *timeline = calloc(1, sizeof *timeline);
    if (!timeline)
        return NULL;
    uint32_t sms = timeline->sms = settings->gpu->sms;
    uint32_t entries = sms * settings->application_count;
    timeline->settings = *settings;
    timeline->tracks = settings->gpu->tbs_per_sm;
    timeline->arena = arena_create();
    if (timeline->arena && set_limits(timeline)) {
        timeline->residents = ARENA_ARRAY(timeline->arena, struct resident_tb, (size_t)sms * timeline->tracks);
        timeline->tracks_used = ARENA_ARRAY(timeline->arena, uint32_t, sms);
        timeline->tb_limit = ARENA_ARRAY(timeline->arena, uint32_t, entries);
        timeline->order = ARENA_ARRAY(timeline->arena, uint32_t, entries);
        timeline->exclusive = ARENA_ARRAY(timeline->arena, bool, sms);
    }
    if (!timeline->residents || !timeline->tracks_used || !timeline->tb_limit || !timeline->order ||
        !timeline->exclusive) {
        timeline_destroy(timeline);
        return NULL;
    }
    memset(timeline->tb_limit, 0xff, entries * sizeof *timeline->tb_limit); /* CORUN_UNLIMITED: nobody limits yet */
    return timeline;
}

void timeline_destroy(struct timeline *timeline)
{
    if (!timeline)
        return;
    series_free(&timeline->tbs);
    series_free(&timeline->launches);
    series_free(&timeline->moments);
    series_free(&timeline->epochs);
    series_free(&timeline->samples);
    series_free(&timeline->states);
    series_free(&timeline->variables);
    vector_free(&timeline->names);
    vector_free(&timeline->running);
    arena_destroy(timeline->arena);
    free(timeline);
}

void timeline_add(struct timeline *timeline, struct series *series, const void *record)
{
    if (!series_add(series, record))
        timeline->failed = true;
}

/* A kernel's name outlives its grid here. Kernels are few. */
static uint32_t name_of(struct timeline *timeline, const struct corun_grid *grid)
{
    for (size_t i = 0; i < timeline->names.count; i++) {
        if (!strcmp(timeline->names.data[i], grid->name))
            return (uint32_t)i;
    }
    const char *name = arena_copy_text(timeline->arena, grid->name, strlen(grid->name));
    if (!name || !vector_push(&timeline->names, name)) {
        timeline->failed = true;
        return 0;
    }
    return (uint32_t)timeline->names.count - 1;
}

bool timeline_in_range(const struct timeline *timeline, uint64_t start, uint64_t end)
{
    return start < end && end > timeline->settings.first_cycle && start <= timeline->settings.last_cycle;
}

/* ---- thread blocks ---- */

/* NULL if it is not in flight, as far as we were told. */
static struct launch_slice *launch_of(const struct timeline *timeline, uint64_t number)
{
    for (size_t i = 0; i < timeline->running.count; i++)
        if (timeline->running.data[i].number == number)
            return &timeline->running.data[i];
    return NULL;
}

static void enter(struct timeline *timeline, const struct corun_observation *seen, enum tb_phase phase)
{
    struct launch_slice *launch = launch_of(timeline, seen->launch);
    if (launch && seen->cycle < launch->first_tb)
        launch->first_tb = seen->cycle;
    struct resident_tb *tracks = &timeline->residents[seen->sm * timeline->tracks];
    for (uint32_t track = 0; track < timeline->tracks; track++) {
        if (tracks[track].launch)
            continue;
        tracks[track] = (struct resident_tb){.launch = seen->launch,
                                             .start = seen->cycle,
                                             .tb = seen->tb,
                                             .name = launch ? launch->name : 0,
                                             .application = (uint8_t)seen->application,
                                             .phase = (uint8_t)phase};
        if (track >= timeline->tracks_used[seen->sm])
            timeline->tracks_used[seen->sm] = track + 1;
        return;
    }
}

/* NULL if we were never told that it is there. */
static struct resident_tb *find_tb(const struct timeline *timeline, const struct corun_observation *seen)
{
    struct resident_tb *tracks = &timeline->residents[seen->sm * timeline->tracks];
    for (uint32_t track = 0; track < timeline->tracks; track++) {
        if (tracks[track].launch == seen->launch && tracks[track].tb == seen->tb)
            return &tracks[track];
    }
    return NULL;
}

/* One that ends with its phase leaves its track, unless another phase begins. */
static void end_phase(struct timeline *timeline, struct resident_tb *tb, uint64_t end, enum slice_end how)
{
    uint32_t place = (uint32_t)(tb - timeline->residents);
    struct tb_slice slice = {.key = series_hash(tb->launch << 32 ^ tb->tb),
                             .start = tb->start,
                             .end = end,
                             .launch = tb->launch,
                             .tb = tb->tb,
                             .name = tb->name,
                             .sm = place / timeline->tracks,
                             .track = (uint8_t)(place % timeline->tracks),
                             .application = tb->application,
                             .how = (uint8_t)how,
                             .phase = tb->phase};
    if (timeline_in_range(timeline, slice.start, slice.end))
        timeline_add(timeline, &timeline->tbs, &slice);
    if (slice.start < slice.end) /* else it was on its way when its application was stopped */
        timeline->tb_cycles[slice.application] += slice.end - slice.start;
    tb->launch = 0;
}

static void tb_leaves(struct timeline *timeline, const struct corun_observation *seen)
{
    struct resident_tb *tb = find_tb(timeline, seen);
    if (!tb)
        return;
    end_phase(timeline, tb, seen->cycle, SLICE_COMPLETE);
    struct launch_slice *launch = launch_of(timeline, seen->launch);
    if (launch && seen->kind == CORUN_OBSERVED_TB_END)
        launch->tbs_completed++;
}

/* It stops, or resumes. */
static void next_phase(struct timeline *timeline, const struct corun_observation *seen, enum tb_phase phase)
{
    struct resident_tb *tb = find_tb(timeline, seen);
    if (!tb)
        return;
    struct resident_tb next = *tb;
    end_phase(timeline, tb, seen->cycle, phase == TB_IS_SAVED ? SLICE_PREEMPTED : SLICE_COMPLETE);
    next.start = seen->cycle;
    next.phase = (uint8_t)phase;
    *tb = next;
}

/* ---- launches ---- */

static void launch_start(struct timeline *timeline, const struct corun_observation *seen)
{
    struct launch_slice launch = {.key = series_hash(seen->launch),
                                  .number = seen->launch,
                                  .earliest = seen->cycle,
                                  .first_tb = NO_CYCLE,
                                  .end = NO_CYCLE,
                                  .tbs = seen->grid->tb_count,
                                  .tb_threads = seen->grid->tb_threads,
                                  .name = name_of(timeline, seen->grid),
                                  .application = (uint8_t)seen->application};
    if (!vector_push(&timeline->running, launch))
        timeline->failed = true;
}

/* Thread blocks that are still there: their application was stopped, or the run is over. */
static void end_residents(struct timeline *timeline, uint64_t launch, uint64_t cycle, enum slice_end how)
{
    for (uint32_t i = 0; i < timeline->sms * timeline->tracks; i++) {
        if (timeline->residents[i].launch == launch)
            end_phase(timeline, &timeline->residents[i], cycle, how);
    }
}

static void end_launch(struct timeline *timeline, struct launch_slice *launch, uint64_t cycle, enum slice_end how)
{
    launch->end = cycle;
    launch->how = (uint8_t)how;
    if (launch->tbs_completed < launch->tbs)
        end_residents(timeline, launch->number, cycle, how);
    if (launch->first_tb > cycle) /* its first ones were on their way */
        launch->first_tb = NO_CYCLE;
    if (timeline_in_range(timeline, launch->earliest, launch->end))
        timeline_add(timeline, &timeline->launches, launch);
    *launch = timeline->running.data[--timeline->running.count];
}

static void launch_end(struct timeline *timeline, const struct corun_observation *seen)
{
    struct launch_slice *launch = launch_of(timeline, seen->launch);
    if (launch)
        end_launch(timeline, launch, seen->cycle, launch->tbs_completed < launch->tbs ? SLICE_STOPPED : SLICE_COMPLETE);
}

void timeline_close(struct timeline *timeline)
{
    while (timeline->running.count) {
        struct launch_slice *first = &timeline->running.data[0];
        for (size_t i = 1; i < timeline->running.count; i++)
            if (timeline->running.data[i].application < first->application)
                first = &timeline->running.data[i];
        end_launch(timeline, first, timeline->end_cycle, SLICE_UNFINISHED);
    }
    timeline_close_states(timeline);
}

/* ---- moments ---- */

static void look_at_allowances(struct timeline *timeline, const struct corun_allowances *allowances,
                               struct moment *moment)
{
    uint32_t applications = timeline->settings.application_count;
    size_t entries = (size_t)timeline->sms * applications;
    moment->changed = memcmp(timeline->tb_limit, allowances->tb_limit, entries * sizeof *timeline->tb_limit) ||
                      memcmp(timeline->order, allowances->order, entries * sizeof *timeline->order) ||
                      memcmp(timeline->exclusive, allowances->exclusive, timeline->sms * sizeof *timeline->exclusive);
    if (!moment->changed)
        return;
    memcpy(timeline->tb_limit, allowances->tb_limit, entries * sizeof *timeline->tb_limit);
    memcpy(timeline->order, allowances->order, entries * sizeof *timeline->order);
    memcpy(timeline->exclusive, allowances->exclusive, timeline->sms * sizeof *timeline->exclusive);
    for (uint32_t a = 0; a < applications; a++)
        moment->allowances[a].lowest = CORUN_UNLIMITED;
    for (uint32_t s = 0; s < timeline->sms; s++) {
        moment->exclusive_sms += allowances->exclusive[s];
        for (uint32_t a = 0; a < applications; a++) {
            struct allowance *allowance = &moment->allowances[a];
            uint32_t limit = allowances->tb_limit[s * applications + a];
            if (!limit)
                continue;
            allowance->sms++;
            allowance->lowest = limit < allowance->lowest ? limit : allowance->lowest;
            allowance->highest = limit > allowance->highest ? limit : allowance->highest;
        }
    }
}

/* Kept: what changed an allowance, and of the rest what does not show in the other tracks. */
static void see_moment(struct timeline *timeline, const struct corun_observation *seen)
{
    struct moment moment = {.key = series_hash(timeline->moments.seen),
                            .cycle = seen->cycle,
                            .event = seen->event,
                            .sm = seen->sm,
                            .application = seen->application};
    if (seen->allowances) {
        look_at_allowances(timeline, seen->allowances, &moment);
        timeline_see_states(timeline, seen->allowances, seen->cycle);
        timeline_see_variables(timeline, seen->allowances->variables, seen->cycle);
    }
    if (seen->event == CORUN_EVENT_EPOCH)
        timeline_see_epoch(timeline, seen->cycle);
    bool quiet = seen->event == CORUN_EVENT_KERNEL_START || seen->event == CORUN_EVENT_EPOCH ||
                 seen->event == CORUN_EVENT_TB_COMPLETE;
    if (timeline_in_range(timeline, seen->cycle, seen->cycle + 1) && (moment.changed || !quiet))
        timeline_add(timeline, &timeline->moments, &moment);
}

/* ---- samples ---- */

static void count_residents(const struct timeline *timeline, uint64_t cycle, struct application_sample *samples)
{
    for (uint32_t sm = 0; sm < timeline->sms; sm++) {
        const struct resident_tb *tracks = &timeline->residents[sm * timeline->tracks];
        bool here[CORUN_MAX_APPLICATIONS] = {false};
        for (uint32_t track = 0; track < timeline->tracks_used[sm]; track++) {
            if (!tracks[track].launch || tracks[track].start > cycle)
                continue;
            samples[tracks[track].application].tb_cycles += cycle - tracks[track].start;
            samples[tracks[track].application].sms += !here[tracks[track].application];
            here[tracks[track].application] = true;
        }
    }
}

/*
 * Rates are differences between samples: the last one before the range and the first one after it are kept, too, and
 * `sample` always holds the latest, which may have been left out.
 */
static void see_sample(struct timeline *timeline, const struct corun_gpu *gpu, uint64_t cycle)
{
    struct timeline_sample *sample = timeline->sample;
    struct corun_memory_result before = sample->memory;
    bool first = !timeline->samples.seen;
    timeline->end_cycle = cycle;
    if (!first && (cycle == sample->cycle || sample->cycle > timeline->settings.last_cycle))
        return;
    if (cycle <= timeline->settings.first_cycle)
        timeline->samples.count = timeline->samples.seen = 0;
    *sample = (struct timeline_sample){
        .key = timeline->samples.seen, .cycle = cycle, .powered_sms = timeline_powered_sms(timeline)};
    corun_gpu_memory(gpu, &sample->memory);
    /*
     * What is under way at this cycle is counted with a reserve: never more than it is, but now and then less than
     * before.
     */
    sample->memory.dram_busy_cycles = later(sample->memory.dram_busy_cycles, before.dram_busy_cycles);
    sample->memory.icnt_busy_cycles = later(sample->memory.icnt_busy_cycles, before.icnt_busy_cycles);
    for (uint32_t a = 0; a < timeline->settings.application_count; a++) {
        struct corun_application_result result;
        corun_gpu_application(gpu, a, &result);
        sample->applications[a] = (struct application_sample){.thread_instructions = result.thread_instructions,
                                                              .tb_cycles = timeline->tb_cycles[a]};
    }
    count_residents(timeline, cycle, sample->applications);
    timeline_add(timeline, &timeline->samples, sample);
}

void timeline_see(void *user, const struct corun_gpu *gpu, const struct corun_observation *seen)
{
    struct timeline *timeline = user;
    switch (seen->kind) {
    case CORUN_OBSERVED_LAUNCH_START:
        launch_start(timeline, seen);
        break;
    case CORUN_OBSERVED_LAUNCH_END:
        launch_end(timeline, seen);
        break;
    case CORUN_OBSERVED_TB_START:
        enter(timeline, seen, TB_RUNS);
        break;
    case CORUN_OBSERVED_TB_RESTORING:
        enter(timeline, seen, TB_IS_RESTORED);
        break;
    case CORUN_OBSERVED_TB_PREEMPTED:
        next_phase(timeline, seen, TB_IS_SAVED);
        break;
    case CORUN_OBSERVED_TB_RESUMED:
        next_phase(timeline, seen, TB_RUNS);
        break;
    case CORUN_OBSERVED_TB_SAVED:
    case CORUN_OBSERVED_TB_END:
        tb_leaves(timeline, seen);
        break;
    case CORUN_OBSERVED_POWER:
        timeline_see_power(timeline, seen->sm, seen->powered, seen->cycle);
        break;
    case CORUN_OBSERVED_MOMENT:
        see_moment(timeline, seen);
        break;
    case CORUN_OBSERVED_SAMPLE:
        see_sample(timeline, gpu, seen->cycle);
        break;
    }
}
