/* SPDX-License-Identifier: MIT */
/* Writing and reading of what is to be put back. */
#include "agent/journal.h"

#include "agent/affinity.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD "corun restore 1"

static const char *const words[JOURNAL_KINDS] = {
    [JOURNAL_AGENT] = "agent",       [JOURNAL_PROGRAM] = "program", [JOURNAL_STOPPED] = "stopped",
    [JOURNAL_AFFINITY] = "affinity", [JOURNAL_HOME] = "home",       [JOURNAL_GROUP] = "group",
    [JOURNAL_RESCTRL] = "resctrl"};

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
    return write(journal->fd, text, (size_t)length) == length ? 0 : errno ? errno : EIO;
}

enum corun_status journal_create(struct journal *journal, const char *path, struct corun_diagnostics *list)
{
    struct process_id own = {0};
    process_find(getpid(), &own);
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

/* ---- reading ---- */

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
