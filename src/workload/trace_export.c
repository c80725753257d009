/* SPDX-License-Identifier: MIT */
/* A workload as a trace of machine code: a file for each launch, and their list. */
#include "workload/instance.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static enum corun_status cannot_write(const char *path, struct corun_diagnostics *list)
{
    return corun_report(list, CORUN_FILE, CORUN_NOWHERE, "%s cannot be written: %s", path, strerror(errno));
}

/* Also of what went wrong while it was written, as far as errno still has it. */
static enum corun_status close_file(FILE *stream, const char *directory, const char *name, enum corun_status status,
                                    struct corun_diagnostics *list)
{
    int problem = errno;
    bool good = !ferror(stream);
    if (fclose(stream) != 0 && good) {
        good = false;
        problem = errno;
    }
    if (good || status)
        return status;
    return corun_report(list, CORUN_FILE, CORUN_NOWHERE, "%s/%s: not everything could be written%s%s", directory, name,
                        problem ? ": " : "", problem ? strerror(problem) : "");
}

/* "wx": what is there is not replaced. */
static enum corun_status open_file(const char *directory, const char *name, bool overwrite,
                                   struct corun_diagnostics *list, FILE **stream)
{
    char *path;
    if (asprintf(&path, "%s/%s", directory, name) < 0)
        return corun_report(list, CORUN_MEMORY, CORUN_NOWHERE, "out of memory");
    *stream = fopen(path, overwrite ? "w" : "wx");
    enum corun_status status = *stream ? CORUN_OK : cannot_write(path, list);
    free(path);
    return status;
}

static enum corun_status write_launch(struct corun_instance *instance, uint32_t index, const char *directory,
                                      bool overwrite, FILE *names, struct corun_diagnostics *list)
{
    char name[64];
    FILE *stream = NULL;
    const struct corun_grid *grid = corun_instance_grid(instance, index);
    snprintf(name, sizeof name, "kernel-%u.traceg", index + 1);
    enum corun_status status = open_file(directory, name, overwrite, list, &stream);
    if (status)
        return status;
    errno = 0;
    status = sass_kernel_write(grid, index + 1, stream, list);
    fprintf(names, "%s\n", name);
    return close_file(stream, directory, name, status, list);
}

enum corun_status corun_instance_export_trace(struct corun_instance *instance, const char *directory, bool overwrite,
                                              struct corun_diagnostics *list)
{
    const struct corun_workload *workload = instance->workload;
    if (workload->captured || workload->traced)
        return corun_report(list, CORUN_UNSUPPORTED, CORUN_NOWHERE,
                            "not supported: %s as a trace; only workloads of a launch description are",
                            workload_name(workload));
    if (mkdir(directory, 0777) != 0 && errno != EEXIST)
        return cannot_write(directory, list);
    enum corun_status status = corun_instance_restart(instance);
    FILE *names = NULL;
    if (!status)
        status = open_file(directory, "kernelslist.g", overwrite, list, &names);
    for (uint32_t i = 0; i < workload_grid_count(workload) && !status; i++)
        status = write_launch(instance, i, directory, overwrite, names, list);
    errno = 0;
    return names ? close_file(names, directory, "kernelslist.g", status, list) : status;
}
