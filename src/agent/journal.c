/* SPDX-License-Identifier: MIT */
/* Writing and reading of what is to be put back. */
#include "agent/journal.h"

#include "agent/affinity.h"
#include "base/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD "corun restore 1"

static const char *const words[JOURNAL_KINDS] = {
    [JOURNAL_AGENT] = "agent",       [JOURNAL_PROGRAM] = "program",  [JOURNAL_STOPPED] = "stopped",
    [JOURNAL_AFFINITY] = "affinity", [JOURNAL_HOME] = "home",        [JOURNAL_GROUP] = "group",
    [JOURNAL_RESCTRL] = "resctrl",   [JOURNAL_RELEASED] = "released"};

/* As a whole, or not at all: half a line would make one with the next, and nothing could be read any more. */
static int write_line(int fd, const char *text, size_t length)
{
    off_t before = lseek(fd, 0, SEEK_END);
    errno = 0;
    if (before >= 0 && write(fd, text, length) == (ssize_t)length)
        return 0;
    int error = errno ? errno : ENOSPC;
    return before >= 0 && ftruncate(fd, before) ? errno : error;
}

static void shrink(struct journal *journal);

static int add(struct journal *journal, const char *format, ...) __attribute__((format(printf, 2, 3)));
static int add(struct journal *journal, const char *format, ...)
{
    char text[2 * CONTROL_PATH];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (journal->fd < 0)
        return 0;
    if (length < 0 || (size_t)length >= sizeof text)
        return ENAMETOOLONG;
    if (lseek(journal->fd, 0, SEEK_END) >= journal->shrinks_at)
        shrink(journal);
    return write_line(journal->fd, text, (size_t)length);
}

enum corun_status journal_create(struct journal *journal, const char *path, struct corun_diagnostics *list)
{
    struct process_id own = {0};
    process_find(getpid(), &own);
    *journal = (struct journal){.path = path, .shrinks_at = JOURNAL_SHRINKS_AT};
    journal->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    int error = journal->fd < 0 ? errno : add(journal, HEAD "\nagent %d %" PRIu64 "\n", own.pid, own.born);
    return error ? corun_report(list, CORUN_FILE, (struct corun_place){path, 0, 0},
                                "cannot keep what is to be restored: %s", strerror(error))
                 : CORUN_OK;
}

void journal_close(struct journal *journal)
{
    if (journal->fd >= 0)
        close(journal->fd);
    journal->fd = -1;
}

int journal_program(struct journal *journal, struct process_id program)
{
    return add(journal, "program %d %" PRIu64 "\n", program.pid, program.born);
}

int journal_stopped(struct journal *journal, struct process_id process)
{
    return add(journal, "stopped %d %" PRIu64 "\n", process.pid, process.born);
}

int journal_affinity(struct journal *journal, struct process_id process, struct process_id thread,
                     const cpu_set_t *cores)
{
    char text[CONTROL_PATH];
    return add(journal, "affinity %d %" PRIu64 " %d %" PRIu64 " %s\n", process.pid, process.born, thread.pid,
               thread.born, affinity_format(cores, text, sizeof text));
}

/* A name with a line's end would be read as two lines. */
static int add_folder(struct journal *journal, const char *before, const char *folder)
{
    return strchr(folder, '\n') ? EINVAL : add(journal, "%s%s\n", before, folder);
}

int journal_home(struct journal *journal, struct process_id process, const char *folder)
{
    char before[96];
    snprintf(before, sizeof before, "home %d %" PRIu64 " ", process.pid, process.born);
    return add_folder(journal, before, folder);
}

int journal_group(struct journal *journal, const char *folder)
{
    return add_folder(journal, "group ", folder);
}

int journal_resctrl(struct journal *journal, const char *folder)
{
    return add_folder(journal, "resctrl ", folder);
}

int journal_released(struct journal *journal, struct process_id process)
{
    return add(journal, "released %d %" PRIu64 "\n", process.pid, process.born);
}

/* ---- reading ---- */

static bool is_same(struct process_id one, struct process_id other)
{
    return one.pid == other.pid && one.born == other.born;
}

/* It is as it was: nothing before is to be put back. */
static void forget_process(journal_entries *entries, struct process_id process)
{
    size_t kept = 0;
    for (size_t i = 0; i < entries->count; i++) {
        const struct journal_entry *entry = &entries->data[i];
        bool its = entry->kind == JOURNAL_STOPPED || entry->kind == JOURNAL_AFFINITY || entry->kind == JOURNAL_HOME;
        if (its && is_same(entry->process, process))
            free(entry->folder);
        else
            entries->data[kept++] = *entry;
    }
    entries->count = kept;
}

static bool read_process(char **rest, struct process_id *id)
{
    int from = 0;
    if (!*rest || sscanf(*rest, "%d %" SCNu64 "%n", &id->pid, &id->born, &from) != 2 || id->pid <= 1)
        return false;
    *rest += from;
    if (**rest == ' ')
        ++*rest;
    return true;
}

/* Nothing is removed that is not the agent's by its name. */
static bool is_ours(const char *folder)
{
    const char *last = strrchr(folder, '/'), *before = last;
    while (before && before > folder && before[-1] != '/')
        before--;
    return folder[0] == '/' && last && before && !strstr(folder, "/../") &&
           (!strncmp(last + 1, "corun-", 6) || !strncmp(before, "corun-", 6));
}

