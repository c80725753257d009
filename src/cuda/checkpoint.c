/* SPDX-License-Identifier: MIT */
/* When a checkpoint is written, what it is of, and what is in it in which order; and what is compared on the way back to it. */
#include "cuda/checkpoint.h"

#include "cuda/checkpoint_signal.h"
#include "cuda/console.h"
#include "cuda/context.h"
#include "cuda/fingerprint.h"
#include "cuda/journaled_machine.h"
#include "cuda/module.h"
#include "cuda/process.h"
#include "cuda/settings.h"
#include "cuda/stack_clear.h"
#include "isa/archive.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sha2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- ends ---- */

/* The program does not learn of it: what it has not written yet is written, and its exit handlers do not run. */
static _Noreturn void end_process(enum corun_status status)
{
    fflush(NULL);
    _exit(corun_status_exit(status));
}

void checkpoint_stop(struct process *process, enum corun_status status, const char *why)
{
    say_diagnostics(process->list);
    if (why)
        say("%s", why);
    end_process(status);
}

void checkpoint_differs(struct process *process, const char *format, ...)
{
    char text[2 * JOURNAL_TEXT_BYTES + 256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)process;
    say("the program does not do what it did before the checkpoint: %s", text);
    end_process(CORUN_ARGUMENT);
}

void checkpoint_refuse(struct process *process, const char *what)
{
    if (!process->checkpoint || process->checkpoint->over)
        return;
    say("there are no checkpoints of this program: %s", what);
    end_process(CORUN_UNSUPPORTED);
}

void checkpoint_end(struct process *process)
{
    if (process->checkpoint)
        process->checkpoint->over = true;
}

/* ---- the file ---- */

/* What tells in the journal from the state, and what the reader has to have first. */
static void archive_journal(struct corun_archive *archive, struct checkpoint *checkpoint)
{
    archive_section(archive, "program", 1);
    ARCHIVE(archive, checkpoint->calls_then);
    ARCHIVE(archive, checkpoint->between);
    journal_archive(archive, &checkpoint->journal);
}

/* Of memory that the host sees: the program has written it again, and the journal what kernels wrote. */
static bool is_seen_by_host(void *user, uint64_t address)
{
    const struct range *range = ranges_find(user, address);
    return range && !range_of_device(range);
}

static void archive_context(struct corun_archive *archive, struct process *process, struct context *context)
{
    archive_same(archive, context->modules.count, "modules");
    for (size_t i = 0; i < context->modules.count && archive_fine(archive); i++) {
        struct corun_module_instance *loaded = context->modules.data[i]->loaded;
        size_t count = 0;
        struct corun_grid **grids = journaled_machine_grids(process->checkpoint->machine, loaded, &count);
        if (!grids)
            archive_fail(archive, CORUN_MEMORY, "out of memory");
        else if (loaded)
            module_instance_archive(archive, loaded, grids, (uint32_t)count);
        free(grids);
    }
    if (archive_fine(archive))
        memory_archive_but(archive, context->memory, is_seen_by_host, process);
}

static void archive_state(struct corun_archive *archive, struct process *process)
{
    struct checkpoint *checkpoint = process->checkpoint;
    uint64_t digest = host_pages_digest(process), there = digest;
    archive_section(archive, "memory of host", 1);
    ARCHIVE(archive, there);
    /* Between two calls the program is somewhere in its own code. */
    if (archive_fine(archive) && there != digest && !checkpoint->between)
        archive_fail(archive, CORUN_ARGUMENT, "memory that the host and kernels see is not what it was");
    archive_same(archive, process->contexts.count, "contexts");
    for (size_t i = 0; i < process->contexts.count && archive_fine(archive); i++)
        archive_context(archive, process, process->contexts.data[i]);
    archive_same(archive, checkpoint->machine != NULL, "machines");
    if (checkpoint->machine && archive_fine(archive))
        journaled_machine_archive(archive, checkpoint->machine);
    archive_section(archive, "end", 1);
}

static void plan(struct checkpoint *checkpoint, uint64_t now)
{
    checkpoint->planned = UINT64_MAX;
    if (!checkpoint->path[0])
        return;
    if (checkpoint->every)
        checkpoint->planned = (now / checkpoint->every + 1) * checkpoint->every;
    if (checkpoint->cycle > now && checkpoint->cycle < checkpoint->planned)
        checkpoint->planned = checkpoint->cycle;
}

