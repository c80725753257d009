/* SPDX-License-Identifier: MIT */
/*
 * A campaign as jobs of Slurm. RESULTS.slurm has a folder for each submission: the description, the keys of the cases,
 * the scripts, the numbers of the jobs, and one results file for each task, so that no two processes ever write to one
 * file. What lies there when the jobs have ended, for whatever reason, is merged by the job that comes after them or by
 * the next submission, and removed.
 */
#include "base/arena.h"
#include "base/vector.h"
#include "campaign/campaign_file.h"
#include "campaign/process.h"
#include "campaign/selection.h"
#include "campaign/store.h"
#include "campaign/words.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_RETURNS_TO_THE_QUEUE 3

struct submission {
    const struct corun_campaign_submit_request *request;
    struct corun_diagnostics *list;
    struct arena *arena;
    struct corun_campaign_submitted *submitted;
    const char *results, *top, *folder; /* absolute; top: of all submissions */
    char directory[PATH_MAX];           /* where we are */
};

static enum corun_status out_of_memory(struct submission *submission)
{
    corun_report(submission->list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    return CORUN_MEMORY;
}

/* A file in the folder of this submission. */
static FILE *create(struct submission *submission, const char *name, const char **path)
{
    *path = arena_format(submission->arena, "%s/%s", submission->folder, name);
    FILE *file = *path ? fopen(*path, "we") : NULL;
    if (!file)
        corun_report(submission->list, CORUN_FILE, (struct corun_place){*path, 0, 0}, "cannot be written: %s",
                     strerror(errno));
    return file;
}

static enum corun_status close_file(struct submission *submission, FILE *file, const char *path)
{
    bool failed = ferror(file) != 0;
    failed = fclose(file) != 0 || failed;
    return failed ? corun_report(submission->list, CORUN_FILE, (struct corun_place){path, 0, 0},
                                 "not everything could be written: %s", strerror(errno))
                  : CORUN_OK;
}

static void write_beginning(const struct submission *submission, FILE *file)
{
    fputs("#!/bin/sh\n# Written by corun campaign --slurm\ncd ", file);
    words_put_quoted(submission->directory, file);
    fputs(" || exit 1\nfolder=", file);
    words_put_quoted(submission->folder, file);
    fputs("\nexport CORUN_DATA=", file);
    words_put_quoted(submission->request->data_directory, file);
    fputs("\ncorun() {\n    ", file);
    words_put_quoted(submission->request->program, file);
    fputs(" \"$@\"\n}\n", file);
}

/* A task: its part of the cases, into a file of its own. */
static enum corun_status write_task(struct submission *submission)
{
    const char *path;
    FILE *file = create(submission, "task.sh", &path);
    if (!file)
        return CORUN_FILE;
    write_beginning(submission, file);
    fprintf(file,
            "task=$SLURM_ARRAY_TASK_ID\n"
            "# What it has finished is in its file: back in the queue it runs the rest.\n"
            "again() {\n"
            "    [ \"${SLURM_RESTART_COUNT:-0}\" -lt %d ] && exec scontrol requeue \"${SLURM_ARRAY_JOB_ID}_$task\"\n"
            "    exit \"$1\"\n"
            "}\n"
            "trap 'kill -TERM $runner; wait $runner; again 1' USR1\n",
            MOST_RETURNS_TO_THE_QUEUE);
    /* not through the function: $! is to be the process itself */
    words_put_quoted(submission->request->program, file);
    fprintf(file,
            " campaign \"$folder/campaign.yaml\" --only \"$folder/cases\" --shard \"$task/%u\" \\\n"
            "    --results \"$folder/task-$task.db\" --jobs \"${SLURM_CPUS_PER_TASK:-1}\" --quiet",
            submission->submitted->tasks);
    for (const char *const *option = submission->request->task_options; option && *option; option++) {
        putc(' ', file);
        words_put_quoted(*option, file);
    }
    fputs(" &\nrunner=$!\nwait $runner\nstatus=$?\n[ $status -eq 0 ] || again $status\n", file);
    return close_file(submission, file, path);
}

/* Afterwards: all files into one. They stay if one of them could not be used. */
static enum corun_status write_merge(struct submission *submission)
{
    const char *path;
    FILE *file = create(submission, "merge.sh", &path);
    if (!file)
        return CORUN_FILE;
    write_beginning(submission, file);
    fputs("set -- \"$folder\"/task-*.db\n[ -e \"$1\" ] || exit 0\ncorun merge --results ", file);
    words_put_quoted(submission->results, file);
    fputs(" \"$@\" && rm -f \"$folder\"/task-*.db \"$folder\"/task-*.db-wal \"$folder\"/task-*.db-shm\n", file);
    return close_file(submission, file, path);
}

/* The missing cases, the longest first: the tasks take turns. Equals are mixed by their keys. */
static enum corun_status write_cases(struct submission *submission, const struct selection *selection,
                                     const struct selected_case *cases, size_t count)
{
    const char *path;
    FILE *file = create(submission, "cases", &path);
    if (!file)
        return CORUN_FILE;
    for (size_t i = 0; i < count; i++)
        fprintf(file, "%s\n", selection->keys[cases[i].index].hex);
    return close_file(submission, file, path);
}

/* As it is now: it may be edited before the last task has begun. */
static enum corun_status write_description(struct submission *submission)
{
    const char *path;
    FILE *file = create(submission, "campaign.yaml", &path);
    if (!file)
        return CORUN_FILE;
    fputs(submission->request->campaign->text, file);
    return close_file(submission, file, path);
}

/* RESULTS.slurm/N, the first that is free. */
static enum corun_status make_folder(struct submission *submission)
{
    if (mkdir(submission->top, 0777) && errno != EEXIST)
        return corun_report(submission->list, CORUN_FILE, (struct corun_place){submission->top, 0, 0},
                            "the folder cannot be made: %s", strerror(errno));
    for (unsigned number = 1;; number++) {
        submission->folder = arena_format(submission->arena, "%s/%u", submission->top, number);
        if (!submission->folder)
            return out_of_memory(submission);
        if (!mkdir(submission->folder, 0777))
            return CORUN_OK;
        if (errno != EEXIST)
            return corun_report(submission->list, CORUN_FILE, (struct corun_place){submission->folder, 0, 0},
                                "the folder cannot be made: %s", strerror(errno));
    }
}

/* After a submission that came to nothing. */
static void remove_folder(const struct submission *submission)
{
    static const char *const names[] = {"task.sh", "merge.sh", "cases", "campaign.yaml", "jobs"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *path = arena_format(submission->arena, "%s/%s", submission->folder, names[i]);
        if (path)
            unlink(path);
    }
    rmdir(submission->folder);
    rmdir(submission->top);
}

/* sbatch OPTIONS… SCRIPT; gives the number of the job. */
static enum corun_status submit(struct submission *submission, const char *const *options, const char *script,
                                char job[32])
{
    VECTOR(const char *) arguments = {0};
    struct process_output output = {0};
    const char *first[] = {"sbatch", "--parsable", NULL};
    const char *last[] = {arena_format(submission->arena, "%s/%s", submission->folder, script), NULL};
    const char *const *const parts[] = {first, options, submission->request->slurm_options, last};
    bool whole = last[0] != NULL;
    for (size_t part = 0; part < sizeof parts / sizeof *parts; part++) {
        for (const char *const *option = parts[part]; option && *option && whole; option++)
            whole = vector_push(&arguments, *option);
    }
    whole = whole && vector_push(&arguments, NULL);
    enum corun_status status =
        whole ? process_run(arguments.data, submission->list, &output) : out_of_memory(submission);
    size_t digits = status ? 0 : strspn(output.output, "0123456789");
    if (!status && (output.exit_status || !digits || digits >= 32))
        status = corun_report(submission->list, CORUN_FILE, CORUN_NOWHERE, "sbatch refused (status %d): %s",
                              output.exit_status, output.said[0] ? output.said : output.output);
    if (!status)
        snprintf(job, 32, "%.*s", (int)digits, output.output); /* a cluster's name may follow */
    process_output_free(&output);
    vector_free(&arguments);
    return status;
}

/* The numbers of the jobs, for the next submission. */
static enum corun_status write_jobs(struct submission *submission)
{
    const char *path;
    FILE *file = create(submission, "jobs", &path);
    if (!file)
        return CORUN_FILE;
    fprintf(file, "%s\n%s\n", submission->submitted->job, submission->submitted->merge_job);
    return close_file(submission, file, path);
}

static enum corun_status submit_all(struct submission *submission)
{
    struct corun_campaign_submitted *submitted = submission->submitted;
    struct arena *arena = submission->arena;
    const char *name = arena_format(arena, "--job-name=corun %s", submission->request->campaign->name);
    const char *folder = submission->folder;
    const char *tasks[] = {name,
                           arena_format(arena, "--array=1-%u", submitted->tasks),
                           arena_format(arena, "--output=%s/task-%%a.log", folder),
                           "--open-mode=append",
                           "--requeue",
                           "--signal=B:USR1@60",
                           NULL};
    if (!tasks[0] || !tasks[1] || !tasks[2])
        return out_of_memory(submission);
    enum corun_status status = submit(submission, tasks, "task.sh", submitted->job);
    if (status) {
        remove_folder(submission);
        return status;
    }
    status = write_jobs(submission);
    const char *merge[] = {name, arena_format(arena, "--dependency=afterany:%s", submitted->job),
                           arena_format(arena, "--output=%s/merge.log", folder), "--requeue", NULL};
    if (!status && (!merge[1] || !merge[2]))
        status = out_of_memory(submission);
    if (!status)
        status = submit(submission, merge, "merge.sh", submitted->merge_job);
    if (!status)
        status = write_jobs(submission);
    if (status)
        corun_report(submission->list, status, CORUN_NOWHERE,
                     "the tasks were submitted as job %s, but nothing will merge their results: start this again when "
                     "they have ended (squeue), or cancel them (scancel %s)",
                     submitted->job, submitted->job);
    return status;
}

/* True if the text has the number, as a word. */
static bool has_word(const char *text, const char *word, size_t length)
{
    for (const char *at = text; *at;) {
        size_t long_as = strcspn(at, " \t\r\n");
        if (long_as == length && !memcmp(at, word, length))
            return true;
        at += long_as;
        at += strspn(at, " \t\r\n");
    }
    return false;
}

/* Jobs of an earlier submission must have ended. `active`: what squeue says of ours. */
static enum corun_status check_jobs(struct submission *submission, const char *folder, const char *active)
{
    char job[64];
    const char *path = arena_format(submission->arena, "%s/jobs", folder);
    if (!path)
        return out_of_memory(submission);
    enum corun_status status = CORUN_OK;
    FILE *file = fopen(path, "re");
    if (!file && errno != ENOENT)
        status = corun_report(submission->list, CORUN_FILE, (struct corun_place){path, 0, 0}, "cannot be read: %s",
                              strerror(errno));
    while (file && !status && fgets(job, sizeof job, file)) {
        size_t length = strspn(job, "0123456789");
        if (length && has_word(active, job, length))
            status =
                corun_report(submission->list, CORUN_FILE, CORUN_NOWHERE,
                             "job %.*s of an earlier submission has not ended: wait for it (squeue --job %.*s), or "
                             "cancel it (scancel %.*s)",
                             (int)length, job, (int)length, job, (int)length, job);
    }
    if (file)
        fclose(file);
    return status;
}

/* A results file with what SQLite keeps beside it. */
static enum corun_status remove_results(struct submission *submission, const char *path)
{
    static const char *const endings[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const char *file = arena_format(submission->arena, "%s%s", path, endings[i]);
        if (!file)
            return out_of_memory(submission);
        unlink(file);
    }
    return CORUN_OK;
}

/* What the tasks of an earlier submission have left. */
static enum corun_status merge_folder(struct submission *submission, struct store *store, const char *folder)
{
    DIR *directory = opendir(folder);
    enum corun_status status = CORUN_OK;
    for (struct dirent *entry; directory && !status && (entry = readdir(directory));) {
        uint64_t taken;
        bool end;
        size_t length = strlen(entry->d_name);
        if (strncmp(entry->d_name, "task-", 5) != 0 || length < 8 || strcmp(entry->d_name + length - 3, ".db") != 0)
            continue;
        const char *path = arena_format(submission->arena, "%s/%s", folder, entry->d_name);
        if (!path)
            status = out_of_memory(submission);
        else if (!store_merge(store, path, submission->list, &taken, &end))
            status = remove_results(submission, path);
        else if (end)
            status = CORUN_FILE;
        /* else it stays, for whoever wants to look at it; it was reported */
    }
    if (directory)
        closedir(directory);
    return status;
}

/* Earlier submissions: all must have ended; then, with a store, their results are taken. */
static enum corun_status visit_earlier(struct submission *submission, struct store *store, const char *active)
{
    DIR *directory = opendir(submission->top);
    enum corun_status status = CORUN_OK;
    for (struct dirent *entry; directory && !status && (entry = readdir(directory));) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        const char *folder = arena_format(submission->arena, "%s/%s", submission->top, entry->d_name);
        if (!folder)
            status = out_of_memory(submission);
        else
            status = store ? merge_folder(submission, store, folder) : check_jobs(submission, folder, active);
    }
    if (directory)
        closedir(directory);
    return status;
}

