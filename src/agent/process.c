/* SPDX-License-Identifier: MIT */
/* Reading /proc. */
#include "agent/process.h"

#include "base/process_stat.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The text of a small file; NULL. */
static const char *read_small(const char *path, char *text, size_t bytes)
{
    FILE *file = fopen(path, "re");
    if (!file)
        return NULL;
    size_t length = fread(text, 1, bytes - 1, file);
    fclose(file);
    text[length] = 0;
    return length ? text : NULL;
}

bool process_find(pid_t pid, struct process_id *id)
{
    struct process_stat stat;
    bool is_there = pid > 0 && process_stat_read(pid, PROCESS_WHOLE, &stat);
    *id = (struct process_id){pid, is_there ? stat.born : 0};
    return is_there && stat.state != 'Z' && stat.state != 'X';
}

bool process_lives(struct process_id id)
{
    struct process_id now;
    return process_find(id.pid, &now) && now.born == id.born;
}

bool process_has_thread(pid_t pid, pid_t thread)
{
    struct process_stat stat;
    return pid > 0 && thread > 0 && process_stat_read(pid, thread, &stat);
}

static bool push(process_list *list, pid_t pid)
{
    return vector_push(list, pid);
}

bool process_threads(pid_t pid, process_list *threads)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *folder = opendir(path);
    bool room = true;
    for (struct dirent *entry; folder && room && (entry = readdir(folder));)
        if (entry->d_name[0] != '.')
            room = push(threads, (pid_t)strtol(entry->d_name, NULL, 10));
    if (folder)
        closedir(folder);
    return room;
}

/* All processes with their parents, in one pass: the kernel's own lists of children are not in every kernel. */
struct kin {
    pid_t pid, parent;
};
struct parentage {
    VECTOR(struct kin) all;
};

static bool read_parentage(struct parentage *parentage)
{
    DIR *folder = opendir("/proc");
    bool room = folder;
    for (struct dirent *entry; folder && room && (entry = readdir(folder));) {
        struct process_stat stat;
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (process_stat_read(pid, PROCESS_WHOLE, &stat))
            room = vector_push(&parentage->all, ((struct kin){pid, stat.parent}));
    }
    if (folder)
        closedir(folder);
    return room;
}

bool process_tree(pid_t pid, process_list *processes)
{
    struct parentage parentage = {0};
    size_t next = processes->count;
    bool room = push(processes, pid) && read_parentage(&parentage);
    for (; room && next < processes->count; next++)
        for (size_t i = 0; room && i < parentage.all.count; i++)
            if (parentage.all.data[i].parent == processes->data[next])
                room = push(processes, parentage.all.data[i].pid);
    vector_free(&parentage.all);
    return room;
}

bool process_descends(pid_t pid, pid_t root)
{
    for (int steps = 0; pid > 1 && steps < 1000; steps++) {
        struct process_stat stat;
        if (pid == root)
            return true;
        if (!process_stat_read(pid, PROCESS_WHOLE, &stat))
            return false;
        pid = stat.parent;
    }
    return false;
}

double process_cpu_ns(pid_t pid)
{
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &time))
        return NAN;
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

double process_thread_cpu_ns(pid_t pid, pid_t thread)
{
    char path[64], text[128];
    uint64_t ns;
    snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", pid, thread);
    return read_small(path, text, sizeof text) && sscanf(text, "%" SCNu64, &ns) == 1 ? (double)ns : NAN;
}
