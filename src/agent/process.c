/* SPDX-License-Identifier: MIT */
/* Reading /proc. */
#include "agent/process.h"

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

/* What follows the name in /proc/PID/stat: the name is in parentheses, and may have such itself. */
static const char *read_stat(const char *path, char text[1024])
{
    const char *name_end = read_small(path, text, 1024) ? strrchr(text, ')') : NULL;
    return name_end && name_end[1] == ' ' ? name_end + 2 : NULL;
}

static bool stat_of(const char *path, char *state, pid_t *parent, uint64_t *born)
{
    char text[1024];
    int from;
    const char *rest = read_stat(path, text);
    /* Fields 3 and 4, then field 22. */
    if (!rest || sscanf(rest, "%c %d%n", state, parent, &from) != 2)
        return false;
    rest += from;
    for (int field = 5; field < 22 && rest; field++)
        rest = strchr(rest + 1, ' ');
    return rest && sscanf(rest, "%" SCNu64, born) == 1;
}

bool process_find(pid_t pid, struct process_id *id)
{
    char path[64], state;
    pid_t parent;
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    id->pid = pid;
    return pid > 0 && stat_of(path, &state, &parent, &id->born) && state != 'Z' && state != 'X';
}

bool process_lives(struct process_id id)
{
    struct process_id now;
    return process_find(id.pid, &now) && now.born == id.born;
}

bool process_has_thread(pid_t pid, pid_t thread)
{
    char path[64], state;
    pid_t parent;
    uint64_t born;
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, thread);
    return pid > 0 && thread > 0 && stat_of(path, &state, &parent, &born);
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
        char path[300], state;
        struct kin kin;
        uint64_t born;
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
            continue;
        snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        kin.pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (stat_of(path, &state, &kin.parent, &born))
            room = vector_push(&parentage->all, kin);
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
        char path[64], state;
        uint64_t born;
        if (pid == root)
            return true;
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        if (!stat_of(path, &state, &pid, &born))
            return false;
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
