/* SPDX-License-Identifier: MIT */
/*
 * A folder of records: KEY.record, and KEY.json where the workload cannot be replayed, which says why. One process records while the
 * others wait.
 */
#include "case/replay.h"

#include "case/cache_lock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096u
#define WAIT_MICROSECONDS 100000u

_Static_assert(CORUN_RECORD_KEY_BYTES == CONTENT_KEY_LENGTH, "keys of content are keys of records");

struct place {
    struct run *run;
    struct member *member;
    struct content_key key;
    char path[PATH_BYTES];
};

static enum corun_status find_place(struct run *run, struct member *member, struct place *place)
{
    *place = (struct place){.run = run, .member = member};
    struct content_digest *digest = content_digest_create();
    if (!digest)
        return CORUN_MEMORY;
    content_digest_add(digest, "kind", "record", strlen("record"));
    enum corun_status status = baseline_digest_workload(digest, member->workload, run->job->seed);
    place->key = content_digest_end(digest);
    int length = snprintf(place->path, sizeof place->path, "%s/%s.record", run->job->replay_directory, place->key.hex);
    if (status == CORUN_OK && (length < 0 || (size_t)length >= sizeof place->path))
        status = corun_report(run->list, CORUN_FILE, CORUN_NOWHERE, "%s: the name of the folder is too long",
                              run->job->replay_directory);
    return status;
}

static void tell(const struct place *place, const char *why)
{
    corun_report(place->run->list, CORUN_OK, CORUN_NOWHERE, "%s is executed, not replayed: %s",
                 place->member->request->workload, why);
}

/* The folder has its record, or says that there can be none. A record that cannot be used is as good as none, with a warning. */
static bool look(const struct place *place, struct corun_diagnostics *list)
{
    struct corun_diagnostics *own = corun_diagnostics_create();
    enum corun_status status = corun_record_open(place->path, place->key.hex, own, &place->member->record);
    if (status != CORUN_OK && status != CORUN_NOT_FOUND && corun_diagnostics_count(own))
        corun_report(list, CORUN_OK, CORUN_NOWHERE, "%s", corun_diagnostics_get(own, 0)->message);
    corun_diagnostics_destroy(own);
    if (status == CORUN_OK)
        return true;
    json_t *values = cache_load(place->run->job->replay_directory, &place->key, list);
    const char *why = json_string_value(json_object_get(values, "refused"));
    if (why)
        tell(place, why);
    json_decref(values);
    return why != NULL;
}

/* What a workload was refused for is kept, so that the next case need not find it out again. */
static enum corun_status refused(const struct place *place, const struct corun_diagnostics *own)
{
    const struct corun_diagnostic *first = corun_diagnostics_get(own, 0);
    char why[PATH_BYTES];
    const char *slash = first->place.file ? strrchr(first->place.file, '/') : NULL;
    const char *file = slash ? slash + 1 : first->place.file;
    if (file && first->place.line)
        snprintf(why, sizeof why, "%s (%s:%u)", first->message, file, first->place.line);
    else
        snprintf(why, sizeof why, "%s", first->message);
    json_t *values = json_pack("{s:s}", "refused", why);
    if (values)
        cache_store(place->run->job->replay_directory, &place->key, "why a workload is not replayed", values,
                    place->run->list);
    json_decref(values);
    tell(place, why);
    return CORUN_OK;
}

static enum corun_status record(const struct place *place)
{
    const struct run *run = place->run;
    struct corun_diagnostics *own = corun_diagnostics_create();
    if (!own)
        return CORUN_MEMORY;
    enum corun_status status =
        corun_record_write(place->member->workload, run->job->seed, place->path, place->key.hex, own);
    if (status == CORUN_UNSUPPORTED && corun_diagnostics_count(own))
        status = refused(place, own);
    else if (status == CORUN_FAULT) /* the run that follows will say it with its cycle */
        tell(place, "it is stopped by a fault");
    else
        diagnostics_pass_on(own, run->list);
    corun_diagnostics_destroy(own);
    if (status == CORUN_FAULT)
        return CORUN_OK;
    if (status == CORUN_OK)
        status = corun_record_open(place->path, place->key.hex, run->list, &place->member->record);
    return status == CORUN_NOT_FOUND ? CORUN_OK : status;
}

static enum corun_status find_record(struct run *run, struct member *member)
{
    struct place place;
    enum corun_status status = find_place(run, member, &place);
    if (status != CORUN_OK || look(&place, run->list))
        return status;
    for (;;) {
        struct cache_lock lock;
        int64_t touched;
        enum cache_lock_state state = cache_lock_try(run->job->replay_directory, &place.key, &lock, &touched);
        if (state == CACHE_LOCK_NONE)
            return corun_report(run->list, CORUN_FILE, CORUN_NOWHERE, "no record can be kept in %s: %s",
                                run->job->replay_directory, strerror(errno));
        if (state == CACHE_LOCK_OURS) {
            /* Somebody may have been faster between the look and the lock. */
            if (!look(&place, NULL))
                status = record(&place);
            cache_lock_release(&lock);
            return status;
        }
        if (!run_progress(run, "recorded", 0, 0, 0))
            return CORUN_OK;
        usleep(WAIT_MICROSECONDS);
        if (look(&place, NULL))
            return CORUN_OK;
    }
}

enum corun_status replay_find(struct run *run)
{
    enum corun_status status = CORUN_OK;
    if (!run->job->replay_directory)
        return CORUN_OK;
    for (uint32_t a = 0; a < run->job->application_count && status == CORUN_OK; a++) {
        struct member *member = &run->members[a];
        for (uint32_t other = 0; other < a; other++)
            if (run->members[other].workload == member->workload)
                member->record = run->members[other].record;
        if (member->owns_workload)
            status = find_record(run, member);
    }
    return status;
}
