/* SPDX-License-Identifier: MIT */
/* What was changed last but one is put back in an order in which nothing stands in the way of the next. */
#include "agent/restore.h"

#include "agent/affinity.h"
#include "base/text_file.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STEP_MS 10u

static void pause_ms(uint32_t ms)
{
    const struct timespec time = {ms / 1000, (long)(ms % 1000) * 1000000};
    nanosleep(&time, NULL);
}

/* Its number as a group's is not another one's: it lives, or nobody has the number. */
static bool group_is_there(struct process_id leader)
{
    struct process_id now;
    if (process_find(leader.pid, &now) && now.born != leader.born)
        return false;
    return kill(-leader.pid, 0) == 0;
}

static uint32_t signal_programs(const journal_entries *entries, int signal)
{
    uint32_t count = 0;
    for (size_t i = 0; i < entries->count; i++) {
        const struct journal_entry *entry = &entries->data[i];
        if (entry->kind != JOURNAL_PROGRAM || !group_is_there(entry->process))
            continue;
        count++;
        if (signal) {
            kill(-entry->process.pid, signal);
            kill(-entry->process.pid, SIGCONT);
        }
    }
    return count;
}

static void end_programs(const journal_entries *entries, uint32_t grace_ms, struct restored *restored)
{
    restored->programs = signal_programs(entries, SIGTERM);
    for (uint32_t ms = 0; ms < grace_ms && signal_programs(entries, 0); ms += STEP_MS)
        pause_ms(STEP_MS);
    signal_programs(entries, SIGKILL);
}

static void continue_stopped(const struct journal_entry *entry, struct restored *restored)
{
    if (!process_lives(entry->process))
        return;
    restored->stopped++;
    restored->failed += kill(entry->process.pid, SIGCONT) != 0;
}

static void send_home(const struct journal_entry *entry, struct restored *restored)
{
    if (!process_lives(entry->process))
        return;
    restored->processes++;
    restored->failed += control_write(entry->folder, "cgroup.procs", "%d", entry->process.pid) != 0;
}

/* Of a thread; of those that came later that of their process's first thread; NULL: nothing is known. */
static const struct journal_entry *find_affinity(const journal_entries *entries, struct process_id process,
                                                 struct process_id thread)
{
    const struct journal_entry *found = NULL;
    for (size_t i = 0; i < entries->count; i++) {
        const struct journal_entry *entry = &entries->data[i];
        if (entry->kind != JOURNAL_AFFINITY || entry->process.pid != process.pid || entry->process.born != process.born)
            continue;
        if (entry->thread.pid == thread.pid && entry->thread.born == thread.born)
            return entry;
        if (entry->thread.pid == process.pid && !found)
            found = entry;
    }
    return found;
}

static void free_threads(const journal_entries *entries, const struct journal_entry *first, struct restored *restored)
{
    process_list threads = {0};
    if (!process_lives(first->process) || !process_threads(first->process.pid, &threads)) {
        vector_free(&threads);
        return;
    }
    for (size_t i = 0; i < threads.count; i++) {
        struct process_id thread;
        if (!process_find(threads.data[i], &thread))
            continue;
        const struct journal_entry *entry = find_affinity(entries, first->process, thread);
        restored->threads++;
        restored->failed += !entry || affinity_set_thread(thread.pid, &entry->cores) != 0;
    }
    vector_free(&threads);
}

/* What has come in since goes to the group above; what is dying is waited for. */
static void remove_group(const struct journal_entry *entry, struct restored *restored)
{
    char above[CONTROL_PATH], text[65536];
    snprintf(above, sizeof above, "%s", entry->folder);
    *strrchr(above, '/') = 0;
    for (int attempt = 0; attempt < 100; attempt++) {
        char *rest = text, *word;
        if (rmdir(entry->folder) == 0) {
            restored->groups++;
            return;
        }
        if (errno == ENOENT)
            return;
        if (!control_read(entry->folder, "cgroup.procs", text, sizeof text))
            while ((word = strsep(&rest, "\n")))
                if (*word)
                    control_write(above, "cgroup.procs", "%s", word);
        pause_ms(STEP_MS);
    }
    restored->failed++;
}

static void remove_resctrl(const struct journal_entry *entry, struct restored *restored)
{
    if (rmdir(entry->folder) == 0)
        restored->groups++;
    else if (errno != ENOENT)
        restored->failed++;
}

static void perform(const journal_entries *entries, uint32_t grace_ms, struct restored *restored)
{
    end_programs(entries, grace_ms, restored);
    for (size_t i = 0; i < entries->count; i++) {
        if (entries->data[i].kind == JOURNAL_STOPPED)
            continue_stopped(&entries->data[i], restored);
        if (entries->data[i].kind == JOURNAL_HOME)
            send_home(&entries->data[i], restored);
    }
    /* Behind the groups, which decide what an affinity can be. Each process once, by its first entry. */
    for (size_t i = 0; i < entries->count; i++) {
        const struct journal_entry *entry = &entries->data[i];
        if (entry->kind == JOURNAL_AFFINITY && entry->thread.pid == entry->process.pid)
            free_threads(entries, entry, restored);
    }
    for (size_t i = entries->count; i-- > 0;) {
        if (entries->data[i].kind == JOURNAL_GROUP)
            remove_group(&entries->data[i], restored);
        if (entries->data[i].kind == JOURNAL_RESCTRL)
            remove_resctrl(&entries->data[i], restored);
    }
}

static enum corun_status read_entries(const char *path, struct corun_diagnostics *list, journal_entries *entries)
{
    char *text;
    size_t bytes;
    enum corun_status status = text_file_read(path, JOURNAL_BYTES, list, &text, &bytes);
    if (status)
        return status;
    status = journal_read(path, text, bytes, list, entries);
    free(text);
    return status;
}

enum corun_status restore_from(const char *path, uint32_t grace_ms, struct corun_diagnostics *list,
                               struct restored *restored)
{
    journal_entries entries = {0};
    *restored = (struct restored){0};
    enum corun_status status = read_entries(path, list, &entries);
    if (status == CORUN_OK)
        perform(&entries, grace_ms, restored);
    journal_free(&entries);
    return status;
}

enum corun_status restore_leftover(const char *path, struct corun_diagnostics *list, struct restored *restored)
{
    journal_entries entries = {0};
    *restored = (struct restored){0};
    if (access(path, F_OK))
        return CORUN_NOT_FOUND;
    enum corun_status status = read_entries(path, list, &entries);
    if (status == CORUN_OK && entries.count && entries.data[0].kind == JOURNAL_AGENT &&
        process_lives(entries.data[0].process))
        status = corun_report(list, CORUN_ARGUMENT, (struct corun_place){path, 0, 0}, "an agent runs there: process %d",
                              entries.data[0].process.pid);
    if (status == CORUN_OK) {
        perform(&entries, 2000, restored);
        if (!restored->failed)
            unlink(path);
    }
    journal_free(&entries);
    return status;
}
