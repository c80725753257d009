/* SPDX-License-Identifier: MIT */
/* Control groups of processes. */
#include "daemon/cgroup.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The path of a line "NUMBER:CONTROLLERS:PATH" whose head is that; NULL: it is another one. */
static const char *path_behind(const char *line, const char *head)
{
    const char *path = strchr(line, ':');
    return path && strncmp(path, head, strlen(head)) == 0 ? path + strlen(head) : NULL;
}

bool cgroup_parse(const char *text, char path[CGROUP_BYTES])
{
    const char *unified = NULL, *named = NULL;
    *path = 0;
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *found = strncmp(line, "0:", 2) == 0 ? path_behind(line, "::") : NULL;
        unified = found ? found : unified;
        found = path_behind(line, ":name=systemd:");
        named = found ? found : named;
    }
    bool is_root = unified && strcspn(unified, "\n") < 2;
    const char *chosen = unified && !(is_root && named) ? unified : named;
    size_t bytes = chosen ? strcspn(chosen, "\n") : 0;
    if (!bytes || *chosen != '/' || bytes >= CGROUP_BYTES)
        return false;
    memcpy(path, chosen, bytes);
    path[bytes] = 0;
    return true;
}

bool cgroup_of(pid_t process, char path[CGROUP_BYTES])
{
    char name[64], text[8192];
    *path = 0;
    snprintf(name, sizeof name, "/proc/%d/cgroup", (int)process);
    int file = process > 0 ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return false;
    size_t bytes = 0;
    ssize_t more;
    while (bytes < sizeof text - 1 && (more = read(file, text + bytes, sizeof text - 1 - bytes)) > 0)
        bytes += (size_t)more;
    close(file);
    text[bytes] = 0;
    return bytes < sizeof text - 1 && cgroup_parse(text, path);
}

bool cgroup_is_pattern(const char *pattern)
{
    size_t bytes = strlen(pattern);
    return *pattern == '/' && bytes < CGROUP_BYTES && bytes > 1 && pattern[bytes - 1] != '/' && !strstr(pattern, "//");
}

/* Names of one directory; both end at a slash or the end. */
static bool name_fits(const char *pattern, size_t pattern_bytes, const char *name, size_t bytes)
{
    char wanted[CGROUP_BYTES], found[CGROUP_BYTES];
    if (!bytes || pattern_bytes >= sizeof wanted || bytes >= sizeof found)
        return false;
    memcpy(wanted, pattern, pattern_bytes);
    memcpy(found, name, bytes);
    wanted[pattern_bytes] = found[bytes] = 0;
    return fnmatch(wanted, found, FNM_NOESCAPE) == 0;
}

size_t cgroup_fits(const char *pattern, const char *path)
{
    size_t at = 0;
    while (*pattern) {
        if (path[at] != '/')
            return 0;
        size_t wanted = strcspn(++pattern, "/"), bytes = strcspn(path + ++at, "/");
        if (!name_fits(pattern, wanted, path + at, bytes))
            return 0;
        pattern += wanted;
        at += bytes;
    }
    return at;
}