/* Slurm must be there, and done with what it was given before. */
static enum corun_status check_slurm(struct submission *submission)
{
    static const char *const version[] = {"sbatch", "--version", NULL};
    static const char *const queue[] = {"squeue", "--noheader", "--me", "--format=%F", NULL};
    struct process_output output = {0};
    enum corun_status status = process_run(version, submission->list, &output);
    process_output_free(&output);
    if (status) {
        if (status == CORUN_NOT_FOUND)
            corun_report(submission->list, status, CORUN_NOWHERE,
                         "--slurm needs Slurm's commands on this machine; without it the campaign runs here");
        return status;
    }
    if (access(submission->top, F_OK))
        return CORUN_OK; /* the first submission */
    status = process_run(queue, submission->list, &output);
    if (!status && output.exit_status)
        status = corun_report(submission->list, CORUN_FILE, CORUN_NOWHERE,
                              "squeue does not say whether an earlier submission has ended (status %d): %s",
                              output.exit_status, output.said);
    if (!status)
        status = visit_earlier(submission, NULL, output.output);
    process_output_free(&output);
    return status;
}

static enum corun_status absolute_paths(struct submission *submission)
{
    const char *results = submission->request->results;
    if (!getcwd(submission->directory, sizeof submission->directory))
        return corun_report(submission->list, CORUN_FILE, CORUN_NOWHERE, "the working directory has no name: %s",
                            strerror(errno));
    submission->results =
        results[0] == '/' ? results : arena_format(submission->arena, "%s/%s", submission->directory, results);
    submission->top = submission->results ? arena_format(submission->arena, "%s.slurm", submission->results) : NULL;
    return submission->top ? CORUN_OK : out_of_memory(submission);
}

