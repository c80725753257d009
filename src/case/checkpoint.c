/* SPDX-License-Identifier: MIT */
/* What a checkpoint of a case is known by, what belongs to it beside the GPU, and in which order that is moved. */
#include "case/checkpoint.h"

#include "base/checkpoint_file.h"
#include "case/cache.h"
#include "case/fingerprint.h"
#include "case/settle.h"
#include "corun/checkpoint.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_MESSAGES 1000u
#define TEXT_BYTES 4096u

struct checkpointing {
    struct run *run;
    struct checkpoint_identity identity;
    struct checkpoint_reader *reader; /* NULL: the run begins at cycle 0 */
    size_t first_message;             /* of the shared run */
    uint64_t planned;                 /* the next cycle that was asked for; UINT64_MAX: none */
    uint64_t saved; /* the cycle of the last one, or of the one that the run continues from; 0: neither */
    double written; /* on run_clock(): the last one, or the begin of the run */
};

#define CYCLES_BETWEEN_LOOKS 10000u /* at the time of the host */

/* ---- identity ---- */

static void identify_number(struct checkpoint_identity *identity, const char *name, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, value);
    checkpoint_identify(identity, name, text);
}

static bool identify_digest(struct checkpoint_identity *identity, const char *name, struct content_digest *digest)
{
    if (!digest)
        return false;
    struct content_key key = content_digest_end(digest);
    checkpoint_identify(identity, name, key.hex);
    return true;
}

static bool identify_application(struct checkpoint_identity *identity, const struct run *run, uint32_t index)
{
    const struct member *member = &run->members[index];
    const struct corun_case_application *application = member->request;
    struct content_digest *digest = content_digest_create();
    char name[CHECKPOINT_NAME_BYTES];
    if (!digest)
        return false;
    if (baseline_digest_workload(digest, member->workload, run->job->seed) != CORUN_OK) {
        content_digest_end(digest);
        return false;
    }
    content_digest_add_number(digest, "goal", application->goal);
    content_digest_add(digest, "goal value", &application->goal_value, sizeof application->goal_value);
    content_digest_add(digest, "transfer", &application->transfer_milliseconds,
                       sizeof application->transfer_milliseconds);
    content_digest_add_number(digest, "start", application->start_cycle);
    snprintf(name, sizeof name, "the name of application %u", index + 1);
    checkpoint_identify(identity, name, member->info.name);
    snprintf(name, sizeof name, "application %u", index + 1);
    return identify_digest(identity, name, digest);
}

static bool identify_policy(struct checkpoint_identity *identity, const struct corun_case *job)
{
    const struct corun_policy *policy = job->policy;
    checkpoint_identify(identity, "its policy", policy ? policy->name : CORUN_NO_POLICY);
    if (!policy)
        return true;
    checkpoint_identify(identity, "the code of the policies", policy_fingerprint());
    struct content_digest *digest = content_digest_create();
    for (uint32_t i = 0; digest && i < policy->parameter_count; i++) {
        double value = job->parameters ? job->parameters[i] : policy->parameters[i].initial;
        content_digest_add(digest, policy->parameters[i].name, &value, sizeof value);
    }
    return identify_digest(identity, "a parameter of its policy", digest);
}

static bool identify(struct checkpoint_identity *identity, const struct run *run)
{
    const struct corun_case *job = run->job;
    struct content_digest *gpu = content_digest_create();
    if (gpu)
        baseline_digest_gpu(gpu, job->gpu);
    checkpoint_identify(identity, "the code of corun", model_fingerprint());
    identify_number(identity, "the number of its applications", job->application_count);
    checkpoint_identify(identity, "the name of its GPU", job->gpu->name);
    bool whole = identify_digest(identity, "a parameter of its GPU", gpu) && identify_policy(identity, job);
    identify_number(identity, "its window in cycles", job->cycles);
    identify_number(identity, "its window in instructions", job->thread_instructions);
    identify_number(identity, "its window in runs", job->runs);
    identify_number(identity, "the watchdog", job->watchdog_cycles);
    char sampling[CHECKPOINT_VALUE_BYTES] = "none";
    if (job->sampling)
        snprintf(sampling, sizeof sampling, "error=%" PRIu32 "/1000000,every=%" PRIu32, job->sampling->error,
                 job->sampling->every);
    checkpoint_identify(identity, "its sampling", sampling);
    identify_number(identity, "when it has settled, in millionths", job->settle);
    checkpoint_identify(identity, "its trace", job->trace ? job->trace_keeper.settings : "none");
    checkpoint_identify(identity, "its timeline", job->observe ? job->observe_keeper.settings : "none");
    identify_number(identity, "its seed", job->seed);
    checkpoint_identify(identity, "whether it has a profile", job->profile ? "yes" : "no");
    checkpoint_identify(identity, "whether it has a history", job->no_history ? "no" : "yes");
    for (uint32_t a = 0; a < job->application_count; a++)
        whole = whole && identify_application(identity, run, a);
    return whole;
}