void checkpoint_save(struct process *process, bool between_calls)
{
    struct checkpoint *checkpoint = process->checkpoint;
    struct checkpoint_writer *writer;
    uint64_t now = process->devices[0].cycle;
    checkpoint->calls_then = process->calls;
    checkpoint->between = between_calls;
    enum corun_status status = checkpoint_write(checkpoint->path, &checkpoint->identity, now, process->list, &writer);
    if (status != CORUN_OK)
        checkpoint_stop(process, status, NULL);
    struct corun_archive *archive = checkpoint_writer_archive(writer);
    archive_journal(archive, checkpoint);
    archive_state(archive, process);
    status = checkpoint_write_end(writer, process->list);
    if (status != CORUN_OK)
        checkpoint_stop(process, status, NULL);
}

/* The program is where it was. */
static void load(struct process *process)
{
    struct checkpoint *checkpoint = process->checkpoint;
    struct checkpoint_reader *reader = checkpoint->reader;
    uint64_t now = checkpoint_cycle(reader);
    checkpoint->reader = NULL;
    checkpoint->replays = false;
    archive_state(checkpoint_reader_archive(reader), process);
    enum corun_status status = checkpoint_read_end(reader, process->list);
    if (status != CORUN_OK)
        checkpoint_stop(process, status, NULL);
    plan(checkpoint, now);
}

void checkpoint_look(struct process *process, uint64_t cycle)
{
    struct checkpoint *checkpoint = process->checkpoint;
    if (checkpoint->replays || checkpoint->over || !checkpoint->path[0])
        return;
    if (checkpoint->signal) {
        checkpoint_save(process, false);
        checkpoint_signal_end(checkpoint);
    }
    if (cycle < checkpoint->planned)
        return;
    checkpoint_save(process, false);
    plan(checkpoint, cycle);
}

/* ---- the journal ---- */

bool checkpoint_replays(struct process *process)
{
    struct checkpoint *checkpoint = process->checkpoint;
    const void *answer;
    if (!checkpoint || !checkpoint->replays)
        return false;
    if (journal_see(&checkpoint->journal, &answer))
        return true;
    load(process);
    return false;
}

const void *checkpoint_peek(const struct checkpoint *checkpoint, enum journal_kind kind, size_t *bytes)
{
    const void *answer;
    const struct journal_entry *entry = journal_see(&checkpoint->journal, &answer);
    if (!entry || entry->kind != kind)
        return NULL;
    *bytes = (size_t)entry->bytes;
    return answer;
}

/* What the program was told, if that is what it asks for now. */
static void take(struct process *process, enum journal_kind kind, uint64_t digest, void *answer, size_t bytes)
{
    struct checkpoint *checkpoint = process->checkpoint;
    const void *there;
    const struct journal_entry *entry = journal_see(&checkpoint->journal, &there);
    const char *then = entry->kind == JOURNAL_ASKED ? there : journal_words((enum journal_kind)entry->kind);
    if (entry->kind != kind)
        checkpoint_differs(process, "after its task %" PRIu64 " (%s) there was %s, and now it is %s", checkpoint->tasks,
                           checkpoint->asked, then, journal_words(kind));
    if (entry->digest != digest || entry->bytes != bytes)
        checkpoint_differs(process, "after its task %" PRIu64 " (%s), %s: not what it was", checkpoint->tasks,
                           checkpoint->asked, journal_words(kind));
    if (bytes)
        memcpy(answer, there, bytes);
    journal_pass(&checkpoint->journal);
}

void checkpoint_note(struct process *process, enum journal_kind kind, uint64_t digest, void *answer, size_t bytes)
{
    struct checkpoint *checkpoint = process->checkpoint;
    if (checkpoint_replays(process))
        take(process, kind, digest, answer, bytes);
    else if (!checkpoint->over && !journal_put(&checkpoint->journal, kind, digest, answer, bytes))
        checkpoint_stop(process, CORUN_MEMORY, "out of memory for the journal of the checkpoints");
}

