/* SPDX-License-Identifier: MIT */
/* What a timeline has collected, to a checkpoint or from it. */
#include "base/archive.h"
#include "report/timeline_records.h"

#include <stdlib.h>
#include <string.h>

#define MOST_NAMES 100000u
#define MOST_NAME_BYTES 100000u
#define MOST_LAUNCHES 1000000u

/* Names of kernels: copies of them are in the arena, those from before stay there. */
static void archive_names(struct corun_archive *archive, struct timeline *timeline)
{
    size_t count = timeline->names.count;
    archive_count(archive, &count, MOST_NAMES);
    if (archive->reads)
        timeline->names.count = 0;
    for (size_t i = 0; i < count && archive_fine(archive); i++) {
        const char *name = archive->reads ? NULL : timeline->names.data[i];
        size_t bytes = name ? strlen(name) : 0;
        archive_count(archive, &bytes, MOST_NAME_BYTES);
        char *text = archive_fine(archive) ? arena_allocate(timeline->arena, bytes + 1) : NULL;
        if (!text) {
            archive_fail(archive, CORUN_MEMORY, "out of memory");
            return;
        }
        if (name)
            memcpy(text, name, bytes);
        archive_bytes(archive, text, bytes);
        text[bytes] = 0;
        if (archive->reads && !vector_push(&timeline->names, (const char *)text))
            archive_fail(archive, CORUN_MEMORY, "out of memory");
    }
}

/* Gives the reader room for as many records as are in the file. False: nothing more is to be done with them. */
static bool archive_series(struct corun_archive *archive, struct series *series)
{
    size_t count = series->count;
    archive_count(archive, &count, series->limit);
    ARCHIVE(archive, series->seen);
    ARCHIVE(archive, series->mask);
    if (!archive_fine(archive) || !archive->reads)
        return archive_fine(archive);
    series_free(series);
    series->data = count ? calloc(count, series->record_bytes) : NULL;
    series->count = series->capacity = series->data ? count : 0;
    if (count && !series->data)
        archive_fail(archive, CORUN_MEMORY, "out of memory");
    return archive_fine(archive);
}

#define ARCHIVE_SERIES(archive, series, type) \
    for (size_t i = 0, count = archive_series(archive, series) ? (series)->count : 0; i < count; i++) \
        ARCHIVE_PLAIN(archive, (type *)series_at(series, i));

/* Records that end with an array, and have nothing between their members. */
static void archive_samples(struct corun_archive *archive, struct series *series)
{
    if (archive_series(archive, series))
        archive_bytes(archive, series->data, series->count * series->record_bytes);
}

static void archive_all_series(struct corun_archive *archive, struct timeline *timeline)
{
    ARCHIVE_SERIES(archive, &timeline->tbs, struct tb_slice)
    ARCHIVE_SERIES(archive, &timeline->launches, struct launch_slice)
    ARCHIVE_SERIES(archive, &timeline->moments, struct moment)
    ARCHIVE_SERIES(archive, &timeline->epochs, struct epoch_slice)
    ARCHIVE_SERIES(archive, &timeline->states, struct sm_slice)
    archive_samples(archive, &timeline->samples);
    archive_samples(archive, &timeline->variables);
}

static void archive_sms(struct corun_archive *archive, struct timeline *timeline)
{
    size_t entries = (size_t)timeline->sms * timeline->settings.application_count;
    for (size_t i = 0; i < (size_t)timeline->sms * timeline->tracks; i++)
        ARCHIVE_PLAIN(archive, &timeline->residents[i]);
    for (uint32_t sm = 0; sm < timeline->sms; sm++)
        ARCHIVE_PLAIN(archive, &timeline->state[sm]);
    archive_bytes(archive, timeline->tracks_used, timeline->sms * sizeof *timeline->tracks_used);
    archive_bytes(archive, timeline->tb_limit, entries * sizeof *timeline->tb_limit);
    archive_bytes(archive, timeline->order, entries * sizeof *timeline->order);
    archive_bytes(archive, timeline->exclusive, timeline->sms * sizeof *timeline->exclusive);
}

static bool is_known(const struct timeline *timeline, uint32_t name, uint32_t application)
{
    return name < timeline->names.count && application < timeline->settings.application_count;
}

/* Numbers that lead to something else. */
static bool makes_sense(const struct timeline *timeline)
{
    bool good = true;
    for (size_t i = 0; i < timeline->tbs.count; i++) {
        const struct tb_slice *tb = series_at(&timeline->tbs, i);
        good = good && is_known(timeline, tb->name, tb->application) && tb->sm < timeline->sms;
    }
    for (size_t i = 0; i < timeline->launches.count; i++) {
        const struct launch_slice *launch = series_at(&timeline->launches, i);
        good = good && is_known(timeline, launch->name, launch->application);
    }
    for (size_t i = 0; i < timeline->running.count; i++)
        good = good && is_known(timeline, timeline->running.data[i].name, timeline->running.data[i].application);
    for (size_t i = 0; i < (size_t)timeline->sms * timeline->tracks; i++) {
        const struct resident_tb *tb = &timeline->residents[i];
        good = good && (!tb->launch || is_known(timeline, tb->name, tb->application));
    }
    for (uint32_t sm = 0; sm < timeline->sms; sm++)
        good = good && timeline->tracks_used[sm] <= timeline->tracks && timeline->state[sm].sm == sm;
    return good;
}

void timeline_archive(void *user, struct corun_archive *archive)
{
    static const struct archive_hole holes[] = {
        ARCHIVE_HOLE(struct timeline, settings),  ARCHIVE_HOLE(struct timeline, arena),
        ARCHIVE_HOLE(struct timeline, names),     ARCHIVE_HOLE(struct timeline, tbs),
        ARCHIVE_HOLE(struct timeline, launches),  ARCHIVE_HOLE(struct timeline, moments),
        ARCHIVE_HOLE(struct timeline, epochs),    ARCHIVE_HOLE(struct timeline, samples),
        ARCHIVE_HOLE(struct timeline, states),    ARCHIVE_HOLE(struct timeline, variables),
        ARCHIVE_HOLE(struct timeline, residents), ARCHIVE_HOLE(struct timeline, tracks_used),
        ARCHIVE_HOLE(struct timeline, running),   ARCHIVE_HOLE(struct timeline, state),
        ARCHIVE_HOLE(struct timeline, values),    ARCHIVE_HOLE(struct timeline, tb_limit),
        ARCHIVE_HOLE(struct timeline, order),     ARCHIVE_HOLE(struct timeline, exclusive),
        ARCHIVE_HOLE(struct timeline, sample)};
    struct timeline *timeline = user;
    archive_section(archive, "timeline", 1);
    archive_same(archive, timeline->sms, "SMs");
    archive_same(archive, timeline->tracks, "thread blocks of an SM");
    ARCHIVE_RECORD(archive, timeline, holes);
    archive_names(archive, timeline);
    archive_all_series(archive, timeline);
    if (ARCHIVE_VECTOR(archive, &timeline->running, MOST_LAUNCHES))
        for (size_t i = 0; i < timeline->running.count; i++)
            ARCHIVE_PLAIN(archive, &timeline->running.data[i]);
    archive_sms(archive, timeline);
    archive_bytes(archive, timeline->sample, timeline->samples.record_bytes);
    archive_bytes(archive, timeline->values, timeline->variables.record_bytes);
    if (archive->reads && archive_fine(archive) && !makes_sense(timeline))
        archive_fail(archive, CORUN_SYNTAX, "a timeline of thread blocks that cannot be");
}