/* ---- what is moved ---- */

/* Messages of the shared run so far; those from before are made again. */
static void archive_messages(struct corun_archive *archive, struct checkpointing *checkpointing)
{
    struct corun_diagnostics *list = checkpointing->run->list;
    size_t count = list && !archive->reads ? corun_diagnostics_count(list) - checkpointing->first_message : 0;
    archive_section(archive, "messages", 1);
    archive_count(archive, &count, MOST_MESSAGES);
    for (size_t i = 0; i < count && archive_fine(archive); i++) {
        char file[TEXT_BYTES] = {0}, message[TEXT_BYTES] = {0};
        struct corun_diagnostic one = {.status = CORUN_OK};
        if (!archive->reads)
            one = *corun_diagnostics_get(list, checkpointing->first_message + i);
        snprintf(file, sizeof file, "%s", one.place.file ? one.place.file : "");
        snprintf(message, sizeof message, "%s", one.message ? one.message : "");
        uint32_t status = (uint32_t)one.status;
        ARCHIVE(archive, status);
        ARCHIVE(archive, one.place.line);
        ARCHIVE(archive, one.place.column);
        ARCHIVE(archive, file);
        ARCHIVE(archive, message);
        file[sizeof file - 1] = message[sizeof message - 1] = 0;
        if (archive->reads && archive_fine(archive) && status < CORUN_STATUS_COUNT)
            corun_report(list, (enum corun_status)status,
                         (struct corun_place){file[0] ? file : NULL, one.place.line, one.place.column}, "%s", message);
    }
}

/* Everything of the shared run. */
static void archive_run(struct corun_archive *archive, struct checkpointing *checkpointing, struct corun_gpu *gpu)
{
    struct run *run = checkpointing->run;
    for (uint32_t a = 0; a < run->job->application_count && archive_fine(archive); a++) {
        corun_instance_archive(run->members[a].instance, archive);
        ARCHIVE(archive, run->members[a].restarts);
    }
    corun_gpu_archive(gpu, archive);
    if (run->settling && archive_fine(archive))
        settling_archive(archive, run->settling);
    if (run->job->application_count == 1 && archive_fine(archive))
        ARCHIVE(archive, run->curve);
    if (run->history && archive_fine(archive))
        history_archive(archive, run->history, gpu);
    if (run->job->trace && archive_fine(archive))
        run->job->trace_keeper.archive(run->job->trace_user, archive);
    if (run->job->observe && archive_fine(archive))
        run->job->observe_keeper.archive(run->job->observe_user, archive);
    archive_messages(archive, checkpointing);
    archive_section(archive, "end", 1);
}

static enum corun_status resume(void *user, struct corun_gpu *gpu)
{
    struct checkpointing *checkpointing = user;
    struct checkpoint_reader *reader = checkpointing->reader;
    archive_run(checkpoint_reader_archive(reader), checkpointing, gpu);
    checkpointing->reader = NULL;
    return checkpoint_read_end(reader, checkpointing->run->list);
}

static uint64_t next_cycle(const struct corun_case *job, uint64_t now)
{
    uint64_t next = UINT64_MAX;
    if (job->checkpoint_every)
        next = (now / job->checkpoint_every + 1) * job->checkpoint_every;
    if (job->checkpoint_cycle > now && job->checkpoint_cycle < next)
        next = job->checkpoint_cycle;
    return next;
}

/* When to look again whether it is time for one. */
static uint64_t plan(struct checkpointing *checkpointing, uint64_t now)
{
    const struct corun_case *job = checkpointing->run->job;
    checkpointing->planned = next_cycle(job, now);
    bool by_time = job->checkpoint_seconds > 0 && checkpointing->planned - now > CYCLES_BETWEEN_LOOKS;
    return by_time ? now + CYCLES_BETWEEN_LOOKS : checkpointing->planned;
}

static bool is_due(const struct checkpointing *checkpointing, uint64_t now)
{
    double seconds = checkpointing->run->job->checkpoint_seconds;
    return now >= checkpointing->planned || (seconds > 0 && run_clock() - checkpointing->written >= seconds);
}