/* Compares before `take` would, in words. */
static void compare_words(struct process *process, uint64_t digest, const char *words)
{
    const struct checkpoint *checkpoint = process->checkpoint;
    const void *there;
    const struct journal_entry *entry = journal_see(&checkpoint->journal, &there);
    if (entry->kind != JOURNAL_ASKED)
        checkpoint_differs(process, "after its task %" PRIu64 " (%s) there was %s, and now it is %s", checkpoint->tasks,
                           checkpoint->asked, journal_words((enum journal_kind)entry->kind), words);
    if (strcmp(there, words) != 0)
        checkpoint_differs(process, "its task %" PRIu64 " was %s, and is %s now", checkpoint->tasks + 1,
                           (const char *)there, words);
    if (entry->digest != digest)
        checkpoint_differs(process, "its task %" PRIu64 ", %s, was another one: its arguments differ",
                           checkpoint->tasks + 1, words);
}

void checkpoint_ask(struct process *process, uint64_t digest, const char *format, ...)
{
    struct checkpoint *checkpoint = process->checkpoint;
    char words[JOURNAL_TEXT_BYTES];
    va_list arguments;
    if (!checkpoint)
        return;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    if (checkpoint_replays(process))
        compare_words(process, digest, words);
    char same[JOURNAL_TEXT_BYTES];
    memcpy(same, words, sizeof same);
    checkpoint_note(process, JOURNAL_ASKED, digest, same, strlen(words) + 1);
    checkpoint->tasks++;
    memcpy(checkpoint->asked, words, sizeof words);
}

/* ---- begin ---- */

static void identify_number(struct checkpoint_identity *identity, const char *name, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, value);
    checkpoint_identify(identity, name, text);
}

static void identify_sum(struct checkpoint_identity *identity, const char *name, SHA2_CTX *sum)
{
    char text[SHA256_DIGEST_STRING_LENGTH];
    checkpoint_identify(identity, name, SHA256End(sum, text));
}

/* Of a file of the kernel's, which has no length. Nothing where it cannot be read: then it is the same as another one that cannot. */
static void identify_file(struct checkpoint_identity *identity, const char *name, const char *path)
{
    static const size_t piece = 1 << 16;
    SHA2_CTX sum;
    uint8_t *bytes = malloc(piece);
    int file = bytes ? open(path, O_RDONLY | O_CLOEXEC) : -1; /* a stream would take of the program's heap */
    SHA256Init(&sum);
    for (ssize_t got; file >= 0 && ((got = read(file, bytes, piece)) > 0 || (got < 0 && errno == EINTR));)
        SHA256Update(&sum, bytes, got > 0 ? (size_t)got : 0);
    if (file >= 0)
        close(file);
    free(bytes);
    identify_sum(identity, name, &sum);
}

static void identify_gpu(struct checkpoint_identity *identity, const struct corun_gpu_config *config)
{
    size_t count;
    const struct corun_gpu_parameter *parameters = corun_gpu_parameters(&count);
    SHA2_CTX sum;
    SHA256Init(&sum);
    for (size_t i = 0; i < count; i++)
        SHA256Update(&sum, (const uint8_t *)config + parameters[i].offset, sizeof(uint32_t));
    checkpoint_identify(identity, "the name of its GPU", config->name);
    identify_sum(identity, "a parameter of its GPU", &sum);
}

static const char *setting_of(const char *name)
{
    const char *value = getenv(name);
    return value ? value : "";
}

static void identify(struct process *process)
{
    struct checkpoint_identity *identity = &process->checkpoint->identity;
    checkpoint_identify(identity, "the code of corun", cuda_fingerprint());
    identify_file(identity, "the program", "/proc/self/exe");
    identify_file(identity, "the command line of the program", "/proc/self/cmdline");
    identify_gpu(identity, &process->devices[0].config);
    checkpoint_identify(identity, "--launch-costs", setting_of(setting_LAUNCH_COSTS));
    checkpoint_identify(identity, "--slice", setting_of(setting_SLICE));
    checkpoint_identify(identity, "--check", setting_of(setting_CHECK));
    checkpoint_identify(identity, "--kernel-timeout", setting_of(setting_KERNEL_TIMEOUT));
    checkpoint_identify(identity, "CUDA_VISIBLE_DEVICES", setting_of("CUDA_VISIBLE_DEVICES"));
    identify_number(identity, "the number of its GPUs", process->device_count);
}

