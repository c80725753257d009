/* SPDX-License-Identifier: MIT */
/* Finding and using the control groups of processors. */
#include "agent/cpuset.h"

#include "agent/affinity.h"

#include <errno.h>
#include <mntent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void refuse(struct cpuset *cpuset, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void refuse(struct cpuset *cpuset, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(cpuset->why_not, sizeof cpuset->why_not, format, arguments);
    va_end(arguments);
    cpuset->version = 0;
}

static bool has_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = text; (at = strstr(at, word)); at += length)
        if ((at == text || strchr(" ,", at[-1])) && strchr(" ,\n", at[length]))
            return true;
    return false;
}

/* The hierarchy that has processors: of version 1 by its mount's options, of version 2 by what its root lists. */
static int find_mount(const char *mounts, char mount[CONTROL_PATH])
{
    char room[4 * CONTROL_PATH], controllers[1024];
    struct mntent entry;
    int version = 0;
    FILE *file = setmntent(mounts, "re");
    while (file && !version && getmntent_r(file, &entry, room, sizeof room)) {
        bool first = !strcmp(entry.mnt_type, "cgroup") && has_word(entry.mnt_opts, "cpuset");
        bool second = !strcmp(entry.mnt_type, "cgroup2") &&
                      !control_read(entry.mnt_dir, "cgroup.controllers", controllers, sizeof controllers) &&
                      has_word(controllers, "cpuset");
        version = first ? 1 : second ? 2 : 0;
        if (version && !control_path(mount, entry.mnt_dir, NULL))
            version = 0;
    }
    if (file)
        endmntent(file);
    return version;
}

/* The group of a process in that hierarchy, from lines like 3:cpuset:/web and 0::/web; false if it cannot be seen from here. */
static bool find_group(const struct cpuset *cpuset, const char *groups, char folder[CONTROL_PATH])
{
    char line[CONTROL_PATH + 64];
    bool found = false;
    FILE *file = fopen(groups, "re");
    while (file && !found && fgets(line, sizeof line, file)) {
        char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path)
            continue;
        path[strcspn(path, "\n")] = 0;
        *path++ = 0;
        controllers++;
        found = cpuset->version == 1 ? has_word(controllers, "cpuset") : !strncmp(line, "0:", 2) && !*controllers;
        if (found && !control_path(folder, cpuset->mount, strcmp(path, "/") != 0 ? path + 1 : NULL))
            found = false;
    }
    if (file)
        fclose(file);
    return found && control_exists(folder, "cgroup.procs");
}

static int make_group(struct cpuset *cpuset, const char *folder, const char *above, const cpu_set_t *cores)
{
    char text[CONTROL_PATH];
    int error = journal_group(cpuset->journal, folder);
    if (!error && mkdir(folder, 0755))
        error = errno;
    if (!error && cpuset->version == 1) { /* a group of version 1 has no memory nodes to begin with */
        error = control_read(above, "cpuset.mems", text, sizeof text);
        error = error ? error : control_write(folder, "cpuset.mems", "%s", text);
    }
    return error ? error : control_write(folder, "cpuset.cpus", "%s", affinity_format(cores, text, sizeof text));
}

void cpuset_open(struct cpuset *cpuset, const struct cpuset_places *places, const cpu_set_t *cores,
                 struct journal *journal)
{
    char parent[CONTROL_PATH], name[64];
    *cpuset = (struct cpuset){.journal = journal};
    cpuset->version = find_mount(places->mounts, cpuset->mount);
    if (!cpuset->version) {
        refuse(cpuset, "no hierarchy of control groups has cpuset");
        return;
    }
    if (places->parent ? !control_path(parent, places->parent, NULL)
                       : !find_group(cpuset, places->self_groups, parent)) {
        refuse(cpuset, "the agent's own control group is not to be seen in %.150s", cpuset->mount);
        return;
    }
    snprintf(name, sizeof name, "corun-%d", getpid());
    int error = control_path(cpuset->folder, parent, name) ? 0 : ENAMETOOLONG;
    if (!error && cpuset->version == 2 && !control_exists(parent, "cgroup.procs"))
        error = ENOENT;
    if (!error)
        error = make_group(cpuset, cpuset->folder, parent, cores);
    if (!error && cpuset->version == 2)
        error = control_write(cpuset->folder, "cgroup.subtree_control", "+cpuset");
    if (error)
        refuse(cpuset, "%.150s: %s%s", cpuset->folder, strerror(error),
               cpuset->version == 2 && (error == ENOENT || error == EACCES) ? " (is cpuset delegated there?)" : "");
}

int cpuset_create(struct cpuset *cpuset, const char *name, const cpu_set_t *cores)
{
    char folder[CONTROL_PATH];
    return control_path(folder, cpuset->folder, name) ? make_group(cpuset, folder, cpuset->folder, cores)
                                                      : ENAMETOOLONG;
}

int cpuset_set(const struct cpuset *cpuset, const char *name, const cpu_set_t *cores)
{
    char folder[CONTROL_PATH], text[CONTROL_PATH];
    return control_path(folder, cpuset->folder, name)
               ? control_write(folder, "cpuset.cpus", "%s", affinity_format(cores, text, sizeof text))
               : ENAMETOOLONG;
}

int cpuset_add(struct cpuset *cpuset, const char *name, struct process_id process, char **home)
{
    char groups[64], folder[CONTROL_PATH];
    int error = 0;
    snprintf(groups, sizeof groups, "/proc/%d/cgroup", process.pid);
    if (home && !find_group(cpuset, groups, folder))
        return ENOENT;
    if (home)
        error = (*home = strdup(folder)) ? journal_home(cpuset->journal, process, folder) : ENOMEM;
    if (!error && !control_path(folder, cpuset->folder, name))
        error = ENAMETOOLONG;
    return error ? error : control_write(folder, "cgroup.procs", "%d", process.pid);
}

int cpuset_get(const struct cpuset *cpuset, const char *name, cpu_set_t *cores)
{
    char folder[CONTROL_PATH], text[CONTROL_PATH];
    if (!control_path(folder, cpuset->folder, name))
        return ENAMETOOLONG;
    int error = control_read(folder, "cpuset.cpus", text, sizeof text);
    return error ? error : affinity_parse(text, cores) ? 0 : EINVAL;
}