static enum corun_status save(void *user, struct corun_gpu *gpu, bool last, uint64_t *next)
{
    struct checkpointing *checkpointing = user;
    const struct corun_case *job = checkpointing->run->job;
    struct checkpoint_writer *writer;
    uint64_t now = corun_gpu_cycles(gpu);
    bool due = last || is_due(checkpointing, now);
    *next = plan(checkpointing, now);
    if (!due)
        return CORUN_OK;
    checkpointing->written = run_clock();
    enum corun_status status =
        checkpoint_write(job->checkpoint_file, &checkpointing->identity, now, checkpointing->run->list, &writer);
    if (status != CORUN_OK)
        return status;
    archive_run(checkpoint_writer_archive(writer), checkpointing, gpu);
    checkpointing->saved = now;
    return checkpoint_write_end(writer, checkpointing->run->list);
}

static const struct corun_grid *grid(void *user, uint32_t application, uint32_t number)
{
    const struct checkpointing *checkpointing = user;
    return corun_instance_grid_numbered(checkpointing->run->members[application].instance, number);
}

/* ---- begin and end ---- */

static enum corun_status check_possible(const struct run *run, struct corun_diagnostics *list)
{
    const struct corun_case *job = run->job;
    const char *what = job->trace && !job->trace_keeper.archive       ? "a trace of this kind"
                       : job->observe && !job->observe_keeper.archive ? "an observer of this kind"
                                                                      : NULL;
    if (what)
        return corun_report(list, CORUN_UNSUPPORTED, CORUN_NOWHERE, "there are no checkpoints of a run with %s", what);
    if (job->replay_directory)
        return corun_report(list, CORUN_UNSUPPORTED, CORUN_NOWHERE,
                            "there are no checkpoints of a run that is replayed");
    if (job->policy && corun_policy_find(job->policy->name) != job->policy)
        return corun_report(
            list, CORUN_UNSUPPORTED, CORUN_NOWHERE,
            "there are no checkpoints under policy %s: what the state of a policy of yours holds, and where it "
            "points, is not known",
            job->policy->name);
    return CORUN_OK;
}

/* A run that has written none yet begins: the same command line can be given again and again. */
static bool is_first(const struct corun_case *job)
{
    FILE *file =
        job->checkpoint_file && !strcmp(job->checkpoint_file, job->resume_file) ? fopen(job->resume_file, "rb") : stdin;
    if (file && file != stdin)
        fclose(file);
    return !file;
}

enum corun_status checkpointing_create(struct run *run, struct checkpointing **result)
{
    const struct corun_case *job = run->job;
    *result = NULL;
    if (!job->checkpoint_file && !job->resume_file)
        return CORUN_OK;
    enum corun_status status = check_possible(run, job->checkpoint_optional ? NULL : run->list);
    if (status != CORUN_OK)
        return job->checkpoint_optional ? CORUN_OK : status;
    struct checkpointing *checkpointing = calloc(1, sizeof *checkpointing);
    if (!checkpointing || !identify(&checkpointing->identity, run)) {
        free(checkpointing);
        return CORUN_MEMORY;
    }
    checkpointing->run = run;
    if (job->checkpoint_file)
        status = checkpoint_try(job->checkpoint_file, run->list);
    if (status == CORUN_OK && job->resume_file && !is_first(job))
        status = checkpoint_read(job->resume_file, run->list, &checkpointing->reader);
    if (status == CORUN_OK && checkpointing->reader)
        status = checkpoint_check(checkpointing->reader, &checkpointing->identity, run->list);
    if (status == CORUN_OK)
        *result = checkpointing;
    else
        checkpointing_destroy(checkpointing);
    return status;
}

void checkpointing_destroy(struct checkpointing *checkpointing)
{
    if (!checkpointing)
        return;
    checkpoint_reader_destroy(checkpointing->reader);
    free(checkpointing);
}

void checkpointing_begin(struct checkpointing *checkpointing)
{
    struct run *run = checkpointing->run;
    uint64_t now = checkpointing->reader ? checkpoint_cycle(checkpointing->reader) : 0;
    checkpointing->saved = now;
    checkpointing->written = run_clock();
    checkpointing->first_message = run->list ? corun_diagnostics_count(run->list) : 0;
    corun_gpu_checkpoints(run->gpu, &(struct corun_checkpoints){.resume = checkpointing->reader ? resume : NULL,
                                                                .save = run->job->checkpoint_file ? save : NULL,
                                                                .next = plan(checkpointing, now),
                                                                .grid = grid,
                                                                .user = checkpointing});
}

void checkpointing_end(const struct checkpointing *checkpointing)
{
    const struct corun_case *job = checkpointing->run->job;
    if (checkpointing->saved < job->checkpoint_cycle && !checkpointing->run->interrupted)
        corun_report(checkpointing->run->list, CORUN_OK, (struct corun_place){job->checkpoint_file, 0, 0},
                     "no state of cycle %llu was saved: the run ended at cycle %llu, or in the same step",
                     (unsigned long long)job->checkpoint_cycle,
                     (unsigned long long)corun_gpu_cycles(checkpointing->run->gpu));
}