/* Every process that has used CUDA has left its record. */
static bool is_alone(void)
{
    const char *folder = getenv(setting_RECORD);
    DIR *records = folder && *folder ? opendir(folder) : NULL;
    uint32_t count = 0;
    for (struct dirent *entry; records && (entry = readdir(records));)
        count += entry->d_name[0] != '.';
    if (records)
        closedir(records);
    return count < 2;
}

/* NULL: its state can be saved, as far as is known now. */
static const char *why_not(const struct process *process)
{
    if (process->remote)
        return "it shares a GPU (corund, corun exec --policy)";
    if (process->functional)
        return "it runs without timing (--functional)";
    if (process->device_count != 1)
        return "it does not have one GPU";
    if (process->samples)
        return "launches are sampled (--sample)";
    if (process->profiles)
        return "its kernels have a profile (--profile)";
    if (process->parting.crewing.on)
        return "its launches run by workers (--workers)";
    if (setting_of(setting_REGION)[0])
        return "only a part of its launches is timed (--kernel, --launch, --profiled)";
    return is_alone() ? NULL : "several of its processes use CUDA";
}

/* One that has written none yet begins: the same command line can be given again and again. */
static bool is_first(const struct checkpoint *checkpoint, const char *resume)
{
    return !strcmp(checkpoint->path, resume) && access(resume, F_OK) && errno == ENOENT;
}

static enum corun_status read_journal(struct process *process, const char *resume)
{
    struct checkpoint *checkpoint = process->checkpoint;
    enum corun_status status = checkpoint_read(resume, process->list, &checkpoint->reader);
    if (status == CORUN_OK)
        status = checkpoint_check(checkpoint->reader, &checkpoint->identity, process->list);
    if (status != CORUN_OK)
        return status;
    struct corun_archive *archive = checkpoint_reader_archive(checkpoint->reader);
    archive_journal(archive, checkpoint);
    if (!archive_fine(archive))
        return checkpoint_read_end(checkpoint->reader, process->list);
    checkpoint->replays = true;
    return CORUN_OK;
}

void checkpoint_begin(struct process *process)
{
    const char *path = setting_of(setting_CHECKPOINT), *resume = setting_of(setting_RESUME);
    if (!*path && !*resume)
        return;
    struct checkpoint *checkpoint = calloc(1, sizeof *checkpoint);
    if (!checkpoint)
        checkpoint_stop(process, CORUN_MEMORY, "out of memory");
    process->checkpoint = checkpoint;
    const char *reason = why_not(process);
    if (reason)
        checkpoint_refuse(process, reason);
    checkpoint->thread = gettid();
    checkpoint->stack_end = stack_find_end();
    checkpoint->cycle = strtoull(setting_of(setting_CHECKPOINT_CYCLE), NULL, 10);
    checkpoint->every = strtoull(setting_of(setting_CHECKPOINT_EVERY), NULL, 10);
    snprintf(checkpoint->path, sizeof checkpoint->path, "%s", path);
    snprintf(checkpoint->asked, sizeof checkpoint->asked, "none yet");
    plan(checkpoint, 0);
    identify(process);
    enum corun_status status = *path ? checkpoint_try(checkpoint->path, process->list) : CORUN_OK;
    if (status == CORUN_OK && *resume && !is_first(checkpoint, resume))
        status = read_journal(process, resume);
    if (status == CORUN_OK && !checkpoint_signal_begin(checkpoint))
        status = corun_report(process->list, CORUN_MEMORY, CORUN_NOWHERE, "no thread for checkpoints can be made");
    if (status != CORUN_OK)
        checkpoint_stop(process, status, NULL);
}

void checkpoint_enter(struct process *process)
{
    struct checkpoint *checkpoint = process->checkpoint;
    const void *answer;
    if (!checkpoint)
        return;
    if (checkpoint->thread != gettid())
        checkpoint_refuse(process, "several of its threads call CUDA");
    checkpoint->pages.known = false; /* the program has run */
    if (checkpoint->replays && process->calls > checkpoint->calls_then && !journal_see(&checkpoint->journal, &answer))
        load(process);
}

void checkpoint_close(struct process *process)
{
    const struct checkpoint *checkpoint = process->checkpoint;
    const void *answer;
    if (checkpoint && checkpoint->replays && journal_see(&checkpoint->journal, &answer))
        checkpoint_differs(process, "it has ended after its task %" PRIu64 " (%s), before it came there",
                           checkpoint->tasks, checkpoint->asked);
}
