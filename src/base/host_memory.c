/* SPDX-License-Identifier: MIT */
/* Available memory from /proc/meminfo, the control groups above this process and its limits: the smallest counts. */
#include "base/host_memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define PATH_ROOM 4096u

static uint64_t smaller(uint64_t left, uint64_t right)
{
    return left < right ? left : right;
}

/* The number behind `name` in a file of lines "NAME NUMBER ..."; without a name the first word, where "max" is UINT64_MAX. */
static bool read_number(const char *path, const char *name, uint64_t *number)
{
    char line[256];
    bool found = false;
    FILE *file = fopen(path, "re");
    size_t length = name ? strlen(name) : 0;
    while (file && !found && fgets(line, sizeof line, file)) {
        if (name && (strncmp(line, name, length) != 0 || !strchr(": \t", line[length])))
            continue;
        if (!name && !strncmp(line, "max", 3)) {
            *number = UINT64_MAX;
            found = true;
        } else {
            found = sscanf(line + length + strspn(line + length, ": \t"), "%" SCNu64, number) == 1;
        }
    }
    if (file)
        fclose(file);
    return found;
}

static bool read_below(const char *folder, const char *file, const char *name, uint64_t *number)
{
    char path[PATH_ROOM];
    int written = snprintf(path, sizeof path, "%s/%s", folder, file);
    return written > 0 && (size_t)written < sizeof path && read_number(path, name, number);
}

static uint64_t left_of(uint64_t limit, uint64_t used)
{
    return limit == UINT64_MAX ? limit : limit > used ? limit - used : 0;
}

/* Of one control group. Pages of files that nobody uses are given back when they are needed. */
static uint64_t group_available(const char *folder)
{
    uint64_t limit, used, spare = 0;
    if (!read_below(folder, "memory.max", NULL, &limit) || !read_below(folder, "memory.current", NULL, &used))
        return UINT64_MAX;
    read_below(folder, "memory.stat", "inactive_file", &spare);
    return left_of(limit, used > spare ? used - spare : 0);
}

/* Of the control group of this process and of all around it (cgroup v2). */
static uint64_t groups_available(const char *root)
{
    char path[PATH_ROOM], line[PATH_ROOM / 2];
    uint64_t available = UINT64_MAX;
    snprintf(path, sizeof path, "%.1024s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file))
        found = !strncmp(line, "0::/", 4);
    if (file)
        fclose(file);
    line[found ? strcspn(line, "\n") : 0] = 0;
    snprintf(path, sizeof path, "%.1024s/sys/fs/cgroup%s", root, found ? line + 3 : "");
    size_t top = strlen(path) - (found ? strlen(line + 3) : 0);
    for (;;) {
        available = smaller(available, group_available(path));
        char *slash = strrchr(path + top, '/');
        if (!slash)
            return available;
        *slash = 0;
    }
}

uint64_t host_memory_available(const char *root)
{
    char folder[PATH_ROOM];
    uint64_t available = UINT64_MAX, kilobytes, pages;
    snprintf(folder, sizeof folder, "%.1024s/proc", root);
    if (read_below(folder, "meminfo", "MemAvailable", &kilobytes))
        available = kilobytes * 1024;
    struct rlimit limit;
    if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY &&
        read_below(folder, "self/statm", NULL, &pages))
        available = smaller(available, left_of(limit.rlim_cur, pages * (uint64_t)sysconf(_SC_PAGESIZE)));
    return smaller(available, groups_available(root));
}

enum corun_status host_memory_check(uint64_t bytes, const char *what, struct corun_place place,
                                    struct corun_diagnostics *list)
{
    uint64_t available = host_memory_available("");
    if (bytes <= available)
        return CORUN_OK;
    return corun_report(list, CORUN_MEMORY, place,
                        "%s: its %.2f GB do not fit into the memory of the host, where %.2f GB are left", what,
                        (double)bytes / 1e9, (double)available / 1e9);
}