static int by_weight_and_key(const void *a, const void *b, void *user)
{
    const struct selected_case *left = a, *right = b;
    const struct content_key *keys = user;
    if (left->weight != right->weight)
        return left->weight < right->weight ? 1 : -1;
    return strcmp(keys[left->index].hex, keys[right->index].hex);
}

/* Files and jobs for the missing cases. */
static enum corun_status submit_cases(struct submission *submission, const struct selection *selection,
                                      struct selected_case *cases, size_t count)
{
    qsort_r(cases, count, sizeof *cases, by_weight_and_key, selection->keys);
    submission->submitted->tasks = count < submission->request->tasks ? (uint32_t)count : submission->request->tasks;
    enum corun_status status = make_folder(submission);
    if (status)
        return status;
    submission->submitted->folder = strdup(submission->folder);
    status = write_cases(submission, selection, cases, count);
    if (!status)
        status = write_description(submission);
    if (!status)
        status = write_task(submission);
    if (!status)
        status = write_merge(submission);
    if (!status)
        return submit_all(submission);
    remove_folder(submission);
    return status;
}

/* Takes what is there, and finds what is missing. */
static enum corun_status survey(struct submission *submission, struct selection *selection, struct selected_case *cases,
                                size_t *count)
{
    struct corun_campaign_submitted *submitted = submission->submitted;
    size_t all = corun_campaign_count(selection->campaign);
    struct store *store;
    enum corun_status status = store_open(submission->results, STORE_ALONE, submission->list, &store);
    if (!status)
        status = visit_earlier(submission, store, "");
    if (!status)
        status = store_campaign(store, selection->campaign, selection->keys, submission->list);
    if (!status)
        status = selection_look_up(selection, store, submission->request->retry, submission->list);
    if (!status) {
        *count = selection_missing(selection, store, 0, all, cases);
        status = *count == SIZE_MAX ? out_of_memory(submission) : CORUN_OK;
    }
    store_close(store);
    submitted->total = selection->total;
    submitted->found = selection->found;
    submitted->failed = selection->failed;
    submitted->missing = selection->missing;
    return status;
}

enum corun_status corun_campaign_submit(const struct corun_campaign_submit_request *request,
                                        struct corun_diagnostics *list, struct corun_campaign_submitted *submitted)
{
    struct submission submission = {.request = request, .list = list, .arena = arena_create(), .submitted = submitted};
    struct selection_request what = {request->campaign, request->data_directory, request->only, 0, 0};
    struct selection selection = {0};
    struct selected_case *cases = calloc(corun_campaign_count(request->campaign) + 1, sizeof *cases);
    size_t count = 0;
    *submitted = (struct corun_campaign_submitted){0};
    enum corun_status status = submission.arena && cases ? CORUN_OK : out_of_memory(&submission);
    if (!status)
        status = absolute_paths(&submission);
    if (!status)
        status = check_slurm(&submission);
    if (!status)
        status = selection_create(&what, list, &selection);
    if (!status)
        status = survey(&submission, &selection, cases, &count);
    if (!status && count)
        status = submit_cases(&submission, &selection, cases, count);
    selection_free(&selection);
    free(cases);
    arena_destroy(submission.arena);
    return status;
}