static bool read_rest(char *rest, struct journal_entry *entry)
{
    switch (entry->kind) {
    case JOURNAL_AGENT:
    case JOURNAL_PROGRAM:
    case JOURNAL_STOPPED:
    case JOURNAL_RELEASED:
        return read_process(&rest, &entry->process) && !*rest;
    case JOURNAL_AFFINITY:
        return read_process(&rest, &entry->process) && read_process(&rest, &entry->thread) &&
               affinity_parse(rest, &entry->cores);
    case JOURNAL_HOME:
        if (!read_process(&rest, &entry->process) || rest[0] != '/')
            return false;
        break;
    default:
        if (!is_ours(rest))
            return false;
    }
    entry->folder = strdup(rest);
    return strlen(rest) < CONTROL_PATH;
}

static enum corun_status read_line(char *line, journal_entries *entries, bool *wrong)
{
    char *rest = line;
    const char *word = strsep(&rest, " ");
    struct journal_entry entry = {.kind = JOURNAL_AGENT};
    while (entry.kind < JOURNAL_KINDS && strcmp(words[entry.kind], word) != 0)
        entry.kind++;
    *wrong = entry.kind == JOURNAL_KINDS || !rest || !read_rest(rest, &entry);
    if (!*wrong && entry.kind == JOURNAL_RELEASED) {
        forget_process(entries, entry.process);
        return CORUN_OK;
    }
    if (*wrong || (entry.kind >= JOURNAL_HOME && !entry.folder) || !vector_push(entries, entry)) {
        free(entry.folder);
        return *wrong ? CORUN_SYNTAX : CORUN_MEMORY;
    }
    return CORUN_OK;
}

enum corun_status journal_read(const char *file, const char *text, size_t bytes, struct corun_diagnostics *list,
                               journal_entries *entries)
{
    char *copy = strndup(text, bytes), *rest = copy, *end;
    uint32_t number = 0;
    enum corun_status status = copy ? CORUN_OK : CORUN_MEMORY;
    for (bool wrong = false; !status && (end = strchr(rest, '\n')); rest = end + 1) {
        *end = 0;
        number++;
        if (number == 1)
            wrong = strcmp(rest, HEAD) != 0;
        else
            status = read_line(rest, entries, &wrong);
        if (wrong)
            status = corun_report(list, CORUN_SYNTAX, (struct corun_place){file, number, 0},
                                  "this is nothing that an agent restores: '%.80s'", rest);
    }
    free(copy);
    return status;
}

void journal_free(journal_entries *entries)
{
    for (size_t i = 0; i < entries->count; i++)
        free(entries->data[i].folder);
    vector_free(entries);
}

/* ---- shrinking ---- */

/* Whether there is still something to put back. */
static bool matters(const struct journal_entry *entry)
{
    switch (entry->kind) {
    case JOURNAL_PROGRAM: /* what its group has left counts as well */
        return process_lives(entry->process) || kill(-entry->process.pid, 0) == 0;
    case JOURNAL_AFFINITY:
        return process_lives(entry->process) && process_lives(entry->thread);
    case JOURNAL_STOPPED:
    case JOURNAL_HOME:
        return process_lives(entry->process);
    default:
        return true;
    }
}

static int write_entry(int fd, const struct journal_entry *entry)
{
    char text[2 * CONTROL_PATH], cores[CONTROL_PATH];
    int length = 0;
    switch (entry->kind) {
    case JOURNAL_AFFINITY:
        length = snprintf(text, sizeof text, "affinity %d %" PRIu64 " %d %" PRIu64 " %s\n", entry->process.pid,
                          entry->process.born, entry->thread.pid, entry->thread.born,
                          affinity_format(&entry->cores, cores, sizeof cores));
        break;
    case JOURNAL_HOME:
        length = snprintf(text, sizeof text, "home %d %" PRIu64 " %s\n", entry->process.pid, entry->process.born,
                          entry->folder);
        break;
    case JOURNAL_GROUP:
    case JOURNAL_RESCTRL:
        length = snprintf(text, sizeof text, "%s %s\n", words[entry->kind], entry->folder);
        break;
    default:
        length = snprintf(text, sizeof text, "%s %d %" PRIu64 "\n", words[entry->kind], entry->process.pid,
                          entry->process.born);
    }
    return write_line(fd, text, (size_t)length);
}

static int write_what_matters(int fd, const journal_entries *entries)
{
    int error = write_line(fd, HEAD "\n", sizeof HEAD);
    for (size_t i = 0; i < entries->count && !error; i++)
        if (matters(&entries->data[i]))
            error = write_entry(fd, &entries->data[i]);
    return error;
}

/* A new file takes the place of the old one, which stays where that cannot be: then it is tried again when this one is twice as long. */
static void shrink(struct journal *journal)
{
    char path[CONTROL_PATH], *text = NULL;
    size_t bytes;
    journal_entries entries = {0};
    struct corun_diagnostics *list = corun_diagnostics_create();
    journal->shrinks_at = 2 * lseek(journal->fd, 0, SEEK_END);
    if (snprintf(path, sizeof path, "%s.new", journal->path) < (int)sizeof path && list &&
        text_file_read(journal->path, JOURNAL_BYTES, list, &text, &bytes) == CORUN_OK &&
        journal_read(journal->path, text, bytes, list, &entries) == CORUN_OK) {
        (void)unlink(path);
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
        if (fd >= 0 && !write_what_matters(fd, &entries) && rename(path, journal->path) == 0) {
            off_t half = lseek(fd, 0, SEEK_END);
            close(journal->fd);
            journal->fd = fd;
            journal->shrinks_at = 2 * half > JOURNAL_SHRINKS_AT ? 2 * half : JOURNAL_SHRINKS_AT;
        } else if (fd >= 0) {
            close(fd);
            (void)unlink(path);
        }
    }
    free(text);
    journal_free(&entries);
    corun_diagnostics_destroy(list);
}
